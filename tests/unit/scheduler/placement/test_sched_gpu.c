/* GPUs in the scheduler's core: which GPUs a rank gets, fractions of GPUs, drained GPUs, and the
 * explanation if there are too few. */
#include "tests/unit/scheduler/gpu_world.h"

static void gang_is_packed_into_a_single_nvlink_domain(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aaaabbbb");
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1}); /* one NVLink domain stays whole */
    assert_gpus(w, 0, "0");
    uint64_t one = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2, .gpus = 2});
    assert_gpus(w, 0, "4,5 6,7");
    submit_task(w, 3, (struct gw_msg_spec){.gpus = 2}); /* of the domain that is in use */
    assert_gpus(w, 0, "1,2");
    finish(w, 0, one, GW_RANK_NONE, 1);
    submit_task(w, 4, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    assert_gpus(w, 0, "0 3");
    free_world(w);
}

static void worker_with_a_large_nvlink_domain_is_preferred(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "abcd");
    add_gpus(w, 1, "b", "aabbbb");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 4, .gpus = 1});
    assert_gpus(w, 1, "2 3 4 5");
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 4, .gpus = 1}); /* no NVLink domain has four */
    assert_gpus(w, 0, "0 1 2 3");
    free_world(w);
}

static void gang_takes_the_smallest_sufficient_nvlink_domain(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aaabb");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    assert_gpus(w, 0, "3 4");
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 3, .gpus = 1});
    assert_gpus(w, 0, "0 1 2");
    free_world(w);
}

/* One GPU of the first pair is in use, so the rest of the pair has no room for two. */
static void takes_the_whole_pair(const char *bridges, const char *nodes)
{
    struct world *w = new_world();
    add_gpus_at(w, 0, "a", "abcd", bridges, nodes);
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 0, "0");
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    assert_gpus(w, 0, "2 3");
    free_world(w);
}

static void gpus_below_a_switch_or_numa_node_count_as_near(void **state)
{
    (void)state;
    takes_the_whole_pair("aabb", NULL);
    takes_the_whole_pair(NULL, "aabb");
    takes_the_whole_pair("aabb", "aabb");
}

static void gpu_fractions_fill_a_gpu_before_the_next(void **state)
{
    struct world *w = new_world();
    uint64_t attempts[4];
    static const char *const gpus[] = {"0", "0", "1", "0"};
    static const uint32_t shares[] = {500, 300, 500, 200};
    (void)state;
    add_gpus(w, 0, "a", "aa");
    for (uint64_t i = 0; i < 4; i++) {
        submit_task(w, i + 1, (struct gw_msg_spec){.gpus = 1, .gpu_fraction = shares[i]});
        assert_gpus(w, 0, gpus[i]);
        attempts[i] = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    }
    submit_task(w, 5, (struct gw_msg_spec){.gpus = 1}); /* no GPU is whole */
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    submit_task(w, 6, (struct gw_msg_spec){.gpus = 1, .gpu_fraction = 600});
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    finish(w, 0, attempts[2], GW_RANK_NONE, 1); /* its GPU is whole again */
    assert_gpus(w, 0, "1");
    finish(w, 0, attempts[0], GW_RANK_NONE, 1);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0)); /* half of the GPU is free */
    finish(w, 0, attempts[1], GW_RANK_NONE, 1);
    assert_gpus(w, 0, "0");
    free_world(w);
}

static void gpu_fraction_with_too_little_memory_is_refused(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "a");
    submit_task(w, 1,
                (struct gw_msg_spec){.gpus = 1, .gpu_fraction = 250, .gpu_memory_bytes = 5 * GIB});
    refused(w, GW_EINFEASIBLE, "no GPU has 5.0 GiB of memory in such a share: the largest has 4.0");
    submit_task(w, 2,
                (struct gw_msg_spec){.gpus = 1, .gpu_fraction = 500, .gpu_memory_bytes = 5 * GIB});
    assert_gpus(w, 0, "0");
    submit_task(w, 3, (struct gw_msg_spec){.gpus = 2, .gpu_fraction = 500});
    refused(w, GW_EINVAL, "500 thousandths of 2 GPUs");
    free_world(w);
}

static void impossible_gpu_request_is_refused_with_the_reason(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aa");
    add_gpus(w, 1, "b", "");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .gpus = 3});
    refused(w, GW_EINFEASIBLE, "it needs 3 GPUs a rank; the largest worker has 2");
    submit_task(w, 2, (struct gw_msg_spec){.gpus = 1, .workers = "b"});
    refused(w, GW_EINFEASIBLE, "it needs 1 GPU; no worker has any");
    drain(w, 0, 1, "Xid 79");
    submit_task(w, 3, (struct gw_msg_spec){.gpus = 2});
    refused(w, GW_EINFEASIBLE, "the largest worker has 1 (1 more is drained: Xid 79)");
    free_world(w);
}

static void drained_gpus_do_not_count_as_capacity(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aaaa");
    for (uint32_t gpu = 0; gpu < 3; gpu++)
        drain(w, 0, gpu, "Xid 48");
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    refused(w, GW_EINFEASIBLE,
            "1 GPU (3 more are drained) in all, room for 1 rank; its largest worker");
    submit_task(w, 2, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    refused(w, GW_EINFEASIBLE, "slots, 1 GPU (3 more drained), ");
    free_world(w);
}

static void assert_formatted(struct gw_value *value, const char *wanted)
{
    char text[4096];
    (void)gw_value_format(value, text, sizeof text);
    if (!strstr(text, wanted))
        fail_msg("%s is not in %s", wanted, text);
}

static void status_shows_gpu_use_of_each_rank(void **state)
{
    struct world *w = new_world();
    const uint64_t used[] = {3 * GIB, GIB, 0};
    const uint32_t processes[] = {1, 1, 0}, power[] = {250000, 50400, 0}, busy[] = {90, 30, 0},
                   clearing[] = {0, 0, 0};
    (void)state;
    add_gpus(w, 0, "a", "aab");
    add_gpus(w, 1, "b", "aa");
    struct gw_value *told = ask(w, "status", 1, -1);
    assert_formatted(told, "\"gpu_use\": []");
    gw_value_unref(told);
    submit_task(w, 1, (struct gw_msg_spec){.ranks = 3, .gpus = 1, .workers = "a:2,b:1"});
    submit_task(w, 2, (struct gw_msg_spec){.gpus = 1, .gpu_fraction = 500, .workers = "a"});
    const struct gw_message usage = {
        .type = GW_MESSAGE_gpu_usage,
        .gpu_usage = {{used, 3}, {processes, 3}, {power, 3}, {busy, 3}, {clearing, 3}}};
    say(w, WORKER, usage);
    drain(w, 0, 2, "Xid 48");
    told = ask(w, "status", 1, -1);
    assert_formatted(told, "\"gpus_used_bytes\": 4294967296, \"gpus_busy_percent\": 24");
    assert_formatted(told, "\"gpus_power\": \"300 W\"");
    assert_formatted(told, "{\"job\": 1, \"task\": 0, \"rank\": 0, \"worker\": \"a\", \"gpus\": "
                           "\"0\", \"memory_bytes\": 17179869184, \"used_bytes\": 3221225472, "
                           "\"busy_percent\": 90, \"power_w\": 250, \"power\": \"250 W\"}");
    assert_formatted(told, "\"rank\": 2, \"worker\": \"b\", \"gpus\": \"0\"");
    assert_formatted(told, "{\"job\": 2, \"task\": 0, \"worker\": \"a\", \"gpus\": "
                           "\"2 (0.5 of it)\"");
    gw_value_unref(told);
    told = ask(w, "tasks", 1, -1);
    assert_formatted(told, "\"worker\": 1, \"where\": \"a 0-1, b 2\", \"ranks\": 3, "
                           "\"world_size\": 3");
    gw_value_unref(told);
    told = ask(w, "workers", 1, -1);
    assert_formatted(told, "\"gpus_own\": \"2 of 3, 1 drained\"");
    assert_formatted(told, "\"gpus_own\": \"2\"");
    gw_value_unref(told);
    free_world(w);
}

/* Reports the utilization of the one GPU of worker `a`. */
static void report_busy(struct world *w, uint32_t percent)
{
    const uint64_t used = GIB;
    const uint32_t processes = 1, power = 0, clearing = 0;
    say(w, WORKER,
        (struct gw_message){
            .type = GW_MESSAGE_gpu_usage,
            .gpu_usage = {
                {&used, 1}, {&processes, 1}, {&power, 1}, {&percent, 1}, {&clearing, 1}}});
}

#define TENTH_NS (GW_NS_PER_S / 10)

/* Returns for how many tenths of a second the GPU has been held and idle. */
static int64_t idle_tenths(const struct world *w)
{
    struct gw_value *gpus = ask(w, "gpus", 1, -1);
    const struct gw_value *idle = gw_value_find(gw_value_at(gpus, 0), "idle_ns");
    int64_t idle_ns = 0;
    if (idle)
        (void)gw_value_get_i64(idle, &idle_ns, NULL);
    gw_value_unref(gpus);
    return idle_ns / (int64_t)TENTH_NS;
}

static void idle_time_of_a_gpu_counts_while_a_task_has_it(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "a");
    report_busy(w, 0);
    w->now_ns += 10 * TENTH_NS;
    assert_int_equal(idle_tenths(w), 0); /* no task has it */
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    pass(w, 5 * TENTH_NS);
    assert_int_equal(idle_tenths(w), 5);
    report_busy(w, 0);
    pass(w, TENTH_NS);
    assert_int_equal(idle_tenths(w), 6); /* a further report of 0 does not begin anew */
    report_busy(w, 1);
    pass(w, TENTH_NS);
    assert_int_equal(idle_tenths(w), 0);
    report_busy(w, 0);
    pass(w, 2 * TENTH_NS);
    assert_int_equal(idle_tenths(w), 2);
    report_busy(w, UINT32_MAX);
    pass(w, TENTH_NS);
    assert_int_equal(idle_tenths(w), 0); /* the driver does not say */
    struct gw_value *status = ask(w, "status", 1, -1);
    assert_formatted(status, "\"gpus_busy_percent\": 0");
    gw_value_unref(status);
    free_world(w);
}

static void drained_gpu_gets_no_tasks(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "aa");
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    assert_gpus(w, 0, "0");
    uint64_t attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    drain(w, 0, 0, "it fell off the bus");
    end_badly(w, 0, attempt, GW_OUTCOME_GPU, "");
    assert_gpus(w, 0, "1"); /* retried at once, and not counted */
    attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    drain(w, 0, 1, "it fell off the bus");
    end_badly(w, 0, attempt, GW_OUTCOME_GPU, "");
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    explained(w, 1, "no worker has any (2 more are drained: it fell off the bus)");
    drain(w, 0, 0, "");
    assert_gpus(w, 0, "0");
    free_world(w);
}

static int32_t ask_back(struct world *w, uint64_t peer, const char *uuid)
{
    say(w, peer,
        (struct gw_message){.type = GW_MESSAGE_gpu_ask, .gpu_ask = {.request = 9, .uuid = uuid}});
    return must(w, peer, GW_MESSAGE_reply)->reply.code;
}

static void only_an_admin_can_undrain_a_gpu(void **state)
{
    struct world *w = new_world();
    const uint64_t admin = CLIENT + 1;
    (void)state;
    add_gpus(w, 0, "a", "ab");
    (void)step(w, (struct gw_event){.type = GW_EVENT_OPEN,
                                    .peer = {admin},
                                    .role = GW_ROLE_CLIENT,
                                    .admin = true,
                                    .text = "ops"});
    /* from here on, everything is on disk at once and answered */
    (void)step(w, (struct gw_event){.type = GW_EVENT_COMMITTED, .number = 1000});
    assert_int_equal(ask_back(w, admin, "a1"), GW_EINVAL);
    assert_int_equal(ask_back(w, admin, "a7"), GW_ENOENT);
    drain(w, 0, 1, "Xid 48");
    assert_int_equal(ask_back(w, CLIENT, "a1"), GW_EPERM);
    assert_null(sent(w, WORKER, GW_MESSAGE_gpu_undrain, 0));
    assert_int_equal(ask_back(w, admin, "a1"), 0);
    assert_int_equal(must(w, WORKER, GW_MESSAGE_gpu_undrain)->gpu_undrain.gpu, 1);
    struct gw_value *told = ask(w, "gpus", 1, -1);
    assert_formatted(told, "\"state\": \"drained\""); /* the worker has to confirm the state */
    gw_value_unref(told);
    drain(w, 0, 1, "");
    told = ask(w, "gpus", 1, -1);
    assert_formatted(told, "\"given_back\": \"undrained by ops");
    assert_formatted(told,
                     "it was drained because: Xid 48\", \"used_by\": [], \"by\": \"undrained");
    gw_value_unref(told);
    drain(w, 0, 1, "Xid 79");
    told = ask(w, "gpus", 1, -1);
    assert_formatted(told, "\"drained\": \"Xid 79\", \"given_back\": \"\"");
    gw_value_unref(told);
    free_world(w);
}

static void gpu_out_of_memory_errors_are_recognized(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_gpus(w, 0, "a", "a");
    static const char *const said[] = {
        "torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 20.00 GiB.",
        "ResourceExhaustedError: OOM when allocating tensor with shape[8192] by GPU_0_bfc",
        "NCCL error: unhandled cuda error. Cuda failure 2 'out of memory'",
    };
    const uint64_t count = sizeof said / sizeof *said;
    for (uint64_t i = 0; i < count; i++) {
        submit_task(w, 1 + i, (struct gw_msg_spec){.gpus = 1});
        end_badly(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0), GW_OUTCOME_FAILED,
                  said[i]);
        const char *text = must(w, CLIENT, GW_MESSAGE_failed)->failed.text;
        if (!strstr(text, "out of GPU memory (the task may use 16.0 GiB): exit code 1"))
            fail_msg("%s", text);
    }
    submit_task(
        w, 1 + count,
        (struct gw_msg_spec){.gpus = 0}); /* a task without a GPU cannot run out of GPU memory */
    end_badly(w, 0, attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0), GW_OUTCOME_FAILED,
              "CUDA out of memory");
    assert_null(strstr(must(w, CLIENT, GW_MESSAGE_failed)->failed.text, "out of GPU memory"));
    free_world(w);
}

static void workers_query_shows_the_owner_of_each_gpu(void **state)
{
    struct world *w = new_world();
    const uint64_t used[] = {5 * GIB, 0};
    const uint32_t processes[] = {1, 0}, power[] = {250000, 60000}, busy[] = {98, 0};
    const uint32_t clear[] = {0, 0};
    (void)state;
    add_gpus(w, 0, "a", "aa");
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    say(w, WORKER,
        (struct gw_message){
            .type = GW_MESSAGE_gpu_usage,
            .gpu_usage = {{used, 2}, {processes, 2}, {power, 2}, {busy, 2}, {clear, 2}}});
    struct gw_value *workers = ask(w, "workers", 1, -1);
    const struct gw_value *gpus = gw_value_find(gw_value_at(workers, 0), "gpus"), *owner;
    const struct gw_value *gpu = gw_value_at(gpus, 0);
    const char *text;
    int64_t number;
    double watts;
    assert_int_equal(gw_value_get_i64(gw_value_find(gpu, "used_bytes"), &number, NULL), 0);
    assert_int_equal(number, 5 * (int64_t)GIB);
    assert_int_equal(gw_value_get_f64(gw_value_find(gpu, "power_w"), &watts, NULL), 0);
    assert_true(watts == 250);
    assert_int_equal(gw_value_get_str(gw_value_find(gpu, "state"), &text, NULL), 0);
    assert_string_equal(text, "used");
    owner = gw_value_at(gw_value_find(gpu, "used_by"), 0);
    assert_int_equal(gw_value_get_i64(gw_value_find(owner, "job"), &number, NULL), 0);
    assert_int_equal(number, 1);
    gpu = gw_value_at(gpus, 1);
    assert_int_equal(gw_value_count(gw_value_find(gpu, "used_by")), 0);
    gw_value_unref(workers);
    free_world(w);
}

static void explain_tells_that_a_gpu_is_still_clearing(void **state)
{
    struct world *w = new_world();
    const uint64_t used[] = {8 * GIB};
    const uint32_t zero[] = {0}, one[] = {1};
    (void)state;
    add_gpus(w, 0, "a", "a");
    const struct gw_message usage = {
        .type = GW_MESSAGE_gpu_usage,
        .gpu_usage = {{used, 1}, {one, 1}, {zero, 1}, {zero, 1}, {one, 1}}};
    say(w, WORKER, usage);
    struct gw_value *workers = ask(w, "workers", 1, -1);
    const struct gw_value *gpu = gw_value_at(gw_value_find(gw_value_at(workers, 0), "gpus"), 0);
    const char *text;
    assert_int_equal(gw_value_get_str(gw_value_find(gpu, "state"), &text, NULL), 0);
    assert_string_equal(text, "clearing");
    gw_value_unref(workers);
    submit_task(w, 1, (struct gw_msg_spec){.gpus = 1});
    explained(w, 1, "is free (8.0 GiB are in use");
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gang_is_packed_into_a_single_nvlink_domain),
        cmocka_unit_test(worker_with_a_large_nvlink_domain_is_preferred),
        cmocka_unit_test(gang_takes_the_smallest_sufficient_nvlink_domain),
        cmocka_unit_test(gpus_below_a_switch_or_numa_node_count_as_near),
        cmocka_unit_test(gpu_fractions_fill_a_gpu_before_the_next),
        cmocka_unit_test(gpu_fraction_with_too_little_memory_is_refused),
        cmocka_unit_test(impossible_gpu_request_is_refused_with_the_reason),
        cmocka_unit_test(drained_gpus_do_not_count_as_capacity),
        cmocka_unit_test(status_shows_gpu_use_of_each_rank),
        cmocka_unit_test(idle_time_of_a_gpu_counts_while_a_task_has_it),
        cmocka_unit_test(drained_gpu_gets_no_tasks),
        cmocka_unit_test(only_an_admin_can_undrain_a_gpu),
        cmocka_unit_test(gpu_out_of_memory_errors_are_recognized),
        cmocka_unit_test(workers_query_shows_the_owner_of_each_gpu),
        cmocka_unit_test(explain_tells_that_a_gpu_is_still_clearing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
