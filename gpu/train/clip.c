/* Clipping by the global norm: two kernels, and a sum over ranks if each has a part of the
 * parameters. */
#include <gangway/clip.h>

#include "gpu/train/optimizer_kernel.h"

int gw_clip_norm(struct gw_optimizer *optimizer, double norm_max, struct gw_comm *shards,
                 double *norm, struct gw_error *error)
{
    if (!(norm_max > 0))
        return gw_error_set(error, GW_EINVAL, "clip: invalid norm_max %g", norm_max);
    int rc = gw_optimizer_squares(optimizer, shards, NULL, error);
    return rc < 0 ? rc : gw_optimizer_clip(optimizer, norm_max, norm, error);
}
