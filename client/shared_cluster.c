/* Starts this user's shared cluster if none is running. */
#include "client/shared_cluster.h"

#include "client/deploy/address.h"
#include "graph/base/clock.h"

#include <gangway/gangway.h>

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/socket.h>
#include <unistd.h>

enum { STOP_TIMEOUT_S = 10 };

/* Checks that no scheduler serves the cluster. A killed process accepts connections until the
 * kernel has closed its descriptors, so a scheduler counts as running only if it answers. */
static int check_none(const char *dir, struct gw_error *error)
{
    char address[PATH_MAX + 32];
    struct ucred peer = {0};
    struct gw_client *client;
    struct gw_error why;
    int fd;
    snprintf(address, sizeof address, "unix:%s/%s", dir, GW_ADDRESS_SOCKET);
    if (gw_address_connect(strchr(address, '/'), &fd, NULL) < 0)
        return 0;
    (void)getsockopt(fd, SOL_SOCKET, SO_PEERCRED, &peer, &(socklen_t){sizeof peer});
    close(fd);
    int rc = gw_client_open(GW_CLIENT_OPTIONS(.address = address, .name = "gangway up",
                                              .no_reconnect = true, .connect_timeout_ns = 1),
                            &client, &why);
    if (rc == 0) {
        gw_client_close(client);
        return gw_error_set(
            error, GW_EEXIST,
            "a cluster is running already (%s): use it, or end it by `gangway down`", address);
    }
    if (rc == GW_ENOSCHEDULER)
        return peer.pid <= 0 || gw_cluster_wait_gone(peer.pid, STOP_TIMEOUT_S * GW_NS_PER_S)
                   ? 0
                   : gw_error_set(error, GW_EEXIST,
                                  "process %d listens at %s, where the cluster would, but is no "
                                  "scheduler that answers: end it first",
                                  (int)peer.pid, address);
    return gw_error_set(error, rc, "%s", why.text);
}

int gw_shared_cluster_up(const struct gw_cluster_options *options, pid_t *pid,
                         struct gw_error *error)
{
    char dir[PATH_MAX], path[PATH_MAX + 32];
    int rc = gw_address_default_dir(dir, error);
    if (rc < 0)
        return rc;
    /* If two `up` run at once, the second waits here and then finds the cluster of the first. */
    snprintf(path, sizeof path, "%s/up.lock", dir);
    int lock = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    if (lock < 0 || flock(lock, LOCK_EX) < 0) {
        const bool cancelled = options->interrupted && *options->interrupted;
        rc = cancelled ? gw_error_set(error, GW_ECANCELLED, "interrupted: no cluster was started")
                       : gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
        goto out;
    }
    rc = check_none(dir, error);
    if (rc == 0)
        rc = gw_cluster_launch(dir, options, pid, error);
out:
    if (lock >= 0)
        close(lock);
    return rc;
}
