/* Looks up Unix accounts, and refuses those of the system. */
#include "worker/launcher/account.h"

#include "worker/launcher/request.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <pwd.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define LOGIN_DEFS "/etc/login.defs"
enum { DEFS_BYTES_MAX = 64 * 1024, NOBODY = 65534 };

static void read_number(const char *line, const char *key, unsigned long *number)
{
    size_t length = strlen(key);
    char *end;
    if (strncmp(line, key, length) != 0 || !isspace((unsigned char)line[length]))
        return;
    const char *at = line + length;
    while (*at == ' ' || *at == '\t')
        at++;
    if (!isdigit((unsigned char)*at))
        return;
    errno = 0;
    unsigned long value = strtoul(at, &end, 0); /* umasks begin with 0: octal */
    if (!errno && (!*end || isspace((unsigned char)*end)))
        *number = value;
}

void gw_account_limits(const char *text, unsigned long *uid_min, unsigned long *umask)
{
    for (const char *line = text; line; line = strchr(line, '\n'), line = line ? line + 1 : NULL) {
        const char *at = line;
        while (*at == ' ' || *at == '\t')
            at++;
        read_number(at, "UID_MIN", uid_min);
        read_number(at, "UMASK", umask);
    }
}

static void read_login_defs(unsigned long *uid_min, unsigned long *umask)
{
    char text[DEFS_BYTES_MAX + 1];
    int fd = open(LOGIN_DEFS, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? -1 : read(fd, text, DEFS_BYTES_MAX);
    if (fd >= 0)
        close(fd);
    if (got <= 0)
        return;
    text[got] = '\0';
    gw_account_limits(text, uid_min, umask);
}

static int refuse(const char *name, const char *why, struct gw_error *error)
{
    return gw_error_set(error, GW_EPERM, "Unix user %s may not run tasks: %s", name, why);
}

static int find_groups(struct gw_account *account, struct gw_error *error)
{
    account->group_count = GW_ACCOUNT_GROUPS_MAX;
    if (getgrouplist(account->name, account->gid, account->groups, &account->group_count) < 0)
        return refuse(account->name, "it is in too many groups", error);
    for (int i = 0; i < account->group_count; i++)
        if (account->groups[i] == 0)
            return refuse(account->name, "it is in the group with the number 0", error);
    return 0;
}

static int check(const struct gw_account *account, struct gw_error *error)
{
    unsigned long uid_min = 1000, ignored = 0;
    const struct passwd *worker;
    char why[96];
    read_login_defs(&uid_min, &ignored);
    (void)snprintf(why, sizeof why, "its number is below UID_MIN of %s", LOGIN_DEFS);
    if (account->uid == 0 || account->gid == 0)
        return refuse(account->name, "its number, or that of its group, is 0", error);
    if (account->uid < uid_min)
        return refuse(account->name, why, error);
    if (account->uid == NOBODY || account->uid == (uid_t)-1 || account->gid == (gid_t)-1)
        return refuse(account->name, "its number stands for no user", error);
    worker = getpwnam(GW_LAUNCHER_WORKER);
    if (worker && worker->pw_uid == account->uid)
        return refuse(account->name, "it is the user of the worker", error);
    return 0;
}

int gw_account_find(const char *name, struct gw_account *account, struct gw_error *error)
{
    unsigned long ignored, umask = 077;
    errno = 0;
    const struct passwd *found = getpwnam(name);
    if (!found)
        return gw_error_set(error, GW_ENOENT, "this host has no Unix user %s%s%s", name,
                            errno ? ": " : "", errno ? strerror(errno) : "");
    if (strlen(found->pw_name) >= sizeof account->name ||
        strlen(found->pw_dir) >= sizeof account->home ||
        strlen(found->pw_shell) >= sizeof account->shell || strcmp(found->pw_name, name) != 0)
        return refuse(name, "its entry in the system's database is malformed", error);
    account->uid = found->pw_uid;
    account->gid = found->pw_gid;
    strcpy(account->name, found->pw_name);
    strcpy(account->home, found->pw_dir);
    strcpy(account->shell, found->pw_shell);
    read_login_defs(&ignored, &umask);
    account->umask = (mode_t)(umask & 0777);
    int rc = check(account, error);
    return rc < 0 ? rc : find_groups(account, error);
}

bool gw_account_is_member(const char *user, const char *group)
{
    const struct group *found = getgrnam(group);
    if (!found)
        return false;
    for (char **member = found->gr_mem; *member; member++)
        if (strcmp(*member, user) == 0)
            return true;
    const gid_t gid = found->gr_gid;
    const struct passwd *account = getpwnam(user);
    return account && account->pw_gid == gid;
}
