/* When each trial ran: bars in as few rows as trials ran at the same time. */
#include "client/sweep/picture/picture.h"
#include "client/sweep/picture/trials.h"

#include <math.h>
#include <stdlib.h>

enum {
    ROW_MAX = 28,
    ROWS_HEIGHT = 900, /* many rows share it */
    LEFT = 26,
    NUMBERS_FROM = 14, /* a row of this height has numbers in its bars */
};

struct row_of {
    size_t trial, row;
    uint64_t began_ns, ended_ns;
};

static int by_begin(const void *a, const void *b)
{
    const struct row_of *x = a, *y = b;
    if (x->began_ns != y->began_ns)
        return x->began_ns < y->began_ns ? -1 : 1;
    return (x->trial > y->trial) - (x->trial < y->trial);
}

/* The trials that have begun, by their begin. One that runs ends at the last time known. Returns
 * their number. */
static size_t collect(const struct gw_study *study, struct row_of *bars)
{
    uint64_t last_ns = 0;
    size_t count = 0;
    for (size_t i = 0; i < study->trial_count; i++) {
        const struct gw_study_trial *trial = &study->trials[i];
        last_ns = trial->began_ns > last_ns ? trial->began_ns : last_ns;
        last_ns = trial->ended_ns > last_ns ? trial->ended_ns : last_ns;
        for (size_t k = 0; k < trial->report_count; k++)
            last_ns = trial->reports[k].wall_ns > last_ns ? trial->reports[k].wall_ns : last_ns;
    }
    for (size_t i = 0; i < study->trial_count; i++) {
        const struct gw_study_trial *trial = &study->trials[i];
        if (trial->began_ns)
            bars[count++] = (struct row_of){i, 0, trial->began_ns,
                                            trial->ended_ns > trial->began_ns ? trial->ended_ns
                                            : trial->ended_ns                 ? trial->began_ns
                                                                              : last_ns};
    }
    qsort(bars, count, sizeof *bars, by_begin);
    return count;
}

/* Gives each bar the first row that is free. Returns the number of rows. */
static size_t assign_rows(struct row_of *bars, size_t count, uint64_t *free_from)
{
    size_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        size_t row = 0;
        while (row < rows && free_from[row] > bars[i].began_ns)
            row++;
        rows += row == rows;
        free_from[row] = bars[i].ended_ns;
        bars[i].row = row;
    }
    return rows;
}

static void draw_bar(FILE *out, const struct gw_study *study, const struct row_of *bar, double x,
                     double x_to, double y, double row)
{
    const double gap = row > 8 ? 2 : row > 4 ? 1 : 0;
    const double width = fmax(x_to - x - (x_to - x > 8 ? 1 : 0), 0.8);
    char text[24];
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%d\" "
            "fill=\"%s\"><title>trial %zu: %s</title></rect>\n",
            x, y + gap / 2, width, row - gap, width > 6 && row > 8 ? 2 : 0,
            gw_trials_colour(study, bar->trial), bar->trial,
            gw_draw_states[study->trials[bar->trial].state]);
    (void)snprintf(text, sizeof text, "%zu", bar->trial);
    if (row >= NUMBERS_FROM && gw_draw_text_width(text, 11) + 6 < width)
        gw_draw_text(out, x + width / 2, y + row / 2 + 4, 0,
                     (struct gw_draw_style){.size = 11, .anchor = "middle", .colour = "#fff"},
                     text);
}

static void draw_bars(FILE *out, const struct gw_study *study, const struct row_of *bars,
                      size_t count, size_t rows, double row)
{
    uint64_t begin_ns = bars[0].began_ns, end_ns = begin_ns;
    for (size_t i = 0; i < count; i++)
        end_ns = bars[i].ended_ns > end_ns ? bars[i].ended_ns : end_ns;
    struct gw_axis x = gw_axis_numbers(0, fmax((double)(end_ns - begin_ns) / 1e9, 1e-3), false);
    const double bottom = GW_DRAW_TOP + row * (double)rows + 6;
    double ticks[GW_AXIS_TICKS_MAX];
    x.is_time = true;
    x.from = LEFT;
    x.to = GW_DRAW_WIDTH - GW_DRAW_RIGHT;
    const size_t tick_count = gw_axis_ticks(&x, 9, ticks);
    for (size_t i = 0; i < tick_count; i++)
        fprintf(out, "<path d=\"M%.1f %dV%.1f\" stroke=\"" GW_DRAW_GRID "\"/>\n",
                gw_axis_at(&x, ticks[i]), GW_DRAW_TOP - 4, bottom);
    gw_trials_legend(out, study, false);
    gw_draw_x_axis(out, &x, bottom, "time since the first trial began");
    for (size_t i = 0; i < count; i++)
        draw_bar(out, study, &bars[i], gw_axis_at(&x, (double)(bars[i].began_ns - begin_ns) / 1e9),
                 gw_axis_at(&x, (double)(bars[i].ended_ns - begin_ns) / 1e9),
                 GW_DRAW_TOP + row * (double)bars[i].row, row);
}

void gw_picture_timeline(FILE *out, const struct gw_study *study)
{
    struct row_of *bars = calloc(study->trial_count + 1, sizeof *bars);
    uint64_t *free_from = calloc(study->trial_count + 1, sizeof *free_from);
    const size_t count = bars && free_from ? collect(study, bars) : 0;
    const size_t rows = count ? assign_rows(bars, count, free_from) : 0;
    const double row = fmin(ROW_MAX, fmax(ROWS_HEIGHT / fmax((double)rows, 1), 1));
    const double height = fmax(260, GW_DRAW_TOP + row * (double)rows + 6 + GW_DRAW_BOTTOM);
    char text[GW_TRIALS_TEXT_BYTES];
    gw_trials_summary(study, text);
    gw_draw_begin(out, GW_DRAW_WIDTH, height, study->name, text);
    if (count)
        draw_bars(out, study, bars, count, rows, row);
    else
        gw_draw_nothing(out, GW_DRAW_WIDTH, height, "no trial has begun");
    free(bars);
    free(free_from);
    gw_draw_end(out);
}
