/* A client whose scheduler ends and comes back: unfinished tasks are submitted again with their
 * inputs, and no call hangs if no scheduler comes back. */
#include "tests/unit/client/fake_client.h"

#include <gangway/gangway.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

FAKED(echo);
FAKED(never);
FAKED(large);
FAKED(gone);
FAKED(leaves);
FAKED(breaks);

static void open_for(struct fixture *f, uint64_t reconnect_ns)
{
    struct gw_client_options options =
        GW_INIT(gw_client_options, .address = gw_fake_scheduler_address(f->fake),
                .reconnect_ns = reconnect_ns);
    assert_int_equal(gw_client_open(&options, &f->client, &f->error), 0);
}

/* The value is a list that begins with this number. */
static void assert_gives(struct fixture *f, struct gw_future *future, int64_t wanted)
{
    struct gw_value *list;
    int64_t n;
    int rc = gw_future_get(future, 0, &list, &f->error);
    if (rc < 0)
        fail_msg("%s", f->error.text);
    assert_int_equal(gw_value_type(list), GW_LIST);
    assert_int_equal(gw_value_get_i64(gw_value_at(list, 0), &n, NULL), 0);
    assert_int_equal(n, wanted);
    gw_value_unref(list);
}

static struct gw_future *submit_one(struct fixture *f, const struct gw_function *function,
                                    int64_t n)
{
    struct gw_future *future;
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_graph_call(graph, function, NULL, (struct gw_value *[]){gw_i64(n)}, 1);
    int rc = gw_client_submit(f->client, graph, node, &future, &f->error);
    gw_graph_free(graph);
    if (rc < 0)
        fail_msg("%s", f->error.text);
    return future;
}

/* A task that takes n and the result of another task. */
static struct gw_future *submit_behind(struct fixture *f, const struct gw_function *function,
                                       int64_t n, const struct gw_future *before)
{
    struct gw_future *future;
    struct gw_graph *graph = gw_graph_new();
    struct gw_value *values[] = {gw_i64(n), gw_result_future(graph, before)};
    gw_node node = gw_graph_call(graph, function, NULL, values, 2);
    int rc = gw_client_submit(f->client, graph, node, &future, &f->error);
    gw_graph_free(graph);
    if (rc < 0)
        fail_msg("%s", f->error.text);
    return future;
}

static void reconnect_resubmits_only_unfinished_tasks(void **state)
{
    struct fixture *f = *state;
    open_for(f, 0);
    struct gw_future *done = submit_one(f, GW_FUNCTION(echo), 1);
    assert_gives(f, done, 1);
    struct gw_future *pending = submit_one(f, GW_FUNCTION(leaves), 2);
    assert_gives(f, pending, 2);
    assert_gives(f, done, 1);
    assert_int_equal(count_of(f, "submits"), 3); /* results already received were not recomputed */
    assert_int_equal(gw_future_job(pending), 3); /* it was job 2 */
    assert_int_equal(count_of(f, "programs"), 2);
    gw_future_release(done);
    gw_future_release(pending);
}

static void reconnect_resubmits_after_a_break_in_midmessage(void **state)
{
    struct fixture *f = *state;
    open_for(f, 0);
    struct gw_future *future = submit_one(f, GW_FUNCTION(breaks), 3);
    assert_gives(f, future, 3);
    gw_future_release(future);
}

static void reconnect_resubmits_inputs_of_pending_tasks(void **state)
{
    struct fixture *f = *state;
    open_for(f, 0);
    struct gw_future *first = submit_one(f, GW_FUNCTION(echo), 4);
    assert_gives(f, first, 4);
    struct gw_future *second = submit_behind(f, GW_FUNCTION(leaves), 5, first);
    gw_future_release(first); /* the second task still needs the result */
    assert_gives(f, second, 5);
    assert_int_equal(count_of(f, "submits"), 4);
    gw_future_release(second);
}

static void finished_task_reruns_if_a_later_graph_needs_its_result(void **state)
{
    struct fixture *f = *state;
    open_for(f, 0);
    struct gw_future *done = submit_one(f, GW_FUNCTION(echo), 6);
    assert_gives(f, done, 6);
    struct gw_future *leaver = submit_one(f, GW_FUNCTION(leaves), 7);
    assert_gives(f, leaver, 7);
    assert_int_equal(count_of(f, "submits"), 3);
    struct gw_future *later = submit_behind(f, GW_FUNCTION(echo), 8, done);
    assert_gives(f, later, 8);
    assert_int_equal(count_of(f, "submits"), 5); /* `done` ran again when its result was needed */
    gw_future_release(done);
    gw_future_release(leaver);
    gw_future_release(later);
}

static void reconnect_recomputes_large_results_on_demand(void **state)
{
    struct fixture *f = *state;
    struct gw_value *value;
    open_for(f, 0);
    struct gw_future *future = submit_one(f, GW_FUNCTION(large), 0);
    assert_int_equal(gw_future_wait(future, UINT64_MAX), 0);
    gw_fake_scheduler_leave(f->fake);
    gw_fake_scheduler_return(f->fake);
    assert_int_equal(gw_future_get(future, 0, &value, &f->error), 0);
    gw_value_unref(value);
    assert_int_equal(count_of(f, "submits"), 2);
    gw_future_release(future);
}

static void getter_times_out_while_the_client_reconnects_for_ever(void **state)
{
    struct fixture *f = *state;
    struct gw_value *value;
    open_for(f, GW_FOREVER);
    struct gw_future *future = submit_one(f, GW_FUNCTION(large), 0);
    assert_int_equal(gw_future_wait(future, GW_FOREVER), 0);
    gw_fake_scheduler_leave(f->fake);
    assert_int_equal(gw_future_get_within(future, 0, 200000000, &value, &f->error), GW_ETIMEDOUT);
    assert_int_equal(gw_future_state(future), GW_DONE);
    gw_fake_scheduler_return(f->fake);
    assert_int_equal(gw_future_get_within(future, 0, GW_FOREVER, &value, &f->error), 0);
    gw_value_unref(value);
    gw_future_release(future);
}

static void reconnect_scatters_needed_values_again(void **state)
{
    struct fixture *f = *state;
    static uint8_t bytes[64 << 10];
    struct gw_future *small, *big;
    open_for(f, 0);
    struct gw_value *number = gw_i64(9), *block = gw_bytes(bytes, sizeof bytes);
    assert_int_equal(gw_scatter(f->client, number, &small, &f->error), 0);
    assert_int_equal(gw_scatter(f->client, block, &big, &f->error), 0);
    gw_value_unref(number);
    gw_value_unref(block);
    struct gw_future *first = submit_behind(f, GW_FUNCTION(leaves), 10, small);
    struct gw_future *second = submit_behind(f, GW_FUNCTION(echo), 11, big);
    assert_gives(f, first, 10);
    assert_gives(f, second, 11);
    assert_int_equal(count_of(f, "scatters"), 4);
    gw_future_release(small);
    gw_future_release(big);
    gw_future_release(first);
    gw_future_release(second);
}

static void reconnect_resubmits_an_unanswered_call(void **state)
{
    struct fixture *f = *state;
    open_for(f, 0);
    struct gw_future *done = submit_one(f, GW_FUNCTION(echo), 21);
    assert_gives(f, done, 21);
    struct gw_future *pending = submit_one(f, GW_FUNCTION(never), 22);
    gw_fake_scheduler_leave(f->fake);
    gw_fake_scheduler_return(f->fake);
    assert_int_equal(count_of(f, "submits"), 3);
    assert_int_equal(gw_future_job(pending), 3);
    gw_future_release(done);
    gw_future_release(pending);
}

/* There are more values than one batch holds, and some of them are large. */
static void scatter_many_accepts_700_values_and_cleans_up_on_error(void **state)
{
    enum { COUNT = 700 };
    struct fixture *f = *state;
    static uint8_t data[300 << 10];
    struct gw_value *values[COUNT], *got;
    struct gw_future *futures[COUNT];
    open_for(f, 0);
    for (int i = 0; i < COUNT; i++)
        values[i] = i % 100 == 50 ? gw_bytes(data, sizeof data) : gw_i64(i);
    const struct gw_value *const *borrowed = (const struct gw_value *const *)values;
    assert_int_equal(gw_scatter_many(f->client, borrowed, COUNT, futures, &f->error), 0);
    assert_int_equal(count_of(f, "scatters"), COUNT);
    for (int i = 0; i < COUNT; i++) {
        if (i % 100 != 50) {
            assert_int_equal(gw_future_get(futures[i], 0, &got, &f->error), 0);
            assert_true(gw_value_equal(got, values[i]));
            gw_value_unref(got);
        }
        gw_future_release(futures[i]);
    }
    while (count_of(f, "releases") < COUNT)
        continue;
    assert_int_equal(gw_scatter_many(f->client, borrowed, 0, futures, &f->error), 0);

    gw_value_unref(values[600]);
    values[600] = NULL; /* no future before it is left, whether or not it had been awaited */
    assert_int_equal(gw_scatter_many(f->client, borrowed, COUNT, futures, &f->error), GW_ENOMEM);
    while (count_of(f, "releases") < COUNT + 600)
        continue;
    assert_int_equal(count_of(f, "scatters"), COUNT + 600);
    for (int i = 0; i < COUNT; i++)
        gw_value_unref(values[i]);
}

/* The connection ends during the scatter; all values arrive in the end. */
static void interrupted_scatter_of_1000_values_completes(void **state)
{
    enum { COUNT = 1000 };
    struct fixture *f = *state;
    struct gw_value *values[COUNT];
    struct gw_future *futures[COUNT];
    open_for(f, 0);
    for (int i = 0; i < COUNT; i++)
        values[i] = gw_i64(i);
    struct gw_future *leaves = submit_one(f, GW_FUNCTION(leaves), 10);
    assert_int_equal(gw_scatter_many(f->client, (const struct gw_value *const *)values, COUNT,
                                     futures, &f->error),
                     0);
    assert_gives(f, leaves, 10);
    struct gw_future *first = submit_behind(f, GW_FUNCTION(echo), 11, futures[0]);
    struct gw_future *last = submit_behind(f, GW_FUNCTION(echo), 12, futures[COUNT - 1]);
    assert_gives(f, first, 11);
    assert_gives(f, last, 12);
    assert_true(count_of(f, "scatters") >= COUNT);
    for (int i = 0; i < COUNT; i++) {
        gw_value_unref(values[i]);
        gw_future_release(futures[i]);
    }
    gw_future_release(first);
    gw_future_release(last);
    gw_future_release(leaves);
}

static void reconnect_sends_releases_of_dropped_futures(void **state)
{
    struct fixture *f = *state;
    open_for(f, 0);
    struct gw_future *first = submit_one(f, GW_FUNCTION(echo), 12);
    assert_gives(f, first, 12);
    struct gw_future *second = submit_behind(f, GW_FUNCTION(never), 13, first);
    gw_fake_scheduler_leave(f->fake);
    gw_future_release(first);
    gw_fake_scheduler_return(f->fake);
    assert_int_equal(count_of(f, "submits"), 4);
    while (count_of(f, "releases") < 1) /* some milliseconds later */
        continue;
    gw_future_release(second);
}

static void reconnect_gives_up_after_its_time_limit(void **state)
{
    struct fixture *f = *state;
    struct gw_value *value;
    open_for(f, 50000000);
    struct gw_future *pending = submit_one(f, GW_FUNCTION(never), 14);
    gw_fake_scheduler_leave(f->fake);
    assert_int_equal(gw_future_get(pending, 0, &value, &f->error), GW_ECLOSED);
    assert_string_equal(
        f->error.text,
        "the connection to the scheduler was lost, and no scheduler was back within 50ms");
    assert_int_equal(gw_client_query(f->client, "echo", NULL, &value, &f->error), GW_ECLOSED);
    gw_future_release(pending);
}

static void reconnect_fails_if_the_scheduler_version_differs(void **state)
{
    struct fixture *f = *state;
    struct gw_value *value;
    open_for(f, 0);
    struct gw_future *pending = submit_one(f, GW_FUNCTION(never), 15);
    gw_fake_scheduler_refuse(f->fake);
    gw_fake_scheduler_leave(f->fake);
    gw_fake_scheduler_return(f->fake);
    assert_int_equal(gw_future_get(pending, 0, &value, &f->error), GW_EVERSION);
    gw_future_release(pending);
}

static void close_during_reconnect_ends_pending_futures(void **state)
{
    struct fixture *f = *state;
    struct gw_value *value;
    open_for(f, 0);
    struct gw_future *pending = submit_one(f, GW_FUNCTION(never), 16);
    gw_fake_scheduler_leave(f->fake);
    gw_client_close(f->client);
    f->client = NULL;
    assert_int_equal(gw_future_get(pending, 0, &value, &f->error), GW_ECLOSED);
    assert_string_equal(f->error.text, "the client was closed");
    gw_future_release(pending);
}

/* A job that makes the scheduler crash is not resubmitted without end. */
static void job_that_kills_the_scheduler_is_resubmitted_10_times(void **state)
{
    struct fixture *f = *state;
    struct gw_value *value;
    open_for(f, 0);
    struct gw_future *future = NULL;
    int rc = gw_submit(f->client, gone, NULL, GW_ARGS(), &future, &f->error);
    if (rc == 0)
        rc = gw_future_get(future, 0, &value, &f->error);
    assert_int_equal(rc, GW_ECLOSED);
    if (!strstr(f->error.text, "10 times"))
        fail_msg("%s", f->error.text);
    gw_future_release(future);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    const struct CMUnitTest tests[] = {
        WITH_FAKE_ALONE(reconnect_resubmits_only_unfinished_tasks),
        WITH_FAKE_ALONE(reconnect_resubmits_after_a_break_in_midmessage),
        WITH_FAKE_ALONE(reconnect_resubmits_inputs_of_pending_tasks),
        WITH_FAKE_ALONE(finished_task_reruns_if_a_later_graph_needs_its_result),
        WITH_FAKE_ALONE(reconnect_recomputes_large_results_on_demand),
        WITH_FAKE_ALONE(getter_times_out_while_the_client_reconnects_for_ever),
        WITH_FAKE_ALONE(reconnect_scatters_needed_values_again),
        WITH_FAKE_ALONE(reconnect_resubmits_an_unanswered_call),
        WITH_FAKE_ALONE(scatter_many_accepts_700_values_and_cleans_up_on_error),
        WITH_FAKE_ALONE(interrupted_scatter_of_1000_values_completes),
        WITH_FAKE_ALONE(reconnect_sends_releases_of_dropped_futures),
        WITH_FAKE_ALONE(reconnect_gives_up_after_its_time_limit),
        WITH_FAKE_ALONE(reconnect_fails_if_the_scheduler_version_differs),
        WITH_FAKE_ALONE(close_during_reconnect_ends_pending_futures),
        WITH_FAKE_ALONE(job_that_kills_the_scheduler_is_resubmitted_10_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
