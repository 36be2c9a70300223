/* A task whose result a gang of ranks takes: each rank learns a line from its part of the points,
 * and all keep the same weights by averaging their gradients. */
#include <gangway/gangway.h>
#include <math.h>
#include <stdio.h>

enum { POINTS = 256, STEPS = 200, RANKS = 2 };

static int add(struct gw_task *task)
{
    double a, b;
    if (gw_task_arg_f64(task, 0, &a) < 0 || gw_task_arg_f64(task, 1, &b) < 0)
        return GW_EINVAL; /* the text is set: "add: argument 1 is a string, wanted a number" */
    return gw_task_return(task, gw_f64(a + b));
}
GW_TASK(add);

/* One step on this rank's points of y = 3x - 1; the mean squared error before it. */
static int train_step(double w[2], struct gw_comm *comm, double lr, double *loss,
                      struct gw_error *error)
{
    double sums[3] = {0}; /* gradient of slope and offset, loss */
    int rank = gw_comm_rank(comm), size = gw_comm_size(comm);
    for (int i = rank; i < POINTS; i += size) {
        double x = (double)i / POINTS, off = w[0] * x + w[1] - (3 * x - 1);
        sums[0] += 2 * off * x / POINTS;
        sums[1] += 2 * off / POINTS;
        sums[2] += off * off / POINTS;
    }
    int rc = gw_comm_all_reduce(comm, GW_COMM_ARGS(.recv = sums, .count = 3, .dtype = GW_DTYPE_F64),
                                error);
    w[0] -= lr * sums[0];
    w[1] -= lr * sums[1];
    *loss = sums[2];
    return rc;
}

static int train(struct gw_task *task) /* once in every rank */
{
    struct gw_comm *comm = gw_task_comm(task); /* borrowed */
    double w[2] = {0}, lr, loss = 0;
    int64_t step = 0;
    if (gw_task_arg_f64(task, 0, &lr) < 0)
        return GW_EINVAL;
    int rc = gw_checkpoint_load(task, w, sizeof w, &step); /* collective; none yet: step 0 */
    for (; rc == GW_CONTINUE && step < STEPS; step++) { /* error, PAUSE or STOP: same step on all */
        rc = train_step(w, comm, lr, &loss, gw_task_error(task));
        if (rc == 0)
            rc = gw_task_step(task, step, "loss", loss);
    }
    if (rc >= 0)
        rc = gw_checkpoint_save(task, w, sizeof w, step);
    return rc >= 0 ? gw_task_return(task, gw_bytes(w, sizeof w)) : rc;
}
GW_TASK(train);

int main(int argc, char **argv)
{
    gw_init(&argc, &argv); /* first statement; in a runner it never returns */

    struct gw_client *client;
    struct gw_future *future;
    struct gw_value *weights;
    struct gw_error error;
    const void *data;
    size_t bytes;
    struct gw_graph *graph = gw_graph_new(); /* errors stick; submit reports the first */
    gw_node lr = gw_call(graph, add, NULL, gw_f64(0.4), gw_f64(0.2));
    gw_node model = gw_call(graph, train, GW_GANG(.ranks = RANKS, .gpu = {.count = GW_GPU_IF_ANY}),
                            gw_result(lr));
    if (gw_client_open(NULL, &client, &error) < 0 ||
        gw_client_submit(client, graph, model, &future, &error) < 0 ||
        gw_future_get(future, 0, &weights, &error) < 0 || /* rank 0's; blocks */
        gw_value_get_bytes(weights, &data, &bytes, &error) < 0)
        gw_error_exit(&error);

    const double *w = data;
    printf("%d ranks learned y = %.2f x %c %.2f\n", RANKS, w[0], w[1] < 0 ? '-' : '+', fabs(w[1]));
    int learned = bytes == 2 * sizeof *w && fabs(w[0] - 3) < 0.1 && fabs(w[1] + 1) < 0.1;
    gw_value_unref(weights);
    gw_future_release(future);
    gw_graph_free(graph);
    gw_client_close(client);
    return learned ? 0 : 1;
}
