/* The worker's core, driven by messages: what it sends for what it receives. */
#include "tests/unit/worker/core/node_world.h"

#include "graph/wire/hash.h"

static void worker_registers_after_the_welcome(void **state)
{
    struct world *w = new_world(3);
    const struct gw_message *message = must_send(w, GW_MESSAGE_registration);
    assert_int_equal(message->registration.slots, 3);
    assert_int_equal(message->registration.incarnation, 77);
    assert_string_equal(message->registration.address, "/d/worker.sock");
    assert_int_equal(message->term, 7);
    assert_int_equal(message->peer, 9);
    must_send(w, GW_MESSAGE_heartbeat);
    assert_int_equal(gw_node_core_deadline_ns(w->core), w->now_ns + GW_HEARTBEAT_NS);
    free_world(w);
}

static void function_runs_in_a_runner_that_is_reused(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    const struct gw_message *spawn = must_send(w, GW_MESSAGE_spawn);
    assert_int_equal(spawn->spawn.runner, 1);
    assert_string_equal(spawn->spawn.path, "/d/programs/p/prog");
    assert_string_equal(spawn->spawn.err, "/d/logs/runner.77.1.err");
    assert_non_null(memmem(spawn->spawn.env.data, spawn->spawn.env.size, "OMP_NUM_THREADS=4", 17));
    must_send(w, GW_MESSAGE_spec);
    const struct gw_message *given = must_send(w, GW_MESSAGE_assign);
    assert_int_equal(gw_col64_at(given->assign.attempt, 0), 1);

    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 100), 0);
    const struct gw_message *finished = must_send(w, GW_MESSAGE_finished);
    assert_int_equal(gw_col64_at(finished->finished.attempt, 0), 1);
    assert_memory_equal(finished->finished.values.data, "\x07", 1);

    forget_sent(w); /* the runner is reused, and knows the spec */
    must_assign(w, (struct task){.attempt = 2, .index = 1});
    must_send(w, GW_MESSAGE_assign);
    assert_null(sent(w, GW_MESSAGE_spec, 0));
    assert_null(sent(w, GW_MESSAGE_spawn, 0));
    free_world(w);
}

static void short_tasks_are_queued_in_a_runner(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    must_assign(w,
                (struct task){.attempt = 2}); /* the run time is unknown: a second runner starts */
    assert_int_equal(w->processes, 2);
    finish(w, 1, 1, GW_RANK_NONE, 0, 1000);
    forget_sent(w);
    for (uint64_t attempt = 3; attempt < 9; attempt++)
        must_assign(w, (struct task){.attempt = attempt});
    assert_non_null(sent(w, GW_MESSAGE_assign, 5)); /* all to runner 1, while 2 starts */
    assert_int_equal(w->processes, 2);
    free_world(w);
}

/* The runner had reported which task it executes: the tasks before it had ended, although their
 * ends were not reported. */
static void crash_counts_only_for_the_task_reported_as_executing(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    (void)state;
    finish(w, 1, 1, GW_RANK_NONE, 0, 1000);
    for (uint64_t attempt = 2; attempt < 7; attempt++)
        must_assign(w, (struct task){.attempt = attempt});
    forget_sent(w);
    deliver(w, SUPERVISOR,
            (struct gw_message){.type = GW_MESSAGE_exited,
                                .exited = {.process = 1, .signal = 11, .executing = 5}});
    reap(w, 1);
    assert_int_equal(finish(w, 1, 2, GW_RANK_NONE, 0, 1000), 0);
    runner_closes(w, 1);
    const struct gw_message *ended = must_send(w, GW_MESSAGE_ended);
    assert_int_equal(ended->ended.attempt, 5);
    assert_int_equal(ended->ended.outcome, GW_OUTCOME_CRASHED);
    assert_null(sent(w, GW_MESSAGE_ended, 1));
    forget_sent(w);
    hello(w, 2, GW_PROTOCOL);
    const struct gw_msg_assign *given = &must_send(w, GW_MESSAGE_assign)->assign;
    const uint64_t again[] = {3, 4, 6};
    assert_int_equal(given->attempt.count, 3);
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(gw_col64_at(given->attempt, i), again[i]);
    free_world(w);
}

static void crash_counts_only_for_the_first_unfinished_task(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    finish(w, 1, 1, GW_RANK_NONE, 0, 1000);
    for (uint64_t attempt = 2; attempt < 6; attempt++)
        must_assign(w, (struct task){.attempt = attempt});
    forget_sent(w);
    exits(w, 1, 0, 11);
    reap(w, 1);
    assert_null(sent(w, GW_MESSAGE_ended, 0)); /* a result may still be in the socket */
    assert_int_equal(finish(w, 1, 2, GW_RANK_NONE, 0, 1000), 0);
    runner_closes(w, 1);
    const struct gw_message *ended = must_send(w, GW_MESSAGE_ended);
    assert_int_equal(ended->ended.attempt, 3);
    assert_int_equal(ended->ended.outcome, GW_OUTCOME_CRASHED);
    assert_int_equal(ended->ended.signal, 11);
    assert_int_equal(ended->ended.executing, 1);
    assert_null(sent(w, GW_MESSAGE_ended, 1));
    forget_sent(w);
    hello(w, 2, GW_PROTOCOL); /* attempts 4 and 5 go to the next runner, in their order */
    const struct gw_message *given = must_send(w, GW_MESSAGE_assign);
    assert_int_equal(given->assign.attempt.count, 2);
    assert_int_equal(gw_col64_at(given->assign.attempt, 0), 4);
    assert_int_equal(gw_col64_at(given->assign.attempt, 1), 5);
    free_world(w);
}

/* The supervisor may have been stopped; its final report of the runner's end is authoritative. */
static void supervisor_report_decides_how_a_closed_runner_ended(void **state)
{
    static const struct gw_msg_exited cases[] = {
        {.process = 1,
         .signal = 9,
         .unasked = 1,
         .executing = 3},            /* the process had crashed before */
        {.process = 1, .signal = 9}, /* the process was alive */
    };
    (void)state;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world *w = world_with_runner((struct gw_msg_spec){0});
        finish(w, 1, 1, GW_RANK_NONE, 0, 1000);
        for (uint64_t attempt = 2; attempt < 5; attempt++)
            must_assign(w, (struct task){.attempt = attempt});
        forget_sent(w);
        runner_closes(w, 1);
        tick(w, SECOND / 2);
        assert_null(sent(w, GW_MESSAGE_reap, 0));
        tick(w, SECOND / 2);
        must_send(w, GW_MESSAGE_reap);
        assert_null(sent(w, GW_MESSAGE_ended, 0));
        deliver(w, SUPERVISOR, (struct gw_message){.type = GW_MESSAGE_exited, .exited = cases[i]});
        reap(w, 1);
        const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
        assert_int_equal(ended->attempt, i == 0 ? 3 : 2);
        assert_int_equal(ended->outcome, GW_OUTCOME_CRASHED);
        assert_non_null(
            strstr(ended->text, i == 0 ? "signal 9" : "closed its connection, but did not exit"));
        assert_null(sent(w, GW_MESSAGE_ended, 1)); /* the others run again */
        free_world(w);
    }
}

static void task_cannot_start_error_states_the_cause(void **state)
{
    static const struct {
        int exit_code, signal, spawn_code;
        uint32_t protocol;
        const char *function, *text;
        int program_code;
    } cases[] = {
        {.exit_code = 127, .text = "exit code 127"},
        {.exit_code = 0, .text = "gw_init"},
        {.signal = 11, .text = "signal 11"},
        {.spawn_code = GW_ENOENT, .text = "no such file"},
        {.protocol = 99, .text = "protocol 99"},
        {.function = "h", .protocol = GW_PROTOCOL, .text = "no task function \"h\""},
        {.program_code = GW_ECORRUPT, .text = "damaged"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world *w = new_world(2);
        send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_FUNCTION,
                                          .function = cases[i].function ? cases[i].function : "f"});
        assert_int_equal(w->programs, 1);
        must_assign(w, (struct task){.attempt = 1});
        program_ready(w, cases[i].program_code,
                      cases[i].program_code ? "damaged" : "/d/programs/p/prog");
        if (cases[i]
                .spawn_code) { /* the program may be gone from there: it is requested again, once */
            spawned(w, 1, cases[i].spawn_code, "no such file");
            runner_closes(w, 1);
            assert_int_equal(w->programs, 2);
            assert_null(sent(w, GW_MESSAGE_ended, 0));
            program_ready(w, 0, "/d/programs/p/prog");
            for (uint64_t k = 2; k <= w->processes; k++) { /* one task may have been on its way */
                spawned(w, k, cases[i].spawn_code, "no such file");
                runner_closes(w, k);
            }
            assert_int_equal(w->programs, 2);
            assert_true(w->processes <= 4);
        } else if (cases[i].protocol) {
            hello(w, 1, cases[i].protocol);
            if (cases[i].protocol != GW_PROTOCOL)
                dies(w, 1, 0, 15);
        } else if (!cases[i].program_code) {
            dies(w, 1, cases[i].exit_code, cases[i].signal);
        }
        const struct gw_message *ended = must_send(w, GW_MESSAGE_ended);
        assert_int_equal(ended->ended.outcome, GW_OUTCOME_CANNOT_START);
        assert_int_equal(ended->ended.executing, 0);
        if (!strstr(ended->ended.text, cases[i].text))
            fail_msg("%s lacks %s", ended->ended.text, cases[i].text);
        free_world(w);
    }
}

/* Such a kill proves nothing about the program, but it is not repeated without end. */
static void runner_killed_before_its_hello_is_restarted_twice(void **state)
{
    struct world *w = new_world(2);
    function_spec(w, (struct gw_msg_spec){0});
    must_assign(w, (struct task){.attempt = 1});
    for (uint32_t i = 1; i <= 3; i++) {
        assert_null(sent(w, GW_MESSAGE_ended, 0));
        assert_int_equal(w->processes, i);
        dies(w, i, 0, 9);
    }
    assert_int_equal(must_send(w, GW_MESSAGE_ended)->ended.outcome, GW_OUTCOME_CANNOT_START);
    free_world(w);
}

static void runner_without_a_hello_is_killed_after_a_timeout(void **state)
{
    struct world *w = new_world(1);
    function_spec(w, (struct gw_msg_spec){0});
    must_assign(w, (struct task){.attempt = 1});
    tick(w, 5 * SECOND);
    w->now_ns = gw_node_core_deadline_ns(w->core);
    forget_sent(w);
    for (int i = 0; i < 10 && !sent(w, GW_MESSAGE_reap, 0); i++) {
        uint64_t number = i + 100; /* the scheduler answers: no heartbeat timeout */
        tick(w, 2 * SECOND);
        const struct gw_message *beat = sent(w, GW_MESSAGE_heartbeat, 0);
        uint64_t echo = beat ? beat->heartbeat.number : 0;
        deliver(w, SCHEDULER,
                (struct gw_message){.type = GW_MESSAGE_heartbeat, .heartbeat = {number, echo, 0}});
        if (!sent(w, GW_MESSAGE_reap, 0))
            forget_sent(w);
    }
    must_send(w, GW_MESSAGE_reap);
    dies(w, 1, 0, 9);
    assert_non_null(strstr(must_send(w, GW_MESSAGE_ended)->ended.text, "gw_init"));
    free_world(w);
}

static void command_exit_is_reported_with_its_outcome(void **state)
{
    static const struct {
        int exit_code, signal, spawn_code;
        uint32_t outcome; /* 0: finished */
        const char *text;
    } cases[] = {
        {.outcome = 0},
        {.exit_code = 3, .outcome = GW_OUTCOME_FAILED, .text = "exit code 3"},
        {.signal = 11, .outcome = GW_OUTCOME_CRASHED, .text = "signal 11"},
        {.exit_code = 127,
         .spawn_code = GW_ENOENT,
         .outcome = GW_OUTCOME_CANNOT_START,
         .text = "not found"},
        {.exit_code = 126,
         .spawn_code = GW_ESTART,
         .outcome = GW_OUTCOME_CANNOT_START,
         .text = "not found"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct world *w = new_world(2);
        send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND});
        must_assign(w, (struct task){.attempt = 1, .index = 4});
        const struct gw_message *spawn = must_send(w, GW_MESSAGE_spawn);
        assert_string_equal(spawn->spawn.path, "true");
        assert_string_equal(spawn->spawn.out, "/d/logs/1/4.1.out");
        spawned(w, 1, cases[i].spawn_code, "not found");
        if (!cases[i].spawn_code)
            dies(w, 1, cases[i].exit_code, cases[i].signal);
        if (cases[i].outcome) {
            const struct gw_message *ended = must_send(w, GW_MESSAGE_ended);
            assert_int_equal(ended->ended.outcome, cases[i].outcome);
            assert_int_equal(ended->ended.exit_code, cases[i].exit_code);
            assert_non_null(strstr(ended->ended.text, cases[i].text));
        } else {
            assert_memory_equal(must_send(w, GW_MESSAGE_finished)->finished.values.data, "\0", 1);
        }
        free_world(w);
    }
}

static void slots_stay_occupied_until_the_process_is_reaped(void **state)
{
    struct world *w = new_world(1);
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND});
    must_assign(w, (struct task){.attempt = 1});
    must_assign(w, (struct task){.attempt = 2});
    spawned(w, 1, 0, "");
    exits(w, 1, 0, 0);
    assert_int_equal(w->processes, 1); /* a descendant may live */
    reap(w, 1);
    assert_int_equal(w->processes, 2);
    free_world(w);
}

static void idle_runner_yields_its_slots_to_a_command(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){.slots = 2});
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .number = 1});
    must_assign(w, (struct task){.attempt = 2, .spec = 1});
    assert_null(sent(w, GW_MESSAGE_reap, 0)); /* busy */
    finish(w, 1, 1, GW_RANK_NONE, 0, 1000);
    assert_int_equal(w->processes, 2); /* at once: it is parked (test_node_park.c) */
    free_world(w);
}

/* A stream of short tasks does not occupy the slot of another program's task without end. */
static void older_task_of_another_program_gets_its_turn(void **state)
{
    struct world *w = new_world(1);
    function_spec(w, (struct gw_msg_spec){0});
    function_spec(w, (struct gw_msg_spec){.number = 1, .cwd = "/elsewhere"});
    must_assign(w, (struct task){.attempt = 1});
    hello(w, 1, GW_PROTOCOL);
    must_assign(w, (struct task){.attempt = 2, .spec = 1}); /* wants a runner of its own */
    must_assign(w, (struct task){.attempt = 3});
    forget_sent(w);
    finish(w, 1, 1, GW_RANK_NONE, 0, 1000);
    assert_null(sent(w, GW_MESSAGE_assign, 0)); /* 3 came after 2 */
    assert_string_equal(must_send(w, GW_MESSAGE_spawn)->spawn.cwd, "/elsewhere");
    free_world(w);
}

static void idle_runner_ends_after_a_minute(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    finish(w, 1, 1, GW_RANK_NONE, 0, 1000);
    forget_sent(w);
    tick(w, 59 * SECOND);
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    tick(w, 1 * SECOND);
    must_send(w, GW_MESSAGE_reap);
    dies(w, 1, 0, 15);
    assert_null(sent(w, GW_MESSAGE_ended, 0));
    free_world(w);
}

static void cancelled_task_is_killed_when_its_turn_comes(void **state)
{
    struct world *w = new_world(1);
    function_spec(w, (struct gw_msg_spec){0});
    must_assign(w, (struct task){.attempt = 1});
    hello(w, 1, GW_PROTOCOL);
    finish(w, 1, 1, GW_RANK_NONE, 0, 1000);
    for (uint64_t attempt = 2; attempt < 5; attempt++)
        must_assign(w, (struct task){.attempt = attempt});
    forget_sent(w);
    kill_attempt(w, 3, GW_KILL_CANCEL); /* behind 2: killed when its turn comes */
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    finish(w, 1, 2, GW_RANK_NONE, 0, 1000);
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.grace_ns, 3 * SECOND);
    assert_null(sent(w, GW_MESSAGE_ended, 0));
    dies(w, 1, 0, 15);
    const struct gw_message *ended = must_send(w, GW_MESSAGE_ended);
    assert_int_equal(ended->ended.attempt, 3);
    assert_int_equal(ended->ended.outcome, GW_OUTCOME_KILLED);
    assert_int_equal(ended->ended.executing, 1);
    forget_sent(w);
    kill_attempt(w, 4, GW_KILL_CANCEL); /* queued again: never ran */
    ended = must_send(w, GW_MESSAGE_ended);
    assert_int_equal(ended->ended.attempt, 4);
    assert_int_equal(ended->ended.executing, 0);
    free_world(w);
}

static void task_above_its_time_limit_is_ended_with_grace(void **state)
{
    struct world *w =
        world_with_runner((struct gw_msg_spec){.time_limit_ns = 5 * SECOND, .grace_ns = SECOND});
    forget_sent(w);
    tick(w, 20 * MS);
    assert_int_equal(gw_col64_at(must_send(w, GW_MESSAGE_started)->started.attempt, 0), 1);
    tick(w, 4 * SECOND);
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    tick(w, 1 * SECOND);
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.grace_ns, SECOND);
    dies(w, 1, 0, 15);
    assert_int_equal(must_send(w, GW_MESSAGE_ended)->ended.outcome, GW_OUTCOME_TIMEOUT);
    free_world(w);
}

static void unlimited_task_is_not_ended(void **state)
{
    struct world *w =
        world_with_runner((struct gw_msg_spec){.time_limit_ns = UINT64_MAX, .grace_ns = SECOND});
    (void)state;
    forget_sent(w);
    tick(w, 4 * SECOND);
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    free_world(w);
}

static void result_is_served_to_peers_until_its_release(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    finish(w, 1, 1, GW_RANK_NONE, 100000, 1000);
    raise_event(w, (struct gw_event){.type = GW_EVENT_OPEN, .peer = {PEER}, .role = GW_ROLE_PEER});
    forget_sent(w);
    const struct gw_message fetch = {.type = GW_MESSAGE_fetch, .fetch = {3, 1, 0, GW_RANK_NONE}};
    deliver(w, PEER, fetch);
    assert_int_equal(w->effects.list.items[0].token_count, 1);
    assert_int_equal(w->effects.list.items[0].tokens[0], 50);
    assert_int_equal(must_send(w, GW_MESSAGE_object)->object.bytes, 100000);
    uint64_t job = 1;
    uint32_t index = 0, rank = 0;
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_release,
                                .release = {{&job, 1}, {&index, 1}, {&rank, 1}}});
    assert_int_equal(w->drops, 1);
    forget_sent(w);
    deliver(w, PEER, fetch);
    assert_int_equal(must_send(w, GW_MESSAGE_object)->object.code, GW_ENOENT);
    free_world(w);
}

static void shared_input_is_fetched_once(void **state)
{
    struct world *w = new_world(2);
    struct dep dep = {.job = 8, .index = 2, .rank = 0, .worker = 6};
    function_spec(w, (struct gw_msg_spec){0});
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_neighbour, .neighbour = {6, "/d/other"}});
    must_assign(w, (struct task){.attempt = 1, .dep = &dep});
    must_assign(w, (struct task){.attempt = 2, .dep = &dep});
    assert_int_equal(w->connects, 1);
    raise_event(w, (struct gw_event){
                       .type = GW_EVENT_OPEN, .peer = {PEER}, .number = 6, .role = GW_ROLE_PEER});
    const struct gw_message *fetch = must_send(w, GW_MESSAGE_fetch);
    assert_null(sent(w, GW_MESSAGE_fetch, 1));
    uint64_t token = 51;
    struct gw_message object = {.type = GW_MESSAGE_object};
    object.object = (struct gw_msg_object){.request = fetch->fetch.request, .bytes = 10000};
    assert_int_equal(deliver_with(w, PEER, object, &token, 1), 0);
    hello(w, 1, GW_PROTOCOL);
    bool found = false;
    for (size_t i = 0; i < w->effects.list.count; i++) {
        const struct gw_effect *effect = &w->effects.list.items[i];
        found |= effect->message.type == GW_MESSAGE_assign && effect->token_count == 1 &&
                 effect->tokens[0] == 51;
    }
    assert_true(found);
    free_world(w);
}

/* A row for all ranks has no data of its own, and a row that only orders tasks has no data. */
static void all_rank_and_order_inputs_are_not_fetched(void **state)
{
    static const uint32_t ranks[] = {GW_DEP_ALL, GW_DEP_AFTER};
    for (int i = 0; i < 2; i++) {
        struct world *w = new_world(1);
        struct dep dep = {.job = 8, .index = 2, .rank = ranks[i], .worker = 6};
        function_spec(w, (struct gw_msg_spec){0});
        must_assign(w, (struct task){.attempt = 1, .dep = &dep});
        hello(w, 1, GW_PROTOCOL);
        assert_int_equal(gw_col32_at(must_send(w, GW_MESSAGE_assign)->assign.dep_rank, 0),
                         ranks[i]);
        assert_null(sent(w, GW_MESSAGE_fetch, 0));
        free_world(w);
    }
}

static void forgotten_job_is_forgotten_by_runners(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    finish(w, 1, 1, GW_RANK_NONE, 0, 1000);
    forget_sent(w);
    deliver(w, SCHEDULER, (struct gw_message){.type = GW_MESSAGE_forget, .forget = {1}});
    assert_int_equal(must_send(w, GW_MESSAGE_forget)->forget.job, 1);
    assert_int_equal(assign(w, (struct task){.attempt = 2}), GW_EPROTO); /* its spec is gone */
    free_world(w);
}

static void unreachable_input_is_reported_lost(void **state)
{
    for (int way = 0; way < 4; way++) {
        struct world *w = new_world(2);
        struct dep dep = {.job = 8, .index = 2, .rank = 0, .worker = 6};
        function_spec(w, (struct gw_msg_spec){0});
        if (way)
            deliver(w, SCHEDULER,
                    (struct gw_message){.type = GW_MESSAGE_neighbour, .neighbour = {6, "/d/o"}});
        must_assign(w, (struct task){.attempt = 1, .dep = &dep});
        if (way == 1)
            raise_event(w, (struct gw_event){.type = GW_EVENT_CLOSE, .number = 6, .text = "no"});
        if (way == 2) {
            raise_event(
                w, (struct gw_event){
                       .type = GW_EVENT_OPEN, .peer = {PEER}, .number = 6, .role = GW_ROLE_PEER});
            deliver(
                w, PEER,
                (struct gw_message){
                    .type = GW_MESSAGE_object,
                    .object = {
                        must_send(w, GW_MESSAGE_fetch)->fetch.request, GW_ENOENT, "no", 0, {0}}});
        }
        if (way == 3) { /* the peer does not answer, and the scheduler lives */
            for (uint64_t i = 1; i <= 8; i++) {
                tick(w, 2 * SECOND);
                deliver(
                    w, SCHEDULER,
                    (struct gw_message){.type = GW_MESSAGE_heartbeat, .heartbeat = {i, i + 1, 0}});
            }
        }
        assert_int_equal(must_send(w, GW_MESSAGE_object_lost)->object_lost.worker, 6);
        const struct gw_message *ended = must_send(w, GW_MESSAGE_ended);
        assert_int_equal(ended->ended.outcome, GW_OUTCOME_LOST_INPUT);
        assert_int_equal(ended->ended.executing, 0);
        free_world(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(worker_registers_after_the_welcome),
        cmocka_unit_test(function_runs_in_a_runner_that_is_reused),
        cmocka_unit_test(short_tasks_are_queued_in_a_runner),
        cmocka_unit_test(crash_counts_only_for_the_task_reported_as_executing),
        cmocka_unit_test(crash_counts_only_for_the_first_unfinished_task),
        cmocka_unit_test(supervisor_report_decides_how_a_closed_runner_ended),
        cmocka_unit_test(task_cannot_start_error_states_the_cause),
        cmocka_unit_test(runner_killed_before_its_hello_is_restarted_twice),
        cmocka_unit_test(runner_without_a_hello_is_killed_after_a_timeout),
        cmocka_unit_test(command_exit_is_reported_with_its_outcome),
        cmocka_unit_test(slots_stay_occupied_until_the_process_is_reaped),
        cmocka_unit_test(idle_runner_yields_its_slots_to_a_command),
        cmocka_unit_test(older_task_of_another_program_gets_its_turn),
        cmocka_unit_test(idle_runner_ends_after_a_minute),
        cmocka_unit_test(all_rank_and_order_inputs_are_not_fetched),
        cmocka_unit_test(forgotten_job_is_forgotten_by_runners),
        cmocka_unit_test(cancelled_task_is_killed_when_its_turn_comes),
        cmocka_unit_test(task_above_its_time_limit_is_ended_with_grace),
        cmocka_unit_test(unlimited_task_is_not_ended),
        cmocka_unit_test(result_is_served_to_peers_until_its_release),
        cmocka_unit_test(shared_input_is_fetched_once),
        cmocka_unit_test(unreachable_input_is_reported_lost),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
