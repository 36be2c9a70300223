/* Sends checkpoints of this worker to another one: one pack of files per connection, which the
 * other worker has opened for it.
 *
 * Invariants: one piece of work at a time, on a thread, uses the pack. Nothing is sent that was
 * not requested by transfer_more. */
#include "worker/net/checkpoints/serve.h"

#include "graph/base/must.h"
#include "graph/wire/enums.h"
#include "worker/net/checkpoints/checkpoint_path.h"
#include "worker/net/link/send.h"
#include "worker/net/link/state.h"
#include "worker/store/pack.h"
#include "worker/store/union.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct gw_serve {
    uv_work_t work;
    struct gw_host *host;
    struct gw_host_link *link; /* NULL: closed */
    struct gw_msg_transfer_want want;
    struct gw_pack *pack;
    struct gw_msg_transfer_part part;
    uint32_t asked; /* number of parts requested */
    bool busy, opened, over;
    int rc;
    struct gw_error error;
};

/* Creates the marker file, so that a worker that shares the folder can detect this. */
static int mark(const struct gw_host *host, struct gw_error *error)
{
    char path[PATH_MAX + 64], name[64];
    gw_checkpoint_path_marker(host, name, sizeof name);
    (void)snprintf(path, sizeof path, "%s/%s", host->checkpoint_dir, name);
    int fd = open(path, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    if (fd < 0)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    close(fd);
    return 0;
}

int gw_serve_open(const struct gw_host *host, const struct gw_msg_transfer_want *want,
                  struct gw_pack **pack, struct gw_error *error)
{
    char folder[PATH_MAX + 64], name[64];
    if (want->copy)
        gw_checkpoint_path_copy(host, want->job, want->index, folder, sizeof folder);
    else
        gw_checkpoint_path_folder(host, want->job, want->index, folder, sizeof folder);
    if (want->copy && access(folder, F_OK) < 0)
        return gw_error_set(error, GW_ENOENT, "that worker has no copy of the checkpoint");
    (void)snprintf(name, sizeof name, "%" PRIu32 ".%016" PRIx64 ".checkpoint", want->index,
                   want->attempt);
    /* The folder may have been created again for a rank of another attempt */
    if (want->commands && want->attempt && !want->written && gw_pack_stamp(folder) == 0)
        return gw_error_set(error, GW_ENOENT,
                            "the folder %s is empty, although a checkpoint was saved there before",
                            folder);
    int rc = gw_pack_open(folder, want->commands ? NULL : name, pack, error);
    if (rc == 0 && want->commands && !want->copy)
        gw_pack_since(*pack, gw_union_mark(folder), want->written);
    return rc;
}

static void serve_free(struct gw_serve *serve)
{
    gw_pack_close(serve->pack);
    free(serve);
}

static void serve_on_thread(uv_work_t *work)
{
    struct gw_serve *serve = work->data;
    if (serve->pack) {
        serve->rc = gw_pack_next(serve->pack, &serve->part, &serve->error);
        return;
    }
    serve->rc = mark(serve->host, &serve->error);
    if (serve->rc == 0)
        serve->rc = gw_serve_open(serve->host, &serve->want, &serve->pack, &serve->error);
}

static void say_found(struct gw_serve *serve)
{
    char marker[64], here[256];
    struct gw_message message = {.type = GW_MESSAGE_transfer_found};
    gw_checkpoint_path_here(serve->host, here, sizeof here);
    gw_checkpoint_path_marker(serve->host, marker, sizeof marker);
    message.transfer_found =
        (struct gw_msg_transfer_found){.code = serve->rc,
                                       .text = serve->rc < 0 ? serve->error.text : "",
                                       .marker = marker,
                                       .host = here};
    if (serve->rc == 0) {
        message.transfer_found.files = gw_pack_files(serve->pack);
        message.transfer_found.bytes = gw_pack_bytes(serve->pack);
    }
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
    if (serve->opened) {
        say_part(serve);
    } else {
        serve->opened = true;
        serve->over = serve->rc < 0;
        say_found(serve);
    }
    go_on(serve);
}

static void go_on(struct gw_serve *serve)
{
    if (serve->busy || serve->over || (serve->opened && !serve->asked))
        return;
    serve->busy = true;
    GW_MUST(uv_queue_work(serve->host->loop, &serve->work, serve_on_thread, serve_on_done));
}

void gw_serve_on_message(struct gw_host_link *link, const struct gw_message *message)
{
    struct gw_serve *serve = link->serve;
    if (message->type == GW_MESSAGE_transfer_want && !serve) {
        serve = calloc(1, sizeof *serve);
        GW_MUST_PTR(serve);
        serve->work.data = serve;
        serve->host = link->host;
        serve->link = link;
        serve->want = message->transfer_want;
        link->serve = serve;
    } else if (message->type == GW_MESSAGE_transfer_more && serve && serve->opened &&
               message->transfer_more.parts <= GW_TRANSFER_WINDOW - serve->asked) {
        serve->asked += message->transfer_more.parts;
    } else {
        gw_link_close(link->link);
        return;
    }
    go_on(serve);
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
