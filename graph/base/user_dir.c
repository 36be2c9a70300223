/* The folders of a user. /tmp is shared with other users, so a folder there is checked each time it
 * is used. Different processes may choose different runtime folders: cron does not set the
 * variables, and a logout removes /run/user/UID. So a process that looks for a socket follows the
 * link in the state folder. */
#include "graph/base/user_dir.h"

#include "graph/base/dir.h"

#include <pwd.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <unistd.h>

enum { NAME_BYTES = 256, SOCKET_NAME_BYTES = sizeof "/worker-4194304.sock" };

/* Writes the name of this host in a form that can be a folder's name. */
static void host_name(char name[NAME_BYTES])
{
    if (gethostname(name, NAME_BYTES) < 0)
        *name = '\0';
    name[NAME_BYTES - 1] = '\0';
    for (char *c = name; *c; c++)
        if (*c == '/')
            *c = '_';
    if (!*name || *name == '.')
        strcpy(name, "localhost");
}

int gw_user_dir_state(char dir[PATH_MAX], struct gw_error *error)
{
    const char *xdg = getenv("XDG_STATE_HOME"), *home = getenv("HOME");
    const struct passwd *entry = home && *home == '/' ? NULL : getpwuid(geteuid());
    char host[NAME_BYTES];
    int n;
    if (entry)
        home = entry->pw_dir;
    host_name(host);
    if (xdg && *xdg == '/')
        n = snprintf(dir, PATH_MAX, "%s/gangway/%s", xdg, host);
    else if (home && *home == '/')
        n = snprintf(dir, PATH_MAX, "%s/.local/state/gangway/%s", home, host);
    else
        return gw_error_set(error, GW_ENOENT,
                            "neither XDG_STATE_HOME nor HOME names a folder in which clusters may "
                            "keep their state: set one of them");
    return n < PATH_MAX
               ? 0
               : gw_error_set(error, GW_EINVAL,
                              "the path %.64s..., or a path below it, is longer than %d bytes", dir,
                              PATH_MAX - 1);
}

static bool is_ours(const char *path)
{
    struct stat info;
    return stat(path, &info) == 0 && S_ISDIR(info.st_mode) && info.st_uid == geteuid();
}

/* Writes the n-th possible runtime folder. Returns false if there are no more. */
static bool candidate(int n, char dir[PATH_MAX])
{
    const char *xdg = getenv("XDG_RUNTIME_DIR");
    char run[64];
    (void)snprintf(run, sizeof run, "/run/user/%u", (unsigned)geteuid());
    *dir = '\0';
    /* Skip an XDG_RUNTIME_DIR that is outdated or belongs to another user (sudo keeps the
     * caller's). */
    if (n == 0 && xdg && *xdg == '/' && is_ours(xdg))
        (void)snprintf(dir, PATH_MAX, "%s/gangway", xdg);
    else if (n == 1 && is_ours(run))
        (void)snprintf(dir, PATH_MAX, "%s/gangway", run);
    else if (n == 2)
        (void)snprintf(dir, PATH_MAX, "/tmp/gangway-%u", (unsigned)geteuid());
    return n <= 2;
}

static int make(const char *dir, struct gw_error *error)
{
    struct gw_error why;
    int rc = gw_dir_make(dir, &why);
    return rc < 0 ? gw_error_set(error, rc,
                                 "%s: set XDG_RUNTIME_DIR to a folder of yours in which clusters "
                                 "may keep their sockets",
                                 why.text)
                  : 0;
}

int gw_user_dir_runtime(char dir[PATH_MAX], struct gw_error *error)
{
    for (int n = 0; candidate(n, dir); n++)
        if (*dir)
            return make(dir, error);
    return GW_ENOENT; /* not reached: /tmp/gangway-UID is always a candidate */
}

/* FNV-1a. The hash only separates the clusters of one user. */
static uint64_t hash(const char *text)
{
    uint64_t value = UINT64_C(14695981039346656037);
    for (; *text; text++)
        value = (value ^ (unsigned char)*text) * UINT64_C(1099511628211);
    return value;
}

int gw_user_dir_socket(const char *cluster, char dir[PATH_MAX], struct gw_error *error)
{
    const size_t most = sizeof((struct sockaddr_un *)0)->sun_path - SOCKET_NAME_BYTES;
    for (int n = 0; candidate(n, dir); n++) {
        const size_t length = strlen(dir);
        if (length && length + 17 <= most) {
            (void)snprintf(dir + length, PATH_MAX - length, "/%016llx",
                           (unsigned long long)hash(cluster));
            return make(dir, error);
        }
    }
    return gw_error_set(error, GW_EINVAL,
                        "all possible folders for sockets have paths that are too long: set "
                        "XDG_RUNTIME_DIR to a folder with a short path");
}

int gw_user_dir_config(const char *name, char path[PATH_MAX], struct gw_error *error)
{
    const char *xdg = getenv("XDG_CONFIG_HOME"), *home = getenv("HOME");
    int bytes = 0;
    if (xdg && xdg[0] == '/')
        bytes = snprintf(path, PATH_MAX, "%s/gangway/%s", xdg, name);
    else if (home && home[0] == '/')
        bytes = snprintf(path, PATH_MAX, "%s/.config/gangway/%s", home, name);
    if (bytes <= 0 || bytes >= PATH_MAX - 8)
        return gw_error_set(error, GW_EINVAL,
                            "the %s is in ~/.config/gangway, and HOME is %s: set HOME or "
                            "XDG_CONFIG_HOME",
                            name, bytes ? "too long" : "not set");
    return 0;
}
