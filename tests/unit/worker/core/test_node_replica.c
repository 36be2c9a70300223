/* Replicas that the scheduler requests from a worker: fetched, stored, refused, cancelled. */
#include "tests/unit/worker/core/node_world.h"

enum { OTHER = 6 }; /* the worker that has the object */

static void ask(struct world *w, uint64_t request)
{
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_replica_request,
                                .replica_request = {.request = request,
                                                    .job = 8,
                                                    .index = 2,
                                                    .rank = 0,
                                                    .bytes = 100,
                                                    .worker = OTHER}});
}

static void release(struct world *w)
{
    const uint64_t job = 8;
    const uint32_t index = 2, rank = 0;
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_release,
                                .release = {{&job, 1}, {&index, 1}, {&rank, 1}}});
}

static void open_peer(struct world *w)
{
    raise_event(w,
                (struct gw_event){
                    .type = GW_EVENT_OPEN, .peer = {PEER}, .number = OTHER, .role = GW_ROLE_PEER});
}

/* A worker that knows the other one and, with `open`, is connected to it. */
static struct world *world_with_peer(bool open)
{
    struct world *w = new_world(2);
    function_spec(w, (struct gw_msg_spec){0});
    deliver(w, SCHEDULER,
            (struct gw_message){.type = GW_MESSAGE_neighbour, .neighbour = {OTHER, "/d/o"}});
    if (open) { /* it connects on its first request */
        ask(w, 1);
        open_peer(w);
    }
    return w;
}

static void answer(struct world *w, int code)
{
    const uint64_t token = 77;
    struct gw_message message = {.type = GW_MESSAGE_object};
    message.object =
        (struct gw_msg_object){.request = must_send(w, GW_MESSAGE_fetch)->fetch.request,
                               .code = code,
                               .text = code ? "no" : "",
                               .bytes = code ? 0 : 10000};
    assert_int_equal(deliver_with(w, PEER, message, &token, code == 0), 0);
}

static void must_say(const struct world *w, size_t nth, uint64_t request, int code)
{
    const struct gw_message *answered = sent(w, GW_MESSAGE_replica_reply, nth);
    assert_non_null(answered);
    assert_int_equal(answered->replica_reply.request, request);
    assert_int_equal(answered->replica_reply.code, code);
    assert_int_equal(answered->replica_reply.job, 8);
    assert_int_equal(answered->replica_reply.index, 2);
}

static void replica_is_fetched_once_and_stays_until_release(void **state)
{
    struct world *w = world_with_peer(true);
    (void)state;
    ask(w, 2);
    assert_null(sent(w, GW_MESSAGE_replica_reply, 0));
    assert_null(sent(w, GW_MESSAGE_fetch, 1)); /* one fetch for both */
    answer(w, 0);
    must_say(w, 0, 1, 0);
    must_say(w, 1, 2, 0);
    assert_true(gw_node_core_holds(w->core, 8, 2, 0));
    forget_sent(w);
    ask(w, 3); /* the object is here */
    must_say(w, 0, 3, 0);
    assert_null(sent(w, GW_MESSAGE_fetch, 0));
    release(w);
    assert_false(gw_node_core_holds(w->core, 8, 2, 0));
    assert_int_equal(w->drops, 1);
    free_world(w);
}

/* A task that takes the object meanwhile waits for the same fetch. The replica stays if the task
 * is killed; without a replica request it would not stay. */
static void task_shares_the_fetch_of_a_replica(void **state)
{
    for (int answered = 0; answered < 2; answered++) {
        struct world *w = world_with_peer(true);
        struct dep dep = {.job = 8, .index = 2, .rank = 0, .worker = OTHER};
        (void)state;
        if (!answered) /* the request was cancelled, and the task requested the object again */
            release(w);
        forget_sent(w);
        must_assign(w, (struct task){.attempt = 1, .dep = &dep});
        if (answered) {
            assert_null(sent(w, GW_MESSAGE_fetch, 0));
            ask(w, 2);
            release(w);
            must_say(w, 0, 1, GW_ECANCELLED); /* the task still waits */
            ask(w, 3);
        }
        kill_attempt(w, 1, GW_KILL_CANCEL);
        const struct gw_msg_object object = {
            .request = answered ? 1 : must_send(w, GW_MESSAGE_fetch)->fetch.request,
            .text = "",
            .bytes = 10000};
        const uint64_t token = 77;
        struct gw_message message = {.type = GW_MESSAGE_object, .object = object};
        assert_int_equal(deliver_with(w, PEER, message, &token, 1), 0);
        assert_int_equal(gw_node_core_holds(w->core, 8, 2, 0), answered);
        assert_int_equal(w->drops, !answered);
        free_world(w);
    }
}

static bool assigned_with(const struct world *w, uint64_t attempt, uint64_t token)
{
    for (size_t i = 0; i < w->effects.list.count; i++) {
        const struct gw_effect *effect = &w->effects.list.items[i];
        if (effect->message.type == GW_MESSAGE_assign && effect->token_count == 1 &&
            effect->tokens[0] == token)
            return gw_col64_at(effect->message.assign.attempt, 0) == attempt;
    }
    return false;
}

/* The task ran again here while its result was fetched. The replica does not replace the new
 * result, which is reported with its attempt to a new scheduler. */
static void recomputed_result_is_not_replaced_by_a_replica(void **state)
{
    struct world *w = world_with_runner((struct gw_msg_spec){0}); /* which executes attempt 1 */
    const struct dep dep = {.job = 1, .index = 2, .rank = 0};     /* at the scheduler */
    (void)state;
    must_assign(w, (struct task){.attempt = 2, .index = 3, .dep = &dep});
    const struct gw_msg_object object = {
        .request = must_send(w, GW_MESSAGE_fetch)->fetch.request, .text = "", .bytes = 5000};
    must_assign(w, (struct task){.attempt = 3, .index = 2});
    assert_int_equal(finish(w, 1, 1, GW_RANK_NONE, 0, 1000), 0);
    assert_int_equal(finish(w, 1, 3, GW_RANK_NONE, 5000, 1000), 0); /* its token is 50 */
    const uint64_t token = 77;
    const struct gw_message message = {.type = GW_MESSAGE_object, .object = object};
    assert_int_equal(deliver_with(w, SCHEDULER, message, &token, 1), 0);
    assert_true(assigned_with(w, 2, 50));
    assert_int_equal(w->drops, 1);
    assert_int_equal(finish(w, 1, 2, GW_RANK_NONE, 0, 1000), 0);
    raise_event(w,
                (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = "closed"});
    forget_sent(w);
    w->sequence += 1000;
    open_scheduler(w);
    const struct gw_msg_registration *now = &must_send(w, GW_MESSAGE_registration)->registration;
    assert_int_equal(now->object_attempt.count, 1);
    assert_int_equal(gw_col64_at(now->object_attempt, 0), 3);
    free_world(w);
}

static void release_cancels_a_replica_fetch(void **state)
{
    struct world *w = world_with_peer(true);
    (void)state;
    release(w);
    must_say(w, 0, 1, GW_ECANCELLED);
    answer(w, 0); /* too late */
    assert_false(gw_node_core_holds(w->core, 8, 2, 0));
    assert_int_equal(w->drops, 1);
    assert_null(sent(w, GW_MESSAGE_replica_reply, 1));
    free_world(w);
}

/* Only a peer that reports that it has no such object has lost the object. */
static void failed_replica_fetch_is_reported_as_lost(void **state)
{
    (void)state;
    struct world *w = world_with_peer(true);
    answer(w, GW_ENOENT);
    assert_int_equal(must_send(w, GW_MESSAGE_object_lost)->object_lost.worker, OTHER);
    must_say(w, 0, 1, GW_ELOST);
    free_world(w);

    w = world_with_peer(false);
    ask(w, 1);
    raise_event(w, (struct gw_event){.type = GW_EVENT_CLOSE, .number = OTHER, .text = "no"});
    must_say(w, 0, 1, GW_ELOST);
    assert_null(sent(w, GW_MESSAGE_object_lost, 0));
    free_world(w);
}

/* A scheduler that is gone needs no replica any more. */
static void replica_fetch_ends_with_the_scheduler_connection(void **state)
{
    struct world *w = world_with_peer(true);
    (void)state;
    raise_event(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {SCHEDULER}, .text = "gone"});
    answer(w, 0);
    assert_false(gw_node_core_holds(w->core, 8, 2, 0));
    assert_null(sent(w, GW_MESSAGE_replica_reply, 0));
    free_world(w);
}

static void worker_short_of_memory_refuses_a_replica(void **state)
{
    struct world *w = new_world_limited(
        2, &(struct gw_node_options){.memory_bytes = 1000000, .pause_permille = 800});
    (void)state;
    raise_event(w, (struct gw_event){.type = GW_EVENT_USAGE, .number = 900000});
    ask(w, 1);
    must_say(w, 0, 1, GW_ELIMIT);
    raise_event(w, (struct gw_event){.type = GW_EVENT_USAGE, .number = 100000});
    ask(w, 2); /* now the worker accepts */
    must_say(w, 1, 2, GW_ELOST);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(replica_is_fetched_once_and_stays_until_release),
        cmocka_unit_test(task_shares_the_fetch_of_a_replica),
        cmocka_unit_test(recomputed_result_is_not_replaced_by_a_replica),
        cmocka_unit_test(release_cancels_a_replica_fetch),
        cmocka_unit_test(failed_replica_fetch_is_reported_as_lost),
        cmocka_unit_test(replica_fetch_ends_with_the_scheduler_connection),
        cmocka_unit_test(worker_short_of_memory_refuses_a_replica),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
