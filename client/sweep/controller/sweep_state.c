/* The state of a sweep. */
#include "client/sweep/controller/sweep_state.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gw_sweep_state_init(struct gw_sweep_state *state, struct gw_search *search, const char *metric,
                         uint64_t max_steps)
{
    *state = (struct gw_sweep_state){
        .search = search, .metric = metric, .max_steps = max_steps, .silent = UINT32_MAX};
}

void gw_sweep_state_deinit(struct gw_sweep_state *state)
{
    struct gw_sweep_state_trial **trial;
    GW_ARRAY_EACH (&state->trials, trial) {
        free((*trial)->text);
        free((*trial)->unfit);
        free(*trial);
    }
    gw_array_deinit(&state->trials);
    gw_array_deinit(&state->live);
    gw_map_deinit(&state->jobs);
    gw_search_free(state->search);
    *state = (struct gw_sweep_state){0};
}

/* -- Starts --- */

/* The trial that starts again with other params, or NULL. */
static struct gw_sweep_state_trial *find_again(const struct gw_sweep_state *state)
{
    struct gw_sweep_state_trial **trial;
    if (state->again == 0)
        return NULL;
    GW_ARRAY_EACH (&state->trials, trial)
        if ((*trial)->again)
            return *trial;
    return NULL;
}

/* Makes room for one trial before the search is asked, so that no answer of it is lost. */
static int reserve(struct gw_sweep_state *state, struct gw_sweep_state_trial **made)
{
    *made = NULL;
    if (gw_array_reserve(&state->trials, 1) < 0 || gw_map_reserve(&state->jobs, 1) < 0)
        return GW_ENOMEM;
    *made = calloc(1, sizeof **made);
    return *made ? 0 : GW_ENOMEM;
}

static struct gw_sweep_state_trial *take(struct gw_sweep_state *state, const struct gw_trial *asked,
                                         struct gw_sweep_state_trial *spare)
{
    if (asked->number < state->trials.count) { /* it was paused */
        free(spare);
        return state->trials.items[asked->number];
    }
    spare->shown.trial = asked;
    spare->shown.text = "";
    state->trials.items[state->trials.count++] = spare;
    return spare;
}

int gw_sweep_state_start(struct gw_sweep_state *state, uint64_t elapsed_ns,
                         struct gw_sweep_state_trial **trial, struct gw_error *error)
{
    const struct gw_trial *asked = NULL;
    struct gw_sweep_state_trial *spare = NULL, *found = find_again(state);
    *trial = NULL;
    if (gw_array_reserve(&state->live, 1) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    if (!found) {
        int rc = reserve(state, &spare);
        if (rc < 0)
            return gw_error_set(error, rc, "out of memory");
        rc = gw_search_ask(state->search, elapsed_ns, &asked, error);
        if (rc < 0) {
            free(spare);
            return rc;
        }
        found = take(state, asked, spare);
    }
    state->again -= found->again;
    found->again = false;
    found->fate = GW_FATE_OPEN;
    found->until = found->shown.trial->until ? found->shown.trial->until : state->max_steps;
    found->live = true;
    found->holds = false;
    free(found->unfit);
    found->unfit = NULL;
    found->live_at = state->live.count;
    state->live.items[state->live.count++] = found;
    found->shown.job = 0;
    found->shown.ended_ns = 0;
    state->starts++;
    *trial = found;
    return 0;
}

int gw_sweep_state_started(struct gw_sweep_state *state, struct gw_sweep_state_trial *trial,
                           uint64_t job, uint64_t wall_ns)
{
    if (gw_map_put(&state->jobs, job, trial->shown.trial->number) < 0)
        return GW_ENOMEM;
    trial->shown.job = job;
    trial->shown.starts++;
    if (!trial->shown.began_ns)
        trial->shown.began_ns = wall_ns;
    return 0;
}

int gw_sweep_state_unfit(struct gw_sweep_state_trial *trial, const char *why)
{
    trial->unfit = strdup(why);
    return trial->unfit ? 0 : GW_ENOMEM;
}

/* The trial waits for its next job. */
static void start_again(struct gw_sweep_state *state, struct gw_sweep_state_trial *trial)
{
    trial->again = true;
    trial->shown.job = 0;
    state->again++;
}

void gw_sweep_state_withdraw(struct gw_sweep_state *state, struct gw_sweep_state_trial *trial)
{
    struct gw_sweep_state_trial *last = state->live.items[--state->live.count];
    last->live_at = trial->live_at;
    state->live.items[trial->live_at] = last;
    trial->live = false;
}

int gw_sweep_state_reopen(struct gw_sweep_state *state, uint32_t number, struct gw_error *error)
{
    struct gw_sweep_state_trial *trial =
        number < state->trials.count ? state->trials.items[number] : NULL;
    if (!trial || trial->shown.trial->state != GW_TRIAL_CANCELLED)
        return 0;
    start_again(state, trial);
    return gw_search_reopen(state->search, number, error);
}

/* -- Events --- */

bool gw_sweep_state_cancels(const struct gw_sweep_state_trial *trial)
{
    return trial->live && (trial->fate == GW_FATE_PRUNE || trial->fate == GW_FATE_COPY);
}

static int tell(struct gw_sweep_state *state, struct gw_sweep_state_trial *trial, int64_t step,
                double value, uint64_t *cancel, struct gw_error *error)
{
    static const enum gw_trial_fate fates[] = {
        [GW_DECISION_CONTINUE] = GW_FATE_OPEN, [GW_DECISION_PAUSE] = GW_FATE_PAUSE,
        [GW_DECISION_STOP] = GW_FATE_PRUNE,    [GW_DECISION_COPY] = GW_FATE_COPY,
        [GW_DECISION_DONE] = GW_FATE_DONE,
    };
    enum gw_decision decision;
    if (trial->fate != GW_FATE_OPEN) {
        /* It was told to end at `until`. A trial that goes on does not ask, and is cancelled. */
        if (trial->until && (uint64_t)step > trial->until)
            *cancel = trial->shown.job;
        return 0;
    }
    const int rc = gw_search_tell(state->search, trial->shown.trial->number, (uint64_t)step, value,
                                  &decision, error);
    if (rc < 0)
        return rc;
    trial->fate = fates[decision];
    if (gw_sweep_state_cancels(trial))
        *cancel = trial->shown.job;
    return 0;
}

/* A provisional report is told to the search only if it is the last one of the trial. Of the
 * others, a sweep that is made again sees none, so no decision may depend on them. */
static int handle_report(struct gw_sweep_state *state, struct gw_sweep_state_trial *trial,
                         const struct gw_sweep_event *event, uint64_t *cancel,
                         struct gw_error *error)
{
    if (event->step < 0)
        return 0;
    state->reported += !trial->reported;
    trial->reported = true;
    trial->holds = event->provisional;
    trial->held.step = event->step;
    trial->held.value = event->value;
    return trial->holds ? 0 : tell(state, trial, event->step, event->value, cancel, error);
}

static int note_text(struct gw_sweep_state_trial *trial, const char *text)
{
    free(trial->text);
    trial->text = strdup(text);
    trial->shown.text = trial->text ? trial->text : "";
    return trial->text ? 0 : GW_ENOMEM;
}

/* How a trial ends whose job has ended in this way. */
static enum gw_trial_state end_state(const struct gw_sweep_state_trial *trial, const char *end)
{
    const bool failed = strcmp(end, "failed") == 0;
    switch (trial->fate) {
    case GW_FATE_PRUNE:
        return GW_TRIAL_PRUNED;
    case GW_FATE_PAUSE:
        return failed ? GW_TRIAL_FAILED : GW_TRIAL_PAUSED;
    case GW_FATE_DONE:
        return failed ? GW_TRIAL_FAILED : GW_TRIAL_DONE;
    case GW_FATE_OPEN:
    case GW_FATE_COPY:
        break;
    }
    return strcmp(end, "done") == 0 ? GW_TRIAL_DONE : failed ? GW_TRIAL_FAILED : GW_TRIAL_CANCELLED;
}

static int handle_end(struct gw_sweep_state *state, struct gw_sweep_state_trial *trial,
                      const struct gw_sweep_event *event, struct gw_error *error)
{
    const double value = state->metric ? NAN : event->value;
    char missing[160];
    uint64_t cancel;
    int rc =
        trial->holds ? tell(state, trial, trial->held.step, trial->held.value, &cancel, error) : 0;
    if (rc < 0)
        return rc;
    const enum gw_trial_state end = end_state(trial, event->end);
    gw_sweep_state_withdraw(state, trial);
    trial->shown.ended_ns = event->wall_ns;
    if (trial->fate == GW_FATE_COPY) {
        start_again(state, trial);
        return 0;
    }
    if (end == GW_TRIAL_FAILED)
        rc = note_text(trial, trial->unfit   ? trial->unfit
                              : *event->text ? event->text
                                             : event->end);
    else if (end == GW_TRIAL_DONE && state->metric && trial->reported &&
             isnan(trial->shown.trial->value))
        rc = note_text(trial, "its value is not a number");
    else if (end == GW_TRIAL_DONE && !trial->reported && isnan(value)) {
        (void)snprintf(missing, sizeof missing, "it ended without %s",
                       state->metric ? "reporting its metric" : "a number as its result");
        rc = note_text(trial, missing);
        if (state->silent == UINT32_MAX)
            state->silent = trial->shown.trial->number;
    }
    return rc < 0 ? gw_error_set(error, rc, "out of memory")
                  : gw_search_end(state->search, trial->shown.trial->number, end, value, error);
}

int gw_sweep_state_handle(struct gw_sweep_state *state, const struct gw_sweep_event *event,
                          uint64_t *cancel, struct gw_error *error)
{
    uint64_t number;
    *cancel = 0;
    state->seen = event->seq;
    if (!gw_map_get(&state->jobs, event->job, &number))
        return 0;
    struct gw_sweep_state_trial *trial = state->trials.items[number];
    if (!trial->live || trial->shown.job != event->job)
        return 0;
    if (event->end)
        return handle_end(state, trial, event, error);
    if (!state->metric || strcmp(event->name, state->metric) != 0)
        return 0;
    return handle_report(state, trial, event, cancel, error);
}
