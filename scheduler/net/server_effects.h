/* Executes the effects of the scheduler's core. */
#ifndef GW_SCHEDULER_NET_SERVER_EFFECTS_H
#define GW_SCHEDULER_NET_SERVER_EFFECTS_H

struct gw_server;

/* gw_server_effects_run executes the effects of a step, in order. It calls on_damaged or
 * on_exit last. */
void gw_server_effects_run(struct gw_server *server);

#endif
