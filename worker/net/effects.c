/* Carries out the effects of the core, in order. */

#include "worker/net/effects.h"

#include "graph/base/clock.h"
#include "graph/base/log.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"
#include "worker/net/checkpoints/transfer.h"
#include "worker/net/checkpoints/watch.h"
#include "worker/net/link/host_link.h"
#include "worker/net/link/reconnect.h"
#include "worker/net/link/send.h"
#include "worker/net/link/state.h"
#include "worker/net/link/step.h"
#include "worker/net/tasks/look.h"
#include "worker/net/tasks/runners.h"
#include "worker/net/tasks/survey.h"
#include "worker/net/tasks/users.h"
#include "worker/store/logfile.h"

#include <gangway/comm.h>

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define ROOM_FOR_NS (10 * GW_NS_PER_MS)

/* Returns true if the report of an end needs the last lines of the task's stderr. A task that never
 * started has none. */
static bool wants_tail(const struct gw_effect *effect)
{
    const struct gw_msg_ended *ended = &effect->message.ended;
    return effect->message.type == GW_MESSAGE_ended && effect->bytes.size &&
           (!ended->stderr_tail || !ended->stderr_tail[0]) &&
           (ended->executing || ended->outcome == GW_OUTCOME_CANNOT_START);
}

/* Sends a report of failed tasks without stderr. The text may be missing because the disk was full.
 * There may be thousands of such reports, so this is checked only once per ROOM_FOR_NS. */
static void send_failures(struct gw_host_link *link, const struct gw_effect *effect)
{
    struct gw_host *host = link->host;
    const uint64_t now_ns = gw_clock_now_ns();
    struct gw_message message = effect->message;
    char tail[GW_TAIL_BYTES] = "";
    if (now_ns >= host->room_seen_ns + ROOM_FOR_NS) {
        gw_logfile_say_full(host->log_dir, tail);
        if (*tail)
            message.failures.stderr_tail = tail;
        else
            host->room_seen_ns = now_ns;
    }
    gw_host_send(link, &message, NULL, 0);
}

/* Returns the supervisor that has the process of a message. */
static struct gw_host_link *route(const struct gw_host *host, const struct gw_message *message)
{
    switch (message->type) {
    case GW_MESSAGE_reap:
        return gw_users_supervisor(host, message->reap.process);
    case GW_MESSAGE_signal:
        return gw_users_supervisor(host, message->signal.process);
    default:
        return host->supervisor;
    }
}

static void effect_send(struct gw_host *host, const struct gw_effect *effect)
{
    struct gw_host_link *link = gw_host_link_find(host, effect->peer.id);
    int fds[GW_FRAME_FDS_MAX];
    if (!link || link->closed)
        return; /* the peer is gone; the core will get CLOSE */
    if (link == host->supervisor && effect->message.type == GW_MESSAGE_spawn) {
        gw_runners_spawn(host, effect);
        return;
    }
    if (link == host->supervisor && !(link = route(host, &effect->message)))
        return; /* the supervisor of the user is gone */
    assert(effect->token_count <= GW_FRAME_FDS_MAX);
    for (uint32_t i = 0; i < effect->token_count; i++)
        fds[i] = gw_tokens_fd(&host->tokens, effect->tokens[i]);
    if (effect->message.type == GW_MESSAGE_gpu_drained)
        gw_log_warn("GPU %u is %s%s", effect->message.gpu_drained.gpu,
                    *effect->message.gpu_drained.why ? "drained: " : "used again",
                    effect->message.gpu_drained.why);
    if (effect->message.type == GW_MESSAGE_heartbeat) {
        struct gw_message message = effect->message;
        message.heartbeat.taken = gw_intake_forgettable(&host->reconnect.intake);
        gw_host_send(link, &message, fds, 0);
        return;
    }
    if (wants_tail(effect)) {
        char tail[GW_TAIL_BYTES];
        struct gw_message message = effect->message;
        gw_logfile_tail(effect->bytes.data, tail);
        gw_logfile_say_full(effect->bytes.data, tail);
        message.ended.port_taken =
            message.ended.rank == 0 && gw_lease_is_taken(&host->leases, message.ended.attempt);
        message.ended.stderr_tail = tail;
        gw_host_send(link, &message, NULL, 0);
        return;
    }
    if (effect->message.type == GW_MESSAGE_failures && !*effect->message.failures.stderr_tail) {
        send_failures(link, effect);
        return;
    }
    /* The shared memory of ranks is useless on another host, so its descriptor is not sent there.
     */
    bool stays =
        link == host->scheduler && link->transport && effect->message.type == GW_MESSAGE_rank_ready;
    if (!effect->lazy || !gw_host_send_lazily(link, &effect->message))
        gw_host_send(link, &effect->message, fds, stays ? 0 : (uint8_t)effect->token_count);
}

static void effect_lease(struct gw_host *host, const struct gw_effect *effect)
{
    struct gw_error error;
    struct gw_leased leased;
    uint64_t tokens[2];
    struct gw_event event = {.type = GW_EVENT_LEASED, .number = effect->number};
    char address[GW_ENDPOINT_TEXT_MAX] = "127.0.0.1";
    /* The address at which other workers reach this one */
    if (effect->spans && host->options.peers)
        gw_endpoint_host(host->peers_address, address);
    /* Ranks of commands (doors) use no collectives of Gangway */
    const struct gw_lease_what what = {.attempt = effect->number,
                                       .ranks = effect->count,
                                       .groups = (uint32_t)effect->size,
                                       .address = address,
                                       .collectives = !effect->doors,
                                       .rendezvous = effect->rendezvous,
                                       .doors = effect->doors};
    event.code = gw_lease_open(&host->leases, &what, &leased, &error);
    event.text = error.text;
    if (event.code == 0) {
        if (leased.segment_fd >= 0)
            GW_MUST(gw_tokens_add(&host->tokens, leased.segment_fd, &tokens[event.token_count++]));
        if (leased.listener_fd >= 0)
            GW_MUST(gw_tokens_add(&host->tokens, leased.listener_fd, &tokens[event.token_count++]));
        event.code = leased.port;
        event.text = what.address;
        event.tokens = tokens;
        event.rank = leased.ring_port;
        event.bytes = leased.rendezvous_port;
        event.ports = leased.doors;
        event.port_count = leased.door_count;
    }
    gw_step_later(host, &event);
    if (event.port_count)
        free(leased.doors);
}

static void effect_leases(struct gw_host *host, const struct gw_effect *effect)
{
    if (effect->type == GW_EFFECT_LEASE)
        effect_lease(host, effect);
    else if (effect->type == GW_EFFECT_UNBIND)
        gw_lease_unbind(&host->leases, effect->number);
    else
        gw_lease_close(&host->leases, effect->number);
}

static void effect_checkpoints(struct gw_host *host, const struct gw_effect *effect)
{
    const struct gw_msg_checkpoint_transfer *what = &effect->message.checkpoint_transfer;
    if (effect->type != GW_EFFECT_CHECKPOINT_TRANSFER)
        gw_watch_execute(host->watches, effect);
    else
        gw_transfer_start(host->transfers, effect,
                          gw_users_folder_named(host, what->user ? what->user : ""));
}

/* Emptying a memory file on a thread, since freeing many pages takes time. */
struct emptying {
    uv_work_t work;
    int fd;
};

static void empty_on_thread(uv_work_t *work)
{
    const struct emptying *emptying = work->data;
    if (ftruncate(emptying->fd, 0) < 0)
        gw_log_warn("cannot free the memory of a result: %s", strerror(errno));
}

static void empty_on_done(uv_work_t *work, int status)
{
    struct emptying *emptying = work->data;
    (void)status;
    close(emptying->fd);
    free(emptying);
}

static void effect_empty(struct gw_host *host, const struct gw_effect *effect)
{
    struct emptying *emptying = calloc(1, sizeof *emptying);
    GW_MUST_PTR(emptying);
    emptying->work.data = emptying;
    emptying->fd = fcntl(gw_tokens_fd(&host->tokens, effect->tokens[0]), F_DUPFD_CLOEXEC, 0);
    if (emptying->fd < 0) { /* the kernel frees its memory with the last descriptor */
        free(emptying);
        return;
    }
    int rc = uv_queue_work(host->loop, &emptying->work, empty_on_thread, empty_on_done);
    assert(rc == 0);
    (void)rc;
}

static void effect_abort(struct gw_host *host, const struct gw_effect *effect)
{
    struct gw_error error;
    int fd = gw_tokens_fd(&host->tokens, effect->tokens[0]);
    if (gw_comm_segment_abort(fd, GW_EABORTED, -1, &error) < 0)
        gw_log_warn("cannot interrupt the collective calls of the gang of attempt %llu: %s",
                    (unsigned long long)effect->number, error.text);
}

static void effect_measure(struct gw_host *host, uint64_t process)
{
    const uint64_t bytes = gw_runners_output_bytes(host, process);
    gw_step_later(host,
                  &(struct gw_event){.type = GW_EVENT_MEASURED, .number = process, .bytes = bytes});
}

static void effect_memory(struct gw_host *host, const struct gw_effect *effect)
{
    if (effect->type == GW_EFFECT_EMPTY)
        effect_empty(host, effect);
    else
        effect_abort(host, effect);
}

/* Gives a task a connection to the scheduler: the unix socket itself, or one end of a relay if the
 * scheduler is reached by TLS. */
static void effect_link(struct gw_host *host, const struct gw_effect *effect)
{
    struct gw_host_link *link = gw_host_link_find(host, effect->peer.id);
    struct gw_message message = effect->message;
    struct gw_error error = {0};
    int fd = -1;
    if (!link || link->closed)
        return; /* the runner is gone */
    message.task_linked.code =
        gw_host_link_connect_task(host, effect->number, effect->count, &fd, &error);
    if (fd < 0)
        message.task_linked.text = error.text;
    gw_host_send(link, &message, &fd, fd >= 0);
    if (fd >= 0)
        close(fd);
}

static void effect_close(struct gw_host *host, uint64_t peer)
{
    struct gw_host_link *link = gw_host_link_find(host, peer);
    if (link && link == host->scheduler && host->reconnect.broken)
        gw_host_reconnect_give_up(host);
    else if (link && !link->closed)
        gw_link_close(link->link);
}

static void effect_folder(struct gw_host *host, const struct gw_effect *effect)
{
    if (effect->type == GW_EFFECT_COUNT)
        gw_cache_count(host->cache, effect->number);
    else
        gw_cache_unfold(host->cache, effect->number);
}

/* Fetches a program, or the files of a task. */
static void effect_cache(struct gw_host *host, const struct gw_effect *effect)
{
    const struct gw_bin key = effect->bytes;
    const bool program = effect->type == GW_EFFECT_PROGRAM;
    const size_t rest = key.size > GW_HASH_BYTES ? key.size - GW_HASH_BYTES : 0;
    const char *folder = rest ? (const char *)key.data + GW_HASH_BYTES : "";
    struct gw_error error;
    char user[PATH_MAX];
    if (gw_users_refused(host, folder, rest, &error) == 0) {
        if (program)
            gw_cache_want(host->cache, key);
        else
            gw_cache_fold(host->cache, effect->number, key);
        return;
    }
    (void)snprintf(user, sizeof user, "%.*s", (int)rest, folder);
    gw_step_later(host, &(struct gw_event){.type = program ? GW_EVENT_PROGRAM : GW_EVENT_FOLDER,
                                           .number = effect->number,
                                           .hash = {key.data, GW_HASH_BYTES},
                                           .user = user,
                                           .code = GW_EPERM,
                                           .text = error.text});
}

/* Carries out effects that may send messages to the scheduler. They come last, since the core has
 * already numbered its own messages. */
static void execute_last(struct gw_host *host)
{
    struct gw_effect *effect;
    bool ended = false;
    GW_ARRAY_EACH (&host->effects.list, effect) {
        if (effect->type == GW_EFFECT_PROGRAM || effect->type == GW_EFFECT_FOLDER)
            effect_cache(host, effect);
        else if (effect->type == GW_EFFECT_SEND)
            ended |= effect->message.type == GW_MESSAGE_finished ||
                     effect->message.type == GW_MESSAGE_failures ||
                     effect->message.type == GW_MESSAGE_ended;
    }
    if (ended)
        gw_follow_ended(host->follow);
}

void gw_effects_execute(struct gw_host *host, uint64_t now_ns)
{
    struct gw_effect *effect;
    gw_host_send_look_at_lazy(host, now_ns);
    GW_ARRAY_EACH (&host->effects.list, effect) {
        switch (effect->type) {
        case GW_EFFECT_SEND:
            effect_send(host, effect);
            break;
        case GW_EFFECT_CLOSE:
            effect_close(host, effect->peer.id);
            break;
        case GW_EFFECT_DROP_TOKEN:
            gw_tokens_drop(&host->tokens, effect->tokens[0]);
            break;
        case GW_EFFECT_PROGRAM:
        case GW_EFFECT_FOLDER:
            break; /* see execute_last */
        case GW_EFFECT_UNFOLDER:
        case GW_EFFECT_COUNT:
            effect_folder(host, effect);
            break;
        case GW_EFFECT_CONNECT:
            gw_host_link_connect_peer(host, (uint32_t)effect->number, effect->bytes.data);
            break;
        case GW_EFFECT_LEASE:
        case GW_EFFECT_UNBIND:
        case GW_EFFECT_UNLEASE:
            effect_leases(host, effect);
            break;
        case GW_EFFECT_LOOK:
            gw_look_start(host, effect);
            break;
        case GW_EFFECT_CHECKPOINT_TRANSFER:
        case GW_EFFECT_WATCH:
        case GW_EFFECT_UNWATCH:
            effect_checkpoints(host, effect);
            break;
        case GW_EFFECT_LINK:
            effect_link(host, effect);
            break;
        case GW_EFFECT_EMPTY:
        case GW_EFFECT_ABORT:
            effect_memory(host, effect);
            break;
        case GW_EFFECT_MEASURE:
            effect_measure(host, effect->number);
            break;
        case GW_EFFECT_SURVEY:
            gw_host_survey(host, effect);
            break;
        case GW_EFFECT_SPILL:
        case GW_EFFECT_RESTORE:
        case GW_EFFECT_UNLINK:
            gw_disk_execute(host->disk, effect,
                            effect->token_count ? gw_tokens_fd(&host->tokens, effect->tokens[0])
                                                : -1);
            break;
        case GW_EFFECT_EXIT:
            host->exiting = true;
            break;
        default:
            assert(!"an effect that only schedulers have");
        }
    }
    execute_last(host);
}
