/* The trials of a sweep as runs of an MLflow server, which a thread of its own sends.
 *
 * Whoever tells of trials and reports never waits for the server. What the server has not confirmed
 * stays in memory and is sent again. The server itself remembers how far it is: the tag
 * gangway.seq of a run is the number of the last report in it. After an answer was lost, and in
 * another process, the tags of all runs are read first, so that each value is sent once.
 *
 * These functions are in libgangway-mlflow.so, because most programs that are linked with
 * libgangway do not need libcurl. gw_mlflow_functions is all that the module exports. */
#ifndef GW_MLFLOW_FUNCTIONS_H
#define GW_MLFLOW_FUNCTIONS_H

#include "client/sweep/export/study.h"

#include <gangway/error.h>

struct gw_mlflow;

struct gw_mlflow_options {
    const char *url;               /* http:// or https:// */
    const char *experiment;        /* NULL: MLFLOW_EXPERIMENT_NAME, or "Default" */
    const char *sweep;             /* its name */
    void (*say)(const char *text); /* problems for people; called by the thread */
};

struct gw_mlflow_param {
    const char *name, *value;
};

/* A trial as it is now. */
struct gw_mlflow_trial {
    uint32_t number;
    enum gw_study_state state;
    uint64_t job, began_ns, ended_ns;
    const char *metric;
    double value; /* a trial that ends without a report has it as its only one; NaN: none */
    int64_t step;
    const char *note;                     /* text for people, for example why it failed; "" */
    const struct gw_mlflow_param *params; /* only the first ones of a trial are sent: MLflow has no
                                             params that change */
    size_t param_count;
};

struct gw_mlflow_functions {
    const char *version; /* of the module */

    /* open checks the options and starts the thread, which sends nothing before `identify`. All
     * texts are copied. GW_EINVAL: a malformed URL. `close` ends the thread and a request that it
     * waits for. */
    int (*open)(const struct gw_mlflow_options *options, struct gw_mlflow **mlflow,
                struct gw_error *error);
    void (*close)(struct gw_mlflow *mlflow);

    /* identify says which sweep this is: a text that no other sweep has, in any cluster, and that
     * stays the same in other processes. It has no quotes. */
    void (*identify)(struct gw_mlflow *mlflow, const char *id);

    /* trial and report note what is to be sent, and do not block. Reports of a trial come in the
     * order of `seq`. `over` notes that the sweep has ended. Memory that is missing loses what was
     * said: GW_ENOMEM. */
    int (*trial)(struct gw_mlflow *mlflow, const struct gw_mlflow_trial *trial);
    int (*report)(struct gw_mlflow *mlflow, uint32_t trial, uint64_t seq,
                  const struct gw_study_report *report);
    int (*over)(struct gw_mlflow *mlflow, enum gw_study_state state, const char *note);

    /* flush blocks until all is sent. It gives up if the server has confirmed nothing for
     * patience_ns: then it returns why, GW_EIO or GW_ETIMEDOUT. */
    int (*flush)(struct gw_mlflow *mlflow, uint64_t patience_ns, struct gw_error *error);

    /* upload sends the files of a folder as artifacts of a trial's run, which was flushed, below
     * `name`. It blocks. GW_ENOTSUP: the server takes no artifacts from clients. GW_EIO. */
    int (*upload)(struct gw_mlflow *mlflow, uint32_t trial, const char *folder, const char *name,
                  struct gw_error *error);
};

GW_API extern const struct gw_mlflow_functions gw_mlflow_functions;

#endif
