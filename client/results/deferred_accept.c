/* Answers to submissions that no caller waits for. Invariant: a group with `unanswered` set is in
 * client->groups. It stays there until the answer or the end of the connection clears the flag. */
#include "client/results/deferred_accept.h"

#include "client/results/actor_batch.h"
#include "client/results/resubmit_log.h"
#include "graph/base/clock.h"

#include <time.h>

/* The scheduler refused the submission and sends nothing about its tasks: all pending futures fail.
 */
static void fail_group(struct gw_future_group *group, const struct gw_msg_rejected *rejected)
{
    struct gw_error error;
    gw_error_set(&error, rejected->code < 0 ? rejected->code : GW_EPROTO, "%s", rejected->text);
    gw_future_group_fail_pending(group, &error);
}

bool gw_deferred_accept_take(struct gw_client *client, const struct gw_message *message,
                             struct gw_future_group **done)
{
    bool well = message->type == GW_MESSAGE_accepted;
    uint64_t request = well ? message->accepted.request : message->rejected.request, found;
    if (!gw_map_get(&client->groups, request, &found))
        return false;
    struct gw_future_group *group = (struct gw_future_group *)(uintptr_t)found;
    if (!group->unanswered)
        return false;
    group->unanswered = false;
    if (well) {
        group->job = message->accepted.job;
        if (group->record)
            gw_resubmit_log_accept(group->record, message->accepted.job);
        for (uint32_t i = 0; i < group->count; i++)
            if (group->futures[i].released)
                gw_io_release(client->io, group->job, group->rows ? group->rows[i] : i);
    } else {
        fail_group(group, &message->rejected);
    }
    pthread_cond_broadcast(&client->answered);
    if (--group->live == 0)
        *done = group;
    return true;
}

int gw_deferred_accept_wait(const struct gw_future *future, struct gw_error *error)
{
    struct gw_future_group *group = future->group;
    struct gw_client *client = group->client;
    pthread_mutex_lock(&client->lock);
    if (group->unanswered && !client->closed) {
        gw_actor_batch_flush(client);
        if (group->quiet)
            gw_client_prompt(client);
    }
    gw_reader_handoff_suspend(&client->turn);
    while (group->unanswered && !client->down.code && !client->closed)
        pthread_cond_wait(&client->answered, &client->lock);
    gw_reader_handoff_resume(&client->turn);
    int rc = group->job ? 0 : GW_ECLOSED;
    pthread_mutex_unlock(&client->lock);
    return rc < 0 ? gw_client_down_error(client, error) : 0;
}

/* Whether a group that was sent waits for an answer. The client's lock is held. */
static bool is_any_open(const struct gw_client *client)
{
    size_t at = 0;
    uint64_t request, found;
    while (gw_map_next(&client->groups, &at, &request, &found)) {
        const struct gw_future_group *group = (const struct gw_future_group *)(uintptr_t)found;
        if (group->unanswered && !group->unsent)
            return true;
    }
    return false;
}

void gw_deferred_accept_wait_all(struct gw_client *client, uint64_t timeout_ns)
{
    uint64_t deadline_ns = gw_clock_now_ns() + timeout_ns;
    const struct timespec deadline = {(time_t)(deadline_ns / GW_NS_PER_S),
                                      (long)(deadline_ns % GW_NS_PER_S)};
    pthread_mutex_lock(&client->lock);
    bool asked = false;
    gw_reader_handoff_suspend(&client->turn);
    while (!client->down.code && is_any_open(client)) {
        if (!asked)
            gw_client_prompt(client);
        asked = true;
        if (pthread_cond_clockwait(&client->answered, &client->lock, CLOCK_MONOTONIC, &deadline))
            break;
    }
    gw_reader_handoff_resume(&client->turn);
    pthread_mutex_unlock(&client->lock);
}

void gw_deferred_accepts_closed(struct gw_client *client)
{
    struct gw_future_group *group;
    do {
        size_t at = 0;
        uint64_t request, found;
        group = NULL;
        pthread_mutex_lock(&client->lock);
        while (!group && gw_map_next(&client->groups, &at, &request, &found)) {
            struct gw_future_group *each = (struct gw_future_group *)(uintptr_t)found;
            if (!each->unanswered || each->unsent)
                continue;
            each->unanswered = false;
            if (--each->live == 0)
                group = each;
        }
        pthread_cond_broadcast(&client->answered);
        pthread_mutex_unlock(&client->lock);
        if (group)
            gw_future_group_drop(group);
    } while (group);
}
