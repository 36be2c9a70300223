/* What a sweep shows: a line as each cell ends, a table, two plots and a CSV. */
#ifndef GW_EXAMPLES_04_PETNAMES_SWEEP_REPORT_H
#define GW_EXAMPLES_04_PETNAMES_SWEEP_REPORT_H

#include "examples/04_petnames_sweep/grid.h"

struct pet_sweep_report_options {
    const char *dir; /* where the files go */
    double level;    /* the loss whose time is taken */
};

/* pet_sweep_report_progress prints a line to stderr about the cell that just ended. */
void pet_sweep_report_progress(const struct pet_sweep_cell *cell, size_t done, size_t count);

/* pet_sweep_report prints the table and writes loss-epoch.svg, loss-time.svg and sweep.csv. */
int pet_sweep_report(const struct pet_sweep_cell *cells, size_t count,
                     const struct pet_sweep_report_options *options, struct gw_error *error);

#endif
