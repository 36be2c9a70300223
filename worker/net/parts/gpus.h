/* Samples the state of this machine's GPUs periodically. */
#ifndef GW_NET_GPUS_H
#define GW_NET_GPUS_H

#include "gpu/device/device.h"
#include "graph/wire/step.h"

#include <uv.h>

struct gw_gpus;

struct gw_gpus_options {
    uv_loop_t *loop;
    struct gw_devices *devices; /* borrowed until the loop has ended after gw_gpus_close */
    /* Receives a GPUS event on the loop's thread. The event is borrowed during the call. */
    void (*on_seen)(const struct gw_event *event, void *arg);
    void *arg;
};

struct gw_gpus *gw_gpus_new(const struct gw_gpus_options *options);

/* gw_gpus_hurry sets if samples are needed more often, since the core waits for a GPU's memory to
 * be freed. */
void gw_gpus_hurry(struct gw_gpus *gpus, bool hurry);

/* gw_gpus_close frees the structure in a later turn. on_seen is not called any more. */
void gw_gpus_close(struct gw_gpus *gpus);

#endif
