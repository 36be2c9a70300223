/* Results that workers made for an earlier scheduler: which claims are accepted, which requests
 * wait for them, and when they count as lost. */
#include "tests/unit/scheduler/sched_life.h"

#include <stdlib.h>

#define SECOND (1000 * MS)
#define LARGE 5000 /* size of a result that stays at its worker */

/* A result at a worker. */
struct thing {
    uint64_t job, bytes, attempt;
    uint32_t index, rank;
};

enum { THINGS_MAX = 8 };

static const char *results_are_of = ""; /* the cluster of the results */

/* Worker `number` connects with its results; its incarnation is 7 + number. */
static void come(struct world *w, int number, const struct thing *things, uint32_t count)
{
    uint64_t job[THINGS_MAX], bytes[THINGS_MAX], attempt[THINGS_MAX], peer = WORKER + number;
    uint32_t index[THINGS_MAX], rank[THINGS_MAX];
    char name[8];
    (void)snprintf(name, sizeof name, "w%d", number);
    for (uint32_t i = 0; i < count; i++) {
        job[i] = things[i].job;
        bytes[i] = things[i].bytes;
        attempt[i] = things[i].attempt;
        index[i] = things[i].index;
        rank[i] = things[i].rank;
    }
    (void)step(w, (struct gw_event){
                      .type = GW_EVENT_OPEN, .peer = {peer}, .role = GW_ROLE_WORKER, .text = name});
    struct gw_message message = {.type = GW_MESSAGE_registration};
    message.registration = (struct gw_msg_registration){.incarnation = 7 + (uint64_t)number,
                                                        .slots = 2,
                                                        .memory_bytes = 1000,
                                                        .host = "h",
                                                        .address = "h",
                                                        .object_job = {job, count},
                                                        .object_index = {index, count},
                                                        .object_rank = {rank, count},
                                                        .object_bytes = {bytes, count},
                                                        .object_attempt = {attempt, count},
                                                        .cluster = results_are_of};
    say(w, peer, message);
}

static bool released(const struct world *w, int number, const struct thing *thing)
{
    const struct gw_message *message;
    for (int n = 0; (message = sent(w, WORKER + number, GW_MESSAGE_release, n)); n++)
        for (uint32_t i = 0; i < message->release.job.count; i++)
            if (gw_col64_at(message->release.job, i) == thing->job &&
                gw_col32_at(message->release.index, i) == thing->index &&
                gw_col32_at(message->release.rank, i) == thing->rank)
                return true;
    return false;
}

/* A scheduler run in which a detached task ends with a large result at worker 0, while another
 * worker is connected; returns the result. */
static struct thing one_ended(void)
{
    life_facts.size = 0;
    struct world *w = life_begin();
    come(w, 0, NULL, 0);
    life_commit(w);
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit(w, (struct chunk){1, 1, GW_SUBMIT_LAST | GW_SUBMIT_DETACHED, false, 0});
    struct thing thing = {.bytes = LARGE};
    thing.attempt = attempt_in(must(w, WORKER, GW_MESSAGE_assign), 0);
    life_commit(w);
    thing.job = must(w, CLIENT, GW_MESSAGE_accepted)->accepted.job;
    finish(w, 0, thing.attempt, GW_RANK_NONE, LARGE);
    life_commit(w);
    come(w, 1, NULL, 0);
    life_commit(w);
    free_world(w);
    return thing;
}

static void fetch(struct world *w, const struct thing *thing)
{
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_fetch,
                            .fetch = {9, thing->job, thing->index, thing->rank}});
}

static void returning_worker_restores_its_results(void **state)
{
    (void)state;
    const struct thing thing = one_ended();
    struct world *w = life_begin();
    come(w, 1, NULL, 0);
    life_commit(w);
    fetch(w, &thing); /* the request waits, and nothing is recomputed */
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    assert_null(sent(w, CLIENT, GW_MESSAGE_object, 0));
    explained_of(w, (int64_t)thing.job, 0, "may still have its result");
    come(w, 0, &thing, 1);
    assert_false(released(w, 0, &thing));
    assert_int_equal(must(w, WORKER, GW_MESSAGE_fetch)->fetch.job, thing.job);
    life_commit(w);
    assert_null(sent(w, WORKER, GW_MESSAGE_assign, 0));
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    assert_null(strstr(explain(w, (int64_t)thing.job, 0), "may still"));
    free_world(w);
}

/* Another cluster's jobs have the same ids, and its attempts may have the same ids. */
static void results_of_another_cluster_are_released(void **state)
{
    (void)state;
    const struct thing thing = one_ended();
    struct world *w = life_begin();
    results_are_of = "another";
    come(w, 0, &thing, 1);
    results_are_of = "";
    assert_true(released(w, 0, &thing));
    free_world(w);
}

/* Only a result of exactly the recorded attempt is accepted; the worker has to release the
 * others. */
static void results_that_differ_from_the_facts_are_released(void **state)
{
    (void)state;
    const struct thing right = one_ended();
    struct thing things[] = {right, right, right, right, right};
    things[0].attempt++;
    things[1].bytes++;
    things[2].index = 1;
    things[3].job = 999;
    things[4].attempt = 0;
    for (uint32_t i = 0; i < 5; i++) {
        struct world *w = life_begin();
        come(w, 1, NULL, 0);
        come(w, 0, &things[i], 1);
        assert_true(released(w, 0, &things[i]));
        assert_true(sent(w, WORKER, GW_MESSAGE_assign,
                         0) || /* all workers are back: the result is recomputed */
                    sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
        free_world(w);
        (void)one_ended(); /* the same facts again */
    }
}

static void results_of_a_worker_that_returns_too_late_are_released(void **state)
{
    (void)state;
    const struct thing thing = one_ended();
    struct world *w = life_begin();
    come(w, 1, NULL, 0);
    life_commit(w);
    pass(w, GW_LOST_NS - SECOND);
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    say(w, WORKER + 1, (struct gw_message){.type = GW_MESSAGE_heartbeat, .heartbeat = {1, 0, 0}});
    pass(w, SECOND);
    assert_int_equal(gw_col64_at(must(w, WORKER + 1, GW_MESSAGE_assign)->assign.job, 0), thing.job);
    life_commit(w);
    come(w, 0, &thing, 1);
    assert_true(released(w, 0, &thing));
    free_world(w);
}

/* A job that was submitted after the restart takes the result: it is placed when the worker is
 * back, and fetches from there. */
static void later_job_waits_for_the_worker_with_its_input(void **state)
{
    (void)state;
    for (int back = 0; back < 2; back++) {
        const struct thing thing = one_ended();
        struct world *w = life_begin();
        come(w, 1, NULL, 0);
        life_commit(w);
        send_spec(w, (struct gw_msg_spec){.key = 1});
        const uint32_t zero = 0, one = 1, index = thing.index;
        say(w, CLIENT,
            (struct gw_message){.type = GW_MESSAGE_submit,
                                .submit = {.request = 1,
                                           .flags = GW_SUBMIT_LAST,
                                           .name = "later",
                                           .spec = {&zero, 1},
                                           .args_size = {&zero, 1},
                                           .args = {"", 0},
                                           .dep_count = {&one, 1},
                                           .dep_job = {&thing.job, 1},
                                           .dep_index = {&index, 1},
                                           .dep_rank = {&zero, 1},
                                           .targets = {&zero, 1},
                                           .names = {"", 0}}});
        const uint64_t later = must(w, CLIENT, GW_MESSAGE_accepted)->accepted.job;
        assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
        explained_of(w, (int64_t)later, 0, "may still have what it takes");
        if (back)
            come(w, 0, &thing, 1);
        else
            (void)step(w, (struct gw_event){.type = GW_EVENT_GONE, .text = "w0"});
        const struct gw_message *assign = sent(w, WORKER, GW_MESSAGE_assign, 0);
        if (!assign)
            assign = must(w, WORKER + 1, GW_MESSAGE_assign);
        assert_int_equal(gw_col64_at(assign->assign.job, 0), back ? later : thing.job);
        free_world(w);
    }
}

/* This worker has a replica; the worker that produced the result is gone. */
static void replica_replaces_the_result_of_an_absent_worker(void **state)
{
    (void)state;
    const struct thing thing = one_ended();
    struct world *w = life_begin();
    come(w, 1, &thing, 1);
    assert_false(released(w, 1, &thing));
    (void)step(w, (struct gw_event){.type = GW_EVENT_GONE, .text = "w0"});
    assert_null(sent(w, WORKER + 1, GW_MESSAGE_assign, 0));
    fetch(w, &thing);
    must(w, WORKER + 1, GW_MESSAGE_fetch);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(returning_worker_restores_its_results),
        cmocka_unit_test(results_of_another_cluster_are_released),
        cmocka_unit_test(results_that_differ_from_the_facts_are_released),
        cmocka_unit_test(results_of_a_worker_that_returns_too_late_are_released),
        cmocka_unit_test(later_job_waits_for_the_worker_with_its_input),
        cmocka_unit_test(replica_replaces_the_result_of_an_absent_worker),
    };
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    gw_buffer_deinit(&life_facts);
    return failed;
}
