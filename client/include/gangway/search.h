/* Search of hyperparameters: which parameters the next trial gets, and which trials end early.
 *
 *     struct gw_space *space = gw_space_new();
 *     gw_space_add(space, "lr=log:1e-4..1e-1", &error);
 *     gw_space_add(space, "opt=adam|sgd", &error);
 *     gw_search_new(space, GW_SEARCH_OPTIONS(.method = GW_SEARCH_TPE, .trials = 100), &search,
 *                   &error);
 *     while ((rc = gw_search_ask(search, 0, &trial, &error)) == 0) {
 *         double loss = train(trial->params);
 *         gw_search_end(search, trial->number, GW_TRIAL_DONE, loss, &error);
 *     }
 *     gw_search_best(search, &best, &error);
 *     gw_search_free(search);
 *
 * A search computes, and does nothing else: it reads no clock, opens no file, starts no thread and
 * needs no cluster. Any number of trials may be asked for before the first one ends. The same
 * space, options and seed, and the same calls in the same order, give the same answers on every
 * machine of one architecture; a search is resumed by repeating its calls.
 *
 * These functions do not block, except for the time that they compute. Different threads may use
 * different spaces and searches; one space or search is used by one thread at a time. */
#ifndef GANGWAY_SEARCH_H
#define GANGWAY_SEARCH_H

#include <gangway/error.h>
#include <gangway/options.h>
#include <gangway/value.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* A space: the parameters of a trial, and the values that each may have. gw_space_new returns NULL
 * if out of memory, and the other functions then fail with GW_ENOMEM. gw_space_free accepts NULL. A
 * space that gw_search_new has taken over is not freed by the caller. */
struct gw_space;
GW_API struct gw_space *gw_space_new(void);
GW_API void gw_space_free(struct gw_space *space);

enum { GW_SPACE_PARAMS_MAX = 256 }; /* parameters of a space, derived ones included */

/* gw_space_add adds a parameter, NAME=VALUES. VALUES is one of:
 *
 *     1,4,16            a choice of these numbers, bools or texts; `adam|sgd` is the same
 *     0..1              uniform between two numbers; `uniform:0..1` is the same
 *     log:1e-4..1e-1    log-uniform: as many values between 1e-4 and 1e-3 as between 1e-3 and 1e-2
 *     int:1..8          whole numbers, both ends included
 *     int-log:16..1024  whole numbers, log-uniform
 *     0..1:0.1          quantised, multiples of a step above the lower end; `int:0..64:8` also
 *
 * ` if OTHER=VALUE` at the end makes the parameter conditional: trials have it only if an earlier
 * parameter, a choice or a whole number, has this value; several values are separated by | or
 * commas. Names are letters, digits, '_' and '.', and begin with a letter or '_'.
 *
 * gw_space_add_values adds all parameters of a dict, in an order that conditions allow. The value
 * of a key is a text as above (what follows the =), a list (a choice), a number or bool (a
 * constant), or a dict with one of `uniform`, `log`, `int`, `int-log` (a list of both ends; `step`
 * beside it) and `choice` (a list), and perhaps `if`: {OTHER: VALUE} or {OTHER: [VALUES]}. The dict
 * is borrowed.
 *
 * GW_EINVAL: the text says which parameter is wrong, why, and what to type. GW_EEXIST: the space
 * has a parameter of this name. GW_ENOENT: a condition on an unknown parameter. GW_ELIMIT: too many
 * parameters. A function that fails adds nothing. */
GW_API int gw_space_add(struct gw_space *space, const char *text, struct gw_error *error);
GW_API int gw_space_add_values(struct gw_space *space, const struct gw_value *values,
                               struct gw_error *error);

/* gw_space_derive adds a parameter that is computed from others, NAME=EXPRESSION, for example
 * "batch=global/gpus". Expressions have numbers, names of earlier parameters whose values are
 * numbers, + - * / and parentheses. A derived parameter is a whole number if its value is one. If a
 * trial lacks a parameter of the expression, it lacks the derived parameter as well.
 *
 * gw_space_require adds a constraint, two expressions with < <= > >= == or != between them, for
 * example "batch*gpus<=256". Trials meet all constraints. A constraint on a parameter that a trial
 * lacks is met; one with a number that does not exist (0/0) is not.
 *
 * gw_space_first adds parameters of a trial that is asked for before all others, a dict of names
 * and values. The values are borrowed. A parameter that is not in the dict is chosen by the method.
 * GW_EINVAL: an unknown parameter, a value outside of its range, or a constraint that is not met.
 *
 * The errors are those of gw_space_add. */
GW_API int gw_space_derive(struct gw_space *space, const char *text, struct gw_error *error);
GW_API int gw_space_require(struct gw_space *space, const char *text, struct gw_error *error);
GW_API int gw_space_first(struct gw_space *space, const struct gw_value *values,
                          struct gw_error *error);

/* How a search chooses the parameters of new trials. */
enum gw_search_method {
    GW_SEARCH_RANDOM, /* independent; trial n depends only on the seed and n */
    GW_SEARCH_GRID,   /* all combinations, once; the first parameter changes slowest */
    GW_SEARCH_SOBOL,  /* Sobol's sequence, which is more even than random points; at most 64
                       * parameters
                       */
    GW_SEARCH_TPE,    /* learns from the trials that have ended: tree-structured Parzen estimator */
};

/* Which trials end early. A rung is grace, grace * eta, grace * eta^2 ... steps. */
enum gw_search_pruner {
    GW_PRUNE_NOTHING,
    GW_PRUNE_ASHA,         /* at each rung, stop a trial that is not among the best 1/eta so far */
    GW_PRUNE_ASHA_PROMOTE, /* pause at each rung; the best 1/eta of a rung go on from their
                              checkpoints. Needs max_steps */
    GW_PRUNE_MEDIAN, /* stop a trial whose best value is worse than the median of the mean values
                        that at least 3 others had up to the same step */
    GW_PRUNE_POPULATION, /* population based training: every `grace` steps, one of the worst quarter
                            of the running trials goes on as a changed copy of one of the best
                            quarter */
};

struct gw_search_options {
    size_t struct_size; /* see options.h */
    enum gw_search_method method;
    bool maximize; /* larger values are better; otherwise smaller ones */
    uint64_t seed;
    uint32_t startup; /* TPE: trials that end before it learns from them; 0: 10; or GW_NONE */

    enum gw_search_pruner pruner;
    uint32_t eta;       /* ASHA; 0: 4 */
    uint64_t grace;     /* steps before a trial is judged; 0: 1 */
    uint64_t max_steps; /* steps of a trial; 0: it ends by itself. Only with a pruner */

    /* When to stop. 0: no limit. */
    uint32_t trials;        /* number of trials */
    uint32_t failures;      /* stop when so many trials have failed */
    uint32_t patience;      /* stop when so many trials in a row have ended and were no better */
    uint64_t time_limit_ns; /* start no trial after this time; see gw_search_ask */
    bool has_target;        /* stop when a trial has reached `target` */
    double target;
};
#define GW_SEARCH_OPTIONS(...) GW_POINTER(gw_search_options, __VA_ARGS__)

/* gw_search_new takes the space over. GW_EINVAL: the space has no parameter, no point that meets
 * the constraints or none with the values of a first point, the method cannot search it, or an
 * option is out of range. gw_search_free accepts NULL. */
struct gw_search;
GW_API int gw_search_new(struct gw_space *space, const struct gw_search_options *options,
                         struct gw_search **search, struct gw_error *error);
GW_API void gw_search_free(struct gw_search *search);

enum gw_trial_state {
    GW_TRIAL_RUNNING,
    GW_TRIAL_PAUSED,    /* has a checkpoint, and may go on */
    GW_TRIAL_DONE,      /* has its final value */
    GW_TRIAL_PRUNED,    /* was ended early because it was worse than others */
    GW_TRIAL_FAILED,    /* has no value, or NaN */
    GW_TRIAL_CANCELLED, /* was ended from outside, for example by a time limit; says nothing about
                           its params, and counts as no failure */
};

/* A trial. The search owns it and its params; both are valid until gw_search_free. The fields
 * change only inside a call of this trial's search. GW_DECISION_COPY replaces params. */
struct gw_trial {
    uint32_t number; /* from 0, in the order of gw_search_ask */
    enum gw_trial_state state;
    struct gw_value
        *params;     /* a dict: the name and the value of each parameter that the trial has */
    double value;    /* its final value, or the last report; NaN if there is none */
    uint64_t until;  /* step at which it pauses or is done (GW_PRUNE_ASHA_PROMOTE), else 0 */
    uint32_t source; /* the trial that it is a copy of; its own number if none */
    uint64_t step;   /* step of the last report */
};

/* gw_search_ask returns the next trial to run: a new one, or a paused one to go on. elapsed_ns is
 * the time since the search began, which only .time_limit_ns needs. GW_ENOENT: the search is over,
 * or will be when the running trials have ended; the text says which limit was reached. GW_EAGAIN:
 * no trial now, but perhaps after the next gw_search_tell or gw_search_end. GW_ELIMIT: no point
 * that meets the constraints was found in 10,000 draws, or in 1,000,000 cells of a grid; the next
 * call looks behind these. */
GW_API int gw_search_ask(struct gw_search *search, uint64_t elapsed_ns,
                         const struct gw_trial **trial, struct gw_error *error);

/* What a trial does after a report. */
enum gw_decision {
    GW_DECISION_CONTINUE,
    GW_DECISION_PAUSE, /* save a checkpoint and end it as GW_TRIAL_PAUSED */
    GW_DECISION_STOP,  /* end it as GW_TRIAL_PRUNED */
    GW_DECISION_COPY,  /* go on from the last checkpoint of trial `source` with the new params;
                          `step` and `value` are those of the source */
    GW_DECISION_DONE,  /* it has run max_steps: end it as GW_TRIAL_DONE */
};

/* gw_search_tell reports the value of a running trial at a step, for example the loss after an
 * epoch. Steps rise. A trial that is restarted may repeat steps: a step that is not above the last
 * one changes nothing, and the last one gets the same answer again (GW_DECISION_COPY once, and only
 * with the same value: a copy may reach the same step). NaN is worse than every number. GW_ENOENT:
 * there is no such trial. GW_EINVAL: the trial is not running. If a function fails, nothing was
 * reported.
 *
 * gw_search_end ends a running trial, or pauses it. value is its final value; if it is NaN, the
 * last report counts, and a trial that is GW_TRIAL_DONE without a number becomes GW_TRIAL_FAILED.
 * GW_ENOENT: there is no such trial. GW_EINVAL: the trial is not running, the state is none of an
 * end, or it is GW_TRIAL_PAUSED and the last answer was not GW_DECISION_PAUSE. */
GW_API int gw_search_tell(struct gw_search *search, uint32_t number, uint64_t step, double value,
                          enum gw_decision *decision, struct gw_error *error);
GW_API int gw_search_end(struct gw_search *search, uint32_t number, enum gw_trial_state state,
                         double value, struct gw_error *error);

/* gw_search_reopen lets a trial that is GW_TRIAL_FAILED or GW_TRIAL_CANCELLED run again with the
 * same params. GW_ENOENT: there is no such trial. GW_EINVAL: it is in another state. */
GW_API int gw_search_reopen(struct gw_search *search, uint32_t number, struct gw_error *error);

/* gw_search_best returns the best trial that is GW_TRIAL_DONE; of equal ones the first. GW_ENOENT:
 * there is none.
 *
 * gw_search_count returns the number of trials, gw_search_trial the one of this number, or NULL. */
GW_API int gw_search_best(const struct gw_search *search, const struct gw_trial **trial,
                          struct gw_error *error);
GW_API uint32_t gw_search_count(const struct gw_search *search);
GW_API const struct gw_trial *gw_search_trial(const struct gw_search *search, uint32_t number);

#ifdef __cplusplus
}
#endif

#endif
