/* Host files in the formats of mpirun, mpiexec, horovodrun and batch systems. */
#include "client/cli/hosts/host_file.h"
#include "tests/unit/unit.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Converts a file with this text to "a:4,b:0". */
static int read_text(const char *content, char *all, size_t bytes, struct gw_error *error)
{
    char path[] = "/tmp/gangway-hosts-XXXXXX";
    const int fd = mkstemp(path);
    struct gw_hosts hosts;
    size_t used = 0;
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), (ssize_t)strlen(content));
    assert_int_equal(close(fd), 0);
    const int rc = gw_host_file_read(&hosts, path, error);
    assert_int_equal(unlink(path), 0);
    *all = '\0';
    for (size_t i = 0; i < hosts.items.count; i++)
        used += (size_t)snprintf(all + used, bytes - used, "%s%s:%u", i ? "," : "",
                                 hosts.items.items[i].name, hosts.items.items[i].slots);
    gw_hosts_deinit(&hosts);
    return rc;
}

static void host_file_accepts_open_mpi_mpich_and_pbs_syntax(void **state)
{
    static const struct {
        const char *content, *wanted;
    } files[] = {
        {"a slots=4\nb slots=2 max_slots=8\n", "a:4,b:2"}, /* Open MPI, Horovod */
        {"a:4\nb:2", "a:4,b:2"},                           /* MPICH */
        {"# all\n\n  a slots = 4 # ours\r\nb\t\n", "a:4,b:0"},
        {"a\na\nb\na\n", "a:3,b:0"}, /* PBS: a line per slot */
        {"a slots=2\na slots=3\n", "a:5"},
        {"bob@a:2\n[fe80::1]:3\nfe80::2 slots=4\n", "bob@a:2,fe80::1:3,fe80::2:4"},
    };
    char all[200];
    struct gw_error error;
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_int_equal(read_text(files[i].content, all, sizeof all, &error), 0);
        assert_string_equal(all, files[i].wanted);
    }
}

static void host_file_errors_name_the_line(void **state)
{
    static const struct {
        const char *content, *wanted;
    } files[] = {
        {"# nobody\n", "names no host"},
        {"a\nb slots=0\n", "line 2: b:0: the number after the colon"},
        {"a slots=\n", "line 1: a:: the number after the colon"},
        {"a 4\n", "line 1: 4 is not a setting"},
        {"a:4 slots=2\n", "line 1: a:4 slots=2: the number of slots is given twice"},
        {"\na,b\n", "line 2: a,b: a line may have one host"},
        {"^a\n", "line 1: ^a is not a host"},
        {"a slots=4096\na\n", "line 2: a has more than 4096 slots"},
    };
    char all[200], line[1200] = "";
    struct gw_error error;
    (void)state;
    for (size_t i = 0; i < sizeof files / sizeof *files; i++) {
        assert_int_equal(read_text(files[i].content, all, sizeof all, &error), GW_EINVAL);
        assert_string_equal(all, "");
        if (!strstr(error.text, files[i].wanted))
            fail_msg("%s", error.text);
    }
    memset(line, 'a', sizeof line - 1);
    assert_int_equal(read_text(line, all, sizeof all, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "line 1: the line has"));
    struct gw_hosts hosts;
    assert_int_equal(gw_host_file_read(&hosts, "/", &error), GW_EIO);
    assert_non_null(strstr(error.text, "cannot read /: Is a directory"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(host_file_accepts_open_mpi_mpich_and_pbs_syntax),
        cmocka_unit_test(host_file_errors_name_the_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
