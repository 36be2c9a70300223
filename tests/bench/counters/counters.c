/* counters: counts the cost of a task in each process, in figures that do not vary between runs.
 *
 *     counters                  allocations and bytes sent, one per line: scenario role what figure
 *     counters --instructions   for callgrind: one dump per scenario and role
 *     counters --compiler       the compiler version, on which the figures depend
 *
 * tests/bench/counters/check runs this program and compares the figures with recorded ones. The
 * figures of a runner include its start. */
#include "tests/bench/counters/pipeline.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int counted(struct gw_task *task)
{
    int64_t i, input, sum = 0;
    if (gw_task_arg_i64(task, 0, &i) < 0)
        return GW_EINVAL;
    for (uint32_t k = 1; k < gw_task_arg_count(task); k++) {
        if (gw_task_arg_i64(task, k, &input) < 0)
            return GW_EINVAL;
        sum += input;
    }
    return gw_task_return(task, gw_i64((3 * i + 5 * sum + 1) & 0x7fffffff));
}
GW_TASK(counted);

/* A scenario is a function that returns the earlier nodes on which a node depends. */
struct scenario {
    const char *name;
    uint32_t tasks;
    uint32_t each; /* tasks per submission */
    uint32_t (*inputs)(uint32_t i, uint32_t count, uint32_t from[2]);
    bool accounting; /* only the scheduler is measured, which stores the jobs */
};

static uint32_t none(uint32_t i, uint32_t count, uint32_t from[2])
{
    return 0;
}

static uint32_t one(uint32_t i, uint32_t count, uint32_t from[2])
{
    from[0] = i - 1;
    return i > 0;
}

static uint32_t two(uint32_t i, uint32_t count, uint32_t from[2])
{
    uint32_t leaves = (count + 1) / 2;
    from[0] = 2 * (i - leaves);
    from[1] = from[0] + 1;
    return i >= leaves ? 2 : 0;
}

/* One or two random earlier tasks: half of them are ready when the task arrives, half are not. */
static uint32_t any(uint32_t i, uint32_t count, uint32_t from[2])
{
    for (uint32_t k = 0; k < 2 && i > 0; k++)
        from[k] = (uint32_t)(((i * 2 + k) * UINT64_C(0x9e3779b97f4a7c15) >> 33) % i);
    if (i == 0)
        return 0;
    return i % 2 && from[0] != from[1] ? 2 : 1;
}

static const struct scenario scenarios[] = {
    {"bag", 8192, 8192, none, false},   {"chain", 1024, 1024, one, false},
    {"random", 8192, 8192, any, false}, {"tree", 4095, 4095, two, false},
    {"trickle", 512, 1, none, false},   {"accounted", 512, 1, none, true},
};
enum { SCENARIOS = sizeof scenarios / sizeof *scenarios };

static void check(uint32_t i, int64_t value, const void *arg)
{
    const int64_t *values = arg;
    if (value != values[i])
        abort();
}

/* Submits the tasks from first to first + each - 1. */
static void submit(struct pipeline *pipeline, const struct scenario *scenario, uint32_t first)
{
    uint32_t from[2], each = scenario->each;
    gw_node *nodes = calloc(each, sizeof *nodes);
    int64_t *values = calloc(each, sizeof *values);
    pipeline_client(pipeline, true);
    struct gw_graph *graph = gw_graph_new();
    for (uint32_t i = 0; i < each && nodes && values; i++) {
        struct gw_value *args[3] = {gw_i64(first + i)};
        int64_t sum = 0;
        uint32_t count = scenario->inputs(i, each, from);
        for (uint32_t k = 0; k < count; k++) {
            args[1 + k] = gw_result(nodes[from[k]]);
            sum += values[from[k]];
        }
        values[i] = (3 * (int64_t)(first + i) + 5 * sum + 1) & 0x7fffffff;
        nodes[i] = gw_graph_call(graph, GW_FUNCTION(counted), NULL, args, 1 + count);
    }
    pipeline_client(pipeline, false);
    pipeline_run(pipeline, graph, nodes, each, check, values);
    free(nodes);
    free(values);
}

static struct counts run(const struct scenario *scenario, enum role measured)
{
    struct counts counts;
    struct scenario warm_up = *scenario;
    warm_up.each = 199;
    struct pipeline *pipeline = pipeline_open(scenario->name, measured, scenario->accounting);
    submit(pipeline, &warm_up, 0);
    pipeline_begin(pipeline);
    for (uint32_t first = 0; first < scenario->tasks; first += scenario->each)
        submit(pipeline, scenario, first);
    pipeline_end(pipeline);
    pipeline_close(pipeline, &counts);
    return counts;
}

int main(int argc, char **argv)
{
    if (argc == 2 && strcmp(argv[1], "--compiler") == 0) {
        printf("%s\n", __VERSION__);
        return 0;
    }
    bool instructions = argc == 2 && strcmp(argv[1], "--instructions") == 0;
    if (argc > 1 && !instructions) {
        (void)fprintf(stderr, "usage: counters [--instructions | --compiler]\n");
        return 2;
    }
    for (int s = 0; s < SCENARIOS; s++) {
        const struct scenario *scenario = &scenarios[s];
        const enum role first = scenario->accounting ? SCHEDULER : CLIENT;
        const enum role end = scenario->accounting ? SCHEDULER + 1 : ROLES;
        for (enum role role = first; role < end && instructions; role++)
            (void)run(scenario, role);
        if (instructions) {
            printf("%s %u\n", scenario->name, scenario->tasks);
            continue;
        }
        struct counts counts = run(scenario, NOBODY);
        for (enum role role = first; role < end; role++)
            printf("%s %s allocations %.3f\n%s %s bytes %.3f\n", scenario->name, role_names[role],
                   (double)counts.allocations[role] / scenario->tasks, scenario->name,
                   role_names[role], (double)counts.bytes[role] / scenario->tasks);
    }
    return 0;
}
