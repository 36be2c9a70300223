/* The state of a sweep: its trials, and which of them start and end next. A function of the starts
 * and events in their order: no I/O, no clock. */
#ifndef GW_SWEEP_STATE_H
#define GW_SWEEP_STATE_H

#include "graph/base/array.h"
#include "graph/base/map.h"

#include <gangway/sweep.h>

/* What happens to a trial when its job ends. */
enum gw_trial_fate {
    GW_FATE_OPEN,  /* its job decides */
    GW_FATE_PRUNE, /* it was worse than others */
    GW_FATE_PAUSE, /* it waits for its promotion */
    GW_FATE_COPY,  /* it starts again from another trial's checkpoint */
    GW_FATE_DONE,  /* it has reached its last step */
};

struct gw_sweep_state_trial {
    struct gw_sweep_trial shown;
    char *text;  /* shown.text, owned; NULL: "" */
    char *unfit; /* why the cluster cannot run it, owned; NULL: its job runs it */
    enum gw_trial_fate fate;
    uint64_t until; /* its step of pause or end; 0: none */
    bool live;      /* started, and its job has not ended */
    size_t live_at; /* where state->live has it, while it is live */
    bool again;     /* ended in order to start again */
    bool reported;  /* any value of the metric */
    bool holds;     /* `held` is a report that counts only if the trial ends without another one */
    struct {
        int64_t step;
        double value;
    } held;

    /* Of the caller, who clears them when the trial ends. */
    struct gw_future *future; /* of its job, borrowed; NULL: none */
    uint32_t slots, gpus;
};

struct gw_sweep_state {
    struct gw_search *search; /* owned */
    const char *metric;       /* borrowed; NULL: results are the values */
    uint64_t max_steps;
    GW_ARRAY(struct gw_sweep_state_trial *) trials;
    GW_ARRAY(struct gw_sweep_state_trial *) live; /* those that are live, in no order */
    struct gw_map jobs; /* job -> number of its trial, while the job is the trial's latest */
    uint64_t seen;      /* number of the last event handled */
    uint32_t starts;    /* so far */
    uint32_t again;     /* trials that are to start again */
    uint32_t reported;  /* trials that have reported the metric */
    uint32_t silent;    /* number of the first trial that succeeded without a report, UINT32_MAX:
                           none has */
};

/* gw_sweep_state_init takes the search over. gw_sweep_state_deinit frees it. */
void gw_sweep_state_init(struct gw_sweep_state *state, struct gw_search *search, const char *metric,
                         uint64_t max_steps);
void gw_sweep_state_deinit(struct gw_sweep_state *state);

/* gw_sweep_state_start returns the trial to start next. Errors: those of gw_search_ask. The caller
 * then submits it and calls gw_sweep_state_started with the number of its job. */
int gw_sweep_state_start(struct gw_sweep_state *state, uint64_t elapsed_ns,
                         struct gw_sweep_state_trial **trial, struct gw_error *error);
int gw_sweep_state_started(struct gw_sweep_state *state, struct gw_sweep_state_trial *trial,
                           uint64_t job, uint64_t wall_ns);

/* gw_sweep_state_unfit says why the cluster cannot run a trial that was started: its job fails, and
 * this is the text. GW_ENOMEM. */
int gw_sweep_state_unfit(struct gw_sweep_state_trial *trial, const char *why);

/* gw_sweep_state_withdraw ends a trial that was started, but never submitted. */
void gw_sweep_state_withdraw(struct gw_sweep_state *state, struct gw_sweep_state_trial *trial);

/* gw_sweep_state_reopen lets a trial start again whose job was cancelled, with the same params. It
 * does nothing for other trials. */
int gw_sweep_state_reopen(struct gw_sweep_state *state, uint32_t number, struct gw_error *error);

/* A report of a trial, or the end of its job. */
struct gw_sweep_event {
    uint64_t seq, job, wall_ns;
    int64_t step;
    uint64_t index; /* of the task, or the rank */
    const char *name;
    double value;     /* of a report; of an end: the result, or NaN */
    const char *end;  /* "done", "failed" or "cancelled"; NULL: a report */
    const char *text; /* why it failed */
    bool provisional; /* the scheduler forgets this report when it gets the next one */
};

/* gw_sweep_state_handle handles an event; events come in the order of their numbers. *cancel is
 * the job to cancel now, or 0. Events of other jobs and other metrics change nothing but
 * state->seen. Errors: GW_ENOMEM. */
int gw_sweep_state_handle(struct gw_sweep_state *state, const struct gw_sweep_event *event,
                          uint64_t *cancel, struct gw_error *error);

/* gw_sweep_state_cancels returns true if a live trial's job is to be cancelled, because its fate is
 * decided. */
bool gw_sweep_state_cancels(const struct gw_sweep_state_trial *trial);

#endif
