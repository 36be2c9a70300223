/* Encodes and decodes messages, and formats them for log lines. */
#ifndef GW_WIRE_MESSAGE_H
#define GW_WIRE_MESSAGE_H

#include "graph/base/arena.h"
#include "graph/wire/buffer.h"
#include "graph/wire/messages.h"

/* gw_message_bytes_max returns the maximum size of the payload of a type of message. It is 1 MiB,
 * and more for the two types whose rows are tasks with many inputs. */
size_t gw_message_bytes_max(uint32_t type);

/* gw_message_encode appends a message as one frame, whose header says that `fds` descriptors belong
 * to it. Returns 0, GW_ENOMEM, or GW_ELIMIT if the payload would exceed gw_message_bytes_max
 * (nothing is appended). */
int gw_message_encode(const struct gw_message *message, uint8_t fds, struct gw_buffer *buffer);

/* gw_message_decode decodes a payload, after gw_frame_check, which it calls. Strings are allocated
 * in the arena; bins and columns point into data. Extra fields from a newer peer are skipped.
 * Returns GW_EPROTO, with a text that names the message and the field, for a missing field, a wrong
 * type, and columns that do not match each other or their blobs. */
int gw_message_decode(const void *data, size_t bytes, struct gw_arena *arena,
                      struct gw_message *message, struct gw_error *error);

/* gw_message_name returns the name of a type, for example "assign", or "?" for an unknown type. The
 * string is static. */
const char *gw_message_name(uint32_t type);

/* gw_message_format writes a message as text for a log line. A text that is too long is cut. */
void gw_message_format(const struct gw_message *message, char *text, size_t text_bytes);

#endif
