/* Tasks that submit tasks, on a real cluster; each subject is a function with asserts. Arguments:
 * the subject, and a fifo on which tasks report that they run. */
#include "tests/e2e/programs/check.h"
#include "tests/e2e/programs/subject.h"

#include <assert.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* -- Task functions ------------------------------------------------------------------------------
 */

GW_TASK_DECLARE(fib);

/* Each call waits for two others. */
static int fib(struct gw_task *task)
{
    struct gw_error *why = gw_task_error(task);
    struct gw_future *futures[2] = {NULL, NULL};
    struct gw_value *values[2];
    int64_t n, a, b;
    if (gw_task_arg_i64(task, 0, &n) < 0)
        return GW_EINVAL;
    if (n < 2)
        return gw_task_return(task, gw_i64(n));
    struct gw_client *client = gw_task_client(task, why);
    if (!client)
        return why->code;
    int rc = gw_submit(client, fib, NULL, GW_ARGS(gw_i64(n - 1)), &futures[0], why);
    if (rc == 0)
        rc = gw_submit(client, fib, NULL, GW_ARGS(gw_i64(n - 2)), &futures[1], why);
    if (rc == 0)
        rc = gw_gather(client, futures, 2, values, why);
    gw_future_release(futures[0]);
    gw_future_release(futures[1]);
    if (rc < 0)
        return rc;
    (void)gw_value_get_i64(values[0], &a, NULL);
    (void)gw_value_get_i64(values[1], &b, NULL);
    gw_value_unref(values[0]);
    gw_value_unref(values[1]);
    return gw_task_return(task, gw_i64(a + b));
}
GW_TASK(fib);

static int square(struct gw_task *task)
{
    int64_t n;
    if (gw_task_arg_i64(task, 0, &n) < 0)
        return GW_EINVAL;
    return gw_task_return(task, gw_i64(n * n));
}
GW_TASK(square);

/* (after): waits for the task of its own job with this distance in the graph. */
static int wait_for(struct gw_task *task)
{
    struct gw_error *why = gw_task_error(task);
    struct gw_future *future;
    struct gw_value *value = NULL;
    int64_t after;
    if (gw_task_arg_i64(task, 0, &after) < 0)
        return GW_EINVAL;
    struct gw_client *client = gw_task_client(task, why);
    if (!client)
        return why->code;
    int rc = gw_client_task(client, gw_task_job(task), gw_task_index(task) + (uint32_t)after,
                            &future, why);
    if (rc < 0)
        return rc;
    rc = gw_future_get(future, 0, &value, why);
    gw_future_release(future);
    return rc < 0 ? rc : gw_task_return(task, value);
}
GW_TASK(wait_for);

static int number(size_t i, struct gw_value **args, void *arg)
{
    (void)arg;
    args[0] = gw_i64((int64_t)i);
    return args[0] ? 0 : GW_ENOMEM;
}

/* The sum of the squares below n: n tasks at once, taken as they end. */
static int sum_squares(struct gw_task *task)
{
    struct gw_error *why = gw_task_error(task);
    int64_t n, sum = 0, one;
    if (gw_task_arg_i64(task, 0, &n) < 0)
        return GW_EINVAL;
    struct gw_client *client = gw_task_client(task, why);
    if (!client)
        return why->code;
    struct gw_future **futures = calloc((size_t)n, sizeof *futures);
    struct gw_completions *completions = NULL;
    const struct gw_map_call call =
        GW_INIT(gw_map_call, .function = GW_FUNCTION(square), .count = (size_t)n, .arg_count = 1,
                .make_args = number);
    int rc = futures ? gw_map(client, &call, futures, why) : GW_ENOMEM;
    if (rc == 0)
        rc = gw_completions_new(futures, (size_t)n, &completions);
    for (int64_t i = 0; i < n && rc == 0; i++) {
        size_t at;
        struct gw_value *value;
        rc = gw_completions_next(completions, UINT64_MAX, &at);
        if (rc == 0)
            rc = gw_future_get(futures[at], 0, &value, why);
        if (rc < 0)
            break;
        (void)gw_value_get_i64(value, &one, NULL);
        sum += one;
        gw_value_unref(value);
    }
    gw_completions_free(completions);
    for (int64_t i = 0; futures && i < n; i++)
        gw_future_release(futures[i]);
    free(futures);
    return rc < 0 ? rc : gw_task_return(task, gw_i64(sum));
}
GW_TASK(sum_squares);

/* Reports that it runs, and stays. */
static int stay(struct gw_task *task)
{
    const char *fifo;
    if (gw_task_arg_str(task, 0, &fifo) < 0)
        return GW_EINVAL;
    subject_say_pid(fifo, "child");
    for (;;)
        pause();
}
GW_TASK(stay);

/* Has a child that hangs; waits for it without end, or not at all. */
static int parent(struct gw_task *task)
{
    struct gw_error *why = gw_task_error(task);
    struct gw_future *future;
    struct gw_value *value;
    const char *fifo;
    bool waits;
    if (gw_task_arg_str(task, 0, &fifo) < 0 || gw_task_arg_bool(task, 1, &waits) < 0)
        return GW_EINVAL;
    struct gw_client *client = gw_task_client(task, why);
    if (!client)
        return why->code;
    if (gw_submit(client, stay, NULL, GW_ARGS(gw_str(fifo)), &future, why) < 0)
        return why->code;
    if (!waits)
        return gw_task_return(task, gw_i64((int64_t)gw_future_job(future)));
    subject_say_pid(fifo, "parent");
    return gw_future_get(future, 0, &value, why);
}
GW_TASK(parent);

/* Calls itself without end. */
static int bottomless(struct gw_task *task)
{
    struct gw_error *why = gw_task_error(task);
    struct gw_future *future;
    struct gw_value *value;
    int64_t n;
    if (gw_task_arg_i64(task, 0, &n) < 0)
        return GW_EINVAL;
    if (n == 0)
        return gw_task_fail(task, GW_EINVAL, "the bottom");
    struct gw_client *client = gw_task_client(task, why);
    GW_TASK_DECLARE(bottomless);
    if (!client || gw_submit(client, bottomless, NULL, GW_ARGS(gw_i64(n - 1)), &future, why) < 0)
        return why->code;
    int rc = gw_future_get(future, 0, &value, why);
    gw_future_release(future);
    return rc;
}
GW_TASK(bottomless);

/* Every rank of a gang submits a task of its own. */
static int ranks(struct gw_task *task)
{
    struct gw_error *why = gw_task_error(task);
    struct gw_future *future;
    struct gw_value *value;
    struct gw_client *client = gw_task_client(task, why);
    int64_t squared = 0;
    if (!client || gw_submit(client, square, NULL,
                             GW_ARGS(gw_i64(10 + (int64_t)gw_task_rank(task))), &future, why) < 0)
        return why->code;
    int rc = gw_future_get(future, 0, &value, why);
    gw_future_release(future);
    if (rc < 0)
        return rc;
    (void)gw_value_get_i64(value, &squared, NULL);
    gw_value_unref(value);
    return gw_task_return(task, gw_i64(squared));
}
GW_TASK(ranks);

/* -- Subjects ------------------------------------------------------------------------------------
 */

static struct gw_client *client;
static const char *fifo;

static void test_fib(void)
{
    struct gw_future *future;
    int rc = gw_submit(client, fib, NULL, GW_ARGS(gw_i64(9)), &future, &error);
    assert(rc == 0);
    assert(subject_i64(future, 0) == 34);
    gw_future_release(future);
}

static void test_many(void)
{
    struct gw_future *futures[3];
    for (int i = 0; i < 3; i++) {
        int rc =
            gw_submit(client, sum_squares, NULL, GW_ARGS(gw_i64(1000 + i)), &futures[i], &error);
        assert(rc == 0);
    }
    int64_t sum = 332833500; /* of the squares below 1000 */
    for (int64_t i = 0; i < 3; i++) {
        assert(subject_i64(futures[i], 0) == sum);
        sum += (1000 + i) * (1000 + i);
        gw_future_release(futures[i]);
    }
}

static void test_gang(void)
{
    struct gw_future *future;
    int rc = gw_dispatch(client, 2, ranks, NULL, GW_ARGS(), &future, &error);
    assert(rc == 0);
    assert(subject_i64(future, 0) == 100 && subject_i64(future, 1) == 121);
    gw_future_release(future);
}

/* Child tasks that are not awaited end with their parent. */
static void test_leaves(void)
{
    struct gw_future *future;
    int exit_code, rc = gw_submit(client, parent, NULL, GW_ARGS(gw_str(fifo), gw_bool(false)),
                                  &future, &error);
    assert(rc == 0);
    uint64_t child = (uint64_t)subject_i64(future, 0);
    rc = gw_job_wait(client, child, UINT64_MAX, &exit_code, &error);
    assert(rc == GW_ECANCELLED);
    gw_future_release(future);
}

/* A task that dies while it waits: the test kills it. */
static void test_killed(void)
{
    struct gw_future *future;
    struct gw_value *value;
    int rc = gw_submit(client, parent, NULL, GW_ARGS(gw_str(fifo), gw_bool(true)), &future, &error);
    assert(rc == 0);
    rc = gw_future_get(future, 0, &value, &error);
    assert(rc == GW_ECRASHED);
    gw_future_release(future);
}

static void test_limits(void)
{
    static const struct gw_task_options limit =
        GW_INIT(gw_task_options, .time_limit_ns = UINT64_C(300000000), .grace_ns = 1000000);
    struct gw_future *future;
    struct gw_value *value;
    int rc =
        gw_submit(client, parent, &limit, GW_ARGS(gw_str(fifo), gw_bool(true)), &future, &error);
    assert(rc == 0);
    rc = gw_future_get(future, 0, &value, &error);
    assert(rc == GW_ETIMEDOUT);
    gw_future_release(future);
}

/* A task that waits for itself or for a later task gets an error; other tasks of its job can be
 * awaited. */
static void test_cycle(void)
{
    struct gw_graph *graph = gw_graph_new();
    struct gw_future *futures[4];
    struct gw_value *value;
    gw_node self = gw_call(graph, wait_for, NULL, gw_i64(0));
    gw_node before = gw_call(graph, wait_for, NULL, gw_i64(2));
    gw_node between = gw_call(graph, square, NULL, gw_result(before));
    (void)gw_call(graph, square, NULL, gw_result(between));
    gw_node beside = gw_call(graph, wait_for, NULL, gw_i64(1));
    /* The task may end before it is looked up, so this future holds it. */
    gw_node last = gw_call(graph, square, NULL, gw_i64(5));
    const gw_node nodes[4] = {self, before, beside, last};
    int rc = gw_client_submit_many(client, graph, NULL, nodes, 4, futures, &error);
    assert(rc == 0);
    gw_graph_free(graph);
    assert(subject_i64(futures[2], 0) == 25);
    for (int i = 0; i < 2; i++) {
        rc = gw_future_get(futures[i], 0, &value, &error);
        assert(rc == GW_ETASK && strstr(error.text, "would never end"));
    }
    for (int i = 0; i < 4; i++)
        gw_future_release(futures[i]);
}

/* Deeper than tasks may wait inside each other. */
static void test_bottomless(void)
{
    struct gw_future *future;
    struct gw_value *value;
    int rc = gw_submit(client, bottomless, NULL, GW_ARGS(gw_i64(30)), &future, &error);
    assert(rc == 0);
    rc = gw_future_get(future, 0, &value, &error);
    assert(rc == GW_ETASK && strstr(error.text, "the bottom"));
    gw_future_release(future);
}

int main(int argc, char **argv)
{
    static const struct {
        const char *name;
        void (*run)(void);
        uint32_t slots, workers;
    } subjects[] = {
        {"fib", test_fib, 1, 1},
        {"fib2", test_fib, 4, 2},
        {"many", test_many, 1, 1},
        {"gang", test_gang, 2, 1},
        {"leaves", test_leaves, 1, 1},
        {"killed", test_killed, 1, 1},
        {"limits", test_limits, 1, 1},
        {"bottomless", test_bottomless, 1, 1},
        {"cycle", test_cycle, 1, 1},
        {"running", test_killed, 0, 0}, /* on a cluster started by the test */
    };
    gw_init(&argc, &argv);
    assert(argc == 3);
    fifo = argv[2];
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++) {
        if (strcmp(argv[1], subjects[i].name) != 0)
            continue;
        const struct gw_client_options options =
            GW_INIT(gw_client_options, .slots = subjects[i].slots, .workers = subjects[i].workers);
        if (gw_client_open(&options, &client, &error) < 0)
            gw_error_exit(&error);
        subjects[i].run();
        gw_client_close(client);
        printf("%s: well\n", argv[1]);
        return 0;
    }
    return 2;
}
