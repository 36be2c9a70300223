/* Clips gradients by their global norm, which is the norm of all gradients of an optimizer as one
 * vector. The rule is that of torch.nn.utils.clip_grad_norm_: if the norm is larger than norm_max,
 * all gradients are multiplied by norm_max / (norm + 1e-6).
 *
 * Clip after gw_ddp_finish: then all ranks have the same gradients, and the same norm without
 * another message. */
#ifndef GANGWAY_CLIP_H
#define GANGWAY_CLIP_H

#include <gangway/comm.h>
#include <gangway/error.h>
#include <gangway/optimizer.h>

#ifdef __cplusplus
extern "C" {
#endif

/* gw_clip_norm clips the gradients of the optimizer's next step. It takes the factors of
 * gw_optimizer_scale into account and adds one; the gradients in memory do not change. `norm`
 * receives the norm before clipping and may be NULL. If a gradient is not finite, *norm is not
 * finite either and nothing is clipped.
 *
 * shards: NULL if this rank's optimizer has all parameters. If each rank's optimizer has only a
 * part of the parameters, the communicator of these ranks: the squares of all ranks are summed, so
 * all ranks have the same norm. The call is then collective. Returns GW_EINVAL if norm_max is not
 * positive, and the errors of the communicator. */
GW_API int gw_clip_norm(struct gw_optimizer *optimizer, double norm_max, struct gw_comm *shards,
                        double *norm, struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
