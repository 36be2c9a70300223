/* Tables and plots of a sweep. Cells come sorted by global batch; equal ones share a colour. */
#include "examples/04_petnames_sweep/report.h"

#include "examples/petnames/plot.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void pet_sweep_report_progress(const struct pet_sweep_cell *cell, size_t done, size_t count)
{
    if (cell->failed)
        (void)fprintf(stderr, "[%zu/%zu] %s failed: %s\n", done, count, cell->name, cell->failure);
    else
        (void)fprintf(stderr, "[%zu/%zu] %s: loss %.3f after %.1f s\n", done, count, cell->name,
                      cell->held_out_loss, cell->train_seconds);
}

static void print_row(const struct pet_sweep_cell *cell, double level)
{
    (void)printf("%6lld %6lld %7lld %8g  ", (long long)(cell->ranks * cell->batch),
                 (long long)cell->ranks, (long long)cell->batch, cell->lr);
    if (cell->failed) {
        (void)printf("failed: %s\n", cell->failure);
        return;
    }
    double seconds;
    char reached[32] = "never";
    if (pet_sweep_cell_seconds_to(cell, level, &seconds))
        (void)snprintf(reached, sizeof reached, "%.1f s", seconds);
    (void)printf("%8.3f  %10s  %9.0f  %7.1f s\n", cell->held_out_loss, reached, cell->samples_per_s,
                 cell->train_seconds);
}

static void print_table(const struct pet_sweep_cell *cells, size_t count, double level)
{
    char heading[32];
    (void)snprintf(heading, sizeof heading, "to %.2f", level);
    (void)printf("\nglobal                           held-out  %10s                 total\n"
                 " batch  ranks   batch       lr      loss  %10s  samples/s      time\n",
                 "time", heading);
    for (size_t i = 0; i < count; i++)
        print_row(&cells[i], level);
    (void)printf("\n");
}

static int write_csv(const struct pet_sweep_cell *cells, size_t count, const char *path,
                     struct gw_error *error)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
    (void)fprintf(file, "ranks,batch,lr,epoch,seconds,loss\n");
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < cells[i].points; j++)
            (void)fprintf(file, "%lld,%lld,%g,%.6g,%.6g,%.6g\n", (long long)cells[i].ranks,
                          (long long)cells[i].batch, cells[i].lr, cells[i].epoch[j],
                          cells[i].seconds[j], cells[i].loss[j]);
    bool whole = !ferror(file);
    if (fclose(file) != 0 || !whole)
        return gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
    return 0;
}

/* One plot: loss against epochs, or against seconds. */
static int write_plot(const struct pet_sweep_cell *cells, size_t count, bool against_time,
                      const char *path, struct gw_error *error)
{
    struct pet_plot_series *series = calloc(count, sizeof *series);
    char(*labels)[80] = calloc(count, sizeof *labels);
    if (!series || !labels) {
        free(series);
        free(labels);
        return gw_error_set(error, GW_ENOMEM, "no memory for a plot");
    }
    size_t curves = 0;
    int family = -1;
    int64_t last = -1;
    for (size_t i = 0; i < count; i++) {
        if (cells[i].failed)
            continue;
        int64_t global = cells[i].ranks * cells[i].batch;
        family += global != last;
        last = global;
        (void)snprintf(labels[i], sizeof *labels, "%lld = %s", (long long)global, cells[i].name);
        series[curves++] = (struct pet_plot_series){
            .label = labels[i],
            .family = family,
            .x = against_time ? cells[i].seconds : cells[i].epoch,
            .y = cells[i].loss,
            .count = cells[i].points,
        };
    }
    const struct pet_plot plot = {
        .title = against_time ? "Loss against time" : "Loss against epoch",
        .subtitle = "global batch = ranks x batch of a rank; equal global batches share a colour",
        .x_label = against_time ? "seconds" : "epoch",
        .y_label = "loss, nats a character",
        .series = series,
        .series_count = curves,
    };
    int rc = pet_plot_write(&plot, path, error);
    free(series);
    free(labels);
    return rc;
}

int pet_sweep_report(const struct pet_sweep_cell *cells, size_t count,
                     const struct pet_sweep_report_options *options, struct gw_error *error)
{
    char csv[PATH_MAX], epoch[PATH_MAX], time[PATH_MAX];
    (void)snprintf(csv, sizeof csv, "%s/sweep.csv", options->dir);
    (void)snprintf(epoch, sizeof epoch, "%s/loss-epoch.svg", options->dir);
    (void)snprintf(time, sizeof time, "%s/loss-time.svg", options->dir);
    print_table(cells, count, options->level);
    int rc = write_csv(cells, count, csv, error);
    if (rc >= 0)
        rc = write_plot(cells, count, false, epoch, error);
    if (rc >= 0)
        rc = write_plot(cells, count, true, time, error);
    if (rc >= 0)
        (void)printf("Plots: %s and %s; points: %s\n", epoch, time, csv);
    return rc;
}
