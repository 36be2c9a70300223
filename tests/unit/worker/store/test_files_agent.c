/* Operations on files that the agent of a separate user carries out, here a child process. */
#include "tests/unit/unit.h"

#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/files.h"
#include "worker/store/files_agent.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

struct world {
    char folder[64], path[128];
    pid_t agent;
};

static int set_up(void **state)
{
    struct world *w = calloc(1, sizeof *w);
    int pair[2];
    assert_non_null(w);
    strcpy(w->folder, "/var/tmp/gw-agent-XXXXXX");
    assert_non_null(mkdtemp(w->folder));
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    w->agent = fork();
    if (w->agent == 0) {
        close(pair[0]);
        (void)dup2(pair[1], 3);
        _exit(gw_files_agent_main(0, NULL));
    }
    close(pair[1]);
    gw_files_attach(w->folder, pair[0], w->agent);
    *state = w;
    return 0;
}

static int tear_down(void **state)
{
    struct world *w = *state;
    gw_files_detach(w->folder);
    kill(w->agent, SIGKILL);
    assert_int_equal(waitpid(w->agent, NULL, 0), w->agent);
    struct gw_error error;
    assert_true(gw_dir_remove(w->folder, &error) < 0); /* its agent is gone */
    char command[96];
    (void)snprintf(command, sizeof command, "rm -rf %s", w->folder); /* beside its reaper */
    assert_int_equal(system(command), 0);
    free(w);
    return 0;
}

static const char *in(struct world *w, const char *name)
{
    (void)snprintf(w->path, sizeof w->path, "%s/%s", w->folder, name);
    return w->path;
}

static void put(const char *path, const char *text)
{
    int fd = gw_files_open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
}

static void agent_carries_out_all_operations(void **state)
{
    struct world *w = *state;
    struct stat status;
    struct gw_error error;
    char target[16], from[128];
    assert_true(gw_files_lives(w->folder) && gw_files_are_remote(in(w, "a")));
    assert_int_equal(gw_dir_make(in(w, "a/b"), &error), 0);
    assert_int_equal(gw_files_mkdir(in(w, "a/c"), 0700), 0);
    assert_int_equal(gw_files_mkdir(in(w, "a/c"), 0700), -1);
    assert_int_equal(errno, EEXIST);
    put(in(w, "a/one"), "text");
    assert_int_equal(gw_files_stat(in(w, "a/one"), &status), 0);
    assert_int_equal(status.st_size, 4);
    assert_int_equal(gw_files_chmod(in(w, "a/one"), 0500), 0);
    assert_int_equal(gw_files_access(in(w, "a/one"), X_OK), 0);
    strcpy(from, in(w, "a/one"));
    assert_int_equal(gw_files_rename(from, in(w, "a/two")), 0);
    assert_int_equal(gw_files_symlink("two", in(w, "a/link")), 0);
    assert_int_equal(gw_files_readlink(in(w, "a/link"), target, sizeof target), 3);
    DIR *listing = gw_files_opendir(in(w, "a"));
    int entries = 0;
    while (readdir(listing))
        entries++;
    closedir(listing);
    assert_int_equal(entries, 6); /* b, c, two, link, and the folder and its parent */
    uint64_t bytes, free_bytes;
    assert_int_equal(gw_files_count(in(w, "a"), &bytes, &free_bytes), 0);
    assert_true(bytes >= 4096 && bytes < 1 << 20 && free_bytes > 0);
    assert_int_equal(gw_files_unlink(in(w, "a/link")), 0);
    assert_int_equal(gw_dir_remove(in(w, "a"), &error), 0);
    assert_int_equal(gw_files_access(in(w, "a"), F_OK), -1);
    assert_int_equal(errno, ENOENT);
}

static void other_folders_are_not_the_agents(void **state)
{
    struct world *w = *state;
    char other[80];
    (void)snprintf(other, sizeof other, "%s-other", w->folder);
    assert_false(gw_files_are_remote(other));
    assert_false(gw_files_are_remote("/var/tmp"));
    assert_true(gw_files_are_remote(w->folder));
}

/* Reading them could block, or give what the user may not have looked at in this way. */
static void only_plain_files_are_accepted(void **state)
{
    struct world *w = *state;
    assert_int_equal(mkfifo(in(w, "fifo"), 0600), 0);
    assert_int_equal(gw_files_open(w->path, O_RDONLY, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(symlink("/proc/version", in(w, "proc")), 0);
    assert_int_equal(gw_files_open(w->path, O_RDONLY, 0), -1);
    assert_int_equal(errno, EPERM);
    assert_int_equal(symlink("/dev/null", in(w, "null")), 0);
    assert_int_equal(gw_files_open(w->path, O_RDONLY, 0), -1);
    assert_int_equal(errno, EPERM);
}

static void dead_agent_is_given_up(void **state)
{
    struct world *w = *state;
    put(in(w, "file"), "text");
    kill(w->agent, SIGKILL);
    assert_int_equal(gw_files_open(in(w, "file"), O_RDONLY, 0), -1);
    assert_int_equal(errno, EIO);
    assert_false(gw_files_lives(w->folder));
}

/* All users of the worker wait meanwhile. */
static void stopped_agent_is_given_up_early(void **state)
{
    struct world *w = *state;
    int status;
    put(in(w, "file"), "text");
    kill(w->agent, SIGSTOP);
    assert_int_equal(waitpid(w->agent, &status, WUNTRACED), w->agent);
    const uint64_t begun_ns = gw_clock_now_ns();
    assert_int_equal(gw_files_open(in(w, "file"), O_RDONLY, 0), -1);
    assert_int_equal(errno, EIO);
    assert_true(gw_clock_now_ns() - begun_ns < GW_NS_PER_S);
    assert_false(gw_files_lives(w->folder));
}

/* A user's process in the agent's place, which answers byte by byte. */
static void slow_answer_does_not_extend_the_time_limit(void **state)
{
    struct world *w = *state;
    const struct gw_files_answer answer = {.errnum = ENOENT};
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    pid_t slow = fork();
    if (slow == 0) {
        struct pollfd closed = {.fd = pair[1]};
        close(pair[0]);
        for (size_t i = 0; i < sizeof answer && poll(&closed, 1, 200) == 0; i++)
            (void)send(pair[1], (const char *)&answer + i, 1, MSG_NOSIGNAL);
        _exit(0);
    }
    close(pair[1]);
    gw_files_attach(w->folder, pair[0], slow);
    const uint64_t begun_ns = gw_clock_now_ns();
    assert_int_equal(gw_files_access(in(w, "file"), F_OK), -1);
    assert_int_equal(errno, EIO);
    assert_true(gw_clock_now_ns() - begun_ns < 10 * GW_NS_PER_S);
    assert_int_equal(waitpid(slow, NULL, 0), slow);
}

/* An agent whose user answers in its place. */
static void malformed_answers_end_the_agent(void **state)
{
    struct world *w = *state;
    struct gw_files_answer answer = {.bytes = UINT32_MAX};
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    assert_int_equal(write(pair[1], &answer, sizeof answer), sizeof answer);
    gw_files_attach(w->folder, pair[0], w->agent);
    assert_int_equal(gw_files_access(in(w, "file"), F_OK), -1);
    assert_int_equal(errno, EIO);
    assert_false(gw_files_lives(w->folder));
    close(pair[1]);
}

static void send_with(int socket, const void *data, size_t bytes, const int fds[2])
{
    union {
        char bytes[CMSG_SPACE(2 * sizeof(int))];
        struct cmsghdr aligned;
    } control = {{0}};
    struct iovec part = {(void *)(uintptr_t)data, bytes};
    struct msghdr message = {.msg_iov = &part,
                             .msg_iovlen = 1,
                             .msg_control = control.bytes,
                             .msg_controllen = sizeof control.bytes};
    struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    head->cmsg_level = SOL_SOCKET;
    head->cmsg_type = SCM_RIGHTS;
    head->cmsg_len = CMSG_LEN(2 * sizeof(int));
    memcpy(CMSG_DATA(head), fds, 2 * sizeof(int));
    assert_int_equal(sendmsg(socket, &message, 0), bytes);
}

static int count_descriptors(void)
{
    DIR *listing = opendir("/proc/self/fd");
    int count = 0;
    assert_non_null(listing);
    while (readdir(listing))
        count++;
    closedir(listing);
    return count;
}

/* Two descriptors with each of two parts of an answer. */
static void surplus_descriptors_are_closed(void **state)
{
    struct world *w = *state;
    const struct gw_files_answer answer = {.errnum = ENOENT};
    const int fds[2] = {STDERR_FILENO, STDERR_FILENO};
    int pair[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair), 0);
    gw_files_attach(w->folder, pair[0], w->agent);
    send_with(pair[1], &answer, 1, fds);
    send_with(pair[1], (const char *)&answer + 1, sizeof answer - 1, fds);
    const int before = count_descriptors();
    assert_int_equal(gw_files_open(in(w, "file"), O_RDONLY, 0), -1);
    assert_int_equal(errno, ENOENT);
    assert_int_equal(count_descriptors(), before);
    close(pair[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(agent_carries_out_all_operations, set_up, tear_down),
        cmocka_unit_test_setup_teardown(other_folders_are_not_the_agents, set_up, tear_down),
        cmocka_unit_test_setup_teardown(only_plain_files_are_accepted, set_up, tear_down),
        cmocka_unit_test_setup_teardown(dead_agent_is_given_up, set_up, tear_down),
        cmocka_unit_test_setup_teardown(stopped_agent_is_given_up_early, set_up, tear_down),
        cmocka_unit_test_setup_teardown(slow_answer_does_not_extend_the_time_limit, set_up,
                                        tear_down),
        cmocka_unit_test_setup_teardown(malformed_answers_end_the_agent, set_up, tear_down),
        cmocka_unit_test_setup_teardown(surplus_descriptors_are_closed, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
