/* Fetches a checkpoint from other workers. The request goes over a connection of its own.
 * worker/store/transfer_files.h writes the files: on a thread or, if users are separate, in a
 * process of the user, to which this worker passes on what arrives.
 *
 * Invariants: one piece of work at a time uses the files of a transfer. If a connection fails or
 * breaks, it is tried again for as long as the scheduler may need to detect a lost worker. If the
 * failure were reported sooner, the scheduler would only name the same worker again. */
#include "worker/net/checkpoints/transfer.h"

#include "graph/base/array.h"
#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/files.h"
#include "graph/base/log.h"
#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "graph/wire/timeouts.h"
#include "worker/net/checkpoints/serve.h"
#include "worker/net/checkpoints/transfer_process.h"
#include "worker/net/link/host_link.h"
#include "worker/net/link/send.h"
#include "worker/net/link/state.h"
#include "worker/net/link/step.h"
#include "worker/store/checkpoint_path.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RETRY_MS = 500, TICK_MS = 1000 };
#define GIVE_UP_NS (GW_LOST_NS + 5 * GW_NS_PER_S) /* the scheduler detects a lost worker first */
#define PROCESS_NS                                                                                 \
    (60 * GW_NS_PER_S) /* for an answer of a user's process, which may be stopped                  \
                        */

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
    char host[256]; /* name for users; empty: not asked yet */
};

struct gw_transfer {
    uv_work_t work;
    uv_timer_t timer;
    struct gw_transfers *transfers;
    struct gw_host_link *link; /* NULL: not connected at the moment */
    struct gw_transfer *next;
    uint64_t number, moved_ns; /* moved_ns: time of the last progress */
    struct gw_msg_checkpoint_transfer what;
    struct gw_transfer_place place;
    bool to_copy;                    /* to a copy that this worker keeps */
    bool separate;                   /* the process of a user writes the files */
    struct gw_link *process;         /* NULL: none, or it has ended */
    struct gw_transfer_files *files; /* NULL: a process has them, or they are done */
    struct source *sources;
    uint32_t source_count, at; /* index of the source that is asked now */
    uint8_t state;             /* enum transfer_state */
    bool busy, forgotten;      /* forgotten: its job is over */
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

static struct source *source_of(const struct gw_transfer *transfer)
{
    return &transfer->sources[transfer->at];
}

static struct gw_msg_transfer_found found_of(const struct gw_transfer *transfer)
{
    return (struct gw_msg_transfer_found){.text = "",
                                          .marker = transfer->marker,
                                          .bytes = transfer->bytes,
                                          .host = source_of(transfer)->host};
}

static void work_on_thread(uv_work_t *work)
{
    struct gw_transfer *transfer = work->data;
    struct gw_error *error = &transfer->did_error;
    const struct gw_msg_transfer_found found = found_of(transfer);
    switch (transfer->doing) {
    case TRANSFER_ASKS:
        transfer->did_rc = gw_transfer_files_own(transfer->files, &transfer->bytes, error);
        break;
    case TRANSFER_OPENS:
        transfer->did_rc = gw_transfer_files_open(transfer->files, &found, error);
        break;
    case TRANSFER_RECEIVES:
        transfer->did_rc =
            gw_transfer_files_take(transfer->files, &transfer->parts.items[0]->part, error);
        break;
    case TRANSFER_PLACES:
        transfer->did_rc = gw_transfer_files_lay(transfer->files, error);
        break;
    default:
        gw_transfer_files_free(transfer->files);
        transfer->files = NULL;
    }
}

static void work_on_done(uv_work_t *work, int status);

/* -- Work of a user's process --------------------------------------------------------------------
 */

/* Ends a piece of work in a later turn of the loop. */
static void done_on_timer(uv_timer_t *timer)
{
    struct gw_transfer *transfer = timer->data;
    work_on_done(&transfer->work, 0);
}

/* Has the process do the work. If there is none, the transfer has failed. */
static void tell_process(struct gw_transfer *transfer)
{
    static const uint32_t types[] = {[TRANSFER_ASKS] = GW_MESSAGE_transfer_want,
                                     [TRANSFER_OPENS] = GW_MESSAGE_transfer_found,
                                     [TRANSFER_RECEIVES] = GW_MESSAGE_transfer_part,
                                     [TRANSFER_PLACES] = GW_MESSAGE_transfer_go,
                                     [TRANSFER_ENDED] = GW_MESSAGE_transfer_more};
    struct gw_message message = {.type = types[transfer->doing]};
    if (transfer->doing == TRANSFER_OPENS)
        message.transfer_found = found_of(transfer);
    else if (transfer->doing == TRANSFER_RECEIVES)
        message.transfer_part = transfer->parts.items[0]->part;
    transfer->moved_ns = gw_clock_now_ns();
    if (transfer->process)
        (void)gw_link_send(transfer->process, &message, (struct gw_channel_fds){0});
    else
        (void)uv_timer_start(&transfer->timer, done_on_timer, 0, 0);
}

static void close_process(struct gw_transfer *transfer)
{
    gw_transfer_process_close(transfer->process);
    transfer->process = NULL;
}

static void fail(struct gw_transfer *transfer, int code, const char *text);

/* Gives up a process that has ended or does not answer. */
static void on_no_process(struct gw_transfer *transfer)
{
    struct gw_error error;
    close_process(transfer);
    (void)gw_transfer_process_gone(&error);
    if (transfer->state != TRANSFER_ENDED)
        fail(transfer, error.code, error.text);
    else if (transfer->busy)
        work_on_done(&transfer->work, 0);
}

static void process_on_message(struct gw_link *link, const struct gw_message *message,
                               const int *fds, uint8_t fd_count, void *arg)
{
    struct gw_transfer *transfer = arg;
    const struct gw_msg_transfer_found *found = &message->transfer_found;
    (void)link;
    for (uint8_t i = 0; i < fd_count; i++)
        close(fds[i]);
    if (message->type != GW_MESSAGE_transfer_found || !transfer->busy || found->code > 1) {
        on_no_process(transfer);
        return;
    }
    transfer->did_rc = found->code;
    if (found->code < 0)
        (void)gw_error_set(&transfer->did_error, found->code, "%s", found->text);
    if (transfer->doing == TRANSFER_ASKS)
        transfer->bytes = found->bytes;
    if (transfer->doing == TRANSFER_ENDED)
        close_process(transfer);
    work_on_done(&transfer->work, 0);
}

static void process_on_close(struct gw_link *link, const struct gw_error *error, void *arg)
{
    struct gw_transfer *transfer = arg;
    char path[PATH_MAX + 96];
    (void)link;
    (void)error;
    transfer->process = NULL;
    for (uint32_t i = 0; i <= transfer->at; i++) {
        gw_transfer_files_beside(&transfer->place, transfer->number, i, path, sizeof path);
        (void)gw_dir_remove(path, NULL); /* the process was killed before it could do this */
    }
    on_no_process(transfer);
}

/* Starts the process. If this fails, the transfer has failed. */
static void open_process(struct gw_transfer *transfer, const char *user)
{
    const struct gw_link_callbacks callbacks = {process_on_message, process_on_close, transfer};
    struct gw_message message = {.type = GW_MESSAGE_checkpoint_transfer,
                                 .checkpoint_transfer = transfer->what};
    int rc = gw_transfer_process_open(transfer->transfers->host, user, &callbacks,
                                      &transfer->process, &transfer->error);
    if (rc < 0)
        return;
    message.checkpoint_transfer.step = (int64_t)transfer->number;
    message.checkpoint_transfer.worker = transfer->to_copy;
    (void)gw_link_send(transfer->process, &message, (struct gw_channel_fds){0});
}

/* ------------------------------------------------------------------------------------------------
 */

static void start_work(struct gw_transfer *transfer)
{
    transfer->busy = true;
    transfer->doing = transfer->state;
    if (transfer->separate)
        tell_process(transfer);
    else
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
    if (transfer->separate && transfer->rc < 0) { /* the process removes what it has received */
        close_process(transfer);
        transfer->busy = false;
    }
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
        if (transfer->files || transfer->process || transfer->parts.count)
            end(transfer); /* the transfer ended while a part was being written */
        else
            tell_over(transfer);
    } else if (transfer->what.how == GW_TRANSFER_JOIN && transfer->rc == GW_EEXIST) {
        transfer->rc = 0; /* the source uses the same folder as this worker */
        transfer->error = (struct gw_error){0};
        ask_next(transfer);
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
                                      .copy = transfer->what.copy && transfer->at == 0,
                                      .written = transfer->at > 0,
                                      .user = transfer->what.user};
    gw_host_send(transfer->link, &message, NULL, 0);
}

static void transfer_on_timer(uv_timer_t *timer)
{
    struct gw_transfer *transfer = timer->data;
    char text[GW_ERROR_TEXT_MAX];
    const uint64_t passed_ns = gw_clock_now_ns() - transfer->moved_ns;
    if (transfer->separate && transfer->busy && passed_ns >= PROCESS_NS)
        on_no_process(transfer);
    if (transfer->state == TRANSFER_ENDED || transfer->busy)
        return;
    if (passed_ns >= GIVE_UP_NS) {
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

void gw_transfer_start(struct gw_transfers *transfers, const struct gw_effect *effect,
                       const char *user)
{
    struct gw_transfer *transfer = calloc(1, sizeof *transfer);
    GW_MUST_PTR(transfer);
    transfer->work.data = transfer;
    transfer->transfers = transfers;
    transfer->number = effect->number;
    transfer->what = effect->message.checkpoint_transfer;
    transfer->what.copy = effect->size != 0;
    transfer->to_copy = effect->count != 0;
    transfer->separate = *user != '\0';
    transfers->copies |= transfer->to_copy;
    transfer->moved_ns = gw_clock_now_ns();
    transfer->next = transfers->first;
    transfers->first = transfer;
    (void)uv_timer_init(transfers->host->loop, &transfer->timer);
    transfer->timer.data = transfer;
    (void)uv_timer_start(&transfer->timer, transfer_on_timer, RETRY_MS, TICK_MS);
    gw_transfer_process_place(transfers->host, user, &transfer->place);
    if (transfer->separate)
        open_process(transfer, user);
    else
        transfer->files = gw_transfer_files_new(&transfer->place, &transfer->what, transfer->number,
                                                transfer->to_copy);
    copy_sources(transfer, effect);
    if (transfer->error.code < 0) {
        transfer->rc = transfer->error.code;
        end(transfer);
    } else if (transfer->what.worker == transfers->host->keyring.worker)
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
    DIR *folder = gw_files_opendir(removal->path);
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

static struct removal *removal_new(struct gw_transfers *transfers, const char *user)
{
    struct gw_transfer_place place;
    struct removal *removal = calloc(1, sizeof *removal);
    char name[64];
    GW_MUST_PTR(removal);
    removal->work.data = removal;
    removal->transfers = transfers;
    gw_transfer_process_place(transfers->host, user, &place);
    gw_checkpoint_path_copy(place.dir, place.incarnation, 0, 0, removal->path,
                            sizeof removal->path);
    gw_checkpoint_path_marker(place.incarnation, name, sizeof name);
    (void)snprintf(removal->marker, sizeof removal->marker, "%.*s/%s", PATH_MAX - 1, place.dir,
                   name);
    transfers->works++;
    return removal;
}

static void remove_copies_of(struct gw_transfers *transfers, uint64_t job, const char *user)
{
    struct removal *removal = removal_new(transfers, user);
    (void)snprintf(removal->prefix, sizeof removal->prefix, "%" PRIu64 ".", job);
    GW_MUST(
        uv_queue_work(transfers->host->loop, &removal->work, removal_on_thread, removal_on_done));
}

static void remove_copies(struct gw_transfers *transfers, uint64_t job)
{
    char **user;
    if (!transfers->host->options.separate_users)
        remove_copies_of(transfers, job, "");
    GW_ARRAY_EACH (&transfers->host->user_folders, user)
        remove_copies_of(transfers, job, *user);
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
    for (struct gw_transfer *transfer = transfers->first; transfer; transfer = transfer->next) {
        fail(transfer, GW_ECLOSED, "this worker ends");
        if (transfer->separate)
            on_no_process(transfer); /* it may be stopped */
    }
    struct removal *removal = removal_new(transfers, "");
    /* The worker will use the same folder when it starts again */
    if (transfers->host->options.connect)
        removal->path[0] = '\0';
    GW_MUST(
        uv_queue_work(transfers->host->loop, &removal->work, removal_on_thread, removal_on_done));
}
