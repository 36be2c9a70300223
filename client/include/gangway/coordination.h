/* Coordination between clients and tasks of one user: semaphores, locks, events, variables, queues.
 *
 * They live in the scheduler under a name (1 to 255 bytes of UTF-8 without control characters),
 * each kind with names of its own, and work from any client, also from inside tasks
 * (gw_task_client): a task that waits here gives its slots back meanwhile.
 *
 * A semaphore, a variable or a queue is kept until gw_sync_delete (`gangway sync delete KIND NAME`)
 * or the end of the scheduler; a lock that nobody holds or wants and an event that is cleared and
 * awaited by nobody take no room. What a client holds is let go when its connection ends: when it
 * is closed, dies, or, inside a task, when that attempt ends, or when its host is silent for so
 * long that its connection is given up. Time alone takes no lease: a process that is stopped
 * (SIGSTOP, a debugger) keeps what it holds while its connection stands, and `gangway sync list`
 * says whose it is. Who waits is served in the order in which it came. A user has at most 10,000
 * names, a name at most 65,536 that wait for it.
 *
 * All calls are thread-safe, and ask the scheduler once. Those with timeout_ns wait: 0 only tries,
 * UINT64_MAX waits for ever; GW_ETIMEDOUT. All: GW_EINVAL (a name), GW_ELIMIT, GW_ECLOSED, and
 * GW_ECANCELLED where the thing was deleted while they waited. GW_ENOTSUP with GANGWAY_INLINE=1. */
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

/* gw_semaphore_open makes a semaphore of `count` leases; one that is there already has to have as
 * many: GW_EEXIST. gw_semaphore_acquire waits for one lease, which this client then holds;
 * GW_ENOENT where nobody opened the semaphore. gw_semaphore_release gives back one of this
 * client's; GW_EINVAL where it holds none. */
GW_API int gw_semaphore_open(struct gw_client *client, const char *name, uint32_t count,
                             struct gw_error *error);
GW_API int gw_semaphore_acquire(struct gw_client *client, const char *name, uint64_t timeout_ns,
                                struct gw_error *error);
GW_API int gw_semaphore_release(struct gw_client *client, const char *name, struct gw_error *error);

/* gw_lock_acquire and gw_lock_release: a semaphore of one lease that nobody need open. Not
 * recursive: a client that acquires what it holds waits for itself. */
GW_API int gw_lock_acquire(struct gw_client *client, const char *name, uint64_t timeout_ns,
                           struct gw_error *error);
GW_API int gw_lock_release(struct gw_client *client, const char *name, struct gw_error *error);

/* gw_semaphore_acquire_fenced and gw_lock_acquire_fenced do the same and give the lease's number,
 * which is larger than that of every lease before it of any name, also after a restart of the
 * scheduler. Whoever is cut off (its worker lost, its host silent) may have lost its lease and
 * not know it yet: hand the number on with every write, and let what is written to refuse numbers
 * smaller than the largest that it has seen. fence may be NULL. `gangway sync list` shows the
 * number of the latest lease; commands of `gangway sync lock` and `lease` have theirs in the
 * variable GANGWAY_FENCE. */
GW_API int gw_semaphore_acquire_fenced(struct gw_client *client, const char *name,
                                       uint64_t timeout_ns, uint64_t *fence,
                                       struct gw_error *error);
GW_API int gw_lock_acquire_fenced(struct gw_client *client, const char *name, uint64_t timeout_ns,
                                  uint64_t *fence, struct gw_error *error);

/* -- Events --------------------------------------------------------------------------------------
 */

/* gw_event_set lets everybody through who waits and who comes, until gw_event_clear.
 * gw_event_wait waits until it is set. An event that nobody has set is cleared. */
GW_API int gw_event_set(struct gw_client *client, const char *name, struct gw_error *error);
GW_API int gw_event_clear(struct gw_client *client, const char *name, struct gw_error *error);
GW_API int gw_event_wait(struct gw_client *client, const char *name, uint64_t timeout_ns,
                         struct gw_error *error);

/* -- Variables -----------------------------------------------------------------------------------
 */

/* A value is borrowed when given (NULL: GW_ENOMEM) and to be unref'd when got. Encoded it has at
 * most GW_SYNC_VALUE_BYTES_MAX bytes (GW_ELIMIT): publish larger ones by a name, and put the name
 * here. */
#define GW_SYNC_VALUE_BYTES_MAX (768u << 10)

struct gw_variable {
    struct gw_value *value;
    uint64_t version; /* counts up from 1 by every set; 0: it has no value yet */
};

/* gw_variable_set gives the variable a value. gw_variable_replace does so only where its version
 * still is `version` (0: it has no value yet); GW_EAGAIN where it is another by now: get it and try
 * again. *now (may be NULL) is the new version. */
GW_API int gw_variable_set(struct gw_client *client, const char *name, const struct gw_value *value,
                           uint64_t *now, struct gw_error *error);
GW_API int gw_variable_replace(struct gw_client *client, const char *name, uint64_t version,
                               const struct gw_value *value, uint64_t *now, struct gw_error *error);

/* gw_variable_get waits until the variable has a value, and gives it. gw_variable_next waits until
 * it has another version than variable->version, which the caller set, and gives that: to follow
 * one, start with 0 and call it again (after unref'ing the value). */
GW_API int gw_variable_get(struct gw_client *client, const char *name, uint64_t timeout_ns,
                           struct gw_variable *variable, struct gw_error *error);
GW_API int gw_variable_next(struct gw_client *client, const char *name, uint64_t timeout_ns,
                            struct gw_variable *variable, struct gw_error *error);

/* -- Queues --------------------------------------------------------------------------------------
 */

/* gw_queue_open makes a queue of at most `count_max` values (0: 65,536); one that is there already
 * has to have the same bound: GW_EEXIST. GW_ECLOSED for a queue that gw_queue_close closed: it
 * stays closed until gw_sync_delete. Without gw_queue_open, the first put or get makes a queue of
 * 65,536. A queue also holds at most 64 MiB. */
GW_API int gw_queue_open(struct gw_client *client, const char *name, uint32_t count_max,
                         struct gw_error *error);

/* gw_queue_put waits for room and appends a value (as of variables). gw_queue_get waits for a value
 * and takes the oldest. gw_queue_get_many waits for one and takes what is there then, up to
 * batch->max and 768 KiB; values: room for max. GW_ECLOSED after gw_queue_close: for puts at once,
 * for gets once the queue is empty. */
GW_API int gw_queue_put(struct gw_client *client, const char *name, const struct gw_value *value,
                        uint64_t timeout_ns, struct gw_error *error);
GW_API int gw_queue_get(struct gw_client *client, const char *name, uint64_t timeout_ns,
                        struct gw_value **value, struct gw_error *error);
struct gw_queue_batch {
    struct gw_value **values; /* room for max; each to be unref'd */
    uint32_t max;
    uint32_t count; /* that were taken */
};
GW_API int gw_queue_get_many(struct gw_client *client, const char *name, uint64_t timeout_ns,
                             struct gw_queue_batch *batch, struct gw_error *error);
GW_API int gw_queue_close(struct gw_client *client, const char *name, struct gw_error *error);

/* -- All -----------------------------------------------------------------------------------------
 */

/* gw_sync_delete removes one of a kind ("semaphore", "lock", "event", "variable", "queue") with all
 * it holds: who waits for it gets GW_ECANCELLED, leases are void. GW_ENOENT. What there is:
 * gw_client_query(client, "sync", NULL, ...). */
GW_API int gw_sync_delete(struct gw_client *client, const char *kind, const char *name,
                          struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
