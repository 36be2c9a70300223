/* How long the history of a state is, in commits. Workers are told, and know it still when another
 * life of the scheduler begins: with a copy that is older than what they know, numbers of jobs
 * would be given twice, and what they run would end. */
#ifndef GW_SCHEDULER_CORE_MODEL_HISTORY_H
#define GW_SCHEDULER_CORE_MODEL_HISTORY_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

struct gw_event;
struct gw_fact_commits_counted;
struct gw_msg_heartbeat;
struct gw_msg_registration;
struct gw_sched;
struct gw_worker;

/* gw_sched_history_begin: this life begins (START). gw_sched_history_on_committed: more is on disk.
 */
void gw_sched_history_begin(struct gw_sched *sched, const struct gw_event *event);
void gw_sched_history_on_committed(struct gw_sched *sched, uint64_t commits);
void gw_sched_apply_commits_counted(struct gw_sched *sched,
                                    const struct gw_fact_commits_counted *fact);

/* gw_sched_history_is_of tells whether what a worker has is of jobs that are numbered here. */
bool gw_sched_history_is_of(const struct gw_sched *sched,
                            const struct gw_msg_registration *registration);

#endif
