/* The reaper: it starts one process, reports its end, and ends all its descendants.
 *
 * It is a child subreaper, so every orphan below it becomes its child. It has no descendants if
 * wait reports that it has no children. No scan is needed to know this, only to kill. Invariants:
 * `reaped` is sent after `exited` and after wait has reported no children. A new process is
 * accepted only then. The reaper has one thread, handles no signals, and reads them from a
 * descriptor. */
#include "worker/supervisor/reaper.h"

#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/log.h"
#include "graph/base/sm.h"
#include "graph/wire/channel.h"
#include "graph/wire/frame.h"
#include "worker/supervisor/capture.h"
#include "worker/supervisor/cgroup.h"
#include "worker/supervisor/oom.h"
#include "worker/supervisor/spawn.h"
#include "worker/supervisor/subtree.h"
#include "worker/supervisor/turns.h"

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
#define SWEEPS_FAST 500 /* number of sweeps at full speed, since a fork bomb must not be faster */
#define CAPTURE_SOON_NS (100 * GW_NS_PER_MS)
#define CAPTURE_LATE_NS GW_NS_PER_S
#define OOM_BASE_NS (100 * GW_NS_PER_MS)
#define SPAWNED_LATER_NS (4 * GW_NS_PER_MS)

#define EPILOG_NS (20 * GW_NS_PER_S)

enum { REAPER_IDLE, REAPER_RUNNING, REAPER_LEFT, REAPER_EPILOG };

static const struct gw_sm_state reaper_states[] = {
    [REAPER_IDLE] = {"idle", GW_SM_NEXT(REAPER_RUNNING)},
    [REAPER_RUNNING] = {"running", GW_SM_NEXT(REAPER_LEFT)},
    /* The process has ended, but descendants may be left */
    /* No descendant is left, and the epilog runs */
    [REAPER_LEFT] = {"left", GW_SM_NEXT(REAPER_IDLE) | GW_SM_NEXT(REAPER_EPILOG)},
    [REAPER_EPILOG] = {"epilog", GW_SM_NEXT(REAPER_IDLE)},
};
static const struct gw_sm reaper_sm = {"reaper", reaper_states, 4, NULL};

struct reaper {
    struct gw_channel *channel;
    int signal_fd, null_fd;
    struct gw_oom_score score;
    uint8_t state;
    uint64_t process;
    pid_t child;
    struct gw_capture out, err;
    uint64_t kill_at_ns;  /* when KILL follows TERM; 0: no TERM was sent */
    uint64_t sweep_at_ns; /* time of the next KILL of all that is left; 0: not killing */
    uint64_t sweep_ns;    /* pause after that */
    uint32_t sweeps;
    uint64_t capture_at_ns;
    uint64_t spawned_at_ns; /* when to send `spawned`; 0: already sent */
    uint64_t began_ns, began_cpu_ns;
    struct gw_turns turns;
    bool killed; /* this reaper has sent SIGKILL */
    uint64_t oom_kills, oom_read_ns;
    bool closed;
    struct gw_cgroup cgroup;
    struct gw_msg_spawn epilog; /* program to run when no descendant is left; argv.size 0: none */
    void *epilog_block;         /* memory of epilog; owned */
    int exit_code;              /* exit code for the epilog, in the form that shells use */
};

static void reaper_send(struct reaper *reaper, const struct gw_message *message)
{
    if (gw_channel_put(reaper->channel, message, (struct gw_channel_fds){0}) < 0)
        reaper->closed = true;
}

static void reaper_refuse(struct reaper *reaper, uint64_t process, const struct gw_error *error)
{
    const struct gw_message message = {
        .type = GW_MESSAGE_spawned,
        .spawned = {.process = process, .code = error->code, .text = error->text}};
    gw_capture_close(&reaper->out);
    gw_capture_close(&reaper->err);
    reaper_send(reaper, &message);
}

/* Reports that a waiting process was not started. */
static void reaper_return(struct reaper *reaper, uint64_t process, int code)
{
    const struct gw_message message = {
        .type = GW_MESSAGE_spawned,
        .spawned = {.process = process, .code = code, .text = "not begun"}};
    reaper_send(reaper, &message);
}

static void reaper_return_all(struct reaper *reaper)
{
    while (reaper->turns.list.count) {
        uint64_t process = reaper->turns.list.items[0].process;
        (void)gw_turns_drop(&reaper->turns, process);
        reaper_return(reaper, process, GW_EAGAIN);
    }
}

/* Reads how many processes were killed for memory before this process was started. This is done
 * rarely, since /proc/vmstat is large. */
static void reaper_oom_base(struct reaper *reaper)
{
    uint64_t now_ns = gw_clock_now_ns();
    if (reaper->oom_read_ns && now_ns - reaper->oom_read_ns < OOM_BASE_NS)
        return;
    reaper->oom_kills = gw_oom_kills();
    reaper->oom_read_ns = now_ns;
}

/* Creates a folder, which mostly exists already. */
static int folder_make(const char *path, struct gw_error *error)
{
    return mkdir(path, 0700) == 0 || errno == EEXIST ? 0 : gw_dir_make(path, error);
}

/* Stores the epilog as a spawn message with copies of its data. */
static void copy_epilog(struct reaper *reaper, const struct gw_msg_spawn *spawn)
{
    if (!spawn->epilog.size)
        return;
    char *copy = malloc((size_t)spawn->epilog.size + spawn->env.size);
    GW_MUST_PTR(copy);
    memcpy(copy, spawn->epilog.data, spawn->epilog.size);
    if (spawn->env.size)
        memcpy(copy + spawn->epilog.size, spawn->env.data, spawn->env.size);
    reaper->epilog_block = copy;
    reaper->epilog = (struct gw_msg_spawn){.process = spawn->process,
                                           .path = "", /* argv[0] is used */
                                           .argv = {copy, spawn->epilog.size},
                                           .env = {copy + spawn->epilog.size, spawn->env.size},
                                           .cwd = "/",
                                           .cpus = ""};
}

/* Opens a capture file. That of a runner has a name at once, since it is looked up by name. */
static int capture_open(struct gw_capture *capture, const char *path,
                        const struct gw_msg_spawn *spawn, struct gw_error *error)
{
    const struct gw_capture_options options = {.path = path,
                                               .bytes_max = spawn->output_bytes_max,
                                               .named = spawn->runner,
                                               .held = spawn->held};
    return gw_capture_open(capture, &options, error);
}

static void reaper_start(struct reaper *reaper, const struct gw_msg_spawn *spawn, int fd)
{
    struct gw_error error;
    if ((*spawn->checkpoints && folder_make(spawn->checkpoints, &error) < 0) ||
        capture_open(&reaper->out, spawn->out, spawn, &error) < 0 ||
        capture_open(&reaper->err, spawn->err, spawn, &error) < 0) {
        reaper_refuse(reaper, spawn->process, &error);
        return;
    }
    reaper_oom_base(reaper);
    if (gw_cgroup_make(&reaper->cgroup, spawn, &error) < 0) {
        reaper_refuse(reaper, spawn->process, &error);
        return;
    }
    const struct gw_spawn_options options = {.message = spawn,
                                             .cgroup_fd = reaper->cgroup.procs_fd,
                                             .in_fd = spawn->in ? fd : reaper->null_fd,
                                             .out_fd = gw_capture_child_fd(&reaper->out),
                                             .err_fd = gw_capture_child_fd(&reaper->err),
                                             .runner_fd = spawn->in ? -1 : fd,
                                             .score = &reaper->score};
    int rc = gw_spawn(&options, &reaper->child, &error);
    gw_capture_started(&reaper->out);
    gw_capture_started(&reaper->err);
    if (rc < 0) {
        gw_cgroup_end(&reaper->cgroup);
        reaper_refuse(reaper, spawn->process, &error);
        return;
    }
    gw_sm_move(&reaper_sm, &reaper->state, REAPER_RUNNING);
    reaper->process = spawn->process;
    copy_epilog(reaper, spawn);
    reaper->kill_at_ns = reaper->sweep_at_ns = 0;
    reaper->killed = false;
    reaper->capture_at_ns = spawn->output_bytes_max ? gw_clock_now_ns() + CAPTURE_SOON_NS : 0;
    reaper->began_ns = gw_clock_now_ns();
    reaper->began_cpu_ns = gw_clock_cpu_ns(false); /* of the processes before this one */
    reaper->spawned_at_ns = reaper->began_ns + SPAWNED_LATER_NS;
}

/* Sends all earlier reports before a start, since the new process may kill the reaper. Returns
 * false if the supervisor is gone. */
static bool reaper_may_start(struct reaper *reaper)
{
    reaper->closed = reaper->closed || gw_channel_flush(reaper->channel) == GW_ECLOSED;
    return !reaper->closed;
}

/* A command may wait here only as long as `spawned` of the present process is not sent. */
static void reaper_on_spawn(struct reaper *reaper, const struct gw_msg_spawn *spawn, int fd)
{
    if (reaper->state == REAPER_IDLE && reaper_may_start(reaper))
        reaper_start(reaper, spawn, fd);
    else if (reaper->spawned_at_ns && !spawn->runner)
        gw_turns_add(&reaper->turns, spawn);
    else
        reaper_return(reaper, spawn->process, GW_EAGAIN);
}

static void reaper_next(struct reaper *reaper)
{
    struct gw_msg_spawn spawn;
    while (reaper->state == REAPER_IDLE && reaper->turns.list.count && reaper_may_start(reaper))
        if (gw_turns_take(&reaper->turns, &spawn))
            reaper_start(reaper, &spawn, -1);
}

/* `spawned` is sent with a delay: if the process has ended by then, one message reports everything.
 * This saves two wake-ups of other processes during the start. */
static void reaper_say_spawned(struct reaper *reaper)
{
    const struct gw_message message = {
        .type = GW_MESSAGE_spawned,
        .spawned = {.process = reaper->process, .pid = (uint32_t)reaper->child}};
    if (reaper->spawned_at_ns)
        reaper_send(reaper, &message);
    reaper->spawned_at_ns = 0;
}

static void reaper_kill(struct reaper *reaper)
{
    reaper->killed = true;
    gw_cgroup_kill(&reaper->cgroup);
    reaper->sweep_at_ns = gw_clock_now_ns();
    reaper->sweep_ns = SWEEP_MIN_NS;
    reaper->sweeps = 0;
}

/* Kills the process and its group first, at once. Mostly no other process is left. */
static void reaper_sweep(struct reaper *reaper)
{
    size_t alive = 0;
    if (reaper->state == REAPER_RUNNING && reaper->sweeps++ == 0)
        kill(-reaper->child, SIGKILL);
    else
        (void)gw_subtree_signal(&(struct gw_subtree_options){.root = getpid(), .signal = SIGKILL},
                                &alive);
    reaper->sweep_at_ns = gw_clock_now_ns() + reaper->sweep_ns;
    if ((alive == 0 || reaper->sweeps++ > SWEEPS_FAST) && reaper->sweep_ns < SWEEP_MAX_NS)
        reaper->sweep_ns *= 2;
}

/* Signals the process and all its descendants. 0: SIGTERM. */
static void reaper_signal(const struct reaper *reaper, uint32_t number)
{
    size_t alive;
    int signal = number ? (int)number : SIGTERM;
    if (gw_subtree_signal(&(struct gw_subtree_options){.root = getpid(), .signal = signal},
                          &alive) < 0)
        kill(-reaper->child, signal);
}

static void reaper_on_signal(const struct reaper *reaper, const struct gw_msg_signal *signal)
{
    if (reaper->state == REAPER_RUNNING && reaper->process == signal->process &&
        !reaper->sweep_at_ns)
        reaper_signal(reaper, signal->signal);
}

static void reaper_on_read(struct reaper *reaper, const struct gw_msg_output_read *read)
{
    if (reaper->state != REAPER_IDLE && reaper->process == read->process)
        gw_capture_on_read(read->stream == 2 ? &reaper->err : &reaper->out, read->offset);
}

static void reaper_on_reap(struct reaper *reaper, const struct gw_msg_reap *reap)
{
    if (gw_turns_drop(&reaper->turns, reap->process)) {
        reaper_return(reaper, reap->process, GW_ECANCELLED);
        return;
    }
    if (reaper->state == REAPER_IDLE || reaper->state == REAPER_EPILOG ||
        reaper->process != reap->process || reaper->sweep_at_ns)
        return;
    gw_capture_on_read(&reaper->out, UINT64_MAX); /* the last output need not wait for the reader */
    gw_capture_on_read(&reaper->err, UINT64_MAX);
    uint64_t now_ns = gw_clock_now_ns();
    uint64_t kill_at_ns =
        reap->grace_ns < UINT64_MAX - now_ns ? now_ns + reap->grace_ns : UINT64_MAX;
    if (reap->grace_ns == 0) {
        reaper_kill(reaper);
    } else if (reaper->kill_at_ns == 0) {
        reaper->kill_at_ns = kill_at_ns;
        reaper_signal(reaper, reap->signal);
    } else if (kill_at_ns < reaper->kill_at_ns) {
        reaper->kill_at_ns = kill_at_ns;
    }
}

static void reaper_on_exit(struct reaper *reaper, int status)
{
    bool signalled = WIFSIGNALED(status);
    bool oom = signalled && WTERMSIG(status) == SIGKILL && !reaper->killed &&
               gw_oom_kills() > reaper->oom_kills;
    const struct gw_message message = {.type = GW_MESSAGE_exited,
                                       .exited = {.process = reaper->process,
                                                  .exit_code = signalled ? 0 : WEXITSTATUS(status),
                                                  .signal = signalled ? WTERMSIG(status) : 0,
                                                  .oom = oom,
                                                  .unasked = !reaper->killed && !reaper->kill_at_ns,
                                                  .ran_ns = gw_clock_now_ns() - reaper->began_ns}};
    reaper->exit_code = signalled ? 128 + WTERMSIG(status) : WEXITSTATUS(status);
    reaper_say_spawned(reaper);
    reaper_send(reaper, &message);
    gw_sm_move(&reaper_sm, &reaper->state, REAPER_LEFT);
}

static void reaper_on_reaped(struct reaper *reaper)
{
    gw_capture_close(&reaper->out);
    gw_capture_close(&reaper->err);
    const uint64_t peak_bytes = gw_cgroup_peak(&reaper->cgroup);
    gw_cgroup_end(&reaper->cgroup);
    gw_sm_move(&reaper_sm, &reaper->state, REAPER_IDLE);
    const struct gw_message message = {
        .type = GW_MESSAGE_reaped,
        .reaped = {.process = reaper->process,
                   .cpu_ns = gw_clock_cpu_ns(false) - reaper->began_cpu_ns,
                   .peak_bytes = peak_bytes}};
    reaper_send(reaper, &message);
    reaper_next(reaper);
}

/* The output of the epilog goes to the stderr file of the process. */
static void reaper_begin_epilog(struct reaper *reaper)
{
    struct gw_error error;
    char variable[32];
    pid_t ignored;
    (void)snprintf(variable, sizeof variable, "GANGWAY_EXIT_CODE=%d", reaper->exit_code);
    const struct gw_spawn_options options = {.message = &reaper->epilog,
                                             .in_fd = reaper->null_fd,
                                             .out_fd = reaper->err.fd,
                                             .err_fd = reaper->err.fd,
                                             .runner_fd = -1,
                                             .variable = variable,
                                             .cgroup_fd = reaper->cgroup.procs_fd,
                                             .score = &reaper->score};
    gw_sm_move(&reaper_sm, &reaper->state, REAPER_EPILOG);
    gw_capture_drain(&reaper->out);
    gw_capture_drain(&reaper->err);
    gw_capture_name(&reaper->out);
    gw_capture_name(&reaper->err);
    reaper->sweep_at_ns = 0;
    reaper->kill_at_ns = gw_clock_now_ns() + EPILOG_NS;
    if (gw_spawn(&options, &ignored, &error) < 0)
        gw_log_warn("cannot run the epilog of process %llu: %s",
                    (unsigned long long)reaper->process, error.text);
    free(reaper->epilog_block);
    reaper->epilog_block = NULL;
    reaper->epilog = (struct gw_msg_spawn){0};
}

static void reaper_reap(struct reaper *reaper)
{
    int status;
    pid_t pid;
    while ((pid = waitpid(-1, &status, WNOHANG)) > 0)
        if (reaper->state == REAPER_RUNNING && pid == reaper->child)
            reaper_on_exit(reaper, status);
    bool none_left = pid < 0 && errno == ECHILD;
    if (reaper->state == REAPER_LEFT && none_left && reaper->epilog.argv.size) {
        reaper_begin_epilog(reaper);
        /* The epilog could not be started */
        none_left = waitpid(-1, &status, WNOHANG) < 0 && errno == ECHILD;
    }
    if (reaper->state == REAPER_LEFT && !none_left && !reaper->sweep_at_ns)
        reaper_kill(reaper);
    if ((reaper->state == REAPER_LEFT || reaper->state == REAPER_EPILOG) && none_left)
        reaper_on_reaped(reaper);
}

static void reaper_receive(struct reaper *reaper)
{
    struct gw_message message;
    int fds[GW_FRAME_FDS_MAX];
    uint8_t fd_count = 0;
    int rc;
    for (bool read = true;
         (rc = gw_channel_get(reaper->channel, read, &message, fds, &fd_count, NULL)) == 0;
         read = false) { /* only one read, since poll reports again */
        if (message.type == GW_MESSAGE_spawn)
            reaper_on_spawn(reaper, &message.spawn, fd_count ? fds[0] : -1);
        else if (message.type == GW_MESSAGE_reap)
            reaper_on_reap(reaper, &message.reap);
        else if (message.type == GW_MESSAGE_signal)
            reaper_on_signal(reaper, &message.signal);
        else if (message.type == GW_MESSAGE_output_read)
            reaper_on_read(reaper, &message.output_read);
        for (uint8_t i = 0; i < fd_count; i++)
            close(fds[i]);
    }
    if (rc != GW_EAGAIN)
        reaper->closed = true;
}

static void reaper_tick(struct reaper *reaper)
{
    if (reaper->state == REAPER_IDLE)
        return;
    uint64_t now_ns = gw_clock_now_ns();
    if (reaper->spawned_at_ns && now_ns >= reaper->spawned_at_ns) {
        gw_capture_name(&reaper->out); /* from now on, others may read the files */
        gw_capture_name(&reaper->err);
        reaper_say_spawned(reaper);
    }
    if (!reaper->spawned_at_ns)
        reaper_return_all(reaper);
    if (reaper->kill_at_ns && now_ns >= reaper->kill_at_ns && !reaper->sweep_at_ns)
        reaper_kill(reaper);
    if (reaper->sweep_at_ns && now_ns >= reaper->sweep_at_ns)
        reaper_sweep(reaper);
    if (reaper->capture_at_ns && now_ns >= reaper->capture_at_ns) {
        bool grew = gw_capture_check(&reaper->out);
        grew = gw_capture_check(&reaper->err) || grew;
        reaper->capture_at_ns = now_ns + (grew ? CAPTURE_SOON_NS : CAPTURE_LATE_NS);
    }
}

static void reaper_wait(struct reaper *reaper)
{
    uint64_t deadline_ns = UINT64_MAX;
    const uint64_t deadlines_ns[] = {reaper->sweep_at_ns ? 0 : reaper->kill_at_ns,
                                     reaper->sweep_at_ns, reaper->capture_at_ns,
                                     reaper->spawned_at_ns};
    for (int i = 0; i < 4 && reaper->state != REAPER_IDLE; i++)
        if (deadlines_ns[i] && deadlines_ns[i] < deadline_ns)
            deadline_ns = deadlines_ns[i];

    uint64_t now_ns = gw_clock_now_ns();
    uint64_t wait_ns = deadline_ns > now_ns ? deadline_ns - now_ns : 0;
    struct timespec wait = {(time_t)(wait_ns / GW_NS_PER_S), (long)(wait_ns % GW_NS_PER_S)};
    struct pollfd fds[] = {
        {.fd = reaper->closed ? -1 : gw_channel_fd(reaper->channel),
         .events = gw_channel_queued_bytes(reaper->channel) ? POLLIN | POLLOUT : POLLIN},
        {.fd = reaper->signal_fd, .events = POLLIN},
        {.fd = gw_capture_poll_fd(&reaper->out), .events = POLLIN},
        {.fd = gw_capture_poll_fd(&reaper->err), .events = POLLIN}};
    if (ppoll(fds, 4, deadline_ns == UINT64_MAX ? NULL : &wait, NULL) <= 0)
        return;
    if (fds[2].revents)
        gw_capture_copy(&reaper->out);
    if (fds[3].revents)
        gw_capture_copy(&reaper->err);
    if (fds[1].revents) {
        struct signalfd_siginfo ignored; /* SIGCHLD does not queue, so there is at most one */
        (void)!read(reaper->signal_fd, &ignored, sizeof ignored);
        reaper_reap(reaper);
    }
    if (fds[0].revents)
        reaper_receive(reaper);
}

void gw_reaper_main(int fd)
{
    struct reaper reaper = {
        .out = GW_CAPTURE_CLOSED, .err = GW_CAPTURE_CLOSED, .cgroup = GW_CGROUP_NONE};
    sigset_t chld;
    sigemptyset(&chld);
    sigaddset(&chld, SIGCHLD);

    /* Keep only the standard streams and the socket as descriptor 3 */
    if (dup2(fd, 3) < 0 || close_range(4, ~0U, 0) < 0 || fcntl(3, F_SETFD, FD_CLOEXEC) < 0)
        _exit(1);
    reaper.signal_fd = signalfd(-1, &chld, SFD_CLOEXEC | SFD_NONBLOCK);
    reaper.null_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    /* If its process has stopped this reaper, SIGCONT continues it when the supervisor ends. */
    if (reaper.signal_fd < 0 || reaper.null_fd < 0 || gw_channel_new(3, &reaper.channel) < 0 ||
        prctl(PR_SET_CHILD_SUBREAPER, 1) < 0 || prctl(PR_SET_PDEATHSIG, SIGCONT) < 0)
        _exit(1);
    (void)prctl(PR_SET_NAME, "gangway-reaper");
    gw_oom_score_open(&reaper.score);

    while (!reaper.closed || reaper.state != REAPER_IDLE) {
        reaper_wait(&reaper);
        reaper_tick(&reaper);
        if (!reaper.closed && gw_channel_flush(reaper.channel) == GW_ECLOSED)
            reaper.closed = true;
        /* Must come last before the wait: any step above may find that the supervisor is gone. */
        if (reaper.closed && reaper.state != REAPER_IDLE && reaper.state != REAPER_EPILOG &&
            !reaper.sweep_at_ns)
            reaper_kill(&reaper);
    }
    _exit(0);
}
