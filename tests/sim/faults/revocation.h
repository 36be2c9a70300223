/* Tokens that are revoked; see revocation.c. */
#ifndef GW_TESTS_SIM_REVOCATION_H
#define GW_TESTS_SIM_REVOCATION_H

#include "tests/sim/sim.h"

/* sim_revocation_plan revokes tokens, in some seeds. sim_revocation_refuses returns true if the
 * token of a host's incarnation was revoked; that incarnation ends, and the next one has another
 * token. sim_revocation_of returns true if an incarnation had a revoked token. */
void sim_revocation_plan(struct sim *sim);
bool sim_revocation_refuses(struct sim *sim, struct host *host);
bool sim_revocation_of(const struct sim *sim, uint64_t incarnation);

/* sim_revocation_assigned: the scheduler sends attempts to a host. sim_revocation_ended: durable
 * facts say that a task ended successfully by an attempt. */
void sim_revocation_assigned(struct sim *sim, const struct conn *conn,
                             const struct gw_msg_assign *assign);
void sim_revocation_ended(struct sim *sim, uint64_t attempt);
void sim_revocation_free(struct sim *sim);

#endif
