/* Coordination: semaphores, locks, events, variables and queues, by name, of one user.
 *
 * sync.c has what all kinds share: names, who waits, time-outs, the end of a session. What a kind
 * does is in sync_semaphore.c (locks too), sync_event.c, sync_variable.c and sync_queue.c. */
#ifndef GW_SCHEDULER_CORE_SYNC_H
#define GW_SCHEDULER_CORE_SYNC_H

#include "scheduler/core/model/clients/sync.h"

#include "graph/base/text.h"

/* gw_sync_on_tick ends waits whose time is over; gw_sync_deadline_ns is when the next one is. */
uint64_t gw_sync_deadline_ns(const struct gw_sched *sched);

/* gw_sync_explain appends what a waiter waits for: "semaphore gate (1 of 1 held by ...)". */
void gw_sync_explain(const struct gw_sched *sched, const struct gw_sync_waiter *waiter,
                     struct gw_text *text);

/* gw_sync_query lists all; gw_sync_check asserts what holds. */
struct gw_value *gw_sync_query(const struct gw_sched *sched);
void gw_sync_check(const struct gw_sched *sched);

/* -- For the files of the kinds ------------------------------------------------------------------
 */

/* gw_sync_make returns one by name, and makes it if it is not there (count: see struct gw_sync).
 * NULL after answering GW_ELIMIT. */
struct gw_sync *gw_sync_make(struct gw_sched *sched, struct gw_session *session,
                             const struct gw_msg_sync *message, uint32_t count);

/* gw_sync_answer and gw_sync_refuse answer a request, well (value is copied) or not. */
void gw_sync_answer(struct gw_sched *sched, struct gw_session *session, uint64_t request,
                    uint64_t number, struct gw_bin value);
void gw_sync_refuse(struct gw_sched *sched, struct gw_session *session, uint64_t request, int code,
                    const char *format, ...) GW_PRINTF(5, 6);

/* gw_sync_wait puts a request in its line; the caller serves then. gw_sync_leave takes a waiter
 * that was answered out and frees it. */
void gw_sync_wait(struct gw_sched *sched, struct gw_sync *sync, struct gw_session *session,
                  const struct gw_msg_sync *message,
                  void (*serve)(struct gw_sched *sched, struct gw_sync *sync));
void gw_sync_leave(struct gw_sched *sched, struct gw_sync_waiter *waiter);

/* gw_sync_tidy deletes what is as if it had never been made: a lock that nobody holds or wants, a
 * cleared event or a variable without a value that nobody waits for. Last, it may free sync. */
void gw_sync_tidy(struct gw_sched *sched, struct gw_sync *sync);

/* gw_sync_request_serve answers those that wait and need not any more, in order. */
void gw_sync_semaphore_serve(struct gw_sched *sched, struct gw_sync *sync);
void gw_sync_event_serve(struct gw_sched *sched, struct gw_sync *sync);
void gw_sync_variable_serve(struct gw_sched *sched, struct gw_sync *sync);
void gw_sync_queue_serve(struct gw_sched *sched, struct gw_sync *sync);

/* gw_sync_<kind>_on does one verb; GW_EPROTO where the kind has no such verb. */
int gw_sync_semaphore_on(struct gw_sched *sched, struct gw_session *session,
                         const struct gw_msg_sync *message);
int gw_sync_event_on(struct gw_sched *sched, struct gw_session *session,
                     const struct gw_msg_sync *message);
int gw_sync_variable_on(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_sync *message);
int gw_sync_queue_on(struct gw_sched *sched, struct gw_session *session,
                     const struct gw_msg_sync *message);

/* What people call a kind (enum gw_sync_kind). */
extern const char *const gw_sync_kinds[];

#endif
