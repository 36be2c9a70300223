/* Requests of clients. */
#ifndef GW_SIM_REQUEST_H
#define GW_SIM_REQUEST_H

#include "tests/sim/sim.h"

/* sim_request_begin makes a client send random requests, starting soon. sim_request_finish: from
 * now on it submits no jobs, and it cancels tasks that can never end. */
void sim_request_begin(struct sim *sim, struct client *client);
void sim_request_finish(struct sim *sim, struct client *client);

/* sim_request_cancel cancels one task of a job. sim_request_fetch asks for the result of a rank.
 * sim_request_release releases the future of a task. sim_request_wait asks for the end of a job. */
void sim_request_cancel(struct sim *sim, struct client *client, const struct sim_job *job,
                        uint32_t row, bool hard);
void sim_request_fetch(struct sim *sim, struct client *client, const struct work *work,
                       uint32_t rank);
void sim_request_release(struct sim *sim, struct client *client, struct work *work);
void sim_request_wait(struct sim *sim, struct client *client, struct sim_job *job);

/* sim_request_mark_again marks a task that may run again, and all failed tasks that it depends on,
 * also in other jobs. */
void sim_request_mark_again(const struct work *work);

#endif
