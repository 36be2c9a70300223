/* Delivers events to the core.
 *
 * Invariants: at most one step of the core is in progress. Events that occur while effects are
 * carried out wait until all effects of the step are carried out. */
#include "worker/net/link/step.h"

#include "graph/base/clock.h"
#include "graph/base/must.h"
#include "graph/wire/frame.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

static int step_once(struct gw_host *host, const struct gw_event *event)
{
    struct gw_event timed = *event;
    timed.now_ns = gw_clock_now_ns();
    timed.wall_ns = 0; /* no code of the worker reads it */
    host->stepping = true;
    int rc = gw_node_core_step(host->core, &timed, &host->effects);
    host->execute(host, timed.now_ns);
    host->stepping = false;
    struct gw_node_memory memory;
    gw_node_core_memory(host->core, &memory);
    gw_usage_hurry(host->usage, memory.used_bytes > host->memory_bytes / 2);
    if (host->gpus)
        gw_gpus_hurry(host->gpus, gw_node_core_gpus_clearing(host->core));
    return rc;
}

static void drain(struct gw_host *host)
{
    while (host->pending_done < host->pending.count) {
        struct gw_host_pending *pending = host->pending.items[host->pending_done++];
        (void)step_once(host, &pending->event);
        free(pending->text);
        free(pending->user);
        free(pending->stands);
        free(pending->ports);
        free(pending);
    }
    gw_array_clear(&host->pending);
    host->pending_done = 0;
}

int gw_host_step(struct gw_host *host, const struct gw_event *event)
{
    assert(!host->stepping);
    if (host->exiting)
        return 0;
    int rc = step_once(host, event);
    drain(host);
    host->stepped(host);
    return rc;
}

void gw_step_later(struct gw_host *host, const struct gw_event *event)
{
    if (!host->stepping) {
        (void)gw_host_step(host, event);
        return;
    }
    struct gw_host_pending *pending = calloc(1, sizeof *pending);
    GW_MUST_PTR(pending);
    pending->event = *event;
    if (event->text) {
        pending->text = strdup(event->text);
        GW_MUST_PTR(pending->text);
        pending->event.text = pending->text;
    }
    if (event->user) {
        pending->user = strdup(event->user);
        GW_MUST_PTR(pending->user);
        pending->event.user = pending->user;
    }
    if (event->hash.size == GW_HASH_BYTES) {
        memcpy(pending->hash, event->hash.data, GW_HASH_BYTES);
        pending->event.hash.data = pending->hash;
    }
    if (event->stand_count) {
        pending->stands = calloc(event->stand_count, sizeof *pending->stands);
        GW_MUST_PTR(pending->stands);
        memcpy(pending->stands, event->stands, event->stand_count * sizeof *pending->stands);
        pending->event.stands = pending->stands;
    }
    if (event->port_count) {
        pending->ports = calloc(event->port_count, sizeof *pending->ports);
        GW_MUST_PTR(pending->ports);
        memcpy(pending->ports, event->ports, event->port_count * sizeof *pending->ports);
        pending->event.ports = pending->ports;
    }
    if (event->token_count) {
        assert(event->token_count <= sizeof pending->tokens / sizeof pending->tokens[0]);
        memcpy(pending->tokens, event->tokens, event->token_count * sizeof pending->tokens[0]);
        pending->event.tokens = pending->tokens;
    }
    if (event->message) { /* only a `spawned` message of a failed start; its text is static */
        pending->message = *event->message;
        pending->event.message = &pending->message;
    }
    GW_MUST(gw_array_push(&host->pending, pending));
}

int gw_step_message(struct gw_host_link *link, const struct gw_message *message, const int *fds,
                    uint8_t fd_count)
{
    struct gw_host *host = link->host;
    uint64_t tokens[GW_FRAME_FDS_MAX];
    for (uint8_t i = 0; i < fd_count; i++)
        GW_MUST(gw_tokens_add(&host->tokens, fds[i], &tokens[i]));
    return gw_host_step(host, &(struct gw_event){.type = GW_EVENT_MESSAGE,
                                                 .peer = {link->id},
                                                 .message = message,
                                                 .tokens = tokens,
                                                 .token_count = fd_count});
}
