/* Workers on the scheduler's own machine.
 *
 * A worker that dies is started again: immediately the first time, later after a pause that doubles
 * up to one minute. So its slots come back, but a worker that dies at once does not use up the
 * machine. A worker of an earlier scheduler, found by its lock file, reconnects by itself and is
 * watched like a child process. */
#include "scheduler/net/crew.h"

#include "graph/base/clock.h"
#include "graph/base/log.h"
#include "graph/base/text.h"
#include "graph/model/pairs.h"

#include <assert.h>
#include <dirent.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/syscall.h>
#include <unistd.h>

enum {
    RESTART_MS_FIRST = 100,
    RESTART_MS_MAX = 60000,
    LIVED_S = 60, /* a worker that ran this long restarts with the first pause again */
    KILL_MS = 5000,
};

struct member {
    struct gw_crew *crew;
    uv_process_t process;
    uv_poll_t watch; /* for an adopted worker of an earlier scheduler */
    int pidfd;       /* of an adopted worker; -1: it has ended or is not watched any more */
    uv_timer_t restart;
    bool runs, lives_on;
    uint64_t started_ns;
    uint64_t pause_ms;
    uint32_t number;
};

struct gw_crew {
    uv_loop_t *loop;
    struct gw_crew_options options;
    struct member *members;
    uv_timer_t kill;
    uint32_t open_handles;
    uint32_t running;
    bool closing;
};

/* Appends an option with a number of bytes, written to `text`. 0: appends nothing. */
static void add_bytes(char **argv, int *argc, char *option, uint64_t bytes, char text[32])
{
    if (!bytes)
        return;
    (void)snprintf(text, 32, "%llu", (unsigned long long)bytes);
    argv[(*argc)++] = option;
    argv[(*argc)++] = text;
}

static int member_start(struct member *member, struct gw_error *error);
static void member_restart_later(struct member *member);

static void crew_on_closed(uv_handle_t *handle)
{
    struct gw_crew *crew = handle->data;
    if (--crew->open_handles > 0)
        return;
    void (*on_gone)(void *) = crew->options.on_gone;
    void *arg = crew->options.arg;
    free(crew->members);
    free(crew);
    on_gone(arg);
}

static void crew_finish(struct gw_crew *crew)
{
    for (uint32_t i = 0; i < crew->options.workers; i++)
        uv_close((uv_handle_t *)&crew->members[i].restart, crew_on_closed);
    uv_close((uv_handle_t *)&crew->kill, crew_on_closed);
}

static void member_on_restart(uv_timer_t *timer)
{
    struct gw_crew *crew = timer->data;
    struct member *member = crew->members;
    while (&member->restart != timer)
        member++;
    struct gw_error error;
    if (member_start(member, &error) == 0)
        return;
    gw_log_error("%s", error.text);
    member_restart_later(member);
}

static void member_restart_later(struct member *member)
{
    char pause[GW_TEXT_DURATION_ROOM];
    gw_log_warn("worker %u is started again in %s", member->number,
                gw_text_duration(member->pause_ms * GW_NS_PER_MS, pause));
    (void)uv_timer_start(&member->restart, member_on_restart, member->pause_ms, 0);
    member->pause_ms =
        member->pause_ms * 2 < RESTART_MS_MAX ? member->pause_ms * 2 : RESTART_MS_MAX;
}

static void member_on_process_closed(uv_handle_t *handle)
{
    struct member *member = handle->data;
    struct gw_crew *crew = member->crew;
    member->runs = member->lives_on = false;
    crew->running--;
    if (crew->closing) {
        if (crew->running == 0)
            crew_finish(crew);
        return;
    }
    if (crew->options.ends(crew->options.arg))
        return;
    if (gw_clock_now_ns() - member->started_ns > LIVED_S * GW_NS_PER_S)
        member->pause_ms = RESTART_MS_FIRST;
    member_restart_later(member);
}

static void member_on_exit(uv_process_t *process, int64_t status, int signal)
{
    struct member *member = process->data;
    if (!member->crew->closing && !member->crew->options.ends(member->crew->options.arg))
        gw_log_error("worker %u ended unexpectedly (exit code %lld, signal %d)", member->number,
                     (long long)status, signal);
    uv_close((uv_handle_t *)process, member_on_process_closed);
}

/* Appends an option with a text, copied to `copy`. NULL: appends nothing. */
static void add_text(char **argv, int *argc, char *option, const char *text, char copy[PATH_MAX])
{
    if (!text)
        return;
    (void)snprintf(copy, PATH_MAX, "%s", text);
    argv[(*argc)++] = option;
    argv[(*argc)++] = copy;
}

/* -- Workers of an earlier scheduler ---------------------------------------------------------- */

static void member_on_end(uv_poll_t *poll, int status, int events)
{
    struct member *member = poll->data;
    (void)status;
    (void)events;
    if (!member->crew->closing)
        gw_log_error("worker %u, which an earlier scheduler started, has ended", member->number);
    (void)uv_poll_stop(poll);
    close(member->pidfd);
    member->pidfd = -1;
    uv_close((uv_handle_t *)poll, member_on_process_closed);
}

pid_t gw_crew_who_lives_on(const char *dir, uint32_t number)
{
    char path[PATH_MAX], text[32] = "";
    (void)snprintf(path, sizeof path, "%.*s/worker-%u.lock", PATH_MAX - 32, dir, number + 1);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return 0;
    bool lives = flock(fd, LOCK_SH | LOCK_NB) < 0 && read(fd, text, sizeof text - 1) > 0;
    close(fd);
    long pid = strtol(text, NULL, 10);
    return lives && pid > 1 ? (pid_t)pid : 0;
}

/* Reads the folder once: it rarely has locks, and opening all possible ones would take longer than
 * the rest of a private cluster's start. */
bool gw_crew_lives_on(const char *dir)
{
    DIR *files = opendir(dir);
    bool lives = false;
    for (const struct dirent *file; !lives && files && (file = readdir(files));) {
        uint32_t number;
        if (sscanf(file->d_name, "worker-%u.lock", &number) == 1 && number > 0)
            lives = gw_crew_who_lives_on(dir, number - 1) != 0;
    }
    if (files)
        (void)closedir(files);
    return lives;
}

/* Returns true if the worker of this number is still running from an earlier scheduler. In this
 * case it is watched from now on. */
static bool member_lives_on(struct member *member)
{
    pid_t pid = gw_crew_who_lives_on(member->crew->options.dir, member->number);
    if (!pid)
        return false;
    member->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    if (member->pidfd < 0)
        return false;
    member->watch.data = member;
    if (uv_poll_init(member->crew->loop, &member->watch, member->pidfd) < 0) {
        close(member->pidfd);
        return false;
    }
    (void)uv_poll_start(&member->watch, UV_READABLE, member_on_end);
    member->runs = member->lives_on = true;
    member->started_ns = gw_clock_now_ns();
    member->crew->running++;
    gw_log_info("worker %u, which an earlier scheduler started, still runs (process %d): this "
                "scheduler goes on using it",
                member->number, (int)pid);
    return true;
}

bool gw_crew_lived_on(const struct gw_crew *crew, uint32_t number)
{
    return crew->members[number].lives_on;
}

/* -- Starting --------------------------------------------------------------------------------- */

/* Each worker gets its part of the machine's GPUs, as it gets its part of the slots. */
static void add_part(const struct member *member, char **argv, int *argc, char text[32])
{
    if (member->crew->options.workers == 1)
        return;
    (void)snprintf(text, 32, "%u/%u", member->number, member->crew->options.workers);
    argv[(*argc)++] = "--part";
    argv[(*argc)++] = text;
}

static int member_start(struct member *member, struct gw_error *error)
{
    const struct gw_crew_options *options = &member->crew->options;
    if (!options->private_cluster && member_lives_on(member))
        return 0;
    char slots[16], all[16], parent[16], name[32], files[32], retained[32], transfer[32],
        log[PATH_MAX];
    char orphan[32], rolls[32], part[32];
    uint32_t each = options->slots / options->workers, more = options->slots % options->workers;
    (void)snprintf(slots, sizeof slots, "%u", member->number < more ? each + 1 : each);
    (void)snprintf(all, sizeof all, "%u", options->slots);
    (void)snprintf(name, sizeof name, "worker-%u", member->number + 1);
    (void)snprintf(parent, sizeof parent, "%d", (int)getpid());
    (void)snprintf(log, sizeof log, "%s/worker-%u.log", options->dir, member->number);
    int fd = open(log, O_WRONLY | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (fd < 0)
        return gw_error_set(error, GW_EIO, "cannot write %s", log);

    char dir[PATH_MAX];
    (void)snprintf(dir, sizeof dir, "%s", options->dir);
    char resources[GW_PAIRS_BYTES_MAX + 1];
    (void)snprintf(resources, sizeof resources, "%s", options->resources ? options->resources : "");
    char *argv[40] = {"gangway", "worker", "--dir",    dir,    "--slots", slots,
                      "--of",    all,      "--parent", parent, "--name",  name};
    int argc = 12;
    if (options->private_cluster)
        argv[argc++] = "--private";
    if (options->trust_users)
        argv[argc++] = "--trust-users";
    add_part(member, argv, &argc, part);
    char peers[PATH_MAX], memory[PATH_MAX], spill_dir[PATH_MAX];
    add_text(argv, &argc, "--peers", options->peers, peers);
    add_text(argv, &argc, "--memory", options->memory, memory);
    add_text(argv, &argc, "--spill-dir", options->spill_dir, spill_dir);
    add_bytes(argv, &argc, "--file-cache", options->files_bytes_max, files);
    add_bytes(argv, &argc, "--keep-files", options->retained_bytes_max, retained);
    add_bytes(argv, &argc, "--checkpoint-max", options->transfer_bytes_max, transfer);
    add_bytes(argv, &argc, "--log-max", options->log_bytes_max, rolls);
    if (options->orphan_ms != UINT64_MAX) {
        (void)snprintf(orphan, sizeof orphan, "%llu", (unsigned long long)options->orphan_ms);
        argv[argc++] = "--orphan-timeout";
        argv[argc++] = orphan;
    }
    if (member->number == 0 && *resources) {
        argv[argc++] = "--resources";
        argv[argc++] = resources;
    }
    uv_stdio_container_t stdio[] = {
        {.flags = UV_IGNORE},
        {.flags = UV_INHERIT_FD, .data.fd = fd},
        {.flags = UV_INHERIT_FD, .data.fd = fd},
    };
    uv_process_options_t process = {
        .exit_cb = member_on_exit,
        .file = "/proc/self/exe", /* the running binary, even if its file was replaced */
        .args = argv,
        .stdio = stdio,
        .stdio_count = 3,
        .flags = UV_PROCESS_DETACHED, /* Ctrl-C at a terminal is meant for the client only */
    };
    member->process.data = member;
    options->on_new(name, options->arg);
    int rc = uv_spawn(member->crew->loop, &member->process, &process);
    close(fd);
    if (rc < 0) {
        uv_close((uv_handle_t *)&member->process, NULL);
        return gw_error_set(error, GW_EIO, "cannot start a worker: %s", uv_strerror(rc));
    }
    member->runs = true;
    member->started_ns = gw_clock_now_ns();
    member->crew->running++;
    return 0;
}

int gw_crew_open(uv_loop_t *loop, const struct gw_crew_options *options, struct gw_crew **crew,
                 struct gw_error *error)
{
    struct gw_crew *opened = calloc(1, sizeof *opened);
    GW_MUST_PTR(opened);
    opened->loop = loop;
    opened->options = *options;
    opened->members = calloc(options->workers + 1, sizeof *opened->members);
    GW_MUST_PTR(opened->members);
    opened->open_handles = options->workers + 1;
    opened->kill.data = opened;
    (void)uv_timer_init(loop, &opened->kill);
    *crew = opened;
    for (uint32_t i = 0; i < options->workers; i++) {
        struct member *member = &opened->members[i];
        *member = (struct member){.crew = opened, .number = i, .pause_ms = RESTART_MS_FIRST};
        member->restart.data = opened;
        (void)uv_timer_init(loop, &member->restart);
    }
    for (uint32_t i = 0; i < options->workers; i++) {
        int rc = member_start(&opened->members[i], error);
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* Returns the handle that watches a running worker. */
static uv_handle_t *handle_of(struct member *member)
{
    return member->lives_on ? (uv_handle_t *)&member->watch : (uv_handle_t *)&member->process;
}

static void crew_signal(const struct gw_crew *crew, int signal)
{
    for (uint32_t i = 0; i < crew->options.workers; i++) {
        struct member *member = &crew->members[i];
        if (!member->runs || uv_is_closing(handle_of(member)))
            continue;
        if (member->lives_on)
            (void)syscall(SYS_pidfd_send_signal, member->pidfd, signal, NULL, 0);
        else
            (void)uv_process_kill(&member->process, signal);
    }
}

static void crew_on_kill(uv_timer_t *timer)
{
    gw_log_error("a worker has not ended in time: it is killed (SIGKILL)");
    crew_signal(timer->data, SIGKILL);
}

/* Ends the crew: no worker is started again, and those that run get a signal to end. */
static void crew_end(struct gw_crew *crew)
{
    if (crew->running == 0) {
        crew_finish(crew);
        return;
    }
    crew_signal(crew, SIGTERM);
    (void)uv_timer_start(&crew->kill, crew_on_kill, KILL_MS, 0);
}

static void crew_begin_closing(struct gw_crew *crew)
{
    crew->closing = true;
    for (uint32_t i = 0; i < crew->options.workers; i++)
        uv_timer_stop(&crew->members[i].restart);
}

void gw_crew_close(struct gw_crew *crew)
{
    crew_begin_closing(crew);
    crew_end(crew);
}

/* Stops to watch a worker that continues to run. When the scheduler ends, init becomes its parent.
 */
static void member_leave(struct member *member)
{
    if (!member->runs || uv_is_closing(handle_of(member)))
        return;
    if (member->lives_on) {
        (void)uv_poll_stop(&member->watch);
        close(member->pidfd);
        member->pidfd = -1;
    }
    uv_close(handle_of(member), member_on_process_closed);
}

void gw_crew_leave(struct gw_crew *crew, bool started_end)
{
    crew_begin_closing(crew);
    for (uint32_t i = 0; i < crew->options.workers; i++)
        if (!started_end || crew->members[i].lives_on)
            member_leave(&crew->members[i]);
    crew_end(crew);
}
