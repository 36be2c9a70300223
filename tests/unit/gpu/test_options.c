/* Options structs of programs that were built with other versions of the headers. */
#include "tests/unit/unit.h"

#include <gangway/comm.h>
#include <gangway/ddp.h>
#include <gangway/optimizer.h>
#include <gangway/sampler.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

static struct gw_error error;

/* The struct of a later version. */
#define LATER(type)                                                                                \
    struct {                                                                                       \
        struct type options;                                                                       \
        uint64_t field;                                                                            \
    }

/* Calls `open` with options (in `later.options`) without a size, and with a field that this library
 * does not know. */
#define ASSERT_CHECKS_SIZE(type, later, open)                                                      \
    do {                                                                                           \
        (later).options.struct_size = 0;                                                           \
        assert_int_equal(open, GW_EINVAL);                                                         \
        assert_non_null(strstr(error.text, "struct " #type " has the struct_size 0"));             \
        (later).options.struct_size = sizeof(later);                                               \
        (later).field = 1;                                                                         \
        assert_int_equal(open, GW_ENOTSUP);                                                        \
        assert_non_null(strstr(error.text, "struct " #type " sets a field"));                      \
        (later).field = 0;                                                                         \
    } while (0)

static void sampler_options_of_other_versions_are_read(void **state)
{
    LATER(gw_sampler_options)
    later = {.options = GW_INIT(gw_sampler_options, .samples = 5, .ranks = 2, .drop_last = true)};
    struct gw_sampler *sampler;
    (void)state;
    ASSERT_CHECKS_SIZE(gw_sampler_options, later, gw_sampler_new(&later.options, &sampler, &error));
    assert_int_equal(gw_sampler_new(&later.options, &sampler, NULL), 0);
    assert_int_equal(gw_sampler_count(sampler), 2);
    gw_sampler_free(sampler);
    later.options.struct_size = offsetof(struct gw_sampler_options, drop_last);
    assert_int_equal(gw_sampler_new(&later.options, &sampler, NULL), 0);
    assert_int_equal(gw_sampler_count(sampler), 3); /* an earlier program does not drop the last */
    gw_sampler_free(sampler);
}

static void optimizer_options_of_other_versions_are_read(void **state)
{
    LATER(gw_optimizer_options) later = {.options = gw_optimizer_sgd(0.5)};
    struct gw_optimizer *optimizer;
    (void)state;
    later.options.eps = -1; /* not read for this kind */
    ASSERT_CHECKS_SIZE(gw_optimizer_options, later,
                       gw_optimizer_new(&later.options, NULL, 0, &optimizer, &error));
    assert_int_equal(gw_optimizer_new(&later.options, NULL, 0, &optimizer, NULL), 0);
    gw_optimizer_free(optimizer);
    later.options.kind = GW_OPTIMIZER_ADAM;
    assert_int_equal(gw_optimizer_new(&later.options, NULL, 0, &optimizer, NULL), GW_EINVAL);
    later.options.struct_size = offsetof(struct gw_optimizer_options, eps);
    assert_int_equal(gw_optimizer_new(&later.options, NULL, 0, &optimizer, NULL), 0);
    gw_optimizer_free(optimizer);
}

static void communicator_options_of_other_versions_are_read(void **state)
{
    LATER(gw_comm_host_options) host = {.options = GW_INIT(gw_comm_host_options, .ranks = 1)};
    LATER(gw_comm_hosts_options)
    hosts = {.options = GW_INIT(gw_comm_hosts_options, .ranks = 1, .local_ranks = 1,
                                .endpoint = "127.0.0.1:1", .listener = -1)};
    LATER(gw_comm_nccl_options) nccl = {.options = GW_INIT(gw_comm_nccl_options, .device = 0)};
    LATER(gw_ddp_options) ddp = {.options = GW_INIT(gw_ddp_options, .params_count = 0)};
    struct gw_comm *comm;
    struct gw_ddp *opened;
    (void)state;
    assert_int_equal(gw_comm_segment_create(1, &host.options.fd, &error), 0);
    hosts.options.fd = host.options.fd;
    ASSERT_CHECKS_SIZE(gw_comm_host_options, host, gw_comm_open_host(&host.options, &comm, &error));
    ASSERT_CHECKS_SIZE(gw_comm_hosts_options, hosts,
                       gw_comm_open_hosts(&hosts.options, &comm, &error));
    ASSERT_CHECKS_SIZE(gw_comm_nccl_options, nccl, gw_comm_open_nccl(&nccl.options, &comm, &error));
    ASSERT_CHECKS_SIZE(gw_ddp_options, ddp, gw_ddp_open(&ddp.options, &opened, &error));
    assert_int_equal(gw_ddp_open(&ddp.options, &opened, &error), GW_EINVAL);
    assert_string_equal(error.text, "ddp: params_count is 0: give at least one parameter");
    host.options.struct_size = offsetof(struct gw_comm_host_options, timeout_ns);
    host.options.timeout_ns = 1; /* no operation could end within it */
    assert_int_equal(gw_comm_open_host(&host.options, &comm, &error), 0);
    assert_int_equal(gw_comm_barrier(comm, &error), 0);
    gw_comm_close(comm);
    close(host.options.fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampler_options_of_other_versions_are_read),
        cmocka_unit_test(optimizer_options_of_other_versions_are_read),
        cmocka_unit_test(communicator_options_of_other_versions_are_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
