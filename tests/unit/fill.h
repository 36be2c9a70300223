/* A small valid message of every type, for tests, fuzz seeds and benchmarks, and a comparison of
 * two messages. Every column has one row with the number 1 and every blob one byte, so that all
 * relations hold. */
#ifndef GW_TESTS_FILL_H
#define GW_TESTS_FILL_H

#include "graph/wire/message.h"

#include <string.h>

/* gw_fill_types lists all types and their number. */
static const uint32_t gw_fill_types[] = {
#define M(name, number, ...) number,
#include "graph/wire/messages.def"
#undef M
};
enum { GW_FILL_TYPES = sizeof gw_fill_types / sizeof *gw_fill_types };

static inline struct gw_bin gw_fill_hash(void)
{
    return (struct gw_bin){"0123456789abcdef0123456789abcdef", 32};
}

/* gw_fill makes the message; strings and bins are static. */
static inline struct gw_message gw_fill(uint32_t type)
{
    static const uint64_t one = 1;
    struct gw_message message = {.type = type, .term = 3, .peer = UINT64_MAX, .sequence = 70000};
#define FILL_U32 4000000000U
#define FILL_U64 UINT64_C(18000000000000000000)
#define FILL_I32 (-2000000000)
#define FILL_I64 INT64_MIN
#define FILL_F64 0.25
#define FILL_STR "text"
#define FILL_BIN ((struct gw_bin){"b", 1})
#define FILL_C32 ((struct gw_col32){&one, 1})
#define FILL_C64 ((struct gw_col64){&one, 1})
#define F(kind, field) body->field = FILL_##kind;
#define M(name, number, ...)                                                                       \
    case number: {                                                                                 \
        struct gw_msg_##name *body = &message.name;                                                \
        __VA_ARGS__                                                                                \
        break;                                                                                     \
    }
    switch (type) {
#include "graph/wire/messages.def"
    }
#undef M
#undef F
    if (type == GW_MESSAGE_program)
        message.program.hash = gw_fill_hash();
    if (type == GW_MESSAGE_blob_want)
        message.blob_want.hashes = gw_fill_hash();
    if (type == GW_MESSAGE_blob)
        message.blob.hash = gw_fill_hash();
    if (type == GW_MESSAGE_program_ready)
        message.program_ready.hash = gw_fill_hash();
    return message;
}

/* gw_fill_difference names the first field in which two messages differ; NULL: they are equal. */
static inline const char *gw_fill_difference(const struct gw_message *a, const struct gw_message *b)
{
    if (a->type != b->type || a->term != b->term || a->peer != b->peer ||
        a->sequence != b->sequence)
        return "envelope";
#define SAME_BYTES(x, y, n) ((n) == 0 || memcmp((x), (y), (n)) == 0)
#define SAME_U32(x, y) ((x) == (y))
#define SAME_U64(x, y) ((x) == (y))
#define SAME_I32(x, y) ((x) == (y))
#define SAME_I64(x, y) ((x) == (y))
#define SAME_F64(x, y) SAME_BYTES(&(x), &(y), 8)
#define SAME_STR(x, y) (strcmp((x), (y)) == 0)
#define SAME_BIN(x, y) ((x).size == (y).size && SAME_BYTES((x).data, (y).data, (size_t)(x).size))
#define SAME_C32(x, y) ((x).count == (y).count && SAME_BYTES((x).data, (y).data, (x).count * 4UL))
#define SAME_C64(x, y) ((x).count == (y).count && SAME_BYTES((x).data, (y).data, (x).count * 8UL))
#define F(kind, field)                                                                             \
    if (!SAME_##kind(x->field, y->field))                                                          \
        return #field;
#define M(name, number, ...)                                                                       \
    case number: {                                                                                 \
        const struct gw_msg_##name *x = &a->name, *y = &b->name;                                   \
        __VA_ARGS__                                                                                \
        break;                                                                                     \
    }
    switch (a->type) {
#include "graph/wire/messages.def"
    }
#undef M
#undef F
    return NULL;
}

#endif
