/* Helpers that all files of the core use: memory, texts and effects. */
#ifndef GW_WORKER_CORE_MODEL_CORE_H
#define GW_WORKER_CORE_MODEL_CORE_H

#include "worker/core/model/state.h"

#include <msgpack.h>

void *gw_core_alloc(size_t bytes); /* zeroed; aborts if out of memory */
char *gw_core_strdup(const char *text);
void *gw_core_scratch(struct gw_node_core *core, size_t bytes); /* valid until the next step */
void *gw_core_copy(struct gw_node_core *core, const void *data,
                   size_t bytes); /* valid until the next step */
const char *gw_core_text(struct gw_node_core *core,
                         const char *text); /* a copy, valid until the next step */
struct gw_effect *gw_core_effect(struct gw_node_core *core, uint32_t type);
/* gw_core_send adds a SEND effect. The caller must fill in the message before it adds another
 * effect. */
struct gw_effect *gw_core_send(struct gw_node_core *core, struct gw_node_link *link, uint32_t type);
/* gw_core_stamp fills in the envelope of a message: term, peer and sequence number. */
void gw_core_stamp(const struct gw_node_core *core, struct gw_node_link *link,
                   struct gw_message *message);
void gw_core_drop_token(struct gw_node_core *core, uint64_t token);

/* gw_core_tell sends the report of an end to the scheduler. It does nothing if the worker is not
 * registered. stderr_path: see struct gw_effect. */
void gw_core_tell(struct gw_node_core *core, const struct gw_message *message,
                  struct gw_bin stderr_path);

/* gw_core_packed copies packed bytes to memory that is valid until the next step, and frees the
 * buffer. gw_core_token makes an effect carry one token. */
struct gw_bin gw_core_packed(struct gw_node_core *core, msgpack_sbuffer *buffer);
void gw_core_token(struct gw_node_core *core, struct gw_effect *effect, uint64_t token);

#endif
