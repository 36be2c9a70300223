/* Sends checkpoints of this worker to another one: one pack of files per connection, which the
 * other worker has opened for it. A checkpoint of a separate user is read by a process of the user,
 * and this worker passes the messages on.
 *
 * Invariants: one piece of work at a time, on a thread, uses the pack. Nothing is sent that was
 * not requested by transfer_more. */
#include "worker/net/checkpoints/serve.h"

#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "worker/net/checkpoints/transfer_process.h"
#include "worker/net/link/send.h"
#include "worker/net/link/state.h"
#include "worker/store/checkpoint_path.h"
#include "worker/store/pack.h"

#include <stdlib.h>
#include <unistd.h>

struct gw_serve {
    uv_work_t work;
    struct gw_host *host;
    struct gw_host_link *link; /* NULL: closed */
    struct gw_transfer_place place;
    struct gw_msg_transfer_want want;
    struct gw_pack *pack;
    struct gw_link *process; /* of a separate user; NULL: none */
    struct gw_msg_transfer_part part;
    uint32_t asked; /* number of parts requested */
    uint64_t left;  /* bytes of files that the process has announced and not sent */
    bool busy, opened, over;
    int rc;
    struct gw_error error;
};

static void serve_free(struct gw_serve *serve)
{
    gw_transfer_process_close(serve->process);
    gw_pack_close(serve->pack);
    free(serve);
}

static void serve_on_thread(uv_work_t *work)
{
    struct gw_serve *serve = work->data;
    serve->rc = serve->pack ? gw_pack_next(serve->pack, &serve->part, &serve->error)
                            : gw_transfer_files_pack(&serve->place, &serve->want, true,
                                                     &serve->pack, &serve->error);
}

static void say_found(struct gw_serve *serve)
{
    char marker[64];
    struct gw_message message = {.type = GW_MESSAGE_transfer_found};
    gw_checkpoint_path_marker(serve->host->incarnation, marker, sizeof marker);
    message.transfer_found =
        (struct gw_msg_transfer_found){.code = serve->rc,
                                       .text = serve->rc < 0 ? serve->error.text : "",
                                       .marker = marker,
                                       .host = serve->place.here};
    if (serve->rc == 0) {
        message.transfer_found.files = gw_pack_files(serve->pack);
        message.transfer_found.bytes = gw_pack_bytes(serve->pack);
    }
    serve->opened = true;
    serve->over = serve->rc < 0;
    gw_host_send(serve->link, &message, NULL, 0);
}

static void say_part(struct gw_serve *serve)
{
    struct gw_message message = {.type = GW_MESSAGE_transfer_part, .transfer_part = serve->part};
    if (serve->rc < 0)
        message.transfer_part = (struct gw_msg_transfer_part){
            .kind = GW_TRANSFER_END, .path = "", .code = serve->rc, .text = serve->error.text};
    serve->over = serve->rc < 0 || serve->part.kind == GW_TRANSFER_END;
    serve->asked--;
    gw_host_send(serve->link, &message, NULL, 0);
}

static void go_on(struct gw_serve *serve);

static void serve_on_done(uv_work_t *work, int status)
{
    struct gw_serve *serve = work->data;
    (void)status;
    serve->busy = false;
    if (!serve->link || serve->link->closed) {
        if (!serve->link)
            serve_free(serve);
        return;
    }
    if (serve->opened)
        say_part(serve);
    else
        say_found(serve);
    go_on(serve);
}

static void go_on(struct gw_serve *serve)
{
    if (serve->busy || serve->over || serve->process || (serve->opened && !serve->asked))
        return;
    serve->busy = true;
    GW_MUST(uv_queue_work(serve->host->loop, &serve->work, serve_on_thread, serve_on_done));
}

/* -- Separate users ------------------------------------------------------------------------------
 */

/* Ends a transfer with the present error. */
static void give_up(struct gw_serve *serve)
{
    gw_transfer_process_close(serve->process);
    serve->process = NULL;
    if (!serve->over && serve->opened)
        say_part(serve);
    else if (!serve->over)
        say_found(serve);
}

/* Returns the number of bytes of files in a part. */
static uint64_t content_of(const struct gw_msg_transfer_part *part)
{
    return part->kind == GW_TRANSFER_FILE || part->kind == GW_TRANSFER_MORE ? part->data.size : 0;
}

static void process_on_message(struct gw_link *link, const struct gw_message *message,
                               const int *fds, uint8_t fd_count, void *arg)
{
    struct gw_serve *serve = arg;
    struct gw_message passed = *message;
    (void)link;
    for (uint8_t i = 0; i < fd_count; i++)
        close(fds[i]);
    if (serve->link->closed)
        return;
    passed.sequence = passed.term = passed.peer = 0;
    if (!serve->opened && message->type == GW_MESSAGE_transfer_found) {
        serve->opened = true;
        serve->over = message->transfer_found.code < 0;
        serve->left = message->transfer_found.bytes;
    } else if (serve->asked && message->type == GW_MESSAGE_transfer_part &&
               content_of(&message->transfer_part) <= serve->left) {
        serve->asked--;
        serve->left -= content_of(&message->transfer_part);
        serve->over = message->transfer_part.kind == GW_TRANSFER_END;
    } else {
        serve->rc = gw_transfer_process_gone(&serve->error);
        give_up(serve);
        return;
    }
    gw_host_send(serve->link, &passed, NULL, 0);
}

static void process_on_close(struct gw_link *link, const struct gw_error *error, void *arg)
{
    struct gw_serve *serve = arg;
    (void)link;
    (void)error;
    serve->process = NULL;
    serve->rc = gw_transfer_process_gone(&serve->error);
    give_up(serve);
}

static void open_process(struct gw_serve *serve, const struct gw_message *want)
{
    const struct gw_link_callbacks callbacks = {process_on_message, process_on_close, serve};
    serve->rc = gw_transfer_process_open(serve->host, want->transfer_want.user, &callbacks,
                                         &serve->process, &serve->error);
    if (serve->rc < 0)
        give_up(serve);
    else
        (void)gw_link_send(serve->process, want, (struct gw_channel_fds){0});
}

/* -- Messages ------------------------------------------------------------------------------------
 */

static void begin(struct gw_host_link *link, const struct gw_message *message)
{
    struct gw_serve *serve = calloc(1, sizeof *serve);
    GW_MUST_PTR(serve);
    serve->work.data = serve;
    serve->host = link->host;
    serve->link = link;
    serve->want = message->transfer_want;
    serve->want.user = NULL;
    gw_transfer_process_place(link->host, message->transfer_want.user, &serve->place);
    link->serve = serve;
    if (link->host->options.separate_users)
        open_process(serve, message);
    else
        go_on(serve);
}

void gw_serve_on_message(struct gw_host_link *link, const struct gw_message *message)
{
    struct gw_serve *serve = link->serve;
    if (message->type == GW_MESSAGE_transfer_want && !serve) {
        begin(link, message);
    } else if (message->type == GW_MESSAGE_transfer_more && serve && serve->opened &&
               message->transfer_more.parts <= GW_TRANSFER_WINDOW - serve->asked) {
        serve->asked += message->transfer_more.parts;
        if (serve->process)
            (void)gw_link_send(serve->process, message, (struct gw_channel_fds){0});
        else
            go_on(serve);
    } else {
        gw_link_close(link->link);
    }
}

void gw_serve_on_gone(struct gw_host_link *link)
{
    struct gw_serve *serve = link->serve;
    link->serve = NULL;
    if (!serve)
        return;
    serve->link = NULL;
    if (!serve->busy)
        serve_free(serve);
}
