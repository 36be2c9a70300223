/* Addresses and this user's runtime folder. Nothing here trusts a folder that others may write to:
 * /tmp is shared, so the folder is checked each time it is used. */
#include "client/address.h"

#include "graph/base/dir.h"

#include <ctype.h>
#include <errno.h>
#include <pwd.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

/* "host:port", as people write TCP addresses elsewhere. */
static bool looks_like_tcp(const char *address)
{
    const char *colon = strrchr(address, ':');
    if (strncmp(address, "tcp:", 4) == 0)
        return true;
    if (!colon || colon == address || !isdigit((unsigned char)colon[1]))
        return false;
    return strspn(colon + 1, "0123456789") == strlen(colon + 1);
}

int gw_address_parse(const char *address, const char **path, struct gw_error *error)
{
    if (strncmp(address, "unix:/", 6) == 0) {
        *path = address + 5;
        return 0;
    }
    if (looks_like_tcp(address))
        return gw_error_set(error, GW_ENOTSUP,
                            "address \"%s\": TCP is not there yet, only unix:/path/%s", address,
                            GW_ADDRESS_SOCKET);
    return gw_error_set(error, GW_EINVAL, "address \"%s\" is not of the form unix:/path/%s",
                        address, GW_ADDRESS_SOCKET);
}

int gw_address_runtime_dir(char dir[PATH_MAX], struct gw_error *error)
{
    const char *xdg = getenv("XDG_RUNTIME_DIR");
    struct stat info;
    /* A stale or foreign XDG_RUNTIME_DIR (sudo keeps the caller's) is passed over. */
    if (xdg && xdg[0] == '/' && stat(xdg, &info) == 0 && S_ISDIR(info.st_mode) &&
        info.st_uid == geteuid())
        snprintf(dir, PATH_MAX, "%s/gangway", xdg);
    else
        snprintf(dir, PATH_MAX, "/tmp/gangway-%u", (unsigned)geteuid());
    return gw_dir_make(dir, error);
}

int gw_address_default_dir(char dir[PATH_MAX], struct gw_error *error)
{
    int rc = gw_address_runtime_dir(dir, error);
    if (rc < 0)
        return rc;
    size_t length = strlen(dir);
    if (length + sizeof "/default" > PATH_MAX)
        return gw_error_set(error, GW_EINVAL, "the path %.64s... is too long", dir);
    strcpy(dir + length, "/default");
    return gw_dir_make(dir, error);
}

int gw_address_connect(const char *path, int *fd, struct gw_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX};
    if (strlen(path) >= sizeof address.sun_path)
        return gw_error_set(error, GW_EINVAL,
                            "%s: longer than the %zu bytes that a socket's path may have", path,
                            sizeof address.sun_path - 1);
    strcpy(address.sun_path, path);

    int sock = socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0);
    if (sock < 0)
        return gw_error_set(error, GW_EIO, "socket: %s", strerror(errno));
    int rc;
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

int gw_address_read_note(char address[GW_ADDRESS_TCP_MAX], struct gw_error *error)
{
    char dir[PATH_MAX], path[PATH_MAX + 32], text[GW_ADDRESS_TCP_MAX];
    int rc = gw_address_runtime_dir(dir, error);
    if (rc < 0)
        return rc;
    snprintf(path, sizeof path, "%s/default/address", dir);
    FILE *file = fopen(path, "re");
    bool read = file && fgets(text, sizeof text, file);
    if (file)
        fclose(file);
    if (!read)
        return gw_error_set(error, GW_ENOENT, "no cluster of this user listens by TCP");
    text[strcspn(text, "\n")] = '\0';
    strcpy(address, text);
    return 0;
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
