/* Having a checkpoint of another worker: asked for on a connection of its own, written beside the
 * place where it is to lie, and put there when all of it has come and is what was sent. The folder
 * of commands comes from several workers, one after the other: first all of it from the one that
 * has the checkpoint, then from each other what its ranks have written (store/union.h).
 *
 * Always: one piece of work at a time has a carry's files, on a thread. A connection that cannot be
 * had, or breaks, is tried again for as long as the scheduler may need to see that a worker is
 * lost: who is told sooner would only be told to ask there again. */
#include "worker/net/checkpoints/carry.h"

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
#include "worker/store/bundle.h"
#include "worker/store/union.h"
#include "worker/store/unpack.h"

#include <dirent.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { RETRY_MS = 500, TICK_MS = 1000 };
#define GIVE_UP_NS (GW_LOST_NS + 5 * GW_NS_PER_S) /* the scheduler sees first who is lost */

enum carry_state { CARRY_ASKS, CARRY_OPENS, CARRY_TAKES, CARRY_LAYS, CARRY_OVER };

struct part {
    struct gw_msg_carry_part part; /* its texts and data lie behind it */
};

/* A worker that it comes from. */
struct source {
    uint32_t worker;
    char *address;
    char host[256];           /* for people; empty: not asked yet */
    struct gw_unpack *unpack; /* what came; NULL: nothing was needed */
};

struct gw_carry {
    uv_work_t work;
    uv_timer_t timer;
    struct gw_carries *carries;
    struct gw_host_link *link; /* NULL: none at the moment */
    struct gw_carry *next;
    uint64_t number, moved_ns; /* when something last came of it */
    struct gw_msg_carry what;
    bool copy, keep; /* out of a copy; into one */
    struct source *sources;
    uint32_t source_count, at; /* the one that is asked */
    bool here;                 /* the first one has the folder that this worker has */
    bool laid;
    uint8_t state;        /* enum carry_state */
    bool busy, forgotten; /* its job is over */
    char marker[64];
    uint64_t bytes;
    GW_ARRAY(struct part *) parts;
    int rc;
    struct gw_error error;
    /* The thread's, while it is busy: what it is to do, and how that went. */
    uint8_t doing;
    int did_rc;
    struct gw_error did_error;
};

struct gw_carries {
    struct gw_host *host;
    struct gw_carry *first;
    uint32_t works; /* that remove copies, under way */
    bool copies;    /* there may be some */
    bool closed;
};

/* -- On a thread ---------------------------------------------------------------------------------
 */

static void folder_of(const struct gw_carry *carry, char *path, size_t bytes)
{
    const struct gw_host *host = carry->carries->host;
    if (carry->keep)
        gw_checkpoint_path_copy(host, carry->what.job, carry->what.index, path, bytes);
    else
        gw_checkpoint_path_folder(host, carry->what.job, carry->what.index, path, bytes);
}

static struct source *source_of(const struct gw_carry *carry)
{
    return &carry->sources[carry->at];
}

static int open_files(struct gw_carry *carry)
{
    const struct gw_host *host = carry->carries->host;
    char path[PATH_MAX + 128];
    struct gw_error *error = &carry->did_error;
    (void)snprintf(path, sizeof path, "%s/%s", host->checkpoint_dir, carry->marker);
    if (carry->marker[0] && access(path, F_OK) == 0)
        return gw_error_set(error, GW_EEXIST, "both hosts see the same folder");
    uint64_t most =
        host->options.carry_bytes_max ? host->options.carry_bytes_max : GW_CARRY_BYTES_DEFAULT;
    if (carry->bytes > most)
        return gw_error_set(error, GW_ELIMIT,
                            "it has %.1f MiB, and this worker carries up to %.1f MiB (--carry-max "
                            "of `gangway up` and `gangway worker`)",
                            (double)carry->bytes / (1 << 20), (double)most / (1 << 20));
    (void)snprintf(path, sizeof path, "%s/.carrying/%016" PRIx64 ".%" PRIu64 ".%" PRIu32,
                   host->checkpoint_dir, host->incarnation, carry->number, carry->at);
    return gw_unpack_open(path, carry->bytes, &source_of(carry)->unpack, error);
}

/* Makes one folder, where rank 0 is, of what all hosts' ranks have written. */
static int join_files(struct gw_carry *carry, const char *folder)
{
    char own[256];
    struct source *first = &carry->sources[0];
    struct gw_union_part *parts = calloc(carry->source_count + 1, sizeof *parts);
    size_t count = 1;
    int rc = 0;
    GW_MUST_PTR(parts);
    gw_checkpoint_path_here(carry->carries->host, own, sizeof own);
    parts[0] = (struct gw_union_part){.folder = folder, .host = own};
    if (carry->here || carry->what.member)
        rc = gw_union_list(&parts[0], gw_union_mark(folder), &carry->did_error);
    if (!carry->here) {
        parts[count++] = parts[0];
        parts[0] =
            (struct gw_union_part){.folder = gw_unpack_folder(first->unpack), .host = first->host};
        gw_unpack_list(first->unpack, &parts[0]);
    }
    for (uint32_t i = 1; i < carry->source_count; i++) {
        struct source *source = &carry->sources[i];
        if (!source->unpack)
            continue;
        parts[count] = (struct gw_union_part){.folder = gw_unpack_folder(source->unpack),
                                              .host = source->host};
        gw_unpack_list(source->unpack, &parts[count++]);
    }
    if (rc == 0)
        rc = gw_union_join(parts, count, &carry->did_error);
    for (size_t i = 0; i < count; i++)
        gw_union_deinit(&parts[i]);
    free(parts);
    return rc < 0 || carry->here ? rc : gw_unpack_replace(first->unpack, folder, &carry->did_error);
}

static int lay_files(struct gw_carry *carry)
{
    char path[PATH_MAX + 96], parent[PATH_MAX + 96];
    folder_of(carry, path, sizeof path);
    (void)snprintf(parent, sizeof parent, "%.*s", (int)(strrchr(path, '/') - path), path);
    int rc = gw_dir_make(parent, &carry->did_error);
    if (rc < 0)
        return rc;
    struct gw_unpack *unpack = source_of(carry)->unpack;
    if (carry->what.how == GW_CARRY_JOIN)
        rc = join_files(carry, path);
    else if (carry->keep || carry->what.how == GW_CARRY_MIRROR)
        rc = gw_unpack_replace(unpack, path, &carry->did_error);
    else
        rc = gw_unpack_lay(unpack, path, &carry->did_error);
    carry->laid = rc == 0;
    return rc;
}

/* The copy that this very worker keeps; what is to be in the task's folder is there, or is not. */
static int take_own(struct gw_carry *carry)
{
    struct gw_bundle *bundle = NULL;
    struct gw_msg_carry_part part;
    const struct gw_msg_carry_want want = {.job = carry->what.job,
                                           .index = carry->what.index,
                                           .attempt = carry->what.attempt,
                                           .commands = carry->what.commands,
                                           .copy = carry->copy};
    gw_checkpoint_path_here(carry->carries->host, source_of(carry)->host,
                            sizeof source_of(carry)->host);
    int rc = gw_serve_open(carry->carries->host, &want, &bundle, &carry->did_error);
    if (rc == 0 && !carry->copy) {
        gw_bundle_close(bundle);
        return gw_error_set(&carry->did_error, GW_EEXIST, "it is where it is to be");
    }
    if (rc == 0) {
        carry->bytes = gw_bundle_bytes(bundle);
        rc = open_files(carry);
    }
    while (rc == 0)
        if ((rc = gw_bundle_next(bundle, &part, &carry->did_error)) == 0)
            rc = gw_unpack_take(source_of(carry)->unpack, &part, &carry->did_error);
    gw_bundle_close(bundle);
    return rc;
}

/* What came is no more beside; what is in the folder now, all hosts of the gang will know. */
static void clean_up(struct gw_carry *carry)
{
    char path[PATH_MAX + 96];
    for (uint32_t i = 0; i < carry->source_count; i++) {
        gw_unpack_close(carry->sources[i].unpack);
        carry->sources[i].unpack = NULL;
    }
    if (!carry->laid || carry->keep || carry->what.how == GW_CARRY_LAY)
        return;
    carry->laid = false;
    folder_of(carry, path, sizeof path);
    if (gw_union_set_mark(path, &carry->did_error) < 0)
        gw_log_warn("%s", carry->did_error.text);
}

static void work_on_thread(uv_work_t *work)
{
    struct gw_carry *carry = work->data;
    switch (carry->doing) {
    case CARRY_ASKS:
        carry->did_rc = take_own(carry);
        break;
    case CARRY_OPENS:
        carry->did_rc = open_files(carry);
        break;
    case CARRY_TAKES:
        carry->did_rc = gw_unpack_take(source_of(carry)->unpack, &carry->parts.items[0]->part,
                                       &carry->did_error);
        break;
    case CARRY_LAYS:
        carry->did_rc = lay_files(carry);
        break;
    default:
        clean_up(carry);
    }
}

/* -- On the loop ---------------------------------------------------------------------------------
 */

static void work_on_done(uv_work_t *work, int status);

static void start_work(struct gw_carry *carry)
{
    carry->busy = true;
    carry->doing = carry->state;
    GW_MUST(uv_queue_work(carry->carries->host->loop, &carry->work, work_on_thread, work_on_done));
}

static void let_link_go(struct gw_carry *carry)
{
    if (!carry->link)
        return;
    carry->link->carry = NULL;
    if (!carry->link->closed)
        gw_link_close(carry->link->link);
    carry->link = NULL;
}

static void drop_parts(struct gw_carry *carry)
{
    for (size_t i = 0; i < carry->parts.count; i++)
        free(carry->parts.items[i]);
    gw_array_clear(&carry->parts);
}

static void carries_free_if_over(struct gw_carries *carries)
{
    if (carries->closed && !carries->first && !carries->works)
        free(carries);
}

static void timer_on_closed(uv_handle_t *handle)
{
    struct gw_carry *carry = handle->data;
    struct gw_carries *carries = carry->carries;
    for (struct gw_carry **at = &carries->first; *at; at = &(*at)->next)
        if (*at == carry) {
            *at = carry->next;
            break;
        }
    gw_array_deinit(&carry->parts);
    for (uint32_t i = 0; i < carry->source_count; i++)
        free(carry->sources[i].address);
    free(carry->sources);
    free(carry);
    carries_free_if_over(carries);
}

/* It is as it is; what lies beside goes, and then whoever wanted it is told. */
static void end(struct gw_carry *carry)
{
    let_link_go(carry);
    carry->state = CARRY_OVER;
    if (!carry->busy) {
        drop_parts(carry);
        start_work(carry);
    }
}

static void fail(struct gw_carry *carry, int code, const char *text)
{
    if (carry->state == CARRY_OVER)
        return;
    char copy[GW_ERROR_TEXT_MAX];
    (void)snprintf(copy, sizeof copy, "%s", text);
    carry->rc = gw_error_set(&carry->error, code, "%s", copy);
    end(carry);
}

static void remove_copies(struct gw_carries *carries, uint64_t job);

static void tell_over(struct gw_carry *carry)
{
    struct gw_host *host = carry->carries->host;
    const struct gw_msg_carry *what = &carry->what;
    if (carry->error.code < 0 && carry->error.code != GW_EEXIST)
        gw_log_warn("the checkpoints of job %llu are not %s from worker %u: %s",
                    (unsigned long long)what->job, carry->keep ? "copied" : "carried here",
                    what->worker, carry->error.text);
    else if (carry->error.code == 0)
        gw_log_info("the checkpoints of job %llu were %s from worker %u (%.1f MiB)",
                    (unsigned long long)what->job, carry->keep ? "copied" : "carried here",
                    what->worker, (double)carry->bytes / (1 << 20));
    if (carry->forgotten && carry->keep)
        remove_copies(carry->carries, what->job); /* it may have been put there since */
    if (!carry->carries->closed && !host->exiting)
        (void)gw_host_step(host, &(struct gw_event){.type = GW_EVENT_CARRIED,
                                                    .number = carry->number,
                                                    .code = carry->error.code,
                                                    .text = carry->error.text});
    uv_close((uv_handle_t *)&carry->timer, timer_on_closed);
}

static void want_more(struct gw_carry *carry, uint32_t parts)
{
    const struct gw_message message = {.type = GW_MESSAGE_carry_more, .carry_more = {parts}};
    if (carry->link && !carry->link->closed)
        gw_host_send(carry->link, &message, NULL, 0);
}

static void work_next(struct gw_carry *carry)
{
    if (!carry->busy && carry->state == CARRY_TAKES && carry->parts.count)
        start_work(carry);
}

static void ask(struct gw_carry *carry);

/* What that worker had is here: the next one's turn, or all is put where it is to lie. */
static void ask_next(struct gw_carry *carry)
{
    let_link_go(carry);
    carry->moved_ns = gw_clock_now_ns();
    if (carry->at + 1 == carry->source_count) {
        carry->state = CARRY_LAYS;
        start_work(carry);
        return;
    }
    carry->at++;
    carry->state = CARRY_ASKS;
    ask(carry);
}

static void took_part(struct gw_carry *carry)
{
    free(carry->parts.items[0]);
    memmove(carry->parts.items, carry->parts.items + 1,
            --carry->parts.count * sizeof *carry->parts.items);
    carry->moved_ns = gw_clock_now_ns();
    if (carry->rc == 1) {
        ask_next(carry);
    } else {
        want_more(carry, 1);
        work_next(carry);
    }
}

static bool is_join(const struct gw_carry *carry)
{
    return carry->what.how == GW_CARRY_JOIN;
}

static bool is_beside(const struct gw_carry *carry)
{
    for (uint32_t i = 0; i < carry->source_count; i++)
        if (carry->sources[i].unpack)
            return true;
    return false;
}

/* The worker that was asked has the very folder that this one has. */
static void need_nothing(struct gw_carry *carry)
{
    carry->rc = 0;
    carry->error = (struct gw_error){0};
    carry->here |= carry->at == 0;
    ask_next(carry);
}

static void work_on_done(uv_work_t *work, int status)
{
    struct gw_carry *carry = work->data;
    const uint8_t did = carry->state;
    (void)status;
    carry->busy = false;
    if (did != CARRY_OVER) {
        carry->rc = carry->did_rc;
        carry->error = carry->rc < 0 ? carry->did_error : carry->error;
    }
    if (did == CARRY_OVER) {
        if (is_beside(carry) || carry->parts.count)
            end(carry); /* it ended while a part was written */
        else
            tell_over(carry);
    } else if (is_join(carry) && carry->rc == GW_EEXIST) {
        need_nothing(carry);
    } else if (carry->rc < 0 || did == CARRY_LAYS) {
        if (carry->rc >= 0)
            carry->error.code = 0;
        end(carry);
    } else if (did == CARRY_ASKS) {
        ask_next(carry);
    } else if (did == CARRY_OPENS) {
        carry->state = CARRY_TAKES;
        want_more(carry, GW_CARRY_WINDOW);
    } else {
        took_part(carry);
    }
}

/* -- Asking --------------------------------------------------------------------------------------
 */

static void ask(struct gw_carry *carry)
{
    struct gw_host *host = carry->carries->host;
    struct gw_message message = {.type = GW_MESSAGE_carry_want};
    const struct source *source = source_of(carry);
    carry->link = gw_host_link_dial_peer(host, source->worker, source->address, &carry->error);
    if (!carry->link)
        return; /* the timer comes back to it */
    carry->link->carry = carry;
    message.carry_want = (struct gw_msg_carry_want){.job = carry->what.job,
                                                    .index = carry->what.index,
                                                    .attempt = carry->what.attempt,
                                                    .commands = carry->what.commands,
                                                    .copy = carry->copy && carry->at == 0,
                                                    .written = carry->at > 0};
    gw_host_send(carry->link, &message, NULL, 0);
}

static void carry_on_timer(uv_timer_t *timer)
{
    struct gw_carry *carry = timer->data;
    char text[GW_ERROR_TEXT_MAX];
    if (carry->state == CARRY_OVER || carry->busy)
        return;
    if (gw_clock_now_ns() - carry->moved_ns >= GIVE_UP_NS) {
        (void)snprintf(text, sizeof text, "worker %u, which has it, cannot be reached: %.512s",
                       source_of(carry)->worker,
                       carry->error.text[0] ? carry->error.text : "it does not answer");
        fail(carry, GW_ELOST, text);
    } else if (!carry->link && carry->state == CARRY_ASKS) {
        ask(carry);
    }
}

static void on_found(struct gw_carry *carry, const struct gw_msg_carry_found *found)
{
    if (carry->state != CARRY_ASKS || strchr(found->marker, '/')) {
        fail(carry, GW_EPROTO, "it answers what nobody asked");
    } else if (found->code < 0) {
        fail(carry, found->code, found->text);
    } else {
        struct source *source = source_of(carry);
        (void)snprintf(source->host, sizeof source->host, "%s", found->host);
        (void)snprintf(carry->marker, sizeof carry->marker, "%s", found->marker);
        carry->bytes = found->bytes;
        carry->state = CARRY_OPENS;
        start_work(carry);
    }
}

static void on_part(struct gw_carry *carry, const struct gw_msg_carry_part *part)
{
    if (part->code < 0) {
        fail(carry, part->code, part->text);
        return;
    }
    if (carry->state != CARRY_TAKES || carry->parts.count >= GW_CARRY_WINDOW) {
        fail(carry, GW_EPROTO, "it sends what nobody asked for");
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
    GW_MUST(gw_array_push(&carry->parts, copy));
    work_next(carry);
}

bool gw_carry_on_message(struct gw_host_link *link, const struct gw_message *message)
{
    switch (message->type) {
    case GW_MESSAGE_carry_want:
    case GW_MESSAGE_carry_more:
        gw_serve_on_message(link, message);
        return true;
    case GW_MESSAGE_carry_found:
        if (link->carry)
            on_found(link->carry, &message->carry_found);
        return true;
    case GW_MESSAGE_carry_part:
        if (link->carry)
            on_part(link->carry, &message->carry_part);
        return true;
    default:
        return link->carries; /* nothing else is taken there */
    }
}

void gw_carry_on_gone(struct gw_host_link *link)
{
    struct gw_carry *carry = link->carry;
    gw_serve_on_gone(link);
    link->carry = NULL;
    if (!carry)
        return;
    carry->link = NULL;
    if (carry->state == CARRY_OPENS || carry->state == CARRY_TAKES)
        fail(carry, GW_ELOST, "the connection to the worker that has it broke");
}

/* -- The table -----------------------------------------------------------------------------------
 */

struct gw_carries *gw_carries_new(struct gw_host *host)
{
    struct gw_carries *carries = calloc(1, sizeof *carries);
    GW_MUST_PTR(carries);
    carries->host = host;
    return carries;
}

void gw_carries_adopted(struct gw_carries *carries)
{
    carries->copies = true;
}

/* Whom it comes from: the effect's addresses are in their order. */
static void keep_sources(struct gw_carry *carry, const struct gw_effect *effect)
{
    const struct gw_col32 others = effect->message.carry.others;
    const char *address = effect->bytes.data;
    carry->source_count = 1 + others.count;
    carry->sources = calloc(carry->source_count, sizeof *carry->sources);
    GW_MUST_PTR(carry->sources);
    for (uint32_t i = 0; i < carry->source_count; i++) {
        struct source *source = &carry->sources[i];
        source->worker = i == 0 ? carry->what.worker : gw_col32_at(others, i - 1);
        source->address = strdup(address);
        GW_MUST_PTR(source->address);
        address += strlen(address) + 1;
    }
    carry->what.others = (struct gw_col32){0};
}

void gw_carry_start(struct gw_carries *carries, const struct gw_effect *effect)
{
    struct gw_carry *carry = calloc(1, sizeof *carry);
    GW_MUST_PTR(carry);
    carry->work.data = carry;
    carry->carries = carries;
    carry->number = effect->number;
    carry->what = effect->message.carry;
    carry->copy = effect->size != 0;
    carry->keep = effect->count != 0;
    keep_sources(carry, effect);
    carries->copies |= carry->keep;
    carry->moved_ns = gw_clock_now_ns();
    carry->next = carries->first;
    carries->first = carry;
    (void)uv_timer_init(carries->host->loop, &carry->timer);
    carry->timer.data = carry;
    (void)uv_timer_start(&carry->timer, carry_on_timer, RETRY_MS, TICK_MS);
    if (carry->what.worker == carries->host->keyring.worker)
        start_work(carry);
    else
        ask(carry);
}

struct removal {
    uv_work_t work;
    struct gw_carries *carries;
    char path[PATH_MAX + 64], prefix[32]; /* of what goes in it; empty: all */
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
    removal->carries->works--;
    carries_free_if_over(removal->carries);
    free(removal);
}

static struct removal *removal_new(struct gw_carries *carries)
{
    struct removal *removal = calloc(1, sizeof *removal);
    char name[64];
    GW_MUST_PTR(removal);
    removal->work.data = removal;
    removal->carries = carries;
    gw_checkpoint_path_copy(carries->host, 0, 0, removal->path, sizeof removal->path);
    gw_checkpoint_path_marker(carries->host, name, sizeof name);
    (void)snprintf(removal->marker, sizeof removal->marker, "%.*s/%s", PATH_MAX - 1,
                   carries->host->checkpoint_dir, name);
    carries->works++;
    return removal;
}

static void remove_copies(struct gw_carries *carries, uint64_t job)
{
    struct removal *removal = removal_new(carries);
    (void)snprintf(removal->prefix, sizeof removal->prefix, "%" PRIu64 ".", job);
    GW_MUST(uv_queue_work(carries->host->loop, &removal->work, removal_on_thread, removal_on_done));
}

void gw_carry_forget(struct gw_carries *carries, uint64_t job)
{
    for (struct gw_carry *carry = carries->first; carry; carry = carry->next)
        if (carry->what.job == job) {
            carry->forgotten = true;
            fail(carry, GW_ECANCELLED, "that job is over");
        }
    if (carries->copies)
        remove_copies(carries, job);
}

void gw_carries_close(struct gw_carries *carries)
{
    carries->closed = true;
    for (struct gw_carry *carry = carries->first; carry; carry = carry->next)
        fail(carry, GW_ECLOSED, "this worker ends");
    struct removal *removal = removal_new(carries);
    if (carries->host->options.connect) /* its next life has the same folder */
        removal->path[0] = '\0';
    GW_MUST(uv_queue_work(carries->host->loop, &removal->work, removal_on_thread, removal_on_done));
}
