/* A host whose memory is above its threshold starts no new task. This file counts the memory
 * independently: the worker, its processes, and the results at the host. Ranks may start, because
 * other ranks of their gang wait for them. Calls of actors may start, because their process exists
 * already. One more task may start if nothing that runs would free memory, or has not done so for a
 * while. */
#include "tests/sim/checks/admission.h"

#include "tests/sim/world/turn.h"

#define PATIENCE_NS (5 * SECOND)

void sim_admission_start(struct host *host, uint64_t pause_bytes)
{
    host->admission = (struct admission){.pause_bytes = pause_bytes};
}

void sim_admission_measured(struct host *host, uint64_t own_bytes,
                            const struct gw_process_use *uses, uint32_t count)
{
    host->admission.own_bytes = own_bytes;
    for (size_t i = 0; i < host->processes.count; i++)
        for (uint32_t k = 0; k < count; k++)
            if (uses[k].process == host->processes.items[i]->id)
                host->processes.items[i]->used_bytes = uses[k].bytes;
}

static uint64_t bytes_of(const struct sim *sim, uint64_t token)
{
    uint64_t bytes = 0;
    (void)gw_map_get(&sim->sizes, token, &bytes); /* 0 if the content is a file on disk */
    return bytes;
}

/* Counts the memory at the end of a step. What the step releases no longer counts. */
static uint64_t count_bytes(const struct sim *sim, const struct host *host)
{
    uint64_t bytes = host->admission.own_bytes, gone = 0;
    for (size_t i = 0; i < host->processes.count; i++)
        if (host->processes.items[i]->alive)
            bytes += host->processes.items[i]->used_bytes;
    for (size_t i = 0; i < host->tokens.count; i++)
        bytes += bytes_of(sim, host->tokens.items[i]);
    for (size_t i = 0; i < host->effects.list.count; i++) {
        const struct gw_effect *effect = &host->effects.list.items[i];
        if (effect->type == GW_EFFECT_DROP_TOKEN || effect->type == GW_EFFECT_EMPTY)
            gone += bytes_of(sim, effect->tokens[0]);
    }
    return bytes > gone ? bytes - gone : 0;
}

/* Returns true if a process runs a task, which will end or make other tasks end. */
static bool is_busy(const struct host *host)
{
    for (size_t i = 0; i < host->processes.count; i++) {
        const struct process *process = host->processes.items[i];
        if (process->alive && process->executing && !process->blocked)
            return true;
    }
    return false;
}

static void begin(struct sim *sim, struct host *host, const struct work *work)
{
    struct admission *admission = &host->admission;
    if (!admission->over_ns)
        return;
    uint64_t since_ns =
        admission->begun_ns > admission->over_ns ? admission->begun_ns : admission->over_ns;
    SIM_CHECK(sim, admission->offers || sim->now_ns >= since_ns + PATIENCE_NS,
              "task %llu begins on host %u, which uses %llu bytes and is to stay below %llu",
              (unsigned long long)work->id, host->number, (unsigned long long)admission->bytes,
              (unsigned long long)admission->pause_bytes);
    sim_fault(sim, FAULT_ADMITTED);
    admission->begun_ns = sim->now_ns;
    admission->offers = false;
}

static void assigned(struct sim *sim, struct host *host, const struct gw_msg_assign *assign)
{
    const uint8_t *args = assign->args.data;
    for (uint32_t i = 0; i < assign->attempt.count; i++) {
        const struct work *work =
            sim_work_find(sim, sim_turn_work(args, gw_col32_at(assign->args_size, i)));
        args += gw_col32_at(assign->args_size, i);
        /* The process of an actor may have been started before. */
        if (gw_col32_at(assign->rank, i) != GW_RANK_NONE || work->calls || work->makes_actor)
            continue;
        begin(sim, host, work);
        return; /* later rows of the same runner begin after it */
    }
}

void sim_admission_stepped(struct sim *sim, struct host *host)
{
    struct admission *admission = &host->admission;
    if (!admission->pause_bytes)
        return;
    admission->bytes = count_bytes(sim, host);
    if (admission->bytes <= admission->pause_bytes) {
        admission->over_ns = 0;
        admission->offers = false;
        return;
    }
    if (!admission->over_ns)
        admission->over_ns = sim->now_ns;
    admission->offers =
        admission->offers || !is_busy(host); /* this stays true until a task starts */
    for (size_t i = 0; i < host->effects.list.count; i++) {
        const struct gw_effect *effect = &host->effects.list.items[i];
        if (effect->type == GW_EFFECT_SEND && effect->message.type == GW_MESSAGE_assign)
            assigned(sim, host, &effect->message.assign);
    }
}

void sim_admission_spawned(struct sim *sim, const struct process *process)
{
    if (!process->runner && process->rows.items[0].rank == GW_RANK_NONE)
        begin(sim, process->host, process->rows.items[0].work);
}
