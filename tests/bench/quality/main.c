/* quality GRAPH WORKERS...: computes the makespan of a graph (a file of graphs.py) on the given
 * numbers of workers with one slot, under each policy, in virtual time. Prints one line of JSON per
 * number of workers. */
#include "tests/bench/quality/policies.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

static const struct {
    const char *name;
    uint64_t (*run)(struct model *model);
} policies[] = {
    {"gangway", policies_gangway},         {"random", policies_random},
    {"round_robin", policies_round_robin}, {"heft", policies_heft},
    {"b_level", policies_b_level},
};

int main(int argc, char **argv)
{
    struct graph_file graph = {0};
    if (argc < 3) {
        fprintf(stderr, "usage: quality GRAPH WORKERS...\n");
        return 2;
    }
    int rc = graph_file_read(argv[1], &graph) < 0 ? 2 : 0;
    for (int i = 2; i < argc && rc == 0; i++) {
        char *end;
        long workers = strtol(argv[i], &end, 10);
        if (*end || workers < 1 || workers > MODEL_WORKERS_MAX) {
            fprintf(stderr, "quality: %s workers: 1 to %d\n", argv[i], MODEL_WORKERS_MAX);
            rc = 2;
            break;
        }
        printf("{\"workers\": %ld", workers);
        for (size_t k = 0; k < sizeof policies / sizeof *policies; k++) {
            struct model model;
            model_init(&model, &graph, (uint32_t)workers);
            printf(", \"%s\": %.9f", policies[k].name, (double)policies[k].run(&model) / 1e9);
            fflush(stdout);
            model_deinit(&model);
        }
        printf("}\n");
    }
    graph_file_deinit(&graph);
    return rc;
}
