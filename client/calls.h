/* Calls of one actor that gather until they are sent. */
#ifndef GW_CLIENT_CALLS_H
#define GW_CLIENT_CALLS_H

#include "client/bundle.h"
#include "client/chunk.h"

struct gw_function;

/* What calls have in common that were made in the same way. */
struct gw_calls_spec {
    const struct gw_function *function;
    uint32_t retries;
    int32_t priority;
    uint64_t wall_ns;
};

/* The client's lock guards all but the first two. */
struct gw_calls {
    struct gw_client *client; /* borrowed: the actor references it */
    uint64_t actor;           /* its job */
    struct gw_calls *unsent;  /* the next of client->unsent */
    bool is_unsent;
    struct gw_bundle *bundle; /* of those that were made and not sent; NULL: there are none */
    struct gw_chunk chunk;
    GW_ARRAY(struct gw_calls_spec) specs;
    GW_ARRAY(uint64_t) scattered; /* names of what holds large arguments */
    uint32_t rows, capacity;
};

/* One call: its arguments are encoded, those that were large are values of their own already. */
struct gw_calls_row {
    struct gw_calls_spec spec;
    struct gw_chunk_row row; /* row.row is not read */
    const uint64_t *scattered;
    uint32_t scattered_count;
};

/* gw_calls_add appends a call and gives its future where that is not NULL. GW_ENOMEM, GW_ECLOSED.
 */
int gw_calls_add(struct gw_calls *calls, const struct gw_calls_row *row, struct gw_future **future,
                 struct gw_error *error);

/* gw_calls_flush sends what has gathered of all actors of a client; its lock is held. */
void gw_calls_flush(struct gw_client *client);

/* gw_calls_deinit frees what has been sent. */
void gw_calls_deinit(struct gw_calls *calls);

#endif
