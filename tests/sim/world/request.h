/* What clients ask for. */
#ifndef GW_SIM_REQUEST_H
#define GW_SIM_REQUEST_H

#include "tests/sim/sim.h"

/* sim_request_begin has a client ask for something now and then, from soon on; sim_request_finish:
 * from here on it submits no more, and cancels what can never end. */
void sim_request_begin(struct sim *sim, struct client *client);
void sim_request_finish(struct sim *sim, struct client *client);

/* sim_request_cancel cancels one task of a job, sim_request_fetch asks for the result of a rank,
 * sim_request_release gives up a task's, sim_request_wait asks for the end of a job. */
void sim_request_cancel(struct sim *sim, struct client *client, const struct sim_job *job,
                        uint32_t row, bool hard);
void sim_request_fetch(struct sim *sim, struct client *client, const struct work *work,
                       uint32_t rank);
void sim_request_release(struct sim *sim, struct client *client, struct work *work);
void sim_request_wait(struct sim *sim, struct client *client, struct sim_job *job);

/* sim_request_mark_again notes that a task may run again, and with it what failed before it, in
 * other jobs too. */
void sim_request_mark_again(const struct work *work);

#endif
