/* The NCCL backend on a machine where it cannot work: an error with a reason, never a crash.
 * tests/gpu tests it with a GPU. */
#include "tests/unit/unit.h"

#include <gangway/comm.h>
#include <string.h>
#include <unistd.h>

static void nccl_open_without_a_gpu_reports_missing_parts(void **state)
{
    if (access("/dev/nvidiactl", F_OK) == 0)
        skip(); /* there is a GPU */
    struct gw_error error;
    struct gw_comm *comm = NULL, *host;
    int fd;
    assert_int_equal(gw_comm_segment_create(1, &fd, &error), 0);
    const struct gw_comm_host_options host_options =
        GW_INIT(gw_comm_host_options, .fd = fd, .ranks = 1);
    assert_int_equal(gw_comm_open_host(&host_options, &host, &error), 0);
    const struct gw_comm_nccl_options options = GW_INIT(gw_comm_nccl_options, .host = host);
    for (int i = 0; i < 2; i++) { /* also the second time */
        error.text[0] = '\0';
        assert_int_equal(gw_comm_open_nccl(&options, &comm, &error), GW_ENOTSUP);
        assert_int_equal(error.code, GW_ENOTSUP);
        assert_true(strstr(error.text, "libgangway-cuda.so") || strstr(error.text, "no GPU: "));
        assert_null(comm);
    }
    assert_int_equal(gw_comm_barrier(host, &error), 0); /* the host communicator still works */
    gw_comm_close(host);
    close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(nccl_open_without_a_gpu_reports_missing_parts)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
