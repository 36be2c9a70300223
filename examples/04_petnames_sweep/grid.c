/* Grids and cells. A cell is one gang with its settings; what it gave is copied out of its value,
 * so that the value can go. */
#include "examples/04_petnames_sweep/grid.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pet_sweep_number_read(const char *name, const char *text, double *number,
                          struct gw_error *error)
{
    char *end;
    double x = strtod(text, &end);
    if (end == text || *end || !(x > 0) || x > 1e15)
        return gw_error_set(error, GW_EINVAL, "--%s %s is not a number above 0", name, text);
    *number = x;
    return 0;
}

int pet_sweep_list_read(struct pet_sweep_list *list, const char *name, const char *text,
                        struct gw_error *error)
{
    struct pet_sweep_list read = {.count = 0};
    for (const char *at = text;; at++) {
        char *end;
        double x = strtod(at, &end);
        if (end == at || (*end && *end != ',') || !(x > 0) || x > 1e9)
            return gw_error_set(error, GW_EINVAL, "--%s %s is not a list of numbers as in 1,2,4",
                                name, text);
        if (read.count == SWEEP_LIST_MAX)
            return gw_error_set(error, GW_EINVAL, "--%s has more than %d values", name,
                                SWEEP_LIST_MAX);
        read.values[read.count++] = x;
        at = end;
        if (!*at)
            break;
    }
    *list = read;
    return 0;
}

static int check_whole(const struct pet_sweep_list *list, const char *name, struct gw_error *error)
{
    for (size_t i = 0; i < list->count; i++)
        if (list->values[i] != floor(list->values[i]))
            return gw_error_set(error, GW_EINVAL, "--%s %g is not a whole number", name,
                                list->values[i]);
    return 0;
}

int pet_sweep_grid_check(const struct pet_sweep_grid *grid, struct gw_error *error)
{
    int rc = check_whole(&grid->ranks, "ranks", error);
    return rc < 0 ? rc : check_whole(&grid->batches, "batch", error);
}

uint32_t pet_sweep_grid_ranks_max(const struct pet_sweep_grid *grid)
{
    double max = 1;
    for (size_t i = 0; i < grid->ranks.count; i++)
        max = grid->ranks.values[i] > max ? grid->ranks.values[i] : max;
    return (uint32_t)max;
}

static int by_global_batch(const void *a, const void *b)
{
    const struct pet_sweep_cell *x = a, *y = b;
    int64_t global_x = x->ranks * x->batch, global_y = y->ranks * y->batch;
    if (global_x != global_y)
        return global_x < global_y ? -1 : 1;
    if (x->ranks != y->ranks)
        return x->ranks < y->ranks ? -1 : 1;
    return x->lr < y->lr ? -1 : x->lr > y->lr;
}

int pet_sweep_grid_cells(const struct pet_sweep_grid *grid, struct pet_sweep_cell **cells,
                         size_t *count, struct gw_error *error)
{
    size_t total = grid->ranks.count * grid->batches.count * grid->rates.count;
    struct pet_sweep_cell *made = calloc(total, sizeof *made);
    if (!made)
        return gw_error_set(error, GW_ENOMEM, "no memory for %zu cells", total);
    for (size_t i = 0; i < total; i++) {
        struct pet_sweep_cell *cell = &made[i];
        cell->ranks = (int64_t)grid->ranks.values[i / (grid->batches.count * grid->rates.count)];
        cell->batch = (int64_t)grid->batches.values[i / grid->rates.count % grid->batches.count];
        cell->lr = grid->rates.values[i % grid->rates.count];
        (void)snprintf(cell->name, sizeof cell->name, "%lldx%lld lr %g", (long long)cell->ranks,
                       (long long)cell->batch, cell->lr);
    }
    qsort(made, total, sizeof *made, by_global_batch);
    *cells = made;
    *count = total;
    return 0;
}

int pet_sweep_cell_set_result(struct pet_sweep_cell *cell, const struct gw_value *value,
                              struct gw_error *error)
{
    struct pet_trainer_result result;
    int rc = pet_trainer_read_result(value, &result, error);
    if (rc < 0)
        return rc;
    cell->points = result.points < SWEEP_POINTS ? result.points : SWEEP_POINTS;
    for (size_t i = 0; i < cell->points; i++) {
        double point[PET_POINT_NUMBERS];
        pet_trainer_point(&result, i, point);
        cell->epoch[i] = point[PET_POINT_EPOCH];
        cell->seconds[i] = point[PET_POINT_SECONDS];
        cell->loss[i] = point[PET_POINT_LOSS];
    }
    cell->held_out_loss = result.held_out_loss;
    cell->samples_per_s = result.samples_per_s;
    cell->train_seconds = result.train_seconds;
    return 0;
}

void pet_sweep_cell_set_failure(struct pet_sweep_cell *cell, const struct gw_error *error)
{
    size_t length = strcspn(error->text, "\n");
    if (length >= sizeof cell->failure)
        length = sizeof cell->failure - 1;
    cell->failed = true;
    memcpy(cell->failure, error->text, length);
    cell->failure[length] = '\0';
}

bool pet_sweep_cell_seconds_to(const struct pet_sweep_cell *cell, double level, double *seconds)
{
    for (size_t i = 0; i < cell->points; i++) {
        if (!(cell->loss[i] <= level))
            continue;
        if (i == 0) {
            *seconds = cell->seconds[0];
            return true;
        }
        double part = (cell->loss[i - 1] - level) / (cell->loss[i - 1] - cell->loss[i]);
        *seconds = cell->seconds[i - 1] + part * (cell->seconds[i] - cell->seconds[i - 1]);
        return true;
    }
    return false;
}
