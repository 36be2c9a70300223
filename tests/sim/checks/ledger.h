/* What the scheduler has answered to whoever shares something by name, in its order. */
#ifndef GW_SIM_LEDGER_H
#define GW_SIM_LEDGER_H

#include "tests/sim/sim.h"

/* sim_ledger_asked: a client asks for something of a queue, a variable or an event; the value (0:
 * none) is what it gives. sim_ledger_name: it publishes a task's result under a name (NULL: takes
 * the name away), or looks up what is published under one. */
void sim_ledger_asked(struct sim *sim, const struct client *client, const struct gw_msg_sync *sync,
                      uint64_t value);
void sim_ledger_publish(struct sim *sim, const struct client *client, uint64_t request,
                        const char *name, const struct work *work);
void sim_ledger_look_up(struct sim *sim, const struct client *client, uint64_t request,
                        const char *name);

/* sim_ledger_told checks what the scheduler sends to a client against all that it sent before. */
void sim_ledger_told(struct sim *sim, const struct client *client,
                     const struct gw_message *message);
/* sim_ledger_free also forgets all when the scheduler dies: what it had by name goes with it. */
void sim_ledger_free(struct sim *sim);

/* sim_ledger_publishes: a task of this job has a published name. */
bool sim_ledger_publishes(const struct sim *sim, const struct sim_job *job);

/* -- sync.c: whose names a client uses */
uint32_t sim_sync_user(const struct client *client);
/* -- share.c: the task at a row of a job, by the job's number */
struct work *sim_share_work(struct sim *sim, uint64_t job, uint32_t row);
/* sim_share_endless: it never ends unless it is cancelled, or waits for what does not. */
bool sim_share_endless(const struct work *work);

#endif
