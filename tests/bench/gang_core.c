/* Events and messages of the simulated workers and clients. */
#include "tests/bench/gang_core.h"

#include "graph/base/must.h"
#include "graph/wire/enums.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void gang_core_init(struct gang_core *core, const struct gw_sched_options *options, uint64_t peers)
{
    core->sched = gw_sched_new(options);
    core->sequence = calloc(peers + 1, sizeof *core->sequence);
    GW_MUST_PTR(core->sequence);
    gang_core_step(core, (struct gw_event){.type = GW_EVENT_START, .number = 1});
}

void gang_core_deinit(struct gang_core *core)
{
    gw_sched_free(core->sched);
    gw_array_deinit(&core->effects.list);
    gw_arena_deinit(&core->effects.arena);
    free(core->sequence);
}

void gang_core_step(struct gang_core *core, struct gw_event event)
{
    struct gw_effect *effect;
    event.now_ns = event.wall_ns = core->now_ns;
    GW_MUST(gw_sched_step(core->sched, &event, &core->effects));
    GW_ARRAY_EACH (&core->effects.list, effect)
        if (effect->type == GW_EFFECT_SEND && effect->message.type == GW_MESSAGE_assign)
            core->on_assign(core->context, effect->peer.id, &effect->message.assign);
        else if (effect->type == GW_EFFECT_SEND && effect->message.type == GW_MESSAGE_kill)
            for (uint32_t i = 0; core->on_kill && i < effect->message.kill.attempt.count; i++)
                core->on_kill(core->context, gw_col64_at(effect->message.kill.attempt, i));
}

void gang_core_send(struct gang_core *core, uint64_t peer, struct gw_message message)
{
    message.sequence = ++core->sequence[peer];
    gang_core_step(
        core, (struct gw_event){.type = GW_EVENT_MESSAGE, .peer = {peer}, .message = &message});
}

void gang_core_add_worker(struct gang_core *core, uint64_t worker)
{
    static const uint8_t gpu[] = {0x94, 0xa1, 'u', 0xa1, 'n', 0xce, 0x50, 0, 0, 0, 0};
    uint8_t gpus[1 + GANG_CORE_GPUS * sizeof gpu] = {0x90 + GANG_CORE_GPUS};
    char host[32];
    for (size_t i = 0; i < GANG_CORE_GPUS; i++)
        memcpy(gpus + 1 + i * sizeof gpu, gpu, sizeof gpu);
    (void)snprintf(host, sizeof host, "host-%" PRIu64, worker);
    gang_core_step(
        core, (struct gw_event){
                  .type = GW_EVENT_OPEN, .peer = {worker}, .role = GW_ROLE_WORKER, .text = host});
    gang_core_send(core, worker,
                   (struct gw_message){.type = GW_MESSAGE_registration,
                                       .registration = {.incarnation = worker,
                                                        .slots = GANG_CORE_GPUS,
                                                        .memory_bytes = UINT64_C(64) << 30,
                                                        .gpus = {gpus, sizeof gpus},
                                                        .host = host,
                                                        .address = host}});
}

void gang_core_add_client(struct gang_core *core, uint64_t client, const char *user)
{
    gang_core_step(core, (struct gw_event){.type = GW_EVENT_OPEN,
                                           .peer = {client},
                                           .uid = user ? client : 0,
                                           .role = GW_ROLE_CLIENT,
                                           .user = user,
                                           .text = "c"});
}

void gang_core_submit(struct gang_core *core, uint64_t client, const struct gw_msg_spec *spec)
{
    static const uint32_t zero;
    struct gw_message message = {.type = GW_MESSAGE_spec, .spec = *spec};
    if (!spec->kind)
        message.spec.kind = GW_SPEC_FUNCTION;
    if (message.spec.kind == GW_SPEC_FUNCTION)
        message.spec.function = "f";
    message.spec.cwd = "";
    message.spec.slots = message.spec.gpus = 1;
    gang_core_send(core, client, message);
    gang_core_send(core, client,
                   (struct gw_message){.type = GW_MESSAGE_submit,
                                       .submit = {.request = spec->key,
                                                  .flags = GW_SUBMIT_LAST,
                                                  .name = "job",
                                                  .spec = {&zero, 1},
                                                  .args_size = {&zero, 1},
                                                  .args = {"", 0},
                                                  .dep_count = {&zero, 1},
                                                  .names = {"", 0}}});
}

void gang_core_rank_ready(struct gang_core *core, uint64_t worker, uint64_t attempt, uint32_t rank)
{
    gang_core_send(
        core, worker,
        (struct gw_message){.type = GW_MESSAGE_rank_ready, .rank_ready = {attempt, rank, {"", 0}}});
}

void gang_core_finish(struct gang_core *core, uint64_t worker, uint64_t attempt, uint32_t rank,
                      uint64_t run_ns)
{
    const uint64_t bytes = 1;
    const uint32_t size = 1;
    gang_core_send(core, worker,
                   (struct gw_message){.type = GW_MESSAGE_finished,
                                       .finished = {.attempt = {&attempt, 1},
                                                    .rank = {&rank, 1},
                                                    .bytes = {&bytes, 1},
                                                    .value_size = {&size, 1},
                                                    .values = {"\x01", 1},
                                                    .run_ns = {&run_ns, 1}}});
}
