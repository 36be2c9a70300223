/* The actor of a runner: the state that its task has created, and a page in which the runner notes
 * the calls that it begins. */
#ifndef GW_RUNNER_ACTOR_H
#define GW_RUNNER_ACTOR_H

#include <stdbool.h>
#include <stdint.h>

struct gw_actor_instance {
    bool made; /* the task that creates it has succeeded: calls may arrive */
    uint64_t job, attempt;
    uint32_t index;
    uint64_t output_bytes_max;
    void *state;
    void (*destroy)(void *state); /* NULL: nothing to do */
    uint64_t *began;              /* page shared with the worker; NULL: not created yet */
};

/* gw_actor_make_page creates the page for the calls that begin, and returns its descriptor, which
 * the caller closes. Returns GW_ENOMEM if this fails. */
int gw_actor_make_page(struct gw_actor_instance *actor, int *fd);

/* gw_actor_begin notes that a call begins. After a crash, the worker reads the page. */
void gw_actor_begin(struct gw_actor_instance *actor, uint64_t attempt);

/* gw_actor_let_go calls destroy once. */
void gw_actor_let_go(struct gw_actor_instance *actor);

#endif
