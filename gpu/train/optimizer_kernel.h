/* What clipping and loss scaling need of an optimizer. */
#ifndef GW_GPU_TRAIN_OPTIMIZER_KERNEL_H
#define GW_GPU_TRAIN_OPTIMIZER_KERNEL_H

#include "graph/wire/hash.h"
#include <gangway/comm.h>
#include <gangway/optimizer.h>

/* gw_optimizer_squares computes the sum of squares of all gradients as they are in memory, without
 * factors, for gw_optimizer_clip. If shards is not NULL, squares of all its ranks are summed.
 * *squares receives the sum; if it is NULL, the call does not wait for a device. The sum is finite
 * if and only if all gradients are (and their squares fit a double). */
int gw_optimizer_squares(struct gw_optimizer *optimizer, struct gw_comm *shards, double *squares,
                         struct gw_error *error);

/* gw_optimizer_clip clips the gradients of the next step to norm_max by the squares that
 * gw_optimizer_squares left. If norm is not NULL, *norm receives the norm before. */
int gw_optimizer_clip(struct gw_optimizer *optimizer, double norm_max, double *norm,
                      struct gw_error *error);

/* gw_optimizer_skip drops the factors of the next step, because this step is not made. */
void gw_optimizer_skip(struct gw_optimizer *optimizer);

/* gw_optimizer_steps returns the number of steps that the optimizer made. If a CUDA graph makes
 * them, it waits for the stream. */
uint64_t gw_optimizer_steps(const struct gw_optimizer *optimizer);

/* gw_optimizer_hash hashes all parameters. Returns GW_ENOMEM, or GW_EIO if the device fails. */
int gw_optimizer_hash(const struct gw_optimizer *optimizer, uint8_t hash[GW_HASH_BYTES]);

#endif
