/* All pictures of a study. */
#ifndef GW_SWEEP_PICTURE_H
#define GW_SWEEP_PICTURE_H

#include "client/sweep/export/study.h"

#include <stdio.h>

/* Each draws one picture, a whole SVG file. Errors of writing are left to the stream. */
void gw_picture_curves_by_step(FILE *out, const struct gw_study *study);
void gw_picture_curves_by_time(FILE *out, const struct gw_study *study);
void gw_picture_history(FILE *out, const struct gw_study *study);
void gw_picture_parallel(FILE *out, const struct gw_study *study);
void gw_picture_slices(FILE *out, const struct gw_study *study);
void gw_picture_importance(FILE *out, const struct gw_study *study);
void gw_picture_timeline(FILE *out, const struct gw_study *study);
void gw_picture_scaling(FILE *out, const struct gw_study *study);

/* The pictures and the names of their files; the last one has no name. */
struct gw_picture {
    const char *file;
    void (*draw)(FILE *out, const struct gw_study *study);
};
extern const struct gw_picture gw_pictures[];

/* gw_picture_importance_correlation returns the rank correlation (Spearman's) of a parameter with
 * the values of the trials that are done; NaN if fewer than 3 have both, or all are equal. For a
 * choice of texts, which have no order, *ordered becomes false, and the result is the adjusted
 * correlation ratio of the ranks of the values, from 0 to 1. */
double gw_picture_importance_correlation(const struct gw_study *study, size_t param, bool *ordered);

#endif
