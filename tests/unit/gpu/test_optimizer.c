/* Each optimizer against its formula, computed here in double without simplifications. */
#include "tests/unit/unit.h"

#include <gangway/checkpoint.h>
#include <gangway/optimizer.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 37, FIRST = 11, STEPS = 25 };

struct reference {
    double w[COUNT], m[COUNT], v[COUNT];
};

/* A value that each type holds exactly. */
static float gradient_at(int step, int i)
{
    const float wave = sinf((float)(step * 13 + i * 7)) * (i % 5 == 0 ? 10.0f : 0.1f);
    return gw_f16_to_f32(gw_f16_from_f32(wave));
}

static void reference_sgd(struct reference *r, const struct gw_optimizer_options *o, int step,
                          int i)
{
    double g = (double)gradient_at(step, i) + o->weight_decay * r->w[i];
    if (o->momentum != 0) {
        r->m[i] = step == 1 ? g : o->momentum * r->m[i] + (1 - o->dampening) * g;
        g = o->nesterov ? g + o->momentum * r->m[i] : r->m[i];
    }
    r->w[i] -= o->lr * g;
}

static void reference_adam(struct reference *r, const struct gw_optimizer_options *o, int step,
                           int i)
{
    double g = (double)gradient_at(step, i);
    if (o->kind == GW_OPTIMIZER_ADAMW)
        r->w[i] -= o->lr * o->weight_decay * r->w[i];
    else
        g += o->weight_decay * r->w[i];
    r->m[i] = o->beta1 * r->m[i] + (1 - o->beta1) * g;
    r->v[i] = o->beta2 * r->v[i] + (1 - o->beta2) * g * g;
    double mean = r->m[i] / (1 - pow(o->beta1, step));
    double variance = r->v[i] / (1 - pow(o->beta2, step));
    r->w[i] -= o->lr * mean / (sqrt(variance) + o->eps);
}

static double norm_of(const double *x, int count)
{
    double squares = 0;
    for (int i = 0; i < count; i++)
        squares += x[i] * x[i];
    return sqrt(squares);
}

/* One tensor of the two: `count` elements from `first` on. */
static void reference_lars(struct reference *r, const struct gw_optimizer_options *o, int step,
                           int first, int count, bool scales)
{
    double g[COUNT], decay = scales ? o->weight_decay : 0, ratio = 1;
    for (int i = 0; i < count; i++)
        g[i] = (double)gradient_at(step, first + i);
    const double w = norm_of(r->w + first, count);
    if (scales)
        ratio = o->trust * w / (norm_of(g, count) + decay * w + o->eps);
    if (scales && o->trust_clips)
        ratio = fmin(ratio / o->lr, 1);
    for (int i = 0; i < count; i++) {
        double *m = &r->m[first + i];
        g[i] = ratio * (g[i] + decay * r->w[first + i]);
        *m = step == 1 ? g[i] : o->momentum * *m + g[i];
        r->w[first + i] -= o->lr * (o->nesterov ? g[i] + o->momentum * *m : *m);
    }
}

static void reference_lamb(struct reference *r, const struct gw_optimizer_options *o, int step,
                           int first, int count, bool scales)
{
    double g[COUNT], u[COUNT];
    for (int i = 0; i < COUNT; i++)
        g[i] = (double)gradient_at(step, i);
    const double clip = fmin(1, o->gradient_norm_max / (norm_of(g, COUNT) + 1e-6));
    for (int i = 0; i < count; i++) {
        double *m = &r->m[first + i], *v = &r->v[first + i], x = clip * g[first + i];
        *m = o->beta1 * *m + (1 - o->beta1) * x;
        *v = o->beta2 * *v + (1 - o->beta2) * x * x;
        u[i] = *m / (1 - pow(o->beta1, step)) / (sqrt(*v / (1 - pow(o->beta2, step))) + o->eps) +
               (scales ? o->weight_decay * r->w[first + i] : 0);
    }
    const double ratio = scales ? norm_of(r->w + first, count) / norm_of(u, count) : 1;
    for (int i = 0; i < count; i++)
        r->w[first + i] -= o->lr * ratio * u[i];
}

static void reference_step(struct reference *r, const struct gw_optimizer_options *o, int step)
{
    for (int i = 0; i < COUNT && o->kind == GW_OPTIMIZER_SGD; i++)
        reference_sgd(r, o, step, i);
    for (int i = 0; i < COUNT && (o->kind == GW_OPTIMIZER_ADAM || o->kind == GW_OPTIMIZER_ADAMW);
         i++)
        reference_adam(r, o, step, i);
    if (o->kind == GW_OPTIMIZER_LARS || o->kind == GW_OPTIMIZER_LAMB) {
        void (*reference)(struct reference *, const struct gw_optimizer_options *, int, int, int,
                          bool) = o->kind == GW_OPTIMIZER_LARS ? reference_lars : reference_lamb;
        reference(r, o, step, 0, FIRST, true);
        reference(r, o, step, FIRST, COUNT - FIRST, false);
    }
}

/* Writes element i of an array of the type. */
static void store(void *to, enum gw_dtype dtype, int i, double value)
{
    switch (dtype) {
    case GW_DTYPE_F64:
        ((double *)to)[i] = value;
        break;
    case GW_DTYPE_BF16:
        ((uint16_t *)to)[i] = gw_bf16_from_f32((float)value);
        break;
    case GW_DTYPE_F16:
        ((uint16_t *)to)[i] = gw_f16_from_f32((float)value);
        break;
    default:
        ((float *)to)[i] = (float)value;
        break;
    }
}

static double load(const void *from, enum gw_dtype dtype, int i)
{
    switch (dtype) {
    case GW_DTYPE_F64:
        return ((const double *)from)[i];
    case GW_DTYPE_BF16:
        return (double)gw_bf16_to_f32(((const uint16_t *)from)[i]);
    case GW_DTYPE_F16:
        return (double)gw_f16_to_f32(((const uint16_t *)from)[i]);
    default:
        return (double)((const float *)from)[i];
    }
}

/* Two tensors, so that the state of the second lies behind that of the first. LARS and LAMB do not
 * scale the second. */
static void check_type(const struct gw_optimizer_options *options, enum gw_dtype dtype,
                       double tolerance)
{
    double w[COUNT], g[COUNT];
    const size_t size = gw_dtype_size(dtype);
    const bool scales = options->kind == GW_OPTIMIZER_LARS || options->kind == GW_OPTIMIZER_LAMB;
    struct reference reference = {0};
    struct gw_optimizer *optimizer;
    const struct gw_optimizer_tensor tensors[] = {
        {.data = w, .gradient = g, .count = FIRST, .dtype = dtype},
        {.data = (char *)w + FIRST * size,
         .gradient = (char *)g + FIRST * size,
         .count = COUNT - FIRST,
         .dtype = dtype,
         .no_decay = scales},
    };
    for (int i = 0; i < COUNT; i++) {
        store(w, dtype, i, (double)cosf((float)i));
        reference.w[i] = load(w, dtype, i);
    }
    assert_int_equal(gw_optimizer_new(options, tensors, 2, &optimizer, NULL), 0);
    for (int step = 1; step <= STEPS; step++) {
        for (int i = 0; i < COUNT; i++)
            store(g, dtype, i, (double)gradient_at(step, i));
        reference_step(&reference, options, step);
        assert_int_equal(gw_optimizer_step(optimizer, NULL), 0);
        for (int i = 0; i < COUNT; i++)
            assert_true(fabs(load(w, dtype, i) - reference.w[i]) <
                        tolerance * (1 + fabs(reference.w[i])));
    }
    gw_optimizer_free(optimizer);
}

static void check(const struct gw_optimizer_options *options)
{
    check_type(options, GW_DTYPE_F32, 3e-6);
    check_type(options, GW_DTYPE_F64, 1e-13);
    /* Without a master the error grows with each step, far over one rounding. */
    check_type(options, GW_DTYPE_F16, 1e-3);
}

static void optimizer_steps_match_the_textbook_formulas(void **state)
{
    struct gw_optimizer_options options = gw_optimizer_sgd(0.01);
    check(&options);
    options.weight_decay = 0.1;
    check(&options);
    options.momentum = 0.9;
    check(&options);
    options.nesterov = true;
    check(&options);
    options.nesterov = false;
    options.dampening = 0.3;
    check(&options);

    options = gw_optimizer_adam(0.01);
    check(&options);
    options.weight_decay = 0.1;
    options.beta1 = 0.8;
    options.beta2 = 0.95;
    check(&options);
    options = gw_optimizer_adamw(0.01);
    assert_true(options.weight_decay == 0.01);
    options.weight_decay = 0.2;
    check(&options);
}

static void lars_and_lamb_match_their_formulas(void **state)
{
    struct gw_optimizer_options options = gw_lars_options(0.1);
    options.trust = 0.02;
    options.weight_decay = 1e-3;
    check(&options);
    options.trust_clips = options.nesterov = true;
    check(&options);
    options = gw_lamb_options(0.01);
    check(&options);
}

/* Values that only a master can add up: each step is half of the last bit of the parameter. */
static void masters_add_up_steps_that_16_bits_cannot(void **state)
{
    uint16_t w = gw_bf16_from_f32(1), g = gw_bf16_from_f32(-1);
    const struct gw_optimizer_tensor tensor = {
        .data = &w, .gradient = &g, .count = 1, .dtype = GW_DTYPE_BF16};
    const struct gw_optimizer_options sgd = gw_optimizer_sgd(0x1p-10);
    struct gw_optimizer *optimizer;
    assert_int_equal(gw_optimizer_new(&sgd, &tensor, 1, &optimizer, NULL), 0);
    for (int i = 0; i < 1024; i++)
        assert_int_equal(gw_optimizer_step(optimizer, NULL), 0);
    assert_true(gw_bf16_to_f32(w) == 2);
    w = gw_bf16_from_f32(-4); /* as a broadcast does */
    assert_int_equal(gw_optimizer_read(optimizer, NULL), 0);
    assert_int_equal(gw_optimizer_step(optimizer, NULL), 0);
    size_t bytes;
    const float *master = (const float *)((const char *)gw_optimizer_state(optimizer, &bytes) + 32);
    assert_int_equal(bytes, 32 + sizeof *master);
    assert_true(*master == -4 + 0x1p-10f);
    gw_optimizer_free(optimizer);
}

static void optimizer_obeys_no_decay_and_a_new_learning_rate(void **state)
{
    float w[2] = {1, 1}, g[2] = {0, 0};
    const struct gw_optimizer_tensor tensors[] = {
        {.data = w, .gradient = g, .count = 1},
        {.data = w + 1, .gradient = g + 1, .count = 1, .no_decay = true},
    };
    struct gw_optimizer_options options = gw_optimizer_sgd(0.5);
    struct gw_optimizer *optimizer;
    options.weight_decay = 0.5;
    assert_int_equal(gw_optimizer_new(&options, tensors, 2, &optimizer, NULL), 0);
    assert_int_equal(gw_optimizer_step(optimizer, NULL), 0);
    assert_true(w[0] == 0.75f && w[1] == 1);
    gw_optimizer_set_lr(optimizer, 0);
    assert_true(gw_optimizer_lr(optimizer) == 0);
    assert_int_equal(gw_optimizer_step(optimizer, NULL), 0);
    assert_true(w[0] == 0.75f && w[1] == 1);
    gw_optimizer_free(optimizer);
}

/* A run that is stopped, saved and resumed equals an uninterrupted run bit for bit. */
static void restored_optimizer_continues_bit_for_bit(void **state)
{
    float w[2][COUNT], g[COUNT];
    struct gw_optimizer *optimizer[2];
    struct gw_error error;
    struct gw_optimizer_options options = gw_optimizer_adam(0.01);
    for (int k = 0; k < 2; k++) {
        const struct gw_optimizer_tensor tensor = {.data = w[k], .gradient = g, .count = COUNT};
        memset(w[k], 0, sizeof w[k]);
        assert_int_equal(gw_optimizer_new(&options, &tensor, 1, &optimizer[k], NULL), 0);
    }
    for (int step = 1; step <= STEPS; step++) {
        for (int i = 0; i < COUNT; i++)
            g[i] = gradient_at(step, i);
        assert_int_equal(gw_optimizer_step(optimizer[0], NULL), 0);
        if (step == 10) {
            size_t bytes;
            const void *saved = gw_optimizer_state(optimizer[0], &bytes);
            assert_int_equal(bytes, 32 + 2 * COUNT * sizeof(float));
            assert_int_equal(gw_optimizer_set_state(optimizer[1], saved, bytes, &error), 0);
            memcpy(w[1], w[0], sizeof w[0]);
            assert_int_equal(gw_optimizer_set_state(optimizer[1], saved, bytes - 4, &error),
                             GW_EMISMATCH);
            assert_int_equal(gw_optimizer_set_state(optimizer[1], saved, 3, &error), GW_EMISMATCH);
        } else if (step > 10) {
            assert_int_equal(gw_optimizer_step(optimizer[1], NULL), 0);
        }
    }
    assert_memory_equal(w[0], w[1], sizeof w[0]);

    struct gw_optimizer *other;
    const struct gw_optimizer_tensor tensor = {.data = w[0], .gradient = g, .count = COUNT};
    options = gw_optimizer_adamw(0.01);
    size_t bytes;
    const void *saved = gw_optimizer_state(optimizer[0], &bytes);
    assert_int_equal(gw_optimizer_new(&options, &tensor, 1, &other, NULL), 0);
    assert_int_equal(gw_optimizer_set_state(other, saved, bytes, &error), GW_EMISMATCH);
    gw_optimizer_free(other);
    gw_optimizer_free(optimizer[0]);
    gw_optimizer_free(optimizer[1]);
}

/* The same by a section of a checkpoint, which is the state itself and not a copy. */
static void optimizer_is_saved_and_loaded_where_it_lies(void **state)
{
    float w[3][COUNT] = {{0}}, g[COUNT];
    struct gw_optimizer *optimizer[3];
    struct gw_error error;
    struct gw_checkpoint *set = gw_checkpoint_new();
    const void *section;
    size_t bytes;
    for (int k = 0; k < 3; k++) {
        const struct gw_optimizer_tensor tensor = {.data = w[k], .gradient = g, .count = COUNT};
        const struct gw_optimizer_options options =
            k < 2 ? gw_optimizer_adam(0.01) : gw_optimizer_adamw(0.01);
        assert_int_equal(gw_optimizer_new(&options, &tensor, 1, &optimizer[k], NULL), 0);
    }
    for (int i = 0; i < COUNT; i++)
        g[i] = gradient_at(1, i);
    assert_int_equal(gw_optimizer_checkpoint_set(optimizer[0], set, "adam"), 0);
    assert_int_equal(gw_optimizer_checkpoint_set(optimizer[0], set, "adam"), GW_EEXIST);
    assert_int_equal(gw_optimizer_step(optimizer[0], NULL), 0);
    assert_int_equal(gw_checkpoint_bytes(set, "adam", &section, &bytes), 0);
    assert_ptr_equal(section, gw_optimizer_state(optimizer[0], &bytes));
    for (int k = 1; k < 3; k++) {
        const struct gw_checkpoint_place place =
            gw_optimizer_checkpoint_place(optimizer[k], "adam");
        assert_int_equal(gw_checkpoint_copy(set, place.name, place.memory, place.bytes, NULL), 0);
        assert_int_equal(gw_optimizer_checkpoint_loaded(optimizer[k], &error),
                         k == 1 ? 0 : GW_EMISMATCH);
        memcpy(w[k], w[0], sizeof w[0]);
    }
    assert_non_null(strstr(error.text, "the state is of kind 2"));
    for (int k = 0; k < 2; k++)
        assert_int_equal(gw_optimizer_step(optimizer[k], NULL), 0);
    assert_memory_equal(w[0], w[1], sizeof w[0]);
    section = gw_optimizer_state(optimizer[0], &bytes);
    assert_memory_equal(section, gw_optimizer_state(optimizer[1], &bytes), bytes);
    gw_checkpoint_free(set);
    for (int k = 0; k < 3; k++)
        gw_optimizer_free(optimizer[k]);
}

static void refuse(struct gw_optimizer_options options)
{
    struct gw_optimizer *optimizer;
    struct gw_error error;
    assert_int_equal(gw_optimizer_new(&options, NULL, 0, &optimizer, &error), GW_EINVAL);
    assert_true(error.text[0] != '\0');
}

static void optimizer_refuses_invalid_options(void **state)
{
    const struct gw_optimizer_options sgd = gw_optimizer_sgd(0.1), adam = gw_optimizer_adam(0.1);
    struct gw_optimizer_options options = GW_INIT(gw_optimizer_options, .lr = 1);
    refuse(options);
    refuse(gw_optimizer_sgd(-1));
    refuse(gw_optimizer_sgd(NAN));
    options = sgd;
    options.nesterov = true;
    refuse(options);
    options.momentum = 0.9;
    options.dampening = 0.1;
    refuse(options);
    options = sgd;
    options.momentum = 1;
    refuse(options);
    options = sgd;
    options.weight_decay = -1;
    refuse(options);
    options = adam;
    options.beta2 = 1;
    refuse(options);
    options = gw_lars_options(1);
    options.trust = 0;
    refuse(options);
    options = gw_lamb_options(1);
    options.gradient_norm_max = -1;
    refuse(options);
    options = adam;
    options.eps = -1;
    refuse(options);
    gw_optimizer_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimizer_steps_match_the_textbook_formulas),
        cmocka_unit_test(lars_and_lamb_match_their_formulas),
        cmocka_unit_test(masters_add_up_steps_that_16_bits_cannot),
        cmocka_unit_test(optimizer_obeys_no_decay_and_a_new_learning_rate),
        cmocka_unit_test(restored_optimizer_continues_bit_for_bit),
        cmocka_unit_test(optimizer_is_saved_and_loaded_where_it_lies),
        cmocka_unit_test(optimizer_refuses_invalid_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
