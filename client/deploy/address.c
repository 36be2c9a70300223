/* Addresses of schedulers, connecting to them, and the folder of this user's cluster. */
#include "client/deploy/address.h"

#include "gpu/ring/ring_tls.h"
#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/user_dir.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/token_file.h"

#include <ctype.h>
#include <errno.h>
#include <poll.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { CONNECT_TIMEOUT_S = 10 };

/* Whether the address has the form HOST:PORT, with or without "tcp:" before it. */
static bool looks_like_tcp(const char *address)
{
    const char *colon = strrchr(address, ':');
    if (strncmp(address, "tcp:", 4) == 0)
        return true;
    if (!colon || colon == address || !isdigit((unsigned char)colon[1]))
        return false;
    return strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

int gw_address_parse(const char *address, const char **place, bool *tcp, struct gw_error *error)
{
    *tcp = false;
    if (strncmp(address, "unix:/", 6) == 0) {
        *place = address + 5;
        return 0;
    }
    if (looks_like_tcp(address)) {
        *tcp = true;
        *place = address + (strncmp(address, "tcp:", 4) == 0 ? 4 : 0);
        if (*place != address && strncmp(*place, "//", 2) == 0)
            *place += 2;
        return 0;
    }
    return gw_error_set(error, GW_EINVAL,
                        "address \"%s\" is not of the form HOST:PORT or unix:/path/%s", address,
                        GW_ADDRESS_SOCKET);
}

int gw_address_default_dir(char dir[PATH_MAX], struct gw_error *error)
{
    int rc = gw_user_dir_state(dir, error);
    if (rc < 0)
        return rc;
    struct gw_error why;
    rc = gw_dir_make(dir, &why);
    return rc < 0
               ? gw_error_set(
                     error, rc,
                     "%s: set XDG_STATE_HOME to a folder that you own, for the state of clusters",
                     why.text)
               : 0;
}

int gw_address_default_socket(char path[PATH_MAX], struct gw_error *error)
{
    char dir[PATH_MAX];
    int rc = gw_user_dir_state(dir, error);
    if (rc == 0 && snprintf(path, PATH_MAX, "%s/%s", dir, GW_ADDRESS_SOCKET) >= PATH_MAX)
        rc = gw_error_set(error, GW_EINVAL,
                          "the path %.64s..., or a path below it, is longer than %d bytes", dir,
                          PATH_MAX - 1);
    return rc;
}

int gw_address_connect(const char *path, int *fd, struct gw_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    char real[GW_ENDPOINT_TEXT_MAX];
    int rc = gw_endpoint_follow(path, real, error);
    if (rc < 0)
        return rc;
    if (strlen(real) >= sizeof address.sun_path)
        return gw_error_set(
            error, GW_EINVAL,
            "%s: the path of a socket may have at most %zu bytes: use a shorter one", real,
            sizeof address.sun_path - 1);
    strcpy(address.sun_path, real);

    int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sock < 0)
        return gw_error_set(error, GW_EIO, "socket: %s", strerror(errno));
    do
        rc = connect(sock, (struct sockaddr *)&address, sizeof address);
    while (rc < 0 && errno == EINTR);
    if (rc < 0) {
        rc = errno == EACCES || errno == EPERM ? GW_EPERM : GW_ENOSCHEDULER;
        gw_error_set(error, rc, "no scheduler answers at unix:%s: %s", path, strerror(errno));
        close(sock);
        return rc;
    }
    *fd = sock;
    return 0;
}

/* Waits until the connection attempt of a non-blocking socket has succeeded or failed. */
static int wait_connected(int fd, const char *place, struct gw_error *error)
{
    uint64_t deadline_ns = gw_clock_now_ns() + CONNECT_TIMEOUT_S * GW_NS_PER_S;
    int errnum = 0, rc;
    do {
        uint64_t now_ns = gw_clock_now_ns();
        int left_ms = now_ns < deadline_ns ? (int)((deadline_ns - now_ns) / GW_NS_PER_MS) + 1 : 0;
        rc = poll(&(struct pollfd){.fd = fd, .events = POLLOUT}, 1, left_ms);
    } while (rc < 0 && errno == EINTR);
    if (rc == 0)
        errnum = ETIMEDOUT;
    else if (getsockopt(fd, SOL_SOCKET, SO_ERROR, &errnum, &(socklen_t){sizeof errnum}) < 0)
        errnum = errno;
    return errnum ? gw_error_set(error, GW_ENOSCHEDULER, "no scheduler answers at %s: %s", place,
                                 strerror(errnum))
                  : 0;
}

int gw_address_connect_tcp(const char *place, struct gw_transport **transport,
                           struct gw_error *error)
{
    char numeric[GW_ENDPOINT_TEXT_MAX];
    struct gw_token token;
    struct gw_tls_key key;
    int fd, rc = gw_token_file_own(&token, error);
    if (rc == 0)
        rc = gw_endpoint_resolve(place, numeric, error);
    if (rc < 0) { /* the scheduler was not contacted */
        explicit_bzero(&token, sizeof token);
        return rc;
    }
    rc = gw_endpoint_connect(numeric, &fd, error);
    if (rc == GW_ECLOSED || rc == GW_EIO || rc == GW_EAGAIN) {
        rc = gw_error_set(error, GW_ENOSCHEDULER, "no scheduler answers at %s", place);
    } else if (rc == 0 && (rc = wait_connected(fd, place, error)) < 0) {
        close(fd);
    } else if (rc == 0) {
        strcpy(key.identity, token.id);
        memcpy(key.secret, token.secret, sizeof key.secret);
        rc = gw_ring_tls_connect(fd, &key, transport, error);
        explicit_bzero(&key, sizeof key);
    }
    explicit_bzero(&token, sizeof token);
    return rc;
}

/* Reads the given line (from 1) of the file "address", which the scheduler writes. */
static int read_line(char address[GW_ADDRESS_TCP_MAX], int line, struct gw_error *error)
{
    char dir[PATH_MAX], path[PATH_MAX + 32], text[GW_ADDRESS_TCP_MAX];
    int rc = gw_user_dir_state(dir, error);
    if (rc < 0)
        return rc;
    snprintf(path, sizeof path, "%s/address", dir);
    FILE *file = fopen(path, "re");
    bool read = file != NULL;
    for (int i = 0; i < line && read; i++)
        read = fgets(text, sizeof text, file);
    if (file)
        fclose(file);
    if (!read)
        return gw_error_set(
            error, GW_ENOENT,
            "no cluster that this user started listens by TCP: `gangway up --listen` starts one");
    text[strcspn(text, "\n")] = '\0';
    strcpy(address, text);
    return 0;
}

int gw_address_read_note(char address[GW_ADDRESS_TCP_MAX], struct gw_error *error)
{
    return read_line(address, 1, error);
}

int gw_address_read_missed(char address[GW_ADDRESS_TCP_MAX], struct gw_error *error)
{
    return read_line(address, 2, error);
}

/* Reads the first line of a file as an address. GW_ENOENT: there is no such file. */
static int read_file(const char *path, char address[GW_ADDRESS_TCP_MAX], struct gw_error *error)
{
    FILE *file = fopen(path, "re");
    const char *place;
    bool tcp;
    if (!file)
        return errno == ENOENT || errno == ENOTDIR
                   ? GW_ENOENT
                   : gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    if (!fgets(address, GW_ADDRESS_TCP_MAX, file))
        *address = '\0';
    (void)fclose(file);
    address[strcspn(address, "\n")] = '\0';
    int rc = gw_address_parse(address, &place, &tcp, error);
    return rc < 0 ? gw_error_prefix(error, "%s:1", path) : 0;
}

int gw_address_read_default(char address[GW_ADDRESS_TCP_MAX], struct gw_error *error)
{
    char path[PATH_MAX];
    int rc = gw_user_dir_config("address", path, NULL) == 0 ? read_file(path, address, error)
                                                            : GW_ENOENT;
    return rc == GW_ENOENT ? read_file(GW_USER_DIR_MACHINE "/address", address, error) : rc;
}

void gw_address_user(char user[GW_ADDRESS_USER_BYTES])
{
    const struct passwd *entry = getpwuid(geteuid());
    const char *name = entry ? entry->pw_name : "";
    bool usable = isalnum((unsigned char)*name) && strlen(name) < GW_ADDRESS_USER_BYTES;
    for (const char *c = name; *c; c++)
        usable = usable && (isalnum((unsigned char)*c) || strchr("._-", *c));
    strcpy(user, usable ? name : "user");
}
