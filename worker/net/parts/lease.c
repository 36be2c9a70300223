/* Reserves resources for an attempt. The numbers of ports and the rendezvous stay reserved until
 * the attempt has ended on this worker. The sockets that hold the ports are closed before the ranks
 * bind the ports. */
#include "worker/net/parts/lease.h"

#include "graph/base/log.h"
#include "graph/wire/endpoint.h"

#include <gangway/comm.h>

#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Opens the listening socket of a ring. */
static int door_open(const char *address, struct gw_leased *leased, struct gw_error *error)
{
    char actual[GW_ENDPOINT_TEXT_MAX];
    int rc = gw_endpoint_listen(address, &leased->listener_fd, actual, error);
    if (rc < 0)
        return rc;
    leased->ring_port = (uint16_t)strtoul(strrchr(actual, ':') + 1, NULL, 10);
    return 0;
}

static void end(struct gw_lease *lease)
{
    if (lease->leads)
        gw_port_close(&lease->port);
    for (uint32_t i = 0; i < lease->door_count; i++)
        gw_port_close(&lease->doors[i]);
    free(lease->doors);
    if (lease->rendezvous)
        gw_rendezvous_close(lease->rendezvous);
}

static int doors_open(uint32_t count, struct gw_lease *lease, struct gw_leased *leased,
                      struct gw_error *error)
{
    lease->doors = calloc(count, sizeof *lease->doors);
    leased->doors = calloc(count, sizeof *leased->doors);
    GW_MUST_PTR(lease->doors);
    GW_MUST_PTR(leased->doors);
    for (uint32_t i = 0; i < count; i++) {
        int rc = gw_port_open(&lease->doors[i], error);
        if (rc < 0)
            return rc;
        leased->doors[i] = lease->doors[i].number;
        leased->door_count = ++lease->door_count;
    }
    return 0;
}

/* Reserves what only the worker of rank 0 needs. */
static int lead(struct gw_leases *leases, const struct gw_lease_what *what, struct gw_lease *lease,
                struct gw_leased *made, struct gw_error *error)
{
    int rc = gw_port_open(&lease->port, error);
    if (rc < 0)
        return rc;
    lease->leads = true;
    made->port = lease->port.number;
    if (what->groups > 1 && what->collectives)
        rc = door_open(what->address, made, error);
    if (rc == 0 && what->rendezvous)
        rc = gw_rendezvous_open(leases->loop, what->address, &lease->rendezvous,
                                &made->rendezvous_port, error);
    return rc;
}

int gw_lease_open(struct gw_leases *leases, const struct gw_lease_what *what,
                  struct gw_leased *leased, struct gw_error *error)
{
    struct gw_lease lease = {.attempt = what->attempt};
    struct gw_leased made = {.segment_fd = -1, .listener_fd = -1};
    int rc = 0;
    if (what->collectives)
        rc = gw_comm_segment_create(what->ranks > INT_MAX ? INT_MAX : (int)what->ranks,
                                    &made.segment_fd, error);
    if (rc < 0)
        return rc;
    if (what->groups > 0)
        rc = lead(leases, what, &lease, &made, error);
    if (rc == 0 && what->doors)
        rc = doors_open(what->ranks, &lease, &made, error);
    if (rc < 0) {
        end(&lease);
        free(made.doors);
        if (made.listener_fd >= 0)
            close(made.listener_fd);
        if (made.segment_fd >= 0)
            close(made.segment_fd);
        return rc;
    }
    if (lease.leads || lease.door_count)
        GW_MUST(gw_array_push(&leases->list, lease));
    *leased = made;
    return 0;
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
    if (!lease)
        return;
    if (lease->leads)
        gw_port_unbind(&lease->port);
    for (uint32_t i = 0; i < lease->door_count; i++)
        gw_port_unbind(&lease->doors[i]);
}

bool gw_lease_is_taken(struct gw_leases *leases, uint64_t attempt)
{
    const struct gw_lease *lease = find(leases, attempt);
    return lease && lease->leads && lease->port.fd < 0 && gw_port_is_taken(&lease->port);
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
