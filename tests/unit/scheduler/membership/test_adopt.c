/* Which of the attempts claimed by workers a restarted scheduler adopts, which it does not, and how
 * long it waits for the workers. */
#include "scheduler/core/lifecycle/checkpoint.h"
#include "scheduler/core/model/jobs/checkpoint.h"
#include "scheduler/core/model/jobs/job.h"
#include "tests/unit/scheduler/membership/claims.h"

#include <stdlib.h>

#define SECOND (1000 * MS)

/* A client that waits for the workers and then submits must find them registered. */
static void worker_counts_only_after_its_registration_is_durable(void **state)
{
    (void)state;
    struct world *w =
        new_world_with((struct gw_sched_options){.state_dir = "/s", .keeps_workers = true});
    connect_worker(w, WORKER, 7, NULL, 0);
    assert_int_equal(gw_sched_workers_known(w->sched), 0);
    (void)step(w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = 1000});
    assert_int_equal(gw_sched_workers_known(w->sched), 1);
    free_world(w);
}

static void running_task_is_adopted_after_a_restart(void **state)
{
    (void)state;
    struct row row = one_runs();
    struct world *w = life_begin();
    connect_worker(w, WORKER + 1, 8, NULL, 0); /* another worker with free slots */
    life_commit(w);
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    connect_worker(w, WORKER, 7, &row, 1);
    assert_false(killed(w, row.attempt));
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    finish(w, 0, row.attempt, GW_RANK_NONE, 3);
    life_commit(w);
    assert_true(gw_sched_job_knows(w->sched, row.job));
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_wait, .wait = {2, row.job}});
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, 0);
    free_world(w);
}

/* Another cluster's jobs have the same ids, and its attempts may have the same ids. */
static void attempts_of_another_cluster_are_killed(void **state)
{
    (void)state;
    struct row row = one_runs();
    struct world *w = life_begin();
    claims_are_of = "another";
    connect_worker(w, WORKER, 7, &row, 1);
    claims_are_of = "";
    assert_true(killed(w, row.attempt));
    free_world(w);
}

/* The scheduler believes no claim that cannot be true. */
static void contradictory_claims_of_a_worker_are_killed(void **state)
{
    (void)state;
    const struct row right = one_runs();
    struct row rows[] = {right, right, right, right, right, right, right, right};
    for (uint32_t i = 0; i < 7; i++)
        rows[i].attempt += (i + 1) << 24;
    rows[0].job = 999;
    rows[1].index = 1;
    rows[2].rank = 0;
    rows[3].world = 2;
    rows[4].claim = 99;
    rows[5].gpus = 1;
    rows[6].attempt = (right.attempt & 0xffffffffffff) | UINT64_C(2)
                                                             << 48; /* of the present scheduler */
    struct world *w = life_begin();
    connect_worker(w, WORKER, 7, rows, 8);
    for (uint32_t i = 0; i < 7; i++)
        assert_true(killed(w, rows[i].attempt));
    assert_false(killed(w, right.attempt));
    struct row thief = right; /* another worker's attempt, which was adopted already */
    connect_worker(w, WORKER + 1, 8, &thief, 1);
    assert_non_null(sent(w, WORKER + 1, GW_MESSAGE_kill, 0));
    finish(w, 1, right.attempt, GW_RANK_NONE, 3);
    finish(w, 0, right.attempt, GW_RANK_NONE, 3);
    life_commit(w);
    free_world(w);
}

static void restart_waits_for_an_absent_worker_before_rerunning(void **state)
{
    (void)state;
    struct row row = one_runs();
    struct world *w = life_begin();
    connect_worker(w, WORKER, 8, NULL, 0);
    life_commit(w);
    pass(w, GW_LOST_NS - SECOND);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    w->now_ns += SECOND - 10 * MS;
    say(w, WORKER, (struct gw_message){.type = GW_MESSAGE_heartbeat, .heartbeat = {1, 0, 0, 0}});
    pass(w, 10 * MS);
    assert_int_equal(gw_col64_at(must(w, WORKER, GW_MESSAGE_assign)->assign.job, 0), row.job);
    connect_worker(w, WORKER + 1, 7, &row, 1); /* too late */
    assert_non_null(sent(w, WORKER + 1, GW_MESSAGE_kill, 0));
    free_world(w);
}

static void restart_reruns_at_once_if_the_worker_is_gone(void **state)
{
    (void)state;
    struct row row = one_runs();
    struct world *w = life_begin();
    connect_worker(w, WORKER, 8, NULL, 0);
    life_commit(w);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    (void)step(w, (struct gw_event){.type = GW_EVENT_GONE, .text = "w"});
    assert_int_equal(gw_col64_at(must(w, WORKER, GW_MESSAGE_assign)->assign.job, 0), row.job);
    free_world(w);
}

/* A worker reports only once that its ranks stand still, whether or not the other workers are
 * back by then. */
static void hang_reported_during_recovery_ends_the_gang(void **state)
{
    (void)state;
    struct row rows[2];
    const uint32_t rank = 0, stopped = 1, size = 0;
    const uint64_t begun = 4;
    gang_runs(rows, (struct gw_msg_spec){.hang_timeout_ns = SECOND});
    struct world *w = life_begin();
    connect_worker(w, WORKER, 7, &rows[0], 1);
    struct gw_message stuck = {.type = GW_MESSAGE_gang_stuck,
                               .gang_stuck = {.attempt = rows[0].attempt,
                                              .rank = {&rank, 1},
                                              .begun = {&begun, 1},
                                              .stopped = {&stopped, 1},
                                              .operation_size = {&size, 1},
                                              .operations = {"", 0},
                                              .stack_size = {&size, 1},
                                              .stacks = {"", 0}}};
    say(w, WORKER, stuck);
    rows[1].claim = GW_CLAIM_ENDED;
    connect_worker(w, WORKER + 1, 8, &rows[1], 1);
    assert_false(killed(w, rows[0].attempt));
    assert_null(sent(w, WORKER, GW_MESSAGE_gang_look, 0));
    finish(w, 1, rows[1].attempt, 1, 3);
    must(w, WORKER, GW_MESSAGE_gang_look);
    stuck.gang_stuck.closely = 1;
    say(w, WORKER, stuck);
    assert_true(killed(w, rows[0].attempt));
    free_world(w);
}

/* As shown to users. */
static int64_t tries_of(const struct world *w, uint64_t job)
{
    struct gw_value *tasks = ask(w, "tasks", (int64_t)job, 0);
    int64_t tries = -1;
    const struct gw_value *found = gw_value_find(gw_value_at(tasks, 0), "tries");
    assert_int_equal(gw_value_get_i64(found, &tries, NULL), 0);
    gw_value_unref(tasks);
    return tries;
}

/* If no other worker is awaited, a rank that comes back alone does not wait for the others. */
static void rank_that_returns_alone_after_the_deadline_is_killed(void **state)
{
    (void)state;
    struct row rows[2];
    gang_runs(rows, (struct gw_msg_spec){0});
    struct world *w = life_begin();
    w->now_ns += GW_LOST_NS + SECOND;
    (void)step(w, (struct gw_event){.type = GW_EVENT_TICK});
    connect_worker(w, WORKER, 7, &rows[0], 1);
    assert_true(killed(w, rows[0].attempt));
    free_world(w);
}

/* Both earlier workers are connected, and run nothing of the gang. */
static void begin_anew(struct world *w)
{
    for (uint32_t i = 0; i < 2; i++)
        connect_worker(w, WORKER + i, 7 + i, NULL, 0);
}

/* The restart count that rank 0 receives, from 0. */
static uint32_t try_number(const struct world *w)
{
    return gw_col32_at(must(w, WORKER, GW_MESSAGE_assign)->assign.try_number, 0);
}

static void started_gang_counts_once_across_restarts(void **state)
{
    (void)state;
    struct row rows[2];
    gang_runs(rows, (struct gw_msg_spec){0});
    for (uint32_t life = 1; life < 4; life++) { /* a gang that did not start does not count */
        struct world *w = life_begin();
        assert_int_equal(tries_of(w, rows[0].job), 1);
        begin_anew(w);
        assert_int_equal(try_number(w), 1);
        assert_int_equal(tries_of(w, rows[0].job), 2);
        free_world(w);
    }
}

static void adopted_gang_counts_as_a_single_attempt(void **state)
{
    (void)state;
    struct row rows[2];
    gang_runs(rows, (struct gw_msg_spec){.retries = 1});
    for (uint32_t life = 1; life < 3; life++) {
        struct world *w = life_begin();
        for (uint32_t i = 0; i < 2; i++)
            connect_worker(w, WORKER + i, 7 + i, &rows[i], 1);
        life_commit(w);
        assert_int_equal(tries_of(w, rows[0].job), 1);
        free_world(w);
    }
    struct world *w = life_begin();
    begin_anew(w);
    assert_int_equal(try_number(w), 1);
    free_world(w);
}

/* The last facts before a crash may be lost; a gang that runs nevertheless is counted when its
 * worker reports it. */
static void adopted_gang_with_lost_start_fact_is_counted(void **state)
{
    (void)state;
    struct row rows[2];
    gang_runs(rows, (struct gw_msg_spec){0});
    life_facts.size -= unwritten;
    struct world *w = life_begin();
    assert_int_equal(tries_of(w, rows[0].job), 0);
    for (uint32_t i = 0; i < 2; i++) {
        connect_worker(w, WORKER + i, 7 + i, &rows[i], 1);
        life_commit(w);
    }
    free_world(w);
    w = life_begin();
    assert_int_equal(tries_of(w, rows[0].job), 1);
    free_world(w);
}

/* Its checkpoints are at the workers where it runs, although the fact of its start was lost. */
static void adopted_command_gang_gets_a_worker_for_its_checkpoint(void **state)
{
    (void)state;
    struct row rows[2];
    gang_runs(rows, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .retries = 1});
    life_facts.size -= unwritten;
    struct world *w = life_begin();
    const struct gw_job *job = gw_sched_job_find(w->sched, rows[0].job);
    assert_int_equal(gw_sched_checkpoint_home(w->sched, job, 0), 0);
    for (uint32_t i = 2; i-- > 0;)
        connect_worker(w, WORKER + i, 7 + i, &rows[i], 1);
    const struct gw_checkpointed *saved = gw_sched_checkpoint_of(job, 0);
    assert_non_null(saved);
    assert_int_equal(saved->home.incarnation, 7);
    assert_int_equal(saved->member_count, 1);
    assert_int_equal(saved->members[0].incarnation, 8);
    assert_int_equal(gw_sched_checkpoint_home(w->sched, job, 0), saved->home.worker);
    free_world(w);
}

static void event_log_reports_adopted_ranks(void **state)
{
    (void)state;
    struct row rows[2];
    gang_runs(rows, (struct gw_msg_spec){0});
    struct world *w = life_begin();
    for (uint32_t i = 0; i < 2; i++) {
        connect_worker(w, WORKER + i, 7 + i, &rows[i], 1);
        life_commit(w);
    }
    assert_true(event_log_says(w, (int64_t)rows[0].job, "attempt 1: rank 0 still runs at "));
    assert_true(event_log_says(w, (int64_t)rows[0].job, "attempt 1: rank 1 still runs at "));
    assert_false(event_log_says(w, (int64_t)rows[0].job, "placed"));
    assert_false(event_log_says(w, (int64_t)rows[0].job, "attempt 1 started"));
    free_world(w);
    w = life_begin();
    connect_worker(w, WORKER, 7, rows, 2); /* the worker reports both ranks */
    assert_true(event_log_says(w, (int64_t)rows[0].job, "attempt 1: ranks 0 to 1 still run at "));
    assert_false(event_log_says(w, (int64_t)rows[0].job, "rank 1 runs"));
    free_world(w);
}

/* Its workers may still be about to reconnect to this scheduler, however often the gang started
 * before. */
static void gang_waits_for_its_full_size_after_each_restart(void **state)
{
    (void)state;
    struct row rows[2];
    gang_runs(rows, (struct gw_msg_spec){.min_ranks = 1, .full_size_timeout_ns = 30 * SECOND});
    struct world *w = life_begin();
    connect_worker(w, WORKER, 7, NULL, 0);
    life_commit(w);
    (void)step(w, (struct gw_event){.type = GW_EVENT_GONE, .text = "w"}); /* the other worker */
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    connect_worker(w, WORKER + 1, 9, NULL, 0);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gang)->gang.world, 2);
    free_world(w);
}

/* Worker 8, with rank 1, connects after the attempt has failed because of rank 0, before or
 * after another restart, while other workers are still awaited. The gang has one restart and
 * starts again. */
static void partly_reported_gang_failure_counts_once(void **state)
{
    (void)state;
    for (int lives = 1; lives <= 2; lives++) {
        struct row rows[2];
        gang_runs(rows, (struct gw_msg_spec){.retries = 1});
        struct world *w = life_begin();
        for (uint32_t i = 0; i < 3; i++) {
            connect_worker(w, WORKER + i, 7 + i, &rows[i], i < 2);
            life_commit(w);
        }
        free_world(w);
        w = life_begin();
        rows[0].claim = rows[1].claim = GW_CLAIM_ENDED;
        connect_worker(w, WORKER, 7, &rows[0], 1);
        tell_crash(w, WORKER, &rows[0]);
        life_commit(w);
        if (lives == 2) {
            free_world(w);
            w = life_begin();
            connect_worker(w, WORKER, 7, NULL, 0);
            life_commit(w);
        }
        connect_worker(w, WORKER + 1, 8, &rows[1], 1);
        life_commit(w);
        tell_crash(w, WORKER + 1, &rows[1]);
        life_commit(w);
        connect_worker(w, WORKER + 2, 9, NULL, 0);
        assert_int_equal(try_number(w), 1);
        free_world(w);
    }
}

/* A task that was lost with its worker stays lost, even if the worker lives on. */
static void lost_task_is_not_adopted_when_its_worker_returns(void **state)
{
    (void)state;
    for (int lives = 1; lives <= 2; lives++) {
        const struct row row = one_runs();
        struct world *w = life_begin();
        connect_worker(w, WORKER, 7, &row, 1);
        assert_false(killed(w, row.attempt));
        (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER}});
        life_commit(w);
        if (lives == 2) {
            free_world(w);
            w = life_begin();
        }
        connect_worker(w, WORKER, 7, &row, 1);
        assert_true(killed(w, row.attempt));
        free_world(w);
    }
}

/* A restarted scheduler that adopts both ranks; returns it in the step in which both are connected.
 */
static struct world *take_over(const struct row rows[2])
{
    struct world *w = life_begin();
    for (uint32_t i = 0; i < 2; i++) {
        if (i > 0)
            life_commit(w);
        connect_worker(w, WORKER + i, 7 + i, &rows[i], 1);
    }
    return w;
}

/* A scheduler run that receives these requests for a running gang and ends before its workers
 * receive them. */
static void ask_and_die(const struct row rows[2], const uint32_t verbs[2])
{
    struct world *w = take_over(rows);
    life_commit(w);
    for (uint32_t i = 0; i < 2 && verbs[i]; i++) {
        say(w, CLIENT,
            (struct gw_message){.type = GW_MESSAGE_gang_ask,
                                .gang_ask = {70 + i, rows[0].job, verbs[i]}});
        assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, 0);
        life_commit(w);
    }
    free_world(w);
}

static void stop_and_pause_requests_are_repeated_after_a_restart(void **state)
{
    static const struct {
        uint32_t verbs[2], control;
    } asked[] = {{{GW_ASK_STOP}, 2}, {{GW_ASK_PAUSE}, 1}, {{GW_ASK_PAUSE, GW_ASK_RESUME}, 0}};
    (void)state;
    for (size_t i = 0; i < sizeof asked / sizeof *asked; i++) {
        struct row rows[2];
        gang_runs(rows, (struct gw_msg_spec){0});
        ask_and_die(rows, asked[i].verbs);
        struct world *w = take_over(rows);
        assert_int_equal(must(w, WORKER, GW_MESSAGE_control)->control.command, asked[i].control);
        assert_null(sent(w, WORKER, GW_MESSAGE_control, 1));
        if (i == 0)
            assert_true(
                event_log_says(w, (int64_t)rows[0].job, "told to stop with its results so far by"));
        free_world(w);
    }
}

/* The job is paused or resumed before the restarted scheduler knows of the gang. */
static void adopted_gang_receives_a_pause_made_during_recovery(void **state)
{
    (void)state;
    for (uint32_t resumes = 0; resumes < 2; resumes++) {
        struct row rows[2];
        gang_runs(rows, (struct gw_msg_spec){0});
        if (resumes)
            ask_and_die(rows, (const uint32_t[2]){GW_ASK_PAUSE});
        struct world *w = life_begin();
        say(w, CLIENT,
            (struct gw_message){
                .type = GW_MESSAGE_gang_ask,
                .gang_ask = {70, rows[0].job, resumes ? GW_ASK_RESUME : GW_ASK_PAUSE}});
        life_commit(w);
        connect_worker(w, WORKER, 7, &rows[0], 1);
        life_commit(w);
        connect_worker(w, WORKER + 1, 8, &rows[1], 1);
        assert_int_equal(must(w, WORKER, GW_MESSAGE_control)->control.command, resumes ? 0 : 1);
        assert_null(sent(w, WORKER, GW_MESSAGE_control, 1));
        free_world(w);
    }
}

static void restart_request_is_repeated_after_a_scheduler_restart(void **state)
{
    (void)state;
    struct row rows[2];
    gang_runs(rows, (struct gw_msg_spec){.grace_ns = 5 * SECOND});
    ask_and_die(rows, (const uint32_t[2]){GW_ASK_RESTART});
    struct world *w = take_over(rows);
    for (uint32_t i = 0; i < 2; i++) {
        const struct gw_msg_kill *kill = &must(w, WORKER + i, GW_MESSAGE_kill)->kill;
        assert_int_equal(kill->reason, GW_KILL_PREEMPT);
        assert_int_equal(kill->grace_ns, 5 * SECOND);
    }
    free_world(w);
}

/* The gang was to stop with its present result, and it has none. */
static void lost_gang_with_a_stop_request_does_not_restart(void **state)
{
    (void)state;
    struct row rows[2];
    gang_runs(rows, (struct gw_msg_spec){.retries = 3});
    ask_and_die(rows, (const uint32_t[2]){GW_ASK_STOP});
    struct world *w = life_begin();
    connect_worker(w, WORKER, 7, NULL, 0);
    life_commit(w);
    connect_worker(w, WORKER + 1, 8, NULL, 0);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    life_commit(w);
    explained(w, rows[0].job, "the gang was told to stop with its results so far by c");
    explained(w, rows[0].job, "and did not come back after the scheduler restarted");
    connect_worker(w, WORKER + 2, 9, &rows[0], 1); /* too late */
    assert_non_null(sent(w, WORKER + 2, GW_MESSAGE_kill, 0));
    free_world(w);
    w = life_begin(); /* the old request does not affect the new attempt that the user wants */
    begin_anew(w);
    life_commit(w);
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_retry, .retry = {3, rows[0].job, GW_INDEX_ALL}});
    must(w, WORKER, GW_MESSAGE_assign);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worker_counts_only_after_its_registration_is_durable),
        cmocka_unit_test(running_task_is_adopted_after_a_restart),
        cmocka_unit_test(attempts_of_another_cluster_are_killed),
        cmocka_unit_test(contradictory_claims_of_a_worker_are_killed),
        cmocka_unit_test(restart_waits_for_an_absent_worker_before_rerunning),
        cmocka_unit_test(restart_reruns_at_once_if_the_worker_is_gone),
        cmocka_unit_test(hang_reported_during_recovery_ends_the_gang),
        cmocka_unit_test(rank_that_returns_alone_after_the_deadline_is_killed),
        cmocka_unit_test(started_gang_counts_once_across_restarts),
        cmocka_unit_test(adopted_gang_counts_as_a_single_attempt),
        cmocka_unit_test(adopted_gang_with_lost_start_fact_is_counted),
        cmocka_unit_test(adopted_command_gang_gets_a_worker_for_its_checkpoint),
        cmocka_unit_test(event_log_reports_adopted_ranks),
        cmocka_unit_test(gang_waits_for_its_full_size_after_each_restart),
        cmocka_unit_test(partly_reported_gang_failure_counts_once),
        cmocka_unit_test(lost_task_is_not_adopted_when_its_worker_returns),
        cmocka_unit_test(stop_and_pause_requests_are_repeated_after_a_restart),
        cmocka_unit_test(adopted_gang_receives_a_pause_made_during_recovery),
        cmocka_unit_test(restart_request_is_repeated_after_a_scheduler_restart),
        cmocka_unit_test(lost_gang_with_a_stop_request_does_not_restart),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gw_buffer_deinit(&life_facts);
    return failed;
}
