/* Ports that workers lease for gangs, and the rendezvous of each: a lease lasts until the attempt
 * has ended at the worker of rank 0, and not longer. Rank 0 may start only after the port was
 * released for it. */
#include "tests/sim/sim.h"

enum { LEASE_BOUND = 1, LEASE_FREE };

void sim_lease_open(struct host *host, uint64_t attempt)
{
    GW_MUST(gw_map_put(&host->leases, attempt, LEASE_BOUND));
}

void sim_lease_unbind(struct sim *sim, struct host *host, uint64_t attempt)
{
    uint64_t state = 0;
    SIM_CHECK(sim, gw_map_get(&host->leases, attempt, &state) && state == LEASE_BOUND,
              "host %u lets go of a port that it does not hold", host->number);
    GW_MUST(gw_map_put(&host->leases, attempt, LEASE_FREE));
}

void sim_lease_close(struct host *host, uint64_t attempt)
{
    (void)gw_map_remove(&host->leases, attempt); /* only the worker that leads a gang has a lease */
}
