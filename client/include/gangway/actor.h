/* Actors: a task that stays in its runner when it is through, with the state that it made, and is
 * called by method.
 *
 *     struct counter { int64_t n; };
 *     static int counter(struct gw_task *task)            makes it: once, in a runner of its own
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
 * The task that makes an actor is placed as any other; slots, memory, GPUs and resources of its
 * options are the actor's from then to its end, and its calls need no more. Calls run in the
 * actor's process, one at a time; those of one client in the order in which it made them, each when
 * its arguments are there (one that has to be tried again, for a lost input or by its retries,
 * comes later). Their futures are like others.
 *
 * An actor lives as long as somebody holds it. A handle that is freed, a client that is closed or
 * dies let go. When nobody holds it and the calls that were made have ended, the destroy of
 * gw_task_actor is called and its runner ends. When its runner or worker dies, the call that was
 * executed fails (GW_ECRASHED, GW_ELOST), with what had not begun: GW_EACTOR, with the cause; or,
 * where the actor has restarts left, it is made again, by the same task with the same arguments,
 * and what had not begun goes on. No call is executed twice but by its own `retries`; the result of
 * a call that is lost with a worker is not made again (GW_ELOST).
 *
 * A call that has not begun ends at once when it is cancelled (within 50 ms where its runner has it
 * already, behind a short one). One that runs goes on to its end, also where the cancel is `hard`,
 * and only its result is dropped: its future is pending until then. gw_actor_kill ends it, with the
 * actor. Giving up the future of a call does not cancel it. What a call
 * prints is in the output of the actor's own task, under a line that names the call. */
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
    const char *name;  /* for others to find it by; unique among the living of a user; copied */
    uint32_t restarts; /* how often it may be made again; at most 255 */
    const struct gw_task_options *task; /* what it needs and may take; no ranks; NULL: a slot */
};

/* GW_ACTOR(.name = "counter") makes options on the spot, good until the end of the call. */
#ifdef __cplusplus
#define GW_ACTOR(...) gw_actor_options_of(GW_BRACES(gw_actor_options, __VA_ARGS__))
#else
#define GW_ACTOR(...) (&(const struct gw_actor_options){__VA_ARGS__})
#endif

/* gw_actor_new(client, &actor, &error, function, options, arguments...) submits the task that makes
 * an actor and gives a handle (gw_actor_free), with which it can be called at once. Blocks until
 * the scheduler accepted it or refused it: GW_EEXIST (the name is taken), and as gw_client_submit.
 * Whether the task ends well the first call tells. options may be NULL; arguments as of gw_call,
 * futures as gw_ref_of. */
#ifdef __cplusplus
#define gw_actor_new(client, actor, error, function, ...)                                          \
    gw_actor_new_list((client), (actor), (error), &gw_function_##function,                         \
                      GW_CALL_SPLIT(__VA_ARGS__, NULL))
#else
#define gw_actor_new(client, actor, error, function, ...)                                          \
    gw_actor_new_call((client), (actor), (error), &gw_function_##function,                         \
                      GW_CALL_SPLIT(__VA_ARGS__, NULL))
#endif
GW_API int gw_actor_new_call(struct gw_client *client, struct gw_actor **actor,
                             struct gw_error *error, const struct gw_function *function,
                             const struct gw_actor_options *options, struct gw_value **values,
                             size_t count);

/* gw_actor_call(actor, &future, &error, method, options, arguments...) makes one call. Does not
 * wait for the scheduler (but where an argument is the future of a call of which it is not known
 * yet where it went, or more than a few MiB are queued): calls leave together. `future` may be
 * NULL: nobody wants the result. Of the options retries, wall_ns, progress_ns, priority and name
 * count; a call that runs longer than its wall_ns, or says nothing for longer than its progress_ns,
 * takes the actor along: they share a process. GW_EINVAL, GW_ENOENT (no such function in this
 * program), GW_ECLOSED; what the scheduler refuses (GW_EACTOR) the future tells. Thread-safe: the
 * order is that in which the calls returned. */
#ifdef __cplusplus
#define gw_actor_call(actor, future, error, method, ...)                                           \
    gw_actor_call_list((actor), (future), (error), &gw_function_##method,                          \
                       GW_CALL_SPLIT(__VA_ARGS__, NULL))
#else
#define gw_actor_call(actor, future, error, method, ...)                                           \
    gw_actor_make_call((actor), (future), (error), &gw_function_##method,                          \
                       GW_CALL_SPLIT(__VA_ARGS__, NULL))
#endif
GW_API int gw_actor_make_call(struct gw_actor *actor, struct gw_future **future,
                              struct gw_error *error, const struct gw_function *method,
                              const struct gw_task_options *options, struct gw_value **values,
                              size_t count);

/* gw_ref_of stands, in the arguments of gw_actor_new and gw_actor_call, for the result of a future
 * of the same client (rank 0's of a gang): of a task, a scattered value, or an earlier call. The
 * future must live until the call was made. */
GW_API struct gw_value *gw_ref_of(const struct gw_future *future);

/* gw_actor_find gives a handle of an actor of this user by name, or by the number of the job that
 * made it (gw_actor_job; name NULL): blocks. GW_ENOENT, GW_EACTOR (it has ended). */
GW_API int gw_actor_find(struct gw_client *client, const char *name, uint64_t job,
                         struct gw_actor **actor, struct gw_error *error);

/* gw_actor_job names the actor for the command line, and for gw_actor_find of other clients: a
 * plain number that can be the argument of a task. Whoever hands it on holds the actor until the
 * other does. */
GW_API uint64_t gw_actor_job(const struct gw_actor *actor);

/* gw_actor_kill ends an actor now, whoever holds it: TERM, grace, KILL; destroy is not called. Does
 * not block. GW_ECLOSED. */
GW_API int gw_actor_kill(struct gw_actor *actor, struct gw_error *error);

/* gw_actor_free gives up a handle (NULL is accepted); its calls go on, and their futures stay. */
GW_API void gw_actor_free(struct gw_actor *actor);

#ifdef __cplusplus
}

/* What the macros above expand to in C++; a list ends with a NULL of theirs. */
static inline const gw_actor_options *gw_actor_options_of(const gw_actor_options &options)
{
    return &options;
}

static inline int gw_actor_new_list(gw_client *client, gw_actor **actor, gw_error *error,
                                    const gw_function *function, const gw_actor_options *options,
                                    std::initializer_list<gw_value *> values)
{
    return gw_actor_new_call(client, actor, error, function, options,
                             const_cast<gw_value **>(values.begin()), values.size() - 1);
}

static inline int gw_actor_call_list(gw_actor *actor, gw_future **future, gw_error *error,
                                     const gw_function *method, const gw_task_options *options,
                                     std::initializer_list<gw_value *> values)
{
    return gw_actor_make_call(actor, future, error, method, options,
                              const_cast<gw_value **>(values.begin()), values.size() - 1);
}
#endif

#endif
