/* The actor of a runner.
 *
 * Invariant: `began` names the call that runs or ran last. It is written before the call does
 * anything, so that no call that may have had an effect is executed again. */
#include "worker/runner/actor.h"

#include <gangway/error.h>

#include <sys/mman.h>
#include <unistd.h>

int gw_actor_make_page(struct gw_actor_instance *actor, int *fd)
{
    int page = memfd_create("gangway-actor", MFD_CLOEXEC);
    if (page < 0)
        return GW_ENOMEM;
    void *memory = MAP_FAILED;
    if (ftruncate(page, (off_t)sizeof *actor->began) == 0)
        memory = mmap(NULL, sizeof *actor->began, PROT_READ | PROT_WRITE, MAP_SHARED, page, 0);
    if (memory == MAP_FAILED) {
        close(page);
        return GW_ENOMEM;
    }
    actor->began = memory;
    *fd = page;
    return 0;
}

void gw_actor_begin(struct gw_actor_instance *actor, uint64_t attempt)
{
    if (actor->began)
        __atomic_store_n(actor->began, attempt, __ATOMIC_RELEASE);
}

void gw_actor_let_go(struct gw_actor_instance *actor)
{
    void (*destroy)(void *state) = actor->destroy;
    void *state = actor->state;
    actor->destroy = NULL;
    actor->state = NULL;
    if (destroy)
        destroy(state);
}
