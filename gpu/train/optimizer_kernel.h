/* What clipping and loss scaling need of an optimizer. */
#ifndef GW_GPU_TRAIN_OPTIMIZER_KERNEL_H
#define GW_GPU_TRAIN_OPTIMIZER_KERNEL_H

#include "gpu/train/kernel.h"
#include <gangway/optimizer.h>

/* gw_optimizer_squares computes the sum of squares of all gradients as they are in memory, without
 * factors. *squares is the optimizer's, so that the caller can reduce it over ranks before
 * gw_optimizer_clip. It is not finite if and only if a gradient is not finite (or its square does
 * not fit a double). */
int gw_optimizer_squares(struct gw_optimizer *optimizer, double **squares, struct gw_error *error);

/* gw_optimizer_factor returns the factor of all gradients in the next step. */
double gw_optimizer_factor(const struct gw_optimizer *optimizer);

/* gw_optimizer_clip clips the gradients of the next step to norm_max by the squares that
 * gw_optimizer_squares left. */
void gw_optimizer_clip(struct gw_optimizer *optimizer, double norm_max);

#endif
