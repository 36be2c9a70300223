/* The time at which a waiting task or gang is expected to start. */
#ifndef GW_SCHEDULER_CORE_PLACEMENT_EXPECTED_START_H
#define GW_SCHEDULER_CORE_PLACEMENT_EXPECTED_START_H

#include "scheduler/core/model/state.h"

enum gw_expected {
    GW_EXPECTED_UNKNOWN,
    GW_EXPECTED_ABOUT,    /* follows from time limits and mean run times */
    GW_EXPECTED_EARLIEST, /* not before this time; the end of some work is unknown */
    GW_EXPECTED_LATER,    /* not before this time; what happens then was not computed */
};

struct gw_expected_start {
    enum gw_expected kind;
    uint64_t at_ns; /* not of UNKNOWN */
    uint64_t job;   /* UNKNOWN, EARLIEST: a job whose end is unknown; 0: there is another reason */
    uint64_t work;  /* steps that the computation took */
};

/* The computation stops after about this many steps, which take some milliseconds. */
enum { GW_EXPECTED_WORK_MAX = 50000 };

/* gw_sched_expected_start returns when a task that waits for resources, its quota, or its turn in a
 * range is expected to start if no other work comes. It plays through the placement of all work
 * that waits on copies of the workers, in the order of the policy, and assumes that work runs as
 * long as gw_sched_forecast_left_ns expects. Without this estimate, work is first assumed to run
 * for ever, and if the task would then never start, to end at once. */
struct gw_expected_start gw_sched_expected_start(const struct gw_sched *sched,
                                                 const struct gw_job *job, uint32_t row);

#endif
