/* The grid of a sweep: lists of values, the cells that they span, and what came of each cell. */
#ifndef GW_EXAMPLES_04_PETNAMES_SWEEP_GRID_H
#define GW_EXAMPLES_04_PETNAMES_SWEEP_GRID_H

#include "examples/petnames/trainer.h"

#include <stdbool.h>

enum { SWEEP_LIST_MAX = 32, SWEEP_POINTS = 40, SWEEP_FAILURE_MAX = 160 };

struct pet_sweep_list {
    double values[SWEEP_LIST_MAX];
    size_t count;
};

struct pet_sweep_grid {
    struct pet_sweep_list ranks, batches, rates;
    int64_t samples; /* each cell ends after so many; 0: epochs decide */
};

struct pet_sweep_cell {
    char name[64];
    int64_t ranks, batch;
    double lr;
    bool failed;
    char failure[SWEEP_FAILURE_MAX]; /* one line */
    double epoch[SWEEP_POINTS], seconds[SWEEP_POINTS], loss[SWEEP_POINTS];
    size_t points;
    double held_out_loss, samples_per_s, train_seconds;
};

/* pet_sweep_list_read reads "1,2,4" of option --name; pet_sweep_number_read one number above 0.
 * GW_EINVAL with a text that names the option. */
int pet_sweep_list_read(struct pet_sweep_list *list, const char *name, const char *text,
                        struct gw_error *error);
int pet_sweep_number_read(const char *name, const char *text, double *number,
                          struct gw_error *error);

/* pet_sweep_grid_check refuses ranks and batches that are no whole numbers. */
int pet_sweep_grid_check(const struct pet_sweep_grid *grid, struct gw_error *error);

/* pet_sweep_grid_ranks_max is the size of the largest gang. */
uint32_t pet_sweep_grid_ranks_max(const struct pet_sweep_grid *grid);

/* pet_sweep_grid_cells makes all cells, small global batches first; the caller frees them. */
int pet_sweep_grid_cells(const struct pet_sweep_grid *grid, struct pet_sweep_cell **cells,
                         size_t *count, struct gw_error *error);

/* pet_sweep_cell_set_result copies a trainer's result; pet_sweep_cell_set_failure the first line of
 * an error. */
int pet_sweep_cell_set_result(struct pet_sweep_cell *cell, const struct gw_value *value,
                              struct gw_error *error);
void pet_sweep_cell_set_failure(struct pet_sweep_cell *cell, const struct gw_error *error);

/* pet_sweep_cell_seconds_to gives the time at which the loss first was at most `level`, between two
 * points of the curve on the straight line; false when it never was. */
bool pet_sweep_cell_seconds_to(const struct pet_sweep_cell *cell, double level, double *seconds);

#endif
