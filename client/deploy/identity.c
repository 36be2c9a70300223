/* The identity of a command's processes: how a process inside a task connects to its cluster. */
#include "client/deploy/identity.h"

#include "client/deploy/address.h"
#include "graph/wire/channel.h"
#include "graph/wire/enums.h"

#include <errno.h>
#include <gangway/version.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { ANSWER_TIMEOUT_S = 10 };

static bool is_set(const char *name)
{
    const char *value = getenv(name);
    return value && *value;
}

bool gw_identity_find(struct gw_identity *identity)
{
    const char *text = getenv("GANGWAY_IDENTITY"), *address = getenv("GANGWAY_ADDRESS");
    int secret_at = 0, address_at = -1;
    if (!text || is_set("GANGWAY_TOKEN") || is_set("GANGWAY_TOKEN_FILE"))
        return false;
    *identity = (struct gw_identity){0};
    (void)sscanf(text, "%" SCNu64 ".%" SCNu32 ".%n%*64[0-9a-f] %n", &identity->attempt,
                 &identity->rank, &secret_at, &address_at);
    if (address_at < 0 || !gw_hash_parse(text + secret_at, identity->secret))
        return false;
    const char *found = text + address_at, *path = strchr(found, ' ');
    if (!path || strlen(path + 1) >= sizeof identity->path)
        return false;
    strcpy(identity->path, path + 1);
    address = address && *address ? address : "-";
    return strlen(address) == (size_t)(path - found) &&
           memcmp(address, found, (size_t)(path - found)) == 0;
}

static int say_hello(struct gw_channel *channel, const struct gw_identity *identity)
{
    const struct gw_message message = {
        .type = GW_MESSAGE_hello,
        .sequence = 1,
        .hello = {.protocol = GW_PROTOCOL_LINK,
                  .role = GW_ROLE_TASK,
                  .pid = (uint32_t)getpid(),
                  .version = GANGWAY_VERSION,
                  .name = program_invocation_short_name,
                  .attempt = identity->attempt,
                  .rank = identity->rank,
                  .secret = {identity->secret, sizeof identity->secret}},
    };
    int rc = gw_channel_put(channel, &message, (struct gw_channel_fds){0});
    return rc < 0 ? rc : gw_channel_flush(channel);
}

/* Sets *error to the worker's reason for a refusal. A reason that may be temporary becomes
 * GW_ENOSCHEDULER, so that the caller tries again. */
static int refused(int code, const char *text, struct gw_error *error)
{
    const bool later = code == GW_EAGAIN || code == GW_EIO;
    return gw_error_set(error, later ? GW_ENOSCHEDULER : code, "%s", text);
}

static int take_answer(const struct gw_message *message, int fd, struct gw_error *error)
{
    if (message->type == GW_MESSAGE_refuse)
        return refused(message->refuse.code < 0 ? message->refuse.code : GW_EPROTO,
                       message->refuse.text, error);
    if (message->type != GW_MESSAGE_task_linked || (message->task_linked.code == 0 && fd < 0))
        return gw_error_set(error, GW_EPROTO,
                            "the worker of this task answered without a connection to the cluster");
    return message->task_linked.code < 0
               ? refused(message->task_linked.code, message->task_linked.text, error)
               : 0;
}

static int ask(struct gw_channel *channel, const struct gw_identity *identity, int *fd,
               struct gw_error *error)
{
    struct gw_message message;
    int fds[GW_FRAME_FDS_MAX];
    uint8_t count = 0;
    int rc = say_hello(channel, identity);
    if (rc == 0)
        rc = gw_channel_get(channel, true, &message, fds, &count, NULL);
    if (rc < 0)
        return gw_error_set(error, rc == GW_EPROTO ? rc : GW_ENOSCHEDULER,
                            "the worker of this task did not answer: %s", gw_error_text(rc));
    rc = take_answer(&message, count ? fds[0] : -1, error);
    for (uint8_t i = rc == 0; i < count; i++)
        close(fds[i]);
    if (rc == 0)
        *fd = fds[0];
    return rc;
}

int gw_identity_connect(const struct gw_identity *identity, int *fd, struct gw_error *error)
{
    const struct timeval limit = {.tv_sec = ANSWER_TIMEOUT_S};
    struct gw_channel *channel;
    int worker, rc = gw_address_connect(identity->path, &worker, error);
    if (rc == GW_ENOSCHEDULER)
        return gw_error_set(error, rc,
                            "the worker of this task does not answer at %s: has the task ended?",
                            identity->path);
    if (rc < 0)
        return rc;
    (void)setsockopt(worker, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    rc = gw_channel_new(worker, &channel);
    if (rc < 0)
        return gw_error_set(error, rc, "%s", gw_error_text(rc));
    rc = ask(channel, identity, fd, error);
    gw_channel_free(channel);
    return rc;
}
