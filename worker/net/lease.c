/* What rank 0's worker makes for an attempt. The port's number and the rendezvous stay until the
 * attempt has ended there; the port's socket goes when rank 0 is about to bind it. */
#include "worker/net/lease.h"

#include "graph/base/log.h"
#include "graph/wire/endpoint.h"

#include <gangway/comm.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* The door of a ring. */
static int door_open(const char *address, struct gw_leased *leased, struct gw_error *error)
{
    char actual[GW_ENDPOINT_TEXT_MAX];
    int rc = gw_endpoint_listen(address, &leased->listener_fd, actual, error);
    if (rc < 0)
        return rc;
    leased->ring_port = (uint16_t)strtoul(strrchr(actual, ':') + 1, NULL, 10);
    return 0;
}

int gw_lease_open(struct gw_leases *leases, const struct gw_lease_what *what,
                  struct gw_leased *leased, struct gw_error *error)
{
    struct gw_lease lease = {.attempt = what->attempt};
    struct gw_leased made = {.segment_fd = -1, .listener_fd = -1};
    int rc = gw_comm_segment_create(what->ranks > INT_MAX ? INT_MAX : (int)what->ranks,
                                    &made.segment_fd, error);
    if (rc < 0)
        return rc;
    if (what->groups > 0) {
        rc = gw_port_open(&lease.port, error);
        if (rc < 0)
            goto fail_segment;
        made.port = lease.port.number;
        if (what->groups > 1)
            rc = door_open(what->address, &made, error);
        if (rc == 0 && what->rendezvous)
            rc = gw_rendezvous_open(leases->loop, what->address, &lease.rendezvous,
                                    &made.rendezvous_port, error);
        if (rc < 0)
            goto fail;
        GW_MUST(gw_array_push(&leases->list, lease));
    }
    *leased = made;
    return 0;

fail:
    gw_port_close(&lease.port);
    if (made.listener_fd >= 0)
        close(made.listener_fd);
fail_segment:
    close(made.segment_fd);
    return rc;
}

static struct gw_lease *find(struct gw_leases *leases, uint64_t attempt)
{
    for (size_t i = 0; i < leases->list.count; i++)
        if (leases->list.items[i].attempt == attempt)
            return &leases->list.items[i];
    return NULL;
}

void gw_lease_unbind(struct gw_leases *leases, uint64_t attempt)
{
    struct gw_lease *lease = find(leases, attempt);
    if (lease)
        gw_port_unbind(&lease->port);
}

static void end(struct gw_lease *lease)
{
    gw_port_close(&lease->port);
    if (lease->rendezvous)
        gw_rendezvous_close(lease->rendezvous);
}

void gw_lease_close(struct gw_leases *leases, uint64_t attempt)
{
    struct gw_lease *lease = find(leases, attempt);
    if (!lease)
        return;
    end(lease);
    gw_array_remove_swap(&leases->list, (size_t)(lease - leases->list.items));
}

void gw_lease_deinit(struct gw_leases *leases)
{
    for (size_t i = 0; i < leases->list.count; i++)
        end(&leases->list.items[i]);
    gw_array_deinit(&leases->list);
}
