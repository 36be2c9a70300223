/* The worker's core: CPU time of attempts, which it tells before their ends. */
#include "tests/unit/worker/core/node_world.h"

static void says_used(struct world *w, uint64_t process, uint64_t cpu_ns)
{
    deliver(w, RUNNER + process,
            (struct gw_message){.type = GW_MESSAGE_used, .used = {.cpu_ns = cpu_ns}});
}

/* A process ends; its reaper says how much it used. */
static void dies_having_used(struct world *w, uint64_t process, int exit_code, uint64_t cpu_ns)
{
    exits(w, process, exit_code, 0);
    runner_closes(w, process);
    deliver(w, SUPERVISOR,
            (struct gw_message){.type = GW_MESSAGE_reaped,
                                .reaped = {.process = process, .cpu_ns = cpu_ns}});
}

/* Expects the CPU time of an attempt in row `row` of the nth such message. */
static void expect_cpu(const struct world *w, size_t nth, uint32_t row, uint64_t attempt,
                       uint32_t rank, uint64_t cpu_ns)
{
    const struct gw_message *message = sent(w, GW_MESSAGE_measured, nth);
    assert_non_null(message);
    assert_int_equal(gw_col64_at(message->measured.attempt, row), attempt);
    assert_int_equal(gw_col32_at(message->measured.rank, row), rank);
    assert_int_equal(gw_col64_at(message->measured.cpu_ns, row), cpu_ns);
    assert_int_equal(gw_col64_at(message->measured.bytes, row), 0);
}

/* Two functions end together after 10 ms and 30 ms. */
static void attempts_share_what_their_runner_used(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){.slots = 2});
    const uint64_t attempts[] = {2, 3}, bytes[] = {1, 1}, run_ns[] = {10 * MS, 30 * MS};
    const uint32_t ranks[] = {GW_RANK_NONE, GW_RANK_NONE}, sizes[] = {1, 1};
    (void)state;
    says_used(w, 1, 5 * MS);
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 1, 1000), 0);
    expect_cpu(w, 0, 0, 1, GW_RANK_NONE, 5 * MS);
    for (uint32_t i = 2; i <= 3; i++)
        must_assign(w, (struct task){.attempt = i, .index = i});
    forget_sent(w);
    says_used(w, 1, 13 * MS);
    deliver(w, RUNNER + 1,
            (struct gw_message){.type = GW_MESSAGE_finished,
                                .finished = {.attempt = {attempts, 2},
                                             .rank = {ranks, 2},
                                             .bytes = {bytes, 2},
                                             .value_size = {sizes, 2},
                                             .values = {"\0\0", 2},
                                             .run_ns = {run_ns, 2}}});
    expect_cpu(w, 0, 0, 2, GW_RANK_NONE, 2 * MS);
    expect_cpu(w, 0, 1, 3, GW_RANK_NONE, 6 * MS);
    assert_null(sent(w, GW_MESSAGE_measured, 1));
    free_world(w);
}

/* A runner that crashes could not report what it used. */
static void crashed_attempt_gets_what_its_runner_used_since(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    (void)state;
    says_used(w, 1, 5 * MS);
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 1, 1000), 0);
    must_assign(w, (struct task){.attempt = 2, .index = 2});
    forget_sent(w);
    dies_having_used(w, 1, 1, 12 * MS);
    expect_cpu(w, 0, 0, 2, GW_RANK_NONE, 7 * MS);
    assert_int_equal(must_send(w, GW_MESSAGE_ended)->ended.attempt, 2);
    free_world(w);
}

/* Commands: one ends well, one fails while there is no scheduler. */
static void cpu_time_of_commands_reaches_the_next_scheduler(void **state)
{
    struct world *w = new_world(2);
    (void)state;
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND});
    for (uint32_t i = 1; i <= 2; i++) {
        must_assign(w, (struct task){.attempt = i, .index = i});
        spawned(w, i, 0, "");
    }
    forget_sent(w);
    dies_having_used(w, 1, 0, 20 * MS);
    expect_cpu(w, 0, 0, 1, GW_RANK_NONE, 20 * MS);
    raise_event(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = ""});
    forget_sent(w);
    dies_having_used(w, 2, 3, 30 * MS);
    assert_null(sent(w, GW_MESSAGE_measured, 0));
    w->lives++;
    open_scheduler(w);
    expect_cpu(w, 0, 0, 1, GW_RANK_NONE, 20 * MS); /* its good end is reported again, too */
    expect_cpu(w, 1, 0, 2, GW_RANK_NONE, 30 * MS);
    free_world(w);
}

/* A command that runs: its CPU time is measured at times, and told while it runs. The peak of its
 * cgroup is told at its end. */
static void cpu_time_is_told_while_a_command_runs_and_its_peak_at_its_end(void **state)
{
    struct world *w = new_world(1);
    struct gw_process_use use = {.process = 1, .bytes = 1000, .cpu_ns = 15 * MS};
    const struct gw_event measured = {.type = GW_EVENT_USAGE, .uses = &use, .use_count = 1};
    (void)state;
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND});
    must_assign(w, (struct task){.attempt = 1, .index = 1});
    spawned(w, 1, 0, "");
    forget_sent(w);
    raise_event(w, measured);
    expect_cpu(w, 0, 0, 1, GW_RANK_NONE, 0);
    assert_int_equal(gw_col64_at(sent(w, GW_MESSAGE_measured, 0)->measured.so_far_ns, 0), 15 * MS);
    use.cpu_ns = 0; /* not measured */
    raise_event(w, measured);
    assert_null(sent(w, GW_MESSAGE_measured, 1));
    forget_sent(w);
    exits(w, 1, 0, 0);
    runner_closes(w, 1);
    deliver(w, SUPERVISOR,
            (struct gw_message){.type = GW_MESSAGE_reaped,
                                .reaped = {.process = 1, .cpu_ns = 20 * MS, .peak_bytes = 7000}});
    const struct gw_msg_measured *end = &sent(w, GW_MESSAGE_measured, 0)->measured;
    assert_int_equal(gw_col64_at(end->cpu_ns, 0), 20 * MS);
    assert_int_equal(gw_col64_at(end->bytes, 0), 7000);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(attempts_share_what_their_runner_used),
        cmocka_unit_test(crashed_attempt_gets_what_its_runner_used_since),
        cmocka_unit_test(cpu_time_of_commands_reaches_the_next_scheduler),
        cmocka_unit_test(cpu_time_is_told_while_a_command_runs_and_its_peak_at_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
