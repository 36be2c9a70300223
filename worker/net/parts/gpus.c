/* Samples the GPUs with NVML on a thread of libuv, started by a timer.
 *
 * Invariant: at most one sample is in progress. Only its thread uses the sample's memory until it
 * has ended. */
#include "worker/net/parts/gpus.h"

#include "graph/base/clock.h"
#include "graph/base/must.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 1000, HURRY_MS = 20 };

struct gw_gpus {
    struct gw_gpus_options options;
    uv_timer_t timer;
    uv_work_t work;
    uint64_t began_ns;
    size_t count;
    struct gw_device_state states[GW_DEVICES_MAX];
    struct gw_gpu_sample samples[GW_DEVICES_MAX];
    bool looking, hurry, closed;
};

_Static_assert((int)GW_GPU_XIDS_MAX >= (int)GW_DEVICE_XIDS_MAX, "all errors of a look are told");

static void gpus_on_timer(uv_timer_t *timer);

static void gpus_on_closed(uv_handle_t *handle)
{
    free(handle->data);
}

static void arm(struct gw_gpus *gpus)
{
    if (!gpus->looking)
        (void)uv_timer_start(&gpus->timer, gpus_on_timer, gpus->hurry ? HURRY_MS : LOOK_MS, 0);
}

static void look_on_thread(uv_work_t *work)
{
    struct gw_gpus *gpus = work->data;
    gw_devices_look(gpus->options.devices, gpus->states);
}

static struct gw_gpu_sample sample_of(const struct gw_device_state *state)
{
    struct gw_gpu_sample sample = {
        .lost = state->lost,
        .used_bytes = state->used_bytes,
        .processes = state->processes,
        .power_mw = state->power_mw,
        .busy_percent = state->busy_percent,
        .xid_count = state->xid_count,
    };
    memcpy(sample.xids, state->xids, sizeof state->xids);
    return sample;
}

static void look_on_done(uv_work_t *work, int status)
{
    struct gw_gpus *gpus = work->data;
    (void)status;
    gpus->looking = false;
    if (gpus->closed) {
        uv_close((uv_handle_t *)&gpus->timer, gpus_on_closed);
        return;
    }
    for (size_t i = 0; i < gpus->count; i++)
        gpus->samples[i] = sample_of(&gpus->states[i]);
    gpus->options.on_seen(&(struct gw_event){.type = GW_EVENT_GPUS,
                                             .number = gpus->began_ns,
                                             .gpus = gpus->samples,
                                             .gpu_count = (uint32_t)gpus->count},
                          gpus->options.arg);
    if (!gpus->closed)
        arm(gpus);
}

static void gpus_on_timer(uv_timer_t *timer)
{
    struct gw_gpus *gpus = timer->data;
    gpus->began_ns = gw_clock_now_ns();
    gpus->looking = true;
    int rc = uv_queue_work(gpus->options.loop, &gpus->work, look_on_thread, look_on_done);
    assert(rc == 0);
    (void)rc;
}

struct gw_gpus *gw_gpus_new(const struct gw_gpus_options *options)
{
    struct gw_gpus *gpus = calloc(1, sizeof *gpus);
    GW_MUST_PTR(gpus);
    gpus->options = *options;
    gpus->work.data = gpus;
    (void)gw_devices_list(options->devices, &gpus->count);
    (void)uv_timer_init(options->loop, &gpus->timer);
    gpus->timer.data = gpus;
    arm(gpus);
    return gpus;
}

void gw_gpus_hurry(struct gw_gpus *gpus, bool hurry)
{
    bool sooner = hurry && !gpus->hurry;
    gpus->hurry = hurry;
    if (sooner)
        arm(gpus);
}

void gw_gpus_close(struct gw_gpus *gpus)
{
    gpus->closed = true;
    (void)uv_timer_stop(&gpus->timer);
    if (!gpus->looking)
        uv_close((uv_handle_t *)&gpus->timer, gpus_on_closed);
}
