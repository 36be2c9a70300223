/* Population based training. At the end of each interval a trial is ranked by its last loss among
 * the running trials that have ended an interval. One of the worst quarter copies one of the best
 * quarter.
 *
 * A trial copies at most once up to each step that it has reached: so it ends, although a copy
 * begins at an earlier step than the trial had, and the checkpoint that it gets may be of a later
 * step than the one by which the other trial was ranked. */
#include "client/sweep/search/population.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "client/sweep/search/point.h"
#include "client/sweep/search/rng.h"

enum { DRAWS_MAX = 100 }; /* changes drawn for one that meets the constraints */

static int compare_trials(const void *a, const void *b)
{
    const struct gw_search_trial *one = *(struct gw_search_trial *const *)a;
    const struct gw_search_trial *two = *(struct gw_search_trial *const *)b;
    if (one->score != two->score)
        return one->score < two->score ? -1 : 1;
    return one->shown.number < two->shown.number ? -1 : 1;
}

static double perturb(const struct gw_param *param, double x, struct gw_rng *rng)
{
    const double draw = gw_rng_unit(rng), u = gw_rng_unit(rng);
    if (isnan(x) || draw < .25)
        return gw_param_at_unit(param, u);
    if (param->kind == GW_PARAM_CHOICE)
        return gw_param_round(param, x + (u < .5 ? -1 : 1));
    return gw_param_round(param, x * (u < .5 ? .8 : 1.2));
}

/* Writes a changed copy of a point; an equal copy if no change meets the constraints. */
static void explore(const struct gw_search *search, const double *from, struct gw_rng *rng,
                    double *point)
{
    const struct gw_space *space = search->space;
    for (int draw = 0; draw < DRAWS_MAX; draw++) {
        for (size_t i = 0; i < space->params.count; i++)
            point[i] = gw_space_has(space, point, i)
                           ? perturb(&space->params.items[i], from[i], rng)
                           : NAN;
        if (gw_point_admits(space, point))
            return;
    }
    memcpy(point, from, space->params.count * sizeof *point);
}

static int copy_trial(struct gw_search *search, struct gw_search_trial *trial,
                      const struct gw_search_trial *from, struct gw_rng *rng)
{
    double *point = calloc(search->space->params.count, sizeof *point);
    if (!point)
        return GW_ENOMEM;
    explore(search, from->point, rng, point);
    struct gw_value *params = gw_point_values(search->space, point);
    if (!params) {
        free(point);
        return GW_ENOMEM;
    }
    gw_value_unref(trial->shown.params);
    free(trial->point);
    trial->point = point;
    trial->shown.params = params;
    trial->shown.source = from->shown.number;
    trial->copied = trial->reports.items[trial->reports.count - 1];
    trial->shown.step = from->scored_step;
    trial->shown.value = search->options.maximize ? -from->score : from->score;
    trial->scored_step = from->scored_step;
    trial->score = from->score;
    gw_array_clear(&trial->reports);
    return 0;
}

int gw_population_judge(struct gw_search *search, struct gw_search_trial *trial,
                        enum gw_decision *decision)
{
    const uint64_t step = trial->shown.step, last = search->options.max_steps;
    if (last && step >= last)
        *decision = GW_DECISION_DONE;
    if ((last && step >= last) || step < trial->scored_step + search->options.grace)
        return 0;
    trial->score = trial->reports.items[trial->reports.count - 1].loss;
    trial->scored_step = step;
    struct gw_search_trial **ranking = malloc(search->trials.count * sizeof *ranking);
    if (!ranking)
        return GW_ENOMEM;
    size_t count = 0;
    for (size_t i = 0; i < search->trials.count; i++)
        if (search->trials.items[i]->scored_step > 0 &&
            search->trials.items[i]->shown.state == GW_TRIAL_RUNNING)
            ranking[count++] = search->trials.items[i];
    qsort(ranking, count, sizeof(struct gw_search_trial *), compare_trials);
    const size_t quarter = count < 4 ? count / 2 : (count + 3) / 4;
    bool worst = false;
    for (size_t i = count - quarter; i < count; i++)
        worst |= ranking[i] == trial;
    int rc = 0;
    if (worst && step > trial->copied.step) {
        struct gw_rng rng = gw_rng_keyed(search->options.seed, trial->shown.number, ~step);
        const size_t from = (size_t)(gw_rng_unit(&rng) * (double)quarter);
        rc = copy_trial(search, trial, ranking[from], &rng);
        *decision = GW_DECISION_COPY;
    }
    free(ranking);
    return rc;
}
