/* Reads the list of users. A list with a malformed line allows nobody, so that a typing error is
 * noticed. */
#include "worker/launcher/allow_list.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static int check_owner(int fd, const char *path, struct gw_error *error)
{
    struct stat status;
    if (fstat(fd, &status) < 0)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    if (status.st_uid != 0 || (status.st_mode & (S_IWGRP | S_IWOTH)))
        return gw_error_set(error, GW_EPERM,
                            "%s must belong to root and be writable by nobody else: `chown root "
                            "%s; chmod go-w %s`",
                            path, path, path);
    return 0;
}

static int read_all(int fd, const char *path, char **text, struct gw_error *error)
{
    struct stat status;
    if (fstat(fd, &status) < 0 || !S_ISREG(status.st_mode))
        return gw_error_set(error, GW_EPERM, "%s is not a regular file", path);
    char *read_text = malloc(GW_ALLOW_LIST_BYTES_MAX + 1);
    if (!read_text)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    size_t used = 0;
    ssize_t got = 0;
    while (used <= GW_ALLOW_LIST_BYTES_MAX &&
           ((got = read(fd, read_text + used, GW_ALLOW_LIST_BYTES_MAX + 1 - used)) > 0 ||
            (got < 0 && errno == EINTR)))
        used += got > 0 ? (size_t)got : 0;
    if (got < 0 || used > GW_ALLOW_LIST_BYTES_MAX || memchr(read_text, '\0', used)) {
        free(read_text);
        return got < 0 ? gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno))
                       : gw_error_set(error, GW_ELIMIT, "%s is not a text, or longer than %d bytes",
                                      path, GW_ALLOW_LIST_BYTES_MAX);
    }
    read_text[used] = '\0';
    *text = read_text;
    return 0;
}

int gw_allow_list_read(const char *folder, const char *name, char **text, struct gw_error *error)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", folder, name);
    int dir = open(folder, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    int fd = dir < 0 ? -1 : openat(dir, name, O_RDONLY | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK);
    int rc = 0;
    if (fd < 0)
        rc = errno == ENOENT
                 ? gw_error_set(error, GW_ENOENT,
                                "%s is missing: it lists the users who may run tasks here", path)
                 : gw_error_set(error, GW_EPERM, "cannot open %s: %s", path, strerror(errno));
    if (rc == 0)
        rc = check_owner(dir, folder, error);
    if (rc == 0)
        rc = check_owner(fd, path, error);
    if (rc == 0)
        rc = read_all(fd, path, text, error);
    if (fd >= 0)
        close(fd);
    if (dir >= 0)
        close(dir);
    return rc;
}

/* A line without its comment and without space around it. */
struct line {
    const char *at;
    size_t bytes;
};

static struct line trim(const char *at, size_t bytes)
{
    const char *comment = memchr(at, '#', bytes);
    if (comment)
        bytes = (size_t)(comment - at);
    while (bytes && strchr(" \t\r", at[bytes - 1]))
        bytes--;
    while (bytes && strchr(" \t", *at)) {
        at++;
        bytes--;
    }
    return (struct line){at, bytes};
}

/* Copies a part of a line if it can be the name of a user or group. */
static bool take_name(const char *at, size_t bytes, char name[GW_UNIX_NAME_MAX + 1])
{
    if (bytes == 0 || bytes > GW_UNIX_NAME_MAX || *at == '-')
        return false;
    for (size_t i = 0; i < bytes; i++)
        if (at[i] <= ' ' || at[i] > '~' || strchr(":/@,#", at[i]))
            return false;
    memcpy(name, at, bytes);
    name[bytes] = '\0';
    return true;
}

/* Returns 1 and writes the Unix name if the line allows the user, 0 if it allows others, and
 * GW_ECORRUPT if it is malformed. */
static int read_line(struct line line, const char *user,
                     bool (*is_member)(const char *user, const char *group),
                     char unix_name[GW_UNIX_NAME_MAX + 1])
{
    char name[GW_UNIX_NAME_MAX + 1], as[GW_UNIX_NAME_MAX + 1];
    if (line.bytes && *line.at == '@') {
        if (!take_name(line.at + 1, line.bytes - 1, name))
            return GW_ECORRUPT;
        if (!is_member(user, name))
            return 0;
        (void)snprintf(unix_name, GW_UNIX_NAME_MAX + 1, "%s", user);
        return 1;
    }
    const char *colon = memchr(line.at, ':', line.bytes);
    size_t first = colon ? (size_t)(colon - line.at) : line.bytes;
    if (!take_name(line.at, first, name) ||
        !take_name(colon ? colon + 1 : line.at, colon ? line.bytes - first - 1 : first, as))
        return GW_ECORRUPT;
    if (strcmp(name, user) != 0)
        return 0;
    memcpy(unix_name, as, sizeof as);
    return 1;
}

int gw_allow_list_find(const char *text, const char *user,
                       bool (*is_member)(const char *user, const char *group),
                       char unix_name[GW_UNIX_NAME_MAX + 1], struct gw_error *error)
{
    char found[GW_UNIX_NAME_MAX + 1], other[GW_UNIX_NAME_MAX + 1];
    unsigned number = 1;
    bool allowed = false;
    for (const char *at = text, *end; *at; at = *end ? end + 1 : end, number++) {
        end = strchrnul(at, '\n');
        struct line line = trim(at, (size_t)(end - at));
        int rc = line.bytes ? read_line(line, user, is_member, allowed ? other : found) : 0;
        if (rc < 0)
            return gw_error_set(error, rc,
                                "line %u of the list of users is malformed: each line is NAME, "
                                "NAME:UNIXNAME or @GROUP",
                                number);
        allowed = allowed || rc > 0;
    }
    if (!allowed)
        return gw_error_set(error, GW_EPERM, "user %s is not in the list of users of this host",
                            user);
    memcpy(unix_name, found, sizeof found);
    return 0;
}
