/* The median rule: a trial ends early if its best loss up to a step is worse than the median of the
 * mean losses that the others had up to this step. */
#include "client/sweep/search/median.h"

#include <math.h>
#include <stdlib.h>

enum { OTHERS_MIN = 3 };

/* The mean of the losses of a trial up to a step that it has reached. */
static double mean_up_to(const struct gw_search_trial *trial, uint64_t step)
{
    size_t low = 0, high = trial->reports.count; /* reports up to the step: low */
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (trial->reports.items[middle].step <= step)
            low = middle + 1;
        else
            high = middle;
    }
    const double mean = low ? trial->reports.items[low - 1].sum / (double)low : INFINITY;
    return isnan(mean) ? INFINITY : mean;
}

static int compare_numbers(const void *a, const void *b)
{
    const double one = *(const double *)a, two = *(const double *)b;
    return one < two ? -1 : one > two;
}

static double find_median(double *numbers, size_t count)
{
    qsort(numbers, count, sizeof *numbers, compare_numbers);
    const double low = numbers[(count - 1) / 2], high = numbers[count / 2];
    return low == high ? low : (low + high) / 2;
}

int gw_median_judge(const struct gw_search *search, const struct gw_search_trial *trial,
                    enum gw_decision *decision)
{
    const uint64_t step = trial->shown.step, last = search->options.max_steps;
    if (last && step >= last)
        *decision = GW_DECISION_DONE;
    if ((last && step >= last) || step < search->options.grace)
        return 0;
    double best = INFINITY, *means = malloc(search->trials.count * sizeof *means);
    if (!means)
        return GW_ENOMEM;
    size_t count = 0;
    for (size_t i = 0; i < trial->reports.count; i++)
        best = fmin(best, trial->reports.items[i].loss);
    for (size_t i = 0; i < search->trials.count; i++) {
        const struct gw_search_trial *other = search->trials.items[i];
        if (other != trial && other->reports.count && other->shown.step >= step)
            means[count++] = mean_up_to(other, step);
    }
    if (count >= OTHERS_MIN && best > find_median(means, count))
        *decision = GW_DECISION_STOP;
    free(means);
    return 0;
}
