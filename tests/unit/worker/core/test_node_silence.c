/* Inactivity timeouts in the worker's core: which tasks are ended for their silence, and which are
 * not. */
#include "tests/unit/worker/core/node_world.h"

static bool measures(const struct world *w)
{
    for (size_t i = 0; i < w->effects.list.count; i++)
        if (w->effects.list.items[i].type == GW_EFFECT_MEASURE)
            return w->effects.list.items[i].number == 1;
    return false;
}

static void measured(struct world *w, uint64_t bytes)
{
    raise_event(w, (struct gw_event){.type = GW_EVENT_MEASURED, .number = 1, .bytes = bytes});
}

/* Time passes up to the next measurement. */
static void until_measured(struct world *w, uint64_t bytes)
{
    int ticks = 0;
    while (!measures(w)) {
        assert_true(++ticks < 100);
        tick(w, 10 * MS);
    }
    measured(w, bytes);
}

static struct world *world_with_limit(void)
{
    struct world *w = world_with_runner((struct gw_msg_spec){
        .inactivity_timeout_ns = 400 * MS, .grace_ns = SECOND, .output_bytes_max = 5000});
    until_measured(w, 100); /* the output size at the start */
    forget_sent(w);
    return w;
}

static void inactivity_timeout_ends_a_silent_task(void **state)
{
    struct world *w = world_with_limit();
    uint64_t start_ns = w->now_ns;
    (void)state;
    while (!sent(w, GW_MESSAGE_reap, 0))
        until_measured(w, 100);
    assert_in_range(w->now_ns - start_ns, 390 * MS, 520 * MS);
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.grace_ns, SECOND);
    dies(w, 1, 0, 15);
    const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_TIMEOUT);
    assert_non_null(strstr(ended->text, "inactivity timeout of 400ms"));
    free_world(w);
}

static void output_and_progress_reset_the_inactivity_timeout(void **state)
{
    struct world *w = world_with_limit();
    (void)state;
    for (uint64_t i = 0; i < 15; i++)
        until_measured(w, 101 + i);
    for (int i = 0; i < 5; i++) { /* a sign of life that is not forwarded */
        tick(w, 200 * MS);
        until_measured(w, 140);
        deliver(w, RUNNER + 1,
                (struct gw_message){
                    .type = GW_MESSAGE_progress,
                    .progress = {.attempt = 1, .rank = GW_RANK_NONE, .fraction = -1, .text = ""}});
    }
    assert_null(sent(w, GW_MESSAGE_progress, 0));
    tick(w, 200 * MS);
    deliver(w, RUNNER + 1,
            (struct gw_message){
                .type = GW_MESSAGE_progress,
                .progress = {.attempt = 1, .rank = GW_RANK_NONE, .fraction = 0.5, .text = "half"}});
    assert_string_equal(must_send(w, GW_MESSAGE_progress)->progress.text, "half");
    for (int i = 0; i < 5; i++) {
        tick(w, 200 * MS);
        until_measured(w, 140);
        deliver(w, RUNNER + 1,
                (struct gw_message){
                    .type = GW_MESSAGE_metric,
                    .metric = {.attempt = 1, .rank = GW_RANK_NONE, .step = i, .name = "loss"}});
    }
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    free_world(w);
}

static void says(struct world *w, uint64_t attempt, int64_t step_number)
{
    deliver(w, RUNNER + 1,
            (struct gw_message){.type = GW_MESSAGE_metric,
                                .metric = {.attempt = attempt,
                                           .rank = GW_RANK_NONE,
                                           .step = step_number,
                                           .name = "loss"}});
    deliver(w, RUNNER + 1,
            (struct gw_message){.type = GW_MESSAGE_progress,
                                .progress = {.attempt = attempt,
                                             .rank = GW_RANK_NONE,
                                             .fraction = (double)step_number / 100,
                                             .text = "so far"}});
}

static void queued(struct world *w, uint64_t bytes)
{
    raise_event(w, (struct gw_event){.type = GW_EVENT_QUEUED, .bytes = bytes});
}

/* A scheduler that reads slowly receives only the newest progress, but later every metric, and
 * every end at once. */
static void slow_scheduler_receives_only_the_newest_progress(void **state)
{
    struct world *w = world_with_limit();
    (void)state;
    queued(w, GW_NODE_SLOW_BYTES + 1);
    forget_sent(w);
    for (int64_t i = 1; i <= 1000; i++)
        says(w, 1, i);
    assert_null(sent(w, GW_MESSAGE_metric, 0));
    assert_null(sent(w, GW_MESSAGE_progress, 0));
    queued(w, GW_NODE_SLOW_BYTES);
    for (int i = 0; i < 1000; i++)
        assert_int_equal(sent(w, GW_MESSAGE_metric, i)->metric.step, i + 1);
    assert_string_equal(must_send(w, GW_MESSAGE_metric)->metric.name, "loss");
    assert_string_equal(must_send(w, GW_MESSAGE_progress)->progress.text, "so far");
    assert_null(sent(w, GW_MESSAGE_progress, 1));
    says(w, 1, 1001); /* the scheduler reads again: at once */
    assert_int_equal(sent(w, GW_MESSAGE_metric, 1000)->metric.step, 1001);
    queued(w, UINT64_C(60) << 20);
    forget_sent(w);
    says(w, 1, 1002);
    finish(w, 1, 1, GW_RANK_NONE, 0, 1000); /* before the end, which is never held back */
    assert_int_equal(must_send(w, GW_MESSAGE_metric)->metric.step, 1002);
    assert_non_null(must_send(w, GW_MESSAGE_finished));
    size_t metric = SIZE_MAX, end = SIZE_MAX;
    for (size_t i = 0; i < w->sent.count; i++)
        if (w->sent.items[i].type == GW_MESSAGE_metric)
            metric = i;
        else if (w->sent.items[i].type == GW_MESSAGE_finished)
            end = i;
    assert_true(metric < end);
    free_world(w);
}

static void prints(struct world *w, const char *text, uint64_t left_out)
{
    deliver(w, RUNNER + 1,
            (struct gw_message){.type = GW_MESSAGE_printed,
                                .printed = {.attempt = 1,
                                            .rank = GW_RANK_NONE,
                                            .stream = 1,
                                            .left_out = left_out,
                                            .data = {text, (uint32_t)strlen(text)}}});
}

/* It learns later how many bytes of output it missed. */
static void slow_scheduler_receives_a_count_of_omitted_output(void **state)
{
    struct world *w = world_with_limit();
    (void)state;
    prints(w, "first\n", 2);
    const struct gw_msg_printed *told = &must_send(w, GW_MESSAGE_printed)->printed;
    assert_int_equal(told->data.size, 6);
    assert_int_equal(told->left_out, 2);
    queued(w, GW_NODE_SLOW_BYTES + 1);
    forget_sent(w);
    prints(w, "second\n", 0);
    prints(w, "third\n", 100);
    assert_null(sent(w, GW_MESSAGE_printed, 0));
    queued(w, GW_NODE_SLOW_BYTES);
    prints(w, "last\n", 0);
    told = &must_send(w, GW_MESSAGE_printed)->printed;
    assert_int_equal(told->left_out, 113);
    assert_memory_equal(told->data.data, "last\n", 5);
    free_world(w);
}

/* Output sent before the disconnect is not sent again, and output printed meanwhile is counted. */
static void reconnected_scheduler_receives_a_count_of_missed_output(void **state)
{
    struct world *w = world_with_limit();
    (void)state;
    prints(w, "first\n", 0);
    must_send(w, GW_MESSAGE_printed);
    raise_event(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = ""});
    forget_sent(w);
    prints(w, "second\n", 0);
    open_scheduler(w);
    assert_null(sent(w, GW_MESSAGE_printed, 0));
    prints(w, "last\n", 0);
    const struct gw_msg_printed *told = &must_send(w, GW_MESSAGE_printed)->printed;
    assert_int_equal(told->left_out, 7);
    assert_int_equal(told->data.size, 5);
    assert_memory_equal(told->data.data, "last\n", 5);
    free_world(w);
}

static void output_beyond_its_limit_resets_the_inactivity_timeout(void **state)
{
    struct world *w = world_with_limit();
    (void)state;
    for (int i = 0; i < 15; i++)
        until_measured(w, 5000);
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    free_world(w);
}

static void task_blocked_on_its_output_reader_is_not_inactive(void **state)
{
    struct world *w = world_with_limit();
    (void)state;
    for (int i = 0; i < 20; i++)
        until_measured(w, UINT64_MAX);
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    while (!sent(w, GW_MESSAGE_reap, 0))
        until_measured(w, 100);
    free_world(w);
}

static void late_output_measurement_does_not_affect_the_next_task(void **state)
{
    struct world *w = world_with_limit();
    (void)state;
    finish(w, 1, 1, GW_RANK_NONE, 0, 1000);
    tick(w, 100 * MS);
    assert_false(measures(w)); /* nothing runs */
    measured(w, 100);
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 2, .index = 1});
    until_measured(w, 100);
    tick(w, 300 * MS); /* the next task has a timeout of its own */
    measured(w, 100);
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    free_world(w);
}

static void progress_of_an_unknown_attempt_is_refused(void **state)
{
    struct world *w = world_with_limit();
    const struct gw_message message = {
        .type = GW_MESSAGE_progress,
        .sequence = 1000,
        .progress = {.attempt = 77, .rank = GW_RANK_NONE, .fraction = 0.5, .text = ""}};
    (void)state;
    assert_int_equal(deliver_with(w, RUNNER + 1, message, NULL, 0), GW_EPROTO);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(inactivity_timeout_ends_a_silent_task),
        cmocka_unit_test(output_and_progress_reset_the_inactivity_timeout),
        cmocka_unit_test(slow_scheduler_receives_only_the_newest_progress),
        cmocka_unit_test(slow_scheduler_receives_a_count_of_omitted_output),
        cmocka_unit_test(reconnected_scheduler_receives_a_count_of_missed_output),
        cmocka_unit_test(output_beyond_its_limit_resets_the_inactivity_timeout),
        cmocka_unit_test(task_blocked_on_its_output_reader_is_not_inactive),
        cmocka_unit_test(late_output_measurement_does_not_affect_the_next_task),
        cmocka_unit_test(progress_of_an_unknown_attempt_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
