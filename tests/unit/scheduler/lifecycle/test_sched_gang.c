/* Gangs that restart: budgets, workers in quarantine, and requests of users. */
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/model/state.h"
#include "tests/unit/scheduler/gang_world.h"

#include <gangway/comm.h>

#define SECOND (1000 * MS)

static void beat(struct world *w, int worker)
{
    static uint64_t number;
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_heartbeat, .heartbeat = {++number, 0, 0, 0}});
}

/* Rank 0 fails, and rank 1 is killed with it. */
static void fail_gang(struct world *w, int worker, uint64_t attempt)
{
    attempt_ended(
        w, worker,
        (struct gw_msg_ended){
            .attempt = attempt, .outcome = GW_OUTCOME_FAILED, .code = -1, .executing = 1});
    must(w, WORKER + (uint64_t)worker, GW_MESSAGE_kill);
    attempt_ended(
        w, worker,
        (struct gw_msg_ended){.attempt = attempt, .rank = 1, .outcome = GW_OUTCOME_KILLED});
}

/* Rank 1 of a gang of two, on different workers, reports that it cannot reach rank 0. Returns the
 * two workers, as bits. */
static uint32_t part_gang(struct world *w, int workers)
{
    uint32_t where = 0;
    uint64_t attempt = 0;
    int at[2] = {-1, -1};
    for (int i = 0; i < workers; i++) {
        const struct gw_message *assign = sent(w, WORKER + (uint64_t)i, GW_MESSAGE_assign, 0);
        if (!assign)
            continue;
        where |= 1U << i;
        attempt = attempt_in(assign, 0);
        at[gw_col32_at(assign->assign.rank, 0)] = i;
    }
    assert_true(at[0] >= 0 && at[1] >= 0);
    for (int rank = 0; rank < 2; rank++)
        ready(w, at[rank], attempt, (uint32_t)rank);
    attempt_ended(w, at[1],
                  (struct gw_msg_ended){.attempt = attempt,
                                        .rank = 1,
                                        .outcome = GW_OUTCOME_UNREACHED,
                                        .code = GW_ETIMEDOUT,
                                        .text = "no route"});
    attempt_ended(w, at[0],
                  (struct gw_msg_ended){.attempt = attempt, .outcome = GW_OUTCOME_KILLED});
    return where;
}

static void gang_avoids_worker_pairs_that_cannot_connect(void **state)
{
    struct world *w = new_world();
    (void)state;
    for (int i = 0; i < 3; i++)
        add_worker(w, i, 1, (const char *const[]){"a", "b", "c"}[i]);
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2}); /* without retries */
    const uint32_t first = part_gang(w, 3), second = part_gang(w, 3);
    assert_true(first != second);
    const uint32_t third = part_gang(w, 3);
    assert_true(third != first && third != second);
    for (int i = 0; i < 3; i++)
        assert_null(
            sent(w, WORKER + (uint64_t)i, GW_MESSAGE_assign, 0)); /* no pair of workers is left */
    explained(w, 1, "could not reach each other: ");
    assert_null(sent(w, CLIENT, GW_MESSAGE_failed, 0));
    free_world(w);
}

static void gang_fails_after_repeated_unreachable_pairs(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    add_worker(w, 1, 1, "b");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2});
    uint64_t for_ns = GW_PARTING_NS;
    for (int i = 0; i <= GW_UNREACHED_MAX; i++) {
        assert_int_equal(part_gang(w, 2), 3);
        if (i == GW_UNREACHED_MAX)
            break;
        explained(w, 1, " and ");
        for (uint64_t passed = SECOND; passed < for_ns; passed += SECOND) {
            for (int k = 0; k < 2; k++)
                beat(w, k);
            pass(w, SECOND);
            assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
        }
        pass(w, SECOND);
        for_ns = 2 * for_ns < GW_PARTING_NS_MAX ? 2 * for_ns : GW_PARTING_NS_MAX;
    }
    const struct gw_msg_failed *failed = &must(w, CLIENT, GW_MESSAGE_failed)->failed;
    assert_non_null(strstr(failed->text, "could not reach rank 0 at "));
    free_world(w);
}

static void ask_for(struct world *w, uint64_t job, uint32_t verb)
{
    say(w, CLIENT, (struct gw_message){.type = GW_MESSAGE_gang_ask, .gang_ask = {77, job, verb}});
}

static void ask_restart(struct world *w, uint64_t job)
{
    ask_for(w, job, GW_ASK_RESTART);
}

static void gang_errors_use_up_the_retry_budget(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .retries = 2});
    uint64_t last = 0;
    for (int i = 0; i < 3; i++) {
        uint64_t attempt = go(w, 0);
        assert_true(attempt != last);
        last = attempt;
        fail_gang(w, 0, attempt);
    }
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_failed)->failed.code, GW_ETASK);
    free_world(w);
}

static void messages_of_an_earlier_attempt_are_ignored(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .retries = 1});
    uint64_t first = go(w, 0);
    fail_gang(w, 0, first);
    uint64_t second = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    ready(w, 0, second, 0);
    ready(w, 0, first, 1);
    assert_null(sent(w, WORKER, GW_MESSAGE_gang_start, 0));
    ready(w, 0, second, 1);
    must(w, WORKER, GW_MESSAGE_gang_start);
    attempt_ended(w, 0, (struct gw_msg_ended){.attempt = first, .outcome = GW_OUTCOME_FAILED});
    assert_null(sent(w, WORKER, GW_MESSAGE_kill, 0));
    free_world(w);
}

static void refuses_restart(struct world *w, uint64_t job, const char *words)
{
    ask_restart(w, job);
    const struct gw_msg_reply *reply = &must(w, CLIENT, GW_MESSAGE_reply)->reply;
    assert_int_equal(reply->code, GW_ELIMIT);
    assert_non_null(strstr(reply->text, words));
    assert_null(sent(w, WORKER, GW_MESSAGE_kill, 0));
}

static void requested_restarts_count_as_preemptions(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1,
                (struct gw_msg_spec){.ranks = 2, .preemptions_max = 1, .grace_ns = 5 * SECOND});
    uint64_t attempt = go(w, 0);
    ask_restart(w, 1);
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, 0);
    const struct gw_msg_kill *kill = &must(w, WORKER, GW_MESSAGE_kill)->kill;
    assert_int_equal(kill->grace_ns, 5 * SECOND);
    assert_int_equal(kill->reason, GW_KILL_PREEMPT);
    ask_restart(w, 1); /* the gang is being ended */
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, GW_ENOENT);
    finish(w, 0, attempt, 0, 1); /* it saved a checkpoint and returned: that value is no result */
    attempt_ended(
        w, 0, (struct gw_msg_ended){.attempt = attempt, .rank = 1, .outcome = GW_OUTCOME_KILLED});
    (void)go(w, 0);
    refuses_restart(w, 1,
                    "1 time, and its limit is 1 (--max-preemptions)"); /* a further restart would
                                                                          end the gang */
    free_world(w);
}

/* Rank 0 reports that it returns because of the request; then both ranks return. */
static void pause_at_a_step(struct world *w, uint64_t attempt)
{
    assert_int_equal(must(w, WORKER, GW_MESSAGE_control)->control.command, 1);
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_rank_paused, .rank_paused = {attempt, 0}});
    finish(w, 0, attempt, 0, 1);
    finish(w, 0, attempt, 1, 1);
}

static void return_value_of_a_paused_gang_is_ignored(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .preemptions_max = 1});
    for (int i = 0; i < 3; i++) { /* no budget counts this */
        uint64_t attempt = go(w, 0);
        ask_for(w, 1, GW_ASK_PAUSE);
        assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, 0);
        pause_at_a_step(w, attempt);
        assert_null(sent(w, CLIENT, GW_MESSAGE_done, 0));
        assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
        explained(w, 1, "its job is paused, by c (user");
        explained(w, 1, "gangway resume 1");
        ask_for(w, 1, GW_ASK_RESUME);
        assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, 0);
    }
    uint64_t attempt = go(w, 0);
    finish(w, 0, attempt, 0, 1);
    finish(w, 0, attempt, 1, 1);
    must(w, CLIENT, GW_MESSAGE_done);
    ask_for(w, 1, GW_ASK_PAUSE);
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, GW_EINVAL);
    free_world(w);
}

static void resume_before_the_pause_step_lets_the_gang_continue(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2});
    uint64_t attempt = go(w, 0);
    ask_for(w, 1, GW_ASK_PAUSE);
    ask_for(w, 1, GW_ASK_RESUME);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_control)->control.command, 0);
    ask_for(w, 1, GW_ASK_RESUME);
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, GW_EINVAL);
    finish(w, 0, attempt, 0, 1);
    finish(w, 0, attempt, 1, 1);
    must(w, CLIENT, GW_MESSAGE_done);
    free_world(w);
}

static void pausing_a_command_gang_ends_it_and_resume_restarts_it(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1,
                (struct gw_msg_spec){
                    .kind = GW_SPEC_COMMAND, .ranks = 2, .grace_ns = 5 * SECOND, .signal = 10});
    uint64_t attempt = go(w, 0);
    ask_for(w, 1, GW_ASK_PAUSE);
    const struct gw_msg_kill *kill = &must(w, WORKER, GW_MESSAGE_kill)->kill;
    assert_int_equal(kill->grace_ns, 5 * SECOND);
    assert_int_equal(kill->reason, GW_KILL_PREEMPT);
    for (uint32_t rank = 0; rank < 2; rank++)
        attempt_ended(
            w, 0,
            (struct gw_msg_ended){.attempt = attempt, .rank = rank, .outcome = GW_OUTCOME_KILLED});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    ask_for(w, 1, GW_ASK_RESUME);
    (void)go(w, 0);
    free_world(w);
}

static void port_taken(struct world *w, uint64_t attempt)
{
    for (uint32_t rank = 0; rank < 2; rank++)
        attempt_ended(w, 0,
                      (struct gw_msg_ended){.attempt = attempt,
                                            .rank = rank,
                                            .outcome = GW_OUTCOME_FAILED,
                                            .exit_code = 98,
                                            .executing = 1,
                                            .port_taken = rank == 0});
}

static void taken_port_does_not_count_for_three_restarts(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .ranks = 2});
    for (uint32_t i = 0; i < GW_PORT_TRIES_MAX; i++)
        port_taken(w, go(w, 0));
    uint64_t attempt = go(w, 0);
    port_taken(w, attempt);
    const struct gw_msg_failed *failed = &must(w, CLIENT, GW_MESSAGE_failed)->failed;
    assert_int_equal(failed->code, GW_ETASK);
    assert_non_null(strstr(failed->text, "has taken its MASTER_PORT"));
    free_world(w);
}

static void port_error_long_after_the_start_counts_as_failure(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .ranks = 2});
    uint64_t attempt = go(w, 0);
    w->now_ns += GW_GANG_EARLY_NS + SECOND;
    port_taken(w, attempt);
    const struct gw_msg_failed *failed = &must(w, CLIENT, GW_MESSAGE_failed)->failed;
    assert_null(strstr(failed->text, "MASTER_PORT"));
    free_world(w);
}

static void stopped_gang_does_not_restart(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .retries = 9});
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    ask_for(w, 1, GW_ASK_STOP); /* the gang has not started yet */
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, GW_ENOENT);
    ready(w, 0, attempt, 0);
    ready(w, 0, attempt, 1);
    ask_for(w, 1, GW_ASK_STOP);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_control)->control.command, 2);
    fail_gang(w, 0, attempt);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    const struct gw_msg_failed *failed = &must(w, CLIENT, GW_MESSAGE_failed)->failed;
    assert_non_null(strstr(failed->text, ": the gang was told to stop: "));
    free_world(w);
}

/* A gang that receives a stop request (or not) and ends without a value, and a task that takes the
 * value and fails; returns the error of the task. */
static struct world *world_without_value(bool stopped, const char **text)
{
    const uint32_t rank = 0, size = 1;
    const uint64_t bytes = 1, run_ns = MS;
    struct world *w = new_world();
    add_worker(w, 0, 1, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1, .ranks = 1});
    send_spec(w, (struct gw_msg_spec){.key = 1, .number = 1});
    submit_in_turns(w, (struct chunk){1, 2, GW_SUBMIT_LAST, true, 0}, 2);
    const uint64_t gang = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    ready(w, 0, gang, 0);
    if (stopped)
        ask_for(w, 1, GW_ASK_STOP);
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_finished,
                            .finished = {.attempt = {&gang, 1},
                                         .rank = {&rank, 1},
                                         .bytes = {&bytes, 1},
                                         .value_size = {&size, 1},
                                         .values = {"\xc0", 1},
                                         .run_ns = {&run_ns, 1}}});
    fail_attempt(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0));
    *text = must(w, CLIENT, GW_MESSAGE_failed)->failed.text;
    return w;
}

static void missing_value_error_names_the_stop_request(void **state)
{
    const char *text;
    struct world *w = world_without_value(true, &text);
    (void)state;
    assert_non_null(strstr(text, "(task 1 of job 1), on a: no luck\n"));
    assert_non_null(
        strstr(text, "\nf (task 0 of job 1) was told to stop with its results so far by c "));
    assert_non_null(strstr(text, " and returned no value"));
    free_world(w);
    w = world_without_value(false, &text);
    assert_null(strstr(text, "told to stop"));
    free_world(w);
}

static void paused_job_starts_no_tasks(void **state)
{
    struct world *w = new_world();
    (void)state;
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 3, GW_SUBMIT_LAST, true, 0});
    ask_for(w, 1, GW_ASK_PAUSE);
    add_worker(w, 0, 2, "a");
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    ask_for(w, 1, GW_ASK_RESUME);
    must(w, WORKER, GW_MESSAGE_assign);
    free_world(w);
}

/* The gang was about to start. Its prepared ranks end without counting against the budget and
 * never start. */
static void pause_during_preparation_ends_the_attempt_uncounted(void **state)
{
    static const uint32_t verbs[] = {GW_ASK_PAUSE, GW_ASK_PAUSE_NOW};
    static const uint32_t kinds[] = {GW_SPEC_FUNCTION, GW_SPEC_COMMAND};
    (void)state;
    for (int i = 0; i < 4; i++) {
        struct world *w = new_world();
        add_worker(w, 0, 2, "a");
        submit_task(
            w, 1,
            (struct gw_msg_spec){.kind = kinds[i / 2], .ranks = 2, .preemptions_max = UINT32_MAX});
        uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
        ready(w, 0, attempt, 0);
        ask_for(w, 1, verbs[i % 2]);
        assert_int_equal(must(w, WORKER, GW_MESSAGE_kill)->kill.reason, GW_KILL_PREEMPT);
        assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, 0);
        ready(w, 0, attempt, 1);
        assert_null(sent(w, WORKER, GW_MESSAGE_gang_start, 0));
        for (uint32_t rank = 0; rank < 2; rank++)
            attempt_ended(w, 0,
                          (struct gw_msg_ended){
                              .attempt = attempt, .rank = rank, .outcome = GW_OUTCOME_KILLED});
        assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
        assert_null(sent(w, CLIENT, GW_MESSAGE_failed, 0));
        ask_for(w, 1, GW_ASK_RESUME);
        assert_true(go(w, 0) != attempt);
        assert_int_equal(gw_sched_job_find(w->sched, 1)->tasks.charges[0].tries, 1);
        free_world(w);
    }
}

static void revoke(struct world *w, int worker)
{
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE,
                                    .peer = {WORKER + (uint64_t)worker},
                                    .code = GW_EPERM});
}

/* The worker was told to end and has ended its processes. */
static void say_goodbye(struct world *w, int worker)
{
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_refuse, .refuse = {0, "it was ended (SIGTERM)"}});
}

static void worker_losses_have_their_own_restart_budget(void **state)
{
    struct world *w = new_world();
    (void)state;
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .worker_losses_max = 1});
    for (int i = 0; i < 2; i++) {
        add_worker(w, i, 2, i ? "b" : "a");
        (void)go(w, i);
        (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER + (uint64_t)i}});
    }
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_failed)->failed.code, GW_ELOST);
    free_world(w);
}

static void leaves_uncounted(void (*leave)(struct world *w, int worker))
{
    struct world *w = new_world();
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .worker_losses_max = 1});
    for (int i = 0; i < 4; i++) {
        add_worker(w, i, 2, "a");
        (void)go(w, i);
        leave(w, i);
    }
    assert_null(sent(w, CLIENT, GW_MESSAGE_failed, 0));
    free_world(w);
    w = new_world();
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .worker_losses_max = UINT32_MAX});
    add_worker(w, 0, 2, "a");
    (void)go(w, 0);
    leave(w, 0);
    must(w, CLIENT, GW_MESSAGE_failed);
    free_world(w);
}

/* A worker whose token is revoked or that is told to end has not failed: neither its tasks nor
 * its name count the loss. But a task that allows no loss must never run twice. */
static void worker_with_a_revoked_token_counts_against_no_budget(void **state)
{
    (void)state;
    leaves_uncounted(revoke);
}

static void worker_told_to_end_counts_against_no_budget(void **state)
{
    (void)state;
    leaves_uncounted(say_goodbye);
}

static void function_gang_is_limited_to_128_ranks(void **state)
{
    struct world *w = new_world();
    (void)state;
    send_spec(w, (struct gw_msg_spec){.key = 1, .ranks = GW_COMM_HOST_RANKS_MAX});
    assert_null(sent(w, CLIENT, GW_MESSAGE_rejected, 0));
    send_spec(w, (struct gw_msg_spec){.key = 2, .ranks = GW_COMM_HOST_RANKS_MAX + 1});
    const struct gw_msg_rejected *rejected = &must(w, CLIENT, GW_MESSAGE_rejected)->rejected;
    assert_non_null(strstr(rejected->text, "a gang of functions may have 128"));
    free_world(w);
}

static void gang_without_a_budget_fails_at_the_first_loss(void **state)
{
    struct world *w = new_world();
    (void)state;
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .worker_losses_max = UINT32_MAX});
    add_worker(w, 0, 2, "a");
    (void)go(w, 0);
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER}});
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_failed)->failed.code, GW_ELOST);

    add_worker(w, 1, 2, "b");
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2, .preemptions_max = UINT32_MAX});
    (void)go(w, 1);
    refuses_restart(w, 2, "0 times, and its limit is 0 (--max-preemptions)");
    free_world(w);
}

/* Loses worker 0, which reconnects at once with the next number. */
static void lose(struct world *w, int number)
{
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER + (uint64_t)number}});
    add_worker(w, number + 1, 2, "a");
}

static void quarantine_of_a_worker_grows_with_each_failed_gang(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2});
    for (int i = 0; i < 3; i++) { /* 1 s, 2 s, 4 s */
        (void)go(w, i);
        lose(w, i);
        assert_null(sent(w, WORKER + (uint64_t)i + 1, GW_MESSAGE_assign, 0));
        explained(w, 1, "take no ranks: a, for ");
        pass(w, (SECOND << i) - MS);
        assert_null(sent(w, WORKER + (uint64_t)i + 1, GW_MESSAGE_assign, 0));
        assert_true(gw_sched_deadline_ns(w->sched) <= w->now_ns + MS);
        pass(w, MS);
    }
    uint64_t attempt = go(w, 3);
    finish(w, 3, attempt, 0, 1);
    finish(w, 3, attempt, 1, 1);
    must(w, CLIENT, GW_MESSAGE_done);
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2}); /* now the good end counts */
    (void)go(w, 3);
    lose(w, 3);
    pass(w, SECOND);
    must(w, WORKER + 4, GW_MESSAGE_assign);
    free_world(w);
}

static void other_workers_take_ranks_during_a_quarantine(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2});
    (void)go(w, 0);
    lose(w, 0);
    send_spec(w, (struct gw_msg_spec){.key = 2}); /* a task that is no gang runs there */
    submit(w, (struct chunk){2, 1, GW_SUBMIT_LAST, false, 0});
    must(w, WORKER + 1, GW_MESSAGE_assign);
    add_worker(w, 2, 2, "b");
    (void)go(w, 2);
    free_world(w);
}

static void submit_files(struct world *w, uint64_t request)
{
    static const uint8_t hash[32] = {7};
    send_spec(w, (struct gw_msg_spec){.key = request, .files = {hash, sizeof hash}});
    submit(w, (struct chunk){request, 1, GW_SUBMIT_LAST, false, 0});
}

/* The task just assigned to a worker gets no files there. */
static void lack_files(struct world *w, int worker)
{
    uint64_t attempt = attempt_in(must(w, WORKER + (uint64_t)worker, GW_MESSAGE_assign), 0);
    say(w, WORKER + (uint64_t)worker,
        (struct gw_message){.type = GW_MESSAGE_ended,
                            .ended = {.attempt = attempt,
                                      .rank = GW_RANK_NONE,
                                      .outcome = GW_OUTCOME_FILES,
                                      .code = GW_ESTART,
                                      .text = "its files: no space left",
                                      .stderr_tail = ""}});
}

/* A worker with a full disk is idle and would attract every task with files. */
static void worker_that_cannot_write_files_gets_no_tasks_with_files(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    add_worker(w, 1, 1, "b");
    submit_files(w, 1);
    lack_files(w, 0);
    uint64_t attempt = attempt_in(must(w, WORKER + 1, GW_MESSAGE_assign), 0);
    submit_files(w, 2);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    explained(w, 2, "could not set up files and take no tasks with files: a, for ");
    send_spec(w, (struct gw_msg_spec){.key = 3}); /* a task without files runs there */
    submit(w, (struct chunk){3, 1, GW_SUBMIT_LAST, false, 0});
    must(w, WORKER, GW_MESSAGE_assign);
    pass(w, SECOND);
    lack_files(w, 0); /* the second failure, while b is still busy: 2 s */
    pass(w, SECOND);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    finish(w, 1, attempt, GW_RANK_NONE, 1);
    must(w, CLIENT, GW_MESSAGE_done);
    must(w, WORKER + 1, GW_MESSAGE_assign);
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER + 1}});
    pass(w, 2 * SECOND);
    lack_files(w, 0); /* no other worker is left: the user must learn the cause */
    const struct gw_msg_failed *failed = &must(w, CLIENT, GW_MESSAGE_failed)->failed;
    assert_int_equal(failed->code, GW_ESTART);
    assert_non_null(strstr(failed->text, "its files: no space left"));
    free_world(w);
}

/* If a gang with files ends well, its worker has written the files. */
static void gang_with_files_resets_the_file_quarantine(void **state)
{
    static const uint8_t hash[32] = {7};
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 2, "a");
    add_worker(w, 1, 1, "b");
    submit_files(w, 1);
    lack_files(w, 0);
    (void)attempt_in(must(w, WORKER + 1, GW_MESSAGE_assign), 0);
    pass(w, SECOND);
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2, .files = {hash, sizeof hash}});
    uint64_t attempt = go(w, 0);
    finish(w, 0, attempt, 0, 1);
    finish(w, 0, attempt, 1, 1);
    must(w, CLIENT, GW_MESSAGE_done);
    submit_files(w, 3);
    lack_files(w, 0); /* counts as the first failure again: 1 s */
    pass(w, SECOND);
    must(w, WORKER, GW_MESSAGE_assign);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gang_errors_use_up_the_retry_budget),
        cmocka_unit_test(gang_avoids_worker_pairs_that_cannot_connect),
        cmocka_unit_test(gang_fails_after_repeated_unreachable_pairs),
        cmocka_unit_test(messages_of_an_earlier_attempt_are_ignored),
        cmocka_unit_test(requested_restarts_count_as_preemptions),
        cmocka_unit_test(return_value_of_a_paused_gang_is_ignored),
        cmocka_unit_test(resume_before_the_pause_step_lets_the_gang_continue),
        cmocka_unit_test(pausing_a_command_gang_ends_it_and_resume_restarts_it),
        cmocka_unit_test(taken_port_does_not_count_for_three_restarts),
        cmocka_unit_test(port_error_long_after_the_start_counts_as_failure),
        cmocka_unit_test(stopped_gang_does_not_restart),
        cmocka_unit_test(missing_value_error_names_the_stop_request),
        cmocka_unit_test(paused_job_starts_no_tasks),
        cmocka_unit_test(pause_during_preparation_ends_the_attempt_uncounted),
        cmocka_unit_test(worker_losses_have_their_own_restart_budget),
        cmocka_unit_test(worker_with_a_revoked_token_counts_against_no_budget),
        cmocka_unit_test(worker_told_to_end_counts_against_no_budget),
        cmocka_unit_test(function_gang_is_limited_to_128_ranks),
        cmocka_unit_test(gang_without_a_budget_fails_at_the_first_loss),
        cmocka_unit_test(quarantine_of_a_worker_grows_with_each_failed_gang),
        cmocka_unit_test(other_workers_take_ranks_during_a_quarantine),
        cmocka_unit_test(worker_that_cannot_write_files_gets_no_tasks_with_files),
        cmocka_unit_test(gang_with_files_resets_the_file_quarantine),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
