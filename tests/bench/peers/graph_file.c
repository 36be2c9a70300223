/* Reads a graph. The inputs of a row come before it, so one pass computes every value. */
#include "tests/bench/peers/graph_file.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t graph_file_combine(uint64_t index, uint64_t sum)
{
    uint64_t x = sum + (index + 1) * UINT64_C(0x9E3779B97F4A7C15);
    return x ^ x >> 29;
}

static int bad(const char *path, const char *why)
{
    fprintf(stderr, "%s: %s\n", path, why);
    return -1;
}

static uint32_t *read_column(FILE *file, size_t count)
{
    uint32_t *column = malloc((count + 1) * sizeof *column);
    if (column && fread(column, sizeof *column, count, file) != count) {
        free(column);
        column = NULL;
    }
    return column;
}

static bool sound(const struct graph_file *graph)
{
    if (graph->deps_at[0] != 0 || graph->deps_at[graph->count] != graph->edges)
        return false;
    for (uint32_t i = 0; i < graph->count; i++) {
        if (graph->deps_at[i] > graph->deps_at[i + 1])
            return false;
        for (uint32_t k = graph->deps_at[i]; k < graph->deps_at[i + 1]; k++)
            if (graph->deps[k] >= i)
                return false;
    }
    return true;
}

static int compute_expected(struct graph_file *graph)
{
    graph->expected = calloc(graph->count + 1, sizeof *graph->expected);
    graph->sink = calloc(graph->count + 1, sizeof *graph->sink);
    if (!graph->expected || !graph->sink)
        return -1;
    for (uint32_t i = 0; i < graph->count; i++) {
        uint64_t sum = 0;
        graph->sink[i] = true;
        for (uint32_t k = graph->deps_at[i]; k < graph->deps_at[i + 1]; k++) {
            sum += graph->expected[graph->deps[k]];
            graph->sink[graph->deps[k]] = false;
        }
        graph->expected[i] = graph_file_combine(i, sum);
    }
    for (uint32_t i = 0; i < graph->count; i++)
        graph->sinks += graph->sink[i];
    return 0;
}

int graph_file_read(const char *path, struct graph_file *graph)
{
    char magic[8];
    uint32_t head[2];
    FILE *file = fopen(path, "rb");
    if (!file)
        return bad(path, "cannot be opened");
    int rc = -1;
    if (fread(magic, 1, 8, file) != 8 || memcmp(magic, "GWGRAPH1", 8) != 0 ||
        fread(head, sizeof *head, 2, file) != 2 || head[0] == 0) {
        bad(path, "is no graph");
        goto out;
    }
    graph->count = head[0];
    graph->edges = head[1];
    graph->deps_at = read_column(file, (size_t)graph->count + 1);
    graph->deps = read_column(file, graph->edges);
    graph->duration_ns = read_column(file, graph->count);
    graph->size = read_column(file, graph->count);
    if (!graph->deps_at || !graph->deps || !graph->duration_ns || !graph->size || !sound(graph))
        bad(path, "is cut short or damaged");
    else
        rc = compute_expected(graph);
out:
    fclose(file);
    return rc;
}

void graph_file_deinit(struct graph_file *graph)
{
    free(graph->deps_at);
    free(graph->deps);
    free(graph->duration_ns);
    free(graph->size);
    free(graph->expected);
    free(graph->sink);
}
