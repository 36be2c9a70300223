/* Memory of host communicators if one rank has none: the result is the same on all ranks, then and
 * afterwards. */
#include "tests/unit/alloc.h"
#include "tests/unit/gpu/comm_world.h"
#include "tests/unit/unit.h"

/* Rank 1 runs out of memory at its k-th allocation. All ranks fail alike, and the lists of extents
 * stay equal: later allocations are at the same place on all ranks, and zeroed. */
static int rank_no_memory(struct world_rank *self)
{
    enum { COUNT = 100000 };
    void *retained, *memory;
    RANK_CHECK_RC(gw_comm_alloc(self->comm, 70000, &retained, NULL), 0);
    int failures = 0;
    for (int64_t k = 0; k < 3; k++) {
        if (self->rank == 1)
            gw_alloc_fail_after(k);
        int rc = gw_comm_alloc(self->comm, 5000, &memory, NULL);
        gw_alloc_fail_after(-1);
        RANK_CHECK(rc == GW_ENOMEM || rc == 0);
        failures += rc < 0;
        if (rc == 0)
            gw_comm_dealloc(self->comm, memory);

        RANK_CHECK_RC(gw_comm_alloc(self->comm, COUNT * sizeof(int32_t), &memory, NULL), 0);
        int32_t *numbers = memory;
        for (int i = 0; i < COUNT; i++)
            numbers[i] += i * (self->rank + 1);
        RANK_CHECK_RC(
            gw_comm_all_reduce(self->comm,
                               GW_COMM_ARGS(.recv = numbers, .count = COUNT, .dtype = GW_DTYPE_I32),
                               NULL),
            0);
        for (int i = 0; i < COUNT; i++)
            RANK_CHECK(numbers[i] == i * 6);
        gw_comm_dealloc(self->comm, memory);
    }
    RANK_CHECK(failures == 2); /* one for the mapping, one for the list */
    return 0;
}

static void allocation_failure_on_one_rank_fails_on_all_ranks(void **state)
{
    struct world world = {.hooks = &comm_host_hooks, .ranks = 3, .function = rank_no_memory};
    assert_int_equal(world_run(&world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(allocation_failure_on_one_rank_fails_on_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
