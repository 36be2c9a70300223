/* Effects of a step: messages, closed connections, texts that live as long as the step. */
#ifndef GW_SCHEDULER_CORE_SEND_H
#define GW_SCHEDULER_CORE_SEND_H

#include "scheduler/core/model/state.h"

/* gw_sched_send adds a message to a remote and returns it, to be filled in before anything else is
 * sent; gw_sched_send_with gives it one token, too. gw_sched_send_close closes a remote's
 * connection. gw_sched_send_effect adds an effect of any type. The step owns what they return. */
struct gw_message *gw_sched_send(struct gw_sched *sched, struct gw_remote *remote, uint32_t type);
struct gw_message *gw_sched_send_with(struct gw_sched *sched, struct gw_remote *remote,
                                      uint32_t type, uint64_t token);
void gw_sched_send_close(struct gw_sched *sched, struct gw_remote *remote);
struct gw_effect *gw_sched_send_effect(struct gw_sched *sched, uint32_t type);

/* gw_sched_send_text and gw_sched_send_bin copy what a message points to into the effects' arena.
 */
const char *gw_sched_send_text(struct gw_sched *sched, const char *text);
struct gw_bin gw_sched_send_bin(struct gw_sched *sched, struct gw_bin bin);

/* gw_sched_send_reply answers a call with a code and text (error->code 0: all is well). */
void gw_sched_send_reply(struct gw_sched *sched, struct gw_remote *remote, uint64_t request,
                         const struct gw_error *error);

#endif
