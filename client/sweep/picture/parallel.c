/* Parallel coordinates: a vertical axis for each parameter and for the value, a line a trial. */
#include "client/sweep/picture/picture.h"
#include "client/sweep/picture/trials.h"

#include <math.h>
#include <stdlib.h>

enum {
    PITCH_MIN = 120, /* between two axes */
    SIDE = 90,
    TOP = 124,
    HEIGHT = 560,
    FEW_TRIALS = 50,
};

/* From pale to strong: the worst fifth of the trials to the best one. */
static const char *const shades[] = {"#d5dde6", "#b4cbe3", "#86afd9", "#4f8bc6", "#1f5fa8"};
enum { SHADES = sizeof shades / sizeof *shades };

struct parallel {
    const struct gw_study *study;
    struct gw_axis *axes; /* of the parameters, then of the value */
    double pitch;
};

static void draw_line(FILE *out, const struct parallel *parallel, size_t number, size_t rank,
                      size_t ranks)
{
    const struct gw_study *study = parallel->study;
    const struct gw_study_trial *trial = &study->trials[number];
    const bool best = number == study->best, few = ranks <= FEW_TRIALS;
    bool drawing = false;
    fprintf(out, "<path fill=\"none\" stroke=\"%s\" stroke-width=\"%s\" stroke-opacity=\"%s\" d=\"",
            best ? GW_DRAW_BEST : shades[rank * SHADES / ranks],
            best  ? "3.5"
            : few ? "2"
                  : "1.1",
            best  ? "1"
            : few ? "0.9"
                  : "0.6");
    for (size_t i = 0; i <= study->param_count; i++) {
        const double value = i < study->param_count ? trial->params[i] : trial->value;
        if (isnan(value)) { /* the trial lacks this parameter */
            drawing = false;
            continue;
        }
        fprintf(out, "%c%.1f %.1f", drawing ? 'L' : 'M', SIDE + parallel->pitch * (double)i,
                gw_axis_at(&parallel->axes[i], value));
        drawing = true;
    }
    fprintf(out, "\"><title>trial %zu: %.6g</title></path>\n", number, trial->value);
}

static void draw_axis(FILE *out, const struct parallel *parallel, size_t i)
{
    const struct gw_study *study = parallel->study;
    const struct gw_axis *axis = &parallel->axes[i];
    const double x = SIDE + parallel->pitch * (double)i;
    const struct gw_draw_style label = {.size = 12, .halo = true};
    double ticks[GW_AXIS_TICKS_MAX];
    char text[GW_AXIS_LABEL_BYTES];
    const size_t count = gw_axis_ticks(axis, axis->choices ? 16 : 7, ticks);
    const bool is_value = i == study->param_count;
    fprintf(out, "<path d=\"M%.1f %.1fV%.1f\" stroke=\"#444\" stroke-width=\"1.4\"/>\n", x,
            axis->from, axis->to);
    for (size_t k = 0; k < count; k++) {
        const double at = gw_axis_at(axis, ticks[k]);
        fprintf(out, "<path d=\"M%.1f %.1fh5\" stroke=\"#444\"/>\n", x, at);
        gw_axis_label(axis, ticks[k], text);
        gw_draw_text(out, x + 8, at + 4, parallel->pitch - 24, label, text);
    }
    gw_draw_text(out, x, TOP - 14, parallel->pitch - 10,
                 (struct gw_draw_style){.size = 13, .anchor = "middle", .bold = true},
                 is_value ? study->metric : study->params[i].name);
}

static void draw_legend(FILE *out, const struct gw_study *study)
{
    double x = 26;
    char text[64];
    if (study->best < study->trial_count) {
        (void)snprintf(text, sizeof text, "best: trial %zu", study->best);
        gw_draw_legend(out, &x, 84, GW_DRAW_BEST, true, text);
    }
    gw_draw_legend(out, &x, 84, shades[SHADES - 1], true, "best fifth");
    gw_draw_legend(out, &x, 84, shades[0], true, "worst fifth");
}

void gw_picture_parallel(FILE *out, const struct gw_study *study)
{
    const size_t count = study->param_count + 1;
    struct parallel parallel = {.study = study, .axes = calloc(count, sizeof *parallel.axes)};
    const double width = fmax(GW_DRAW_WIDTH, 2 * SIDE + PITCH_MIN * (double)(count - 1));
    char text[GW_TRIALS_TEXT_BYTES];
    size_t *order = gw_trials_order(study), ranks = 0, rank = 0;
    parallel.pitch = (width - 2 * SIDE) / fmax(1, (double)(count - 1));
    gw_trials_summary(study, text);
    gw_draw_begin(out, width, HEIGHT, study->name, text);
    if (order && parallel.axes && gw_trials_axis(study, &parallel.axes[count - 1])) {
        for (size_t i = 0; i < count; i++) {
            if (i < study->param_count)
                parallel.axes[i] = gw_axis_param(study, i);
            parallel.axes[i].from = HEIGHT - 36;
            parallel.axes[i].to = TOP;
        }
        for (size_t i = 0; i < study->trial_count; i++)
            ranks += isfinite(study->trials[i].value);
        draw_legend(out, study);
        for (size_t i = 0; i < study->trial_count; i++)
            if (isfinite(study->trials[order[i]].value))
                draw_line(out, &parallel, order[i], rank++, ranks);
        for (size_t i = 0; i < count; i++)
            draw_axis(out, &parallel, i);
    } else
        gw_draw_nothing(out, width, HEIGHT, "no trial has a value yet");
    free(order);
    free(parallel.axes);
    gw_draw_end(out);
}
