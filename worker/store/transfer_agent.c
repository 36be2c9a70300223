/* Serves one transfer, one message after the other. Its worker is trusted as far as it may do what
 * its user may do. */
#include "worker/store/transfer_agent.h"

#include "graph/base/must.h"
#include "graph/wire/channel.h"
#include "graph/wire/enums.h"
#include "worker/store/checkpoint_path.h"
#include "worker/store/pack.h"
#include "worker/store/transfer_files.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct agent {
    struct gw_channel *channel;
    struct gw_transfer_place place;
    struct gw_pack *pack;            /* to send; NULL: none */
    struct gw_transfer_files *files; /* to receive; NULL: none */
    char marker[64];
};

static bool put(struct agent *agent, const struct gw_message *message)
{
    return gw_channel_put(agent->channel, message, (struct gw_channel_fds){0}) == 0 &&
           gw_channel_flush(agent->channel) == 0;
}

/* Answers with a result: a code, and its text if it is negative. */
static bool answer(struct agent *agent, int code, const struct gw_error *error, uint64_t bytes)
{
    struct gw_message message = {.type = GW_MESSAGE_transfer_found};
    message.transfer_found =
        (struct gw_msg_transfer_found){.code = code,
                                       .text = code < 0 ? error->text : "",
                                       .marker = agent->marker,
                                       .files = agent->pack ? gw_pack_files(agent->pack) : 0,
                                       .bytes = agent->pack ? gw_pack_bytes(agent->pack) : bytes,
                                       .host = agent->place.here};
    return put(agent, &message);
}

static bool send_parts(struct agent *agent, uint32_t parts)
{
    struct gw_message message = {.type = GW_MESSAGE_transfer_part};
    struct gw_error error;
    for (bool over = false; parts > 0 && !over; parts--) {
        int rc = gw_pack_next(agent->pack, &message.transfer_part, &error);
        if (rc < 0)
            message.transfer_part = (struct gw_msg_transfer_part){
                .kind = GW_TRANSFER_END, .path = "", .code = rc, .text = error.text};
        over = message.transfer_part.kind == GW_TRANSFER_END;
        if (!put(agent, &message))
            return false;
    }
    return true;
}

static bool begin(struct agent *agent, const struct gw_message *message)
{
    struct gw_error error;
    if (message->type == GW_MESSAGE_transfer_want)
        return answer(agent,
                      gw_transfer_files_pack(&agent->place, &message->transfer_want, true,
                                             &agent->pack, &error),
                      &error, 0);
    if (message->type != GW_MESSAGE_checkpoint_transfer)
        return false;
    const struct gw_msg_checkpoint_transfer *what = &message->checkpoint_transfer;
    agent->files =
        gw_transfer_files_new(&agent->place, what, (uint64_t)what->step, what->worker != 0);
    return true;
}

static bool receive(struct agent *agent, const struct gw_message *message)
{
    struct gw_error error;
    uint64_t bytes = 0;
    int rc = 0;
    switch (message->type) {
    case GW_MESSAGE_transfer_want:
        rc = gw_transfer_files_own(agent->files, &bytes, &error);
        break;
    case GW_MESSAGE_transfer_found:
        rc = gw_transfer_files_open(agent->files, &message->transfer_found, &error);
        break;
    case GW_MESSAGE_transfer_part:
        rc = gw_transfer_files_take(agent->files, &message->transfer_part, &error);
        break;
    case GW_MESSAGE_transfer_go:
        rc = gw_transfer_files_lay(agent->files, &error);
        break;
    default:
        gw_transfer_files_free(agent->files);
        agent->files = NULL;
    }
    return answer(agent, rc, &error, bytes);
}

static bool serve(struct agent *agent, const struct gw_message *message)
{
    if (agent->files)
        return receive(agent, message);
    if (!agent->pack)
        return begin(agent, message);
    return message->type == GW_MESSAGE_transfer_more &&
           send_parts(agent, message->transfer_more.parts);
}

void gw_transfer_agent_run(int fd, const char *path, const char *where)
{
    struct agent agent = {0};
    struct gw_message message;
    char marker[PATH_MAX + 64];
    int fds[GW_FRAME_FDS_MAX];
    uint8_t fd_count = 0;
    (void)snprintf(agent.place.dir, sizeof agent.place.dir, "%s", path);
    if (sscanf(where, "%" SCNx64 " %" SCNu64 " %255[^\n]", &agent.place.incarnation,
               &agent.place.bytes_max, agent.place.here) < 2 ||
        gw_channel_new(fd, &agent.channel) < 0)
        return;
    gw_checkpoint_path_marker(agent.place.incarnation, agent.marker, sizeof agent.marker);
    while (gw_channel_get(agent.channel, true, &message, fds, &fd_count, NULL) == 0 &&
           fd_count == 0 && serve(&agent, &message))
        ;
    if (agent.pack) {
        (void)snprintf(marker, sizeof marker, "%s/%s", agent.place.dir, agent.marker);
        (void)unlink(marker);
    }
    gw_pack_close(agent.pack);
    gw_transfer_files_free(agent.files);
    gw_channel_free(agent.channel);
}
