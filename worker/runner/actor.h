/* The actor that a runner keeps: the state that its task made, and where it says what it begins. */
#ifndef GW_RUNNER_ACTOR_H
#define GW_RUNNER_ACTOR_H

#include <stdbool.h>
#include <stdint.h>

struct gw_actor_kept {
    bool made; /* the task that makes it is through: there may be calls */
    uint64_t job, attempt;
    uint32_t index;
    uint64_t output_bytes_max;
    void *state;
    void (*destroy)(void *state); /* NULL: nothing to do */
    uint64_t *began;              /* shared with the worker; NULL: not yet */
};

/* gw_actor_keep makes the page in which the calls that begin are written, and gives its descriptor
 * (to be closed by the caller), or GW_ENOMEM. */
int gw_actor_keep(struct gw_actor_kept *actor, int *fd);

/* gw_actor_begin says that a call begins: whoever finds the page after a crash knows. */
void gw_actor_begin(struct gw_actor_kept *actor, uint64_t attempt);

/* gw_actor_let_go calls destroy, once. */
void gw_actor_let_go(struct gw_actor_kept *actor);

#endif
