/* Each optimizer against its formula, computed here in double without simplifications. */
#include "tests/unit/unit.h"

#include <gangway/optimizer.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { COUNT = 37, STEPS = 25 };

struct reference {
    double w[COUNT], m[COUNT], v[COUNT];
};

static float gradient_at(int step, int i)
{
    return sinf((float)(step * 13 + i * 7)) * (i % 5 == 0 ? 10.0f : 0.1f);
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

/* Two tensors, so that the state of the second lies behind that of the first. */
static void check(const struct gw_optimizer_options *options)
{
    float w[COUNT], g[COUNT];
    struct reference reference = {0};
    struct gw_optimizer *optimizer;
    const struct gw_optimizer_tensor tensors[] = {
        {.data = w, .gradient = g, .count = 11},
        {.data = w + 11, .gradient = g + 11, .count = COUNT - 11},
    };
    for (int i = 0; i < COUNT; i++)
        reference.w[i] = (double)(w[i] = cosf((float)i));
    assert_int_equal(gw_optimizer_new(options, tensors, 2, &optimizer, NULL), 0);
    for (int step = 1; step <= STEPS; step++) {
        for (int i = 0; i < COUNT; i++) {
            g[i] = gradient_at(step, i);
            if (options->kind == GW_OPTIMIZER_SGD)
                reference_sgd(&reference, options, step, i);
            else
                reference_adam(&reference, options, step, i);
        }
        gw_optimizer_step(optimizer);
        for (int i = 0; i < COUNT; i++)
            assert_true(fabs((double)w[i] - reference.w[i]) < 3e-6 * (1 + fabs(reference.w[i])));
    }
    gw_optimizer_free(optimizer);
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
    gw_optimizer_step(optimizer);
    assert_true(w[0] == 0.75f && w[1] == 1);
    gw_optimizer_set_lr(optimizer, 0);
    assert_true(gw_optimizer_lr(optimizer) == 0);
    gw_optimizer_step(optimizer);
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
        gw_optimizer_step(optimizer[0]);
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
            gw_optimizer_step(optimizer[1]);
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
    options = adam;
    options.eps = -1;
    refuse(options);
    gw_optimizer_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(optimizer_steps_match_the_textbook_formulas),
        cmocka_unit_test(optimizer_obeys_no_decay_and_a_new_learning_rate),
        cmocka_unit_test(restored_optimizer_continues_bit_for_bit),
        cmocka_unit_test(optimizer_refuses_invalid_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
