/* One panel a parameter: the values of the trials against the parameter's. */
#include "client/sweep/picture/picture.h"
#include "client/sweep/picture/trials.h"

#include <math.h>
#include <stdlib.h>

enum {
    COLUMNS_MAX = 3,
    PANEL = 330, /* with its margins */
    PANEL_HEIGHT = 270,
    TOP = 112,
    INSET = 10, /* no mark on the edge of a panel */
};

/* Trials with the same choice lie side by side, always in the same way. */
static double spread(size_t trial)
{
    return (double)((trial * 2654435761u) % 1000) / 1000 - 0.5;
}

static void draw_panel(FILE *out, const struct gw_study *study, size_t param, const size_t *order,
                       struct gw_axis y, double left, double top)
{
    struct gw_axis x = gw_axis_param(study, param);
    x.from = left + GW_DRAW_LEFT - 24;
    x.to = left + PANEL - 8;
    y.from = top + PANEL_HEIGHT - GW_DRAW_BOTTOM;
    y.to = top;
    gw_draw_y_axis(out, &y, x.from, x.to, NULL);
    if (!x.choices)
        x.from += INSET, x.to -= INSET;
    gw_draw_x_axis(out, &x, y.from, study->params[param].name);
    for (size_t i = 0; i < study->trial_count; i++) {
        const struct gw_study_trial *trial = &study->trials[order[i]];
        const double value = trial->params[param];
        if (isfinite(trial->value) && !isnan(value))
            gw_trials_mark(out, study, order[i], &y,
                           gw_axis_at(&x, x.choices ? value + 0.4 * spread(order[i]) : value));
    }
}

void gw_picture_slices(FILE *out, const struct gw_study *study)
{
    const size_t count = study->param_count > 0 ? study->param_count : 1;
    const size_t columns = count < COLUMNS_MAX ? count : COLUMNS_MAX;
    const size_t rows = (count + columns - 1) / columns;
    const double width = fmax(GW_DRAW_WIDTH, 40 + (double)(PANEL * columns)),
                 height = TOP + (double)(rows * PANEL_HEIGHT);
    const double left = (width - (double)(PANEL * columns)) / 2;
    struct gw_axis y;
    char text[GW_TRIALS_TEXT_BYTES];
    size_t *order = gw_trials_order(study);
    gw_trials_summary(study, text);
    gw_draw_begin(out, width, height, study->name, text);
    if (order && gw_trials_axis(study, &y)) {
        gw_trials_legend(out, study, false);
        for (size_t i = 0; i < study->param_count; i++)
            draw_panel(out, study, i, order, y, left + (double)(i % columns * PANEL),
                       TOP + (double)(i / columns * PANEL_HEIGHT));
    } else
        gw_draw_nothing(out, width, height, "no trial has a value yet");
    free(order);
    gw_draw_end(out);
}
