/* When the scheduler dies. */
#ifndef GW_TESTS_SIM_CRASH_TIME_H
#define GW_TESTS_SIM_CRASH_TIME_H

#include "tests/sim/sim.h"

/* An attempt that runs at a host while its task waits to be placed. */
struct claim {
    uint64_t job, attempt;
    uint32_t index;
};

struct sim_scheduler_crash {
    bool down;
    bool on_saved; /* the scheduler has died because a gang had saved */
    /* It has died when a user was told that a gang stops, or when the gang's ranks returned because
     * of that. */
    enum { STOP_NONE, STOP_ASKED, STOP_HEARD, STOP_TOLD } stop;
    bool rested;                    /* the scheduler has died because workers with GPUs were lost */
    uint32_t patience;              /* time spent waiting for work */
    uint64_t crash_ns;              /* time of the last crash */
    bool disconnected[HOSTS_MAX];   /* connected then, and not reconnected */
    uint64_t silent_ns[HOSTS_MAX];  /* time until which it gets no answer */
    uint64_t refused_ns[HOSTS_MAX]; /* time since which it is refused; 0: it is not */
    uint64_t registered[HOSTS_MAX]; /* connection on which it registered last */
    GW_ARRAY(struct claim) claims;  /* attempts in the registration that is being received */
};

/* sim_crash_on_saved: a gang of a detached job has saved. The scheduler may die now. */
void sim_crash_on_saved(struct sim *sim);
/* sim_crash_soon makes the scheduler die after in_ns. */
void sim_crash_soon(struct sim *sim, uint64_t in_ns);
/* sim_crash_on_stop: a user asks a gang of a detached job to stop; workers may not hear of this for
 * a while. sim_crash_on_stopped: the user was told that the gang stops, and (returned) a rank has
 * returned. The scheduler may die now. */
void sim_crash_on_stop(struct sim *sim);
void sim_crash_on_stopped(struct sim *sim, bool returned);

/* sim_crash_state creates the state at its first call. */
struct sim_scheduler_crash *sim_crash_state(struct sim *sim);

bool sim_crash_planned(const struct sim *sim); /* true if the scheduler dies in this seed */
/* sim_crash_rests returns true if, in this seed, workers are absent after the crash whose GPUs
 * other workers also offer. */
bool sim_crash_rests(const struct sim *sim);
bool sim_crash_down(const struct sim *sim); /* there is no scheduler at the moment */

#endif
