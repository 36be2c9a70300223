/* Command gangs in the worker's core: the environment of their ranks. */
#include "tests/unit/worker/core/node_world.h"

static bool has(const struct gw_msg_spawn *spawn, const char *text)
{
    return memmem(spawn->env.data, spawn->env.size, text, strlen(text)) != NULL;
}

static void command_gang_starts_with_its_environment(void **state)
{
    struct world *w = new_world(2);
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND,
                                      .ranks = 2,
                                      .streams = GW_STREAM_HELD | GW_STREAM_INPUT,
                                      .env = bin("\x92\xaaHOME=/home\xaeMASTER_PORT=77", 27)});
    send_gang(w, 1, 2);
    must_assign(w, (struct task){.attempt = 1, .rank = 1, .gpu = 2});
    must_assign(w, (struct task){.attempt = 1, .rank = 2, .gpu = 1});
    assert_int_equal(w->processes, 0);
    leased(w, 1);
    must_send(w, GW_MESSAGE_rank_ready);
    forget_sent(w);
    struct gw_message message = {.type = GW_MESSAGE_gang_start};
    message.gang_start.attempt = 1;
    deliver(w, SCHEDULER, message);
    for (size_t i = 0; i < 2; i++) {
        const struct gw_message *spawn = sent(w, GW_MESSAGE_spawn, i);
        assert_non_null(spawn);
        assert_true(has(&spawn->spawn, i ? "LOCAL_RANK=1" : "LOCAL_RANK=0"));
        assert_true(has(&spawn->spawn, "WORLD_SIZE=2"));
        assert_true(has(&spawn->spawn, "MASTER_ADDR=127.0.0.1"));
        assert_true(has(&spawn->spawn, "MASTER_PORT=77")); /* the user's value takes precedence */
        assert_false(has(&spawn->spawn, "MASTER_PORT=4321"));
        assert_true(has(&spawn->spawn, "GLOO_SOCKET_IFNAME=lo"));
        assert_true(has(&spawn->spawn, "CUDA_VISIBLE_DEVICES=GPU-b,GPU-a"));
        assert_true(has(&spawn->spawn, i ? "GANGWAY_GPUS=1" : "GANGWAY_GPUS=0"));
        assert_true(
            spawn->spawn.held); /* each rank has a reader, and the first rank has its input */
        assert_int_equal(spawn->spawn.in, i == 0);
        assert_string_equal(spawn->spawn.out, i ? "/d/logs/1/0.1.1.out" : "/d/logs/1/0.1.0.out");
    }
    free_world(w);
}

static void report(struct world *w, uint64_t process, int64_t step)
{
    const struct gw_message message = {
        .type = GW_MESSAGE_metric,
        .metric = {.step = step, .name = "loss", .value = (double)process}};
    raise_event(
        w, (struct gw_event){.type = GW_EVENT_REPORTED, .number = process, .message = &message});
}

/* Two ranks run, as processes 1 and 2. */
static struct world *world_with_ranks(struct gw_msg_spec spec)
{
    struct world *w = new_world(2);
    spec.kind = GW_SPEC_COMMAND;
    spec.ranks = 2;
    send_spec(w, spec);
    send_gang(w, 1, 2);
    must_assign(w, (struct task){.attempt = 1, .rank = 1});
    must_assign(w, (struct task){.attempt = 1, .rank = 2});
    leased(w, 1);
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_gang_start, .gang_start = {.attempt = 1}});
    spawned(w, 1, 0, "");
    spawned(w, 2, 0, "");
    forget_sent(w);
    return w;
}

static void reports_of_rank_0_are_passed_on(void **state)
{
    struct world *w = world_with_ranks((struct gw_msg_spec){0});
    report(w, 2, 7);
    assert_null(sent(w, GW_MESSAGE_metric, 0));
    report(w, 1, 7);
    const struct gw_msg_metric *metric = &must_send(w, GW_MESSAGE_metric)->metric;
    assert_int_equal(metric->attempt, 1);
    assert_int_equal(metric->rank, 0);
    assert_int_equal(metric->step, 7);
    assert_string_equal(metric->name, "loss");
    report(w, 99, 7); /* no such process */
    free_world(w);
}

static void ranks_get_a_control_at_the_first_step_that_none_has_reported(void **state)
{
    struct world *w = world_with_ranks((struct gw_msg_spec){0});
    report(w, 1, 4);
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_control, .control = {1, GW_CONTROL_STOP}});
    report(w, 2, 4);
    assert_int_equal(gw_node_core_answer(w->core, 2, 4), GW_CONTROL_CONTINUE);
    for (uint64_t process = 1; process <= 2; process++) {
        report(w, process, 5);
        assert_int_equal(gw_node_core_answer(w->core, process, 5), GW_CONTROL_STOP);
    }
    free_world(w);
}

static void reports_are_answered_with_stop_from_a_step_on(void **state)
{
    struct world *w = world_with_ranks((struct gw_msg_spec){.until_step = 3});
    for (uint64_t process = 1; process <= 2; process++)
        for (int64_t step = -1; step <= 4; step++)
            assert_int_equal(gw_node_core_answer(w->core, process, step),
                             step >= 3 ? GW_CONTROL_STOP : GW_CONTROL_CONTINUE);
    free_world(w);
}

/* Ranks of a gang of `world` commands run, and process 1 is detected as an MPI program. */
static struct world *world_with_mpi(uint32_t world)
{
    struct world *w = new_world(2);
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .ranks = world});
    send_gang(w, 1, world);
    for (uint32_t rank = 1; rank <= world; rank++)
        must_assign(w, (struct task){.attempt = 1, .rank = rank});
    leased(w, 1);
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_gang_start, .gang_start = {.attempt = 1}});
    for (uint32_t rank = 1; rank <= world; rank++)
        spawned(w, rank, 0, "");
    forget_sent(w);
    const struct gw_process_use use = {.process = 1, .mpi = "prog is an MPI program"};
    raise_event(w, (struct gw_event){.type = GW_EVENT_USAGE, .uses = &use, .use_count = 1});
    return w;
}

/* No further attempt is made, because it would run the same program. */
static void mpi_program_with_several_ranks_is_refused(void **state)
{
    struct world *w = world_with_mpi(2);
    (void)state;
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.process, 1);
    dies(w, 1, 0, 15);
    const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_CANNOT_START);
    assert_int_equal(ended->exit_code, 126);
    assert_string_equal(ended->text, "prog is an MPI program");
    free_world(w);
    w = world_with_mpi(1); /* rank 0 of 1 is correct */
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    free_world(w);
}

/* A gang of three commands runs at two workers, the second with one command; its environment is
 * that of mpirun, Horovod and others. */
static void command_gang_gets_variables_of_known_launchers(void **state)
{
    static const uint8_t locals[] = {2, 0, 0, 0, 1, 0, 0, 0};
    static const char *const wanted[] = {
        "OMPI_COMM_WORLD_RANK=2",
        "OMPI_COMM_WORLD_SIZE=3",
        "OMPI_COMM_WORLD_LOCAL_RANK=0",
        "OMPI_COMM_WORLD_LOCAL_SIZE=1",
        "OMPI_COMM_WORLD_NODE_RANK=0",
        "NODE_RANK=1",
        "HOROVOD_RANK=2",
        "HOROVOD_SIZE=3",
        "HOROVOD_LOCAL_RANK=0",
        "HOROVOD_LOCAL_SIZE=1",
        "HOROVOD_CROSS_RANK=1",
        "HOROVOD_CROSS_SIZE=2",
        "HOROVOD_CONTROLLER=gloo",
        "HOROVOD_CPU_OPERATIONS=gloo",
        "HOROVOD_HOSTNAME=here.1",
        "HOROVOD_GLOO_RENDEZVOUS_ADDR=10.0.0.1",
        "HOROVOD_GLOO_RENDEZVOUS_PORT=99",
        "NAME=rank 2 of 3",
        "OTHER={rank}",
    };
    struct world *w = new_world(2);
    send_spec(w,
              (struct gw_msg_spec){
                  .kind = GW_SPEC_COMMAND,
                  .ranks = 3,
                  .env_templates = 1,
                  .argv = bin("\x92\xa4"
                              "echo\xd9\x2f{node_rank}/{local_rank}{rank}{x}{line}{{}rank}",
                              55),
                  .env = bin("\x92\xacOTHER={rank}\xd9\x20NAME=rank {rank} of {world_size}", 48)});
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_gang,
                                .gang = {1, 3, 2, 1, 1, 2, 0, 1, {(const void *)locals, 2}}});
    must_assign(w, (struct task){.attempt = 1, .rank = 3});
    raise_event(w, (struct gw_event){.type = GW_EVENT_LEASED, .number = 1, .text = "10.0.0.2"});
    struct gw_message message = {.type = GW_MESSAGE_gang_start};
    message.gang_start.attempt = 1;
    message.gang_start.info = bin("\x82\xabmaster_addr\xa8"
                                  "10.0.0.1\xafrendezvous_port\x63",
                                  39);
    deliver(w, SCHEDULER, message);
    const struct gw_msg_spawn *spawn = &must_send(w, GW_MESSAGE_spawn)->spawn;
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        if (!has(spawn, wanted[i]))
            fail_msg("%s is not in the environment", wanted[i]);
    assert_non_null(memmem(spawn->argv.data, spawn->argv.size, "1/02{x}{line}{rank}", 19));
    free_world(w);
}

/* Each rank has a port of its own, reports it when the rank is ready, and learns the ports of
 * all ranks. */
static void command_ranks_exchange_their_rank_ports(void **state)
{
    const uint32_t ports[] = {71, 72};
    struct world *w = new_world(2);
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .ranks = 3});
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_gang,
                                .gang = {.attempt = 1,
                                         .world = 3,
                                         .first_rank = 1,
                                         .local = 2,
                                         .group_rank = 1,
                                         .groups = 2,
                                         .commands = 1}});
    must_assign(w, (struct task){.attempt = 1, .rank = 2});
    must_assign(w, (struct task){.attempt = 1, .rank = 3});
    assert_null(sent(w, GW_MESSAGE_rank_ready, 0));
    raise_event(
        w,
        (struct gw_event){
            .type = GW_EVENT_LEASED, .number = 1, .text = "::2", .ports = ports, .port_count = 2});
    for (uint32_t i = 0; i < 2; i++) {
        const struct gw_msg_rank_ready *ready = &sent(w, GW_MESSAGE_rank_ready, i)->rank_ready;
        assert_string_equal(ready->door, ready->rank == 1 ? "[::2]:71" : "[::2]:72");
    }
    struct gw_message message = {.type = GW_MESSAGE_gang_start};
    message.gang_start.attempt = 1;
    message.gang_start.doors = bin("\x93\xa3"
                                   "h:1\xa3"
                                   "h:2\xa3"
                                   "h:3",
                                   13);
    deliver(w, SCHEDULER, message);
    assert_int_equal(w->unbinds, 1);
    assert_true(has(&sent(w, GW_MESSAGE_spawn, 1)->spawn,
                    "TF_CONFIG={\"cluster\": {\"worker\": [\"h:1\", \"h:2\", \"h:3\"]}, "
                    "\"task\": {\"type\": \"worker\", \"index\": 2}}"));
    free_world(w);
}

/* Ports that would break the JSON, or that do not cover all ranks, are not passed on. */
static void malformed_rank_ports_set_no_tf_config(void **state)
{
    static const struct {
        const char *list;
        uint32_t bytes;
    } wrong[] = {{"\x91\xa3h\"1", 5}, {"\x92\xa1x\xa1y", 5}, {"\x91\x01", 2}, {"\x91", 1}};
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        struct world *w = new_world(2);
        send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .ranks = 1});
        send_gang(w, 1, 1);
        must_assign(w, (struct task){.attempt = 1, .rank = 1});
        leased(w, 1);
        struct gw_message message = {.type = GW_MESSAGE_gang_start};
        message.gang_start.attempt = 1;
        message.gang_start.doors = bin(wrong[i].list, wrong[i].bytes);
        deliver(w, SCHEDULER, message);
        assert_false(has(&must_send(w, GW_MESSAGE_spawn)->spawn, "TF_CONFIG"));
        free_world(w);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(command_gang_starts_with_its_environment),
        cmocka_unit_test(reports_of_rank_0_are_passed_on),
        cmocka_unit_test(ranks_get_a_control_at_the_first_step_that_none_has_reported),
        cmocka_unit_test(reports_are_answered_with_stop_from_a_step_on),
        cmocka_unit_test(mpi_program_with_several_ranks_is_refused),
        cmocka_unit_test(command_gang_gets_variables_of_known_launchers),
        cmocka_unit_test(command_ranks_exchange_their_rank_ports),
        cmocka_unit_test(malformed_rank_ports_set_no_tf_config),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
