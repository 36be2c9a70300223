/* GPUs in the worker's core: the next process waits until the memory of the last one is freed, idle
 * runners yield, a broken GPU is drained and its task ends, and which GPUs a process sees. */
#include "tests/unit/worker/core/node_world.h"

#include <signal.h>

#define GIB (UINT64_C(1) << 30)
enum { A = 1, B = 2 }; /* as struct task has them */

static struct world *watched_world(uint32_t slots)
{
    return new_world_limited(slots, &(struct gw_node_options){.gpus_watched = true});
}

/* The driver shows GPU a in this state, and GPU b unused. */
static void look(struct world *w, struct gw_gpu_sample a)
{
    struct gw_gpu_sample samples[2] = {a, {0}};
    raise_event(w,
                (struct gw_event){
                    .type = GW_EVENT_GPUS, .number = w->now_ns, .gpus = samples, .gpu_count = 2});
}

static void command_spec(struct world *w, uint32_t number, struct gw_msg_spec spec)
{
    spec.kind = GW_SPEC_COMMAND;
    spec.number = number;
    send_spec(w, spec);
}

static bool has(const struct gw_msg_spawn *spawn, const char *text)
{
    return memmem(spawn->env.data, spawn->env.size, text, strlen(text)) != NULL;
}

/* The scheduler has received all heartbeats. */
static void heard(struct world *w)
{
    uint64_t last = 0;
    for (size_t i = 0; sent(w, GW_MESSAGE_heartbeat, i); i++)
        last = sent(w, GW_MESSAGE_heartbeat, i)->heartbeat.number;
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_heartbeat, .heartbeat = {1, last, 0}});
}

static void assert_text(const char *text, const char *wanted)
{
    if (!strstr(text, wanted))
        fail_msg("%s", text);
}

/* -- Tests ---------------------------------------------------------------------------------------
 */

static void next_task_waits_until_gpu_memory_is_freed(void **state)
{
    struct world *w = watched_world(4);
    (void)state;
    command_spec(w, 0, (struct gw_msg_spec){.gpus = 1});
    must_assign(w, (struct task){.attempt = 1, .gpu = A});
    assert_true(has(&must_send(w, GW_MESSAGE_spawn)->spawn, "CUDA_VISIBLE_DEVICES=GPU-a"));
    assert_false(gw_node_core_gpus_clearing(w->core));
    spawned(w, 1, 0, "");
    look(w, (struct gw_gpu_sample){.used_bytes = 5 * GIB, .processes = 1});
    dies(w, 1, 0, 0);
    assert_true(gw_node_core_gpus_clearing(w->core));
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 2, .index = 1, .gpu = A});
    must_assign(w, (struct task){.attempt = 3, .index = 2, .gpu = B}); /* GPU b is free */
    assert_true(has(&must_send(w, GW_MESSAGE_spawn)->spawn, "CUDA_VISIBLE_DEVICES=GPU-b"));
    forget_sent(w);
    look(w, (struct gw_gpu_sample){.used_bytes = 5 * GIB});
    look(w, (struct gw_gpu_sample){.processes = 1});
    assert_null(sent(w, GW_MESSAGE_spawn, 0));
    look(w, (struct gw_gpu_sample){0});
    assert_true(has(&must_send(w, GW_MESSAGE_spawn)->spawn, "CUDA_VISIBLE_DEVICES=GPU-a"));
    free_world(w);
}

static void gpu_sample_from_before_the_reap_does_not_count(void **state)
{
    struct world *w = watched_world(4);
    (void)state;
    command_spec(w, 0, (struct gw_msg_spec){.gpus = 1});
    must_assign(w, (struct task){.attempt = 1, .gpu = A});
    spawned(w, 1, 0, "");
    uint64_t before_ns = w->now_ns;
    tick(w, MS);
    dies(w, 1, 0, 0);
    struct gw_gpu_sample samples[2] = {{0}, {0}};
    raise_event(w,
                (struct gw_event){
                    .type = GW_EVENT_GPUS, .number = before_ns, .gpus = samples, .gpu_count = 2});
    assert_true(gw_node_core_gpus_clearing(w->core));
    look(w, samples[0]);
    assert_false(gw_node_core_gpus_clearing(w->core));
    free_world(w);
}

static void gpu_with_unfreed_memory_is_drained_until_it_is_free(void **state)
{
    struct world *w = watched_world(4);
    (void)state;
    command_spec(w, 0, (struct gw_msg_spec){.gpus = 1});
    must_assign(w, (struct task){.attempt = 1, .gpu = A});
    spawned(w, 1, 0, "");
    dies(w, 1, 0, 0);
    look(w, (struct gw_gpu_sample){.used_bytes = 5 * GIB, .processes = 1});
    must_assign(w, (struct task){.attempt = 2, .index = 1, .gpu = A});
    forget_sent(w);
    uint64_t seconds = 0;
    while (!sent(w, GW_MESSAGE_gpu_drained, 0)) {
        tick(w, SECOND);
        heard(w);
        seconds++;
    }
    assert_int_equal(seconds, 10);
    const struct gw_msg_gpu_drained *drained = &must_send(w, GW_MESSAGE_gpu_drained)->gpu_drained;
    assert_int_equal(drained->gpu, 0);
    assert_text(drained->why, "5.00 GiB of its memory and 1 processes were still there");
    assert_int_equal(drained->lasts, 0);
    const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->attempt, 2);
    assert_int_equal(ended->outcome, GW_OUTCOME_GPU);
    forget_sent(w);
    look(w, (struct gw_gpu_sample){0});
    assert_string_equal(must_send(w, GW_MESSAGE_gpu_drained)->gpu_drained.why, "");
    must_assign(w, (struct task){.attempt = 3, .index = 1, .gpu = A});
    must_send(w, GW_MESSAGE_spawn);
    free_world(w);
}

static const char *cpus_of_next(struct world *w, struct task task)
{
    forget_sent(w);
    must_assign(w, task);
    return must_send(w, GW_MESSAGE_spawn)->spawn.cpus;
}

static void processes_are_bound_to_cpus_near_their_gpu(void **state)
{
    struct world *w = watched_world(8);
    (void)state;
    command_spec(w, 0, (struct gw_msg_spec){.gpus = 1});
    command_spec(w, 1, (struct gw_msg_spec){.gpus = 1, .unbound = 1});
    command_spec(w, 2, (struct gw_msg_spec){0});
    assert_string_equal(cpus_of_next(w, (struct task){.attempt = 1, .gpu = A}), "0-3,8");
    /* the CPUs near that GPU are unknown */
    assert_string_equal(cpus_of_next(w, (struct task){.attempt = 2, .index = 1, .gpu = B}), "");
    assert_string_equal(cpus_of_next(w, (struct task){.attempt = 3, .index = 2, .spec = 2}), "");
    free_world(w);
    w = watched_world(8);
    command_spec(w, 1, (struct gw_msg_spec){.gpus = 1, .unbound = 1});
    assert_string_equal(cpus_of_next(w, (struct task){.attempt = 1, .spec = 1, .gpu = A}), "");
    free_world(w);
}

static void runner_is_reused_only_with_equal_cpu_binding(void **state)
{
    struct world *w = watched_world(4);
    (void)state;
    function_spec(w, (struct gw_msg_spec){.gpus = 1});
    function_spec(w, (struct gw_msg_spec){.number = 1, .gpus = 1, .unbound = 1});
    assert_string_equal(cpus_of_next(w, (struct task){.attempt = 1, .gpu = A}), "0-3,8");
    hello(w, 1, GW_PROTOCOL);
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 2, .index = 1, .spec = 1, .gpu = A});
    assert_null(sent(w, GW_MESSAGE_spawn, 0)); /* the warm runner is bound: it is ended */
    dies(w, 1, 0, SIGTERM);
    look(w, (struct gw_gpu_sample){0});
    assert_string_equal(must_send(w, GW_MESSAGE_spawn)->spawn.cpus, "");
    free_world(w);
}

static void idle_runner_yields_its_gpu_to_a_command(void **state)
{
    struct world *w = watched_world(4);
    (void)state;
    function_spec(w, (struct gw_msg_spec){.gpus = 1});
    command_spec(w, 1, (struct gw_msg_spec){.gpus = 1});
    must_assign(w, (struct task){.attempt = 1, .gpu = A});
    hello(w, 1, GW_PROTOCOL);
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
    forget_sent(w);
    must_assign(
        w, (struct task){.attempt = 2, .index = 1, .gpu = A}); /* the warm runner gets the task */
    must_send(w, GW_MESSAGE_assign);
    assert_null(sent(w, GW_MESSAGE_spawn, 0));
    assert_int_equal(finish(w, 1, 2, GW_RANK_NONE, 0, 1000), 0);
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 3, .index = 2, .spec = 1, .gpu = A});
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.process, 1);
    assert_null(sent(w, GW_MESSAGE_spawn, 0));
    dies(w, 1, 0, 15);
    assert_null(sent(w, GW_MESSAGE_spawn, 0));
    look(w, (struct gw_gpu_sample){0});
    must_send(w, GW_MESSAGE_spawn);
    free_world(w);
}

static void broken_gpu_is_drained_and_its_task_ends(void **state)
{
    struct world *w = watched_world(4);
    (void)state;
    command_spec(w, 0, (struct gw_msg_spec){.gpus = 1});
    must_assign(w, (struct task){.attempt = 1, .gpu = A});
    must_assign(w, (struct task){.attempt = 2, .index = 1, .gpu = B});
    spawned(w, 1, 0, "");
    spawned(w, 2, 0, "");
    forget_sent(w);
    look(w, (struct gw_gpu_sample){.xids = {31, 79}, .xid_count = 2});
    const struct gw_msg_gpu_drained *drained = &must_send(w, GW_MESSAGE_gpu_drained)->gpu_drained;
    assert_string_equal(drained->why, "Xid 79: it fell off the bus");
    assert_int_equal(drained->lasts, 1);
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.process, 1);
    assert_null(sent(w, GW_MESSAGE_reap, 1));
    dies(w, 1, 0, 9);
    const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->attempt, 1);
    assert_int_equal(ended->outcome, GW_OUTCOME_GPU);
    assert_text(ended->text, "its GPU GPU-a failed: Xid 79");
    forget_sent(w);
    look(w, (struct gw_gpu_sample){0}); /* it looks well, but is not trusted */
    must_assign(w, (struct task){.attempt = 3, .index = 2, .gpu = A});
    assert_int_equal(must_send(w, GW_MESSAGE_ended)->ended.outcome, GW_OUTCOME_GPU);
    assert_null(sent(w, GW_MESSAGE_spawn, 0));
    forget_sent(w);
    raise_event(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = ""});
    open_scheduler(w); /* the drain is reported again on a new connection */
    assert_text(must_send(w, GW_MESSAGE_gpu_drained)->gpu_drained.why, "Xid 79");
    free_world(w);
}

static void give_back(struct world *w)
{
    forget_sent(w);
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_gpu_undrain, .gpu_undrain = {0, "somebody"}});
    assert_null(sent(w, GW_MESSAGE_gpu_drained, 0)); /* it is checked first */
}

static void undrained_gpu_is_checked_before_reuse(void **state)
{
    struct world *w = watched_world(4);
    (void)state;
    command_spec(w, 0, (struct gw_msg_spec){.gpus = 1});
    must_assign(w, (struct task){.attempt = 1, .gpu = A});
    spawned(w, 1, 0, "");
    look(w, (struct gw_gpu_sample){.processes = 1, .xids = {48}, .xid_count = 1});
    give_back(w);
    look(w, (struct gw_gpu_sample){
                0}); /* a process of a task is still there, and the sample is too early */
    assert_null(sent(w, GW_MESSAGE_gpu_drained, 0));
    dies(w, 1, 0, 9);
    look(w, (struct gw_gpu_sample){.used_bytes = 2 * GIB});
    assert_text(must_send(w, GW_MESSAGE_gpu_drained)->gpu_drained.why,
                "2.00 GiB of its memory and 0 processes on it belong to no task");
    give_back(w); /* the cause is known */
    look(w, (struct gw_gpu_sample){.used_bytes = 2 * GIB});
    assert_string_equal(must_send(w, GW_MESSAGE_gpu_drained)->gpu_drained.why, "");
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 2, .index = 1, .gpu = A});
    must_send(w, GW_MESSAGE_spawn);
    free_world(w);
}

static void lost_gpu_stays_drained_despite_undrain(void **state)
{
    struct world *w = watched_world(4);
    (void)state;
    give_back(w); /* it is not drained */
    look(w, (struct gw_gpu_sample){.lost = true});
    give_back(w);
    look(w, (struct gw_gpu_sample){.lost = true});
    assert_string_equal(must_send(w, GW_MESSAGE_gpu_drained)->gpu_drained.why,
                        "it fell off the bus");
    give_back(w);
    look(w, (struct gw_gpu_sample){0});
    assert_string_equal(must_send(w, GW_MESSAGE_gpu_drained)->gpu_drained.why, "");
    const struct gw_message none = {.type = GW_MESSAGE_gpu_undrain, .gpu_undrain = {2, ""}};
    assert_int_equal(deliver_with(w, SCHEDULER, none, NULL, 0), GW_EPROTO);
    free_world(w);
}

static void program_error_xid_does_not_drain_the_gpu(void **state)
{
    struct world *w = watched_world(4);
    (void)state;
    command_spec(w, 0, (struct gw_msg_spec){.gpus = 1});
    must_assign(w, (struct task){.attempt = 1, .gpu = A});
    spawned(w, 1, 0, "");
    look(w,
         (struct gw_gpu_sample){.used_bytes = GIB, .processes = 1, .xids = {31}, .xid_count = 1});
    assert_null(sent(w, GW_MESSAGE_gpu_drained, 0));
    dies(w, 1, 0, 6);
    const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_CRASHED);
    assert_text(ended->text, "signal 6 (Aborted), after Xid 31 on its GPU");
    free_world(w);
}

static void gpu_fractions_run_side_by_side(void **state)
{
    struct world *w = watched_world(4);
    (void)state;
    command_spec(w, 0, (struct gw_msg_spec){.gpus = 1, .gpu_fraction = 250});
    command_spec(w, 1, (struct gw_msg_spec){.gpus = 1});
    must_assign(w, (struct task){.attempt = 1, .gpu = A});
    const struct gw_msg_spawn *spawn = &must_send(w, GW_MESSAGE_spawn)->spawn;
    assert_true(has(spawn, "CUDA_VISIBLE_DEVICES=GPU-a"));
    assert_true(has(spawn, "GANGWAY_GPU_MEMORY_BYTES=4000"));
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 2, .index = 1, .gpu = A});
    must_send(w, GW_MESSAGE_spawn);
    forget_sent(w);
    must_assign(w,
                (struct task){.attempt = 3, .index = 2, .spec = 1, .gpu = A}); /* all of the GPU */
    dies(w, 1, 0, 0);
    look(w, (struct gw_gpu_sample){.processes = 1});
    dies(w, 2, 0, 0);
    assert_null(sent(w, GW_MESSAGE_spawn, 0));
    look(w, (struct gw_gpu_sample){0});
    must_send(w, GW_MESSAGE_spawn);
    free_world(w);
}

/* Otherwise two tasks that share a GPU would end each other's runners as soon as they are up,
 * without end. */
static void runner_with_waiting_work_is_not_ended(void **state)
{
    struct world *w = watched_world(1);
    (void)state;
    function_spec(w, (struct gw_msg_spec){.gpus = 1, .gpu_fraction = 250});
    function_spec(
        w, (struct gw_msg_spec){.number = 1, .gpus = 1, .gpu_fraction = 250, .cwd = "/elsewhere"});
    must_assign(w, (struct task){.attempt = 1, .gpu = A});
    must_assign(w, (struct task){.attempt = 2, .index = 1, .spec = 1, .gpu = A});
    forget_sent(w);
    hello(w, 1, GW_PROTOCOL);
    must_send(w, GW_MESSAGE_assign);
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.process, 1); /* now the runner is idle */
    free_world(w);
}

/* A task that came after a task that waits for slots is held back. When it starts, it goes to
 * the idle runner and not to a new one (simulator, seed 1646). */
static void idle_runner_is_reused_instead_of_a_second_runner(void **state)
{
    struct world *w = new_world(4);
    (void)state;
    function_spec(w, (struct gw_msg_spec){.gpus = 1});
    command_spec(w, 1, (struct gw_msg_spec){.slots = 3});
    command_spec(w, 2, (struct gw_msg_spec){.slots = 2});
    must_assign(w, (struct task){.attempt = 1, .gpu = A});
    hello(w, 1, GW_PROTOCOL);
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
    must_assign(w, (struct task){.attempt = 2, .index = 1, .spec = 1});
    spawned(w, 2, 0, "");
    kill_attempt(w, 2, GW_KILL_CANCEL);
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 3, .index = 2, .spec = 2});
    must_assign(w, (struct task){.attempt = 4, .index = 3, .gpu = A});
    assert_null(sent(w, GW_MESSAGE_spawn, 0));
    assert_null(sent(w, GW_MESSAGE_assign, 0));
    dies(w, 2, 0, SIGTERM);
    assert_int_equal(must_send(w, GW_MESSAGE_spawn)->spawn.process,
                     3); /* the process of the command */
    assert_null(sent(w, GW_MESSAGE_spawn, 1));
    must_send(w, GW_MESSAGE_assign);
    assert_int_equal(finish(w, 1, 4, GW_RANK_NONE, 0, 1000), 0);
    free_world(w);
}

static void task_without_a_gpu_sees_no_gpu(void **state)
{
    struct world *w = watched_world(4);
    (void)state;
    command_spec(w, 0, (struct gw_msg_spec){0});
    must_assign(w, (struct task){.attempt = 1});
    const struct gw_msg_spawn *spawn = &must_send(w, GW_MESSAGE_spawn)->spawn;
    assert_true(has(spawn, "\xb5"
                           "CUDA_VISIBLE_DEVICES=")); /* 21 characters: the value is empty */
    free_world(w);
}

/* Starts its ranks with these GPUs. */
static void gang_of_two(struct world *w, uint32_t first, uint32_t second)
{
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_gang,
                                .gang = {.attempt = 1,
                                         .world = 2,
                                         .local = 2,
                                         .groups = 1,
                                         .physical_gpu_shared = first == A}});
    must_assign(w, (struct task){.attempt = 1, .rank = 1, .gpu = first});
    must_assign(w, (struct task){.attempt = 1, .rank = 2, .gpu = second});
    uint64_t token = 7;
    raise_event(w, (struct gw_event){.type = GW_EVENT_LEASED,
                                     .number = 1,
                                     .code = 4321,
                                     .text = "127.0.0.1",
                                     .tokens = &token,
                                     .token_count = 1});
    forget_sent(w);
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_gang_start, .gang_start = {.attempt = 1}});
}

static void isolated_ranks_see_only_their_own_gpu(void **state)
{
    struct world *w = watched_world(4);
    (void)state;
    command_spec(w, 0, (struct gw_msg_spec){.ranks = 2, .gpus = 1, .gpu_isolate = 1});
    gang_of_two(w, B, A);
    const struct gw_message *first = sent(w, GW_MESSAGE_spawn, 0);
    const struct gw_message *second = sent(w, GW_MESSAGE_spawn, 1);
    assert_true(has(&first->spawn, "CUDA_VISIBLE_DEVICES=GPU-b"));
    assert_true(has(&second->spawn, "CUDA_VISIBLE_DEVICES=GPU-a"));
    assert_false(has(&first->spawn, "GPU-a"));
    assert_true(has(&second->spawn, "GANGWAY_GPUS=0"));
    assert_false(has(&first->spawn, "GANGWAY_PHYSICAL_GPU_SHARED"));
    free_world(w);
}

/* CUDA shows a process a single MIG instance. */
static void ranks_see_only_their_own_mig_instance(void **state)
{
    static const struct gw_node_gpu gpus[] = {
        {.uuid = "MIG-a", .name = "X", .physical_gpu = "GPU"},
        {.uuid = "MIG-b", .name = "X", .physical_gpu = "GPU"}};
    struct world *w =
        new_world_limited(4, &(struct gw_node_options){.gpus = gpus, .gpus_watched = true});
    (void)state;
    command_spec(w, 0, (struct gw_msg_spec){.ranks = 2, .gpus = 1});
    gang_of_two(w, A, B);
    assert_true(has(&sent(w, GW_MESSAGE_spawn, 0)->spawn, "CUDA_VISIBLE_DEVICES=MIG-a"));
    assert_false(has(&sent(w, GW_MESSAGE_spawn, 0)->spawn, "MIG-b"));
    assert_true(has(&sent(w, GW_MESSAGE_spawn, 0)->spawn, "GANGWAY_PHYSICAL_GPU_SHARED=1"));
    assert_true(has(&sent(w, GW_MESSAGE_spawn, 1)->spawn, "CUDA_VISIBLE_DEVICES=MIG-b"));
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(next_task_waits_until_gpu_memory_is_freed),
        cmocka_unit_test(gpu_sample_from_before_the_reap_does_not_count),
        cmocka_unit_test(gpu_with_unfreed_memory_is_drained_until_it_is_free),
        cmocka_unit_test(processes_are_bound_to_cpus_near_their_gpu),
        cmocka_unit_test(runner_is_reused_only_with_equal_cpu_binding),
        cmocka_unit_test(idle_runner_yields_its_gpu_to_a_command),
        cmocka_unit_test(broken_gpu_is_drained_and_its_task_ends),
        cmocka_unit_test(undrained_gpu_is_checked_before_reuse),
        cmocka_unit_test(lost_gpu_stays_drained_despite_undrain),
        cmocka_unit_test(program_error_xid_does_not_drain_the_gpu),
        cmocka_unit_test(gpu_fractions_run_side_by_side),
        cmocka_unit_test(runner_with_waiting_work_is_not_ended),
        cmocka_unit_test(idle_runner_is_reused_instead_of_a_second_runner),
        cmocka_unit_test(task_without_a_gpu_sees_no_gpu),
        cmocka_unit_test(isolated_ranks_see_only_their_own_gpu),
        cmocka_unit_test(ranks_see_only_their_own_mig_instance),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
