/* Actors: an actor is a task whose process and state stay after the task has returned. Clients then
 * call its methods.
 *
 *     struct counter { int64_t n; };
 *     static int counter(struct gw_task *task)            makes the actor, in a runner of its own
 *     {
 *         return gw_task_actor(task, calloc(1, sizeof(struct counter)), free);
 *     }
 *     GW_TASK(counter);
 *     static int counter_add(struct gw_task *task)        a method: any task function
 *     {
 *         struct counter *counter = gw_task_state(task);
 *         ...
 *         return gw_task_return(task, gw_i64(counter->n += by));
 *     }
 *     GW_TASK(counter_add);
 *
 *     gw_actor_new(client, &actor, &error, counter, NULL);
 *     gw_actor_call(actor, &future, &error, counter_add, NULL, gw_i64(2));
 *
 * The task that makes an actor is placed like any other task. The slots, memory, GPUs and
 * resources of its options belong to the actor until it ends, so an actor on the only slot of a
 * cluster keeps all other tasks waiting. gw_actor_new prints a warning (log.h) if the actors of a
 * client hold all slots. Calls need no further resources. They
 * run in the actor's process, one at a time. The calls of one client run in the order in which the
 * client made them; each call waits until its arguments are available. A call that is retried,
 * because of a lost input or its `retries`, runs after calls that were made later. The futures of
 * calls are ordinary futures.
 *
 * An actor lives while a client has a handle of it. Freeing the handle, closing the client and the
 * death of the client all release the handle. If no client has a handle and all calls have ended,
 * the `destroy` function of gw_task_actor is called and the runner ends.
 *
 * If the runner or worker of an actor dies, the running call fails (GW_ECRASHED, GW_ELOST). If the
 * actor has no restarts left, calls that had not started fail with GW_EACTOR, and the text has the
 * cause. Otherwise the same task makes the actor again with the same arguments, and those calls
 * run. A call runs twice only if it has `retries`. If the result of a call is lost with a worker,
 * it is not computed again (GW_ELOST).
 *
 * If a call that has not started is cancelled, it ends at once, or within 50 ms if the call is
 * already in the queue of its runner. A running call is not interrupted, even if the cancel is
 * `hard`: it runs to its end, and then its result is dropped. Its future is pending until then.
 * gw_actor_kill ends the running call and the actor. Releasing the future of a call does not cancel
 * the call. The output of a call is in the output of the actor's task, below a line that names the
 * call. */
#ifndef GANGWAY_ACTOR_H
#define GANGWAY_ACTOR_H

#include <gangway/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;
struct gw_future;
struct gw_actor;

struct gw_actor_options {
    size_t struct_size; /* see options.h */
    const char *name;   /* name by which gw_actor_find finds the actor; no other living actor of
                           this user may have it; copied. "./counter", in a task, and
                           "17/counter" belong to a job: see coordination.h. The actor ends with
                           this job, even if clients have handles of it. */
    uint32_t restarts;  /* how often a dead actor may be made again, at most 255 */
    const struct gw_task_options *task; /* of the actor's task; no `ranks`; NULL: 1 slot */
};

/* GW_ACTOR builds the options of an actor inside a call, for example GW_ACTOR(.name = "counter");
 * see options.h. */
#define GW_ACTOR(...) GW_POINTER(gw_actor_options, __VA_ARGS__)

/* gw_actor_new(client, function, options, GW_ARGS(arguments...), &actor, &error) submits the task
 * that makes an actor and returns a handle. The caller frees the handle with gw_actor_free. Calls
 * to the actor can be made at once, before it runs. gw_actor_new blocks until the scheduler has
 * accepted or refused the task. The first call to the actor reports whether the task succeeded.
 * options may be NULL. Arguments are those of gw_call; pass a future as gw_result_of(future).
 *
 * Errors: GW_EEXIST: another actor has the name; and the errors of gw_client_submit. */
#ifdef __cplusplus
#define gw_actor_new(client, function, options, args, actor, error)                                \
    gw_actor_new_list((client), &gw_registered_##function, (options), args, (actor), (error))
#else
#define gw_actor_new(client, function, options, args, actor, error)                                \
    gw_actor_new_call((client), &gw_registered_##function, (options), args, (actor), (error))
#endif
GW_API int gw_actor_new_call(struct gw_client *client, const struct gw_function *function,
                             const struct gw_actor_options *options, struct gw_value **values,
                             size_t count, struct gw_actor **actor, struct gw_error *error);

/* gw_actor_call(actor, method, options, GW_ARGS(arguments...), &future, &error) makes one call.
 * Several calls are sent to the scheduler together, so gw_actor_call does not wait for the
 * scheduler, with two exceptions: an argument is the future of a call whose actor the scheduler
 * does not know yet, or more than a few MiB of calls wait to be sent. `future` may be NULL if
 * nobody wants the result.
 *
 * Only these options are used: retries, time_limit_ns, inactivity_timeout_ns, priority and name. A
 * call that exceeds its time_limit_ns or inactivity_timeout_ns ends the actor too, because they
 * share a process. Thread-safe: calls run in the order in which gw_actor_call returned.
 *
 * Errors: GW_EINVAL: wrong arguments. GW_ENOENT: this program has no such function. GW_ECLOSED: the
 * connection has ended. If the scheduler refuses the call later, the call's future has the error
 * (for example GW_EACTOR). */
#ifdef __cplusplus
#define gw_actor_call(actor, method, options, args, future, error)                                 \
    gw_actor_call_list((actor), &gw_registered_##method, (options), args, (future), (error))
#else
#define gw_actor_call(actor, method, options, args, future, error)                                 \
    gw_actor_make_call((actor), &gw_registered_##method, (options), args, (future), (error))
#endif
GW_API int gw_actor_make_call(struct gw_actor *actor, const struct gw_function *method,
                              const struct gw_task_options *options, struct gw_value **values,
                              size_t count, struct gw_future **future, struct gw_error *error);

/* gw_result_of makes a reference to the result of a future, as an argument of gw_actor_new or
 * gw_actor_call. The future must belong to the same client. It may be the future of a task, a
 * scattered value, or an earlier call. The result of a gang is that of rank 0. Do not release the
 * future before the call was made. */
GW_API struct gw_value *gw_result_of(const struct gw_future *future);

/* gw_actor_find returns a handle of an actor of this user. It looks the actor up by name or, if
 * name is NULL, by `job`, the number of the job that made the actor (gw_actor_job). It blocks for
 * the scheduler's answer. Errors: GW_ENOENT: no such actor, or the job to which the name belongs
 * has ended; GW_EACTOR: the actor has ended; GW_EINVAL: malformed name. */
GW_API int gw_actor_find(struct gw_client *client, const char *name, uint64_t job,
                         struct gw_actor **actor, struct gw_error *error);

/* gw_actor_job returns the number of the job that made the actor. The command line and
 * gw_actor_find of other clients find the actor by this number. It is a plain number, so it can be
 * an argument of a task. Keep this handle until the other client has its own handle: an actor
 * without handles ends. */
GW_API uint64_t gw_actor_job(const struct gw_actor *actor);

/* gw_actor_kill ends an actor at once, even if other clients hold handles: SIGTERM, the grace time,
 * then SIGKILL. The `destroy` function is not called. gw_actor_kill does not block. Error:
 * GW_ECLOSED: the connection has ended. */
GW_API int gw_actor_kill(struct gw_actor *actor, struct gw_error *error);

/* gw_actor_free releases a handle (NULL is accepted). Calls that were made go on, and their futures
 * stay valid. */
GW_API void gw_actor_free(struct gw_actor *actor);

#ifdef __cplusplus
}

/* The functions behind gw_actor_new and gw_actor_call in C++. */
static inline int gw_actor_new_list(gw_client *client, const gw_function *function,
                                    const gw_actor_options *options,
                                    std::initializer_list<gw_value *> values, gw_actor **actor,
                                    gw_error *error)
{
    return gw_actor_new_call(client, function, options, const_cast<gw_value **>(values.begin()),
                             values.size(), actor, error);
}

static inline int gw_actor_call_list(gw_actor *actor, const gw_function *method,
                                     const gw_task_options *options,
                                     std::initializer_list<gw_value *> values, gw_future **future,
                                     gw_error *error)
{
    return gw_actor_make_call(actor, method, options, const_cast<gw_value **>(values.begin()),
                              values.size(), future, error);
}
#endif

#endif
