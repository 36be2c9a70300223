/* The cluster's id, in the file `cluster` of its state.
 *
 * Always: jobs of one id are numbered once. A state that begins anew counts from 1 again, and gets
 * another id: what hosts have of job 1 of the old one is not job 1's of the new one. */
#include "scheduler/net/cluster_id.h"

#include "graph/wire/tls.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

static int make(char id[GW_CLUSTER_ID_BYTES], struct gw_error *error)
{
    uint8_t random[GW_TLS_SECRET_BYTES];
    _Static_assert(2 * (int)GW_TLS_SECRET_BYTES >= (int)GW_CLUSTER_ID_BYTES - 1, "digits enough");
    if (gw_tls_secret_random(random) < 0)
        return gw_error_set(error, GW_EIO, "no random numbers for the cluster's id");
    for (int i = 0; i < (GW_CLUSTER_ID_BYTES - 1) / 2; i++)
        (void)snprintf(id + (size_t)(2 * i), 3, "%02x", random[i]);
    return 0;
}

static bool read_id(const char *path, char id[GW_CLUSTER_ID_BYTES])
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, id, GW_CLUSTER_ID_BYTES - 1);
    if (fd >= 0)
        close(fd);
    if (got != GW_CLUSTER_ID_BYTES - 1)
        return false;
    id[GW_CLUSTER_ID_BYTES - 1] = '\0';
    return strspn(id, "0123456789abcdef") == GW_CLUSTER_ID_BYTES - 1;
}

/* Whole, or not at all: under another name first. */
static int write_id(const char *state, const char *path, const char *id, struct gw_error *error)
{
    char beside[PATH_MAX + 16];
    (void)snprintf(beside, sizeof beside, "%s.new", path);
    int fd = open(beside, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    bool wrote = fd >= 0 && dprintf(fd, "%s\n", id) == GW_CLUSTER_ID_BYTES && fsync(fd) == 0;
    if (fd >= 0)
        wrote = close(fd) == 0 && wrote;
    if (!wrote || rename(beside, path) < 0)
        return gw_error_set(error, GW_EIO, "cannot write %s: %s", path, strerror(errno));
    int folder = open(state, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    if (folder >= 0) {
        (void)fsync(folder);
        close(folder);
    }
    return 0;
}

int gw_cluster_id_open(const char *state, bool fresh, char id[GW_CLUSTER_ID_BYTES],
                       struct gw_error *error)
{
    char path[PATH_MAX];
    if (!state)
        return make(id, error);
    if (snprintf(path, sizeof path, "%s/cluster", state) >= (int)sizeof path)
        return gw_error_set(error, GW_EIO, "%.64s...: too long a path", state);
    if (!fresh && read_id(path, id))
        return 0;
    int rc = make(id, error);
    return rc < 0 ? rc : write_id(state, path, id, error);
}
