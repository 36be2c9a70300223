/* Checks the scheduler's answers about objects that clients share by name, in their order. */
#ifndef GW_SIM_LEDGER_H
#define GW_SIM_LEDGER_H

#include "tests/sim/sim.h"

/* sim_ledger_asked: a client sends a request about a queue, a variable or an event; value is what
 * it puts or sets (0: none). sim_ledger_publish: it publishes the result of a task under a name
 * (NULL: removes the name). sim_ledger_look_up: it looks up a name. */
void sim_ledger_asked(struct sim *sim, const struct client *client, const struct gw_msg_sync *sync,
                      uint64_t value);
void sim_ledger_publish(struct sim *sim, const struct client *client, uint64_t request,
                        const char *name, const struct work *work);
void sim_ledger_look_up(struct sim *sim, const struct client *client, uint64_t request,
                        const char *name);

/* sim_ledger_told checks a message of the scheduler to a client against all earlier ones. */
void sim_ledger_told(struct sim *sim, const struct client *client,
                     const struct gw_message *message);
/* sim_ledger_free is also called when the scheduler dies, because all named objects are lost with
 * it. */
void sim_ledger_free(struct sim *sim);

/* sim_ledger_publishes returns true if a task of this job has a published name. */
bool sim_ledger_publishes(const struct sim *sim, const struct sim_job *job);

/* -- sync.c: the user whose names a client uses */
uint32_t sim_sync_user(const struct client *client);
/* -- share.c: the task at a row of a job, by the number of the job */
struct work *sim_share_work(struct sim *sim, uint64_t job, uint32_t row);
/* sim_share_endless returns true if a task ends only when it is cancelled, or waits for such a
 * task. */
bool sim_share_endless(const struct work *work);

#endif
