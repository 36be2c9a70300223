/* Successors of another resource class, pipelined with slots that are idle until their predecessors
 * end. */
#include "tests/unit/scheduler/sched_world.h"

enum { ROWS = 8 };

static int64_t slots_free(const struct world *w)
{
    struct gw_value *workers = NULL;
    int64_t number = -1;
    assert_int_equal(gw_sched_query(w->sched, "workers", NULL, &workers, NULL), 0);
    (void)gw_value_get_i64(gw_value_find(gw_value_at(workers, 0), "slots_free"), &number, NULL);
    gw_value_unref(workers);
    return number;
}

/* A worker of three slots, and a chain of tasks that need one and two slots in turns. Two have run,
 * the third runs, and others wait at the worker for it. Returns their attempts. */
static void chain(struct world *w, uint64_t attempts[static 4])
{
    add_worker(w, 0, 3, "a");
    send_spec(w, (struct gw_msg_spec){.key = 1, .number = 0, .slots = 1});
    send_spec(w, (struct gw_msg_spec){.key = 1, .number = 1, .slots = 2});
    submit_in_turns(w, (struct chunk){1, ROWS, GW_SUBMIT_LAST, true, 0}, 2);
    for (int i = 0; i < 2; i++) { /* their run time is not known yet */
        const struct gw_msg_assign *assign = &must(w, WORKER, GW_MESSAGE_assign)->assign;
        assert_int_equal(assign->attempt.count, 1);
        finish_after(w, 0, gw_col64_at(assign->attempt, 0), MS);
    }
    const struct gw_msg_assign *assign = &must(w, WORKER, GW_MESSAGE_assign)->assign;
    assert_int_equal(assign->attempt.count, 4);
    for (uint32_t i = 0; i < 4; i++) {
        attempts[i] = gw_col64_at(assign->attempt, i);
        assert_int_equal(gw_col32_at(assign->index, i), 2 + i);
        if (i > 0) { /* its input is made by the task before it */
            assert_int_equal(gw_col32_at(assign->dep_worker, i), GW_DEP_HERE);
            assert_int_equal(gw_col64_at(assign->dep_bytes, i), attempts[i - 1]);
        }
    }
    assert_int_equal(slots_free(w), 0); /* the slots of the next task are reserved */
}

static void chain_of_two_resource_classes_stays_at_its_worker(void **state)
{
    uint64_t attempts[ROWS];
    uint32_t known = 4;
    struct world *w = new_world();
    (void)state;
    chain(w, attempts);
    for (uint32_t i = 0; i < ROWS - 2; i++) {
        assert_in_range(i, 0, known - 1);
        finish_after(w, 0, attempts[i], MS);
        const struct gw_message *assign = sent(w, WORKER, GW_MESSAGE_assign, 0);
        for (uint32_t k = 0; assign && k < assign->assign.attempt.count; k++, known++) {
            assert_int_equal(gw_col32_at(assign->assign.dep_worker, k), GW_DEP_HERE);
            attempts[known] = attempt_in(assign, k);
        }
    }
    assert_int_equal(known, ROWS - 2);
    assert_int_equal(slots_free(w), 3);
    free_world(w);
}

static void pipelined_tasks_yield_to_a_waiting_task(void **state)
{
    uint64_t attempts[4];
    struct world *w = new_world();
    (void)state;
    chain(w, attempts);
    send_spec(w, (struct gw_msg_spec){.key = 2, .slots = 2});
    submit(w, (struct chunk){2, 1, GW_SUBMIT_LAST, false, 0});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    const struct gw_msg_kill *kill = &must(w, WORKER, GW_MESSAGE_kill)->kill;
    assert_int_equal(kill->reason, GW_KILL_TAKE_BACK);
    assert_int_equal(kill->attempt.count, 2);
    assert_int_equal(gw_col64_at(kill->attempt, 0), attempts[3]); /* the last one first */
    assert_int_equal(gw_col64_at(kill->attempt, 1), attempts[1]);
    give_back(w, 0, attempts[3]);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    give_back(w, 0, attempts[1]);
    uint64_t other = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    give_back(w, 0, attempts[2]); /* its input is not made */

    finish_after(w, 0, attempts[0], MS);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0)); /* of its successor: no slots */
    finish_after(w, 0, other, MS);
    const struct gw_msg_assign *assign = &must(w, WORKER, GW_MESSAGE_assign)->assign;
    assert_int_equal(gw_col32_at(assign->index, 0), 3);
    free_world(w);
}

static void no_task_is_pipelined_while_another_waits(void **state)
{
    uint64_t attempts[4];
    struct world *w = new_world();
    (void)state;
    chain(w, attempts);
    send_spec(w, (struct gw_msg_spec){.key = 2, .slots = 3});
    submit(w, (struct chunk){2, 1, GW_SUBMIT_LAST, false, 0});
    must(w, WORKER, GW_MESSAGE_kill);
    finish_after(w, 0, attempts[0], MS); /* it was sent before: the next task still runs */
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    finish_after(w, 0, attempts[1], MS);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chain_of_two_resource_classes_stays_at_its_worker),
        cmocka_unit_test(pipelined_tasks_yield_to_a_waiting_task),
        cmocka_unit_test(no_task_is_pipelined_while_another_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
