/* Starts processes of separate users for transfers. The user may stop or kill them. */
#include "worker/net/checkpoints/transfer_process.h"

#include "graph/base/files.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

void gw_transfer_process_place(const struct gw_host *host, const char *user,
                               struct gw_transfer_place *place)
{
    char machine[128] = "";
    (void)gethostname(machine, sizeof machine - 1);
    const bool same = strcmp(machine, host->options.name) == 0;
    (void)snprintf(place->dir, sizeof place->dir, "%.*s%s", PATH_MAX - 16,
                   *user ? user : host->checkpoint_dir, *user ? "/checkpoints" : "");
    (void)snprintf(place->here, sizeof place->here, "%s%s%s", host->options.name,
                   same ? "" : " on ", same ? "" : machine);
    place->incarnation = host->incarnation;
    place->bytes_max = host->options.transfer_bytes_max ? host->options.transfer_bytes_max
                                                        : GW_TRANSFER_BYTES_DEFAULT;
}

int gw_transfer_process_open(const struct gw_host *host, const char *user,
                             const struct gw_link_callbacks *callbacks, struct gw_link **link,
                             struct gw_error *error)
{
    struct gw_transfer_place place;
    char where[sizeof place.here + 64];
    int pair[2];
    gw_transfer_process_place(host, user, &place);
    if (!*user || !gw_files_are_remote(place.dir))
        return gw_error_set(error, GW_EPERM,
                            "the user of this checkpoint cannot run anything on %s: look at the "
                            "log of that worker",
                            place.here);
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) < 0)
        return gw_error_set(error, GW_EIO, "socketpair: %s", strerror(errno));
    (void)snprintf(where, sizeof where, "%016" PRIx64 " %" PRIu64 " %s", place.incarnation,
                   place.bytes_max, place.here);
    int rc = gw_files_transfer(place.dir, where, pair[1]);
    close(pair[1]);
    if (rc < 0) {
        close(pair[0]);
        return gw_transfer_process_gone(error);
    }
    (void)fcntl(pair[0], F_SETFL, O_NONBLOCK);
    rc = gw_link_open(host->loop, pair[0], callbacks, link);
    return rc < 0 ? gw_error_set(error, GW_EIO, "%s", gw_error_text(rc)) : 0;
}

static void deaf_on_message(struct gw_link *link, const struct gw_message *message, const int *fds,
                            uint8_t fd_count, void *arg)
{
    (void)link;
    (void)message;
    (void)arg;
    for (uint8_t i = 0; i < fd_count; i++)
        close(fds[i]);
}

static void deaf_on_close(struct gw_link *link, const struct gw_error *error, void *arg)
{
    (void)link;
    (void)error;
    (void)arg;
}

void gw_transfer_process_close(struct gw_link *link)
{
    const struct gw_link_callbacks deaf = {deaf_on_message, deaf_on_close, NULL};
    if (!link)
        return;
    gw_link_hand_over(link, &deaf);
    gw_link_close(link);
}

int gw_transfer_process_gone(struct gw_error *error)
{
    return gw_error_set(error, GW_EIO,
                        "the process gangway-files of its user was killed or does not answer");
}
