/* Results at workers, and lives of the scheduler; see regain.c. */
#ifndef GW_TESTS_SIM_RECOVERY_H
#define GW_TESTS_SIM_RECOVERY_H

#include "tests/sim/sim.h"

/* The scheduler is about to die; another one knows what was committed; it begins. */
void sim_recovery_on_crash(struct sim *sim);
void sim_recovery_on_restored(struct sim *sim);
void sim_recovery_on_begun(struct sim *sim);
/* sim_recovery_lies: a result of a detached job lies at a worker alone. */
bool sim_recovery_lies(struct sim *sim);

/* A host says what it has, and the scheduler has heard it. */
void sim_recovery_says(struct sim *sim, const struct host *host,
                       const struct gw_msg_registration *registration);
void sim_recovery_said(struct sim *sim, const struct host *host);
/* sim_recovery_closed: the scheduler gives a connection up, and what was regained by it. */
void sim_recovery_closed(struct sim *sim, const struct conn *conn);
/* What else the scheduler is about to hear from somebody (host NULL: of a client). */
void sim_recovery_hears(struct sim *sim, const struct host *host, const struct gw_message *message);
void sim_recovery_assigned(struct sim *sim, const struct gw_msg_assign *assign);

/* sim_recovery_released: the scheduler tells a worker to let go. */
void sim_recovery_released(struct sim *sim, const struct gw_msg_release *release);
void sim_recovery_free(struct sim *sim);

#endif
