/* Which jobs a client selects, and pages of listings, by messages as a client sends them. */
#include "tests/unit/scheduler/sched_world.h"

#include "graph/wire/codec.h"
#include "graph/wire/frame.h"
#include "scheduler/core/view/page.h"

#include <stdio.h>
#include <stdlib.h>

enum { STRANGER = CLIENT + 1, ADMIN };

/* Connections of CLIENT, a stranger and an admin; there is no worker, so all jobs are queued. */
static struct world *with_users(void)
{
    struct world *w = new_world();
    for (uint64_t peer = STRANGER; peer <= ADMIN; peer++)
        (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                        .peer = {peer},
                                        .uid = (uint32_t)(1000 + peer),
                                        .role = GW_ROLE_CLIENT,
                                        .admin = peer == ADMIN,
                                        .text = "another"});
    return w;
}

/* A job of several tasks, each with the next of several specs; returns its id. */
struct rows {
    uint64_t peer, request;
    const char *name;
    uint32_t count, specs;
};
static int64_t submit_rows(struct world *w, struct rows rows)
{
    uint32_t *zeros = calloc(rows.count, sizeof *zeros), *spec = calloc(rows.count, sizeof *spec);
    assert_true(zeros && spec);
    for (uint32_t i = 0; i < rows.count; i++)
        spec[i] = i % rows.specs;
    say(w, rows.peer,
        (struct gw_message){.type = GW_MESSAGE_submit,
                            .submit = {.request = rows.request,
                                       .flags = GW_SUBMIT_LAST,
                                       .name = rows.name,
                                       .spec = {spec, rows.count},
                                       .args_size = {zeros, rows.count},
                                       .args = {"", 0},
                                       .dep_count = {zeros, rows.count},
                                       .names = {"", 0}}});
    free(zeros);
    free(spec);
    return (int64_t)must(w, rows.peer, GW_MESSAGE_accepted)->accepted.job;
}

static void spec_as(struct world *w, uint64_t peer, uint64_t key, uint32_t number,
                    const char *annotations)
{
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_spec,
                            .spec = {.key = key,
                                     .number = number,
                                     .kind = GW_SPEC_FUNCTION,
                                     .function = "f",
                                     .cwd = "",
                                     .annotations = annotations}});
}

/* A job of one task submitted by a peer; returns its id. */
static int64_t submit_as(struct world *w, uint64_t peer, const char *name, const char *annotations)
{
    static uint64_t request = 100;
    spec_as(w, peer, ++request, 0, annotations);
    return submit_rows(w, (struct rows){peer, request, name, 1, 1});
}

static struct gw_value *dict_of(const char *key, struct gw_value *value)
{
    struct gw_value *dict = gw_dict();
    assert_int_equal(gw_dict_set(dict, key, value), 0);
    return dict;
}

/* The code of a query's answer and, if that is 0, the answer; takes the arguments. */
static int32_t query_as(struct world *w, uint64_t peer, const char *what,
                        struct gw_value *arguments, struct gw_value **answer)
{
    struct gw_buffer bytes = {0};
    assert_int_equal(gw_codec_encode(arguments, NULL, &bytes), 0);
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_query,
                            .query = {.request = 7,
                                      .what = what,
                                      .arguments = {bytes.data, (uint32_t)bytes.size}}});
    const struct gw_msg_reply *reply = &must(w, peer, GW_MESSAGE_reply)->reply;
    assert_true(reply->body.size < GW_FRAME_BYTES_MAX);
    if (reply->code == 0)
        assert_int_equal(gw_codec_decode(reply->body.data, reply->body.size, NULL, answer, NULL),
                         0);
    gw_buffer_deinit(&bytes);
    gw_value_unref(arguments);
    return reply->code;
}

static int64_t number_of(const struct gw_value *dict, const char *key)
{
    int64_t number = -1;
    (void)gw_value_get_i64(gw_value_find(dict, key), &number, NULL);
    return number;
}

/* The ids of all selected jobs, in the order of the listing, as "3 2 1"; takes the arguments. pages
 * (not NULL): the number of pages. */
static const char *jobs_as(struct world *w, uint64_t peer, struct gw_value *arguments, int *pages)
{
    static char text[4096];
    size_t used = 0;
    int64_t next = 0;
    int count = 0;
    *text = '\0';
    while (next >= 0) {
        struct gw_value *answer;
        assert_int_equal(gw_dict_set(arguments, "cursor", gw_i64(next)), 0);
        assert_int_equal(query_as(w, peer, "jobs", gw_value_ref(arguments), &answer), 0);
        const struct gw_value *rows = gw_value_find(answer, "rows");
        for (size_t i = 0; i < gw_value_count(rows); i++)
            used += (size_t)snprintf(text + used, sizeof text - used, "%s%lld", used ? " " : "",
                                     (long long)number_of(gw_value_at(rows, i), "id"));
        next = number_of(answer, "next");
        gw_value_unref(answer);
        count++;
    }
    gw_value_unref(arguments);
    if (pages)
        *pages = count;
    return text;
}

static void job_selection_is_limited_to_own_jobs(void **state)
{
    struct world *w = with_users();
    (void)state;
    const int64_t first = submit_as(w, CLIENT, "train", "");
    assert_int_equal(first, 1);
    (void)submit_as(w, CLIENT, "train", "");
    (void)submit_as(w, STRANGER, "train", "");
    (void)submit_as(w, STRANGER, "other", "");
    assert_string_equal(jobs_as(w, CLIENT, dict_of("name", gw_str("train")), NULL), "2");
    assert_string_equal(jobs_as(w, STRANGER, dict_of("name", gw_str("train")), NULL), "3");
    assert_string_equal(jobs_as(w, CLIENT, dict_of("name", gw_str("other")), NULL), "");
    assert_string_equal(jobs_as(w, CLIENT, dict_of("last", gw_bool(true)), NULL), "2");
    assert_string_equal(jobs_as(w, CLIENT, dict_of("all", gw_bool(true)), NULL), "2 1");
    assert_string_equal(jobs_as(w, ADMIN, dict_of("all", gw_bool(true)), NULL), "");
    assert_string_equal(jobs_as(w, CLIENT, gw_dict(), NULL),
                        "4 3 2 1"); /* all jobs were requested */
    free_world(w);
}

static void job_selection_includes_other_users_on_request(void **state)
{
    struct world *w = with_users();
    (void)state;
    (void)submit_as(w, CLIENT, "train", "");
    (void)submit_as(w, STRANGER, "train", "");
    struct gw_value *everybody = dict_of("all", gw_bool(true));
    struct gw_value *strangers = dict_of("all", gw_bool(true));
    assert_int_equal(gw_dict_set(everybody, "all_users", gw_bool(true)), 0);
    assert_int_equal(gw_dict_set(strangers, "user", gw_str("1002")), 0);
    assert_string_equal(jobs_as(w, ADMIN, everybody, NULL), "2 1");
    assert_string_equal(jobs_as(w, ADMIN, strangers, NULL), "2");
    free_world(w);
}

static struct gw_value *range(int64_t first, int64_t last)
{
    struct gw_value *pair = gw_list();
    assert_int_equal(gw_list_push(pair, gw_i64(first)), 0);
    assert_int_equal(gw_list_push(pair, gw_i64(last)), 0);
    return pair;
}

static void job_id_ranges_select_existing_jobs(void **state)
{
    struct world *w = with_users();
    struct gw_value *ranges = gw_list(), *answer;
    (void)state;
    for (int i = 0; i < 12; i++)
        (void)submit_as(w, CLIENT, "a", "");
    assert_int_equal(gw_list_push(ranges, range(2, 3)), 0);
    assert_int_equal(gw_list_push(ranges, range(11, 5000000000)), 0);
    assert_int_equal(gw_list_push(ranges, range(7, 9)), 0);
    assert_int_equal(gw_list_push(ranges, range(8, 10)), 0);
    assert_string_equal(jobs_as(w, CLIENT, dict_of("ranges", ranges), NULL), "12 11 10 9 8 7 3 2");
    assert_int_equal(query_as(w, CLIENT, "jobs", dict_of("ranges", gw_list()), &answer), GW_EINVAL);
    assert_int_equal(query_as(w, CLIENT, "jobs", dict_of("state", gw_str("tired")), &answer),
                     GW_EINVAL);
    free_world(w);
}

static void job_selection_filters_by_state_and_time(void **state)
{
    struct world *w = with_users();
    (void)state;
    (void)submit_as(w, CLIENT, "a", "");
    (void)submit_as(w, CLIENT, "b", "");
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_cancel,
                            .cancel = {.request = 5, .job = 1, .index = GW_INDEX_ALL}});
    assert_string_equal(jobs_as(w, CLIENT, dict_of("state", gw_str("cancelled")), NULL), "1");
    assert_string_equal(jobs_as(w, CLIENT, dict_of("state", gw_str("queued")), NULL), "2");
    assert_string_equal(jobs_as(w, CLIENT, dict_of("state", gw_str("ended")), NULL), "1");
    assert_string_equal(jobs_as(w, CLIENT, dict_of("unfinished", gw_bool(true)), NULL), "2");
    assert_string_equal(jobs_as(w, CLIENT, dict_of("since_ns", gw_i64(INT64_MAX)), NULL), "");
    free_world(w);
}

/* 300 jobs with 4,000 bytes of annotations each exceed a message. */
static void job_listing_is_split_into_pages(void **state)
{
    enum { JOBS = 300 };
    char note[4096];
    struct world *w = with_users();
    int pages, jobs = 0;
    (void)state;
    memset(note, 'x', 4000);
    memcpy(note, "note=", 5);
    note[4000] = '\0';
    for (int i = 0; i < JOBS; i++)
        (void)submit_as(w, CLIENT, "a", note);
    for (const char *at = jobs_as(w, STRANGER, gw_dict(), &pages); at; at = strchr(at, ' ')) {
        at += *at == ' ';
        assert_int_equal(strtol(at, NULL, 10), JOBS - jobs);
        jobs++;
    }
    assert_int_equal(jobs, JOBS);
    assert_true(pages > 1);
    free_world(w);
}

static void rows_beyond_the_limit_are_counted(void **state)
{
    struct world *w = with_users();
    struct gw_value *arguments = dict_of("limit", gw_i64(3)), *answer;
    (void)state;
    for (int i = 0; i < 10; i++)
        (void)submit_as(w, CLIENT, "a", "");
    assert_int_equal(gw_dict_set(arguments, "count", gw_bool(true)), 0);
    assert_int_equal(query_as(w, CLIENT, "jobs", arguments, &answer), 0);
    assert_int_equal(gw_value_count(gw_value_find(answer, "rows")), 3);
    assert_int_equal(number_of(answer, "more"), 7);
    assert_null(gw_value_find(answer, "next"));
    gw_value_unref(answer);
    free_world(w);
}

/* A row of 16 specs with 4,090 bytes each is longer than a row may be. */
static void too_long_listing_row_is_shortened_with_a_mark(void **state)
{
    enum { SPECS = 20 };
    char note[4096], key[8];
    struct world *w = with_users();
    struct gw_value *answer;
    const char *text;
    (void)state;
    for (uint32_t i = 0; i < SPECS; i++) {
        (void)snprintf(key, sizeof key, "k%02u=", i);
        memset(note, 'x', 4090);
        memcpy(note, key, 4);
        note[4090] = '\0';
        spec_as(w, CLIENT, 9, i, note);
    }
    (void)submit_rows(w, (struct rows){CLIENT, 9, "long", SPECS, SPECS});
    assert_int_equal(query_as(w, CLIENT, "jobs", gw_dict(), &answer), 0);
    const struct gw_value *row = gw_value_at(gw_value_find(answer, "rows"), 0);
    const struct gw_value *notes = gw_value_find(row, "annotations");
    assert_int_equal(gw_value_get_str(gw_value_find(notes, "k00"), &text, NULL), 0);
    assert_non_null(strstr(text, "more bytes)"));
    assert_int_equal(number_of(row, "id"), 1);
    gw_value_unref(answer);
    free_world(w);
}

/* The search for such a job and its row together take more than the time of a page. */
static void job_with_many_specs_still_appears_on_its_page(void **state)
{
    enum { SPECS = 500 };
    struct world *w = with_users();
    struct gw_value *answer, *arguments = dict_of("where", dict_of("k", gw_str("v")));
    (void)state;
    for (uint32_t i = 0; i < SPECS; i++)
        spec_as(w, CLIENT, 9, i, "k=v");
    (void)submit_rows(w, (struct rows){CLIENT, 9, "many", SPECS, SPECS});
    assert_int_equal(gw_dict_set(arguments, "cursor", gw_i64(0)), 0);
    assert_int_equal(query_as(w, CLIENT, "jobs", arguments, &answer), 0);
    assert_int_equal(gw_value_count(gw_value_find(answer, "rows")), 1);
    gw_value_unref(answer);
    free_world(w);
}

/* The page is requested after the job at which it begins was forgotten. */
static void page_cursor_survives_the_removal_of_its_job(void **state)
{
    struct world *w = new_world_with((struct gw_sched_options){.history_jobs = 1});
    struct gw_value *arguments = dict_of("cursor", gw_i64(2));
    (void)state;
    for (int i = 0; i < 4; i++)
        (void)submit_as(w, CLIENT, "a", "");
    for (uint64_t job = 2; job <= 3; job++)
        say(w, CLIENT,
            (struct gw_message){
                .type = GW_MESSAGE_cancel,
                .cancel = {.request = 5, .job = (uint64_t)job, .index = GW_INDEX_ALL}});
    struct gw_value *answer;
    assert_int_equal(query_as(w, CLIENT, "jobs", arguments, &answer), 0);
    assert_int_equal(gw_value_count(gw_value_find(answer, "rows")), 1);
    assert_int_equal(number_of(gw_value_at(gw_value_find(answer, "rows"), 0), "id"), 1);
    gw_value_unref(answer);
    free_world(w);
}

static void limit_of_the_history_can_be_changed(void **state)
{
    struct world *w = new_world();
    (void)state;
    for (uint32_t limit = 3; limit >= 2; limit--) {
        gw_sched_term_limit(w->sched, &(struct gw_sched_limits){.history_jobs = limit});
        for (uint64_t i = 0; i < 4; i++) {
            const int64_t job = submit_as(w, CLIENT, "a", "");
            say(w, CLIENT,
                (struct gw_message){
                    .type = GW_MESSAGE_cancel,
                    .cancel = {.request = 5, .job = (uint64_t)job, .index = GW_INDEX_ALL}});
        }
        assert_string_equal(jobs_as(w, CLIENT, dict_of("all", gw_bool(true)), NULL),
                            limit == 3 ? "4 3 2" : "8 7");
    }
    free_world(w);
}

static void task_listing_is_split_into_pages(void **state)
{
    struct world *w = with_users();
    struct gw_value *answer;
    int64_t next = 0, seen = 0;
    int pages = 0;
    (void)state;
    spec_as(w, CLIENT, 1, 0, "");
    (void)submit_rows(w, (struct rows){CLIENT, 1, "many", 1200, 1});
    for (; next >= 0; pages++) {
        struct gw_value *arguments = dict_of("job", gw_i64(1));
        assert_int_equal(gw_dict_set(arguments, "cursor", gw_i64(next)), 0);
        assert_int_equal(query_as(w, CLIENT, "tasks", arguments, &answer), 0);
        const struct gw_value *rows = gw_value_find(answer, "rows");
        for (size_t i = 0; i < gw_value_count(rows); i++)
            assert_int_equal(number_of(gw_value_at(rows, i), "index"), seen++);
        next = number_of(answer, "next");
        gw_value_unref(answer);
    }
    assert_int_equal(seen, 1200);
    assert_true(pages > 2);
    free_world(w);
}

/* However few units are left, one item is examined, so that each page makes progress. */
static void page_stops_at_its_work_limit(void **state)
{
    struct gw_page page;
    uint32_t spent = 0;
    (void)state;
    gw_page_init(&page, 0);
    assert_true(gw_page_spend(&page, GW_PAGE_UNITS + 1, 7));
    assert_false(gw_page_spend(&page, 1, 6));
    assert_true(page.more && page.next == 6);
    gw_value_unref(page.rows);
    gw_page_init(&page, 0);
    while (gw_page_spend(&page, 100, 5))
        spent += 100;
    assert_int_equal(spent, GW_PAGE_UNITS);
    gw_value_unref(page.rows);
}

/* The row that reaches the byte limit is still added; the next row is not. */
static void page_stops_at_its_byte_limit(void **state)
{
    static char text[GW_PAGE_ROW_BYTES - 5];
    struct gw_page page;
    (void)state;
    memset(text, 'x', sizeof text - 1);
    gw_page_init(&page, 0);
    while (!gw_page_is_full(&page, 9))
        gw_page_push(&page, gw_str(text));
    assert_int_equal(gw_value_count(page.rows), GW_PAGE_BYTES / GW_PAGE_ROW_BYTES + 1);
    assert_true(page.more && page.next == 9);
    gw_value_unref(page.rows);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(job_selection_is_limited_to_own_jobs),
        cmocka_unit_test(job_selection_includes_other_users_on_request),
        cmocka_unit_test(job_id_ranges_select_existing_jobs),
        cmocka_unit_test(job_selection_filters_by_state_and_time),
        cmocka_unit_test(job_listing_is_split_into_pages),
        cmocka_unit_test(rows_beyond_the_limit_are_counted),
        cmocka_unit_test(too_long_listing_row_is_shortened_with_a_mark),
        cmocka_unit_test(job_with_many_specs_still_appears_on_its_page),
        cmocka_unit_test(page_cursor_survives_the_removal_of_its_job),
        cmocka_unit_test(limit_of_the_history_can_be_changed),
        cmocka_unit_test(task_listing_is_split_into_pages),
        cmocka_unit_test(page_stops_at_its_work_limit),
        cmocka_unit_test(page_stops_at_its_byte_limit),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
