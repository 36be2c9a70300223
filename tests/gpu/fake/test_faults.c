/* The NCCL backend when NCCL fails, against the fakes: each fault ends in time, with a text. */
#include "tests/unit/comm_world.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* What one rank alone gets of joining. */
static int join_alone(uint64_t timeout_ns, struct gw_comm **comm, struct gw_error *error)
{
    int fd;
    assert_int_equal(gw_comm_segment_create(1, &fd, NULL), 0);
    const struct gw_comm_nccl_options options = {.fd = fd, .ranks = 1, .timeout_ns = timeout_ns};
    int rc = gw_comm_open_nccl(&options, comm, error);
    close(fd);
    return rc;
}

static void test_init_hangs(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    assert_int_equal(setenv("FAKE_NCCL_FAULT", "init-hangs", 1), 0);
    assert_int_equal(join_alone(50000000, &comm, &error), GW_ETIMEDOUT);
    assert_non_null(strstr(error.text, "rank 0: not done after 0.050 s"));
}

static void test_duplicate_gpu(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    assert_int_equal(setenv("FAKE_NCCL_FAULT", "duplicate", 1), 0);
    assert_int_equal(join_alone(60000000000, &comm, &error), GW_EABORTED);
    assert_non_null(strstr(error.text, "NCCL: invalid usage"));
}

static void test_error_in_the_background(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    float x = 1;
    assert_int_equal(setenv("FAKE_NCCL_FAULT", "async", 1), 0);
    assert_int_equal(join_alone(60000000000, &comm, &error), 0);
    const struct gw_comm_args args = {.recv = &x, .count = 1, .dtype = GW_DTYPE_F32};
    assert_int_equal(gw_comm_all_reduce(comm, &args, &error), GW_EABORTED);
    assert_non_null(strstr(error.text, "remote process exited"));
    assert_int_equal(gw_comm_barrier(comm, &error), GW_EABORTED);
    gw_comm_close(comm);
}

static void test_no_gpu(void **state)
{
    struct gw_comm *comm;
    struct gw_error error;
    assert_int_equal(setenv("FAKE_CUDA_DEVICES", "0", 1), 0);
    assert_int_equal(join_alone(60000000000, &comm, &error), GW_ENOTSUP);
    assert_non_null(strstr(error.text, "no GPU"));
    assert_int_equal(unsetenv("FAKE_CUDA_DEVICES"), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_init_hangs),
        cmocka_unit_test(test_duplicate_gpu),
        cmocka_unit_test(test_error_in_the_background),
        cmocka_unit_test(test_no_gpu),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
