/* Receipts.
 *
 * Always: who was told that all is well finds it so in every later life of the scheduler. They
 * leave in the order of their numbers; who asked may be gone by then. */
#include "scheduler/core/send/receipt.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/send/effect.h"

static void send(struct gw_sched *sched, struct gw_remote *remote, const struct gw_receipt *receipt)
{
    const uint32_t tasks = receipt->tasks;
    if (receipt->known_job) {
        gw_sched_send(sched, remote, GW_MESSAGE_accepted)->accepted =
            (struct gw_msg_accepted){receipt->request, receipt->known_job, 1};
        return;
    }
    const uint8_t body[] = {0xce, (uint8_t)(tasks >> 24), (uint8_t)(tasks >> 16),
                            (uint8_t)(tasks >> 8), (uint8_t)tasks};
    struct gw_msg_reply *reply = &gw_sched_send(sched, remote, GW_MESSAGE_reply)->reply;
    reply->request = receipt->request;
    reply->text = "";
    if (receipt->counted)
        reply->body = gw_sched_bin(sched, (struct gw_bin){body, sizeof body});
}

void gw_sched_receipt(struct gw_sched *sched, struct gw_remote *remote, const struct gw_job *job,
                      const struct gw_receipt *receipt, const struct gw_error *error)
{
    const uint64_t number = sched->facts + (sched->commit.size > 0); /* of the facts so far */
    if (error->code)
        gw_sched_reply(sched, remote, receipt->request, error);
    else if ((job && !job->detached) || number <= sched->committed || GW_PLANTED(680))
        send(sched, remote, receipt);
    else
        GW_FACT(sched, receipt_kept, .receipt = receipt, .number = number, .remote = remote);
}

void gw_sched_receipts_give(struct gw_sched *sched, uint64_t number)
{
    size_t count = 0;
    for (; count < sched->receipts.count; count++) {
        const struct gw_receipt *receipt = &sched->receipts.items[count];
        if (receipt->number > number)
            break;
        struct gw_remote *remote = gw_sched_access_remote(sched, receipt->peer);
        if (remote)
            send(sched, remote, receipt);
    }
    if (count)
        GW_FACT(sched, receipts_given, .count = count);
}
