/* Several preemptions, and changes of the policy during a preemption. */
#include "tests/unit/scheduler/lifecycle/preemption_world.h"

/* Makes a gang run that fills a worker and may be preempted. */
static uint64_t fill(struct world *w, int worker, uint64_t job, struct gw_msg_spec spec)
{
    spec.priority = -1;
    spec.ranks = spec.ranks ? spec.ranks : 2;
    spec.workers = (const char *const[]){"a", "b", "c"}[worker];
    add_job(w, BOB, job, spec);
    return run_saved(w, worker, spec.ranks);
}

static bool is_placed(const struct world *w, uint64_t job)
{
    return gw_sched_job_find(w->sched, job)->placed > 0;
}

/* The victim of ada's first job takes its time. Her second job has a victim of its own, and starts
 * when this one has ended. */
static void victim_with_a_long_grace_delays_nobody_else(void **state)
{
    struct world *w = begin_shared(2, 2);
    (void)state;
    const uint64_t slow = fill(w, 0, 1, (struct gw_msg_spec){.grace_ns = 3600 * SECOND});
    const uint64_t fast = fill(w, 1, 2, (struct gw_msg_spec){0});
    add_job(w, ADA, 3, (struct gw_msg_spec){.slots = 1, .workers = "a"});
    pass(w, MS);
    expect_control(w, 0, slow, GW_CONTROL_PAUSE);
    add_job(w, ADA, 4, (struct gw_msg_spec){.slots = 1, .workers = "b"});
    pass(w, MS);
    expect_control(w, 1, fast, GW_CONTROL_PAUSE);
    explained(w, 1, "it is preempted by job 3 of account vision");
    explained(w, 2, "it is preempted by job 4 of account vision");
    explained(w, 3, "which it preempts, have saved and ended: job 1 of account speech");
    explained(w, 4, "which it preempts, have saved and ended: job 2 of account speech");
    pause_at_a_step(w, 1, fast, 2);
    assert_true(is_placed(w, 4) && !is_placed(w, 3));
    pause_at_a_step(w, 0, slow, 2);
    assert_true(is_placed(w, 3));
    expect_no_charges(w, 1);
    expect_no_charges(w, 2);
    free_world(w);
}

/* On one worker, the job whose victim has ended starts beside the room that the other job needs:
 * this one still gets it from its own victim. */
static void preemptions_share_a_worker(void **state)
{
    struct world *w = begin_shared(1, 4);
    (void)state;
    const uint64_t slow = fill(w, 0, 1, (struct gw_msg_spec){.grace_ns = 3600 * SECOND});
    const uint64_t fast = fill(w, 0, 2, (struct gw_msg_spec){0});
    save(w, 0, slow, 2);
    add_job(w, ADA, 3, (struct gw_msg_spec){.ranks = 2});
    pass(w, MS);
    expect_control(w, 0, slow, GW_CONTROL_PAUSE);
    add_job(w, CYD, 4, (struct gw_msg_spec){.ranks = 2});
    pass(w, MS);
    expect_control(w, 0, fast, GW_CONTROL_PAUSE);
    pause_at_a_step(w, 0, fast, 2);
    assert_true(is_placed(w, 4) && !is_placed(w, 3));
    pause_at_a_step(w, 0, slow, 2);
    assert_true(is_placed(w, 3));
    free_world(w);
}

/* Job 1 gives back twice as much as job 3 needs. So job 4 waits, too, and job 2 goes on. */
static void nothing_is_preempted_for_work_that_starts_anyway(void **state)
{
    struct world *w = begin_shared(2, 2);
    (void)state;
    const uint64_t first = fill(w, 0, 1, (struct gw_msg_spec){0});
    (void)fill(w, 1, 2, (struct gw_msg_spec){0});
    save(w, 0, first, 2);
    add_job(w, ADA, 3, (struct gw_msg_spec){0});
    pass(w, MS);
    expect_control(w, 0, first, GW_CONTROL_PAUSE);
    add_job(w, ADA, 4, (struct gw_msg_spec){0});
    for (int i = 0; i < 5; i++) {
        pass(w, MS);
        assert_false(told(w, 1, GW_MESSAGE_control));
    }
    pause_at_a_step(w, 0, first, 2);
    assert_true(is_placed(w, 3) && is_placed(w, 4));
    free_world(w);
}

/* ada's account may use two slots, so only one of her gangs is within its quota. */
static void preemptions_together_stay_within_the_quota(void **state)
{
    struct world *w = begin_shared(2, 2);
    (void)state;
    const uint64_t first = fill(w, 0, 1, (struct gw_msg_spec){0});
    (void)fill(w, 1, 2, (struct gw_msg_spec){0});
    save(w, 0, first, 2);
    add_job(w, ADA, 3, (struct gw_msg_spec){.ranks = 2});
    add_job(w, ADA, 4, (struct gw_msg_spec){.ranks = 2});
    for (int i = 0; i < 5; i++) {
        pass(w, MS);
        assert_false(told(w, 1, GW_MESSAGE_control));
    }
    const struct gw_account *vision = gw_account_find(w->sched->accounts, "vision");
    assert_int_equal(vision->holder.claims[1].use.slots, 2);
    set_policy(w, 0); /* another policy counts the claim, too */
    vision = gw_account_find(w->sched->accounts, "vision");
    assert_int_equal(vision->holder.claims[1].use.slots, 2);
    pass(w, 2 * MS);
    assert_false(told(w, 1, GW_MESSAGE_control));
    pause_at_a_step(w, 0, first, 2);
    assert_true(is_placed(w, 3) && !is_placed(w, 4));
    assert_int_equal(vision->holder.claims[1].use.slots, 0);
    free_world(w);
}

static uint32_t in_progress(const struct world *w)
{
    return (uint32_t)__builtin_popcount(w->sched->preemptions.running);
}

static void preemptions_beyond_the_maximum_wait(void **state)
{
    enum { COUNT = GW_PREEMPTIONS_MAX + 1 };
    struct world *w = begin_shared(1, COUNT);
    uint64_t attempts[COUNT];
    (void)state;
    for (uint64_t i = 0; i < COUNT; i++)
        attempts[i] = fill(w, 0, 1 + i, (struct gw_msg_spec){.ranks = 1});
    for (uint64_t i = 0; i < COUNT; i++)
        add_job(w, CYD, 1 + COUNT + i, (struct gw_msg_spec){0});
    pass(w, 2 * MS);
    assert_int_equal(in_progress(w), GW_PREEMPTIONS_MAX);
    pause_at_a_step(w, 0, attempts[COUNT - 1], 1); /* of equal losses, the youngest ends first */
    pass(w, 2 * MS);
    assert_true(is_placed(w, 1 + COUNT));
    assert_int_equal(in_progress(w), GW_PREEMPTIONS_MAX);
    free_world(w);
}

static void job_preempts_for_one_task_at_a_time(void **state)
{
    struct world *w = begin_shared(2, 2);
    (void)state;
    const uint64_t first = fill(w, 0, 1, (struct gw_msg_spec){0});
    (void)fill(w, 1, 2, (struct gw_msg_spec){0});
    save(w, 0, first, 2);
    w->speaker = CYD;
    send_spec(w, (struct gw_msg_spec){.key = 9, .ranks = 2, .memory_bytes = 1});
    submit(w, (struct chunk){9, 2, GW_SUBMIT_LAST, false, 0});
    pass(w, 2 * MS);
    assert_int_equal(in_progress(w), 1);
    pause_at_a_step(w, 0, first, 2);
    pass(w, 2 * MS);
    assert_true(is_placed(w, 3));
    assert_true(told(w, 1, GW_MESSAGE_control) || in_progress(w) == 1);
    free_world(w);
}

/* Another policy gives ada's account too little for job 3, so this job cannot start in the place of
 * job 1. With the first policy again, nothing more is preempted for job 3 for a minute. That does
 * not concern job 4. */
static void preemption_in_vain_stops_only_its_own_kind(void **state)
{
    static const char *const ada[] = {"ada"};
    static const struct gw_account_config poor[] = {{.name = "vision",
                                                     .shares = 1,
                                                     .strict = true,
                                                     .limits = {.slots = 1},
                                                     .users = ada,
                                                     .user_count = 1}};
    struct world *w = begin_shared(2, 2);
    struct gw_error error = {0};
    (void)state;
    const uint64_t first = fill(w, 0, 1, (struct gw_msg_spec){0});
    add_job(w, ADA, 3, (struct gw_msg_spec){.ranks = 2, .workers = "a"});
    pass(w, MS);
    expect_control(w, 0, first, GW_CONTROL_PAUSE);
    const struct gw_cluster_policy policy = {.accounts = poor, .account_count = 1};
    assert_int_equal(gw_sched_policy_set(w->sched, &policy, &error), 0);
    pause_at_a_step(w, 0, first, 2);
    assert_int_equal(in_progress(w), 0);
    (void)run_saved(w, 0, 2); /* job 1 has its room again */
    set_policy(w, 0);
    const uint64_t second = fill(w, 1, 2, (struct gw_msg_spec){0});
    add_job(w, CYD, 4, (struct gw_msg_spec){.slots = 2, .priority = 1, .workers = "b"});
    pass(w, 2 * MS);
    expect_control(w, 1, second, GW_CONTROL_PAUSE);
    for (int i = 0; i < 58; i++) {
        pass(w, SECOND);
        assert_false(told(w, 0, GW_MESSAGE_control));
    }
    bool again = false;
    for (int i = 0; i < 4; i++) {
        pass(w, SECOND);
        again = again || told(w, 0, GW_MESSAGE_control);
    }
    assert_true(again);
    free_world(w);
}

/* While job 3 waits for a slow victim, the first waiting gang gathers its room at another worker.
 */
static void gang_gathers_its_room_beside_a_preemption(void **state)
{
    struct world *w = begin_shared(2, 2);
    uint64_t attempts[2];
    (void)state;
    const uint64_t slow = fill(w, 0, 1, (struct gw_msg_spec){.grace_ns = 3600 * SECOND});
    for (uint64_t i = 0; i < 2; i++) {
        add_job(w, CYD, 2 + i, (struct gw_msg_spec){.workers = "b", .priority = 1});
        attempts[i] = attempt_in(must(w, WORKER + 1, GW_MESSAGE_assign), 0);
    }
    add_job(w, ADA, 4, (struct gw_msg_spec){.ranks = 2, .workers = "a"});
    pass(w, MS);
    expect_control(w, 0, slow, GW_CONTROL_PAUSE);
    add_job(w, CYD, 5, (struct gw_msg_spec){.ranks = 2});
    add_job(w, CYD, 6, (struct gw_msg_spec){0});
    explained(w, 5, "it is the first waiting gang, and slots are reserved for its ranks: 2 at b");
    explained(w, 6,
              "slots that become free are reserved for job 4 (j), for which other work is "
              "preempted; slots that become free are reserved for job 5 (j), a waiting gang");
    finish(w, 1, attempts[0], GW_RANK_NONE, 1);
    assert_false(is_placed(w, 6));
    finish(w, 1, attempts[1], GW_RANK_NONE, 1);
    assert_true(is_placed(w, 5) && !is_placed(w, 4) && !is_placed(w, 6));
    free_world(w);
}

static void victim_goes_on_if_the_policy_is_removed(void **state)
{
    struct world *w = begin_shared(1, 2);
    struct gw_error error = {0};
    (void)state;
    add_job(w, BOB, 1, (struct gw_msg_spec){.ranks = 2, .priority = -1});
    const uint64_t attempt = run_saved(w, 0, 2);
    add_job(w, ADA, 2, (struct gw_msg_spec){.ranks = 2});
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
    assert_int_equal(gw_sched_policy_set(w->sched, NULL, &error), 0);
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_CONTINUE);
    set_policy(w, 0);
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE); /* it may be preempted again */
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(victim_with_a_long_grace_delays_nobody_else),
        cmocka_unit_test(preemptions_share_a_worker),
        cmocka_unit_test(nothing_is_preempted_for_work_that_starts_anyway),
        cmocka_unit_test(preemptions_together_stay_within_the_quota),
        cmocka_unit_test(preemptions_beyond_the_maximum_wait),
        cmocka_unit_test(job_preempts_for_one_task_at_a_time),
        cmocka_unit_test(preemption_in_vain_stops_only_its_own_kind),
        cmocka_unit_test(gang_gathers_its_room_beside_a_preemption),
        cmocka_unit_test(victim_goes_on_if_the_policy_is_removed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
