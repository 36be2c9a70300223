/* Start of a gang after all of its ranks are ready. */

#include "scheduler/core/lifecycle/gang_start.h"

#include "scheduler/core/lifecycle/checkpoint.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/send/send.h"

#include <msgpack.h>
#include <string.h>

enum { DOOR_BYTES_MAX = 80 };

/* Packs the list of addresses ("host:port") on which the ranks of a command listen, in the order of
 * the ranks. The result is empty if any rank has no address. */
static struct gw_bin pack_doors(struct gw_sched *sched, const struct gw_gang_attempt *gang)
{
    for (uint32_t i = 0; i < gang->count; i++)
        if (!gang->ranks[i].door)
            return (struct gw_bin){"", 0};
    msgpack_sbuffer buffer;
    msgpack_packer packer;
    msgpack_sbuffer_init(&buffer);
    msgpack_packer_init(&packer, &buffer, msgpack_sbuffer_write);
    msgpack_pack_array(&packer, gang->count);
    for (uint32_t i = 0; i < gang->count; i++) {
        const uint32_t of = i;
        const char *door = gang->ranks[of].door;
        msgpack_pack_str_with_body(&packer, door, strlen(door));
    }
    GW_MUST_PTR(buffer.data);
    struct gw_bin doors =
        gw_sched_send_bin(sched, (struct gw_bin){buffer.data, (uint32_t)buffer.size});
    msgpack_sbuffer_destroy(&buffer);
    return doors;
}

void gw_sched_gang_start_goes(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                              struct gw_went went)
{
    /* Only detached jobs outlive the scheduler, so only they need the fact in the journal. */
    if (job->detached)
        GW_FACT(sched, gang_went, .at = job, .job = job->id, .index = row, .attempt = went.attempt,
                .tries = went.tries);
}

static void go(struct gw_sched *sched, struct gw_gang_attempt *gang)
{
    struct gw_job *job = gang->job;
    gw_sched_gang_move(sched, gang, GW_GANG_READY);
    gw_sched_gang_move(sched, gang, GW_GANG_RUNNING);
    gw_sched_gang_start_goes(sched, job, gang->index,
                             (struct gw_went){gang->id, job->tasks.charges[gang->index].tries});
    gw_sched_checkpoint_on_go(sched, gang);
    const struct gw_worker *last = NULL;
    struct gw_bin info = gw_sched_send_bin(sched, (struct gw_bin){gang->info, gang->info_size});
    struct gw_bin doors = pack_doors(sched, gang);
    for (uint32_t i = 0; i < gang->count; i++) {
        const struct gw_worker *worker = sched->attempts.items[gang->ranks[i].slot].worker;
        if (worker == last)
            continue;
        last = worker;
        struct gw_message *message =
            gang->token
                ? gw_sched_send_with(sched, worker->remote, GW_MESSAGE_gang_start, gang->token)
                : gw_sched_send(sched, worker->remote, GW_MESSAGE_gang_start);
        message->gang_start.attempt = gang->id;
        message->gang_start.info = info;
        message->gang_start.doors = doors;
    }
}

int gw_sched_gang_on_ready(struct gw_sched *sched, struct gw_worker *worker,
                           const struct gw_msg_rank_ready *ready)
{
    uint32_t slot = gw_sched_gang_slot(sched, worker, ready->attempt, ready->rank);
    struct gw_gang_attempt *gang = gw_sched_gang_find(sched, ready->attempt);
    const char *door = ready->door ? ready->door : "";
    if (strlen(door) > DOOR_BYTES_MAX)
        return GW_EPROTO;
    if (slot == GW_NO_INDEX || gang->state != GW_GANG_PREPARING || gang->ranks[ready->rank].ready)
        return 0;
    uint64_t token = 0;
    if (ready->rank == 0 && sched->step.event->token_count > 0) {
        token = sched->step.event->tokens[0];
        sched->step.tokens_retained = sched->step.event->token_count == 1;
    }
    gw_sched_gang_rank_ready(gang, ready->rank, ready->info, token, door);
    if (ready->rank == 0)
        gw_sched_checkpoint_on_ready(sched, gang);
    if (gang->ready == gang->count)
        go(sched, gang);
    return 0;
}

int gw_sched_gang_on_paused(struct gw_sched *sched, const struct gw_worker *worker,
                            const struct gw_msg_rank_paused *paused)
{
    if (gw_sched_gang_slot(sched, worker, paused->attempt, paused->rank) == GW_NO_INDEX)
        return 0;
    struct gw_gang_attempt *gang = gw_sched_gang_find(sched, paused->attempt);
    if (paused->rank != 0 || gang->state == GW_GANG_PREPARING)
        return GW_EPROTO;
    gw_sched_gang_pause(gang);
    return 0;
}
