/* Fetches files of a task: tar on the task's host packs them, and tar on this host unpacks them. */
#include "client/cli/launch/fetch.h"
#include "client/cli/launch/console.h"
#include "client/cli/lib/cli.h"

#include <gangway/tunnel.h>

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

/* Exit codes of the script on the task's host. CHANGED is tar's exit code if a file changed while
 * tar read it. NOT_THERE: the file does not exist; the script checks this because tar's own message
 * is long. NO_FILE: the file is a device, a fifo or a socket. Inside a folder such files are left
 * out with a message. A symbolic link that is named directly is followed; links inside a folder
 * stay links. */
enum { CHANGED = 1, NOT_THERE = 66, NO_FILE = 67 };
static const char there_script[] =
    "none() { tar -c -f - -T /dev/null; exit $1; }; " /* an empty archive, for the tar on this host
                                                       */
    "f=\"$1/$2\"; "
    "[ -e \"$f\" ] || [ -h \"$f\" ] || { [ -e \"$1\" ] && [ ! -x \"$1\" ]; } || none 66; "
    "if [ -p \"$f\" ] || [ -b \"$f\" ] || [ -c \"$f\" ] || [ -S \"$f\" ]; then none 67; fi; "
    "if [ -h \"$f\" ] && [ -f \"$f\" ]; then exec tar -c -h -f - -C \"$1\" -- \"$2\"; fi; "
    "name=./$2; "
    "if [ -h \"$f\" ] && [ -d \"$f\" ]; then name=$name/.; fi; "
    "odd=; "
    "if [ -d \"$f\" ]; then "
    "odd=$(cd \"$1\" && find \"$name\" ! -type f ! -type d ! -type l 2>/dev/null); fi; "
    "[ -n \"$odd\" ] || exec tar -c -f - -C \"$1\" -- \"$name\"; "
    "printf '%s\\n' \"$odd\" | sed 's/[[:cntrl:]]/?/g; s/^..//; s/^/gangway: left out, because it "
    "is "
    "not a file: /; 4s/file: .*/file: and more/; 4q' >&2; "
    "printf '%s\\n' \"$odd\" | tar -c -f - --anchored --no-wildcards -X - -C \"$1\" -- \"$name\"";

extern char **environ;

/* Starts tar to unpack into a folder. *in becomes the standard input of tar. `newer`: do not
 * replace files that are newer. The owner and set-user-ID bits of files are not restored, even if
 * root fetches the files of another user. */
static int start_unpacking(const char *folder, bool newer, pid_t *pid, int *in,
                           struct gw_error *error)
{
    char *argv[] = {"tar",
                    "-x",
                    "-f",
                    "-",
                    "--no-same-owner",
                    "--no-same-permissions",
                    "-C",
                    (char *)(uintptr_t)folder,
                    newer ? "--keep-newer-files" : NULL,
                    "--warning=no-ignore-newer",
                    NULL};
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) < 0)
        return gw_error_set(error, GW_EIO, "cannot start tar: %s", strerror(errno));
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[0], STDIN_FILENO);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int rc = posix_spawnp(pid, "tar", &actions, &attributes, argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    close(ends[0]);
    if (rc) {
        close(ends[1]);
        return gw_error_set(error, GW_ESTART, "cannot start tar: %s", strerror(rc));
    }
    *in = ends[1];
    return 0;
}

/* Splits a path into its folder and its last name. */
static void cut(char *path, const char **folder, const char **name)
{
    size_t length = strlen(path);
    while (length > 1 && path[length - 1] == '/')
        path[--length] = '\0';
    char *slash = strrchr(path, '/');
    *folder = !slash ? "." : slash == path ? "/" : path;
    *name = slash && slash[1] ? slash + 1 : slash ? "." : path;
    if (slash && slash != path)
        *slash = '\0';
}

static bool lies(const char *folder, const char *name, struct stat *status)
{
    char path[PATH_MAX];
    int length = snprintf(path, sizeof path, "%s/%s", folder, name);
    return length > 0 && (size_t)length < sizeof path && lstat(path, status) == 0;
}

static int fetch(struct gw_console_options *console, char *path, const char *into,
                 struct gw_error *error)
{
    const char *folder, *name;
    struct stat status;
    pid_t pid;
    int exit_code = 0, unpacked = 0;
    cut(path, &folder, &name);
    const char *const argv[] = {"/bin/sh", "-c", there_script, "gangway", folder, name, NULL};
    int rc = start_unpacking(into, false, &pid, &console->out, error);
    if (rc < 0)
        return rc;
    console->argv = argv;
    rc = gw_cli_console_run(console, &exit_code, error);
    if (rc < 0) /* kill tar, which would only report that it received nothing */
        (void)kill(pid, SIGKILL);
    close(console->out);
    while (waitpid(pid, &unpacked, 0) < 0 && errno == EINTR)
        ;
    if (rc < 0)
        return rc;
    if (exit_code == NOT_THERE && strcmp(folder, ".") == 0)
        return gw_error_set(error, GW_ETASK, "there is no %s in the task's folder", name);
    if (exit_code == NOT_THERE)
        return gw_error_set(error, GW_ETASK, "there is no %s in %s on the task's host", name,
                            folder);
    if (exit_code == NO_FILE)
        return gw_error_set(
            error, GW_ETASK,
            "%s is a device, a fifo or a socket: read it with `gangway exec JOB -- cat PATH`",
            name);
    bool there = lies(into, name, &status);
    if (exit_code > CHANGED || (exit_code && !there)) /* tar has already printed the reason */
        return gw_error_set(
            error, GW_ETASK,
            "cannot fetch %s from the task: the command that reads it on the task's host failed",
            name);
    if (unpacked)
        return gw_error_set(error, GW_EIO, "cannot write %s to %s", name, into);
    if (exit_code)
        gw_cli_message("gangway: %s changed while it was fetched: the copy may be incomplete",
                       name);
    else if (there && S_ISREG(status.st_mode) && status.st_size == 0)
        gw_cli_message(
            "gangway: %s is empty (for files in /proc, use `gangway exec JOB -- cat PATH`)", name);
    return 0;
}

/* Script for a gang's ranks on other hosts: packs the files that were written since all hosts had
 * the same files (worker/store/union.h). */
static const char written_script[] =
    "mark=../.${PWD##*/}.known; [ -e \"$mark\" ] || mark=; "
    "find . -mindepth 1 ! -type d ${mark:+-newercc \"$mark\"} -print0 | "
    "tar -c -f - --null --no-recursion -T -";

static int fetch_written(struct gw_console_options *console, const char *into,
                         struct gw_error *error)
{
    static const char *const argv[] = {"/bin/sh", "-c", written_script, NULL};
    pid_t pid;
    int exit_code = 0, unpacked = 0, rc = start_unpacking(into, true, &pid, &console->out, error);
    if (rc < 0)
        return rc;
    console->argv = argv;
    rc = gw_cli_console_run(console, &exit_code, error);
    if (rc < 0)
        (void)kill(pid, SIGKILL);
    close(console->out);
    while (waitpid(pid, &unpacked, 0) < 0 && errno == EINTR)
        ;
    if (rc == 0 && exit_code > CHANGED)
        return gw_error_set(
            error, GW_ETASK,
            "cannot fetch the files of rank %u: the command that reads them on its host failed",
            console->rank);
    return rc == 0 && unpacked ? gw_error_set(error, GW_EIO, "cannot write the files to %s", into)
                               : rc;
}

/* Returns the largest number of ranks that the task may have; 0: an ordinary task. GW_ENOENT: no
 * such job or task. */
static int find_ranks(struct gw_client *client, const struct gw_selected_task *task,
                      uint32_t *ranks, struct gw_error *error)
{
    struct gw_value *filter = gw_dict(), *list = NULL;
    int64_t found = 0;
    int rc = gw_dict_set(filter, "job", gw_i64((int64_t)task->job));
    if (rc == 0)
        rc = gw_dict_set(filter, "index", gw_i64(task->index));
    rc = rc == 0 ? gw_client_query(client, "tasks", filter, &list, error)
                 : gw_error_set(error, rc, "out of memory");
    gw_value_unref(filter);
    if (rc < 0)
        return rc;
    const struct gw_value *row = gw_value_at(list, 0);
    if (row && gw_value_find(row, "ranks"))
        (void)gw_value_get_i64(gw_value_find(row, "ranks"), &found, NULL);
    gw_value_unref(list);
    *ranks = (uint32_t)found;
    return 0;
}

int gw_fetch_checkpoint(struct gw_client *client, const struct gw_selected_task *task,
                        uint32_t ranks, const char *into, struct gw_error *error)
{
    struct gw_console_options console = {
        .client = client, .task = *task, .in = -1, .checkpoint = true, .left = true};
    char all[] = ".";
    int rc = ranks == UINT32_MAX ? find_ranks(client, task, &ranks, error) : 0;
    if (rc == 0)
        rc = gw_cli_make_output(into, error);
    if (rc < 0)
        return rc;
    const int first = rc = fetch(&console, all, into, error);
    bool some = first == 0;
    for (console.rank = 1; console.rank < ranks && (rc == 0 || rc == GW_ENOENT); console.rank++) {
        struct gw_error other = {0};
        int got = fetch_written(&console, into, &other);
        if (got == GW_EINVAL)
            break; /* the last attempt had fewer ranks */
        some = some || got == 0;
        if (got < 0 && got != GW_EEXIST && got != GW_ENOENT) {
            *error = other;
            return got;
        }
    }
    return some ? 0 : first;
}

int gw_fetch_find_checkpoint(struct gw_client *client, const struct gw_selected_task *task,
                             struct gw_error *error)
{
    static const char *const nothing[] = {NULL};
    struct gw_tunnel *tunnel = NULL;
    const struct gw_tunnel_options options =
        GW_INIT(gw_tunnel_options, .job = task->job, .index = task->index, .argv = nothing,
                .checkpoint = true);
    int rc = gw_tunnel_open(client, &options, &tunnel, error);
    gw_tunnel_close(tunnel);
    return rc == GW_EEXIST ? 0 : rc;
}

/* Makes only the last folder of a path, so that a mistyped path does not create folders. */
static int make_folder(const char *path, struct gw_error *error)
{
    struct stat status;
    if (mkdir(path, 0777) == 0 || (stat(path, &status) == 0 && S_ISDIR(status.st_mode)))
        return 0;
    return gw_error_set(error, GW_EINVAL, "cannot make the folder %s: %s", path, strerror(errno));
}

int gw_fetch_files(struct gw_console_options *console, char **paths, const char *into,
                   struct gw_error *error)
{
    int rc = make_folder(into, error);
    for (char **path = paths; *path && rc == 0; path++)
        rc = fetch(console, *path, into, error);
    return rc;
}
