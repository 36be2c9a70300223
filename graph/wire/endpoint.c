/* Opens sockets for endpoints. TCP_NODELAY is set, because the loop already combines small writes.
 */
#include "graph/wire/endpoint.h"

#include <errno.h>
#include <ifaddrs.h>
#include <netdb.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { BACKLOG = 128, HOST_MAX = 256, PORT_MAX = 8, SILENT_MS_MAX = 15000 };

bool gw_endpoint_is_tcp(const char *endpoint)
{
    return !strchr(endpoint, '/');
}

/* -- Unix -- */

static int unix_address(const char *path, struct sockaddr_un *address, struct gw_error *error)
{
    *address = (struct sockaddr_un){.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address->sun_path)
        return gw_error_set(
            error, GW_EINVAL,
            "%s: the path of a socket may have at most %zu bytes: use a shorter one", path,
            sizeof address->sun_path - 1);
    memcpy(address->sun_path, path, strlen(path));
    return 0;
}

/* Makes the error of a failed connect and closes fd (unless it is -1). */
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

/* The target of a link may have been removed, and anybody can create a folder in /tmp. So the owner
 * of the folder is checked. */
static int check_folder(const char *path, uid_t owner, struct gw_error *error)
{
    char folder[GW_ENDPOINT_TEXT_MAX];
    struct stat info;
    strcpy(folder, path);
    char *slash = strrchr(folder, '/');
    if (!slash)
        return gw_error_set(error, GW_EPERM, "%s is not an absolute path", path);
    slash[slash == folder] = '\0';
    if (stat(folder, &info) == 0 && (info.st_uid != owner || (info.st_mode & 022)))
        return gw_error_set(error, GW_EPERM,
                            "the folder %s can be written to by other users, so its socket is not "
                            "used: chmod go-w it",
                            folder);
    return 0;
}

int gw_endpoint_follow(const char *path, char socket[GW_ENDPOINT_TEXT_MAX], struct gw_error *error)
{
    struct stat info;
    if (lstat(path, &info) < 0 || !S_ISLNK(info.st_mode)) {
        if (strlen(path) >= GW_ENDPOINT_TEXT_MAX)
            return gw_error_set(
                error, GW_EINVAL,
                "%s: the path of a socket may have at most %d bytes: use a shorter one", path,
                GW_ENDPOINT_TEXT_MAX - 1);
        strcpy(socket, path);
        return 0;
    }
    ssize_t length = readlink(path, socket, GW_ENDPOINT_TEXT_MAX);
    if (length <= 0 || length >= GW_ENDPOINT_TEXT_MAX)
        return gw_error_set(
            error, GW_EINVAL,
            "%s: the path of the socket to which this link leads is longer than %d bytes", path,
            GW_ENDPOINT_TEXT_MAX - 1);
    socket[length] = '\0';
    return check_folder(socket, info.st_uid, error);
}

static int connect_unix(const char *path, int *fd, struct gw_error *error)
{
    struct sockaddr_un address;
    char socket_path[GW_ENDPOINT_TEXT_MAX];
    int rc = gw_endpoint_follow(path, socket_path, error);
    if (rc == 0)
        rc = unix_address(socket_path, &address, error);
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

/* getaddrinfo accepts a port that is too large and uses another number, so the port is checked
 * here. 0 means a free port. */
static int check_port(const char *endpoint, const char *port, struct gw_error *error)
{
    char *end;
    unsigned long number = strtoul(port, &end, 10);
    if (*port < '0' || *port > '9' || *end || number > UINT16_MAX)
        return gw_error_set(error, GW_EINVAL, "%s: a port is a number from 1 to %d", endpoint,
                            UINT16_MAX);
    return 0;
}

/* Splits "HOST", "HOST:PORT", "V6", "[V6]" or "[V6]:PORT". */
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
            colon = NULL; /* the colons are part of an IPv6 address */
        else
            end = colon;
    }
    size_t host_bytes = (size_t)(end - from), port_bytes = colon ? strlen(colon + 1) : 1;
    if (host_bytes == 0 || host_bytes >= HOST_MAX || port_bytes == 0 || port_bytes >= PORT_MAX)
        return gw_error_set(error, GW_EINVAL, "%s: wanted HOST:PORT", endpoint);
    memcpy(host, from, host_bytes);
    host[host_bytes] = '\0';
    memcpy(port, colon ? colon + 1 : "0", port_bytes + 1);
    return check_port(endpoint, port, error);
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

/* Sets the options of a TCP socket. Small writes are sent immediately. The connection ends if data
 * is not acknowledged in time, or if an idle peer does not answer. The kernel buffers little unsent
 * data, so that heartbeats are not delayed. */
static void tune(int fd)
{
    const struct {
        int level, name, value;
    } options[] = {
        {IPPROTO_TCP, TCP_NODELAY, 1},
        {IPPROTO_TCP, TCP_USER_TIMEOUT, SILENT_MS_MAX},
        {SOL_SOCKET, SO_KEEPALIVE, 1},
        {IPPROTO_TCP, TCP_KEEPIDLE, 10},
        {IPPROTO_TCP, TCP_KEEPINTVL, 5},
        {IPPROTO_TCP, TCP_KEEPCNT, 3},
        {IPPROTO_TCP, TCP_NOTSENT_LOWAT, 256 << 10},
    };
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        (void)setsockopt(fd, options[i].level, options[i].name, &options[i].value, sizeof(int));
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
        tune(made);
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

/* Writes an address as numeric text. */
static int format(const struct sockaddr *address, socklen_t bytes, char text[GW_ENDPOINT_TEXT_MAX])
{
    char host[NI_MAXHOST], port[PORT_MAX];
    if (getnameinfo(address, bytes, host, sizeof host, port, sizeof port,
                    NI_NUMERICHOST | NI_NUMERICSERV) != 0)
        return -1;
    int wrote = snprintf(text, GW_ENDPOINT_TEXT_MAX,
                         address->sa_family == AF_INET6 ? "[%s]:%s" : "%s:%s", host, port);
    return wrote < GW_ENDPOINT_TEXT_MAX ? 0 : -1;
}

/* Writes the address at which a socket listens as numeric text. */
static int name(int fd, char actual[GW_ENDPOINT_TEXT_MAX])
{
    struct sockaddr_storage address;
    socklen_t bytes = sizeof address;
    if (getsockname(fd, (struct sockaddr *)&address, &bytes) < 0)
        return -1;
    return format((const struct sockaddr *)&address, bytes, actual);
}

int gw_endpoint_check(const char *endpoint, struct gw_error *error)
{
    char host[HOST_MAX], port[PORT_MAX];
    int rc = cut(endpoint, host, port, error);
    if (rc == 0 && strcmp(port, "0") == 0)
        rc = gw_error_set(error, GW_EINVAL, "%s: wanted HOST:PORT", endpoint);
    return rc;
}

int gw_endpoint_resolve(const char *endpoint, char numeric[GW_ENDPOINT_TEXT_MAX],
                        struct gw_error *error)
{
    struct addrinfo *list;
    int rc = gw_endpoint_check(endpoint, error);
    if (rc == 0)
        rc = resolve(endpoint, 0, &list, error);
    if (rc < 0)
        return rc;
    rc = format(list->ai_addr, list->ai_addrlen, numeric);
    freeaddrinfo(list);
    return rc < 0
               ? gw_error_set(error, GW_EINVAL, "%s: its numeric address is longer than %d bytes",
                              endpoint, GW_ENDPOINT_TEXT_MAX - 1)
               : 0;
}

void gw_endpoint_host(const char *endpoint, char host[GW_ENDPOINT_TEXT_MAX])
{
    char name[HOST_MAX], port[PORT_MAX];
    if (cut(endpoint, name, port, NULL) < 0)
        name[0] = '\0';
    (void)snprintf(host, GW_ENDPOINT_TEXT_MAX, "%.*s", GW_ENDPOINT_TEXT_MAX - 1, name);
}

static bool is_same_host(const struct sockaddr *a, const struct sockaddr *b)
{
    if (!b || a->sa_family != b->sa_family)
        return false;
    if (a->sa_family == AF_INET)
        return ((const struct sockaddr_in *)(const void *)a)->sin_addr.s_addr ==
               ((const struct sockaddr_in *)(const void *)b)->sin_addr.s_addr;
    return a->sa_family == AF_INET6 &&
           IN6_ARE_ADDR_EQUAL(&((const struct sockaddr_in6 *)(const void *)a)->sin6_addr,
                              &((const struct sockaddr_in6 *)(const void *)b)->sin6_addr);
}

int gw_endpoint_route(const char *endpoint, char address[GW_ENDPOINT_TEXT_MAX],
                      char interface[GW_ENDPOINT_INTERFACE_BYTES], struct gw_error *error)
{
    struct sockaddr_storage own;
    socklen_t bytes = sizeof own;
    struct addrinfo *list;
    struct ifaddrs *interfaces = NULL;
    int rc = resolve(endpoint, AI_NUMERICHOST, &list, error);
    if (rc < 0)
        return rc;
    int fd = socket(list->ai_family, SOCK_DGRAM | SOCK_CLOEXEC, 0);
    if (list->ai_family == AF_INET) /* connect needs a port, but no data is sent to it */
        ((struct sockaddr_in *)(void *)list->ai_addr)->sin_port = htons(9);
    if (fd < 0 || connect(fd, list->ai_addr, list->ai_addrlen) < 0 ||
        getsockname(fd, (struct sockaddr *)&own, &bytes) < 0 ||
        getnameinfo((struct sockaddr *)&own, bytes, address, GW_ENDPOINT_TEXT_MAX, NULL, 0,
                    NI_NUMERICHOST) != 0)
        rc = gw_error_set(error, GW_EIO, "there is no route to %s: %s", endpoint, strerror(errno));
    if (fd >= 0)
        (void)close(fd);
    freeaddrinfo(list);
    interface[0] = '\0';
    if (rc < 0 || getifaddrs(&interfaces) < 0)
        return rc;
    for (const struct ifaddrs *entry = interfaces; entry; entry = entry->ifa_next)
        if (is_same_host((const struct sockaddr *)&own, entry->ifa_addr) &&
            strlen(entry->ifa_name) < GW_ENDPOINT_INTERFACE_BYTES)
            strcpy(interface, entry->ifa_name);
    freeifaddrs(interfaces);
    return 0;
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
        return gw_error_set(
            error, GW_EINVAL,
            "%s stands for all addresses of this host: give the one by which others reach it",
            endpoint);
    }
    int made = socket(list->ai_family, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    if (made < 0 || setsockopt(made, SOL_SOCKET, SO_REUSEADDR, &on, sizeof on) < 0 ||
        bind(made, list->ai_addr, list->ai_addrlen) < 0 || listen(made, BACKLOG) < 0 ||
        name(made, actual) < 0) {
        rc = fail_listen(endpoint, made, error);
    } else {
        tune(made); /* accepted sockets inherit these options */
        *fd = made;
    }
    freeaddrinfo(list);
    return rc;
}

void gw_endpoint_peer(int fd, char host[GW_ENDPOINT_TEXT_MAX])
{
    struct sockaddr_storage from;
    socklen_t bytes = sizeof from;
    if (getpeername(fd, (struct sockaddr *)&from, &bytes) < 0 ||
        getnameinfo((struct sockaddr *)&from, bytes, host, GW_ENDPOINT_TEXT_MAX, NULL, 0,
                    NI_NUMERICHOST) != 0)
        *host = '\0';
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
