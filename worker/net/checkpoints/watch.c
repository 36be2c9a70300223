/* Observes checkpoint folders periodically, on a thread.
 *
 * Invariants: one observation is in progress at a time. If a folder has many files, the next
 * observation comes later, so that observing takes at most a twentieth of a thread. Only the first
 * observation of a folder is made at once, on the loop: the command starts after it and might save
 * before a thread has observed the folder. */
#include "worker/net/checkpoints/watch.h"

#include "graph/base/array.h"
#include "graph/base/clock.h"
#include "graph/base/files.h"
#include "graph/base/must.h"
#include "worker/net/checkpoints/transfer_process.h"
#include "worker/net/link/state.h"
#include "worker/net/link/step.h"
#include "worker/store/checkpoint_path.h"
#include "worker/store/pack.h"
#include "worker/store/sighting.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { LOOK_MS = 1000, SLOWER = 20 };

struct watch {
    const char *user; /* folder of a separate user, which lives as long as the core; "": none */
    uint64_t attempt, job;
    uint32_t index;
    uint64_t saves; /* number of SAVED events */
    struct gw_sighting sighting;
};

struct look {
    const char *user;
    uint64_t attempt, job, stamp;
    uint32_t index;
};

struct gw_watches {
    uv_work_t work;
    uv_timer_t timer;
    struct gw_host *host;
    GW_ARRAY(struct watch) list;
    GW_ARRAY(struct look) looks; /* used by the thread while busy */
    uint64_t took_ns;
    bool busy, closed, timer_gone;
};

static uint64_t stamp_of(const struct gw_watches *watches, const char *user, uint64_t job,
                         uint32_t index)
{
    struct gw_transfer_place place;
    char folder[PATH_MAX + 32];
    gw_transfer_process_place(watches->host, user, &place);
    gw_checkpoint_path_folder(place.dir, job, index, folder, sizeof folder);
    return *user ? gw_files_stamp(folder) : gw_pack_stamp(folder);
}

static void look_on_thread(uv_work_t *work)
{
    struct gw_watches *watches = work->data;
    uint64_t start_ns = gw_clock_now_ns();
    for (size_t i = 0; i < watches->looks.count; i++) {
        struct look *look = &watches->looks.items[i];
        look->stamp = stamp_of(watches, look->user, look->job, look->index);
    }
    watches->took_ns = gw_clock_now_ns() - start_ns;
}

static void watches_free(struct gw_watches *watches)
{
    gw_array_deinit(&watches->list);
    gw_array_deinit(&watches->looks);
    free(watches);
}

static void timer_on_closed(uv_handle_t *handle)
{
    struct gw_watches *watches = handle->data;
    watches->timer_gone = true;
    if (!watches->busy)
        watches_free(watches);
}

static struct watch *find(struct gw_watches *watches, uint64_t attempt)
{
    for (size_t i = 0; i < watches->list.count; i++)
        if (watches->list.items[i].attempt == attempt)
            return &watches->list.items[i];
    return NULL;
}

static void take_look(struct gw_watches *watches, const struct look *look)
{
    struct watch *watch = find(watches, look->attempt);
    if (!watch || !gw_sighting_take(&watch->sighting, look->stamp, gw_clock_now_ns()))
        return;
    watch->saves++;
    (void)gw_host_step(watches->host, &(struct gw_event){.type = GW_EVENT_SAVED,
                                                         .number = watch->attempt,
                                                         .bytes = watch->saves});
}

static void look_at_all(struct gw_watches *watches);

static void look_on_timer(uv_timer_t *timer)
{
    look_at_all(timer->data);
}

static void look_on_done(uv_work_t *work, int status)
{
    struct gw_watches *watches = work->data;
    (void)status;
    /* Still busy, so that no observation starts meanwhile */
    for (size_t i = 0; i < watches->looks.count && !watches->closed; i++)
        take_look(watches, &watches->looks.items[i]);
    watches->busy = false;
    if (watches->closed) {
        if (watches->timer_gone)
            watches_free(watches);
        return;
    }
    uint64_t pause_ms = watches->took_ns / GW_NS_PER_MS * SLOWER;
    (void)uv_timer_start(&watches->timer, look_on_timer, pause_ms > LOOK_MS ? pause_ms : LOOK_MS,
                         0);
}

static void look_at_all(struct gw_watches *watches)
{
    if (watches->busy || watches->closed || !watches->list.count)
        return;
    gw_array_clear(&watches->looks);
    for (size_t i = 0; i < watches->list.count; i++) {
        const struct watch *watch = &watches->list.items[i];
        GW_MUST(gw_array_push(&watches->looks, ((struct look){.user = watch->user,
                                                              .attempt = watch->attempt,
                                                              .job = watch->job,
                                                              .index = watch->index})));
    }
    watches->busy = true;
    GW_MUST(uv_queue_work(watches->host->loop, &watches->work, look_on_thread, look_on_done));
}

void gw_watch_execute(struct gw_watches *watches, const struct gw_effect *effect)
{
    if (effect->type == GW_EFFECT_WATCH) {
        const struct gw_msg_checkpoint_transfer *what = &effect->message.checkpoint_transfer;
        struct watch begun = {.user = what->user ? what->user : "",
                              .attempt = effect->number,
                              .job = what->job,
                              .index = what->index};
        (void)gw_sighting_take(&begun.sighting,
                               stamp_of(watches, begun.user, begun.job, begun.index),
                               gw_clock_now_ns());
        GW_MUST(gw_array_push(&watches->list, begun));
        look_at_all(watches);
        return;
    }
    struct watch *watch = find(watches, effect->number);
    if (watch)
        gw_array_remove_swap(&watches->list, (size_t)(watch - watches->list.items));
}

struct gw_watches *gw_watches_new(struct gw_host *host)
{
    struct gw_watches *watches = calloc(1, sizeof *watches);
    GW_MUST_PTR(watches);
    watches->host = host;
    watches->work.data = watches;
    (void)uv_timer_init(host->loop, &watches->timer);
    watches->timer.data = watches;
    return watches;
}

void gw_watches_close(struct gw_watches *watches)
{
    watches->closed = true;
    uv_close((uv_handle_t *)&watches->timer, timer_on_closed);
}
