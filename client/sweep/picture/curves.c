/* What each trial has reported, against steps or against the time that it has run. */
#include "client/sweep/picture/picture.h"
#include "client/sweep/picture/trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    POINTS_MAX = 300, /* of a curve that are drawn */
    FEW_TRIALS = 30,  /* bold lines */
    DOTS_MAX = 40,    /* a curve of at most so many points shows them, if there are few curves */
};

struct curves {
    const struct gw_study *study;
    bool by_time;
    struct gw_axis x, y;
    size_t points; /* number of all */
};

/* Where a report lies. */
static double position_of(const struct curves *curves, const struct gw_study_trial *trial,
                          const struct gw_study_report *report)
{
    return curves->by_time ? gw_trials_run_s(trial, report->wall_ns) : (double)report->step;
}

static bool is_shown(const struct curves *curves, const struct gw_study_report *report)
{
    return strcmp(report->name, curves->study->metric) == 0 && isfinite(report->value);
}

static bool is_inside(const struct curves *curves, const struct gw_study_report *report)
{
    return is_shown(curves, report) && report->value >= curves->y.low &&
           report->value <= curves->y.high;
}

/* Makes the axes; false: there is no report, or no memory. */
static bool measure(struct curves *curves)
{
    const struct gw_study *study = curves->study;
    double low = INFINITY, high = -INFINITY;
    size_t count = 0;
    for (size_t i = 0; i < study->trial_count; i++)
        count += study->trials[i].report_count;
    double *values = calloc(count + 1, sizeof *values);
    for (size_t i = 0; i < study->trial_count && values; i++)
        for (size_t k = 0; k < study->trials[i].report_count; k++) {
            const struct gw_study_report *report = &study->trials[i].reports[k];
            if (!is_shown(curves, report))
                continue;
            values[curves->points++] = report->value;
            low = fmin(low, position_of(curves, &study->trials[i], report));
            high = fmax(high, position_of(curves, &study->trials[i], report));
        }
    if (low > 0 && (low < 0.25 * high || curves->by_time))
        low = 0; /* steps and seconds begin at 0 */
    curves->x = gw_axis_numbers(low, high, false);
    if (low == high && !curves->by_time)
        curves->x = gw_axis_numbers(low - 1, high + 1, false);
    curves->x.is_time = curves->by_time;
    curves->x.is_whole = !curves->by_time;
    curves->y = gw_trials_axis_of(study, values, curves->points);
    free(values);
    return curves->points > 0;
}

static void draw_curve(FILE *out, const struct curves *curves, size_t number)
{
    const struct gw_study *study = curves->study;
    const struct gw_study_trial *trial = &study->trials[number];
    const bool best = number == study->best, few = study->trial_count <= FEW_TRIALS;
    const size_t stride = trial->report_count / POINTS_MAX + 1;
    const char *colour = gw_trials_colour(study, number);
    size_t drawn = 0;
    bool drawing = false; /* the line breaks where a value lies outside */
    fprintf(out,
            "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-opacity=\"%s\" "
            "stroke-linejoin=\"round\" stroke-linecap=\"round\" d=\"",
            colour,
            best  ? "3"
            : few ? "1.8"
                  : "1",
            best  ? "1"
            : few ? "0.85"
                  : "0.4");
    for (size_t i = 0; i < trial->report_count; i++) {
        const struct gw_study_report *report = &trial->reports[i];
        if (!is_shown(curves, report) || (i % stride != 0 && i + 1 < trial->report_count))
            continue;
        const bool inside = is_inside(curves, report);
        if (inside)
            fprintf(out, "%c%.1f %.1f", drawing ? 'L' : 'M',
                    gw_axis_at(&curves->x, position_of(curves, trial, report)),
                    gw_axis_at(&curves->y, report->value));
        drawn += inside;
        drawing = inside;
    }
    fprintf(out, "\"><title>trial %zu</title></path>\n", number);
    if (drawn > DOTS_MAX || (!few && !best && drawn > 1))
        return;
    for (size_t i = 0; i < trial->report_count; i++)
        if (is_inside(curves, &trial->reports[i]))
            fprintf(out, "<circle cx=\"%.1f\" cy=\"%.1f\" r=\"%s\" fill=\"%s\"/>\n",
                    gw_axis_at(&curves->x, position_of(curves, trial, &trial->reports[i])),
                    gw_axis_at(&curves->y, trial->reports[i].value),
                    best  ? "4"
                    : few ? "2.6"
                          : "1.6",
                    colour);
}

static void draw_curves(FILE *out, const struct gw_study *study, bool by_time)
{
    struct curves curves = {.study = study, .by_time = by_time};
    char text[GW_TRIALS_TEXT_BYTES];
    gw_trials_summary(study, text);
    gw_draw_begin(out, GW_DRAW_WIDTH, GW_DRAW_HEIGHT, study->name, text);
    size_t *order = gw_trials_order(study);
    if (measure(&curves) && order) {
        curves.x.from = GW_DRAW_LEFT;
        curves.x.to = GW_DRAW_WIDTH - GW_DRAW_RIGHT;
        curves.y.from = GW_DRAW_HEIGHT - GW_DRAW_BOTTOM;
        curves.y.to = GW_DRAW_TOP;
        gw_trials_legend(out, study, true);
        gw_trials_metric(study, text);
        gw_draw_y_axis(out, &curves.y, curves.x.from, curves.x.to, text);
        gw_draw_x_axis(out, &curves.x, curves.y.from,
                       by_time ? "time that the trial has run" : "step");
        for (size_t i = 0; i < study->trial_count; i++)
            draw_curve(out, &curves, order[i]);
    } else
        gw_draw_nothing(out, GW_DRAW_WIDTH, GW_DRAW_HEIGHT, "no trial has reported its metric");
    free(order);
    gw_draw_end(out);
}

void gw_picture_curves_by_step(FILE *out, const struct gw_study *study)
{
    draw_curves(out, study, false);
}

void gw_picture_curves_by_time(FILE *out, const struct gw_study *study)
{
    draw_curves(out, study, true);
}
