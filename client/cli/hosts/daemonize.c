/* Starts the worker daemon in the background. The daemon reads its token from a pipe and reports
 * over another pipe that it is ready. Until then, standard input is the lifeline of the caller: if
 * it ends, the caller does not want the worker any more. */
#include "client/cli/hosts/daemonize.h"

#include "client/cli/lib/cli.h"
#include "client/deploy/cluster.h"
#include "graph/base/clock.h"
#include "graph/wire/token_file.h"
#include "worker/net/worker.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/wait.h>
#include <unistd.h>

enum {
    START_TIMEOUT_S = 20,
    STOP_TIMEOUT_S = 5,
    FOUND_TIMEOUT_S = 10,
    LINE_BYTES = 1024,
    OPTIONS = 6
};
enum { FOUND_POLL_US = 20000 };

struct background {
    char text[4 * GW_TOKEN_TEXT_BYTES]; /* text of the token */
    int token[2], ready[2];             /* pipes */
    char alive[PATH_MAX];               /* lock file of a running worker with this name */
    int log;
    off_t log_from; /* offset at which this daemon's log begins */
    pid_t pid;
};

/* Reads one line and no byte after it. */
static int read_token(struct background *background, struct gw_error *error)
{
    size_t got = 0;
    struct gw_token token;
    while (got < sizeof background->text - 1) {
        ssize_t bytes = read(STDIN_FILENO, background->text + got, 1);
        if (bytes < 0 && errno == EINTR)
            continue;
        if (bytes <= 0 || background->text[got] == '\n')
            break;
        got++;
    }
    background->text[got] = '\0';
    int rc = gw_token_parse(background->text, &token, error);
    explicit_bzero(&token, sizeof token);
    return rc < 0 ? gw_error_prefix(error, "--background reads a token from stdin") : 0;
}

static int prepare(struct background *background, const char *dir, struct gw_error *error)
{
    char path[PATH_MAX];
    int null, rc = read_token(background, error);
    if (rc < 0)
        return rc;
    do /* make sure that descriptors 0 to 2 are open */
        null = open("/dev/null", O_RDWR | O_CLOEXEC);
    while (null >= 0 && null <= STDERR_FILENO);
    if (null >= 0)
        close(null);
    if (snprintf(path, sizeof path, "%s/worker.log", dir) >= (int)sizeof path)
        return gw_error_set(error, GW_EINVAL,
                            "the path %.64s..., or a path below it, is longer than %d bytes", dir,
                            PATH_MAX - 1);
    background->log = open(path, O_RDWR | O_CREAT | O_APPEND | O_CLOEXEC, 0600);
    if (background->log < 0)
        return gw_error_set(error, GW_EIO, "%s: %s", path, strerror(errno));
    background->log_from = lseek(background->log, 0, SEEK_END);
    if (pipe2(background->token, O_CLOEXEC) < 0 || pipe2(background->ready, O_CLOEXEC) < 0)
        return gw_error_set(error, GW_EIO, "pipe: %s", strerror(errno));
    return 0;
}

/* Turns the child process into the daemon; never returns. */
static void become(struct background *background, int argc, char **argv, const char *dir)
{
    char token[] = "--token-fd", ready[] = "--ready-fd", token_fd[16], ready_fd[16];
    char alive[] = "--alive";
    char **all = calloc((size_t)argc + OPTIONS + 1, sizeof *all);
    int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
    if (!all || null < 0 || setsid() < 0 || dup2(null, 0) < 0 || dup2(background->log, 1) < 0 ||
        dup2(background->log, 2) < 0 || chdir(dir) < 0)
        _exit(GW_EXIT_FAILED);
    close(null);
    close(background->log);
    close(background->token[1]);
    close(background->ready[0]);
    (void)snprintf(token_fd, sizeof token_fd, "%d", background->token[0]);
    (void)snprintf(ready_fd, sizeof ready_fd, "%d", background->ready[1]);
    memcpy(all, argv, (size_t)argc * sizeof *all);
    char *const options[OPTIONS] = {token, token_fd, ready, ready_fd, alive, background->alive};
    memcpy(all + argc, options, sizeof options);
    int exit_code = gw_worker_main(argc + OPTIONS, all);
    free(all);
    exit(exit_code);
}

/* Waits until the scheduler has registered the worker. Returns false if the daemon has ended, the
 * caller's lifeline has ended, or the time is over. */
static bool wait_ready(struct background *background)
{
    uint64_t deadline_ns = gw_clock_now_ns() + START_TIMEOUT_S * GW_NS_PER_S;
    char bytes[64];
    for (;;) {
        struct pollfd polled[] = {{.fd = background->ready[0], .events = POLLIN},
                                  {.fd = STDIN_FILENO, .events = POLLIN}};
        uint64_t now_ns = gw_clock_now_ns();
        if (now_ns >= deadline_ns)
            return false;
        if (poll(polled, 2, (int)((deadline_ns - now_ns) / GW_NS_PER_MS) + 1) <= 0)
            continue;
        if (polled[0].revents)
            return read(background->ready[0], bytes, sizeof bytes) > 0;
        if (polled[1].revents && read(STDIN_FILENO, bytes, sizeof bytes) <= 0)
            return false;
    }
}

static void print_last_line(const struct background *background)
{
    char text[LINE_BYTES];
    off_t end = lseek(background->log, 0, SEEK_END), from = end - (LINE_BYTES - 1);
    if (from < background->log_from)
        from = background->log_from;
    ssize_t got = pread(background->log, text, LINE_BYTES - 1, from);
    while (got > 0 && text[got - 1] == '\n')
        got--;
    text[got > 0 ? got : 0] = '\0';
    const char *newline = strrchr(text, '\n');
    fprintf(stderr, "%s\n",
            *text ? newline ? newline + 1 : text : "the worker has written nothing to its log");
}

/* -- A worker that already runs -----------------------------------------------------------------
 */

struct found {
    int pid;
    unsigned slots;
    int known; /* its scheduler has registered it */
};

/* Whether a worker holds the lock on this file, and what it has written into the file. */
static bool look(const char *path, struct found *found)
{
    char text[64] = "";
    int fd = open(path, O_RDWR | O_CLOEXEC);
    const bool lives = fd >= 0 && flock(fd, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK;
    *found = (struct found){0};
    if (lives && read(fd, text, sizeof text - 1) > 0)
        (void)sscanf(text, "%d %u %d", &found->pid, &found->slots, &found->known);
    if (fd >= 0)
        close(fd);
    return lives;
}

/* Handles a worker with this name that already runs. After a restart of the scheduler, an earlier
 * worker reconnects by itself, with its running tasks. If it has the requested number of slots and
 * is registered within FOUND_TIMEOUT_S, it is used, and the function returns false. Otherwise it is
 * ended, and the function returns true: the caller starts a new worker. */
static bool make_room(const struct gw_daemonize_options *options, const char *path)
{
    const uint64_t deadline_ns = gw_clock_now_ns() + FOUND_TIMEOUT_S * GW_NS_PER_S;
    struct found found;
    while (look(path, &found) && gw_clock_now_ns() < deadline_ns) {
        if (found.pid && options->slots && found.slots && found.slots != options->slots)
            break;
        if (found.known)
            return false;
        (void)usleep(FOUND_POLL_US);
    }
    if (!look(path, &found) || found.pid <= 1)
        return true;
    gw_cli_message(
        "a worker with this name already runs (process %d, %u slots): it is ended and replaced",
        found.pid, found.slots);
    (void)kill(found.pid, SIGTERM);
    if (!gw_cluster_wait_gone(found.pid, STOP_TIMEOUT_S * GW_NS_PER_S))
        (void)kill(found.pid, SIGKILL);
    (void)gw_cluster_wait_gone(found.pid, STOP_TIMEOUT_S * GW_NS_PER_S);
    return true;
}

int gw_daemonize_run(int argc, char **argv, const struct gw_daemonize_options *options)
{
    struct background background = {.token = {-1, -1}, .ready = {-1, -1}, .log = -1};
    struct gw_error error;
    const char *dir = options->dir;
    if (snprintf(background.alive, sizeof background.alive, "%s/at-%s.lock", dir,
                 options->name ? options->name : "") >= (int)sizeof background.alive) {
        gw_cli_message(
            "gangway worker: the path %.64s..., or a path below it, is longer than %d bytes", dir,
            PATH_MAX - 1);
        return GW_EXIT_USAGE;
    }
    if (!make_room(options, background.alive))
        return GW_EXIT_OK;
    if (prepare(&background, dir, &error) < 0)
        return gw_cli_error(&error);
    fflush(NULL);
    background.pid = fork();
    if (background.pid == 0)
        become(&background, argc, argv, dir);
    (void)signal(SIGPIPE, SIG_IGN);
    close(background.token[0]);
    close(background.ready[1]);
    if (background.pid > 0)
        (void)!write(background.token[1], background.text, strlen(background.text));
    explicit_bzero(background.text, sizeof background.text);
    close(background.token[1]);
    bool ready = background.pid > 0 && wait_ready(&background);
    if (!ready)
        print_last_line(&background);
    if (!ready && background.pid > 0) {
        kill(background.pid, SIGTERM);
        if (!gw_cluster_wait_gone(background.pid, STOP_TIMEOUT_S * GW_NS_PER_S))
            kill(background.pid, SIGKILL); /* its supervisor reaps the processes that it started */
        while (waitpid(background.pid, NULL, 0) < 0 && errno == EINTR)
            continue;
    }
    close(background.ready[0]);
    close(background.log);
    return ready ? GW_EXIT_OK : GW_EXIT_FAILED;
}
