/* Messages: one struct a kind, from the one list in messages.def; encode and decode.
 *
 * Every message carries the term (life of the scheduler), the peer's id in it (session of a client,
 * incarnation of a worker) and a sequence number: receivers drop what is old. */
#ifndef GW_WIRE_MESSAGE_H
#define GW_WIRE_MESSAGE_H

#include "graph/base/arena.h"

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    GW_PROTOCOL = 6,      /* runners of protocol N and N-1 are served */
    GW_PROTOCOL_LINK = 5, /* between clients, schedulers and workers: the same on both sides */
    GW_PROTOCOL_AHEAD = 6 /* from here on, a runner knows GW_DEP_BOARD, and says `skipped` */
};

/* How large a value may be to travel inside a message; larger ones go by descriptor. One that is
 * scattered travels so to the scheduler, once, which then needs no descriptor for it. */
enum { GW_INLINE_BYTES_MAX = 4096, GW_SCATTER_INLINE_BYTES_MAX = 256 << 10 };

/* Results from here on are written into memory files that are used again (memfile_given). */
enum { GW_MEMFILE_BYTES_MIN = 1 << 20 };

/* Borrowed bytes. */
struct gw_bin {
    const void *data;
    uint32_t size;
};

/* A column: little-endian numbers, packed in a MessagePack bin, of any alignment. */
struct gw_col32 {
    const void *data;
    uint32_t count;
};

struct gw_col64 {
    const void *data;
    uint32_t count;
};

/* gw_col32_at and gw_col64_at read item i (i < count). */
static inline uint32_t gw_col32_at(struct gw_col32 column, uint32_t i)
{
    uint32_t x;
    __builtin_memcpy(&x, (const char *)column.data + (size_t)i * 4, 4);
    return x; /* every target is little-endian; asserted in message.c */
}

static inline uint64_t gw_col64_at(struct gw_col64 column, uint32_t i)
{
    uint64_t x;
    __builtin_memcpy(&x, (const char *)column.data + (size_t)i * 8, 8);
    return x;
}

/* Kinds of fields: the C type of each. */
#define GW_KIND_U32 uint32_t
#define GW_KIND_U64 uint64_t
#define GW_KIND_I32 int32_t
#define GW_KIND_I64 int64_t
#define GW_KIND_F64 double
#define GW_KIND_STR const char * /* terminated; decoded into the arena; NULL travels as "" */
#define GW_KIND_BIN struct gw_bin
#define GW_KIND_C32 struct gw_col32
#define GW_KIND_C64 struct gw_col64

enum gw_message_type {
#define F(kind, field)
#define M(name, number, ...) GW_MESSAGE_##name = (number),
#include "graph/wire/messages.def"
#undef M
#undef F
};

#define F(kind, field) GW_KIND_##kind field;
#define M(name, number, ...)                                                                       \
    struct gw_msg_##name {                                                                         \
        __VA_ARGS__                                                                                \
    };
#include "graph/wire/messages.def"
#undef M
#undef F

struct gw_message {
    uint32_t type; /* enum gw_message_type */
    uint64_t term;
    uint64_t peer;
    uint64_t sequence;
    union {
#define F(kind, field)
#define M(name, number, ...) struct gw_msg_##name name;
#include "graph/wire/messages.def"
#undef M
#undef F
    };
};

/* What grows while messages are encoded: whole frames, header included, one after the other. */
struct gw_buffer {
    uint8_t *data;
    size_t size, capacity;
};

/* gw_buffer_reserve makes room for `extra` more bytes; gw_buffer_append copies bytes in;
 * gw_buffer_deinit frees. 0 or GW_ENOMEM. */
int gw_buffer_reserve(struct gw_buffer *buffer, size_t extra);
int gw_buffer_append(struct gw_buffer *buffer, const void *data, size_t bytes);
void gw_buffer_deinit(struct gw_buffer *buffer);

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
