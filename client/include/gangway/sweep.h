/* Sweeps: the trials of a search (search.h), run as tasks or gangs of a cluster.
 *
 *     static int train(struct gw_task *task)       once for each trial
 *     {
 *         gw_task_arg_value(task, 0, &params);     a dict: {"lr": 0.01, "batch": 64}
 *         ...
 *         gw_task_step(task, epoch, "loss", loss);
 *     }
 *
 *     gw_space_add(space, "lr=log:1e-4..1e-1", &error);
 *     gw_sweep_new(space, GW_SEARCH_OPTIONS(.method = GW_SEARCH_TPE, .trials = 100),
 *                  GW_SWEEP_OPTIONS(.name = "petnames", .metric = "loss",
 *                                   .function = GW_FUNCTION(train)),
 *                  &sweep, &error);
 *     signal(SIGINT, on_sigint);                   calls gw_sweep_stop(sweep), so that Ctrl-C
 *                                                  leaves no trial running
 *     gw_sweep_run(sweep, client, &error);
 *     gw_sweep_best(sweep, &best, &error);
 *
 * A sweep has no file of its own. The durable record of each trial is its job: parameters and order
 * are in the annotations of the job, its reports and its end in the journal of the scheduler. A
 * program that makes the same sweep again (space, options and name) continues it: trials that have
 * ended are not run again, and running ones are watched to their end. So the program, a worker or
 * the scheduler may be killed at any time. The function is not compared: if it has changed, give
 * the sweep another name, or remove it (`gangway sweep rm NAME`), or the old results remain. With
 * GANGWAY_LOG=info, a line says that a sweep continues.
 *
 * One thread uses a sweep at a time, except for gw_sweep_stop. */
#ifndef GANGWAY_SWEEP_H
#define GANGWAY_SWEEP_H

#include <gangway/graph.h>
#include <gangway/search.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;
struct gw_sweep;

/* A trial of a sweep. The sweep owns it; it is valid until gw_sweep_free, and changes in
 * gw_sweep_run. */
struct gw_sweep_trial {
    const struct gw_trial *trial; /* number, state, params, value, step: see search.h */
    uint64_t job;                 /* its latest job; 0: none was submitted yet */
    uint32_t starts;              /* number of its jobs: more than 1 if it was paused or copied */
    uint64_t began_ns;            /* wall clock: when its first job was submitted; 0: not yet */
    uint64_t ended_ns;            /* wall clock: when its latest job ended; 0: it has not */
    const char *text;             /* why it failed; "" */
};

/* A trial as a node of a graph, which gw_sweep_options.make fills in. */
struct gw_sweep_task {
    const char *annotations; /* given: text for gw_task_options.annotations of the node */
    uint64_t until_step;     /* given: the step at which the trial pauses or is done; 0: none */
    bool starts; /* given: the trial is submitted now; false: only its size is asked for */
    gw_node node;
    uint32_t slots; /* slots and GPUs of all ranks, so that the sweep knows how many trials fit */
    uint32_t gpus;
    const char *name; /* name of the job; NULL: the name of the sweep */
};

struct gw_sweep_options {
    size_t struct_size; /* see options.h */
    const char *name;   /* 1 to 64 letters, digits, '_', '-' and '.'; it names the sweep among all
                           that this user's cluster remembers */
    const char *metric; /* the reported metric that the search gets (gw_task_step, `gangway
                           report`). NULL: the result of the function, a number; then only the
                           program that runs the sweep knows the values of its trials */
    bool attached;      /* true: the trials end with the client, and nothing can be continued. Set
                           it for private clusters */
    uint32_t parallel;  /* trials that run or wait for a slot at the same time; 0: as many as fill
                           the cluster twice, so that no slot waits for the next trial. If no
                           decision depends on earlier trials, of short trials also as many wait as
                           end in 20 ms, the time of a start on a slow disk. At most 10,000 do so in
                           any case; a sweep may have any number of trials. Trials of different
                           sizes: one that ends is followed by one of its size, and up to 8 others
                           that the search has named are held meanwhile */
    const struct gw_function *function;    /* it gets one argument, the dict of params */
    const struct gw_task_options *options; /* of each trial; borrowed; NULL: defaults */

    /* In place of a function: adds the trial to an empty graph and fills *task. Returns 0, or a
     * negative code, with which gw_sweep_run then fails. The graph may have more tasks. A pure task
     * that all trials have runs once. */
    int (*make)(const struct gw_trial *trial, struct gw_graph *graph, struct gw_sweep_task *task,
                void *arg, struct gw_error *error);
    /* Called by gw_sweep_run when trials have begun, reported or ended. May be NULL. */
    void (*on_change)(struct gw_sweep *sweep, void *arg);
    const char *definition; /* text kept with the sweep, for gw_sweep_definition; at most
                               GW_SWEEP_DEFINITION_MAX bytes; NULL: none */
    void *arg;
    const char *mlflow; /* URL of an MLflow server that gets all trials and reports while the sweep
                           runs: a run for the sweep, and in it one for each trial. NULL: none. The
                           sweep never waits for the server, and does not fail with it. Logins are
                           those of MLflow's own clients: MLFLOW_TRACKING_TOKEN, or
                           MLFLOW_TRACKING_USERNAME and MLFLOW_TRACKING_PASSWORD */
    const char *mlflow_experiment; /* NULL: MLFLOW_EXPERIMENT_NAME, or "Default" */
    const char *account, *queue;   /* of all trials, as in gw_submit_options */
};
#define GW_SWEEP_OPTIONS(...) GW_POINTER(gw_sweep_options, __VA_ARGS__)
enum { GW_SWEEP_NAME_MAX = 64, GW_SWEEP_DEFINITION_MAX = 3000 };

/* gw_sweep_new takes the space over, also on failure. All texts are copied. The errors are those of
 * gw_search_new; GW_EINVAL also for an option that is wrong or missing. gw_sweep_free accepts NULL;
 * it does not touch the trials that run. */
GW_API int gw_sweep_new(struct gw_space *space, const struct gw_search_options *search,
                        const struct gw_sweep_options *options, struct gw_sweep **sweep,
                        struct gw_error *error);
GW_API void gw_sweep_free(struct gw_sweep *sweep);

/* gw_sweep_run runs the sweep until the search is over and all trials have ended. It blocks.
 * GW_EEXIST: another process runs a sweep of this name. GW_EMISMATCH: the cluster remembers a sweep
 * of this name with another space, seed or options. GW_ELOST: the cluster has forgotten a trial of
 * this name, because its history is shorter, or its result. GW_EINVAL: the first trial that
 * succeeded has not reported the metric. GW_ECANCELLED: gw_sweep_stop was called, or `gangway sweep
 * stop`. GW_ECLOSED: the connection has ended; the caller may open another client and call
 * gw_sweep_run again with the same sweep. GW_ENOTSUP: `mlflow` is set, and libgangway-mlflow.so
 * cannot be loaded. Unless it returns 0, GW_ECLOSED or GW_EEXIST, the trials that still run are
 * cancelled. They are cancelled too when the time limit of the search has passed or its limit of
 * failures is reached; gw_sweep_run then returns 0.
 *
 * gw_sweep_load asks the cluster for the trials of the sweep, runs none, and does not wait.
 * GW_ENOENT: the cluster remembers no trial of this name; GW_EMISMATCH, GW_ELOST: as above.
 *
 * gw_sweep_stop asks gw_sweep_run to cancel the running trials and to return. Any thread and any
 * signal handler may call it. */
GW_API int gw_sweep_run(struct gw_sweep *sweep, struct gw_client *client, struct gw_error *error);
GW_API int gw_sweep_load(struct gw_sweep *sweep, struct gw_client *client, struct gw_error *error);
GW_API void gw_sweep_stop(struct gw_sweep *sweep);

/* gw_sweep_definition returns the definition with which the latest trial of a sweep of this user
 * was submitted; the caller frees it. GW_ENOENT: the cluster remembers no sweep of this name. */
GW_API int gw_sweep_definition(struct gw_client *client, const char *name, char **definition,
                               struct gw_error *error);

/* gw_sweep_best returns the best trial that is GW_TRIAL_DONE. GW_ENOENT: there is none.
 * gw_sweep_count returns the number of trials, gw_sweep_trial the one of this number, or NULL.
 * gw_sweep_search returns the search of the sweep, which must not be changed; NULL before
 * gw_sweep_run or gw_sweep_load. */
GW_API int gw_sweep_best(const struct gw_sweep *sweep, const struct gw_sweep_trial **trial,
                         struct gw_error *error);
GW_API uint32_t gw_sweep_count(const struct gw_sweep *sweep);
GW_API const struct gw_sweep_trial *gw_sweep_trial(const struct gw_sweep *sweep, uint32_t number);
GW_API const struct gw_search *gw_sweep_search(const struct gw_sweep *sweep);

/* Files that gw_sweep_export writes. */
enum gw_sweep_format {
    GW_SWEEP_OPTUNA, /* a journal file, which optuna-dashboard and Optuna's JournalStorage open;
                        "-": standard output */
    GW_SWEEP_TENSORBOARD, /* a folder with one folder for each trial: tensorboard --logdir PATH */
    GW_SWEEP_PICTURES,    /* a folder with SVG files: values against steps and time, the best so
                             far, parallel coordinates, slices, importance, timeline, and the
                             time to a target against ranks */
    GW_SWEEP_MLFLOW,      /* runs of an MLflow server, whose URL is `path`; what the server has of
                             the sweep is not sent again. See gw_sweep_options.mlflow */
};

/* gw_sweep_export writes the trials of a sweep that was loaded or has run, with all that they have
 * reported, to `path`, a file or a folder. It makes the folder, but not its parents, and replaces
 * files. It asks the cluster for the reports, and blocks. GW_ENOENT: the sweep was neither loaded
 * nor run. GW_EIO: a file or folder cannot be made, or the MLflow server was away for 10 seconds.
 *
 * gw_sweep_upload does the same as GW_SWEEP_MLFLOW, and then sends the files of a folder, such as a
 * model, as artifacts of the run of the best trial, below "checkpoint". GW_ENOENT: also if no trial
 * has succeeded. GW_ENOTSUP: the server takes no artifacts from clients, or libgangway-mlflow.so
 * cannot be loaded. */
GW_API int gw_sweep_export(struct gw_sweep *sweep, struct gw_client *client,
                           enum gw_sweep_format format, const char *path, struct gw_error *error);
GW_API int gw_sweep_upload(struct gw_sweep *sweep, struct gw_client *client, const char *url,
                           const char *folder, struct gw_error *error);

/* gw_sweep_word writes the value of a parameter as a word of a command line: a number with as many
 * digits as are needed to read the same number again, true or false, or a text. It works like
 * snprintf: it returns the length of the uncut text. */
GW_API size_t gw_sweep_word(const struct gw_value *value, char *text, size_t text_bytes);

#ifdef __cplusplus
}
#endif

#endif
