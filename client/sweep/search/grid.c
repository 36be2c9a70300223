/* Steps through the grid like an odometer. A parameter that a point lacks stays at its first cell,
 * so that no point comes twice. */
#include "client/sweep/search/grid.h"

#include <math.h>
#include <stdlib.h>

#include "client/sweep/search/point.h"

#define CELLS_MAX 4294967296.0

enum { WALK_MAX = 1000000 }; /* cells that one call looks at */

static void write_point(const struct gw_search *search, double *point)
{
    const struct gw_space *space = search->space;
    for (size_t i = 0; i < space->params.count; i++)
        point[i] = gw_space_has(space, point, i)
                       ? gw_param_cell(&space->params.items[i], search->cells[i])
                       : NAN;
}

/* Goes to the next cell, with the present one in `point`. */
static void advance(struct gw_search *search, const double *point)
{
    for (size_t i = search->space->params.count; i-- > 0;) {
        const uint64_t cells = gw_param_cells(&search->space->params.items[i]);
        if (!isnan(point[i]) && ++search->cells[i] < cells)
            return;
        search->cells[i] = 0;
    }
    search->grid_ended = true;
}

/* Whether a point was tried first. */
static bool is_first(const struct gw_search *search, const double *point)
{
    const size_t tried = search->trials.count < search->space->first.count
                             ? search->trials.count
                             : search->space->first.count;
    for (size_t i = 0; i < tried; i++) {
        const double *first = search->trials.items[i]->point;
        size_t k = 0;
        while (k < search->space->params.count &&
               (point[k] == first[k] || (isnan(point[k]) && isnan(first[k]))))
            k++;
        if (k == search->space->params.count)
            return true;
    }
    return false;
}

int gw_grid_take(struct gw_search *search, double *point, struct gw_error *error)
{
    for (uint32_t walked = 0; walked < WALK_MAX && !search->grid_ended; walked++) {
        write_point(search, point);
        const bool admitted = gw_point_admits(search->space, point);
        advance(search, point);
        if (admitted && !is_first(search, point))
            return 0;
    }
    if (search->grid_ended)
        return gw_error_set(error, GW_ENOENT, "the search is over: the grid has ended");
    return gw_error_set(error, GW_ELIMIT,
                        "%d points of the grid in a row do not meet the constraints: loosen one, "
                        "or add the parameters that it bounds last",
                        WALK_MAX);
}

int gw_grid_begin(struct gw_search *search, struct gw_error *error)
{
    const struct gw_space *space = search->space;
    double cells = 1;
    for (size_t i = 0; i < space->params.count; i++) {
        const struct gw_param *param = &space->params.items[i];
        const uint64_t count = gw_param_cells(param);
        if (count == 0)
            return gw_error_set(error, GW_EINVAL,
                                "parameter %s: a grid needs values that can be counted: write a "
                                "choice, or a range with a step",
                                param->name);
        cells *= (double)count;
    }
    if (cells > CELLS_MAX)
        return gw_error_set(error, GW_EINVAL,
                            "the grid has %.3g cells, at most 2^32: use fewer values or another "
                            "method",
                            cells);
    search->cells = calloc(space->params.count, sizeof *search->cells);
    double *point = calloc(space->params.count, sizeof *point);
    const bool memory = search->cells && point;
    const int rc = memory ? gw_grid_take(search, point, error)
                          : gw_error_set(error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; memory && i < space->params.count; i++)
        search->cells[i] = 0;
    search->grid_ended = false;
    free(point);
    if (rc == GW_ENOENT)
        return gw_error_set(error, GW_EINVAL,
                            "no point of the grid meets the constraints: loosen one");
    return rc == GW_ELIMIT ? GW_EINVAL : rc;
}
