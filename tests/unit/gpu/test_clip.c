/* Clipping by the global norm, also if each rank has a part of the parameters. */
#include "tests/unit/gpu/comm_world.h"
#include "tests/unit/unit.h"

#include <gangway/clip.h>
#include <math.h>

enum { COUNT = 50000, SHARDS = 3 }; /* more than one piece */

static struct gw_optimizer *optimizer_of(float *w, float *g, size_t count)
{
    const struct gw_optimizer_tensor tensors[] = {
        {.data = w, .gradient = g, .count = count - 5},
        {.data = w + count - 5, .gradient = g + count - 5, .count = 5},
    };
    const struct gw_optimizer_options options = gw_optimizer_sgd(1);
    struct gw_optimizer *optimizer;
    assert_int_equal(gw_optimizer_new(&options, tensors, 2, &optimizer, NULL), 0);
    return optimizer;
}

static void clipping_scales_the_next_step_to_the_norm(void **state)
{
    static float w[COUNT], g[COUNT];
    struct gw_optimizer *optimizer = optimizer_of(w, g, COUNT);
    double norm, expected = 3 * sqrt(COUNT);
    for (int i = 0; i < COUNT; i++)
        g[i] = i % 2 ? 3 : -3;
    assert_int_equal(gw_clip_norm(optimizer, 0, NULL, &norm, NULL), GW_EINVAL);
    assert_int_equal(gw_clip_norm(optimizer, 2, NULL, &norm, NULL), 0);
    assert_true(fabs(norm - expected) < 1e-9 * expected);
    assert_int_equal(gw_optimizer_step(optimizer, NULL), 0);
    for (int i = 0; i < COUNT; i++)
        assert_true(fabs((double)w[i] + (double)g[i] * 2 / expected) < 1e-8);

    /* The factor was for one step only. The norm is that of scaled gradients, and a smaller norm
     * than the limit stays. */
    const float before = w[0];
    gw_optimizer_scale(optimizer, 0.5);
    assert_int_equal(gw_clip_norm(optimizer, expected, NULL, &norm, NULL), 0);
    assert_true(fabs(norm - expected / 2) < 1e-9 * expected);
    assert_int_equal(gw_optimizer_step(optimizer, NULL), 0);
    assert_true(w[0] == before - g[0] / 2);
    gw_optimizer_free(optimizer);
}

static void clipping_shows_a_gradient_that_is_not_finite(void **state)
{
    static float w[COUNT], g[COUNT];
    struct gw_optimizer *optimizer = optimizer_of(w, g, COUNT);
    double norm;
    g[COUNT - 1] = INFINITY;
    assert_int_equal(gw_clip_norm(optimizer, 1, NULL, &norm, NULL), 0);
    assert_false(isfinite(norm));
    g[COUNT - 1] = 3e38f; /* its square is not a float */
    assert_int_equal(gw_clip_norm(optimizer, 1, NULL, &norm, NULL), 0);
    assert_true(fabs(norm - (double)3e38f) < 1e30);
    gw_optimizer_free(optimizer);
}

static int rank_clips_its_shard(struct world_rank *self)
{
    float w[10] = {0}, g[10];
    struct gw_optimizer *optimizer = optimizer_of(w, g, 10);
    double norm, squares = 0;
    for (int i = 0; i < 10 * SHARDS; i++) {
        squares += i * i;
        g[i % 10] = i / 10 == self->rank ? (float)i : g[i % 10];
    }
    RANK_CHECK_RC(gw_clip_norm(optimizer, 5, self->comm, &norm, NULL), 0);
    RANK_CHECK(fabs(norm - sqrt(squares)) < 1e-9);
    RANK_CHECK_RC(gw_optimizer_step(optimizer, NULL), 0);
    for (int i = 0; i < 10; i++)
        RANK_CHECK(fabs((double)w[i] + (double)g[i] * 5 / sqrt(squares)) < 1e-6);
    gw_optimizer_free(optimizer);
    return 0;
}

static void clipping_of_shards_uses_the_norm_of_all_ranks(void **state)
{
    struct world world = {
        .hooks = &comm_host_hooks, .ranks = SHARDS, .function = rank_clips_its_shard};
    assert_int_equal(world_run(&world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(clipping_scales_the_next_step_to_the_norm),
        cmocka_unit_test(clipping_shows_a_gradient_that_is_not_finite),
        cmocka_unit_test(clipping_of_shards_uses_the_norm_of_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
