/* The event log of tasks in the scheduler's core: events in order, what is stored of large jobs,
 * and the note that events were dropped. */
#include "scheduler/core/model/logged.h"
#include "tests/unit/scheduler/sched_world.h"

#include <stdlib.h>

static const char *text_of(const struct gw_value *dict, const char *key)
{
    const char *text = "";
    assert_int_equal(gw_value_get_str(gw_value_find(dict, key), &text, NULL), 0);
    return text;
}

/* The event log of a task has these texts, in this order, and its times never go back. */
static void told(struct world *w, int64_t job, int64_t index, const char *const *wanted)
{
    struct gw_value *event_log = ask(w, "events", job, index);
    const struct gw_value *facts = gw_value_find(event_log, "events");
    int64_t before = 0;
    size_t i = 0;
    for (size_t k = 0; k < gw_value_count(facts); k++) {
        const struct gw_value *fact = gw_value_at(facts, k), *at = gw_value_find(fact, "at_ns");
        int64_t at_ns = before;
        if (at)
            assert_int_equal(gw_value_get_i64(at, &at_ns, NULL), 0);
        assert_true(at_ns >= before);
        before = at_ns;
        if (wanted[i] && strstr(text_of(fact, "text"), wanted[i]))
            i++;
    }
    if (wanted[i]) {
        for (size_t k = 0; k < gw_value_count(facts); k++)
            print_message("%s\n", text_of(gw_value_at(facts, k), "text"));
        fail_msg("not told, or not in order: %s", wanted[i]);
    }
    gw_value_unref(event_log);
}

static size_t fact_count(struct world *w, int64_t job, int64_t index)
{
    struct gw_value *event_log = ask(w, "events", job, index);
    size_t count = gw_value_count(gw_value_find(event_log, "events"));
    gw_value_unref(event_log);
    return count;
}

static void noted(struct world *w, int64_t job, const char *wanted)
{
    struct gw_value *event_log = ask(w, "events", job, 0);
    const char *note = text_of(event_log, "note");
    if (*wanted ? !strstr(note, wanted) : *note)
        fail_msg("note: \"%s\"", note);
    gw_value_unref(event_log);
}

static void end_badly(struct world *w, int worker, uint64_t attempt)
{
    attempt_ended(w, worker,
                  (struct gw_msg_ended){.attempt = attempt,
                                        .rank = GW_RANK_NONE,
                                        .outcome = GW_OUTCOME_FAILED,
                                        .executing = 1,
                                        .text = "it is broken",
                                        .stderr_tail = "first\nlast\n"});
}

static uint64_t assigned(const struct world *w, int worker)
{
    return attempt_in(must(w, WORKER + (uint64_t)worker, GW_MESSAGE_assign), 0);
}

static void event_log_shows_failure_backoff_and_retry(void **state)
{
    (void)state;
    struct world *w = new_world();
    add_worker(w, 0, 1, "h");
    send_spec(w, (struct gw_msg_spec){.key = 1, .retries = 1, .backoff_ns = 5 * MS});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    end_badly(w, 0, assigned(w, 0));
    told(w, 1, 0,
         (const char *[]){"submitted by c", "ready", "placed at h",
                          "attempt 1 failed on h: it is broken; its last line: last",
                          "waits 5ms before attempt 2", NULL});
    pass(w, 6 * MS);
    finish(w, 0, assigned(w, 0), GW_RANK_NONE, 3);
    told(w, 1, 0,
         (const char *[]){"attempt 1 failed", "ready", "placed",
                          "done after running 50ms; its "
                          "result is 3 B",
                          NULL});
    noted(w, 1, "");
    free_world(w);
}

static void event_log_shows_worker_loss_and_rerun(void **state)
{
    (void)state;
    struct world *w = new_world();
    add_worker(w, 0, 1, "h");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 2, GW_SUBMIT_LAST, true, 0});
    finish(w, 0, assigned(w, 0), GW_RANK_NONE, 1 << 20);
    told(w, 1, 1,
         (const char *[]){"depends on 1 task: f (task 0)", "ready", "most of its inputs (1.0 MiB)",
                          NULL});
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER}});
    explained_of(w, 1, 0, "no worker is left: h was lost: its connection closed, 0s");
    told(w, 1, 0,
         (const char *[]){"done", "lost with h", "runs again: its result is needed", NULL});
    told(w, 1, 1, (const char *[]){"placed", "h was lost: its connection closed", NULL});
    add_worker(w, 1, 1, "g");
    told(w, 1, 0, (const char *[]){"runs again", "placed at g", NULL});
    (void)step(w,
               (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER + 1}, .code = GW_EPERM});
    explained_of(w, 1, 0, "no worker is left: g was lost: its token was revoked, 0s");
    free_world(w);
}

/* The report of the start may arrive after the cancel request. */
static void event_log_shows_a_start_after_the_cancel_request(void **state)
{
    (void)state;
    struct world *w = new_world();
    add_worker(w, 0, 1, "h");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    uint64_t attempt = assigned(w, 0);
    uint32_t rank = GW_RANK_NONE;
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_cancel, .cancel = {5, 1, 0, 0}});
    for (int i = 0; i < 2; i++) /* a single report is enough */
        say(w, WORKER,
            (struct gw_message){.type = GW_MESSAGE_started,
                                .started = {{&attempt, 1}, {&rank, 1}}});
    told(w, 1, 0, (const char *[]){"placed at h", "to end it", "attempt 1 started", NULL});
    free_world(w);
}

/* For an ended job, explain shows the first cause and not the first task. */
static void explain_shows_the_first_cause_of_a_failed_job(void **state)
{
    (void)state;
    struct world *w = new_world();
    add_worker(w, 0, 1, "h");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 3, GW_SUBMIT_LAST, true, 0});
    finish(w, 0, assigned(w, 0), GW_RANK_NONE, 1);
    end_badly(w, 0, assigned(w, 0));
    explained(
        w, 1,
        "2 of 3 tasks failed, 1 of them without running, because of other tasks; the cause: ");
    explained(w, 1, "the cause: f (task 1 of job 1), on h: it is broken\nfirst\nlast");
    explained_of(w, 1, 0, "it is done");
    free_world(w);
}

/* Worker numbers are shown only if two workers have the same name. */
static void explain_numbers_workers_only_if_names_repeat(void **state)
{
    (void)state;
    struct world *w = new_world();
    add_worker(w, 0, 1, "h");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    explained_of(w, 1, 0, "it is at h, attempt 1");
    add_worker(w, 1, 1, "h");
    explained_of(w, 1, 0, "it is at h (worker 1), attempt 1");
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER + 1}});
    explained_of(w, 1, 0, "it is at h, attempt 1");
    free_world(w);
}

static void event_log_names_the_cancelling_user(void **state)
{
    (void)state;
    struct world *w = new_world();
    add_worker(w, 0, 1, "h");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 2, GW_SUBMIT_LAST, false, 0});
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_cancel,
                            .cancel = {.request = 2, .job = 1, .index = GW_INDEX_ALL}});
    told(w, 1, 0,
         (const char *[]){"placed", "to be cancelled, by c (user 0)", "h is told to end it", NULL});
    told(w, 1, 1, (const char *[]){"ready", "to be cancelled, by c (user 0)", "cancelled", NULL});
    free_world(w);
}

static void event_log_tells_that_an_input_was_cancelled(void **state)
{
    (void)state;
    struct world *w = new_world();
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 2, GW_SUBMIT_LAST, true, 0});
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_cancel, .cancel = {2, 1, 0, 0}});
    told(w, 1, 1,
         (const char *[]){"cancelled without running: a task that it depends on was cancelled",
                          NULL});
    free_world(w);
}

/* A client with a token has a name; its numeric user id is meaningless. */
static void event_log_names_the_cancelling_token_owner(void **state)
{
    enum { ALICE = CLIENT + 1 };
    (void)state;
    struct world *w = new_world();
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {ALICE},
                                    .role = GW_ROLE_CLIENT,
                                    .uid = 3375093766,
                                    .admin = true,
                                    .address = "10.0.0.3",
                                    .text = "gangway cancel (alice)"});
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    say(w, ALICE,
        (struct gw_message){.type = GW_MESSAGE_cancel,
                            .cancel = {.request = 2, .job = 1, .index = GW_INDEX_ALL}});
    struct gw_value *event_log = ask(w, "events", 1, 0);
    const struct gw_value *facts = gw_value_find(event_log, "events");
    const char *text = "";
    for (size_t i = 0; i < gw_value_count(facts) && !strstr(text, "cancelled, by "); i++)
        text = text_of(gw_value_at(facts, i), "text");
    assert_string_equal(text, "to be cancelled, by gangway cancel (alice)");
    gw_value_unref(event_log);
    free_world(w);
}

static void event_log_names_the_user_of_a_stop_request(void **state)
{
    (void)state;
    struct world *w = new_world();
    add_worker(w, 0, 1, "h");
    send_spec(w, (struct gw_msg_spec){.key = 1, .ranks = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    uint64_t attempt = assigned(w, 0);
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_rank_ready, .rank_ready = {attempt, 0, {"", 0}}});
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_gang_ask, .gang_ask = {7, 1, GW_ASK_STOP}});
    finish(w, 0, attempt, 0, 1);
    told(w, 1, 0,
         (const char *[]){"attempt 1 starts",
                          "attempt 1 was told to stop with its results so far by c", "done", NULL});
    free_world(w);
}

/* In a job of 2000 tasks, the first task fails and the second is slow. */
static void explain_summarizes_a_job_of_2000_tasks(void **state)
{
    (void)state;
    enum { ROWS = 2000 };
    struct world *w = new_world();
    static uint32_t zeros[ROWS], targets[ROWS];
    for (uint32_t i = 0; i < ROWS; i++)
        targets[i] = i;
    add_worker(w, 0, 1, "h");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_submit,
                            .submit = {.request = 1,
                                       .flags = GW_SUBMIT_LAST,
                                       .name = "j",
                                       .spec = {zeros, ROWS},
                                       .args_size = {zeros, ROWS},
                                       .args = {"", 0},
                                       .dep_count = {zeros, ROWS},
                                       .names = {"", 0},
                                       .targets = {targets, ROWS}}});
    assert_int_equal(fact_count(w, 1, 5), 1); /* the submission */
    told(w, 1, 0, (const char *[]){"submitted", "placed at h", NULL});
    end_badly(w, 0, assigned(w, 0));
    told(w, 1, 0, (const char *[]){"submitted", "placed at h", "it is broken", "failed", NULL});
    finish_after(w, 0, assigned(w, 0), 200 * MS);
    told(w, 1, 1, (const char *[]){"placed at h", "done after running 200ms", NULL});
    noted(w, 1, "only unusual events are kept");
    finish(w, 0, assigned(w, 0), GW_RANK_NONE, 3);
    struct gw_value *event_log =
        ask(w, "events", 1, 2); /* the task was quick: only its end is stored, without a time */
    const struct gw_value *facts = gw_value_find(event_log, "events");
    assert_int_equal(gw_value_count(facts), 2);
    assert_string_equal(text_of(gw_value_at(facts, 1), "what"), "done");
    assert_null(gw_value_find(gw_value_at(facts, 1), "at_ns"));
    gw_value_unref(event_log);
    free_world(w);
}

/* The log's memory is bounded, and the log tells that older events were dropped. A second job's
 * task fails and is retried until no event of the first job is left. */
static void event_log_is_bounded_and_reports_dropped_events(void **state)
{
    (void)state;
    struct world *w = new_world();
    add_worker(w, 0, 1, "h");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    finish(w, 0, assigned(w, 0), GW_RANK_NONE, 3);
    send_spec(w, (struct gw_msg_spec){.key = 2});
    submit(w, (struct chunk){2, 1, GW_SUBMIT_LAST, false, 0});
    noted(w, 1, "");
    for (int i = 0; i < GW_LOGGED_FACTS_MAX / 5 + 10; i++) {
        end_badly(w, 0, assigned(w, 0));
        say(w, CLIENT,
            (struct gw_message){.type = GW_MESSAGE_retry,
                                .retry = {.request = 3, .job = 2, .index = 0}});
    }
    noted(w, 1, "Older events have been dropped");
    noted(w, 2, "These are the latest 1000 of");
    told(w, 1, 0,
         (const char *[]){"submitted", "done", NULL}); /* its end, taken from the task itself */
    told(w, 2, 0, (const char *[]){"submitted", "it is broken", "its user asked for that", NULL});
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(event_log_shows_failure_backoff_and_retry),
        cmocka_unit_test(event_log_shows_worker_loss_and_rerun),
        cmocka_unit_test(event_log_names_the_cancelling_user),
        cmocka_unit_test(event_log_tells_that_an_input_was_cancelled),
        cmocka_unit_test(event_log_names_the_cancelling_token_owner),
        cmocka_unit_test(event_log_shows_a_start_after_the_cancel_request),
        cmocka_unit_test(explain_shows_the_first_cause_of_a_failed_job),
        cmocka_unit_test(explain_numbers_workers_only_if_names_repeat),
        cmocka_unit_test(explain_summarizes_a_job_of_2000_tasks),
        cmocka_unit_test(event_log_is_bounded_and_reports_dropped_events),
        cmocka_unit_test(event_log_names_the_user_of_a_stop_request),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
