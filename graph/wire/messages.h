/* Messages: one struct per type, made from the list in messages.def. message.h encodes and decodes
 * them.
 *
 * Every message has the term of the scheduler, the peer's id in that term (the session of a client
 * or the incarnation of a worker) and a sequence number. With these a receiver recognises and drops
 * outdated messages. */
#ifndef GW_WIRE_MESSAGES_H
#define GW_WIRE_MESSAGES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    GW_PROTOCOL = 7, /* the scheduler accepts runners of protocol N and N-1 */
    GW_PROTOCOL_LINK =
        7 /* between clients, schedulers and workers: both sides must have the same */
};

/* Maximum size of a value inside a message. Larger values are sent as descriptors. A scattered
 * value is sent to the scheduler inside a message up to the larger limit, so that the scheduler
 * needs no descriptor for it. */
enum { GW_METRIC_NAMES_MAX = 8 }; /* metrics of a task; further names are dropped */
enum { GW_INLINE_BYTES_MAX = 4096, GW_SCATTER_INLINE_BYTES_MAX = 256 << 10 };

/* Results of at least this size are written to memory files that are reused (memfile_given). */
enum { GW_MEMFILE_BYTES_MIN = 1 << 20 };

/* Borrowed bytes. */
struct gw_bin {
    const void *data;
    uint32_t size;
};

/* A column: little-endian numbers, stored in a MessagePack bin without alignment. */
struct gw_col32 {
    const void *data;
    uint32_t count;
};

struct gw_col64 {
    const void *data;
    uint32_t count;
};

/* gw_col32_at and gw_col64_at read item i; i < count. */
static inline uint32_t gw_col32_at(struct gw_col32 column, uint32_t i)
{
    uint32_t x;
    __builtin_memcpy(&x, (const char *)column.data + (size_t)i * 4, 4);
    return x; /* all supported machines are little-endian; message.c asserts this */
}

static inline uint64_t gw_col64_at(struct gw_col64 column, uint32_t i)
{
    uint64_t x;
    __builtin_memcpy(&x, (const char *)column.data + (size_t)i * 8, 8);
    return x;
}

/* Kinds of fields: the C type of each kind. */
#define GW_KIND_U32 uint32_t
#define GW_KIND_U64 uint64_t
#define GW_KIND_I32 int32_t
#define GW_KIND_I64 int64_t
#define GW_KIND_F64 double
#define GW_KIND_STR const char * /* NUL-terminated; decoded into the arena; NULL is sent as "" */
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
