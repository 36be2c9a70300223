/* Gangs: ranks that start together, as seen by one of their workers.
 *
 * Invariants: no rank executes before the message gang_start. The worker of rank 0 creates the
 * shared memory segment and leases the port. It reports rank 0 as ready only after that. No rank of
 * a command is ready before the worker has found the command's folder and program on this host. The
 * record of a gang is freed with its last live rank. If a gang runs on several workers, each of
 * them creates a segment for its own ranks, and no rank is ready without it. The worker of rank 0
 * also opens the socket at which the ranks of the other workers connect. */
#include "worker/core/gangs/gang.h"

#include "graph/wire/frame.h"
#include "worker/core/gangs/actor.h"
#include "worker/core/gangs/checkpoint_transfer.h"
#include "worker/core/model/attempt.h"
#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"
#include "worker/core/objects/workdir.h"
#include "worker/core/processes/environment.h"
#include "worker/core/processes/gpu.h"
#include "worker/core/processes/process.h"
#include "worker/core/processes/rank_port.h"
#include "worker/core/processes/spawn.h"
#include "worker/core/runners/batch.h"
#include "worker/core/runners/runner_pool.h"

#include <msgpack.h>
#include <stdlib.h>
#include <string.h>

/* Returns true if the gang has ranks on several workers. */
static bool spans(const struct gw_gang *gang)
{
    return gang->message.groups > 1;
}

/* Copies the number of ranks per worker, since the message is freed. A number is 0 if it was not
 * sent. */
static void copy_locals(struct gw_gang *gang, struct gw_col32 locals)
{
    if (!locals.count)
        return;
    gang->locals = gw_core_alloc(locals.count * sizeof *gang->locals);
    memcpy(gang->locals, locals.data, locals.count * sizeof *gang->locals);
    gang->message.locals.data = (const void *)gang->locals;
}

/* Stores the key as long as the attempt lives. Only ranks of the gang get it. */
static void copy_key(struct gw_gang *gang, struct gw_bin key)
{
    gang->message.key = (struct gw_bin){0};
    gang->has_key = key.size == sizeof gang->ring_key;
    if (gang->has_key)
        memcpy(gang->ring_key, key.data, sizeof gang->ring_key);
}

void gw_gang_on_gang(struct gw_node_core *core, const struct gw_msg_gang *message)
{
    if (gw_gang_find(core, message->attempt))
        return; /* the message arrived twice */
    struct gw_gang *gang = gw_core_alloc(sizeof *gang);
    gang->attempt = message->attempt;
    gang->message = *message;
    copy_locals(gang, message->locals);
    copy_key(gang, message->key);
    GW_MUST(gw_map_put(&core->gangs, gang->attempt, (uintptr_t)gang));
    const bool leads = message->first_rank == 0;
    if (leads || spans(gang)) {
        struct gw_effect *effect = gw_core_effect(core, GW_EFFECT_LEASE);
        effect->number = gang->attempt;
        effect->count = spans(gang) ? message->local : message->world;
        effect->size = leads ? message->groups : 0;
        effect->rendezvous = leads && message->commands;
        effect->spans = spans(gang);
        effect->doors = message->commands;
    } else {
        gang->leased = true;
    }
    gw_checkpoint_transfer_on_gang(core, gang);
}

static void drop_listener(struct gw_node_core *core, struct gw_gang *gang)
{
    if (gang->listener)
        gw_core_drop_token(core, gang->listener);
    gang->listener = 0;
}

static void let_port_go(struct gw_node_core *core, struct gw_gang *gang)
{
    if (gang->holds_port)
        gw_core_effect(core, GW_EFFECT_UNBIND)->number = gang->attempt;
    gang->holds_port = false;
}

void gw_gang_free(struct gw_node_core *core, struct gw_gang *gang)
{
    gw_sm_move(&gw_gang_sm, &gang->state, GW_GANG_GONE);
    if (gang->holds_lease)
        gw_core_effect(core, GW_EFFECT_UNLEASE)->number = gang->attempt;
    drop_listener(core, gang);
    if (gang->segment)
        gw_core_drop_token(core, gang->segment);
    gw_array_deinit(&gang->ranks);
    free(gang->address);
    free(gang->own_address);
    free(gang->ports);
    free(gang->locals);
    free(gang->lease_text);
    free(gang->transfer_text);
    free(gang->watch.seen);
    free((void *)(uintptr_t)gang->doors.data);
    explicit_bzero(gang->ring_key, sizeof gang->ring_key);
    free(gang);
}

void gw_gang_tidy(struct gw_node_core *core, struct gw_gang *gang)
{
    if (gang->ranks.count)
        return;
    gw_map_remove(&core->gangs, gang->attempt);
    gw_gang_free(core, gang);
}

void gw_gang_on_scheduler(struct gw_node_core *core)
{
    uint64_t attempt, value;
    size_t at = 0;
    while (gw_map_next(&core->gangs, &at, &attempt, &value)) {
        struct gw_gang *gang = (struct gw_gang *)(uintptr_t)value;
        gang->arrived = gang->message.local;
        if (gang->ranks.count)
            continue;
        gw_gang_tidy(core, gang);
        at = 0; /* the table has changed, so start again */
    }
}

void gw_gang_leave(struct gw_node_core *core, struct gw_attempt *run)
{
    struct gw_gang *gang = run->gang;
    if (run->rank == 0)
        gw_checkpoint_transfer_unwatch(core, gang);
    for (size_t i = 0; i < gang->ranks.count; i++)
        if (gang->ranks.items[i] == run) {
            gw_array_remove_swap(&gang->ranks, i);
            break;
        }
    if (gang->arrived >= gang->message.local)
        gw_gang_tidy(core, gang);
}

void gw_gang_abort(struct gw_node_core *core, struct gw_gang *gang)
{
    if (gang->state == GW_GANG_ABORTED)
        return;
    gw_sm_move(&gw_gang_sm, &gang->state, GW_GANG_ABORTED);
    if (!gang->segment)
        return;
    struct gw_effect *effect = gw_core_effect(core, GW_EFFECT_ABORT);
    effect->number = gang->attempt;
    gw_core_token(core, effect, gang->segment);
}

/* -- Preparation ---------------------------------------------------------------------------------
 */

static void fail_lease(struct gw_node_core *core, struct gw_attempt *run)
{
    struct gw_attempt_end end = {.outcome = GW_OUTCOME_FAILED, .code = run->gang->lease_code};
    end.text = gw_core_strdup(run->gang->lease_text);
    gw_process_end_attempt(core, run, end, 0);
}

/* Asks the driver if the program of a command exists. The slots of the rank are reserved already.
 */
static void look(struct gw_node_core *core, const struct gw_attempt *run)
{
    struct gw_effect *effect = gw_core_effect(core, GW_EFFECT_LOOK);
    effect->number = run->attempt;
    effect->count = run->rank;
    effect->alone = run->gang->message.world > 1;
    effect->message = (struct gw_message){.type = GW_MESSAGE_spawn};
    effect->message.spawn = (struct gw_msg_spawn){
        .path = gw_environment_first(core, gw_environment_argv(core, run)),
        .env = run->spec->message.env,
        .cwd = gw_workdir_of(run),
    };
}

static void on_looked(struct gw_node_core *core, const struct gw_event *event)
{
    struct gw_attempt *run = gw_attempt_find(core, event->number, event->rank);
    if (!run || run->process || run->state != GW_ATTEMPT_STARTING)
        return; /* the rank was killed since the request */
    if (event->code < 0) {
        struct gw_attempt_end end = {.outcome = GW_OUTCOME_CANNOT_START, .code = GW_ESTART};
        end.exit_code = event->code == GW_ENOENT ? 127 : 126; /* as shells do */
        end.text = gw_core_strdup(event->text);
        gw_process_end_attempt(core, run, end, 0);
        return;
    }
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_RANK_READY);
    gw_gang_stand(core, run);
}

bool gw_gang_bars_mpi(const struct gw_process *process)
{
    const struct gw_attempt *run = process->queue.first;
    return !process->runner && run && run->gang && run->gang->message.world > 1;
}

/* The end is final, since a further attempt would load the same program. */
static void end_mpi(struct gw_node_core *core, const struct gw_process *process, const char *text)
{
    struct gw_attempt_end end = {.outcome = GW_OUTCOME_CANNOT_START, .code = GW_ESTART};
    if (!gw_gang_bars_mpi(process) || process->state != GW_PROCESS_BUSY || process->reaping ||
        !gw_attempt_executes(process->queue.first))
        return;
    end.exit_code = 126;
    end.text = gw_core_strdup(text);
    gw_process_end_attempt(core, process->queue.first, end,
                           process->queue.first->spec->message.fail_grace_ns);
}

void gw_gang_on_usage(struct gw_node_core *core, const struct gw_event *event)
{
    for (uint32_t i = 0; i < event->use_count; i++) {
        const struct gw_process *process = gw_process_find(core, event->uses[i].process);
        if (process && event->uses[i].mpi)
            end_mpi(core, process, event->uses[i].mpi);
    }
}

/* Sends a runner (`process`) its rank of a gang. If `process` is NULL, the rank runs a command:
 * its slots are reserved, and its program is checked. */
static void prepare(struct gw_node_core *core, struct gw_process *process, struct gw_attempt *run)
{
    struct gw_gang *gang = run->gang;
    if (!process) {
        look(core, run);
        return;
    }
    if (process->state == GW_PROCESS_IDLE)
        gw_sm_move(&gw_process_sm, &process->state, GW_PROCESS_BUSY);
    if (!gw_runner_pool_admits(core, process, run))
        return;
    struct gw_msg_gang *told = &gw_core_send(core, process->link, GW_MESSAGE_gang)->message.gang;
    *told = gang->message;
    told->locals = (struct gw_col32){0}; /* a runner does not use them */
    gw_batch_send(core, process, &run, 1);
}

void gw_gang_prepare_bound(struct gw_node_core *core)
{
    for (size_t i = 0; i < core->bound.count; i++) {
        struct gw_attempt *run = core->bound.items[i].run;
        if (run->serial != core->bound.items[i].serial || run->state != GW_ATTEMPT_STARTING)
            continue; /* the attempt has ended in the meantime */
        if (run->gang)
            prepare(core, run->process, run);
        else
            gw_node_actor_prepare(core, run->process, run);
    }
    gw_array_clear(&core->bound);
}

/* Packs the addresses at which the ranks meet. The message to the scheduler must not contain the
 * key, the one to the ranks does. */
static struct gw_bin pack_info(struct gw_node_core *core, const struct gw_gang *gang, bool with_key)
{
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    msgpack_sbuffer_init(&buffer);
    msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
    const char *address = gang->address ? gang->address : "";
    msgpack_pack_map(&packer, 2 + (gang->ring_port ? 1 : 0) + (with_key ? 1 : 0) +
                                  (gang->rendezvous_port ? 1 : 0));
    msgpack_pack_str_with_body(&packer, "master_addr", strlen("master_addr"));
    msgpack_pack_str_with_body(&packer, address, strlen(address));
    msgpack_pack_str_with_body(&packer, "master_port", strlen("master_port"));
    msgpack_pack_uint32(&packer, gang->port);
    if (gang->rendezvous_port) {
        msgpack_pack_str_with_body(&packer, "rendezvous_port", strlen("rendezvous_port"));
        msgpack_pack_uint32(&packer, gang->rendezvous_port);
    }
    if (gang->ring_port) {
        msgpack_pack_str_with_body(&packer, "ring_port", strlen("ring_port"));
        msgpack_pack_uint32(&packer, gang->ring_port);
    }
    if (with_key) {
        msgpack_pack_str_with_body(&packer, "ring_key", strlen("ring_key"));
        msgpack_pack_bin_with_body(&packer, gang->ring_key, sizeof gang->ring_key);
    }
    return gw_core_packed(core, &buffer);
}

/* Returns true if a rank is ready only after the worker has leased resources for the gang. */
static bool needs_lease(const struct gw_attempt *run)
{
    return run->rank == 0 || spans(run->gang) || run->gang->message.commands;
}

void gw_gang_stand(struct gw_node_core *core, struct gw_attempt *run)
{
    struct gw_gang *gang = run->gang;
    if (!gw_checkpoint_transfer_lets(core, run) || (needs_lease(run) && !gang->leased))
        return; /* the event CHECKPOINT_TRANSFERRED or LEASED calls this function again */
    if (needs_lease(run) && gang->lease_failed) {
        fail_lease(core, run);
        return;
    }
    if (!core->registered)
        return; /* the rank is reported after the next registration */
    struct gw_bin info = {0};
    uint64_t *token = NULL;
    if (run->rank == 0) {
        info = pack_info(core, gang, false);
    }
    if (run->rank == 0 && !spans(gang) && gang->segment) {
        token = gw_core_scratch(core, sizeof *token);
        *token = gang->segment;
    }
    struct gw_effect *effect = gw_core_send(core, core->scheduler, GW_MESSAGE_rank_ready);
    effect->message.rank_ready =
        (struct gw_msg_rank_ready){run->attempt, run->rank, info, gw_rank_port_of(core, run)};
    effect->tokens = token;
    effect->token_count = token != NULL;
}

int gw_gang_on_ready(struct gw_node_core *core, struct gw_process *process,
                     const struct gw_msg_rank_ready *ready)
{
    struct gw_attempt *run = process->queue.first;
    if (!run || !run->gang || run->state != GW_ATTEMPT_STARTING || run->attempt != ready->attempt ||
        run->rank != ready->rank)
        return GW_EPROTO;
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_RANK_READY);
    gw_gang_stand(core, run);
    return 0;
}

static void store_ports(struct gw_gang *gang, const struct gw_event *event)
{
    gang->own_address = gw_core_strdup(event->text);
    gang->port_count = event->port_count;
    if (!event->port_count)
        return;
    gang->ports = gw_core_alloc(event->port_count * sizeof *gang->ports);
    memcpy(gang->ports, event->ports, event->port_count * sizeof *gang->ports);
}

static void on_leased(struct gw_node_core *core, const struct gw_event *event)
{
    struct gw_gang *gang = gw_gang_find(core, event->number);
    if (!gang || gang->leased) {
        for (uint32_t i = 0; i < event->token_count; i++)
            gw_core_drop_token(core, event->tokens[i]);
        gw_core_effect(core, GW_EFFECT_UNLEASE)->number = event->number;
        return;
    }
    gang->leased = true;
    if (event->code < 0) {
        gang->lease_failed = true;
        gang->lease_code = event->code;
        gang->lease_text = gw_core_strdup(event->text);
    } else {
        gang->holds_lease = gang->holds_port =
            gang->message.first_rank == 0 || gang->message.commands;
        gang->port = (uint32_t)event->code;
        gang->rendezvous_port = (uint32_t)event->bytes;
        gang->address = gw_core_strdup(event->text);
        store_ports(gang, event);
        gang->segment = event->token_count ? event->tokens[0] : 0;
        gang->listener = event->token_count > 1 ? event->tokens[1] : 0;
        gang->ring_port = event->rank;
    }
    for (size_t i = 0; i < gang->ranks.count; i++) {
        struct gw_attempt *run = gang->ranks.items[i];
        if (run->state != GW_ATTEMPT_RANK_READY || !needs_lease(run))
            continue;
        const bool ends = gang->lease_failed;
        gw_gang_stand(core, run);
        if (ends)
            return; /* the rank has ended, and possibly the gang with it */
    }
}

/* Reports the ranks as ready that waited for the gang's checkpoint. gang may be NULL. */
static void stand_again(struct gw_node_core *core, struct gw_gang *gang)
{
    for (size_t i = 0; gang && i < gang->ranks.count; i++) {
        struct gw_attempt *run = gang->ranks.items[i];
        const bool waited = run->rank == 0 || gang->message.first_rank != 0;
        if (!waited || run->state != GW_ATTEMPT_RANK_READY)
            continue;
        const bool ends = gang->transfer_text || gang->lease_failed;
        gw_gang_stand(core, run);
        if (ends)
            return; /* the rank has ended, and possibly the gang with it */
    }
}

void gw_gang_on_checkpoint_message(struct gw_node_core *core, const struct gw_message *message)
{
    if (message->type == GW_MESSAGE_checkpoint_transfer)
        gw_checkpoint_transfer_on_copy(core, &message->checkpoint_transfer);
    else
        stand_again(core, gw_checkpoint_transfer_on_go(core, &message->transfer_go));
}

void gw_gang_on_event(struct gw_node_core *core, const struct gw_event *event)
{
    if (event->type == GW_EVENT_LEASED)
        on_leased(core, event);
    else if (event->type == GW_EVENT_LOOKED)
        on_looked(core, event);
    else if (event->type == GW_EVENT_CHECKPOINT_TRANSFERRED)
        stand_again(core, gw_checkpoint_transfer_on_transferred(core, event));
    else
        gw_checkpoint_transfer_on_saved(core, event);
}

/* -- Start ---------------------------------------------------------------------------------------
 */

/* Returns true if a key of the info map has this name. */
static bool is_key(const msgpack_object *key, const char *name)
{
    return key->type == MSGPACK_OBJECT_STR && key->via.str.size == strlen(name) &&
           memcmp(key->via.str.ptr, name, key->via.str.size) == 0;
}

static void read_entry(struct gw_gang *gang, const msgpack_object_kv *entry)
{
    const msgpack_object *value = &entry->val;
    if (is_key(&entry->key, "master_addr") && value->type == MSGPACK_OBJECT_STR) {
        free(gang->address);
        gang->address = strndup(value->via.str.ptr, value->via.str.size);
        GW_MUST_PTR(gang->address);
    } else if (value->type == MSGPACK_OBJECT_POSITIVE_INTEGER) {
        if (is_key(&entry->key, "master_port"))
            gang->port = (uint32_t)value->via.u64;
        else if (is_key(&entry->key, "ring_port"))
            gang->ring_port = (uint32_t)value->via.u64;
        else if (is_key(&entry->key, "rendezvous_port"))
            gang->rendezvous_port = (uint32_t)value->via.u64;
    }
}

/* Reads the info map that the worker of rank 0 sent. Values that are missing stay unchanged. */
static void read_info(struct gw_gang *gang, struct gw_bin info)
{
    if (!info.size || gw_frame_check(info.data, info.size, NULL) < 0)
        return;
    msgpack_unpacked unpacked;
    msgpack_unpacked_init(&unpacked);
    if (msgpack_unpack_next(&unpacked, info.data, info.size, NULL) == MSGPACK_UNPACK_SUCCESS &&
        unpacked.data.type == MSGPACK_OBJECT_MAP)
        for (uint32_t i = 0; i < unpacked.data.via.map.size; i++)
            read_entry(gang, &unpacked.data.via.map.ptr[i]);
    msgpack_unpacked_destroy(&unpacked);
}

static void start_rank(struct gw_node_core *core, struct gw_attempt *run, struct gw_bin info)
{
    struct gw_gang *gang = run->gang;
    gw_sm_move(&gw_attempt_sm, &run->state, GW_ATTEMPT_RUNNING);
    if (!run->process) {
        gw_checkpoint_transfer_watch(core, run);
        gw_spawn_process(core, NULL, run, NULL);
        return;
    }
    run->process->head_since_ns = core->now_ns;
    if (!run->process->link)
        return; /* the process is ending: its outcome is decided when it is reaped */
    struct gw_effect *effect = gw_core_send(core, run->process->link, GW_MESSAGE_gang_start);
    effect->message.gang_start = (struct gw_msg_gang_start){gang->attempt, info, {0}};
    if (gang->segment) {
        uint64_t *tokens = gw_core_scratch(core, 2 * sizeof *tokens);
        tokens[0] = gang->segment;
        tokens[1] = gang->listener;
        effect->tokens = tokens;
        effect->token_count = run->rank == 0 && gang->listener ? 2 : 1;
    }
}

/* Copies the ports, since the message is freed and a rank may start later. */
static void store_doors(struct gw_gang *gang, struct gw_bin doors)
{
    if (!doors.size)
        return;
    void *copy = gw_core_alloc(doors.size);
    memcpy(copy, doors.data, doors.size);
    gang->doors = (struct gw_bin){copy, doors.size};
}

/* Returns true if a rank of a command must wait for its GPUs. It has no process before the gang
 * starts. A process that shared a GPU with it may have ended since, and the memory of that process
 * may not be free yet. */
static bool lacks_gpus(const struct gw_node_core *core, const struct gw_attempt *run)
{
    return !run->process && run->gpu_count > 0 &&
           !gw_gpu_lets(core, run->spec, run->gpus, run->gpu_count);
}

void gw_gang_pump(struct gw_node_core *core)
{
    for (struct gw_attempt *run = core->held.first, *next; run; run = next) {
        next = run->next;
        if (run->goes && run->state == GW_ATTEMPT_RANK_READY && !lacks_gpus(core, run)) {
            run->goes = false;
            start_rank(core, run, (struct gw_bin){0});
        }
    }
}

void gw_gang_on_go(struct gw_node_core *core, const struct gw_event *event)
{
    const struct gw_msg_gang_start *go = &event->message->gang_start;
    struct gw_gang *gang = gw_gang_find(core, go->attempt);
    bool takes = gang && gang->state == GW_GANG_FORMING;
    for (uint32_t i = 0; i < event->token_count; i++)
        if (takes && !gang->segment)
            gang->segment = event->tokens[i];
        else
            gw_core_drop_token(core, event->tokens[i]);
    if (!takes)
        return;
    gw_sm_move(&gw_gang_sm, &gang->state, GW_GANG_RUNNING);
    gang->watch.look_ns = gang->watch.since_ns = core->now_ns;
    gang->watch.closer = false; /* why ranks were not ready does not matter any more */
    read_info(gang, go->info);
    let_port_go(core, gang);
    const struct gw_bin info = pack_info(core, gang, gang->has_key);
    store_doors(gang, go->doors);
    for (size_t i = 0; i < gang->ranks.count; i++) {
        struct gw_attempt *run = gang->ranks.items[i];
        run->goes = run->state == GW_ATTEMPT_RANK_READY && lacks_gpus(core, run);
        if (run->state == GW_ATTEMPT_RANK_READY && !run->goes)
            start_rank(core, run, info);
    }
    drop_listener(core, gang); /* rank 0 has the socket now */
}

/* Handles a control message. Rank 0 of a function answers at its next step. Ranks of a command get
 * the signal, and the answer to their reports from the next step on that none of them has reported:
 * ranks work in step, so all of them get the answer at the same step. */
void gw_gang_on_control(struct gw_node_core *core, const struct gw_msg_control *control)
{
    struct gw_gang *gang = gw_gang_find(core, control->attempt);
    if (gang && gang->control != control->command) {
        gang->control = control->command;
        gang->control_from = gang->reported < INT64_MAX ? gang->reported + 1 : INT64_MAX;
    }
    for (size_t i = 0; gang && i < gang->ranks.count; i++) {
        const struct gw_attempt *run = gang->ranks.items[i];
        if (!run->process || run->state != GW_ATTEMPT_RUNNING)
            continue;
        if (run->spec->message.kind == GW_SPEC_COMMAND)
            gw_process_signal(core, run->process);
        else if (run->rank == 0 && run->process->link)
            gw_core_send(core, run->process->link, GW_MESSAGE_control)->message.control = *control;
    }
}
