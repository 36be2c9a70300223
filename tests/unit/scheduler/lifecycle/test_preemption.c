/* Preemption: who may preempt whom, what the victims are told, and who gets the room. */
#include "tests/unit/scheduler/lifecycle/preemption_world.h"
#include "tests/unit/scheduler/membership/claims.h"

static const char *const ada[] = {"ada"}, *const bob[] = {"bob"};

static void urgent_work_preempts_a_gang_at_its_next_step(void **state)
{
    struct world *w = begin_shared(1, 2);
    (void)state;
    add_job(w, BOB, 1,
            (struct gw_msg_spec){.ranks = 2, .priority = -1, .preemptions_max = UINT32_MAX});
    const uint64_t attempt = run_saved(w, 0, 2);
    add_job(w, ADA, 2, (struct gw_msg_spec){.slots = 2});
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
    explained(w, 1, "it is preempted by job 2 of account vision");
    explained(w, 2, "which it preempts, have saved and ended: job 1 of account speech");
    pause_at_a_step(w, 0, attempt, 2);
    const uint64_t urgent = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    explained(w, 1, "it was preempted by job 2 of account vision");
    assert_true(event_log_says(w, 1, "is preempted by job 2 of account vision"));
    assert_true(event_log_says(w, 1, "ended, it was preempted by job 2 of account vision"));
    finish(w, 0, urgent, GW_RANK_NONE, 1);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gang)->gang.checkpoint, attempt);
    expect_no_charges(w, 1);
    free_world(w);
}

/* The next attempts have the places in the table that the preempted ones had. */
static void next_attempt_may_be_preempted_too(void **state)
{
    struct world *w = begin_shared(1, 2);
    (void)state;
    add_job(w, BOB, 1, (struct gw_msg_spec){.ranks = 2, .priority = -1});
    for (uint64_t job = 2; job < 5; job++) {
        const uint64_t attempt = run_saved(w, 0, 2);
        add_job(w, ADA, job, (struct gw_msg_spec){.slots = 2});
        pass(w, MS);
        expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
        pause_at_a_step(w, 0, attempt, 2);
        finish(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0), GW_RANK_NONE, 1);
    }
    expect_no_charges(w, 1);
    free_world(w);
}

static void functions_that_go_on_are_ended_after_their_grace(void **state)
{
    struct world *w = begin_shared(1, 2);
    (void)state;
    add_job(w, BOB, 1, (struct gw_msg_spec){.ranks = 2, .priority = -1, .grace_ns = 3 * SECOND});
    const uint64_t attempt = run_saved(w, 0, 2);
    add_job(w, ADA, 2, (struct gw_msg_spec){.ranks = 2});
    pass(w, MS);
    const uint64_t until_ns = gw_sched_preemption_deadline_ns(w->sched);
    assert_true(until_ns <= w->now_ns + 3 * SECOND && until_ns > w->now_ns + 2 * SECOND);
    pass(w, until_ns - w->now_ns - MS);
    assert_false(told(w, 0, GW_MESSAGE_kill));
    pass(w, MS);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_kill)->kill.reason, GW_KILL_PREEMPT);
    ranks_killed(w, 0, attempt, 2);
    must(w, WORKER, GW_MESSAGE_assign);
    expect_no_charges(w, 1);
    free_world(w);
}

static void command_gets_its_grace_period(void **state)
{
    struct world *w = begin_shared(1, 2);
    (void)state;
    add_job(w, BOB, 1,
            (struct gw_msg_spec){
                .kind = GW_SPEC_COMMAND, .ranks = 2, .priority = -1, .grace_ns = 3 * SECOND});
    const uint64_t attempt = run_saved(w, 0, 2);
    add_job(w, ADA, 2, (struct gw_msg_spec){.slots = 2});
    pass(w, MS);
    const struct gw_msg_kill *kill = &must(w, WORKER, GW_MESSAGE_kill)->kill;
    assert_int_equal(kill->reason, GW_KILL_PREEMPT);
    assert_int_equal(kill->grace_ns, 3 * SECOND);
    ranks_killed(w, 0, attempt, 2);
    must(w, WORKER, GW_MESSAGE_assign);
    expect_no_charges(w, 1);
    free_world(w);
}

static void work_without_a_checkpoint_is_preempted_only_in_a_queue_with_requeue(void **state)
{
    (void)state;
    for (int requeue = 0; requeue < 2; requeue++) {
        struct world *w = begin_shared(1, 1);
        add_job(w, CYD, 1,
                (struct gw_msg_spec){.priority = -1, .queue = requeue ? "scavenge" : "normal"});
        const uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
        say_started(w, attempt);
        add_job(w, ADA, 2, (struct gw_msg_spec){0});
        pass(w, MS);
        assert_int_equal(told(w, 0, GW_MESSAGE_kill), requeue);
        attempt_ended(w, 0,
                      (struct gw_msg_ended){.attempt = attempt,
                                            .rank = GW_RANK_NONE,
                                            .outcome = GW_OUTCOME_KILLED,
                                            .executing = 1});
        const struct gw_charges *charges = gw_sched_job_find(w->sched, 1)->tasks.charges;
        assert_int_equal(charges->uncounted, requeue ? 0 : 1);
        free_world(w);
    }
}

/* Neither while it is made, nor while it waits for calls, nor during a call. */
static void actor_is_not_preempted(void **state)
{
    struct world *w = begin_shared(1, 1);
    (void)state;
    add_job(w, CYD, 1, (struct gw_msg_spec){.actor = GW_ACTOR_NEW, .queue = "scavenge"});
    const uint64_t actor = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    say_started(w, actor);
    add_job(w, ADA, 2, (struct gw_msg_spec){0});
    pass(w, MS);
    assert_false(told(w, 0, GW_MESSAGE_kill));
    say(w, WORKER, (struct gw_message){.type = GW_MESSAGE_actor_ready, .actor_ready = {actor}});
    pass(w, MS);
    assert_false(told(w, 0, GW_MESSAGE_kill));
    w->speaker = CYD;
    submit_task(w, 3, (struct gw_msg_spec){.actor = 1, .queue = "scavenge"});
    say_started(w, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0));
    pass(w, MS);
    assert_false(told(w, 0, GW_MESSAGE_kill));
    free_world(w);
}

static void attempt_runs_for_the_minimum_before_it_is_preempted(void **state)
{
    struct world *w = begin_shared(1, 2);
    (void)state;
    set_policy(w, 5 * SECOND);
    add_job(w, BOB, 1, (struct gw_msg_spec){.ranks = 2, .priority = -1});
    const uint64_t attempt = run_saved(w, 0, 2);
    add_job(w, ADA, 2, (struct gw_msg_spec){0});
    pass(w, 5 * SECOND - 2 * MS);
    assert_false(told(w, 0, GW_MESSAGE_control));
    pass(w, 2 * MS);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
    free_world(w);
}

/* bob uses 4 slots, 2 of them borrowed. ada's 2 slots are hers; the third would be borrowed, too.
 */
static void quota_is_reclaimed_and_nothing_more(void **state)
{
    struct world *w = begin_shared(2, 2);
    uint64_t attempts[2];
    (void)state;
    for (int i = 0; i < 2; i++) {
        add_job(w, BOB, 1 + (uint64_t)i, (struct gw_msg_spec){.ranks = 2, .ranks_per_node = 2});
        attempts[i] = run_saved(w, told(w, 0, GW_MESSAGE_assign) ? 0 : 1, 2);
    }
    save(w, 0, attempts[0], 2);
    add_job(w, ADA, 3, (struct gw_msg_spec){.ranks = 3});
    pass(w, 2 * MS);
    assert_false(told(w, 0, GW_MESSAGE_control) || told(w, 1, GW_MESSAGE_control));
    add_job(w, ADA, 4, (struct gw_msg_spec){.ranks = 2});
    pass(w, 2 * MS);
    const int of = told(w, 0, GW_MESSAGE_control) ? 0 : 1;
    assert_true(told(w, of, GW_MESSAGE_control) && !told(w, !of, GW_MESSAGE_control));
    const uint64_t attempt = must(w, WORKER + (uint64_t)of, GW_MESSAGE_control)->control.attempt;
    pause_at_a_step(w, of, attempt, 2);
    (void)run_saved(w, of, 2);
    /* Neither reclaims from the other any more. */
    for (int i = 0; i < 10; i++) {
        pass(w, SECOND);
        assert_false(told(w, 0, GW_MESSAGE_control) || told(w, 1, GW_MESSAGE_control));
    }
    free_world(w);
}

static void victims_make_room_for_the_whole_gang_or_none_ends(void **state)
{
    (void)state;
    for (int saved = 0; saved < 2; saved++) {
        struct world *w = begin_shared(2, 1);
        uint64_t attempts[2];
        for (uint64_t i = 0; i < 2; i++) {
            add_job(w, CYD, 1 + i, (struct gw_msg_spec){.ranks = 1, .priority = -1});
            attempts[i] = attempt_in(must(w, WORKER + i, GW_MESSAGE_assign), 0);
            ready(w, (int)i, attempts[i], 0);
            if (i == 0 || saved)
                save(w, (int)i, attempts[i], 1);
        }
        add_job(w, ADA, 3, (struct gw_msg_spec){.ranks = 2});
        pass(w, 2 * MS);
        assert_int_equal(told(w, 0, GW_MESSAGE_control), saved);
        assert_int_equal(told(w, 1, GW_MESSAGE_control), saved);
        free_world(w);
    }
}

static void work_that_loses_least_ends(void **state)
{
    struct world *w = begin_shared(3, 1);
    uint64_t attempts[3];
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        add_job(w, CYD, 1 + i, (struct gw_msg_spec){.ranks = 1, .priority = -1});
        attempts[i] = run_saved(w, (int)i, 1);
    }
    pass(w, SECOND);
    save(w, 1, attempts[1], 2);
    pass(w, SECOND);
    add_job(w, ADA, 4, (struct gw_msg_spec){0});
    pass(w, MS);
    expect_control(w, 1, attempts[1], GW_CONTROL_PAUSE);
    assert_false(told(w, 0, GW_MESSAGE_control) || told(w, 2, GW_MESSAGE_control));
    free_world(w);
}

/* Job 1 would lose least, but the task needs two slots of one worker: only job 3 can free them. */
static void work_that_is_not_in_the_way_goes_on(void **state)
{
    struct world *w = begin_shared(2, 2);
    uint64_t attempts[3];
    (void)state;
    for (uint64_t i = 0; i < 3; i++) {
        const int worker = i < 2 ? 0 : 1;
        const char *const name = worker ? "b" : "a";
        add_job(w, CYD, 1 + i,
                (struct gw_msg_spec){
                    .ranks = 1, .priority = -1, .slots = i < 2 ? 1 : 2, .workers = name});
        attempts[i] = run_saved(w, worker, 1);
    }
    pass(w, 4 * SECOND);
    save(w, 1, attempts[2], 2);
    pass(w, SECOND);
    save(w, 0, attempts[0], 2);
    add_job(w, ADA, 4, (struct gw_msg_spec){.slots = 2});
    pass(w, MS);
    expect_control(w, 1, attempts[2], GW_CONTROL_PAUSE);
    assert_false(told(w, 0, GW_MESSAGE_control));
    free_world(w);
}

/* Even work that comes first may not take the room that others free for somebody else. */
static void room_is_reserved_until_the_preemptor_starts(void **state)
{
    struct world *w = begin_shared(1, 2);
    (void)state;
    add_job(w, CYD, 1, (struct gw_msg_spec){.ranks = 2, .priority = -1});
    const uint64_t attempt = run_saved(w, 0, 2);
    add_job(w, ADA, 2, (struct gw_msg_spec){.ranks = 2});
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
    add_job(w, BOB, 3, (struct gw_msg_spec){.ranks = 2, .priority = 5});
    add_job(w, BOB, 4, (struct gw_msg_spec){.priority = 5});
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_rank_paused, .rank_paused = {attempt, 0}});
    finish(w, 0, attempt, 0, 1);
    assert_false(told(w, 0, GW_MESSAGE_assign));
    finish(w, 0, attempt, 1, 1);
    must(w, WORKER, GW_MESSAGE_gang);
    assert_int_equal(gw_sched_job_find(w->sched, 2)->placed, 1);
    free_world(w);
}

static void victim_goes_on_if_the_preemptor_is_cancelled(void **state)
{
    struct world *w = begin_shared(1, 2);
    (void)state;
    add_job(w, BOB, 1, (struct gw_msg_spec){.ranks = 2, .priority = -1});
    const uint64_t attempt = run_saved(w, 0, 2);
    add_job(w, ADA, 2, (struct gw_msg_spec){.ranks = 2});
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
    say(w, ADA, (struct gw_message){.type = GW_MESSAGE_cancel, .cancel = {9, 2, GW_INDEX_ALL, 0}});
    expect_control(w, 0, attempt, GW_CONTROL_CONTINUE);
    assert_true(event_log_says(w, 1, "goes on: job 2 of account vision does not need its room"));
    add_job(w, ADA, 3, (struct gw_msg_spec){.ranks = 2});
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE); /* it may be preempted again */
    free_world(w);
}

/* Neither a drained worker nor a paused job needs the room. */
static void victim_goes_on_if_the_preemptor_cannot_start(void **state)
{
    (void)state;
    for (int drain = 0; drain < 2; drain++) {
        struct world *w = begin_shared(1, 2);
        add_job(w, BOB, 1, (struct gw_msg_spec){.ranks = 2, .priority = -1});
        const uint64_t attempt = run_saved(w, 0, 2);
        add_job(w, ADA, 2, (struct gw_msg_spec){.ranks = 2});
        pass(w, MS);
        expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
        if (drain)
            say(w, CYD,
                (struct gw_message){.type = GW_MESSAGE_worker_ask,
                                    .worker_ask = {.request = 9,
                                                   .name = "a",
                                                   .drain = 1,
                                                   .deadline_ns = UINT64_MAX,
                                                   .why = ""}});
        else
            say(w, ADA,
                (struct gw_message){.type = GW_MESSAGE_gang_ask, .gang_ask = {9, 2, GW_ASK_PAUSE}});
        expect_control(w, 0, attempt, GW_CONTROL_CONTINUE);
        free_world(w);
    }
}

/* The worker of the victim is lost: that is a loss, and the preemption is over. */
static void lost_worker_ends_the_preemption(void **state)
{
    struct world *w = begin_shared(1, 2);
    (void)state;
    add_job(w, BOB, 1, (struct gw_msg_spec){.ranks = 2, .priority = -1});
    const uint64_t attempt = run_saved(w, 0, 2);
    add_job(w, ADA, 2, (struct gw_msg_spec){.ranks = 2});
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER}, .code = GW_ELOST});
    pass(w, 1000001 * SECOND);
    add_worker(w, 1, 2, "b");
    must(w, WORKER + 1, GW_MESSAGE_gang);
    assert_int_equal(gw_sched_job_find(w->sched, 2)->placed, 1);
    free_world(w);
}

/* A job that is paused while it is preempted, and resumed, is still preempted. */
static void resumed_victim_is_ended_after_its_grace(void **state)
{
    struct world *w = begin_shared(1, 2);
    (void)state;
    add_job(w, BOB, 1, (struct gw_msg_spec){.ranks = 2, .priority = -1});
    const uint64_t attempt = run_saved(w, 0, 2);
    add_job(w, ADA, 2, (struct gw_msg_spec){.ranks = 2});
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
    say(w, BOB, (struct gw_message){.type = GW_MESSAGE_gang_ask, .gang_ask = {9, 1, GW_ASK_PAUSE}});
    say(w, BOB,
        (struct gw_message){.type = GW_MESSAGE_gang_ask, .gang_ask = {10, 1, GW_ASK_RESUME}});
    pass(w, 11 * SECOND);
    must(w, WORKER, GW_MESSAGE_kill);
    ranks_killed(w, 0, attempt, 2);
    must(w, WORKER, GW_MESSAGE_gang);
    assert_int_equal(gw_sched_job_find(w->sched, 2)->placed, 1);
    expect_no_charges(w, 1);
    free_world(w);
}

/* A gang that is preempted ends anyway. */
static void restart_of_a_preempted_gang_does_not_count(void **state)
{
    struct world *w = begin_shared(1, 2);
    (void)state;
    add_job(w, BOB, 1, (struct gw_msg_spec){.ranks = 2, .priority = -1});
    const uint64_t attempt = run_saved(w, 0, 2);
    add_job(w, ADA, 2, (struct gw_msg_spec){.ranks = 2});
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
    say(w, BOB,
        (struct gw_message){.type = GW_MESSAGE_gang_ask, .gang_ask = {9, 1, GW_ASK_RESTART}});
    must(w, WORKER, GW_MESSAGE_kill);
    ranks_killed(w, 0, attempt, 2);
    must(w, WORKER, GW_MESSAGE_gang);
    expect_no_charges(w, 1);
    free_world(w);
}

/* Both accounts are in one that must not exceed 2 slots. The resources that bob has borrowed
 * there are ada's, and neither may exceed it while the victim ends. */
static void quota_inside_a_strict_account_is_reclaimed(void **state)
{
    static const struct gw_account_config strict[] = {
        {.name = "lab", .shares = 1, .strict = true, .limits = {.slots = 2}},
        {.name = "vision",
         .parent = "lab",
         .shares = 1,
         .limits = {.slots = 1},
         .users = ada,
         .user_count = 1},
        {.name = "speech",
         .parent = "lab",
         .shares = 1,
         .limits = {.slots = 1},
         .users = bob,
         .user_count = 1}};
    struct world *w = begin_shared(1, 4);
    struct gw_error error = {0};
    uint64_t attempts[2];
    (void)state;
    assert_int_equal(
        gw_sched_policy_set(
            w->sched, &(struct gw_cluster_policy){.accounts = strict, .account_count = 3}, &error),
        0);
    for (uint64_t i = 0; i < 2; i++) {
        add_job(w, BOB, 1 + i, (struct gw_msg_spec){.ranks = 1});
        attempts[i] = run_saved(w, 0, 1);
    }
    add_job(w, ADA, 3, (struct gw_msg_spec){.ranks = 1});
    pass(w, MS);
    expect_control(w, 0, attempts[1], GW_CONTROL_PAUSE); /* of equal losses, the younger job */
    assert_false(told(w, 0, GW_MESSAGE_assign));
    explained(w, 3, "job 2 of account speech");
    pause_at_a_step(w, 0, attempts[1], 1);
    (void)run_saved(w, 0, 1);
    assert_int_equal(gw_sched_job_find(w->sched, 3)->placed, 1);
    pass(w, SECOND);
    assert_false(told(w, 0, GW_MESSAGE_control));
    free_world(w);
}

/* While the victim ends, another job of ada's does not take the quota that her first job needs. */
/* Two slots of ada's account will be free when job 1 has ended, and job 2 needs one of them. Until
 * then job 3 does not start, although the worker has free slots. */
static void strict_account_is_not_exceeded_while_a_victim_ends(void **state)
{
    static const struct gw_account_config strict = {.name = "vision",
                                                    .shares = 1,
                                                    .strict = true,
                                                    .limits = {.slots = 2},
                                                    .users = ada,
                                                    .user_count = 1};
    struct world *w = begin_shared(1, 4);
    struct gw_error error = {0};
    (void)state;
    assert_int_equal(
        gw_sched_policy_set(
            w->sched, &(struct gw_cluster_policy){.accounts = &strict, .account_count = 1}, &error),
        0);
    add_job(w, ADA, 1, (struct gw_msg_spec){.ranks = 2, .priority = -2});
    const uint64_t attempt = run_saved(w, 0, 2);
    add_job(w, ADA, 2, (struct gw_msg_spec){0});
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
    add_job(w, ADA, 3, (struct gw_msg_spec){.ranks = 1, .priority = -1});
    pass(w, MS);
    assert_int_equal(gw_sched_job_find(w->sched, 3)->placed, 0);
    pause_at_a_step(w, 0, attempt, 2);
    assert_int_equal(gw_sched_job_find(w->sched, 2)->placed, 1);
    assert_int_equal(gw_sched_job_find(w->sched, 3)->placed, 1);
    free_world(w);
}

static void quota_of_the_preemptor_is_reserved(void **state)
{
    struct world *w = begin_shared(2, 2);
    (void)state;
    add_job(w, BOB, 1, (struct gw_msg_spec){.ranks = 3});
    const uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    for (uint32_t rank = 0; rank < 3; rank++)
        ready(w, rank < 2 ? 0 : 1, attempt, rank);
    save(w, 0, attempt, 1);
    add_job(w, ADA, 2, (struct gw_msg_spec){.ranks = 2});
    pass(w, MS);
    expect_control(w, 0, attempt, GW_CONTROL_PAUSE);
    const struct gw_account *vision = gw_account_find(w->sched->accounts, "vision");
    assert_int_equal(vision->holder.claims[1].use.slots, 2);
    add_job(w, CYD, 3, (struct gw_msg_spec){0});
    assert_int_equal(gw_account_find(w->sched->accounts, "speech")->holder.claims[1].leaving.slots,
                     3);
    add_job(w, ADA, 4, (struct gw_msg_spec){0});
    assert_int_equal(gw_sched_queue_quota(gw_sched_job_find(w->sched, 4)->queues.items[0]),
                     GW_QUOTA_BORROWS);
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_rank_paused, .rank_paused = {attempt, 0}});
    for (uint32_t rank = 0; rank < 3; rank++)
        finish(w, rank < 2 ? 0 : 1, attempt, rank, 1);
    assert_int_equal(gw_sched_job_find(w->sched, 2)->placed, 1);
    assert_int_equal(vision->holder.claims[1].use.slots, 0);
    free_world(w);
}

static struct world *next_term(void)
{
    struct gw_error error = {0};
    const struct gw_account_config account = {.name = "all", .shares = 1};
    struct world *w = life_begin();
    const struct gw_cluster_policy policy = {
        .accounts = &account, .account_count = 1, .default_account = "all"};
    assert_int_equal(gw_sched_policy_set(w->sched, &policy, &error), 0);
    return w;
}

/* A term that preempts a gang of two ranks, and ends before it hears of the end. */
static void preempt_and_die(struct row rows[2], struct gw_msg_spec spec)
{
    life_facts.size = 0;
    struct world *w = next_term();
    connect_worker(w, WORKER, 7, NULL, 0);
    life_commit(w);
    send_spec(w, spec);
    submit(w, (struct chunk){spec.key, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    const uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    life_commit(w);
    const uint64_t job = must(w, CLIENT, GW_MESSAGE_accepted)->accepted.job;
    for (uint32_t rank = 0; rank < 2; rank++) {
        ready(w, 0, attempt, rank);
        rows[rank] = (struct row){attempt, job, .rank = rank, .claim = GW_CLAIM_RUNS, .world = 2};
    }
    life_commit(w);
    save(w, 0, attempt, 1);
    life_commit(w);
    submit_task(w, 5, (struct gw_msg_spec){.ranks = 2});
    pass(w, SECOND);
    assert_true(event_log_says(w, (int64_t)job, "is preempted by job"));
    life_commit(w);
    free_world(w);
}

static void gang_whose_preemption_ends_under_the_next_scheduler_pays_nothing(void **state)
{
    (void)state;
    for (int command = 0; command < 2; command++) {
        struct row rows[2];
        preempt_and_die(rows,
                        (struct gw_msg_spec){.key = 1,
                                             .kind = command ? GW_SPEC_COMMAND : GW_SPEC_FUNCTION,
                                             .ranks = 2,
                                             .priority = -1,
                                             .preemptions_max = UINT32_MAX});
        struct world *w = next_term();
        connect_worker(w, WORKER, 7, rows, 2);
        if (command)
            must(w, WORKER, GW_MESSAGE_kill);
        else
            expect_control(w, 0, rows[0].attempt, GW_CONTROL_PAUSE);
        life_commit(w);
        if (command)
            ranks_killed(w, 0, rows[0].attempt, 2);
        else
            pause_at_a_step(w, 0, rows[0].attempt, 2);
        must(w, WORKER, GW_MESSAGE_gang);
        expect_no_charges(w, rows[0].job);
        free_world(w);
    }
    gw_buffer_deinit(&life_facts);
}

static void users_of_one_priority_within_quotas_do_not_preempt_each_other(void **state)
{
    struct world *w = begin_shared(1, 2);
    (void)state;
    add_job(w, BOB, 1, (struct gw_msg_spec){.ranks = 2});
    (void)run_saved(w, 0, 2);
    add_job(w, ADA, 2, (struct gw_msg_spec){.ranks = 2});
    for (int i = 0; i < 10; i++) {
        pass(w, SECOND);
        assert_false(told(w, 0, GW_MESSAGE_control));
    }
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(urgent_work_preempts_a_gang_at_its_next_step),
        cmocka_unit_test(next_attempt_may_be_preempted_too),
        cmocka_unit_test(functions_that_go_on_are_ended_after_their_grace),
        cmocka_unit_test(command_gets_its_grace_period),
        cmocka_unit_test(work_without_a_checkpoint_is_preempted_only_in_a_queue_with_requeue),
        cmocka_unit_test(actor_is_not_preempted),
        cmocka_unit_test(attempt_runs_for_the_minimum_before_it_is_preempted),
        cmocka_unit_test(quota_is_reclaimed_and_nothing_more),
        cmocka_unit_test(victims_make_room_for_the_whole_gang_or_none_ends),
        cmocka_unit_test(work_that_loses_least_ends),
        cmocka_unit_test(work_that_is_not_in_the_way_goes_on),
        cmocka_unit_test(room_is_reserved_until_the_preemptor_starts),
        cmocka_unit_test(victim_goes_on_if_the_preemptor_is_cancelled),
        cmocka_unit_test(victim_goes_on_if_the_preemptor_cannot_start),
        cmocka_unit_test(lost_worker_ends_the_preemption),
        cmocka_unit_test(resumed_victim_is_ended_after_its_grace),
        cmocka_unit_test(restart_of_a_preempted_gang_does_not_count),
        cmocka_unit_test(quota_inside_a_strict_account_is_reclaimed),
        cmocka_unit_test(strict_account_is_not_exceeded_while_a_victim_ends),
        cmocka_unit_test(quota_of_the_preemptor_is_reserved),
        cmocka_unit_test(gang_whose_preemption_ends_under_the_next_scheduler_pays_nothing),
        cmocka_unit_test(users_of_one_priority_within_quotas_do_not_preempt_each_other),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
