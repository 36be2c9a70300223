/* Coordination between clients and tasks of one user: semaphores, locks, events, variables, queues.
 *
 * They live in the scheduler under a name of 1 to 255 bytes of UTF-8 without control characters.
 * Each kind has its own names. Any client may use them, also inside a task (gw_task_client). A task
 * that waits here yields its slots while it waits.
 *
 * A semaphore, a variable or a queue exists until gw_sync_delete (`gangway sync delete KIND NAME`)
 * or the end of the scheduler. A lock exists while somebody holds it or waits for it. An event
 * exists while it is set or somebody waits for it.
 *
 * A client's leases are released when its connection ends: when the client is closed or dies, when
 * the attempt ends (inside a task), or when the client's host was silent for so long that the
 * scheduler gave the connection up. No lease ends by time alone: a stopped process (SIGSTOP, a
 * debugger) keeps its leases while its connection lives. `gangway sync list` shows who holds them.
 * Waiters are served in the order in which they came. A user has at most 10,000 names, and a name
 * at most 65,536 waiters.
 *
 * All calls are thread-safe and ask the scheduler once. Calls with timeout_ns wait; 0: only try;
 * UINT64_MAX: no timeout; GW_ETIMEDOUT. All: GW_EINVAL: malformed name; GW_ELIMIT; GW_ECLOSED;
 * GW_ECANCELLED: deleted while the call waited. GW_ENOTSUP with GANGWAY_INLINE=1. */
#ifndef GANGWAY_COORDINATION_H
#define GANGWAY_COORDINATION_H

#include <gangway/error.h>
#include <gangway/value.h>

#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;

/* -- Semaphores and locks ------------------------------------------------------------------------
 */

/* gw_semaphore_open makes a semaphore of `count` leases. GW_EEXIST: it exists with another count.
 * gw_semaphore_acquire waits for one lease, which this client then holds. GW_ENOENT: nobody has
 * opened the semaphore. gw_semaphore_release gives back one lease of this client. GW_EINVAL: the
 * client holds none. */
GW_API int gw_semaphore_open(struct gw_client *client, const char *name, uint32_t count,
                             struct gw_error *error);
GW_API int gw_semaphore_acquire(struct gw_client *client, const char *name, uint64_t timeout_ns,
                                struct gw_error *error);
GW_API int gw_semaphore_release(struct gw_client *client, const char *name, struct gw_error *error);

/* gw_lock_acquire and gw_lock_release: a lock is a semaphore of one lease that needs no open. It is
 * not recursive: a client that acquires its own lock again waits for itself. */
GW_API int gw_lock_acquire(struct gw_client *client, const char *name, uint64_t timeout_ns,
                           struct gw_error *error);
GW_API int gw_lock_release(struct gw_client *client, const char *name, struct gw_error *error);

/* gw_semaphore_acquire_fenced and gw_lock_acquire_fenced do the same and also return the lease's
 * number, a fencing token. It is larger than that of every earlier lease of any name, also after a
 * restart of the scheduler. A process that was cut off (its worker is lost, its host is silent) may
 * have lost its lease without knowing it. So send the number with every write, and let the storage
 * refuse numbers smaller than the largest it has seen. fence may be NULL. `gangway sync list` shows
 * the number of the latest lease. Commands of `gangway sync lock` and `lease` find theirs in the
 * variable GANGWAY_FENCE. */
GW_API int gw_semaphore_acquire_fenced(struct gw_client *client, const char *name,
                                       uint64_t timeout_ns, uint64_t *fence,
                                       struct gw_error *error);
GW_API int gw_lock_acquire_fenced(struct gw_client *client, const char *name, uint64_t timeout_ns,
                                  uint64_t *fence, struct gw_error *error);

/* -- Events --------------------------------------------------------------------------------------
 */

/* gw_event_set sets the event: everybody who waits, now or later, continues, until gw_event_clear.
 * gw_event_wait waits until the event is set. A new event is not set. */
GW_API int gw_event_set(struct gw_client *client, const char *name, struct gw_error *error);
GW_API int gw_event_clear(struct gw_client *client, const char *name, struct gw_error *error);
GW_API int gw_event_wait(struct gw_client *client, const char *name, uint64_t timeout_ns,
                         struct gw_error *error);

/* -- Variables -----------------------------------------------------------------------------------
 */

/* A value passed in is borrowed (NULL: GW_ENOMEM). Unref a value that is returned. An encoded value
 * has at most GW_SYNC_VALUE_BYTES_MAX bytes (GW_ELIMIT): publish a larger one under a name, and put
 * the name here. */
#define GW_SYNC_VALUE_BYTES_MAX (768u << 10)

struct gw_variable {
    struct gw_value *value;
    uint64_t version; /* starts at 1 and grows with every set; 0: there is no value yet */
};

/* gw_variable_set sets the variable. gw_variable_replace sets it only if its version is still
 * `version` (0: no value yet). GW_EAGAIN: the version has changed: get the value and try again.
 * *now (may be NULL) is the new version. */
GW_API int gw_variable_set(struct gw_client *client, const char *name, const struct gw_value *value,
                           uint64_t *now, struct gw_error *error);
GW_API int gw_variable_replace(struct gw_client *client, const char *name, uint64_t version,
                               const struct gw_value *value, uint64_t *now, struct gw_error *error);

/* gw_variable_get waits until the variable has a value, and returns it. gw_variable_next waits
 * until the version differs from variable->version, which the caller sets, and returns the new
 * value. To follow a variable, start with version 0 and call it again and again; unref each value.
 */
GW_API int gw_variable_get(struct gw_client *client, const char *name, uint64_t timeout_ns,
                           struct gw_variable *variable, struct gw_error *error);
GW_API int gw_variable_next(struct gw_client *client, const char *name, uint64_t timeout_ns,
                            struct gw_variable *variable, struct gw_error *error);

/* -- Queues --------------------------------------------------------------------------------------
 */

/* gw_queue_open makes a queue of at most `count_max` values (0: 65,536). GW_EEXIST: it exists with
 * another bound. GW_ECLOSED: gw_queue_close has closed it; it stays closed until gw_sync_delete.
 * Without gw_queue_open, the first put or get makes a queue of 65,536 values. A queue also holds at
 * most 64 MiB. */
GW_API int gw_queue_open(struct gw_client *client, const char *name, uint32_t count_max,
                         struct gw_error *error);

/* gw_queue_put waits for room and appends a value (see gw_variable_set for its limits).
 * gw_queue_get waits for a value and takes the oldest. gw_queue_get_many waits for one value and
 * takes all that are there, up to batch->max and 768 KiB; values: room for max. GW_ECLOSED after
 * gw_queue_close: a put fails at once, a get fails when the queue is empty. */
GW_API int gw_queue_put(struct gw_client *client, const char *name, const struct gw_value *value,
                        uint64_t timeout_ns, struct gw_error *error);
GW_API int gw_queue_get(struct gw_client *client, const char *name, uint64_t timeout_ns,
                        struct gw_value **value, struct gw_error *error);
struct gw_queue_batch {
    struct gw_value **values; /* room for max; unref each */
    uint32_t max;
    uint32_t count; /* taken */
};
GW_API int gw_queue_get_many(struct gw_client *client, const char *name, uint64_t timeout_ns,
                             struct gw_queue_batch *batch, struct gw_error *error);
GW_API int gw_queue_close(struct gw_client *client, const char *name, struct gw_error *error);

/* -- All -----------------------------------------------------------------------------------------
 */

/* gw_sync_delete deletes one object of a kind ("semaphore", "lock", "event", "variable", "queue")
 * with everything in it. Waiters get GW_ECANCELLED, and leases are void. GW_ENOENT. To list all:
 * gw_client_query(client, "sync", NULL, ...). */
GW_API int gw_sync_delete(struct gw_client *client, const char *kind, const char *name,
                          struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
