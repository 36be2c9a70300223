/* The worker's core, ends that were reported to a scheduler which died before it had read them. */
#include "tests/unit/worker/core/node_world.h"

static void let_command_end(struct world *w, uint64_t attempt, int exit_code)
{
    must_assign(w, (struct task){.attempt = attempt, .index = (uint32_t)attempt});
    spawned(w, w->processes, 0, "");
    dies(w, w->processes, exit_code, 0);
}

/* One slot, and commands 1 and 2, which have ended well, and 3, which has failed: all were
 * reported. */
static struct world *world_with_ends(void)
{
    struct world *w = new_world(1);
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND});
    let_command_end(w, 1, 0);
    let_command_end(w, 2, 0);
    let_command_end(w, 3, 3);
    assert_int_equal(gw_col64_at(must_send(w, GW_MESSAGE_finished)->finished.attempt, 0), 1);
    assert_int_equal(must_send(w, GW_MESSAGE_ended)->ended.attempt, 3);
    return w;
}

static const struct gw_msg_registration *come_back(struct world *w, bool new_life)
{
    raise_event(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = ""});
    w->lives += new_life;
    forget_sent(w);
    open_scheduler(w);
    return &must_send(w, GW_MESSAGE_registration)->registration;
}

/* The scheduler answers a heartbeat that is sent now. */
static void acknowledge(struct world *w)
{
    forget_sent(w);
    tick(w, 2 * SECOND);
    const uint64_t number = must_send(w, GW_MESSAGE_heartbeat)->heartbeat.number;
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_heartbeat,
                                .heartbeat = {.number = number, .echo = number}});
}

static void task_ends_are_reported_again_to_a_new_scheduler(void **state)
{
    struct world *w = world_with_ends();
    (void)state;
    for (int lives = 0; lives < 2; lives++) { /* the next scheduler may die as soon */
        const struct gw_msg_registration *said = come_back(w, true);
        assert_int_equal(said->attempt.count, 2);
        for (uint32_t i = 0; i < 2; i++) {
            assert_int_equal(gw_col64_at(said->attempt, i), i + 1);
            assert_int_equal(gw_col32_at(said->attempt_claim, i), GW_CLAIM_ENDED);
        }
        for (uint32_t i = 0; i < 2; i++) {
            const struct gw_message *finished = sent(w, GW_MESSAGE_finished, i);
            assert_non_null(finished);
            assert_int_equal(gw_col64_at(finished->finished.attempt, 0), i + 1);
        }
        assert_null(sent(w, GW_MESSAGE_ended, 0)); /* the failure of 3 may have been counted */
    }
    free_world(w);
}

/* That scheduler has counted the tasks of this worker as lost. */
static void reconnect_to_the_same_scheduler_repeats_no_ends(void **state)
{
    struct world *w = world_with_ends();
    (void)state;
    assert_int_equal(come_back(w, false)->attempt.count, 0);
    assert_null(sent(w, GW_MESSAGE_finished, 0));
    assert_int_equal(come_back(w, true)->attempt.count, 0);
    free_world(w);
}

static void acknowledged_ends_are_not_reported_again(void **state)
{
    struct world *w = world_with_ends();
    (void)state;
    acknowledge(w);
    let_command_end(w, 4, 0); /* that heartbeat was sent before */
    const struct gw_msg_registration *said = come_back(w, true);
    assert_int_equal(said->attempt.count, 1);
    assert_int_equal(gw_col64_at(said->attempt, 0), 4);
    acknowledge(w);
    assert_int_equal(come_back(w, true)->attempt.count, 0);
    free_world(w);
}

/* Functions are many, and may run again. */
static void function_ends_are_reported_once(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    (void)state;
    must_assign(w, (struct task){.attempt = 1});
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
    assert_int_equal(come_back(w, true)->attempt.count, 0);
    free_world(w);
}

static void ends_of_run_once_functions_are_reported_again(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){.worker_losses_max = UINT32_MAX});
    (void)state;
    must_assign(w, (struct task){.attempt = 1});
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 3, 1000), 0);
    const struct gw_msg_registration *said = come_back(w, true);
    assert_int_equal(said->attempt.count, 1);
    assert_int_equal(gw_col32_at(said->attempt_claim, 0), GW_CLAIM_ENDED);
    assert_int_equal(gw_col64_at(must_send(w, GW_MESSAGE_finished)->finished.attempt, 0), 1);
    free_world(w);
}

static void says_metric(struct world *w, int64_t step_number)
{
    deliver(
        w, RUNNER + 1,
        (struct gw_message){
            .type = GW_MESSAGE_metric,
            .metric = {.attempt = 1, .rank = GW_RANK_NONE, .step = step_number, .name = "loss"}});
}

/* Expects that reports 1 to `count` were sent, and returns where the last one is. */
static size_t reports_sent(const struct world *w, int count)
{
    size_t last = 0;
    for (int i = 0; i < count; i++) {
        assert_non_null(sent(w, GW_MESSAGE_metric, i));
        assert_int_equal(sent(w, GW_MESSAGE_metric, i)->metric.count, i + 1);
        assert_int_equal(sent(w, GW_MESSAGE_metric, i)->metric.step, 10 * (i + 1));
    }
    assert_null(sent(w, GW_MESSAGE_metric, count));
    for (size_t i = 0; i < w->sent.count; i++)
        if (w->sent.items[i].type == GW_MESSAGE_metric)
            last = i;
    return last;
}

/* Also what was reported while there was no scheduler, and always before the end. */
static void reports_are_sent_again_to_a_new_scheduler(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){.worker_losses_max = UINT32_MAX});
    (void)state;
    must_assign(w, (struct task){.attempt = 1});
    forget_sent(w);
    says_metric(w, 10);
    (void)reports_sent(w, 1);
    raise_event(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = ""});
    says_metric(w, 20);
    w->lives++;
    forget_sent(w);
    open_scheduler(w);
    (void)reports_sent(w, 2);
    says_metric(w, 30);
    (void)reports_sent(w, 3);
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 3, 1000), 0);
    assert_int_equal(come_back(w, true)->attempt.count, 1);
    assert_true(w->sent.items[reports_sent(w, 3) + 1].type == GW_MESSAGE_finished);
    acknowledge(w);
    assert_int_equal(come_back(w, true)->attempt.count, 0);
    (void)reports_sent(w, 0);
    free_world(w);
}

/* A function that saves its state in its grace period reports its last loss there. */
static void reports_of_a_grace_period_are_sent(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){.grace_ns = SECOND});
    (void)state;
    must_assign(w, (struct task){.attempt = 1});
    forget_sent(w);
    kill_attempt(w, 1, GW_KILL_CANCEL);
    says_metric(w, 10);
    (void)reports_sent(w, 1);
    free_world(w);
}

/* A runner has two tasks, and a command waits for slots: the new scheduler places that command
 * itself. */
static void only_tasks_inside_a_runner_are_claimed(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){.slots = 2});
    (void)state;
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 3, 1000), 0); /* such tasks are short */
    for (uint32_t i = 2; i <= 3; i++)
        must_assign(w, (struct task){.attempt = i, .index = i});
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .number = 1, .slots = 2});
    must_assign(w, (struct task){.attempt = 4, .index = 4, .spec = 1});
    const struct gw_msg_registration *said = come_back(w, true);
    assert_int_equal(said->attempt.count, 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(gw_col32_at(said->attempt_claim, i),
                         gw_col64_at(said->attempt, i) == 2 ? GW_CLAIM_RUNS : GW_CLAIM_WAITS);
    free_world(w);
}

/* A new scheduler counts the time before it, too: of what runs, waits, and has failed meanwhile. */
static void registration_says_how_long_attempts_executed(void **state)
{
    static const uint64_t expected_ns[] = {0, 3 * SECOND, 0, 2 * SECOND};
    struct world *w = world_with_runner((struct gw_msg_spec){.slots = 1});
    (void)state;
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 3, 1000), 0); /* such tasks are short */
    for (uint32_t i = 1; i <= 2; i++)
        must_assign(w, (struct task){.attempt = i, .index = i});
    tick(w, SECOND);
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .number = 1});
    must_assign(w, (struct task){.attempt = 3, .index = 3, .spec = 1});
    spawned(w, w->processes, 0, "");
    raise_event(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = ""});
    tick(w, 2 * SECOND);
    dies(w, w->processes, 3, 0);
    w->lives++;
    forget_sent(w);
    open_scheduler(w);
    const struct gw_msg_registration *said = &must_send(w, GW_MESSAGE_registration)->registration;
    assert_int_equal(said->attempt_ran_ns.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const uint64_t is_ns = gw_col64_at(said->attempt_ran_ns, i);
        const uint64_t should_ns = expected_ns[gw_col64_at(said->attempt, i)];
        assert_in_range(is_ns, should_ns, should_ns ? should_ns + MS : 0);
    }
    free_world(w);
}

/* A gang of two functions runs here. */
static struct world *world_with_gang(void)
{
    struct world *w = new_world(2);
    uint64_t token = 60, key = 61;
    function_spec(w, (struct gw_msg_spec){.ranks = 2});
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_gang,
                                .gang = {.attempt = 1, .world = 2, .local = 2, .groups = 1}});
    must_assign(w, (struct task){.attempt = 1, .rank = 1});
    must_assign(w, (struct task){.attempt = 1, .rank = 2});
    raise_event(w, (struct gw_event){.type = GW_EVENT_LEASED,
                                     .number = 1,
                                     .code = 4321,
                                     .text = "127.0.0.1",
                                     .tokens = &token,
                                     .token_count = 1});
    for (uint32_t rank = 0; rank < 2; rank++) {
        hello(w, rank + 1, GW_PROTOCOL);
        deliver(w, RUNNER + rank + 1,
                (struct gw_message){.type = GW_MESSAGE_rank_ready, .rank_ready = {1, rank, {0}}});
    }
    const struct gw_bin info = must_send(w, GW_MESSAGE_rank_ready)->rank_ready.info;
    const struct gw_message go = {.type = GW_MESSAGE_gang_start, .gang_start = {1, info}};
    assert_int_equal(deliver_with(w, SCHEDULER, go, &key, 1), 0);
    return w;
}

static void rank_ends_are_reported_again_to_a_new_scheduler(void **state)
{
    struct world *w = world_with_gang();
    (void)state;
    assert_int_equal(finish(w, 1, 1, 0, 300000, 1000), 0);
    const struct gw_msg_registration *said = come_back(w, true); /* rank 1 still runs */
    assert_int_equal(said->attempt.count, 2);
    for (uint32_t i = 0; i < 2; i++)
        assert_int_equal(gw_col32_at(said->attempt_claim, i),
                         gw_col32_at(said->attempt_rank, i) ? GW_CLAIM_RUNS : GW_CLAIM_ENDED);
    assert_int_equal(gw_col32_at(must_send(w, GW_MESSAGE_finished)->finished.rank, 0), 0);
    assert_int_equal(finish(w, 2, 1, 1, 300000, 1000), 0);
    said = come_back(w, true);
    assert_int_equal(said->attempt.count, 2);
    for (uint32_t i = 0; i < 2; i++) {
        assert_int_equal(gw_col32_at(said->attempt_claim, i), GW_CLAIM_ENDED);
        assert_int_equal(gw_col64_at(said->object_attempt, i), 1); /* their results are here */
        assert_non_null(sent(w, GW_MESSAGE_finished, i));
    }
    free_world(w);
}

/* The result of a rank was released, so its end is of no use to a new scheduler. */
static void released_rank_result_is_not_reported_again(void **state)
{
    struct world *w = world_with_gang();
    uint64_t job = 1;
    uint32_t index = 0, rank = 1;
    (void)state;
    assert_int_equal(finish(w, 1, 1, 0, 300000, 1000), 0);
    assert_int_equal(finish(w, 2, 1, 1, 300000, 1000), 0);
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_release,
                                .release = {{&job, 1}, {&index, 1}, {&rank, 1}}});
    const struct gw_msg_registration *said = come_back(w, true);
    assert_int_equal(said->attempt.count, 1);
    assert_int_equal(gw_col32_at(said->attempt_rank, 0), 0);
    assert_int_equal(gw_col32_at(must_send(w, GW_MESSAGE_finished)->finished.rank, 0), 0);
    assert_null(sent(w, GW_MESSAGE_finished, 1));
    free_world(w);
}

/* No scheduler was connected. The first scheduler that connects receives the failure and counts
 * it, and no later scheduler. */
static void failure_is_reported_to_a_single_scheduler(void **state)
{
    struct world *w = new_world(1);
    (void)state;
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND});
    must_assign(w, (struct task){.attempt = 1, .index = 1});
    spawned(w, w->processes, 0, "");
    raise_event(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = ""});
    w->lives++;
    dies(w, w->processes, 3, 0);
    forget_sent(w);
    open_scheduler(w);
    assert_int_equal(must_send(w, GW_MESSAGE_registration)->registration.attempt.count, 1);
    assert_int_equal(must_send(w, GW_MESSAGE_ended)->ended.attempt, 1);
    assert_int_equal(come_back(w, true)->attempt.count, 0);
    assert_null(sent(w, GW_MESSAGE_ended, 0));
    free_world(w);
}

/* The worker stores the highest commit number of the same cluster and reports it to each
 * scheduler that connects. */
static void highest_known_commit_is_reported_to_each_scheduler(void **state)
{
    static const struct {
        const char *cluster, *said;
        uint64_t life, commits, known_life, known;
    } lives[] = {
        {"a", "", 1, 7, 0, 0},
        {"a", "a", 2, 5, 1, 7}, /* an older copy: it may come again */
        {"b", "a", 3, 2, 1, 7},
        {"b", "b", 4, 3, 3, 2},
    };
    struct world *w = new_world(1);
    (void)state;
    for (size_t i = 0; i < sizeof lives / sizeof *lives; i++) {
        raise_event(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = ""});
        w->lives++;
        forget_sent(w);
        raise_event(w, (struct gw_event){
                           .type = GW_EVENT_OPEN, .peer = {SCHEDULER}, .role = GW_ROLE_SCHEDULER});
        deliver(w, SCHEDULER,
                (struct gw_message){.type = GW_MESSAGE_welcome,
                                    .welcome = {5, "0.1.0", "/s", .cluster = lives[i].cluster}});
        const struct gw_msg_registration *now =
            &must_send(w, GW_MESSAGE_registration)->registration;
        assert_string_equal(now->cluster, lives[i].said);
        assert_int_equal(now->life, lives[i].known_life);
        assert_int_equal(now->commits, lives[i].known);
        deliver(w, SCHEDULER,
                (struct gw_message){.type = GW_MESSAGE_heartbeat,
                                    .heartbeat = {.number = i + 1,
                                                  .life = lives[i].life,
                                                  .commits = lives[i].commits}});
    }
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(task_ends_are_reported_again_to_a_new_scheduler),
        cmocka_unit_test(reconnect_to_the_same_scheduler_repeats_no_ends),
        cmocka_unit_test(acknowledged_ends_are_not_reported_again),
        cmocka_unit_test(function_ends_are_reported_once),
        cmocka_unit_test(ends_of_run_once_functions_are_reported_again),
        cmocka_unit_test(reports_are_sent_again_to_a_new_scheduler),
        cmocka_unit_test(reports_of_a_grace_period_are_sent),
        cmocka_unit_test(only_tasks_inside_a_runner_are_claimed),
        cmocka_unit_test(registration_says_how_long_attempts_executed),
        cmocka_unit_test(rank_ends_are_reported_again_to_a_new_scheduler),
        cmocka_unit_test(released_rank_result_is_not_reported_again),
        cmocka_unit_test(failure_is_reported_to_a_single_scheduler),
        cmocka_unit_test(highest_known_commit_is_reported_to_each_scheduler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
