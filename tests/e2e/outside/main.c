/* A program outside the tree, built against an installed Gangway: a task, and then a gang of two
 * ranks that comes after it. */
#include <gangway/gangway.h>
#include <stdio.h>

GW_TASK_DECLARE(find);
GW_TASK_DECLARE(sum_of_ranks);

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);

    struct gw_client *client;
    struct gw_future *futures[2];
    struct gw_value *values[2];
    struct gw_error error;
    struct gw_graph *graph = gw_graph_new();
    gw_node nodes[2] = {gw_call(graph, find, NULL, gw_f64(0.25), gw_f64(0.5)),
                        gw_call(graph, sum_of_ranks, GW_GANG(.ranks = 2))};
    gw_graph_after(graph, nodes[1], nodes[0]);
    if (gw_client_open(NULL, &client, &error) < 0 ||
        gw_client_submit_many(client, graph, NULL, nodes, 2, futures, &error) < 0 ||
        gw_gather(client, futures, 2, values, &error) < 0)
        gw_error_exit(&error);

    double sum;
    int64_t ranks;
    if (gw_value_get_f64(values[0], &sum, &error) < 0 ||
        gw_value_get_i64(values[1], &ranks, &error) < 0)
        gw_error_exit(&error);
    printf("version %s sum %g ranks %lld\n", gw_version(), sum, (long long)ranks);
    for (int i = 0; i < 2; i++) {
        gw_value_unref(values[i]);
        gw_future_release(futures[i]);
    }
    gw_graph_free(graph);
    gw_client_close(client);
    return 0;
}
