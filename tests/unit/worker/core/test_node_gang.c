/* Gangs in the worker's core: ranks that become ready, start and end together. */
#include "tests/unit/worker/core/node_world.h"

static void go(struct world *w, uint64_t attempt)
{
    struct gw_msg_rank_ready ready = must_send(w, GW_MESSAGE_rank_ready)->rank_ready;
    assert_int_equal(ready.rank, 0);
    uint64_t token = 61;
    struct gw_message message = {.type = GW_MESSAGE_gang_start,
                                 .gang_start = {attempt, ready.info}};
    assert_int_equal(deliver_with(w, SCHEDULER, message, &token, 1), 0);
}

/* A gang of two function ranks that runs. */
/* The spec says it is a gang of commands; its processes are runners nevertheless. */
static struct world *world_with_gang_of(struct gw_msg_spec spec)
{
    struct world *w = new_world(2);
    const uint32_t commands = spec.kind == GW_SPEC_COMMAND;
    spec.kind = GW_SPEC_FUNCTION;
    function_spec(w, spec);
    deliver(w, SCHEDULER,
            (struct gw_message){
                .type = GW_MESSAGE_gang,
                .gang = {.attempt = 1, .world = 2, .local = 2, .groups = 1, .commands = commands}});
    assert_int_equal(w->leases, 1);
    must_assign(w, (struct task){.attempt = 1, .rank = 1});
    must_assign(w, (struct task){.attempt = 1, .rank = 2});
    leased(w, 1);
    for (uint32_t rank = 0; rank < 2; rank++) {
        hello(w, rank + 1, GW_PROTOCOL);
        deliver(w, RUNNER + rank + 1,
                (struct gw_message){.type = GW_MESSAGE_rank_ready, .rank_ready = {1, rank, {0}}});
    }
    assert_non_null(sent(w, GW_MESSAGE_gang, 1)); /* each runner received the request */
    assert_non_null(sent(w, GW_MESSAGE_rank_ready, 1));
    go(w, 1);
    assert_non_null(sent(w, GW_MESSAGE_gang_start, 1));
    forget_sent(w);
    return w;
}

static struct world *world_with_gang(void)
{
    return world_with_gang_of((struct gw_msg_spec){.ranks = 2});
}

static void function_gang_runs_twice_on_the_same_runners(void **state)
{
    struct world *w = world_with_gang();
    deliver(w, RUNNER + 1,
            (struct gw_message){.type = GW_MESSAGE_metric, .metric = {1, 0, 10, "loss", 0.5}});
    assert_int_equal(must_send(w, GW_MESSAGE_metric)->metric.step, 10);
    deliver(w, SCHEDULER, (struct gw_message){.type = GW_MESSAGE_control, .control = {1, 2}});
    assert_int_equal(must_send(w, GW_MESSAGE_control)->control.command, 2);
    assert_int_equal(w->unbinds, 1); /* before the ranks start, which bind the port */
    assert_int_equal(finish(w, 1, 1, 0, 0, 1000), 0);
    assert_int_equal(w->unleases, 0); /* the port stays reserved until both ranks have ended */
    assert_int_equal(finish(w, 2, 1, 1, 0, 1000), 0);
    assert_int_equal(w->unleases, 1);
    assert_non_null(sent(w, GW_MESSAGE_finished, 1));
    send_gang(w, 2, 2); /* on warm runners */
    forget_sent(w);
    must_assign(w, (struct task){.attempt = 2, .rank = 1});
    must_assign(w, (struct task){.attempt = 2, .rank = 2});
    assert_null(sent(w, GW_MESSAGE_spawn, 0));
    assert_non_null(sent(w, GW_MESSAGE_assign, 1));
    free_world(w);
}

static void rank_crash_is_reported_and_aborts_the_others(void **state)
{
    struct world *w = world_with_gang();
    dies(w, 2, 0, 9);
    const struct gw_message *ended = must_send(w, GW_MESSAGE_ended);
    assert_int_equal(ended->ended.rank, 1);
    assert_int_equal(ended->ended.outcome, GW_OUTCOME_CRASHED);
    assert_int_equal(w->aborts, 0);
    forget_sent(w);
    kill_attempt(w, 1, GW_KILL_GANG);
    assert_int_equal(w->aborts, 1);
    must_send(w, GW_MESSAGE_reap);
    dies(w, 1, 0, 15);
    ended = must_send(w, GW_MESSAGE_ended);
    assert_int_equal(ended->ended.rank, 0);
    assert_int_equal(ended->ended.outcome, GW_OUTCOME_KILLED);
    free_world(w);
}

static void saves(struct world *w, uint32_t runner, uint64_t attempt, int64_t step, bool is_told)
{
    forget_sent(w);
    deliver(
        w, RUNNER + runner,
        (struct gw_message){.type = GW_MESSAGE_checkpointed, .checkpointed = {attempt, 0, step}});
    const struct gw_message *message = sent(w, GW_MESSAGE_checkpointed, 0);
    assert_int_equal(message != NULL, is_told);
    assert_true(!is_told || message->checkpointed.step == step);
}

/* A checkpoint that rank 0 saves in its grace period counts, whatever ended the gang; a
 * checkpoint of another attempt, or without a grace period, does not. */
static void checkpoint_saved_in_the_grace_period_counts(void **state)
{
    struct world *w = world_with_gang_of((struct gw_msg_spec){.ranks = 2, .grace_ns = 5 * SECOND});
    saves(w, 1, 1, 3, true);
    kill_attempt(w, 1, GW_KILL_STALE);
    must_send(w, GW_MESSAGE_reap);
    saves(w, 1, 1, 4, true);
    free_world(w);
    w = world_with_gang_of((struct gw_msg_spec){.ranks = 2, .grace_ns = 5 * SECOND});
    raise_event(w, (struct gw_event){.type = GW_EVENT_LEAVE, .text = "ended"});
    saves(w, 1, 1, 5, true);
    saves(w, 1, 7, 5, false);
    saves(w, 2, 1, 5, false); /* rank 1's runner */
    free_world(w);
    w = world_with_gang_of((struct gw_msg_spec){.ranks = 2, .grace_ns = 5 * SECOND});
    tick(w, 20 * SECOND); /* the worker hears nothing, and gives up all its tasks */
    must_send(w, GW_MESSAGE_reap);
    saves(w, 1, 1, 6, false);
    free_world(w);
}

/* Rank 1 is stopped in every inspection. */
static void surveyed(struct world *w, int32_t closely)
{
    const struct gw_stand stands[] = {{.rank = 0, .process = 1, .begun = 3, .operation = "barrier"},
                                      {.rank = 1, .process = 2, .begun = 2, .stopped = true}};
    raise_event(w, (struct gw_event){.type = GW_EVENT_SURVEYED,
                                     .number = 1,
                                     .code = closely,
                                     .stands = stands,
                                     .stand_count = 2});
}

/* The worker reports a hang to the next scheduler again, because the previous scheduler may have
 * died before it received the report. */
static void hang_is_reported_to_each_new_scheduler(void **state)
{
    struct world *w =
        world_with_gang_of((struct gw_msg_spec){.ranks = 2, .hang_timeout_ns = SECOND});
    (void)state;
    surveyed(w, 0);
    tick(w, SECOND);
    surveyed(w, 0);
    assert_int_equal(gw_col32_at(must_send(w, GW_MESSAGE_gang_stuck)->gang_stuck.stopped, 1), 1);
    forget_sent(w);
    tick(w, SECOND);
    surveyed(w, 0);
    assert_null(sent(w, GW_MESSAGE_gang_stuck, 0));
    raise_event(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = ""});
    tick(w, SECOND);
    w->lives++;
    open_scheduler(w);
    assert_int_equal(must_send(w, GW_MESSAGE_registration)->registration.attempt.count, 2);
    tick(w, SECOND);
    surveyed(w, 0);
    assert_int_equal(must_send(w, GW_MESSAGE_gang_stuck)->gang_stuck.rank.count, 2);
    free_world(w);
}

static void surveyed_commands(struct world *w, uint64_t active)
{
    const struct gw_stand stands[] = {{.rank = 0, .process = 1},
                                      {.rank = 1, .process = 2, .active = active}};
    raise_event(w, (struct gw_event){
                       .type = GW_EVENT_SURVEYED, .number = 1, .stands = stands, .stand_count = 2});
}

/* The worker reports commands that use no CPU time and write nothing, and also reports when they
 * continue. */
static void ranks_of_commands_without_activity_are_reported(void **state)
{
    struct world *w = world_with_gang_of(
        (struct gw_msg_spec){.ranks = 2, .hang_timeout_ns = SECOND, .kind = GW_SPEC_COMMAND});
    (void)state;
    surveyed_commands(w, 1);
    tick(w, SECOND);
    surveyed_commands(w, 2); /* the rank works, and is in no collective for long */
    assert_int_equal(gw_col32_at(must_send(w, GW_MESSAGE_gang_stuck)->gang_stuck.stopped, 1), 0);
    forget_sent(w);
    tick(w, SECOND);
    surveyed_commands(w, 2);
    assert_int_equal(gw_col32_at(must_send(w, GW_MESSAGE_gang_stuck)->gang_stuck.stopped, 1), 2);
    forget_sent(w);
    tick(w, SECOND);
    surveyed_commands(w, 2);
    assert_null(sent(w, GW_MESSAGE_gang_stuck, 0));
    tick(w, SECOND);
    surveyed_commands(w, 3);
    assert_int_equal(gw_col32_at(must_send(w, GW_MESSAGE_gang_stuck)->gang_stuck.stopped, 1), 0);
    free_world(w);
}

/* The worker inspects stacks only on request; a gang that has moved meanwhile is reported as
 * such. */
static void hang_is_inspected_only_on_request(void **state)
{
    struct world *w =
        world_with_gang_of((struct gw_msg_spec){.ranks = 2, .hang_timeout_ns = SECOND});
    const struct gw_message look = {.type = GW_MESSAGE_gang_look, .gang_look = {1}};
    (void)state;
    deliver(w, SCHEDULER, look); /* the worker had reported nothing */
    surveyed(w, 0);
    tick(w, SECOND);
    surveyed(w, 0);
    assert_int_equal(must_send(w, GW_MESSAGE_gang_stuck)->gang_stuck.closely, 0);
    forget_sent(w);
    deliver(w, SCHEDULER, look);
    surveyed(w, 1);
    assert_int_equal(must_send(w, GW_MESSAGE_gang_stuck)->gang_stuck.closely, 1);
    assert_int_equal(must_send(w, GW_MESSAGE_gang_stuck)->gang_stuck.rank.count, 2);
    forget_sent(w);
    raise_event(w, (struct gw_event){.type = GW_EVENT_SURVEYED, .number = 1}); /* another attempt */
    assert_int_equal(must_send(w, GW_MESSAGE_gang_stuck)->gang_stuck.rank.count, 0);
    forget_sent(w);
    deliver(w, SCHEDULER, look);
    surveyed(w, 0);
    assert_null(sent(w, GW_MESSAGE_gang_stuck, 0));
    free_world(w);
}

/* While a gang forms, the ranks that have a process and are not ready are inspected. */
static void rank_that_is_not_ready_is_inspected(void **state)
{
    (void)state;
    struct world *w = new_world(2);
    function_spec(w, (struct gw_msg_spec){.ranks = 2});
    send_gang(w, 1, 2);
    must_assign(w, (struct task){.attempt = 1, .rank = 0});
    must_assign(w, (struct task){.attempt = 1, .rank = 1});
    forget_sent(w);
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_gang_look, .gang_look = {.attempt = 1}});
    const struct gw_effect *survey = NULL, *effect;
    GW_ARRAY_EACH (&w->effects.list, effect)
        if (effect->type == GW_EFFECT_SURVEY)
            survey = effect;
    assert_non_null(survey);
    assert_int_equal(survey->count, 1);
    assert_true(survey->stand_count > 0);
    surveyed(w, 1);
    const struct gw_msg_gang_stuck *stuck = &must_send(w, GW_MESSAGE_gang_stuck)->gang_stuck;
    assert_int_equal(stuck->closely, 2);
    assert_int_equal(gw_col32_at(stuck->stopped, 1), 1);
    free_world(w);
}

static void missing_program_of_a_command_gang_cannot_start(void **state)
{
    struct world *w = new_world(2);
    w->look_code = GW_ENOENT;
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .ranks = 2});
    send_gang(w, 1, 2);
    must_assign(w, (struct task){.attempt = 1, .rank = 1});
    leased(w, 1);
    const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_CANNOT_START);
    assert_int_equal(ended->exit_code, 127);
    assert_string_equal(ended->text, "it is not there");
    assert_null(sent(w, GW_MESSAGE_rank_ready, 0));
    free_world(w);
}

/* The kill is not a failure to start: the attempt counts, and another attempt follows. */
static void rank_killed_before_its_hello_counts_as_crashed(void **state)
{
    struct world *w = new_world(1);
    function_spec(w, (struct gw_msg_spec){.ranks = 1});
    send_gang(w, 1, 1);
    must_assign(w, (struct task){.attempt = 1, .rank = 1});
    leased(w, 1);
    dies(w, 1, 0, 9);
    const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_CRASHED);
    assert_int_equal(ended->signal, 9);
    free_world(w);
}

/* A worker that was stopped first receives the kill and then the report that a rank had crashed
 * earlier; the crash is reported as the cause. */
static void rank_crash_before_the_kill_is_reported_as_the_cause(void **state)
{
    for (uint32_t unasked = 0; unasked < 2; unasked++) {
        struct world *w = world_with_gang();
        (void)state;
        kill_attempt(w, 1, GW_KILL_GANG);
        forget_sent(w);
        deliver(w, SUPERVISOR,
                (struct gw_message){.type = GW_MESSAGE_exited,
                                    .exited = {.process = 2, .signal = 9, .unasked = unasked}});
        runner_closes(w, 2);
        reap(w, 2);
        const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
        assert_int_equal(ended->rank, 1);
        assert_int_equal(ended->outcome, unasked ? GW_OUTCOME_CRASHED : GW_OUTCOME_KILLED);
        assert_int_equal(ended->signal, unasked ? 9 : 0);
        assert_int_equal(ended->executing, 1);
        dies(w, 1, 0, 15);
        free_world(w);
    }
}

static void gang_killed_while_forming_reports_all_ranks(void **state)
{
    struct world *w = new_world(2);
    function_spec(w, (struct gw_msg_spec){.ranks = 2});
    send_gang(w, 1, 2);
    must_assign(w, (struct task){.attempt = 1, .rank = 1});
    must_assign(w, (struct task){.attempt = 1, .rank = 2});
    hello(w, 1, GW_PROTOCOL);
    forget_sent(w);
    kill_attempt(w, 1, GW_KILL_CANCEL);
    assert_int_equal(must_send(w, GW_MESSAGE_ended)->ended.rank, 1); /* never had a runner */
    assert_null(sent(w, GW_MESSAGE_ended, 1));
    dies(w, 1, 0, 15);
    assert_int_equal(sent(w, GW_MESSAGE_ended, 1)->ended.rank, 0);
    leased(w, 1); /* too late */
    assert_int_equal(w->drops, 1);
    free_world(w);
}

static bool holds(struct gw_bin info, const char *key)
{
    return info.size && memmem(info.data, info.size, key, strlen(key));
}

/* Each worker makes a shared segment before its ranks are ready; the first worker also opens the
 * port of the ring, which rank 0 gets. Only ranks get the key of the scheduler. */
static void gang_on_several_workers_opens_a_segment_and_port_each(void **state)
{
    const uint8_t key[32] = {7};
    for (uint32_t first_rank = 0; first_rank < 2; first_rank++) {
        const bool leads = first_rank == 0;
        struct world *w = new_world(1);
        function_spec(w, (struct gw_msg_spec){.ranks = 2});
        deliver(w, SCHEDULER,
                (struct gw_message){.type = GW_MESSAGE_gang,
                                    .gang = {.attempt = 1,
                                             .world = 2,
                                             .first_rank = first_rank,
                                             .local = 1,
                                             .group_rank = first_rank,
                                             .groups = 2,
                                             .key = {key, sizeof key}}});
        assert_int_equal(w->leases, 1);
        must_assign(w, (struct task){.attempt = 1, .rank = first_rank + 1});
        hello(w, 1, GW_PROTOCOL);
        const struct gw_message ready = {.type = GW_MESSAGE_rank_ready,
                                         .rank_ready = {1, first_rank, {0}}};
        deliver(w, RUNNER + 1, ready);
        assert_null(sent(w, GW_MESSAGE_rank_ready, 0)); /* no segment yet */
        assert_int_equal(must_send(w, GW_MESSAGE_gang)->gang.key.size, 0);
        const uint64_t tokens[] = {60, 61};
        raise_event(w, (struct gw_event){.type = GW_EVENT_LEASED,
                                         .number = 1,
                                         .code = leads ? 4321 : 0,
                                         .text = "10.0.0.1",
                                         .rank = leads ? 777 : 0,
                                         .tokens = tokens,
                                         .token_count = leads ? 2 : 1});
        const struct gw_msg_rank_ready told = must_send(w, GW_MESSAGE_rank_ready)->rank_ready;
        assert_int_equal(holds(told.info, "ring_port"), leads);
        assert_false(holds(told.info, "ring_key")); /* the scheduler made the key and knows it */
        struct gw_message message = {.type = GW_MESSAGE_gang_start, .gang_start = {1, {0}}};
        message.gang_start.info = leads ? told.info : bin("\x81\xa9ring_port\x07", 12);
        deliver(w, SCHEDULER, message);
        const struct gw_bin info = must_send(w, GW_MESSAGE_gang_start)->gang_start.info;
        assert_true(holds(info, "ring_port"));
        assert_non_null(memmem(info.data, info.size, key, sizeof key));
        assert_int_equal(w->drops, leads); /* the port belongs to rank 0 now */
        assert_int_equal(w->unbinds, leads);
        free_world(w);
    }
}

/* The worker searches the checkpoint of rank 0 before the rank is ready. If it is missing, the
 * scheduler learns that first and then that the rank has ended. */
static void missing_checkpoint_is_reported_before_the_rank_ends(void **state)
{
    struct world *w = new_world(2);
    (void)state;
    function_spec(w, (struct gw_msg_spec){.ranks = 2});
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_neighbour,
                                .neighbour = {.worker = 7, .address = "elsewhere"}});
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_gang,
                                .gang = {.attempt = 1,
                                         .world = 2,
                                         .local = 2,
                                         .groups = 1,
                                         .checkpoint = 5,
                                         .transfer_worker = 7,
                                         .transfer_copy = 1,
                                         .transfer_job = 1}});
    must_assign(w, (struct task){.attempt = 1, .rank = 1});
    must_assign(w, (struct task){.attempt = 1, .rank = 2});
    leased(w, 1);
    hello(w, 1, GW_PROTOCOL);
    deliver(w, RUNNER + 1,
            (struct gw_message){.type = GW_MESSAGE_rank_ready, .rank_ready = {1, 0, {0}}});
    assert_null(sent(w, GW_MESSAGE_rank_ready, 0)); /* the checkpoint is not here yet */
    forget_sent(w);
    raise_event(w, (struct gw_event){.type = GW_EVENT_CHECKPOINT_TRANSFERRED,
                                     .number = 1,
                                     .code = GW_ENOENT,
                                     .text = "it is not there"});
    const struct gw_msg_transfer_absent absent =
        must_send(w, GW_MESSAGE_transfer_absent)->transfer_absent;
    assert_true(absent.attempt == 1 && absent.worker == 7 && absent.copy == 1);
    dies(w, 1, 0, 9);
    const struct gw_msg_ended *ended = &must_send(w, GW_MESSAGE_ended)->ended;
    assert_int_equal(ended->outcome, GW_OUTCOME_LOST_INPUT);
    assert_non_null(strstr(ended->text, "it is not there"));
    free_world(w);
}

/* The transfer that the last step requested; NULL: none. */
static const struct gw_msg_checkpoint_transfer *transfer_asked(const struct world *w)
{
    for (size_t i = 0; i < w->effects.list.count; i++)
        if (w->effects.list.items[i].type == GW_EFFECT_CHECKPOINT_TRANSFER)
            return &w->effects.list.items[i].message.checkpoint_transfer;
    return NULL;
}

/* A command rank on another host than rank 0: it becomes ready when its folder equals rank 0's,
 * which rank 0's worker has completed by transfer_go. code: GW_ELOST if that worker is gone, GW_EIO
 * if this disk is full. The next scheduler must not take it for a rank that ran. */
static void folder_of_another_rank(int code)
{
    static const uint8_t locals[] = {1, 0, 0, 0, 1, 0, 0, 0};
    struct world *w = new_world(2);
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND, .ranks = 2});
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_neighbour,
                                .neighbour = {.worker = 7, .address = "elsewhere"}});
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_gang,
                                .gang = {.attempt = 1,
                                         .world = 2,
                                         .first_rank = 1,
                                         .local = 1,
                                         .group_rank = 1,
                                         .groups = 2,
                                         .checkpoint = 5,
                                         .commands = 1,
                                         .locals = {locals, 2},
                                         .transfer_worker = 7,
                                         .transfer_after = 1,
                                         .transfer_job = 1}});
    must_assign(w, (struct task){.attempt = 1, .rank = 2});
    leased(w, 1);
    assert_null(sent(w, GW_MESSAGE_rank_ready, 0));
    assert_null(transfer_asked(w));
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_transfer_go, .transfer_go = {.attempt = 1}});
    assert_non_null(transfer_asked(w));
    assert_int_equal(transfer_asked(w)->how, GW_TRANSFER_MIRROR);
    assert_null(sent(w, GW_MESSAGE_rank_ready, 0));
    raise_event(w, (struct gw_event){.type = GW_EVENT_CHECKPOINT_TRANSFERRED,
                                     .number = 1,
                                     .code = code,
                                     .text = "it does not answer"});
    if (code)
        assert_int_equal(must_send(w, GW_MESSAGE_ended)->ended.outcome,
                         code == GW_ELOST ? GW_OUTCOME_LOST_INPUT : GW_OUTCOME_FAILED);
    else
        assert_int_equal(must_send(w, GW_MESSAGE_rank_ready)->rank_ready.rank, 1);
    raise_event(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = ""});
    w->lives++;
    forget_sent(w);
    open_scheduler(w);
    assert_int_equal(must_send(w, GW_MESSAGE_registration)->registration.attempt.count, code == 0);
    free_world(w);
}

static void all_ranks_get_the_checkpoint_folder_of_rank_0(void **state)
{
    (void)state;
    folder_of_another_rank(0);
    folder_of_another_rank(GW_ELOST);
    folder_of_another_rank(GW_EIO);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(function_gang_runs_twice_on_the_same_runners),
        cmocka_unit_test(rank_crash_is_reported_and_aborts_the_others),
        cmocka_unit_test(checkpoint_saved_in_the_grace_period_counts),
        cmocka_unit_test(hang_is_reported_to_each_new_scheduler),
        cmocka_unit_test(ranks_of_commands_without_activity_are_reported),
        cmocka_unit_test(hang_is_inspected_only_on_request),
        cmocka_unit_test(rank_that_is_not_ready_is_inspected),
        cmocka_unit_test(missing_program_of_a_command_gang_cannot_start),
        cmocka_unit_test(all_ranks_get_the_checkpoint_folder_of_rank_0),
        cmocka_unit_test(rank_killed_before_its_hello_counts_as_crashed),
        cmocka_unit_test(rank_crash_before_the_kill_is_reported_as_the_cause),
        cmocka_unit_test(gang_killed_while_forming_reports_all_ranks),
        cmocka_unit_test(gang_on_several_workers_opens_a_segment_and_port_each),
        cmocka_unit_test(missing_checkpoint_is_reported_before_the_rank_ends),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
