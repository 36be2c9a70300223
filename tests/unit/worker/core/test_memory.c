/* Memory in the worker's core: which results are spilled, in which order they are restored, when no
 * task starts, and which process is killed. Results have 10,000 bytes. */
#include "tests/unit/worker/core/node_world.h"

enum { RESULT = 10000 };

/* Slots, and a limit of a million bytes with thresholds in thousandths of it. */
static struct world *limited(uint32_t slots, struct gw_node_options lines)
{
    lines.memory_bytes = 1000000;
    struct world *w = new_world_limited(slots, &lines);
    function_spec(w, (struct gw_msg_spec){0});
    return w;
}

/* Task `attempt` (its index is the same) makes a result on runner 1. */
static void make(struct world *w, uint64_t attempt)
{
    must_assign(w, (struct task){.attempt = attempt, .index = (uint32_t)attempt});
    if (w->processes == 1 && attempt == 1) {
        spawned(w, 1, 0, "");
        hello(w, 1, GW_PROTOCOL);
    }
    assert_int_equal(finish(w, 1, attempt, GW_RANK_NONE, RESULT, 1000), 0);
}

static struct gw_effect take(struct world *w, uint32_t type)
{
    if (!w->disk.count || w->disk.items[0].type != type)
        fail_msg("the next order to the disk is not %u", type);
    struct gw_effect effect = w->disk.items[0];
    memmove(w->disk.items, w->disk.items + 1, --w->disk.count * sizeof effect);
    return effect;
}

static void disk_answers(struct world *w, uint32_t type, uint64_t number, int code)
{
    uint64_t token = 60;
    raise_event(w, (struct gw_event){.type = type,
                                     .number = number,
                                     .code = code,
                                     .text = "the disk is full",
                                     .checksum = 99,
                                     .tokens = &token,
                                     .token_count = code == 0});
}

static struct gw_node_memory memory_of(const struct world *w)
{
    struct gw_node_memory memory;
    gw_node_core_memory(w->core, &memory);
    return memory;
}

static void fetch(struct world *w, uint32_t index)
{
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_fetch, .fetch = {index, 1, index, 0}});
}

static void measured(struct world *w, uint64_t process, uint64_t bytes)
{
    struct gw_process_use use = {.process = process, .bytes = bytes};
    raise_event(w, (struct gw_event){.type = GW_EVENT_USAGE, .uses = &use, .use_count = 1});
}

static void least_recently_used_result_is_spilled_first(void **state)
{
    struct world *w = limited(1, (struct gw_node_options){.target_permille = 25});
    make(w, 1);
    make(w, 2);
    assert_int_equal(w->disk.count, 0);
    fetch(w, 1); /* so that 2 is the least recently used */
    make(w, 3);
    struct gw_effect spill = take(w, GW_EFFECT_SPILL);
    assert_int_equal(spill.size, RESULT);
    assert_int_equal(w->disk.count, 0); /* this is enough */
    assert_int_equal(memory_of(w).resident_bytes, 3 * RESULT);
    uint64_t drops = w->drops;
    disk_answers(w, GW_EVENT_SPILLED, spill.number, 0);
    assert_int_equal(w->drops, drops + 2); /* the memory and the file: no process reads it */
    assert_int_equal(memory_of(w).resident_bytes, 2 * RESULT);
    assert_int_equal(memory_of(w).spilled_bytes, RESULT);
    forget_sent(w);
    fetch(w, 2); /* 2 was spilled */
    assert_null(sent(w, GW_MESSAGE_object, 0));
    struct gw_effect open = take(w, GW_EFFECT_RESTORE);
    assert_int_equal(open.number, spill.number);
    assert_int_equal(open.size, RESULT);
    assert_int_equal(open.checksum, 99);
    disk_answers(w, GW_EVENT_RESTORED, open.number, 0);
    assert_int_equal(must_send(w, GW_MESSAGE_object)->object.bytes, RESULT);
    uint64_t job = 1;
    uint32_t index = 2, rank = 0;
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_release,
                                .release = {{&job, 1}, {&index, 1}, {&rank, 1}}});
    assert_int_equal(take(w, GW_EFFECT_UNLINK).number, spill.number);
    (void)state;
    free_world(w);
}

/* One result of three was spilled. */
static struct world *with_spilled(struct gw_effect *spill)
{
    struct world *w = limited(1, (struct gw_node_options){.target_permille = 25});
    for (uint64_t attempt = 1; attempt <= 3; attempt++)
        make(w, attempt);
    *spill = take(w, GW_EFFECT_SPILL);
    disk_answers(w, GW_EVENT_SPILLED, spill->number, 0);
    forget_sent(w);
    return w;
}

static void spilled_input_is_restored_before_its_task_starts(void **state)
{
    struct gw_effect spill;
    struct world *w = with_spilled(&spill);
    struct dep dep = {.job = 1, .index = 1, .worker = 5};
    (void)state;
    must_assign(w, (struct task){.attempt = 4, .index = 4, .dep = &dep});
    assert_null(sent(w, GW_MESSAGE_assign, 0));
    assert_int_equal(take(w, GW_EFFECT_RESTORE).number, spill.number);
    disk_answers(w, GW_EVENT_RESTORED, spill.number, 0);
    must_send(w, GW_MESSAGE_assign);
    uint64_t drops = w->drops;
    assert_int_equal(finish(w, 1, 4, GW_RANK_NONE, 0, 1000), 0);
    assert_int_equal(w->drops, drops + 1); /* no task uses it: it has no descriptor */
    assert_int_equal(memory_of(w).files, 1);
    free_world(w);
}

static void damaged_spill_file_is_reported_as_a_lost_input(void **state)
{
    struct gw_effect spill;
    struct world *w = with_spilled(&spill);
    struct dep dep = {.job = 1, .index = 1, .worker = 5};
    (void)state;
    must_assign(w, (struct task){.attempt = 4, .index = 4, .dep = &dep});
    take(w, GW_EFFECT_RESTORE);
    disk_answers(w, GW_EVENT_RESTORED, spill.number, GW_ECORRUPT);
    const struct gw_msg_object_lost *lost = &must_send(w, GW_MESSAGE_object_lost)->object_lost;
    assert_int_equal(lost->index, 1);
    assert_int_equal(lost->worker, 5);
    const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_LOST_INPUT);
    assert_int_equal(take(w, GW_EFFECT_UNLINK).number, spill.number);
    assert_int_equal(memory_of(w).files, 0);
    forget_sent(w);
    fetch(w, 1);
    assert_int_equal(must_send(w, GW_MESSAGE_object)->object.code, GW_ENOENT);
    free_world(w);
}

static void result_in_use_by_a_runner_is_not_spilled(void **state)
{
    struct world *w = limited(1, (struct gw_node_options){.target_permille = 15});
    struct dep dep = {.job = 1, .index = 1, .worker = 5};
    (void)state;
    make(w, 1);
    must_assign(w, (struct task){.attempt = 2, .index = 2, .dep = &dep});
    raise_event(w, (struct gw_event){.type = GW_EVENT_USAGE, .number = 1000000});
    assert_int_equal(w->disk.count, 0);
    assert_int_equal(finish(w, 1, 2, GW_RANK_NONE, RESULT, 1000), 0);
    assert_int_equal(w->disk.count, 1); /* now it may go */
    free_world(w);
}

static void spilling_is_retried_later_if_the_disk_is_full(void **state)
{
    struct world *w = limited(1, (struct gw_node_options){.target_permille = 15});
    (void)state;
    make(w, 1);
    make(w, 2);
    forget_sent(w);
    disk_answers(w, GW_EVENT_SPILLED, take(w, GW_EFFECT_SPILL).number, GW_EIO);
    assert_int_equal(memory_of(w).resident_bytes, 2 * RESULT);
    assert_string_equal(must_send(w, GW_MESSAGE_memory)->memory.trouble, "the disk is full");
    assert_int_equal(w->disk.count, 0);
    for (int i = 0; i < 3; i++) { /* after 1, 2 and 4 s */
        tick(w, (UINT64_C(1) << i) * SECOND - 1);
        assert_int_equal(w->disk.count, 0);
        tick(w, 1);
        disk_answers(w, GW_EVENT_SPILLED, take(w, GW_EFFECT_SPILL).number, i < 2 ? GW_EIO : 0);
    }
    assert_int_equal(memory_of(w).spilled_bytes, RESULT);
    free_world(w);
}

static void descriptor_limit_causes_spilling(void **state)
{
    struct world *w = limited(1, (struct gw_node_options){.descriptors_max = 2});
    (void)state;
    make(w, 1);
    make(w, 2);
    assert_int_equal(w->disk.count, 0);
    make(w, 3);
    take(w, GW_EFFECT_SPILL);
    assert_int_equal(w->disk.count, 0);
    free_world(w);
}

static void no_task_starts_above_the_pause_threshold(void **state)
{
    struct world *w = limited(2, (struct gw_node_options){.pause_permille = 600});
    (void)state;
    must_assign(w, (struct task){.attempt = 1, .index = 1});
    spawned(w, 1, 0, "");
    hello(w, 1, GW_PROTOCOL);
    forget_sent(w);
    measured(w, 1, 650000);
    assert_int_equal(must_send(w, GW_MESSAGE_memory)->memory.state, GW_MEMORY_PAUSED);
    must_assign(w, (struct task){.attempt = 2, .index = 2});
    assert_int_equal(w->processes, 1);
    forget_sent(w);
    measured(w, 1, 500000);
    assert_int_equal(must_send(w, GW_MESSAGE_memory)->memory.state, GW_MEMORY_OPEN);
    assert_int_equal(w->processes, 2);
    free_world(w);
}

static void paused_worker_runs_single_tasks_if_nothing_frees_memory(void **state)
{
    struct world *w = limited(1, (struct gw_node_options){.pause_permille = 800});
    (void)state;
    make(w, 1);
    forget_sent(w);
    measured(w, 1, 900000); /* an idle runner that has accumulated memory: it is ended */
    assert_int_equal(memory_of(w).state, GW_MEMORY_PAUSED);
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.process, 1);
    dies(w, 1, 0, 15);
    assert_int_equal(memory_of(w).state, GW_MEMORY_OPEN);
    raise_event(w, (struct gw_event){.type = GW_EVENT_USAGE, .number = 900000});
    assert_int_equal(memory_of(w).state, GW_MEMORY_ONE); /* nothing else would help */
    must_assign(w, (struct task){.attempt = 2, .index = 2});
    assert_int_equal(w->processes, 2); /* so a single task runs */
    assert_int_equal(memory_of(w).state, GW_MEMORY_PAUSED);
    tick(w, 5 * SECOND); /* it may wait for a task that was held back: one more */
    assert_int_equal(memory_of(w).state, GW_MEMORY_ONE);
    free_world(w);
}

static void paused_worker_starts_a_single_waiting_task(void **state)
{
    struct world *w = limited(2, (struct gw_node_options){.pause_permille = 800});
    (void)state;
    must_assign(w, (struct task){.attempt = 1, .index = 1});
    spawned(w, 1, 0, "");
    hello(w, 1, GW_PROTOCOL);
    raise_event(w, (struct gw_event){.type = GW_EVENT_USAGE, .number = 900000});
    must_assign(w, (struct task){.attempt = 2, .index = 2});
    must_assign(w, (struct task){.attempt = 3, .index = 3});
    forget_sent(w);
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, RESULT, 1000), 0); /* now nothing runs */
    assert_int_equal(gw_col64_at(must_send(w, GW_MESSAGE_assign)->assign.attempt, 0), 2);
    assert_int_equal(must_send(w, GW_MESSAGE_assign)->assign.attempt.count, 1);
    assert_null(sent(w, GW_MESSAGE_assign, 1));
    assert_int_equal(w->processes, 1); /* though there are two slots */
    tick(w, 1);
    assert_int_equal(memory_of(w).state, GW_MEMORY_PAUSED);
    assert_int_equal(w->processes, 1);
    forget_sent(w);
    tick(w, 5 * SECOND); /* the next task */
    assert_int_equal(gw_col64_at(must_send(w, GW_MESSAGE_assign)->assign.attempt, 0), 3);
    free_world(w);
}

/* An input of 900,000 bytes arrives, and its task is asked back. */
static struct world *with_brought_input(struct gw_node_options lines)
{
    struct world *w = limited(1, lines);
    struct dep dep = {.job = 1, .index = 9};
    uint64_t token = 77;
    must_assign(w, (struct task){.attempt = 1, .index = 1, .dep = &dep});
    uint64_t request = must_send(w, GW_MESSAGE_fetch)->fetch.request;
    forget_sent(w);
    assert_int_equal(deliver_with(w, SCHEDULER,
                                  (struct gw_message){
                                      .type = GW_MESSAGE_object,
                                      .object = {.request = request, .bytes = 900000, .text = ""}},
                                  &token, 1),
                     0);
    return w;
}

static void task_whose_inputs_arrived_is_not_returned(void **state)
{
    struct world *w =
        with_brought_input((struct gw_node_options){.target_permille = 600, .pause_permille = 800});
    (void)state;
    assert_int_equal(memory_of(w).state, GW_MEMORY_PAUSED);
    assert_int_equal(w->processes, 0);
    must_assign(w, (struct task){.attempt = 2, .index = 2});
    forget_sent(w);
    kill_attempt(w, 1, GW_KILL_TAKE_BACK);
    assert_null(sent(w, GW_MESSAGE_ended, 0));
    kill_attempt(w, 2, GW_KILL_TAKE_BACK); /* its inputs brought nothing */
    assert_int_equal(must_send(w, GW_MESSAGE_ended)->ended.attempt, 2);
    disk_answers(w, GW_EVENT_SPILLED, take(w, GW_EFFECT_SPILL).number, 0);
    assert_int_equal(memory_of(w).state, GW_MEMORY_OPEN);
    assert_int_equal(memory_of(w).spilled_bytes, 900000); /* the spilled file is read */
    assert_int_equal(w->processes, 1);
    free_world(w);
}

static void largest_process_is_killed_above_the_terminate_threshold(void **state)
{
    struct world *w = limited(2, (struct gw_node_options){.terminate_permille = 950});
    (void)state;
    must_assign(w, (struct task){.attempt = 1, .index = 1});
    must_assign(w, (struct task){.attempt = 2, .index = 2});
    for (uint64_t process = 1; process <= 2; process++) {
        spawned(w, process, 0, "");
        hello(w, process, GW_PROTOCOL);
    }
    measured(w, 1, 300000);
    forget_sent(w);
    measured(w, 2, 700000);
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.process, 2);
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.grace_ns, 0);
    measured(w, 1, 310000); /* one process at a time */
    assert_null(sent(w, GW_MESSAGE_reap, 1));
    dies(w, 2, 0, 9);
    const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->attempt, 2);
    assert_int_equal(ended->outcome, GW_OUTCOME_OOM);
    assert_int_equal(ended->executing, 1);
    assert_non_null(strstr(ended->text, "the task used 0.7 MiB when its worker used 1.0 MiB"));
    assert_non_null(strstr(ended->text, "--memory-limit"));
    assert_int_equal(memory_of(w).used_bytes, 310000);
    free_world(w);
}

/* The worker has enough memory, but the task exceeds its own request. */
static void task_above_its_memory_request_is_killed(void **state)
{
    struct world *w = limited(3, (struct gw_node_options){.terminate_permille = 950});
    (void)state;
    function_spec(w, (struct gw_msg_spec){.number = 1, .memory_bytes = 200000});
    must_assign(w, (struct task){.attempt = 1, .index = 1, .spec = 1});
    spawned(w, 1, 0, "");
    hello(w, 1, GW_PROTOCOL);
    forget_sent(w);
    measured(w, 1, 200000);
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    measured(w, 1, 524288);
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.process, 1);
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.grace_ns, 0);
    dies(w, 1, 0, 9);
    const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_OOM);
    assert_int_equal(ended->executing, 1);
    assert_non_null(strstr(ended->text, "the task used 0.5 MiB, but asked for 0.2 MiB"));
    assert_non_null(strstr(ended->text, "--memory"));
    free_world(w);
}

/* Memory left by an earlier task counts for the next task, so a task with a larger request gets
 * another runner. */
static void runner_is_reused_only_for_an_equal_memory_request(void **state)
{
    struct world *w = limited(2, (struct gw_node_options){.terminate_permille = 950});
    (void)state;
    function_spec(w, (struct gw_msg_spec){.number = 1, .memory_bytes = 200000});
    function_spec(w, (struct gw_msg_spec){.number = 2, .memory_bytes = 100000});
    must_assign(w, (struct task){.attempt = 1, .index = 1, .spec = 1});
    spawned(w, 1, 0, "");
    hello(w, 1, GW_PROTOCOL);
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
    measured(w, 1, 150000);
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 2, .index = 2, .spec = 2});
    assert_non_null(sent(w, GW_MESSAGE_spawn, 0));
    forget_sent(w);
    measured(w, 1, 250000); /* an idle runner: no task counts it */
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.process, 1);
    assert_null(sent(w, GW_MESSAGE_ended, 0));
    free_world(w);
}

/* The task started when there was enough memory; stored results took the memory later. */
static void error_of_a_killed_task_mentions_stored_results(void **state)
{
    struct world *w =
        limited(1, (struct gw_node_options){.target_permille = 15, .terminate_permille = 40});
    (void)state;
    make(w, 1);
    make(w, 2);
    disk_answers(w, GW_EVENT_SPILLED, take(w, GW_EFFECT_SPILL).number, GW_EIO);
    make(w, 3);
    must_assign(w, (struct task){.attempt = 4, .index = 4});
    forget_sent(w);
    measured(w, 1, 60000);
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.process, 1);
    dies(w, 1, 0, 9);
    const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->attempt, 4);
    assert_int_equal(ended->outcome, GW_OUTCOME_FULL);
    assert_int_equal(ended->executing, 1);
    assert_non_null(strstr(ended->text, "no memory for its result: the worker's 3 results"));
    assert_non_null(strstr(ended->text, "the disk is full"));
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(least_recently_used_result_is_spilled_first),
        cmocka_unit_test(spilled_input_is_restored_before_its_task_starts),
        cmocka_unit_test(damaged_spill_file_is_reported_as_a_lost_input),
        cmocka_unit_test(result_in_use_by_a_runner_is_not_spilled),
        cmocka_unit_test(spilling_is_retried_later_if_the_disk_is_full),
        cmocka_unit_test(descriptor_limit_causes_spilling),
        cmocka_unit_test(no_task_starts_above_the_pause_threshold),
        cmocka_unit_test(paused_worker_runs_single_tasks_if_nothing_frees_memory),
        cmocka_unit_test(paused_worker_starts_a_single_waiting_task),
        cmocka_unit_test(task_whose_inputs_arrived_is_not_returned),
        cmocka_unit_test(largest_process_is_killed_above_the_terminate_threshold),
        cmocka_unit_test(task_above_its_memory_request_is_killed),
        cmocka_unit_test(runner_is_reused_only_for_an_equal_memory_request),
        cmocka_unit_test(error_of_a_killed_task_mentions_stored_results),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
