/* Messages as bytes: encode, decode, and a text for log lines. */
#ifndef GW_WIRE_MESSAGE_H
#define GW_WIRE_MESSAGE_H

#include "graph/base/arena.h"
#include "graph/wire/buffer.h"
#include "graph/wire/messages.h"

/* gw_message_bytes_max is the most that the payload of a message of a type may have: 1 MiB, and
 * more for the two whose rows are tasks with many inputs. */
size_t gw_message_bytes_max(uint32_t type);

/* gw_message_encode appends a message as one frame that says `fds` descriptors belong to it. 0,
 * GW_ENOMEM, or GW_ELIMIT when the payload would exceed gw_message_bytes_max (nothing appended). */
int gw_message_encode(const struct gw_message *message, uint8_t fds, struct gw_buffer *buffer);

/* gw_message_decode decodes a payload (after gw_frame_check, which it calls). Strings go to the
 * arena, bins and columns are borrowed from data. Fields that a newer peer appended are skipped; a
 * missing field, a wrong type, columns that do not match each other or their blobs: GW_EPROTO with
 * a text that names message and field. */
int gw_message_decode(const void *data, size_t bytes, struct gw_arena *arena,
                      struct gw_message *message, struct gw_error *error);

/* gw_message_name returns the name of a type ("assign"); static; "?" for an unknown one. */
const char *gw_message_name(uint32_t type);

/* gw_message_format writes a message for a log line, cut and terminated. */
void gw_message_format(const struct gw_message *message, char *text, size_t text_bytes);

#endif
