/* The worker's core and its scheduler: connections that break and come back, and the end. */
#include "tests/unit/worker/core/node_world.h"

#include "graph/wire/hash.h"

static void stale_messages_are_dropped(void **state)
{
    struct world *w = new_world(2);
    send_spec(w, (struct gw_msg_spec){.kind = GW_SPEC_COMMAND});
    forget_sent(w);
    uint64_t token = 9;
    struct gw_message go_message = {.type = GW_MESSAGE_shutdown};
    for (int way = 0; way < 3; way++) {
        go_message.term = way == 0 ? 6 : 7;
        go_message.peer = way == 1 ? 8 : 9;
        go_message.sequence = way == 2 ? w->sequence : ++w->sequence;
        raise_event(w, (struct gw_event){.type = GW_EVENT_MESSAGE,
                                         .peer = {SCHEDULER},
                                         .message = &go_message,
                                         .tokens = &token,
                                         .token_count = 1});
    }
    assert_int_equal(w->exits, 0);
    assert_int_equal(w->drops, 3);
    free_world(w);
}

static void invalid_message_changes_no_state(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    forget_sent(w);
    assert_int_equal(finish(w, 1, 99, GW_RANK_NONE, 5000, 1), GW_EPROTO);
    assert_int_equal(w->drops, 1);
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, NO_DESCRIPTOR, 1), GW_EPROTO);
    assert_int_equal(assign(w, (struct task){.attempt = 2, .spec = 44}), GW_EPROTO);
    assert_int_equal(assign(w, (struct task){.attempt = 2, .rank = 1}), GW_EPROTO);
    assert_int_equal(w->sent.count, 0);
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1), 0);
    free_world(w);
}

static void registration_lists_the_running_attempts(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    must_assign(w, (struct task){.attempt = 2});
    raise_event(w,
                (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = "closed"});
    forget_sent(w);
    finish(w, 1, 1, GW_RANK_NONE, 0, 1000);
    w->sequence += 1000;
    open_scheduler(w);
    const struct gw_msg_registration *now = &must_send(w, GW_MESSAGE_registration)->registration;
    assert_int_equal(now->attempt.count, 1);
    assert_int_equal(gw_col64_at(now->attempt, 0), 2);
    assert_null(sent(w, GW_MESSAGE_finished, 0));
    free_world(w);
}

static void worker_without_heartbeats_kills_all_tasks(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    tick(w, 2 * SECOND);
    const struct gw_message *beat = sent(w, GW_MESSAGE_heartbeat, 1);
    assert_non_null(beat);
    w->now_ns +=
        3 * SECOND; /* the timeout counts from the sending of the heartbeat, not from the answer */
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_heartbeat,
                                .heartbeat = {1, beat->heartbeat.number, 0}});
    forget_sent(w);
    tick(w, GW_FENCE_NS - 3 * SECOND - 1);
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    tick(w, 1);
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.grace_ns, 0);
    dies(w, 1, 0, 9);
    assert_null(sent(w, GW_MESSAGE_ended, 0));
    raise_event(w,
                (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = "closed"});
    w->sequence += 1000;
    forget_sent(w);
    open_scheduler(w);
    assert_int_equal(must_send(w, GW_MESSAGE_registration)->registration.attempt.count, 0);
    free_world(w);
}

static void refuse(struct world *w)
{
    raise_event(w, (struct gw_event){.type = GW_EVENT_REFUSED, .number = w->now_ns});
}

/* A refused connection is not the silence of a scheduler. */
static void refused_connections_let_tasks_run_for_ten_minutes(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    raise_event(w,
                (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = "closed"});
    forget_sent(w);
    refuse(w);
    for (int i = 0; i < 66; i++) {
        tick(w, 9 * SECOND);
        assert_null(sent(w, GW_MESSAGE_reap, 0));
        refuse(w);
    }
    tick(w, 6 * SECOND); /* ten minutes */
    assert_int_equal(must_send(w, GW_MESSAGE_reap)->reap.grace_ns, 0);
    free_world(w);
}

static void silence_after_a_refused_connection_kills_all_tasks(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    raise_event(w,
                (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = "closed"});
    forget_sent(w);
    tick(w, 5 * SECOND);
    refuse(w);
    tick(w, GW_FENCE_NS - 1);
    assert_null(sent(w, GW_MESSAGE_reap, 0));
    tick(w, 1);
    must_send(w, GW_MESSAGE_reap);
    free_world(w);
}

static void shutdown_ends_all_processes_before_the_exit(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    raise_event(w, (struct gw_event){.type = GW_EVENT_SHUTDOWN});
    must_send(w, GW_MESSAGE_reap);
    assert_int_equal(w->exits, 0);
    dies(w, 1, 0, 15);
    assert_int_equal(w->exits, 1);
    free_world(w);
}

static void told_to_end(struct world *w, uint64_t grace_ns_max, uint64_t wanted_ns)
{
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_shutdown,
                                .shutdown = {.text = "", .grace_ns_max = grace_ns_max}});
    assert_true(must_send(w, GW_MESSAGE_reap)->reap.grace_ns == wanted_ns);
    assert_int_equal(w->exits, 0);
    forget_sent(w);
}

/* Each task has its own grace period, but at most the given maximum; a second request can
 * shorten it. */
static void shutdown_grants_each_task_its_grace_period(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){.grace_ns = 20 * SECOND});
    forget_sent(w);
    told_to_end(w, 300 * SECOND, 20 * SECOND);
    told_to_end(w, 0, SECOND / 2);
    dies(w, 1, 0, 15);
    assert_int_equal(w->exits, 1);
    free_world(w);
    w = world_with_runner((struct gw_msg_spec){.grace_ns = 400 * SECOND});
    forget_sent(w);
    told_to_end(w, 300 * SECOND, 300 * SECOND);
    free_world(w);
}

static void leave(struct world *w, const char *why, uint64_t wanted_ns)
{
    forget_sent(w);
    raise_event(w, (struct gw_event){.type = GW_EVENT_LEAVE, .text = why});
    assert_true(must_send(w, GW_MESSAGE_reap)->reap.grace_ns == wanted_ns);
    assert_int_equal(w->exits, 0);
}

/* A worker that is told to end grants each task its grace period, up to a bound, and then waits
 * as long for transfers of its checkpoints; a second request ends both. */
static void worker_told_to_end_grants_grace_periods(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){.grace_ns = 20 * SECOND});
    leave(w, "ended", 20 * SECOND);
    assert_int_equal(must_send(w, GW_MESSAGE_leaving)->leaving.empty, 0);
    tick(w, 15 * SECOND);
    forget_sent(w);
    dies(w, 1, 0, 15);
    assert_int_equal(must_send(w, GW_MESSAGE_leaving)->leaving.empty, 1);
    assert_true(gw_node_core_deadline_ns(w->core) <= w->now_ns + GW_LEAVE_NS);
    tick(w, GW_LEAVE_NS - 1);
    assert_int_equal(w->exits, 0);
    tick(w, 1);
    assert_int_equal(w->exits, 1);
    free_world(w);
    w = world_with_runner((struct gw_msg_spec){.grace_ns = 400 * SECOND});
    leave(w, "ended", GW_LEAVE_NS);
    leave(w, "ended", SECOND / 2);
    dies(w, 1, 0, 9);
    assert_int_equal(w->exits, 1);
    free_world(w);
    w = world_with_runner((struct gw_msg_spec){.grace_ns = 20 * SECOND});
    leave(w, NULL, SECOND / 2); /* its tasks are not needed any more */
    free_world(w);
}

static void work_folder_is_removed_after_its_process_ends(void **state)
{
    static const uint8_t hash[GW_HASH_BYTES] = {1};
    struct world *w = new_world(2);
    function_spec(w, (struct gw_msg_spec){.files = bin(hash, sizeof hash)});
    must_assign(w, (struct task){.attempt = 1});
    assert_int_equal(w->processes, 0); /* the task waits for its files */
    raise_event(
        w, (struct gw_event){.type = GW_EVENT_FOLDER, .number = w->folder, .text = "/d/work/1"});
    spawned(w, 1, 0, "");
    hello(w, 1, GW_PROTOCOL);
    raise_event(w, (struct gw_event){.type = GW_EVENT_SHUTDOWN});
    must_send(w, GW_MESSAGE_reap);
    assert_int_equal(w->folders_gone, 0); /* the process still runs in it */
    dies(w, 1, 0, 15);
    assert_int_equal(w->folders_gone, 1);
    free_world(w);
}

/* A full disk may not be full elsewhere; files that exist nowhere any more are missing
 * everywhere. */
static void missing_task_files_are_reported_by_cause(void **state)
{
    static const uint8_t hash[GW_HASH_BYTES] = {1};
    const int codes[] = {GW_EIO, GW_ENOENT};
    const uint32_t outcomes[] = {GW_OUTCOME_FILES, GW_OUTCOME_CANNOT_START};
    (void)state;
    for (uint32_t i = 0; i < 2; i++) {
        struct world *w = new_world(2);
        function_spec(w, (struct gw_msg_spec){.files = bin(hash, sizeof hash)});
        must_assign(w, (struct task){.attempt = 1});
        raise_event(
            w, (struct gw_event){
                   .type = GW_EVENT_FOLDER, .number = w->folder, .code = codes[i], .text = "no"});
        assert_int_equal(must_send(w, GW_MESSAGE_ended)->ended.outcome, outcomes[i]);
        free_world(w);
    }
}

static void lost_supervisor_ends_the_worker(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0});
    raise_event(w,
                (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SUPERVISOR}, .text = "closed"});
    must_send(w, GW_MESSAGE_refuse);
    assert_int_equal(w->exits, 1);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stale_messages_are_dropped),
        cmocka_unit_test(invalid_message_changes_no_state),
        cmocka_unit_test(registration_lists_the_running_attempts),
        cmocka_unit_test(worker_without_heartbeats_kills_all_tasks),
        cmocka_unit_test(refused_connections_let_tasks_run_for_ten_minutes),
        cmocka_unit_test(silence_after_a_refused_connection_kills_all_tasks),
        cmocka_unit_test(work_folder_is_removed_after_its_process_ends),
        cmocka_unit_test(missing_task_files_are_reported_by_cause),
        cmocka_unit_test(shutdown_ends_all_processes_before_the_exit),
        cmocka_unit_test(shutdown_grants_each_task_its_grace_period),
        cmocka_unit_test(worker_told_to_end_grants_grace_periods),
        cmocka_unit_test(lost_supervisor_ends_the_worker),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
