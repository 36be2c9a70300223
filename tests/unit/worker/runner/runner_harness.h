/* The worker's side of real runners: this same program, started again as a runner. */
#ifndef GW_TESTS_UNIT_RUNNER_HARNESS_H
#define GW_TESTS_UNIT_RUNNER_HARNESS_H

#include "graph/wire/channel.h"

#include <gangway/value.h>
#include <sys/types.h>

enum { SIDE_FDS = 64, SIDE_JOB = 42, SIDE_DIR_BYTES = 64 };

/* A runner and its last message. */
struct side {
    pid_t pid;
    struct gw_channel *channel;
    struct gw_msg_checkpointed checkpointed; /* the last one received; side_get skips them */
    bool paused;                             /* rank_paused was received */
    uint64_t cpu_ns;                         /* of the last `used`; side_get skips them */
    struct gw_message alike; /* failures: rows from alike_at on are still to be returned */
    uint32_t alike_at;
    struct gw_message message; /* valid until the next side_get */
    int fds[SIDE_FDS];
    uint8_t fd_count, fd_at;
    char out[160], err[160]; /* its capture files */
};

/* side_open starts a runner whose captures, GANGWAY_LOG_DIR (<dir>/log) and GANGWAY_CHECKPOINTS are
 * below dir, and takes its hello. side_close closes the channel and expects exit code 0; side_wait
 * returns the wait status of a runner that ends by itself. */
void side_open(struct side *side, const char *dir);
void side_close(struct side *side);
int side_wait(struct side *side);

/* side_set_up makes a folder, writes its name, and opens a runner there, for the set-up of a test;
 * side_tear_down closes it if it is open, and removes the folder. 0, or -1. */
int side_set_up(struct side *side, char dir[SIDE_DIR_BYTES]);
int side_tear_down(struct side *side, const char *dir);

/* side_list is a list of up to two arguments, which it takes. */
struct gw_value *side_list(struct gw_value *a, struct gw_value *b);

/* side_get takes the next message, which must be of this type (a report that a task runs long is
 * skipped, and answered with nothing taken, unless that is the type). If the type is ended, rows of
 * failures are returned as such, one by one; descriptors are closed at the next call unless side_fd
 * took them. */
const struct gw_message *side_get(struct side *side, uint32_t type);
int side_fd(struct side *side);

/* side_value takes value i of the last `finished`, inline or from its descriptor. */
struct gw_value *side_value(struct side *side, uint32_t i);

void side_put(struct side *side, const struct gw_message *message, int fd); /* fd: -1 none */
void side_flush(struct side *side);

/* side_spec defines spec `number` of SIDE_JOB as a function. */
void side_spec(struct side *side, uint32_t number, const char *function, uint64_t output_bytes_max);

/* A dependency: a value (taken), sent inline or by descriptor; or a rank that has none. memfile:
 * the value is written over the file of `fd` (borrowed), which is passed as the file of that
 * number. */
struct side_dep {
    struct gw_value *value;
    bool by_fd;
    uint64_t memfile;
    int fd;
    uint32_t rank;
    uint64_t bytes;  /* if there is no value */
    uint32_t worker; /* GW_DEP_HERE: row `bytes` of the same assign makes it */
};

/* A task; attempt 0: 1000 + index. rank 0: GW_RANK_NONE; else the rank is rank - 1. */
struct side_row {
    uint32_t index, spec, try_number, rank;
    uint64_t attempt;
    struct gw_value *args; /* taken; NULL: none */
    struct side_dep deps[8];
    uint32_t dep_count;
};

/* side_assign queues one assign message of at most 512 rows; side_flush sends it. */
void side_assign(struct side *side, const struct side_row *rows, uint32_t count);

#endif
