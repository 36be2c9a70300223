/* A study: what a sweep has found, in plain structs for writers and pictures. Whoever makes it owns
 * all of it; readers change nothing. */
#ifndef GW_SWEEP_STUDY_H
#define GW_SWEEP_STUDY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum gw_study_kind {
    GW_STUDY_FLOAT,
    GW_STUDY_INT,
    GW_STUDY_CHOICE,
};

struct gw_study_choice {
    const char *text;
    bool is_text; /* false: `text` is a number, true or false */
};

struct gw_study_param {
    const char *name;
    enum gw_study_kind kind;
    bool derived; /* computed from other parameters; a FLOAT */
    bool log;
    double low, high, step; /* unless it is a choice; step 0: continuous */
    const struct gw_study_choice *choices;
    size_t choice_count;
};

struct gw_study_report {
    const char *name; /* of the metric */
    int64_t step;
    uint64_t wall_ns; /* since 1970 */
    double value;
    uint64_t seq; /* its number in the cluster */
};

enum gw_study_state {
    GW_STUDY_RUNNING,
    GW_STUDY_PAUSED,
    GW_STUDY_DONE,
    GW_STUDY_PRUNED,
    GW_STUDY_FAILED,
    GW_STUDY_CANCELLED,
    GW_STUDY_STATES, /* number of states */
};

/* A run of a trial: one of its jobs. A trial that was paused, copied or interrupted has several. */
struct gw_study_run {
    size_t trial;
    uint64_t began_ns, ended_ns; /* wall clock since 1970; ended 0: it still runs */
    uint32_t ranks;              /* at least 1 */
};

struct gw_study_trial {
    enum gw_study_state state;
    const double *params; /* of each parameter its number, of a choice the index; NaN: the trial
                             lacks it */
    double value;         /* NaN: none */
    int64_t step;         /* of its last report */
    uint64_t began_ns, ended_ns;           /* wall clock since 1970; 0: not yet */
    const struct gw_study_report *reports; /* in the order of their times */
    size_t report_count;
    const struct gw_study_run *runs; /* in the order of their times */
    size_t run_count;
};

struct gw_study {
    const char *name;
    const char *metric; /* "value" if the results of functions are the values */
    bool maximize;
    double target; /* at which the search ends; NaN: none */
    const struct gw_study_param *params;
    size_t param_count;
    const struct gw_study_trial *trials; /* by number */
    size_t trial_count;
    size_t best; /* number of the best trial; trial_count: there is none */
};

#endif
