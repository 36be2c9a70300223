/* The results of ranks, and the workers that have them. See state.h. */
#ifndef GW_SCHEDULER_CORE_MODEL_OBJECTS_H
#define GW_SCHEDULER_CORE_MODEL_OBJECTS_H

#include <stdbool.h>
#include <stdint.h>

struct gw_job;

/* The result of a rank. Small results are kept here, larger ones at workers or behind a token. */
struct gw_object {
    struct gw_job *job; /* NULL: free */
    uint64_t bytes;
    union {
        uint8_t small[8];
        void *value;
        uint64_t token;
    };
    uint32_t size; /* size of the value that is here */
    uint32_t index, rank;
    uint32_t holders;
    uint32_t next;             /* next rank's object; for a free entry: the next free one */
    bool has_token, scattered; /* scattered by a client and counted */
    bool absent;               /* after a restart: a worker may reconnect with it, see adopt.h */
};

/* A worker that has an object, or will have it because an attempt fetches it or the worker was told
 * to keep a replica. */
struct gw_holder {
    uint32_t object;
    uint32_t worker;   /* worker slot */
    uint32_t fetching; /* number of attempts that fetch it */
    bool firm;         /* the worker has it */
    bool copying;      /* told to fetch and keep it, without an answer yet */
    uint32_t next;     /* next holder of the object, or next free entry */
    uint32_t worker_prev, worker_next;
};

#endif
