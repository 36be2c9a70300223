/* Ask, tell and end. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/sweep/search/asha.h"
#include "client/sweep/search/grid.h"
#include "client/sweep/search/median.h"
#include "client/sweep/search/point.h"
#include "client/sweep/search/population.h"
#include "client/sweep/search/rng.h"
#include "client/sweep/search/sobol.h"
#include "client/sweep/search/state.h"
#include "client/sweep/search/tpe.h"
#include "graph/base/options_read.h"

enum {
    DRAWS_MAX = 10000,   /* points drawn for one that meets the constraints */
    TPE_DRAWS_MAX = 100, /* of these by TPE */
    STARTUP = 10,        /* random trials before TPE */
};

/* A value as a loss; INFINITY for NaN. */
static double to_loss(const struct gw_search *search, double value)
{
    if (isnan(value))
        return INFINITY;
    return search->options.maximize ? -value : value;
}

static void free_trial(struct gw_search_trial *trial)
{
    if (!trial)
        return;
    gw_value_unref(trial->shown.params);
    gw_array_deinit(&trial->reports);
    free(trial->point);
    free(trial);
}

void gw_search_free(struct gw_search *search)
{
    if (!search)
        return;
    struct gw_search_trial **trial;
    GW_ARRAY_EACH (&search->trials, trial)
        free_trial(*trial);
    gw_array_deinit(&search->trials);
    gw_array_deinit(&search->ranked);
    gw_asha_deinit(search);
    gw_space_free(search->space);
    free(search->cells);
    free(search);
}

/* -- Points --- */

/* A number that stands for the name of a parameter: adding another one changes no draw of this. */
static uint64_t name_key(const char *name)
{
    uint64_t key = 0xcbf29ce484222325;
    for (; *name; name++)
        key = (key ^ (unsigned char)*name) * 0x100000001b3;
    return key;
}

/* Writes the value of parameter i of a new trial. */
static int draw_value(const struct gw_search *search, size_t i, enum gw_search_method method,
                      uint32_t draw, double *value)
{
    const struct gw_param *param = &search->space->params.items[i];
    const uint64_t seed = search->options.seed;
    struct gw_rng rng = gw_rng_keyed(seed, search->trials.count, name_key(param->name) + draw);
    double u = gw_rng_unit(&rng);
    if (method == GW_SEARCH_TPE)
        return gw_tpe_draw(search, i, &rng, value);
    if (method == GW_SEARCH_SOBOL) { /* a shift of the bits that the whole sequence shares */
        rng = gw_rng_keyed(seed, UINT64_MAX, name_key(param->name));
        const uint64_t shift = gw_rng_next(&rng) >> 32;
        u = (double)(gw_sobol_at((uint32_t)i, search->sobol_next) ^ shift) * 0x1p-32;
    }
    *value = gw_param_at_unit(param, u);
    return 0;
}

/* TPE begins with random trials, and takes random points if its own meet no constraint. */
static enum gw_search_method choose_method(const struct gw_search *search, uint32_t draw)
{
    const struct gw_search_options *options = &search->options;
    const uint32_t startup = options->startup == GW_NONE ? 1
                             : options->startup          ? options->startup
                                                         : STARTUP;
    if (options->method == GW_SEARCH_TPE &&
        (search->ranked.count < startup || draw >= TPE_DRAWS_MAX))
        return GW_SEARCH_RANDOM;
    return options->method == GW_SEARCH_GRID ? GW_SEARCH_RANDOM : options->method;
}

/* Writes a point, of which `first` (or NULL) gives some values. */
static int draw_point(struct gw_search *search, uint32_t draw, const double *first, double *point)
{
    const struct gw_space *space = search->space;
    const enum gw_search_method method = choose_method(search, draw);
    int rc = 0;
    for (size_t i = 0; rc == 0 && i < space->params.count; i++) {
        point[i] = NAN;
        if (!gw_space_has(space, point, i))
            continue;
        if (first && !isnan(first[i]))
            point[i] = first[i];
        else
            rc = draw_value(search, i, method, draw, &point[i]);
    }
    search->sobol_next += !first && method == GW_SEARCH_SOBOL;
    return rc;
}

/* Writes the point of the next trial, of which `first` (or NULL) gives some values. */
static int choose_point(struct gw_search *search, const double *first, double *point,
                        struct gw_error *error)
{
    const struct gw_space *space = search->space;
    if (!first && search->options.method == GW_SEARCH_GRID)
        return gw_grid_take(search, point, error);
    if (choose_method(search, 0) == GW_SEARCH_TPE)
        gw_tpe_split(search);
    for (uint32_t draw = 0; draw < DRAWS_MAX; draw++) {
        if (draw_point(search, draw, first, point) < 0)
            return gw_error_set(error, GW_ENOMEM, "out of memory");
        if (gw_point_admits(space, point))
            return 0;
    }
    return gw_error_set(error, GW_ELIMIT,
                        "none of %d random points meets the constraints: loosen one, or derive a "
                        "parameter in place of a constraint with ==",
                        DRAWS_MAX);
}

/* -- New --- */

static int check_options(const struct gw_search *search, struct gw_error *error)
{
    const struct gw_search_options *options = &search->options;
    if (options->method > GW_SEARCH_TPE)
        return gw_error_set(error, GW_EINVAL, "%d is no method of a search", (int)options->method);
    if (options->pruner > GW_PRUNE_POPULATION)
        return gw_error_set(error, GW_EINVAL, "%d is no pruner", (int)options->pruner);
    if (options->pruner &&
        (options->eta < 2 || (options->max_steps && options->grace > options->max_steps)))
        return gw_error_set(error, GW_EINVAL, "eta must be 2 or more, and grace at most max_steps");
    if (options->pruner == GW_PRUNE_ASHA_PROMOTE && !options->max_steps)
        return gw_error_set(error, GW_EINVAL, "ASHA with promotion needs max_steps");
    if (options->has_target && !isfinite(options->target))
        return gw_error_set(error, GW_EINVAL, "the target must be a finite number");
    if (options->method == GW_SEARCH_SOBOL && search->space->params.count > GW_SOBOL_DIMENSIONS)
        return gw_error_set(error, GW_EINVAL,
                            "a search by Sobol's sequence has at most %d parameters, not %zu: use "
                            "GW_SEARCH_RANDOM",
                            GW_SOBOL_DIMENSIONS, search->space->params.count);
    if (search->space->params.count == 0)
        return gw_error_set(error, GW_EINVAL,
                            "the space has no parameter: add one, for example lr=log:1e-4..1e-1");
    return 0;
}

/* Looks for a point, and for one with the values of each first point. */
static int begin(struct gw_search *search, struct gw_error *error)
{
    const struct gw_space *space = search->space;
    const bool grid = search->options.method == GW_SEARCH_GRID;
    int rc = grid ? gw_grid_begin(search, error) : 0;
    double *point = calloc(space->params.count, sizeof *point);
    if (!point)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; rc == 0 && i < space->first.count + !grid; i++) {
        const bool first = i < space->first.count;
        rc = choose_point(search, first ? space->first.items[i] : NULL, point, error);
        if (rc == GW_ELIMIT)
            rc = gw_error_set(error, GW_EINVAL,
                              "no point that meets the constraints was found in %d draws%s: "
                              "loosen one",
                              DRAWS_MAX, first ? ", with the values of a first point" : "");
    }
    free(point);
    search->sobol_next = 0;
    return rc;
}

int gw_search_new(struct gw_space *space, const struct gw_search_options *options,
                  struct gw_search **search, struct gw_error *error)
{
    struct gw_search *made = space ? calloc(1, sizeof *made) : NULL;
    *search = NULL;
    if (!made) {
        gw_space_free(space);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    made->space = space;
    made->best = UINT32_MAX;
    int rc = GW_OPTIONS_READ(&made->options, options, gw_search_options, error);
    made->options.eta = made->options.eta ? made->options.eta : 4;
    made->options.grace = made->options.grace ? made->options.grace : 1;
    if (rc == 0)
        rc = check_options(made, error);
    if (rc == 0)
        rc = begin(made, error);
    if (rc < 0) {
        gw_search_free(made);
        return rc;
    }
    *search = made;
    return 0;
}

/* -- The ranking --- */

static bool is_better(const struct gw_search_trial *a, const struct gw_search_trial *b)
{
    if ((a->shown.state == GW_TRIAL_DONE) != (b->shown.state == GW_TRIAL_DONE))
        return a->shown.state == GW_TRIAL_DONE;
    if (a->shown.state != GW_TRIAL_DONE && a->shown.step != b->shown.step)
        return a->shown.step > b->shown.step;
    return a->loss != b->loss ? a->loss < b->loss : a->shown.number < b->shown.number;
}

/* Inserts a trial into the ranking, whose memory add_trial has reserved. */
static void rank_trial(struct gw_search *search, struct gw_search_trial *trial)
{
    size_t low = 0, high = search->ranked.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (is_better(search->ranked.items[middle], trial))
            low = middle + 1;
        else
            high = middle;
    }
    struct gw_search_trial **at = search->ranked.items + low;
    memmove(at + 1, at, (search->ranked.count - low) * sizeof *at);
    *at = trial;
    search->ranked.count++;
}

static void unrank_trial(struct gw_search *search, const struct gw_search_trial *trial)
{
    size_t i = 0;
    while (search->ranked.items[i] != trial)
        i++;
    struct gw_search_trial **at = search->ranked.items + i;
    memmove(at, at + 1, (--search->ranked.count - i) * sizeof *at);
}

/* -- Ask, tell, end --- */

/* GW_ENOENT with the limit that the search has reached, or 0. */
static int check_limits(const struct gw_search *search, uint64_t elapsed_ns, struct gw_error *error)
{
    const struct gw_search_options *options = &search->options;
    if (options->has_target && search->best != UINT32_MAX &&
        search->trials.items[search->best]->loss <= to_loss(search, options->target))
        return gw_error_set(error, GW_ENOENT, "the search is over: trial %u has reached the target",
                            search->best);
    if (options->failures && search->failures >= options->failures)
        return gw_error_set(error, GW_ENOENT, "the search is over: %u trials have failed",
                            search->failures);
    if (options->patience && search->unimproved >= options->patience)
        return gw_error_set(error, GW_ENOENT,
                            "the search is over: the last %u trials were not better than the best",
                            search->unimproved);
    if (options->time_limit_ns && elapsed_ns >= options->time_limit_ns)
        return gw_error_set(error, GW_ENOENT, "the search is over: its time limit has passed");
    return 0;
}

bool gw_search_is_cut(const struct gw_search *search, uint64_t elapsed_ns)
{
    const struct gw_search_options *options = &search->options;
    return (options->time_limit_ns && elapsed_ns >= options->time_limit_ns) ||
           (options->failures && search->failures >= options->failures);
}

/* Whether a report of a running trial can promote one. */
static bool may_promote(const struct gw_search *search)
{
    return search->options.pruner == GW_PRUNE_ASHA_PROMOTE && search->running > 0;
}

static int check_trials(const struct gw_search *search, struct gw_error *error)
{
    const uint32_t limit = search->options.trials ? search->options.trials : UINT32_MAX;
    if (search->trials.count >= limit)
        return gw_error_set(error, GW_ENOENT, "the search is over: it has its %u trials", limit);
    return 0;
}

static int add_trial(struct gw_search *search, struct gw_search_trial **made,
                     struct gw_error *error)
{
    const struct gw_space *space = search->space;
    const size_t number = search->trials.count;
    const double *first = number < space->first.count ? space->first.items[number] : NULL;
    struct gw_search_trial *trial = calloc(1, sizeof *trial);
    double *point = calloc(space->params.count, sizeof *point);
    if (trial)
        trial->point = point;
    else
        free(point);
    int rc = trial && point && gw_array_reserve(&search->trials, 1) == 0 &&
                     gw_array_reserve(&search->ranked, number + 1 - search->ranked.count) == 0
                 ? choose_point(search, first, point, error)
                 : gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc == 0 && !(trial->shown.params = gw_point_values(space, point)))
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc < 0) {
        free_trial(trial);
        return rc;
    }
    trial->shown.number = (uint32_t)number;
    trial->shown.value = NAN;
    trial->shown.source = trial->shown.number;
    trial->loss = INFINITY;
    gw_asha_begin(search, trial);
    search->trials.items[search->trials.count++] = trial;
    search->running++;
    *made = trial;
    return 0;
}

/* A paused trial goes on. */
static int resume(struct gw_search *search, struct gw_search_trial *paused,
                  const struct gw_trial **trial)
{
    unrank_trial(search, paused);
    search->running++;
    paused->shown.state = GW_TRIAL_RUNNING;
    paused->answer = GW_DECISION_CONTINUE; /* also if it reports its last step again */
    *trial = &paused->shown;
    return 0;
}

int gw_search_ask(struct gw_search *search, uint64_t elapsed_ns, const struct gw_trial **trial,
                  struct gw_error *error)
{
    struct gw_search_trial *made = NULL;
    *trial = NULL;
    int rc = check_limits(search, elapsed_ns, error);
    if (rc < 0)
        return rc;
    if ((made = gw_asha_promote(search)))
        return resume(search, made, trial);
    rc = check_trials(search, error);
    if (rc == 0)
        rc = add_trial(search, &made, error);
    if (rc == 0)
        *trial = &made->shown;
    if (rc == GW_ENOENT && may_promote(search))
        return gw_error_set(error, GW_EAGAIN,
                            "no trial now: ask again when a running one has paused or ended");
    if (rc == GW_ENOENT && search->best == UINT32_MAX && (made = gw_asha_promote_last(search)))
        return resume(search, made, trial);
    return rc;
}

static int find_running(struct gw_search *search, uint32_t number, struct gw_search_trial **trial,
                        struct gw_error *error)
{
    if (number >= search->trials.count)
        return gw_error_set(error, GW_ENOENT, "the search has no trial %u", number);
    *trial = search->trials.items[number];
    if ((*trial)->shown.state != GW_TRIAL_RUNNING)
        return gw_error_set(error, GW_EINVAL, "trial %u is not running", number);
    return 0;
}

/* Whether a report changes nothing, with its answer. The report to which the answer was COPY gets
 * it once more, for a caller that has lost it; if a third one is equal, the copy itself sends it.
 */
static bool repeat_answer(struct gw_search_trial *trial, uint64_t step, double loss,
                          enum gw_decision *decision)
{
    if (trial->answer == GW_DECISION_COPY && step == trial->copied.step &&
        loss == trial->copied.loss) {
        trial->answer = GW_DECISION_CONTINUE;
        *decision = GW_DECISION_COPY;
        return true;
    }
    const bool reported = trial->reports.count > 0, copy = trial->scored_step > 0;
    if (reported && step == trial->shown.step)
        *decision = trial->answer;
    return (reported || copy) && step <= trial->shown.step;
}

int gw_search_tell(struct gw_search *search, uint32_t number, uint64_t step, double value,
                   enum gw_decision *decision, struct gw_error *error)
{
    struct gw_search_trial *trial = NULL;
    *decision = GW_DECISION_CONTINUE;
    int rc = find_running(search, number, &trial, error);
    if (rc < 0)
        return rc;
    const double loss = to_loss(search, value);
    if (repeat_answer(trial, step, loss, decision))
        return 0;
    const size_t count = trial->reports.count;
    const double sum = count ? trial->reports.items[count - 1].sum : 0;
    if (gw_array_reserve(&trial->reports, 1) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    const struct gw_search_trial before = *trial;
    trial->reports.items[trial->reports.count++] =
        (struct gw_search_report){step, loss, loss + sum};
    trial->shown.step = step;
    trial->shown.value = value;
    trial->answer = GW_DECISION_CONTINUE;
    if (search->options.pruner == GW_PRUNE_MEDIAN)
        rc = gw_median_judge(search, trial, &trial->answer);
    else if (search->options.pruner == GW_PRUNE_POPULATION)
        rc = gw_population_judge(search, trial, &trial->answer);
    else if (search->options.pruner)
        rc = gw_asha_judge(search, trial, &trial->answer);
    if (rc < 0) {
        *trial = before; /* as if nothing was reported */
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    *decision = trial->answer;
    return 0;
}

static void count_end(struct gw_search *search, struct gw_search_trial *trial)
{
    search->failures += trial->shown.state == GW_TRIAL_FAILED;
    search->unimproved++;
    if (trial->shown.state != GW_TRIAL_DONE)
        return;
    const struct gw_search_trial *best =
        search->best == UINT32_MAX ? NULL : search->trials.items[search->best];
    if (!best || trial->loss < best->loss) {
        search->best = trial->shown.number;
        search->unimproved = 0;
    } else if (trial->loss == best->loss && trial->shown.number < search->best)
        search->best = trial->shown.number;
}

int gw_search_end(struct gw_search *search, uint32_t number, enum gw_trial_state state,
                  double value, struct gw_error *error)
{
    struct gw_search_trial *trial = NULL;
    const int rc = find_running(search, number, &trial, error);
    if (rc < 0)
        return rc;
    if ((int)state <= GW_TRIAL_RUNNING || state > GW_TRIAL_CANCELLED)
        return gw_error_set(error, GW_EINVAL,
                            "a trial ends as GW_TRIAL_DONE, _PRUNED, _FAILED, _CANCELLED or "
                            "_PAUSED");
    if (state == GW_TRIAL_PAUSED && trial->answer != GW_DECISION_PAUSE)
        return gw_error_set(error, GW_EINVAL, "trial %u was not asked to pause", number);
    if (!isnan(value))
        trial->shown.value = value;
    if (state == GW_TRIAL_DONE && isnan(trial->shown.value))
        state = GW_TRIAL_FAILED;
    trial->shown.state = state;
    search->running--;
    if (state != GW_TRIAL_FAILED && state != GW_TRIAL_CANCELLED) {
        trial->loss = to_loss(search, trial->shown.value);
        rank_trial(search, trial);
    }
    if (state != GW_TRIAL_PAUSED && state != GW_TRIAL_CANCELLED)
        count_end(search, trial);
    return 0;
}

int gw_search_reopen(struct gw_search *search, uint32_t number, struct gw_error *error)
{
    if (number >= search->trials.count)
        return gw_error_set(error, GW_ENOENT, "the search has no trial %u", number);
    struct gw_search_trial *trial = search->trials.items[number];
    const bool failed = trial->shown.state == GW_TRIAL_FAILED;
    if (!failed && trial->shown.state != GW_TRIAL_CANCELLED)
        return gw_error_set(error, GW_EINVAL, "trial %u was not cancelled, and has not failed",
                            number);
    trial->shown.state = GW_TRIAL_RUNNING;
    trial->answer = GW_DECISION_CONTINUE;
    search->running++;
    search->failures -= failed;
    search->unimproved -= failed && search->unimproved > 0;
    return 0;
}

int gw_search_best(const struct gw_search *search, const struct gw_trial **trial,
                   struct gw_error *error)
{
    *trial = search->best == UINT32_MAX ? NULL : &search->trials.items[search->best]->shown;
    return *trial ? 0 : gw_error_set(error, GW_ENOENT, "no trial has ended with a value");
}

uint32_t gw_search_count(const struct gw_search *search)
{
    return (uint32_t)search->trials.count;
}

const struct gw_trial *gw_search_trial(const struct gw_search *search, uint32_t number)
{
    return number < search->trials.count ? &search->trials.items[number]->shown : NULL;
}
