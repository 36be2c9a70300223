/* Results at workers across several terms of the scheduler; see recovery.c. */
#ifndef GW_TESTS_SIM_RECOVERY_H
#define GW_TESTS_SIM_RECOVERY_H

#include "tests/sim/sim.h"

/* sim_recovery_on_crash: the scheduler is about to die. sim_recovery_on_restored: another one was
 * restored from the committed facts. sim_recovery_on_begun: it starts. */
void sim_recovery_on_crash(struct sim *sim);
void sim_recovery_on_restored(struct sim *sim);
void sim_recovery_on_begun(struct sim *sim);
/* sim_recovery_lies returns true if a result of a detached job is only at a worker. */
bool sim_recovery_lies(struct sim *sim);

/* sim_recovery_says: a host registers with its results. sim_recovery_said: the scheduler has
 * processed the registration. */
void sim_recovery_says(struct sim *sim, const struct host *host,
                       const struct gw_msg_registration *registration);
void sim_recovery_said(struct sim *sim, const struct host *host);
/* sim_recovery_closed: the scheduler closes a connection and gives up the results that were
 * recovered on it. */
void sim_recovery_closed(struct sim *sim, const struct conn *conn);
/* sim_recovery_hears: the scheduler is about to receive another message (host NULL: from a client).
 * sim_recovery_assigned: it assigns tasks. */
void sim_recovery_hears(struct sim *sim, const struct host *host, const struct gw_message *message);
void sim_recovery_assigned(struct sim *sim, const struct gw_msg_assign *assign);

/* sim_recovery_released: the scheduler tells a worker to release results. */
void sim_recovery_released(struct sim *sim, const struct gw_msg_release *release);
void sim_recovery_free(struct sim *sim);

#endif
