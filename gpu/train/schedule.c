/* Schedules of learning rates. Each rate is computed from the one before it, in the same order of
 * operations as PyTorch, because another order rounds to other bits. */
#include <gangway/schedule.h>

#include "graph/base/options_read.h"
#include <math.h>
#include <stdlib.h>

struct gw_schedule {
    struct gw_schedule_options options;
    double base; /* lr times ranks */
    struct gw_schedule_state state;
};

static int options_check(struct gw_schedule_options *o, struct gw_error *error)
{
    if (o->ranks == 0)
        o->ranks = 1;
    if (o->warm_up_factor == 0)
        o->warm_up_factor = 1.0 / o->ranks;
    if (o->factor == 0)
        o->factor = 0.1;
    if (!(o->lr >= 0) || !isfinite(o->lr) || o->ranks < 1)
        return gw_error_set(error, GW_EINVAL, "schedule: invalid learning rate %g for %d ranks",
                            o->lr, o->ranks);
    if (o->warm_up_steps < 0 || !(o->warm_up_factor > 0 && o->warm_up_factor <= 1))
        return gw_error_set(error, GW_EINVAL, "schedule: invalid warm-up of %lld steps from %g",
                            (long long)o->warm_up_steps, o->warm_up_factor);
    if (o->kind != GW_SCHEDULE_CONSTANT && o->kind != GW_SCHEDULE_STAIRS &&
        o->kind != GW_SCHEDULE_COSINE)
        return gw_error_set(error, GW_EINVAL, "schedule: unknown kind %d", (int)o->kind);
    if (o->kind != GW_SCHEDULE_CONSTANT && o->period < 1)
        return gw_error_set(error, GW_EINVAL, "schedule: invalid period of %lld steps",
                            (long long)o->period);
    if (!(o->factor > 0) || !isfinite(o->factor) || !(o->lr_min >= 0))
        return gw_error_set(error, GW_EINVAL, "schedule: invalid factor %g or lr_min %g", o->factor,
                            o->lr_min);
    return 0;
}

int gw_schedule_new(const struct gw_schedule_options *given, struct gw_schedule **schedule,
                    struct gw_error *error)
{
    struct gw_schedule_options options;
    int rc = GW_OPTIONS_READ(&options, given, gw_schedule_options, error);
    if (rc == 0)
        rc = options_check(&options, error);
    if (rc < 0)
        return rc;
    struct gw_schedule *self = calloc(1, sizeof *self);
    if (!self)
        return gw_error_set(error, GW_ENOMEM, "schedule: out of memory");
    self->options = options;
    self->base = options.lr * options.ranks;
    self->state.lr = options.warm_up_steps > 0 ? self->base * options.warm_up_factor : self->base;
    *schedule = self;
    return 0;
}

void gw_schedule_free(struct gw_schedule *schedule)
{
    free(schedule);
}

double gw_schedule_lr(const struct gw_schedule *schedule)
{
    return schedule->state.lr;
}

/* t: the number of the step after the warm-up, at least 1. */
static double cosine_next(const struct gw_schedule *schedule, int64_t t)
{
    const double period = (double)schedule->options.period, low = schedule->options.lr_min;
    const double lr = schedule->state.lr;
    if ((t - 1 - schedule->options.period) % (2 * schedule->options.period) == 0)
        return lr + (schedule->base - low) * (1 - cos(M_PI / period)) / 2;
    return (1 + cos(M_PI * (double)t / period)) / (1 + cos(M_PI * (double)(t - 1) / period)) *
               (lr - low) +
           low;
}

double gw_schedule_next(struct gw_schedule *schedule)
{
    const struct gw_schedule_options *o = &schedule->options;
    struct gw_schedule_state *state = &schedule->state;
    const int64_t t = ++state->step - o->warm_up_steps;
    const double rise = 1 - o->warm_up_factor;
    if (t < 0)
        state->lr *= 1 + rise / ((double)o->warm_up_steps * o->warm_up_factor +
                                 (double)(state->step - 1) * rise);
    else if (t == 0)
        state->lr = schedule->base;
    else if (o->kind == GW_SCHEDULE_STAIRS && t % o->period == 0)
        state->lr *= o->factor;
    else if (o->kind == GW_SCHEDULE_COSINE)
        state->lr = cosine_next(schedule, t);
    return state->lr;
}

struct gw_schedule_state gw_schedule_state(const struct gw_schedule *schedule)
{
    return schedule->state;
}

void gw_schedule_set_state(struct gw_schedule *schedule, const struct gw_schedule_state *state)
{
    schedule->state = *state;
}
