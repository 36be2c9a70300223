/* Gangway: task graphs, and gangs of training processes, from a C program.
 *
 * A program opens a client, submits work and takes results from futures:
 *
 *     gw_init(&argc, &argv);                        first statement of main
 *     gw_client_open(NULL, &client, &error);        this user's cluster, or a private one
 *     gw_client_submit(client, graph, node, &future, &error);
 *     gw_future_get(future, 0, &value, &error);
 *
 * A function blocks only if its comment says so. Every `struct gw_error *` may be NULL. Do not
 * cancel a thread (pthread_cancel) in a function of this library, because the locks that it holds
 * would never be released.
 *
 * Objects. Whoever gets an object from a function gives it back with the function in this table.
 * Each of these functions accepts NULL. "One": one thread at a time; different objects may be used
 * at the same time. "Any": several threads may use the object at the same time; but giving back
 * must be the last call.
 *
 *     object            made by                      given back by         threads
 *     gw_client         gw_client_open               gw_client_close       any
 *     gw_client         gw_task_client               never: the task does  any
 *     gw_future         gw_submit, gw_map, ...       gw_future_release     any
 *     gw_value          gw_i64, gw_future_get, ...   gw_value_unref        any, once it is complete
 *     gw_graph          gw_graph_new                 gw_graph_free         one
 *     gw_completions    gw_completions_new           gw_completions_free   one
 *     gw_range_run      gw_map_range                 gw_range_close        any; gw_range_next one
 *     gw_stream         gw_stream_open               gw_stream_close       one
 *     gw_actor          gw_actor_new, gw_actor_find  gw_actor_free         any
 *     gw_listing        gw_listing_new               gw_listing_free       one
 *     gw_tunnel         gw_tunnel_open               gw_tunnel_close       one reads, one writes
 *     gw_comm           gw_task_comm                 never: the task does  one; gw_comm_abort any
 *     gw_comm           gw_comm_open_..., _split     gw_comm_close         one; gw_comm_abort any
 *     gw_ddp            gw_ddp_open                  gw_ddp_close          one
 *     gw_optimizer      gw_optimizer_new             gw_optimizer_free     one
 *     gw_sampler        gw_sampler_new               gw_sampler_free       one
 *     gw_checkpoint     gw_checkpoint_new, ..._read  gw_checkpoint_free    one
 *     gw_error          the program                  needs nothing         one
 *
 * The words: an object that several holders count is unreffed (gw_value) or released (gw_future:
 * the task then may end); a connection or a run is closed; memory of this process is freed.
 * Functions that take values as arguments of a task take ownership of the values. All other
 * parameters are borrowed until the function returns, unless its comment says more.
 *
 * After gw_client_close. Close the ranges, streams, tunnels and listings of a client before the
 * client. Its futures and actors stay valid: their calls fail with GW_ECLOSED, and they must still
 * be given back. The client itself is gone.
 *
 * SIGTERM. The library sets no signal handlers in a program that opens clients, so SIGTERM ends the
 * program unless it has a handler of its own. If a program ends without gw_client_close, its
 * attached work is cancelled and its private cluster ends.
 *
 * Fork. Clients belong to the process that opened them. In the child of a fork, all calls on a
 * client and its objects fail with GW_ECLOSED, and giving back has no effect on the cluster. A
 * private cluster ends when no process holds its connection any more. The child calls exec or
 * _exit soon.
 */
#ifndef GANGWAY_GANGWAY_H
#define GANGWAY_GANGWAY_H

#include <gangway/actor.h>
#include <gangway/agree.h>
#include <gangway/checkpoint.h>
#include <gangway/checkpoint_writer.h>
#include <gangway/clip.h>
#include <gangway/comm.h>
#include <gangway/coordination.h>
#include <gangway/ddp.h>
#include <gangway/error.h>
#include <gangway/graph.h>
#include <gangway/listing.h>
#include <gangway/log.h>
#include <gangway/optimizer.h>
#include <gangway/plateau.h>
#include <gangway/range.h>
#include <gangway/replica.h>
#include <gangway/sampler.h>
#include <gangway/scaler.h>
#include <gangway/schedule.h>
#include <gangway/search.h>
#include <gangway/step_report.h>
#include <gangway/stream.h>
#include <gangway/sweep.h>
#include <gangway/sync_batch_norm.h>
#include <gangway/task.h>
#include <gangway/tunnel.h>
#include <gangway/value.h>
#include <gangway/version.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;
struct gw_future;

struct gw_client_options {
    size_t struct_size;  /* see options.h */
    const char *address; /* address of a cluster ("unix:/path"). NULL: $GANGWAY_ADDRESS, or the
                            cluster that runs this command ($GANGWAY_IDENTITY), or this user's
                            running cluster, or else a new private cluster. In tasks of a private
                            cluster, $GANGWAY_ADDRESS is that cluster. Functions use
                            gw_task_client. */
    const char *name;    /* name of this session in listings; NULL: the program's name */
    uint32_t slots; /* slots of a private cluster; 0: the number of cores. The cluster adds slots if
                       a task or gang needs more */
    uint32_t workers;      /* number of workers of a private cluster; 0: 1 */
    const char *resources; /* resources that a private cluster's first worker offers, for example
                              "license=1,tape=2"; tasks ask for them with gw_task_options.resources;
                              NULL: none */
    const char *peers; /* an address of this host, through which the workers of a private cluster
                          exchange results by TLS, as workers on several hosts do; NULL: they pass
                          file descriptors to each other, which is faster */
    /* Memory limit of all workers of a private cluster together; 0: the memory of the machine, or
     * of its cgroup. Above 0.6 of the limit the workers write results to disk. Above 0.8 no new
     * task starts. Above 0.95 the largest process is killed. */
    uint64_t memory_limit_bytes;
    /* How long the client tries to reconnect if the scheduler of a shared cluster disappears; 0:
     * one minute. Calls wait during this time. The client reconnects only to a scheduler that
     * proves that it knows the token. On the first connection a missing proof is an error at once.
     *
     * After a reconnect the client submits unfinished graphs, calls, maps and scattered values
     * again. Their futures stay the same, their job numbers change, and a task may run twice.
     * Values that the client has already fetched stay. Values that only the cluster had are
     * computed again.
     *
     * The following fail with GW_ECLOSED at once: ranges, streams, actors, published names,
     * coordination, tasks with files, more than 256 large scattered values, and submissions of more
     * than 1 GiB in all. */
    uint64_t reconnect_ns;
    bool no_reconnect;    /* true: if the connection to the scheduler ends, do not reconnect:
                             unfinished work fails with GW_ECLOSED */
    bool must_exist;      /* never start a private cluster: fail with GW_ENOSCHEDULER */
    bool private_cluster; /* always start a private cluster */
    /* Whether the output of functions in this client's attached jobs is printed here too. 1: yes;
     * -1: no; 0: yes if this client starts a private cluster and standard output is a terminal.
     *
     * Each stream is printed on the stream of the same kind. Each line starts with "[JOB/TASK] ",
     * in a gang with "[JOB/TASK:RANK] ". Whole lines are printed, ten times a second. If a stream
     * has more than 128 KiB between two of these times, the rest is replaced by a note. Output that
     * a task prints right before it crashes may be missing. gw_client_close prints all output that
     * has arrived. It drops the rest if nobody reads for one minute, for example because Ctrl-S
     * stopped the terminal. `gangway logs` shows the output in every case. */
    int32_t show_output;
    /* How long gw_client_open waits if a cluster was not taken down and no scheduler answers,
     * because a killed scheduler may start again soon. 0: 10 s; 1: do not wait. If the address is
     * HOST:PORT, the client waits only if this field is set. */
    uint64_t connect_timeout_ns;
};
#define GW_CLIENT_OPTIONS(...) GW_POINTER(gw_client_options, __VA_ARGS__)

/* gw_client_open connects and starts the client's I/O thread. It blocks for at most 10 s plus
 * connect_timeout_ns. A private cluster is started later, by the first call that needs the cluster.
 * That call blocks for the same time and may fail with GW_ENOSCHEDULER. options may be NULL.
 * Errors: GW_ENOSCHEDULER, GW_EVERSION, GW_EPERM, GW_EIO; GW_EINVAL: malformed address, resources
 * or limit; GW_ESTART: this process is a runner that did not call gw_init first.
 *
 * gw_client_close closes the client (NULL is accepted). It ends a private cluster, cancels
 * unfinished attached work that no other client holds or needs, and releases the client's actors.
 * It blocks for at most 10 s until this is done and the names of actors without other holders are
 * free. With show_output it also blocks while somebody reads the output. Futures of a closed client
 * fail with GW_ECLOSED and must still be released. */
GW_API int gw_client_open(const struct gw_client_options *options, struct gw_client **client,
                          struct gw_error *error);
GW_API void gw_client_close(struct gw_client *client);

/* gw_client_submit submits a graph (borrowed; may be freed afterwards) and returns a future for one
 * node. It blocks until the scheduler has accepted or refused the whole graph. Errors: GW_ECYCLE:
 * the graph has a cycle; GW_EEXIST: two nodes have the same name; GW_ENOENT: this program has no
 * such function; GW_EINFEASIBLE: no worker can ever run the graph; GW_ECLOSED: the connection has
 * ended.
 *
 * One case does not block: a graph of one function call without options, names and inputs, if the
 * scheduler has already accepted such a call on this connection. If the scheduler refuses the call,
 * its future has the error.
 *
 * gw_client_submit_many returns `count` futures for `count` nodes. If it fails, it returns no
 * future. */
GW_API int gw_client_submit(struct gw_client *client, struct gw_graph *graph, gw_node node,
                            struct gw_future **future, struct gw_error *error);
struct gw_submit_options {
    size_t struct_size; /* see options.h */
    const char *name; /* name of the job, one line of UTF-8 of at most 255 bytes; NULL: the name of
                         the first target or function */
    bool detached;    /* the job goes on when this client ends; GW_ENOTSUP in a private cluster */
    const uint64_t *after; /* job numbers: no task starts before all these jobs have ended */
    size_t after_count;
    bool after_any; /* true: start the job even if one of the jobs in `after` failed; false: the
                       job then fails with GW_EDEPENDENCY */
    /* An idempotency key of a detached job, at most 255 bytes, chosen by the caller; NULL: none.
     * While the cluster knows a job of this user with this key, a second submission returns that
     * job's number and starts nothing. Its futures then fail with GW_EEXIST; use gw_job_wait to
     * wait for the job. So it is safe to submit again after GW_ECLOSED. */
    const char *key;
    /* The account that pays for the job, and the queue that it waits in, if the cluster has
     * accounts and queues
     * (`gangway account list`, `gangway queue list`); NULL: those of the user. GW_ENOENT: there is
     * none of this name; GW_EPERM: the user may not use it. */
    const char *account, *queue;
};
#define GW_SUBMIT_OPTIONS(...) GW_POINTER(gw_submit_options, __VA_ARGS__)
GW_API int gw_client_submit_many(struct gw_client *client, struct gw_graph *graph,
                                 const struct gw_submit_options *options, const gw_node *nodes,
                                 size_t count, struct gw_future **futures, struct gw_error *error);

/* gw_client_submit_jobs submits `count` graphs, each as a job of its own, in this order, and waits
 * once for all answers. Use it for many detached jobs: the scheduler answers each one after it has
 * written it to disk, and writes many at once. It returns 0 or the first error of a job. A job that
 * the scheduler refuses does not hold back the jobs behind it. The caller releases the futures.
 * Errors: as gw_client_submit_many. */
struct gw_submit_job {
    struct gw_graph *graph;                  /* borrowed */
    const struct gw_submit_options *options; /* borrowed; NULL: defaults */
    gw_node node;                            /* the node whose future is returned */
    struct gw_future *future;                /* result; NULL: the job was not accepted */
    struct gw_error error;                   /* result: why; code 0: accepted, or not sent because
                                                an earlier job could not be sent */
};
GW_API int gw_client_submit_jobs(struct gw_client *client, struct gw_submit_job *jobs, size_t count,
                                 struct gw_error *error);

/* struct gw_shipping says how much of the files of a submission's tasks (gw_task_options.files)
 * the client has sent to the cluster. */
struct gw_shipping {
    bool reading; /* true: the client still reads the files, so total_bytes is not known yet and is
                     0 */
    uint64_t done_bytes, total_bytes;
};

/* gw_client_shipping reports the progress of a submission that runs in another thread. If no
 * submission sends files now, it returns false and does not change *shipping. Files that the
 * cluster already has count as done. Any thread may call it; it does not block. */
GW_API bool gw_client_shipping(struct gw_client *client, struct gw_shipping *shipping);

/* One task or gang without a graph:
 *
 *     gw_submit(client, function, options, GW_ARGS(arguments...), &future, &error)
 *     gw_dispatch(client, ranks, function, options, GW_ARGS(arguments...), &future, &error)
 *
 * options may be NULL. gw_dispatch starts a gang of `ranks`, whatever options->ranks is. Its future
 * has one result for each rank: gw_future_get(future, rank, ...). Both block and fail like
 * gw_client_submit. gw_submit_call and gw_dispatch_call are the functions behind the macros. They
 * take ownership of `count` values, also on failure. */
#ifdef __cplusplus
#define gw_submit(client, function, options, args, future, error)                                  \
    gw_submit_list((client), &gw_registered_##function, (options), args, (future), (error))
#define gw_dispatch(client, ranks, function, options, args, future, error)                         \
    gw_dispatch_list((client), (ranks), &gw_registered_##function, (options), args, (future),      \
                     (error))
#else
#define gw_submit(client, function, options, args, future, error)                                  \
    gw_submit_call((client), &gw_registered_##function, (options), args, (future), (error))
#define gw_dispatch(client, ranks, function, options, args, future, error)                         \
    gw_dispatch_call((client), (ranks), &gw_registered_##function, (options), args, (future),      \
                     (error))
#endif
GW_API int gw_submit_call(struct gw_client *client, const struct gw_function *function,
                          const struct gw_task_options *options, struct gw_value **values,
                          size_t count, struct gw_future **future, struct gw_error *error);
GW_API int gw_dispatch_call(struct gw_client *client, uint32_t ranks,
                            const struct gw_function *function,
                            const struct gw_task_options *options, struct gw_value **values,
                            size_t count, struct gw_future **future, struct gw_error *error);

/* gw_map submits `count` calls of a function at once. It calls make_args(i, args, arg) for each
 * call i, on this thread, before it returns. make_args writes
 * arg_count values into args, which gw_map unrefs, and returns 0, or a negative GW_E... that ends
 * the map. A call has at most 255 arguments. futures has room for `count`. If gw_map fails, it
 * returns no future.
 *
 * To pass a result of an earlier task or a scattered value, set `graph` to an empty graph and make
 * the argument with gw_result_future(graph, future). The graph holds nothing else and may be freed
 * afterwards.
 *
 * gw_map blocks and fails like gw_client_submit. GW_EINVAL: more than 2^30 calls. A count of 0
 * succeeds and submits nothing. For many calls that differ by a number, see range.h. */
struct gw_map_call {
    size_t struct_size;                    /* see options.h */
    const struct gw_function *function;    /* GW_FUNCTION(NAME) of a GW_TASK(NAME) */
    const struct gw_task_options *options; /* may be NULL; `name` is the name of the job */
    size_t count;
    size_t arg_count;
    int (*make_args)(size_t i, struct gw_value **args, void *arg);
    void *arg;
    struct gw_graph *graph; /* the graph in which make_args makes references to results; NULL: no
                               argument is a reference */
};
#define GW_MAP_CALL(...) GW_POINTER(gw_map_call, __VA_ARGS__)
GW_API int gw_map(struct gw_client *client, const struct gw_map_call *call,
                  struct gw_future **futures, struct gw_error *error);

/* gw_scatter puts a value (borrowed) into the cluster once. Many tasks can then take the value by
 * gw_result_future. Releasing the future frees the value. If a result that was computed from the
 * value is lost with its worker, a task computes the result again while the future is held. Without
 * the future the result fails with GW_ELOST, and the text names the value, its owner and the
 * worker.
 *
 * Scattered values are stored in the scheduler's memory. Each needs about 1.1 KiB in addition to
 * its bytes. GW_ELIMIT: the memory (`gangway up --scatter-memory`) is full, or the scheduler has no
 * free descriptor for a value of more than 256 KiB. The text says how many values there are. Other
 * work is not affected. Releasing values makes room.
 *
 * gw_scatter_many scatters `count` values and returns one future for each; futures has room for
 * `count`. It sends hundreds of values at once, while gw_scatter waits for one answer for each
 * value. On the first error it returns no futures and leaves no value in the cluster.
 *
 * gw_gather returns the values of `count` futures (of a gang: the value of rank 0). It blocks, and
 * fetches large values 128 at a time. values has room for `count`; the caller unrefs each value. On
 * the first failure, in the order of the futures, it returns no values and does not wait for the
 * rest. */
GW_API int gw_scatter(struct gw_client *client, const struct gw_value *value,
                      struct gw_future **future, struct gw_error *error);
GW_API int gw_scatter_many(struct gw_client *client, const struct gw_value *const *values,
                           size_t count, struct gw_future **futures, struct gw_error *error);
GW_API int gw_gather(struct gw_client *client, struct gw_future *const *futures, size_t count,
                     struct gw_value **values, struct gw_error *error);

/* Results that several clients of one user share. The cluster counts the futures of every client. A
 * result stays while a future holds it, a task needs it, or it is published, even if the client
 * that submitted its task has ended. An unfinished task then also goes on. All of these calls block
 * for one answer of the scheduler.
 *
 * gw_client_lookup returns a new future of a task by name. It looks for `name` among published
 * results, then for "JOB/NAME" (the task NAME of job number JOB), then for the task NAME of the
 * latest job that has such a task. gw_client_task finds a task by its numbers (see gw_future_job
 * and gw_future_index). The task may be pending. GW_ENOENT: there is no such task, or its result
 * was released. */
GW_API int gw_client_lookup(struct gw_client *client, const char *name, struct gw_future **future,
                            struct gw_error *error);
GW_API int gw_client_task(struct gw_client *client, uint64_t job, uint32_t index,
                          struct gw_future **future, struct gw_error *error);

/* gw_publish keeps the result of a future under a name until gw_unpublish or the end of the
 * cluster. The result may be pending. The name has 1 to 255 bytes in one line. GW_EEXIST: the name
 * is taken. GW_ELIMIT: 65,536 names are in use.
 *
 * gw_published returns a future of a published result. gw_unpublish removes the name; the result
 * stays while futures hold it. GW_ENOENT: no such name. The query "published" lists all names. */
GW_API int gw_publish(struct gw_client *client, const char *name, const struct gw_future *future,
                      struct gw_error *error);
GW_API int gw_published(struct gw_client *client, const char *name, struct gw_future **future,
                        struct gw_error *error);
GW_API int gw_unpublish(struct gw_client *client, const char *name, struct gw_error *error);

/* gw_who_has asks which workers hold a future's result. *answer (unref it) is a list of dicts, one
 * for each rank and worker: "rank", "worker" (its id; 0: the scheduler), "host", "bytes". The list
 * is empty while the result is pending. The call blocks for the scheduler's answer. To make copies,
 * see replica.h. */
GW_API int gw_who_has(const struct gw_future *future, struct gw_value **answer,
                      struct gw_error *error);

/* gw_result_future makes a reference, inside `graph`, to the result of a future (of a gang: the
 * result of rank 0). The future may be that of an earlier submission or of a scattered value. It
 * may be pending. Do not release it before the graph was submitted. */
GW_API struct gw_value *gw_result_future(struct gw_graph *graph, const struct gw_future *future);

/* gw_future_state returns the state of a future as far as this process knows. It does not block.
 * Any thread. GW_FAILED includes cancelled and lost tasks and futures of a closed client;
 * gw_future_get returns the cause. */
enum gw_future_state { GW_PENDING, GW_DONE, GW_FAILED };
GW_API enum gw_future_state gw_future_state(const struct gw_future *future);

/* gw_future_get blocks until the task has ended and returns the value of a rank (0 for an ordinary
 * task). The caller unrefs the value. A large value is a read-only mapping, which the first call
 * fetches.
 *
 * If the task failed, gw_future_get returns the code and text of the first cause: task, rank, host,
 * signal or exit code, and the last lines of stderr. Errors: GW_ETASK; GW_ECRASHED; GW_ESTART;
 * GW_ETIMEDOUT: the task exceeded its time limit; GW_ECANCELLED; GW_EDEPENDENCY; GW_ELOST;
 * GW_ECLOSED; GW_EINVAL: there is no such rank. error.h describes all codes. */
GW_API int gw_future_get(struct gw_future *future, uint32_t rank, struct gw_value **value,
                         struct gw_error *error);

/* gw_future_get_within and gw_gather_within are gw_future_get and gw_gather that block for at most
 * timeout_ns, with the fetch of large values. GW_ETIMEDOUT: the time has passed; a later call waits
 * again. A task that exceeded its own time limit has the same code, but the state of its future is
 * GW_FAILED. With a timeout of 0 they return only values that have arrived in this process. */
GW_API int gw_future_get_within(struct gw_future *future, uint32_t rank, uint64_t timeout_ns,
                                struct gw_value **value, struct gw_error *error);
GW_API int gw_gather_within(struct gw_client *client, struct gw_future *const *futures,
                            size_t count, uint64_t timeout_ns, struct gw_value **values,
                            struct gw_error *error);

/* gw_future_wait blocks until the task has ended (returns 0, also for a failed task), or until
 * timeout_ns has passed (GW_ETIMEDOUT). GW_FOREVER: no timeout.
 *
 * gw_future_wait_any blocks until one of `count` futures has ended and returns its index. A future
 * that ended before the call counts too, so leave it out of the next call. GW_ENOENT: count is 0.
 * GW_ENOMEM: out of memory.
 *
 * Inside a task, some futures would wait for ever: those of the task itself, of a task that depends
 * on it, and of a call of the task's own actor. For such a future that the task has looked up,
 * gw_future_wait without a timeout, gw_future_get and gw_gather return GW_ECYCLE. */
GW_API int gw_future_wait(struct gw_future *future, uint64_t timeout_ns);
GW_API int gw_future_wait_any(struct gw_future *const *futures, size_t count, uint64_t timeout_ns,
                              size_t *index);

/* gw_client_descriptor returns a descriptor for an event loop (epoll, libuv, Qt). The descriptor is
 * readable when a future of this client has ended, a result of a range has arrived, or the
 * connection has ended. It may also be readable for no reason. The client's own thread receives the
 * results meanwhile. The descriptor belongs to the client; gw_client_close closes it. Do not read
 * or write it.
 *
 * gw_client_descriptor_clear makes the descriptor unreadable until the next event. Call it first,
 * and then look at the futures, so that no event is missed:
 *
 *     gw_client_descriptor_clear(client);
 *     while (gw_completions_next(completions, 0, &index) == 0)
 *         ... gw_future_get(futures[index], ...) ...
 *
 * Neither function blocks, and any thread may call them. gw_future_get of an ended future blocks
 * only to fetch a large value. GW_EIO: there is no free descriptor. GW_ECLOSED: the client was
 * closed. */
GW_API int gw_client_descriptor(struct gw_client *client, int *descriptor, struct gw_error *error);
GW_API void gw_client_descriptor_clear(struct gw_client *client);

/* Futures in the order in which their tasks end. gw_completions_new watches `count` futures of one
 * client; count may be 0. A future is borrowed until gw_completions_next has returned its index, or
 * until gw_completions_free. GW_ENOMEM: out of memory.
 *
 * gw_completions_next blocks and returns the index of each future once, in the order in which the
 * tasks end. GW_ENOENT: all were returned. GW_ETIMEDOUT: timeout_ns has passed.
 *
 * gw_completions_add watches one more future, which is borrowed in the same way. *index is the next
 * free index. gw_completions_next returns it like the others, also after a GW_ENOENT.
 * gw_completions_add does not block. GW_ENOMEM: out of memory. GW_EINVAL: the future belongs to
 * another client.
 *
 * Only one thread at a time may use a struct gw_completions. gw_completions_free accepts NULL and
 * does not release the futures. */
struct gw_completions;
GW_API int gw_completions_new(struct gw_future *const *futures, size_t count,
                              struct gw_completions **completions);
GW_API int gw_completions_next(struct gw_completions *completions, uint64_t timeout_ns,
                               size_t *index);
GW_API int gw_completions_add(struct gw_completions *completions, struct gw_future *future,
                              size_t *index);
GW_API void gw_completions_free(struct gw_completions *completions);

/* gw_future_cancel cancels the task and all tasks that depend on it, also those that run: SIGTERM,
 * the grace time, then SIGKILL; with `hard` SIGKILL at once. It does not wait for the end. A task
 * that has ended does not change. A pure task goes on if other clients wait for its result.
 * GW_ECLOSED: the connection has ended.
 *
 * gw_future_retry runs a failed task again, and the failed tasks on which it depends. The future is
 * pending again. Other futures of these tasks stay failed until the tasks have ended again. The
 * call blocks for the scheduler's answer. GW_EINVAL: the task has not failed. GW_ENOENT: the
 * cluster no longer knows the task. GW_ECLOSED: the connection has ended.
 *
 * gw_future_release gives up the result and frees the future (NULL is accepted). The task goes on
 * if another future or task needs it; otherwise it is cancelled. The call does not block. */
GW_API int gw_future_cancel(struct gw_future *future, bool hard, struct gw_error *error);
GW_API int gw_future_retry(struct gw_future *future, struct gw_error *error);
GW_API void gw_future_release(struct gw_future *future);

/* gw_future_job and gw_future_index return the two numbers that name the task on the command line.
 * If gw_client_submit did not wait for the scheduler's answer, gw_future_job and gw_future_cancel
 * block until the answer has arrived.
 *
 * gw_future_exit_code returns the exit code of a failed command (128 + the number of a signal), or
 * 0 if the task has no exit code.
 *
 * gw_future_attempt returns the attempt that failed, or the last attempt before the task was
 * cancelled; pass it to gw_job_log. It returns 0 if no attempt started (then there is no output) or
 * the task has not failed. Any thread. */
GW_API uint64_t gw_future_job(const struct gw_future *future);
GW_API uint32_t gw_future_index(const struct gw_future *future);
GW_API int gw_future_exit_code(const struct gw_future *future);
GW_API uint64_t gw_future_attempt(const struct gw_future *future);

/* gw_client_query asks the scheduler for a listing. <gangway/listing.h> gives jobs, tasks, workers,
 * GPUs and reports of metrics as typed rows. The listings "status", "jobs", "running",
 * "workers", "gpus", "actors", "sync", "published", "accounts" and "queues" are about the whole
 * cluster, and so are "usage" and "ended_jobs" (what the accounting stores). The listings "job",
 * "tasks", "attempts", "explain", "events", "graph" and "who_has" are about {"job": N}; add "index"
 * or "name" for one task. graph/wire/PROTOCOL.md describes the answers. The call blocks. The caller
 * unrefs *answer. arguments is borrowed and may be NULL.
 *
 * "metrics" lists what tasks have reported, and the ends of jobs, in the order of their "seq". It
 * is about {"job": N} or {"jobs": [N, ...]} (at most 10,000; unknown ones are left out); with
 * {"after": SEQ} only later rows. A metric keeps its first 4,096 reports; of
 * later ones 512 for each doubling of their number, and the latest. If the next report replaces
 * that one, its row has {"provisional": true}.
 *
 * The scheduler sends lists in pages that fit a message. This function returns the whole list, or
 * the first {"limit": N} rows. With {"cursor": C} (first 0) it returns one page: {"rows": [...],
 * "next": the next page's cursor, if there is one}. A page shows the state at the time when it was
 * made. A page may be empty.
 *
 * "jobs" lists the newest first. These arguments narrow it: "ranges" ([[first, last], ...]); "name"
 * (the latest job of this name); "last" (true: the latest job that was not submitted by a task);
 * "all" (true: all jobs of this user; with "name" and "last" only this user's jobs count anyway);
 * "user" (a name or number); "all_users"; "unfinished"; "state"; "since_ns" (wall clock); "where"
 * (annotations). With "brief" a row is [number, whether the job has ended]. With "count" a page
 * also has "more": the number of rows beyond "limit".
 *
 * GW_EINVAL: no such listing, or an argument that the listing does not take. GW_ENOENT: no such job
 * or task. GW_ECLOSED: the connection has ended. */
GW_API int gw_client_query(struct gw_client *client, const char *what,
                           const struct gw_value *arguments, struct gw_value **answer,
                           struct gw_error *error);

/* Calls on jobs by number. The job may belong to this session or another. Each call blocks for the
 * scheduler's answer. All calls: GW_ENOENT: no such job; GW_EPERM: another user's job; GW_ECLOSED:
 * the connection has ended.
 *
 * gw_job_wait blocks until the job has ended. It returns 0, or the code and text of the first
 * failure. *exit_code is 0 or the exit code of that failure; exit_code must not be NULL.
 * GW_ETIMEDOUT: timeout_ns has passed. A timeout of 0 asks whether the job has ended; GW_FOREVER:
 * no timeout.
 *
 * gw_job_cancel cancels all tasks of a job, as gw_future_cancel does for one. Results of tasks that
 * have ended stay. It does not wait for the end. gw_job_cancel_task cancels one task by its index;
 * the task may also be one of a range, which has no future. It returns 0 also for a task that has
 * ended, and for a task of a range that has not started and now never starts. GW_ENOENT: no such
 * task, or the cluster no longer knows a task of a range.
 *
 * gw_job_retry runs again all tasks of a job that failed or were cancelled, and the tasks that did
 * not run because of that. *tasks is the number of these tasks; tasks must not be NULL.
 * gw_job_retry_task runs one task again, and the failed tasks on which it depends. In a detached
 * range, both run the numbers that failed or were cancelled before they started. Finished tasks do
 * not change. Wait for the job again afterwards. GW_EINVAL: nothing has failed. GW_ENOENT: the
 * cluster no longer knows the tasks, for example because the job ended with its client. GW_ENOTSUP:
 * a range that is not detached. */
GW_API int gw_job_cancel(struct gw_client *client, uint64_t job, bool hard, struct gw_error *error);
GW_API int gw_job_cancel_task(struct gw_client *client, uint64_t job, uint32_t index, bool hard,
                              struct gw_error *error);
GW_API int gw_job_retry(struct gw_client *client, uint64_t job, uint32_t *tasks,
                        struct gw_error *error);
GW_API int gw_job_retry_task(struct gw_client *client, uint64_t job, uint32_t index,
                             struct gw_error *error);
GW_API int gw_job_wait(struct gw_client *client, uint64_t job, uint64_t timeout_ns, int *exit_code,
                       struct gw_error *error);

/* gw_job_restart ends the running gangs of a job within their grace time and starts them again,
 * from their checkpoints if there are any. The new attempts count as preemptions. GW_ENOENT: no
 * gang runs. */
GW_API int gw_job_restart(struct gw_client *client, uint64_t job, struct gw_error *error);

/* gw_job_pause stops new work: no task of the job starts until gw_job_resume. Ordinary tasks that
 * run, or are already at a worker, run to their end. A gang that has not started does not start. A
 * gang of functions gets GW_PAUSE from its next gw_task_step, at the same step in all ranks. The
 * gang then saves a checkpoint and returns; this return is not a result. After gw_job_resume the
 * gang continues from the checkpoint. A gang that never calls gw_task_step runs to its end. With
 * `now`, and always if the gang runs commands, the gang is ended within its grace time instead. A
 * pause does not count against the retry budget. GW_EINVAL: the job has ended, the job is an actor,
 * or (gw_job_resume) the job is not paused.
 *
 * gw_job_stop asks the gangs of a job to end successfully. A function gets GW_STOP from its next
 * gw_task_step; the value that the function returns is its result. A command gets its `signal` and
 * no other signal; its exit code decides whether it succeeded. No gang of the job starts again.
 * GW_ENOENT: no gang runs. */
GW_API int gw_job_pause(struct gw_client *client, uint64_t job, bool now, struct gw_error *error);
GW_API int gw_job_resume(struct gw_client *client, uint64_t job, struct gw_error *error);
GW_API int gw_job_stop(struct gw_client *client, uint64_t job, struct gw_error *error);

/* gw_job_remove removes an ended job: its record, and its output on all hosts. Afterwards the
 * cluster does not know the job. GW_EINVAL: the job has not ended, or a client, another job or the
 * job that submitted it may still need its results. */
GW_API int gw_job_remove(struct gw_client *client, uint64_t job, struct gw_error *error);

/* gw_gpu_drain places no more work on a GPU. uuid is the UUID in the answer of the query "gpus";
 * the UUID of a whole GPU drains all its instances. Running work goes on. The GPU stays drained
 * when its worker or the scheduler restarts. A worker drains a GPU in the same way after a GPU
 * error that makes its results doubtful.
 *
 * gw_gpu_undrain allows work on a drained GPU again. Before the call, the caller resets the GPU or
 * checks what still runs on it. The worker checks the GPU within a second. The worker drains the
 * GPU again if the GPU is lost, or if its state after an error differs from its earlier state.
 * gw_gpu_undrain returns 0 when the workers have been informed. GW_EPERM: only an admin, or the
 * user who started the cluster, may do this. GW_EINVAL: the GPU is not drained. GW_ENOENT: no
 * worker has the GPU. */
GW_API int gw_gpu_drain(struct gw_client *client, const char *uuid, struct gw_error *error);
GW_API int gw_gpu_undrain(struct gw_client *client, const char *uuid, struct gw_error *error);

/* gw_worker_drain places no more work on the workers with a name (the key `name` of the query
 * "workers"). Work that they have begun goes on. Work that still runs after deadline_ns
 * (UINT64_MAX: no deadline) is ended with its grace period and runs again elsewhere, which does not
 * count against its retry budget. reason: a text for people, copied; NULL: none. The workers stay
 * drained when they or the scheduler restart. A second call replaces reason and deadline.
 *
 * gw_worker_undrain allows work there again. Both return 0 when the change is on disk. GW_EPERM:
 * only an admin, or the user who started the cluster, may do this. GW_EINVAL: the worker is not
 * drained. GW_ENOENT: no worker has the name. */
GW_API int gw_worker_drain(struct gw_client *client, const char *name, const char *reason,
                           uint64_t deadline_ns, struct gw_error *error);
GW_API int gw_worker_undrain(struct gw_client *client, const char *name, struct gw_error *error);

/* gw_job_log reads a task's output, at most 256 KiB in one call. With `follow` it blocks until
 * there is output or the attempt has ended. Without `follow` it returns 0 bytes if there is no new
 * output. With `holds` the caller is the reader of a command with held_output: the command
 * continues when the output before `offset` has been read. If `offset` is UINT64_MAX, the command
 * never waits again, and the chunk is empty. On success the chunk's data belongs to the caller.
 * GW_ENOENT: no such job, task, attempt or rank. GW_EPERM: another user's job. GW_ELOST: the output
 * was lost with its worker. GW_ECLOSED: the connection has ended. */
struct gw_log_request {
    size_t struct_size; /* see options.h */
    uint64_t job;
    uint32_t index;
    uint64_t attempt; /* 0: the latest attempt */
    uint64_t after;   /* only if `attempt` is 0: the number of an attempt; the output of the next
                         attempt after it is read. 0: the output of the latest attempt */
    uint32_t rank;
    uint32_t stream; /* 1: standard output; 2: standard error */
    uint64_t offset;
    bool follow;
    bool holds;
    uint64_t since_ns; /* skip output that was printed before this time (wall clock, since 1970);
                          0: none. Output whose time is not known is not skipped. */
    bool times;        /* end the chunk where the time of the output changes */
};
#define GW_LOG_REQUEST(...) GW_POINTER(gw_log_request, __VA_ARGS__)
enum { GW_LOG_NOTE_MAX = 512 };
struct gw_log_chunk {
    struct gw_value *data; /* bytes; the caller unrefs the value */
    uint64_t attempt;      /* the attempt that printed these bytes */
    uint64_t next_offset;
    bool end;                   /* the attempt has ended, and this is the last chunk */
    char note[GW_LOG_NOTE_MAX]; /* with `end`: why some output may be missing, or empty */
    uint64_t left_out; /* number of bytes that the task printed before this data and that were not
                          stored */
    uint64_t time_ns;  /* when the data was printed (wall clock, since 1970): the worker looks ten
                          times a second, or once a second while nothing is printed. Without `times`
                          it is the time of the first byte. 0: not known. The times of commands are
                          known, those of functions are not. */
};
GW_API int gw_job_log(struct gw_client *client, const struct gw_log_request *request,
                      struct gw_log_chunk *chunk, struct gw_error *error);

/* gw_client_shutdown ends the cluster. It cancels running work, which has its own grace time, but
 * at most 5 minutes. The call blocks until all processes have ended. Errors: GW_EPERM,
 * GW_ETIMEDOUT. */
GW_API int gw_client_shutdown(struct gw_client *client, struct gw_error *error);

/* gw_error_exit prints the error's text to stderr and exits with gw_error_exit_code (error.h). */
GW_API void gw_error_exit(const struct gw_error *error) __attribute__((noreturn));

/* gw_version returns the library's version, "major.minor.patch"; static. See version.h. */
GW_API const char *gw_version(void);

#ifdef __cplusplus
}

/* The functions behind gw_submit and gw_dispatch in C++. */
static inline int gw_submit_list(gw_client *client, const gw_function *function,
                                 const gw_task_options *options,
                                 std::initializer_list<gw_value *> values, gw_future **future,
                                 gw_error *error)
{
    return gw_submit_call(client, function, options, const_cast<gw_value **>(values.begin()),
                          values.size(), future, error);
}

static inline int gw_dispatch_list(gw_client *client, uint32_t ranks, const gw_function *function,
                                   const gw_task_options *options,
                                   std::initializer_list<gw_value *> values, gw_future **future,
                                   gw_error *error)
{
    return gw_dispatch_call(client, ranks, function, options,
                            const_cast<gw_value **>(values.begin()), values.size(), future, error);
}
#endif

#endif
