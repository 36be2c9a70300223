/* A real worker, with its supervisor and runners, and a scheduler controlled by the test. The
 * test's own executable is all of them: worker_harness_main selects which. */
#ifndef GW_TESTS_WORKER_HARNESS_H
#define GW_TESTS_WORKER_HARNESS_H

#include "tests/unit/unit.h"

#include "graph/wire/channel.h"
#include "graph/wire/enums.h"
#include "graph/wire/hash.h"

#include <stdbool.h>
#include <sys/types.h>

enum { HARNESS_TASKS_MAX = 4096 };

struct harness {
    char dir[64];
    int listen_fd;
    pid_t worker;
    struct gw_channel *channel;
    struct gw_msg_registration registration; /* only counts and numbers */
    uint64_t sequence, seen;
    struct gw_message message; /* the message that was awaited last */
    int fd;                    /* its descriptor, owned by the harness; -1: none */
    uint8_t program[GW_HASH_BYTES];
    struct gw_buffer manifest;
};

/* worker_harness_main is the first call of main: it runs the worker or the supervisor, if this
 * process was started as one, and returns otherwise. */
void worker_harness_main(int argc, char **argv);

/* harness_open starts a worker of two slots and accepts its registration. harness_close tells it to
 * end, waits for that, and expects that none of its files is left. */
void harness_open(struct harness *harness, bool private_cluster);
void harness_close(struct harness *harness);

/* harness_wait_gone waits until the worker has ended with success. */
void harness_wait_gone(struct harness *harness);

void harness_send(struct harness *harness, struct gw_message message, int fd);

/* harness_wait waits for a message of a type, and answers heartbeats and requests for content; its
 * content is valid until the next call. */
const struct gw_message *harness_wait(struct harness *harness, uint32_t type);

/* harness_function sends a spec of a function of this program, shipped with it; harness_script, of
 * a shell script; key 1. */
void harness_function(struct harness *harness, uint32_t number, const char *function);
void harness_script(struct harness *harness, uint32_t number, const char *script);

/* harness_assign sends `count` tasks with attempts from `attempt` on (indices too), each with the
 * argument i. harness_rank sends one rank of a gang. */
void harness_assign(struct harness *harness, uint32_t spec, uint64_t attempt, uint32_t count);
void harness_rank(struct harness *harness, uint32_t spec, uint64_t attempt, uint32_t rank);

/* harness_read_log reads the whole output of an attempt and follows it to its end. */
const char *harness_read_log(struct harness *harness, uint64_t attempt, uint32_t rank,
                             uint32_t stream);

#endif
