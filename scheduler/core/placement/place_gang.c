/* Starts an attempt of a gang: sends the workers its ranks and the source of its checkpoint. */

#include "scheduler/core/placement/place_gang.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/assign.h"
#include "scheduler/core/send/outbox.h"
#include "scheduler/core/send/send.h"

#include <msgpack.h>

static void tell_gang(struct gw_sched *sched, const struct gw_gang_attempt *gang,
                      const struct gw_placed_rank *placed_ranks)
{
    uint32_t groups = 0, group = 0;
    for (uint32_t i = 0; i < gang->count; i++)
        groups += i == 0 || placed_ranks[i].worker != placed_ranks[i - 1].worker;
    const struct gw_spec *spec = &gang->job->specs.items[gang->job->tasks.spec[gang->index]];
    const bool physical_gpu_shared = gw_sched_gpu_is_physical_shared(sched, gang);
    uint32_t *locals = gw_arena_alloc(&sched->step.effects->arena, groups * sizeof *locals);
    GW_MUST_PTR(locals);
    for (uint32_t i = 0, at = 0; i < gang->count; i++) {
        at += i > 0 && placed_ranks[i].worker != placed_ranks[i - 1].worker;
        locals[at] += 1;
    }
    for (uint32_t first = 0, end; first < gang->count; first = end, group++) {
        for (end = first;
             end < gang->count && placed_ranks[end].worker == placed_ranks[first].worker;)
            end++;
        struct gw_msg_gang *message =
            &gw_sched_send(sched, placed_ranks[first].worker->remote, GW_MESSAGE_gang)->gang;
        message->attempt = gang->id;
        message->world = gang->count;
        message->first_rank = first;
        message->local = end - first;
        message->group_rank = group;
        message->groups = groups;
        message->checkpoint = gang->from_attempt;
        message->checkpoint_lost = gang->from_lost;
        gw_sched_checkpoint_describe_transfer(sched, gang, first == 0, message);
        if (message->transfer_worker)
            message->transfer_user =
                gw_sched_assign_user(sched, gang->job, placed_ranks[first].worker);
        message->physical_gpu_shared = physical_gpu_shared;
        message->commands = spec->message.kind == GW_SPEC_COMMAND;
        message->locals = (struct gw_col32){(const void *)locals, groups};
    }
}

void gw_sched_place_gang(struct gw_sched *sched, struct gw_queue *queue,
                         const struct gw_placed_rank *placed_ranks, uint32_t count)
{
    struct gw_job *job = queue->job;
    uint32_t row = gw_bits_first(&queue->ready);
    gw_sched_gang_place(sched, job, row, queue->shape, placed_ranks, count);
    struct gw_gang_attempt *gang = gw_sched_gang_of(sched, job, row);
    gw_sched_place_gang_prefetches(sched, gang, placed_ranks);
    tell_gang(sched, gang, placed_ranks);
    for (uint32_t i = 0; i < gang->count; i++)
        gw_sched_outbox_assign(sched, gang->ranks[i].slot);
}

void gw_sched_place_gang_prefetches(struct gw_sched *sched, const struct gw_gang_attempt *gang,
                                    const struct gw_placed_rank *placed_ranks)
{
    bool is_copy, member;
    uint32_t count;
    struct gw_worker *from = gw_sched_checkpoint_transfer_source(sched, gang, &is_copy);
    struct gw_worker **members = gw_sched_checkpoint_members(sched, gang, &count, &member);
    if (from)
        gw_sched_assign_neighbour(sched, placed_ranks[0].worker, from);
    for (uint32_t i = 0; i < count; i++)
        gw_sched_assign_neighbour(sched, placed_ranks[0].worker, members[i]);
    for (uint32_t i = 1; i < gang->count && gang->mirrors; i++)
        if (placed_ranks[i].worker != placed_ranks[i - 1].worker)
            gw_sched_assign_neighbour(sched, placed_ranks[i].worker, placed_ranks[0].worker);
}
