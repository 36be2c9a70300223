/* Effects of a step: messages to send, connections to close, and the memory of their texts. */
#ifndef GW_SCHEDULER_CORE_SEND_H
#define GW_SCHEDULER_CORE_SEND_H

#include "scheduler/core/model/state.h"

/* gw_sched_send adds a message to a remote (client or worker) and returns it. The caller fills the
 * message in before anything else is sent. gw_sched_send_with also attaches one token (a file
 * descriptor). gw_sched_send_close closes the connection of a remote. gw_sched_send_effect adds an
 * effect of any type. The step owns all returned objects. */
struct gw_message *gw_sched_send(struct gw_sched *sched, struct gw_remote *remote, uint32_t type);
struct gw_message *gw_sched_send_with(struct gw_sched *sched, struct gw_remote *remote,
                                      uint32_t type, uint64_t token);
void gw_sched_send_close(struct gw_sched *sched, struct gw_remote *remote);
struct gw_effect *gw_sched_send_effect(struct gw_sched *sched, uint32_t type);

/* gw_sched_send_text and gw_sched_send_bin copy data of a message into the arena of the effects,
 * where it lives until the step's effects are done. */
const char *gw_sched_send_text(struct gw_sched *sched, const char *text);
struct gw_bin gw_sched_send_bin(struct gw_sched *sched, struct gw_bin bin);

/* gw_sched_send_reply replies to a request with an error code and text. If error->code is 0, the
 * request succeeded. */
void gw_sched_send_reply(struct gw_sched *sched, struct gw_remote *remote, uint64_t request,
                         const struct gw_error *error);

#endif
