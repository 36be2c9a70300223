/* Memory thresholds: their defaults (those of Dask), their order, and their form as a command-line
 * argument. */
#include "graph/base/memory_lines.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

enum { LIMIT_MIN = 1 << 20 };

void gw_memory_lines_init(struct gw_memory_lines *lines)
{
    *lines = (struct gw_memory_lines){.target = 600, .spill = 700, .pause = 800, .terminate = 950};
}

int gw_memory_lines_check(const struct gw_memory_lines *lines, struct gw_error *error)
{
    static const char *const names[] = {"target", "spill", "pause", "terminate"};
    const uint32_t values[] = {lines->target, lines->spill, lines->pause, lines->terminate};
    if (lines->limit_bytes && lines->limit_bytes < LIMIT_MIN)
        return gw_error_set(error, GW_EINVAL,
                            "a memory limit of %" PRIu64
                            " bytes is less than 1 MiB: say 512M or 4G",
                            lines->limit_bytes);
    int below = -1;
    for (int i = 0; i < 4; i++) {
        if (values[i] > 1000)
            return gw_error_set(error, GW_EINVAL,
                                "memory %s %.3g is not a fraction from 0 (off) to 1", names[i],
                                values[i] / 1000.0);
        if (!values[i])
            continue;
        if (below >= 0 && values[below] > values[i])
            return gw_error_set(error, GW_EINVAL,
                                "memory %s (%.3g) is above memory %s (%.3g): the order is "
                                "target, spill, pause, terminate",
                                names[below], values[below] / 1000.0, names[i], values[i] / 1000.0);
        below = i;
    }
    return 0;
}

void gw_memory_lines_format(const struct gw_memory_lines *lines,
                            char text[GW_MEMORY_LINES_TEXT_BYTES])
{
    (void)snprintf(text, GW_MEMORY_LINES_TEXT_BYTES, "%" PRIu64 ",%u,%u,%u,%u", lines->limit_bytes,
                   lines->target, lines->spill, lines->pause, lines->terminate);
}

int gw_memory_lines_parse(const char *text, struct gw_memory_lines *lines, struct gw_error *error)
{
    struct gw_memory_lines read;
    char end;
    if (strchr(text, '-') ||
        sscanf(text, "%" SCNu64 ",%u,%u,%u,%u%c", &read.limit_bytes, &read.target, &read.spill,
               &read.pause, &read.terminate, &end) != 5)
        return gw_error_set(
            error, GW_EINVAL,
            "memory \"%s\" is not BYTES,TARGET,SPILL,PAUSE,TERMINATE, the last four "
            "in thousandths",
            text);
    int rc = gw_memory_lines_check(&read, error);
    if (rc == 0)
        *lines = read;
    return rc;
}
