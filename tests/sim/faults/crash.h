/* Terms of the scheduler, one after another. */
#ifndef GW_TESTS_SIM_CRASH_H
#define GW_TESTS_SIM_CRASH_H

#include "tests/sim/sim.h"

/* -- world.c */
enum { SIM_HISTORY_JOBS = 4 }; /* in some worlds */
static inline bool sim_has_short_history(const struct sim *sim)
{
    return sim->seed % 16 == 15;
}
struct gw_sched *sim_sched_new(const struct sim *sim);
/* sim_sched_start starts a term. Its first facts are on disk before clients and workers connect. */
void sim_sched_start(struct sim *sim, uint64_t term);
/* sim_sched_restore restores a scheduler from the first bytes of all facts. Transitions of its
 * state machines are not counted. */
void sim_sched_restore(struct sim *sim, struct gw_sched *sched, size_t bytes);
/* sim_sched_begin starts a restored scheduler for a check. Its effects are dropped. */
void sim_sched_begin(struct sim *sim, struct gw_sched *sched);

/* -- crash.c */
/* sim_crash_plan makes the scheduler die at some time, in some seeds. Another one continues with
 * the committed facts, and other clients connect. */
void sim_crash_plan(struct sim *sim);
/* sim_crash_perhaps makes the scheduler die now, or later if that tests more. sim_crash_now makes
 * it die now. Nothing happens if there is no scheduler. */
void sim_crash_perhaps(struct sim *sim, void *arg);
void sim_crash_now(struct sim *sim, void *arg);
/* sim_crash_check checks that an accepted job has a number that no other job ever had. */
void sim_crash_check(struct sim *sim, const struct sim_job *job);

/* sim_crash_begins: a process starts a task. */
void sim_crash_begins(struct sim *sim, const struct process *process);
/* sim_crash_refuses returns true if a host cannot connect now (it is refused or gets no answer) and
 * must try later. */
bool sim_crash_refuses(struct sim *sim, struct host *host);
/* sim_crash_claims: the scheduler is about to receive the attempts of a host. sim_crash_claimed
 * checks afterwards that it has taken over those that it must. sim_crash_options sets how long a
 * host waits for a scheduler. */
void sim_crash_claims(struct sim *sim, const struct host *host, const struct gw_message *message);
void sim_crash_options(struct sim *sim, struct host *host, struct gw_node_options *options);
/* sim_crash_silent: the scheduler closes the connection of a host on its own. */
void sim_crash_silent(struct sim *sim, const struct conn *conn);
void sim_crash_free(struct sim *sim);
void sim_crash_claimed(struct sim *sim, const struct host *host, const struct gw_message *message);

#endif
