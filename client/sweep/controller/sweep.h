/* A sweep, as the files of this room see it. */
#ifndef GW_SWEEP_SWEEP_H
#define GW_SWEEP_SWEEP_H

#include "client/sweep/controller/sweep_state.h"
#include "client/sweep/mlflow/mlflow_functions.h"

#include <gangway/gangway.h>
#include <signal.h>

struct gw_sweep {
    struct gw_sweep_options options; /* its texts are owned; options.options is borrowed */
    struct gw_sweep_state state;     /* state.search NULL: not loaded yet */
    struct gw_search *spare;         /* the search, until the state takes it over */
    uint64_t max_steps;
    bool decides; /* reports may end trials early */
    bool learns;  /* which trials there are depends on those before them */
    char *stored; /* the definition that the cluster has; NULL: none */
    volatile sig_atomic_t stopping;
    uint64_t began_wall_ns; /* when its first trial was submitted; 0: not yet */
    uint64_t submitted_ns;  /* the same by the clock of the cluster; 0: not asked for */
    struct gw_mlflow *feed; /* NULL: no MLflow server is told */
    uint32_t fed;           /* the feed knows the ends of all trials before this number */

    /* The following are valid while it runs. */
    struct gw_client *client;
    struct gw_completions *completions;
    GW_ARRAY(struct gw_future *) futures; /* of all trials that this run has started or found */
    /* A trial that was started but whose submission was not answered, and its record. */
    struct gw_sweep_state_trial *pending;
    uint64_t pending_seen;
    uint64_t slots, gpus;             /* of the cluster */
    uint64_t used_slots, used_gpus;   /* of the live trials */
    uint32_t first_slots, first_gpus; /* of the first trial that was submitted */
    bool mixed;                       /* others have other sizes */
    uint64_t asked_ns;                /* when slots and stop requests were last asked for */
    uint64_t returned, ended;         /* futures that have ended, and ends that were handled */
};

/* gw_sweep_load_jobs asks for the jobs of a sweep, the newest first: rows of the query "jobs". */
int gw_sweep_load_jobs(struct gw_client *client, const char *name, struct gw_value **rows,
                       struct gw_error *error);

/* gw_sweep_load_state makes the state from what the cluster remembers; nothing: an empty one. */
int gw_sweep_load_state(struct gw_sweep *sweep, struct gw_client *client, struct gw_error *error);

/* -- What an MLflow server is told of the trials (sweep_feed.c) --- */

/* gw_sweep_feed_open loads libgangway-mlflow.so. GW_ENOTSUP: it is not there, or is of another
 * version. GW_EINVAL: a malformed URL. gw_sweep_feed_close accepts NULL. */
int gw_sweep_feed_open(const struct gw_sweep *sweep, const char *url, struct gw_mlflow **feed,
                       struct gw_error *error);
void gw_sweep_feed_close(struct gw_mlflow *feed);

/* gw_sweep_feed_identify asks the cluster when the sweep began, unless that is known, and lets the
 * feed send. Without a trial it does nothing. */
int gw_sweep_feed_identify(struct gw_sweep *sweep, struct gw_client *client, struct gw_mlflow *feed,
                           struct gw_error *error);

/* These functions accept a feed that is NULL. What they tell is sent later. gw_sweep_feed_trials
 * tells of the trials from number `first` on, and returns the first that may still change. */
void gw_sweep_feed_event(const struct gw_sweep *sweep, struct gw_mlflow *feed,
                         const struct gw_sweep_event *event);
void gw_sweep_feed_reports(struct gw_mlflow *feed, uint32_t trial,
                           const struct gw_study_trial *study);
uint32_t gw_sweep_feed_trials(const struct gw_sweep *sweep, struct gw_mlflow *feed, uint32_t first);

/* gw_sweep_feed_flush sends the rest. `rc` is how the sweep has ended. It blocks until the server
 * has everything, or has confirmed nothing for some seconds: then it returns the reason. */
int gw_sweep_feed_flush(const struct gw_sweep *sweep, struct gw_mlflow *feed, int rc,
                        struct gw_error *error);
int gw_sweep_feed_upload(struct gw_mlflow *feed, uint32_t trial, const char *folder,
                         struct gw_error *error);

/* gw_sweep_feed_state returns a state of a trial as others see it. */
enum gw_study_state gw_sweep_feed_state(enum gw_trial_state state);

#endif
