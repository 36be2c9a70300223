/* Limits how often a repeated failure is logged: at once, when its text changes, and then once a
 * minute. */
#ifndef GW_WORKER_NET_COMPLAINT_H
#define GW_WORKER_NET_COMPLAINT_H

#include <stdbool.h>
#include <stdint.h>

/* A zeroed structure means that nothing was logged yet. */
struct gw_complaint {
    char text[256]; /* the last text */
    uint64_t said_ns;
    uint32_t times; /* number of failures since it was logged */
};

/* gw_complaint_is_due counts a failure and returns true if it must be logged now. *times is the
 * number of such failures since the last log message, including this one. */
bool gw_complaint_is_due(struct gw_complaint *complaint, const char *text, uint64_t now_ns,
                         uint32_t *times);

#endif
