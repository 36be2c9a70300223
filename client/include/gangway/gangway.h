/* Gangway: task graphs, and gangs of training processes, from a C program.
 *
 * A program opens a client, submits work and takes results from futures:
 *
 *     gw_init(&argc, &argv);                        first statement of main
 *     gw_client_open(NULL, &client, &error);        this user's cluster, or a private one
 *     gw_client_submit(client, graph, node, &future, &error);
 *     gw_future_get(future, 0, &value, &error);
 *
 * All calls are thread-safe on one client and on different futures. A call blocks only if its
 * comment says so. Every `struct gw_error *` may be NULL. After a fork, the child may only call
 * exec. Do not cancel a thread (pthread_cancel) inside a call: its locks would never be released.
 */
#ifndef GANGWAY_GANGWAY_H
#define GANGWAY_GANGWAY_H

#include <gangway/actor.h>
#include <gangway/checkpoint.h>
#include <gangway/comm.h>
#include <gangway/coordination.h>
#include <gangway/ddp.h>
#include <gangway/error.h>
#include <gangway/graph.h>
#include <gangway/optimizer.h>
#include <gangway/range.h>
#include <gangway/replica.h>
#include <gangway/sampler.h>
#include <gangway/stream.h>
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
    const char *address;   /* of a cluster ("unix:/path"). NULL: $GANGWAY_ADDRESS, or the cluster
                              that runs this command ($GANGWAY_IDENTITY), or this user's running
                              cluster, or else a new private cluster */
    const char *name;      /* of this session, shown in listings; NULL: the program's name */
    uint32_t slots;        /* of a private cluster; 0: the number of cores. More are added if a
                              task or gang needs them */
    uint32_t workers;      /* of a private cluster; 0: 1 */
    const char *resources; /* resources that a private cluster's first worker offers, for example
                              "license=1,tape=2"; tasks ask for them with
                              gw_task_options.resources; NULL: none */
    const char *peers; /* an address of this host. A private cluster's workers then exchange results
                          through it by TLS, as between hosts; NULL: they pass descriptors */
    /* Memory of all workers of a private cluster together; 0: the machine's memory, or its
     * cgroup's. Above 0.6 of the limit results are written to disk, above 0.8 no new task starts,
     * above 0.95 the largest process is killed. */
    uint64_t memory_limit_bytes;
    /* How long the client tries to reconnect if the scheduler of a shared cluster disappears; 0:
     * one minute. Calls wait during this time. The client reconnects only to a scheduler that
     * proves that it knows the token. On the first connection a missing proof is an error at once.
     *
     * After a reconnect the client submits unfinished graphs, calls, maps and scattered values
     * again. Their futures stay the same; their job numbers change; a task may run twice. Values
     * that the client already has stay; values that lay in the cluster are computed again. The
     * following fail with GW_ECLOSED at once: ranges, streams, actors, published names,
     * coordination, tasks with files, more than 256 large scattered values, and submissions of more
     * than 1 GiB in all. */
    uint64_t reconnect_ns;
    bool no_reconnect;    /* unfinished work fails with GW_ECLOSED if the connection ends */
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

/* gw_client_open connects and starts the client's I/O thread. It blocks for at most 10 s plus
 * connect_timeout_ns. A private cluster is started by the first call that needs it; that call
 * blocks for the same time and may fail with GW_ENOSCHEDULER. options may be NULL. Errors:
 * GW_ENOSCHEDULER, GW_EVERSION, GW_EPERM, GW_EIO; GW_EINVAL: malformed address, resources or limit;
 * GW_ESTART: this process is a runner that did not call gw_init first.
 *
 * gw_client_close closes the client (NULL is accepted). It ends a private cluster, cancels
 * unfinished attached work that no other client holds or needs, and releases the client's actors.
 * It blocks until this is done and until the names of actors that nobody else holds are free, at
 * most 10 s; with show_output also while somebody reads the output. Futures of a closed client fail
 * with GW_ECLOSED and must still be released. */
GW_API int gw_client_open(const struct gw_client_options *options, struct gw_client **client,
                          struct gw_error *error);
GW_API void gw_client_close(struct gw_client *client);

/* gw_client_submit submits a graph (borrowed; may be freed afterwards) and returns a future for one
 * node. It blocks until the scheduler has accepted or refused the whole graph. Errors: GW_ECYCLE;
 * GW_EEXIST; GW_ENOENT: this program has no such function; GW_EINFEASIBLE: no worker can ever run
 * it; GW_ECLOSED.
 *
 * One case does not block: a graph of one function call without options, names and inputs, if the
 * scheduler has already accepted such a call on this connection. If the scheduler refuses it, its
 * future has the error.
 *
 * gw_client_submit_many returns `count` futures for `count` nodes, or none at all. */
GW_API int gw_client_submit(struct gw_client *client, struct gw_graph *graph, gw_node node,
                            struct gw_future **future, struct gw_error *error);
struct gw_submit_options {
    const char *name; /* of the job, one line of UTF-8 of at most 255 bytes; NULL: the name of the
                       * first target or function */
    bool detached;    /* the job goes on when this client ends */
    const uint64_t *after; /* job numbers: nothing starts before all these jobs have ended */
    size_t after_count;
    bool after_any; /* also start if one of these jobs failed; false: fail with GW_EDEPENDENCY */
    /* An idempotency key of a detached job, at most 255 bytes, chosen by the caller; NULL: none.
     * While the cluster knows a job of this user with this key, a second submission returns that
     * job's number and starts nothing. Its futures then fail with GW_EEXIST; use gw_job_wait to
     * wait for the job. So it is safe to submit again after GW_ECLOSED. */
    const char *key;
};
GW_API int gw_client_submit_many(struct gw_client *client, struct gw_graph *graph,
                                 const struct gw_submit_options *options, const gw_node *nodes,
                                 size_t count, struct gw_future **futures, struct gw_error *error);

/* How much of a task's files (gw_task_options.files) has been sent to the cluster. */
struct gw_shipping {
    bool reading; /* the files are still being read: total_bytes is unknown, and 0 */
    uint64_t done_bytes, total_bytes;
};

/* gw_client_shipping reports the progress of a submission that runs in another thread. It returns
 * false, and does not change *shipping, if no submission sends files now. Files that the cluster
 * already has count as done. Any thread; does not block. */
GW_API bool gw_client_shipping(struct gw_client *client, struct gw_shipping *shipping);

/* One task or gang without a graph:
 *
 *     gw_submit(client, &future, &error, function, options, arguments...)
 *     gw_dispatch(client, ranks, &future, &error, function, arguments...)
 *
 * gw_dispatch starts a gang of `ranks`. Its future has one result for each rank:
 * gw_future_get(future, rank, ...). Both block and fail like gw_client_submit. gw_submit_call is
 * the function behind both macros; it takes `count` values. */
#ifdef __cplusplus
#define gw_submit(client, future, error, function, ...)                                            \
    gw_submit_call_list((client), (future), (error), &gw_registered_##function,                    \
                        GW_CALL_SPLIT(__VA_ARGS__, NULL))
#define GW_DISPATCH_CALL(client, ranks_, future, error, function, ...)                             \
    gw_submit_call_list((client), (future), (error), &gw_registered_##function,                    \
                        GW_CALL_SPLIT(gw_options_of(gw_ranks_of(ranks_)), __VA_ARGS__))
#else
#define gw_submit(client, future, error, function, ...)                                            \
    gw_submit_call((client), (future), (error), &gw_registered_##function,                         \
                   GW_CALL_SPLIT(__VA_ARGS__, NULL))
#define GW_DISPATCH_CALL(client, ranks_, future, error, function, ...)                             \
    gw_submit_call((client), (future), (error), &gw_registered_##function,                         \
                   GW_CALL_SPLIT(GW_GANG(.ranks = (ranks_)), __VA_ARGS__))
#endif
#define gw_dispatch(client, ranks_, future, error, ...)                                            \
    GW_DISPATCH_CALL(client, ranks_, future, error, __VA_ARGS__, NULL)
GW_API int gw_submit_call(struct gw_client *client, struct gw_future **future,
                          struct gw_error *error, const struct gw_function *function,
                          const struct gw_task_options *options, struct gw_value **values,
                          size_t count);

/* gw_map submits `count` calls of a function at once. It calls make_args(i, args, arg) for each
 * call i, on this thread, before it returns. make_args fills args (room for arg_count values;
 * gw_map takes them) and returns 0, or a negative GW_E... that ends the map. A call has at most 255
 * arguments. futures has room for `count`; all or none are returned.
 *
 * To pass a result of an earlier task or a scattered value, set `graph` to an empty graph and make
 * the argument with gw_result_future(graph, future). The graph holds nothing else and may be freed
 * afterwards.
 *
 * gw_map blocks and fails like gw_client_submit. GW_EINVAL: more than 2^30 calls. A count of 0
 * succeeds and submits nothing. For many calls that differ by a number, see range.h. */
struct gw_map_call {
    const struct gw_function *function;    /* GW_FUNCTION(NAME) of a GW_TASK(NAME) */
    const struct gw_task_options *options; /* may be NULL; its name is the job's */
    size_t count;
    size_t arg_count;
    int (*make_args)(size_t i, struct gw_value **args, void *arg);
    void *arg;
    struct gw_graph *graph; /* in which references were made; NULL: no references */
};
GW_API int gw_map(struct gw_client *client, const struct gw_map_call *call,
                  struct gw_future **futures, struct gw_error *error);

/* gw_scatter puts a value (borrowed) into the cluster once. Many tasks can then take it by
 * gw_result_future. Releasing the future frees the value. If a result that was computed from the
 * value is lost with its worker, it is computed again while the future is held. Otherwise it fails
 * with GW_ELOST, and the text names the value, its owner and the worker.
 *
 * Values lie in the scheduler's memory, and each needs about 1.1 KiB beside its bytes. GW_ELIMIT:
 * the memory (`gangway up --scatter-memory`) is full, or no descriptor is free for a value of more
 * than 256 KiB. The text says how many values there are. Other work is not affected; releasing
 * values makes room.
 *
 * gw_scatter_many scatters `count` values and returns one future each (futures: room for count). It
 * sends hundreds of values at once, while gw_scatter blocks for one answer each. On the first error
 * it returns no futures and leaves no value in the cluster.
 *
 * gw_gather returns the values of `count` futures (rank 0's). It blocks and fetches large values
 * 128 at a time. values: room for count; unref each. On the first failure, in the order of the
 * futures, it returns no values and does not wait for the rest. */
GW_API int gw_scatter(struct gw_client *client, const struct gw_value *value,
                      struct gw_future **future, struct gw_error *error);
GW_API int gw_scatter_many(struct gw_client *client, const struct gw_value *const *values,
                           size_t count, struct gw_future **futures, struct gw_error *error);
GW_API int gw_gather(struct gw_client *client, struct gw_future *const *futures, size_t count,
                     struct gw_value **values, struct gw_error *error);

/* Results that several clients of one user share. Each future counts by itself. A result stays
 * while a future holds it, a task needs it, or it is published, even if the client that submitted
 * its task has ended. Its task then goes on too. All of these calls block for one answer of the
 * scheduler.
 *
 * gw_client_lookup returns a new future of a task by name. It looks for `name` among published
 * results, then for "JOB/NAME" (the task NAME of job number JOB), then for the task NAME of the
 * latest job that has one. gw_client_task does the same by number (see gw_future_job and
 * gw_future_index). The task may be pending. GW_ENOENT: there is no such task, or its result was
 * released. */
GW_API int gw_client_lookup(struct gw_client *client, const char *name, struct gw_future **future,
                            struct gw_error *error);
GW_API int gw_client_task(struct gw_client *client, uint64_t job, uint32_t index,
                          struct gw_future **future, struct gw_error *error);

/* gw_publish keeps a future's result (it may be pending) under a name of 1 to 255 bytes in one
 * line, until gw_unpublish or the end of the cluster. GW_EEXIST: the name is taken. GW_ELIMIT:
 * 65,536 names are in use. gw_published returns a future of a published result. gw_unpublish
 * removes the name; futures of the result keep it. GW_ENOENT: no such name. The query "published"
 * lists all names. */
GW_API int gw_publish(struct gw_client *client, const char *name, const struct gw_future *future,
                      struct gw_error *error);
GW_API int gw_published(struct gw_client *client, const char *name, struct gw_future **future,
                        struct gw_error *error);
GW_API int gw_unpublish(struct gw_client *client, const char *name, struct gw_error *error);

/* gw_who_has asks where a future's result lies. *answer (unref it) is a list of dicts, one for each
 * rank and worker: "rank", "worker" (its id; 0: the scheduler), "host", "bytes". The list is empty
 * while the result is pending. Blocks. To make copies, see replica.h. */
GW_API int gw_who_has(const struct gw_future *future, struct gw_value **answer,
                      struct gw_error *error);

/* gw_result_future makes a reference, inside `graph`, to the result of a future (rank 0's of a
 * gang): of an earlier submission or a scattered value. The future may be pending. Do not release
 * it before the graph was submitted. */
GW_API struct gw_value *gw_result_future(struct gw_graph *graph, const struct gw_future *future);

/* gw_future_state returns the state of a future as far as this process knows. It does not block.
 * Any thread. GW_FAILED includes cancelled and lost tasks and futures of a closed client;
 * gw_future_get returns the cause. */
enum gw_future_state { GW_PENDING, GW_DONE, GW_FAILED };
GW_API enum gw_future_state gw_future_state(const struct gw_future *future);

/* gw_future_get blocks until the task has ended and returns the value of a rank (0 for an ordinary
 * task). Unref the value. A large value is a read-only mapping, fetched by the first call.
 *
 * On failure it returns the code and text of the first cause: task, rank, host, signal or exit
 * code, and the last lines of stderr. Errors: GW_ETASK; GW_ECRASHED; GW_ESTART; GW_ETIMEDOUT: the
 * time limit; GW_ECANCELLED; GW_EDEPENDENCY; GW_ELOST; GW_ECLOSED; GW_EINVAL: there is no such
 * rank. */
GW_API int gw_future_get(struct gw_future *future, uint32_t rank, struct gw_value **value,
                         struct gw_error *error);

/* gw_future_wait blocks until the task has ended, whether it succeeded or failed (returns 0), or
 * until timeout_ns has passed (GW_ETIMEDOUT). UINT64_MAX: no timeout. gw_future_wait_any waits for
 * one of `count` futures and returns its index. A future that has already ended counts, so leave it
 * out of the next call. GW_ENOENT: count is 0. GW_ENOMEM.
 *
 * Inside a task, gw_future_wait without a timeout, gw_future_get and gw_gather return GW_ECYCLE for
 * a looked-up future of this task, of a task that depends on this task, and of a call of the task's
 * own actor: they would wait for ever. */
GW_API int gw_future_wait(struct gw_future *future, uint64_t timeout_ns);
GW_API int gw_future_wait_any(struct gw_future *const *futures, size_t count, uint64_t timeout_ns,
                              size_t *index);

/* Futures in the order of their completion. gw_completions_new watches `count` futures of one
 * client; count may be 0; GW_ENOMEM. A future is borrowed until its index was returned, the others
 * until gw_completions_free.
 *
 * gw_completions_next blocks and returns each index once, in the order in which the tasks end.
 * GW_ENOENT: all were returned. GW_ETIMEDOUT.
 *
 * gw_completions_add watches one more future, borrowed in the same way. *index is its place after
 * all earlier ones. gw_completions_next returns it like the others, also after a GW_ENOENT. It does
 * not block. GW_ENOMEM; GW_EINVAL: the future belongs to another client.
 *
 * One thread at a time. gw_completions_free accepts NULL and does not release the futures. */
struct gw_completions;
GW_API int gw_completions_new(struct gw_future *const *futures, size_t count,
                              struct gw_completions **completions);
GW_API int gw_completions_next(struct gw_completions *completions, uint64_t timeout_ns,
                               size_t *index);
GW_API int gw_completions_add(struct gw_completions *completions, struct gw_future *future,
                              size_t *index);
GW_API void gw_completions_free(struct gw_completions *completions);

/* gw_future_cancel cancels the task and all tasks that depend on it, running or not: SIGTERM, the
 * grace time, then SIGKILL; with `hard` SIGKILL at once. It does not wait for the end. A task that
 * has ended does not change. A pure task goes on if other clients wait for its result. GW_ECLOSED.
 *
 * gw_future_retry runs a failed task again, with the failed tasks before it. The future is pending
 * again. Other futures of these tasks stay failed until the tasks have ended again. It blocks for
 * the scheduler's answer. GW_EINVAL: the task has not failed. GW_ENOENT: the cluster no longer
 * knows the task. GW_ECLOSED.
 *
 * gw_future_release gives up the result and frees the future (NULL is accepted). The task goes on
 * if others need it; otherwise it is cancelled. Does not block. */
GW_API int gw_future_cancel(struct gw_future *future, bool hard, struct gw_error *error);
GW_API int gw_future_retry(struct gw_future *future, struct gw_error *error);
GW_API void gw_future_release(struct gw_future *future);

/* gw_future_job and gw_future_index name the task as the command line does. If the scheduler has
 * not yet answered a call that gw_client_submit did not wait for, gw_future_job and
 * gw_future_cancel block until it has.
 *
 * gw_future_exit_code is the exit code of a failed command (128 + signal); 0 if there is none.
 * gw_future_attempt is the attempt that failed, or the last attempt before the task was cancelled,
 * for gw_job_log; 0 if there is no attempt, and so no output, or if the task has not failed. Any
 * thread. */
GW_API uint64_t gw_future_job(const struct gw_future *future);
GW_API uint32_t gw_future_index(const struct gw_future *future);
GW_API int gw_future_exit_code(const struct gw_future *future);
GW_API uint64_t gw_future_attempt(const struct gw_future *future);

/* gw_client_query asks the scheduler for a listing. "status", "jobs", "running", "workers", "gpus",
 * "actors", "sync" and "published" are about the whole cluster. "job", "tasks", "attempts",
 * "explain", "events", "graph" and "who_has" are about {"job": N}; add "index" or "name" for one
 * task. graph/wire/PROTOCOL.md describes the answers. Blocks. Unref *answer. arguments is borrowed
 * and may be NULL.
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
 * (annotations). With "brief" a row is [number, whether the job has ended]. "count" adds "more" to
 * a page: the number of rows beyond "limit".
 *
 * GW_EINVAL: no such listing, or an argument that it does not take. GW_ENOENT: no such job or task.
 * GW_ECLOSED. */
GW_API int gw_client_query(struct gw_client *client, const char *what,
                           const struct gw_value *arguments, struct gw_value **answer,
                           struct gw_error *error);

/* Calls on jobs by number, of this session or another. Each blocks for the scheduler's answer. All:
 * GW_ENOENT: no such job; GW_EPERM: another user's job; GW_ECLOSED.
 *
 * gw_job_wait blocks until the job has ended. It returns 0, or the code and text of the first
 * failure; *exit_code (not NULL) is 0 or the failure's. GW_ETIMEDOUT: timeout_ns has passed; 0 asks
 * whether the job has ended; UINT64_MAX: no timeout.
 *
 * gw_job_cancel cancels all tasks of a job, as gw_future_cancel does for one. Results of tasks that
 * have ended stay. It does not wait for the end. gw_job_cancel_task cancels one task by its index;
 * a task of a range too, which has no future. It returns 0 also for a task that has ended, and for
 * a task of a range that has not started and now never starts. GW_ENOENT: no such task, or (of a
 * range) the cluster no longer knows it.
 *
 * gw_job_retry runs again all tasks of a job that failed or were cancelled, and the tasks that did
 * not run because of that. *tasks (not NULL) is their number. gw_job_retry_task runs one task
 * again, and the failed tasks before it. Of a detached range, they run the numbers that failed, and
 * those that were cancelled before they started. Finished tasks do not change. Wait for the job
 * again afterwards. GW_EINVAL: nothing has failed. GW_ENOENT: the cluster no longer knows the
 * tasks, for example because the job ended with its client. GW_ENOTSUP: a range that is not
 * detached. */
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
 * gang of functions gets GW_PAUSE from its next gw_task_step, at the same step in all ranks. It
 * saves a checkpoint and returns; this return is not a result. After gw_job_resume it continues
 * from the checkpoint. A gang that never calls gw_task_step runs to its end. With `now` the gang is
 * ended within its grace time instead, as a gang of commands always is. A pause does not count
 * against the retry budget. GW_EINVAL: the job has ended, it is an actor, or (gw_job_resume) it is
 * not paused.
 *
 * gw_job_stop asks the gangs of a job to end successfully. A function gets GW_STOP from its next
 * gw_task_step; the value that it returns is its result. A command gets its `signal` and nothing
 * after that; its exit code decides how it ended. No gang of the job starts again. GW_ENOENT: no
 * gang runs. */
GW_API int gw_job_pause(struct gw_client *client, uint64_t job, bool now, struct gw_error *error);
GW_API int gw_job_resume(struct gw_client *client, uint64_t job, struct gw_error *error);
GW_API int gw_job_stop(struct gw_client *client, uint64_t job, struct gw_error *error);

/* gw_gpu_drain places no more work on a GPU. uuid is the UUID in the answer of the query "gpus";
 * the UUID of a whole GPU drains all its instances. Running work goes on. The GPU stays drained
 * when its worker or the scheduler restarts, like a GPU that had an error after which it cannot be
 * trusted.
 *
 * gw_gpu_undrain allows work on a drained GPU again. The caller has reset the GPU, or knows what
 * still runs on it. The worker checks the GPU within a second. It drains the GPU again if the GPU
 * is lost or, after an error, not in its earlier state. Returns 0 when the workers were told.
 * GW_EPERM: only an admin, or the user who started the cluster, may do this. GW_EINVAL: the GPU is
 * not drained. GW_ENOENT: no worker has it. */
GW_API int gw_gpu_drain(struct gw_client *client, const char *uuid, struct gw_error *error);
GW_API int gw_gpu_undrain(struct gw_client *client, const char *uuid, struct gw_error *error);

/* gw_job_log reads a task's output, at most 256 KiB in one call. With `follow` it blocks until
 * there is output or the attempt has ended; without it, it returns 0 bytes if there is no new
 * output. With `holds` the caller is the reader of a command with held_output: the command
 * continues when the output before `offset` has been read; UINT64_MAX: it never waits again, and
 * the chunk is empty. On success the chunk's data belongs to the caller. GW_ENOENT: no such job,
 * task, attempt or rank. GW_EPERM: another user's job. GW_ELOST: the output was lost with its
 * worker. GW_ECLOSED. */
struct gw_log_request {
    uint64_t job;
    uint32_t index;
    uint64_t attempt; /* 0: the latest */
    uint64_t
        after; /* with attempt 0: the next attempt after this one (1: the first); 0: the latest */
    uint32_t rank;
    uint32_t stream; /* 1 out, 2 err */
    uint64_t offset;
    bool follow;
    bool holds;
};
enum { GW_LOG_NOTE_MAX = 512 };
struct gw_log_chunk {
    struct gw_value *data; /* bytes, to be unref'd */
    uint64_t attempt;      /* whose output this is */
    uint64_t next_offset;
    bool end;                   /* the attempt has ended, and this is the last chunk */
    char note[GW_LOG_NOTE_MAX]; /* with `end`: why some output may be missing; else empty */
    uint64_t left_out;          /* bytes before this data that were printed but not kept */
};
GW_API int gw_job_log(struct gw_client *client, const struct gw_log_request *request,
                      struct gw_log_chunk *chunk, struct gw_error *error);

/* gw_client_shutdown ends the cluster. Running work is cancelled within its own grace time, at most
 * 5 minutes. Blocks until all processes have ended. GW_EPERM, GW_ETIMEDOUT. */
GW_API int gw_client_shutdown(struct gw_client *client, struct gw_error *error);

/* gw_error_exit prints the error's text to stderr and exits with gw_error_exit_code (error.h). */
GW_API void gw_error_exit(const struct gw_error *error) __attribute__((noreturn));

/* gw_version returns the library's version, "major.minor.patch"; static. See version.h. */
GW_API const char *gw_version(void);

#ifdef __cplusplus
}

/* What gw_submit and gw_dispatch expand to in C++; the list ends with a NULL of theirs. */
static inline int gw_submit_call_list(gw_client *client, gw_future **future, gw_error *error,
                                      const gw_function *function, const gw_task_options *options,
                                      std::initializer_list<gw_value *> values)
{
    return gw_submit_call(client, future, error, function, options,
                          const_cast<gw_value **>(values.begin()), values.size() - 1);
}
#endif

#endif
