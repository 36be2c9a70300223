/* Lives of the scheduler, one after the other. */
#ifndef GW_TESTS_SIM_CRASH_H
#define GW_TESTS_SIM_CRASH_H

#include "tests/sim/sim.h"

/* -- world.c */
struct gw_sched *sim_sched_new(void);
/* sim_sched_start begins a life: its first facts are on disk before anybody connects. */
void sim_sched_start(struct sim *sim, uint64_t term);
/* sim_sched_restore gives a scheduler what the first bytes of all facts say; moves of its machines
 * are not counted. */
void sim_sched_restore(struct sim *sim, struct gw_sched *sched, size_t bytes);
/* sim_sched_begin has one that was restored begin, for a look at it: its effects are nobody's. */
void sim_sched_begin(struct sim *sim, struct gw_sched *sched);

/* -- crash.c */
/* sim_crash_plan has the scheduler die at some time, in some seeds: another one goes on with what
 * was committed, and other clients come. */
void sim_crash_plan(struct sim *sim);
/* sim_crash_perhaps: the scheduler dies now, if there is one, or a while later, if that shows more;
 * sim_crash_now: it dies now, if there is one. */
void sim_crash_perhaps(struct sim *sim, void *arg);
void sim_crash_now(struct sim *sim, void *arg);
/* sim_crash_check: a job that is accepted has a number that no other ever had. */
void sim_crash_check(struct sim *sim, const struct sim_job *job);

/* sim_crash_begins: what a process executes begins. */
void sim_crash_begins(struct sim *sim, const struct process *process);
/* sim_crash_refuses tells whether a host cannot connect now: it was refused, or heard nothing, and
 * tries again later. sim_crash_claimed: the scheduler has taken this message. */
bool sim_crash_refuses(struct sim *sim, struct host *host);
/* sim_crash_claims: the scheduler is about to take what a host says that it runs; what it must take
 * over of that is looked at in sim_crash_claimed. sim_crash_options: how long a host waits. */
void sim_crash_claims(struct sim *sim, const struct host *host, const struct gw_message *message);
void sim_crash_options(struct sim *sim, struct host *host, struct gw_node_options *options);
/* sim_crash_silent: the scheduler closes a connection of a host by itself. */
void sim_crash_silent(struct sim *sim, const struct conn *conn);
void sim_crash_free(struct sim *sim);
void sim_crash_claimed(struct sim *sim, const struct host *host, const struct gw_message *message);

#endif
