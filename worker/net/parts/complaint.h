/* What is said of something that fails again and again: at once, when it changes, and once a
 * minute. */
#ifndef GW_WORKER_NET_COMPLAINT_H
#define GW_WORKER_NET_COMPLAINT_H

#include <stdbool.h>
#include <stdint.h>

/* Zero-initialised: nothing was said. */
struct gw_complaint {
    char text[256]; /* the last one */
    uint64_t said_ns;
    uint32_t times; /* that it came since it was said */
};

/* gw_complaint_is_due counts one, and tells whether it is to be said now; *times: how often it came
 * since it was said last, this one included. */
bool gw_complaint_is_due(struct gw_complaint *complaint, const char *text, uint64_t now_ns,
                         uint32_t *times);

#endif
