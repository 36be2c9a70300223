/* The supervisor: it gives each process to a reaper, passes messages on, and watches the reapers.
 *
 * Each process has a reaper of its own as its parent (reaper.h). Reapers are forked once and used
 * again. Invariants: a child of the supervisor is a reaper, or an orphan whose reaper was killed.
 * Such orphans are all killed. Until none is left, their processes are not reported as reaped. If
 * the worker is stopped or stuck in the kernel, its processes are killed before the scheduler
 * assigns the tasks elsewhere. While commands wait in a reaper, its messages are read late. They
 * stay in the socket, even if the reaper dies. The supervisor has one thread and blocks only in
 * epoll. */
#include "worker/supervisor/supervisor.h"

#include "graph/base/array.h"
#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/base/map.h"
#include "graph/base/sm.h"
#include "graph/wire/channel.h"
#include "graph/wire/frame.h"
#include "graph/wire/timeouts.h"
#include "worker/supervisor/cgroup.h"
#include "worker/supervisor/reaper.h"
#include "worker/supervisor/subtree.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/epoll.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { WORKER_FD = 3, IDLE_MAX = 16, EVENTS = 64 };
#define ORPHAN_SWEEP_MS 2

/* The worker's silence is counted in ticks of this process, so time during which this process was
 * stopped, too, does not count. The worker sends a heartbeat once per tick. If the worker was
 * stopped, its own fence is over before anything is killed here. Everything is killed before the
 * scheduler assigns the tasks elsewhere, GW_LOST_NS after it last heard from the worker. */
#define SILENT_TICK_NS GW_HEARTBEAT_NS
enum { SILENT_TICKS = GW_FENCE_NS / SILENT_TICK_NS + 1 };

/* If at least this many commands wait in a reaper, the messages about their ends are read together.
 * The worker could not start anything in that slot before those commands anyway, and each message
 * wakes four processes. */
enum { GATHER_TURNS = 3 };
#define GATHER_NS (2 * GW_NS_PER_MS)

enum { WARD_IDLE, WARD_STARTING, WARD_RUNNING, WARD_ENDED, WARD_DEAD };

/* States of a ward, which is a reaper as the supervisor sees it. */
static const struct gw_sm_state ward_states[] = {
    [WARD_IDLE] = {"idle", GW_SM_NEXT(WARD_STARTING) | GW_SM_NEXT(WARD_DEAD)},
    [WARD_STARTING] = {"starting",
                       GW_SM_NEXT(WARD_IDLE) | GW_SM_NEXT(WARD_RUNNING) | GW_SM_NEXT(WARD_DEAD)},
    [WARD_RUNNING] = {"running", GW_SM_NEXT(WARD_ENDED) | GW_SM_NEXT(WARD_DEAD)},
    [WARD_ENDED] = {"ended", GW_SM_NEXT(WARD_IDLE) | GW_SM_NEXT(WARD_DEAD)},
    [WARD_DEAD] = {"dead", 0},
};
static const struct gw_sm ward_sm = {"ward", ward_states, 5, NULL};

struct ward {
    pid_t pid;
    struct gw_channel *channel; /* NULL after the reaper was told to end */
    uint64_t process;
    GW_ARRAY(uint64_t) turns; /* processes that wait behind it, in order */
    uint8_t state;
    bool writing; /* epoll reports when the socket can take more */
    bool gathers; /* epoll does not report input: it is read at gather_ns */
};

struct supervisor {
    int epoll_fd, signal_fd;
    struct gw_channel *worker;
    bool worker_writing, closed;
    struct gw_map by_pid;     /* pid of each reaper -> its ward */
    struct gw_map by_process; /* process -> its ward */
    GW_ARRAY(struct ward *) idle;
    GW_ARRAY(uint64_t) orphaned; /* processes whose reaper was killed */
    unsigned quiet;              /* consecutive scans without an orphan */
    unsigned silent;             /* ticks since the worker's last message */
    bool beats;                  /* the worker has sent a heartbeat */
    uint64_t tick_ns;            /* time of the next tick */
    uint64_t gather_ns;          /* when the gathered messages are read; 0: none */
};

static struct ward *ward_of(const struct gw_map *map, uint64_t key)
{
    uint64_t value;
    return gw_map_get(map, key, &value) ? (struct ward *)(uintptr_t)value : NULL;
}

static void answer(struct supervisor *supervisor, const struct gw_message *message)
{
    if (!supervisor->closed)
        GW_MUST(gw_channel_put(supervisor->worker, message, (struct gw_channel_fds){0}));
}

static void answer_refused(struct supervisor *supervisor, uint64_t process, int code,
                           const char *text)
{
    const struct gw_message message = {.type = GW_MESSAGE_spawned,
                                       .spawned = {.process = process, .code = code, .text = text}};
    answer(supervisor, &message);
}

/* -- Reapers -------------------------------------------------------------------------------------
 */

static void listen_to(const struct supervisor *supervisor, const struct gw_channel *channel,
                      uint32_t events, void *ptr)
{
    struct epoll_event event = {.events = events, .data.ptr = ptr};
    epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_MOD, gw_channel_fd(channel), &event);
}

/* Sends what is queued. If the socket is full, epoll reports when it can take more. */
static bool flush(struct supervisor *supervisor, struct gw_channel *channel, bool *writing,
                  void *ptr)
{
    int rc = gw_channel_flush(channel);
    bool want = rc == GW_EAGAIN;
    if (want != *writing)
        listen_to(supervisor, channel, want ? EPOLLIN | EPOLLOUT : EPOLLIN, ptr);
    *writing = want;
    return rc == 0 || want;
}

static void ward_flush(struct supervisor *supervisor, struct ward *ward)
{
    (void)flush(supervisor, ward->channel, &ward->writing, ward);
    if (ward->writing)
        ward->gathers = false;
}

static void ward_close(struct supervisor *supervisor, struct ward *ward)
{
    if (!ward->channel)
        return;
    epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_DEL, gw_channel_fd(ward->channel), NULL);
    gw_channel_free(ward->channel);
    ward->channel = NULL;
}

/* Forks a reaper. Returns NULL and sets errno if it fails. */
static struct ward *ward_new(struct supervisor *supervisor)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
        return NULL;
    pid_t pid = fork();
    if (pid == 0)
        gw_reaper_main(fds[1]);
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return NULL;
    }
    struct ward *ward = calloc(1, sizeof *ward);
    GW_MUST_PTR(ward);
    GW_MUST(gw_channel_new(fds[0], &ward->channel));
    ward->pid = pid;
    GW_MUST(gw_map_put(&supervisor->by_pid, (uint64_t)pid, (uintptr_t)ward));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = ward};
    GW_MUST(epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_ADD, fds[0], &event));
    return ward;
}

static void turn_remove(struct ward *ward, size_t at)
{
    uint64_t *items = ward->turns.items;
    memmove(items + at, items + at + 1, (--ward->turns.count - at) * sizeof *items);
}

/* Handles the end of a reaper's process. The reaper has already started the next waiting process,
 * if there is one. */
static void ward_set_idle(struct supervisor *supervisor, struct ward *ward)
{
    gw_map_remove(&supervisor->by_process, ward->process);
    gw_sm_move(&ward_sm, &ward->state, WARD_IDLE);
    if (ward->turns.count) {
        ward->process = ward->turns.items[0];
        turn_remove(ward, 0);
        gw_sm_move(&ward_sm, &ward->state, WARD_STARTING);
        return;
    }
    if (supervisor->idle.count < IDLE_MAX)
        GW_MUST(gw_array_push(&supervisor->idle, ward));
    else
        ward_close(supervisor, ward); /* the reaper ends by itself */
}

/* Handles that a waiting process was not started. */
static void ward_on_returned(struct supervisor *supervisor, struct ward *ward, uint64_t process)
{
    for (size_t i = 0; i < ward->turns.count; i++)
        if (ward->turns.items[i] == process) {
            turn_remove(ward, i);
            gw_map_remove(&supervisor->by_process, process);
            return;
        }
}

static void ward_on_message(struct supervisor *supervisor, struct ward *ward,
                            const struct gw_message *message)
{
    switch (message->type) {
    case GW_MESSAGE_spawned:
        answer(supervisor, message);
        if (message->spawned.process != ward->process)
            ward_on_returned(supervisor, ward, message->spawned.process);
        else if (message->spawned.code < 0)
            ward_set_idle(supervisor, ward);
        else
            gw_sm_move(&ward_sm, &ward->state, WARD_RUNNING);
        break;
    case GW_MESSAGE_exited:
        answer(supervisor, message);
        gw_sm_move(&ward_sm, &ward->state, WARD_ENDED);
        break;
    case GW_MESSAGE_reaped:
        answer(supervisor, message);
        ward_set_idle(supervisor, ward);
        break;
    default:
        break;
    }
}

/* Decides if a reaper's messages are read together. Called after each read. */
static void ward_gather(struct supervisor *supervisor, struct ward *ward)
{
    bool gathers = ward->channel && ward->turns.count >= GATHER_TURNS && !ward->writing;
    if (gathers && !supervisor->gather_ns)
        supervisor->gather_ns = gw_clock_now_ns() + GATHER_NS;
    if (ward->channel && !ward->writing && gathers != ward->gathers)
        listen_to(supervisor, ward->channel, gathers ? 0 : EPOLLIN, ward);
    ward->gathers = gathers;
}

/* Reads messages of a reaper. all: until none is left; otherwise only once, since epoll reports
 * again. */
static void ward_receive(struct supervisor *supervisor, struct ward *ward, bool all)
{
    struct gw_message message;
    int fds[GW_FRAME_FDS_MAX];
    uint8_t fd_count = 0;
    for (bool read = true;
         ward->channel && gw_channel_get(ward->channel, read, &message, fds, &fd_count, NULL) == 0;
         read = all)
        ward_on_message(supervisor, ward, &message);
    ward_gather(supervisor, ward);
    /* A closed socket is not handled here: SIGCHLD reports the end of the reaper. */
}

static void gather(struct supervisor *supervisor)
{
    size_t at = 0;
    uint64_t pid, ward;
    if (!supervisor->gather_ns || gw_clock_now_ns() < supervisor->gather_ns)
        return;
    supervisor->gather_ns = 0;
    while (gw_map_next(&supervisor->by_pid, &at, &pid, &ward))
        if (((struct ward *)(uintptr_t)ward)->gathers)
            ward_receive(supervisor, (struct ward *)(uintptr_t)ward, false);
}

/* Handles the end of a reaper. If it had a process, it was killed, and its orphans are now children
 * of the supervisor. */
static void ward_on_end(struct supervisor *supervisor, struct ward *ward)
{
    ward_receive(supervisor, ward, true); /* messages that it sent before */
    for (size_t i = 0; i < supervisor->idle.count; i++)
        if (supervisor->idle.items[i] == ward)
            gw_array_remove_swap(&supervisor->idle, i);
    if (ward->state != WARD_IDLE) { /* even in state STARTING, its process may have been started */
        const struct gw_message message = {.type = GW_MESSAGE_exited,
                                           .exited = {.process = ward->process, .signal = SIGKILL}};
        if (ward->state != WARD_ENDED)
            answer(supervisor, &message);
        gw_map_remove(&supervisor->by_process, ward->process);
        GW_MUST(gw_array_push(&supervisor->orphaned, ward->process));
    }
    for (size_t i = 0; i < ward->turns.count; i++) {
        gw_map_remove(&supervisor->by_process, ward->turns.items[i]);
        answer_refused(supervisor, ward->turns.items[i], GW_EAGAIN, "not begun");
    }
    supervisor->quiet = 0;
    gw_sm_move(&ward_sm, &ward->state, WARD_DEAD);
    ward_close(supervisor, ward);
    gw_map_remove(&supervisor->by_pid, (uint64_t)ward->pid);
    gw_array_deinit(&ward->turns);
    free(ward);
}

/* If a process has stopped its reaper, the reaper is continued at once, so that it can do its work.
 */
static void reap(struct supervisor *supervisor)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        struct ward *ward = ward_of(&supervisor->by_pid, (uint64_t)pid);
        if (WIFSTOPPED(status))
            kill(pid, SIGCONT);
        else if (ward)
            ward_on_end(supervisor, ward);
    }
}

/* Kills orphans of dead reapers. After two scans without orphans, none can have been missed between
 * two reads of /proc. */
static void sweep_orphans(struct supervisor *supervisor)
{
    size_t alive = 1;
    const struct gw_subtree_options options = {
        .root = getpid(), .spare = &supervisor->by_pid, .signal = SIGKILL};
    if (gw_subtree_signal(&options, &alive) < 0)
        return;
    supervisor->quiet = alive ? 0 : supervisor->quiet + 1;
    for (size_t i = 0; supervisor->quiet >= 2 && i < supervisor->orphaned.count; i++) {
        const struct gw_message message = {.type = GW_MESSAGE_reaped,
                                           .reaped = {.process = supervisor->orphaned.items[i]}};
        gw_cgroup_forget(supervisor->orphaned.items[i]);
        answer(supervisor, &message);
    }
    if (supervisor->quiet >= 2)
        gw_array_clear(&supervisor->orphaned);
}

/* -- The worker ----------------------------------------------------------------------------------
 */

/* Queues a process behind a running one, in the reaper of that one. */
static void on_spawn_behind(struct supervisor *supervisor, const struct gw_message *message)
{
    uint64_t process = message->spawn.process;
    struct ward *ward = ward_of(&supervisor->by_process, message->spawn.behind);
    if (!ward || !ward->channel) {
        answer_refused(supervisor, process, GW_EAGAIN, "not begun");
        return;
    }
    GW_MUST(gw_array_push(&ward->turns, process));
    GW_MUST(gw_map_put(&supervisor->by_process, process, (uintptr_t)ward));
    GW_MUST(gw_channel_put(ward->channel, message, (struct gw_channel_fds){0}));
    ward_flush(supervisor, ward);
}

static void on_spawn(struct supervisor *supervisor, const struct gw_message *message,
                     struct gw_channel_fds fds)
{
    if (message->spawn.behind) {
        on_spawn_behind(supervisor, message);
        return;
    }
    struct ward *ward = supervisor->idle.count ? supervisor->idle.items[--supervisor->idle.count]
                                               : ward_new(supervisor);
    if (!ward || ward_of(&supervisor->by_process, message->spawn.process)) {
        char text[128];
        snprintf(text, sizeof text, "cannot start: %s",
                 ward ? "a process of this number runs" : strerror(errno));
        answer_refused(supervisor, message->spawn.process, GW_ESTART, text);
        if (ward)
            GW_MUST(gw_array_push(&supervisor->idle, ward));
        for (uint8_t i = 0; i < fds.count; i++)
            close(fds.fds[i]);
        return;
    }
    ward->process = message->spawn.process;
    gw_sm_move(&ward_sm, &ward->state, WARD_STARTING);
    GW_MUST(gw_map_put(&supervisor->by_process, ward->process, (uintptr_t)ward));
    GW_MUST(gw_channel_put(ward->channel, message, fds));
    ward_flush(supervisor, ward);
}

/* Passes a message on to the reaper of a process. */
static void pass_on(struct supervisor *supervisor, const struct gw_message *message,
                    uint64_t process)
{
    struct ward *ward = ward_of(&supervisor->by_process, process);
    if (!ward || !ward->channel)
        return; /* the report of its end is on the way to the worker */
    GW_MUST(gw_channel_put(ward->channel, message, (struct gw_channel_fds){0}));
    ward_flush(supervisor, ward);
}

static void worker_receive(struct supervisor *supervisor)
{
    struct gw_message message;
    struct gw_error error;
    int fds[GW_FRAME_FDS_MAX];
    uint8_t fd_count = 0;
    int rc;
    for (bool read = true;
         (rc = gw_channel_get(supervisor->worker, read, &message, fds, &fd_count, &error)) == 0;
         read = false) {
        struct gw_channel_fds passed = {.fds = fds, .count = fd_count, .take = true};
        supervisor->beats = supervisor->beats || message.type == GW_MESSAGE_heartbeat;
        supervisor->silent = 0;
        supervisor->tick_ns = gw_clock_now_ns() + SILENT_TICK_NS;
        if (message.type == GW_MESSAGE_spawn) {
            on_spawn(supervisor, &message, passed);
            continue;
        }
        if (message.type == GW_MESSAGE_heartbeat && getenv("GANGWAY_SEPARATE"))
            answer(supervisor, &message); /* the user may have stopped this process */
        else if (message.type == GW_MESSAGE_reap)
            pass_on(supervisor, &message, message.reap.process);
        else if (message.type == GW_MESSAGE_signal)
            pass_on(supervisor, &message, message.signal.process);
        else if (message.type == GW_MESSAGE_output_read)
            pass_on(supervisor, &message, message.output_read.process);
        for (uint8_t i = 0; i < fd_count; i++)
            close(fds[i]);
    }
    if (rc == GW_EPROTO)
        gw_log_error("the worker sent a malformed message: %s", error.text);
    supervisor->closed = supervisor->closed || rc != GW_EAGAIN;
}

/* Returns the time to wait for events in ms. -1: no limit. */
static int patience_ms(const struct supervisor *supervisor)
{
    if (supervisor->orphaned.count)
        return ORPHAN_SWEEP_MS;
    const bool ticks = supervisor->beats && supervisor->by_process.count;
    if (!ticks && !supervisor->gather_ns)
        return -1;
    const uint64_t now_ns = gw_clock_now_ns();
    uint64_t at_ns = ticks ? supervisor->tick_ns : UINT64_MAX;
    if (supervisor->gather_ns && supervisor->gather_ns < at_ns)
        at_ns = supervisor->gather_ns;
    return now_ns >= at_ns ? 0 : (int)((at_ns - now_ns) / GW_NS_PER_MS) + 1;
}

/* Counts the worker's silence, after all its messages were read. */
static void count_silence(struct supervisor *supervisor)
{
    const uint64_t now_ns = gw_clock_now_ns();
    if (!supervisor->beats || supervisor->closed || now_ns < supervisor->tick_ns)
        return;
    supervisor->tick_ns = now_ns + SILENT_TICK_NS;
    if (++supervisor->silent != SILENT_TICKS || !supervisor->by_process.count)
        return;
    gw_log_warn("the worker does not answer, perhaps stopped by SIGSTOP: all processes of its "
                "tasks are killed");
    size_t at = 0;
    uint64_t process, ward;
    while (gw_map_next(&supervisor->by_process, &at, &process, &ward)) {
        const struct gw_message reap = {.type = GW_MESSAGE_reap, .reap = {.process = process}};
        pass_on(supervisor, &reap, process);
    }
}

/* -- Main function -------------------------------------------------------------------------------
 */

/* Signals are blocked and not handled: Ctrl-C in a terminal and SIGTERM to the service are meant
 * for the worker, and the supervisor ends after the worker. Started processes have the default
 * actions. */
static int set_up_signals(void)
{
    sigset_t all, chld;
    sigfillset(&all);
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);
    if (sigprocmask(SIG_SETMASK, &all, NULL) < 0)
        return -1;
    for (int number = 1; number < NSIG; number++)
        signal(number, SIG_DFL);
    return signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
}

static int set_up(struct supervisor *supervisor)
{
    if (fcntl(WORKER_FD, F_SETFD, FD_CLOEXEC) < 0 || fcntl(WORKER_FD, F_SETFL, O_NONBLOCK) < 0) {
        gw_log_error(
            "descriptor 3 is not the socket of a worker: only a worker can start this command");
        return GW_EINVAL;
    }
    (void)close_range(WORKER_FD + 1, ~0U, 0);
    supervisor->signal_fd = set_up_signals();
    supervisor->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event worker = {.events = EPOLLIN, .data.ptr = supervisor};
    struct epoll_event chld = {.events = EPOLLIN, .data.ptr = &supervisor->signal_fd};
    if (supervisor->signal_fd < 0 || supervisor->epoll_fd < 0 ||
        gw_channel_new(WORKER_FD, &supervisor->worker) < 0 ||
        epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_ADD, WORKER_FD, &worker) < 0 ||
        epoll_ctl(supervisor->epoll_fd, EPOLL_CTL_ADD, supervisor->signal_fd, &chld) < 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        gw_log_error("cannot start: %s", strerror(errno));
        return GW_EIO;
    }
    return 0;
}

static void turn(struct supervisor *supervisor)
{
    struct epoll_event events[EVENTS];
    bool reaping = false;
    int count = epoll_wait(supervisor->epoll_fd, events, EVENTS, patience_ms(supervisor));
    for (int i = 0; i < count; i++) {
        void *ptr = events[i].data.ptr;
        if (ptr == &supervisor->signal_fd)
            reaping = true;
        else if (ptr == supervisor)
            worker_receive(supervisor);
        else
            ward_receive(supervisor, ptr, false);
        if (ptr != &supervisor->signal_fd && ptr != supervisor && ((struct ward *)ptr)->channel &&
            (events[i].events & EPOLLOUT))
            ward_flush(supervisor, ptr);
    }
    gather(supervisor);
    if (reaping) { /* must come after all events, since it frees wards */
        struct signalfd_siginfo ignored;
        while (read(supervisor->signal_fd, &ignored, sizeof ignored) > 0)
            ;
        reap(supervisor);
    }
    if (supervisor->orphaned.count)
        sweep_orphans(supervisor);
    count_silence(supervisor);
    if (!supervisor->closed &&
        !flush(supervisor, supervisor->worker, &supervisor->worker_writing, supervisor))
        supervisor->closed = true;
}

/* Handles the end of the worker: reapers end their processes when their sockets close. When no
 * reaper is left, the remaining children are orphans of killed reapers, and waitid tells when none
 * is left. */
static void reap_all(struct supervisor *supervisor)
{
    size_t at = 0;
    uint64_t pid, ward;
    while (gw_map_next(&supervisor->by_pid, &at, &pid, &ward))
        ward_close(supervisor, (struct ward *)(uintptr_t)ward);
    struct epoll_event event;
    siginfo_t ended;
    while (reap(supervisor), waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0) {
        if (supervisor->orphaned.count || supervisor->by_pid.count == 0)
            sweep_orphans(supervisor);
        epoll_wait(supervisor->epoll_fd, &event, 1, 10);
        struct signalfd_siginfo ignored;
        while (read(supervisor->signal_fd, &ignored, sizeof ignored) > 0)
            ;
    }
}

int gw_supervisor_main(int argc, char **argv)
{
    struct supervisor supervisor = {0};
    gw_log_init("supervisor", GW_LOG_WARN);
    if (set_up(&supervisor) < 0)
        return EXIT_FAILURE;
    (void)prctl(PR_SET_NAME, "gangway-guard");
    gw_cgroup_open();
    while (!supervisor.closed)
        turn(&supervisor);
    reap_all(&supervisor);
    if (argc > 1) /* a worker that ends normally tries this again and logs failures */
        (void)gw_dir_remove(argv[1], NULL);

    gw_channel_free(supervisor.worker);
    gw_array_deinit(&supervisor.idle);
    gw_array_deinit(&supervisor.orphaned);
    gw_map_deinit(&supervisor.by_process);
    gw_map_deinit(&supervisor.by_pid);
    close(supervisor.epoll_fd);
    close(supervisor.signal_fd);
    return EXIT_SUCCESS;
}
