/* Optimizers over a list of tensors; kernels (kernel.h) do the arithmetic. The state is in one
 * block, which a checkpoint stores: struct state_head, the moments of all tensors, then the masters
 * of 16-bit tensors. Coefficients are computed in double, and elements always in the same order. So
 * ranks stay equal bit for bit. */
#include "gpu/train/optimizer_kernel.h"

#include "gpu/base/kernel.h"
#include "gpu/cuda/module.h"
#include "graph/base/options_read.h"
#include "graph/wire/hash.h"
#include <gangway/checkpoint.h>

#include <assert.h>
#include <math.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

enum { HEAD_BYTES = 32 };

struct state_head {
    uint32_t kind;
    uint32_t moments; /* number of arrays that follow, each with a real number per element */
    uint64_t elements;
    uint64_t step;
    uint64_t reserved; /* always 0 */
};

_Static_assert(sizeof(struct state_head) == HEAD_BYTES, "the layout lies in checkpoints");

struct gw_optimizer {
    struct gw_optimizer_options options;
    const struct gw_kernel_device *device; /* NULL: all tensors are in host memory */
    struct state_head *state;              /* state_bytes bytes */
    size_t state_bytes;
    uint64_t elements;
    void *device_state;  /* the same on the device: it is in use, and in `state` only the step is,
                            unless was_captured */
    void *tables;        /* what `kernel` points to */
    void *device_tables; /* a copy, to which `kernel` points if there is a device */
    struct gw_kernel kernel;
    bool was_captured;      /* a CUDA graph makes steps: only the device can count them */
    struct gw_error failed; /* of gw_optimizer_set_lr; the next step returns it */
};

static int options_check(const struct gw_optimizer_options *o, struct gw_error *error)
{
    if (!(o->lr >= 0) || !isfinite(o->lr))
        return gw_error_set(error, GW_EINVAL, "optimizer: invalid learning rate %g", o->lr);
    if (!(o->weight_decay >= 0) || !isfinite(o->weight_decay))
        return gw_error_set(error, GW_EINVAL, "optimizer: invalid weight decay %g",
                            o->weight_decay);

    if (o->kind != GW_OPTIMIZER_SGD && (!(o->eps >= 0) || !isfinite(o->eps)))
        return gw_error_set(error, GW_EINVAL, "optimizer: invalid eps %g", o->eps);

    switch (o->kind) {
    case GW_OPTIMIZER_LARS:
        if (!(o->trust > 0) || !isfinite(o->trust))
            return gw_error_set(error, GW_EINVAL, "lars: invalid trust %g", o->trust);
        __attribute__((fallthrough));
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
    case GW_OPTIMIZER_LAMB:
        if (!(o->gradient_norm_max >= 0))
            return gw_error_set(error, GW_EINVAL, "lamb: invalid gradient_norm_max %g",
                                o->gradient_norm_max);
        __attribute__((fallthrough));
    case GW_OPTIMIZER_ADAM:
    case GW_OPTIMIZER_ADAMW:
        if (!(o->beta1 >= 0 && o->beta1 < 1) || !(o->beta2 >= 0 && o->beta2 < 1))
            return gw_error_set(error, GW_EINVAL, "adam: invalid betas %g and %g", o->beta1,
                                o->beta2);
        return 0;
    }
    return gw_error_set(error, GW_EINVAL, "optimizer: unknown kind %d", (int)o->kind);
}

static uint32_t moments_of(const struct gw_optimizer_options *options)
{
    if (options->kind == GW_OPTIMIZER_SGD || options->kind == GW_OPTIMIZER_LARS)
        return options->momentum != 0 ? 1 : 0;
    return 2;
}

static bool has_master(uint32_t dtype)
{
    return dtype == GW_DTYPE_BF16 || dtype == GW_DTYPE_F16;
}

/* Places `count` real numbers of a tensor into the state. */
static void *place(char *base, size_t *at, const struct gw_kernel_tensor *tensor)
{
    const size_t real = tensor->dtype == GW_DTYPE_F64 ? sizeof(double) : sizeof(float);
    *at = (*at + real - 1) / real * real;
    void *place = base ? base + *at : NULL;
    *at += tensor->count * real;
    return place;
}

/* Returns the size of the state. If base is not NULL, the tensors get their places in it. */
static size_t state_layout(struct gw_kernel_tensor *tensors, size_t count, uint32_t moments,
                           char *base)
{
    size_t at = sizeof(struct state_head);
    for (size_t i = 0; i < count && moments >= 1; i++)
        tensors[i].m = place(base, &at, &tensors[i]);
    for (size_t i = 0; i < count && moments >= 2; i++)
        tensors[i].v = place(base, &at, &tensors[i]);
    for (size_t i = 0; i < count; i++)
        tensors[i].master =
            has_master(tensors[i].dtype) ? place(base, &at, &tensors[i]) : tensors[i].data;
    return at;
}

/* Checks the tensors and counts their elements and pieces. */
static int tensors_count(const struct gw_optimizer_tensor *tensors, size_t count,
                         uint64_t *elements, uint64_t *pieces, struct gw_error *error)
{
    *elements = *pieces = 0;
    for (size_t i = 0; i < count; i++) {
        enum gw_dtype dtype = tensors[i].dtype ? tensors[i].dtype : GW_DTYPE_F32;
        if (dtype != GW_DTYPE_F32 && dtype != GW_DTYPE_F64 && !has_master(dtype))
            return gw_error_set(error, GW_EINVAL, "optimizer: tensor %zu is of type %s", i,
                                gw_dtype_name(dtype));
        if (__builtin_add_overflow(*elements, tensors[i].count, elements) ||
            *elements > SIZE_MAX / 32)
            return gw_error_set(
                error, GW_ENOMEM,
                "optimizer: the state of all parameters is larger than this machine can address");
        *pieces += (tensors[i].count + GW_KERNEL_PIECE - 1) / GW_KERNEL_PIECE;
    }
    if (*pieces >= UINT32_MAX || count >= UINT32_MAX)
        return gw_error_set(error, GW_EINVAL, "optimizer: too many parameters");
    return 0;
}

static size_t tables_size(const struct gw_kernel *kernel)
{
    return sizeof *kernel->scalars +
           kernel->tensors_count * (sizeof *kernel->tensors + sizeof *kernel->ratios) +
           kernel->pieces_count * (sizeof *kernel->pieces + sizeof *kernel->squares);
}

/* Points `kernel` to tables at `at`. */
static void tables_point(struct gw_kernel *kernel, char *at)
{
    kernel->scalars = (void *)at;
    kernel->tensors = (void *)(at += sizeof *kernel->scalars);
    kernel->pieces = (void *)(at += kernel->tensors_count * sizeof *kernel->tensors);
    kernel->squares = (void *)(at += kernel->pieces_count * sizeof *kernel->pieces);
    kernel->ratios = (void *)(at + kernel->pieces_count * sizeof *kernel->squares);
}

static void tables_fill(struct gw_optimizer *self, const struct gw_optimizer_tensor *tensors)
{
    struct gw_kernel *kernel = &self->kernel;
    kernel->scalars->lr = self->options.lr;
    struct gw_kernel_tensor *to = kernel->tensors;
    struct gw_kernel_piece *piece = kernel->pieces;
    for (uint32_t i = 0; i < kernel->tensors_count; i++) {
        const struct gw_optimizer_tensor *from = &tensors[i];
        to[i] = (struct gw_kernel_tensor){
            .data = from->data,
            .gradient = from->gradient,
            .count = from->count,
            .decay = from->no_decay ? 0 : self->options.weight_decay,
            .dtype = from->dtype ? from->dtype : GW_DTYPE_F32,
            .adapts = !from->no_decay,
            .piece = (uint32_t)(piece - kernel->pieces),
        };
        for (uint64_t first = 0; first < from->count; first += GW_KERNEL_PIECE) {
            uint64_t end = first + GW_KERNEL_PIECE;
            *piece++ = (struct gw_kernel_piece){first, end < from->count ? end : from->count, i};
        }
        to[i].pieces = (uint32_t)(piece - kernel->pieces) - to[i].piece;
        kernel->ratios[i] = 1;
    }
}

static int run(struct gw_optimizer *optimizer, enum gw_kernel_kind kind, struct gw_error *error)
{
    optimizer->kernel.kind = kind;
    if (optimizer->device)
        return optimizer->device->run(optimizer->options.stream, &optimizer->kernel, error);
    gw_kernel_run(&optimizer->kernel);
    return 0;
}

/* Copies from or to the memory that kernels use. */
static int copy(const struct gw_optimizer *optimizer, void *to, const void *from, size_t bytes,
                struct gw_error *error)
{
    if (optimizer->device)
        return optimizer->device->copy(optimizer->options.stream, to, from, bytes, error);
    memcpy(to, from, bytes);
    return 0;
}

/* Returns the head of a state of this optimizer without a step. */
static struct state_head head_of(const struct gw_optimizer *self)
{
    return (struct state_head){.kind = self->options.kind,
                               .moments = moments_of(&self->options),
                               .elements = self->elements};
}

/* Allocates the tables and the state of self->kernel. */
static int memory_new(struct gw_optimizer *self, const struct gw_optimizer_tensor *tensors,
                      struct gw_error *error)
{
    struct gw_kernel *kernel = &self->kernel;
    const uint32_t moments = moments_of(&self->options);
    const size_t tables_bytes = tables_size(kernel);
    self->tables = calloc(1, tables_bytes);
    if (!self->tables)
        return gw_error_set(error, GW_ENOMEM, "optimizer: out of memory");
    tables_point(kernel, self->tables);
    tables_fill(self, tensors);
    struct gw_kernel_tensor *table = kernel->tensors;
    self->state_bytes = state_layout(table, kernel->tensors_count, moments, NULL);
    self->state = calloc(1, self->state_bytes);
    if (!self->state)
        return gw_error_set(error, GW_ENOMEM, "optimizer: out of memory for %zu bytes of state",
                            self->state_bytes);
    *self->state = head_of(self);
    char *base = (char *)self->state;
    int rc = 0;
    if (self->device) {
        void *stream = self->options.stream;
        rc = self->device->alloc(stream, self->state_bytes, &self->device_state, error);
        if (rc == 0)
            rc = copy(self, self->device_state, self->state, self->state_bytes, error);
        if (rc == 0)
            rc = self->device->alloc(stream, tables_bytes, &self->device_tables, error);
        base = self->device_state;
    }
    if (rc < 0)
        return rc;
    (void)state_layout(table, kernel->tensors_count, moments, base);
    kernel->steps = (uint64_t *)(void *)(base + offsetof(struct state_head, step));
    if (self->device) {
        tables_point(kernel, self->device_tables);
        rc = copy(self, self->device_tables, self->tables, tables_bytes, error);
    }
    return rc;
}

/* The coefficients that are the same in all steps. */
static struct gw_kernel_step step_of(const struct gw_optimizer_options *o)
{
    return (struct gw_kernel_step){
        .kind = o->kind,
        .nesterov = o->nesterov,
        .trust_clips = o->trust_clips,
        .factor = 1,
        .lr = o->lr,
        .momentum = o->momentum,
        .dampening = o->dampening,
        .beta1 = o->beta1,
        .beta2 = o->beta2,
        .eps = o->eps,
        .trust = o->trust,
    };
}

int gw_optimizer_new(const struct gw_optimizer_options *given,
                     const struct gw_optimizer_tensor *tensors, size_t count,
                     struct gw_optimizer **optimizer, struct gw_error *error)
{
    struct gw_optimizer_options options;
    uint64_t elements = 0, pieces = 0;
    int rc = GW_OPTIONS_READ(&options, given, gw_optimizer_options, error);
    if (rc == 0)
        rc = options_check(&options, error);
    if (rc == 0)
        rc = tensors_count(tensors, count, &elements, &pieces, error);
    if (rc < 0)
        return rc;

    struct gw_optimizer *self = calloc(1, sizeof *self);
    if (!self)
        return gw_error_set(error, GW_ENOMEM, "optimizer: out of memory");
    self->options = options;
    self->elements = elements;
    self->kernel = (struct gw_kernel){.tensors_count = (uint32_t)count,
                                      .pieces_count = (uint32_t)pieces,
                                      .step = step_of(&options)};
    if (options.stream)
        rc = gw_comm_nccl_kernels(&self->device, error);
    if (rc == 0)
        rc = memory_new(self, tensors, error);
    if (rc == 0)
        rc = gw_optimizer_read(self, error);
    if (rc < 0) {
        gw_optimizer_free(self);
        return rc;
    }
    *optimizer = self;
    return 0;
}

void gw_optimizer_free(struct gw_optimizer *optimizer)
{
    if (!optimizer)
        return;
    if (optimizer->device) {
        optimizer->device->free(optimizer->options.stream, optimizer->device_tables);
        optimizer->device->free(optimizer->options.stream, optimizer->device_state);
    }
    free(optimizer->tables);
    free(optimizer->state);
    free(optimizer);
}

int gw_optimizer_read(struct gw_optimizer *optimizer, struct gw_error *error)
{
    return run(optimizer, GW_KERNEL_READ, error);
}

void gw_optimizer_scale(struct gw_optimizer *optimizer, double factor)
{
    optimizer->kernel.step.factor *= factor;
}

int gw_optimizer_squares(struct gw_optimizer *optimizer, struct gw_comm *shards, double *squares,
                         struct gw_error *error)
{
    double *sum = &optimizer->kernel.scalars->squares;
    int rc = run(optimizer, GW_KERNEL_SQUARES, error);
    if (rc == 0)
        rc = run(optimizer, GW_KERNEL_TOTAL, error);
    if (rc == 0 && shards)
        rc = gw_comm_all_reduce(shards,
                                GW_COMM_ARGS(.recv = sum, .count = 1, .dtype = GW_DTYPE_F64,
                                             .stream = optimizer->options.stream),
                                error);
    if (rc == 0 && squares)
        rc = copy(optimizer, squares, sum, sizeof *squares, error);
    return rc;
}

int gw_optimizer_clip(struct gw_optimizer *optimizer, double norm_max, double *norm,
                      struct gw_error *error)
{
    struct gw_kernel_scalars before = {.clip = 1}, *scalars = optimizer->kernel.scalars;
    int rc = 0;
    if (norm) {
        rc = copy(optimizer, &before, scalars, sizeof before, error);
        *norm = sqrt(before.squares) * optimizer->kernel.step.factor *
                (optimizer->kernel.step.clips ? before.clip : 1);
    }
    optimizer->kernel.norm_max = norm_max;
    if (rc == 0)
        rc = run(optimizer, GW_KERNEL_CLIP, error);
    optimizer->kernel.step.clips = 1;
    return rc;
}

uint64_t gw_optimizer_steps(const struct gw_optimizer *optimizer)
{
    uint64_t *steps = &optimizer->state->step;
    if (optimizer->was_captured)
        (void)copy(optimizer, steps, optimizer->kernel.steps, sizeof *steps, NULL);
    return *steps;
}

int gw_optimizer_hash(const struct gw_optimizer *optimizer, uint8_t hash[GW_HASH_BYTES])
{
    struct gw_kernel kernel = optimizer->kernel;
    const size_t count = kernel.tensors_count;
    uint8_t *hashes = malloc(count * GW_HASH_BYTES + 1);
    void *host = NULL;
    int rc = hashes ? 0 : GW_ENOMEM;
    tables_point(&kernel, optimizer->tables); /* those of the host */
    for (size_t i = 0; i < count && rc == 0; i++) {
        const struct gw_kernel_tensor *tensor = &kernel.tensors[i];
        const size_t bytes = tensor->count * gw_dtype_size((enum gw_dtype)tensor->dtype);
        const void *data = tensor->data;
        if (optimizer->device) {
            free(host);
            host = malloc(bytes + 1);
            rc = host ? copy(optimizer, host, data, bytes, NULL) : GW_ENOMEM;
            data = host;
        }
        if (rc == 0)
            gw_hash_bytes(data, bytes, hashes + i * GW_HASH_BYTES);
    }
    if (rc == 0)
        gw_hash_bytes(hashes, count * GW_HASH_BYTES, hash);
    free(host);
    free(hashes);
    return rc;
}

static int step_begin(struct gw_optimizer *optimizer, struct gw_error *error)
{
    const int failed = optimizer->failed.code;
    optimizer->failed.code = 0;
    if (failed < 0)
        return gw_error_set(error, failed, "%s", optimizer->failed.text);
    if (optimizer->device && optimizer->device->is_capturing(optimizer->options.stream))
        optimizer->was_captured = true;
    else if (optimizer->device) /* on the host the kernel counts in the same place */
        optimizer->state->step++;
    return run(optimizer, GW_KERNEL_BEGIN, error);
}

int gw_optimizer_step(struct gw_optimizer *optimizer, struct gw_error *error)
{
    const struct gw_optimizer_options *o = &optimizer->options;
    int rc = step_begin(optimizer, error);
    if (rc == 0 && o->kind == GW_OPTIMIZER_LARS)
        rc = run(optimizer, GW_KERNEL_SQUARES, error);
    if (rc == 0 && o->kind == GW_OPTIMIZER_LAMB && o->gradient_norm_max > 0) {
        rc = gw_optimizer_squares(optimizer, NULL, NULL, error);
        if (rc == 0)
            rc = gw_optimizer_clip(optimizer, o->gradient_norm_max, NULL, error);
    }
    if (rc == 0 && o->kind == GW_OPTIMIZER_LAMB)
        rc = run(optimizer, GW_KERNEL_MOMENTS, error);
    if (rc == 0 && (o->kind == GW_OPTIMIZER_LARS || o->kind == GW_OPTIMIZER_LAMB))
        rc = run(optimizer, GW_KERNEL_RATIOS, error);
    if (rc == 0)
        rc = run(optimizer, GW_KERNEL_STEP, error);
    gw_optimizer_skip(optimizer);
    return rc;
}

void gw_optimizer_skip(struct gw_optimizer *optimizer)
{
    optimizer->kernel.step.clips = 0;
    optimizer->kernel.step.factor = 1;
}

void gw_optimizer_set_lr(struct gw_optimizer *optimizer, double lr)
{
    const struct gw_kernel_device *device = optimizer->device;
    assert(lr >= 0);
    if (lr == optimizer->options.lr)
        return;
    optimizer->options.lr = optimizer->kernel.step.lr = lr;
    if (device && device->is_capturing(optimizer->options.stream))
        (void)gw_error_set(&optimizer->failed, GW_EINVAL,
                           "optimizer: gw_optimizer_set_lr was called while a CUDA graph was "
                           "captured, and the graph would always set this rate: call it before "
                           "the capture, and between launches of the graph");
    else
        (void)run(optimizer, GW_KERNEL_RATE, &optimizer->failed);
}

double gw_optimizer_lr(const struct gw_optimizer *optimizer)
{
    return optimizer->options.lr;
}

const void *gw_optimizer_state(const struct gw_optimizer *optimizer, size_t *bytes)
{
    *bytes = optimizer->state_bytes;
    if (optimizer->device &&
        copy(optimizer, optimizer->state, optimizer->device_state, *bytes, NULL) < 0)
        return NULL;
    return optimizer->state;
}

static int head_check(const struct gw_optimizer *optimizer, const struct state_head *head,
                      size_t bytes, struct gw_error *error)
{
    const struct state_head own = head_of(optimizer);
    if (head->kind == own.kind && head->moments == own.moments && head->elements == own.elements &&
        bytes == optimizer->state_bytes)
        return 0;
    return gw_error_set(error, GW_EMISMATCH,
                        "optimizer: the state is of kind %u with %u moments of %llu parameters; "
                        "this optimizer is of kind %u with %u moments of %llu parameters",
                        head->kind, head->moments, (unsigned long long)head->elements, own.kind,
                        own.moments, (unsigned long long)own.elements);
}

int gw_optimizer_set_state(struct gw_optimizer *optimizer, const void *state, size_t bytes,
                           struct gw_error *error)
{
    struct state_head head;
    if (bytes < sizeof head)
        return gw_error_set(error, GW_EMISMATCH, "optimizer: a state of %zu bytes is too short",
                            bytes);
    memcpy(&head, state, sizeof head);
    int rc = head_check(optimizer, &head, bytes, error);
    if (rc < 0)
        return rc;
    memcpy(optimizer->state, state, bytes);
    if (optimizer->device)
        rc = copy(optimizer, optimizer->device_state, state, bytes, error);
    return rc < 0 ? rc : run(optimizer, GW_KERNEL_WRITE, error);
}

int gw_optimizer_checkpoint_set(const struct gw_optimizer *optimizer,
                                struct gw_checkpoint *checkpoint, const char *name)
{
    return optimizer->device ? gw_checkpoint_set_device(checkpoint, name, optimizer->device_state,
                                                        optimizer->state_bytes)
                             : gw_checkpoint_set_bytes(checkpoint, name, optimizer->state,
                                                       optimizer->state_bytes);
}

struct gw_checkpoint_place gw_optimizer_checkpoint_place(const struct gw_optimizer *optimizer,
                                                         const char *name)
{
    return (struct gw_checkpoint_place){
        name, optimizer->device ? optimizer->device_state : (void *)optimizer->state,
        optimizer->state_bytes};
}

int gw_optimizer_checkpoint_loaded(struct gw_optimizer *optimizer, struct gw_error *error)
{
    struct state_head *head = optimizer->state;
    int rc = 0;
    if (optimizer->device)
        rc = copy(optimizer, head, optimizer->device_state, sizeof *head, error);
    if (rc == 0)
        rc = head_check(optimizer, head, optimizer->state_bytes, error);
    return rc < 0 ? rc : run(optimizer, GW_KERNEL_WRITE, error);
}
