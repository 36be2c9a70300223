/* Prints the GPUs that functions see on a real cluster: each rank of a gang sees its own, a task
 * sees the part that it shares, and a task without a GPU sees none. */
#include <gangway/gangway.h>

#include <stdio.h>
#include <stdlib.h>

static int sees(struct gw_task *task)
{
    const char *devices = getenv("CUDA_VISIBLE_DEVICES");
    const char *bytes = getenv("GANGWAY_GPU_MEMORY_BYTES");
    char text[128];
    (void)snprintf(text, sizeof text, "%u:%s:%s", gw_task_gpu_count(task), devices ? devices : "?",
                   bytes ? bytes : "");
    return gw_task_return(task, gw_str(text));
}
GW_TASK(sees);

static int join(struct gw_task *task)
{
    char text[1024] = "";
    size_t used = 0;
    for (uint32_t i = 0; i < gw_task_arg_count(task); i++) {
        struct gw_value *value;
        if (gw_task_arg_value(task, i, &value) < 0 || used >= sizeof text)
            return GW_EINVAL;
        used += gw_value_format(value, text + used, sizeof text - used);
        if (used < sizeof text)
            used += (size_t)snprintf(text + used, sizeof text - used, " ");
    }
    return gw_task_return(task, gw_str(text));
}
GW_TASK(join);

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    struct gw_client *client;
    struct gw_future *future;
    struct gw_value *value;
    struct gw_error error;
    const char *text;
    struct gw_graph *graph = gw_graph_new();
    gw_node gang = gw_call(graph, sees, GW_GANG(.ranks = 2, .gpu.count = 1));
    gw_node any = gw_call(graph, sees, GW_OPTIONS(.gpu.count = GW_GPU_IF_ANY));
    gw_node part = gw_call(graph, sees, GW_OPTIONS(.gpu.fraction = 0.25));
    gw_node none = gw_call(graph, sees, NULL);
    gw_node all = gw_call(graph, join, NULL, gw_result_all(gang), gw_result(any), gw_result(part),
                          gw_result(none));
    if (gw_client_open(NULL, &client, &error) < 0 ||
        gw_client_submit(client, graph, all, &future, &error) < 0 ||
        gw_future_get(future, 0, &value, &error) < 0 || gw_value_get_str(value, &text, &error) < 0)
        gw_error_exit(&error);
    printf("%s\n", text);
    gw_value_unref(value);
    gw_future_release(future);
    gw_client_close(client);
    gw_graph_free(graph);
    return 0;
}
