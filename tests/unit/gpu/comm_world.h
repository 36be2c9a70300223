/* Runs one function in every rank of a communicator, in processes or in threads: the stage of the
 * tests of everything collective. A rank's function returns 0, or a line number that failed. */
#ifndef GW_TESTS_UNIT_COMM_WORLD_H
#define GW_TESTS_UNIT_COMM_WORLD_H

#include <gangway/comm.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/types.h>

enum { WORLD_RANKS_MAX = 16 };

/* What a backend gives to be tested. */
struct comm_backend_hooks {
    const char *name;
    /* Makes what ranks share; returns a handle that children inherit. */
    int (*create)(int ranks, int *handle);
    int (*open)(int handle, int rank, int ranks, uint64_t timeout_ns, struct gw_comm **comm);
    int (*abort)(int handle, int cause, int rank); /* from outside */
    void (*destroy)(int handle);
    /* Copies between any two buffers: memory of gw_comm_alloc may be out of the host's reach. */
    void (*copy)(void *to, const void *from, size_t bytes);
    int ranks_max;    /* how many ranks the suite may make */
    bool has_threads; /* ranks may be threads of one process */
    bool is_host;     /* keeps what comm.h promises for the host backend only */
    bool on_device;   /* memory of gw_comm_alloc is a device's */
    bool has_hosts;   /* some ranks know of others by connections only */
};

extern const struct comm_backend_hooks comm_host_hooks;

/* comm_ring_world.c: the host backend across two hosts, or by TLS across three where ranks are odd.
 */
extern const struct comm_backend_hooks comm_ring_hooks;

struct world;

/* One rank's view. */
struct world_rank {
    struct world *world;
    struct gw_comm *comm; /* open when the function starts, closed after it */
    int rank, ranks;
    void *context;
};

typedef int world_function(struct world_rank *self);

struct world {
    const struct comm_backend_hooks *hooks;
    int ranks;
    bool threads;        /* else processes */
    uint64_t timeout_ns; /* 0: 60 s */
    world_function *function;
    void *context;
    /* Pipes between ranks and the test: bytes that a rank tells, and a gate that lets them go. */
    int told[2], gate[2];
    int handle;
    pid_t pid[WORLD_RANKS_MAX];
};

/* world_start opens everything and starts the ranks (processes only, or all threads run to their
 * end within it). world_join waits, returns how many ranks did not return 0, and frees. */
void world_start(struct world *world);
int world_join(struct world *world);

/* world_run is both. */
int world_run(struct world *world);

/* world_tell lets the test read one byte (world_hear); world_hear waits for `count` of them. */
void world_tell(const struct world_rank *self);
void world_hear(const struct world *world, int count);

/* world_open_gate lets all ranks pass that wait at world_wait_gate, now or later. */
void world_open_gate(struct world *world);
void world_wait_gate(const struct world_rank *self);

/* In a rank's function: returns the line when what must hold does not. */
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
