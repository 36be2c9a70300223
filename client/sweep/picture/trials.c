/* The axis of the metric, and the trials on it. */
#include "client/sweep/picture/trials.h"

#include "graph/base/text.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum {
    OUTLIERS_FROM = 10, /* so many values are needed to call some of them outliers */
    MANY_TRIALS = 300,  /* draw smaller marks */
    LEGEND_Y = 84,
};
#define OUTLIER_RATIO 4. /* the range of all values to that of the best 95% */
#define LOG_RATIO 50.
#define MARGIN 0.04

static int by_value(const void *a, const void *b)
{
    const double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

struct gw_axis gw_trials_axis_of(const struct gw_study *study, double *values, size_t count)
{
    if (count == 0)
        return gw_axis_numbers(0, 1, false);
    qsort(values, count, sizeof *values, by_value);
    double low = values[0], high = values[count - 1];
    if (count >= OUTLIERS_FROM && !study->maximize) {
        const double most = values[count - 1 - count / 20];
        if (high - low > OUTLIER_RATIO * (most - low) && most > low)
            high = most + (most - low) / 2;
    } else if (count >= OUTLIERS_FROM) {
        const double most = values[count / 20];
        if (high - low > OUTLIER_RATIO * (high - most) && high > most)
            low = most - (high - most) / 2;
    }
    if (!study->maximize && low > 0 && high > LOG_RATIO * low) {
        const double margin = pow(high / low, MARGIN);
        return gw_axis_numbers(low / margin, high * margin, true);
    }
    const double margin = MARGIN * (high - low);
    return gw_axis_numbers(low - margin, high + margin, false);
}

bool gw_trials_axis(const struct gw_study *study, struct gw_axis *axis)
{
    double *values = calloc(study->trial_count + 1, sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < study->trial_count && values; i++)
        if (isfinite(study->trials[i].value))
            values[count++] = study->trials[i].value;
    if (count > 0)
        *axis = gw_trials_axis_of(study, values, count);
    free(values);
    return count > 0;
}

void gw_trials_metric(const struct gw_study *study, char text[GW_TRIALS_TEXT_BYTES])
{
    (void)snprintf(text, GW_TRIALS_TEXT_BYTES, "%.60s (%s is better)", study->metric,
                   study->maximize ? "higher" : "lower");
}

void gw_trials_summary(const struct gw_study *study, char text[GW_TRIALS_TEXT_BYTES])
{
    struct gw_text to = {text, GW_TRIALS_TEXT_BYTES, 0};
    size_t counts[GW_STUDY_STATES] = {0};
    for (size_t i = 0; i < study->trial_count; i++)
        counts[study->trials[i].state]++;
    gw_text_say(&to, "%zu trial%s", study->trial_count, study->trial_count == 1 ? "" : "s");
    for (int state = 0; state < GW_STUDY_STATES; state++)
        if (counts[state] && counts[state] < study->trial_count)
            gw_text_say(&to, ", %zu %s", counts[state], gw_draw_states[state]);
    if (study->best < study->trial_count)
        gw_text_say(&to, "; best: trial %zu with %.60s %.6g", study->best, study->metric,
                    study->trials[study->best].value);
}

/* -- Trials --- */

struct place {
    size_t trial;
    int group;      /* best, other done ones, others with a value, others: the last first */
    double badness; /* in a group the largest is drawn first */
};

static int by_badness(const void *a, const void *b)
{
    const struct place *x = a, *y = b;
    if (x->group != y->group)
        return x->group > y->group ? -1 : 1;
    if (x->badness != y->badness)
        return x->badness > y->badness ? -1 : 1;
    return (x->trial < y->trial) - (x->trial > y->trial);
}

size_t *gw_trials_order(const struct gw_study *study)
{
    const size_t count = study->trial_count;
    struct place *places = calloc(count + 1, sizeof *places);
    size_t *order = calloc(count + 1, sizeof *order);
    if (!places || !order) {
        free(places);
        free(order);
        return NULL;
    }
    for (size_t i = 0; i < count; i++) {
        const struct gw_study_trial *trial = &study->trials[i];
        const int group = !isfinite(trial->value)         ? 3
                          : trial->state != GW_STUDY_DONE ? 2
                                                          : i != study->best;
        const double value = group == 3 ? 0 : trial->value;
        places[i] = (struct place){i, group, study->maximize ? -value : value};
    }
    qsort(places, count, sizeof *places, by_badness);
    for (size_t i = 0; i < count; i++)
        order[i] = places[i].trial;
    free(places);
    return order;
}

double gw_trials_run_s(const struct gw_study_trial *trial, uint64_t wall_ns)
{
    uint64_t sum_ns = 0;
    for (size_t i = 0; i < trial->run_count && trial->runs[i].began_ns < wall_ns; i++) {
        const uint64_t ended_ns = trial->runs[i].ended_ns;
        sum_ns += (ended_ns && ended_ns < wall_ns ? ended_ns : wall_ns) - trial->runs[i].began_ns;
    }
    return (double)sum_ns / 1e9;
}

const char *gw_trials_colour(const struct gw_study *study, size_t trial)
{
    return trial == study->best ? GW_DRAW_BEST : gw_draw_colours[study->trials[trial].state];
}

void gw_trials_legend(FILE *out, const struct gw_study *study, bool line)
{
    bool has[GW_STUDY_STATES] = {false};
    char text[64];
    double x = 26;
    for (size_t i = 0; i < study->trial_count; i++)
        has[study->trials[i].state] |= i != study->best;
    if (study->best < study->trial_count) {
        (void)snprintf(text, sizeof text, "best: trial %zu", study->best);
        gw_draw_legend(out, &x, LEGEND_Y, GW_DRAW_BEST, line, text);
    }
    for (int state = GW_STUDY_STATES - 1; state >= 0; state--)
        if (has[state])
            gw_draw_legend(out, &x, LEGEND_Y, gw_draw_colours[state], line, gw_draw_states[state]);
}

void gw_trials_mark(FILE *out, const struct gw_study *study, size_t trial,
                    const struct gw_axis *values, double x)
{
    const double value = study->trials[trial].value, y = gw_axis_at(values, value);
    const char *colour = gw_trials_colour(study, trial);
    const double radius = trial == study->best ? 6 : study->trial_count > MANY_TRIALS ? 2.4 : 4;
    if (value < values->low || value > values->high)
        fprintf(out, "<path d=\"M%.1f %.1fl%.1f %.1fh%.1fz\" fill=\"%s\"", x, y, -radius,
                value > values->high ? 1.6 * radius : -1.6 * radius, 2 * radius, colour);
    else
        fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%.1f\" fill=\"%s\"", x, y, radius,
                colour);
    fprintf(out,
            " fill-opacity=\"%s\" stroke=\"#fff\" stroke-width=\"%s\"><title>trial %zu: "
            "%.6g</title></%s>\n",
            trial == study->best ? "1" : "0.75", trial == study->best ? "1.5" : "0.5", trial, value,
            value < values->low || value > values->high ? "path" : "circle");
}
