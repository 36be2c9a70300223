/* Ports are kept by a bound socket that never listens: whoever is to listen there binds after it
 * was closed, and no connection in TIME_WAIT is left behind. */
#include "worker/net/lease.h"

#include "graph/base/log.h"

#include <gangway/comm.h>

#include <errno.h>
#include <limits.h>
#include <netinet/in.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int bind_any(int *fd, uint16_t *port, struct gw_error *error)
{
    struct sockaddr_in address = {.sin_family = AF_INET};
    address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
    socklen_t size = sizeof address;
    int one = 1;
    *fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (*fd < 0 || setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) < 0 ||
        bind(*fd, (struct sockaddr *)&address, sizeof address) < 0 ||
        getsockname(*fd, (struct sockaddr *)&address, &size) < 0) {
        gw_error_set(error, GW_EIO, "cannot lease a port: %s", strerror(errno));
        if (*fd >= 0)
            close(*fd);
        return GW_EIO;
    }
    *port = ntohs(address.sin_port);
    return 0;
}

int gw_lease_open(struct gw_leases *leases, uint64_t attempt, uint32_t ranks, int *segment_fd,
                  uint16_t *port, struct gw_error *error)
{
    struct gw_lease lease = {.attempt = attempt};
    int rc = bind_any(&lease.fd, port, error);
    if (rc < 0)
        return rc;
    rc = gw_comm_segment_create(ranks > INT_MAX ? INT_MAX : (int)ranks, segment_fd, error);
    if (rc < 0) {
        close(lease.fd);
        return rc;
    }
    GW_MUST(gw_array_push(&leases->list, lease));
    return 0;
}

void gw_lease_close(struct gw_leases *leases, uint64_t attempt)
{
    for (size_t i = 0; i < leases->list.count; i++)
        if (leases->list.items[i].attempt == attempt) {
            close(leases->list.items[i].fd);
            gw_array_remove_swap(&leases->list, i);
            return;
        }
}

void gw_lease_deinit(struct gw_leases *leases)
{
    for (size_t i = 0; i < leases->list.count; i++)
        close(leases->list.items[i].fd);
    gw_array_deinit(&leases->list);
}
