/* Output that clients read and follow: scheduler/core/requests/pending_request.c. */
#include "tests/unit/scheduler/sched_world.h"

static void read_log(struct world *w, uint64_t job, uint64_t after)
{
    say(w, CLIENT,
        (struct gw_message){
            .type = GW_MESSAGE_log_read,
            .log_read = {.request = 9, .job = job, .stream = 1, .follow = true, .after = after}});
}

/* A client that follows a task's output across attempts learns that the output of the last
 * attempt is lost. */
static void lost_output_is_reported_to_a_follower(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    finish(w, 0, attempt, GW_RANK_NONE, 1);
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER}, .text = "gone"});
    read_log(w, 1, 1);
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_log_data)->log_data.code, GW_ELOST);
    read_log(w, 1, attempt);
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_log_data)->log_data.code, 0);
    assert_true(must(w, CLIENT, GW_MESSAGE_log_data)->log_data.end);
    free_world(w);
}

/* Attempt ids are reused, so a later attempt may have the smaller id. */
static void output_is_followed_to_an_attempt_with_a_smaller_id(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    for (uint64_t job = 1; job <= 4; job++) {
        send_spec(w, (struct gw_msg_spec){.key = job});
        submit(w, (struct chunk){job, job < 4 ? 1 : 2, GW_SUBMIT_LAST, false, 0});
        if (job < 4)
            finish(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0), GW_RANK_NONE, 1);
    }
    uint64_t first = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER}, .text = "gone"});
    add_worker(w, 1, 8, "b"); /* gets the lost tasks, and perhaps recomputed ones */
    const struct gw_msg_assign *assign = &must(w, WORKER + 1, GW_MESSAGE_assign)->assign;
    uint64_t second = UINT64_MAX;
    for (uint32_t i = 0; i < assign->job.count; i++)
        if (gw_col64_at(assign->job, i) == 4 && gw_col32_at(assign->index, i) == 0)
            second = gw_col64_at(assign->attempt, i);
    assert_true(second < first);
    read_log(w, 4, first);
    assert_int_equal(must(w, WORKER + 1, GW_MESSAGE_log_read)->log_read.attempt, second);
    free_world(w);
}

/* Workers disconnect when the cluster ends. A client that follows output learns of that end, not
 * of lost output: the output stays for the next scheduler. */
static void output_is_not_reported_lost_during_a_shutdown(void **state)
{
    enum { ADMIN = CLIENT + 1 };
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    must(w, WORKER, GW_MESSAGE_assign);
    read_log(w, 1, 0);
    must(w, WORKER, GW_MESSAGE_log_read);
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {ADMIN},
                                    .role = GW_ROLE_CLIENT,
                                    .admin = true,
                                    .text = "admin"});
    say(w, ADMIN,
        (struct gw_message){.type = GW_MESSAGE_shutdown,
                            .shutdown = {.request = 5, .text = "enough"}});
    must(w, WORKER, GW_MESSAGE_shutdown);
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER}, .text = "gone"});
    assert_null(sent(w, CLIENT, GW_MESSAGE_log_data, 0));
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(lost_output_is_reported_to_a_follower),
        cmocka_unit_test(output_is_followed_to_an_attempt_with_a_smaller_id),
        cmocka_unit_test(output_is_not_reported_lost_during_a_shutdown),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
