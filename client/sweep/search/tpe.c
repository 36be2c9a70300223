/* TPE: draws candidates from the density of the best trials, and takes the one that is most more
 * likely among these than among the others. */
#include "client/sweep/search/tpe.h"

#include <math.h>
#include <stdlib.h>

#include "client/sweep/search/parzen.h"

enum { CANDIDATES = 24, BEST_MAX = 25 };

void gw_tpe_split(struct gw_search *search)
{
    const size_t count = search->ranked.count, tenth = (count + 9) / 10;
    for (size_t i = 0; i < search->trials.count; i++)
        search->trials.items[i]->good = false; /* promoted trials are not ranked any more */
    for (size_t i = 0; i < count; i++)
        search->ranked.items[i]->good = i < (tenth < BEST_MAX ? tenth : BEST_MAX);
}

/* Writes the values of parameter i in trials that are, or are not, among the best. */
static size_t observe(const struct gw_search *search, size_t i, bool good, double *observed)
{
    size_t count = 0;
    for (size_t k = 0; k < search->trials.count; k++) {
        const struct gw_search_trial *trial = search->trials.items[k];
        const bool says =
            trial->shown.state != GW_TRIAL_FAILED && trial->shown.state != GW_TRIAL_CANCELLED;
        if (trial->good == good && says && !isnan(trial->point[i]))
            observed[count++] = trial->point[i];
    }
    return count;
}

int gw_tpe_draw(const struct gw_search *search, size_t i, struct gw_rng *rng, double *value)
{
    const struct gw_param *param = &search->space->params.items[i];
    struct gw_parzen good = {0}, rest = {0};
    double *observed = malloc((search->trials.count + 1) * sizeof *observed);
    int rc = observed ? 0 : GW_ENOMEM;
    if (rc == 0)
        rc = gw_parzen_init(&good, param, observed, observe(search, i, true, observed));
    if (rc == 0)
        rc = gw_parzen_init(&rest, param, observed, observe(search, i, false, observed));
    double best = -INFINITY;
    for (int k = 0; rc == 0 && k < CANDIDATES; k++) {
        const double x = gw_parzen_draw(&good, rng);
        const double gain = gw_parzen_log_density(&good, x) - gw_parzen_log_density(&rest, x);
        if (k == 0 || gain > best) {
            best = gain;
            *value = x;
        }
    }
    gw_parzen_deinit(&good);
    gw_parzen_deinit(&rest);
    free(observed);
    return rc;
}
