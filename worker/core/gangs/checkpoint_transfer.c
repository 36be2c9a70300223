/* Checkpoints that are copied to this worker. A gang that resumes here needs the checkpoint in its
 * task's folder before rank 0 is reported as ready. A copy is also kept here in case the
 * checkpoint's host is lost. If ranks of a command run on several workers, those on other workers
 * become ready only after their folder is equal to that of rank 0.
 *
 * Invariant: each transfer that was requested by CHECKPOINT_TRANSFER stays in core->transfers until
 * the event CHECKPOINT_TRANSFERRED. Its gang may have ended by then. */
#include "worker/core/gangs/checkpoint_transfer.h"

#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/model/job.h"
#include "worker/core/model/tables.h"
#include "worker/core/objects/fetch.h"
#include "worker/core/processes/inactivity_timeout.h"
#include "worker/core/processes/process.h"

#include <stdlib.h>
#include <string.h>

static const char *address_of(const struct gw_node_core *core, uint32_t worker)
{
    return worker == core->worker ? "" : gw_fetch_address(core, worker);
}

/* Lists the addresses of all workers that the checkpoint comes from. Returns false if an address is
 * unknown. */
static bool find_addresses(struct gw_node_core *core, const struct gw_msg_checkpoint_transfer *what,
                           struct gw_bin *addresses)
{
    size_t size = 0;
    char *list = NULL;
    for (int pass = 0; pass < 2; pass++) {
        if (pass == 1)
            list = gw_core_scratch(core, size);
        size = 0;
        for (uint32_t i = 0; i <= what->others.count; i++) {
            const char *address =
                address_of(core, i == 0 ? what->worker : gw_col32_at(what->others, i - 1));
            if (!address)
                return false;
            const size_t bytes = strlen(address) + 1;
            if (list)
                memcpy(list + size, address, bytes);
            size += bytes;
        }
    }
    *addresses = (struct gw_bin){list, (uint32_t)size};
    return true;
}

/* Requests a transfer from the driver. Returns false if the address of a worker is unknown. */
static bool start(struct gw_node_core *core, const struct gw_checkpoint_transfer *transfer,
                  bool copy)
{
    struct gw_checkpoint_transfer asked = *transfer;
    struct gw_bin addresses;
    asked.what.user = gw_job_user(core, transfer->what.user);
    if (!find_addresses(core, &transfer->what, &addresses))
        return false;
    struct gw_msg_checkpoint_transfer what = asked.what;
    if (what.others.count) {
        uint32_t *others = gw_core_scratch(core, what.others.count * sizeof *others);
        memcpy(others, what.others.data, what.others.count * sizeof *others);
        what.others.data = (const void *)others;
    }
    asked.number = ++core->transfer;
    asked.what.others = (struct gw_col32){0};
    GW_MUST(gw_array_push(&core->transfers, asked));
    struct gw_effect *effect = gw_core_effect(core, GW_EFFECT_CHECKPOINT_TRANSFER);
    effect->number = asked.number;
    effect->message =
        (struct gw_message){.type = GW_MESSAGE_checkpoint_transfer, .checkpoint_transfer = what};
    effect->bytes = addresses;
    effect->size = copy;
    effect->count = asked.attempt == 0;
    return true;
}

static void cannot(struct gw_gang *gang, int code, const char *text)
{
    free(gang->transfer_text);
    gang->transfer_code = code;
    gang->transfer_text = gw_core_strdup(text);
}

/* Tells the scheduler that the worker it named does not have the checkpoint any more. The scheduler
 * must know this before it chooses a source again. */
static void tell_absent(struct gw_node_core *core, const struct gw_gang *gang, const char *text)
{
    if (!core->registered)
        return;
    const char *copy = gw_core_text(core, text);
    gw_core_send(core, core->scheduler, GW_MESSAGE_transfer_absent)->message.transfer_absent =
        (struct gw_msg_transfer_absent){gang->attempt, gang->message.transfer_worker,
                                        gang->message.transfer_copy, copy};
}

void gw_checkpoint_transfer_on_gang(struct gw_node_core *core, struct gw_gang *gang)
{
    const struct gw_msg_gang *told = &gang->message;
    const bool leads = told->first_rank == 0;
    const struct gw_col32 others = told->transfer_others;
    gang->message.transfer_others =
        (struct gw_col32){0}; /* the message's data is freed with the message */
    gang->message.transfer_user = gw_job_user(core, told->transfer_user);
    if (told->transfer_worker && !leads && told->transfer_after)
        gang->transferring = true; /* the transfer starts with transfer_go */
    if (!told->transfer_worker || !leads)
        return;
    /* If the checkpoint was lost, nobody knows which checkpoint the folder contains */
    const bool known = !told->commands || !told->checkpoint_lost;
    const struct gw_checkpoint_transfer transfer = {
        .attempt = gang->attempt,
        .what = {.job = told->transfer_job,
                 .index = told->transfer_index,
                 .attempt = known ? told->checkpoint : 0,
                 .commands = told->commands,
                 .worker = told->transfer_worker,
                 .how = told->commands ? GW_TRANSFER_JOIN : GW_TRANSFER_INSERT,
                 .others = others,
                 .member = told->transfer_member,
                 .user = told->transfer_user}};
    gang->transferring = start(core, &transfer, told->transfer_copy != 0);
    if (!gang->transferring)
        cannot(gang, GW_ELOST, "the address of that worker is unknown");
}

struct gw_gang *gw_checkpoint_transfer_on_go(struct gw_node_core *core,
                                             const struct gw_msg_transfer_go *go)
{
    struct gw_gang *gang = gw_gang_find(core, go->attempt);
    if (!gang)
        return NULL; /* the gang was killed meanwhile */
    const struct gw_msg_gang *told = &gang->message;
    if (!gang->transferring || told->first_rank == 0 || gang->mirrors)
        return NULL;
    const struct gw_checkpoint_transfer transfer = {.attempt = gang->attempt,
                                                    .what = {.job = told->transfer_job,
                                                             .index = told->transfer_index,
                                                             .commands = 1,
                                                             .worker = told->transfer_worker,
                                                             .how = GW_TRANSFER_MIRROR,
                                                             .user = told->transfer_user}};
    gang->mirrors = start(core, &transfer, false);
    if (gang->mirrors)
        return NULL;
    gang->transferring = false;
    cannot(gang, GW_ELOST, "the address of that worker is unknown");
    return gang;
}

bool gw_checkpoint_transfer_lets(struct gw_node_core *core, struct gw_attempt *run)
{
    const struct gw_gang *gang = run->gang;
    if ((run->rank != 0 && gang->message.first_rank == 0) ||
        (!gang->transferring && !gang->transfer_text))
        return true;
    if (gang->transferring)
        return false;
    struct gw_attempt_end end = {.code = gang->transfer_code};
    end.outcome = gang->transfer_code == GW_ELOST || gang->transfer_code == GW_ENOENT
                      ? GW_OUTCOME_LOST_INPUT
                      : GW_OUTCOME_FAILED;
    end.text = gw_attempt_text(gang->message.transfer_worker == core->worker
                                   ? "its checkpoint is no longer on this worker: %s"
                                   : "its checkpoint could not be transferred to this worker: %s",
                               gang->transfer_text);
    gw_process_end_attempt(core, run, end, 0);
    return false;
}

static void tell_copied(struct gw_node_core *core, const struct gw_msg_checkpoint_transfer *what,
                        int code, const char *text)
{
    if (!core->registered)
        return;
    const char *copy = gw_core_text(core, text);
    gw_core_send(core, core->scheduler, GW_MESSAGE_checkpoint_transferred)
        ->message.checkpoint_transferred = (struct gw_msg_checkpoint_transferred){
        what->job, what->index, what->attempt, what->step, what->worker, code, copy};
}

void gw_checkpoint_transfer_on_copy(struct gw_node_core *core,
                                    const struct gw_msg_checkpoint_transfer *what)
{
    if (!start(core, &(struct gw_checkpoint_transfer){.what = *what}, what->copy != 0))
        tell_copied(core, what, GW_ELOST, "the address of that worker is unknown");
}

struct gw_gang *gw_checkpoint_transfer_on_transferred(struct gw_node_core *core,
                                                      const struct gw_event *event)
{
    struct gw_checkpoint_transfer transfer = {0};
    uint64_t value;
    for (size_t i = 0; i < core->transfers.count; i++)
        if (core->transfers.items[i].number == event->number) {
            transfer = core->transfers.items[i];
            gw_array_remove_swap(&core->transfers, i);
            break;
        }
    if (!transfer.number)
        return NULL;
    if (!transfer.attempt) {
        tell_copied(core, &transfer.what, event->code, event->code < 0 ? event->text : "");
        return NULL;
    }
    if (!gw_map_get(&core->gangs, transfer.attempt, &value))
        return NULL; /* the gang was killed since the request */
    struct gw_gang *gang = (struct gw_gang *)(uintptr_t)value;
    gang->transferring = false;
    if (event->code == GW_ENOENT && gang->message.first_rank == 0)
        tell_absent(core, gang, event->text);
    if (event->code < 0 && event->code != GW_EEXIST)
        cannot(gang, event->code, event->text);
    return gang;
}

/* -- Checkpoints made here -----------------------------------------------------------------------
 */

int gw_checkpoint_transfer_on_checkpointed(struct gw_node_core *core, struct gw_process *process,
                                           const struct gw_msg_checkpointed *checkpointed)
{
    const struct gw_attempt *run = process->queue.first;
    const bool runs = run && run->gang && run->attempt == checkpointed->attempt;
    if (!runs && process->reaping && process->led != checkpointed->attempt)
        return 0; /* the attempt was given up at once */
    if (!runs && !process->reaping)
        return GW_EPROTO;
    gw_inactivity_timeout_end(core, process);
    if (core->registered)
        gw_core_send(core, core->scheduler, GW_MESSAGE_checkpointed)->message.checkpointed =
            *checkpointed;
    return 0;
}

void gw_checkpoint_transfer_watch(struct gw_node_core *core, const struct gw_attempt *run)
{
    if (run->rank != 0)
        return;
    run->gang->watches = true;
    struct gw_effect *effect = gw_core_effect(core, GW_EFFECT_WATCH);
    effect->number = run->attempt;
    effect->message = (struct gw_message){.type = GW_MESSAGE_checkpoint_transfer};
    effect->message.checkpoint_transfer = (struct gw_msg_checkpoint_transfer){
        .job = run->job, .index = run->index, .user = run->spec->message.user};
}

void gw_checkpoint_transfer_unwatch(struct gw_node_core *core, struct gw_gang *gang)
{
    if (gang->watches)
        gw_core_effect(core, GW_EFFECT_UNWATCH)->number = gang->attempt;
    gang->watches = false;
}

void gw_checkpoint_transfer_on_saved(struct gw_node_core *core, const struct gw_event *event)
{
    const struct gw_attempt *run = gw_attempt_find(core, event->number, 0);
    if (run && run->gang && run->state == GW_ATTEMPT_RUNNING && core->registered)
        gw_core_send(core, core->scheduler, GW_MESSAGE_checkpointed)->message.checkpointed =
            (struct gw_msg_checkpointed){run->attempt, 0, (int64_t)event->bytes};
}
