/* Memory files in the worker's core: which task fills a file, when a file is reused, and when its
 * memory is freed. Results have BYTES, of function "f"; runner 1 makes them. */
#include "tests/unit/worker/core/node_world.h"

enum { BYTES = GW_MEMFILE_BYTES_MIN, LIMIT = 100 * BYTES };

static void say_filled(struct world *w, uint64_t process, struct gw_msg_memfile_filled filled)
{
    deliver(w, RUNNER + process,
            (struct gw_message){.type = GW_MESSAGE_memfile_filled, .memfile_filled = filled});
}

static int say_returned(struct world *w, uint64_t process, uint64_t number)
{
    return deliver_with(w, RUNNER + process,
                        (struct gw_message){.type = GW_MESSAGE_memfile_returned,
                                            .memfile_returned = {{&number, 1}}},
                        NULL, 0);
}

static void release(struct world *w, uint32_t index)
{
    uint64_t job = 1;
    uint32_t rank = 0;
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_release,
                                .release = {{&job, 1}, {&index, 1}, {&rank, 1}}});
}

/* Task `attempt` (its index is the same) is sent to runner 1, which fills the file it is given with
 * its result; returns that file. */
static struct gw_msg_memfile_given make_in(struct world *w, uint64_t attempt, uint64_t bytes)
{
    forget_sent(w);
    must_assign(w, (struct task){.attempt = attempt, .index = (uint32_t)attempt});
    const struct gw_msg_memfile_given given = must_send(w, GW_MESSAGE_memfile_given)->memfile_given;
    assert_int_equal(given.attempt, attempt);
    say_filled(w, 1, (struct gw_msg_memfile_filled){attempt, given.memfile, 0});
    assert_int_equal(finish(w, 1, attempt, GW_RANK_NONE, bytes, 1000), 0);
    return given;
}

/* A world whose runner's function has made one result, which was released: 2 is the next. */
static int learn(void **state, struct gw_node_options lines)
{
    lines.memory_bytes = LIMIT;
    struct world *w = *state = new_world_limited(2, &lines);
    function_spec(w, (struct gw_msg_spec){.uid = 7});
    must_assign(w, (struct task){.attempt = 1, .index = 1});
    spawned(w, 1, 0, "");
    hello(w, 1, GW_PROTOCOL);
    assert_null(sent(w, GW_MESSAGE_memfile_given, 0)); /* the size of its result is unknown */
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, BYTES, 1000), 0);
    release(w, 1);
    return 0;
}

static int set_up(void **state)
{
    return learn(state, (struct gw_node_options){0});
}

static int set_up_to_spill(void **state)
{
    return learn(state, (struct gw_node_options){.spill_permille = 500});
}

static int set_up_to_write(void **state)
{
    return learn(state, (struct gw_node_options){.target_permille = 15});
}

static int tear_down(void **state)
{
    free_world(*state);
    return 0;
}

static struct gw_node_memory memory_of(const struct world *w)
{
    struct gw_node_memory memory;
    gw_node_core_memory(w->core, &memory);
    return memory;
}

/* Task `attempt` takes the result of task `index` in runner `process`; returns the file passed to
 * it. */
static uint64_t lend(struct world *w, uint64_t attempt, uint32_t index)
{
    struct dep dep = {.job = 1, .index = index, .worker = 5};
    forget_sent(w);
    must_assign(w, (struct task){.attempt = attempt, .index = (uint32_t)attempt, .dep = &dep});
    must_send(w, GW_MESSAGE_assign);
    return gw_col64_at(must_send(w, GW_MESSAGE_memfile_lent)->memfile_lent.memfile, 0);
}

/* The file with the result of 2, which 3 took and whose runner has not returned it. */
static struct gw_msg_memfile_given make_and_read(struct world *w)
{
    const struct gw_msg_memfile_given first = make_in(w, 2, BYTES);
    assert_int_equal(lend(w, 3, 2), first.memfile);
    assert_int_equal(finish(w, 1, 3, GW_RANK_NONE, 0, 1000), 0);
    return first;
}

static void released_result_memory_is_reused(void **state)
{
    struct world *w = *state;
    struct gw_msg_memfile_given first = make_in(w, 2, BYTES);
    assert_int_equal(first.bytes, 0); /* there was no idle file: the runner makes one */
    assert_int_equal(memory_of(w).used_bytes, BYTES);
    release(w, 2);
    assert_int_equal(memory_of(w).resident_bytes, 0);
    assert_int_equal(memory_of(w).used_bytes, BYTES); /* the idle memory counts */
    assert_int_equal(memory_of(w).idle_bytes, BYTES);
    struct gw_msg_memfile_given second = make_in(w, 3, BYTES + 100);
    assert_int_equal(second.memfile, first.memfile);
    assert_int_equal(second.bytes, BYTES);
    assert_int_equal(memory_of(w).used_bytes, BYTES + 100);
    struct gw_msg_memfile_given third = make_in(w, 4, BYTES); /* the file of 3 is still in use */
    assert_int_not_equal(third.memfile, first.memfile);
    release(w, 3);
    assert_int_equal(make_in(w, 5, 5 * BYTES).memfile, first.memfile);
    forget_sent(w);
    release(w, 5); /* worth a memory report */
    assert_int_equal(must_send(w, GW_MESSAGE_memory)->memory.idle_bytes, 5 * BYTES);
    assert_int_equal(make_in(w, 6, BYTES).bytes, 5 * BYTES); /* no smaller file is idle */
    release(w, 4);
    release(w, 6);
    assert_int_equal(w->emptied, 0);
}

static void memory_is_reused_only_after_readers_return_it(void **state)
{
    struct world *w = *state;
    struct gw_msg_memfile_given first = make_and_read(w);
    release(w, 2);
    assert_int_equal(memory_of(w).resident_bytes, 0);
    assert_int_not_equal(make_in(w, 4, BYTES).memfile, first.memfile); /* it is still read */
    assert_int_equal(say_returned(w, 1, first.memfile), 0);
    assert_int_equal(make_in(w, 5, BYTES).memfile, first.memfile);
    assert_int_equal(say_returned(w, 1, first.memfile),
                     GW_EPROTO);                  /* a second return is an error */
    assert_int_equal(say_returned(w, 1, 999), 0); /* the file may be long gone */
}

static void memory_read_by_a_dead_runner_becomes_free(void **state)
{
    struct world *w = *state;
    (void)make_and_read(w);
    release(w, 2);
    assert_int_equal(memory_of(w).idle_bytes, 0);
    exits(w, 1, 0, 9);
    runner_closes(w, 1);
    assert_int_equal(memory_of(w).idle_bytes, 0); /* a descendant may read it */
    reap(w, 1);
    assert_int_equal(memory_of(w).idle_bytes, BYTES);
}

static void memory_sent_to_another_worker_is_not_reused(void **state)
{
    struct world *w = *state;
    struct gw_msg_memfile_given first = make_in(w, 2, BYTES);
    deliver(w, SCHEDULER, (struct gw_message){.type = GW_MESSAGE_fetch, .fetch = {1, 1, 2, 0}});
    must_send(w, GW_MESSAGE_object);
    release(w, 2);
    assert_int_equal(memory_of(w).used_bytes, 0);
    assert_int_equal(w->emptied, 0); /* another process may read it */
    assert_int_not_equal(make_in(w, 3, BYTES).memfile, first.memfile);
}

static void result_memory_is_not_shared_between_users(void **state)
{
    struct world *w = *state;
    struct gw_msg_memfile_given first = make_in(w, 2, BYTES);
    release(w, 2);
    send_spec(w,
              (struct gw_msg_spec){.key = 2, .kind = GW_SPEC_FUNCTION, .function = "f", .uid = 8});
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 3, .index = 3, .job = 2});
    must_send(w, GW_MESSAGE_assign); /* in the same runner, */
    const struct gw_msg_memfile_given given = must_send(w, GW_MESSAGE_memfile_given)->memfile_given;
    assert_int_not_equal(given.memfile, first.memfile); /* but not in the same memory */
    assert_int_equal(given.bytes, 0);
}

static void unfilled_result_memory_of_a_crashed_task_is_freed(void **state)
{
    struct world *w = *state;
    (void)make_in(w, 2, BYTES);
    release(w, 2);
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 3, .index = 3});
    assert_int_equal(must_send(w, GW_MESSAGE_memfile_given)->memfile_given.bytes, BYTES);
    assert_int_equal(memory_of(w).used_bytes, BYTES); /* while it may be written */
    uint64_t drops = w->drops;
    dies(w, 1, 0, 9); /* while it fills the file */
    assert_int_equal(memory_of(w).used_bytes, 0);
    assert_int_equal(w->drops, drops + 1);
}

static void idle_result_memory_is_freed_before_spilling(void **state)
{
    struct world *w = *state;
    struct gw_process_use use = {.process = 1, .bytes = LIMIT / 2 + 1};
    (void)make_in(w, 2, BYTES);
    (void)make_in(w, 3, BYTES);
    release(w, 2);
    assert_int_equal(memory_of(w).idle_bytes, BYTES);
    raise_event(w, (struct gw_event){.type = GW_EVENT_USAGE, .uses = &use, .use_count = 1});
    assert_int_equal(memory_of(w).idle_bytes, 0);
    assert_int_equal(w->emptied, 1);
    assert_int_equal(w->disk.count, 1); /* that is not enough */
    release(w, 3);                      /* during the write: a thread reads it */
    assert_int_equal(memory_of(w).idle_bytes, 0);
    assert_int_equal(w->emptied, 1);
}

static void spilling_frees_the_result_memory(void **state)
{
    struct world *w = *state;
    (void)make_in(w, 2, BYTES);
    (void)make_in(w, 3, BYTES);
    assert_int_equal(w->disk.count, 1);
    uint64_t token = 60;
    forget_sent(w);
    raise_event(w, (struct gw_event){.type = GW_EVENT_SPILLED,
                                     .number = w->disk.items[0].number,
                                     .text = "",
                                     .tokens = &token,
                                     .token_count = 1});
    assert_int_equal(w->emptied, 1);
    assert_int_equal(memory_of(w).used_bytes, BYTES);
}

static void idle_result_memory_is_freed_after_a_timeout(void **state)
{
    struct world *w = *state;
    struct gw_msg_memfile_given first = make_and_read(w);
    assert_int_equal(say_returned(w, 1, first.memfile), 0);
    release(w, 2);
    forget_sent(w);
    w->now_ns = gw_node_core_deadline_ns(w->core) > w->now_ns + 10 * SECOND
                    ? gw_node_core_deadline_ns(w->core)
                    : w->now_ns + 10 * SECOND;
    tick(w, 0);
    assert_int_equal(w->emptied, 1);
    assert_int_equal(memory_of(w).used_bytes, 0);
    assert_int_equal(must_send(w, GW_MESSAGE_memfile_gone)->memfile_gone.memfile, first.memfile);
}

static void idle_result_memory_is_limited(void **state)
{
    struct world *w = *state;
    for (uint64_t i = 2; i < 20; i++)
        (void)make_in(w, i, BYTES);
    for (uint32_t i = 2; i < 20; i++)
        release(w, i);
    assert_int_equal(memory_of(w).idle_bytes, LIMIT / 8 / BYTES * BYTES);
    assert_int_equal(w->emptied, 18 - LIMIT / 8 / BYTES);
}

static void false_memory_reports_of_runners_are_refused(void **state)
{
    struct world *w = *state;
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 2, .index = 2});
    uint64_t number = must_send(w, GW_MESSAGE_memfile_given)->memfile_given.memfile;
    const struct gw_msg_memfile_filled wrong[] = {{2, number + 1, 0}, {3, number, 0}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(deliver_with(w, RUNNER + 1,
                                      (struct gw_message){.type = GW_MESSAGE_memfile_filled,
                                                          .memfile_filled = wrong[i]},
                                      NULL, 0),
                         GW_EPROTO);
    assert_int_equal(say_returned(w, 1, number),
                     GW_EPROTO); /* it was never passed to this runner */
    say_filled(w, 1, (struct gw_msg_memfile_filled){2, number, 1});
    assert_int_equal(finish(w, 1, 2, GW_RANK_NONE, BYTES, 1000), 0);
    release(w, 2);
    assert_int_equal(memory_of(w).idle_bytes, 0); /* the runner still has it mapped */
    assert_int_equal(say_returned(w, 1, number), 0);
    assert_int_equal(memory_of(w).idle_bytes, BYTES);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        TEST(released_result_memory_is_reused),
        TEST(memory_is_reused_only_after_readers_return_it),
        TEST(memory_read_by_a_dead_runner_becomes_free),
        TEST(memory_sent_to_another_worker_is_not_reused),
        TEST(result_memory_is_not_shared_between_users),
        TEST(unfilled_result_memory_of_a_crashed_task_is_freed),
        cmocka_unit_test_setup_teardown(idle_result_memory_is_freed_before_spilling,
                                        set_up_to_spill, tear_down),
        cmocka_unit_test_setup_teardown(spilling_frees_the_result_memory, set_up_to_write,
                                        tear_down),
        TEST(idle_result_memory_is_freed_after_a_timeout),
        TEST(idle_result_memory_is_limited),
        TEST(false_memory_reports_of_runners_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
