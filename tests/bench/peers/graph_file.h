/* A graph of graphs.py as a file: rows in topological order, their dependencies, durations and
 * result sizes. */
#ifndef GW_TESTS_GRAPH_FILE_H
#define GW_TESTS_GRAPH_FILE_H

#include <stdbool.h>
#include <stdint.h>

struct graph_file {
    uint32_t count, edges;
    uint32_t *deps_at, *deps; /* dependencies of row i: deps[deps_at[i]] to deps[deps_at[i + 1] -
                                 1]; smaller rows */
    uint32_t *duration_ns, *size;
    uint64_t *expected; /* the value of each row */
    bool *sink;         /* no row depends on it */
    uint32_t sinks;
};

/* graph_file_combine computes the value of a row from the sum of its inputs. */
uint64_t graph_file_combine(uint64_t index, uint64_t sum);

/* graph_file_read reads a graph. It returns -1 with a text on stderr if the file is damaged. Call
 * graph_file_deinit in any case. */
int graph_file_read(const char *path, struct graph_file *graph);
void graph_file_deinit(struct graph_file *graph);

#endif
