/* The scheduler's core, decision by decision: the messages it sends for its events. The simulator
 * covers long runs and faults. */
#include "tests/unit/scheduler/sched_world.h"

/* -- Tests ---------------------------------------------------------------------------------------
 */

static void task_end_is_reported_once(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_accepted)->accepted.job, 1);
    must(w, WORKER, GW_MESSAGE_spec);
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    finish(w, 0, attempt, GW_RANK_NONE, 3);
    const struct gw_msg_done *done = &must(w, CLIENT, GW_MESSAGE_done)->done;
    assert_int_equal(done->request.count, 1);
    assert_int_equal(gw_col32_at(done->rank, 0), GW_RANK_NONE);
    assert_memory_equal(done->values.data, "123", 3);
    finish(w, 0, attempt, GW_RANK_NONE, 3); /* reported twice: the attempt is over */
    assert_null(sent(w, CLIENT, GW_MESSAGE_done, 0));
    free_world(w);
}

static bool is_held(const struct world *w, uint32_t type)
{
    const struct gw_effect *effect;
    GW_ARRAY_EACH (&w->effects.list, effect)
        if (effect->type == GW_EFFECT_SEND && effect->message.type == type)
            return effect->held;
    fail_msg("it was not sent");
    return false;
}

static void quiet_submission_batches_only_its_acceptance(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST | GW_SUBMIT_QUIET, false, 0});
    assert_true(is_held(w, GW_MESSAGE_accepted));
    assert_false(is_held(w, GW_MESSAGE_assign));
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    finish(w, 0, attempt, GW_RANK_NONE, 3);
    assert_false(is_held(w, GW_MESSAGE_done));
    send_spec(w, (struct gw_msg_spec){.key = 2});
    submit(w, (struct chunk){2, 1, GW_SUBMIT_LAST, false, 0});
    assert_false(is_held(w, GW_MESSAGE_accepted));
    submit(w, (struct chunk){3, 1, GW_SUBMIT_LAST | GW_SUBMIT_QUIET, false, 0}); /* without spec */
    assert_false(is_held(w, GW_MESSAGE_rejected));
    free_world(w);
}

static void oversized_task_is_refused_with_the_missing_resource(void **state)
{
    struct world *w = new_world();
    (void)state;
    send_spec(w,
              (struct gw_msg_spec){
                  .key = 1, .slots = 9}); /* no worker is connected yet: a suitable one may come */
    assert_null(sent(w, CLIENT, GW_MESSAGE_rejected, 0));
    add_worker(w, 0, 2, "a");
    add_worker(w, 1, 2, "b");
    send_spec(w, (struct gw_msg_spec){.key = 2, .slots = 3});
    const struct gw_msg_rejected *rejected = &must(w, CLIENT, GW_MESSAGE_rejected)->rejected;
    assert_int_equal(rejected->code, GW_EINFEASIBLE);
    assert_non_null(strstr(rejected->text, "3 slots"));
    assert_non_null(strstr(rejected->text, "2 slots"));
    send_spec(w, (struct gw_msg_spec){.key = 3, .ranks = 5});
    rejected = &must(w, CLIENT, GW_MESSAGE_rejected)->rejected;
    assert_non_null(strstr(rejected->text, "a gang of 5"));
    assert_non_null(strstr(rejected->text, "4 slots"));
    send_spec(w, (struct gw_msg_spec){
                     .key = 3, .number = 1}); /* the message was on its way: no protocol error */
    submit(w, (struct chunk){3, 1, GW_SUBMIT_LAST, false, 0});
    assert_null(sent(w, CLIENT, GW_MESSAGE_rejected, 0));
    free_world(w);
}

static void task_is_placed_at_the_worker_with_its_input(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker_with(w, 0, 4, "a", 100);
    add_worker_with(w, 1, 2, "b", 1000); /* fewer slots, but the only worker with enough memory */
    send_spec(w, (struct gw_msg_spec){.key = 1, .memory_bytes = 900});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    const struct gw_message *assign = must(w, WORKER + 1, GW_MESSAGE_assign);
    finish(w, 1, attempt_in(assign, 0), GW_RANK_NONE, 1000000);
    assert_int_equal(gw_col32_at(must(w, CLIENT, GW_MESSAGE_done)->done.value_size, 0), 0);

    uint32_t zero = 0, one = 1;
    uint64_t job = 1;
    send_spec(w, (struct gw_msg_spec){.key = 2});
    struct gw_message user = {.type = GW_MESSAGE_submit};
    user.submit = (struct gw_msg_submit){.request = 2,
                                         .flags = GW_SUBMIT_LAST,
                                         .name = "",
                                         .spec = {&zero, 1},
                                         .args_size = {&zero, 1},
                                         .dep_count = {&one, 1},
                                         .dep_job = {&job, 1},
                                         .dep_index = {&zero, 1},
                                         .dep_rank = {&zero, 1}};
    say(w, CLIENT, user);
    assign = must(w, WORKER + 1, GW_MESSAGE_assign);
    assert_int_equal(gw_col64_at(assign->assign.dep_bytes, 0), 1000000);
    assert_int_equal(gw_col32_at(assign->assign.dep_worker, 0), 2);
    free_world(w);
}

static void gang_is_packed_on_few_workers_and_starts_together(void **state)
{
    struct world *w = new_world();
    uint64_t attempt = 0;
    (void)state;
    add_worker(w, 0, 3, "b");
    add_worker(w, 1, 1, "c");
    add_worker(w, 2, 2, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1, .ranks = 4});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_gang, 0)); /* two workers suffice */
    const struct gw_msg_gang *gang = &must(w, WORKER + 2, GW_MESSAGE_gang)->gang;
    assert_int_equal(gang->first_rank, 0); /* ordered by host */
    assert_int_equal(gang->world, 4);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gang)->gang.first_rank, 1);
    attempt = gang->attempt;
    for (uint32_t rank = 0; rank < 4; rank++) {
        assert_null(sent(w, WORKER, GW_MESSAGE_gang_start, 0));
        say(w, WORKER + (rank < 1 ? 2 : 0),
            (struct gw_message){.type = GW_MESSAGE_rank_ready,
                                .rank_ready = {attempt, rank, {"\x80", rank == 0}}});
    }
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gang_start)->gang_start.info.size, 1);
    must(w, WORKER + 2, GW_MESSAGE_gang_start);

    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_ended,
                            .ended = {.attempt = attempt,
                                      .rank = 3,
                                      .outcome = GW_OUTCOME_CRASHED,
                                      .signal = 9,
                                      .executing = 1,
                                      .text = "signal 9",
                                      .stderr_tail = "last line"}});
    assert_int_equal(must(w, WORKER, GW_MESSAGE_kill)->kill.reason, GW_KILL_GANG);
    assert_int_equal(must(w, WORKER + 2, GW_MESSAGE_kill)->kill.grace_ns, 200 * MS);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_null(sent(w, CLIENT, GW_MESSAGE_failed, 0));
        say(w, WORKER + (rank < 1 ? 2 : 0),
            (struct gw_message){.type = GW_MESSAGE_ended,
                                .ended = {.attempt = attempt,
                                          .rank = rank,
                                          .outcome = GW_OUTCOME_KILLED,
                                          .executing = 1,
                                          .text = "killed",
                                          .stderr_tail = ""}});
    }
    const struct gw_msg_failed *failed = &must(w, CLIENT, GW_MESSAGE_failed)->failed;
    assert_int_equal(failed->code, GW_ECRASHED);
    assert_int_equal(failed->exit_code, 128 + 9);
    assert_non_null(strstr(failed->text, "rank 3 on b: signal 9\nlast line"));
    free_world(w);
}

static void input_from_all_ranks_has_one_entry_plus_one_for_each_rank(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1, .ranks = 2});
    submit(w, (struct chunk){1, 2, GW_SUBMIT_LAST, true, GW_DEP_ALL});
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    for (uint32_t rank = 0; rank < 2; rank++)
        say(w, WORKER,
            (struct gw_message){.type = GW_MESSAGE_rank_ready,
                                .rank_ready = {attempt, rank, {"", 0}}});
    finish(w, 0, attempt, 0, 4);
    finish(w, 0, attempt, 1, 5);
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_done)->done.request.count, 2);
    const struct gw_msg_assign *next = &must(w, WORKER, GW_MESSAGE_assign)->assign;
    assert_int_equal(gw_col32_at(next->dep_count, 0), 3);
    assert_int_equal(gw_col32_at(next->dep_rank, 0), GW_DEP_ALL);
    assert_int_equal(gw_col64_at(next->dep_bytes, 0), 2);
    assert_int_equal(gw_col32_at(next->dep_rank, 2), 1);
    assert_int_equal(gw_col32_at(next->dep_value_size, 2), 5);
    free_world(w);
}

static void detached_job_is_acknowledged_after_its_commit(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    assert_null(sent(w, CLIENT, GW_MESSAGE_accepted, 0));
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    uint64_t number = 0;
    for (size_t i = 0; i < w->effects.list.count; i++)
        if (w->effects.list.items[i].type == GW_EFFECT_COMMIT)
            number = w->effects.list.items[i].number;
    assert_int_not_equal(number, 0);
    (void)step(w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = number});
    must(w, CLIENT, GW_MESSAGE_accepted);
    finish(w, 0, attempt, GW_RANK_NONE, 3);
    assert_null(sent(w, CLIENT, GW_MESSAGE_done, 0));
    (void)step(w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = number + 1});
    must(w, CLIENT, GW_MESSAGE_done);
    free_world(w);
}

/* Task 0 of job 1 has a large result at a; b has nothing. */
static struct world *world_with_a_result(void)
{
    struct world *w = new_world();
    add_worker(w, 0, 1, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    finish(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0), GW_RANK_NONE, 1000000);
    add_worker(w, 1, 1, "b");
    return w;
}

static void lost_result_is_recomputed(void **state)
{
    struct world *w = world_with_a_result();
    (void)state;
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER}});
    const struct gw_message *assign = must(w, WORKER + 1, GW_MESSAGE_assign);
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_fetch,
                            .fetch = {7, 1, 0, 0}}); /* waits for the result */
    assert_null(sent(w, CLIENT, GW_MESSAGE_object, 0));
    (void)assign;
    free_world(w);
}

/* The worker may still have the result and only be unreachable for the reporter; the recomputed
 * result must not be mixed with it. */
static void reported_loss_releases_the_stale_result(void **state)
{
    struct world *w = world_with_a_result();
    (void)state;
    say(w, WORKER + 1,
        (struct gw_message){.type = GW_MESSAGE_object_lost, .object_lost = {1, 0, 0, 1}});
    const struct gw_msg_release *release = &must(w, WORKER, GW_MESSAGE_release)->release;
    assert_int_equal(release->job.count, 1);
    assert_int_equal(gw_col64_at(release->job, 0), 1);
    assert_int_equal(gw_col32_at(release->index, 0), 0);
    assert_int_equal(gw_col32_at(release->rank, 0), 0);
    assert_true(sent(w, WORKER, GW_MESSAGE_assign, 0) || sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    free_world(w);
}

static void batched_failures_are_decided_per_attempt(void **state)
{
    struct world *w = new_world();
    const uint64_t run_ns[2] = {1000, 2000};
    (void)state;
    add_worker(w, 0, 2, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 2, GW_SUBMIT_LAST, false, 0});
    const struct gw_message *assign = must(w, WORKER, GW_MESSAGE_assign);
    const uint64_t attempts[2] = {attempt_in(assign, 0), attempt_in(assign, 1)};
    struct gw_message message = {.type = GW_MESSAGE_failures};
    message.failures = (struct gw_msg_failures){.code = GW_EIO,
                                                .text = "no such file",
                                                .stderr_tail = "last line",
                                                .attempt = {attempts, 2},
                                                .run_ns = {run_ns, 2}};
    say(w, WORKER, message);
    for (uint32_t i = 0; i < 2; i++) {
        const struct gw_message *failed = sent(w, CLIENT, GW_MESSAGE_failed, i);
        assert_non_null(failed);
        assert_int_equal(failed->failed.code, GW_ETASK);
        assert_int_equal(failed->failed.attempt, attempts[i]);
        assert_non_null(strstr(failed->failed.text, "on a: no such file\nlast line"));
    }
    assert_null(sent(w, CLIENT, GW_MESSAGE_failed, 2));
    say(w, WORKER, message); /* as after a broken connection: the failures were decided before */
    free_world(w);
}

static void failure_fails_all_dependent_tasks(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 3, GW_SUBMIT_LAST, true, 0});
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    fail_attempt(w, 0, attempt);
    assert_int_equal(sent(w, CLIENT, GW_MESSAGE_failed, 0)->failed.code, GW_ETASK);
    const struct gw_message *others = sent(w, CLIENT, GW_MESSAGE_failed, 1);
    assert_int_equal(others->failed.code, GW_EDEPENDENCY);
    assert_int_equal(others->failed.index, 1);
    assert_non_null(strstr(others->failed.text, "no luck"));
    assert_int_equal(others->failed.more.count, 1); /* equal failures are reported once */
    assert_int_equal(gw_col32_at(others->failed.more, 0), 2);
    assert_null(sent(w, CLIENT, GW_MESSAGE_failed, 2));
    free_world(w);
}

/* A memory report of a worker with 1000 MiB, in MiB. */
static void report(struct world *w, int worker, uint32_t state, uint64_t resident)
{
    enum { MIB = 1 << 20 };
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_memory,
                            .memory = {.used_bytes = resident * MIB,
                                       .resident_bytes = resident * MIB,
                                       .target_bytes = UINT64_C(600) * MIB,
                                       .pause_bytes = UINT64_C(800) * MIB,
                                       .state = state,
                                       .trouble = "",
                                       .idle_bytes = state == GW_MEMORY_OPEN ? 3 * MIB : 0}});
}

/* As in a query: of the first worker, or of all workers; -1: not given. */
static int64_t idle_bytes(struct world *w, const char *what)
{
    struct gw_value *answer = ask(w, what, -1, -1);
    const struct gw_value *of = strcmp(what, "workers") == 0 ? gw_value_at(answer, 0) : answer;
    int64_t bytes = -1;
    (void)gw_value_get_i64(gw_value_find(of, "idle_bytes"), &bytes, NULL);
    gw_value_unref(answer);
    return bytes;
}

static void worker_short_of_memory_gets_no_new_tasks(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker_with(w, 0, 2, "a", UINT64_C(1000) << 20);
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 3, GW_SUBMIT_LAST, false, 0});
    const struct gw_message *assign = must(w, WORKER, GW_MESSAGE_assign);
    uint64_t first = attempt_in(assign, 0), second = attempt_in(assign, 1);
    report(w, 0, GW_MEMORY_PAUSED, 900); /* tasks that have not started are taken back */
    const struct gw_msg_kill *kill = &must(w, WORKER, GW_MESSAGE_kill)->kill;
    assert_int_equal(kill->reason, GW_KILL_TAKE_BACK);
    assert_int_equal(kill->attempt.count, 2);
    give_back(w, 0, second);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    finish(w, 0, first, GW_RANK_NONE, 3);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    report(w, 0, GW_MEMORY_ONE,
           900); /* nothing else would help: the tasks run one after the other */
    assert_int_equal(must(w, WORKER, GW_MESSAGE_assign)->assign.attempt.count, 1);
    assert_int_equal(idle_bytes(w, "status"), -1);
    report(w, 0, GW_MEMORY_OPEN, 100);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_assign)->assign.attempt.count, 1);
    assert_int_equal(idle_bytes(w, "status"), 3 << 20);
    assert_int_equal(idle_bytes(w, "workers"), 3 << 20);
    free_world(w);
}

static void repeatedly_returned_task_waits_before_placement(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker_with(w, 0, 1, "a", UINT64_C(1000) << 20);
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 2, GW_SUBMIT_LAST, true, GW_RANK_NONE});
    finish(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0), GW_RANK_NONE, 5000000);
    for (int i = 0; i < 2; i++) { /* the input occupies the memory, and moves with the task */
        uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
        report(w, 0, GW_MEMORY_PAUSED, 900);
        give_back(w, 0, attempt);
        report(w, 0, GW_MEMORY_OPEN, 100);
    }
    uint64_t third = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    report(w, 0, GW_MEMORY_PAUSED, 900);
    give_back(w, 0, third);
    report(w, 0, GW_MEMORY_OPEN, 100);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    explained(w, 1, ", which is short of memory, gave it back");
    pass(w, 300 * MS);
    must(w, WORKER, GW_MESSAGE_assign);
    free_world(w);
}

/* The full worker has the most free slots and takes one task at a time. A task that it refused
 * three times does not go there again while another worker is free. */
static void task_refused_three_times_for_memory_goes_elsewhere(void **state)
{
    struct world *w = new_world();
    uint64_t attempt;
    (void)state;
    add_worker_with(w, 0, 2, "a", UINT64_C(1000) << 20);
    report(w, 0, GW_MEMORY_ONE, 2000);
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 2, GW_SUBMIT_LAST, false, 0});
    const uint64_t first = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    add_worker(w, 1, 1, "b");
    const uint64_t second = attempt_in(must(w, WORKER + 1, GW_MESSAGE_assign), 0);
    attempt = first;
    for (int i = 0; i < 3; i++) {
        report(w, 0, GW_MEMORY_PAUSED, 2000);
        attempt_ended(w, 0,
                      (struct gw_msg_ended){
                          .attempt = attempt, .rank = GW_RANK_NONE, .outcome = GW_OUTCOME_FULL});
        report(w, 0, GW_MEMORY_ONE, 2000);
        if (i < 2)
            attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    }
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    finish(w, 1, second, GW_RANK_NONE, 3);
    pass(w, 300 * MS);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    must(w, WORKER + 1, GW_MESSAGE_assign);
    free_world(w);
}

static void failed_task_is_retried_on_another_worker(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a"); /* it always has the most free slots */
    send_spec(w, (struct gw_msg_spec){.key = 1, .retries = 3});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    fail_attempt(w, 0, attempt); /* there is no other worker */
    attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    add_worker(w, 1, 1, "b");
    fail_attempt(w, 0, attempt);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    attempt = attempt_in(must(w, WORKER + 1, GW_MESSAGE_assign), 0);
    fail_attempt(w, 1, attempt);
    must(w, WORKER, GW_MESSAGE_assign);
    free_world(w);
}

static void measured_memory_limits_later_tasks_of_the_spec(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker_with(w, 0, 4, "a", UINT64_C(1000) << 20);
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 8, GW_SUBMIT_LAST, false, 0});
    uint64_t attempts[4], peak = UINT64_C(350) << 20, cpu_ns = 0;
    const uint32_t rank = GW_RANK_NONE;
    for (uint32_t i = 0; i < 4; i++)
        attempts[i] = attempt_in(must(w, WORKER, GW_MESSAGE_assign), i);
    say(w, WORKER,
        (struct gw_message){
            .type = GW_MESSAGE_measured,
            .measured = {{&attempts[0], 1}, {&peak, 1}, {&rank, 1}, {&cpu_ns, 1}, {&cpu_ns, 1}}});
    report(w, 0, GW_MEMORY_OPEN, 0);
    finish(w, 0, attempts[0], GW_RANK_NONE, 3); /* three tasks that were placed before may run */
    must(w, WORKER, GW_MESSAGE_assign);         /* 350 of 800 */
    finish(w, 0, attempts[1], GW_RANK_NONE, 3);
    must(w, WORKER, GW_MESSAGE_assign); /* 700 */
    finish(w, 0, attempts[2], GW_RANK_NONE, 3);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0)); /* 1050 */
    explained(w, 1, "it waits for memory: tasks like it took 0.34 GiB; 0.10 GiB are free");
    free_world(w);
}

/* Rows 0 to 3 produce 100 MiB each; row 4 takes row 0, row 5 takes row 1. */
static void memory_freeing_tasks_run_before_new_roots(void **state)
{
    struct world *w = new_world();
    uint32_t zeros[6] = {0}, counts[6] = {0, 0, 0, 0, 1, 1}, index[2] = {0, 1}, five[2] = {4, 5};
    uint64_t jobs[2] = {0};
    (void)state;
    add_worker_with(w, 0, 2, "a", UINT64_C(1000) << 20);
    send_spec(w, (struct gw_msg_spec){.key = 1});
    struct gw_message message = {.type = GW_MESSAGE_submit};
    message.submit = (struct gw_msg_submit){
        .request = 1,
        .flags = GW_SUBMIT_LAST,
        .name = "j",
        .spec = {zeros, 6},
        .args_size = {zeros, 6},
        .args = {"", 0},
        .dep_count = {counts, 6},
        .dep_job = {jobs, 2},
        .dep_index = {index, 2},
        .dep_rank = {zeros, 2},
        .names = {"", 0},
        .targets = {five, 2},
    };
    say(w, CLIENT, message);
    const struct gw_message *assign = must(w, WORKER, GW_MESSAGE_assign);
    assert_int_equal(assign->assign.attempt.count, 2);
    uint64_t first = attempt_in(assign, 0);
    report(w, 0, GW_MEMORY_OPEN, 550);
    finish(w, 0, first, GW_RANK_NONE, UINT64_C(100) << 20);
    /* Row 2 would come first; 650 is below the pause threshold but above the target. */
    assert_int_equal(gw_col32_at(must(w, WORKER, GW_MESSAGE_assign)->assign.index, 0), 4);
    free_world(w);
}

static void explain_states_why_a_gang_waits(void **state)
{
    struct world *w = new_world();
    struct gw_value *answer;
    (void)state;
    add_worker(w, 0, 4, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 2, GW_SUBMIT_LAST, false, 0});
    send_spec(w, (struct gw_msg_spec){.key = 2, .ranks = 4});
    submit(w, (struct chunk){2, 1, GW_SUBMIT_LAST, false, 0});
    explained(w, 2, "a gang of 4 needs 4 free slots; 2 of 4 slots are free; job 1");
    explained(w, 2, "first waiting gang, and slots are reserved for its ranks");
    explained(w, 2, "; they are free for 2 of 4 ranks now");
    assert_int_equal(gw_sched_query(w->sched, "nonsense", NULL, &answer, NULL), GW_EINVAL);
    free_world(w);
}

static void late_registration_of_a_lost_worker_is_ignored(void **state)
{
    struct world *w = new_world();
    const uint64_t peer = WORKER;
    (void)state;
    (void)step(w, (struct gw_event){
                      .type = GW_EVENT_OPEN, .peer = {peer}, .role = GW_ROLE_WORKER, .text = "a"});
    pass(w, GW_LOST_NS + 1000 * MS);
    bool closed = false;
    for (size_t i = 0; i < w->effects.list.count; i++)
        closed = closed || w->effects.list.items[i].type == GW_EFFECT_CLOSE;
    assert_true(closed); /* silent for too long */
    say(w, peer,
        (struct gw_message){
            .type = GW_MESSAGE_registration,
            .registration = {
                .incarnation = 1, .slots = 1, .memory_bytes = 1000, .host = "a", .address = "a"}});
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    assert_null(sent(w, peer, GW_MESSAGE_assign, 0));
    free_world(w);
}

/* A worker that connects during the shutdown ends, too, and delays nothing. */
static void shutdown_waits_only_for_connected_workers(void **state)
{
    enum { ADMIN = CLIENT + 1 };
    struct world *w = new_world();
    const struct gw_message shutdown = {.type = GW_MESSAGE_shutdown,
                                        .shutdown = {.request = 5, .text = "enough"}};
    (void)state;
    add_worker(w, 0, 1, "a");
    say(w, CLIENT, shutdown);
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, GW_EPERM);
    assert_null(sent(w, WORKER, GW_MESSAGE_shutdown, 0));
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {ADMIN},
                                    .role = GW_ROLE_CLIENT,
                                    .admin = true,
                                    .text = "admin"});
    say(w, ADMIN, shutdown);
    must(w, WORKER, GW_MESSAGE_shutdown);
    add_worker(w, 1, 1, "b");
    must(w, WORKER + 1, GW_MESSAGE_shutdown);
    assert_null(sent(w, ADMIN, GW_MESSAGE_reply, 0));
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER}, .text = "gone"});
    assert_int_equal(must(w, ADMIN, GW_MESSAGE_reply)->reply.request, 5);
    free_world(w);
}

/* It waits as long as the longest grace period of a running task, unless an admin asks for less. */
static void shutdown_waits_for_the_longest_grace_period(void **state)
{
    enum { ADMIN = CLIENT + 1 };
    (void)state;
    for (int hurried = 0; hurried < 2; hurried++) {
        struct world *w = new_world();
        struct gw_message shutdown = {
            .type = GW_MESSAGE_shutdown,
            .shutdown = {.request = 5, .text = "enough", .grace_ns_max = 300000 * MS}};
        add_worker(w, 0, 1, "a");
        send_spec(w, (struct gw_msg_spec){.key = 1, .grace_ns = 60000 * MS});
        submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
        (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                        .peer = {ADMIN},
                                        .role = GW_ROLE_CLIENT,
                                        .admin = true,
                                        .text = "admin"});
        say(w, ADMIN, shutdown);
        assert_true(must(w, WORKER, GW_MESSAGE_shutdown)->shutdown.grace_ns_max == 300000 * MS);
        if (hurried) {
            shutdown.shutdown.grace_ns_max = 0;
            shutdown.shutdown.request = 6;
            say(w, ADMIN, shutdown);
            assert_true(must(w, WORKER, GW_MESSAGE_shutdown)->shutdown.grace_ns_max == 0);
            assert_int_equal(must(w, ADMIN, GW_MESSAGE_reply)->reply.request, 6);
        }
        const uint64_t most_ns = (hurried ? 12000 : 72000) * MS; /* and 12 s beside that */
        while (w->now_ns < most_ns - 5000 * MS) {                /* the worker sends a heartbeat */
            w->now_ns += 2000 * MS;
            say(w, WORKER, (struct gw_message){.type = GW_MESSAGE_heartbeat});
            assert_null(sent(w, ADMIN, GW_MESSAGE_reply, 0));
        }
        pass(w, 10000 * MS);
        assert_int_equal(must(w, ADMIN, GW_MESSAGE_reply)->reply.request, 5);
        free_world(w);
    }
}

/* A worker that ends by itself reports the reason, and that reason explains its loss. */
static void worker_exit_reason_appears_in_explain(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST, false, 0});
    must(w, WORKER, GW_MESSAGE_assign);
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_refuse,
                            .refuse = {GW_ELOST, "the worker's supervisor is gone"}});
    explained(w, 1, "a was lost: the worker's supervisor is gone");
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(task_end_is_reported_once),
        cmocka_unit_test(quiet_submission_batches_only_its_acceptance),
        cmocka_unit_test(oversized_task_is_refused_with_the_missing_resource),
        cmocka_unit_test(task_is_placed_at_the_worker_with_its_input),
        cmocka_unit_test(gang_is_packed_on_few_workers_and_starts_together),
        cmocka_unit_test(input_from_all_ranks_has_one_entry_plus_one_for_each_rank),
        cmocka_unit_test(detached_job_is_acknowledged_after_its_commit),
        cmocka_unit_test(lost_result_is_recomputed),
        cmocka_unit_test(reported_loss_releases_the_stale_result),
        cmocka_unit_test(worker_exit_reason_appears_in_explain),
        cmocka_unit_test(batched_failures_are_decided_per_attempt),
        cmocka_unit_test(failure_fails_all_dependent_tasks),
        cmocka_unit_test(worker_short_of_memory_gets_no_new_tasks),
        cmocka_unit_test(repeatedly_returned_task_waits_before_placement),
        cmocka_unit_test(task_refused_three_times_for_memory_goes_elsewhere),
        cmocka_unit_test(failed_task_is_retried_on_another_worker),
        cmocka_unit_test(measured_memory_limits_later_tasks_of_the_spec),
        cmocka_unit_test(memory_freeing_tasks_run_before_new_roots),
        cmocka_unit_test(explain_states_why_a_gang_waits),
        cmocka_unit_test(late_registration_of_a_lost_worker_is_ignored),
        cmocka_unit_test(shutdown_waits_only_for_connected_workers),
        cmocka_unit_test(shutdown_waits_for_the_longest_grace_period),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
