/* The companion connects a program with the tunnel of the user who asked for it. It has one thread
 * and one poll loop.
 *
 * Invariants: output of the program is read only after all earlier output was written to the
 * tunnel. The tunnel is read only after the program has taken all earlier input. So neither side
 * can fill this process's memory. The supervisor ends the processes that the program leaves. */
#include "worker/companion/companion.h"

#include "graph/base/exec_search.h"
#include "graph/wire/console.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum { TUNNEL_FD = 3 };

struct companion {
    struct winsize size; /* rows 0: no terminal */
    pid_t child;
    int child_fd; /* pidfd of the program */
    /* This process's ends of the streams; a terminal has one for all; -1: closed */
    int in, out, err;
    struct gw_console console;
    struct gw_bin rest; /* input for the program that was not written yet; points into console */
    bool ending;        /* the user has closed the input */
    bool gone;          /* the tunnel is closed */
    bool refused;       /* the kernel refused to execute the program */
};

/* -- The rank ------------------------------------------------------------------------------------
 */

/* Reads the environment with which a process was started. Returns -1 if there is no such process.
 */
static ssize_t read_environment(pid_t pid, char *text, size_t size)
{
    char path[64];
    (void)snprintf(path, sizeof path, "/proc/%d/environ", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    size_t bytes = 0;
    ssize_t got = fd < 0 ? -1 : 1;
    while (got > 0 && bytes < size) {
        got = read(fd, text + bytes, size - bytes);
        bytes += got > 0 ? (size_t)got : 0;
    }
    if (fd >= 0)
        close(fd);
    return got < 0 ? -1 : (ssize_t)bytes;
}

/* Returns true if the program must get this variable of the rank's environment. It must not get
 * GANGWAY_RUNNER_FD: each program that calls gw_init would behave like that runner. */
static bool goes_along(const char *entry)
{
    static const char runner[] = "GANGWAY_RUNNER_FD=";
    return strncmp(entry, runner, sizeof runner - 1) != 0;
}

/* Takes over the environment and the folder of a rank's process: only this process may have the
 * rights to read them. Returns false if the rank has ended. A process has no environment for a
 * moment during exec, and a rank in a container calls exec several times. So an empty environment
 * is read again. */
static bool join_rank(pid_t pid)
{
    enum { TRIES = 40, BYTES_MAX = 1 << 20 };
    static char text[BYTES_MAX + 1];
    const struct timespec moment = {.tv_nsec = 500000};
    char link[64], folder[PATH_MAX];
    (void)snprintf(link, sizeof link, "/proc/%d/cwd", (int)pid);
    const ssize_t length = readlink(link, folder, sizeof folder - 1);
    ssize_t bytes = read_environment(pid, text, BYTES_MAX);
    for (int i = 0; bytes == 0 && i < TRIES; i++) {
        (void)nanosleep(&moment, NULL);
        bytes = read_environment(pid, text, BYTES_MAX);
    }
    if (bytes <= 0 || length < 0)
        return false;
    folder[length] = '\0';
    if (chdir(folder) < 0 || clearenv() != 0)
        return false;
    for (char *at = text; at < text + bytes; at += strlen(at) + 1)
        if (goes_along(at) && strchr(at, '=') && putenv(at) != 0)
            return false;
    return true;
}

/* -- To the tunnel -------------------------------------------------------------------------------
 */

static void put(struct companion *companion, const void *data, size_t bytes)
{
    const char *at = data;
    while (bytes > 0 && !companion->gone) {
        ssize_t sent = write(TUNNEL_FD, at, bytes);
        if (sent < 0 && errno != EINTR)
            companion->gone = true;
        if (sent > 0) {
            at += sent;
            bytes -= (size_t)sent;
        }
    }
}

static void put_frame(struct companion *companion, enum gw_console_kind kind, const void *data,
                      size_t bytes)
{
    uint8_t head[GW_CONSOLE_HEAD_BYTES];
    gw_console_head(head, kind, (uint32_t)bytes);
    put(companion, head, sizeof head);
    put(companion, data, bytes);
}

/* -- The program ---------------------------------------------------------------------------------
 */

/* Executes the program in the child. It returns only if that fails; errno is the reason. */
static void become(const struct companion *companion, char **argv, const int fds[3])
{
    sigset_t none;
    sigemptyset(&none);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (setsid() < 0)
        return;
    if (companion->size.ws_row && ioctl(fds[0], TIOCSCTTY, 0) < 0)
        return;
    for (int i = 0; i < 3; i++)
        if (dup2(fds[i], i) < 0)
            return;
    if (companion->size.ws_row)
        (void)setenv("TERM", getenv("TERM") ? getenv("TERM") : "xterm-256color", 1);
    (void)signal(SIGPIPE, SIG_DFL);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
    execvp(argv[0], argv);
}

/* Opens a terminal or three pipes. ours[i] and theirs[i] are the two ends of stream i. */
static int open_streams(const struct companion *companion, int ours[3], int theirs[3])
{
    if (companion->size.ws_row) {
        int primary = posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC);
        const char *name = primary >= 0 && grantpt(primary) == 0 && unlockpt(primary) == 0
                               ? ptsname(primary)
                               : NULL;
        int secondary = name ? open(name, O_RDWR | O_NOCTTY | O_CLOEXEC) : -1;
        if (secondary < 0 || ioctl(secondary, TIOCSWINSZ, &companion->size) < 0)
            return -1;
        ours[0] = ours[1] = primary;
        ours[2] = -1;
        theirs[0] = theirs[1] = theirs[2] = secondary;
        return 0;
    }
    for (int i = 0; i < 3; i++) {
        int pair[2];
        if (pipe2(pair, O_CLOEXEC) < 0)
            return -1;
        ours[i] = pair[i == 0];
        theirs[i] = pair[i != 0];
    }
    return 0;
}

static int start(struct companion *companion, char **argv)
{
    int ours[3], theirs[3], report[2];
    if (open_streams(companion, ours, theirs) < 0 || pipe2(report, O_CLOEXEC) < 0)
        return -1;
    companion->child = fork();
    if (companion->child < 0)
        return -1;
    if (companion->child == 0) {
        become(companion, argv, theirs);
        int why = errno;
        ssize_t ignored = write(report[1], &why, sizeof why);
        (void)ignored;
        _exit(127);
    }
    close(report[1]);
    for (int i = 0; i < 3; i++)
        if (i == 0 || theirs[i] != theirs[0])
            close(theirs[i]);
    int why = 0;
    ssize_t got;
    while ((got = read(report[0], &why, sizeof why)) < 0 && errno == EINTR)
        ;
    close(report[0]);
    if (got == sizeof why) {
        (void)waitpid(companion->child, NULL, 0);
        companion->refused = true;
        errno = gw_exec_search_refusal(argv[0], getenv("PATH"), why);
        return -1;
    }
    companion->in = ours[0];
    companion->out = ours[1];
    companion->err = ours[2];
    companion->child_fd = (int)syscall(SYS_pidfd_open, companion->child, 0);
    return companion->child_fd < 0 || fcntl(companion->in, F_SETFL, O_NONBLOCK) < 0 ? -1 : 0;
}

/* -- From the tunnel -----------------------------------------------------------------------------
 */

static void close_in(struct companion *companion)
{
    /* A terminal cannot be closed in one direction, so send ^D as a person would type it */
    if (companion->size.ws_row) {
        ssize_t ignored = write(companion->in, "\x04", 1);
        (void)ignored;
    } else if (companion->in >= 0) {
        close(companion->in);
        companion->in = -1;
    }
}

static void feed(struct companion *companion)
{
    while (companion->rest.size > 0 && companion->in >= 0) {
        ssize_t taken = write(companion->in, companion->rest.data, companion->rest.size);
        if (taken < 0 && (errno == EAGAIN || errno == EINTR))
            return;
        if (taken < 0) { /* the program does not read any more */
            close_in(companion);
            break;
        }
        companion->rest.data = (const char *)companion->rest.data + taken;
        companion->rest.size -= (uint32_t)taken;
    }
    companion->rest.size = 0;
}

static void on_frame(struct companion *companion, uint8_t kind, struct gw_bin data)
{
    const uint8_t *bytes = data.data;
    if (kind == GW_CONSOLE_IN && data.size > 0) {
        companion->rest = data;
        feed(companion);
    } else if (kind == GW_CONSOLE_IN && !companion->ending) {
        companion->ending = true;
        close_in(companion);
    } else if (kind == GW_CONSOLE_SIZE && data.size == 4 && companion->size.ws_row) {
        companion->size.ws_row = (unsigned short)(bytes[0] | bytes[1] << 8);
        companion->size.ws_col = (unsigned short)(bytes[2] | bytes[3] << 8);
        (void)ioctl(companion->in, TIOCSWINSZ, &companion->size);
    } else if (kind == GW_CONSOLE_SIGNAL && data.size == 1) {
        (void)kill(-companion->child, bytes[0]);
    }
}

static void take_frames(struct companion *companion)
{
    uint8_t kind;
    struct gw_bin data;
    int rc = 0;
    while (companion->rest.size == 0 &&
           (rc = gw_console_next(&companion->console, &kind, &data)) > 0)
        on_frame(companion, kind, data);
    if (rc < 0)
        companion->gone = true;
}

static void on_tunnel(struct companion *companion)
{
    char data[GW_CONSOLE_BYTES_MAX];
    ssize_t got = read(TUNNEL_FD, data, sizeof data);
    if (got == 0 || (got < 0 && errno != EINTR))
        companion->gone = true;
    else if (got > 0 && gw_console_feed(&companion->console, data, (size_t)got) < 0)
        companion->gone = true; /* out of memory: close instead of losing input */
    else if (got > 0)
        take_frames(companion);
}

/* Passes available output on. Returns false at its end. */
static bool on_output(struct companion *companion, int fd, enum gw_console_kind kind)
{
    char data[GW_CONSOLE_BYTES_MAX];
    ssize_t got = read(fd, data, sizeof data);
    if (got > 0)
        put_frame(companion, kind, data, (size_t)got);
    return got > 0 || (got < 0 && (errno == EINTR || errno == EAGAIN));
}

/* -- The loop ------------------------------------------------------------------------------------
 */

/* Waits for events and handles them. Returns false if the program has ended. */
static bool turn(struct companion *companion)
{
    enum { CHILD, TUNNEL, IN, OUT, ERR, COUNT };
    struct pollfd polled[COUNT] = {
        [CHILD] = {companion->child_fd, POLLIN, 0},
        [TUNNEL] = {companion->rest.size ? -1 : TUNNEL_FD, POLLIN, 0},
        [IN] = {companion->rest.size ? companion->in : -1, POLLOUT, 0},
        [OUT] = {companion->out, POLLIN, 0},
        [ERR] = {companion->err, POLLIN, 0},
    };
    if (poll(polled, COUNT, -1) < 0)
        return true;
    if (polled[OUT].revents && !on_output(companion, companion->out, GW_CONSOLE_OUT))
        companion->out = -1;
    if (polled[ERR].revents && !on_output(companion, companion->err, GW_CONSOLE_ERR))
        companion->err = -1;
    if (polled[IN].revents) {
        feed(companion);
        take_frames(companion);
    }
    if (polled[TUNNEL].revents)
        on_tunnel(companion);
    return !polled[CHILD].revents;
}

/* Passes on what the program wrote before it ended. It does not wait for the end of the streams,
 * since other processes may keep them open. */
static void drain(struct companion *companion)
{
    struct pollfd polled[2] = {{companion->out, POLLIN, 0}, {companion->err, POLLIN, 0}};
    while (!companion->gone && poll(polled, 2, 0) > 0) {
        if (polled[0].revents && !on_output(companion, polled[0].fd, GW_CONSOLE_OUT))
            polled[0].fd = -1;
        if (polled[1].revents && !on_output(companion, polled[1].fd, GW_CONSOLE_ERR))
            polled[1].fd = -1;
    }
}

static void tell_end(struct companion *companion)
{
    int status = 0;
    while (waitpid(companion->child, &status, 0) < 0 && errno == EINTR)
        ;
    const uint8_t end[2] = {WIFEXITED(status) ? (uint8_t)WEXITSTATUS(status) : 0,
                            WIFSIGNALED(status) ? (uint8_t)WTERMSIG(status) : 0};
    put_frame(companion, GW_CONSOLE_EXIT, end, sizeof end);
}

/* Reports a program that could not be started. If the kernel refused it, this looks as in a shell:
 * a text on standard error, and exit code 127 if there is no such program, otherwise 126. */
static void tell_not_started(struct companion *companion, const char *program, int why)
{
    char text[512];
    int bytes = snprintf(text, sizeof text, "cannot start %.400s: %s", program, strerror(why));
    const uint8_t end[2] = {why == ENOENT ? 127 : 126, 0};
    if (!companion->refused) {
        put_frame(companion, GW_CONSOLE_FAILED, text, (size_t)bytes);
        return;
    }
    /* The user's terminal is in raw mode */
    bytes = snprintf(text, sizeof text, "gangway: cannot start %.400s: %s%s", program,
                     strerror(why), companion->size.ws_row ? "\r\n" : "\n");
    put_frame(companion, GW_CONSOLE_ERR, text, (size_t)bytes);
    put_frame(companion, GW_CONSOLE_EXIT, end, sizeof end);
}

int gw_companion_main(int argc, char **argv)
{
    static const char ended[] = "the rank has ended";
    struct companion companion = {.in = -1, .out = -1, .err = -1};
    unsigned rows, columns;
    int pid;
    if (argc < 3 || sscanf(argv[1], "%ux%u@%d", &rows, &columns, &pid) != 3) {
        fprintf(stderr, "gangway companion: only a worker may start this command\n");
        return EXIT_FAILURE;
    }
    companion.size.ws_row = (unsigned short)rows;
    companion.size.ws_col = (unsigned short)columns;
    (void)signal(SIGPIPE, SIG_IGN);
    if (pid && !join_rank(pid)) {
        put_frame(&companion, GW_CONSOLE_FAILED, ended, sizeof ended - 1);
        return EXIT_FAILURE;
    }
    if (start(&companion, argv + 2) < 0) {
        tell_not_started(&companion, argv[2], errno);
        return EXIT_FAILURE;
    }
    while (!companion.gone && turn(&companion))
        ;
    if (companion.gone)
        (void)kill(-companion.child, SIGHUP); /* the supervisor ends the rest */
    else
        drain(&companion);
    if (!companion.gone)
        tell_end(&companion);
    gw_console_deinit(&companion.console);
    return EXIT_SUCCESS;
}
