/* When each trial ran: a row for each slot that the trials used at the same time. */
#include "client/sweep/picture/picture.h"
#include "client/sweep/picture/trials.h"

#include <math.h>
#include <stdlib.h>

enum {
    ROW_MAX = 28,
    ROWS_HEIGHT = 900, /* many rows share it */
    LEFT = 26,
    NUMBERS_FROM = 14, /* a bar of this height has a number */
    RANKS_MAX = 64,    /* a larger gang is drawn as one of so many ranks */
};

/* A run of a trial; a gang is as many rows high as it has ranks. */
struct bar {
    size_t trial, row, rows;
    uint64_t began_ns, ended_ns;
};

static int by_begin(const void *a, const void *b)
{
    const struct bar *x = a, *y = b;
    if (x->began_ns != y->began_ns)
        return x->began_ns < y->began_ns ? -1 : 1;
    return (x->trial > y->trial) - (x->trial < y->trial);
}

static size_t count_runs(const struct gw_study *study)
{
    size_t count = 0;
    for (size_t i = 0; i < study->trial_count; i++)
        count += study->trials[i].run_count;
    return count;
}

/* The last time of which something is known. */
static uint64_t last_time(const struct gw_study *study)
{
    uint64_t last_ns = 0;
    for (size_t i = 0; i < study->trial_count; i++) {
        const struct gw_study_trial *trial = &study->trials[i];
        for (size_t k = 0; k < trial->run_count; k++) {
            last_ns = trial->runs[k].began_ns > last_ns ? trial->runs[k].began_ns : last_ns;
            last_ns = trial->runs[k].ended_ns > last_ns ? trial->runs[k].ended_ns : last_ns;
        }
        for (size_t k = 0; k < trial->report_count; k++)
            last_ns = trial->reports[k].wall_ns > last_ns ? trial->reports[k].wall_ns : last_ns;
    }
    return last_ns;
}

/* The bars of all runs, by their begin. */
static void collect(const struct gw_study *study, struct bar *bars)
{
    const uint64_t last_ns = last_time(study);
    size_t count = 0;
    for (size_t i = 0; i < study->trial_count; i++)
        for (size_t k = 0; k < study->trials[i].run_count; k++) {
            const struct gw_study_run *run = &study->trials[i].runs[k];
            const uint64_t ended_ns = run->ended_ns ? run->ended_ns : last_ns;
            bars[count++] = (struct bar){
                .trial = i,
                .rows = run->ranks < RANKS_MAX ? run->ranks : RANKS_MAX,
                .began_ns = run->began_ns,
                .ended_ns = ended_ns > run->began_ns ? ended_ns : run->began_ns,
            };
        }
    if (count > 1)
        qsort(bars, count, sizeof *bars, by_begin);
}

/* Gives each bar the first rows that are free. Returns the number of rows. */
static size_t assign_rows(struct bar *bars, size_t count, uint64_t *free_from)
{
    size_t rows = 0;
    for (size_t i = 0; i < count; i++) {
        size_t row = 0, height = 0; /* rows from `row` that are free */
        while (height < bars[i].rows)
            if (row + height < rows && free_from[row + height] > bars[i].began_ns) {
                row += height + 1;
                height = 0;
            } else
                height++;
        for (size_t k = row; k < row + height; k++)
            free_from[k] = bars[i].ended_ns;
        rows = row + height > rows ? row + height : rows;
        bars[i].row = row;
    }
    return rows;
}

static void draw_bar(FILE *out, const struct gw_study *study, const struct bar *bar, double x,
                     double x_to, double row)
{
    const double y = GW_DRAW_TOP + row * (double)bar->row, height = row * (double)bar->rows;
    const double gap = row > 8 ? 2 : row > 4 ? 1 : 0;
    const double width = fmax(x_to - x - (x_to - x > 8 ? 1 : 0), 0.8);
    char text[24];
    fprintf(out,
            "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"%d\" "
            "fill=\"%s\"><title>trial %zu: %s</title></rect>\n",
            x, y + gap / 2, width, height - gap, width > 6 && height > 8 ? 2 : 0,
            gw_trials_colour(study, bar->trial), bar->trial,
            gw_draw_states[study->trials[bar->trial].state]);
    (void)snprintf(text, sizeof text, "%zu", bar->trial);
    if (height >= NUMBERS_FROM && gw_draw_text_width(text, 11) + 6 < width)
        gw_draw_text(out, x + width / 2, y + height / 2 + 4, 0,
                     (struct gw_draw_style){.size = 11, .anchor = "middle", .colour = "#fff"},
                     text);
}

static void draw_bars(FILE *out, const struct gw_study *study, const struct bar *bars, size_t count,
                      size_t rows, double row)
{
    uint64_t begin_ns = bars[0].began_ns, end_ns = begin_ns;
    bool gangs = false;
    for (size_t i = 0; i < count; i++) {
        end_ns = bars[i].ended_ns > end_ns ? bars[i].ended_ns : end_ns;
        gangs |= bars[i].rows > 1;
    }
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
    gw_draw_x_axis(out, &x, bottom,
                   gangs ? "time since the first trial began; a gang is as high as it has ranks"
                         : "time since the first trial began");
    for (size_t i = 0; i < count; i++)
        draw_bar(out, study, &bars[i], gw_axis_at(&x, (double)(bars[i].began_ns - begin_ns) / 1e9),
                 gw_axis_at(&x, (double)(bars[i].ended_ns - begin_ns) / 1e9), row);
}

void gw_picture_timeline(FILE *out, const struct gw_study *study)
{
    size_t count = count_runs(study), rows = 0;
    struct bar *bars = calloc(count + 1, sizeof *bars);
    uint64_t *free_from = calloc(count * RANKS_MAX + 1, sizeof *free_from);
    if (bars && free_from) {
        collect(study, bars);
        rows = assign_rows(bars, count, free_from);
    } else
        count = 0;
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
