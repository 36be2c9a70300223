/* The guardian: hands each process to a warden, passes messages on, and stands behind the wardens.
 *
 * Every process that it starts has a warden of its own between them (warden.h), forked once and
 * used again. Always holds: a child of the guardian is a warden, or an orphan whose warden was
 * killed; such orphans are killed whosever they are, and until none is left their processes are not
 * reported as buried. What runs while its worker stands still (stopped, or stuck in the kernel) is
 * killed before the scheduler gives it away. What a warden says while a line waits there is heard
 * late: it lies in its socket until then, and outlives the warden. Single-threaded; never blocks
 * but in epoll. */
#include "worker/guardian/guardian.h"

#include "graph/base/array.h"
#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/base/map.h"
#include "graph/base/sm.h"
#include "graph/wire/channel.h"
#include "graph/wire/frame.h"
#include "worker/guardian/subtree.h"
#include "worker/guardian/warden.h"

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

/* Silence is counted in ticks of ours: where this process stood still as well, that is no silence.
 * After 10 s; the scheduler waits for 15 s, and heard of the worker a beat earlier at most. */
enum { SILENT_TICKS = 11 };
#define SILENT_TICK_NS GW_NS_PER_S

/* While so many wait for their turn in a warden, its ends are read together: who hears of one at
 * once could begin nothing in that slot before those, and each word wakes four processes. */
enum { GATHER_TURNS = 3 };
#define GATHER_NS (2 * GW_NS_PER_MS)

enum { WARD_IDLE, WARD_STARTING, WARD_RUNNING, WARD_ENDED, WARD_DEAD };

/* What the guardian knows of a warden. */
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
    struct gw_channel *channel; /* NULL once the warden was told to end */
    uint64_t process;
    GW_ARRAY(uint64_t) turns; /* processes that wait behind it, in their order */
    uint8_t state;
    bool writing; /* epoll reports when its socket takes more */
    bool gathers; /* epoll does not report what it says: that is read at gather_ns */
};

struct guardian {
    int epoll_fd, signal_fd;
    struct gw_channel *worker;
    bool worker_writing, closed;
    struct gw_map by_pid;     /* every warden -> its ward */
    struct gw_map by_process; /* -> its ward */
    GW_ARRAY(struct ward *) idle;
    GW_ARRAY(uint64_t) orphaned; /* processes whose warden was killed */
    unsigned quiet;              /* scans in a row that found no orphan */
    unsigned silent;             /* ticks since the worker's last word */
    bool beats;                  /* it does, since its first beat */
    uint64_t tick_ns;            /* the next one */
    uint64_t gather_ns;          /* when wards that gather are read; 0: none does */
};

static struct ward *ward_of(const struct gw_map *map, uint64_t key)
{
    uint64_t value;
    return gw_map_get(map, key, &value) ? (struct ward *)(uintptr_t)value : NULL;
}

static void answer(struct guardian *guardian, const struct gw_message *message)
{
    if (!guardian->closed)
        GW_MUST(gw_channel_put(guardian->worker, message, (struct gw_channel_fds){0}));
}

static void answer_refused(struct guardian *guardian, uint64_t process, int code, const char *text)
{
    const struct gw_message message = {.type = GW_MESSAGE_spawned,
                                       .spawned = {.process = process, .code = code, .text = text}};
    answer(guardian, &message);
}

/* -- Wardens -------------------------------------------------------------------------------------
 */

static void listen_to(const struct guardian *guardian, const struct gw_channel *channel,
                      uint32_t events, void *ptr)
{
    struct epoll_event event = {.events = events, .data.ptr = ptr};
    epoll_ctl(guardian->epoll_fd, EPOLL_CTL_MOD, gw_channel_fd(channel), &event);
}

/* Sends what is queued; what the socket does not take goes when epoll says so. */
static bool flush(struct guardian *guardian, struct gw_channel *channel, bool *writing, void *ptr)
{
    int rc = gw_channel_flush(channel);
    bool want = rc == GW_EAGAIN;
    if (want != *writing)
        listen_to(guardian, channel, want ? EPOLLIN | EPOLLOUT : EPOLLIN, ptr);
    *writing = want;
    return rc == 0 || want;
}

static void ward_flush(struct guardian *guardian, struct ward *ward)
{
    (void)flush(guardian, ward->channel, &ward->writing, ward);
    if (ward->writing)
        ward->gathers = false;
}

static void ward_close(struct guardian *guardian, struct ward *ward)
{
    if (!ward->channel)
        return;
    epoll_ctl(guardian->epoll_fd, EPOLL_CTL_DEL, gw_channel_fd(ward->channel), NULL);
    gw_channel_free(ward->channel);
    ward->channel = NULL;
}

/* Forks a warden; NULL with errno set when there is no room for one. */
static struct ward *ward_new(struct guardian *guardian)
{
    int fds[2];
    if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0, fds) < 0)
        return NULL;
    pid_t pid = fork();
    if (pid == 0)
        gw_warden_main(fds[1]);
    close(fds[1]);
    if (pid < 0) {
        close(fds[0]);
        return NULL;
    }
    struct ward *ward = calloc(1, sizeof *ward);
    GW_MUST_PTR(ward);
    GW_MUST(gw_channel_new(fds[0], &ward->channel));
    ward->pid = pid;
    GW_MUST(gw_map_put(&guardian->by_pid, (uint64_t)pid, (uintptr_t)ward));
    struct epoll_event event = {.events = EPOLLIN, .data.ptr = ward};
    GW_MUST(epoll_ctl(guardian->epoll_fd, EPOLL_CTL_ADD, fds[0], &event));
    return ward;
}

static void turn_remove(struct ward *ward, size_t at)
{
    uint64_t *items = ward->turns.items;
    memmove(items + at, items + at + 1, (--ward->turns.count - at) * sizeof *items);
}

/* Its process is over; the next in its line has been started by then, or none is. */
static void ward_set_idle(struct guardian *guardian, struct ward *ward)
{
    gw_map_remove(&guardian->by_process, ward->process);
    gw_sm_move(&ward_sm, &ward->state, WARD_IDLE);
    if (ward->turns.count) {
        ward->process = ward->turns.items[0];
        turn_remove(ward, 0);
        gw_sm_move(&ward_sm, &ward->state, WARD_STARTING);
        return;
    }
    if (guardian->idle.count < IDLE_MAX)
        GW_MUST(gw_array_push(&guardian->idle, ward));
    else
        ward_close(guardian, ward); /* it ends by itself */
}

/* A process that waited was not begun. */
static void ward_on_returned(struct guardian *guardian, struct ward *ward, uint64_t process)
{
    for (size_t i = 0; i < ward->turns.count; i++)
        if (ward->turns.items[i] == process) {
            turn_remove(ward, i);
            gw_map_remove(&guardian->by_process, process);
            return;
        }
}

static void ward_on_message(struct guardian *guardian, struct ward *ward,
                            const struct gw_message *message)
{
    switch (message->type) {
    case GW_MESSAGE_spawned:
        answer(guardian, message);
        if (message->spawned.process != ward->process)
            ward_on_returned(guardian, ward, message->spawned.process);
        else if (message->spawned.code < 0)
            ward_set_idle(guardian, ward);
        else
            gw_sm_move(&ward_sm, &ward->state, WARD_RUNNING);
        break;
    case GW_MESSAGE_exited:
        answer(guardian, message);
        gw_sm_move(&ward_sm, &ward->state, WARD_ENDED);
        break;
    case GW_MESSAGE_buried:
        answer(guardian, message);
        ward_set_idle(guardian, ward);
        break;
    default:
        break;
    }
}

/* After each read of it. */
static void ward_gather(struct guardian *guardian, struct ward *ward)
{
    bool gathers = ward->channel && ward->turns.count >= GATHER_TURNS && !ward->writing;
    if (gathers && !guardian->gather_ns)
        guardian->gather_ns = gw_clock_now_ns() + GATHER_NS;
    if (ward->channel && !ward->writing && gathers != ward->gathers)
        listen_to(guardian, ward->channel, gathers ? 0 : EPOLLIN, ward);
    ward->gathers = gathers;
}

/* all: until nothing is left; else what one read brings, for the poll tells again. */
static void ward_receive(struct guardian *guardian, struct ward *ward, bool all)
{
    struct gw_message message;
    int fds[GW_FRAME_FDS_MAX];
    uint8_t fd_count = 0;
    for (bool read = true;
         ward->channel && gw_channel_get(ward->channel, read, &message, fds, &fd_count, NULL) == 0;
         read = all)
        ward_on_message(guardian, ward, &message);
    ward_gather(guardian, ward);
    /* a closed socket means that the warden ended: its SIGCHLD is what counts */
}

static void gather(struct guardian *guardian)
{
    size_t at = 0;
    uint64_t pid, ward;
    if (!guardian->gather_ns || gw_clock_now_ns() < guardian->gather_ns)
        return;
    guardian->gather_ns = 0;
    while (gw_map_next(&guardian->by_pid, &at, &pid, &ward))
        if (((struct ward *)(uintptr_t)ward)->gathers)
            ward_receive(guardian, (struct ward *)(uintptr_t)ward, false);
}

/* A warden ended. One with a process was killed: its orphans are ours now. */
static void ward_on_end(struct guardian *guardian, struct ward *ward)
{
    ward_receive(guardian, ward, true); /* what it said before */
    for (size_t i = 0; i < guardian->idle.count; i++)
        if (guardian->idle.items[i] == ward)
            gw_array_remove_swap(&guardian->idle, i);
    if (ward->state != WARD_IDLE) { /* one that was to start its process may have done so */
        const struct gw_message message = {.type = GW_MESSAGE_exited,
                                           .exited = {.process = ward->process, .signal = SIGKILL}};
        if (ward->state != WARD_ENDED)
            answer(guardian, &message);
        gw_map_remove(&guardian->by_process, ward->process);
        GW_MUST(gw_array_push(&guardian->orphaned, ward->process));
    }
    for (size_t i = 0; i < ward->turns.count; i++) {
        gw_map_remove(&guardian->by_process, ward->turns.items[i]);
        answer_refused(guardian, ward->turns.items[i], GW_EAGAIN, "not begun");
    }
    guardian->quiet = 0;
    gw_sm_move(&ward_sm, &ward->state, WARD_DEAD);
    ward_close(guardian, ward);
    gw_map_remove(&guardian->by_pid, (uint64_t)ward->pid);
    gw_array_deinit(&ward->turns);
    free(ward);
}

/* A warden that its process stopped goes on at once: nothing may keep it from burying. */
static void reap(struct guardian *guardian)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG | WUNTRACED)) > 0) {
        struct ward *ward = ward_of(&guardian->by_pid, (uint64_t)pid);
        if (WIFSTOPPED(status))
            kill(pid, SIGCONT);
        else if (ward)
            ward_on_end(guardian, ward);
    }
}

/* Kills orphans of dead wardens; two scans that found none make sure that one was not missed
 * between two places of /proc. */
static void sweep_orphans(struct guardian *guardian)
{
    size_t alive = 1;
    const struct gw_subtree_options options = {
        .root = getpid(), .spare = &guardian->by_pid, .signal = SIGKILL};
    if (gw_subtree_signal(&options, &alive) < 0)
        return;
    guardian->quiet = alive ? 0 : guardian->quiet + 1;
    for (size_t i = 0; guardian->quiet >= 2 && i < guardian->orphaned.count; i++) {
        const struct gw_message message = {.type = GW_MESSAGE_buried,
                                           .buried = {.process = guardian->orphaned.items[i]}};
        answer(guardian, &message);
    }
    if (guardian->quiet >= 2)
        gw_array_clear(&guardian->orphaned);
}

/* -- The worker ----------------------------------------------------------------------------------
 */

/* Behind a process that runs, in its warden. */
static void on_spawn_behind(struct guardian *guardian, const struct gw_message *message)
{
    uint64_t process = message->spawn.process;
    struct ward *ward = ward_of(&guardian->by_process, message->spawn.behind);
    if (!ward || !ward->channel) {
        answer_refused(guardian, process, GW_EAGAIN, "not begun");
        return;
    }
    GW_MUST(gw_array_push(&ward->turns, process));
    GW_MUST(gw_map_put(&guardian->by_process, process, (uintptr_t)ward));
    GW_MUST(gw_channel_put(ward->channel, message, (struct gw_channel_fds){0}));
    ward_flush(guardian, ward);
}

static void on_spawn(struct guardian *guardian, const struct gw_message *message,
                     struct gw_channel_fds fds)
{
    if (message->spawn.behind) {
        on_spawn_behind(guardian, message);
        return;
    }
    struct ward *ward =
        guardian->idle.count ? guardian->idle.items[--guardian->idle.count] : ward_new(guardian);
    if (!ward || ward_of(&guardian->by_process, message->spawn.process)) {
        char text[128];
        snprintf(text, sizeof text, "cannot start: %s",
                 ward ? "a process of this number runs" : strerror(errno));
        answer_refused(guardian, message->spawn.process, GW_ESTART, text);
        if (ward)
            GW_MUST(gw_array_push(&guardian->idle, ward));
        for (uint8_t i = 0; i < fds.count; i++)
            close(fds.fds[i]);
        return;
    }
    ward->process = message->spawn.process;
    gw_sm_move(&ward_sm, &ward->state, WARD_STARTING);
    GW_MUST(gw_map_put(&guardian->by_process, ward->process, (uintptr_t)ward));
    GW_MUST(gw_channel_put(ward->channel, message, fds));
    ward_flush(guardian, ward);
}

/* For the ward of a process. */
static void pass_on(struct guardian *guardian, const struct gw_message *message, uint64_t process)
{
    struct ward *ward = ward_of(&guardian->by_process, process);
    if (!ward || !ward->channel)
        return; /* its end is on the way to the worker */
    GW_MUST(gw_channel_put(ward->channel, message, (struct gw_channel_fds){0}));
    ward_flush(guardian, ward);
}

static void worker_receive(struct guardian *guardian)
{
    struct gw_message message;
    struct gw_error error;
    int fds[GW_FRAME_FDS_MAX];
    uint8_t fd_count = 0;
    int rc;
    for (bool read = true;
         (rc = gw_channel_get(guardian->worker, read, &message, fds, &fd_count, &error)) == 0;
         read = false) {
        struct gw_channel_fds passed = {.fds = fds, .count = fd_count, .take = true};
        guardian->beats = guardian->beats || message.type == GW_MESSAGE_heartbeat;
        guardian->silent = 0;
        guardian->tick_ns = gw_clock_now_ns() + SILENT_TICK_NS;
        if (message.type == GW_MESSAGE_spawn) {
            on_spawn(guardian, &message, passed);
            continue;
        }
        if (message.type == GW_MESSAGE_bury)
            pass_on(guardian, &message, message.bury.process);
        else if (message.type == GW_MESSAGE_signal)
            pass_on(guardian, &message, message.signal.process);
        for (uint8_t i = 0; i < fd_count; i++)
            close(fds[i]);
    }
    if (rc == GW_EPROTO)
        gw_log_error("from the worker: %s", error.text);
    guardian->closed = guardian->closed || rc != GW_EAGAIN;
}

/* For how long to wait for what comes, in ms; -1: for ever. */
static int patience_ms(const struct guardian *guardian)
{
    if (guardian->orphaned.count)
        return ORPHAN_SWEEP_MS;
    const bool ticks = guardian->beats && guardian->by_process.count;
    if (!ticks && !guardian->gather_ns)
        return -1;
    const uint64_t now_ns = gw_clock_now_ns();
    uint64_t at_ns = ticks ? guardian->tick_ns : UINT64_MAX;
    if (guardian->gather_ns && guardian->gather_ns < at_ns)
        at_ns = guardian->gather_ns;
    return now_ns >= at_ns ? 0 : (int)((at_ns - now_ns) / GW_NS_PER_MS) + 1;
}

/* Counts the worker's silence, after all that it said was read. */
static void count_silence(struct guardian *guardian)
{
    const uint64_t now_ns = gw_clock_now_ns();
    if (!guardian->beats || guardian->closed || now_ns < guardian->tick_ns)
        return;
    guardian->tick_ns = now_ns + SILENT_TICK_NS;
    if (++guardian->silent != SILENT_TICKS || !guardian->by_process.count)
        return;
    gw_log_warn("the worker stands still: what it runs is ended");
    size_t at = 0;
    uint64_t process, ward;
    while (gw_map_next(&guardian->by_process, &at, &process, &ward)) {
        const struct gw_message bury = {.type = GW_MESSAGE_bury, .bury = {.process = process}};
        pass_on(guardian, &bury, process);
    }
}

/* -- The process ---------------------------------------------------------------------------------
 */

/* Signals are blocked, not handled: Ctrl-C at a terminal and a TERM to the whole service are for
 * the worker, and the guardian ends when the worker has. What is started begins with defaults. */
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

static int set_up(struct guardian *guardian)
{
    if (fcntl(WORKER_FD, F_SETFD, FD_CLOEXEC) < 0 || fcntl(WORKER_FD, F_SETFL, O_NONBLOCK) < 0) {
        gw_log_error("descriptor 3 is not a worker's socket: this command is not for people");
        return GW_EINVAL;
    }
    (void)close_range(WORKER_FD + 1, ~0U, 0);
    guardian->signal_fd = set_up_signals();
    guardian->epoll_fd = epoll_create1(EPOLL_CLOEXEC);
    struct epoll_event worker = {.events = EPOLLIN, .data.ptr = guardian};
    struct epoll_event chld = {.events = EPOLLIN, .data.ptr = &guardian->signal_fd};
    if (guardian->signal_fd < 0 || guardian->epoll_fd < 0 ||
        gw_channel_new(WORKER_FD, &guardian->worker) < 0 ||
        epoll_ctl(guardian->epoll_fd, EPOLL_CTL_ADD, WORKER_FD, &worker) < 0 ||
        epoll_ctl(guardian->epoll_fd, EPOLL_CTL_ADD, guardian->signal_fd, &chld) < 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1) < 0) {
        gw_log_error("cannot start: %s", strerror(errno));
        return GW_EIO;
    }
    return 0;
}

static void turn(struct guardian *guardian)
{
    struct epoll_event events[EVENTS];
    bool reaping = false;
    int count = epoll_wait(guardian->epoll_fd, events, EVENTS, patience_ms(guardian));
    for (int i = 0; i < count; i++) {
        void *ptr = events[i].data.ptr;
        if (ptr == &guardian->signal_fd)
            reaping = true;
        else if (ptr == guardian)
            worker_receive(guardian);
        else
            ward_receive(guardian, ptr, false);
        if (ptr != &guardian->signal_fd && ptr != guardian && ((struct ward *)ptr)->channel &&
            (events[i].events & EPOLLOUT))
            ward_flush(guardian, ptr);
    }
    gather(guardian);
    if (reaping) { /* after all events: it frees wards */
        struct signalfd_siginfo ignored;
        while (read(guardian->signal_fd, &ignored, sizeof ignored) > 0)
            ;
        reap(guardian);
    }
    if (guardian->orphaned.count)
        sweep_orphans(guardian);
    count_silence(guardian);
    if (!guardian->closed &&
        !flush(guardian, guardian->worker, &guardian->worker_writing, guardian))
        guardian->closed = true;
}

/* The worker is gone: wardens bury what they have when their sockets close. Without wardens, what
 * is left are orphans of killed ones, and wait tells exactly when none is. */
static void bury_all(struct guardian *guardian)
{
    size_t at = 0;
    uint64_t pid, ward;
    while (gw_map_next(&guardian->by_pid, &at, &pid, &ward))
        ward_close(guardian, (struct ward *)(uintptr_t)ward);
    struct epoll_event event;
    siginfo_t ended;
    while (reap(guardian), waitid(P_ALL, 0, &ended, WEXITED | WNOHANG | WNOWAIT) == 0) {
        if (guardian->orphaned.count || guardian->by_pid.count == 0)
            sweep_orphans(guardian);
        epoll_wait(guardian->epoll_fd, &event, 1, 10);
        struct signalfd_siginfo ignored;
        while (read(guardian->signal_fd, &ignored, sizeof ignored) > 0)
            ;
    }
}

int gw_guardian_main(int argc, char **argv)
{
    struct guardian guardian = {0};
    gw_log_init("guardian", GW_LOG_WARN);
    if (set_up(&guardian) < 0)
        return EXIT_FAILURE;
    (void)prctl(PR_SET_NAME, "gangway-guard");
    while (!guardian.closed)
        turn(&guardian);
    bury_all(&guardian);
    if (argc > 1) /* a worker that ends in order does the same once more, and tells of failures */
        (void)gw_dir_remove(argv[1], NULL);

    gw_channel_free(guardian.worker);
    gw_array_deinit(&guardian.idle);
    gw_array_deinit(&guardian.orphaned);
    gw_map_deinit(&guardian.by_process);
    gw_map_deinit(&guardian.by_pid);
    close(guardian.epoll_fd);
    close(guardian.signal_fd);
    return EXIT_SUCCESS;
}
