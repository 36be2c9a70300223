/* Line plots as SVG: curves of several runs over one axis, with a legend. */
#ifndef GW_EXAMPLES_PETNAMES_PLOT_H
#define GW_EXAMPLES_PETNAMES_PLOT_H

#include <gangway/error.h>
#include <stddef.h>

/* One curve. Runs that belong together share a family, which is a colour; the curves of a family
 * get shades and dashes of their own, in the order in which they come. */
struct pet_plot_series {
    const char *label;
    int family;      /* from 0; more than PET_PLOT_FAMILIES begin again at the first colour */
    const double *x; /* [count]; a point that is not finite leaves a gap */
    const double *y;
    size_t count;
};

enum { PET_PLOT_FAMILIES = 6 };

struct pet_plot {
    const char *title;
    const char *subtitle; /* NULL: none */
    const char *x_label;
    const char *y_label;
    const struct pet_plot_series *series; /* legend in this order */
    size_t series_count;
    double level;            /* a horizontal line at this y, say what is to be beaten */
    const char *level_label; /* NULL: no such line */
};

/* pet_plot_write writes the plot to a file, which appears whole or not at all; an empty plot has
 * axes and says so. GW_EIO with the system's words. */
int pet_plot_write(const struct pet_plot *plot, const char *path, struct gw_error *error);

#endif
