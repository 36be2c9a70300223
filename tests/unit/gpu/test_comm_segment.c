/* The segment of the host backend, seen from outside: invalid segments, aborts, and the progress of
 * its ranks. */
#include "tests/unit/gpu/comm_world.h"

#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cmocka.h>

static void segment_refuses_wrong_ranks_and_reports_an_abort(void **state)
{
    struct gw_error error;
    struct gw_comm *comm, *again;
    int fd, cause, rank;
    assert_int_equal(gw_comm_segment_create(0, &fd, &error), GW_EINVAL);
    assert_int_equal(gw_comm_segment_create(GW_COMM_HOST_RANKS_MAX + 1, &fd, &error), GW_EINVAL);
    assert_int_equal(gw_comm_segment_create(2, &fd, &error), 0);

    struct gw_comm_host_options options =
        GW_INIT(gw_comm_host_options, .fd = fd, .rank = 0, .ranks = 2);
    assert_int_equal(gw_comm_open_host(&options, &comm, &error), 0);
    assert_int_equal(gw_comm_open_host(&options, &again, &error), GW_EEXIST);
    options.rank = 2;
    assert_int_equal(gw_comm_open_host(&options, &again, &error), GW_EINVAL);
    options.ranks = 3;
    assert_int_equal(gw_comm_open_host(&options, &again, &error), GW_EMISMATCH);
    assert_int_equal(gw_comm_segment_aborted(fd, &cause, &rank, &error), 0);
    gw_comm_abort(comm, GW_ECANCELLED, -1);
    assert_int_equal(gw_comm_segment_aborted(fd, &cause, &rank, &error), 1);
    assert_int_equal(cause, GW_ECANCELLED);
    assert_int_equal(rank, -1);
    assert_int_equal(gw_comm_barrier(comm, &error), GW_EABORTED);
    gw_comm_close(comm);
    assert_int_equal(ftruncate(fd, 100), -1); /* no process can truncate it under the others */
    close(fd);

    options.fd = memfd_create("foreign", MFD_CLOEXEC);
    assert_true(options.fd >= 0);
    assert_int_equal(gw_comm_open_host(&options, &comm, &error), GW_ECORRUPT);
    static const char junk[8192] = "not a segment, but long enough to be one";
    assert_int_equal(write(options.fd, junk, sizeof junk), sizeof junk);
    assert_int_equal(gw_comm_open_host(&options, &comm, &error), GW_ECORRUPT);
    close(options.fd);
    assert_int_equal(gw_comm_open_host(&options, &comm, &error), GW_EINVAL);
}

/* Rank 2 is late: the progress of each rank is visible from outside. */
static int rank_progress(struct world_rank *self)
{
    RANK_CHECK_RC(gw_comm_barrier(self->comm, NULL), 0);
    if (self->rank == 2) {
        world_tell(self);
        world_wait_gate(self);
    }
    RANK_CHECK_RC(gw_comm_all_reduce(self->comm, GW_COMM_ARGS(.dtype = GW_DTYPE_F32), NULL), 0);
    return 0;
}

static void segment_progress_shows_the_current_operation(void **state)
{
    struct world world = {.hooks = &comm_host_hooks, .ranks = 3, .function = rank_progress};
    struct gw_comm_progress progress = {0};
    world_start(&world);
    world_hear(&world, 1);
    assert_int_equal(gw_comm_segment_progress(world.handle, 3, &progress, NULL), GW_EINVAL);
    assert_int_equal(gw_comm_segment_progress(world.handle, 2, &progress, NULL), 0);
    assert_int_equal(progress.presence, GW_COMM_OPEN);
    assert_int_equal(progress.begun, 1);
    assert_null(progress.operation);
    do /* it reports nothing; it arrives there, or the test's time limit ends */
        assert_int_equal(gw_comm_segment_progress(world.handle, 0, &progress, NULL), 0);
    while (progress.begun < 2 && sched_yield() == 0);
    assert_string_equal(progress.operation, "all_reduce");
    world_open_gate(&world);
    int fd = dup(world.handle);
    assert_int_equal(world_join(&world), 0);
    assert_int_equal(gw_comm_segment_progress(fd, 0, &progress, NULL), 0);
    assert_int_equal(progress.presence, GW_COMM_CLOSED);
    assert_int_equal(progress.begun, 2);
    assert_null(progress.operation);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(segment_refuses_wrong_ranks_and_reports_an_abort),
        cmocka_unit_test(segment_progress_shows_the_current_operation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
