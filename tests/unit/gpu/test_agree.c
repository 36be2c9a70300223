/* Parameters that differ on a rank are found, and the rank is named on all ranks. */
#include "tests/unit/gpu/comm_world.h"
#include "tests/unit/unit.h"

#include <gangway/agree.h>
#include <string.h>

enum { COUNT = 1000, EVERY = 3 };

struct fault {
    int rank, step; /* -1: none */
};

static int rank_trains(struct world_rank *self)
{
    static float w[COUNT], g[COUNT];
    const struct gw_optimizer_tensor tensors[] = {
        {.data = w, .gradient = g, .count = COUNT - 1},
        {.data = w + COUNT - 1, .gradient = g, .count = 1},
    };
    const struct gw_optimizer_options sgd = gw_optimizer_sgd(0.1);
    const struct fault *fault = self->context;
    struct gw_optimizer *optimizer;
    struct gw_error error;
    RANK_CHECK_RC(gw_optimizer_new(&sgd, tensors, 2, &optimizer, &error), 0);
    RANK_CHECK_RC(gw_agree_parameters(optimizer, self->comm, 0, &error), GW_EINVAL);
    for (int step = 1; step <= 2 * EVERY; step++) {
        g[0] = (float)step;
        RANK_CHECK_RC(gw_optimizer_step(optimizer, NULL), 0);
        if (self->rank == fault->rank && step == fault->step)
            w[COUNT - 1] += 0x1p-10f;
        int rc = gw_agree_parameters(optimizer, self->comm, EVERY, &error);
        RANK_CHECK_RC(rc, fault->rank >= 0 && step == 2 * EVERY ? GW_EMISMATCH : 0);
    }
    RANK_CHECK(fault->rank < 0 ||
               strcmp(error.text, "rank 2 diverged by step 6: parameters differ from those of the "
                                  "other 3 of 4 ranks") == 0);
    RANK_CHECK_RC(gw_comm_barrier(self->comm, NULL), 0); /* it is usable */
    gw_optimizer_free(optimizer);
    return 0;
}

static void rank_that_diverges_is_named_on_all_ranks(void **state)
{
    struct fault none = {-1, 0}, fault = {2, EVERY + 1};
    struct world world = {
        .hooks = &comm_host_hooks, .ranks = 4, .function = rank_trains, .context = &fault};
    assert_int_equal(world_run(&world), 0);
    world = (struct world){
        .hooks = &comm_host_hooks, .ranks = 2, .function = rank_trains, .context = &none};
    assert_int_equal(world_run(&world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(rank_that_diverges_is_named_on_all_ranks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
