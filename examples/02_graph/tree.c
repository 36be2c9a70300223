/* A tree reduction: N leaves, then sums of pairs until one is left. `tree [N]` */
#include <gangway/gangway.h>
#include <stdio.h>
#include <stdlib.h>

static int leaf(struct gw_task *task)
{
    int64_t i;
    int rc = gw_task_arg_i64(task, 0, &i);
    return rc < 0 ? rc : gw_task_return(task, gw_i64(i * i));
}
GW_TASK(leaf);

static int sum(struct gw_task *task)
{
    int64_t a, b;
    if (gw_task_arg_i64(task, 0, &a) < 0 || gw_task_arg_i64(task, 1, &b) < 0)
        return GW_EINVAL;
    return gw_task_return(task, gw_i64(a + b));
}
GW_TASK(sum);

/* The root of a tree over leaves 0 to count - 1. */
static gw_node build(struct gw_graph *graph, gw_node *nodes, long count)
{
    for (long i = 0; i < count; i++)
        nodes[i] = gw_call(graph, leaf, NULL, gw_i64(i));
    while (count > 1) {
        long pairs = count / 2;
        for (long i = 0; i < pairs; i++)
            nodes[i] =
                gw_call(graph, sum, NULL, gw_result(nodes[2 * i]), gw_result(nodes[2 * i + 1]));
        if (count % 2)
            nodes[pairs] = nodes[count - 1];
        count = pairs + count % 2;
    }
    return nodes[0];
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);

    struct gw_client *client;
    struct gw_future *future;
    struct gw_value *value;
    struct gw_error error;
    long count = argc > 1 ? atol(argv[1]) : 1024;
    gw_node *nodes = count > 0 && count <= 10000000 ? calloc((size_t)count, sizeof *nodes) : NULL;
    if (!nodes) {
        fprintf(stderr, "usage: tree [LEAVES], 1 to 10000000\n");
        return 2;
    }
    struct gw_graph *graph = gw_graph_new();
    gw_node root = build(graph, nodes, count);
    int64_t result;
    if (gw_client_open(NULL, &client, &error) < 0 ||
        gw_client_submit(client, graph, root, &future, &error) < 0 ||
        gw_future_get(future, 0, &value, &error) < 0 ||
        gw_value_get_i64(value, &result, &error) < 0)
        gw_error_exit(&error);

    int64_t n = count, wanted = (n - 1) * n * (2 * n - 1) / 6;
    printf("the squares of 0 to %ld sum up to %lld (%u tasks)\n", count - 1, (long long)result,
           gw_graph_count(graph));
    gw_value_unref(value);
    gw_future_release(future);
    gw_graph_free(graph);
    gw_client_close(client);
    free(nodes);
    return result == wanted ? 0 : 1;
}
