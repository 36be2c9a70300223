/* Requests of admins to drain GPUs and to use drained GPUs again.
 *
 * If a worker itself drained a GPU, only the worker can end this: it is asked, and it reports the
 * new state by gpu_drained. The scheduler records only who asked. */
#include "scheduler/core/membership/gpu_ask.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/notify.h"
#include "scheduler/core/send/send.h"

#include <stdio.h>
#include <string.h>

#define NO_SUCH "no worker has a GPU %.100s: `gangway gpu list` lists the UUIDs of all GPUs"

/* Asks a worker to use the GPU again. Returns the number of its GPUs that this changes. *found
 * counts the GPUs with this UUID. */
static uint32_t ask_worker(struct gw_sched *sched, struct gw_worker *worker, const char *uuid,
                           const char *by, uint32_t *found)
{
    uint32_t asked = 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu *gpu = &worker->gpus[i];
        if (strcmp(gpu->uuid, uuid) != 0 && strcmp(gpu->physical_gpu, uuid) != 0)
            continue;
        ++*found;
        if (!gw_sched_gpu_why_drained(gpu))
            continue;
        gw_sched_gpu_give_back(worker, i, by);
        asked++;
        if (gpu->drained)
            gw_sched_send(sched, worker->remote, GW_MESSAGE_gpu_undrain)->gpu_undrain =
                (struct gw_msg_gpu_undrain){i, gw_sched_send_text(sched, by)};
    }
    return asked;
}

static void give_back(struct gw_sched *sched, const char *uuid, const char *by,
                      struct gw_error *error)
{
    uint32_t found = 0, asked = 0;
    for (size_t i = 0; i < sched->workers.count; i++)
        if (sched->workers.items[i] && sched->workers.items[i]->state == GW_WORKER_READY)
            asked += ask_worker(sched, sched->workers.items[i], uuid, by, &found);
    /* The drain of a GPU may be recorded although no connected worker has this GPU now. */
    asked += gw_sched_gpus_trust(sched, uuid);
    if (asked == 0)
        (void)gw_error_set(error, found ? GW_EINVAL : GW_ENOENT,
                           found ? "GPU %.100s is not drained" : NO_SUCH, uuid);
}

/* Drains a GPU. Tasks that already run there continue. */
static void take_out(struct gw_sched *sched, const char *uuid, const char *by,
                     struct gw_error *error)
{
    char why[GW_REMOTE_WHO_MAX + 16];
    bool found = false;
    (void)snprintf(why, sizeof why, "by %s", by);
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        for (uint32_t k = 0; worker && worker->state == GW_WORKER_READY && k < worker->gpu_count;
             k++)
            if (strcmp(worker->gpus[k].uuid, uuid) == 0 ||
                strcmp(worker->gpus[k].physical_gpu, uuid) == 0) {
                gw_sched_gpu_record_drain(sched, &worker->gpus[k], why);
                found = true;
            }
    }
    if (!found)
        (void)gw_error_set(error, GW_ENOENT, NO_SUCH, uuid);
}

int gw_sched_gpu_on_ask(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_gpu_ask *ask)
{
    struct gw_error error = {0};
    char by[GW_REMOTE_WHO_MAX];
    (void)gw_sched_access_who(session->remote, by);
    if (!session->remote->admin)
        (void)gw_error_set(&error, GW_EPERM,
                           "only an admin, or the user who started this cluster, may %s GPUs",
                           ask->drain ? "drain" : "undrain");
    else if (ask->drain)
        take_out(sched, ask->uuid, by, &error);
    else
        give_back(sched, ask->uuid, by, &error);
    gw_sched_notify_request(sched, session->remote, NULL,
                            &(struct gw_acknowledgement){.request = ask->request}, &error);
    return 0;
}
