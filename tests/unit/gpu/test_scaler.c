/* Loss scaling: a step is skipped on all ranks if a gradient is not finite, and the scale follows
 * the rules of torch.amp.GradScaler. */
#include "tests/unit/gpu/comm_world.h"
#include "tests/unit/unit.h"

#include <gangway/clip.h>
#include <gangway/scaler.h>
#include <math.h>

enum { COUNT = 3 };

struct setting {
    uint16_t w[COUNT], g[COUNT];
    struct gw_optimizer *optimizer;
    struct gw_scaler *scaler;
};

static void setting_init(struct setting *s, const struct gw_scaler_options *options)
{
    const struct gw_optimizer_tensor tensor = {
        .data = s->w, .gradient = s->g, .count = COUNT, .dtype = GW_DTYPE_F16};
    const struct gw_optimizer_options sgd = gw_optimizer_sgd(1);
    for (int i = 0; i < COUNT; i++) {
        s->w[i] = gw_f16_from_f32(1);
        s->g[i] = gw_f16_from_f32(4);
    }
    assert_int_equal(gw_optimizer_new(&sgd, &tensor, 1, &s->optimizer, NULL), 0);
    assert_int_equal(gw_scaler_new(options, &s->scaler, NULL), 0);
}

static void setting_deinit(struct setting *s)
{
    gw_optimizer_free(s->optimizer);
    gw_scaler_free(s->scaler);
}

static void scale_falls_at_infinity_and_grows_after_clean_steps(void **state)
{
    struct setting s;
    bool stepped;
    setting_init(&s, GW_SCALER_OPTIONS(.scale = 16, .interval = 2, .scale_max = 24));
    s.g[2] = 0x7c00; /* infinity */
    assert_int_equal(gw_scaler_step(s.scaler, s.optimizer, NULL, &stepped, NULL), 0);
    assert_false(stepped);
    assert_true(gw_f16_to_f32(s.w[0]) == 1 && gw_scaler_scale(s.scaler) == 8);
    s.g[2] = s.g[1];
    assert_int_equal(gw_scaler_step(s.scaler, s.optimizer, NULL, &stepped, NULL), 0);
    assert_true(stepped && gw_f16_to_f32(s.w[0]) == 0.5f); /* 1 - 4 / 8 */
    s.g[0] = 0x7e00;                                       /* not a number: counts from 0 again */
    assert_int_equal(gw_scaler_step(s.scaler, s.optimizer, NULL, &stepped, NULL), 0);
    assert_true(!stepped && gw_scaler_scale(s.scaler) == 4);
    s.g[0] = s.g[1];
    for (int i = 0; i < 6; i++) {
        static const double scales[] = {4, 8, 8, 16, 16, 24};
        /* A scaler that continues from a checkpoint is the same. */
        const struct gw_scaler_state saved = gw_scaler_state(s.scaler);
        gw_scaler_free(s.scaler);
        assert_int_equal(
            gw_scaler_new(GW_SCALER_OPTIONS(.interval = 2, .scale_max = 24), &s.scaler, NULL), 0);
        gw_scaler_set_state(s.scaler, &saved);
        assert_int_equal(gw_scaler_step(s.scaler, s.optimizer, NULL, &stepped, NULL), 0);
        assert_true(stepped && gw_scaler_scale(s.scaler) == scales[i]);
    }
    setting_deinit(&s);
}

static void clipping_sees_gradients_that_are_unscaled(void **state)
{
    struct setting s;
    double norm;
    setting_init(&s, GW_SCALER_OPTIONS(.scale = 4, .backoff = 1));
    gw_scaler_unscale(s.scaler, s.optimizer);
    assert_int_equal(gw_clip_norm(s.optimizer, 1e6, NULL, &norm, NULL), 0);
    assert_true(fabs(norm - sqrt(3)) < 1e-12);
    assert_int_equal(gw_scaler_step(s.scaler, s.optimizer, NULL, NULL, NULL), 0);
    assert_true(gw_f16_to_f32(s.w[0]) == 0); /* unscaled once */
    /* A skipped step leaves no factor to the next one. */
    s.g[0] = 0x7c00;
    assert_int_equal(gw_scaler_step(s.scaler, s.optimizer, NULL, NULL, NULL), 0);
    s.g[0] = s.g[1];
    assert_int_equal(gw_scaler_step(s.scaler, s.optimizer, NULL, NULL, NULL), 0);
    assert_true(gw_f16_to_f32(s.w[0]) == -1);
    setting_deinit(&s);
}

static int rank_steps_its_shard(struct world_rank *self)
{
    struct setting s;
    bool stepped;
    setting_init(&s, NULL);
    if (self->rank == 1)
        s.g[0] = 0x7c00;
    RANK_CHECK_RC(gw_scaler_step(s.scaler, s.optimizer, self->comm, &stepped, NULL), 0);
    RANK_CHECK(!stepped && gw_scaler_scale(s.scaler) == 32768);
    setting_deinit(&s);
    return 0;
}

static void infinity_in_a_shard_skips_the_step_of_all_ranks(void **state)
{
    struct world world = {.hooks = &comm_host_hooks, .ranks = 3, .function = rank_steps_its_shard};
    assert_int_equal(world_run(&world), 0);
}

static void scaler_refuses_invalid_options(void **state)
{
    struct gw_scaler *scaler;
    assert_int_equal(gw_scaler_new(GW_SCALER_OPTIONS(.scale = -1), &scaler, NULL), GW_EINVAL);
    assert_int_equal(gw_scaler_new(GW_SCALER_OPTIONS(.scale = 1e39), &scaler, NULL), GW_EINVAL);
    assert_int_equal(gw_scaler_new(GW_SCALER_OPTIONS(.growth = 1), &scaler, NULL), GW_EINVAL);
    assert_int_equal(gw_scaler_new(GW_SCALER_OPTIONS(.backoff = 2), &scaler, NULL), GW_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scale_falls_at_infinity_and_grows_after_clean_steps),
        cmocka_unit_test(clipping_sees_gradients_that_are_unscaled),
        cmocka_unit_test(infinity_in_a_shard_skips_the_step_of_all_ranks),
        cmocka_unit_test(scaler_refuses_invalid_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
