/* Tasks that queue while a slot is free elsewhere. */
#include "tests/unit/scheduler/sched_world.h"

enum { TASKS = 8 };

static uint32_t take_assigned(struct world *w, uint64_t *attempts, uint32_t known)
{
    const struct gw_message *assign = sent(w, WORKER, GW_MESSAGE_assign, 0);
    for (uint32_t i = 0; assign && i < assign->assign.attempt.count; i++)
        attempts[known++] = attempt_in(assign, i);
    return known;
}

/* One worker with one slot has all remaining tasks of a bag; returns where its queue begins, in
 * order. */
static uint32_t queue_all(struct world *w, uint64_t attempts[static TASKS], uint64_t run_ns)
{
    uint32_t known = 0, ended = 0;
    add_worker(w, 0, 1, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, TASKS, GW_SUBMIT_LAST, false, 0});
    known = take_assigned(w, attempts, known);
    while (known < TASKS) { /* each end widens the queue */
        finish_after(w, 0, attempts[ended++], run_ns);
        known = take_assigned(w, attempts, known);
    }
    return ended;
}

static void idle_worker_steals_half_of_the_queue(void **state)
{
    uint64_t attempts[TASKS];
    struct world *w = new_world();
    (void)state;
    uint32_t queued = TASKS - queue_all(w, attempts, MS) - 1; /* one task runs */
    assert_in_range(queued, 2, TASKS);
    add_worker(w, 1, 1, "b");
    const struct gw_msg_kill *kill = &must(w, WORKER, GW_MESSAGE_kill)->kill;
    assert_int_equal(kill->reason, GW_KILL_TAKE_BACK);
    assert_int_equal(kill->attempt.count, (queued + 1) / 2);
    for (uint32_t i = 0; i < kill->attempt.count; i++) /* the last tasks of the queue */
        assert_int_equal(gw_col64_at(kill->attempt, i), attempts[TASKS - 1 - i]);
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0)); /* not before the task was returned */

    give_back(w, 0, attempts[TASKS - 1]);
    uint64_t moved = attempt_in(must(w, WORKER + 1, GW_MESSAGE_assign), 0);
    assert_null(sent(w, WORKER, GW_MESSAGE_kill, 0));         /* no worker is idle now */
    for (uint32_t i = TASKS - 1 - queued; i < TASKS - 1; i++) /* the other tasks still run */
        finish_after(w, 0, attempts[i], MS);
    assert_null(sent(w, CLIENT, GW_MESSAGE_failed, 0));
    finish_after(w, 1, moved, MS);
    struct gw_message status = {.type = GW_MESSAGE_wait, .wait = {.request = 9, .job = 1}};
    say(w, CLIENT, status);
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_reply)->reply.code, 0);
    free_world(w);
}

/* Otherwise they would go back to their first worker, and the idle worker would get a single
 * task. */
static void returned_tasks_all_go_to_the_idle_worker(void **state)
{
    uint64_t attempts[TASKS], given_back[TASKS];
    struct world *w = new_world();
    (void)state;
    assert_in_range(TASKS - queue_all(w, attempts, MS) - 1, 3, TASKS);
    add_worker(w, 1, 1, "b");
    const struct gw_msg_kill *kill = &must(w, WORKER, GW_MESSAGE_kill)->kill;
    uint32_t count = kill->attempt.count;
    for (uint32_t i = 0; i < count; i++)
        given_back[i] = gw_col64_at(kill->attempt, i);
    for (uint32_t i = 0; i < count; i++) {
        give_back(w, 0, given_back[i]);
        assert_int_equal(must(w, WORKER + 1, GW_MESSAGE_assign)->assign.attempt.count, 1);
        assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    }
    free_world(w);
}

static void queue_of_very_short_tasks_is_not_stolen(void **state)
{
    uint64_t attempts[TASKS];
    struct world *w = new_world();
    (void)state;
    assert_in_range(TASKS - queue_all(w, attempts, 1000), 3, TASKS); /* each takes a microsecond */
    add_worker(w, 1, 1, "b");
    assert_null(sent(w, WORKER, GW_MESSAGE_kill, 0));
    free_world(w);
}

/* The sum of all worker queues is limited: with a million slots elsewhere, no worker has more
 * than one task queued. */
static void worker_queues_shrink_in_a_cluster_with_many_slots(void **state)
{
    uint64_t attempts[TASKS];
    struct world *w = new_world();
    (void)state;
    add_worker(w, 0, 1, "a");
    for (int i = 1; i <= 16; i++)
        add_worker(w, i, 65536, "elsewhere");
    send_spec(w, (struct gw_msg_spec){.key = 1, .workers = "a"});
    submit(w, (struct chunk){1, TASKS, GW_SUBMIT_LAST, false, 0});
    uint32_t known = take_assigned(w, attempts, 0);
    assert_int_equal(known, 1);
    for (uint32_t ended = 0; ended < TASKS - 1; ended++) {
        finish_after(w, 0, attempts[ended], 1000);
        known = take_assigned(w, attempts, known);
        assert_int_equal(known, ended + 2);
    }
    free_world(w);
}

/* Rows 8 to 13 of the job, which all take row 7. */
static void submit_users(struct world *w)
{
    enum { USERS = 6 };
    uint32_t zeros[USERS] = {0}, ones[USERS], index[USERS], targets[USERS];
    uint64_t jobs[USERS] = {0};
    for (uint32_t i = 0; i < USERS; i++) {
        ones[i] = 1;
        index[i] = TASKS - 1;
        targets[i] = TASKS + i;
    }
    struct gw_message message = {.type = GW_MESSAGE_submit};
    message.submit = (struct gw_msg_submit){.request = 1,
                                            .flags = GW_SUBMIT_LAST,
                                            .name = "j",
                                            .spec = {zeros, USERS},
                                            .args_size = {zeros, USERS},
                                            .dep_count = {ones, USERS},
                                            .dep_job = {jobs, USERS},
                                            .dep_index = {index, USERS},
                                            .dep_rank = {zeros, USERS},
                                            .targets = {targets, USERS}};
    say(w, CLIENT, message);
}

/* An attempt at the first worker makes, in a millisecond, a result too large for a message. */
static void finish_large(struct world *w, uint64_t attempt)
{
    uint32_t rank = GW_RANK_NONE, size = 0;
    uint64_t bytes = 1000000, run_ns = MS;
    say(w, WORKER,
        (struct gw_message){.type = GW_MESSAGE_finished,
                            .finished = {.attempt = {&attempt, 1},
                                         .rank = {&rank, 1},
                                         .bytes = {&bytes, 1},
                                         .value_size = {&size, 1},
                                         .run_ns = {&run_ns, 1}}});
}

/* The location of an input does not justify queueing more than half of the tasks at one of two
 * slots. */
static void tasks_are_shared_equally_despite_input_location(void **state)
{
    uint64_t attempts[TASKS];
    struct world *w = new_world();
    (void)state;
    add_worker_with(w, 0, 1, "a", UINT64_C(1) << 40);
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, TASKS, 0, false, 0});
    uint32_t known = take_assigned(w, attempts, 0), ended = 0;
    for (; ended < TASKS - 1; known = take_assigned(w, attempts, known))
        finish_after(w, 0, attempts[ended++], MS);
    finish_large(w, attempts[ended]);
    add_worker_with(w, 1, 1, "b", UINT64_C(1) << 40);
    submit_users(w);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_assign)->assign.attempt.count, 3);
    assert_int_equal(must(w, WORKER + 1, GW_MESSAGE_assign)->assign.attempt.count, 3);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(idle_worker_steals_half_of_the_queue),
        cmocka_unit_test(returned_tasks_all_go_to_the_idle_worker),
        cmocka_unit_test(queue_of_very_short_tasks_is_not_stolen),
        cmocka_unit_test(worker_queues_shrink_in_a_cluster_with_many_slots),
        cmocka_unit_test(tasks_are_shared_equally_despite_input_location),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
