/* A sweep, as the files of this room see it. */
#ifndef GW_SWEEP_SWEEP_H
#define GW_SWEEP_SWEEP_H

#include "client/sweep/controller/sweep_state.h"

#include <gangway/gangway.h>
#include <signal.h>

struct gw_sweep {
    struct gw_sweep_options options; /* its texts are owned; options.options is borrowed */
    struct gw_sweep_state state;     /* state.search NULL: not loaded yet */
    struct gw_search *spare;         /* the search, until the state takes it over */
    uint64_t max_steps;
    bool decides; /* reports may end trials early */
    char *stored; /* the definition that the cluster has; NULL: none */
    volatile sig_atomic_t stopping;
    uint64_t began_wall_ns; /* when its first trial was submitted; 0: not yet */

    /* The following are valid while it runs. */
    struct gw_client *client;
    struct gw_completions *completions;
    GW_ARRAY(struct gw_future *) futures; /* of all trials that this run has started or found */
    /* A trial that was started but whose submission was not answered, and its record. */
    struct gw_sweep_state_trial *pending;
    uint64_t pending_seen;
    uint64_t slots, gpus;           /* of the cluster */
    uint64_t used_slots, used_gpus; /* of the live trials */
    uint64_t asked_ns;              /* when slots and stop requests were last asked for */
    uint64_t returned, ended;       /* futures that have ended, and ends that were handled */
};

/* gw_sweep_load_jobs asks for the jobs of a sweep, the newest first: rows of the query "jobs". */
int gw_sweep_load_jobs(struct gw_client *client, const char *name, struct gw_value **rows,
                       struct gw_error *error);

/* gw_sweep_load_state makes the state from what the cluster remembers; nothing: an empty one. */
int gw_sweep_load_state(struct gw_sweep *sweep, struct gw_client *client, struct gw_error *error);

#endif
