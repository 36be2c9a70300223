/* Scattered values: what clients put into the cluster lies at the scheduler, and is counted. */
#ifndef GW_SCHEDULER_CORE_SCATTERED_H
#define GW_SCHEDULER_CORE_SCATTERED_H

#include "graph/wire/message.h"

struct gw_sched;
struct gw_session;
struct gw_job;
struct gw_object;
struct gw_value;

/* Each value is counted with what its job takes beside it, as tests/unit/test_scattered.c sees. */
enum { GW_SCATTERED_JOB_BYTES = 1096 };

/* Values, of all clients or of one. */
struct gw_scattered {
    uint64_t values, bytes;
    uint32_t descriptors; /* of those that have one each */
};

/* gw_sched_on_scatter takes a client's value: accepted, or rejected where there is no room, is the
 * answer. It keeps the token of one that it accepts. GW_EPROTO: it makes no sense. */
int gw_sched_on_scatter(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_scatter *scatter);

/* gw_sched_scattered_spec gives the job of a value its one spec, which all of them share: a value
 * never runs, and has no queue. Nothing may change that spec, nor free it. */
void gw_sched_scattered_spec(struct gw_job *job);

/* gw_sched_scattered_add counts the object of a scattered value, gw_sched_scattered_remove no more.
 * Called by apply functions. */
void gw_sched_scattered_add(struct gw_sched *sched, const struct gw_job *job,
                            struct gw_object *object);
void gw_sched_scattered_remove(struct gw_sched *sched, const struct gw_object *object);

/* gw_sched_scattered_check asserts that the counts are what there is. */
void gw_sched_scattered_check(const struct gw_sched *sched);

/* gw_sched_scattered_query adds the counts and the limits to the answer to "status". */
void gw_sched_scattered_query(const struct gw_sched *sched, struct gw_value *status);

#endif
