/* Loss scaling. The scale is a float, as PyTorch's is, so that both have the same bits. The sum of
 * squares of all gradients tells whether they are finite: the optimizer computes it anyway. */
#include <gangway/scaler.h>

#include "gpu/train/optimizer_kernel.h"
#include "graph/base/options_read.h"
#include <math.h>
#include <stdlib.h>

struct gw_scaler {
    struct gw_scaler_options options;
    struct gw_scaler_state state;
    bool is_unscaled; /* the optimizer has the factor of this step */
};

static int options_check(struct gw_scaler_options *o, struct gw_error *error)
{
    o->scale = o->scale == 0 ? 65536 : o->scale;
    o->growth = o->growth == 0 ? 2 : o->growth;
    o->backoff = o->backoff == 0 ? 0.5 : o->backoff;
    o->interval = o->interval == 0 ? 2000 : o->interval;
    o->scale_max = o->scale_max == 0 ? INFINITY : o->scale_max;
    if (!(o->scale > 0) || !isfinite((float)o->scale) || !(o->scale_max > 0))
        return gw_error_set(error, GW_EINVAL, "scaler: invalid scale %g or scale_max %g", o->scale,
                            o->scale_max);
    if (!(o->growth > 1) || !(o->backoff > 0 && o->backoff <= 1))
        return gw_error_set(error, GW_EINVAL, "scaler: invalid growth %g or backoff %g", o->growth,
                            o->backoff);
    return 0;
}

int gw_scaler_new(const struct gw_scaler_options *given, struct gw_scaler **scaler,
                  struct gw_error *error)
{
    struct gw_scaler_options options;
    int rc = GW_OPTIONS_READ(&options, given, gw_scaler_options, error);
    if (rc == 0)
        rc = options_check(&options, error);
    if (rc < 0)
        return rc;
    struct gw_scaler *self = calloc(1, sizeof *self);
    if (!self)
        return gw_error_set(error, GW_ENOMEM, "scaler: out of memory");
    self->options = options;
    self->state.scale = (double)(float)options.scale;
    *scaler = self;
    return 0;
}

void gw_scaler_free(struct gw_scaler *scaler)
{
    free(scaler);
}

double gw_scaler_scale(const struct gw_scaler *scaler)
{
    return scaler->state.scale;
}

void gw_scaler_unscale(struct gw_scaler *scaler, struct gw_optimizer *optimizer)
{
    if (!scaler->is_unscaled)
        gw_optimizer_scale(optimizer, (double)(float)(1 / scaler->state.scale));
    scaler->is_unscaled = true;
}

void gw_scaler_update(struct gw_scaler *scaler, bool finite)
{
    const struct gw_scaler_options *o = &scaler->options;
    struct gw_scaler_state *state = &scaler->state;
    scaler->is_unscaled = false;
    if (!finite) {
        state->scale = (double)(float)(state->scale * o->backoff);
        state->clean_steps = 0;
        return;
    }
    if (++state->clean_steps < o->interval || o->interval == GW_UNLIMITED)
        return;
    const double grown = (double)(float)(state->scale * o->growth);
    if (isfinite(grown))
        state->scale = fmin(grown, o->scale_max);
    state->clean_steps = 0;
}

int gw_scaler_step(struct gw_scaler *scaler, struct gw_optimizer *optimizer, struct gw_comm *shards,
                   bool *stepped, struct gw_error *error)
{
    double squares;
    int rc = gw_optimizer_squares(optimizer, shards, &squares, error);
    if (rc < 0)
        return rc;
    gw_scaler_unscale(scaler, optimizer);
    if (isfinite(squares))
        rc = gw_optimizer_step(optimizer, error);
    else
        gw_optimizer_skip(optimizer);
    if (rc < 0)
        return rc;
    gw_scaler_update(scaler, isfinite(squares));
    if (stepped)
        *stepped = isfinite(squares);
    return 0;
}

struct gw_scaler_state gw_scaler_state(const struct gw_scaler *scaler)
{
    return scaler->state;
}

void gw_scaler_set_state(struct gw_scaler *scaler, const struct gw_scaler_state *state)
{
    scaler->state = *state;
}
