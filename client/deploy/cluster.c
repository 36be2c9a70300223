/* Starts schedulers. A private scheduler has the read end of a pipe (the lifeline), and only this
 * process has the write end. When this process ends in any way, the scheduler reads the end of file
 * and ends the cluster. The scheduler runs in a session of its own, so that Ctrl-C in the terminal
 * reaches only this process, which then decides. */
#include "client/deploy/cluster.h"

#include "client/deploy/address.h"
#include "client/deploy/argv.h"
#include "graph/base/array.h"
#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/user_dir.h"
#include "graph/model/resources.h"

#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

extern char **environ;

enum { START_TIMEOUT_S = 10, STOP_TIMEOUT_S = 10, LAST_WORDS_BYTES = 800 };

struct gw_cluster {
    char dir[PATH_MAX - 64];
    char socket[PATH_MAX];
    uint32_t slots;
    char memory[GW_MEMORY_LINES_TEXT_BYTES];
    pid_t pid;
    int lifeline;          /* write end of the pipe */
    GW_ARRAY(pid_t) grown; /* workers that gw_cluster_grow started */
};

/* State of one start of a scheduler. */
struct launch {
    const char *dir;
    struct gw_cluster_options options;
    bool is_private;
    pid_t pid;
    int lifeline; /* write end of the pipe; private clusters only */
    int ready;    /* read end of the pipe on which the daemon reports that it is ready */
    int log;      /* file for its standard output and standard error */
};

/* Returns true if the path is an executable file. A folder can have the name "gangway" too, for
 * example a clone of this repository. */
static bool executable(const char *path)
{
    struct stat info;
    if (stat(path, &info) == 0 && !S_ISREG(info.st_mode))
        errno = EISDIR;
    else if (access(path, X_OK) == 0)
        return true;
    return false;
}

/* Tries DIR/gangway and DIR/../bin/gangway, where DIR is the folder of `file`. */
static bool beside(const char *file, char path[PATH_MAX])
{
    char dir[PATH_MAX];
    if (!realpath(file, dir))
        return false;
    char *slash = strrchr(dir, '/');
    if (!slash)
        return false;
    *slash = '\0';
    return (snprintf(path, PATH_MAX, "%s/gangway", dir) < PATH_MAX && executable(path)) ||
           (snprintf(path, PATH_MAX, "%s/../bin/gangway", dir) < PATH_MAX && executable(path));
}

static bool on_path(char path[PATH_MAX])
{
    const char *rest = getenv("PATH");
    while (rest && *rest) {
        int length = (int)strcspn(rest, ":");
        if (length > 0 && snprintf(path, PATH_MAX, "%.*s/gangway", length, rest) < PATH_MAX &&
            executable(path))
            return true;
        rest += length + (rest[length] == ':');
    }
    return false;
}

int gw_cluster_find_binary(char path[PATH_MAX], struct gw_error *error)
{
    const char *given = getenv("GANGWAY_BINARY");
    Dl_info info;
    if (given && *given) {
        if (!executable(given) || strlen(given) >= PATH_MAX)
            return gw_error_set(error, GW_ENOSCHEDULER, "GANGWAY_BINARY=%s: %s", given,
                                strerror(errno));
        strcpy(path, given);
        return 0;
    }
    /* If libgangway is linked into the program, dli_fname is argv[0]. Without a slash it says
     * nothing about the program's folder, and a file in the working folder could be run by mistake.
     */
    if (dladdr((const void *)(uintptr_t)gw_cluster_find_binary, &info) && info.dli_fname &&
        strchr(info.dli_fname, '/') && beside(info.dli_fname, path))
        return 0;
    if (beside("/proc/self/exe", path) || on_path(path))
        return 0;
    return gw_error_set(
        error, GW_ENOSCHEDULER,
        "no cluster is running, and the gangway binary that would start a private one is neither "
        "beside libgangway, nor beside this program, nor on PATH (set GANGWAY_BINARY to its path)");
}

uint32_t gw_cluster_cores(void)
{
    cpu_set_t set;
    if (sched_getaffinity(0, sizeof set, &set) == 0)
        return (uint32_t)CPU_COUNT(&set);
    long cores = sysconf(_SC_NPROCESSORS_ONLN);
    return cores > 0 ? (uint32_t)cores : 1;
}

bool gw_cluster_wait_gone(pid_t pid, uint64_t timeout_ns)
{
    int fd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (fd < 0)
        return errno == ESRCH;
    uint64_t deadline_ns = gw_clock_now_ns() + timeout_ns;
    int rc;
    do {
        uint64_t now_ns = gw_clock_now_ns();
        int left_ms = now_ns >= deadline_ns ? 0 : (int)((deadline_ns - now_ns) / GW_NS_PER_MS) + 1;
        rc = poll(&(struct pollfd){.fd = fd, .events = POLLIN}, 1, left_ms);
    } while (rc < 0 && errno == EINTR);
    close(fd);
    return rc > 0;
}

static void reap(pid_t pid)
{
    while (waitpid(pid, NULL, 0) < 0 && errno == EINTR)
        continue;
}

/* Starts the daemon in a new session, with /dev/null as standard input and both outputs in its log.
 */
static int spawn_daemon(const char *const argv[], int log, const int inherited[2], pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
    posix_spawn_file_actions_adddup2(&actions, log, 1);
    posix_spawn_file_actions_adddup2(&actions, log, 2);
    for (int i = 0; i < 2; i++)
        if (inherited[i] >= 0) /* dup2 onto itself removes close-on-exec, in the child only */
            posix_spawn_file_actions_adddup2(&actions, inherited[i], inherited[i]);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr,
                             POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSID);
    /* the cast is safe: posix_spawn does not write to argv */
    int rc = posix_spawn(pid, argv[0], &actions, &attr, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return rc;
}

/* Makes a pipe whose descriptors are above 2, because the child overwrites descriptors 0 to 2. */
static int pipe_above_stdio(int fds[2])
{
    if (pipe2(fds, O_CLOEXEC) < 0)
        return -1;
    for (int i = 0; i < 2; i++) {
        if (fds[i] > 2)
            continue;
        int moved = fcntl(fds[i], F_DUPFD_CLOEXEC, 3);
        close(fds[i]);
        fds[i] = moved;
    }
    return fds[0] < 0 || fds[1] < 0 ? -1 : 0;
}

/* Appends an option with a number, unless the number is 0. */
static void add_given(struct gw_argv *argv, const char *option, uint64_t number)
{
    if (number)
        gw_argv_add_number(argv, option, number);
}

/* Fills in all options of the scheduler except the descriptors of this start. */
static void fill(struct gw_argv *argv, const struct launch *launch, const char *binary,
                 char memory[GW_MEMORY_LINES_TEXT_BYTES])
{
    const struct gw_cluster_options *options = &launch->options;
    gw_memory_lines_format(&options->memory, memory);
    gw_argv_add(argv, binary);
    gw_argv_add(argv, "scheduler");
    gw_argv_add_text(argv, "--dir", launch->dir);
    if (!launch->is_private)
        gw_argv_add(argv, "--default");
    gw_argv_add_number(argv, "--slots", options->slots);
    gw_argv_add_number(argv, "--workers",
                       options->no_workers ? 0
                       : options->workers  ? options->workers
                                           : 1);
    gw_argv_add_text(argv, "--memory", memory);
    add_given(argv, "--idle-stop", options->idle_stop_s);
    add_given(argv, "--file-cache", options->file_cache_bytes);
    add_given(argv, "--keep-files", options->retained_bytes_max);
    add_given(argv, "--checkpoint-max", options->transfer_bytes_max);
    add_given(argv, "--log-max", options->log_max_bytes);
    if (options->trust_users)
        gw_argv_add(argv, "--trust-users");
    if (options->orphan_given)
        gw_argv_add_number(argv, "--orphan-timeout", options->orphan_ms);
    add_given(argv, "--pure-keep", options->pure_bytes_max);
    add_given(argv, "--history", options->history_jobs);
    gw_argv_add_text(argv, "--accounting", options->accounting);
    add_given(argv, "--accounting-retention", options->accounting_retention_ns);
    add_given(argv, "--scatter-memory", options->scatter_memory_bytes);
    gw_argv_add_text(argv, "--spill-dir", options->spill_dir);
    gw_argv_add_text(argv, "--listen", options->listen);
    gw_argv_add_text(argv, "--tokens", options->tokens);
    gw_argv_add_text(argv, "--state", options->state);
    gw_argv_add_text(argv, "--audit", options->audit);
    add_given(argv, "--audit-max", options->audit_bytes_max);
    if (options->accept_loss)
        gw_argv_add(argv, "--accept-loss");
    gw_argv_add_text(argv, "--peers", options->peers);
    gw_argv_add_text(argv, "--resources", options->resources);
}

static int launch_start(struct launch *launch, struct gw_error *error)
{
    char binary[PATH_MAX], memory[GW_MEMORY_LINES_TEXT_BYTES];
    struct gw_argv argv = {0};
    int ready_pipe[2] = {-1, -1}, life_pipe[2] = {-1, -1};
    int rc = gw_cluster_find_binary(binary, error);
    if (rc < 0)
        return rc;
    if (pipe_above_stdio(ready_pipe) < 0 ||
        (launch->is_private && pipe_above_stdio(life_pipe) < 0)) {
        rc = gw_error_set(error, GW_EIO, "pipe: %s", strerror(errno));
        goto fail;
    }
    fill(&argv, launch, binary, memory);
    gw_argv_add_number(&argv, "--ready-fd", (uint64_t)ready_pipe[1]);
    if (launch->is_private) {
        gw_argv_add(&argv, "--private");
        gw_argv_add_number(&argv, "--lifeline", (uint64_t)life_pipe[0]);
    }
    rc = spawn_daemon(argv.words, launch->log, (const int[]){ready_pipe[1], life_pipe[0]},
                      &launch->pid);
    if (rc != 0) {
        rc = gw_error_set(error, GW_ENOSCHEDULER, "cannot start %s: %s", binary, strerror(rc));
        goto fail;
    }
    close(ready_pipe[1]);
    if (life_pipe[0] >= 0)
        close(life_pipe[0]);
    launch->ready = ready_pipe[0];
    launch->lifeline = life_pipe[1];
    return 0;
fail:
    for (int i = 0; i < 2; i++) {
        if (ready_pipe[i] >= 0)
            close(ready_pipe[i]);
        if (life_pipe[i] >= 0)
            close(life_pipe[i]);
    }
    return rc;
}

static bool is_interrupted(const struct launch *launch)
{
    return launch->options.interrupted && *launch->options.interrupted;
}

/* Reads the line that the daemon writes: "ready", or why it failed. The line is empty if the daemon
 * wrote nothing. Returns true if the start took longer than START_TIMEOUT_S. */
static bool launch_read_line(const struct launch *launch, char line[LAST_WORDS_BYTES])
{
    uint64_t deadline_ns = gw_clock_now_ns() + START_TIMEOUT_S * GW_NS_PER_S;
    size_t got = 0;
    char *newline = NULL;
    bool late = false;
    while (!newline && got < LAST_WORDS_BYTES - 1 && !is_interrupted(launch)) {
        uint64_t now_ns = gw_clock_now_ns();
        late = now_ns >= deadline_ns;
        if (late)
            break;
        struct pollfd ready = {.fd = launch->ready, .events = POLLIN};
        int rc = poll(&ready, 1, (int)((deadline_ns - now_ns) / GW_NS_PER_MS) + 1);
        if (rc <= 0)
            continue;
        ssize_t bytes = read(launch->ready, line + got, LAST_WORDS_BYTES - 1 - got);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0)
            break;
        newline = memchr(line + got, '\n', (size_t)bytes);
        got += (size_t)bytes;
    }
    line[newline ? (size_t)(newline - line) : got] = '\0';
    return late;
}

/* Sets *error to the reason why the daemon did not start: the line that it wrote, or the end of its
 * log. */
static int launch_failed(const struct launch *launch, const char *line, bool late,
                         struct gw_error *error)
{
    char words[LAST_WORDS_BYTES];
    if (*line)
        return gw_error_set(error, GW_ENOSCHEDULER, "the cluster did not start: %s", line);
    off_t end = lseek(launch->log, 0, SEEK_END);
    off_t from = end > LAST_WORDS_BYTES - 1 ? end - (LAST_WORDS_BYTES - 1) : 0;
    ssize_t got = end > 0 ? pread(launch->log, words, LAST_WORDS_BYTES - 1, from) : 0;
    while (got > 0 && words[got - 1] == '\n')
        got--;
    words[got > 0 ? got : 0] = '\0';
    const char *colon = got > 0 ? ":\n" : "";
    if (late)
        return gw_error_set(error, GW_ENOSCHEDULER, "the cluster did not start within %ds%s%s",
                            START_TIMEOUT_S, colon, words);
    return gw_error_set(error, GW_ENOSCHEDULER,
                        "the cluster did not start: its scheduler ended%s%s", colon, words);
}

/* Starts the daemon and waits until it is ready. If the start fails, the daemon is ended. */
static int launch_run(struct launch *launch, struct gw_error *error)
{
    char path[PATH_MAX];
    snprintf(path, sizeof path, "%s/scheduler.log", launch->dir);
    launch->lifeline = launch->ready = -1;
    launch->log = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (launch->log < 0)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    int rc = launch_start(launch, error);
    if (rc == 0) {
        char line[LAST_WORDS_BYTES];
        bool late = launch_read_line(launch, line);
        const bool ready = strcmp(line, "ready") == 0 || strncmp(line, "ready: ", 7) == 0;
        if (error) /* a successful start may report a warning in error->text */
            snprintf(error->text, sizeof error->text, "%s", ready && line[5] ? line + 7 : "");
        if (!ready || is_interrupted(launch)) {
            kill(launch->pid, SIGTERM);
            if (!gw_cluster_wait_gone(launch->pid, STOP_TIMEOUT_S * GW_NS_PER_S))
                kill(launch->pid, SIGKILL);
            reap(launch->pid);
            rc = is_interrupted(launch)
                     ? gw_error_set(error, GW_ECANCELLED, "interrupted: no cluster was started")
                     : launch_failed(launch, line, late, error);
        }
    }
    if (launch->ready >= 0)
        close(launch->ready);
    close(launch->log);
    if (rc < 0 && launch->lifeline >= 0)
        close(launch->lifeline);
    return rc;
}

/* Removes the folders of private clusters whose client and scheduler were both killed. */
static void sweep_stale(const char *runtime)
{
    DIR *dir = opendir(runtime);
    struct dirent *entry;
    while (dir && (entry = readdir(dir))) {
        char path[PATH_MAX + 64], socket_path[PATH_MAX + 128];
        int pid, fd;
        if (sscanf(entry->d_name, "private-%d-", &pid) != 1 || kill(pid, 0) == 0 || errno != ESRCH)
            continue;
        snprintf(path, sizeof path, "%s/%.60s", runtime, entry->d_name);
        snprintf(socket_path, sizeof socket_path, "%s/%s", path, GW_ADDRESS_SOCKET);
        if (gw_address_connect(socket_path, &fd, NULL) == 0)
            close(fd); /* the scheduler still runs and is about to end */
        else
            gw_dir_remove(path, NULL);
    }
    if (dir)
        closedir(dir);
}

int gw_cluster_open(const struct gw_cluster_options *options, struct gw_cluster **out,
                    struct gw_error *error)
{
    char runtime[PATH_MAX];
    uint32_t random = 0;
    struct gw_cluster *cluster = calloc(1, sizeof *cluster);
    if (!cluster)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    int rc = gw_user_dir_runtime(runtime, error);
    if (rc < 0)
        goto fail;
    sweep_stale(runtime);
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = (uint32_t)gw_clock_now_ns();
    if (snprintf(cluster->dir, sizeof cluster->dir, "%.*s/private-%d-%08x",
                 (int)sizeof cluster->dir, runtime, (int)getpid(),
                 random) >= (int)sizeof cluster->dir) {
        rc = gw_error_set(error, GW_EINVAL,
                          "the path %.64s..., or a path below it, is longer than %d bytes", runtime,
                          PATH_MAX - 1);
        goto fail;
    }
    snprintf(cluster->socket, sizeof cluster->socket, "%s/%s", cluster->dir, GW_ADDRESS_SOCKET);
    rc = gw_dir_make(cluster->dir, error);
    if (rc < 0)
        goto fail;

    struct launch launch = {.dir = cluster->dir, .options = *options, .is_private = true};
    cluster->slots = options->slots ? options->slots : gw_cluster_cores();
    launch.options.slots = cluster->slots;
    gw_memory_lines_format(&options->memory, cluster->memory);
    rc = launch_run(&launch, error);
    if (rc < 0) {
        gw_dir_remove(cluster->dir, NULL);
        goto fail;
    }
    cluster->pid = launch.pid;
    cluster->lifeline = launch.lifeline;
    *out = cluster;
    return 0;
fail:
    free(cluster);
    return rc;
}

int gw_cluster_grow(struct gw_cluster *cluster, uint32_t slots, struct gw_error *error)
{
    char binary[PATH_MAX], path[PATH_MAX], number[16], all[16], name[40];
    pid_t pid;
    int rc = gw_cluster_find_binary(binary, error);
    if (rc < 0)
        return rc;
    snprintf(path, sizeof path, "%s/worker-grown.log", cluster->dir);
    int log = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (log < 0)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    snprintf(number, sizeof number, "%u", slots);
    snprintf(all, sizeof all, "%u", cluster->slots + slots);
    snprintf(name, sizeof name, "worker-grown-%zu", cluster->grown.count + 1);
    const char *argv[] = {
        binary, "worker",    "--dir",  cluster->dir, "--slots",  number,          "--of",
        all,    "--private", "--name", name,         "--memory", cluster->memory, NULL};
    if (gw_array_reserve(&cluster->grown, 1) < 0)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    else if ((rc = spawn_daemon(argv, log, (const int[]){-1, -1}, &pid)) != 0)
        rc = gw_error_set(error, GW_ENOSCHEDULER, "cannot start %s: %s", binary, strerror(rc));
    close(log);
    if (rc < 0)
        return rc;
    cluster->grown.items[cluster->grown.count++] = pid;
    cluster->slots += slots;
    return 0;
}

static void stop(pid_t pid)
{
    if (!gw_cluster_wait_gone(pid, STOP_TIMEOUT_S * GW_NS_PER_S))
        kill(pid, SIGKILL);
    reap(pid);
}

void gw_cluster_close(struct gw_cluster *cluster)
{
    if (!cluster)
        return;
    close(cluster->lifeline);
    stop(cluster->pid);
    for (size_t i = 0; i < cluster->grown.count; i++)
        stop(cluster->grown.items[i]); /* these workers end when their scheduler ends */
    gw_array_deinit(&cluster->grown);
    gw_dir_remove(cluster->dir, NULL); /* a killed scheduler has not removed its folder */
    free(cluster);
}

int gw_cluster_check_resources(const char *text, struct gw_error *error)
{
    struct gw_arena arena = {0};
    struct gw_resources resources;
    struct gw_error why;
    int rc = gw_resources_parse(text, &arena, &resources, &why);
    gw_arena_deinit(&arena);
    return rc < 0 ? gw_error_set(error, rc, "the option `resources` of the private cluster: %s",
                                 why.text)
                  : 0;
}

const char *gw_cluster_socket(const struct gw_cluster *cluster)
{
    return cluster->socket;
}

uint32_t gw_cluster_slots(const struct gw_cluster *cluster)
{
    return cluster->slots;
}

int gw_cluster_launch(const char *dir, const struct gw_cluster_options *options, pid_t *pid,
                      struct gw_error *error)
{
    struct launch launch = {.dir = dir, .options = *options};
    launch.options.slots = options->slots ? options->slots : gw_cluster_cores();
    int rc = launch_run(&launch, error);
    if (rc == 0)
        *pid = launch.pid;
    return rc;
}
