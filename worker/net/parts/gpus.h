/* How the GPUs of this machine do, looked at from time to time. */
#ifndef GW_NET_GPUS_H
#define GW_NET_GPUS_H

#include "gpu/device/device.h"
#include "graph/wire/step.h"

#include <uv.h>

struct gw_gpus;

struct gw_gpus_options {
    uv_loop_t *loop;
    struct gw_devices *devices; /* borrowed: until the loop has run empty after close */
    /* A GPUS event, on the loop's thread; borrowed during the call. */
    void (*on_seen)(const struct gw_event *event, void *arg);
    void *arg;
};

struct gw_gpus *gw_gpus_new(const struct gw_gpus_options *options);

/* gw_gpus_hurry says whether somebody waits until something on one has gone: they are looked at
 * more often then. */
void gw_gpus_hurry(struct gw_gpus *gpus, bool hurry);

/* gw_gpus_close frees it in a later turn; on_seen is not called any more. */
void gw_gpus_close(struct gw_gpus *gpus);

#endif
