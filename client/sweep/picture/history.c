/* The value of each trial, and the best so far. */
#include "client/sweep/picture/picture.h"
#include "client/sweep/picture/trials.h"

#include <math.h>
#include <stdlib.h>

/* A line that only gets better: of the trials that are done. */
static void draw_best_so_far(FILE *out, const struct gw_study *study, const struct gw_axis *x,
                             const struct gw_axis *y)
{
    double best = NAN;
    for (size_t i = 0; i < study->trial_count; i++) {
        const double value = study->trials[i].value;
        if (study->trials[i].state != GW_STUDY_DONE || isnan(value) ||
            (!isnan(best) && (study->maximize ? value <= best : value >= best)))
            continue;
        if (isnan(best))
            fprintf(out,
                    "<path fill=\"none\" stroke=\"" GW_DRAW_BEST "\" stroke-width=\"2.5\" "
                    "stroke-linejoin=\"round\" d=\"M%.1f %.1f",
                    gw_axis_at(x, (double)i), gw_axis_at(y, value));
        else
            fprintf(out, "H%.1fV%.1f", gw_axis_at(x, (double)i), gw_axis_at(y, value));
        best = value;
    }
    if (!isnan(best))
        fprintf(out, "H%.1f\"><title>best so far</title></path>\n", x->to);
}

/* A trial that failed has no value: a cross at the lower edge. */
static void draw_failure(FILE *out, size_t trial, double x, double y)
{
    fprintf(out,
            "<path d=\"M%.1f %.1fl7 7m0 -7l-7 7\" stroke=\"%s\" stroke-width=\"1.5\" "
            "fill=\"none\"><title>trial %zu: failed</title></path>\n",
            x - 3.5, y - 10, gw_draw_colours[GW_STUDY_FAILED], trial);
}

void gw_picture_history(FILE *out, const struct gw_study *study)
{
    struct gw_axis x = gw_axis_numbers(0, (double)study->trial_count - 1, false), y;
    char text[GW_TRIALS_TEXT_BYTES];
    x.is_whole = true;
    gw_trials_summary(study, text);
    gw_draw_begin(out, GW_DRAW_WIDTH, GW_DRAW_HEIGHT, study->name, text);
    size_t *order = gw_trials_order(study);
    if (gw_trials_axis(study, &y) && order) {
        x.from = GW_DRAW_LEFT;
        x.to = GW_DRAW_WIDTH - GW_DRAW_RIGHT;
        y.from = GW_DRAW_HEIGHT - GW_DRAW_BOTTOM;
        y.to = GW_DRAW_TOP;
        gw_trials_legend(out, study, false);
        gw_trials_metric(study, text);
        gw_draw_y_axis(out, &y, x.from, x.to, text);
        gw_draw_x_axis(out, &x, y.from, "trial; the line is the best so far");
        x.from += 8; /* no mark on the edge */
        x.to -= 8;
        for (size_t i = 0; i < study->trial_count; i++)
            if (isfinite(study->trials[order[i]].value))
                gw_trials_mark(out, study, order[i], &y, gw_axis_at(&x, (double)order[i]));
            else if (study->trials[order[i]].state == GW_STUDY_FAILED)
                draw_failure(out, order[i], gw_axis_at(&x, (double)order[i]), y.from);
        draw_best_so_far(out, study, &x, &y);
        if (study->best < study->trial_count)
            gw_trials_mark(out, study, study->best, &y, gw_axis_at(&x, (double)study->best));
    } else
        gw_draw_nothing(out, GW_DRAW_WIDTH, GW_DRAW_HEIGHT, "no trial has a value yet");
    free(order);
    gw_draw_end(out);
}
