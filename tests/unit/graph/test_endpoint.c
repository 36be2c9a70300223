/* Endpoints: which texts are valid. */
#include "graph/wire/endpoint.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

/* The system resolver would accept 72606 as 7070. */
static void port_above_65535_is_refused(void **state)
{
    static const char *const refused[] = {"127.0.0.1:72606", "127.0.0.1:65536", "[::1]:99999",
                                          "127.0.0.1:-1", "127.0.0.1:70x"};
    char numeric[GW_ENDPOINT_TEXT_MAX];
    (void)state;
    for (size_t i = 0; i < sizeof refused / sizeof *refused; i++) {
        struct gw_error error = {0};
        int fd = -1;
        assert_int_equal(gw_endpoint_resolve(refused[i], numeric, &error), GW_EINVAL);
        assert_non_null(strstr(error.text, "a port is a number from 1 to 65535"));
        assert_int_equal(gw_endpoint_connect(refused[i], &fd, &error), GW_EINVAL);
        assert_int_equal(gw_endpoint_listen(refused[i], &fd, numeric, &error), GW_EINVAL);
    }
    assert_int_equal(gw_endpoint_resolve("127.0.0.1:65535", numeric, NULL), 0);
    assert_string_equal(numeric, "127.0.0.1:65535");
    assert_int_equal(gw_endpoint_resolve("[::1]:1", numeric, NULL), 0);
    assert_string_equal(numeric, "[::1]:1");
}

static void host_without_a_port_listens_on_a_free_port(void **state)
{
    char actual[GW_ENDPOINT_TEXT_MAX];
    int fd;
    (void)state;
    assert_int_equal(gw_endpoint_listen("127.0.0.1", &fd, actual, NULL), 0);
    assert_memory_equal(actual, "127.0.0.1:", 10);
    (void)close(fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(port_above_65535_is_refused),
        cmocka_unit_test(host_without_a_port_listens_on_a_free_port),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
