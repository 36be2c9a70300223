/* Commands that wait in a supervisor for the process before them. Some start when that process is
 * reaped. Others are sent back to the worker: the process ran too long, its supervisor died, or it
 * had ended before they arrived. */
#include "tests/sim/world/turn.h"

#include <string.h>

/* Returns the process that waits for this process in the supervisor, or NULL. */
static struct process *next_of(const struct process *process)
{
    struct host *host = process->host;
    for (size_t i = 0; i < host->processes.count; i++)
        if (host->processes.items[i]->behind == process->id)
            return host->processes.items[i];
    return NULL;
}

static void refuse(struct sim *sim, struct process *process, int32_t code)
{
    struct host *host = process->host;
    struct gw_message message = {.type = GW_MESSAGE_spawned,
                                 .spawned = {process->id, 0, code, "not begun"}};
    sim_process_remove(sim, process);
    sim_process_supervisor(sim, host, &message);
}

static void on_return(struct sim *sim, struct process *process)
{
    sim_fault(sim, FAULT_NOT_BEGUN);
    refuse(sim, process, GW_EAGAIN);
}

static void on_cancel(struct sim *sim, struct process *process)
{
    refuse(sim, process, GW_ECANCELLED);
}

bool sim_turn_wait(struct sim *sim, struct process *process, uint64_t behind)
{
    bool there = false;
    if (!behind)
        return false;
    for (size_t i = 0; i < process->host->processes.count; i++)
        there = there || process->host->processes.items[i]->id == behind;
    process->behind = behind;
    sim_process_later(sim, process, sim_below(sim, there ? 20 * MS : MS), on_return);
    return true;
}

void sim_turn_come(struct sim *sim, const struct process *process)
{
    struct process *next = next_of(process);
    if (!next)
        return;
    next->behind = process->behind;
    if (next->behind)
        return; /* the process before it never started */
    sim_fault(sim, FAULT_TURN);
    next->epoch++;
    sim_process_up(sim, next);
}

bool sim_turn_reap(struct sim *sim, struct process *process)
{
    if (process->behind)
        sim_process_later(sim, process, sim_below(sim, MS), on_cancel);
    return process->behind != 0;
}

void sim_turn_lost(struct sim *sim, const struct process *process)
{
    struct process *next = next_of(process);
    if (next && sim_chance(sim, 50))
        sim_process_later(sim, next, 0, on_return);
}

uint32_t sim_turn_args(const struct work *work, struct gw_buffer *args)
{
    uint64_t id = work->twin_of ? work->twin_of->id : work->id;
    uint8_t list[2 + sizeof id] = {0x91, 0xcf}; /* MessagePack: a list of one number */
    for (size_t i = 0; i < sizeof id; i++)
        list[2 + i] = (uint8_t)(id >> (56 - 8 * i));
    bool command = work->kind == GW_SPEC_COMMAND;
    uint32_t bytes = command ? sizeof list : sizeof id;
    GW_MUST(gw_buffer_append(args, command ? (const void *)list : &id, bytes));
    return bytes;
}

uint64_t sim_turn_work(const uint8_t *args, uint32_t bytes)
{
    uint64_t id = 0;
    if (bytes == sizeof id)
        memcpy(&id, args, sizeof id);
    for (uint32_t i = 2; bytes == 2 + sizeof id && i < bytes; i++)
        id = id << 8 | args[i];
    return id;
}
