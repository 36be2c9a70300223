/* MIG instances in the scheduler's core: which tasks get one, and which need whole GPUs. */
#include "tests/unit/scheduler/gpu_world.h"

static void task_prefers_a_mig_instance_to_a_whole_gpu(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aaX");
    add_gpus(w, 1, "b", "aaaAA");
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 1, "3");
    submit_task(w, 2, (struct gw_msg_spec){.gpus = 1, .workers = "a", .workers_prefer = 1});
    assert_gpus(w, 0, "2"); /* although it has more memory */
    submit_task(w, 3, (struct gw_msg_spec){.gpus = 1, .gpu_memory_bytes = 6 * GIB, .workers = "b"});
    assert_gpus(w, 1, "0"); /* the instance is too small */
    submit_task(w, 4,
                (struct gw_msg_spec){
                    .gpu_mode = GW_GPU_MODE_IF_ANY}); /* not at the worker with free slots */
    assert_gpus(w, 1, "4");
    submit_task(w, 5, (struct gw_msg_spec){.gpus = 1}); /* and then any kind */
    assert_gpus(w, 0, "0");
    free_world(w);
}

static void gang_waits_for_whole_gpus(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aaAAA");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    assert_gpus(w, 0, "0 1");
    uint64_t first = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    explained(w, 2, "3 of 5 GPUs (3 of them are MIG instances, but it needs whole GPUs)");
    submit_task(
        w, 3,
        (struct gw_msg_spec){.gpus = 1}); /* useless for the gang, so no instance is reserved */
    assert_gpus(w, 0, "2");
    for (uint32_t rank = 0; rank < 2; rank++)
        say(w, WORKER,
            (struct gw_message){.type = GW_MESSAGE_rank_ready,
                                .rank_ready = {first, rank, {"", 0}, ""}});
    finish(w, 0, first, 0, 1);
    finish(w, 0, first, 1, 1);
    assert_gpus(w, 0, "0 1");
    free_world(w);
}

static void gang_uses_mig_instances_if_whole_gpus_never_suffice(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aaAAABBC");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 3, .gpus = 1});
    assert_gpus(w, 0, "2 5 7"); /* each on another physical GPU, and none of them whole */
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gang)->gang.physical_gpu_shared, 0);
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 3, .gpus = 1});
    assert_gpus(w, 0, "3 4 6"); /* as many as there are */
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gang)->gang.physical_gpu_shared, 1);
    struct gw_value *event_log = ask(w, "events", 2, -1);
    char text[2048];
    (void)gw_value_format(event_log, text, sizeof text);
    if (!strstr(text, "some share a GPU's MIG instances, so that none can use NCCL"))
        fail_msg("%s", text);
    gw_value_unref(event_log);
    submit_task(w, 3, (struct gw_msg_spec){.ranks = 3, .gpus = 1, .min_ranks = 2});
    assert_gpus(w, 0, "0 1");
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gang)->gang.physical_gpu_shared, 0);
    free_world(w);
}

static void gang_gpu_kind_follows_the_available_workers(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aAA");
    add_gpus(w, 1, "b", "a");
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1, .workers = "b"});
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0)); /* whole GPUs would fit */
    drain(w, 0, 0, "Xid 79");
    assert_gpus(w, 0, "1 2");
    free_world(w);
}

static void worker_with_separate_physical_gpus_is_preferred(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "AA");
    add_gpus(w, 1, "b", "ABB");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    assert_gpus(w, 1, "0 1");
    free_world(w);
}

static void request_that_needs_whole_gpus_is_refused(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aAAAA");
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 2});
    refused(w, GW_EINFEASIBLE,
            "it needs 2 GPUs; the largest worker has 1 (4 MIG instances do not count: CUDA shows "
            "a process only one, so a rank with several GPUs needs whole GPUs)");
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2, .gpus = 2});
    refused(w, GW_EINFEASIBLE, "it needs 2 GPUs a rank; the largest worker has 1 (4 MIG");
    submit_task(w, 3, (struct gw_msg_spec){.ranks = 5, .gpus = 1});
    refused(w, GW_EINFEASIBLE,
            "the ranks of a gang get whole GPUs or MIG instances, never some of both: for 5 ranks "
            "there are 1 GPU and 4 instances");
    submit_task(w, 4, (struct gw_msg_spec){.ranks = 2, .gpus = 1, .gpu_memory_bytes = 6 * GIB});
    refused(w, GW_EINFEASIBLE, "does not fit this cluster");
    submit_task(w, 5,
                (struct gw_msg_spec){.ranks = 4, .gpus = 1}); /* the instances alone suffice */
    assert_gpus(w, 0, "1 2 3 4");
    free_world(w);
}

static void gpu_fractions_use_whole_gpus_and_mig_instances(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aX");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 3, .gpus = 1, .gpu_fraction = 500});
    assert_gpus(w, 0, "0 1 1");
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(task_prefers_a_mig_instance_to_a_whole_gpu),
        cmocka_unit_test(gang_waits_for_whole_gpus),
        cmocka_unit_test(gang_uses_mig_instances_if_whole_gpus_never_suffice),
        cmocka_unit_test(gang_gpu_kind_follows_the_available_workers),
        cmocka_unit_test(worker_with_separate_physical_gpus_is_preferred),
        cmocka_unit_test(request_that_needs_whole_gpus_is_refused),
        cmocka_unit_test(gpu_fractions_use_whole_gpus_and_mig_instances),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
