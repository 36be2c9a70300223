/* A client that makes one mistake, named by its argument, and prints the error: "<error name>:
 * <text>". Exits with gw_error_exit's code. */
#include <gangway/gangway.h>

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int add(struct gw_task *task)
{
    double a, b;
    if (gw_task_arg_f64(task, 0, &a) < 0 || gw_task_arg_f64(task, 1, &b) < 0)
        return GW_EINVAL;
    return gw_task_return(task, gw_f64(a + b));
}
GW_TASK(add);

static int crash(struct gw_task *task)
{
    (void)task;
    (void)fprintf(stderr, "about to crash\n");
    abort();
}
GW_TASK(crash);

static int fail(struct gw_task *task)
{
    return gw_task_fail(task, GW_EIO, "the disk is on fire");
}
GW_TASK(fail);

/* A gang whose rank 1 exits while the others wait for it. */
static int desert(struct gw_task *task)
{
    if (gw_task_rank(task) == 1)
        return gw_task_fail(task, GW_EIO, "rank 1 deserts");
    int rc = gw_comm_barrier(gw_task_comm(task), gw_task_error(task));
    return rc < 0 ? gw_task_fail(task, rc, "the barrier broke") : 0;
}
GW_TASK(desert);

static int elsewhere_run(struct gw_task *task)
{
    (void)task;
    return 0;
}
/* Not registered: no GW_TASK. */
static const struct gw_function gw_registered_elsewhere = {"elsewhere", elsewhere_run};

static void build(const char *what, struct gw_graph *graph, gw_node *node)
{
    if (strcmp(what, "types") == 0) {
        *node = gw_call(graph, add, NULL, gw_f64(1), gw_str("two"));
    } else if (strcmp(what, "unknown") == 0) {
        *node = gw_call(graph, elsewhere, NULL);
    } else if (strcmp(what, "crash") == 0) {
        *node = gw_call(graph, crash, NULL);
    } else if (strcmp(what, "fail") == 0) {
        gw_node first = gw_call(graph, fail, GW_OPTIONS(.name = "first"));
        *node = gw_call(graph, add, GW_OPTIONS(.name = "second"), gw_result(first), gw_f64(1));
    } else if (strcmp(what, "desert") == 0) {
        *node = gw_call(graph, desert, GW_GANG(.ranks = 3));
    } else if (strcmp(what, "cycle") == 0) {
        gw_node a = gw_call(graph, add, GW_OPTIONS(.name = "chicken"), gw_f64(1), gw_f64(1));
        *node = gw_call(graph, add, GW_OPTIONS(.name = "egg"), gw_result(a), gw_f64(1));
        gw_graph_after(graph, a, *node);
    } else if (strcmp(what, "twice") == 0) {
        (void)gw_call(graph, add, GW_OPTIONS(.name = "same"), gw_f64(1), gw_f64(1));
        *node = gw_call(graph, add, GW_OPTIONS(.name = "same"), gw_f64(1), gw_f64(1));
    } else {
        *node = gw_call(graph, add, NULL, gw_f64(1), gw_f64(2));
    }
}

int main(int argc, char **argv)
{
    if (!getenv("MISUSE_NO_INIT"))
        gw_init(&argc, &argv);

    struct gw_client *client = NULL;
    struct gw_future *future = NULL;
    struct gw_value *value = NULL;
    struct gw_error error = {0};
    struct gw_graph *graph = gw_graph_new();
    gw_node node;
    build(argc > 1 ? argv[1] : "", graph, &node);
    int rc = gw_client_open(NULL, &client, &error);
    if (rc >= 0)
        rc = gw_client_submit(client, graph, node, &future, &error);
    if (rc >= 0)
        rc = gw_future_get(future, 0, &value, &error);
    if (rc >= 0) {
        char text[64];
        gw_value_format(value, text, sizeof text);
        (void)printf("%s\n", text);
    } else {
        (void)printf("%s\n", gw_error_name(rc));
    }
    gw_value_unref(value);
    gw_future_release(future);
    gw_client_close(client);
    gw_graph_free(graph);
    (void)fflush(stdout);
    if (rc < 0)
        gw_error_exit(&error);
    return 0;
}
