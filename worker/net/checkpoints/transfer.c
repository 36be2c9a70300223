/* Fetches a checkpoint from another worker. The request goes over a connection of its own. The
 * files are first written beside their final place, and moved there when everything has arrived and
 * is verified. A folder of commands comes from several workers, one after the other: first the
 * whole folder from the worker that has the checkpoint, then from each other worker the files that
 * its ranks have written (store/union.h).
 *
 * Invariants: one piece of work at a time, on a thread, uses the files of a transfer. If a
 * connection fails or breaks, it is tried again for as long as the scheduler may need to detect a
 * lost worker. If the failure were reported sooner, the scheduler would only name the same worker
 * again. */
#include "worker/net/checkpoints/transfer.h"

#include "graph/base/array.h"
#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "graph/wire/timeouts.h"
#include "worker/net/checkpoints/checkpoint_path.h"
#include "worker/net/checkpoints/serve.h"
#include "worker/net/link/host_link.h"
#include "worker/net/link/send.h"
#include "worker/net/link/state.h"
#include "worker/net/link/step.h"
#include "worker/store/pack.h"
#include "worker/store/union.h"
#include "worker/store/unpack.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RETRY_MS = 500, TICK_MS = 1000 };
#define GIVE_UP_NS (GW_LOST_NS + 5 * GW_NS_PER_S) /* the scheduler detects a lost worker first */

enum transfer_state {
    TRANSFER_ASKS,
    TRANSFER_OPENS,
    TRANSFER_RECEIVES,
    TRANSFER_PLACES,
    TRANSFER_ENDED
};

struct part {
    struct gw_msg_transfer_part part; /* texts and data are stored behind the struct */
};

/* A worker that the checkpoint comes from. */
struct source {
    uint32_t worker;
    char *address;
    char host[256];           /* name for users; empty: not asked yet */
    struct gw_unpack *unpack; /* received files; NULL: nothing was needed */
};

struct gw_transfer {
    uv_work_t work;
    uv_timer_t timer;
    struct gw_transfers *transfers;
    struct gw_host_link *link; /* NULL: not connected at the moment */
    struct gw_transfer *next;
    uint64_t number, moved_ns; /* moved_ns: time of the last progress */
    struct gw_msg_checkpoint_transfer what;
    bool copy, to_copy; /* copy: from a stored copy; to_copy: to one */
    struct source *sources;
    uint32_t source_count, at; /* index of the source that is asked now */
    bool here;                 /* the first source shares this worker's folder */
    bool laid;
    uint8_t state;        /* enum transfer_state */
    bool busy, forgotten; /* forgotten: its job is over */
    char marker[64];
    uint64_t bytes;
    GW_ARRAY(struct part *) parts;
    int rc;
    struct gw_error error;
    /* Used by the thread while busy: what to do, and the result. */
    uint8_t doing;
    int did_rc;
    struct gw_error did_error;
};

struct gw_transfers {
    struct gw_host *host;
    struct gw_transfer *first;
    uint32_t works; /* removals of copies in progress */
    bool copies;    /* copies may exist */
    bool closed;
};

/* -- Work on a thread ----------------------------------------------------------------------------
 */

static void folder_of(const struct gw_transfer *transfer, char *path, size_t bytes)
{
    const struct gw_host *host = transfer->transfers->host;
    if (transfer->to_copy)
        gw_checkpoint_path_copy(host, transfer->what.job, transfer->what.index, path, bytes);
    else
        gw_checkpoint_path_folder(host, transfer->what.job, transfer->what.index, path, bytes);
}

static struct source *source_of(const struct gw_transfer *transfer)
{
    return &transfer->sources[transfer->at];
}

static int open_files(struct gw_transfer *transfer)
{
    const struct gw_host *host = transfer->transfers->host;
    char path[PATH_MAX + 128];
    struct gw_error *error = &transfer->did_error;
    (void)snprintf(path, sizeof path, "%s/%s", host->checkpoint_dir, transfer->marker);
    if (transfer->marker[0] && access(path, F_OK) == 0)
        return gw_error_set(error, GW_EEXIST,
                            "no transfer is needed: both hosts use the same folder of checkpoints");
    uint64_t most = host->options.transfer_bytes_max ? host->options.transfer_bytes_max
                                                     : GW_TRANSFER_BYTES_DEFAULT;
    if (transfer->bytes > most)
        return gw_error_set(
            error, GW_ELIMIT,
            "the checkpoint has %.1f MiB, and this worker transfers at most %.1f MiB: start it "
            "with a higher --checkpoint-max (`gangway up` or `gangway worker`)",
            (double)transfer->bytes / (1 << 20), (double)most / (1 << 20));
    (void)snprintf(path, sizeof path, "%s/.transfers/%016" PRIx64 ".%" PRIu64 ".%" PRIu32,
                   host->checkpoint_dir, host->incarnation, transfer->number, transfer->at);
    return gw_unpack_open(path, transfer->bytes, &source_of(transfer)->unpack, error);
}

/* Merges the files that the ranks of all hosts have written into one folder, on the worker of rank
 * 0. */
static int join_files(struct gw_transfer *transfer, const char *folder)
{
    char own[256];
    struct source *first = &transfer->sources[0];
    struct gw_union_part *parts = calloc(transfer->source_count + 1, sizeof *parts);
    size_t count = 1;
    int rc = 0;
    GW_MUST_PTR(parts);
    gw_checkpoint_path_here(transfer->transfers->host, own, sizeof own);
    parts[0] = (struct gw_union_part){.folder = folder, .host = own};
    if (transfer->here || transfer->what.member)
        rc = gw_union_list(&parts[0], gw_union_mark(folder), &transfer->did_error);
    if (!transfer->here) {
        parts[count++] = parts[0];
        parts[0] =
            (struct gw_union_part){.folder = gw_unpack_folder(first->unpack), .host = first->host};
        gw_unpack_list(first->unpack, &parts[0]);
    }
    for (uint32_t i = 1; i < transfer->source_count; i++) {
        struct source *source = &transfer->sources[i];
        if (!source->unpack)
            continue;
        parts[count] = (struct gw_union_part){.folder = gw_unpack_folder(source->unpack),
                                              .host = source->host};
        gw_unpack_list(source->unpack, &parts[count++]);
    }
    if (rc == 0)
        rc = gw_union_join(parts, count, &transfer->did_error);
    for (size_t i = 0; i < count; i++)
        gw_union_deinit(&parts[i]);
    free(parts);
    return rc < 0 || transfer->here
               ? rc
               : gw_unpack_replace(first->unpack, folder, &transfer->did_error);
}

static int lay_files(struct gw_transfer *transfer)
{
    char path[PATH_MAX + 96], parent[PATH_MAX + 96];
    folder_of(transfer, path, sizeof path);
    (void)snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(path, '/') - path), path);
    int rc = gw_dir_make(parent, &transfer->did_error);
    if (rc < 0)
        return rc;
    struct gw_unpack *unpack = source_of(transfer)->unpack;
    if (transfer->what.how == GW_TRANSFER_JOIN)
        rc = join_files(transfer, path);
    else if (transfer->to_copy || transfer->what.how == GW_TRANSFER_MIRROR)
        rc = gw_unpack_replace(unpack, path, &transfer->did_error);
    else
        rc = gw_unpack_lay(unpack, path, &transfer->did_error);
    transfer->laid = rc == 0;
    return rc;
}

/* Uses the copy that this worker itself keeps. If the checkpoint is to be in the task's folder,
 * only checks that it is there. */
static int take_own(struct gw_transfer *transfer)
{
    struct gw_pack *pack = NULL;
    struct gw_msg_transfer_part part;
    const struct gw_msg_transfer_want want = {.job = transfer->what.job,
                                              .index = transfer->what.index,
                                              .attempt = transfer->what.attempt,
                                              .commands = transfer->what.commands,
                                              .copy = transfer->copy};
    gw_checkpoint_path_here(transfer->transfers->host, source_of(transfer)->host,
                            sizeof source_of(transfer)->host);
    int rc = gw_serve_open(transfer->transfers->host, &want, &pack, &transfer->did_error);
    if (rc == 0 && !transfer->copy) {
        gw_pack_close(pack);
        return gw_error_set(&transfer->did_error, GW_EEXIST,
                            "no transfer is needed: the checkpoint is on this worker");
    }
    if (rc == 0) {
        transfer->bytes = gw_pack_bytes(pack);
        rc = open_files(transfer);
    }
    while (rc == 0)
        if ((rc = gw_pack_next(pack, &part, &transfer->did_error)) == 0)
            rc = gw_unpack_take(source_of(transfer)->unpack, &part, &transfer->did_error);
    gw_pack_close(pack);
    return rc;
}

/* Removes the received files beside the folder. Notes the state of the folder, which is now the
 * same on all hosts of the gang. */
static void clean_up(struct gw_transfer *transfer)
{
    char path[PATH_MAX + 96];
    for (uint32_t i = 0; i < transfer->source_count; i++) {
        gw_unpack_close(transfer->sources[i].unpack);
        transfer->sources[i].unpack = NULL;
    }
    if (!transfer->laid || transfer->to_copy || transfer->what.how == GW_TRANSFER_INSERT)
        return;
    transfer->laid = false;
    folder_of(transfer, path, sizeof path);
    if (gw_union_set_mark(path, &transfer->did_error) < 0)
        gw_log_warn("%s", transfer->did_error.text);
}

static void work_on_thread(uv_work_t *work)
{
    struct gw_transfer *transfer = work->data;
    switch (transfer->doing) {
    case TRANSFER_ASKS:
        transfer->did_rc = take_own(transfer);
        break;
    case TRANSFER_OPENS:
        transfer->did_rc = open_files(transfer);
        break;
    case TRANSFER_RECEIVES:
        transfer->did_rc = gw_unpack_take(source_of(transfer)->unpack,
                                          &transfer->parts.items[0]->part, &transfer->did_error);
        break;
    case TRANSFER_PLACES:
        transfer->did_rc = lay_files(transfer);
        break;
    default:
        clean_up(transfer);
    }
}

static void work_on_done(uv_work_t *work, int status);

static void start_work(struct gw_transfer *transfer)
{
    transfer->busy = true;
    transfer->doing = transfer->state;
    GW_MUST(uv_queue_work(transfer->transfers->host->loop, &transfer->work, work_on_thread,
                          work_on_done));
}

static void let_link_go(struct gw_transfer *transfer)
{
    if (!transfer->link)
        return;
    transfer->link->transfer = NULL;
    if (!transfer->link->closed)
        gw_link_close(transfer->link->link);
    transfer->link = NULL;
}

static void drop_parts(struct gw_transfer *transfer)
{
    for (size_t i = 0; i < transfer->parts.count; i++)
        free(transfer->parts.items[i]);
    gw_array_clear(&transfer->parts);
}

static void transfers_free_if_over(struct gw_transfers *transfers)
{
    if (transfers->closed && !transfers->first && !transfers->works)
        free(transfers);
}

static void timer_on_closed(uv_handle_t *handle)
{
    struct gw_transfer *transfer = handle->data;
    struct gw_transfers *transfers = transfer->transfers;
    for (struct gw_transfer **at = &transfers->first; *at; at = &(*at)->next)
        if (*at == transfer) {
            *at = transfer->next;
            break;
        }
    gw_array_deinit(&transfer->parts);
    for (uint32_t i = 0; i < transfer->source_count; i++)
        free(transfer->sources[i].address);
    free(transfer->sources);
    free(transfer);
    transfers_free_if_over(transfers);
}

/* Ends a transfer with its present result. The files beside the folder are removed, and then the
 * result is delivered. */
static void end(struct gw_transfer *transfer)
{
    let_link_go(transfer);
    transfer->state = TRANSFER_ENDED;
    if (!transfer->busy) {
        drop_parts(transfer);
        start_work(transfer);
    }
}

static void fail(struct gw_transfer *transfer, int code, const char *text)
{
    if (transfer->state == TRANSFER_ENDED)
        return;
    char copy[GW_ERROR_TEXT_MAX];
    (void)snprintf(copy, sizeof copy, "%s", text);
    transfer->rc = gw_error_set(&transfer->error, code, "%s", copy);
    end(transfer);
}

static void remove_copies(struct gw_transfers *transfers, uint64_t job);

static void tell_over(struct gw_transfer *transfer)
{
    struct gw_host *host = transfer->transfers->host;
    const struct gw_msg_checkpoint_transfer *what = &transfer->what;
    const char *done = transfer->to_copy ? "copied" : "transferred here";
    if (transfer->error.code < 0 && transfer->error.code != GW_EEXIST)
        gw_log_warn("the checkpoints of job %llu could not be %s from worker %u: %s",
                    (unsigned long long)what->job, done, what->worker, transfer->error.text);
    else if (transfer->error.code == 0)
        gw_log_info("the checkpoints of job %llu were %s from worker %u (%.1f MiB)",
                    (unsigned long long)what->job, done, what->worker,
                    (double)transfer->bytes / (1 << 20));
    /* The copy may have been completed after the job was over */
    if (transfer->forgotten && transfer->to_copy)
        remove_copies(transfer->transfers, what->job);
    if (!transfer->transfers->closed && !host->exiting)
        (void)gw_host_step(host, &(struct gw_event){.type = GW_EVENT_CHECKPOINT_TRANSFERRED,
                                                    .number = transfer->number,
                                                    .code = transfer->error.code,
                                                    .text = transfer->error.text});
    uv_close((uv_handle_t *)&transfer->timer, timer_on_closed);
}

static void want_more(struct gw_transfer *transfer, uint32_t parts)
{
    const struct gw_message message = {.type = GW_MESSAGE_transfer_more, .transfer_more = {parts}};
    if (transfer->link && !transfer->link->closed)
        gw_host_send(transfer->link, &message, NULL, 0);
}

static void work_next(struct gw_transfer *transfer)
{
    if (!transfer->busy && transfer->state == TRANSFER_RECEIVES && transfer->parts.count)
        start_work(transfer);
}

static void ask(struct gw_transfer *transfer);

/* Continues after a source is complete: asks the next one or, after the last one, moves all files
 * to their place. */
static void ask_next(struct gw_transfer *transfer)
{
    let_link_go(transfer);
    transfer->moved_ns = gw_clock_now_ns();
    if (transfer->at + 1 == transfer->source_count) {
        transfer->state = TRANSFER_PLACES;
        start_work(transfer);
        return;
    }
    transfer->at++;
    transfer->state = TRANSFER_ASKS;
    ask(transfer);
}

static void took_part(struct gw_transfer *transfer)
{
    free(transfer->parts.items[0]);
    memmove(transfer->parts.items, transfer->parts.items + 1,
            --transfer->parts.count * sizeof *transfer->parts.items);
    transfer->moved_ns = gw_clock_now_ns();
    if (transfer->rc == 1) {
        ask_next(transfer);
    } else {
        want_more(transfer, 1);
        work_next(transfer);
    }
}

static bool is_join(const struct gw_transfer *transfer)
{
    return transfer->what.how == GW_TRANSFER_JOIN;
}

static bool is_beside(const struct gw_transfer *transfer)
{
    for (uint32_t i = 0; i < transfer->source_count; i++)
        if (transfer->sources[i].unpack)
            return true;
    return false;
}

/* Handles that the source uses the same folder as this worker. */
static void need_nothing(struct gw_transfer *transfer)
{
    transfer->rc = 0;
    transfer->error = (struct gw_error){0};
    transfer->here |= transfer->at == 0;
    ask_next(transfer);
}

static void work_on_done(uv_work_t *work, int status)
{
    struct gw_transfer *transfer = work->data;
    const uint8_t did = transfer->state;
    (void)status;
    transfer->busy = false;
    if (did != TRANSFER_ENDED) {
        transfer->rc = transfer->did_rc;
        transfer->error = transfer->rc < 0 ? transfer->did_error : transfer->error;
    }
    if (did == TRANSFER_ENDED) {
        if (is_beside(transfer) || transfer->parts.count)
            end(transfer); /* the transfer ended while a part was being written */
        else
            tell_over(transfer);
    } else if (is_join(transfer) && transfer->rc == GW_EEXIST) {
        need_nothing(transfer);
    } else if (transfer->rc < 0 || did == TRANSFER_PLACES) {
        if (transfer->rc >= 0)
            transfer->error.code = 0;
        end(transfer);
    } else if (did == TRANSFER_ASKS) {
        ask_next(transfer);
    } else if (did == TRANSFER_OPENS) {
        transfer->state = TRANSFER_RECEIVES;
        want_more(transfer, GW_TRANSFER_WINDOW);
    } else {
        took_part(transfer);
    }
}

static void ask(struct gw_transfer *transfer)
{
    struct gw_host *host = transfer->transfers->host;
    struct gw_message message = {.type = GW_MESSAGE_transfer_want};
    const struct source *source = source_of(transfer);
    transfer->link =
        gw_host_link_dial_peer(host, source->worker, source->address, &transfer->error);
    if (!transfer->link)
        return; /* the timer tries again */
    transfer->link->transfer = transfer;
    message.transfer_want =
        (struct gw_msg_transfer_want){.job = transfer->what.job,
                                      .index = transfer->what.index,
                                      .attempt = transfer->what.attempt,
                                      .commands = transfer->what.commands,
                                      .copy = transfer->copy && transfer->at == 0,
                                      .written = transfer->at > 0};
    gw_host_send(transfer->link, &message, NULL, 0);
}

static void transfer_on_timer(uv_timer_t *timer)
{
    struct gw_transfer *transfer = timer->data;
    char text[GW_ERROR_TEXT_MAX];
    if (transfer->state == TRANSFER_ENDED || transfer->busy)
        return;
    if (gw_clock_now_ns() - transfer->moved_ns >= GIVE_UP_NS) {
        (void)snprintf(text, sizeof text, "worker %u, which has it, cannot be reached: %.512s",
                       source_of(transfer)->worker,
                       transfer->error.text[0] ? transfer->error.text : "it does not answer");
        fail(transfer, GW_ELOST, text);
    } else if (!transfer->link && transfer->state == TRANSFER_ASKS) {
        ask(transfer);
    }
}

static void on_found(struct gw_transfer *transfer, const struct gw_msg_transfer_found *found)
{
    if (transfer->state != TRANSFER_ASKS || strchr(found->marker, '/')) {
        fail(transfer, GW_EPROTO, "it answers what nobody asked");
    } else if (found->code < 0) {
        fail(transfer, found->code, found->text);
    } else {
        struct source *source = source_of(transfer);
        (void)snprintf(source->host, sizeof source->host, "%s", found->host);
        (void)snprintf(transfer->marker, sizeof transfer->marker, "%s", found->marker);
        transfer->bytes = found->bytes;
        transfer->state = TRANSFER_OPENS;
        start_work(transfer);
    }
}

static void on_part(struct gw_transfer *transfer, const struct gw_msg_transfer_part *part)
{
    if (part->code < 0) {
        fail(transfer, part->code, part->text);
        return;
    }
    if (transfer->state != TRANSFER_RECEIVES || transfer->parts.count >= GW_TRANSFER_WINDOW) {
        fail(transfer, GW_EPROTO, "it sends what nobody asked for");
        return;
    }
    size_t path = strlen(part->path) + 1;
    struct part *copy = malloc(sizeof *copy + path + part->data.size);
    GW_MUST_PTR(copy);
    char *behind = (char *)(copy + 1);
    copy->part = *part;
    memcpy(behind, part->path, path);
    if (part->data.size)
        memcpy(behind + path, part->data.data, part->data.size);
    copy->part.path = behind;
    copy->part.data.data = behind + path;
    GW_MUST(gw_array_push(&transfer->parts, copy));
    work_next(transfer);
}

bool gw_transfer_on_message(struct gw_host_link *link, const struct gw_message *message)
{
    switch (message->type) {
    case GW_MESSAGE_transfer_want:
    case GW_MESSAGE_transfer_more:
        gw_serve_on_message(link, message);
        return true;
    case GW_MESSAGE_transfer_found:
        if (link->transfer)
            on_found(link->transfer, &message->transfer_found);
        return true;
    case GW_MESSAGE_transfer_part:
        if (link->transfer)
            on_part(link->transfer, &message->transfer_part);
        return true;
    default:
        return link->transfers; /* other messages are not expected on a connection for transfers */
    }
}

void gw_transfer_on_gone(struct gw_host_link *link)
{
    struct gw_transfer *transfer = link->transfer;
    gw_serve_on_gone(link);
    link->transfer = NULL;
    if (!transfer)
        return;
    transfer->link = NULL;
    if (transfer->state == TRANSFER_OPENS || transfer->state == TRANSFER_RECEIVES)
        fail(transfer, GW_ELOST, "the connection to the worker that has it broke");
}

struct gw_transfers *gw_transfers_new(struct gw_host *host)
{
    struct gw_transfers *transfers = calloc(1, sizeof *transfers);
    GW_MUST_PTR(transfers);
    transfers->host = host;
    return transfers;
}

void gw_transfers_adopted(struct gw_transfers *transfers)
{
    transfers->copies = true;
}

/* Stores the sources. The addresses of the effect are in the same order. */
static void copy_sources(struct gw_transfer *transfer, const struct gw_effect *effect)
{
    const struct gw_col32 others = effect->message.checkpoint_transfer.others;
    const char *address = effect->bytes.data;
    transfer->source_count = 1 + others.count;
    transfer->sources = calloc(transfer->source_count, sizeof *transfer->sources);
    GW_MUST_PTR(transfer->sources);
    for (uint32_t i = 0; i < transfer->source_count; i++) {
        struct source *source = &transfer->sources[i];
        source->worker = i == 0 ? transfer->what.worker : gw_col32_at(others, i - 1);
        source->address = strdup(address);
        GW_MUST_PTR(source->address);
        address += strlen(address) + 1;
    }
    transfer->what.others = (struct gw_col32){0};
}

void gw_transfer_start(struct gw_transfers *transfers, const struct gw_effect *effect)
{
    struct gw_transfer *transfer = calloc(1, sizeof *transfer);
    GW_MUST_PTR(transfer);
    transfer->work.data = transfer;
    transfer->transfers = transfers;
    transfer->number = effect->number;
    transfer->what = effect->message.checkpoint_transfer;
    transfer->copy = effect->size != 0;
    transfer->to_copy = effect->count != 0;
    copy_sources(transfer, effect);
    transfers->copies |= transfer->to_copy;
    transfer->moved_ns = gw_clock_now_ns();
    transfer->next = transfers->first;
    transfers->first = transfer;
    (void)uv_timer_init(transfers->host->loop, &transfer->timer);
    transfer->timer.data = transfer;
    (void)uv_timer_start(&transfer->timer, transfer_on_timer, RETRY_MS, TICK_MS);
    if (transfer->what.worker == transfers->host->keyring.worker)
        start_work(transfer);
    else
        ask(transfer);
}

struct removal {
    uv_work_t work;
    struct gw_transfers *transfers;
    /* prefix: only names that begin so are removed; empty: all */
    char path[PATH_MAX + 64], prefix[32];
    char marker[PATH_MAX + 64];
};

static void removal_on_thread(uv_work_t *work)
{
    const struct removal *removal = work->data;
    char path[2 * PATH_MAX];
    if (!removal->prefix[0]) {
        if (removal->path[0])
            (void)gw_dir_remove(removal->path, NULL);
        (void)unlink(removal->marker);
        return;
    }
    DIR *folder = opendir(removal->path);
    for (const struct dirent *entry; folder && (entry = readdir(folder));) {
        if (strncmp(entry->d_name, removal->prefix, strlen(removal->prefix)) != 0)
            continue;
        (void)snprintf(path, sizeof path, "%s/%s", removal->path, entry->d_name);
        (void)gw_dir_remove(path, NULL);
    }
    if (folder)
        (void)closedir(folder);
}

static void removal_on_done(uv_work_t *work, int status)
{
    struct removal *removal = work->data;
    (void)status;
    removal->transfers->works--;
    transfers_free_if_over(removal->transfers);
    free(removal);
}

static struct removal *removal_new(struct gw_transfers *transfers)
{
    struct removal *removal = calloc(1, sizeof *removal);
    char name[64];
    GW_MUST_PTR(removal);
    removal->work.data = removal;
    removal->transfers = transfers;
    gw_checkpoint_path_copy(transfers->host, 0, 0, removal->path, sizeof removal->path);
    gw_checkpoint_path_marker(transfers->host, name, sizeof name);
    (void)snprintf(removal->marker, sizeof removal->marker, "%.*s/%s", PATH_MAX - 1,
                   transfers->host->checkpoint_dir, name);
    transfers->works++;
    return removal;
}

static void remove_copies(struct gw_transfers *transfers, uint64_t job)
{
    struct removal *removal = removal_new(transfers);
    (void)snprintf(removal->prefix, sizeof removal->prefix, "%" PRIu64 ".", job);
    GW_MUST(
        uv_queue_work(transfers->host->loop, &removal->work, removal_on_thread, removal_on_done));
}

void gw_transfer_forget(struct gw_transfers *transfers, uint64_t job)
{
    for (struct gw_transfer *transfer = transfers->first; transfer; transfer = transfer->next)
        if (transfer->what.job == job) {
            transfer->forgotten = true;
            fail(transfer, GW_ECANCELLED, "that job is over");
        }
    if (transfers->copies)
        remove_copies(transfers, job);
}

void gw_transfers_close(struct gw_transfers *transfers)
{
    transfers->closed = true;
    for (struct gw_transfer *transfer = transfers->first; transfer; transfer = transfer->next)
        fail(transfer, GW_ECLOSED, "this worker ends");
    struct removal *removal = removal_new(transfers);
    /* The worker will use the same folder when it starts again */
    if (transfers->host->options.connect)
        removal->path[0] = '\0';
    GW_MUST(
        uv_queue_work(transfers->host->loop, &removal->work, removal_on_thread, removal_on_done));
}
