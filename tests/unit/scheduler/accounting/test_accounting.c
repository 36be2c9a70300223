/* The accounting: what it answers about stored jobs, and what it does if the file cannot be
 * written. */
#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/wire/codec.h"
#include "scheduler/accounting/accounting.h"
#include "scheduler/accounting/usage_query.h"

#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <sqlite3.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#define S UINT64_C(1000000000)
#define HOUR (3600 * S)
#define DAY (24 * HOUR)
#define NOON (20000 * DAY + 12 * HOUR) /* of a day in 2024, in UTC */

struct fixture {
    char dir[64], path[128];
    struct gw_accounting_file file;
};

static int set_up(void **state)
{
    struct fixture *f = calloc(1, sizeof *f);
    struct gw_error error;
    (void)snprintf(f->dir, sizeof f->dir, "/tmp/gw-accounting-XXXXXX");
    assert_non_null(mkdtemp(f->dir));
    (void)snprintf(f->path, sizeof f->path, "%s/accounting.db", f->dir);
    assert_int_equal(setenv("TZ", "UTC", 1), 0);
    assert_int_equal(gw_accounting_file_open(f->path, &f->file, &error), 0);
    *state = f;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *f = *state;
    struct gw_error error;
    gw_accounting_file_close(&f->file);
    assert_int_equal(gw_dir_remove(f->dir, &error), 0);
    free(f);
    return 0;
}

/* A job that used 2 GPUs and 4 slots from its start to its end. */
static struct gw_accounting_row row_of(uint64_t job, const char *user, uint64_t start_ns,
                                       uint64_t end_ns)
{
    return (struct gw_accounting_row){.job = job,
                                      .user = user,
                                      .account = "lab",
                                      .queue = "",
                                      .name = "train",
                                      .state = job % 2 ? "done" : "failed",
                                      .tasks = 1,
                                      .submitted_ns = start_ns,
                                      .started_ns = start_ns,
                                      .ended_ns = end_ns,
                                      .gpu_ns = 2 * (end_ns - start_ns),
                                      .slot_ns = 4 * (end_ns - start_ns),
                                      .cpu_ns = 3 * (end_ns - start_ns)};
}

static void store(struct fixture *f, const char *cluster, struct gw_accounting_row row)
{
    const struct gw_accounting_row *rows[] = {&row};
    struct gw_error error;
    assert_int_equal(gw_accounting_file_store(&f->file, cluster, rows, 1, &error), 0);
}

/* Answers the query {by, since_ns, until_ns, jobs, user}; 0 and NULL: not given. */
static struct gw_value *ask(struct fixture *f, const char *by, uint64_t since_ns, uint64_t until_ns,
                            bool jobs, const char *user)
{
    struct gw_value *query = gw_dict(), *list = gw_list(), *answer;
    struct gw_error error = {0};
    char words[64];
    (void)snprintf(words, sizeof words, "%s", by ? by : "");
    for (char *word = strtok(words, ","); word; word = strtok(NULL, ","))
        assert_int_equal(gw_list_push(list, gw_str(word)), 0);
    assert_int_equal(gw_dict_set(query, "by", list), 0);
    assert_int_equal(gw_dict_set(query, "jobs", gw_bool(jobs)), 0);
    if (since_ns)
        assert_int_equal(gw_dict_set(query, "since_ns", gw_i64((int64_t)since_ns)), 0);
    if (until_ns)
        assert_int_equal(gw_dict_set(query, "until_ns", gw_i64((int64_t)until_ns)), 0);
    if (user)
        assert_int_equal(gw_dict_set(query, "user", gw_str(user)), 0);
    assert_int_equal(gw_usage_query_answer(&f->file, query, &answer, &error), 0);
    gw_value_unref(query);
    return answer;
}

static const struct gw_value *row_at(const struct gw_value *answer, size_t i)
{
    const struct gw_value *rows = gw_value_find(answer, "rows");
    assert_true(i < gw_value_count(rows));
    return gw_value_at(rows, i);
}

static double real_at(const struct gw_value *answer, size_t i, const char *key)
{
    double real;
    assert_int_equal(gw_value_get_f64(gw_value_find(row_at(answer, i), key), &real, NULL), 0);
    return real;
}

static int64_t number_at(const struct gw_value *answer, size_t i, const char *key)
{
    int64_t number;
    assert_int_equal(gw_value_get_i64(gw_value_find(row_at(answer, i), key), &number, NULL), 0);
    return number;
}

static const char *text_at(const struct gw_value *answer, size_t i, const char *key)
{
    const char *text;
    assert_int_equal(gw_value_get_str(gw_value_find(row_at(answer, i), key), &text, NULL), 0);
    return text;
}

static void use_is_summed_for_each_user(void **state)
{
    store(*state, "c", row_of(1, "ann", NOON, NOON + HOUR));
    store(*state, "c", row_of(2, "ann", NOON, NOON + 2 * HOUR));
    store(*state, "c", row_of(3, "bob", NOON, NOON + HOUR));
    struct gw_value *answer = ask(*state, "user", 0, 0, false, NULL);
    assert_int_equal(gw_value_count(gw_value_find(answer, "rows")), 2);
    assert_string_equal(text_at(answer, 0, "user"), "ann"); /* who used most comes first */
    assert_int_equal(number_at(answer, 0, "jobs"), 2);
    assert_int_equal(number_at(answer, 0, "failed"), 1);
    assert_true(real_at(answer, 0, "gpu_seconds") == 6 * 3600);
    assert_true(real_at(answer, 0, "cpu_seconds") == 9 * 3600);
    assert_true(real_at(answer, 1, "slot_seconds") == 4 * 3600);
    gw_value_unref(answer);
    answer = ask(*state, NULL, 0, 0, false, "bob");
    assert_int_equal(gw_value_count(gw_value_find(answer, "rows")), 1);
    assert_true(real_at(answer, 0, "gpu_seconds") == 2 * 3600);
    gw_value_unref(answer);
}

static void a_job_of_several_days_is_divided_among_them(void **state)
{
    store(*state, "c", row_of(1, "ann", NOON, NOON + 2 * DAY)); /* 12 + 24 + 12 hours */
    store(*state, "c", row_of(3, "ann", NOON + 12 * HOUR, NOON + 12 * HOUR)); /* at midnight */
    struct gw_value *answer = ask(*state, "day", 0, 0, false, NULL);
    const double expected[] = {24 * 3600, 48 * 3600, 24 * 3600};
    assert_int_equal(gw_value_count(gw_value_find(answer, "rows")), 3);
    for (size_t i = 0; i < 3; i++)
        assert_true(real_at(answer, i, "gpu_seconds") == expected[i]);
    assert_string_equal(text_at(answer, 0, "day"), "2024-10-04");
    assert_string_equal(text_at(answer, 2, "day"), "2024-10-06");
    assert_int_equal(number_at(answer, 0, "jobs"), 1);
    assert_int_equal(number_at(answer, 1, "jobs"), 2);
    gw_value_unref(answer);
}

static void only_the_part_in_the_given_time_counts(void **state)
{
    store(*state, "c", row_of(1, "ann", NOON, NOON + 10 * HOUR));
    struct gw_value *answer = ask(*state, NULL, NOON + 9 * HOUR, 0, false, NULL);
    assert_true(real_at(answer, 0, "gpu_seconds") == 2 * 3600);
    gw_value_unref(answer);
    answer = ask(*state, "day", NOON + HOUR, NOON + 3 * HOUR, false, NULL);
    assert_true(real_at(answer, 0, "gpu_seconds") == 4 * 3600);
    gw_value_unref(answer);
    answer = ask(*state, "user", NOON + 11 * HOUR, 0, false, NULL);
    assert_int_equal(gw_value_count(gw_value_find(answer, "rows")), 0);
    gw_value_unref(answer);
}

/* A restarted scheduler stores the jobs of its history again, without their peaks. */
static void a_job_that_is_stored_again_counts_once(void **state)
{
    struct gw_accounting_row row = row_of(1, "ann", NOON, NOON + HOUR);
    row.peak_bytes = 1000;
    store(*state, "c", row);
    row.peak_bytes = 0;
    store(*state, "c", row);
    store(*state, "another cluster", row);
    struct gw_value *answer = ask(*state, NULL, 0, 0, true, NULL);
    assert_int_equal(gw_value_count(gw_value_find(answer, "rows")), 2);
    assert_int_equal(
        number_at(answer, text_at(answer, 0, "cluster")[0] == 'c' ? 0 : 1, "peak_bytes"), 1000);
    gw_value_unref(answer);
}

static void jobs_come_in_pages_the_last_end_first(void **state)
{
    struct fixture *f = *state;
    struct gw_error error;
    const struct gw_accounting_row *rows[GW_USAGE_QUERY_JOBS_MAX + 1];
    struct gw_accounting_row all[GW_USAGE_QUERY_JOBS_MAX + 1];
    for (uint64_t i = 0; i <= GW_USAGE_QUERY_JOBS_MAX; i++) {
        all[i] = row_of(i + 1, "ann", NOON, NOON + i);
        rows[i] = &all[i];
    }
    assert_int_equal(gw_accounting_file_store(&f->file, "c", rows, GW_USAGE_QUERY_JOBS_MAX, &error),
                     0);
    struct gw_value *answer = ask(f, NULL, 0, 0, true, NULL);
    assert_int_equal(gw_value_count(gw_value_find(answer, "rows")), GW_USAGE_QUERY_JOBS_MAX);
    assert_null(gw_value_find(answer, "next"));
    assert_int_equal(number_at(answer, 0, "id"), GW_USAGE_QUERY_JOBS_MAX);
    gw_value_unref(answer);
    assert_int_equal(
        gw_accounting_file_store(&f->file, "c", rows + GW_USAGE_QUERY_JOBS_MAX, 1, &error), 0);
    answer = ask(f, NULL, 0, 0, true, NULL);
    int64_t next;
    assert_int_equal(gw_value_get_i64(gw_value_find(answer, "next"), &next, NULL), 0);
    assert_int_equal(next, GW_USAGE_QUERY_JOBS_MAX);
    gw_value_unref(answer);
}

static void old_jobs_are_removed(void **state)
{
    struct fixture *f = *state;
    struct gw_error error;
    store(f, "c", row_of(1, "ann", NOON, NOON + HOUR));
    store(f, "c", row_of(2, "ann", NOON, NOON + 2 * HOUR));
    assert_int_equal(gw_accounting_file_trim(&f->file, NOON + 2 * HOUR, &error), 0);
    struct gw_value *answer = ask(f, NULL, 0, 0, true, NULL);
    assert_int_equal(gw_value_count(gw_value_find(answer, "rows")), 1);
    assert_int_equal(number_at(answer, 0, "id"), 2);
    gw_value_unref(answer);
}

static void invalid_queries_are_refused(void **state)
{
    struct fixture *f = *state;
    struct gw_error error;
    struct gw_value *answer, *query = gw_dict(), *by = gw_list();
    assert_int_equal(gw_dict_set(query, "user", gw_i64(7)), 0);
    assert_int_equal(gw_usage_query_answer(&f->file, query, &answer, &error), GW_EINVAL);
    assert_int_equal(gw_dict_set(query, "user", gw_str("x' OR '1'='1")), 0);
    assert_int_equal(gw_list_push(by, gw_str("name; DROP TABLE jobs")), 0);
    assert_int_equal(gw_dict_set(query, "by", by), 0);
    assert_int_equal(gw_usage_query_answer(&f->file, query, &answer, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "list of user, account, queue and day"));
    assert_int_equal(gw_dict_set(query, "by", gw_list()), 0);
    store(f, "c", row_of(1, "ann", NOON, NOON + HOUR));
    assert_int_equal(gw_usage_query_answer(&f->file, query, &answer, &error), 0);
    assert_int_equal(number_at(answer, 0, "jobs"), 0);
    gw_value_unref(answer);
    gw_value_unref(query);
}

static void show(struct fixture *f, struct gw_accounting_row row, size_t count)
{
    const struct gw_accounting_row *rows[] = {&row};
    struct gw_error error;
    row.state = "running";
    assert_int_equal(gw_accounting_file_show(&f->file, "c", rows, count, &error), 0);
}

static void expect_sums(struct fixture *f, int64_t jobs, int64_t running, double gpu_seconds)
{
    struct gw_value *answer = ask(f, NULL, 0, 0, false, NULL);
    assert_int_equal(number_at(answer, 0, "jobs"), jobs);
    assert_int_equal(number_at(answer, 0, "running"), running);
    assert_true(real_at(answer, 0, "gpu_seconds") == gpu_seconds);
    gw_value_unref(answer);
}

/* Job 1 has ended, and runs again later: it counts once. */
static void jobs_that_run_count_and_are_not_stored(void **state)
{
    struct fixture *f = *state;
    store(f, "c", row_of(1, "ann", NOON, NOON + HOUR));
    show(f, row_of(2, "ann", NOON, NOON + 2 * HOUR), 1);
    expect_sums(f, 2, 1, 6 * 3600);
    show(f, row_of(1, "ann", NOON, NOON + 3 * HOUR), 1);
    expect_sums(f, 1, 1, 6 * 3600);
    struct gw_value *answer = ask(f, "day", 0, 0, false, NULL);
    assert_true(real_at(answer, 0, "gpu_seconds") == 6 * 3600);
    gw_value_unref(answer);
    answer = ask(f, NULL, 0, 0, true, NULL);
    assert_int_equal(gw_value_count(gw_value_find(answer, "rows")), 1);
    assert_string_equal(text_at(answer, 0, "state"), "done");
    gw_value_unref(answer);
    show(f, row_of(2, "ann", NOON, NOON), 0);
    expect_sums(f, 1, 0, 2 * 3600);
}

/* One user more than fits on a page. */
static void sums_come_in_pages(void **state)
{
    enum { USERS = GW_USAGE_QUERY_SUMS_MAX + 1 };
    struct fixture *f = *state;
    static char names[USERS][16];
    static struct gw_accounting_row all[USERS];
    static const struct gw_accounting_row *rows[USERS];
    struct gw_error error;
    for (uint64_t i = 0; i < USERS; i++) {
        (void)snprintf(names[i], sizeof names[i], "user%llu", (unsigned long long)i);
        all[i] = row_of(i + 1, names[i], NOON, NOON + USERS - i);
        rows[i] = &all[i];
    }
    assert_int_equal(gw_accounting_file_store(&f->file, "c", rows, USERS, &error), 0);
    struct gw_value *answer = ask(f, "user", 0, 0, false, NULL), *query = gw_dict();
    int64_t next;
    assert_int_equal(gw_value_count(gw_value_find(answer, "rows")), GW_USAGE_QUERY_SUMS_MAX);
    assert_int_equal(gw_value_get_i64(gw_value_find(answer, "next"), &next, NULL), 0);
    gw_value_unref(answer);
    struct gw_value *by = gw_list();
    assert_int_equal(gw_list_push(by, gw_str("user")), 0);
    assert_int_equal(gw_dict_set(query, "by", by), 0);
    assert_int_equal(gw_dict_set(query, "cursor", gw_i64(next)), 0);
    assert_int_equal(gw_usage_query_answer(&f->file, query, &answer, &error), 0);
    assert_int_equal(gw_value_count(gw_value_find(answer, "rows")), 1);
    assert_string_equal(text_at(answer, 0, "user"), names[USERS - 1]);
    assert_null(gw_value_find(answer, "next"));
    gw_value_unref(answer);
    gw_value_unref(query);
}

/* Gangway wrote files of version 1 before it knew the CPU time of jobs. */
static void files_of_version_1_are_upgraded(void **state)
{
    struct fixture *f = *state;
    struct gw_error error;
    store(f, "c", row_of(1, "ann", NOON, NOON + HOUR));
    assert_int_equal(sqlite3_exec(f->file.sqlite,
                                  "DROP VIEW used; ALTER TABLE jobs DROP COLUMN cpu_seconds; "
                                  "PRAGMA user_version=1",
                                  NULL, NULL, NULL),
                     SQLITE_OK);
    for (int times = 0; times < 2; times++) {
        gw_accounting_file_close(&f->file);
        assert_int_equal(gw_accounting_file_open(f->path, &f->file, &error), 0);
    }
    store(f, "c", row_of(2, "ann", NOON, NOON + HOUR));
    struct gw_value *answer = ask(f, NULL, 0, 0, false, NULL);
    assert_true(real_at(answer, 0, "gpu_seconds") == 4 * 3600);
    assert_true(real_at(answer, 0, "cpu_seconds") == 3 * 3600);
    gw_value_unref(answer);
}

static void files_of_others_are_refused(void **state)
{
    struct fixture *f = *state;
    struct gw_accounting_file other;
    struct gw_error error;
    gw_accounting_file_close(&f->file);
    FILE *file = fopen(f->path, "w");
    for (int i = 0; i < 1000; i++)
        (void)fprintf(file, "this is no database\n");
    (void)fclose(file);
    assert_int_equal(gw_accounting_file_open(f->path, &other, &error), GW_ECORRUPT);
    assert_non_null(strstr(error.text, "move it away"));
    assert_int_equal(unlink(f->path), 0);
    sqlite3 *sqlite;
    assert_int_equal(sqlite3_open(f->path, &sqlite), SQLITE_OK);
    assert_int_equal(sqlite3_exec(sqlite, "PRAGMA application_id=7", NULL, NULL, NULL), SQLITE_OK);
    assert_int_equal(sqlite3_close(sqlite), SQLITE_OK);
    assert_int_equal(gw_accounting_file_open(f->path, &other, &error), GW_ECORRUPT);
    assert_non_null(strstr(error.text, "not written by Gangway"));
}

/* -- The thread ----------------------------------------------------------------------------------
 */

struct heard {
    int code;
    int64_t jobs, lost;
    bool any;
};

static void on_answer(const struct gw_accounting_answer *told, void *arg)
{
    struct heard *heard = arg;
    struct gw_value *answer;
    heard->code = told->code;
    heard->any = true;
    if (told->code)
        return;
    assert_int_equal(gw_codec_decode(told->body.data, told->body.size, NULL, &answer, NULL), 0);
    heard->jobs = number_at(answer, 0, "jobs");
    const struct gw_value *lost = gw_value_find(answer, "lost");
    heard->lost = 0;
    if (lost)
        (void)gw_value_get_i64(lost, &heard->lost, NULL);
    gw_value_unref(answer);
}

static void hear(uv_loop_t *loop, struct gw_accounting *accounting, struct heard *heard)
{
    static const uint8_t nothing[] = {0x80}; /* an empty dict */
    heard->any = false;
    gw_accounting_ask(accounting, 1, 2, (struct gw_bin){nothing, sizeof nothing});
    uv_async_t busy; /* the accounting does not keep the loop running */
    assert_int_equal(uv_async_init(loop, &busy, NULL), 0);
    while (!heard->any)
        (void)uv_run(loop, UV_RUN_ONCE);
    uv_close((uv_handle_t *)&busy, NULL);
    (void)uv_run(loop, UV_RUN_NOWAIT);
}

/* The folder of the file is missing at first, as a disk that is not mounted. */
static void rows_wait_until_the_file_can_be_written(void **state)
{
    struct fixture *f = *state;
    struct heard heard = {0};
    uv_loop_t loop;
    char dir[80], path[128];
    (void)snprintf(dir, sizeof dir, "%s/later", f->dir);
    (void)snprintf(path, sizeof path, "%s/accounting.db", dir);
    assert_int_equal(uv_loop_init(&loop), 0);
    struct gw_accounting *accounting = gw_accounting_open(
        &loop, &(struct gw_accounting_options){
                   .path = path, .cluster = "c", .on_answer = on_answer, .arg = &heard});
    struct gw_accounting_row row = row_of(1, "ann", NOON, NOON + HOUR);
    gw_accounting_add(accounting, &row);
    hear(&loop, accounting, &heard);
    assert_int_equal(heard.code, GW_EIO);
    for (row.job = 2; row.job <= GW_ACCOUNTING_WAITING_MAX + 3; row.job++)
        gw_accounting_add(accounting, &row);
    assert_int_equal(mkdir(dir, 0700), 0);
    hear(&loop, accounting, &heard);
    assert_int_equal(heard.code, 0);
    assert_int_equal(heard.jobs, 0); /* the next try comes after some seconds, */
    assert_int_equal(heard.lost, GW_ACCOUNTING_WAITING_MAX + 3);
    gw_accounting_close(accounting); /* or at the end */
    (void)uv_run(&loop, UV_RUN_DEFAULT);

    accounting = gw_accounting_open(
        &loop, &(struct gw_accounting_options){
                   .path = path, .cluster = "c", .on_answer = on_answer, .arg = &heard});
    hear(&loop, accounting, &heard);
    assert_int_equal(heard.jobs, GW_ACCOUNTING_WAITING_MAX);
    assert_int_equal(heard.lost, 0);
    gw_accounting_close(accounting);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* The first row of a quiet time is stored at once, and later rows with it: after an hour here, or
 * if three of them wait. */
static void rows_that_come_fast_are_stored_together(void **state)
{
    struct fixture *f = *state;
    int64_t stored = 0;
    struct gw_error error;
    uv_loop_t loop;
    assert_int_equal(uv_loop_init(&loop), 0);
    struct gw_accounting *accounting =
        gw_accounting_open(&loop, &(struct gw_accounting_options){.path = f->path,
                                                                  .cluster = "c",
                                                                  .together_ns = HOUR,
                                                                  .together_max = 3,
                                                                  .on_answer = on_answer});
    struct gw_accounting_row row = row_of(1, "ann", NOON, NOON + HOUR);
    for (; row.job <= 4; row.job++) {
        gw_accounting_add(accounting, &row);
        while (stored < (row.job == 4 ? 4 : 1))
            assert_int_equal(
                gw_accounting_file_number(&f->file, "SELECT count(*) FROM jobs", &stored, &error),
                0);
        assert_int_equal(stored, row.job == 4 ? 4 : 1);
    }
    gw_accounting_close(accounting);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* The file is removed, and later replaced by a copy of an earlier day. */
static void rows_go_to_the_file_that_is_there(void **state)
{
    struct fixture *f = *state;
    struct heard heard = {0};
    char copy[160];
    uv_loop_t loop;
    assert_int_equal(uv_loop_init(&loop), 0);
    struct gw_accounting *accounting = gw_accounting_open(
        &loop, &(struct gw_accounting_options){
                   .path = f->path, .cluster = "c", .on_answer = on_answer, .arg = &heard});
    struct gw_accounting_row row = row_of(1, "ann", NOON, NOON + HOUR);
    for (; row.job <= 3; row.job++) {
        gw_accounting_add(accounting, &row);
        hear(&loop, accounting, &heard);
        assert_int_equal(heard.jobs, 1);
        gw_accounting_file_close(&f->file);
        (void)snprintf(copy, sizeof copy, "%s.%d", f->path, (int)row.job);
        assert_int_equal(rename(f->path, copy), 0);
    }
    gw_accounting_close(accounting);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

/* The hourly removal comes before the rows here. */
static void answers_have_no_jobs_beyond_the_retention(void **state)
{
    struct fixture *f = *state;
    struct heard heard = {0};
    uv_loop_t loop;
    assert_int_equal(uv_loop_init(&loop), 0);
    struct gw_accounting *accounting =
        gw_accounting_open(&loop, &(struct gw_accounting_options){.path = f->path,
                                                                  .cluster = "c",
                                                                  .retention_ns = DAY,
                                                                  .on_answer = on_answer,
                                                                  .arg = &heard});
    hear(&loop, accounting, &heard);
    const uint64_t now_ns = gw_clock_wall_ns();
    const struct gw_accounting_row old = row_of(1, "ann", NOON, now_ns - DAY),
                                   recent = row_of(2, "ann", NOON, now_ns - HOUR);
    gw_accounting_add(accounting, &old);
    gw_accounting_add(accounting, &recent);
    hear(&loop, accounting, &heard);
    assert_int_equal(heard.jobs, 1);
    gw_accounting_close(accounting);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static void limit_files(rlim_t bytes)
{
    struct rlimit limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &limit), 0);
    limit.rlim_cur = bytes;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
}

/* Files may not grow, as on a full disk. Stored rows can be read. */
static void rows_wait_until_the_disk_has_room(void **state)
{
    enum { ROWS = 3000 };
    struct fixture *f = *state;
    struct heard heard = {0};
    struct rlimit before;
    uv_loop_t loop;
    store(f, "c", row_of(ROWS + 1, "ann", NOON, NOON + HOUR));
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    assert_true(signal(SIGXFSZ, SIG_IGN) != SIG_ERR);
    assert_int_equal(uv_loop_init(&loop), 0);
    struct gw_accounting *accounting = gw_accounting_open(
        &loop, &(struct gw_accounting_options){
                   .path = f->path, .cluster = "c", .on_answer = on_answer, .arg = &heard});
    hear(&loop, accounting, &heard);
    limit_files(65536);
    struct gw_accounting_row row = row_of(1, "ann", NOON, NOON + HOUR);
    for (; row.job <= ROWS; row.job++)
        gw_accounting_add(accounting, &row);
    hear(&loop, accounting, &heard);
    assert_int_equal(heard.code, 0);
    assert_in_range(heard.jobs, 1, ROWS);
    assert_int_equal(heard.jobs + heard.lost, ROWS + 1);
    limit_files(before.rlim_cur);
    gw_accounting_close(accounting);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(uv_loop_close(&loop), 0);
    expect_sums(f, ROWS + 1, 0, (ROWS + 1) * 2.0 * 3600);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(use_is_summed_for_each_user),
        TEST(a_job_of_several_days_is_divided_among_them),
        TEST(only_the_part_in_the_given_time_counts),
        TEST(a_job_that_is_stored_again_counts_once),
        TEST(jobs_come_in_pages_the_last_end_first),
        TEST(old_jobs_are_removed),
        TEST(invalid_queries_are_refused),
        TEST(jobs_that_run_count_and_are_not_stored),
        TEST(sums_come_in_pages),
        TEST(files_of_version_1_are_upgraded),
        TEST(files_of_others_are_refused),
        TEST(rows_go_to_the_file_that_is_there),
        TEST(rows_that_come_fast_are_stored_together),
        TEST(answers_have_no_jobs_beyond_the_retention),
        TEST(rows_wait_until_the_file_can_be_written),
        TEST(rows_wait_until_the_disk_has_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
