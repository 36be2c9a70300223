/* Scatters values until all are stored, or the first is refused, on a running cluster. Arguments:
 * how many, their size in bytes, and how many of them tasks are to check; then "many" to pass all
 * of them at once. Prints how many were accepted, and the refusal. Accepted values must be intact,
 * a second client must not be affected, and releases must make room. */
#include <gangway/gangway.h>

#include <assert.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>

enum { AGAIN_TRIES = 100000, LARGE = 32 << 20 };

static struct gw_error error;

#define MUST(call)                                                                                 \
    do {                                                                                           \
        if ((call) < 0) {                                                                          \
            (void)fprintf(stderr, "line %d: %s\n", __LINE__, error.text);                          \
            abort();                                                                               \
        }                                                                                          \
    } while (0)

static void fill(char *data, size_t bytes, uint64_t number)
{
    memset(data, 'a' + (int)(number % 26), bytes);
    memcpy(data, &number, bytes < sizeof number ? bytes : sizeof number);
}

static int look(struct gw_task *task)
{
    const void *data;
    size_t bytes;
    int64_t number;
    if (gw_task_arg_bytes(task, 0, &data, &bytes) < 0 || gw_task_arg_i64(task, 1, &number) < 0)
        return GW_EINVAL;
    char *wanted = malloc(bytes);
    if (!wanted)
        return GW_ENOMEM;
    fill(wanted, bytes, (uint64_t)number);
    bool whole = memcmp(data, wanted, bytes) == 0;
    free(wanted);
    return whole ? gw_task_return(task, gw_i64(number))
                 : gw_task_fail(task, GW_ECORRUPT, "value %lld is another", (long long)number);
}
GW_TASK(look);

/* Pages that this process touched first. */
static long pages_touched(void)
{
    struct rusage usage;
    assert(getrusage(RUSAGE_SELF, &usage) == 0);
    return usage.ru_minflt;
}

/* A large value is written directly into the file that is sent: no copy of it is made here. */
static int put(struct gw_client *client, size_t bytes, uint64_t number, struct gw_future **future)
{
    char *data = malloc(bytes);
    assert(data);
    fill(data, bytes, number);
    struct gw_value *value = gw_bytes(data, bytes);
    const long before = pages_touched();
    int rc = gw_scatter(client, value, future, &error);
    assert(bytes < LARGE || pages_touched() - before < (long)(bytes / 4096 / 4));
    gw_value_unref(value);
    free(data);
    return rc;
}

/* All at once; either all values are accepted, or none. */
static int put_many(struct gw_client *client, size_t bytes, size_t count,
                    struct gw_future **futures)
{
    char *data = malloc(bytes * count);
    struct gw_value **values = calloc(count, sizeof(struct gw_value *));
    assert(data && values);
    for (size_t i = 0; i < count; i++) {
        fill(data + i * bytes, bytes, i);
        values[i] = gw_bytes(data + i * bytes, bytes);
    }
    const struct gw_value *const *borrowed = (const struct gw_value *const *)values;
    int rc = gw_scatter_many(client, borrowed, count, futures, &error);
    for (size_t i = 0; i < count; i++)
        gw_value_unref(values[i]);
    free(values);
    free(data);
    return rc;
}

/* Tasks check the first values. */
static void check(struct gw_client *client, struct gw_future **futures, size_t count)
{
    if (!count)
        return;
    struct gw_graph *graph = gw_graph_new();
    gw_node *nodes = calloc(count, sizeof *nodes);
    struct gw_future **looked = calloc(count, sizeof *looked);
    struct gw_value **values = calloc(count, sizeof(struct gw_value *));
    assert(nodes && looked && values);
    for (size_t i = 0; i < count; i++)
        nodes[i] =
            gw_call(graph, look, NULL, gw_result_future(graph, futures[i]), gw_i64((int64_t)i));
    MUST(gw_client_submit_many(client, graph, NULL, nodes, (uint32_t)count, looked, &error));
    gw_graph_free(graph);
    MUST(gw_gather(client, looked, count, values, &error));
    for (size_t i = 0; i < count; i++) {
        int64_t number;
        MUST(gw_value_get_i64(values[i], &number, &error));
        assert(number == (int64_t)i);
        gw_value_unref(values[i]);
        gw_future_release(looked[i]);
    }
    free(values);
    free(looked);
    free(nodes);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    struct gw_client *client, *other;
    assert(argc == 4 || (argc == 5 && strcmp(argv[4], "many") == 0));
    size_t count = strtoul(argv[1], NULL, 10), bytes = strtoul(argv[2], NULL, 10), taken = 0;
    size_t tasks = strtoul(argv[3], NULL, 10);
    struct gw_future **futures = calloc(count + 1, sizeof *futures), *one;
    assert(futures && count && bytes);
    MUST(gw_client_open(NULL, &client, &error));
    MUST(gw_client_open(NULL, &other, &error));
    int rc = 0;
    if (argc == 5 && (rc = put_many(client, bytes, count, futures)) == 0)
        taken = count;
    while (argc == 4 && taken < count && (rc = put(client, bytes, taken, &futures[taken])) == 0)
        taken++;
    printf("taken %zu\n", taken);
    if (rc < 0)
        printf("refused %d: %s\n", rc, error.text);

    if (taken == count ||
        rc == GW_ELIMIT) { /* other values, and those of this client, are unchanged */
        check(client, futures, tasks < taken ? tasks : taken);
        MUST(put(other, 100, 0, &one));
        check(other, &one, 1);
        gw_future_release(one);
    }
    if (rc == GW_ELIMIT && taken) { /* the release is a message of its own */
        gw_future_release(futures[--taken]);
        int tries = 0;
        while ((rc = put(client, bytes, taken, &futures[taken])) == GW_ELIMIT)
            assert(tries++ < AGAIN_TRIES);
        MUST(rc);
        taken++;
    }
    if (taken) {
        struct gw_value *value;
        const void *data;
        size_t got;
        MUST(gw_future_get(futures[taken - 1], 0, &value, &error));
        MUST(gw_value_get_bytes(value, &data, &got, &error));
        assert(got == bytes);
        gw_value_unref(value);
    }
    for (size_t i = 0; i < taken; i++)
        gw_future_release(futures[i]);
    gw_client_close(client);
    gw_client_close(other);
    free(futures);
    puts("well");
    return 0;
}
