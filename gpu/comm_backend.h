/* What a backend of comm.h implements. comm.c checks arguments and fills in what they leave out, so
 * that a backend sees valid ones only: known types, a root in range, both of `send` and `recv` set
 * (in place: equal, or where the operation says), no size that overflows. */
#ifndef GW_GPU_COMM_BACKEND_H
#define GW_GPU_COMM_BACKEND_H

#include <gangway/comm.h>
#include <stdatomic.h>
#include <stdbool.h>

enum gw_comm_verb {
    GW_COMM_BARRIER = 1,
    GW_COMM_ALL_REDUCE,
    GW_COMM_BROADCAST,
    GW_COMM_ALL_GATHER,
    GW_COMM_REDUCE_SCATTER,
    GW_COMM_SEND,
    GW_COMM_RECV,
    GW_COMM_ALLOC,
    GW_COMM_WAIT,
};

struct gw_comm_backend {
    const char *name;
    bool has_streams; /* else args->stream is always NULL */

    /* Each keeps the contract of the function of comm.h with its name. */
    int (*run)(struct gw_comm *comm, enum gw_comm_verb verb, const struct gw_comm_args *args,
               struct gw_error *error); /* BARRIER to RECV */
    int (*wait)(struct gw_comm *comm, void *stream, struct gw_error *error);
    int (*alloc)(struct gw_comm *comm, size_t bytes, void **memory, struct gw_error *error);
    void (*dealloc)(struct gw_comm *comm, void *memory);
    void (*abort)(struct gw_comm *comm, int cause, int rank); /* from any thread */
    void (*close)(struct gw_comm *comm);
};

/* What others may see of a rank: written by its thread only. */
struct gw_comm_pulse {
    _Atomic uint64_t begun; /* operations */
    _Atomic uint32_t verb;  /* enum gw_comm_verb of the one that it is in, or 0 */
};

/* The head of every backend's own struct. */
struct gw_comm {
    const struct gw_comm_backend *backend;
    int rank;
    int size;
    uint64_t timeout_ns;         /* never 0 */
    struct gw_comm_pulse *pulse; /* NULL: nobody looks */
};

/* gw_comm_init fills in the head, with the default timeout. */
void gw_comm_init(struct gw_comm *comm, const struct gw_comm_backend *backend, int rank, int size);

/* gw_comm_verb_name returns "all_reduce" ...; static. */
const char *gw_comm_verb_name(enum gw_comm_verb verb);

/* gw_reduce_name returns "sum" ...; static; "?" for one that is not of the list. */
const char *gw_reduce_name(enum gw_reduce reduce);

#endif
