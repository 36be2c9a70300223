/* Ports are kept by a bound socket that never listens: whoever is to listen there binds after it
 * was closed, and no connection in TIME_WAIT is left behind. */
#include "worker/net/lease.h"

#include "graph/base/log.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/tls.h"

#include <gangway/comm.h>

#include <errno.h>
#include <limits.h>
#include <netdb.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

static int bind_any(const char *where, int *fd, uint16_t *port, struct gw_error *error)
{
    const struct addrinfo hints = {.ai_socktype = SOCK_STREAM,
                                   .ai_flags = AI_NUMERICHOST | AI_NUMERICSERV};
    struct addrinfo *list;
    struct sockaddr_storage address;
    char service[8];
    socklen_t size = sizeof address;
    int one = 1;
    if (getaddrinfo(where, "0", &hints, &list) != 0)
        return gw_error_set(error, GW_EIO, "cannot lease a port: %s is no address", where);
    *fd = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC, 0);
    bool bound = *fd >= 0 && setsockopt(*fd, SOL_SOCKET, SO_REUSEADDR, &one, sizeof one) == 0 &&
                 bind(*fd, list->ai_addr, list->ai_addrlen) == 0 &&
                 getsockname(*fd, (struct sockaddr *)&address, &size) == 0 &&
                 getnameinfo((struct sockaddr *)&address, size, NULL, 0, service, sizeof service,
                             NI_NUMERICSERV) == 0;
    freeaddrinfo(list);
    if (!bound)
        return gw_error_set(error, GW_EIO, "cannot lease a port: %s", strerror(errno));
    *port = (uint16_t)strtoul(service, NULL, 10);
    return 0;
}

/* The door of a ring, and a key that lives as long as the attempt. */
static int door_open(const char *address, struct gw_leased *leased, struct gw_error *error)
{
    char actual[GW_ENDPOINT_TEXT_MAX];
    int rc = gw_endpoint_listen(address, &leased->listener_fd, actual, error);
    if (rc < 0)
        return rc;
    leased->ring_port = (uint16_t)strtoul(strrchr(actual, ':') + 1, NULL, 10);
    rc = gw_tls_secret_random(leased->ring_key);
    return rc < 0 ? gw_error_set(error, rc, "no random numbers for a key") : 0;
}

int gw_lease_open(struct gw_leases *leases, const struct gw_lease_what *what,
                  struct gw_leased *leased, struct gw_error *error)
{
    struct gw_lease lease = {.attempt = what->attempt, .fd = -1};
    struct gw_leased made = {.segment_fd = -1, .listener_fd = -1};
    int rc = gw_comm_segment_create(what->ranks > INT_MAX ? INT_MAX : (int)what->ranks,
                                    &made.segment_fd, error);
    if (rc == 0 && what->groups > 0)
        rc = bind_any(what->address, &lease.fd, &made.port, error);
    if (rc == 0 && what->groups > 1)
        rc = door_open(what->address, &made, error);
    if (rc < 0) {
        const int fds[] = {lease.fd, made.segment_fd, made.listener_fd};
        for (size_t i = 0; i < sizeof fds / sizeof fds[0]; i++)
            if (fds[i] >= 0)
                close(fds[i]);
        return rc;
    }
    if (lease.fd >= 0)
        GW_MUST(gw_array_push(&leases->list, lease));
    *leased = made;
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
