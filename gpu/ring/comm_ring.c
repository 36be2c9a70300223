/* Functions that the files of this backend share: how long an operation waits, how an error breaks
 * the communicator, and operations among the ranks of this host. */
#include "gpu/ring/comm_ring.h"

#include "graph/base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    CAUSE_MS = 2500
}; /* how long to wait until the watch reports why a connection ended or which rank is late */

bool gw_comm_ring_is_leader(const struct gw_comm_ring *self)
{
    return self->comm.rank == self->first_rank;
}

struct gw_ring_wait gw_comm_ring_wait(const struct gw_comm_ring *self)
{
    return (struct gw_ring_wait){.segment = self->local->segment, .deadline_ns = self->deadline_ns};
}

/* -- Failures ------------------------------------------------------------------------------------
 */

int gw_comm_ring_await_break(const struct gw_comm_ring *self, struct gw_error *error)
{
    const uint64_t end_ns = gw_segment_now_ns() + (uint64_t)CAUSE_MS * 1000000;
    int rc;
    while ((rc = gw_segment_broken(self->local->segment, error)) == 0 &&
           gw_segment_now_ns() < end_ns)
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    return rc;
}

static int break_with(const struct gw_comm_ring *self, const struct gw_segment_fault *fault,
                      struct gw_error *error)
{
    gw_segment_break(self->local->segment, fault);
    return gw_segment_broken(self->local->segment, error);
}

static int fail_late(struct gw_comm_ring *self, int peer, struct gw_error *error)
{
    char text[GW_SEGMENT_TEXT_MAX], time[GW_TEXT_DURATION_ROOM];
    const struct gw_ring_late late = {
        .verb = self->verb, .waited_ns = self->comm.timeout_ns, .suspect = peer};
    if (self->watch) {
        gw_ring_watch_late(self->watch, &late);
        int rc = gw_comm_ring_await_break(self, error);
        if (rc < 0)
            return rc;
    }
    (void)snprintf(text, sizeof text, "%s: rank %d waited %s for rank %d",
                   gw_comm_backend_verb_name(self->verb), self->comm.rank,
                   gw_text_duration(self->comm.timeout_ns, time), peer);
    const struct gw_segment_fault fault = {
        .code = GW_ETIMEDOUT, .cause = GW_ETIMEDOUT, .rank = peer, .text = text};
    return break_with(self, &fault, error);
}

/* Handles a connection that ended, because a rank closed, died, or broke the communicator. */
static int fail_lost(struct gw_comm_ring *self, int peer, struct gw_error *error)
{
    const uint64_t end_ns = gw_segment_now_ns() + (uint64_t)CAUSE_MS * 1000000;
    const struct gw_error why = error ? *error : (struct gw_error){0};
    char text[GW_SEGMENT_TEXT_MAX];
    int closed = -1, rc;
    while ((rc = gw_segment_broken(self->local->segment, error)) == 0 && closed < 0 &&
           gw_segment_now_ns() < end_ns) {
        closed = self->watch ? atomic_load(&self->ring.closed) : -1;
        (void)nanosleep(&(struct timespec){.tv_nsec = 1000000}, NULL);
    }
    if (rc < 0)
        return rc;
    if (closed >= 0)
        (void)snprintf(text, sizeof text,
                       "%s: rank %d waits for the closed communicator of rank %d",
                       gw_comm_backend_verb_name(self->verb), self->comm.rank, closed);
    else
        (void)snprintf(text, sizeof text, "%s: rank %d lost its connection to rank %d: %.100s",
                       gw_comm_backend_verb_name(self->verb), self->comm.rank, peer, why.text);
    const struct gw_segment_fault fault = {.code = GW_EABORTED,
                                           .cause = GW_ECLOSED,
                                           .rank = closed >= 0 ? closed : peer,
                                           .text = text};
    return break_with(self, &fault, error);
}

int gw_comm_ring_failed(struct gw_comm_ring *self, int rc, int peer, struct gw_error *error)
{
    if (rc == GW_ETIMEDOUT)
        return fail_late(self, peer, error);
    if (rc == GW_EABORTED)
        return gw_segment_broken(self->local->segment, error);
    return fail_lost(self, peer, error);
}

/* -- Operations ----------------------------------------------------------------------------------
 */

int gw_comm_ring_local(struct gw_comm_ring *self, enum gw_comm_verb verb,
                       const struct gw_comm_args *args, struct gw_error *error)
{
    struct gw_comm_args full = *args;
    struct gw_comm_host *local = self->local;
    local->comm.timeout_ns = self->comm.timeout_ns;
    local->deadline_max_ns = self->deadline_ns;
    if (!full.send)
        full.send = full.recv;
    return local->comm.backend->run(&local->comm, verb, &full, error);
}

/* -- Closing -------------------------------------------------------------------------------------
 */

static void links_free(struct gw_transport **links, int count)
{
    for (int i = 0; links && i < count; i++)
        if (links[i])
            links[i]->free(links[i]);
    free(links);
}

void gw_comm_ring_free(struct gw_comm_ring *self)
{
    gw_ring_watch_close(self->watch);
    gw_ring_deinit(&self->ring);
    links_free(self->to, self->comm.size);
    links_free(self->from, self->comm.size);
    gw_ring_door_free(self->door);
    if (self->local)
        self->local->comm.backend->close(&self->local->comm);
    free(self->places);
    free(self->scratch);
    free(self);
}
