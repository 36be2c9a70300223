/* The worker's side of agents. One operation of an agent is in progress at a time. An agent that
 * breaks the protocol or its time limit is given up for good. */
#include "graph/base/files.h"

#include "graph/base/must.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/statfs.h>
#include <sys/time.h>
#include <unistd.h>

enum { ANSWER_S_MAX = 2 };

/* The agents. An entry is never freed, since any thread may use it. */
struct agent {
    struct agent *next;
    pthread_mutex_t mutex;
    int socket; /* -1: none, or given up */
    long type;  /* of the file system of the folder */
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

void gw_files_attach(const char *folder, int socket)
{
    const struct timeval limit = {.tv_sec = ANSWER_S_MAX};
    (void)setsockopt(socket, SOL_SOCKET, SO_RCVTIMEO, &limit, sizeof limit);
    (void)setsockopt(socket, SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
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
    struct agent *agent = find(folder);
    if (!agent)
        return false;
    pthread_mutex_lock(&agent->mutex);
    bool lives = agent->socket >= 0;
    pthread_mutex_unlock(&agent->mutex);
    return lives;
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
};

static bool send_all(int socket, const void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t put = send(socket, (const char *)data + done, bytes - done, MSG_NOSIGNAL);
        if (put < 0 && errno == EINTR)
            continue;
        if (put <= 0)
            return false;
        done += (size_t)put;
    }
    return true;
}

/* Sends the head of a request, with its descriptor. It is small enough for one call. */
static bool send_head(int socket, const struct call *call)
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
    return sendmsg(socket, &message, MSG_NOSIGNAL) == (ssize_t)sizeof call->request;
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
static bool receive_head(int socket, struct call *call)
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
        ssize_t got = recvmsg(socket, &message, MSG_CMSG_CLOEXEC);
        if (got < 0 && errno == EINTR)
            continue;
        if (got > 0)
            take_descriptors(&message, call);
        if (got <= 0 || (message.msg_flags & MSG_CTRUNC))
            return false;
        done += (size_t)got;
    }
    return true;
}

static bool receive_all(int socket, void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = recv(socket, (char *)data + done, bytes - done, 0);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

static bool exchange(int socket, struct call *call)
{
    for (int i = 0; i < 2; i++)
        call->request.bytes[i] = call->texts[i] ? (uint32_t)strlen(call->texts[i]) + 1 : 0;
    bool well = send_head(socket, call);
    for (int i = 0; i < 2 && well; i++)
        well = send_all(socket, call->texts[i], call->request.bytes[i]);
    return well && receive_head(socket, call) && call->answer.bytes <= sizeof call->data &&
           receive_all(socket, call->data, call->answer.bytes);
}

/* Returns 0, or -1 and sets errno. */
static int perform(struct agent *agent, struct call *call)
{
    call->fd = -1;
    pthread_mutex_lock(&agent->mutex);
    bool well = agent->socket >= 0 && exchange(agent->socket, call);
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
