/* Sockets by the text of an endpoint. TCP never waits to gather small writes: a turn of the loop
 * has gathered them already. */
#include "graph/wire/endpoint.h"

#include <errno.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdio.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128, HOST_MAX = 256, PORT_MAX = 8 };

bool gw_endpoint_is_tcp(const char *endpoint)
{
    return !strchr(endpoint, '/');
}

/* -- Unix -- */

static int unix_address(const char *path, struct sockaddr_un *address, struct gw_error *error)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path)
        return gw_error_set(error, GW_EINVAL, "%s: too long for a socket's path", path);
    memcpy(address->sun_path, path, strlen(path));
    return 0;
}

/* What a failed connect means; -1 of it is closed here. */
static int fail_connect(const char *endpoint, int fd, struct gw_error *error)
{
    int errnum = errno;
    if (fd >= 0)
        (void)close(fd);
    int rc = errnum == ECONNREFUSED || errnum == ENOENT ? GW_ECLOSED
             : errnum == EAGAIN                         ? GW_EAGAIN
                                                        : GW_EIO;
    return gw_error_set(error, rc, "cannot connect to %s: %s", endpoint, strerror(errnum));
}

static int connect_unix(const char *path, int *fd, struct gw_error *error)
{
    struct sockaddr_un address;
    int rc = unix_address(path, &address, error);
    if (rc < 0)
        return rc;
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0 || connect(made, (const struct sockaddr *)&address, sizeof address) < 0)
        return fail_connect(path, made, error);
    *fd = made;
    return 0;
}

static int fail_listen(const char *endpoint, int fd, struct gw_error *error)
{
    int errnum = errno;
    if (fd >= 0)
        (void)close(fd);
    return gw_error_set(error, GW_EIO, "cannot listen at %s: %s", endpoint, strerror(errnum));
}

static int listen_unix(const char *path, int *fd, struct gw_error *error)
{
    struct sockaddr_un address;
    int rc = unix_address(path, &address, error);
    if (rc < 0)
        return rc;
    (void)unlink(path);
    int made = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0 || bind(made, (const struct sockaddr *)&address, sizeof address) < 0 ||
        listen(made, BACKLOG) < 0)
        return fail_listen(path, made, error);
    *fd = made;
    return 0;
}

/* -- TCP -- */

/* Cuts "HOST", "HOST:PORT", "V6", "[V6]" or "[V6]:PORT". */
static int cut(const char *endpoint, char host[HOST_MAX], char port[PORT_MAX],
               struct gw_error *error)
{
    const char *end = endpoint + strlen(endpoint), *from = endpoint, *colon = NULL;
    if (*from == '[') {
        const char *bracket = strchr(++from, ']');
        if (!bracket || (bracket[1] && bracket[1] != ':'))
            return gw_error_set(error, GW_EINVAL, "%s: wanted [ADDRESS]:PORT", endpoint);
        colon = bracket[1] ? bracket + 1 : NULL;
        end = bracket;
    } else if ((colon = strchr(from, ':')) != NULL) {
        if (strchr(colon + 1, ':'))
            colon = NULL; /* the colons are an IPv6 address's own */
        else
            end = colon;
    }
    size_t host_bytes = (size_t)(end - from), port_bytes = colon ? strlen(colon + 1) : 1;
    if (host_bytes == 0 || host_bytes >= HOST_MAX || port_bytes == 0 || port_bytes >= PORT_MAX)
        return gw_error_set(error, GW_EINVAL, "%s: wanted HOST:PORT", endpoint);
    memcpy(host, from, host_bytes);
    host[host_bytes] = '\0';
    memcpy(port, colon ? colon + 1 : "0", port_bytes + 1);
    return 0;
}

static int resolve(const char *endpoint, int flags, struct addrinfo **list, struct gw_error *error)
{
    char host[HOST_MAX], port[PORT_MAX];
    const struct addrinfo hints = {
        .ai_family = AF_UNSPEC, .ai_socktype = SOCK_STREAM, .ai_flags = flags | AI_NUMERICSERV};
    int rc = cut(endpoint, host, port, error);
    if (rc < 0)
        return rc;
    rc = getaddrinfo(host, port, &hints, list);
    return rc ? gw_error_set(error, GW_EINVAL, "%s: %s", endpoint, gai_strerror(rc)) : 0;
}

static void no_delay(int fd)
{
    int on = 1;
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

static int connect_tcp(const char *endpoint, int *fd, struct gw_error *error)
{
    struct addrinfo *list;
    int rc = resolve(endpoint, AI_NUMERICHOST, &list, error);
    if (rc < 0)
        return rc;
    int made = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0 || (connect(made, list->ai_addr, list->ai_addrlen) < 0 && errno != EINPROGRESS)) {
        rc = fail_connect(endpoint, made, error);
    } else {
        no_delay(made);
        *fd = made;
    }
    freeaddrinfo(list);
    return rc;
}

static bool is_wildcard(const struct sockaddr *address)
{
    if (address->sa_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)address)->sin_addr.s_addr == INADDR_ANY;
    return address->sa_family == AF_INET6 &&
           IN6_IS_ADDR_UNSPECIFIED(
               &((const struct sockaddr_in6 *)(const void *)address)->sin6_addr);
}

/* The numeric text of where a socket listens. */
static int name(int fd, char actual[GW_ENDPOINT_TEXT_MAX])
{
    struct sockaddr_storage address;
    socklen_t bytes = sizeof address;
    char host[NI_MAXHOST], port[PORT_MAX];
    if (getsockname(fd, (struct sockaddr *)&address, &bytes) < 0 ||
        getnameinfo((struct sockaddr *)&address, bytes, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return -1;
    int wrote = snprintf(actual, GW_ENDPOINT_TEXT_MAX,
                         address.ss_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    return wrote < GW_ENDPOINT_TEXT_MAX ? 0 : -1;
}

static int listen_tcp(const char *endpoint, int *fd, char actual[GW_ENDPOINT_TEXT_MAX],
                      struct gw_error *error)
{
    struct addrinfo *list;
    int rc = resolve(endpoint, 0, &list, error), on = 1;
    if (rc < 0)
        return rc;
    if (is_wildcard(list->ai_addr)) {
        freeaddrinfo(list);
        return gw_error_set(error, GW_EINVAL,
                            "%s is every address of this host: name the one that others use",
                            endpoint);
    }
    int made = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0 || setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(made, list->ai_addr, list->ai_addrlen) < 0 || listen(made, BACKLOG) < 0 ||
        name(made, actual) < 0) {
        rc = fail_listen(endpoint, made, error);
    } else {
        no_delay(made); /* those that it accepts have it too */
        *fd = made;
    }
    freeaddrinfo(list);
    return rc;
}

int gw_endpoint_connect(const char *endpoint, int *fd, struct gw_error *error)
{
    return gw_endpoint_is_tcp(endpoint) ? connect_tcp(endpoint, fd, error)
                                        : connect_unix(endpoint, fd, error);
}

int gw_endpoint_listen(const char *endpoint, int *fd, char actual[GW_ENDPOINT_TEXT_MAX],
                       struct gw_error *error)
{
    return gw_endpoint_is_tcp(endpoint) ? listen_tcp(endpoint, fd, actual, error)
                                        : listen_unix(endpoint, fd, error);
}
