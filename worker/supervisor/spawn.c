/* Starts a process as posix_spawn does: the child uses the parent's memory until exec. In addition
 * the child dies with its parent, has an OOM score, and reports which step failed and why.
 *
 * Invariants: the child writes only to its stack and to its struct child, allocates no memory, and
 * ends in exec or _exit. The parent is suspended until then. */
#include "worker/supervisor/spawn.h"

#include "graph/base/exec_search.h"
#include "graph/wire/codec.h"
#include "worker/supervisor/cpus.h"

#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { STACK_BYTES = 64 * 1024 };

/* Sanitizers do not support code that runs on another stack in a process that shares this memory.
 */
#define GW_UNSANITIZED __attribute__((no_sanitize("address", "thread", "undefined"), noinline))

enum step { STEP_NONE, STEP_SET_UP, STEP_CWD, STEP_EXEC };

struct child {
    const struct gw_spawn_options *options;
    pid_t parent;
    const char *path; /* as the caller named it */
    char **paths;     /* paths to try in order, NULL-terminated */
    bool searches;    /* paths come from a search of PATH */
    char **argv, **env;
    const struct gw_cpus *cpus; /* NULL: not bound to CPUs */
    /* The failure, written by the child */
    enum step step;
    int errnum;
};

/* A decoded list of strings for exec, with room for one more. The strings belong to the value. */
struct strings {
    struct gw_value *list;
    char **items;
};

static void strings_deinit(struct strings *strings)
{
    free(strings->items);
    gw_value_unref(strings->list);
}

static int strings_init(struct strings *strings, struct gw_bin bin, struct gw_error *error)
{
    int rc = gw_codec_decode(bin.data, bin.size, NULL, &strings->list, error);
    if (rc < 0)
        return rc;
    size_t count = gw_value_count(strings->list);
    strings->items = calloc(count + 2, sizeof *strings->items);
    if (!strings->items)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        const char *text;
        rc = gw_value_get_str(gw_value_at(strings->list, i), &text, error);
        if (rc < 0)
            return gw_error_set(error, GW_EPROTO,
                                "spawn: an item of a list of strings is not a string");
        memcpy(&strings->items[i], &text, sizeof text); /* the types of exec lack const */
    }
    return 0;
}

/* A supervisor of a separate user puts the user's own values into the environment of its tasks,
 * which came from another machine. */
static void set_own(char **items)
{
    static const char *const names[] = {"HOME=", "USER=", "LOGNAME="};
    if (!getenv("GANGWAY_SEPARATE"))
        return;
    for (; *items; items++)
        for (size_t i = 0; i < sizeof names / sizeof *names; i++)
            for (char **own = environ; strncmp(*items, names[i], strlen(names[i])) == 0 && *own;
                 own++)
                if (strncmp(*own, names[i], strlen(names[i])) == 0) {
                    *items = *own;
                    break;
                }
}

static const char *find_path(char *const *env)
{
    for (; *env; env++)
        if (strncmp(*env, "PATH=", 5) == 0)
            return *env + 5;
    return NULL;
}

/* -- In the child --------------------------------------------------------------------------------
 */

GW_UNSANITIZED static bool child_descriptors(const struct gw_spawn_options *options)
{
    /* First move them above all targets, so that none is overwritten before it is used */
    int from[4] = {options->in_fd, options->out_fd, options->err_fd, options->runner_fd};
    int count = options->runner_fd >= 0 ? 4 : 3;
    for (int i = 0; i < count; i++)
        if (from[i] < 4 && (from[i] = fcntl(from[i], F_DUPFD_CLOEXEC, 4)) < 0)
            return false;
    for (int i = 0; i < count; i++)
        if (dup2(from[i], i) < 0)
            return false;
    return close_range((unsigned)count, ~0U, 0) == 0;
}

GW_UNSANITIZED static bool child_set_up(const struct child *child)
{
    if (setsid() < 0 || prctl(PR_SET_PDEATHSIG, SIGKILL) < 0)
        return false;
    if (getppid() != child->parent)
        _exit(127);  /* the parent died before prctl */
    if (child->cpus) /* continue even if this is not permitted */
        (void)sched_setaffinity(0, sizeof child->cpus->sets, child->cpus->sets);
    if (child->options->cgroup_fd > 0 && write(child->options->cgroup_fd, "0", 1) != 1)
        return false;
    return child_descriptors(child->options);
}

GW_UNSANITIZED static void child_exec(struct child *child)
{
    sigset_t none;
    sigemptyset(&none);
    sigprocmask(SIG_SETMASK, &none, NULL);
    int failure = ENOENT;
    for (char **path = child->paths; *path; path++) {
        execve(*path, child->argv, child->env);
        int why = errno;
        if (why == EACCES && child->searches && access(*path, F_OK) < 0)
            why = ENOENT; /* as shells do: a folder of PATH without search permission */
        if (why != ENOENT && why != ENOTDIR)
            failure = why;
        if (why != ENOENT && why != ENOTDIR && why != EACCES)
            break;
    }
    child->step = STEP_EXEC;
    child->errnum = failure;
}

GW_UNSANITIZED static int child_main(void *arg)
{
    struct child *child = arg;
    const char *cwd = child->options->message->cwd;
    if (!child_set_up(child)) {
        child->step = STEP_SET_UP;
        child->errnum = errno;
    } else if (*cwd && chdir(cwd) < 0) {
        child->step = STEP_CWD;
        child->errnum = errno;
    } else {
        child_exec(child);
    }
    _exit(127);
}

/* -- In the parent -------------------------------------------------------------------------------
 */

static int explain(const struct child *child, struct gw_error *error)
{
    const struct gw_msg_spawn *message = child->options->message;
    const char *text = strerror(child->errnum);
    switch (child->errnum) {
    case ENOENT:
        text = "no such file";
        break;
    case EACCES:
        text = "permission denied";
        break;
    case ENOEXEC:
        text = "exec format error: built for another machine, or a script without a #! line?";
        break;
    default:
        break;
    }
    if (child->step == STEP_CWD)
        return gw_error_set(error, GW_ESTART, "cannot start: working directory %s: %s",
                            message->cwd, child->errnum == ENOENT ? "no such folder" : text);
    char hint[GW_EXEC_HINT_ROOM] = "";
    int code = GW_ESTART;
    if (child->step == STEP_EXEC && child->errnum == ENOENT) {
        if (child->path[0] != '/' || access(child->path, F_OK) < 0)
            code = GW_ENOENT;
        if (code == GW_ENOENT)
            (void)gw_exec_search_hint(message->cwd, child->path, hint);
        else
            text = "its interpreter (the first line's, or the dynamic loader) is missing";
    }
    return gw_error_set(error, code, "cannot start %s: %s%s", child->path, text, hint);
}

static int start_once(struct child *child, pid_t *pid)
{
    static char stack[STACK_BYTES] __attribute__((aligned(64)));
    child->step = STEP_NONE;
    gw_oom_score_raise(child->options->score);
    pid_t started =
        clone(child_main, stack + sizeof stack, CLONE_VM | CLONE_VFORK | SIGCHLD, child);
    gw_oom_score_lower(child->options->score);
    if (started < 0)
        return GW_EIO;
    if (child->step == STEP_NONE)
        *pid = started;
    else
        waitpid(started, NULL, 0);
    return 0;
}

/* Starts the program, and tries once more if it was missing and exists now: the worker restores
 * programs that a cleanup has removed. If the file exists and ENOENT was for its interpreter, the
 * second try fails, too. */
static int start(struct child *child, pid_t *pid, struct gw_error *error)
{
    int rc = start_once(child, pid);
    if (rc == 0 && child->step == STEP_EXEC && child->errnum == ENOENT && child->path[0] == '/' &&
        access(child->path, F_OK) == 0)
        rc = start_once(child, pid);
    if (rc < 0)
        return gw_error_set(error, GW_ESTART, "cannot start %s: fork: %s", child->path,
                            strerror(errno));
    return child->step == STEP_NONE ? 0 : explain(child, error);
}

int gw_spawn(const struct gw_spawn_options *options, pid_t *pid, struct gw_error *error)
{
    struct strings argv = {0}, env = {0};
    char **paths = NULL;
    int rc = strings_init(&argv, options->message->argv, error);
    if (rc == 0)
        rc = strings_init(&env, options->message->env, error);
    if (rc == 0)
        set_own(env.items);
    if (rc == 0 && options->variable)
        memcpy(&env.items[gw_value_count(env.list)], &options->variable, sizeof options->variable);
    if (rc == 0 && !argv.items[0])
        rc = gw_error_set(error, GW_ESTART,
                          "cannot start %s: the command has no argv[0], the name of the program",
                          options->message->path);
    const char *path = *options->message->path || rc < 0 ? options->message->path : argv.items[0];
    if (rc == 0 && !(paths = gw_exec_search_new(path, find_path(env.items))))
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc == 0) {
        struct gw_cpus cpus;
        struct child child = {.options = options,
                              .parent = getpid(),
                              .path = path,
                              .paths = paths,
                              .searches = !strchr(path, '/'),
                              .argv = argv.items,
                              .env = env.items,
                              .cpus = gw_cpus_read(&cpus, options->message->cpus) ? &cpus : NULL};
        rc = start(&child, pid, error);
    }
    free(paths);
    strings_deinit(&env);
    strings_deinit(&argv);
    return rc;
}
