/* What people ask of GPUs: that one that is drained be used again.
 *
 * Always: its worker decides, as it did when it drained it, and says so by gpu_drained; here is
 * only written down who asked. */
#include "scheduler/core/gpu_ask.h"

#include "scheduler/core/outbox.h"
#include "scheduler/core/question.h"
#include "scheduler/core/remote.h"

#include "graph/base/text.h"

#include <stdlib.h>
#include <string.h>

/* Gives how many it asks for; *found: how many there are of that name. */
static uint32_t ask_worker(struct gw_sched *sched, struct gw_worker *worker, const char *uuid,
                           const char *by, uint32_t *found)
{
    uint32_t asked = 0;
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu *gpu = &worker->gpus[i];
        if (strcmp(gpu->uuid, uuid) != 0 && strcmp(gpu->board, uuid) != 0)
            continue;
        ++*found;
        if (!gpu->drained)
            continue;
        GW_FACT(sched, gpu_given_back, .worker = worker, .gpu = i, .by = by);
        gw_sched_send(sched, worker->remote, GW_MESSAGE_gpu_undrain)->gpu_undrain =
            (struct gw_msg_gpu_undrain){i, gw_sched_text(sched, by)};
        asked++;
    }
    return asked;
}

int gw_sched_gpu_on_ask(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_gpu_ask *ask)
{
    struct gw_error error = {0};
    char by[GW_REMOTE_WHO_MAX];
    uint32_t found = 0, asked = 0;
    (void)gw_sched_remote_who(session->remote, by);
    if (!session->remote->admin)
        (void)gw_error_set(&error, GW_EPERM,
                           "only an admin, or who started this cluster, gives GPUs back");
    for (size_t i = 0; error.code == 0 && i < sched->workers.count; i++)
        if (sched->workers.items[i] && sched->workers.items[i]->state == GW_WORKER_READY)
            asked += ask_worker(sched, sched->workers.items[i], ask->uuid, by, &found);
    if (error.code == 0 && asked == 0)
        (void)gw_error_set(&error, found ? GW_EINVAL : GW_ENOENT,
                           found ? "GPU %.100s is not drained"
                                 : "no worker has a GPU %.100s: `gangway worker gpus` lists them, "
                                   "by UUID",
                           ask->uuid);
    gw_sched_reply(sched, session->remote, ask->request, &error);
    return 0;
}

void gw_sched_apply_gpu_given_back(struct gw_sched *sched,
                                   const struct gw_fact_gpu_given_back *fact)
{
    struct gw_gpu *gpu = &fact->worker->gpus[fact->gpu];
    char said[400];
    struct gw_text text = {said, sizeof said, 0};
    (void)sched;
    gw_text_say(&text, "given back by %s; it had been drained: %.200s", fact->by,
                gpu->drained ? gpu->drained : "");
    free(gpu->back);
    gpu->back = strdup(said);
    GW_MUST_PTR(gpu->back);
}
