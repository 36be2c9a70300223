/* Messages: one struct a kind, from the one list in messages.def. What encodes and decodes them is
 * in message.h.
 *
 * Every message carries the term (life of the scheduler), the peer's id in it (session of a client,
 * incarnation of a worker) and a sequence number: receivers drop what is old. */
#ifndef GW_WIRE_MESSAGES_H
#define GW_WIRE_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GW_PROTOCOL = 7,     /* runners of protocol N and N-1 are served */
    GW_PROTOCOL_LINK = 7 /* between clients, schedulers and workers: the same on both sides */
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

#endif
