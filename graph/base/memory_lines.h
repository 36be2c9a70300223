/* The memory limit of a worker and its thresholds. `gangway up` passes these options to the
 * workers. */
#ifndef GW_BASE_MEMORY_LINES_H
#define GW_BASE_MEMORY_LINES_H

#include <gangway/error.h>
#include <stdint.h>

enum { GW_MEMORY_LINES_TEXT_BYTES = 96 };

/* The thresholds are in thousandths of the limit. 0: the threshold is off. */
struct gw_memory_lines {
    uint64_t limit_bytes; /* limit of all workers of a machine together; 0: the memory of the
                             machine or of its cgroup */
    uint32_t target, spill, pause, terminate;
};

/* gw_memory_lines_init sets the defaults. */
void gw_memory_lines_init(struct gw_memory_lines *lines);

/* gw_memory_lines_check checks the order of the thresholds. If it is wrong, returns GW_EINVAL with
 * a text that names the threshold. */
int gw_memory_lines_check(const struct gw_memory_lines *lines, struct gw_error *error);

/* gw_memory_lines_format writes the limit and the thresholds as one command-line argument.
 * gw_memory_lines_parse reads such an argument. It returns GW_EINVAL with a text if the argument is
 * malformed. */
void gw_memory_lines_format(const struct gw_memory_lines *lines,
                            char text[GW_MEMORY_LINES_TEXT_BYTES]);
int gw_memory_lines_parse(const char *text, struct gw_memory_lines *lines, struct gw_error *error);

#endif
