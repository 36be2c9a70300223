/* A search as the files of this room see it. */
#ifndef GW_SEARCH_STATE_H
#define GW_SEARCH_STATE_H

#include <gangway/search.h>

#include "client/sweep/search/space.h"

struct gw_search_report {
    uint64_t step;
    double loss, sum; /* sum: of the losses up to this one */
};

struct gw_search_trial {
    struct gw_trial shown;
    uint32_t rung;     /* ASHA: rungs that it has recorded (stopping) or was promoted from */
    uint32_t recorded; /* ASHA with promotion: rungs that have its loss */
    double *point;
    double score;                   /* population: its loss at the end of the last interval */
    uint64_t scored_step;           /* 0: it has ended none */
    struct gw_search_report copied; /* the last report to which the answer was COPY */
    double loss;                    /* INFINITY until the trial has ended with a value */
    GW_ARRAY(struct gw_search_report) reports;
    bool good;               /* among the best ones; see tpe.h */
    enum gw_decision answer; /* to the last report */
};

struct gw_asha_record {
    double loss;
    struct gw_search_trial *trial;
};

struct gw_asha_rung {
    struct gw_asha_record *items; /* an array, the best first */
    size_t count, capacity;
};

struct gw_search {
    struct gw_space *space;
    struct gw_search_options options;
    GW_ARRAY(struct gw_search_trial *) trials;
    uint64_t *cells; /* the grid: the cell of each parameter that comes next */
    bool grid_ended;
    uint32_t sobol_next; /* point of Sobol's sequence that comes next */
    /* Trials that have ended, and did not fail or were cancelled, the best first; pruned ones
     * behind those that are done. */
    GW_ARRAY(struct gw_search_trial *) ranked;
    GW_ARRAY(struct gw_asha_rung) rungs;
    uint32_t best;       /* number of the best trial, UINT32_MAX if none */
    uint32_t running;    /* trials that are running */
    uint32_t failures;   /* trials that have failed */
    uint32_t unimproved; /* trials that have ended since the best one has */
};

/* gw_search_is_cut returns true if a limit was reached that also ends running trials: that of the
 * time, or that of failures. */
bool gw_search_is_cut(const struct gw_search *search, uint64_t elapsed_ns);

#endif
