/* The audit log: its lines, how submissions and floods are merged, rotation, and a full disk. */
#include "graph/base/clock.h"
#include "scheduler/store/audit.h"

#include <fcntl.h>
#include <sched.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

enum { FILE_BYTES_MAX = 4 << 20 };

static char dir[] = "/tmp/gw-audit-XXXXXX", path[64], older[72];
static char content[FILE_BYTES_MAX];

static const char *read_file(const char *name)
{
    FILE *file = fopen(name, "r");
    size_t bytes = file ? fread(content, 1, sizeof content - 1, file) : 0;
    content[bytes] = '\0';
    if (file)
        (void)fclose(file);
    return content;
}

static int count(const char *text, const char *word)
{
    int found = 0;
    for (; (text = strstr(text, word)); text++)
        found++;
    return found;
}

/* Waits until the thread has written this. */
static void wait_for(const char *name, const char *word)
{
    while (!strstr(read_file(name), word))
        (void)sched_yield();
}

static struct gw_audit *must_open(uint64_t bytes_max)
{
    struct gw_audit *audit;
    struct gw_error error;
    if (gw_audit_open(path, bytes_max, &audit, &error) < 0)
        fail_msg("%s", error.text);
    return audit;
}

static void cancel(struct gw_audit *audit, uint64_t job)
{
    gw_audit_add(audit, &(struct gw_audit_act){
                            .what = "cancel", .user = "alice", .job = job, .task = UINT32_MAX});
}

/* Texts are valid only during the call. */
static void submit(struct gw_audit *audit, uint64_t job, const char *from)
{
    char *user = strdup("alice"), *nothing = strdup("");
    gw_audit_add(audit, &(struct gw_audit_act){.what = "submit",
                                               .user = user,
                                               .from = from,
                                               .object = nothing,
                                               .job = job,
                                               .task = UINT32_MAX,
                                               .text = nothing});
    free(user);
    free(nothing);
}

static int set_up(void **state)
{
    (void)state;
    (void)unlink(path);
    (void)unlink(older);
    return 0;
}

static void line_says_who_what_where_and_the_outcome(void **state)
{
    struct gw_audit *audit = must_open(0);
    (void)state;
    gw_audit_add(audit, &(struct gw_audit_act){.what = "cancel",
                                               .user = "alice",
                                               .token = "ab12",
                                               .from = "10.0.0.7",
                                               .job = 7,
                                               .task = 3,
                                               .code = GW_ENOENT,
                                               .text = "no \"job\"\n\\ 7\x80"});
    gw_audit_close(audit);
    const char *line = read_file(path);
    assert_memory_equal(line, "{\"time\": \"2", 11);
    assert_non_null(strstr(line,
                           "Z\", \"what\": \"cancel\", \"user\": \"alice\", \"token\": \"ab12\", "
                           "\"from\": \"10.0.0.7\", \"job\": 7, \"task\": 3, \"outcome\": "
                           "\"GW_ENOENT\", \"text\": \"no \\\"job\\\" \\\\ 7?\"}\n"));
}

static void consecutive_submissions_of_a_peer_are_one_line(void **state)
{
    struct gw_audit *audit = must_open(0);
    (void)state;
    for (uint64_t job = 1; job <= 3; job++)
        submit(audit, job, "a");
    submit(audit, 4, "b");
    submit(audit, 6, "b");
    wait_for(path, "\"job\": 6"); /* no further act is needed */
    gw_audit_close(audit);
    const char *lines = read_file(path);
    assert_int_equal(count(lines, "\n"), 3);
    assert_non_null(strstr(lines, "\"from\": \"a\", \"job\": 1, \"last_job\": 3, \"outcome\""));
    assert_non_null(strstr(lines, "\"from\": \"b\", \"job\": 4, \"outcome\": \"ok\"}\n"));
}

static void refused_peers_cannot_flood_the_file(void **state)
{
    struct gw_audit *audit = must_open(0);
    (void)state;
    const uint64_t before_ns = gw_clock_now_ns();
    for (int i = 0; i < 1000; i++)
        gw_audit_add(audit, &(struct gw_audit_act){.what = "refuse", .code = GW_EPERM});
    const uint64_t seconds = (gw_clock_now_ns() - before_ns) / GW_NS_PER_S + 1;
    gw_audit_close(audit);
    const char *lines = read_file(path);
    assert_true((uint64_t)count(lines, "\"refuse\"") <= 10 * (seconds + 1));
    assert_true(count(lines, "\"what\": \"refused\", \"count\": ") >= 1);
    if (seconds == 1 && count(lines, "\"refuse\"") == 10)
        assert_non_null(strstr(lines, "\"what\": \"refused\", \"count\": 990}\n"));
}

static void file_begins_anew_at_its_limit(void **state)
{
    struct gw_audit *audit = must_open(0);
    (void)state;
    cancel(audit, 1);
    gw_audit_close(audit);
    const uint64_t bytes = strlen(read_file(path));
    audit = must_open(2 * bytes);
    cancel(audit, 2);
    wait_for(path, "\"job\": 2"); /* exactly at the limit */
    assert_int_equal(access(older, F_OK), -1);
    cancel(audit, 3);
    wait_for(path, "\"job\": 3");
    gw_audit_close(audit);
    assert_int_equal(count(read_file(older), "\n"), 2);
    assert_int_equal(count(read_file(path), "\n"), 1);
}

static void renamed_file_is_followed_by_a_new_one(void **state)
{
    struct gw_audit *audit = must_open(UINT64_MAX);
    (void)state;
    cancel(audit, 1);
    wait_for(path, "\"job\": 1");
    assert_int_equal(rename(path, older), 0);
    cancel(audit, 2);
    wait_for(path, "\"job\": 2");
    gw_audit_close(audit);
    assert_int_equal(count(read_file(older), "\n"), 1);
    assert_int_equal(count(read_file(path), "\n"), 1);
}

/* A folder takes the place of the file that was removed. */
static void lines_wait_if_the_file_was_removed(void **state)
{
    struct gw_audit *audit = must_open(0);
    struct stat removed;
    char log[80];
    (void)state;
    (void)snprintf(log, sizeof log, "%s/log", dir);
    const int fd = open(path, O_RDONLY), errors = dup(STDERR_FILENO);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(mkdir(path, 0700), 0);
    assert_non_null(freopen(log, "w", stderr));
    cancel(audit, 1);
    while (!strstr(read_file(log), "cannot write the audit log"))
        assert_true(fstat(fd, &removed) == 0 && removed.st_size == 0);
    assert_int_equal(rmdir(path), 0);
    wait_for(path, "\"job\": 1");
    gw_audit_close(audit);
    assert_int_equal(dup2(errors, STDERR_FILENO), STDERR_FILENO);
    close(errors);
    close(fd);
    assert_int_equal(unlink(log), 0);
}

static void full_disk_loses_only_lines_beyond_the_limit(void **state)
{
    enum { ACTS = 20000 };
    struct rlimit before, tight;
    (void)state;
    (void)signal(SIGXFSZ, SIG_IGN);
    struct gw_audit *audit = must_open(0);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    tight = before;
    tight.rlim_cur = 150; /* one line and a part of the next */
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &tight), 0);
    for (uint64_t job = 1; job <= ACTS; job++)
        cancel(audit, job);
    while (strlen(read_file(path)) < 150)
        (void)sched_yield();
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    gw_audit_close(audit);
    const char *lines = read_file(path), *lost = strstr(lines, "\"lost\", \"count\": ");
    assert_non_null(lost);
    const int written = count(lines, "\"cancel\"");
    assert_int_equal(written + atoi(lost + strlen("\"lost\", \"count\": ")), ACTS);
    assert_int_equal(count(lines, "\n"), written + 1);
    assert_int_equal(count(lines, "\n{"), written); /* no line is cut */
}

static void cut_last_line_does_not_spoil_the_next(void **state)
{
    FILE *file = fopen(path, "w");
    (void)state;
    assert_non_null(file);
    fputs("{\"time\": \"20", file);
    (void)fclose(file);
    struct gw_audit *audit = must_open(0);
    cancel(audit, 1);
    gw_audit_close(audit);
    assert_non_null(strstr(read_file(path), "\"20\n{\"time\""));
}

static void file_that_cannot_be_opened_is_an_error(void **state)
{
    struct gw_audit *audit;
    struct gw_error error;
    (void)state;
    assert_int_equal(gw_audit_open("/proc/no/such", 0, &audit, &error), GW_EIO);
    assert_non_null(strstr(error.text, "cannot open the audit log /proc/no/such: "));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup(line_says_who_what_where_and_the_outcome, set_up),
        cmocka_unit_test_setup(consecutive_submissions_of_a_peer_are_one_line, set_up),
        cmocka_unit_test_setup(refused_peers_cannot_flood_the_file, set_up),
        cmocka_unit_test_setup(file_begins_anew_at_its_limit, set_up),
        cmocka_unit_test_setup(renamed_file_is_followed_by_a_new_one, set_up),
        cmocka_unit_test_setup(lines_wait_if_the_file_was_removed, set_up),
        cmocka_unit_test_setup(full_disk_loses_only_lines_beyond_the_limit, set_up),
        cmocka_unit_test_setup(cut_last_line_does_not_spoil_the_next, set_up),
        cmocka_unit_test(file_that_cannot_be_opened_is_an_error),
    };
    if (!mkdtemp(dir))
        return 1;
    (void)snprintf(path, sizeof path, "%s/audit.jsonl", dir);
    (void)snprintf(older, sizeof older, "%s.1", path);
    const int failed = cmocka_run_group_tests(tests, NULL, NULL);
    (void)set_up(NULL);
    (void)rmdir(dir);
    return failed;
}
