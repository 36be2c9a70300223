/* Carries out one operation after the other. Its worker is trusted as far as it may do what its
 * user may do. The worker waits for each answer, so an operation that may take long is carried out
 * by a child process after the answer. */
#include "worker/store/files_agent.h"

#include "graph/base/dir.h"
#include "graph/base/files.h"
#include "worker/store/folder.h"
#include "worker/store/pack.h"
#include "worker/store/transfer_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/socket.h>
#include <unistd.h>

enum { WORKER_FD = 3, COUNT_ENTRIES_MAX = 20000 /* about 0.2 s */ };

static bool read_all(void *data, size_t bytes)
{
    for (size_t done = 0; done < bytes;) {
        ssize_t got = read(WORKER_FD, (char *)data + done, bytes - done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        done += (size_t)got;
    }
    return true;
}

/* Receives a request. *fd becomes its descriptor; -1: it has none. */
static bool read_request(struct gw_files_request *request, int *fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control;
    struct iovec part = {request, sizeof *request};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    ssize_t got;
    while ((got = recvmsg(WORKER_FD, &message, MSG_CMSG_CLOEXEC)) < 0 && errno == EINTR)
        ;
    const struct cmsghdr *head = got > 0 ? CMSG_FIRSTHDR(&message) : NULL;
    *fd = -1;
    if (head && head->cmsg_type == SCM_RIGHTS)
        memcpy(fd, CMSG_DATA(head), sizeof *fd);
    return got > 0 && read_all((char *)request + got, sizeof *request - (size_t)got);
}

/* Sends an answer, with the descriptor if it is not -1. */
static bool answer(const struct gw_files_answer *head, const char *data, int fd)
{
    union {
        char bytes[CMSG_SPACE(sizeof(int))];
        struct cmsghdr aligned;
    } control = {{0}};
    struct iovec parts[] = {{(void *)(uintptr_t)head, sizeof *head},
                            {(void *)(uintptr_t)data, head->bytes}};
    struct msghdr message = {.msg_iov = parts, .msg_iovlen = 2};
    if (fd >= 0) {
        message.msg_control = control.bytes;
        message.msg_controllen = sizeof control.bytes;
        struct cmsghdr *first = CMSG_FIRSTHDR(&message);
        first->cmsg_level = SOL_SOCKET;
        first->cmsg_type = SCM_RIGHTS;
        first->cmsg_len = CMSG_LEN(sizeof fd);
        memcpy(CMSG_DATA(first), &fd, sizeof fd);
    }
    return sendmsg(WORKER_FD, &message, MSG_NOSIGNAL) == (ssize_t)(sizeof *head + head->bytes);
}

/* Gives a folder another name, and removes it in a child process. Returns 0 if it does not exist,
 * or -1 and sets errno. */
static int remove_later(const char *path)
{
    static unsigned count;
    char gone[PATH_MAX + 64];
    (void)snprintf(gone, sizeof gone, "%s.gone-%d.%u", path, (int)getpid(), ++count);
    if (rename(path, gone) < 0)
        return errno == ENOENT ? 0 : -1;
    pid_t pid = fork();
    if (pid > 0)
        return 0;
    if (pid == 0)
        (void)close(WORKER_FD);
    int rc = gw_dir_remove(gone, NULL);
    if (pid == 0)
        _exit(rc < 0);
    return rc < 0 ? -1 : 0;
}

/* Serves a checkpoint transfer in a child process. Returns 0, or -1 and sets errno. */
static int serve_transfer(const char *path, const char *where, int fd)
{
    pid_t pid = fork();
    if (pid != 0)
        return pid > 0 ? 0 : -1;
    (void)close(WORKER_FD);
    gw_transfer_agent_run(fd, path, where);
    _exit(EXIT_SUCCESS);
}

/* Returns 0 or more, or -1 and sets errno. */
static int perform(const struct gw_files_request *request, const char *path, const char *other,
                   int fd, struct gw_files_answer *head, char data[PATH_MAX])
{
    ssize_t length;
    uint64_t bytes, free_bytes;
    switch (request->operation) {
    case GW_FILES_OPEN:
        return open(path, request->flags | O_CLOEXEC, request->mode);
    case GW_FILES_MKDIR:
        return mkdir(path, request->mode);
    case GW_FILES_UNLINK:
        return unlink(path);
    case GW_FILES_RENAME:
        return rename(path, other);
    case GW_FILES_SYMLINK:
        return symlink(other, path);
    case GW_FILES_READLINK:
        length = readlink(path, data, PATH_MAX);
        head->bytes = length > 0 ? (uint32_t)length : 0;
        return length < 0 ? -1 : 0;
    case GW_FILES_STAT:
        return stat(path, &head->status);
    case GW_FILES_ACCESS:
        return access(path, request->flags);
    case GW_FILES_CHMOD:
        return chmod(path, request->mode);
    case GW_FILES_REMOVE:
        return remove_later(path);
    case GW_FILES_MAKE:
        return gw_dir_make(path, NULL) < 0 ? -1 : 0;
    case GW_FILES_COUNT:
        gw_folder_count(path, COUNT_ENTRIES_MAX, &bytes, &free_bytes);
        head->status.st_size = (off_t)bytes;
        head->status.st_blocks = (blkcnt_t)free_bytes;
        return 0;
    case GW_FILES_KILL:
        return kill(request->flags, SIGKILL);
    case GW_FILES_STAMP:
        gw_folder_count(path, COUNT_ENTRIES_MAX, &bytes, &free_bytes);
        head->status.st_size = bytes < INT64_MAX ? (off_t)gw_pack_stamp(path) : 0;
        return 0;
    case GW_FILES_TRANSFER:
        return serve_transfer(path, other, fd);
    default:
        errno = ENOSYS;
        return -1;
    }
}

static bool serve(void)
{
    struct gw_files_request request;
    struct gw_files_answer head = {0};
    char texts[2][PATH_MAX] = {"", ""}, data[PATH_MAX];
    int fd;
    if (!read_request(&request, &fd))
        return false;
    for (int i = 0; i < 2; i++) {
        if (request.bytes[i] > PATH_MAX || !read_all(texts[i], request.bytes[i]))
            return false;
        texts[i][request.bytes[i] ? request.bytes[i] - 1 : 0] = '\0';
    }
    errno = EIO;
    int rc = perform(&request, texts[0], texts[1], fd, &head, data);
    head.errnum = rc < 0 ? errno : 0;
    const bool opened = rc >= 0 && request.operation == GW_FILES_OPEN;
    bool well = answer(&head, data, opened ? rc : -1);
    if (opened)
        close(rc);
    if (fd >= 0)
        close(fd);
    return well;
}

int gw_files_agent_main(int argc, char **argv)
{
    (void)argc;
    (void)argv;
    (void)prctl(PR_SET_NAME, "gangway-files");
    (void)signal(SIGCHLD, SIG_IGN); /* the kernel reaps children */
    (void)umask(077);               /* folders of the worker are private */
    while (serve())
        ;
    return EXIT_SUCCESS;
}
