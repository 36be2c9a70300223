/* What holds: who is `unanswered` is in client->bundles, and stays there until that is taken back,
 * by the answer or by the end of the connection, whichever comes first. */
#include "client/answer.h"

#include "client/calls.h"
#include "client/record.h"
#include "graph/base/clock.h"

#include <time.h>

/* Nothing will be told of its tasks. */
static void fail_bundle(struct gw_bundle *bundle, const struct gw_msg_rejected *rejected)
{
    struct gw_error error;
    gw_error_set(&error, rejected->code < 0 ? rejected->code : GW_EPROTO, "%s", rejected->text);
    gw_bundle_fail_pending(bundle, &error);
}

bool gw_answer_take(struct gw_client *client, const struct gw_message *message,
                    struct gw_bundle **done)
{
    bool well = message->type == GW_MESSAGE_accepted;
    uint64_t request = well ? message->accepted.request : message->rejected.request, found;
    if (!gw_map_get(&client->bundles, request, &found))
        return false;
    struct gw_bundle *bundle = (struct gw_bundle *)(uintptr_t)found;
    if (!bundle->unanswered)
        return false;
    bundle->unanswered = false;
    if (well) {
        bundle->job = message->accepted.job;
        if (bundle->record)
            gw_record_accept(bundle->record, message->accepted.job);
        for (uint32_t i = 0; i < bundle->count; i++)
            if (bundle->futures[i].released)
                gw_io_release(client->io, bundle->job, bundle->rows ? bundle->rows[i] : i);
    } else {
        fail_bundle(bundle, &message->rejected);
    }
    pthread_cond_broadcast(&client->answered);
    if (--bundle->live == 0)
        *done = bundle;
    return true;
}

int gw_answer_wait(const struct gw_future *future, struct gw_error *error)
{
    struct gw_bundle *bundle = future->bundle;
    struct gw_client *client = bundle->client;
    pthread_mutex_lock(&client->lock);
    if (bundle->unanswered && !client->closed) {
        gw_calls_flush(client);
        if (bundle->quiet)
            gw_client_prompt(client);
    }
    gw_turn_keep(&client->turn);
    while (bundle->unanswered && !client->down.code && !client->closed)
        pthread_cond_wait(&client->answered, &client->lock);
    gw_turn_unkeep(&client->turn);
    int rc = bundle->job ? 0 : GW_ECLOSED;
    pthread_mutex_unlock(&client->lock);
    return rc < 0 ? gw_client_down_error(client, error) : 0;
}

/* Whether one is to be answered. The lock is held. */
static bool is_any_open(const struct gw_client *client)
{
    size_t at = 0;
    uint64_t request, found;
    while (gw_map_next(&client->bundles, &at, &request, &found)) {
        const struct gw_bundle *bundle = (const struct gw_bundle *)(uintptr_t)found;
        if (bundle->unanswered && !bundle->gathering)
            return true;
    }
    return false;
}

void gw_answer_wait_all(struct gw_client *client, uint64_t timeout_ns)
{
    uint64_t deadline_ns = gw_clock_now_ns() + timeout_ns;
    const struct timespec deadline = {(time_t)(deadline_ns / GW_NS_PER_S),
                                      (long)(deadline_ns % GW_NS_PER_S)};
    pthread_mutex_lock(&client->lock);
    bool asked = false;
    gw_turn_keep(&client->turn);
    while (!client->down.code && is_any_open(client)) {
        if (!asked)
            gw_client_prompt(client);
        asked = true;
        if (pthread_cond_clockwait(&client->answered, &client->lock, CLOCK_MONOTONIC, &deadline))
            break;
    }
    gw_turn_unkeep(&client->turn);
    pthread_mutex_unlock(&client->lock);
}

void gw_answers_closed(struct gw_client *client)
{
    struct gw_bundle *bundle;
    do {
        size_t at = 0;
        uint64_t request, found;
        bundle = NULL;
        pthread_mutex_lock(&client->lock);
        while (!bundle && gw_map_next(&client->bundles, &at, &request, &found)) {
            struct gw_bundle *each = (struct gw_bundle *)(uintptr_t)found;
            if (!each->unanswered || each->gathering)
                continue;
            each->unanswered = false;
            if (--each->live == 0)
                bundle = each;
        }
        pthread_cond_broadcast(&client->answered);
        pthread_mutex_unlock(&client->lock);
        if (bundle)
            gw_bundle_drop(bundle);
    } while (bundle);
}
