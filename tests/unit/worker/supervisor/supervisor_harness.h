/* A real supervisor behind a socketpair, for tests: starts processes and waits for their events. */
#ifndef GW_TESTS_SUPERVISOR_HARNESS_H
#define GW_TESTS_SUPERVISOR_HARNESS_H

#include "graph/base/array.h"
#include "graph/wire/channel.h"

#include <stdbool.h>
#include <sys/types.h>

struct harness_event {
    uint32_t type;
    uint64_t process;
    uint32_t pid;
    int32_t code, exit_code, signal;
    uint32_t oom, unasked;
    char text[512];
};

struct harness {
    pid_t supervisor;
    struct gw_channel *channel;
    char dir[64];
    int pids; /* of fifo `pids`, where started processes write their pids, one per line */
    GW_ARRAY(struct harness_event) events;
};

/* The process to start; zero is the default everywhere. argv[0] is also the path if path is NULL.
 */
struct harness_spawn {
    uint64_t process;
    const char *path;
    const char *const *argv;
    const char *const *env;
    const char *cwd, *out, *err;
    uint64_t output_bytes_max;
    int runner_fd; /* 0: none */
    int in_fd;     /* likewise */
    bool held;
    const char *const *epilog;
    const char *cpus;
    uint64_t behind;
    bool more; /* sent together with the next one, in one message of the socket */
};

/* harness_open starts this same program again with the single argument "supervisor"; its main then
 * calls gw_supervisor_main. harness_close ends the supervisor by closing the channel and expects
 * exit code 0. */
void harness_open(struct harness *harness);
void harness_close(struct harness *harness);

void harness_spawn(struct harness *harness, const struct harness_spawn *spawn);
/* harness_read_to reports that the reader of a stream has read everything before offset. */
void harness_read_to(struct harness *harness, uint64_t process, uint32_t stream, uint64_t offset);
void harness_reap(struct harness *harness, uint64_t process, uint64_t grace_ns);

/* harness_wait returns the oldest event of a type and process that was not returned yet, and fails
 * the test after 30 s. harness_has tells whether there is one. */
struct harness_event harness_wait(struct harness *harness, uint32_t type, uint64_t process);
bool harness_has(struct harness *harness, uint32_t type, uint64_t process);

/* harness_pid reads the next line of the fifo: a pid. */
pid_t harness_pid(struct harness *harness);

/* harness_wait_gone waits until a process, which need not be a child, has ended; harness_is_gone
 * tells whether it has. */
void harness_wait_gone(pid_t pid);
bool harness_is_gone(pid_t pid);

/* harness_read returns a file's content, terminated; static. */
const char *harness_read(const char *path);

#endif
