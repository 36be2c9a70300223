/* The values of the trials in a picture: their axis, their order and their marks. */
#ifndef GW_SWEEP_TRIALS_H
#define GW_SWEEP_TRIALS_H

#include "client/sweep/picture/draw.h"

/* gw_trials_axis_of makes an axis of some finite values of the metric, and sorts them. A few values
 * that are far worse than the others lie outside. Small losses over several powers of ten get a
 * logarithmic axis. gw_trials_axis is that of the values of all trials; false: no trial has one. */
struct gw_axis gw_trials_axis_of(const struct gw_study *study, double *values, size_t count);
bool gw_trials_axis(const struct gw_study *study, struct gw_axis *axis);

/* gw_trials_metric writes the metric and what is better. gw_trials_summary writes the line below
 * the title: the trials by state. */
enum { GW_TRIALS_TEXT_BYTES = 256 };
void gw_trials_metric(const struct gw_study *study, char text[GW_TRIALS_TEXT_BYTES]);
void gw_trials_summary(const struct gw_study *study, char text[GW_TRIALS_TEXT_BYTES]);

/* gw_trials_order returns the numbers of all trials in the order in which they are drawn: the worst
 * first, the best last. The caller frees it. NULL: out of memory. */
size_t *gw_trials_order(const struct gw_study *study);

/* gw_trials_legend draws the legend of trials by state; `line` as gw_draw_legend. */
void gw_trials_legend(FILE *out, const struct gw_study *study, bool line);

/* gw_trials_mark draws the mark of a trial with its value at a place: a dot, or a triangle if the
 * value lies outside of the axis. */
void gw_trials_mark(FILE *out, const struct gw_study *study, size_t trial,
                    const struct gw_axis *values, double x);

/* gw_trials_run_s returns how many seconds a trial had run at a time of the wall clock: without the
 * time for which it was paused. */
double gw_trials_run_s(const struct gw_study_trial *trial, uint64_t wall_ns);

/* gw_trials_colour returns the colour of a trial. */
const char *gw_trials_colour(const struct gw_study *study, size_t trial);

#endif
