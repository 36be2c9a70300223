/* How much each parameter matters: rank correlations. They see only effects that rise or fall. */
#include "client/sweep/picture/picture.h"
#include "client/sweep/picture/trials.h"

#include <math.h>
#include <stdlib.h>

enum {
    ROW = 34,
    TOP = 92,
    NAMES = 220,
    FOOT = 56,
    TRIALS_MIN = 3,
};

/* -- Correlations --- */

struct pair {
    double x, y; /* then the ranks of both */
};

static int by_x(const void *a, const void *b)
{
    const double x = ((const struct pair *)a)->x, y = ((const struct pair *)b)->x;
    return (x > y) - (x < y);
}

static int by_y(const void *a, const void *b)
{
    const double x = ((const struct pair *)a)->y, y = ((const struct pair *)b)->y;
    return (x > y) - (x < y);
}

/* Equal numbers get the mean of their ranks. */
static void rank(struct pair *pairs, size_t count, bool y)
{
    qsort(pairs, count, sizeof *pairs, y ? by_y : by_x);
    for (size_t i = 0, end; i < count; i = end) {
        const double number = y ? pairs[i].y : pairs[i].x;
        for (end = i; end < count && (y ? pairs[end].y : pairs[end].x) == number;)
            end++;
        for (size_t k = i; k < end; k++)
            *(y ? &pairs[k].y : &pairs[k].x) = (double)(i + end - 1) / 2;
    }
}

static double correlate(const struct pair *pairs, size_t count)
{
    const double mean = (double)(count - 1) / 2; /* of ranks */
    double xx = 0, yy = 0, xy = 0;
    for (size_t i = 0; i < count; i++) {
        xx += (pairs[i].x - mean) * (pairs[i].x - mean);
        yy += (pairs[i].y - mean) * (pairs[i].y - mean);
        xy += (pairs[i].x - mean) * (pairs[i].y - mean);
    }
    return xx > 0 && yy > 0 ? xy / sqrt(xx * yy) : NAN;
}

/* Which part of the spread of the ranks lies between the choices, less what chance gives. x is the
 * index of the choice. */
static double compare_choices(struct pair *pairs, size_t count)
{
    const double mean = (double)(count - 1) / 2;
    double between = 0, all = 0;
    size_t groups = 0;
    qsort(pairs, count, sizeof *pairs, by_x);
    for (size_t i = 0, end; i < count; i = end, groups++) {
        double sum = 0;
        for (end = i; end < count && pairs[end].x == pairs[i].x; end++) {
            sum += pairs[end].y - mean;
            all += (pairs[end].y - mean) * (pairs[end].y - mean);
        }
        between += sum * sum / (double)(end - i);
    }
    if (groups < 2 || groups >= count || !(all > 0))
        return NAN;
    const double left = (1 - between / all) * (double)(count - 1) / (double)(count - groups);
    return sqrt(fmax(0, 1 - left));
}

double gw_picture_importance_correlation(const struct gw_study *study, size_t param, bool *ordered)
{
    const struct gw_study_param *p = &study->params[param];
    struct pair *pairs = calloc(study->trial_count + 1, sizeof *pairs);
    double result = NAN;
    size_t count = 0;
    *ordered = true;
    for (size_t i = 0; i < p->choice_count; i++)
        *ordered &= !p->choices[i].is_text;
    for (size_t i = 0; i < study->trial_count && pairs; i++) {
        const struct gw_study_trial *trial = &study->trials[i];
        double x = trial->params[param];
        if (trial->state != GW_STUDY_DONE || !isfinite(trial->value) || isnan(x))
            continue;
        if (p->kind == GW_STUDY_CHOICE && *ordered) {
            char *end;
            const char *text = p->choices[(size_t)x].text;
            x = strtod(text, &end);
            if (end == text)
                x = *text == 't'; /* true or false */
        }
        pairs[count++] = (struct pair){x, trial->value};
    }
    if (count >= TRIALS_MIN) {
        rank(pairs, count, true);
        if (*ordered)
            rank(pairs, count, false);
        result = *ordered ? correlate(pairs, count) : compare_choices(pairs, count);
    }
    free(pairs);
    return result;
}

/* -- The picture --- */

struct bar {
    size_t param;
    double correlation;
    bool ordered;
};

static int by_importance(const void *a, const void *b)
{
    const struct bar *x = a, *y = b;
    const double p = isnan(x->correlation) ? -1 : fabs(x->correlation),
                 q = isnan(y->correlation) ? -1 : fabs(y->correlation);
    if (p != q)
        return p > q ? -1 : 1;
    return (x->param > y->param) - (x->param < y->param);
}

#define SMALLER "#8e3a9d"
#define LARGER "#2f6fb5"
#define UNORDERED "#7d8791"

static void draw_bar(FILE *out, const struct gw_study *study, const struct bar *bar,
                     const struct gw_axis *x, double y)
{
    const bool larger = (bar->correlation > 0) == study->maximize;
    const double end = isnan(bar->correlation) ? x->from : gw_axis_at(x, fabs(bar->correlation));
    char text[96];
    gw_draw_text(out, NAMES - 12, y + ROW / 2. + 4, NAMES - 36,
                 (struct gw_draw_style){.size = 13, .anchor = "end"},
                 study->params[bar->param].name);
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%d\" rx=\"2\" fill=\"%s\"/>\n",
            x->from, y + 6, fmax(end - x->from, 1), ROW - 12,
            !bar->ordered ? UNORDERED
            : larger      ? LARGER
                          : SMALLER);
    if (isnan(bar->correlation))
        (void)snprintf(text, sizeof text, "always the same, or too few trials");
    else
        (void)snprintf(text, sizeof text, bar->ordered ? "%+.2f" : "%.2f", bar->correlation);
    gw_draw_text(out, end + 8, y + ROW / 2. + 4, 0,
                 (struct gw_draw_style){.size = 12, .colour = GW_DRAW_FAINT_INK, .halo = true},
                 text);
}

static void draw_bars(FILE *out, const struct gw_study *study, const struct bar *bars)
{
    struct gw_axis x = gw_axis_numbers(0, 1, false);
    const double bottom = TOP + 14 + ROW * (double)study->param_count;
    double at = 26, ticks[GW_AXIS_TICKS_MAX];
    x.from = NAMES;
    x.to = GW_DRAW_WIDTH - 70;
    gw_draw_legend(out, &at, 84, LARGER, false, "larger is better");
    gw_draw_legend(out, &at, 84, SMALLER, false, "smaller is better");
    gw_draw_legend(out, &at, 84, UNORDERED, false, "choices without an order");
    const size_t count = gw_axis_ticks(&x, 5, ticks);
    for (size_t i = 0; i < count; i++)
        fprintf(out, "<path d=\"M%.1f %dV%.1f\" stroke=\"" GW_DRAW_GRID "\"/>\n",
                gw_axis_at(&x, ticks[i]), TOP + 8, bottom);
    gw_draw_x_axis(out, &x, bottom, "rank correlation with the value, without its sign");
    for (size_t i = 0; i < study->param_count; i++)
        draw_bar(out, study, &bars[i], &x, TOP + 10 + ROW * (double)i);
}

void gw_picture_importance(FILE *out, const struct gw_study *study)
{
    const double height = fmax(240, TOP + 14 + ROW * (double)study->param_count + FOOT);
    struct bar *bars = calloc(study->param_count + 1, sizeof *bars);
    char text[GW_TRIALS_TEXT_BYTES];
    bool any = false;
    gw_trials_summary(study, text);
    gw_draw_begin(out, GW_DRAW_WIDTH, height, study->name, text);
    for (size_t i = 0; i < study->param_count && bars; i++) {
        bars[i].param = i;
        bars[i].correlation = gw_picture_importance_correlation(study, i, &bars[i].ordered);
        any |= !isnan(bars[i].correlation);
    }
    if (any) {
        qsort(bars, study->param_count, sizeof *bars, by_importance);
        draw_bars(out, study, bars);
    } else
        gw_draw_nothing(out, GW_DRAW_WIDTH, height,
                        "needs 3 trials that are done, with different values");
    free(bars);
    gw_draw_end(out);
}
