/* A sweep, as the files of this room see it. */
#ifndef GW_SWEEP_SWEEP_H
#define GW_SWEEP_SWEEP_H

#include "client/sweep/controller/sweep_state.h"
#include "client/sweep/controller/trial_record.h"
#include "client/sweep/mlflow/mlflow_functions.h"

#include <gangway/gangway.h>
#include <signal.h>

/* Slots and GPUs of a trial. */
struct gw_sweep_size {
    uint32_t slots, gpus;
};

/* A trial that was started, and whose submission was not answered. */
struct gw_sweep_pending {
    struct gw_sweep_state_trial *trial;
    uint32_t start;           /* its number among the starts */
    uint32_t batch;           /* the starts from this number on were named at the same time */
    uint64_t seen;            /* the events that were handled before the start */
    bool chosen;              /* it is submitted next */
    bool sent;                /* the connection was lost: the cluster may have the job */
    struct gw_sweep_job *job; /* owned; NULL: not made yet */
};

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

    GW_ARRAY(struct gw_sweep_pending) pending;

    /* The following are valid while it runs. */
    struct gw_client *client;
    struct gw_completions *completions;
    GW_ARRAY(struct gw_future *) futures; /* of all trials that this run has started or found */
    uint64_t slots, gpus;                 /* of the cluster */
    uint64_t used_slots, used_gpus;       /* of the live trials */
    bool sized;                           /* `first` is known */
    struct gw_sweep_size first;           /* of the first trial that was started */
    bool mixed;                           /* others have other sizes */
    uint64_t asked_ns;                    /* when slots and stop requests were last asked for */
    uint64_t returned, ended;             /* futures that have ended, and ends that were handled */
    uint64_t interval_ns;                 /* when the present interval began in which ends count */
    uint64_t interval_ended;              /* `ended` at that time */
    uint64_t interval_ends;               /* ends in the interval before */
    GW_ARRAY(struct gw_sweep_size) freed; /* by trials that ended; others of the same size follow */
};

/* -- Starts of trials (sweep_start.c) --- */

/* gw_sweep_start_trials starts trials while there is room. *over becomes true when the search
 * starts no more. If it fails, those that were not submitted stay pending. */
int gw_sweep_start_trials(struct gw_sweep *sweep, bool *over, struct gw_error *error);

/* gw_sweep_start_missing makes the latest start pending, which the cluster does not have, although
 * it has a later one. GW_ENOMEM. */
int gw_sweep_start_missing(struct gw_sweep *sweep, struct gw_sweep_state_trial *trial,
                           uint64_t seen);

/* gw_sweep_start_watch watches a live trial that an earlier run or client has submitted.
 * gw_sweep_start_drop forgets what a trial uses, and its future. gw_sweep_start_ended does the
 * same, and lets a trial of the same size follow. */
int gw_sweep_start_watch(struct gw_sweep *sweep, struct gw_sweep_state_trial *trial,
                         struct gw_error *error);
void gw_sweep_start_drop(struct gw_sweep *sweep, struct gw_sweep_state_trial *trial);
void gw_sweep_start_ended(struct gw_sweep *sweep, struct gw_sweep_state_trial *trial);

/* gw_sweep_start_withdraw ends the pending trials. gw_sweep_start_deinit frees them. */
void gw_sweep_start_withdraw(struct gw_sweep *sweep);
void gw_sweep_start_deinit(struct gw_sweep *sweep);

/* gw_sweep_start_elapsed_ns returns how long ago the first trial was submitted, or 0. */
uint64_t gw_sweep_start_elapsed_ns(const struct gw_sweep *sweep);

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
