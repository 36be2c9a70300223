/* A worker's memory and the lines in it: options that travel from a person to workers. */
#ifndef GW_BASE_MEMORY_LINES_H
#define GW_BASE_MEMORY_LINES_H

#include <gangway/error.h>
#include <stdint.h>

enum { GW_MEMORY_LINES_TEXT_BYTES = 96 };

/* Lines in thousandths of the limit; 0: no such line. */
struct gw_memory_lines {
    uint64_t limit_bytes; /* of all workers of a machine; 0: the machine's, or its cgroup's */
    uint32_t target, spill, pause, terminate;
};

/* gw_memory_lines_init sets what holds where nobody said anything. */
void gw_memory_lines_init(struct gw_memory_lines *lines);

/* gw_memory_lines_check holds them against each other: GW_EINVAL with a text that says which is
 * out of order. */
int gw_memory_lines_check(const struct gw_memory_lines *lines, struct gw_error *error);

/* gw_memory_lines_format writes them as one argument of a program; gw_memory_lines_parse reads
 * that. GW_EINVAL with text. */
void gw_memory_lines_format(const struct gw_memory_lines *lines,
                            char text[GW_MEMORY_LINES_TEXT_BYTES]);
int gw_memory_lines_parse(const char *text, struct gw_memory_lines *lines, struct gw_error *error);

#endif
