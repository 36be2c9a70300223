/* Runs a sweep of functions: `sweeps KIND NAME TRIALS`. Prints a line for each trial, and the best
 * one. */
#include <gangway/gangway.h>

#include <inttypes.h>
#include <math.h>
#include <string.h>
#include <unistd.h>

#include "tests/e2e/programs/check.h"

enum { STEPS = 4 };

static double distance(struct gw_task *task)
{
    struct gw_value *params;
    double x = NAN;
    if (gw_task_arg_value(task, 0, &params) == 0)
        (void)gw_value_get_f64(gw_value_find(params, "x"), &x, NULL);
    return (x - 0.3) * (x - 0.3);
}

/* Reports a loss that falls in four steps. */
static int train(struct gw_task *task)
{
    for (int64_t step = 1; step <= STEPS; step++) {
        const int rc = gw_task_step(task, step, "loss", distance(task) + 1 / (double)(step * step));
        if (rc != GW_CONTINUE)
            return rc < 0 ? rc : 0;
    }
    return 0;
}
GW_TASK(train);

/* Computes for some milliseconds, so that a decision reaches the task before its last step. */
static void compute(void)
{
    for (volatile uint32_t i = 0; i < 4000000; i++)
        ;
}

static int linger(struct gw_task *task)
{
    for (int64_t step = 1; step <= 200; step++) {
        const int rc = gw_task_step(task, step, "loss", distance(task));
        if (rc != GW_CONTINUE)
            return rc < 0 ? rc : 0;
        compute();
    }
    return 0;
}
GW_TASK(linger);

static int measure(struct gw_task *task)
{
    return gw_task_return(task, gw_f64(distance(task)));
}
GW_TASK(measure);

static int say_nothing(struct gw_task *task)
{
    (void)task;
    return 0;
}
GW_TASK(say_nothing);

static int fail_above_half(struct gw_task *task)
{
    if (distance(task) > 0.04)
        return gw_task_fail(task, GW_ETASK, "x is too far away");
    return train(task);
}
GW_TASK(fail_above_half);

static int prepare(struct gw_task *task)
{
    FILE *file = fopen("prepared", "a");
    CHECK(file && fputs("x", file) >= 0 && fclose(file) == 0);
    return gw_task_return(task, gw_f64(0.3));
}
GW_TASK(prepare);

static int measure_prepared(struct gw_task *task)
{
    struct gw_value *params;
    double middle = NAN, x = NAN;
    if (gw_task_arg_f64(task, 0, &middle) == 0 && gw_task_arg_value(task, 1, &params) == 0)
        (void)gw_value_get_f64(gw_value_find(params, "x"), &x, NULL);
    return gw_task_return(task, gw_f64((x - middle) * (x - middle)));
}
GW_TASK(measure_prepared);

/* A trial that needs what a pure task prepares. */
static int make_shared(const struct gw_trial *trial, struct gw_graph *graph,
                       struct gw_sweep_task *task, void *arg, struct gw_error *why)
{
    (void)arg;
    (void)why;
    const gw_node prepared = gw_call(graph, prepare, GW_OPTIONS(.pure = true));
    task->node = gw_call(graph, measure_prepared, GW_OPTIONS(.annotations = task->annotations),
                         gw_result(prepared), gw_value_ref(trial->params));
    task->slots = 1;
    return 0;
}

/* The cluster refuses trial 2 until there is a file "accept". */
static int make_refused(const struct gw_trial *trial, struct gw_graph *graph,
                        struct gw_sweep_task *task, void *arg, struct gw_error *why)
{
    (void)arg;
    (void)why;
    const bool refused = trial->number == 2 && access("accept", F_OK) != 0;
    task->node =
        gw_call(graph, train,
                GW_OPTIONS(.annotations = task->annotations, .workers = refused ? "nowhere" : NULL),
                gw_value_ref(trial->params));
    task->slots = 1;
    return 0;
}

static const struct kind {
    const char *name, *metric;
    const struct gw_function *function;
    enum gw_search_pruner pruner;
    int (*make)(const struct gw_trial *trial, struct gw_graph *graph, struct gw_sweep_task *task,
                void *arg, struct gw_error *why);
} kinds[] = {
    {.name = "shared", .make = make_shared},
    {.name = "refused", .metric = "loss", .make = make_refused},
    {.name = "metric", .metric = "loss", .function = GW_FUNCTION(train)},
    {.name = "result", .function = GW_FUNCTION(measure)},
    {.name = "silent", .metric = "loss", .function = GW_FUNCTION(say_nothing)},
    {.name = "fails", .metric = "loss", .function = GW_FUNCTION(fail_above_half)},
    {.name = "asha", .metric = "loss", .function = GW_FUNCTION(linger), .pruner = GW_PRUNE_ASHA},
};

static void print(const struct gw_sweep *sweep)
{
    static const char *const states[] = {"running", "paused", "done",
                                         "pruned",  "failed", "cancelled"};
    const struct gw_sweep_trial *best;
    for (uint32_t i = 0; i < gw_sweep_count(sweep); i++) {
        const struct gw_sweep_trial *trial = gw_sweep_trial(sweep, i);
        char x[32];
        gw_sweep_word(gw_value_find(trial->trial->params, "x"), x, sizeof x);
        printf("%" PRIu32 " %s %.17g x=%s starts=%" PRIu32 " %s\n", i, states[trial->trial->state],
               trial->trial->value, x, trial->starts, trial->text);
    }
    if (gw_sweep_best(sweep, &best, NULL) == 0)
        printf("best %" PRIu32 "\n", best->trial->number);
}

int main(int argc, char **argv)
{
    struct gw_client *client;
    struct gw_sweep *sweep;
    const struct kind *kind = kinds;
    gw_init(&argc, &argv);
    CHECK(argc == 4);
    while (strcmp(kind->name, argv[1]) != 0)
        CHECK(++kind < kinds + sizeof kinds / sizeof *kinds);
    struct gw_space *space = gw_space_new();
    MUST(gw_space_add(space, "x=0..1", &error));
    MUST(gw_sweep_new(space,
                      GW_SEARCH_OPTIONS(.method = GW_SEARCH_RANDOM, .seed = 5,
                                        .trials = (uint32_t)atoi(argv[3]), .pruner = kind->pruner,
                                        .eta = 2),
                      GW_SWEEP_OPTIONS(.name = argv[2], .metric = kind->metric,
                                       .attached = strcmp(argv[2], "attached") == 0,
                                       .function = kind->function, .make = kind->make),
                      &sweep, &error));
    MUST(gw_client_open(NULL, &client, &error));
    if (gw_sweep_run(sweep, client, &error) < 0)
        printf("%s: %s\n", gw_error_name(error.code), error.text);
    print(sweep);
    gw_sweep_free(sweep);
    gw_client_close(client);
    return 0;
}
