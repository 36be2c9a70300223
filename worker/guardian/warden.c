/* The warden: starts one process, reports its end, and buries all that came of it.
 *
 * It is a child subreaper, so every orphan below it becomes its child: it has no descendants
 * exactly when wait says that it has no children. No scan is needed to know that, only to kill.
 * Always holds: `buried` is sent after `exited` and when wait has said so; a new process is taken
 * only then. It is single-threaded, handles no signals and reads them from a descriptor. */
#include "worker/guardian/warden.h"

#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/base/sm.h"
#include "graph/wire/channel.h"
#include "graph/wire/frame.h"
#include "worker/guardian/capture.h"
#include "worker/guardian/oom.h"
#include "worker/guardian/spawn.h"
#include "worker/guardian/subtree.h"
#include "worker/guardian/turns.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SWEEP_MIN_NS GW_NS_PER_MS
#define SWEEP_MAX_NS (100 * GW_NS_PER_MS)
#define SWEEPS_FAST 500 /* this many before it slows down: a fork bomb must not outrun them */
#define CAPTURE_SOON_NS (100 * GW_NS_PER_MS)
#define CAPTURE_LATE_NS GW_NS_PER_S
#define OOM_BASE_NS (100 * GW_NS_PER_MS)
#define SPAWNED_LATER_NS (4 * GW_NS_PER_MS)

#define EPILOG_NS (20 * GW_NS_PER_S)

enum { WARDEN_IDLE, WARDEN_RUNNING, WARDEN_LEFT, WARDEN_EPILOG };

static const struct gw_sm_state warden_states[] = {
    [WARDEN_IDLE] = {"idle", GW_SM_NEXT(WARDEN_RUNNING)},
    [WARDEN_RUNNING] = {"running", GW_SM_NEXT(WARDEN_LEFT)},
    /* the process ended; others may be left */
    [WARDEN_LEFT] = {"left", GW_SM_NEXT(WARDEN_IDLE) | GW_SM_NEXT(WARDEN_EPILOG)},
    [WARDEN_EPILOG] = {"epilog", GW_SM_NEXT(WARDEN_IDLE)}, /* none was left; what it runs now is */
};
static const struct gw_sm warden_sm = {"warden", warden_states, 4, NULL};

struct warden {
    struct gw_channel *channel;
    int signal_fd, null_fd;
    struct gw_oom_score score;
    uint8_t state;
    uint64_t process;
    pid_t child;
    struct gw_capture out, err;
    uint64_t kill_at_ns;  /* from TERM to KILL; 0: no TERM was sent */
    uint64_t sweep_at_ns; /* next KILL of what is still there; 0: not killing */
    uint64_t sweep_ns;    /* how long to wait after the next one */
    uint32_t sweeps;
    uint64_t capture_at_ns;
    uint64_t spawned_at_ns; /* when to say `spawned`; 0: said */
    uint64_t began_ns;
    struct gw_turns turns;
    bool killed; /* SIGKILL is ours */
    uint64_t oom_kills, oom_read_ns;
    bool closed;
    struct gw_msg_spawn epilog; /* what to run when none is left; argv.size 0: nothing */
    void *epilog_block;         /* what it points to; owned */
    int exit_code;              /* for it; as shells have it */
};

static void warden_send(struct warden *warden, const struct gw_message *message)
{
    if (gw_channel_put(warden->channel, message, (struct gw_channel_fds){0}) < 0)
        warden->closed = true;
}

static void warden_refuse(struct warden *warden, uint64_t process, const struct gw_error *error)
{
    const struct gw_message message = {
        .type = GW_MESSAGE_spawned,
        .spawned = {.process = process, .code = error->code, .text = error->text}};
    gw_capture_close(&warden->out);
    gw_capture_close(&warden->err);
    warden_send(warden, &message);
}

/* One that was to wait for its turn. */
static void warden_return(struct warden *warden, uint64_t process, int code)
{
    const struct gw_message message = {
        .type = GW_MESSAGE_spawned,
        .spawned = {.process = process, .code = code, .text = "not begun"}};
    warden_send(warden, &message);
}

static void warden_return_all(struct warden *warden)
{
    while (warden->turns.list.count) {
        uint64_t process = warden->turns.list.items[0].process;
        (void)gw_turns_drop(&warden->turns, process);
        warden_return(warden, process, GW_EAGAIN);
    }
}

/* How many kills for memory there were before this process: read seldom, it is a large file. */
static void warden_oom_base(struct warden *warden)
{
    uint64_t now_ns = gw_clock_now_ns();
    if (warden->oom_read_ns && now_ns - warden->oom_read_ns < OOM_BASE_NS)
        return;
    warden->oom_kills = gw_oom_kills();
    warden->oom_read_ns = now_ns;
}

/* Mostly it is there already. */
static int folder_make(const char *path, struct gw_error *error)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : gw_dir_make(path, error);
}

/* A spawn of its own, with copies: the message goes. */
static void keep_epilog(struct warden *warden, const struct gw_msg_spawn *spawn)
{
    if (!spawn->epilog.size)
        return;
    char *copy = malloc((size_t)spawn->epilog.size + spawn->env.size);
    GW_MUST_PTR(copy);
    memcpy(copy, spawn->epilog.data, spawn->epilog.size);
    if (spawn->env.size)
        memcpy(copy + spawn->epilog.size, spawn->env.data, spawn->env.size);
    warden->epilog_block = copy;
    warden->epilog = (struct gw_msg_spawn){.process = spawn->process,
                                           .path = "", /* argv[0] */
                                           .argv = {copy, spawn->epilog.size},
                                           .env = {copy + spawn->epilog.size, spawn->env.size},
                                           .cwd = "/",
                                           .cpus = ""};
}

/* A runner's files are looked for by their names. */
static int capture_open(struct gw_capture *capture, const char *path,
                        const struct gw_msg_spawn *spawn, struct gw_error *error)
{
    const struct gw_capture_options options = {
        .path = path, .bytes_max = spawn->output_bytes_max, .named = spawn->runner};
    return gw_capture_open(capture, &options, error);
}

static void warden_start(struct warden *warden, const struct gw_msg_spawn *spawn, int fd)
{
    struct gw_error error;
    if ((*spawn->checkpoints && folder_make(spawn->checkpoints, &error) < 0) ||
        capture_open(&warden->out, spawn->out, spawn, &error) < 0 ||
        capture_open(&warden->err, spawn->err, spawn, &error) < 0) {
        warden_refuse(warden, spawn->process, &error);
        return;
    }
    warden_oom_base(warden);
    const struct gw_spawn_options options = {.message = spawn,
                                             .in_fd = warden->null_fd,
                                             .out_fd = warden->out.fd,
                                             .err_fd = warden->err.fd,
                                             .runner_fd = fd,
                                             .score = &warden->score};
    if (gw_spawn(&options, &warden->child, &error) < 0) {
        warden_refuse(warden, spawn->process, &error);
        return;
    }
    gw_sm_move(&warden_sm, &warden->state, WARDEN_RUNNING);
    warden->process = spawn->process;
    keep_epilog(warden, spawn);
    warden->kill_at_ns = warden->sweep_at_ns = 0;
    warden->killed = false;
    warden->capture_at_ns = spawn->output_bytes_max ? gw_clock_now_ns() + CAPTURE_SOON_NS : 0;
    warden->began_ns = gw_clock_now_ns();
    warden->spawned_at_ns = warden->began_ns + SPAWNED_LATER_NS;
}

/* Who comes next may kill us: what was said of those before is on its way by then. False: nobody
 * is left to hear it. */
static bool warden_may_start(struct warden *warden)
{
    warden->closed = warden->closed || gw_channel_flush(warden->channel) == GW_ECLOSED;
    return !warden->closed;
}

/* Nothing waits behind a process for longer than that takes to be told of. */
static void warden_on_spawn(struct warden *warden, const struct gw_msg_spawn *spawn, int fd)
{
    if (warden->state == WARDEN_IDLE && warden_may_start(warden))
        warden_start(warden, spawn, fd);
    else if (warden->spawned_at_ns && !spawn->runner)
        gw_turns_add(&warden->turns, spawn);
    else
        warden_return(warden, spawn->process, GW_EAGAIN);
}

static void warden_next(struct warden *warden)
{
    struct gw_msg_spawn spawn;
    while (warden->state == WARDEN_IDLE && warden->turns.list.count && warden_may_start(warden))
        if (gw_turns_take(&warden->turns, &spawn))
            warden_start(warden, &spawn, -1);
}

/* Said a moment later: a process that has ended by then needs one message in all, and two wake-ups
 * of others less while it starts. */
static void warden_say_spawned(struct warden *warden)
{
    const struct gw_message message = {
        .type = GW_MESSAGE_spawned,
        .spawned = {.process = warden->process, .pid = (uint32_t)warden->child}};
    if (warden->spawned_at_ns)
        warden_send(warden, &message);
    warden->spawned_at_ns = 0;
}

static void warden_kill(struct warden *warden)
{
    warden->killed = true;
    warden->sweep_at_ns = gw_clock_now_ns();
    warden->sweep_ns = SWEEP_MIN_NS;
    warden->sweeps = 0;
}

/* The process and its group go first, and at once: mostly that is all there is. */
static void warden_sweep(struct warden *warden)
{
    size_t alive = 0;
    if (warden->state == WARDEN_RUNNING && warden->sweeps++ == 0)
        kill(-warden->child, SIGKILL);
    else
        (void)gw_subtree_signal(&(struct gw_subtree_options){.root = getpid(), .signal = SIGKILL},
                                &alive);
    warden->sweep_at_ns = gw_clock_now_ns() + warden->sweep_ns;
    if ((alive == 0 || warden->sweeps++ > SWEEPS_FAST) && warden->sweep_ns < SWEEP_MAX_NS)
        warden->sweep_ns *= 2;
}

/* To the process and all its descendants; 0: SIGTERM. */
static void warden_signal(const struct warden *warden, uint32_t number)
{
    size_t alive;
    int signal = number ? (int)number : SIGTERM;
    if (gw_subtree_signal(&(struct gw_subtree_options){.root = getpid(), .signal = signal},
                          &alive) < 0)
        kill(-warden->child, signal);
}

static void warden_on_signal(const struct warden *warden, const struct gw_msg_signal *signal)
{
    if (warden->state == WARDEN_RUNNING && warden->process == signal->process &&
        !warden->sweep_at_ns)
        warden_signal(warden, signal->signal);
}

static void warden_on_bury(struct warden *warden, const struct gw_msg_bury *bury)
{
    if (gw_turns_drop(&warden->turns, bury->process)) {
        warden_return(warden, bury->process, GW_ECANCELLED);
        return;
    }
    if (warden->state == WARDEN_IDLE || warden->state == WARDEN_EPILOG ||
        warden->process != bury->process || warden->sweep_at_ns)
        return;
    uint64_t now_ns = gw_clock_now_ns();
    uint64_t kill_at_ns =
        bury->grace_ns < UINT64_MAX - now_ns ? now_ns + bury->grace_ns : UINT64_MAX;
    if (bury->grace_ns == 0) {
        warden_kill(warden);
    } else if (warden->kill_at_ns == 0) {
        warden->kill_at_ns = kill_at_ns;
        warden_signal(warden, bury->signal);
    } else if (kill_at_ns < warden->kill_at_ns) {
        warden->kill_at_ns = kill_at_ns;
    }
}

static void warden_on_exit(struct warden *warden, int status)
{
    bool signalled = WIFSIGNALED(status);
    bool oom = signalled && WTERMSIG(status) == SIGKILL && !warden->killed &&
               gw_oom_kills() > warden->oom_kills;
    const struct gw_message message = {.type = GW_MESSAGE_exited,
                                       .exited = {.process = warden->process,
                                                  .exit_code = signalled ? 0 : WEXITSTATUS(status),
                                                  .signal = signalled ? WTERMSIG(status) : 0,
                                                  .oom = oom,
                                                  .unasked = !warden->killed && !warden->kill_at_ns,
                                                  .ran_ns = gw_clock_now_ns() - warden->began_ns}};
    warden->exit_code = signalled ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    warden_say_spawned(warden);
    warden_send(warden, &message);
    gw_sm_move(&warden_sm, &warden->state, WARDEN_LEFT);
}

static void warden_on_buried(struct warden *warden)
{
    gw_capture_close(&warden->out);
    gw_capture_close(&warden->err);
    gw_sm_move(&warden_sm, &warden->state, WARDEN_IDLE);
    const struct gw_message message = {.type = GW_MESSAGE_buried,
                                       .buried = {.process = warden->process}};
    warden_send(warden, &message);
    warden_next(warden);
}

/* What it prints goes to where errors went. */
static void warden_begin_epilog(struct warden *warden)
{
    struct gw_error error;
    char variable[32];
    pid_t ignored;
    (void)snprintf(variable, sizeof variable, "GANGWAY_EXIT_CODE=%d", warden->exit_code);
    const struct gw_spawn_options options = {.message = &warden->epilog,
                                             .in_fd = warden->null_fd,
                                             .out_fd = warden->err.fd,
                                             .err_fd = warden->err.fd,
                                             .runner_fd = -1,
                                             .variable = variable,
                                             .score = &warden->score};
    gw_sm_move(&warden_sm, &warden->state, WARDEN_EPILOG);
    gw_capture_name(&warden->out);
    gw_capture_name(&warden->err);
    warden->sweep_at_ns = 0;
    warden->kill_at_ns = gw_clock_now_ns() + EPILOG_NS;
    if (gw_spawn(&options, &ignored, &error) < 0)
        gw_log_warn("after process %llu: %s", (unsigned long long)warden->process, error.text);
    free(warden->epilog_block);
    warden->epilog_block = NULL;
    warden->epilog = (struct gw_msg_spawn){0};
}

static void warden_reap(struct warden *warden)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (warden->state == WARDEN_RUNNING && pid == warden->child)
            warden_on_exit(warden, status);
    bool none_left = pid < 0 && errno == ECHILD;
    if (warden->state == WARDEN_LEFT && none_left && warden->epilog.argv.size) {
        warden_begin_epilog(warden);
        none_left = waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD; /* it did not start */
    }
    if (warden->state == WARDEN_LEFT && !none_left && !warden->sweep_at_ns)
        warden_kill(warden);
    if ((warden->state == WARDEN_LEFT || warden->state == WARDEN_EPILOG) && none_left)
        warden_on_buried(warden);
}

static void warden_receive(struct warden *warden)
{
    struct gw_message message;
    int fds[GW_FRAME_FDS_MAX];
    uint8_t fd_count = 0;
    int rc;
    for (bool read = true;
         (rc = gw_channel_get(warden->channel, read, &message, fds, &fd_count, NULL)) == 0;
         read = false) { /* one read: the poll tells again */
        if (message.type == GW_MESSAGE_spawn)
            warden_on_spawn(warden, &message.spawn, message.spawn.runner && fd_count ? fds[0] : -1);
        else if (message.type == GW_MESSAGE_bury)
            warden_on_bury(warden, &message.bury);
        else if (message.type == GW_MESSAGE_signal)
            warden_on_signal(warden, &message.signal);
        for (uint8_t i = 0; i < fd_count; i++)
            close(fds[i]);
    }
    if (rc != GW_EAGAIN)
        warden->closed = true;
}

static void warden_tick(struct warden *warden)
{
    if (warden->state == WARDEN_IDLE)
        return;
    uint64_t now_ns = gw_clock_now_ns();
    if (warden->spawned_at_ns && now_ns >= warden->spawned_at_ns) {
        gw_capture_name(&warden->out); /* from now on others may look into them */
        gw_capture_name(&warden->err);
        warden_say_spawned(warden);
    }
    if (!warden->spawned_at_ns)
        warden_return_all(warden);
    if (warden->kill_at_ns && now_ns >= warden->kill_at_ns && !warden->sweep_at_ns)
        warden_kill(warden);
    if (warden->sweep_at_ns && now_ns >= warden->sweep_at_ns)
        warden_sweep(warden);
    if (warden->capture_at_ns && now_ns >= warden->capture_at_ns) {
        bool grew = gw_capture_check(&warden->out);
        grew = gw_capture_check(&warden->err) || grew;
        warden->capture_at_ns = now_ns + (grew ? CAPTURE_SOON_NS : CAPTURE_LATE_NS);
    }
}

static void warden_wait(struct warden *warden)
{
    uint64_t deadline_ns = UINT64_MAX;
    const uint64_t deadlines_ns[] = {warden->sweep_at_ns ? 0 : warden->kill_at_ns,
                                     warden->sweep_at_ns, warden->capture_at_ns,
                                     warden->spawned_at_ns};
    for (int i = 0; i < 4 && warden->state != WARDEN_IDLE; i++)
        if (deadlines_ns[i] && deadlines_ns[i] < deadline_ns)
            deadline_ns = deadlines_ns[i];

    uint64_t now_ns = gw_clock_now_ns();
    uint64_t wait_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    struct timespec wait = {(time_t)(wait_ns / GW_NS_PER_S), (long)(wait_ns % GW_NS_PER_S)};
    struct pollfd fds[] = {
        {.fd = warden->closed ? -1 : gw_channel_fd(warden->channel),
         .events = gw_channel_queued_bytes(warden->channel) ? POLLIN | POLLOUT : POLLIN},
        {.fd = warden->signal_fd, .events = POLLIN}};
    if (ppoll(fds, 2, deadline_ns == UINT64_MAX ? NULL : &wait, NULL) <= 0)
        return;
    if (fds[1].revents) {
        struct signalfd_siginfo ignored; /* SIGCHLD does not queue: there is one at most */
        (void)!read(warden->signal_fd, &ignored, sizeof ignored);
        warden_reap(warden);
    }
    if (fds[0].revents)
        warden_receive(warden);
}

void gw_warden_main(int fd)
{
    struct warden warden = {.out = GW_CAPTURE_CLOSED, .err = GW_CAPTURE_CLOSED};
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);

    /* the only descriptors: standard streams, the socket as 3, and what is opened here */
    if (dup2(fd, 3) < 0 || close_range(4, ~0U, 0) < 0 || fcntl(3, F_SETFD, FD_CLOEXEC) < 0)
        _exit(1);
    warden.signal_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
    warden.null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    /* Stopped by its own process, it goes on when the guardian ends, and buries. */
    if (warden.signal_fd < 0 || warden.null_fd < 0 || gw_channel_new(3, &warden.channel) < 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || prctl(PR_SET_PDEATHSIG, SIGCONT) < 0)
        _exit(1);
    (void)prctl(PR_SET_NAME, "gangway-warden");
    gw_oom_score_open(&warden.score);

    while (!warden.closed || warden.state != WARDEN_IDLE) {
        warden_wait(&warden);
        warden_tick(&warden);
        if (!warden.closed && gw_channel_flush(warden.channel) == GW_ECLOSED)
            warden.closed = true;
        /* Last before it waits, whoever of those above found that the guardian is gone. */
        if (warden.closed && warden.state != WARDEN_IDLE && warden.state != WARDEN_EPILOG &&
            !warden.sweep_at_ns)
            warden_kill(&warden);
    }
    _exit(0);
}
