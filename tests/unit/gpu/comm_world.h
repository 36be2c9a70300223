/* Runs a function in every rank of a communicator, in processes or in threads; all tests of
 * collectives use it. A rank's function returns 0, or the number of the line that failed. */
#ifndef GW_TESTS_UNIT_COMM_WORLD_H
#define GW_TESTS_UNIT_COMM_WORLD_H

#include <gangway/comm.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { WORLD_RANKS_MAX = 16 };

/* What a backend provides for its tests. */
struct comm_backend_hooks {
    const char *name;
    /* Creates what the ranks share; returns a handle that children inherit. */
    int (*create)(int ranks, int *handle);
    int (*open)(int handle, int rank, int ranks, uint64_t timeout_ns, struct gw_comm **comm);
    int (*abort)(int handle, int cause, int rank); /* from outside */
    void (*destroy)(int handle);
    /* Copies between any two buffers, because memory of gw_comm_alloc may be inaccessible for the
     * host. */
    void (*copy)(void *to, const void *from, size_t bytes);
    int ranks_max;    /* how many ranks the suite may make */
    bool has_threads; /* ranks may be threads of one process */
    bool is_host;     /* only the host backend guarantees this part of comm.h */
    bool on_device;   /* memory of gw_comm_alloc is a device's */
    bool has_hosts;   /* some ranks reach others through connections only */
};

extern const struct comm_backend_hooks comm_host_hooks;

/* comm_ring_world.c: the host backend across two hosts, or by TLS across three for odd rank counts.
 */
extern const struct comm_backend_hooks comm_ring_hooks;

struct world;

/* The view of one rank. */
struct world_rank {
    struct world *world;
    struct gw_comm *comm; /* open when the function starts, and closed after it */
    int rank, ranks;
    void *context;
};

typedef int world_function(struct world_rank *self);

struct world {
    const struct comm_backend_hooks *hooks;
    int ranks;
    bool threads;        /* threads; else processes */
    uint64_t timeout_ns; /* 0: 60 s */
    world_function *function;
    void *context;
    /* Pipes between ranks and the test: bytes from the ranks, and a gate that lets them continue.
     */
    int told[2], gate[2];
    int handle;
    pid_t pid[WORLD_RANKS_MAX];
};

/* world_start opens everything and starts the ranks (processes only; threads run to their end
 * within it). world_join waits, returns how many ranks did not return 0, and frees the world. */
void world_start(struct world *world);
int world_join(struct world *world);

/* world_run is world_start and world_join. */
int world_run(struct world *world);

/* world_tell sends a byte to the test (world_hear); world_hear waits for `count` of them. */
void world_tell(const struct world_rank *self);
void world_hear(const struct world *world, int count);

/* world_open_gate lets all ranks pass world_wait_gate, now or later. */
void world_open_gate(struct world *world);
void world_wait_gate(const struct world_rank *self);

/* In a rank's function: returns the line if the condition is false. */
#define RANK_CHECK(condition)                                                                      \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            (void)fprintf(stderr, "%s:%d: rank %d of %d: %s\n", __FILE__, __LINE__, self->rank,    \
                          self->ranks, #condition);                                                \
            return __LINE__;                                                                       \
        }                                                                                          \
    } while (0)

#define RANK_CHECK_RC(expression, wanted)                                                          \
    do {                                                                                           \
        int rc_ = (expression);                                                                    \
        if (rc_ != (wanted)) {                                                                     \
            (void)fprintf(stderr, "%s:%d: rank %d of %d: %s is %s, wanted %s\n", __FILE__,         \
                          __LINE__, self->rank, self->ranks, #expression, gw_error_name(rc_),      \
                          gw_error_name(wanted));                                                  \
            return __LINE__;                                                                       \
        }                                                                                          \
    } while (0)

#endif
