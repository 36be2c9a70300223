/* A graph of graphs.py, as a file: rows in topological order, their dependencies, how long they
 * compute and how many bytes they give. */
#ifndef GW_TESTS_GRAPH_FILE_H
#define GW_TESTS_GRAPH_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct graph_file {
    uint32_t count, edges;
    uint32_t *deps_at, *deps; /* of row i: deps[deps_at[i]] to deps[deps_at[i + 1]], smaller rows */
    uint32_t *duration_ns, *size;
    uint64_t *expected; /* the value of each row */
    bool *sink;         /* nobody takes it */
    uint32_t sinks;
};

/* graph_file_combine is the value of a row, from the sum of those that it takes. */
uint64_t graph_file_combine(uint64_t index, uint64_t sum);

/* graph_file_read reads one; -1 with a text on stderr where it is damaged. Deinit in any case. */
int graph_file_read(const char *path, struct graph_file *graph);
void graph_file_deinit(struct graph_file *graph);

#endif
