/* Gangway: task graphs, and gangs of training processes, from a C program.
 *
 * A program opens a client, submits work and takes results from futures:
 *
 *     gw_init(&argc, &argv);                        first statement of main
 *     gw_client_open(NULL, &client, &error);        this user's cluster, or a private one
 *     gw_client_submit(client, graph, node, &future, &error);
 *     gw_future_get(future, 0, &value, &error);
 *
 * All calls are thread-safe on distinct futures and on one client, and block only where it says so.
 * Every `struct gw_error *` may be NULL. After a fork only exec is allowed in the child. A thread
 * must not be cancelled (pthread_cancel) inside of a call: locks that it holds would stay so. */
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

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;
struct gw_future;

struct gw_client_options {
    const char *address;   /* of a cluster ("unix:/path"); NULL: $GANGWAY_ADDRESS, or in a command
                              the cluster that runs it ($GANGWAY_IDENTITY), else this user's
                              running cluster, else a private one is started */
    const char *name;      /* of this session, shown in listings; NULL: the program's name */
    uint32_t slots;        /* of a private cluster; 0: the cores of this machine; it grows when a
                              task or gang needs more */
    uint32_t workers;      /* of a private cluster; 0: 1 */
    const char *resources; /* that a private cluster's first worker offers, "license=1,tape=2":
                              tasks ask for them with gw_task_options.resources; NULL: none */
    const char *peers; /* an address of this host over which a private cluster's workers exchange
                          results by TLS, as they would between hosts; NULL: descriptors */
    /* Of a private cluster's workers together: above 0.6 of it results go to disk, above 0.8
     * nothing new starts, above 0.95 the process that uses most is killed; 0: the machine's memory,
     * or its cgroup's. */
    uint64_t memory_limit_bytes;
    /* When the scheduler of a cluster that is not private goes away without a word, killed or cut
     * off, the client looks for it at the same address for reconnect_ns (0: a minute); calls wait
     * meanwhile. Who answers there without the proof to be a scheduler that knows the token is
     * nobody; at the first connection that is an error at once. When it, or the next one, is there,
     * what was unfinished is submitted again: graphs, calls, maps and scattered values, with the
     * same futures, under other numbers of jobs. A task may so run twice. Values that came here
     * stay; those that lay in the cluster are made again. Ranges, streams, actors, published names,
     * coordination, tasks with files, scattered values beyond 256 large ones, and what is over 1
     * GiB to say again fail with GW_ECLOSED at once. */
    uint64_t reconnect_ns;
    bool no_reconnect;    /* what is unfinished fails with GW_ECLOSED when the connection ends */
    bool must_exist;      /* do not start a private cluster: GW_ENOSCHEDULER instead */
    bool private_cluster; /* always start a private one */
    /* What functions of this client's attached jobs print comes out here, on the stream of the same
     * kind, with "[JOB/TASK] " (of a gang "[JOB/TASK:RANK] ") before each line: lines when they are
     * whole, ten times a second. More than 128 KiB a stream and look is left out, with a word, and
     * what a task prints right before it crashes may be. 1: so it is; -1: it is not; 0: where a
     * private cluster was started and standard output is a terminal, when the client is opened.
     * gw_client_close prints all that came, and waits for who reads it: if nothing was read for a
     * minute, as from a terminal that Ctrl-S has stopped, the rest is dropped. `gangway logs` has
     * it anyway. */
    int32_t show_output;
    /* For how long gw_client_open waits where a cluster was not taken down and no scheduler
     * answers: one that was killed may be started again in a moment. 0: 10 s; 1: not at all. An
     * address HOST:PORT is waited for only if this is set. */
    uint64_t connect_timeout_ns;
};

/* gw_client_open connects (blocks for at most 10 s, and connect_timeout_ns) and starts the client's
 * I/O thread; a private cluster is started by the first call that needs it, which blocks for as
 * long and may give GW_ENOSCHEDULER then. options may be NULL. GW_ENOSCHEDULER, GW_EVERSION,
 * GW_EPERM, GW_EIO. Close it with gw_client_close, which ends a private cluster and cancels what is
 * unfinished and attached, but what other clients hold or need, and lets go of its actors; it
 * blocks until that is done, and the names of actors that nobody else holds are free, at most 10 s,
 * and while output is read that is shown here (show_output).
 * It accepts NULL. Futures of a closed client answer GW_ECLOSED, and are still to be released.
 * GW_EINVAL is an address, resources or a limit that is none; GW_ESTART: this process is a runner,
 * and did not begin with gw_init. */
GW_API int gw_client_open(const struct gw_client_options *options, struct gw_client **client,
                          struct gw_error *error);
GW_API void gw_client_close(struct gw_client *client);

/* gw_client_submit submits a graph (borrowed; may be freed after) and gives a future for one node.
 * Blocks until the scheduler accepted it whole or refused it: GW_ECYCLE, GW_EEXIST, GW_ENOENT (a
 * function that this program does not hold), GW_EINFEASIBLE (no worker could ever hold it),
 * GW_ECLOSED. A plain call is not waited for: one function without options, names and inputs, where
 * one like that was accepted on this connection. What it is refused for is its future's error.
 * gw_client_submit_many gives `count` futures for `count` nodes, all or none. */
GW_API int gw_client_submit(struct gw_client *client, struct gw_graph *graph, gw_node node,
                            struct gw_future **future, struct gw_error *error);
struct gw_submit_options {
    const char *name; /* of the job, a line of UTF-8 of at most 255 bytes; NULL: that of the first
                       * target or function */
    bool detached;    /* goes on when this client ends */
    const uint64_t *after; /* numbers of jobs that have to end before anything of it starts; */
    size_t after_count;    /* one that does not end well fails it (GW_EDEPENDENCY), */
    bool after_any;        /* unless any end will do */
    /* An idempotency key, of a detached job: at most 255 bytes, chosen by the caller. As long as
     * the cluster knows a job of this user with this key, submitting again gives that job's number
     * and starts nothing; the futures then fail with GW_EEXIST (gw_job_wait waits for the job).
     * After GW_ECLOSED it is so safe to submit again. NULL: none. */
    const char *key;
};
GW_API int gw_client_submit_many(struct gw_client *client, struct gw_graph *graph,
                                 const struct gw_submit_options *options, const gw_node *nodes,
                                 size_t count, struct gw_future **futures, struct gw_error *error);

/* How far the files of a task (gw_task_options.files) are on their way to the cluster. */
struct gw_shipping {
    bool reading; /* they are read still: total_bytes is not known, and 0 */
    uint64_t done_bytes, total_bytes;
};

/* gw_client_shipping tells that of a call that submits in another thread; false where none sends
 * files now, and *shipping is as it was. What the cluster has already counts as done. Any thread;
 * does not block. */
GW_API bool gw_client_shipping(struct gw_client *client, struct gw_shipping *shipping);

/* One task or gang without a graph: gw_submit(client, &future, &error, function, options, args...)
 * and gw_dispatch(client, ranks, &future, &error, function, args...): a gang of `ranks`, one future
 * with N results: gw_future_get(future, rank, ...). They block, and fail, as gw_client_submit.
 * gw_submit_call is both as a function: takes `count` values. */
#ifdef __cplusplus
#define gw_submit(client, future, error, function, ...)                                            \
    gw_submit_call_list((client), (future), (error), &gw_function_##function,                      \
                        GW_CALL_SPLIT(__VA_ARGS__, NULL))
#define GW_DISPATCH_CALL(client, ranks_, future, error, function, ...)                             \
    gw_submit_call_list((client), (future), (error), &gw_function_##function,                      \
                        GW_CALL_SPLIT(gw_options_of(gw_ranks_of(ranks_)), __VA_ARGS__))
#else
#define gw_submit(client, future, error, function, ...)                                            \
    gw_submit_call((client), (future), (error), &gw_function_##function,                           \
                   GW_CALL_SPLIT(__VA_ARGS__, NULL))
#define GW_DISPATCH_CALL(client, ranks_, future, error, function, ...)                             \
    gw_submit_call((client), (future), (error), &gw_function_##function,                           \
                   GW_CALL_SPLIT(GW_GANG(.ranks = (ranks_)), __VA_ARGS__))
#endif
#define gw_dispatch(client, ranks_, future, error, ...)                                            \
    GW_DISPATCH_CALL(client, ranks_, future, error, __VA_ARGS__, NULL)
GW_API int gw_submit_call(struct gw_client *client, struct gw_future **future,
                          struct gw_error *error, const struct gw_function *function,
                          const struct gw_task_options *options, struct gw_value **values,
                          size_t count);

/* gw_map submits `count` calls of a function at once: make_args(i, args, arg) fills the arguments
 * of call i (args: room for arg_count values, all taken) and returns 0, or a negative GW_E... that
 * ends the map; it runs on this thread, before gw_map returns. At most 255 arguments. futures: room
 * for count; all or none are given. Results of earlier tasks, and scattered values, are arguments
 * by gw_ref_future(graph, future), where `graph` is given: an empty one, in which nothing but these
 * references is made, and which may be freed afterwards. Blocks, and fails, as gw_client_submit;
 * GW_EINVAL: more than 2^30 calls. A count of 0 is well, and submits nothing. For many calls that
 * differ by a number, see range.h. */
struct gw_map_call {
    const struct gw_function *function;    /* &gw_function_NAME of a GW_TASK(NAME) */
    const struct gw_task_options *options; /* may be NULL; its name is the job's */
    size_t count;
    size_t arg_count;
    int (*make_args)(size_t i, struct gw_value **args, void *arg);
    void *arg;
    struct gw_graph *graph; /* that references were made in; NULL: there are none */
};
GW_API int gw_map(struct gw_client *client, const struct gw_map_call *call,
                  struct gw_future **futures, struct gw_error *error);

/* gw_scatter puts a value (borrowed) into the cluster once, for many tasks of graphs to take by
 * gw_ref_future; releasing the future frees it. A result made of it that is lost with its worker is
 * made again as long as that future is held; else it is GW_ELOST, with a text that names the value,
 * who scattered it, and the worker. Values lie in the scheduler's memory, with some 1.1 KiB beside
 * each: where it has no room (`gangway up --scatter-memory`), or no descriptor for one larger than
 * 256 KiB, GW_ELIMIT says how many there are; nothing else is hurt, releasing others makes room.
 * gw_scatter_many is the same for `count` values, with a future each (futures: room for count):
 * hundreds travel at once, where gw_scatter blocks for an answer each time; on the first error none
 * are given, nor left there. gw_gather gets `count` futures' values (rank 0's), blocks, large ones
 * 128 a round trip; values: room for count, each to be unref'd; the first in their order that
 * failed ends it: what stands behind it is not waited for, and none are given. */
GW_API int gw_scatter(struct gw_client *client, const struct gw_value *value,
                      struct gw_future **future, struct gw_error *error);
GW_API int gw_scatter_many(struct gw_client *client, const struct gw_value *const *values,
                           size_t count, struct gw_future **futures, struct gw_error *error);
GW_API int gw_gather(struct gw_client *client, struct gw_future *const *futures, size_t count,
                     struct gw_value **values, struct gw_error *error);

/* Results that several clients of one user hold. Each future counts by itself: a result stays as
 * long as one holds it, a task needs it, or it is published, also when the client that submitted it
 * is gone; its task goes on likewise. All of these block for one answer of the scheduler.
 *
 * gw_client_lookup gives a future of its own of a task by name: what is published as `name`, else
 * "JOB/NAME" (the task of job number JOB that was submitted with that name), else the task NAME of
 * the latest job that has one. gw_client_task does so by number, as gw_future_job and
 * gw_future_index give it. The task may be pending. GW_ENOENT: there is none, or its result was
 * released. */
GW_API int gw_client_lookup(struct gw_client *client, const char *name, struct gw_future **future,
                            struct gw_error *error);
GW_API int gw_client_task(struct gw_client *client, uint64_t job, uint32_t index,
                          struct gw_future **future, struct gw_error *error);

/* gw_publish keeps a future's result (it may be pending) under a name, 1 to 255 bytes of one line,
 * until gw_unpublish or the end of the cluster; GW_EEXIST: the name is taken; GW_ELIMIT: 65,536
 * are. gw_published gives a future of what is published; gw_unpublish lets go (futures of it keep
 * it). GW_ENOENT: nothing is published so. The query "published" lists them. */
GW_API int gw_publish(struct gw_client *client, const char *name, const struct gw_future *future,
                      struct gw_error *error);
GW_API int gw_published(struct gw_client *client, const char *name, struct gw_future **future,
                        struct gw_error *error);
GW_API int gw_unpublish(struct gw_client *client, const char *name, struct gw_error *error);

/* gw_who_has asks where a future's result lies: *answer, to be unref'd, is a list of dicts, one a
 * rank and worker: "rank", "worker" (its id; 0: the scheduler), "host", "bytes". Empty while it is
 * pending. Blocks. replica.h has copies made. */
GW_API int gw_who_has(const struct gw_future *future, struct gw_value **answer,
                      struct gw_error *error);

/* gw_ref_future stands, inside `graph`, for the result of a future of an earlier submission or a
 * scatter (rank 0's of a gang); the future may be pending, and must not be released before the
 * graph was submitted. */
GW_API struct gw_value *gw_ref_future(struct gw_graph *graph, const struct gw_future *future);

/* gw_future_state tells how a future stands, as far as this process has heard; does not block. Any
 * thread. GW_FAILED: also cancelled, lost, or of a closed client; gw_future_get has the cause. */
enum gw_future_state { GW_PENDING, GW_DONE, GW_FAILED };
GW_API enum gw_future_state gw_future_state(const struct gw_future *future);

/* gw_future_get blocks until the task has ended and gives the value of a rank (0 for ordinary
 * tasks), to be unref'd; a large one is a read-only mapping, fetched at the first get. On failure
 * the code and text of the first cause: which task, rank, host, signal or exit code, last lines of
 * its stderr. GW_ETASK, GW_ECRASHED, GW_ESTART, GW_ETIMEDOUT (its wall limit), GW_ECANCELLED,
 * GW_EDEPENDENCY, GW_ELOST, GW_ECLOSED; GW_EINVAL for a rank that it has not. */
GW_API int gw_future_get(struct gw_future *future, uint32_t rank, struct gw_value **value,
                         struct gw_error *error);

/* gw_future_wait blocks until the task has ended (well or not: 0) or timeout_ns passed
 * (GW_ETIMEDOUT); UINT64_MAX waits for ever. gw_future_wait_any does so for one of
 * `count` and gives its index; one that had ended before counts, so leave it out of the next;
 * GW_ENOENT where there is none, GW_ENOMEM.
 * Inside a task gw_future_wait, for ever, gw_future_get and gw_gather give GW_ECYCLE for what was
 * looked up and is the task itself or comes after it, and for calls of the task's own actor. */
GW_API int gw_future_wait(struct gw_future *future, uint64_t timeout_ns);
GW_API int gw_future_wait_any(struct gw_future *const *futures, size_t count, uint64_t timeout_ns,
                              size_t *index);

/* As completed: gw_completions_new watches `count` futures (borrowed: each until its index was
 * given, the others longer than it lives; all of one client; a count of 0 is well), or is
 * GW_ENOMEM. gw_completions_next blocks and gives each index once, in the order of their ends;
 * GW_ENOENT when all were given, GW_ETIMEDOUT. gw_completions_add watches one more future, borrowed
 * likewise; *index is its place, behind all before it, and gw_completions_next gives it in its
 * turn, also after a GW_ENOENT. It does not block; GW_ENOMEM; GW_EINVAL: a future of another
 * client. One thread at a time. gw_completions_free accepts NULL; the futures stay. */
struct gw_completions;
GW_API int gw_completions_new(struct gw_future *const *futures, size_t count,
                              struct gw_completions **completions);
GW_API int gw_completions_next(struct gw_completions *completions, uint64_t timeout_ns,
                               size_t *index);
GW_API int gw_completions_add(struct gw_completions *completions, struct gw_future *future,
                              size_t *index);
GW_API void gw_completions_free(struct gw_completions *completions);

/* gw_future_cancel stops the task, running or not (TERM, grace, KILL; `hard`: KILL at once), and
 * what depends on it; does not wait for its end, and does nothing to one that has ended. A pure one
 * whose result others wait for goes on for them. GW_ECLOSED. gw_future_retry runs a failed one
 * again, with what failed before it: the future is pending again. Other futures of what runs again
 * say that it failed until it has ended, and then how it did now. It blocks for the scheduler's
 * answer; GW_EINVAL: it has not failed; GW_ENOENT: nothing is left of it; GW_ECLOSED.
 * gw_future_release gives up the result and frees the future (NULL is accepted); the task itself
 * goes on if others need it, and is cancelled if nobody does; does not block. */
GW_API int gw_future_cancel(struct gw_future *future, bool hard, struct gw_error *error);
GW_API int gw_future_retry(struct gw_future *future, struct gw_error *error);
GW_API void gw_future_release(struct gw_future *future);

/* gw_future_job and gw_future_index name the task for the command line. The number of a plain call
 * (see gw_client_submit) that the scheduler has not answered yet is asked for: gw_future_job and
 * gw_future_cancel block for that. gw_future_exit_code is the exit code of a command's failure
 * (128 + signal), 0 if it had none; gw_future_attempt the attempt by which it failed, or its last
 * before it was cancelled, as gw_job_log takes it: 0 where there was none, and so no output, or it
 * has not failed. Any thread. */
GW_API uint64_t gw_future_job(const struct gw_future *future);
GW_API uint32_t gw_future_index(const struct gw_future *future);
GW_API int gw_future_exit_code(const struct gw_future *future);
GW_API uint64_t gw_future_attempt(const struct gw_future *future);

/* gw_client_query asks the scheduler for a listing: "status", "jobs", "running", "workers", "gpus",
 * "actors", "sync" and "published" of all; "job", "tasks", "attempts", "explain", "story", "graph"
 * and "who_has" of {"job": N} and, where it is about one task, its "index" or "name" (answers:
 * graph/wire/PROTOCOL.md). Blocks; *answer is to be unref'd. arguments is borrowed and may be NULL.
 *
 * A list comes from the scheduler in pages, each within a message, and is given whole, or up to
 * {"limit": N} rows. With {"cursor": C}, 0 at first, *answer is one page, as it is in the second it
 * was made: {"rows": [...], "next": the next page's cursor, if there is one}. A page may be empty.
 * "jobs" are the newest first, of all users, and narrowed by "ranges" ([[first, last], ...]),
 * "name" (the latest job called so), "last" (true: the latest that no task submitted), "all" (true:
 * all of one's own, as with "name" and "last"), "user" (a name or number), "all_users",
 * "unfinished", "state", "since_ns" (wall clock) and "where" (annotations). "brief" makes a row
 * [number, whether it has ended]; "count" adds to a page "more", how many it saw beyond "limit".
 *
 * GW_EINVAL: no such listing, or arguments that it does not take; GW_ENOENT: no such job or task;
 * GW_ECLOSED. */
GW_API int gw_client_query(struct gw_client *client, const char *what,
                           const struct gw_value *arguments, struct gw_value **answer,
                           struct gw_error *error);

/* Calls on jobs by number, of this session or not; each blocks for the scheduler's answer. All:
 * GW_ENOENT, there is no such job; GW_EPERM, it is another user's; GW_ECLOSED. gw_job_wait blocks
 * until the job has ended: 0, or the code and text of its first failure; *exit_code (not NULL) is 0
 * or that failure's. GW_ETIMEDOUT where that takes longer; timeout_ns 0 asks whether it has ended,
 * and UINT64_MAX waits for ever. gw_job_cancel ends all of a job as gw_future_cancel does a task,
 * what has ended stays; it does not wait for that.
 * gw_job_cancel_task cancels one task by its index as gw_future_cancel does, also of a range, whose
 * tasks have no futures; 0, too, for one that has ended, and for one of a range that has not begun:
 * it never does. GW_ENOENT: there is none, or (of a range) nothing of it is left.
 *
 * gw_job_retry runs again what failed or was cancelled in a job, and what never ran because of
 * that, and gives how many tasks those are (tasks: not NULL); gw_job_retry_task one task, and what
 * failed before it.
 * Of a range, which has to be detached, its numbers that failed, and those that were cancelled
 * before they began. What is done stays so; wait for the job anew. GW_EINVAL: nothing has failed;
 * GW_ENOENT: nothing is left of it, as of a job that ended with its client; GW_ENOTSUP: a range
 * that ends with its client. */
GW_API int gw_job_cancel(struct gw_client *client, uint64_t job, bool hard, struct gw_error *error);
GW_API int gw_job_cancel_task(struct gw_client *client, uint64_t job, uint32_t index, bool hard,
                              struct gw_error *error);
GW_API int gw_job_retry(struct gw_client *client, uint64_t job, uint32_t *tasks,
                        struct gw_error *error);
GW_API int gw_job_retry_task(struct gw_client *client, uint64_t job, uint32_t index,
                             struct gw_error *error);
GW_API int gw_job_wait(struct gw_client *client, uint64_t job, uint64_t timeout_ns, int *exit_code,
                       struct gw_error *error);

/* gw_job_restart ends the gangs of a job that run, gently (their `grace`), and lets them start
 * again, from their checkpoints if they keep any: as new attempts, charged as preemptions.
 * GW_ENOENT where none runs. */
GW_API int gw_job_restart(struct gw_client *client, uint64_t job, struct gw_error *error);

/* gw_job_pause has nothing of a job start any more, until gw_job_resume. What runs of its ordinary
 * tasks, or lies at a worker already, runs to its end. A gang that has not begun does not. One of
 * functions gets GW_PAUSE from its next gw_task_step, at the same step in all ranks: it saves,
 * returns (that is no result), and goes on from its checkpoint when the job is resumed; one that
 * calls no gw_task_step runs to its end. With `now` it is ended gently, within its `grace`, as a
 * gang of commands always is. Nothing is charged. GW_EINVAL for what has ended, an actor, and
 * (resume) a job that is not paused.
 *
 * gw_job_stop asks the gangs of a job to end well: a function gets GW_STOP from its next
 * gw_task_step, and what it returns is its result; a command gets its `signal`, nothing after that,
 * and ends as its exit code says. None starts again then. GW_ENOENT where none runs. */
GW_API int gw_job_pause(struct gw_client *client, uint64_t job, bool now, struct gw_error *error);
GW_API int gw_job_resume(struct gw_client *client, uint64_t job, struct gw_error *error);
GW_API int gw_job_stop(struct gw_client *client, uint64_t job, struct gw_error *error);

/* gw_gpu_drain has nothing more placed at a GPU, by the UUID that the query "gpus" has for it, or
 * the GPU's whose instances they are; what runs there runs on. Like one that had an error after
 * which it cannot be trusted, it stays drained when its worker or the scheduler starts again.
 *
 * gw_gpu_undrain says that one that is drained may be used again: who asks has reset it, or knows
 * what is left there. A worker that drained it looks at it within a second, and drains it anew
 * where it is lost or, after an error, not as it was before. 0 when its workers were told.
 * GW_EPERM: only an admin, or who started the cluster, may; GW_EINVAL: it is not drained;
 * GW_ENOENT: no worker has it. */
GW_API int gw_gpu_drain(struct gw_client *client, const char *uuid, struct gw_error *error);
GW_API int gw_gpu_undrain(struct gw_client *client, const char *uuid, struct gw_error *error);

/* gw_job_log reads a task's output, at most 256 KiB at a time: with `follow` it blocks until there
 * is some or it ended; without it, what is not there yet is no bytes, and no end. With `holds` the
 * caller is the reader of a command with held_output: the command may go on as what lies before
 * `offset` has been read; UINT64_MAX: it never waits again, and the chunk is empty. On success the
 * chunk's data is the caller's. GW_ENOENT: no such job, task, attempt or rank; GW_EPERM: another
 * user's job; GW_ELOST: the worker that had it is lost, and the output with it; GW_ECLOSED. */
struct gw_log_request {
    uint64_t job;
    uint32_t index;
    uint64_t attempt; /* 0: the latest */
    uint64_t after;   /* with attempt 0: the first after this one (1: of all); 0: the latest */
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
    bool end;                   /* that attempt has ended, and this is the last of it */
    char note[GW_LOG_NOTE_MAX]; /* with the last of it: why there may be less than was printed */
    uint64_t left_out;          /* bytes right before this data that were printed and not kept */
};
GW_API int gw_job_log(struct gw_client *client, const struct gw_log_request *request,
                      struct gw_log_chunk *chunk, struct gw_error *error);

/* gw_client_shutdown ends the cluster: running work is cancelled, with its own grace (5 minutes at
 * most). Blocks until all is gone. GW_EPERM, GW_ETIMEDOUT. */
GW_API int gw_client_shutdown(struct gw_client *client, struct gw_error *error);

/* gw_error_exit prints the text to stderr and exits with gw_error_exit_code (error.h). */
GW_API void gw_error_exit(const struct gw_error *error) __attribute__((noreturn));

/* gw_version is "major.minor.patch"; static. */
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
