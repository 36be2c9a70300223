/* Starts a supervisor as a user. The order is the safe one: groups, gid, uid, check that none of
 * them can be taken back, no_new_privs, limits, umask, and only then a path of the user's. */
#include "worker/launcher/start.h"

#include "graph/base/cgroup_file.h"

#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <limits.h>
#include <linux/magic.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { SUPERVISOR_FD = 3, CAPABILITIES_MAX = 64 };

static int check_owned(const char *path, struct gw_error *error)
{
    struct stat status;
    if (lstat(path, &status) < 0)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    if (status.st_uid != 0 || S_ISLNK(status.st_mode) || (status.st_mode & (S_IWGRP | S_IWOTH)))
        return gw_error_set(error, GW_EPERM,
                            "%s must belong to root, be writable by nobody else, and be no "
                            "symbolic link",
                            path);
    return 0;
}

int gw_start_check(const char *program, struct gw_error *error)
{
    char folder[PATH_MAX];
    (void)snprintf(folder, sizeof folder, "%s", program);
    char *slash = strrchr(folder, '/');
    if (!slash || slash == folder)
        return gw_error_set(error, GW_EPERM, "%s lies in no folder", program);
    *slash = '\0';
    int rc = check_owned(folder, error);
    return rc < 0 ? rc : check_owned(program, error);
}

int gw_start_folder(const char *parent, const struct gw_account *account, struct gw_error *error)
{
    struct stat status;
    int rc = check_owned(parent, error);
    if (rc < 0)
        return rc;
    int dir = open(parent, O_PATH | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (dir < 0)
        return gw_error_set(error, GW_EIO, "%s: %s", parent, strerror(errno));
    /* Only root can write to the parent, so nobody can put anything else here in between. */
    bool made = mkdirat(dir, account->name, 0700) == 0;
    if ((!made && errno != EEXIST) ||
        (made &&
         fchownat(dir, account->name, account->uid, account->gid, AT_SYMLINK_NOFOLLOW) < 0) ||
        fstatat(dir, account->name, &status, AT_SYMLINK_NOFOLLOW) < 0)
        rc = gw_error_set(error, GW_EIO, "cannot make %s/%s: %s", parent, account->name,
                          strerror(errno));
    else if (!S_ISDIR(status.st_mode) || status.st_uid != account->uid)
        rc = gw_error_set(error, GW_EPERM, "%s/%s is not a folder of user %s: remove it", parent,
                          account->name, account->name);
    close(dir);
    return rc;
}

/* -- Cgroups -------------------------------------------------------------------------------------
 */

int gw_start_cgroups(const char *parent, struct gw_error *error)
{
    char own[PATH_MAX];
    struct statfs system;
    if (*parent != '/' || statfs(parent, &system) < 0 || system.f_type != CGROUP2_SUPER_MAGIC)
        return gw_error_set(error, GW_EPERM,
                            "--cgroup %s is not the absolute path of a cgroup of version 2: give "
                            "that of this service, below /sys/fs/cgroup",
                            parent);
    (void)snprintf(own, sizeof own, "%.*s/launcher", PATH_MAX - 16, parent);
    int rc = mkdir(own, 0755) < 0 && errno != EEXIST ? errno
                                                     : gw_cgroup_file_put(own, "cgroup.procs", "0");
    if (rc)
        return gw_error_set(error, GW_EPERM,
                            "--cgroup %s: %s: start this program as root, with "
                            "Delegate=yes if it is a service",
                            parent, strerror(rc));
    gw_cgroup_file_enable(parent);
    return 0;
}

/* Makes the cgroup of a user, and its child `own` for the user's first processes. The user gets the
 * files with which it can be divided, but not its limits. */
static int make_cgroup(const char *parent, const struct gw_account *account, char path[PATH_MAX],
                       struct gw_error *error)
{
    static const char *const names[] = {"", "/cgroup.procs", "/cgroup.subtree_control",
                                        "/cgroup.threads"};
    char pids[16], of[PATH_MAX + 32];
    (void)snprintf(path, PATH_MAX, "%.*s/user-%.*s", PATH_MAX - 64, parent, 32, account->name);
    bool well = mkdir(path, 0755) == 0 || errno == EEXIST;
    for (size_t i = 0; i < sizeof names / sizeof *names && well; i++) {
        (void)snprintf(of, sizeof of, "%s%s", path, names[i]);
        well = lchown(of, account->uid, account->gid) == 0;
    }
    (void)snprintf(pids, sizeof pids, "%d", GW_START_PROCESSES_MAX);
    (void)gw_cgroup_file_put(path, "pids.max", pids); /* the parent may lack the controller */
    (void)snprintf(of, sizeof of, "%s/own", path);
    well = well && (mkdir(of, 0755) == 0 || errno == EEXIST);
    return well ? 0
                : gw_error_set(error, GW_EIO, "cannot make the cgroup %s: %s", path,
                               strerror(errno));
}

/* -- In the child --------------------------------------------------------------------------------
 */

static bool set_descriptors(int fd)
{
    int null = open("/dev/null", O_RDWR);
    if (null < 0 || (fd <= SUPERVISOR_FD && (fd = fcntl(fd, F_DUPFD, SUPERVISOR_FD + 1)) < 0))
        return false;
    for (int i = 0; i < SUPERVISOR_FD; i++)
        if (dup2(null, i) < 0)
            return false;
    return dup2(fd, SUPERVISOR_FD) >= 0 && close_range(SUPERVISOR_FD + 1, ~0U, 0) == 0;
}

static void set_signals(void)
{
    sigset_t none;
    sigemptyset(&none);
    for (int number = 1; number < NSIG; number++)
        (void)signal(number, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Gives up all rights of root for good. */
static bool become(const struct gw_account *account)
{
    uid_t uids[3];
    gid_t gids[3];
    for (int capability = 0; capability < CAPABILITIES_MAX; capability++)
        (void)prctl(PR_CAPBSET_DROP, capability, 0, 0, 0);
    (void)prctl(PR_CAP_AMBIENT, PR_CAP_AMBIENT_CLEAR_ALL, 0, 0, 0);
    if (setgroups((size_t)account->group_count, account->groups) < 0 ||
        setresgid(account->gid, account->gid, account->gid) < 0 ||
        setresuid(account->uid, account->uid, account->uid) < 0)
        return false;
    if (getresuid(&uids[0], &uids[1], &uids[2]) < 0 || getresgid(&gids[0], &gids[1], &gids[2]) < 0)
        return false;
    for (int i = 0; i < 3; i++)
        if (uids[i] != account->uid || gids[i] != account->gid)
            return false;
    return setuid(0) < 0 && setgid(0) < 0 && prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) == 0;
}

/* A runaway task must not make the host unusable for others. */
static void set_limits(void)
{
    struct rlimit processes;
    if (getrlimit(RLIMIT_NPROC, &processes) < 0 ||
        (processes.rlim_max != RLIM_INFINITY && processes.rlim_max <= GW_START_PROCESSES_MAX))
        return;
    processes.rlim_cur = processes.rlim_max = GW_START_PROCESSES_MAX;
    (void)setrlimit(RLIMIT_NPROC, &processes);
}

/* cgroup: "" is none. */
static void run(const char *program, const char *command, const char *cgroup,
                const struct gw_account *account, int fd)
{
    char variable[PATH_MAX + 32];
    char home[GW_ACCOUNT_TEXT_MAX + 8], user[GW_ACCOUNT_TEXT_MAX + 8],
        logname[GW_ACCOUNT_TEXT_MAX + 8], shell[GW_ACCOUNT_TEXT_MAX + 8];
    char path[] = "PATH=/usr/local/bin:/usr/bin:/bin";
    char separate[] = "GANGWAY_SEPARATE=1",
         *env[] = {home, user, logname, shell, path, separate, *cgroup ? variable : NULL, NULL};
    char name[] = "gangway", word[16], *argv[] = {name, word, NULL};
    (void)snprintf(variable, sizeof variable, "GANGWAY_CGROUP=%s", cgroup);
    (void)snprintf(word, sizeof word, "%s", command);
    (void)snprintf(home, sizeof home, "HOME=%s", account->home);
    (void)snprintf(user, sizeof user, "USER=%s", account->name);
    (void)snprintf(logname, sizeof logname, "LOGNAME=%s", account->name);
    (void)snprintf(shell, sizeof shell, "SHELL=%s", account->shell);
    set_signals();
    if (setsid() < 0 || !set_descriptors(fd) || chdir("/") < 0)
        return;
    set_limits();
    if (*cgroup && gw_cgroup_file_put(cgroup, "own/cgroup.procs", "0") != 0)
        return;
    if (!become(account))
        return;
    (void)umask(account->umask);
    (void)execve(program, argv, env);
}

/* -- In the parent -------------------------------------------------------------------------------
 */

int gw_start(const char *program, const char *command, const char *cgroups,
             const struct gw_account *account, int fd, pid_t *pid, struct gw_error *error)
{
    char cgroup[PATH_MAX] = "";
    int rc = cgroups ? make_cgroup(cgroups, account, cgroup, error) : 0;
    if (rc < 0)
        return rc;
    pid_t child = fork();
    if (child == 0) {
        run(program, command, cgroup, account, fd);
        _exit(127);
    }
    if (child < 0)
        return gw_error_set(error, GW_EIO, "fork: %s", strerror(errno));
    *pid = child;
    return 0;
}
