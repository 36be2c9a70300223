/* The client library against a scheduler that treats each task by its function name: every state of
 * a future and every way in which the other side can end; no call hangs. */
#include "tests/unit/arithmetic_tasks.h"
#include "tests/unit/client/fake_client.h"

#include "client/deploy/program.h"
#include "graph/base/dir.h"

#include <errno.h>
#include <gangway/gangway.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define S(n) ((uint64_t)(n)*1000000000)

FAKED(echo);
FAKED(bad);
FAKED(never);
FAKED(large);
FAKED(flaky);
FAKED(refused);
FAKED(gone);
FAKED(garbage);

/* For the tests that run inside this process, like the functions of arithmetic_tasks.h. */
static int rank_of(struct gw_task *task)
{
    return gw_task_return(task, gw_i64(gw_task_rank(task) + 10));
}
GW_TASK(rank_of);

static const struct gw_function gw_registered_unknown = {"unknown", echo};

static void assert_list_of(struct gw_value *list, int64_t wanted)
{
    int64_t n;
    assert_int_equal(gw_value_type(list), GW_LIST);
    assert_int_equal(gw_value_get_i64(gw_value_at(list, 0), &n, NULL), 0);
    assert_int_equal(n, wanted);
    gw_value_unref(list);
}

static void get_returns_the_result_of_a_submitted_task(void **state)
{
    struct fixture *f = *state;
    struct gw_future *future;
    struct gw_value *value;
    assert_int_equal(gw_submit(f->client, echo, NULL, GW_ARGS(gw_i64(42)), &future, &f->error), 0);
    assert_int_equal(gw_future_get(future, 0, &value, &f->error), 0);
    assert_list_of(value, 42);
    assert_int_equal(gw_future_state(future), GW_DONE);
    assert_int_equal(gw_future_exit_code(future), 0);
    assert_true(gw_future_job(future) > 0);
    assert_int_equal(gw_future_index(future), 0);
    assert_int_equal(gw_future_get(future, 1, &value, &f->error), GW_EINVAL);
    assert_int_equal(gw_future_retry(future, &f->error), GW_EINVAL);
    assert_int_equal(gw_future_cancel(future, false, NULL), 0);
    gw_future_release(future);
    gw_future_release(NULL);
}

static void program_is_uploaded_once_for_three_submissions(void **state)
{
    struct fixture *f = *state;
    struct gw_future *future;
    for (int i = 0; i < 3; i++) {
        assert_int_equal(gw_submit(f->client, echo, NULL, GW_ARGS(), &future, &f->error), 0);
        gw_future_release(future);
    }
    assert_int_equal(count_of(f, "programs"), 1);
    assert_true(count_of(f, "blobs") >= 1);
}

static void failed_future_reports_error_text_and_exit_code(void **state)
{
    struct fixture *f = *state;
    struct gw_future *future;
    struct gw_value *value;
    assert_int_equal(gw_submit(f->client, bad, NULL, GW_ARGS(), &future, &f->error), 0);
    assert_int_equal(gw_future_get(future, 0, &value, &f->error), GW_ETASK);
    assert_string_equal(f->error.text, "boom");
    assert_int_equal(gw_future_exit_code(future), 7);
    assert_int_equal(gw_future_state(future), GW_FAILED);
    /* The scheduler refuses the retry: the future stays failed, with the same cause. */
    assert_int_equal(gw_future_retry(future, &f->error), GW_EINVAL);
    assert_string_equal(f->error.text, "it would fail again");
    assert_int_equal(gw_future_get(future, 0, &value, &f->error), GW_ETASK);
    gw_future_release(future);
}

static void retry_runs_a_failed_task_again(void **state)
{
    struct fixture *f = *state;
    struct gw_future *future;
    struct gw_value *value;
    assert_int_equal(gw_submit(f->client, flaky, NULL, GW_ARGS(gw_i64(5)), &future, &f->error), 0);
    assert_int_equal(gw_future_get(future, 0, &value, &f->error), GW_ETASK);
    assert_int_equal(gw_future_retry(future, &f->error), 0);
    assert_int_equal(gw_future_get(future, 0, &value, &f->error), 0);
    assert_list_of(value, 5);
    gw_future_release(future);
}

static void wait_times_out_and_cancel_ends_the_future(void **state)
{
    struct fixture *f = *state;
    struct gw_future *future;
    struct gw_value *value;
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &future, &f->error), 0);
    assert_int_equal(gw_future_wait(future, 1000000), GW_ETIMEDOUT);
    assert_int_equal(gw_future_state(future), GW_PENDING);
    assert_int_equal(gw_future_cancel(future, true, &f->error), 0);
    assert_int_equal(gw_future_wait(future, S(30)), 0);
    assert_int_equal(gw_future_get(future, 0, &value, &f->error), GW_ECANCELLED);
    gw_future_release(future);
}

static void refused_submission_returns_no_future(void **state)
{
    struct fixture *f = *state;
    struct gw_future *future = NULL;
    assert_int_equal(gw_submit(f->client, refused, NULL, GW_ARGS(), &future, &f->error),
                     GW_EINFEASIBLE);
    assert_string_equal(f->error.text, "too large");
    assert_null(future);
}

static void unknown_function_is_refused_without_a_request(void **state)
{
    struct fixture *f = *state;
    struct gw_future *future = NULL;
    assert_int_equal(gw_submit(f->client, unknown, NULL, GW_ARGS(), &future, &f->error), GW_ENOENT);
    assert_non_null(strstr(f->error.text, "unknown"));
    assert_int_equal(count_of(f, "submits"), 0);
}

static void large_result_is_mapped_once_and_outlives_its_future(void **state)
{
    struct fixture *f = *state;
    struct gw_future *future;
    struct gw_value *value, *again;
    const void *data;
    size_t bytes;
    assert_int_equal(gw_submit(f->client, large, NULL, GW_ARGS(), &future, &f->error), 0);
    assert_int_equal(gw_future_get(future, 0, &value, &f->error), 0);
    assert_int_equal(gw_value_get_bytes(value, &data, &bytes, &f->error), 0);
    assert_int_equal(bytes, GW_FAKE_LARGE_BYTES);
    assert_int_equal(((const char *)data)[bytes - 1], 0);
    assert_int_equal(gw_future_get(future, 0, &again, &f->error), 0);
    assert_ptr_equal(value, again);
    gw_future_release(future);
    assert_int_equal(((const char *)data)[0], 0); /* the mapping lives as long as the value */
    gw_value_unref(value);
    gw_value_unref(again);
}

/* The fake scheduler answers only after it has received all requests. */
static void gather_requests_all_results_before_it_waits(void **state)
{
    enum { COUNT = 40 };
    struct fixture *f = *state;
    struct gw_future *futures[COUNT];
    struct gw_value *values[COUNT];
    gw_fake_scheduler_hold(f->fake, COUNT);
    for (int i = 0; i < COUNT; i++)
        assert_int_equal(gw_submit(f->client, large, NULL, GW_ARGS(), &futures[i], &f->error), 0);
    assert_int_equal(gw_gather(f->client, futures, COUNT, values, &f->error), 0);
    assert_false(gw_fake_scheduler_was_late(f->fake));
    for (int i = 0; i < COUNT; i++) {
        const void *data;
        size_t bytes;
        assert_int_equal(gw_value_get_bytes(values[i], &data, &bytes, &f->error), 0);
        assert_int_equal(bytes, GW_FAKE_LARGE_BYTES);
        gw_value_unref(values[i]);
        gw_future_release(futures[i]);
    }
}

static void gang_future_returns_one_value_per_rank(void **state)
{
    struct fixture *f = *state;
    struct gw_future *future;
    struct gw_value *value;
    assert_int_equal(gw_dispatch(f->client, 3, echo, NULL, GW_ARGS(gw_i64(9)), &future, &f->error),
                     0);
    for (uint32_t rank = 0; rank < 3; rank++) {
        assert_int_equal(gw_future_get(future, rank, &value, &f->error), 0);
        assert_list_of(value, 9);
    }
    assert_int_equal(gw_future_get(future, 3, &value, &f->error), GW_EINVAL);
    gw_future_release(future);
}

static void graph_submission_returns_a_future_per_target(void **state)
{
    struct fixture *f = *state;
    struct gw_graph *graph = gw_graph_new();
    gw_node a = gw_call(graph, echo, GW_OPTIONS(.name = "first"), gw_i64(1));
    gw_node b = gw_call(graph, echo, GW_OPTIONS(.name = "second"), gw_result(a), gw_i64(2));
    gw_graph_after(graph, b, a);
    gw_node nodes[] = {b, a, b};
    struct gw_future *futures[3];
    struct gw_submit_options options =
        GW_INIT(gw_submit_options, .name = "graph", .detached = true);
    assert_int_equal(
        gw_client_submit_many(f->client, graph, &options, nodes, 3, futures, &f->error), 0);
    gw_graph_free(graph);
    for (int i = 0; i < 3; i++)
        assert_int_equal(gw_future_wait(futures[i], S(30)), 0);
    assert_int_equal(gw_future_index(futures[1]), 0);
    assert_int_equal(gw_future_index(futures[0]), 1);
    assert_int_equal(gw_future_index(futures[2]), 1);
    /* A task with two futures is released with the last of them. */
    gw_future_release(futures[0]);
    gw_future_release(futures[1]);
    gw_future_release(futures[2]);
    while (count_of(f, "releases") < 2)
        continue;
    assert_int_equal(count_of(f, "releases"), 2);
}

static void submission_refuses_nodes_outside_the_graph(void **state)
{
    struct fixture *f = *state;
    struct gw_future *future;
    struct gw_graph *graph = gw_graph_new();
    assert_int_equal(gw_client_submit(f->client, graph, (gw_node){0}, &future, &f->error),
                     GW_EINVAL);
    gw_graph_free(graph);
    graph = gw_graph_new();
    gw_call(graph, echo, NULL);
    assert_int_equal(gw_client_submit(f->client, graph, (gw_node){7}, &future, &f->error),
                     GW_EINVAL);
    gw_graph_free(graph);
    assert_int_equal(gw_client_submit(f->client, NULL, (gw_node){0}, &future, &f->error),
                     GW_ENOMEM);
}

static int make_args(size_t i, struct gw_value **args, void *arg)
{
    if (arg && i == *(size_t *)arg)
        return GW_EIO;
    args[0] = gw_i64((int64_t)i);
    return 0;
}

enum { MANY = 10000 };

static void map_returns_each_result_in_call_order(void **state)
{
    struct fixture *f = *state;
    struct gw_future **futures = calloc(MANY, sizeof(struct gw_future *));
    struct gw_value **values = calloc(MANY, sizeof(struct gw_value *));
    struct gw_map_call call = GW_INIT(gw_map_call, .function = GW_FUNCTION(echo), .count = MANY,
                                      .arg_count = 1, .make_args = make_args);
    assert_int_equal(gw_map(f->client, &call, futures, &f->error), 0);
    assert_int_equal(gw_gather(f->client, futures, MANY, values, &f->error), 0);
    for (size_t i = 0; i < MANY; i++) {
        assert_int_equal(gw_future_index(futures[i]), i);
        assert_list_of(values[i], (int64_t)i);
        gw_future_release(futures[i]);
    }
    while (count_of(f, "releases") < MANY)
        continue;
    assert_true(count_of(f, "bytes") > MANY);
    free(futures);
    free(values);
}

static int make_reference(size_t i, struct gw_value **args, void *arg)
{
    args[0] = i == 1 ? gw_result(*(gw_node *)arg) : gw_nil();
    return 0;
}

static void map_reports_the_call_whose_arguments_failed(void **state)
{
    struct fixture *f = *state;
    struct gw_future *futures[4];
    size_t at = 2;
    struct gw_map_call call = GW_INIT(gw_map_call, .function = GW_FUNCTION(echo), .count = 4,
                                      .arg_count = 1, .make_args = make_args, .arg = &at);
    assert_int_equal(gw_map(f->client, &call, futures, &f->error), GW_EIO);
    assert_non_null(strstr(f->error.text, "call 2"));
    call.make_args = make_reference;
    call.arg = &(gw_node){0};
    assert_int_equal(gw_map(f->client, &call, futures, &f->error), GW_EINVAL);
    assert_non_null(strstr(f->error.text, "call 1, argument 0 is a reference"));
    call.count = 0;
    assert_int_equal(gw_map(f->client, &call, futures, &f->error), 0);
}

static void completions_return_each_future_once(void **state)
{
    struct fixture *f = *state;
    struct gw_future *futures[4];
    struct gw_completions *completions;
    bool seen[4] = {false};
    size_t index;
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &futures[0], &f->error), 0);
    assert_int_equal(gw_submit(f->client, echo, NULL, GW_ARGS(), &futures[1], &f->error), 0);
    assert_int_equal(gw_submit(f->client, bad, NULL, GW_ARGS(), &futures[2], &f->error), 0);
    assert_int_equal(gw_future_wait_any(futures, 4 - 1, S(30), &index), 0);
    assert_true(index == 1 || index == 2);
    assert_int_equal(gw_future_wait_any(futures, 1, 1000, &index), GW_ETIMEDOUT);
    assert_int_equal(gw_completions_new(futures, 3, &completions), 0);
    for (int i = 0; i < 2; i++) {
        assert_int_equal(gw_completions_next(completions, S(30), &index), 0);
        assert_false(seen[index]);
        seen[index] = true;
    }
    assert_false(seen[0]);
    assert_int_equal(gw_completions_next(completions, 1000, &index), GW_ETIMEDOUT);
    assert_int_equal(gw_future_cancel(futures[0], false, NULL), 0);
    assert_int_equal(gw_completions_next(completions, S(30), &index), 0);
    assert_int_equal(index, 0);
    assert_int_equal(gw_completions_next(completions, S(30), &index), GW_ENOENT);
    gw_completions_free(completions);
    gw_completions_free(NULL);
    for (int i = 0; i < 3; i++)
        gw_future_release(futures[i]);
}

/* A search does so: each result that arrives leads to the next submission. */
static void completions_accept_new_futures_during_iteration(void **state)
{
    enum { ADDED = 40 };
    struct fixture *f = *state;
    struct gw_future *futures[ADDED + 1];
    struct gw_completions *completions;
    size_t index, place;
    assert_int_equal(gw_completions_new(NULL, 0, &completions), 0);
    assert_int_equal(gw_completions_next(completions, UINT64_MAX, &index), GW_ENOENT);
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &futures[0], &f->error), 0);
    assert_int_equal(gw_completions_add(completions, futures[0], &place), 0);
    assert_int_equal(place, 0);
    for (size_t i = 1; i <= ADDED; i++) {
        assert_int_equal(gw_submit(f->client, echo, NULL, GW_ARGS(), &futures[i], &f->error), 0);
        if (i % 2) /* some futures have ended before they are added, others have not */
            assert_int_equal(gw_future_wait(futures[i], S(30)), 0);
        assert_int_equal(gw_completions_add(completions, futures[i], &place), 0);
        assert_int_equal(place, i);
        if (i % 3 == 0) {
            assert_int_equal(gw_completions_next(completions, S(30), &index), 0);
            assert_in_range(index, 1, i);
            gw_future_release(futures[index]);
            futures[index] = NULL;
        }
    }
    for (int left = ADDED - ADDED / 3; left > 0; left--) {
        assert_int_equal(gw_completions_next(completions, S(30), &index), 0);
        gw_future_release(futures[index]);
    }
    assert_int_equal(gw_completions_next(completions, 1000, &index), GW_ETIMEDOUT);
    assert_int_equal(gw_future_cancel(futures[0], false, NULL), 0);
    assert_int_equal(gw_completions_next(completions, S(30), &index), 0);
    assert_int_equal(index, 0);
    assert_int_equal(gw_completions_next(completions, S(30), &index), GW_ENOENT);
    gw_future_release(futures[0]);
    gw_completions_free(completions);
}

static void scattered_value_can_be_read_and_passed_to_a_task(void **state)
{
    struct fixture *f = *state;
    struct gw_future *small, *big, *future;
    struct gw_value *value, *text = gw_str("small"), *bytes;
    static char data[100000];
    const void *got;
    size_t size;
    data[99999] = 7;
    bytes = gw_bytes(data, sizeof data);
    assert_int_equal(gw_scatter(f->client, text, &small, &f->error), 0);
    assert_int_equal(gw_future_get(small, 0, &value, &f->error), 0);
    assert_true(gw_value_equal(value, text));
    gw_value_unref(value);
    assert_int_equal(gw_scatter(f->client, bytes, &big, &f->error), 0);
    assert_int_equal(gw_future_get(big, 0, &value, &f->error), 0);
    assert_int_equal(gw_value_get_bytes(value, &got, &size, NULL), 0);
    assert_int_equal(size, sizeof data);
    assert_memory_equal(got, data, size);
    gw_value_unref(value);

    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_call(graph, echo, NULL, gw_result_future(graph, big));
    assert_int_equal(gw_client_submit(f->client, graph, node, &future, &f->error), 0);
    gw_graph_free(graph);
    gw_value_unref(text);
    gw_value_unref(bytes);
    gw_future_release(small);
    gw_future_release(big);
    gw_future_release(future);
}

/* A large argument is sent separately; the task message stays small. */
static void large_arguments_are_scattered_before_submission(void **state)
{
    struct fixture *f = *state;
    static char data[3 << 20];
    struct gw_future *future;
    struct gw_value *list = gw_list(), *value, *reference;
    gw_node node;
    gw_list_push(list, gw_i64(1));
    gw_list_push(list, gw_bytes(data, sizeof data));
    assert_int_equal(gw_submit(f->client, echo, NULL, GW_ARGS(gw_i64(3), list), &future, &f->error),
                     0);
    assert_true(count_of(f, "bytes") < 100);
    assert_int_equal(gw_future_get(future, 0, &value, &f->error), 0);
    reference = gw_value_at(value, 1); /* [3, reference]: the whole list was scattered */
    assert_int_equal(gw_value_type(reference), GW_RESULT);
    assert_int_equal(gw_value_get_result(reference, &node, &(int32_t){0}), 0);
    assert_int_equal(node.index, 0);
    gw_value_unref(value);
    gw_future_release(future);
    while (count_of(f, "releases") < 2) /* of the task and of the argument */
        continue;
}

/* A command's line is sent unchanged, because its process cannot read references. */
static void large_input_line_of_a_command_is_sent_inline(void **state)
{
    enum { LINE_BYTES = 100000 };
    struct fixture *f = *state;
    struct gw_future *future;
    const char *argv[] = {"true", NULL};
    const int64_t index = 0;
    char *line = calloc(1, LINE_BYTES + 1);
    assert_non_null(line);
    memset(line, 'q', LINE_BYTES);
    struct gw_graph *graph = gw_graph_new();
    gw_node node =
        gw_graph_command(graph, GW_COMMAND(.argv = argv, .index = &index, .line = line), NULL);
    assert_int_equal(gw_client_submit(f->client, graph, node, &future, &f->error), 0);
    assert_true(count_of(f, "bytes") > LINE_BYTES);
    gw_graph_free(graph);
    gw_future_release(future);
    free(line);
}

static void query_cancel_wait_and_log_address_jobs_by_id(void **state)
{
    struct fixture *f = *state;
    struct gw_value *answer, *filter = gw_dict();
    struct gw_future *future;
    struct gw_log_chunk chunk;
    const void *data;
    size_t bytes;
    int exit_code = -1;
    gw_dict_set(filter, "job", gw_i64(3));
    assert_int_equal(gw_client_query(f->client, "echo", filter, &answer, &f->error), 0);
    assert_true(gw_value_equal(answer, filter));
    gw_value_unref(answer);
    gw_value_unref(filter);
    assert_int_equal(gw_job_cancel(f->client, 12345, false, &f->error), GW_ENOENT);
    assert_string_equal(f->error.text, "no such job");

    assert_int_equal(gw_submit(f->client, bad, NULL, GW_ARGS(), &future, &f->error), 0);
    uint64_t job = gw_future_job(future);
    assert_int_equal(gw_job_wait(f->client, job, S(30), &exit_code, &f->error), GW_ETASK);
    assert_int_equal(exit_code, 7);
    gw_future_release(future);
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &future, &f->error), 0);
    assert_int_equal(gw_job_wait(f->client, gw_future_job(future), 1000, &exit_code, &f->error),
                     GW_ETIMEDOUT);

    struct gw_log_request request =
        GW_INIT(gw_log_request, .job = job, .stream = 1, .follow = true);
    assert_int_equal(gw_job_log(f->client, &request, &chunk, &f->error), 0);
    assert_int_equal(gw_value_get_bytes(chunk.data, &data, &bytes, NULL), 0);
    assert_memory_equal(data, "line\n", 5);
    assert_int_equal(chunk.attempt, 5);
    assert_false(chunk.end);
    assert_int_equal(chunk.time_ns, 8);
    gw_value_unref(chunk.data);

    /* A program with an older header has a shorter request, and no time in its chunk. */
    struct gw_log_request older = request;
    older.struct_size = offsetof(struct gw_log_request, since_ns);
    chunk.time_ns = 9;
    assert_int_equal(gw_job_log(f->client, &older, &chunk, &f->error), 0);
    assert_int_equal(chunk.time_ns, 9);
    gw_value_unref(chunk.data);
    request.offset = chunk.next_offset;
    assert_int_equal(gw_job_log(f->client, &request, &chunk, &f->error), 0);
    assert_true(chunk.end);
    gw_value_unref(chunk.data);
    gw_future_release(future);
}

static void lost_scheduler_fails_pending_futures_with_eclosed(void **state)
{
    struct fixture *f = *state;
    struct gw_future *pending, *done, *future = NULL;
    struct gw_value *value;
    assert_int_equal(gw_submit(f->client, echo, NULL, GW_ARGS(gw_i64(1)), &done, &f->error), 0);
    assert_int_equal(gw_future_wait(done, S(30)), 0);
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &pending, &f->error), 0);
    (void)gw_submit(f->client, gone, NULL, GW_ARGS(), &future,
                    &f->error); /* accepted, or too late */
    assert_int_equal(gw_future_get(pending, 0, &value, &f->error), GW_ECLOSED);
    assert_string_equal(f->error.text, "the connection to the scheduler was lost");
    assert_int_equal(gw_future_state(pending), GW_FAILED);
    assert_int_equal(gw_future_get(done, 0, &value, &f->error),
                     0); /* the result was received before */
    gw_value_unref(value);
    assert_int_equal(gw_future_retry(pending, &f->error), GW_ECLOSED);
    assert_int_equal(gw_submit(f->client, echo, NULL, GW_ARGS(), &done, &f->error), GW_ECLOSED);
    assert_int_equal(gw_client_query(f->client, "echo", NULL, &value, &f->error), GW_ECLOSED);
    gw_future_release(pending);
    gw_future_release(done);
    gw_future_release(future);
}

static void malformed_reply_fails_pending_futures_with_eproto(void **state)
{
    struct fixture *f = *state;
    struct gw_future *pending, *future = NULL;
    struct gw_value *value;
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &pending, &f->error), 0);
    (void)gw_submit(f->client, garbage, NULL, GW_ARGS(), &future, &f->error);
    assert_int_equal(gw_future_get(pending, 0, &value, &f->error), GW_EPROTO);
    gw_future_release(pending);
    gw_future_release(future);
}

static void closing_the_client_ends_its_futures_with_eclosed(void **state)
{
    struct fixture *f = *state;
    struct gw_future *pending, *done;
    struct gw_value *value;
    assert_int_equal(gw_submit(f->client, echo, NULL, GW_ARGS(), &done, &f->error), 0);
    assert_int_equal(gw_future_wait(done, S(30)), 0);
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &pending, &f->error), 0);
    gw_client_close(f->client); /* cancels the task and waits for that */
    f->client = NULL;
    assert_int_equal(gw_future_get(pending, 0, &value, &f->error), GW_ECLOSED);
    assert_string_equal(f->error.text, "the client was closed");
    assert_int_equal(gw_future_get(done, 0, &value, &f->error), GW_ECLOSED);
    assert_int_equal(gw_future_cancel(pending, false, &f->error), 0); /* the future has ended */
    gw_future_release(done);
    gw_future_release(pending);
}

static void open_reports_a_missing_scheduler_or_token(void **state)
{
    struct gw_error error;
    struct gw_client *client = NULL;
    struct gw_client_options options =
        GW_INIT(gw_client_options, .address = "unix:/tmp/gw-nothing-here/scheduler.sock");
    assert_int_equal(gw_client_open(&options, &client, &error), GW_ENOSCHEDULER);
    assert_non_null(strstr(error.text, "gw-nothing-here"));
    assert_int_equal(gw_error_exit_code(&error), 3);
    (void)unsetenv("GANGWAY_TOKEN");
    assert_int_equal(setenv("GANGWAY_TOKEN_FILE", "/nowhere/token", 1), 0);
    options.address = "tcp:127.0.0.1:99"; /* a missing token is reported before anything is sent */
    assert_int_equal(gw_client_open(&options, &client, &error), GW_ENOENT);
    assert_non_null(strstr(error.text, "/nowhere/token"));
    options.address = "host.example:8080";
    assert_int_equal(gw_client_open(&options, &client, &error), GW_ENOENT);
    options.address = "what";
    assert_int_equal(gw_client_open(&options, &client, &error), GW_EINVAL);
    assert_null(client);

    struct gw_fake_scheduler *fake = gw_fake_scheduler_open();
    gw_fake_scheduler_refuse(fake);
    options.address = gw_fake_scheduler_address(fake);
    assert_int_equal(gw_client_open(&options, &client, &error), GW_EVERSION);
    assert_string_equal(error.text, "I am 9.9 and you are not");
    gw_fake_scheduler_close(fake);
}

static void program_upload_excludes_system_libraries(void **state)
{
    struct gw_error error;
    struct gw_program *first, *second;
    char home[] = "/tmp/gw-cache-XXXXXX", path[64];
    uint64_t bytes;
    int fd;
    assert_non_null(mkdtemp(home));
    assert_int_equal(setenv("XDG_CACHE_HOME", home, 1), 0);
    assert_true(gw_program_is_system("/usr/lib/x86_64-linux-gnu/libc.so.6"));
    assert_true(gw_program_is_system("/lib64/ld-linux-x86-64.so.2"));
    assert_false(gw_program_is_system("/usr/local/lib/libmine.so"));
    assert_false(gw_program_is_system("/opt/lib/libmine.so"));

    assert_int_equal(gw_program_new(&first, &error), 0);
    assert_int_equal(gw_program_new(&second, &error), 0); /* from the cache, if that is available */
    assert_memory_equal(first->hash, second->hash, GW_HASH_BYTES);
    assert_string_equal(first->files[0].name, "test_client");
    assert_int_equal(gw_program_open(first, first->files[0].hash, &fd, &bytes), 0);
    uint8_t hash[GW_HASH_BYTES];
    assert_int_equal(gw_hash_file(fd, hash, &error), 0);
    assert_memory_equal(hash, second->files[0].hash, GW_HASH_BYTES);
    close(fd);
    assert_int_equal(gw_program_open(first, first->hash, &fd, &bytes), GW_ENOENT);
    gw_program_free(first);
    gw_program_free(second);
    snprintf(path, sizeof path, "%s/gangway/hashes", home);
    if (unlink(path) < 0) /* a program linked within the last two seconds may change unnoticed, so
                             its hash is not cached */
        assert_int_equal(errno, ENOENT);
    assert_int_equal(gw_dir_remove(home, NULL), 0);
    unsetenv("XDG_CACHE_HOME");
}

static void inline_mode_runs_graphs_without_a_scheduler(void **state)
{
    struct gw_error error;
    struct gw_client *client;
    struct gw_future *futures[4], *later;
    struct gw_value *value;
    double sum;
    int64_t rank;
    setenv("GANGWAY_INLINE", "1", 1);
    assert_int_equal(gw_client_open(NULL, &client, &error), 0);
    unsetenv("GANGWAY_INLINE");

    struct gw_graph *graph = gw_graph_new();
    gw_node a = gw_call(graph, add, NULL, gw_f64(1), gw_f64(2));
    gw_node b = gw_call(graph, add, NULL, gw_result(a), gw_f64(10));
    gw_node c = gw_call(graph, rank_of, GW_GANG(.ranks = 3));
    gw_node d = gw_call(graph, add, NULL, gw_str("one"), gw_result(b));
    gw_node nodes[] = {a, b, c, d};
    assert_int_equal(gw_client_submit_many(client, graph, NULL, nodes, 4, futures, &error), 0);
    gw_graph_free(graph);
    assert_int_equal(gw_future_get(futures[1], 0, &value, &error), 0);
    assert_int_equal(gw_value_get_f64(value, &sum, NULL), 0);
    assert_true(sum == 13);
    gw_value_unref(value);
    assert_int_equal(gw_future_get(futures[2], 2, &value, &error), 0);
    assert_int_equal(gw_value_get_i64(value, &rank, NULL), 0);
    assert_int_equal(rank, 12);
    gw_value_unref(value);
    assert_int_equal(gw_future_get(futures[3], 0, &value, &error), GW_ETASK);
    assert_non_null(strstr(error.text, "argument 0"));

    graph = gw_graph_new();
    gw_node e = gw_call(graph, add, NULL, gw_result_future(graph, futures[1]), gw_f64(1));
    assert_int_equal(gw_client_submit(client, graph, e, &later, &error), 0);
    assert_int_equal(gw_future_get(later, 0, &value, &error), 0);
    assert_int_equal(gw_value_get_f64(value, &sum, NULL), 0);
    assert_true(sum == 14);
    gw_value_unref(value);
    gw_graph_free(graph);
    for (int i = 0; i < 4; i++)
        gw_future_release(futures[i]);
    gw_future_release(later);
    gw_client_close(client);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    const struct CMUnitTest tests[] = {
        WITH_FAKE(get_returns_the_result_of_a_submitted_task),
        WITH_FAKE(program_is_uploaded_once_for_three_submissions),
        WITH_FAKE(failed_future_reports_error_text_and_exit_code),
        WITH_FAKE(retry_runs_a_failed_task_again),
        WITH_FAKE(wait_times_out_and_cancel_ends_the_future),
        WITH_FAKE(refused_submission_returns_no_future),
        WITH_FAKE(unknown_function_is_refused_without_a_request),
        WITH_FAKE(large_result_is_mapped_once_and_outlives_its_future),
        WITH_FAKE(gather_requests_all_results_before_it_waits),
        WITH_FAKE(gang_future_returns_one_value_per_rank),
        WITH_FAKE(graph_submission_returns_a_future_per_target),
        WITH_FAKE(submission_refuses_nodes_outside_the_graph),
        WITH_FAKE(map_returns_each_result_in_call_order),
        WITH_FAKE(map_reports_the_call_whose_arguments_failed),
        WITH_FAKE(completions_return_each_future_once),
        WITH_FAKE(completions_accept_new_futures_during_iteration),
        WITH_FAKE(scattered_value_can_be_read_and_passed_to_a_task),
        WITH_FAKE(large_arguments_are_scattered_before_submission),
        WITH_FAKE(large_input_line_of_a_command_is_sent_inline),
        WITH_FAKE(query_cancel_wait_and_log_address_jobs_by_id),
        WITH_FAKE(lost_scheduler_fails_pending_futures_with_eclosed),
        WITH_FAKE(malformed_reply_fails_pending_futures_with_eproto),
        WITH_FAKE(closing_the_client_ends_its_futures_with_eclosed),
        cmocka_unit_test(open_reports_a_missing_scheduler_or_token),
        cmocka_unit_test(program_upload_excludes_system_libraries),
        cmocka_unit_test(inline_mode_runs_graphs_without_a_scheduler),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
