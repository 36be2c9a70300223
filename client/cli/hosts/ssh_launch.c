/* Starts workers on other hosts: one ssh process (or $GANGWAY_RSH) for each host, all at the same
 * time.
 *
 * On each host ssh runs `gangway worker --background`, which exits with 0 when the scheduler has
 * registered its worker. So the exit code of the ssh process shows whether the start has succeeded.
 * The token is sent over the standard input of ssh, so that it appears in no command line and no
 * file. This standard input is also the lifeline: if it ends too early, also because this process
 * has died, the worker is ended. */
#include "client/cli/hosts/ssh_launch.h"

#include "client/deploy/cluster.h"
#include "graph/base/clock.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/token_file.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/signalfd.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

extern char **environ;

enum { START_TIMEOUT_S = 60, STOP_TIMEOUT_S = 5, SAID_BYTES = 1024, RSH_WORDS_MAX = 32 };
enum { COMMAND_BYTES = 4 * PATH_MAX };

struct member {
    const struct gw_hosts_item *host;
    pid_t pid;             /* 0: not running */
    int pidfd, in, out;    /* -1: closed */
    char said[SAID_BYTES]; /* the last bytes of its output */
    size_t said_bytes;
};

struct fleet {
    GW_ARRAY(struct member) members;
    char rsh[1024];
    const char *words[RSH_WORDS_MAX + 3]; /* the words of GANGWAY_RSH, then host and command */
    int word_count;
    int signals;                         /* signalfd for SIGINT, SIGTERM and SIGHUP */
    int scheduler;                       /* pidfd of the scheduler */
    char token[GW_TOKEN_TEXT_BYTES + 1]; /* the token and a newline */
};

/* -- Token and address --------------------------------------------------------------------------
 */

/* Finds the token for hosts in the token file. GW_ENOENT: there is none. */
static int find_token(const char *tokens, struct gw_token *found, struct gw_error *error)
{
    struct gw_token_file file = {0};
    const struct gw_token *token;
    int rc = gw_token_file_read(tokens, &file, error);
    if (rc == 0) {
        rc = GW_ENOENT;
        GW_ARRAY_EACH (&file.tokens, token)
            if (rc < 0 && token->role == GW_TOKEN_WORKER &&
                strcmp(token->user, GW_TOKEN_USER_HOSTS) == 0) {
                *found = *token;
                rc = 0;
            }
        if (rc < 0)
            (void)gw_error_set(error, rc,
                               "the token for the workers on other hosts was revoked while the "
                               "cluster started: run `gangway up` again");
    }
    gw_token_file_deinit(&file);
    return rc;
}

int gw_ssh_launch_prepare(const char *tokens, struct gw_error *error)
{
    struct gw_token token;
    int rc = find_token(tokens, &token, error);
    if (rc == GW_ENOENT) {
        rc = gw_token_make(GW_TOKEN_USER_HOSTS, GW_TOKEN_WORKER, (uint64_t)time(NULL), &token,
                           error);
        if (rc == 0)
            rc = gw_token_file_add(tokens, &token, error);
    }
    explicit_bzero(&token, sizeof token);
    return rc;
}

int gw_ssh_launch_address(const struct gw_hosts *hosts, char *address, size_t bytes,
                          struct gw_error *error)
{
    const char *name = gw_hosts_address(&hosts->items.items[0]);
    char place[GW_HOSTS_NAME_BYTES + 8], numeric[GW_ENDPOINT_TEXT_MAX];
    char interface[GW_ENDPOINT_INTERFACE_BYTES], found[GW_ENDPOINT_TEXT_MAX];
    /* the port does not matter, because nothing is sent */
    (void)snprintf(place, sizeof place, strchr(name, ':') ? "[%s]:22" : "%s:22", name);
    int rc = gw_endpoint_resolve(place, numeric, error);
    if (rc < 0)
        return gw_error_set(
            error, rc,
            "this machine cannot resolve the host name %s: check the name; if only ssh knows it "
            "(~/.ssh/config), give by --listen the address at which that host reaches this machine",
            name);
    rc = gw_endpoint_route(numeric, found, interface, error);
    if (rc < 0)
        return gw_error_prefix(
            error, "give by --listen the address at which %s reaches this machine", name);
    (void)snprintf(address, bytes, strchr(found, ':') ? "[%s]" : "%s", found);
    return 0;
}

/* -- The command on the host --------------------------------------------------------------------
 */

/* Appends the text in single quotes. Returns false if there is no room. */
static bool add_quoted(char *into, size_t bytes, const char *text)
{
    size_t at = strlen(into);
    for (const char *c = text; at + 8 < bytes; c++) {
        if (c == text)
            into[at++] = '\'';
        if (!*c) {
            into[at++] = '\'';
            into[at] = '\0';
            return true;
        }
        if (*c == '\'') {
            memcpy(into + at, "'\\''", 4);
            at += 4;
        } else {
            into[at++] = *c;
        }
    }
    return false;
}

/* Makes a command for any login shell of the user on that host. XDG_RUNTIME_DIR is unset because
 * systemd removes /run/user/UID when the user's last session ends, and the worker must outlive the
 * session. */
static int make_command(const struct member *member, const struct gw_ssh_launch_options *options,
                        char command[COMMAND_BYTES], struct gw_error *error)
{
    static const char find[] = "; command -v \"$b\" >/dev/null || b=gangway; command -v \"$b\" "
                               ">/dev/null || { echo \"there is no gangway at this path or on "
                               "PATH; set GANGWAY_REMOTE_BINARY\" >&2; exit 127; }; ";
    static const char named[] =
        "; command -v \"$b\" >/dev/null || { echo \"GANGWAY_REMOTE_BINARY: there is no $b\" >&2; "
        "exit 127; }; ";
    static const char session[] = "case $XDG_RUNTIME_DIR in /run/user/*) unset XDG_RUNTIME_DIR;; "
                                  "esac; ";
    char script[COMMAND_BYTES / 2] = "b=", binary[PATH_MAX], tail[GW_HOSTS_NAME_BYTES + 512];
    const char *given = getenv("GANGWAY_REMOTE_BINARY"), *name = gw_hosts_address(member->host);
    int rc = given && *given ? 0 : gw_cluster_find_binary(binary, error);
    if (rc < 0)
        return rc;
    bool fits = add_quoted(script, sizeof script, given && *given ? given : binary);
    int length = snprintf(tail, sizeof tail, "%s%sexec \"$b\" worker --background --connect %s",
                          given && *given ? named : find, session, options->address);
    if (!strchr(name, ':')) /* name by which `--on` selects the worker */
        length += snprintf(tail + length, sizeof tail - (size_t)length, " --name %s", name);
    if (member->host->slots)
        length += snprintf(tail + length, sizeof tail - (size_t)length, " --slots %u",
                           member->host->slots);
    if (options->transfer_bytes_max)
        length += snprintf(tail + length, sizeof tail - (size_t)length,
                           " --checkpoint-max %" PRIu64, options->transfer_bytes_max);
    if (options->trust_users)
        length += snprintf(tail + length, sizeof tail - (size_t)length, " --trust-users");
    if (options->orphan_given)
        (void)snprintf(tail + length, sizeof tail - (size_t)length,
                       " --orphan-timeout %" PRIu64 "ms", options->orphan_ms);
    strcpy(command, "exec sh -c ");
    fits = fits && strlen(script) + strlen(tail) < sizeof script;
    if (!fits || !add_quoted(command, COMMAND_BYTES, strcat(script, tail)))
        return gw_error_set(error, GW_EINVAL,
                            "the command that starts a worker on %s would have more than %d bytes: "
                            "give a shorter path in GANGWAY_REMOTE_BINARY",
                            name, COMMAND_BYTES / 2);
    return 0;
}

/* -- The ssh processes --------------------------------------------------------------------------
 */

static void close_end(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

static int spawn(const char *const argv[], const int fds[2], pid_t *pid)
{
    posix_spawn_file_actions_t actions;
    posix_spawnattr_t attr;
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    posix_spawn_file_actions_init(&actions);
    posix_spawnattr_init(&attr);
    posix_spawn_file_actions_adddup2(&actions, fds[0], 0);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 1);
    posix_spawn_file_actions_adddup2(&actions, fds[1], 2);
    posix_spawnattr_setsigmask(&attr, &none);
    posix_spawnattr_setsigdefault(&attr, &all);
    posix_spawnattr_setflags(&attr, POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
    /* the cast is safe: posix_spawn does not write to argv */
    int rc = posix_spawnp(pid, argv[0], &actions, &attr, (char *const *)(uintptr_t)argv, environ);
    posix_spawn_file_actions_destroy(&actions);
    posix_spawnattr_destroy(&attr);
    return rc;
}

static int member_start(struct fleet *fleet, struct member *member,
                        const struct gw_ssh_launch_options *options, struct gw_error *error)
{
    char command[COMMAND_BYTES];
    int in[2] = {-1, -1}, out[2] = {-1, -1};
    int rc = make_command(member, options, command, error);
    if (rc < 0)
        return rc;
    if (pipe2(in, O_CLOEXEC) < 0 || pipe2(out, O_CLOEXEC) < 0) {
        rc = gw_error_set(error, GW_EIO, "pipe: %s", strerror(errno));
        goto out;
    }
    fleet->words[fleet->word_count] = member->host->name;
    fleet->words[fleet->word_count + 1] = command;
    fleet->words[fleet->word_count + 2] = NULL;
    rc = spawn(fleet->words, (const int[]){in[0], out[1]}, &member->pid);
    if (rc != 0) {
        member->pid = 0;
        rc = gw_error_set(error, GW_ESTART,
                          "%s: cannot start %s, which runs commands on hosts: %s (set GANGWAY_RSH "
                          "to another command)",
                          member->host->name, fleet->words[0], strerror(rc));
        goto out;
    }
    member->pidfd = (int)syscall(SYS_pidfd_open, member->pid, 0);
    if (member->pidfd < 0)
        rc = gw_error_set(error, GW_EIO, "pidfd_open: %s", strerror(errno));
    member->in = in[1];
    member->out = out[0];
    in[1] = out[0] = -1;
    (void)fcntl(member->out, F_SETFL, O_NONBLOCK);
    /* The pipe has room for the token. Ignore a failed write: the exit code of the process shows
     * the cause. */
    (void)!write(member->in, fleet->token, strlen(fleet->token));
out:
    for (int i = 0; i < 2; i++) {
        close_end(&in[i]);
        close_end(&out[i]);
    }
    return rc;
}

/* Reads the output that has arrived. */
static void member_read(struct member *member)
{
    for (;;) {
        if (member->said_bytes == SAID_BYTES) { /* drop the first half: only the end is needed */
            member->said_bytes = SAID_BYTES / 2;
            memmove(member->said, member->said + SAID_BYTES / 2, SAID_BYTES / 2);
        }
        ssize_t got =
            read(member->out, member->said + member->said_bytes, SAID_BYTES - member->said_bytes);
        if (got > 0)
            member->said_bytes += (size_t)got;
        else if (got < 0 && errno == EINTR)
            continue;
        else if (got < 0 && errno == EAGAIN)
            return;
        else
            break;
    }
    close_end(&member->out);
}

/* Returns the last line of its output, or "" if there is no output. */
static const char *member_last_line(struct member *member)
{
    char *end = member->said + member->said_bytes;
    while (end > member->said && strchr(" \t\r\n", end[-1]))
        end--;
    if (end == member->said + SAID_BYTES)
        end--;
    *end = '\0';
    char *newline = strrchr(member->said, '\n');
    return newline ? newline + 1 : member->said;
}

/* Reaps an ssh process that has ended. Returns 0, or an error that says why the host has no worker.
 */
static int member_reap(const struct fleet *fleet, struct member *member, struct gw_error *error)
{
    int status = 0;
    while (waitpid(member->pid, &status, 0) < 0 && errno == EINTR)
        continue;
    member->pid = 0;
    if (member->out >= 0)
        member_read(member);
    close_end(&member->pidfd);
    close_end(&member->in);
    close_end(&member->out);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 0)
        return 0;
    const char *line = member_last_line(member);
    if (*line)
        return gw_error_set(error, GW_ESTART, "no worker at %s: %s%s", member->host->name, line,
                            strstr(line, "Could not resolve hostname") /* a message of ssh */
                                ? ": check the name, in --hosts or in ~/.ssh/config"
                                : "");
    return gw_error_set(error, GW_ESTART, "no worker at %s: %s %s %d, without a message",
                        member->host->name, fleet->words[0],
                        WIFEXITED(status) ? "ended with exit code" : "was killed by signal",
                        WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status));
}

/* -- All hosts ----------------------------------------------------------------------------------
 */

/* Waits for the next event and handles it. *running is the number of ssh processes that still run.
 */
static int look(struct fleet *fleet, uint64_t deadline_ns, size_t *running, struct gw_error *error)
{
    struct pollfd polled[2 * GW_HOSTS_MAX + 2];
    size_t count = fleet->members.count, late = count;
    uint64_t now_ns = gw_clock_now_ns();
    int left_ms = now_ns >= deadline_ns ? 0 : (int)((deadline_ns - now_ns) / GW_NS_PER_MS) + 1;
    polled[2 * count] = (struct pollfd){.fd = fleet->signals, .events = POLLIN};
    polled[2 * count + 1] = (struct pollfd){.fd = fleet->scheduler, .events = POLLIN};
    for (size_t i = 0; i < count; i++) {
        polled[2 * i] = (struct pollfd){.fd = fleet->members.items[i].out, .events = POLLIN};
        polled[2 * i + 1] = (struct pollfd){.fd = fleet->members.items[i].pidfd, .events = POLLIN};
    }
    int ready = poll(polled, 2 * count + 2, left_ms);
    if (ready < 0)
        return errno == EINTR ? 0 : gw_error_set(error, GW_EIO, "poll: %s", strerror(errno));
    if (polled[2 * count].revents)
        return gw_error_set(error, GW_ECANCELLED, "interrupted");
    if (polled[2 * count + 1].revents) /* without a scheduler no worker can register, so do not
                                          report an error of a host */
        return gw_error_set(error, GW_ECLOSED,
                            "the cluster ended before all hosts had workers: if nobody used "
                            "`gangway down`, scheduler.log says why");
    int rc = 0;
    *running = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        struct member *member = &fleet->members.items[i];
        if (polled[2 * i].revents)
            member_read(member);
        if (polled[2 * i + 1].revents)
            rc = member_reap(fleet, member, error);
        if (member->pid && late == count)
            late = i;
        *running += member->pid > 0;
    }
    if (rc == 0 && ready == 0 && late < count) {
        struct member *member = &fleet->members.items[late];
        const char *line = member_last_line(member);
        rc = gw_error_set(error, GW_ESTART, "no worker at %s within %ds%s%s", member->host->name,
                          START_TIMEOUT_S, *line ? ": " : "", line);
    }
    return rc;
}

/* Ends the processes that still run. The remote side sees the end of its standard input and ends
 * its worker. */
static void stop(struct fleet *fleet)
{
    uint64_t deadline_ns = gw_clock_now_ns() + STOP_TIMEOUT_S * GW_NS_PER_S;
    struct member *member;
    struct gw_error error;
    GW_ARRAY_EACH (&fleet->members, member)
        close_end(&member->in);
    GW_ARRAY_EACH (&fleet->members, member) {
        uint64_t now_ns = gw_clock_now_ns();
        if (!member->pid)
            continue;
        if (!gw_cluster_wait_gone(member->pid, now_ns < deadline_ns ? deadline_ns - now_ns : 0))
            kill(member->pid, SIGKILL);
        (void)member_reap(fleet, member, &error);
    }
}

static int fleet_init(struct fleet *fleet, const struct gw_ssh_launch_options *options,
                      struct gw_error *error)
{
    const char *given = getenv("GANGWAY_RSH");
    const struct gw_hosts_item *host;
    struct gw_token token;
    char *rest;
    if (snprintf(fleet->rsh, sizeof fleet->rsh, "%s",
                 given && *given ? given : "ssh -o BatchMode=yes") >= (int)sizeof fleet->rsh)
        return gw_error_set(error, GW_EINVAL,
                            "GANGWAY_RSH is longer than %zu bytes: put the command into a script, "
                            "and give its path",
                            sizeof fleet->rsh - 1);
    for (char *word = strtok_r(fleet->rsh, " \t", &rest); word;
         word = strtok_r(NULL, " \t", &rest)) {
        if (fleet->word_count == RSH_WORDS_MAX)
            return gw_error_set(error, GW_EINVAL,
                                "GANGWAY_RSH has more than %d words: put the command into a "
                                "script, and give its path",
                                RSH_WORDS_MAX);
        fleet->words[fleet->word_count++] = word;
    }
    if (!fleet->word_count)
        return gw_error_set(
            error, GW_EINVAL,
            "GANGWAY_RSH has only blanks: set it to a command like ssh, or unset it");
    int rc = find_token(options->tokens, &token, error);
    if (rc < 0)
        return rc;
    gw_token_format(&token, fleet->token);
    explicit_bzero(&token, sizeof token);
    strcat(fleet->token, "\n");
    GW_ARRAY_EACH (&options->hosts->items, host)
        if (gw_array_push(&fleet->members,
                          (struct member){.host = host, .pidfd = -1, .in = -1, .out = -1}) < 0)
            return gw_error_set(error, GW_ENOMEM, "out of memory");
    return 0;
}

int gw_ssh_launch_start(const struct gw_ssh_launch_options *options, struct gw_error *error)
{
    struct fleet fleet = {.signals = -1, .scheduler = -1};
    sigset_t ours, before;
    struct member *member;
    sigemptyset(&ours);
    sigaddset(&ours, SIGINT);
    sigaddset(&ours, SIGTERM);
    sigaddset(&ours, SIGHUP);
    (void)sigprocmask(SIG_BLOCK, &ours, &before);
    void (*pipe_before)(int) = signal(SIGPIPE, SIG_IGN);
    int rc = fleet_init(&fleet, options, error);
    uint64_t deadline_ns = gw_clock_now_ns() + START_TIMEOUT_S * GW_NS_PER_S;
    if (rc == 0 && (fleet.signals = signalfd(-1, &ours, SFD_CLOEXEC)) < 0)
        rc = gw_error_set(error, GW_EIO, "signalfd: %s", strerror(errno));
    if (rc == 0 && (fleet.scheduler = (int)syscall(SYS_pidfd_open, options->scheduler, 0)) < 0)
        rc = gw_error_set(error, GW_EIO, "pidfd_open: %s", strerror(errno));
    GW_ARRAY_EACH (&fleet.members, member)
        if (rc == 0)
            rc = member_start(&fleet, member, options, error);
    for (size_t running = fleet.members.count; rc == 0 && running > 0;)
        rc = look(&fleet, deadline_ns, &running, error);
    stop(&fleet);
    struct signalfd_siginfo taken; /* the signal was handled; take it so that it does not end this
                                      process when it is unblocked */
    if (rc == GW_ECANCELLED)
        (void)!read(fleet.signals, &taken, sizeof taken);
    close_end(&fleet.signals);
    close_end(&fleet.scheduler);
    gw_array_deinit(&fleet.members);
    explicit_bzero(fleet.token, sizeof fleet.token);
    (void)signal(SIGPIPE, pipe_before);
    (void)sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}
