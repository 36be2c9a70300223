/* Tasks without a slot, and worker losses without a limit: what a controller needs that submits
 * other tasks. */
#include "tests/unit/scheduler/sched_world.h"

#include <gangway/options.h>

#include <signal.h>
#include <stdio.h>

static void refused(const struct world *w, int32_t code, const char *text)
{
    const struct gw_msg_rejected *rejected = &must(w, CLIENT, GW_MESSAGE_rejected)->rejected;
    assert_int_equal(rejected->code, code);
    assert_non_null(strstr(rejected->text, text));
}

/* Adds workers one after the other, each of which is lost when it has got the only task. */
static void lose_workers(struct world *w, int count)
{
    for (int i = 0; i < count; i++) {
        char name[16];
        const uint64_t peer = WORKER + (uint64_t)i % 8;
        (void)snprintf(name, sizeof name, "w%d", i);
        add_worker(w, i % 8, 1, name);
        must(w, peer, GW_MESSAGE_assign);
        (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {peer}});
    }
}

static void task_without_a_slot_starts_although_no_slot_is_free(void **state)
{
    struct world *w = new_world();
    (void)state;
    (void)step(w,
               (struct gw_event){
                   .type = GW_EVENT_OPEN, .peer = {WORKER}, .role = GW_ROLE_WORKER, .text = "a"});
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_registration,
                            .registration = {.incarnation = 1,
                                             .slots = 1,
                                             .memory_bytes = 1000,
                                             .host = "a",
                                             .address = "a",
                                             .resources = "license=1"}});
    submit_task(w, 1, (struct gw_msg_spec){0});
    must(w, WORKER, GW_MESSAGE_assign);
    submit_task(w, 2, (struct gw_msg_spec){.slots = GW_NONE});
    uint64_t second = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    submit_task(w, 3, (struct gw_msg_spec){.slots = GW_NONE, .resources = "license=1"});
    must(w, WORKER, GW_MESSAGE_assign);
    submit_task(w, 4, (struct gw_msg_spec){.slots = GW_NONE, .resources = "license=1"});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    explained(w, 4, "it needs no slot");
    explained(w, 4, "1 of license");
    finish(w, 0, second, GW_RANK_NONE, 1); /* returns no slot to the tasks that need one */
    submit_task(w, 5, (struct gw_msg_spec){0});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    free_world(w);
}

static void worker_runs_at_most_64_tasks_without_a_slot(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    uint64_t first = 0;
    for (uint64_t i = 1; i <= 64; i++) {
        submit_task(w, i, (struct gw_msg_spec){.slots = GW_NONE});
        const uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
        first = first ? first : attempt;
    }
    submit_task(w, 65, (struct gw_msg_spec){.slots = GW_NONE});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    explained(w, 65, "a worker runs at most 64 tasks without one: a has 1 of 1 slots, 0 of 64");
    submit_task(w, 66, (struct gw_msg_spec){0}); /* a task with a slot does not wait behind it */
    must(w, WORKER, GW_MESSAGE_assign);
    finish(w, 0, first, GW_RANK_NONE, 1);
    must(w, WORKER, GW_MESSAGE_assign);
    free_world(w);
}

static void task_without_a_slot_is_no_gang_and_has_no_gpu(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 4, "a");
    const struct gw_msg_spec specs[] = {{.slots = GW_NONE, .ranks = 2},
                                        {.slots = GW_NONE, .gpus = 1},
                                        {.slots = GW_NONE, .gpu_mode = GW_GPU_MODE_IF_ANY},
                                        {.slots = GW_NONE, .actor = GW_ACTOR_NEW}};
    for (uint64_t i = 0; i < sizeof specs / sizeof *specs; i++) {
        submit_task(w, i + 1, specs[i]);
        refused(w, GW_EINVAL, "a task without a slot");
    }
    free_world(w);
}

/* A task whose worker was lost twice runs while nothing else runs on its worker. A controller that
 * waits for this task must not keep it from running. */
static void task_that_runs_alone_does_not_wait_for_a_task_without_a_slot(void **state)
{
    struct world *w = new_world();
    (void)state;
    submit_task(w, 1, (struct gw_msg_spec){0});
    lose_workers(w, 2);
    submit_task(w, 2, (struct gw_msg_spec){.slots = GW_NONE, .priority = 1});
    add_worker(w, 9, 2, "c");
    assert_int_equal(sent(w, WORKER + 9, GW_MESSAGE_assign, 0)->assign.job.count, 2);
    submit_task(w, 3, (struct gw_msg_spec){0});
    assert_null(sent(w, WORKER + 9, GW_MESSAGE_assign, 0)); /* task 1 has both slots */
    free_world(w);
}

static void losses_of_a_task_without_a_limit_never_fail_it(void **state)
{
    struct world *w = new_world();
    (void)state;
    submit_task(w, 1, (struct gw_msg_spec){.worker_losses_max = GW_UNLIMITED});
    lose_workers(w, 300);
    assert_null(sent(w, CLIENT, GW_MESSAGE_failed, 0));
    free_world(w);
}

/* A signal ends the process of the only task. */
static void end_by(struct world *w, int32_t signal)
{
    const uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    attempt_ended(w, 0,
                  (struct gw_msg_ended){.attempt = attempt,
                                        .rank = GW_RANK_NONE,
                                        .outcome = GW_OUTCOME_CRASHED,
                                        .executing = 1,
                                        .signal = signal});
}

/* Lets seconds go by in which the worker sends heartbeats. */
static void pass_alive(struct world *w, uint64_t seconds)
{
    for (uint64_t i = 0; i < seconds; i++) {
        pass(w, GW_NS_PER_S);
        assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
        say(w, WORKER, (struct gw_message){.type = GW_MESSAGE_heartbeat});
    }
}

static void kills_of_a_task_without_a_slot_count_as_lost_workers_and_delay_it(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    submit_task(w, 1,
                (struct gw_msg_spec){
                    .kind = GW_SPEC_COMMAND, .slots = GW_NONE, .worker_losses_max = GW_UNLIMITED});
    for (int i = 0; i < 10; i++) {
        end_by(w, i % 2 ? SIGKILL : SIGTERM);
        /* The delays are 0, 1, 2, 4, ... 32, and then 60 seconds. */
        const uint64_t delay_s = i == 0 ? 0 : i < 7 ? UINT64_C(1) << (i - 1) : 60;
        if (delay_s) {
            assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
            pass_alive(w, delay_s - 1);
            pass(w, GW_NS_PER_S - MS); /* each event of the test takes a nanosecond */
            assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
            pass(w, MS);
        }
    }
    assert_null(sent(w, CLIENT, GW_MESSAGE_failed, 0));
    end_by(w, SIGSEGV); /* an error of the task itself */
    must(w, CLIENT, GW_MESSAGE_failed);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(task_without_a_slot_starts_although_no_slot_is_free),
        cmocka_unit_test(worker_runs_at_most_64_tasks_without_a_slot),
        cmocka_unit_test(task_without_a_slot_is_no_gang_and_has_no_gpu),
        cmocka_unit_test(task_that_runs_alone_does_not_wait_for_a_task_without_a_slot),
        cmocka_unit_test(losses_of_a_task_without_a_limit_never_fail_it),
        cmocka_unit_test(kills_of_a_task_without_a_slot_count_as_lost_workers_and_delay_it),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
