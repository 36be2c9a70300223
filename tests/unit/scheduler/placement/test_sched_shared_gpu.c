/* GPUs that two workers of one machine offer. */
#include "tests/unit/scheduler/gpu_world.h"

/* The listing's text about a GPU. */
static void assert_by(struct world *w, size_t at, const char *wanted)
{
    struct gw_value *gpus = ask(w, "gpus", 1, -1);
    const char *text;
    assert_int_equal(gw_value_get_str(gw_value_find(gw_value_at(gpus, at), "by"), &text, NULL), 0);
    assert_string_equal(text, wanted);
    gw_value_unref(gpus);
}

static void gpu_offered_by_two_workers_is_assigned_once(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_machine(w, 0, "a", 1, NULL);
    add_machine(w, 1, "b", 2, NULL);
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1, .workers = "a"});
    assert_gpus(w, 0, "0");
    submit_task(w, 2, (struct gw_msg_spec){.gpus = 2});
    refused(w, GW_EINFEASIBLE, "it needs 2 GPUs; the largest worker has 1");
    submit_task(w, 3, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 1, "1");
    submit_task(w, 4, (struct gw_msg_spec){.gpus = 1});
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    struct gw_value *status = ask(w, "status", 1, -1);
    int64_t count;
    assert_int_equal(gw_value_get_i64(gw_value_find(status, "gpus"), &count, NULL), 0);
    assert_int_equal(count, 2);
    gw_value_unref(status);
    assert_by(w, 1, "a offered the GPU first and gives it to its tasks");
    free_world(w);
}

/* Processes of the lost worker may live until the worker has been silent for the whole timeout. */
static void shared_gpu_stays_unused_while_a_lost_worker_may_use_it(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_machine(w, 0, "a", 1, NULL);
    add_machine(w, 1, "b", 1, NULL);
    pass_seconds(w, 3);
    leaves(w, 0); /* its last message was 3 s ago */
    assert_by(w, 0, "a was lost, and its processes may use the GPU for up to 17s more");
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    pass_seconds(w, LOST_S - 4);
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    pass_seconds(w, 1);
    assert_gpus(w, 1, "0");
    free_world(w);
}

/* While a worker that offers the GPU is disconnected, the GPU counts once: as that worker's, or
 * as the other worker's afterwards. */
static void shared_gpu_counts_once_if_a_worker_is_disconnected(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_machine(w, 0, "a", 2, NULL);
    add_machine(w, 1, "b", 2, NULL);
    leaves(w, 1);
    send_spec(w, (struct gw_msg_spec){.key = 1, .ranks = 3, .gpus = 1});
    must(w, CLIENT, GW_MESSAGE_rejected);
    add_machine(w, 1, "b", 2, NULL);
    leaves(w, 0);
    send_spec(w, (struct gw_msg_spec){.key = 2, .ranks = 2, .gpus = 1});
    assert_null(
        sent(w, CLIENT, GW_MESSAGE_rejected, 0)); /* they belong to a, which may come back */
    pass_seconds(w, LOST_S + 1);
    send_spec(w, (struct gw_msg_spec){.key = 3, .ranks = 3, .gpus = 1});
    must(w, CLIENT, GW_MESSAGE_rejected);
    free_world(w);
}

/* Two workers of a host have the same name; both lose their connection, and the worker without
 * the GPU returns first. */
static void returning_worker_is_not_mistaken_for_another_of_the_same_name(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_machine(w, 0, "a", 1, NULL);
    add_machine(w, 1, "a", 1, NULL);
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 0, "0");
    leaves(w, 0);
    leaves(w, 1);
    add_machine(w, 1, "a", 1, NULL);
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    add_machine(w, 0, "a", 1, NULL);
    assert_gpus(w, 0, "0");
    free_world(w);
}

static void returning_worker_gets_its_idle_gpu_back(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_machine(w, 0, "a", 2, NULL);
    add_machine(w, 1, "b", 2, NULL);
    leaves(w, 0);
    pass_seconds(w, LOST_S);
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 1, "0");
    add_machine(w, 0, "a", 2, NULL);
    submit_task(w, 2, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 0, "1");
    free_world(w);
}

static void worker_that_runs_a_task_on_a_shared_gpu_owns_it(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_machine(w, 1, "b", 2, NULL);
    add_machine(w, 0, "a", 2, (const uint32_t[]){0});
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 1, "1"); /* not the first GPU: that is the other worker's */
    free_world(w);
}

/* A broken GPU is drained by every worker that offers it. */
static void gpu_drained_by_two_workers_counts_once(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_machine(w, 0, "a", 2, NULL);
    add_machine(w, 1, "b", 3, NULL);
    drain(w, 0, 0, "Xid 48");
    drain(w, 1, 0, "Xid 48");
    drain(w, 1, 2, "Xid 48");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    refused(w, GW_EINFEASIBLE,
            "1 GPU (2 more are drained) in all, room for 1 rank; its largest worker has "
            "17 slots, 0 GPUs (1 more drained), ");
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gpu_offered_by_two_workers_is_assigned_once),
        cmocka_unit_test(shared_gpu_stays_unused_while_a_lost_worker_may_use_it),
        cmocka_unit_test(shared_gpu_counts_once_if_a_worker_is_disconnected),
        cmocka_unit_test(returning_worker_is_not_mistaken_for_another_of_the_same_name),
        cmocka_unit_test(returning_worker_gets_its_idle_gpu_back),
        cmocka_unit_test(worker_that_runs_a_task_on_a_shared_gpu_owns_it),
        cmocka_unit_test(gpu_drained_by_two_workers_counts_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
