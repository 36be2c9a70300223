/* Results held by several clients of a user, on a running cluster; each subject is a function with
 * asserts. Arguments: the subject, and a fifo or file of its own. */
#include "tests/e2e/programs/check.h"
#include "tests/e2e/programs/subject.h"

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { LARGE = 1 << 20 };

static struct gw_client *first, *second;

/* -- Task functions ------------------------------------------------------------------------------
 */

/* Returns bytes of this size, all of one letter, and appends a line to a file. */
static int fill(struct gw_task *task)
{
    int64_t bytes, letter;
    const char *path;
    if (gw_task_arg_i64(task, 0, &bytes) < 0 || gw_task_arg_i64(task, 1, &letter) < 0 ||
        gw_task_arg_str(task, 2, &path) < 0)
        return GW_EINVAL;
    FILE *file = fopen(path, "a");
    if (!file)
        return gw_task_fail(task, GW_EIO, "cannot write %s", path);
    (void)fputs("ran\n", file);
    (void)fclose(file);
    char *data = malloc((size_t)bytes);
    if (!data)
        return GW_ENOMEM;
    memset(data, (int)letter, (size_t)bytes);
    int rc = gw_task_return(task, gw_bytes(data, (size_t)bytes));
    free(data);
    return rc;
}
GW_TASK(fill);

static int count_bytes(struct gw_task *task)
{
    int64_t sum = 0;
    for (uint32_t i = 0; i < gw_task_arg_count(task); i++) {
        const void *data;
        size_t bytes;
        if (gw_task_arg_bytes(task, i, &data, &bytes) < 0)
            return GW_EINVAL;
        sum += (int64_t)bytes;
    }
    return gw_task_return(task, gw_i64(sum));
}
GW_TASK(count_bytes);

/* Ends when a line was written to the fifo. */
static int gate(struct gw_task *task)
{
    const char *path;
    char line[16] = "";
    if (gw_task_arg_str(task, 0, &path) < 0)
        return GW_EINVAL;
    subject_hear(path, line, sizeof line);
    return gw_task_return(task, gw_str(line));
}
GW_TASK(gate);

/* Examines as many texts as it is given. */
static int count_texts(struct gw_task *task)
{
    const char *text;
    for (uint32_t i = 0; i < gw_task_arg_count(task); i++)
        if (gw_task_arg_str(task, i, &text) < 0)
            return GW_EINVAL;
    return gw_task_return(task, gw_str("all"));
}
GW_TASK(count_texts);

/* -- Helpers -------------------------------------------------------------------------------------
 */

static void check_filled(struct gw_future *future, size_t wanted, int letter)
{
    struct gw_value *value;
    const void *data;
    size_t bytes;
    MUST(gw_future_get(future, 0, &value, &error));
    MUST(gw_value_get_bytes(value, &data, &bytes, &error));
    assert(bytes == wanted);
    for (size_t i = 0; i < bytes; i++)
        assert(((const char *)data)[i] == letter);
    gw_value_unref(value);
}

static void check_text(struct gw_future *future, const char *wanted)
{
    struct gw_value *value;
    const char *text;
    MUST(gw_future_get(future, 0, &value, &error));
    MUST(gw_value_get_str(value, &text, &error));
    assert(strcmp(text, wanted) == 0);
    gw_value_unref(value);
}

/* -- Subjects ------------------------------------------------------------------------------------
 */

static void subject_names(const char *path)
{
    struct gw_graph *graph = gw_graph_new();
    gw_node nodes[2] = {
        gw_call(graph, fill, GW_OPTIONS(.name = "left"), gw_i64(100), gw_i64('l'), gw_str(path)),
        gw_call(graph, fill, GW_OPTIONS(.name = "right"), gw_i64(LARGE), gw_i64('r'), gw_str(path)),
    };
    struct gw_future *own[2], *left, *right, *none;
    MUST(gw_client_submit_many(first, graph, NULL, nodes, 2, own, &error));
    gw_graph_free(graph);

    char name[64];
    (void)snprintf(name, sizeof name, "%llu/left", (unsigned long long)gw_future_job(own[0]));
    MUST(gw_client_lookup(second, name, &left, &error));
    MUST(gw_client_lookup(second, "right", &right, &error));
    assert(gw_future_job(right) == gw_future_job(own[1]) && gw_future_index(right) == 1);
    assert(gw_client_lookup(second, "middle", &none, &error) == GW_ENOENT);
    assert(strstr(error.text, "middle"));

    /* The first of two holders releases the result: the other one still has it, also as an input.
     */
    gw_future_release(own[0]);
    gw_future_release(own[1]);
    check_filled(left, 100, 'l');
    check_filled(right, LARGE, 'r');
    graph = gw_graph_new();
    struct gw_future *sum;
    struct gw_value *value;
    int64_t bytes;
    gw_node node = gw_call(graph, count_bytes, NULL, gw_result_future(graph, left),
                           gw_result_future(graph, right));
    MUST(gw_client_submit(second, graph, node, &sum, &error));
    gw_graph_free(graph);
    MUST(gw_future_get(sum, 0, &value, &error));
    MUST(gw_value_get_i64(value, &bytes, &error));
    assert(bytes == 100 + LARGE);
    gw_value_unref(value);
    gw_future_release(sum);

    /* The last holder releases the result: it is gone. */
    (void)snprintf(name, sizeof name, "%llu/right", (unsigned long long)gw_future_job(right));
    gw_future_release(right);
    gw_future_release(left);
    int rc;
    while ((rc = gw_client_lookup(second, name, &none, &error)) == 0)
        gw_future_release(none); /* the releases of `first` are sent some milliseconds later */
    assert(rc == GW_ENOENT && strstr(error.text, "released"));
}

static void subject_outlives(const char *path)
{
    struct gw_future *own, *shared;
    MUST(gw_submit(first, gate, GW_OPTIONS(.name = "gate"), GW_ARGS(gw_str(path)), &own, &error));
    MUST(gw_client_task(second, gw_future_job(own), gw_future_index(own), &shared, &error));
    assert(gw_future_state(shared) == GW_PENDING);
    gw_future_release(own);
    gw_client_close(first); /* the task continues: another client holds it */
    first = NULL;
    subject_say(path, "open");
    check_text(shared, "open");
    gw_future_release(shared);
}

/* If a client closes, with its future, the task stays for the other holders; cancelling a pure
 * task, or all of its job, affects only the caller. */
static void subject_shared(const char *path)
{
    struct gw_future *own, *shared, *theirs;
    struct gw_value *value;
    MUST(gw_submit(first, gate, GW_OPTIONS(.pure = true), GW_ARGS(gw_str(path)), &own, &error));
    MUST(gw_submit(second, gate, GW_OPTIONS(.pure = true), GW_ARGS(gw_str(path)), &theirs, &error));
    MUST(gw_future_cancel(own, false, &error));
    assert(gw_future_get(own, 0, &value, &error) == GW_ECANCELLED);
    assert(gw_future_state(theirs) == GW_PENDING);
    subject_say(path, "open");
    check_text(theirs, "open");
    gw_future_release(own);
    gw_future_release(theirs);

    struct gw_graph *graph = gw_graph_new(); /* the tasks before a shared one continue, too */
    gw_node before = gw_call(graph, gate, GW_OPTIONS(.pure = true), gw_str(path), gw_i64(1));
    gw_node node = gw_call(graph, count_texts, GW_OPTIONS(.pure = true), gw_result(before));
    MUST(gw_client_submit(first, graph, node, &own, &error));
    MUST(gw_client_submit(second, graph, node, &theirs, &error));
    gw_graph_free(graph);
    MUST(gw_job_cancel(first, gw_future_job(own), true, &error));
    assert(gw_future_get(own, 0, &value, &error) == GW_ECANCELLED);
    subject_say(path, "open");
    check_text(theirs, "all");
    gw_future_release(own);
    gw_future_release(theirs);

    MUST(gw_submit(first, gate, GW_OPTIONS(.pure = true), GW_ARGS(gw_str(path), gw_i64(2)), &own,
                   &error));
    MUST(gw_submit(second, gate, GW_OPTIONS(.pure = true), GW_ARGS(gw_str(path), gw_i64(2)),
                   &theirs, &error));
    MUST(gw_client_task(second, gw_future_job(own), 0, &shared, &error));
    gw_client_close(first);
    first = NULL;
    assert(gw_future_state(shared) == GW_PENDING);
    subject_say(path, "open");
    check_text(shared, "open");
    check_text(theirs, "open");
    gw_future_release(shared);
    gw_future_release(theirs);
}

static void subject_publish(const char *path)
{
    struct gw_future *own, *future;
    char name[300] = "";
    MUST(gw_submit(first, fill, NULL, GW_ARGS(gw_i64(LARGE), gw_i64('p'), gw_str(path)), &own,
                   &error));
    MUST(gw_publish(first, "weights", own, &error));
    assert(gw_publish(first, "weights", own, &error) == GW_EEXIST);
    memset(name, 'n', 256);
    assert(gw_publish(first, name, own, &error) == GW_EINVAL);
    assert(gw_publish(first, "", own, &error) == GW_EINVAL);
    assert(gw_publish(first, "two\nlines", own, &error) == GW_EINVAL);
    gw_future_release(own);
    gw_client_close(first);
    first = NULL;

    MUST(gw_published(second, "weights", &future, &error));
    check_filled(future, LARGE, 'p');
    MUST(gw_unpublish(second, "weights", &error));
    assert(gw_unpublish(second, "weights", &error) == GW_ENOENT);
    assert(gw_published(second, "weights", &own, &error) == GW_ENOENT);
    gw_future_release(future);

    struct gw_value *value = gw_str("scattered");
    MUST(gw_scatter(second, value, &own, &error));
    MUST(gw_publish(second, "kept", own, &error));
    gw_value_unref(value);
    gw_future_release(own);
}

/* How often fill ran, by the lines that it wrote. */
static int runs(const char *path)
{
    char line[16];
    int count = 0;
    FILE *file = fopen(path, "r");
    assert(file);
    while (fgets(line, sizeof line, file))
        count++;
    (void)fclose(file);
    return count;
}

static struct gw_future *fill_pure(struct gw_client *client, const char *path, int letter,
                                   struct gw_future **sum)
{
    struct gw_future *futures[2];
    struct gw_graph *graph = gw_graph_new();
    gw_node node =
        gw_call(graph, fill, GW_OPTIONS(.pure = true), gw_i64(LARGE), gw_i64(letter), gw_str(path));
    gw_node nodes[2] = {node, gw_call(graph, count_bytes, GW_OPTIONS(.pure = true), gw_result(node),
                                      gw_result(node))};
    MUST(gw_client_submit_many(client, graph, NULL, nodes, 2, futures, &error));
    gw_graph_free(graph);
    *sum = futures[1];
    return futures[0];
}

static void check_sum(struct gw_future *sum)
{
    struct gw_value *value;
    int64_t bytes;
    MUST(gw_future_get(sum, 0, &value, &error));
    MUST(gw_value_get_i64(value, &bytes, &error));
    assert(bytes == 2 * LARGE);
    gw_value_unref(value);
    gw_future_release(sum);
}

/* Equal calls of two clients, and again after both released them, run once; other calls run. */
static void subject_pure(const char *path)
{
    struct gw_future *sums[2], *one = fill_pure(first, path, 'a', &sums[0]);
    struct gw_future *two = fill_pure(second, path, 'a', &sums[1]);
    check_filled(one, LARGE, 'a');
    check_filled(two, LARGE, 'a');
    check_sum(sums[0]);
    check_sum(sums[1]);
    assert(runs(path) == 1);
    gw_future_release(one);
    gw_client_close(first);
    first = NULL;
    check_filled(two, LARGE, 'a');
    gw_future_release(two);
    one = fill_pure(second, path, 'a', &sums[0]); /* retained for a while */
    check_filled(one, LARGE, 'a');
    check_sum(sums[0]);
    gw_future_release(one);
    assert(runs(path) == 1);
    one = fill_pure(second, path, 'b', &sums[0]);
    check_filled(one, LARGE, 'b');
    check_sum(sums[0]);
    gw_future_release(one);
    assert(runs(path) == 2);

    /* A failure is shared only with the clients that were waiting: the next call runs. */
    char file[4096];
    struct gw_value *value;
    (void)snprintf(file, sizeof file, "%s.made", path);
    MUST(gw_submit(second, need_file, GW_OPTIONS(.pure = true), GW_ARGS(gw_str(file)), &one,
                   &error));
    assert(gw_future_get(one, 0, &value, &error) == GW_ETASK);
    FILE *made = fopen(file, "w");
    assert(made);
    (void)fclose(made);
    MUST(gw_submit(second, need_file, GW_OPTIONS(.pure = true), GW_ARGS(gw_str(file)), &two,
                   &error));
    check_text(two, "there");
    gw_future_release(one);
    gw_future_release(two);
    (void)unlink(file);
}

/* Many large values at once, in batches; a failed one is an error, and no value is returned. */
static void subject_gather(const char *path)
{
    enum { COUNT = 300 };
    struct gw_graph *graph = gw_graph_new();
    gw_node nodes[COUNT + 1];
    struct gw_future *futures[COUNT + 1];
    struct gw_value *values[COUNT + 1], *answer;
    for (int i = 0; i < COUNT; i++)
        nodes[i] = gw_call(graph, fill, NULL, gw_i64(5000 + i), gw_i64(i % 100), gw_str(path));
    nodes[COUNT] = gw_call(graph, need_file, NULL, gw_str("/no/such/file"));
    MUST(gw_client_submit_many(first, graph, NULL, nodes, COUNT + 1, futures, &error));
    gw_graph_free(graph);
    MUST(gw_gather(first, futures, COUNT, values, &error));
    for (int i = 0; i < COUNT; i++) {
        const void *data;
        size_t bytes;
        MUST(gw_value_get_bytes(values[i], &data, &bytes, &error));
        assert(bytes == 5000u + (size_t)i && ((const char *)data)[bytes - 1] == i % 100);
        gw_value_unref(values[i]);
    }
    assert(gw_gather(first, futures, COUNT + 1, values, &error) == GW_ETASK);
    char fifo[4096]; /* tasks behind a failure are not awaited */
    struct gw_future *late, *pair[2] = {futures[COUNT]};
    (void)snprintf(fifo, sizeof fifo, "%s.fifo", path);
    assert(mkfifo(fifo, 0600) == 0);
    MUST(gw_submit(first, gate, NULL, GW_ARGS(gw_str(fifo)), &late, &error));
    pair[1] = late;
    assert(gw_gather(first, pair, 2, values, &error) == GW_ETASK);
    assert(gw_future_state(late) == GW_PENDING);
    gw_future_release(late);
    (void)unlink(fifo);
    MUST(gw_who_has(futures[7], &answer, &error));
    int64_t bytes = 0;
    assert(gw_value_count(answer) == 1);
    MUST(gw_value_get_i64(gw_value_find(gw_value_at(answer, 0), "bytes"), &bytes, &error));
    assert(bytes > 5007 && bytes < 5020); /* as it is encoded */
    gw_value_unref(answer);
    for (int i = 0; i <= COUNT; i++)
        gw_future_release(futures[i]);
}

/* Two tasks of one job fail, and with them a diamond of another job, each with a first cause; a
 * retry of its end runs all of them again. */
static void subject_retry(const char *path)
{
    char files[2][4096];
    struct gw_future *inputs[2], *ends[2], *theirs;
    struct gw_value *value;
    for (int i = 0; i < 2; i++) {
        (void)snprintf(files[i], sizeof files[i], "%s.%d", path, i);
        MUST(gw_submit(first, need_file, NULL, GW_ARGS(gw_str(files[i])), &inputs[i], &error));
    }
    struct gw_graph *graph = gw_graph_new();
    gw_node left = gw_call(graph, count_texts, NULL, gw_result_future(graph, inputs[0]),
                           gw_result_future(graph, inputs[1]));
    gw_node right = gw_call(graph, count_texts, NULL, gw_result_future(graph, inputs[1]));
    gw_node node = gw_call(graph, count_texts, NULL, gw_result(left), gw_result(right));
    MUST(gw_client_submit_many(first, graph, NULL, (gw_node[]){node, left}, 2, ends, &error));
    gw_graph_free(graph);
    struct gw_future *end = ends[0];
    MUST(gw_client_task(second, gw_future_job(ends[1]), gw_future_index(ends[1]), &theirs, &error));
    assert(gw_future_get(theirs, 0, &value, &error) == GW_EDEPENDENCY);
    assert(gw_future_get(end, 0, &value, &error) == GW_EDEPENDENCY);
    assert(strstr(error.text, "is not there") && strstr(error.text, "need_file"));
    for (int i = 0; i < 2; i++)
        MUST(gw_future_wait(inputs[i], UINT64_MAX)); /* neither client reads them any more */
    subject_make_file(files[0]);
    MUST(gw_future_retry(end, &error)); /* the other one fails again */
    assert(gw_future_get(end, 0, &value, &error) == GW_EDEPENDENCY);
    assert(strstr(error.text, files[1]));
    subject_make_file(files[1]);
    MUST(gw_future_retry(end, &error));
    check_text(end, "all");
    /* The earlier failures were run again with it, and its other futures show the new end. */
    check_text(ends[1], "all");
    MUST(gw_future_get(inputs[1], 0, &value, &error));
    gw_value_unref(value);
    MUST(gw_client_query(second, "status", NULL, &value, &error)); /* answered in its turn */
    gw_value_unref(value);
    check_text(theirs, "all");
    gw_future_release(theirs);
    gw_future_release(end);
    gw_future_release(ends[1]);
    for (int i = 0; i < 2; i++) {
        gw_future_release(inputs[i]);
        (void)unlink(files[i]);
    }
}

int main(int argc, char **argv)
{
    static const struct subject list[] = {
        {"names", subject_names},   {"outlives", subject_outlives}, {"publish", subject_publish},
        {"pure", subject_pure},     {"gather", subject_gather},     {"retry", subject_retry},
        {"shared", subject_shared},
    };
    const struct subjects subjects = {.options = GW_CLIENT_OPTIONS(.must_exist = true),
                                      .client = &first,
                                      .other = &second,
                                      .list = list,
                                      .count = sizeof list / sizeof *list};
    return subjects_main(&subjects, argc, argv);
}
