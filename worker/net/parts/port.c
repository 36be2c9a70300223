/* A port that another program will bind.
 *
 * Invariants: the number is outside the range from which the kernel takes ports by itself, so only
 * a program that names the port can take it. A bound socket that never listens reserves the port
 * until its program comes. A name in the abstract namespace of unix sockets, which like ports
 * belongs to a network namespace, reserves the number against the leases of all workers, until it
 * is closed or this process ends. */
#include "worker/net/parts/port.h"

#include "graph/base/clock.h"

#include <errno.h>
#include <netinet/in.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { PORT_LEAST = 20000, PORT_MOST = 65000, ROOM_LEAST = 1000, TRIES_MAX = 500 };

/* Returns a range of numbers that the kernel does not assign by itself. */
static void range(uint32_t *first, uint32_t *last)
{
    unsigned low = 32768, high = 60999;
    FILE *file = fopen("/proc/sys/net/ipv4/ip_local_port_range", "re");
    if (file && fscanf(file, "%u %u", &low, &high) != 2) {
        low = 32768;
        high = 60999;
    }
    if (file)
        fclose(file);
    *first = PORT_LEAST;
    *last = PORT_MOST;
    if (low >= PORT_LEAST + ROOM_LEAST)
        *last = low - 1 < PORT_MOST ? low - 1 : PORT_MOST;
    else if (high + ROOM_LEAST <= PORT_MOST)
        *first = high + 1;
}

/* Reserves a number by a name of an abstract unix socket. Returns -1 if it is reserved already. */
static int reserve(uint32_t number)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    int length =
        snprintf(address.sun_path + 1, sizeof address.sun_path - 1, "gangway/port/%u", number);
    int fd = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    socklen_t size = (socklen_t)(offsetof(struct sockaddr_un, sun_path) + 1 + (size_t)length);
    if (fd >= 0 && bind(fd, (struct sockaddr *)&address, size) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

/* Binds a port on all addresses, since the address at which its program will listen is unknown.
 * Without SO_REUSEADDR, so that connections of an earlier user in TIME_WAIT count, too. */
static int bind_all(uint32_t number)
{
    const struct sockaddr_in6 six = {
        .sin6_family = AF_INET6, .sin6_port = htons((uint16_t)number), .sin6_addr = in6addr_any};
    const struct sockaddr_in four = {.sin_family = AF_INET, .sin_port = htons((uint16_t)number)};
    int fd = socket(AF_INET6, SOCK_STREAM | SOCK_CLOEXEC, 0), off = 0;
    if (fd >= 0) {
        if (setsockopt(fd, IPPROTO_IPV6, IPV6_V6ONLY, &off, sizeof off) == 0 &&
            bind(fd, (const struct sockaddr *)&six, sizeof six) == 0)
            return fd;
        const bool taken = errno == EADDRINUSE;
        close(fd);
        if (taken)
            return -1;
    }
    fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0); /* without IPv6 on this host */
    if (fd >= 0 && bind(fd, (const struct sockaddr *)&four, sizeof four) < 0) {
        close(fd);
        return -1;
    }
    return fd;
}

int gw_port_open(struct gw_port *port, struct gw_error *error)
{
    uint32_t first, last;
    range(&first, &last);
    const uint32_t room = last - first + 1;
    uint64_t at = (gw_clock_now_ns() ^ (uint64_t)getpid() << 20) * UINT64_C(0x9fb21c651e98df25);
    at = (at >> 32) % room;
    for (uint32_t tries = 0; tries < TRIES_MAX; tries++, at = (at + 1) % room) {
        struct gw_port found = {.number = (uint16_t)(first + at)};
        found.name_fd = reserve(found.number);
        if (found.name_fd < 0)
            continue;
        found.fd = bind_all(found.number);
        if (found.fd >= 0) {
            *port = found;
            return 0;
        }
        close(found.name_fd);
    }
    return gw_error_set(
        error, GW_EIO,
        "cannot reserve a port: %u ports between %u and %u were tried, and all are in use: %s",
        TRIES_MAX, first, last, strerror(errno));
}

void gw_port_unbind(struct gw_port *port)
{
    if (port->fd >= 0)
        close(port->fd);
    port->fd = -1;
}

enum { LISTENS = 0x0a };

/* Returns true if a table of the kernel lists a socket with this port. Sets *listens if the socket
 * listens. */
static bool is_listed(const char *table, uint32_t number, bool *listens)
{
    char line[512];
    bool found = false;
    FILE *file = fopen(table, "re");
    while (file && fgets(line, sizeof line, file)) {
        /* The first colon follows the line number of the table */
        const char *local = strchr(line, ':');
        const char *port = local ? strchr(local + 1, ':') : NULL;
        unsigned at, state;
        if (!port || sscanf(port + 1, "%x %*s %x", &at, &state) != 2 || at != number)
            continue;
        found = true;
        *listens = *listens || state == LISTENS;
    }
    if (file)
        fclose(file);
    return found;
}

/* Connections that have ended keep a port for a minute. They are listed, but no listed socket
 * listens then. A socket that is bound and does not listen yet is not listed. */
bool gw_port_is_taken(const struct gw_port *port)
{
    int fd = bind_all(port->number);
    if (fd >= 0) {
        close(fd);
        return false;
    }
    bool listens = false;
    bool four = is_listed("/proc/net/tcp", port->number, &listens);
    bool six = is_listed("/proc/net/tcp6", port->number, &listens);
    return listens || !(four || six);
}

void gw_port_close(struct gw_port *port)
{
    gw_port_unbind(port);
    close(port->name_fd);
}
