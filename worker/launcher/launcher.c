/* `gangway-launcher`: main program. It runs as root, handles one request after the other, and keeps
 * nothing between two of them: the list of users is read again for each. */
#include "worker/launcher/account.h"
#include "worker/launcher/allow_list.h"
#include "worker/launcher/request.h"
#include "worker/launcher/start.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <pwd.h>
#include <signal.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/un.h>
#include <time.h>
#include <unistd.h>

#define LIST_FOLDER "/etc/gangway"
#define LIST_NAME "users"
#define SOCKET_FOLDER "/run/gangway"
#define STATE_FOLDER "/var/lib/gangway"
#define USERS_FOLDER STATE_FOLDER "/users"

enum { BACKLOG = 64, REQUEST_MS_MAX = 1000, FDS_MAX = 4, EXIT_USAGE = 2, QUIET_S = 10 };

static char program[PATH_MAX]; /* the supervisor's */
static const char *cgroups;    /* --cgroup; NULL: none */

__attribute__((format(printf, 1, 2))) static void say(const char *format, ...)
{
    char line[GW_ERROR_TEXT_MAX + 128];
    va_list args;
    va_start(args, format);
    (void)vsnprintf(line, sizeof line, format, args);
    va_end(args);
    (void)fprintf(stderr, "gangway-launcher: %s\n", line);
}

/* -- One request ---------------------------------------------------------------------------------
 */

/* Checks that the kernel names the worker's user as the peer. */
static int check_peer(int connection, struct gw_error *error)
{
    struct ucred peer;
    socklen_t bytes = sizeof peer;
    if (getsockopt(connection, SOL_SOCKET, SO_PEERCRED, &peer, &bytes) < 0)
        return gw_error_set(error, GW_EPERM, "the peer is unknown: %s", strerror(errno));
    const struct passwd *worker = getpwnam(GW_LAUNCHER_WORKER);
    if (!worker || worker->pw_uid == 0 || peer.uid != worker->pw_uid)
        return gw_error_set(error, GW_EPERM,
                            "only a worker that runs as the system user %s may ask, and this is "
                            "user %u",
                            GW_LAUNCHER_WORKER, (unsigned)peer.uid);
    return 0;
}

/* Checks that a descriptor is a connected unix stream socket. */
static int check_socket(int fd, struct gw_error *error)
{
    int domain = 0, type = 0;
    struct sockaddr_un peer;
    socklen_t bytes = sizeof domain, peer_bytes = sizeof peer;
    if (getsockopt(fd, SOL_SOCKET, SO_DOMAIN, &domain, &bytes) < 0 || domain != AF_UNIX ||
        getsockopt(fd, SOL_SOCKET, SO_TYPE, &type, &bytes) < 0 || type != SOCK_STREAM ||
        getpeername(fd, (struct sockaddr *)&peer, &peer_bytes) < 0)
        return gw_error_set(error, GW_EPROTO,
                            "the descriptor of a request is a connected unix stream socket");
    return 0;
}

/* Receives a packet and its only descriptor. Others are closed. */
static int receive(int connection, struct gw_launch_request *request, int *fd,
                   struct gw_error *error)
{
    char packet[sizeof *request + 1];
    union {
        char bytes[CMSG_SPACE(FDS_MAX * sizeof(int))];
        struct cmsghdr aligned;
    } control;
    struct iovec part = {packet, sizeof packet};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct pollfd readable = {.fd = connection, .events = POLLIN};
    int fds[FDS_MAX], count = 0;
    if (poll(&readable, 1, REQUEST_MS_MAX) <= 0)
        return gw_error_set(error, GW_ETIMEDOUT, "no request came");
    ssize_t got = recvmsg(connection, &message, MSG_CMSG_CLOEXEC | MSG_DONTWAIT);
    if (got < 0)
        return gw_error_set(error, GW_EIO, "recvmsg: %s", strerror(errno));
    for (struct cmsghdr *at = CMSG_FIRSTHDR(&message); at; at = CMSG_NXTHDR(&message, at))
        if (at->cmsg_level == SOL_SOCKET && at->cmsg_type == SCM_RIGHTS) {
            int carried = (int)((at->cmsg_len - CMSG_LEN(0)) / sizeof(int));
            for (int i = 0; i < carried && count < FDS_MAX; i++, count++)
                memcpy(&fds[count], CMSG_DATA(at) + (size_t)i * sizeof(int), sizeof(int));
        }
    if (got == 0 && count == 0)
        return gw_error_set(error, GW_ECLOSED, "the peer left without a request");
    int rc = gw_launch_request_read(packet, (size_t)got, request, error);
    if (rc == 0 && (count != 1 || (message.msg_flags & (MSG_CTRUNC | MSG_TRUNC))))
        rc = gw_error_set(error, GW_EPROTO, "a request has one descriptor, not %d", count);
    if (rc == 0)
        rc = check_socket(fds[0], error);
    for (int i = 0; i < count && rc < 0; i++)
        close(fds[i]);
    if (rc == 0)
        *fd = fds[0];
    return rc;
}

static int launch(const struct gw_launch_request *request, int fd, struct gw_launch_reply *reply,
                  struct gw_error *error)
{
    static const char *const commands[GW_LAUNCH_KINDS] = {"supervisor", "files"};
    static struct gw_account account;
    char *list = NULL, name[GW_UNIX_NAME_MAX + 1];
    pid_t pid = 0;
    int rc = gw_allow_list_read(LIST_FOLDER, LIST_NAME, &list, error);
    if (rc == 0)
        rc = gw_allow_list_find(list, request->user, gw_account_is_member, name, error);
    free(list);
    if (rc == 0)
        rc = gw_account_find(name, &account, error);
    if (rc == 0)
        rc = gw_start_check(program, error);
    if (rc == 0)
        rc = gw_start_folder(USERS_FOLDER, &account, error);
    if (rc == 0)
        rc = gw_start(program, commands[request->kind], cgroups, &account, fd, &pid, error);
    if (rc < 0)
        return rc;
    reply->uid = account.uid;
    reply->pid = (uint32_t)pid;
    (void)snprintf(reply->dir, sizeof reply->dir, "%s/%.*s", USERS_FOLDER, GW_UNIX_NAME_MAX, name);
    say("started `gangway %s` of user %s as Unix user %s (%u)", commands[request->kind],
        request->user, name, (unsigned)account.uid);
    return 0;
}

/* Logs a refused peer. Each user can connect at any rate, so such a line follows another one only
 * after some seconds. A worker that only looks whether this program answers is no news. */
static void say_refused(bool is_worker, const struct gw_error *error)
{
    static time_t quiet_until;
    const time_t now = time(NULL);
    if (error->code == GW_ECLOSED || (!is_worker && now < quiet_until))
        return;
    if (!is_worker)
        quiet_until = now + QUIET_S;
    say("refused: %s", error->text);
}

static void serve(int connection)
{
    struct gw_launch_request request = {0};
    struct gw_launch_reply reply = {0};
    struct gw_error error = {0};
    int fd = -1;
    int rc = check_peer(connection, &error);
    const bool is_worker = rc == 0;
    if (rc == 0)
        rc = receive(connection, &request, &fd, &error);
    if (rc == 0)
        rc = launch(&request, fd, &reply, &error);
    if (fd >= 0)
        close(fd);
    reply.code = rc;
    if (rc < 0) {
        say_refused(is_worker, &error);
        (void)snprintf(reply.text, sizeof reply.text, "%.*s", (int)sizeof reply.text - 1,
                       error.text);
    }
    (void)send(connection, &reply, sizeof reply, MSG_NOSIGNAL | MSG_DONTWAIT);
    close(connection);
}

/* -- Start ---------------------------------------------------------------------------------------
 */

static int make_folder(const char *path, struct gw_error *error)
{
    if (mkdir(path, 0755) < 0 && errno != EEXIST)
        return gw_error_set(error, GW_EIO, "cannot make %s: %s", path, strerror(errno));
    return 0;
}

/* Makes the folder in which the worker makes sockets for tasks. It belongs to the worker, and
 * others cannot list it. */
static int make_tasks_folder(struct gw_error *error)
{
    struct stat status;
    const struct passwd *worker = getpwnam(GW_LAUNCHER_WORKER);
    int rc = make_folder(GW_LAUNCHER_TASKS, error);
    if (rc < 0 || !worker) /* without a worker's user, all requests are refused */
        return rc;
    if (lstat(GW_LAUNCHER_TASKS, &status) < 0 || !S_ISDIR(status.st_mode) ||
        lchown(GW_LAUNCHER_TASKS, worker->pw_uid, worker->pw_gid) < 0 ||
        chmod(GW_LAUNCHER_TASKS, 0711) < 0)
        return gw_error_set(error, GW_EIO, GW_LAUNCHER_TASKS " cannot be a folder of user %s",
                            GW_LAUNCHER_WORKER);
    return 0;
}

/* Opens the socket. Its folder belongs to root, so nobody else can put another socket there. */
static int open_socket(int *fd, struct gw_error *error)
{
    struct sockaddr_un address = {.sun_family = AF_UNIX, .sun_path = GW_LAUNCHER_SOCKET};
    struct stat status;
    int rc = make_folder(SOCKET_FOLDER, error);
    if (rc < 0)
        return rc;
    if (lstat(SOCKET_FOLDER, &status) < 0 || !S_ISDIR(status.st_mode) || status.st_uid != 0 ||
        (status.st_mode & (S_IWGRP | S_IWOTH)))
        return gw_error_set(error, GW_EPERM,
                            SOCKET_FOLDER " must be a folder that only root may write");
    rc = make_tasks_folder(error);
    if (rc < 0)
        return rc;
    (void)unlink(GW_LAUNCHER_SOCKET);
    *fd = socket(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0);
    if (*fd < 0 || bind(*fd, (const struct sockaddr *)&address, sizeof address) < 0 ||
        chmod(GW_LAUNCHER_SOCKET, 0666) < 0 || listen(*fd, BACKLOG) < 0)
        return gw_error_set(error, GW_EIO, "cannot listen at %s: %s", GW_LAUNCHER_SOCKET,
                            strerror(errno));
    return 0;
}

/* Finds the program of the supervisor, `gangway` beside this one. */
static int find_program(struct gw_error *error)
{
    ssize_t length = readlink("/proc/self/exe", program, sizeof program - 16);
    if (length <= 0)
        return gw_error_set(error, GW_EIO, "/proc/self/exe: %s", strerror(errno));
    program[length] = '\0';
    char *slash = strrchr(program, '/');
    strcpy(slash ? slash + 1 : program, "gangway");
    return gw_start_check(program, error);
}

int main(int argc, char **argv)
{
    struct gw_error error;
    int listener = -1;
    if (argc == 3 && strcmp(argv[1], "--cgroup") == 0) {
        cgroups = argv[2];
    } else if (argc != 1) {
        say("takes no arguments but --cgroup DIR: the service manager starts it as root, and it "
            "reads %s/%s",
            LIST_FOLDER, LIST_NAME);
        return EXIT_USAGE;
    }
    if (geteuid() != 0) {
        say("must be started as root, by the service manager");
        return EXIT_FAILURE;
    }
    (void)umask(022);
    (void)signal(SIGCHLD, SIG_IGN); /* the kernel reaps supervisors */
    (void)signal(SIGPIPE, SIG_IGN);
    if (chdir("/") < 0 || (cgroups && gw_start_cgroups(cgroups, &error) < 0) ||
        find_program(&error) < 0 || make_folder(STATE_FOLDER, &error) < 0 ||
        make_folder(USERS_FOLDER, &error) < 0 || open_socket(&listener, &error) < 0) {
        say("%s", error.text);
        return EXIT_FAILURE;
    }
    say("ready at %s", GW_LAUNCHER_SOCKET);
    for (;;) {
        int connection = accept4(listener, NULL, NULL, SOCK_CLOEXEC);
        if (connection >= 0)
            serve(connection);
        else if (errno == EMFILE || errno == ENFILE || errno == ENOMEM)
            (void)poll(NULL, 0, REQUEST_MS_MAX);
    }
}
