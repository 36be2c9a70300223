/* Calls of one actor that gather until they are sent. */
#ifndef GW_CLIENT_ACTOR_BATCH_H
#define GW_CLIENT_ACTOR_BATCH_H

#include "client/results/chunk.h"
#include "client/results/future_group.h"

struct gw_function;

/* What calls have in common that were made in the same way. */
struct gw_actor_batch_spec {
    const struct gw_function *function;
    uint32_t retries;
    int32_t priority;
    uint64_t time_limit_ns;
};

/* The client's lock guards all but the first two. */
struct gw_actor_batch {
    struct gw_client *client;      /* borrowed: the actor references it */
    uint64_t actor;                /* its job */
    struct gw_actor_batch *unsent; /* the next of client->unsent */
    bool is_unsent;
    struct gw_future_group *group; /* of those that were made and not sent; NULL: there are none */
    struct gw_chunk chunk;
    GW_ARRAY(struct gw_actor_batch_spec) specs;
    GW_ARRAY(uint64_t) scattered; /* names of what holds large arguments */
    uint32_t rows, capacity;
};

/* One call: its arguments are encoded, those that were large are values of their own already. */
struct gw_actor_batch_row {
    struct gw_actor_batch_spec spec;
    struct gw_chunk_row row; /* row.row is not read */
    const uint64_t *scattered;
    uint32_t scattered_count;
};

/* gw_actor_batch_add appends a call and gives its future where that is not NULL. GW_ENOMEM,
 * GW_ECLOSED.
 */
int gw_actor_batch_add(struct gw_actor_batch *calls, const struct gw_actor_batch_row *row,
                       struct gw_future **future, struct gw_error *error);

/* gw_actor_batch_flush sends what has gathered of all actors of a client; its lock is held. */
void gw_actor_batch_flush(struct gw_client *client);

/* gw_actor_batch_deinit frees what has been sent. */
void gw_actor_batch_deinit(struct gw_actor_batch *calls);

#endif
