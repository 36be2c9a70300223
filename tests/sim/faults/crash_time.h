/* When the scheduler dies. */
#ifndef GW_TESTS_SIM_CRASH_TIME_H
#define GW_TESTS_SIM_CRASH_TIME_H

#include "tests/sim/sim.h"

/* Something that waits to be placed, and runs at a host. */
struct claim {
    uint64_t job, attempt;
    uint32_t index;
};

struct sim_adrift {
    bool down;
    bool on_saved; /* it died once because a gang had saved */
    /* Or as a user was told that a gang stops, or its ranks return because they heard that. */
    enum { STOP_NONE, STOP_ASKED, STOP_HEARD, STOP_TOLD } stop;
    bool rested;                    /* or because workers with GPUs had been lost */
    uint32_t patience;              /* used up in waiting for work */
    uint64_t crash_ns;              /* the last */
    bool disconnected[HOSTS_MAX];   /* connected then, and not back */
    uint64_t silent_ns[HOSTS_MAX];  /* until then it hears nothing */
    uint64_t refused_ns[HOSTS_MAX]; /* since when it was refused; 0: it was not */
    uint64_t registered[HOSTS_MAX]; /* the connection by which it did so last */
    GW_ARRAY(struct claim) claims;  /* of the registration that is being taken */
};

/* sim_crash_on_saved: a gang of a detached job has saved; the scheduler may die just then. */
void sim_crash_on_saved(struct sim *sim);
/* sim_crash_soon: the scheduler dies then, whatever runs. */
void sim_crash_soon(struct sim *sim, uint64_t in_ns);
/* sim_crash_on_stop: a user wants that a gang of such a job stops; workers may not hear of it for a
 * while. sim_crash_on_stopped: the user was told that it does, and (returned) a rank has; the
 * scheduler may die just then. */
void sim_crash_on_stop(struct sim *sim);
void sim_crash_on_stopped(struct sim *sim, bool returned);

/* sim_crash_state is made with the first call. */
struct sim_adrift *sim_crash_state(struct sim *sim);

bool sim_crash_planned(const struct sim *sim); /* in this seed */
/* sim_crash_rests: in this seed, and some workers are away then of those that offer the same GPUs.
 */
bool sim_crash_rests(const struct sim *sim);
bool sim_crash_down(const struct sim *sim); /* none is there at the moment */

#endif
