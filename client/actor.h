/* Handles of actors, and the calls that gather until they are sent. */
#ifndef GW_CLIENT_ACTOR_H
#define GW_CLIENT_ACTOR_H

#include "client/chunk.h"
#include "client/client.h"
#include "graph/model/graph.h"
#include "worker/runner/actor.h"

#include <gangway/actor.h>

/* What the calls of a batch share. */
struct gw_batch_spec {
    const struct gw_function *function;
    uint32_t retries;
    int32_t priority;
    uint64_t wall_ns;
};

/* Calls that were made and not sent: they become one job. */
struct gw_call_batch {
    struct gw_bundle *bundle; /* NULL: there are none */
    struct gw_chunk chunk;
    GW_ARRAY(struct gw_batch_spec) specs;
    GW_ARRAY(uint64_t) scattered; /* jobs that hold large arguments */
    uint32_t rows, capacity;
};

struct gw_actor {
    struct gw_client *client; /* referenced */
    uint64_t job;
    struct gw_call_batch batch; /* the client's lock guards it */
    struct gw_actor *unsent;    /* the next one of client->unsent */
    bool is_unsent;
    struct gw_actor_kept kept; /* with GANGWAY_INLINE */
    struct gw_error dead;      /* of an inline one: why it could not be made */
};

/* One call: its arguments are encoded, those that were large are values of their own already. */
struct gw_actor_row {
    struct gw_batch_spec spec;
    struct gw_chunk_row row; /* row.row is not read */
    const uint64_t *scattered;
    uint32_t scattered_count;
};

/* gw_actor_add appends a call and gives its future where that is not NULL. GW_ENOMEM, GW_ECLOSED.
 */
int gw_actor_add(struct gw_actor *actor, const struct gw_actor_row *row, struct gw_future **future,
                 struct gw_error *error);

/* gw_actors_flush sends what has gathered of all actors of a client; its lock is held. */
void gw_actors_flush(struct gw_client *client);

#endif
