/* Axes of pictures: where values lie, round ticks, labels. */
#ifndef GW_SWEEP_AXIS_H
#define GW_SWEEP_AXIS_H

#include "client/sweep/export/study.h"

struct gw_axis {
    double low, high; /* values at the ends */
    double from, to;  /* where these lie in the picture */
    bool log;
    bool is_time;                          /* values are seconds */
    bool is_whole;                         /* ticks are whole numbers */
    const struct gw_study_choice *choices; /* values are indices; NULL: numbers */
};

/* gw_axis_numbers makes an axis of numbers, gw_axis_param one for the values that a parameter has
 * in the trials. An axis is never empty: if all values are equal, it has some on both sides. The
 * caller sets `from` and `to`. gw_axis_at returns where a value lies; values outside lie on the
 * ends. */
struct gw_axis gw_axis_numbers(double low, double high, bool log);
struct gw_axis gw_axis_param(const struct gw_study *study, size_t param);
double gw_axis_at(const struct gw_axis *axis, double value);

/* gw_axis_ticks finds about `wanted` round values on the axis, and returns their number.
 * gw_axis_label writes a value as text. */
enum { GW_AXIS_TICKS_MAX = 64, GW_AXIS_LABEL_BYTES = 48 };
size_t gw_axis_ticks(const struct gw_axis *axis, unsigned wanted, double ticks[GW_AXIS_TICKS_MAX]);
void gw_axis_label(const struct gw_axis *axis, double value, char text[GW_AXIS_LABEL_BYTES]);

#endif
