/* Asks git which files of a folder are not ignored.
 *
 * Only git knows what .gitignore, .git/info/exclude and the user's own excludes mean together. If
 * the folder is in a git work tree, git lists its files. If it is in no work tree but has a
 * .gitignore (for example an unpacked archive), git lists its files with a temporary empty
 * repository. If the folder itself is ignored, the user has named it all the same, so all its files
 * are taken. */
#include "client/deploy/gitignore.h"

#include "graph/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { NO_GIT = 127 }; /* exit code of shells if a command is not found */

/* Whether the folder or one of its parents contains .git. */
static bool is_in_work_tree(const char *folder)
{
    char path[PATH_MAX], probe[PATH_MAX + 8];
    if (!realpath(folder, path))
        return false;
    for (;;) {
        (void)snprintf(probe, sizeof probe, "%s/.git", path);
        if (access(probe, F_OK) == 0)
            return true;
        char *slash = strrchr(path, '/');
        if (!slash || !*path)
            return false;
        *slash = '\0';
    }
}

/* Copies the environment without the variables that make git use another repository. */
static char **clean_environment(void)
{
    size_t count = 0, retained = 0;
    while (environ[count])
        count++;
    char **clean = calloc(count + 1, sizeof *clean);
    for (size_t i = 0; clean && i < count; i++)
        if (strncmp(environ[i], "GIT_DIR=", 8) != 0 &&
            strncmp(environ[i], "GIT_WORK_TREE=", 14) != 0 &&
            strncmp(environ[i], "GIT_INDEX_FILE=", 15) != 0 &&
            strncmp(environ[i], "GIT_PREFIX=", 11) != 0)
            clean[retained++] = environ[i];
    return clean;
}

static int read_all(int fd, struct gw_gitignore *list)
{
    size_t room = 0;
    for (;;) {
        if (list->bytes + 1 >= room) {
            room = room ? 2 * room : 4096;
            char *grown = realloc(list->text, room);
            if (!grown)
                return GW_ENOMEM;
            list->text = grown;
        }
        ssize_t n = read(fd, list->text + list->bytes, room - 1 - list->bytes);
        if (n < 0 && errno == EINTR)
            continue;
        if (n < 0)
            return GW_EIO;
        if (n == 0)
            break;
        list->bytes += (size_t)n;
    }
    list->text[list->bytes] = '\0';
    return 0;
}

/* Runs git. If `list` is not NULL, git's output is read into it. *code is git's exit code. */
static int run(char *const *argv, struct gw_gitignore *list, int *code)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attributes;
    sigset_t none;
    pid_t pid;
    int ends[2], status = 0;
    char **clean = clean_environment();
    if (!clean || pipe2(ends, O_CLOEXEC) < 0) {
        free(clean);
        return clean ? GW_EIO : GW_ENOMEM;
    }
    sigemptyset(&none);
    posix_spawn_file_actions_init(&actions);
    posix_spawn_file_actions_adddup2(&actions, ends[1], STDOUT_FILENO);
    if (!list)
        posix_spawn_file_actions_addopen(&actions, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    posix_spawnattr_init(&attributes);
    posix_spawnattr_setsigmask(&attributes, &none);
    posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETSIGMASK);
    int rc = posix_spawnp(&pid, "git", &actions, &attributes, argv, clean);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attributes);
    free(clean);
    close(ends[1]);
    *code = NO_GIT;
    if (rc == 0) {
        struct gw_gitignore ignored = {0};
        rc = read_all(ends[0], list ? list : &ignored);
        free(ignored.text);
        pid_t ended;
        while ((ended = waitpid(pid, &status, 0)) < 0 && errno == EINTR)
            ;
        /* if SIGCHLD is ignored, the exit code is unknown: assume success */
        *code = ended < 0 ? 0 : WIFEXITED(status) ? WEXITSTATUS(status) : 128;
    } else {
        rc = rc == ENOENT ? 0 : GW_EIO;
    }
    close(ends[0]);
    return rc;
}

/* Warns that ignored files are sent too, because git is not installed. These files may be large or
 * secret, so the user must know. */
static void warn_of_no_git(const char *folder)
{
    gw_log_plain(GW_LOG_WARN, "warning: ",
                 "git is not installed: files of %s that .gitignore excludes are shipped too",
                 folder);
}

static int failed(struct gw_gitignore *list, int rc, int code, const char *folder,
                  struct gw_error *error)
{
    gw_gitignore_deinit(list);
    if (rc == GW_ENOMEM)
        return gw_error_set(error, rc, "out of memory");
    return gw_error_set(error, GW_EIO,
                        "cannot find out which files git ignores: git failed (exit code %d); `git "
                        "-C %s ls-files` shows why",
                        code, folder);
}

/* -- Folders outside a repository ---------------------------------------------------------------
 */

/* Makes a minimal empty repository in a temporary folder. Returns false if it cannot be written. */
static bool make_empty(char dir[PATH_MAX])
{
    static const char head[] = "ref: refs/heads/main\n";
    const char *top = getenv("TMPDIR");
    char path[PATH_MAX + 16];
    (void)snprintf(dir, PATH_MAX, "%s/gangway-git-XXXXXX", top && *top ? top : "/tmp");
    if (!mkdtemp(dir))
        return false;
    (void)snprintf(path, sizeof path, "%s/objects", dir);
    bool well = mkdir(path, 0700) == 0;
    (void)snprintf(path, sizeof path, "%s/refs", dir);
    well = mkdir(path, 0700) == 0 && well;
    (void)snprintf(path, sizeof path, "%s/HEAD", dir);
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    well = fd >= 0 && write(fd, head, sizeof head - 1) == (ssize_t)sizeof head - 1 && well;
    if (fd >= 0)
        close(fd);
    return well;
}

/* Removes the empty repository. `git ls-files` has not written to it. */
static void remove_empty(const char *dir)
{
    char path[PATH_MAX + 16];
    (void)snprintf(path, sizeof path, "%s/objects", dir);
    (void)rmdir(path);
    (void)snprintf(path, sizeof path, "%s/refs", dir);
    (void)rmdir(path);
    (void)snprintf(path, sizeof path, "%s/HEAD", dir);
    (void)unlink(path);
    (void)rmdir(dir);
}

static int list_outside(struct gw_gitignore *list, const char *folder, struct gw_error *error)
{
    char dir[PATH_MAX], repository[PATH_MAX + 16], ignore[PATH_MAX];
    int code = 0, rc = GW_EIO;
    if (snprintf(ignore, sizeof ignore, "%s/.gitignore", folder) >= (int)sizeof ignore ||
        access(ignore, R_OK) < 0)
        return 0;
    if (make_empty(dir)) {
        (void)snprintf(repository, sizeof repository, "--git-dir=%s", dir);
        char *files[] = {
            "git", "-C",       (char *)(uintptr_t)folder, repository, "--work-tree=.", "ls-files",
            "-z",  "--others", "--exclude-standard",      NULL};
        rc = run(files, list, &code);
    }
    remove_empty(dir);
    if (rc == 0 && code == NO_GIT) {
        warn_of_no_git(folder);
        return 0;
    }
    if (rc < 0 || code != 0)
        return failed(list, rc, code, folder, error);
    list->decides = true;
    return 0;
}

int gw_gitignore_init(struct gw_gitignore *list, const char *folder, struct gw_error *error)
{
    char *at = (char *)(uintptr_t)folder;
    char *ignored[] = {"git", "-C", at, "check-ignore", "-q", ".", NULL};
    char *files[] = {
        "git",           "-C", at, "ls-files", "-z", "--cached", "--others", "--exclude-standard",
        "--deduplicate", NULL};
    int code = 0;
    *list = (struct gw_gitignore){0};
    if (!is_in_work_tree(folder))
        return list_outside(list, folder, error);
    int rc = run(ignored, NULL, &code);
    if (rc == 0 && code == NO_GIT)
        warn_of_no_git(folder);
    if (rc == 0 && (code == 0 || code == NO_GIT))
        return 0;
    if (rc == 0)
        rc = run(files, list, &code);
    if (rc < 0 || code != 0)
        return failed(list, rc, code, folder, error);
    list->decides = true;
    return 0;
}

void gw_gitignore_deinit(struct gw_gitignore *list)
{
    free(list->text);
    *list = (struct gw_gitignore){0};
}

const char *gw_gitignore_next(const struct gw_gitignore *list, size_t *at)
{
    if (*at >= list->bytes)
        return NULL;
    const char *name = list->text + *at;
    *at += strlen(name) + 1;
    return name;
}
