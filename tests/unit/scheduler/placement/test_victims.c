/* Which running work is not preempted, although it saved or may run again. */
#include "tests/unit/scheduler/lifecycle/preemption_world.h"

static void ask_gang(struct world *w, uint64_t peer, uint64_t job, uint32_t verb)
{
    say(w, peer, (struct gw_message){.type = GW_MESSAGE_gang_ask, .gang_ask = {9, job, verb}});
}

/* bob's gang of two ranks runs on the worker's only two slots, and has saved. */
static uint64_t run_gang(struct world *w)
{
    add_job(w, BOB, 1, (struct gw_msg_spec){.ranks = 2, .priority = -1});
    return run_saved(w, 0, 2);
}

static void gang_of_a_paused_job_is_not_preempted(void **state)
{
    struct world *w = begin_shared(1, 2);
    (void)state;
    const uint64_t attempt = run_gang(w);
    ask_gang(w, BOB, 1, GW_ASK_PAUSE);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
    add_job(w, ADA, 2, (struct gw_msg_spec){.ranks = 2});
    pass(w, MS);
    assert_false(event_log_says(w, 1, "preempted"));
    free_world(w);
}

/* Its first rank has returned because its job was paused, and the job is resumed. */
static void gang_that_returns_is_not_preempted(void **state)
{
    struct world *w = begin_shared(1, 2);
    (void)state;
    const uint64_t attempt = run_gang(w);
    ask_gang(w, BOB, 1, GW_ASK_PAUSE);
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_rank_paused, .rank_paused = {attempt, 0}});
    ask_gang(w, BOB, 1, GW_ASK_RESUME);
    add_job(w, ADA, 2, (struct gw_msg_spec){.ranks = 2});
    pass(w, MS);
    assert_false(event_log_says(w, 1, "preempted"));
    free_world(w);
}

/* It ends anyway, and frees its room. */
static void gang_that_ends_to_grow_is_not_preempted(void **state)
{
    struct world *w = begin_shared(1, 2);
    (void)state;
    add_job(w, BOB, 1,
            (struct gw_msg_spec){
                .ranks = 4, .min_ranks = 2, .priority = -1, .full_size_timeout_ns = MS});
    pass(w, MS);
    const uint64_t attempt = run_saved(w, 0, 2);
    add_worker(w, 1, 2, "b");
    save(w, 0, attempt, 2);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
    add_job(w, CYD, 2, (struct gw_msg_spec){.ranks = 4});
    pass(w, MS);
    assert_false(event_log_says(w, 1, "preempted"));
    pause_at_a_step(w, 0, attempt, 2);
    assert_int_equal(gw_sched_job_find(w->sched, 2)->placed, 1);
    free_world(w);
}

/* The task that submitted the job may wait for it. */
static void job_of_a_running_task_is_not_preempted(void **state)
{
    enum { INSIDE = 40 };
    struct world *w = begin_shared(1, 2);
    (void)state;
    add_job(w, BOB, 1, (struct gw_msg_spec){0});
    const uint64_t outer = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    say_started(w, outer);
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {INSIDE},
                                    .role = GW_ROLE_TASK,
                                    .number = outer,
                                    .rank = GW_RANK_NONE,
                                    .text = "inside"});
    add_job(w, INSIDE, 2, (struct gw_msg_spec){.queue = "scavenge"});
    say_started(w, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0));
    add_job(w, ADA, 3, (struct gw_msg_spec){0});
    pass(w, MS);
    assert_false(told(w, 0, GW_MESSAGE_kill));
    free_world(w);
}

/* ada and bob share an account that never uses more than one slot. */
static struct world *begin_strict(int workers)
{
    static const char *const both[] = {"ada", "bob"}, *const cyd[] = {"cyd"};
    static const struct gw_account_config accounts[] = {
        {.name = "lab",
         .shares = 1,
         .strict = true,
         .limits = {.slots = 1},
         .users = both,
         .user_count = 2},
        {.name = "guests", .shares = 1, .users = cyd, .user_count = 1}};
    static const struct gw_queue_config queues[] = {
        {.name = "normal"}, {.name = "scavenge", .priority = -10, .requeue = true}};
    const struct gw_cluster_policy policy = {.accounts = accounts,
                                             .account_count = 2,
                                             .queues = queues,
                                             .queue_count = 2,
                                             .default_queue = "normal"};
    struct gw_error error = {0};
    struct world *w = begin_shared(workers, 1);
    assert_int_equal(gw_sched_policy_set(w->sched, &policy, &error), 0);
    return w;
}

/* Worker "a" is drained, and its deadline has passed. Only the quota delays ada's task. */
static void task_that_ends_because_of_a_drain_is_not_preempted(void **state)
{
    struct world *w = begin_strict(2);
    (void)state;
    add_job(w, BOB, 1, (struct gw_msg_spec){.queue = "scavenge", .workers = "a"});
    say_started(w, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0));
    say(w, CYD,
        (struct gw_message){
            .type = GW_MESSAGE_worker_ask,
            .worker_ask = {.request = 9, .name = "a", .drain = 1, .deadline_ns = 1, .why = ""}});
    pass(w, MS);
    must(w, WORKER, GW_MESSAGE_kill);
    add_job(w, ADA, 2, (struct gw_msg_spec){0});
    pass(w, MS);
    assert_false(told(w, 0, GW_MESSAGE_kill));
    free_world(w);
}

/* The first gang of the job starts because the worker of the second is busy. When that worker is
 * free, only the quota delays the second gang. */
static void gang_does_not_preempt_another_of_its_job(void **state)
{
    struct world *w = begin_strict(2);
    (void)state;
    add_job(w, CYD, 1, (struct gw_msg_spec){.workers = "b"});
    const uint64_t other = attempt_in(must(w, WORKER + 1, GW_MESSAGE_assign), 0);
    w->speaker = BOB;
    for (uint32_t number = 0; number < 2; number++)
        send_spec(w, (struct gw_msg_spec){.key = 1,
                                          .number = number,
                                          .ranks = 1,
                                          .memory_bytes = 1,
                                          .priority = (int)number - 1,
                                          .workers = number ? "b" : "a"});
    submit_in_turns(w, (struct chunk){.request = 1, .rows = 2, .flags = GW_SUBMIT_LAST}, 2);
    (void)run_saved(w, 0, 1);
    finish(w, 1, other, GW_RANK_NONE, 1);
    pass(w, MS);
    assert_false(told(w, 0, GW_MESSAGE_control));
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gang_of_a_paused_job_is_not_preempted),
        cmocka_unit_test(gang_that_returns_is_not_preempted),
        cmocka_unit_test(gang_that_ends_to_grow_is_not_preempted),
        cmocka_unit_test(job_of_a_running_task_is_not_preempted),
        cmocka_unit_test(task_that_ends_because_of_a_drain_is_not_preempted),
        cmocka_unit_test(gang_does_not_preempt_another_of_its_job),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
