/* The worker's side of agents. One operation of an agent is in progress at a time. An agent that
 * breaks the protocol or its time limit is given up for good. So is an agent that its user has
 * stopped: it does not continue by itself, so waiting for it would only delay other users. */
#include "graph/base/files.h"

#include "graph/base/clock.h"
#include "graph/base/must.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <unistd.h>

/* Limit of a whole operation: a disk may be slow */
#define ANSWER_NS_MAX (2 * GW_NS_PER_S)
/* While an answer is awaited, the state of the agent is read this often. It counts as stopped if it
 * is so each of some times, since a debugger stops a process for moments. */
enum { STATE_MS = 20, STOPPED_MAX = 3 };

/* The agents. An entry is never freed, since any thread may use it. */
struct agent {
    struct agent *next;
    pthread_mutex_t mutex;
    atomic_int socket; /* -1: none, or given up; only changed with the mutex */
    pid_t pid;
    long type; /* of the file system of the folder */
    size_t length;
    char folder[];
};

static pthread_mutex_t list_mutex = PTHREAD_MUTEX_INITIALIZER;
static struct agent *_Atomic agents;

static struct agent *find(const char *path)
{
    for (struct agent *agent = atomic_load(&agents); agent; agent = agent->next)
        if (strncmp(path, agent->folder, agent->length) == 0 &&
            (path[agent->length] == '/' || path[agent->length] == '\0'))
            return agent;
    return NULL;
}

static void close_socket(struct agent *agent)
{
    if (agent->socket >= 0)
        close(agent->socket);
    agent->socket = -1;
}

/* Returns the type of the file system of a folder, or -1. */
static long type_of(const char *folder)
{
    struct statfs system;
    return statfs(folder, &system) == 0 && system.f_type != FUSE_SUPER_MAGIC ? (long)system.f_type
                                                                             : -1;
}

void gw_files_attach(const char *folder, int socket, pid_t pid)
{
    (void)fcntl(socket, F_SETFL, O_NONBLOCK);
    pthread_mutex_lock(&list_mutex);
    struct agent *agent = find(folder);
    if (!agent) {
        agent = calloc(1, sizeof *agent + strlen(folder) + 1);
        GW_MUST_PTR(agent);
        pthread_mutex_init(&agent->mutex, NULL);
        agent->socket = -1;
        agent->type = type_of(folder);
        agent->length = strlen(folder);
        memcpy(agent->folder, folder, agent->length + 1);
        agent->next = atomic_load(&agents);
        atomic_store(&agents, agent);
    }
    pthread_mutex_unlock(&list_mutex);
    pthread_mutex_lock(&agent->mutex);
    close_socket(agent);
    agent->socket = socket;
    agent->pid = pid;
    pthread_mutex_unlock(&agent->mutex);
}

void gw_files_detach(const char *folder)
{
    struct agent *agent = find(folder);
    if (!agent)
        return;
    pthread_mutex_lock(&agent->mutex);
    close_socket(agent);
    pthread_mutex_unlock(&agent->mutex);
}

bool gw_files_lives(const char *folder)
{
    const struct agent *agent = find(folder);
    return agent && atomic_load(&agent->socket) >= 0;
}

bool gw_files_are_remote(const char *path)
{
    return atomic_load(&agents) && find(path);
}

/* -- One operation -------------------------------------------------------------------------------
 */

struct call {
    struct gw_files_request request;
    const char *texts[2];
    struct gw_files_answer answer;
    char data[PATH_MAX];
    int fd;      /* descriptor of the answer; -1: none */
    int carried; /* descriptor of the request, if its operation is GW_FILES_TRANSFER */
    const struct agent *agent;
    uint64_t end_ns;  /* when the agent is given up */
    uint32_t stopped; /* how often in succession the agent was found stopped */
};

/* Returns true if a process is stopped by a signal or a debugger. If /proc hides the process, this
 * is not known. */
static bool is_stopped(pid_t pid)
{
    char path[32], line[128];
    (void)snprintf(path, sizeof path, "/proc/%d/stat", (int)pid);
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t got = fd < 0 ? 0 : read(fd, line, sizeof line - 1);
    if (fd >= 0)
        close(fd);
    line[got > 0 ? got : 0] = '\0';
    const char *state = strrchr(line, ')'); /* the name before it may contain anything */
    return state && (strncmp(state, ") T", 3) == 0 || strncmp(state, ") t", 3) == 0);
}

/* Waits until the socket is ready. Returns false if the agent is to be given up. */
static bool await(struct call *call, short events)
{
    struct pollfd ready = {.fd = call->agent->socket, .events = events};
    while (poll(&ready, 1, STATE_MS) <= 0) {
        call->stopped = is_stopped(call->agent->pid) ? call->stopped + 1 : 0;
        if (call->stopped == STOPPED_MAX || gw_clock_now_ns() >= call->end_ns)
            return false;
    }
    return gw_clock_now_ns() < call->end_ns;
}

/* Returns true after a call that failed, if it shall be repeated. */
static bool again(struct call *call, short events)
{
    return errno == EINTR || (errno == EAGAIN && await(call, events));
}

static bool send_all(struct call *call, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t put =
            send(call->agent->socket, (const char *)data + done, bytes - done, MSG_NOSIGNAL);
        if (put <= 0 && !(put < 0 && again(call, POLLOUT)))
            return false;
        done += put > 0 ? (size_t)put : 0;
    }
    return true;
}

/* Sends the head of a request, with its descriptor. It is small enough for one call. */
static bool send_head(const struct call *call)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control = {{0}};
    struct iovec part = {(void *)(uintptr_t)&call->request, sizeof call->request};
    struct msghdr message = {.msg_iov = &part, .msg_iovlen = 1};
    if (call->request.operation == GW_FILES_TRANSFER) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *head = CMSG_FIRSTHDR(&message);
        head->cmsg_level = SOL_SOCKET;
        head->cmsg_type = SCM_RIGHTS;
        head->cmsg_len = CMSG_LEN(sizeof call->carried);
        memcpy(CMSG_DATA(head), &call->carried, sizeof call->carried);
    }
    return sendmsg(call->agent->socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof call->request;
}

/* Takes the descriptors of a part of an answer: keeps the first one of the answer, and closes all
 * others, which a user may have sent to use up those of the worker. */
static void take_descriptors(struct msghdr *message, struct call *call)
{
    struct cmsghdr *head = CMSG_FIRSTHDR(message);
    for (; head; head = CMSG_NXTHDR(message, head)) {
        if (head->cmsg_level != SOL_SOCKET || head->cmsg_type != SCM_RIGHTS)
            continue;
        for (size_t at = 0; at + sizeof(int) <= head->cmsg_len - CMSG_LEN(0); at += sizeof(int)) {
            int fd;
            memcpy(&fd, CMSG_DATA(head) + at, sizeof fd);
            if (call->fd < 0)
                call->fd = fd;
            else
                close(fd);
        }
    }
}

/* Receives the head of an answer, with its descriptor. */
static bool receive_head(struct call *call)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control;
    size_t done = 0;
    while (done < sizeof call->answer) {
        struct iovec part = {(char *)&call->answer + done, sizeof call->answer - done};
        struct msghdr message = {.msg_iov = &part,
                                 .msg_iovlen = 1,
                                 .msg_control = control.bytes,
                                 .msg_controllen = sizeof control.bytes};
        ssize_t got = recvmsg(call->agent->socket, &message, MSG_CMSG_CLOEXEC);
        if (got < 0 && again(call, POLLIN))
            continue;
        if (got > 0)
            take_descriptors(&message, call);
        if (got <= 0 || (message.msg_flags & MSG_CTRUNC))
            return false;
        done += (size_t)got;
    }
    return true;
}

static bool receive_all(struct call *call, void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = recv(call->agent->socket, (char *)data + done, bytes - done, 0);
        if (got <= 0 && !(got < 0 && again(call, POLLIN)))
            return false;
        done += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static bool exchange(struct call *call)
{
    for (int i = 0; i < 2; i++)
        call->request.bytes[i] = call->texts[i] ? (uint32_t)strlen(call->texts[i]) + 1 : 0;
    bool well = send_head(call);
    for (int i = 0; i < 2 && well; i++)
        well = send_all(call, call->texts[i], call->request.bytes[i]);
    return well && receive_head(call) && call->answer.bytes <= sizeof call->data &&
           receive_all(call, call->data, call->answer.bytes);
}

/* Returns 0, or -1 and sets errno. */
static int perform(struct agent *agent, struct call *call)
{
    call->fd = -1;
    call->agent = agent;
    pthread_mutex_lock(&agent->mutex);
    call->end_ns = gw_clock_now_ns() + ANSWER_NS_MAX;
    bool well = agent->socket >= 0 && exchange(call);
    if (!well)
        close_socket(agent);
    pthread_mutex_unlock(&agent->mutex);
    if (call->fd >= 0 &&
        (!well || call->answer.errnum || call->request.operation != GW_FILES_OPEN)) {
        close(call->fd);
        call->fd = -1;
    }
    if (well && call->answer.errnum == 0)
        return 0;
    errno = well && call->answer.errnum > 0 ? call->answer.errnum : EIO;
    return -1;
}

static int simple(const char *path, const char *other, struct gw_files_request request)
{
    struct call call = {.request = request, .texts = {path, other}};
    return perform(find(path), &call);
}

/* Returns true if reading the file cannot wait for a process of the user or for an event: it is on
 * a file system of the kind of the user's folder, which is neither FUSE nor /proc. */
static bool is_plain(const struct agent *agent, int fd)
{
    struct stat status;
    struct statfs system;
    return fstat(fd, &status) == 0 && (S_ISREG(status.st_mode) || S_ISDIR(status.st_mode)) &&
           fstatfs(fd, &system) == 0 && (long)system.f_type == agent->type;
}

int gw_files_open(const char *path, int flags, mode_t mode)
{
    if (!gw_files_are_remote(path))
        return open(path, flags, mode);
    struct call call = {
        .request = {.operation = GW_FILES_OPEN, .mode = mode, .flags = flags | O_NONBLOCK},
        .texts = {path}};
    if (perform(find(path), &call) < 0)
        return -1;
    if (call.fd >= 0 && is_plain(find(path), call.fd))
        return call.fd;
    if (call.fd >= 0)
        close(call.fd);
    errno = EPERM;
    return -1;
}

int gw_files_mkdir(const char *path, mode_t mode)
{
    return gw_files_are_remote(path)
               ? simple(path, NULL,
                        (struct gw_files_request){.operation = GW_FILES_MKDIR, .mode = mode})
               : mkdir(path, mode);
}

int gw_files_unlink(const char *path)
{
    return gw_files_are_remote(path)
               ? simple(path, NULL, (struct gw_files_request){.operation = GW_FILES_UNLINK})
               : unlink(path);
}

int gw_files_rename(const char *from, const char *to)
{
    return gw_files_are_remote(from)
               ? simple(from, to, (struct gw_files_request){.operation = GW_FILES_RENAME})
               : rename(from, to);
}

int gw_files_symlink(const char *target, const char *path)
{
    return gw_files_are_remote(path)
               ? simple(path, target, (struct gw_files_request){.operation = GW_FILES_SYMLINK})
               : symlink(target, path);
}

ssize_t gw_files_readlink(const char *path, char *target, size_t bytes)
{
    if (!gw_files_are_remote(path))
        return readlink(path, target, bytes);
    struct call call = {.request = {.operation = GW_FILES_READLINK}, .texts = {path}};
    if (perform(find(path), &call) < 0)
        return -1;
    size_t length = call.answer.bytes < bytes ? call.answer.bytes : bytes;
    memcpy(target, call.data, length);
    return (ssize_t)length;
}

int gw_files_stat(const char *path, struct stat *status)
{
    if (!gw_files_are_remote(path))
        return stat(path, status);
    struct call call = {.request = {.operation = GW_FILES_STAT}, .texts = {path}};
    int rc = perform(find(path), &call);
    *status = call.answer.status;
    return rc;
}

int gw_files_access(const char *path, int mode)
{
    return gw_files_are_remote(path)
               ? simple(path, NULL,
                        (struct gw_files_request){.operation = GW_FILES_ACCESS, .flags = mode})
               : access(path, mode);
}

int gw_files_chmod(const char *path, mode_t mode)
{
    return gw_files_are_remote(path)
               ? simple(path, NULL,
                        (struct gw_files_request){.operation = GW_FILES_CHMOD, .mode = mode})
               : chmod(path, mode);
}

DIR *gw_files_opendir(const char *path)
{
    if (!gw_files_are_remote(path))
        return opendir(path);
    int fd = gw_files_open(path, O_RDONLY | O_DIRECTORY | O_CLOEXEC, 0);
    DIR *listing = fd < 0 ? NULL : fdopendir(fd);
    if (fd >= 0 && !listing)
        close(fd);
    return listing;
}

int gw_files_remove(const char *path)
{
    return simple(path, NULL, (struct gw_files_request){.operation = GW_FILES_REMOVE});
}

int gw_files_make(const char *path)
{
    return simple(path, NULL, (struct gw_files_request){.operation = GW_FILES_MAKE});
}

int gw_files_count(const char *path, uint64_t *bytes, uint64_t *free_bytes)
{
    struct call call = {.request = {.operation = GW_FILES_COUNT}, .texts = {path}};
    int rc = perform(find(path), &call);
    *bytes = rc < 0 ? INT64_MAX : (uint64_t)call.answer.status.st_size;
    *free_bytes = rc < 0 ? 0 : (uint64_t)call.answer.status.st_blocks;
    return rc;
}

int gw_files_kill(const char *folder, pid_t pid)
{
    return simple(folder, NULL,
                  (struct gw_files_request){.operation = GW_FILES_KILL, .flags = (int32_t)pid});
}

uint64_t gw_files_stamp(const char *path)
{
    struct call call = {.request = {.operation = GW_FILES_STAMP}, .texts = {path}};
    return perform(find(path), &call) == 0 ? (uint64_t)call.answer.status.st_size : 0;
}

int gw_files_transfer(const char *path, const char *where, int socket)
{
    struct call call = {
        .request = {.operation = GW_FILES_TRANSFER}, .texts = {path, where}, .carried = socket};
    return perform(find(path), &call);
}
