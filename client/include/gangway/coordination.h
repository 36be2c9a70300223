/* Coordination between clients and tasks of one user: semaphores, locks, events, variables and
 * queues.
 *
 * The scheduler keeps each object under a name of 1 to 255 bytes of UTF-8 without control
 * characters. Each kind has its own names. Any client may use the objects; a task uses them through
 * gw_task_client. While a task waits in one of these calls, it yields its slots to other tasks.
 *
 * A name may belong to a job. "17/inbox" belongs to job 17 of this user (gw_future_job). Inside a
 * task "./inbox" is the same name of the task's own job, so two jobs with the same program do not
 * meet. Such an object ends with the job, with everything in it. GW_ENOENT: the job has ended or
 * never existed. GW_EINVAL: "./" outside of a task. Names of actors may belong to a job in the same
 * way (actor.h).
 *
 * A semaphore, a variable or a queue exists until gw_sync_delete (`gangway sync rm KIND NAME`)
 * or the end of the scheduler. A lock exists while a client holds it or waits for it. An event
 * exists while it is set or a client waits for it.
 *
 * A client's leases are released when its connection ends: when the client is closed or dies, when
 * the attempt ends (inside a task), or when the client's host was silent for so long that the
 * scheduler gave the connection up. No lease ends by time alone: a stopped process (SIGSTOP, a
 * debugger) keeps its leases while its connection lives. `gangway sync list` shows the holders of
 * leases. Waiters are served in the order in which they came. A user has at most 10,000 names, and
 * a name at most 65,536 waiters.
 *
 * All calls are thread-safe and ask the scheduler once. A call with timeout_ns waits for at most
 * that time (0: only try; GW_FOREVER: no timeout) and then fails with GW_ETIMEDOUT. All calls can
 * fail with these errors: GW_EINVAL: malformed name; GW_ELIMIT: a limit is reached; GW_ECLOSED: the
 * connection has ended; GW_ECANCELLED: the object was deleted, or ended with its job, while the
 * call waited; GW_ENOTSUP: the program runs with GANGWAY_INLINE=1. */
#ifndef GANGWAY_COORDINATION_H
#define GANGWAY_COORDINATION_H

#include <gangway/error.h>
#include <gangway/options.h>
#include <gangway/value.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;

/* -- Semaphores and locks ------------------------------------------------------------------------
 */

/* gw_semaphore_open makes a semaphore of `count` leases. GW_EEXIST: the semaphore exists with
 * another count.
 *
 * gw_semaphore_acquire waits for one lease, which this client then holds. GW_ENOENT: nobody has
 * opened the semaphore.
 *
 * gw_semaphore_release gives back one lease of this client. GW_EINVAL: the client holds no lease.
 */
GW_API int gw_semaphore_open(struct gw_client *client, const char *name, uint32_t count,
                             struct gw_error *error);
GW_API int gw_semaphore_acquire(struct gw_client *client, const char *name, uint64_t timeout_ns,
                                struct gw_error *error);
GW_API int gw_semaphore_release(struct gw_client *client, const char *name, struct gw_error *error);

/* gw_lock_acquire and gw_lock_release: a lock is a semaphore of one lease that needs no open. A
 * lock is not recursive: a client that acquires its own lock again waits for itself. */
GW_API int gw_lock_acquire(struct gw_client *client, const char *name, uint64_t timeout_ns,
                           struct gw_error *error);
GW_API int gw_lock_release(struct gw_client *client, const char *name, struct gw_error *error);

/* gw_semaphore_acquire_fenced and gw_lock_acquire_fenced also return the number of the lease, a
 * fencing token. The number is larger than that of every earlier lease of any name, also after a
 * restart of the scheduler. A process that was cut off (its worker is lost, or its host is silent)
 * may have lost its lease without knowing it. Therefore send the number with every write, and let
 * the storage refuse numbers smaller than the largest that it has seen. fence may be NULL. `gangway
 * sync list` shows the number of the latest lease. A command that runs under `gangway sync lock` or
 * `lease` has the number of its lease in the variable GANGWAY_FENCE. */
GW_API int gw_semaphore_acquire_fenced(struct gw_client *client, const char *name,
                                       uint64_t timeout_ns, uint64_t *fence,
                                       struct gw_error *error);
GW_API int gw_lock_acquire_fenced(struct gw_client *client, const char *name, uint64_t timeout_ns,
                                  uint64_t *fence, struct gw_error *error);

/* -- Events --------------------------------------------------------------------------------------
 */

/* gw_event_set sets the event: gw_event_wait returns at once, for present and later waiters, until
 * gw_event_clear. gw_event_wait waits until the event is set. A new event is not set. */
GW_API int gw_event_set(struct gw_client *client, const char *name, struct gw_error *error);
GW_API int gw_event_clear(struct gw_client *client, const char *name, struct gw_error *error);
GW_API int gw_event_wait(struct gw_client *client, const char *name, uint64_t timeout_ns,
                         struct gw_error *error);

/* -- Variables -----------------------------------------------------------------------------------
 */

/* A value that is passed to a function is borrowed. A NULL value returns GW_ENOMEM, so that a
 * failed gw_i64(...) can be passed on unchecked. The caller unrefs a value that a function returns.
 * An encoded value has at most GW_SYNC_VALUE_BYTES_MAX bytes (GW_ELIMIT). Publish a larger value
 * with gw_publish, and store its name here. */
#define GW_SYNC_VALUE_BYTES_MAX (768u << 10)

struct gw_variable {
    struct gw_value *value;
    uint64_t version; /* version of the value: 1 for the first value, and larger after every
                         gw_variable_set; 0: the variable has no value yet */
};

/* gw_variable_set sets the variable. gw_variable_replace sets it only if its version is still
 * `version` (0: the variable has no value yet). GW_EAGAIN: the version has changed: get the value
 * and try again. *now is the new version; `now` may be NULL. */
GW_API int gw_variable_set(struct gw_client *client, const char *name, const struct gw_value *value,
                           uint64_t *now, struct gw_error *error);
GW_API int gw_variable_replace(struct gw_client *client, const char *name, uint64_t version,
                               const struct gw_value *value, uint64_t *now, struct gw_error *error);

/* gw_variable_get waits until the variable has a value, and returns the value. gw_variable_next
 * waits until the version differs from variable->version, which the caller sets, and returns the
 * new value. To follow a variable, start with version 0 and call gw_variable_next again and again;
 * unref each value. */
GW_API int gw_variable_get(struct gw_client *client, const char *name, uint64_t timeout_ns,
                           struct gw_variable *variable, struct gw_error *error);
GW_API int gw_variable_next(struct gw_client *client, const char *name, uint64_t timeout_ns,
                            struct gw_variable *variable, struct gw_error *error);

/* -- Queues --------------------------------------------------------------------------------------
 */

/* gw_queue_open makes a queue of at most `count_max` values (0: 65,536). GW_EEXIST: the queue
 * exists with another bound. GW_ECLOSED: gw_queue_close has closed the queue; it stays closed until
 * gw_sync_delete. Without gw_queue_open, the first put or get makes a queue of 65,536 values. A
 * queue also holds at most 64 MiB. */
GW_API int gw_queue_open(struct gw_client *client, const char *name, uint32_t count_max,
                         struct gw_error *error);

/* gw_queue_put waits for room and appends a value of at most GW_SYNC_VALUE_BYTES_MAX bytes.
 * gw_queue_get waits for a value and takes the oldest. gw_queue_get_many waits for one value and
 * takes all values that are in the queue, up to batch->max and 768 KiB.
 *
 * After gw_queue_close a put fails with GW_ECLOSED at once. A get takes the values that are left,
 * and fails with GW_ECLOSED when the queue is empty. */
GW_API int gw_queue_put(struct gw_client *client, const char *name, const struct gw_value *value,
                        uint64_t timeout_ns, struct gw_error *error);
GW_API int gw_queue_get(struct gw_client *client, const char *name, uint64_t timeout_ns,
                        struct gw_value **value, struct gw_error *error);
struct gw_queue_batch {
    struct gw_value **values; /* room for `max` values; unref each value */
    uint32_t max;
    uint32_t count; /* number of values taken */
};
GW_API int gw_queue_get_many(struct gw_client *client, const char *name, uint64_t timeout_ns,
                             struct gw_queue_batch *batch, struct gw_error *error);
GW_API int gw_queue_close(struct gw_client *client, const char *name, struct gw_error *error);

/* -- All -----------------------------------------------------------------------------------------
 */

/* gw_sync_delete deletes one object of a kind ("semaphore", "lock", "event", "variable", "queue")
 * with everything in it. Waiters get GW_ECANCELLED, and leases are void. GW_ENOENT: no such object.
 * gw_client_query(client, "sync", NULL, ...) lists all objects. */
GW_API int gw_sync_delete(struct gw_client *client, const char *kind, const char *name,
                          struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
