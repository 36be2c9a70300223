/* Clipping by the global norm: two kernels, and a sum over ranks if each has a part of the
 * parameters. */
#include <gangway/clip.h>

#include "gpu/train/optimizer_kernel.h"
#include <math.h>

int gw_clip_norm(struct gw_optimizer *optimizer, double norm_max, struct gw_comm *shards,
                 double *norm, struct gw_error *error)
{
    double *squares;
    if (!(norm_max > 0))
        return gw_error_set(error, GW_EINVAL, "clip: invalid norm_max %g", norm_max);
    int rc = gw_optimizer_squares(optimizer, &squares, error);
    if (rc == 0 && shards)
        rc = gw_comm_all_reduce(
            shards, GW_COMM_ARGS(.recv = squares, .count = 1, .dtype = GW_DTYPE_F64), error);
    if (rc < 0)
        return rc;
    if (norm)
        *norm = sqrt(*squares) * gw_optimizer_factor(optimizer);
    gw_optimizer_clip(optimizer, norm_max);
    return 0;
}
