// The public headers from C++: what reads like C there must compile, without a warning, and do the
// same here. Tasks run inside this process (GANGWAY_INLINE).
#include <gangway/gangway.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>

static int failures;

static void expect(bool holds, const char *what)
{
    if (!holds) {
        std::fprintf(stderr, "failed: %s\n", what);
        failures++;
    }
}

static int add(struct gw_task *task)
{
    double sum = 0, x;
    for (uint32_t i = 0; i < gw_task_arg_count(task); i++) {
        if (gw_task_arg_f64(task, i, &x) < 0)
            return GW_EINVAL;
        sum += x;
    }
    return gw_task_return(task, gw_f64(sum));
}
GW_TASK(add);

static int ranks(struct gw_task *task)
{
    double sum = 1;
    int rc = gw_comm_all_reduce(gw_task_comm(task),
                                GW_COMM_ARGS(.recv = &sum, .count = 1, .dtype = GW_DTYPE_F64),
                                gw_task_error(task));
    return rc < 0 ? rc : gw_task_return(task, gw_f64(sum));
}
GW_TASK(ranks);

static int counter(struct gw_task *task)
{
    return gw_task_actor(task, std::calloc(1, sizeof(double)), std::free);
}
GW_TASK(counter);

static int sum_up(struct gw_task *task)
{
    double by, *sum = static_cast<double *>(gw_task_state(task));
    if (gw_task_arg_f64(task, 0, &by) < 0)
        return GW_EINVAL;
    return gw_task_return(task, gw_f64(*sum += by));
}
GW_TASK(sum_up);

static void check_graph()
{
    struct gw_error error;
    struct gw_graph *graph = gw_graph_new();
    gw_node none = gw_call(graph, add, NULL);
    gw_node sum = gw_call(graph, add, nullptr, gw_f64(1), gw_result(none));
    gw_task_options options = GW_INIT(gw_task_options);
    options.name = "named";
    gw_node named = gw_call(graph, add, &options, gw_result(sum));
    expect(gw_graph_count(graph) == 3, "three tasks");
    expect(gw_graph_check(graph, &error) == 0, "a good graph");
    gw_node gang = gw_call(graph, add,
                           GW_GANG(.name = "gang", .ranks = 4, .gang = {.min_ranks = 2},
                                   .gpu = {.count = GW_GPU_IF_ANY}),
                           gw_result(named));
    gw_call(graph, add, GW_OPTIONS(.retries = 2), gw_result_rank(gang, 3));
    expect(gw_graph_check(graph, &error) == 0, "options kept until the call");
    gw_graph_after(graph, none, named);
    expect(gw_graph_check(graph, &error) == GW_ECYCLE, "a cycle");
    expect(std::strstr(error.text, "add#0 -> add#1 -> named -> add#0") != nullptr, error.text);
    gw_graph_free(graph);
}

static struct gw_error error;

static double number_of(struct gw_future *future)
{
    struct gw_value *value;
    double number = -1;
    if (gw_future_get(future, 0, &value, &error) == 0) {
        (void)gw_value_get_f64(value, &number, &error);
        gw_value_unref(value);
    }
    gw_future_release(future);
    return number;
}

static void check_client()
{
    struct gw_client *client;
    struct gw_future *future;
    struct gw_actor *actor;
    if (gw_client_open(NULL, &client, &error) < 0)
        gw_error_exit(&error);
    expect(gw_submit(client, add, NULL, GW_ARGS(), &future, &error) == 0 && number_of(future) == 0,
           "a task without arguments");
    expect(gw_submit(client, add, GW_OPTIONS(.retries = 1), GW_ARGS(gw_f64(1), gw_f64(2)), &future,
                     &error) == 0 &&
               number_of(future) == 3,
           "a task with two");
    expect(gw_dispatch(client, 1, ranks, NULL, GW_ARGS(), &future, &error) == 0 &&
               number_of(future) == 1,
           "a gang without arguments");
    expect(gw_dispatch(client, 1, add, NULL, GW_ARGS(gw_f64(4)), &future, &error) == 0 &&
               number_of(future) == 4,
           "a gang with one");
    expect(gw_dispatch(client, 1, add, GW_OPTIONS(.retries = 1), GW_ARGS(gw_f64(4)), &future,
                       &error) == 0 &&
               number_of(future) == 4,
           "a gang with options");
    expect(gw_dispatch(client, 0, add, NULL, GW_ARGS(gw_f64(4)), &future, &error) == GW_EINVAL,
           "a gang without ranks");
    expect(gw_actor_new(client, counter, GW_ACTOR(.name = "counter"), GW_ARGS(), &actor, &error) ==
               0,
           "an actor");
    expect(gw_actor_call(actor, sum_up, NULL, GW_ARGS(gw_f64(5)), &future, &error) == 0 &&
               number_of(future) == 5,
           "a call");
    expect(gw_actor_call(actor, sum_up, GW_OPTIONS(.name = "more"), GW_ARGS(gw_f64(1)), &future,
                         &error) == 0 &&
               number_of(future) == 6,
           "a call with options");
    gw_actor_free(actor);
    gw_client_close(client);
}

int main(int argc, char **argv)
{
    (void)setenv("GANGWAY_INLINE", "1", 1);
    gw_init(&argc, &argv);
    check_graph();
    check_client();
    return failures != 0;
}
