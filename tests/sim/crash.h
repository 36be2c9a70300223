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

/* -- crash.c */
/* sim_crash_plan has the scheduler die at some time, in some seeds: another one goes on with what
 * was committed, and other clients come. */
void sim_crash_plan(struct sim *sim);
/* sim_crash_on_saved: a gang of a detached job has saved; the scheduler may die just then. */
void sim_crash_on_saved(struct sim *sim);
/* sim_crash_check: a job that is accepted has a number that no other ever had. */
void sim_crash_check(struct sim *sim, const struct sim_job *job);

bool sim_crash_planned(const struct sim *sim); /* in this seed */
bool sim_crash_down(const struct sim *sim);    /* none is there at the moment */
/* sim_crash_begins: what a process executes begins. */
void sim_crash_begins(struct sim *sim, const struct process *process);
/* sim_crash_refuses tells whether a host cannot connect now: it was refused, or heard nothing, and
 * tries again later. sim_crash_claimed: the scheduler has taken this registration. */
bool sim_crash_refuses(struct sim *sim, struct host *host);
void sim_crash_claimed(struct sim *sim, const struct host *host,
                       const struct gw_msg_registration *registration);

#endif
