/* Ranges, streams, and job dependencies on a real cluster. `ranges WHAT`; prints "ok", or the
 * requested figures. */
#include "tests/e2e/programs/check.h"

#include <gangway/gangway.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

enum { MANY = 20000, HUGE_RANGE = 100000000 };

static struct gw_client *client;

/* (i, terms...): their sum. */
static int sum(struct gw_task *task)
{
    int64_t total = 0, term;
    for (uint32_t k = 0; k < gw_task_arg_count(task); k++) {
        if (gw_task_arg_i64(task, k, &term) < 0)
            return GW_EINVAL;
        total += term;
    }
    return gw_task_return(task, gw_i64(total));
}
GW_TASK(sum);

/* (i): fails for every tenth number. */
static int picky(struct gw_task *task)
{
    int64_t i;
    if (gw_task_arg_i64(task, 0, &i) < 0)
        return GW_EINVAL;
    return i % 10 == 3 ? gw_task_fail(task, GW_EIO, "does not like %lld", (long long)i)
                       : gw_task_return(task, gw_i64(i));
}
GW_TASK(picky);

/* (i): 100,000 bytes. */
static int large(struct gw_task *task)
{
    static char data[100000];
    int64_t i;
    if (gw_task_arg_i64(task, 0, &i) < 0)
        return GW_EINVAL;
    memset(data, (int)i, sizeof data);
    return gw_task_return(task, gw_bytes(data, sizeof data));
}
GW_TASK(large);

/* Blocks until a line is written to the fifo named by this argument. */
static int read_fifo(struct gw_task *task, uint32_t argument)
{
    const char *path;
    char byte;
    if (gw_task_arg_str(task, argument, &path) < 0)
        return GW_EINVAL;
    FILE *fifo = fopen(path, "r");
    if (!fifo || fread(&byte, 1, 1, fifo) != 1)
        return gw_task_fail(task, GW_EIO, "cannot read %s", path);
    fclose(fifo);
    return gw_task_return(task, gw_i64(1));
}

/* (path) */
static int block(struct gw_task *task)
{
    return read_fifo(task, 0);
}
GW_TASK(block);

/* (i, path) */
static int block_at(struct gw_task *task)
{
    return read_fifo(task, 1);
}
GW_TASK(block_at);

/* Takes all results of a run, each number once; returns how many failed. */
static size_t take_all(struct gw_range_run *run, int64_t begin, int64_t step, int64_t add)
{
    struct gw_range_result result;
    size_t failed = 0, taken = 0;
    unsigned char *seen = calloc(gw_range_count(run), 1);
    int rc;
    while ((rc = gw_range_next(run, UINT64_MAX, &result, &error)) == 0) {
        int64_t value = 0;
        CHECK(result.number == begin + (int64_t)result.index * step && !seen[result.index]);
        seen[result.index] = 1;
        taken++;
        if (result.error.code < 0) {
            failed++;
            continue;
        }
        CHECK(gw_value_get_i64(result.value, &value, &error) == 0);
        CHECK(value == result.number + add);
        gw_value_unref(result.value);
    }
    CHECK(rc == GW_ENOENT && taken == gw_range_count(run));
    free(seen);
    return failed;
}

static void results(void)
{
    struct gw_future *input, *scattered;
    struct gw_range_run *run;
    struct gw_value *three = gw_i64(3);
    CHECK(gw_submit(client, sum, NULL, GW_ARGS(gw_i64(1000)), &input, &error) == 0);
    CHECK(gw_scatter(client, three, &scattered, &error) == 0);
    struct gw_future *const inputs[] = {input, scattered};
    const struct gw_range range =
        GW_INIT(gw_range, .function = GW_FUNCTION(sum), .begin = -5, .end = -5 + MANY * 3,
                .step = 3, .arguments = &three, .argument_count = 1, .inputs = inputs,
                .input_count = 2, .ahead = 1000);
    CHECK(gw_map_range(client, &range, &run, &error) == 0);
    gw_future_release(input); /* the range holds the input as long as it needs it */
    gw_future_release(scattered);
    CHECK(take_all(run, -5, 3, 1006) == 0);
    CHECK(gw_range_wait(run, UINT64_MAX, &error) == 0);
    gw_range_close(run);
    gw_value_unref(three);

    struct gw_range_result result;
    CHECK(gw_map_range(client, GW_RANGE(.function = GW_FUNCTION(large), .end = 30), &run, &error) ==
          0);
    for (int i = 0; i < 30; i++) {
        const void *data;
        size_t bytes;
        CHECK(gw_range_next(run, UINT64_MAX, &result, &error) == 0 && result.error.code == 0);
        CHECK(gw_value_get_bytes(result.value, &data, &bytes, &error) == 0 && bytes == 100000);
        CHECK(((const char *)data)[99999] == (char)result.number);
        gw_value_unref(result.value);
    }
    gw_range_close(run);
}

static void failures(void)
{
    struct gw_range_run *run;
    struct gw_range range = GW_INIT(gw_range, .function = GW_FUNCTION(picky), .end = 1000);
    CHECK(gw_map_range(client, &range, &run, &error) == 0);
    CHECK(take_all(run, 0, 1, 0) == 100);
    CHECK(gw_range_wait(run, UINT64_MAX, &error) == GW_ETASK);
    CHECK(strstr(error.text, "does not like"));
    gw_range_close(run);

    range.options = GW_OPTIONS(.pure = true);
    CHECK(gw_map_range(client, &range, &run, &error) == GW_EINVAL);
    CHECK(strstr(error.text, "pure"));
    range.options = NULL;
    range.stop_at_failure = range.discard_results = true;
    range.end = 1000000;
    range.limit = 1;
    CHECK(gw_map_range(client, &range, &run, &error) == 0);
    CHECK(gw_range_wait(run, UINT64_MAX, &error) == GW_ETASK);
    CHECK(strstr(error.text, "does not like 3"));
    struct gw_range_result result;
    CHECK(gw_range_next(run, 0, &result, &error) == GW_EINVAL);
    gw_range_close(run);

    /* A failing input fails the whole range at once. */
    struct gw_future *bad;
    CHECK(gw_submit(client, picky, NULL, GW_ARGS(gw_i64(3)), &bad, &error) == 0);
    range.inputs = &bad;
    range.input_count = 1;
    range.stop_at_failure = false;
    range.limit = 0;
    CHECK(gw_map_range(client, &range, &run, &error) == 0);
    CHECK(gw_range_wait(run, UINT64_MAX, &error) < 0);
    gw_range_close(run);
    gw_future_release(bad);

    CHECK(gw_map_range(client, GW_RANGE(.function = GW_FUNCTION(sum)), &run, &error) == GW_EINVAL);
    CHECK(gw_map_range(client, GW_RANGE(.function = GW_FUNCTION(sum), .end = INT64_MAX), &run,
                       &error) == GW_ELIMIT);
}

/* Behaviour that is the same inline and on a cluster. */
static void alike(void)
{
    struct gw_range_run *run;
    struct gw_range_result result;
    struct gw_range range = GW_INIT(gw_range, .function = GW_FUNCTION(picky), .end = 20);
    CHECK(gw_map_range(client, &range, &run, &error) == 0);
    for (int i = 0; i < 20; i++) {
        CHECK(gw_range_next(run, UINT64_MAX, &result, &error) == 0);
        gw_value_unref(result.value);
    }
    CHECK(gw_range_next(run, UINT64_MAX, &result, &error) == GW_ENOENT);
    CHECK(gw_range_wait(run, UINT64_MAX, &error) == GW_ETASK); /* all results were taken before */
    CHECK(strstr(error.text, "does not like"));
    gw_range_close(run);

    range.stop_at_failure = true;
    range.limit = 1;
    range.end = 1000000;
    CHECK(gw_map_range(client, &range, &run, &error) == 0);
    CHECK(gw_range_wait(run, UINT64_MAX, &error) == GW_ETASK);
    CHECK(strstr(error.text, "does not like 3"));
    gw_range_close(run);

    /* Three numbers with the largest possible distances. */
    static const int64_t numbers[] = {INT64_MIN, -1, INT64_MAX - 1};
    range = (struct gw_range)GW_INIT(gw_range, .function = GW_FUNCTION(picky), .begin = INT64_MIN,
                                     .end = INT64_MAX, .step = INT64_MAX);
    CHECK(gw_map_range(client, &range, &run, &error) == 0);
    CHECK(gw_range_count(run) == 3);
    for (int i = 0; i < 3; i++) {
        int64_t number;
        CHECK(gw_range_next(run, UINT64_MAX, &result, &error) == 0);
        CHECK(gw_value_get_i64(result.value, &number, &error) == 0);
        CHECK(number == numbers[result.index] && result.number == number);
        gw_value_unref(result.value);
    }
    gw_range_close(run);
}

/* If the client takes nothing, the range stops at `ahead`; closing the range ends it. */
static void flow(void)
{
    struct gw_range_run *run;
    struct gw_range_result result;
    const struct gw_range range =
        GW_INIT(gw_range, .function = GW_FUNCTION(sum), .end = HUGE_RANGE, .ahead = 500);
    CHECK(gw_map_range(client, &range, &run, &error) == 0);
    for (int i = 0; i < 2000; i++) {
        CHECK(gw_range_next(run, UINT64_MAX, &result, &error) == 0 && result.index < 2600);
        gw_value_unref(result.value);
    }
    struct gw_value *arguments = gw_dict(), *job;
    int64_t done;
    CHECK(gw_dict_set(arguments, "job", gw_i64((int64_t)gw_range_job(run))) == 0);
    CHECK(gw_client_query(client, "job", arguments, &job, &error) == 0);
    CHECK(gw_value_get_i64(gw_value_find(job, "done"), &done, &error) == 0 && done <= 2500);
    gw_value_unref(job);
    gw_value_unref(arguments);
    CHECK(gw_range_next(run, 0, &result, &error) == 0 || error.code == GW_ETIMEDOUT);
    if (error.code != GW_ETIMEDOUT)
        gw_value_unref(result.value);
    gw_range_close(run);
}

/* Running tasks are ended, no more tasks begin, and the rest is reported at once. */
static void cancelled(const char *fifo)
{
    struct gw_value *path = gw_str(fifo);
    struct gw_range_run *run;
    struct gw_range_result result;
    const struct gw_range range =
        GW_INIT(gw_range, .function = GW_FUNCTION(block_at), .end = HUGE_RANGE, .arguments = &path,
                .argument_count = 1);
    CHECK(gw_map_range(client, &range, &run, &error) == 0);
    FILE *file = fopen(fifo, "w"); /* after the first task has begun */
    CHECK(file && gw_range_cancel(run, false, &error) == 0);
    uint32_t taken = 0;
    int rc;
    while ((rc = gw_range_next(run, UINT64_MAX, &result, &error)) == 0) {
        CHECK(result.error.code == GW_ECANCELLED && !result.value);
        taken++;
    }
    CHECK(rc == GW_ENOENT && taken < HUGE_RANGE / 2);
    CHECK(gw_range_wait(run, UINT64_MAX, &error) == GW_ECANCELLED);
    CHECK(gw_range_cancel(run, true, &error) == 0); /* cancelling again is no error */
    gw_range_close(run);
    fclose(file);
    gw_value_unref(path);
}

/* The memory of a range of 10^8 before its tasks run: prints it for both ends, in KiB. */
static long resident_kib(int64_t pid)
{
    char path[64], line[256];
    long kib = -1;
    snprintf(path, sizeof path, "/proc/%lld/status", (long long)pid);
    FILE *status = fopen(path, "r");
    while (status && fgets(line, sizeof line, status))
        if (sscanf(line, "VmRSS: %ld", &kib) == 1)
            break;
    if (status)
        fclose(status);
    return kib;
}

static void memory(const char *pid, const char *count, const char *go)
{
    struct gw_range_run *run;
    long client_before = resident_kib(getpid()), before = resident_kib(atoll(pid));
    const struct gw_range range = GW_INIT(
        gw_range, .function = GW_FUNCTION(sum), .end = atoll(count),
        .discard_results = strcmp(go, "discard") == 0, .limit = strcmp(go, "hold") == 0 ? 1 : 0);
    CHECK(gw_map_range(client, &range, &run, &error) == 0);
    if (strcmp(go, "discard") == 0)
        CHECK(gw_range_wait(run, UINT64_MAX, &error) == 0);
    if (strcmp(go, "take") == 0)
        CHECK(take_all(run, 0, 1, 0) == 0);
    printf("scheduler %+ld KiB, client %+ld KiB\n", resident_kib(atoll(pid)) - before,
           resident_kib(getpid()) - client_before);
    gw_range_close(run);
}

/* The first tasks of a stream end before its last ones are made; each graph takes a result of the
 * graph before it; a graph that the scheduler refuses ends the stream. */
static void stream(const char *fifo)
{
    struct gw_stream *of;
    struct gw_future *last = NULL, *next;
    int64_t total = 0;
    CHECK(gw_stream_open(client, NULL, &of, &error) == 0);
    for (int i = 0; i < 50; i++) {
        struct gw_graph *graph = gw_graph_new();
        gw_node a = gw_call(graph, sum, NULL, gw_i64(i));
        gw_node b = last ? gw_call(graph, sum, NULL, gw_result(a), gw_result_future(graph, last))
                         : gw_call(graph, sum, NULL, gw_result(a));
        CHECK(gw_stream_add(of, graph, &b, 1, &next, &error) == 0);
        gw_graph_free(graph);
        if (i == 10) { /* the stream runs already */
            struct gw_value *value;
            CHECK(gw_future_get(next, 0, &value, &error) == 0);
            gw_value_unref(value);
        }
        gw_future_release(last);
        last = next;
        total += i;
    }
    CHECK(gw_stream_count(of) == 100 && gw_stream_job(of) == gw_future_job(last));
    CHECK(gw_stream_close(of, &error) == 0);
    struct gw_value *value;
    int64_t got;
    CHECK(gw_future_get(last, 0, &value, &error) == 0);
    CHECK(gw_value_get_i64(value, &got, &error) == 0 && got == total);
    gw_value_unref(value);
    gw_future_release(last);

    /* A graph that is too large: earlier tasks are ended, too, although they block. */
    struct gw_graph *good = gw_graph_new(), *bad = gw_graph_new();
    gw_node node = gw_call(good, block, NULL, gw_str(fifo));
    gw_node never = gw_call(bad, sum, GW_OPTIONS(.memory_bytes = UINT64_MAX / 2), gw_i64(1));
    CHECK(gw_stream_open(client, GW_SUBMIT_OPTIONS(.name = "doomed"), &of, &error) == 0);
    CHECK(gw_stream_add(of, good, &node, 1, &next, &error) == 0);
    int rc = gw_stream_add(of, bad, &never, 1, &last, &error);
    if (rc == 0)
        gw_future_release(last); /* the refusal was still on its way */
    CHECK(gw_stream_close(of, &error) == GW_EINFEASIBLE);
    CHECK(gw_future_get(next, 0, &value, NULL) < 0);
    gw_future_release(next);
    gw_graph_free(good);
    gw_graph_free(bad);
}

static void after(const char *fifo)
{
    struct gw_future *before, *then;
    CHECK(gw_submit(client, block, NULL, GW_ARGS(gw_str(fifo)), &before, &error) == 0);
    uint64_t job = gw_future_job(before);
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_call(graph, sum, NULL, gw_i64(1));
    const struct gw_submit_options options =
        GW_INIT(gw_submit_options, .after = &job, .after_count = 1);
    CHECK(gw_client_submit_many(client, graph, &options, &node, 1, &then, &error) == 0);
    CHECK(gw_future_wait(then, 50000000) == GW_ETIMEDOUT);
    FILE *to = fopen(fifo, "w");
    CHECK(to && fputc('x', to) == 'x' && fclose(to) == 0);
    CHECK(gw_future_wait(then, UINT64_MAX) == 0 && gw_future_state(then) == GW_DONE);
    gw_future_release(before);
    gw_future_release(then);
    gw_graph_free(graph);

    CHECK(gw_submit(client, picky, NULL, GW_ARGS(gw_i64(3)), &before, &error) == 0);
    CHECK(gw_future_wait(before, UINT64_MAX) == 0);
    job = gw_future_job(before);
    graph = gw_graph_new();
    node = gw_call(graph, sum, NULL, gw_i64(1));
    CHECK(gw_client_submit_many(client, graph, &options, &node, 1, &then, &error) ==
          GW_EDEPENDENCY);
    const struct gw_submit_options any =
        GW_INIT(gw_submit_options, .after = &job, .after_count = 1, .after_any = true);
    CHECK(gw_client_submit_many(client, graph, &any, &node, 1, &then, &error) == 0);
    CHECK(gw_future_wait(then, UINT64_MAX) == 0 && gw_future_state(then) == GW_DONE);
    gw_future_release(then);
    gw_future_release(before);
    gw_graph_free(graph);
}

/* A pending future of one session is an input in another session's graph; futures are released in
 * any order, all of them before the task ends. */
static void sessions(const char *fifo)
{
    for (int order = 0; order < 2; order++) {
        struct gw_client *other;
        struct gw_future *own, *found, *last;
        struct gw_value *value;
        int64_t got;
        CHECK(gw_client_open(NULL, &other, &error) == 0);
        CHECK(gw_submit(client, block, NULL, GW_ARGS(gw_str(fifo)), &own, &error) == 0);
        CHECK(gw_client_task(other, gw_future_job(own), gw_future_index(own), &found, &error) == 0);
        struct gw_graph *graph = gw_graph_new();
        gw_node node = gw_call(graph, sum, NULL, gw_i64(41), gw_result_future(graph, found));
        CHECK(gw_client_submit(other, graph, node, &last, &error) == 0);
        gw_graph_free(graph);
        gw_future_release(order ? own : found);
        gw_future_release(order ? found : own);
        FILE *to = fopen(fifo, "w");
        CHECK(to && fputc('x', to) == 'x' && fclose(to) == 0);
        CHECK(gw_future_get(last, 0, &value, &error) == 0);
        CHECK(gw_value_get_i64(value, &got, &error) == 0 && got == 42);
        gw_value_unref(value);
        gw_future_release(last);
        gw_client_close(other);
    }
}

/* In the child of a fork, a range and a stream of the parent end at once and lose nothing there. */
static void forked(const char *fifo)
{
    struct gw_value *path = gw_str(fifo);
    struct gw_range_run *run, *pending;
    struct gw_range_result result;
    struct gw_stream *stream;
    struct gw_graph *graph = gw_graph_new();
    struct gw_range range = GW_INIT(gw_range, .function = GW_FUNCTION(sum), .end = 10);
    int status;
    CHECK(gw_map_range(client, &range, &run, &error) == 0);
    CHECK(gw_range_wait(run, GW_FOREVER, &error) == 0); /* ten results are queued here */
    range = (struct gw_range)GW_INIT(gw_range, .function = GW_FUNCTION(block_at), .end = 1,
                                     .arguments = &path, .argument_count = 1);
    CHECK(gw_map_range(client, &range, &pending, &error) == 0);
    (void)gw_call(graph, sum, NULL, gw_i64(1));
    CHECK(gw_stream_open(client, NULL, &stream, &error) == 0);
    CHECK(gw_stream_add(stream, graph, NULL, 0, NULL, &error) == 0);
    pid_t pid = fork();
    if (pid == 0) {
        alarm(60);
        CHECK(gw_range_wait(pending, GW_FOREVER, &error) == GW_ECLOSED);
        while (gw_range_next(run, GW_FOREVER, &result, &error) == 0)
            gw_value_unref(result.value);
        gw_range_close(run);
        gw_range_close(pending);
        CHECK(gw_stream_close(stream, &error) == GW_ECLOSED);
        _exit(0);
    }
    CHECK(waitpid(pid, &status, 0) == pid && status == 0);
    FILE *to = fopen(fifo, "w");
    CHECK(to && fputc('x', to) == 'x' && fclose(to) == 0);
    CHECK(gw_range_wait(pending, GW_FOREVER, &error) == 0);
    for (int i = 0; i < 10; i++) {
        CHECK(gw_range_next(run, GW_FOREVER, &result, &error) == 0);
        gw_value_unref(result.value);
    }
    gw_range_close(run);
    gw_range_close(pending);
    CHECK(gw_stream_close(stream, &error) == 0);
    gw_graph_free(graph);
    gw_value_unref(path);
}

/* gw_map with results of earlier tasks as arguments, including pending ones. */
struct refs {
    struct gw_graph *graph;
    struct gw_future *first, *second;
};

static int make_refs(size_t i, struct gw_value **args, void *arg)
{
    const struct refs *refs = arg;
    args[0] = gw_i64((int64_t)i);
    args[1] = gw_result_future(refs->graph, i % 2 ? refs->first : refs->second);
    return 0;
}

static void map_refs(void)
{
    struct refs refs = {.graph = gw_graph_new()};
    struct gw_future *futures[100];
    struct gw_value *seven = gw_i64(7), *value;
    CHECK(gw_submit(client, sum, NULL, GW_ARGS(gw_i64(1000)), &refs.first, &error) == 0);
    CHECK(gw_scatter(client, seven, &refs.second, &error) == 0);
    struct gw_map_call call = GW_INIT(gw_map_call, .function = GW_FUNCTION(sum), .count = 100,
                                      .arg_count = 2, .make_args = make_refs, .arg = &refs);
    CHECK(gw_map(client, &call, futures, &error) == GW_EINVAL && strstr(error.text, "the graph"));
    call.graph = refs.graph;
    CHECK(gw_map(client, &call, futures, &error) == 0);
    gw_future_release(refs.first);
    gw_future_release(refs.second);
    for (int64_t i = 0; i < 100; i++) {
        int64_t got;
        CHECK(gw_future_get(futures[i], 0, &value, &error) == 0);
        CHECK(gw_value_get_i64(value, &got, &error) == 0 && got == i + (i % 2 ? 1000 : 7));
        gw_value_unref(value);
        gw_future_release(futures[i]);
    }
    gw_value_unref(seven);
    gw_graph_free(refs.graph);
}

/* Leaves a stream without futures behind, one task of which waits for a fifo. */
static void left_behind(const char *fifo)
{
    struct gw_stream *stream;
    struct gw_graph *graph = gw_graph_new();
    (void)gw_call(graph, block_at, NULL, gw_i64(0), gw_str(fifo));
    CHECK(gw_stream_open(client, NULL, &stream, &error) == 0);
    CHECK(gw_stream_add(stream, graph, NULL, 0, NULL, &error) == 0);
    CHECK(gw_stream_close(stream, &error) == 0);
    gw_graph_free(graph);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    const char *what = argc > 1 ? argv[1] : "", *with = argc > 2 ? argv[2] : "";
    CHECK(gw_client_open(NULL, &client, &error) == 0);
    if (strcmp(what, "results") == 0)
        results();
    else if (strcmp(what, "failures") == 0)
        failures();
    else if (strcmp(what, "alike") == 0)
        alike();
    else if (strcmp(what, "flow") == 0)
        flow();
    else if (strcmp(what, "memory") == 0 && argc == 5)
        memory(with, argv[3], argv[4]);
    else if (strcmp(what, "stream") == 0)
        stream(with);
    else if (strcmp(what, "after") == 0)
        after(with);
    else if (strcmp(what, "sessions") == 0)
        sessions(with);
    else if (strcmp(what, "cancelled") == 0)
        cancelled(with);
    else if (strcmp(what, "left_behind") == 0)
        left_behind(with);
    else if (strcmp(what, "forked") == 0)
        forked(with);
    else if (strcmp(what, "map") == 0)
        map_refs();
    else
        return 2;
    gw_client_close(client);
    puts("ok");
    return 0;
}
