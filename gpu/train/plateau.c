/* Reduction of the learning rate on a plateau, in PyTorch's order of operations. */
#include <gangway/plateau.h>

#include "graph/base/options_read.h"
#include <math.h>
#include <stdlib.h>

struct gw_plateau {
    struct gw_plateau_options options;
    struct gw_plateau_state state;
};

static int options_check(struct gw_plateau_options *o, struct gw_error *error)
{
    o->factor = o->factor == 0 ? 0.1 : o->factor;
    o->patience = o->patience == 0 ? 10 : o->patience == GW_NONE ? 0 : o->patience;
    o->threshold = o->threshold == 0 ? 1e-4 : fmax(o->threshold, 0);
    o->eps = o->eps == 0 ? 1e-8 : o->eps;
    if (!(o->factor > 0 && o->factor < 1))
        return gw_error_set(error, GW_EINVAL, "plateau: invalid factor %g", o->factor);
    if (!(o->lr_min >= 0) || !(o->eps >= 0))
        return gw_error_set(error, GW_EINVAL, "plateau: invalid lr_min %g or eps %g", o->lr_min,
                            o->eps);
    return 0;
}

int gw_plateau_new(const struct gw_plateau_options *given, struct gw_plateau **plateau,
                   struct gw_error *error)
{
    struct gw_plateau_options options;
    int rc = GW_OPTIONS_READ(&options, given, gw_plateau_options, error);
    if (rc == 0)
        rc = options_check(&options, error);
    if (rc < 0)
        return rc;
    struct gw_plateau *self = calloc(1, sizeof *self);
    if (!self)
        return gw_error_set(error, GW_ENOMEM, "plateau: out of memory");
    self->options = options;
    self->state.best = options.is_max ? -INFINITY : INFINITY;
    *plateau = self;
    return 0;
}

void gw_plateau_free(struct gw_plateau *plateau)
{
    free(plateau);
}

static bool is_better(const struct gw_plateau *plateau, double metric)
{
    const struct gw_plateau_options *o = &plateau->options;
    const double best = plateau->state.best;
    if (o->is_absolute)
        return o->is_max ? metric > best + o->threshold : metric < best - o->threshold;
    return o->is_max ? metric > best * (o->threshold + 1) : metric < best * (1 - o->threshold);
}

double gw_plateau_next(struct gw_plateau *plateau, double metric, double lr)
{
    const struct gw_plateau_options *o = &plateau->options;
    struct gw_plateau_state *state = &plateau->state;
    if (is_better(plateau, metric)) {
        state->best = metric;
        state->worse_count = 0;
    } else {
        state->worse_count++;
    }
    if (state->cooldown_left > 0) {
        state->cooldown_left--;
        state->worse_count = 0;
    }
    if (state->worse_count <= o->patience)
        return lr;
    state->cooldown_left = o->cooldown;
    state->worse_count = 0;
    const double next = fmax(lr * o->factor, o->lr_min);
    return lr - next > o->eps ? next : lr;
}

struct gw_plateau_state gw_plateau_state(const struct gw_plateau *plateau)
{
    return plateau->state;
}

void gw_plateau_set_state(struct gw_plateau *plateau, const struct gw_plateau_state *state)
{
    plateau->state = *state;
}
