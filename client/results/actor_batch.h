/* Calls of one actor that gather until they are sent together. */
#ifndef GW_CLIENT_ACTOR_BATCH_H
#define GW_CLIENT_ACTOR_BATCH_H

#include "client/results/chunk.h"
#include "client/results/future_group.h"

struct gw_function;

/* The options that a call has. Calls with equal options share a spec. */
struct gw_actor_batch_spec {
    const struct gw_function *function;
    uint32_t retries;
    int32_t priority;
    uint64_t time_limit_ns, inactivity_timeout_ns;
};

/* All fields except `client` and `actor` are guarded by the client's lock. */
struct gw_actor_batch {
    struct gw_client *client;      /* borrowed: the actor's handle references the client */
    uint64_t actor;                /* job that made the actor */
    struct gw_actor_batch *unsent; /* next actor in the list client->unsent */
    bool is_unsent;
    struct gw_future_group *group; /* futures of unsent calls; NULL: none */
    struct gw_chunk chunk;
    GW_ARRAY(struct gw_actor_batch_spec) specs;
    GW_ARRAY(uint64_t) scattered; /* scattered values that hold large arguments */
    uint32_t rows, capacity;
};

/* One call. Its arguments are encoded, and its large arguments are already scattered. */
struct gw_actor_batch_row {
    struct gw_actor_batch_spec spec;
    struct gw_chunk_row row; /* row.row is ignored */
    const uint64_t *scattered;
    uint32_t scattered_count;
};

/* gw_actor_batch_add appends a call. If `future` is not NULL, *future becomes the call's future.
 * Errors: GW_ENOMEM, GW_ECLOSED. */
int gw_actor_batch_add(struct gw_actor_batch *calls, const struct gw_actor_batch_row *row,
                       struct gw_future **future, struct gw_error *error);

/* gw_actor_batch_flush sends the gathered calls of all actors of a client. The client's lock is
 * held. */
void gw_actor_batch_flush(struct gw_client *client);

/* gw_actor_batch_deinit frees the batch, whose calls have been sent. */
void gw_actor_batch_deinit(struct gw_actor_batch *calls);

#endif
