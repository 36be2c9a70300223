/* Executes the effects of the scheduler's core. */
#ifndef GW_SCHEDULER_NET_SERVER_EFFECTS_H
#define GW_SCHEDULER_NET_SERVER_EFFECTS_H

#include <gangway/error.h>
#include <stdint.h>

struct gw_accounting_answer;
struct gw_server;

/* gw_server_effects_run executes the effects of a step, in order. It calls on_damaged or
 * on_exit last. */
void gw_server_effects_run(struct gw_server *server);

/* gw_server_effects_answer sends the accounting's answer to the client that asked, if the client is
 * still connected. `server` is a struct gw_server. */
void gw_server_effects_answer(const struct gw_accounting_answer *answer, void *server);

/* gw_server_effects_reloaded answers a request of on_reload (server_options.h) with a text, or with
 * an error (NULL: none). */
void gw_server_effects_reloaded(struct gw_server *server, uint64_t peer, uint64_t request,
                                const char *text, const struct gw_error *error);

#endif
