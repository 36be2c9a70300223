/* Coordination objects of one user, found by name: semaphores, locks, events, variables and queues.
 *
 * sync.c has the parts that all kinds share: names, waiting requests, timeouts, and the end of a
 * session. The behaviour of each kind is in sync_semaphore.c (also for locks), sync_event.c,
 * sync_variable.c and sync_queue.c. */
#ifndef GW_SCHEDULER_CORE_SYNC_H
#define GW_SCHEDULER_CORE_SYNC_H

#include "scheduler/core/model/clients/sync.h"

#include "graph/base/text.h"

/* gw_sync_deadline_ns returns the time of the next timeout of a waiting request. gw_sync_on_tick
 * handles it. */
uint64_t gw_sync_deadline_ns(const struct gw_sched *sched);

/* gw_sync_explain appends a description of the object that a waiter waits for, for example
 * "semaphore gate (1 of 1 held by ...)". */
void gw_sync_explain(const struct gw_sched *sched, const struct gw_sync_waiter *waiter,
                     struct gw_text *text);

/* gw_sync_query lists all coordination objects. gw_sync_check asserts their invariants. */
struct gw_value *gw_sync_query(const struct gw_sched *sched);
void gw_sync_check(const struct gw_sched *sched);

/* -- For the files of the kinds --------------------------------------------------------------- */

/* gw_sync_make returns the object that the message names, and creates it if it does not exist
 * (count: see struct gw_sync). Returns NULL if the limit is reached, after it answered the request
 * with GW_ELIMIT. */
struct gw_sync *gw_sync_make(struct gw_sched *sched, struct gw_session *session,
                             const struct gw_msg_sync *message, uint32_t count);

/* gw_sync_answer answers a request with success and a copy of `value`. gw_sync_refuse answers it
 * with an error. */
void gw_sync_answer(struct gw_sched *sched, struct gw_session *session, uint64_t request,
                    uint64_t number, struct gw_bin value);
void gw_sync_refuse(struct gw_sched *sched, struct gw_session *session, uint64_t request, int code,
                    const char *format, ...) GW_PRINTF(5, 6);

/* gw_sync_wait appends a request to the waiting list of its object and calls `serve`. gw_sync_leave
 * removes and frees a waiter that was answered. */
void gw_sync_wait(struct gw_sched *sched, struct gw_sync *sync, struct gw_session *session,
                  const struct gw_msg_sync *message,
                  void (*serve)(struct gw_sched *sched, struct gw_sync *sync));
void gw_sync_leave(struct gw_sched *sched, struct gw_sync_waiter *waiter);

/* gw_sync_tidy deletes the object if its state equals that of a new object: a lock without holder
 * and waiters, or a cleared event or unset variable without waiters. Call it last, because it may
 * free `sync`. */
void gw_sync_tidy(struct gw_sched *sched, struct gw_sync *sync);

/* These functions answer, in order, the waiting requests that the object can serve now. */
void gw_sync_semaphore_serve(struct gw_sched *sched, struct gw_sync *sync);
void gw_sync_event_serve(struct gw_sched *sched, struct gw_sync *sync);
void gw_sync_variable_serve(struct gw_sched *sched, struct gw_sync *sync);
void gw_sync_queue_serve(struct gw_sched *sched, struct gw_sync *sync);

/* gw_sync_<kind>_on handles one request. Returns GW_EPROTO if the kind does not have the requested
 * verb. */
int gw_sync_semaphore_on(struct gw_sched *sched, struct gw_session *session,
                         const struct gw_msg_sync *message);
int gw_sync_event_on(struct gw_sched *sched, struct gw_session *session,
                     const struct gw_msg_sync *message);
int gw_sync_variable_on(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_sync *message);
int gw_sync_queue_on(struct gw_sched *sched, struct gw_session *session,
                     const struct gw_msg_sync *message);

/* Name of each kind (enum gw_sync_kind) for messages and listings. */
extern const char *const gw_sync_kinds[];

#endif
