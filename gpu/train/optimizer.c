/* SGD, Adam and AdamW over a list of tensors. The whole state is in one block, which a checkpoint
 * stores: struct state_head, then the moments of all tensors. The arithmetic is in float for each
 * element, with coefficients computed in double, and always in the same order. So ranks stay equal
 * bit for bit. */
#include "graph/base/options_read.h"

#include <assert.h>
#include <gangway/optimizer.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 32 };

struct state_head {
    uint32_t kind;
    uint32_t moments; /* number of arrays of `elements` floats that follow */
    uint64_t elements;
    uint64_t step;
    uint64_t reserved; /* always 0 */
};

_Static_assert(sizeof(struct state_head) == HEAD_BYTES, "the layout lies in checkpoints");

struct gw_optimizer {
    struct gw_optimizer_options options;
    struct gw_optimizer_tensor *tensors;
    size_t tensors_count;
    struct state_head *state; /* state_bytes bytes: the head, then the moments */
    size_t state_bytes;
};

/* One step of one tensor. Coefficients are computed in double and converted before use. */
struct step {
    float *restrict w;
    const float *restrict g;
    float *restrict m; /* momentum or first moment */
    float *restrict v; /* second moment */
    size_t count;
    float decay;
};

static int options_check(const struct gw_optimizer_options *o, struct gw_error *error)
{
    if (!(o->lr >= 0) || !isfinite(o->lr))
        return gw_error_set(error, GW_EINVAL, "optimizer: invalid learning rate %g", o->lr);
    if (!(o->weight_decay >= 0) || !isfinite(o->weight_decay))
        return gw_error_set(error, GW_EINVAL, "optimizer: invalid weight decay %g",
                            o->weight_decay);

    switch (o->kind) {
    case GW_OPTIMIZER_SGD:
        if (!(o->momentum >= 0 && o->momentum < 1))
            return gw_error_set(error, GW_EINVAL, "sgd: invalid momentum %g", o->momentum);
        if (!isfinite(o->dampening))
            return gw_error_set(error, GW_EINVAL, "sgd: invalid dampening %g", o->dampening);
        if (o->nesterov && (o->momentum == 0 || o->dampening != 0))
            return gw_error_set(error, GW_EINVAL,
                                "sgd: nesterov needs a momentum (%g) and no dampening (%g)",
                                o->momentum, o->dampening);
        return 0;
    case GW_OPTIMIZER_ADAM:
    case GW_OPTIMIZER_ADAMW:
        if (!(o->beta1 >= 0 && o->beta1 < 1) || !(o->beta2 >= 0 && o->beta2 < 1))
            return gw_error_set(error, GW_EINVAL, "adam: invalid betas %g and %g", o->beta1,
                                o->beta2);
        if (!(o->eps >= 0) || !isfinite(o->eps))
            return gw_error_set(error, GW_EINVAL, "adam: invalid eps %g", o->eps);
        return 0;
    }
    return gw_error_set(error, GW_EINVAL, "optimizer: unknown kind %d", (int)o->kind);
}

static uint32_t moments_of(const struct gw_optimizer_options *options)
{
    if (options->kind != GW_OPTIMIZER_SGD)
        return 2;
    return options->momentum != 0 ? 1 : 0;
}

int gw_optimizer_new(const struct gw_optimizer_options *given,
                     const struct gw_optimizer_tensor *tensors, size_t tensors_count,
                     struct gw_optimizer **optimizer, struct gw_error *error)
{
    struct gw_optimizer_options read;
    const struct gw_optimizer_options *options = &read;
    int rc = GW_OPTIONS_READ(&read, given, gw_optimizer_options, error);
    if (rc == 0)
        rc = options_check(options, error);
    if (rc < 0)
        return rc;

    uint64_t elements = 0;
    for (size_t i = 0; i < tensors_count; i++)
        if (__builtin_add_overflow(elements, tensors[i].count, &elements) ||
            elements > SIZE_MAX / 16)
            return gw_error_set(
                error, GW_ENOMEM,
                "optimizer: the state of all parameters is larger than this machine can address");

    struct gw_optimizer *self = calloc(1, sizeof *self);
    if (!self)
        return gw_error_set(error, GW_ENOMEM, "optimizer");
    uint32_t moments = moments_of(options);
    self->options = *options;
    self->tensors_count = tensors_count;
    self->tensors = calloc(tensors_count ? tensors_count : 1, sizeof *tensors);
    self->state_bytes = HEAD_BYTES + (size_t)elements * moments * sizeof(float);
    self->state = calloc(1, self->state_bytes);
    if (!self->tensors || !self->state) {
        rc = gw_error_set(error, GW_ENOMEM, "optimizer: out of memory for %zu bytes of state",
                          self->state_bytes);
        gw_optimizer_free(self);
        return rc;
    }
    if (tensors_count)
        memcpy(self->tensors, tensors, tensors_count * sizeof *tensors);
    self->state->kind = (uint32_t)options->kind;
    self->state->moments = moments;
    self->state->elements = elements;
    *optimizer = self;
    return 0;
}

void gw_optimizer_free(struct gw_optimizer *optimizer)
{
    if (!optimizer)
        return;
    free(optimizer->tensors);
    free(optimizer->state);
    free(optimizer);
}

static void step_sgd(const struct gw_optimizer *optimizer, const struct step *s)
{
    const struct gw_optimizer_options *o = &optimizer->options;
    const float lr = (float)o->lr;
    if (!s->m) {
        for (size_t i = 0; i < s->count; i++)
            s->w[i] -= lr * (s->g[i] + s->decay * s->w[i]);
        return;
    }

    const bool first = optimizer->state->step == 1;
    const float old_weight = first ? 0 : (float)o->momentum;
    const float take = first ? 1 : (float)(1 - o->dampening);
    const float ahead = (float)o->momentum;
    for (size_t i = 0; i < s->count; i++) {
        float g = s->g[i] + s->decay * s->w[i];
        float b = old_weight * s->m[i] + take * g;
        s->m[i] = b;
        s->w[i] -= lr * (o->nesterov ? g + ahead * b : b);
    }
}

static void step_adam(const struct gw_optimizer *optimizer, const struct step *s)
{
    const struct gw_optimizer_options *o = &optimizer->options;
    const double t = (double)optimizer->state->step;
    const bool decoupled = o->kind == GW_OPTIMIZER_ADAMW;
    const float shrink = decoupled ? (float)(1 - o->lr * (double)s->decay) : 1;
    const float decay = decoupled ? 0 : s->decay;
    const float size = (float)(o->lr / (1 - pow(o->beta1, t)));
    const float root = (float)(1 / sqrt(1 - pow(o->beta2, t)));
    const float keep1 = (float)o->beta1, take1 = (float)(1 - o->beta1);
    const float keep2 = (float)o->beta2, take2 = (float)(1 - o->beta2);
    const float eps = (float)o->eps;
    for (size_t i = 0; i < s->count; i++) {
        float w = s->w[i] * shrink;
        float g = s->g[i] + decay * w;
        float m = keep1 * s->m[i] + take1 * g;
        float v = keep2 * s->v[i] + take2 * g * g;
        s->m[i] = m;
        s->v[i] = v;
        s->w[i] = w - size * m / (sqrtf(v) * root + eps);
    }
}

void gw_optimizer_step(struct gw_optimizer *optimizer)
{
    struct state_head *state = optimizer->state;
    float *moments = (float *)(void *)(state + 1);
    float *m = state->moments >= 1 ? moments : NULL;
    float *v = state->moments >= 2 ? moments + state->elements : NULL;

    state->step++;
    for (size_t i = 0; i < optimizer->tensors_count; i++) {
        const struct gw_optimizer_tensor *tensor = &optimizer->tensors[i];
        const struct step step = {
            .w = tensor->data,
            .g = tensor->gradient,
            .m = m,
            .v = v,
            .count = tensor->count,
            .decay = tensor->no_decay ? 0 : (float)optimizer->options.weight_decay,
        };
        if (optimizer->options.kind == GW_OPTIMIZER_SGD)
            step_sgd(optimizer, &step);
        else
            step_adam(optimizer, &step);
        m = m ? m + tensor->count : NULL;
        v = v ? v + tensor->count : NULL;
    }
}

void gw_optimizer_set_lr(struct gw_optimizer *optimizer, double lr)
{
    assert(lr >= 0);
    optimizer->options.lr = lr;
}

double gw_optimizer_lr(const struct gw_optimizer *optimizer)
{
    return optimizer->options.lr;
}

const void *gw_optimizer_state(const struct gw_optimizer *optimizer, size_t *bytes)
{
    *bytes = optimizer->state_bytes;
    return optimizer->state;
}

int gw_optimizer_set_state(struct gw_optimizer *optimizer, const void *state, size_t bytes,
                           struct gw_error *error)
{
    struct state_head head;
    if (bytes < sizeof head)
        return gw_error_set(error, GW_EMISMATCH, "optimizer: a state of %zu bytes is too short",
                            bytes);
    memcpy(&head, state, sizeof head);

    const struct state_head *own = optimizer->state;
    if (head.kind != own->kind || head.moments != own->moments || head.elements != own->elements ||
        bytes != optimizer->state_bytes)
        return gw_error_set(
            error, GW_EMISMATCH,
            "optimizer: the state is of kind %u with %u moments of %llu parameters; "
            "this optimizer is of kind %u with %u moments of %llu parameters",
            head.kind, head.moments, (unsigned long long)head.elements, own->kind, own->moments,
            (unsigned long long)own->elements);
    memcpy(optimizer->state, state, bytes);
    return 0;
}
