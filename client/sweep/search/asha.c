/* ASHA, with stopping (a trial goes on until it is among the worse) and with promotion (a trial
 * pauses at each rung, until it is among the best of it). */
#include "client/sweep/search/asha.h"

#include <math.h>
#include <string.h>

/* Step of a rung; UINT64_MAX if it is beyond all steps. */
static uint64_t rung_step(const struct gw_search *search, uint32_t rung)
{
    uint64_t step = search->options.grace;
    for (uint32_t i = 0; i < rung; i++)
        if (__builtin_mul_overflow(step, search->options.eta, &step))
            return UINT64_MAX;
    return step;
}

/* Inserts the last loss of a trial into a rung, the best first. */
static int record(struct gw_search *search, uint32_t rung, struct gw_search_trial *trial)
{
    while (search->rungs.count <= rung)
        if (gw_array_push(&search->rungs, (struct gw_asha_rung){0}) < 0)
            return GW_ENOMEM;
    struct gw_asha_rung *to = &search->rungs.items[rung];
    if (gw_array_reserve(to, 1) < 0)
        return GW_ENOMEM;
    const double loss = trial->reports.items[trial->reports.count - 1].loss;
    size_t low = 0, high = to->count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (to->items[middle].loss <= loss)
            low = middle + 1;
        else
            high = middle;
    }
    memmove(to->items + low + 1, to->items + low, (to->count - low) * sizeof *to->items);
    to->items[low] = (struct gw_asha_record){loss, trial};
    to->count++;
    return 0;
}

/* The loss that one of eta trials is below, between two records by linear interpolation. */
static double find_cutoff(const struct gw_search *search, uint32_t rung)
{
    if (search->rungs.count <= rung || search->rungs.items[rung].count == 0)
        return INFINITY;
    const struct gw_asha_rung *of = &search->rungs.items[rung];
    const double place = (double)(of->count - 1) / search->options.eta;
    const size_t i = (size_t)place;
    const double low = of->items[i].loss, high = i + 1 < of->count ? of->items[i + 1].loss : low;
    return low == high || place == (double)i ? low : low + (place - (double)i) * (high - low);
}

static int judge_stopping(struct gw_search *search, struct gw_search_trial *trial, uint64_t step,
                          enum gw_decision *decision)
{
    uint32_t rung = trial->rung;
    while (rung_step(search, rung) <= step && rung_step(search, rung) != UINT64_MAX)
        rung++;
    if (rung == trial->rung)
        return 0;
    trial->rung = rung;
    const double cutoff = find_cutoff(search, rung - 1);
    if (trial->reports.items[trial->reports.count - 1].loss > cutoff)
        *decision = GW_DECISION_STOP;
    return record(search, rung - 1, trial);
}

int gw_asha_judge(struct gw_search *search, struct gw_search_trial *trial,
                  enum gw_decision *decision)
{
    const uint64_t step = trial->shown.step, last = search->options.max_steps;
    if (last && step >= last) {
        *decision = GW_DECISION_DONE;
        return 0;
    }
    if (search->options.pruner == GW_PRUNE_ASHA)
        return judge_stopping(search, trial, step, decision);
    if (step < trial->shown.until)
        return 0;
    *decision = GW_DECISION_PAUSE;
    if (trial->recorded > trial->rung) /* a report between the answer and the pause */
        return 0;
    const int rc = record(search, trial->rung, trial);
    if (rc == 0)
        trial->recorded = trial->rung + 1;
    return rc;
}

static void set_until(const struct gw_search *search, struct gw_search_trial *trial)
{
    const uint64_t step = rung_step(search, trial->rung), last = search->options.max_steps;
    trial->shown.until = last && step > last ? last : step;
}

void gw_asha_begin(const struct gw_search *search, struct gw_search_trial *trial)
{
    if (search->options.pruner == GW_PRUNE_ASHA_PROMOTE)
        set_until(search, trial);
}

/* Promotes the best paused trial among the first 1/share of the highest rung that has one. */
static struct gw_search_trial *promote(struct gw_search *search, uint32_t share)
{
    for (size_t rung = search->rungs.count; rung-- > 0;) {
        const struct gw_asha_rung *of = &search->rungs.items[rung];
        for (size_t i = 0; i < of->count / share; i++) {
            struct gw_search_trial *trial = of->items[i].trial;
            if (trial->rung == rung && trial->shown.state == GW_TRIAL_PAUSED) {
                trial->rung++;
                set_until(search, trial);
                return trial;
            }
        }
    }
    return NULL;
}

struct gw_search_trial *gw_asha_promote(struct gw_search *search)
{
    return promote(search, search->options.eta);
}

struct gw_search_trial *gw_asha_promote_last(struct gw_search *search)
{
    return search->options.pruner == GW_PRUNE_ASHA_PROMOTE ? promote(search, 1) : NULL;
}

void gw_asha_deinit(struct gw_search *search)
{
    struct gw_asha_rung *rung;
    GW_ARRAY_EACH (&search->rungs, rung)
        gw_array_deinit(rung);
    gw_array_deinit(&search->rungs);
}
