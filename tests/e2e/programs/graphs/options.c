/* Options of task functions, on a private cluster; each subject is a function with asserts.
 * Argument: the subject. */
#include <gangway/gangway.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define MS UINT64_C(1000000)
#define LIMIT_NS (2000 * MS) /* for continuous activity; machines stand still for less */
#define GOES_ON_MS 3000

static struct gw_client *client;
static struct gw_error error;
#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) < 0)                                                                            \
            gw_error_exit(&error);                                                                 \
    } while (0)

static uint64_t now_ns(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000 * MS + (uint64_t)now.tv_nsec;
}

/* -- Task functions ------------------------------------------------------------------------------
 */

/* Works for this many milliseconds, and reports progress or not. */
static int work(struct gw_task *task)
{
    int64_t ms;
    const char *how;
    if (gw_task_arg_i64(task, 0, &ms) < 0 || gw_task_arg_str(task, 1, &how) < 0)
        return GW_EINVAL;
    uint64_t start_ns = now_ns(), for_ns = (uint64_t)ms * MS;
    while (now_ns() - start_ns < for_ns) {
        int rc = 0;
        double part = (double)(now_ns() - start_ns) / (double)for_ns;
        if (strcmp(how, "progress") == 0)
            rc = gw_task_progress(task, part < 1 ? part : 1, "working");
        if (rc != 0)
            return rc;
    }
    if (strcmp(how, "progress") == 0)
        (void)gw_task_progress(task, 1, "all of it");
    return gw_task_return(task, gw_bool(true));
}
GW_TASK(work);

static int wrong_progress(struct gw_task *task)
{
    return gw_task_progress(task, 1.5, NULL);
}
GW_TASK(wrong_progress);

static int third_time(struct gw_task *task)
{
    if (gw_task_try(task) < 2)
        return gw_task_fail(task, GW_EIO, "not yet");
    return gw_task_return(task, gw_i64(gw_task_try(task)));
}
GW_TASK(third_time);

/* -- Subjects ------------------------------------------------------------------------------------
 */

static void subject_silence(void)
{
    struct gw_future *future;
    struct gw_value *value;
    MUST(gw_submit(client, work, GW_OPTIONS(.inactivity_timeout_ns = 300 * MS),
                   GW_ARGS(gw_i64(60000), gw_str("silent")), &future, &error));
    assert(gw_future_get(future, 0, &value, &error) == GW_ETIMEDOUT);
    assert(strstr(error.text, "inactivity timeout of 300ms"));
    gw_future_release(future);
}

static void subject_progress(void)
{
    struct gw_future *future;
    struct gw_value *value, *answer, *filter = gw_dict();
    MUST(gw_submit(client, work,
                   GW_OPTIONS(.inactivity_timeout_ns = LIMIT_NS, .annotations = "team=north,run=7"),
                   GW_ARGS(gw_i64(GOES_ON_MS), gw_str("progress")), &future, &error));
    MUST(gw_future_get(future, 0, &value, &error));
    gw_value_unref(value);
    assert(gw_dict_set(filter, "job", gw_i64((int64_t)gw_future_job(future))) == 0);
    MUST(gw_client_query(client, "job", filter, &answer, &error));
    const char *text;
    assert(gw_value_get_str(gw_value_find(gw_value_find(answer, "progress"), "shown"), &text,
                            &error) == 0);
    assert(strcmp(text, "100% all of it") == 0);
    assert(gw_value_get_str(gw_value_find(gw_value_find(answer, "annotations"), "team"), &text,
                            &error) == 0);
    assert(strcmp(text, "north") == 0);
    gw_value_unref(answer);
    gw_value_unref(filter);
    gw_future_release(future);
    MUST(gw_submit(client, wrong_progress, NULL, GW_ARGS(), &future, &error));
    assert(gw_future_get(future, 0, &value, &error) == GW_ETASK);
    assert(strstr(error.text, "must be from 0 to 1"));
    gw_future_release(future);
}

/* Rank 0 decides when to stop; every rank makes steps, but only rank 0 reports. */
static int march(struct gw_task *task)
{
    uint64_t start_ns = now_ns();
    int rc = GW_CONTINUE;
    for (int64_t step = 0; rc == GW_CONTINUE; step++) {
        int64_t over = now_ns() - start_ns > GOES_ON_MS * MS;
        rc = gw_comm_broadcast(
            gw_task_comm(task),
            GW_COMM_ARGS(.recv = &over, .count = 1, .dtype = GW_DTYPE_I64, .root = 0),
            gw_task_error(task));
        if (rc == 0 && over)
            return gw_task_return(task, gw_bool(true));
        if (rc == 0)
            rc = gw_task_step(task, step, NULL, 0);
    }
    return rc;
}
GW_TASK(march);

/* Makes steps until it is told to stop, and returns the step. */
static int count_steps(struct gw_task *task)
{
    int64_t step = 1;
    int rc = GW_CONTINUE;
    while ((rc = gw_task_step(task, step, "loss", 1.0 / (double)step)) == GW_CONTINUE)
        step++;
    return rc == GW_STOP ? gw_task_return(task, gw_i64(step)) : rc;
}
GW_TASK(count_steps);

/* All ranks of a gang stop at the same step. */
static void subject_until(void)
{
    struct gw_future *future;
    struct gw_value *value;
    int64_t step;
    struct gw_graph *graph = gw_graph_new();
    gw_node gang = gw_call(graph, count_steps, GW_GANG(.ranks = 2, .until_step = 4));
    MUST(gw_client_submit(client, graph, gang, &future, &error));
    for (uint32_t rank = 0; rank < 2; rank++) {
        MUST(gw_future_get(future, rank, &value, &error));
        MUST(gw_value_get_i64(value, &step, &error));
        assert(step == 4);
        gw_value_unref(value);
    }
    gw_future_release(future);
    gw_graph_free(graph);
    assert(gw_submit(client, count_steps, GW_OPTIONS(.metrics = "loss"), GW_ARGS(), &future,
                     &error) == GW_EINVAL);
    assert(strstr(error.text, "only be set for commands"));
}

static void subject_steps(void)
{
    struct gw_future *future;
    struct gw_value *value;
    struct gw_graph *graph = gw_graph_new();
    gw_node gang = gw_call(graph, march, GW_GANG(.ranks = 2, .inactivity_timeout_ns = LIMIT_NS));
    MUST(gw_client_submit(client, graph, gang, &future, &error));
    MUST(gw_future_get(future, 1, &value, &error));
    gw_value_unref(value);
    gw_future_release(future);
    gw_graph_free(graph);
}

/* On a cluster and inside this process. */
static void subject_tries(void)
{
    const char *const files[] = {"/no/such/file", NULL};
    struct gw_future *future;
    struct gw_value *value;
    int64_t tries;
    uint64_t start_ns = now_ns();
    MUST(gw_submit(client, third_time, GW_OPTIONS(.retries = 2, .backoff_ns = 20 * MS), GW_ARGS(),
                   &future, &error));
    MUST(gw_future_get(future, 0, &value, &error));
    MUST(gw_value_get_i64(value, &tries, &error));
    assert(tries == 2 && now_ns() - start_ns >= 60 * MS);
    gw_value_unref(value);
    gw_future_release(future);
    int rc = gw_submit(client, third_time, GW_OPTIONS(.files = files), GW_ARGS(), &future, &error);
    assert(rc == GW_ENOENT);
    assert(gw_submit(client, third_time, GW_OPTIONS(.resources = "a"), GW_ARGS(), &future,
                     &error) == GW_EINVAL);
    rc = gw_submit(client, third_time, GW_OPTIONS(.workers = "nobody"), GW_ARGS(), &future, &error);
    assert(rc == (getenv("GANGWAY_INLINE") ? GW_ENOTSUP : GW_ENOENT));
}

/* A function without a slot runs although another one uses all slots. */
static void subject_slotless(void)
{
    struct gw_future *busy, *future;
    struct gw_value *value;
    MUST(gw_submit(client, work, GW_OPTIONS(.slots = 2), GW_ARGS(gw_i64(600000), gw_str("long")),
                   &busy, &error));
    MUST(gw_submit(client, work, GW_OPTIONS(.slots = GW_NONE), GW_ARGS(gw_i64(1), gw_str("short")),
                   &future, &error));
    MUST(gw_future_get(future, 0, &value, &error));
    gw_value_unref(value);
    gw_future_release(future);
    gw_future_release(busy);
    assert(gw_submit(client, work, GW_OPTIONS(.slots = GW_NONE, .gpu = {.count = 1}), GW_ARGS(),
                     &future, &error) == GW_EINVAL);
    assert(strstr(error.text, "without a slot"));
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    static const struct {
        const char *name;
        void (*run)(void);
    } subjects[] = {
        {"silence", subject_silence}, {"progress", subject_progress},
        {"steps", subject_steps},     {"until", subject_until},
        {"tries", subject_tries},     {"slotless", subject_slotless},
    };
    assert(argc == 2);
    MUST(gw_client_open(GW_CLIENT_OPTIONS(.slots = 2), &client, &error));
    for (size_t i = 0; i < sizeof subjects / sizeof *subjects; i++)
        if (strcmp(subjects[i].name, argv[1]) == 0)
            subjects[i].run();
    gw_client_close(client);
    (void)printf("%s: well\n", argv[1]);
    return 0;
}
