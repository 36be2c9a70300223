/* Encodes and decodes messages with a table of fields, which is made from messages.def.
 *
 * A decoded message never points outside the payload and the arena. All its strings are
 * NUL-terminated, and its columns match each other (relation.c). So a receiver can index the
 * columns without further checks. In checked builds the encoder asserts the same for this process's
 * own messages. */
#include "graph/wire/message.h"

#include "graph/wire/frame.h"
#include "graph/wire/reader.h"
#include "graph/wire/relation.h"

#include <assert.h>
#include <inttypes.h>
#include <msgpack/pack.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "columns are little-endian in memory");

enum {
    ENVELOPE_FIELDS = 4, /* type, term, peer, sequence */
    FIELD_BYTES_MAX = 9, /* maximum size of a number, or of the header of a string or bin */
};

enum kind {
    KIND_U32,
    KIND_U64,
    KIND_I32,
    KIND_I64,
    KIND_F64,
    KIND_STR, /* this and the following kinds have bytes of variable length */
    KIND_BIN,
    KIND_C32,
    KIND_C64
};

struct field {
    uint8_t kind;
    uint16_t offset; /* offset in the message's own struct */
    const char *name;
};

struct layout {
    const char *name; /* NULL: there is no such type */
    const struct field *fields;
    uint32_t count, bytes; /* number of fields; size of the message's own struct */
};

/* In each of these functions `struct self` is the message's struct, so that F can compute the
 * offset of a field. */
#define F(kind, field) {KIND_##kind, offsetof(struct self, m.field), #field},
#define M(message, number, ...)                                                                    \
    static struct layout layout_##message(void)                                                    \
    {                                                                                              \
        struct self {                                                                              \
            struct gw_msg_##message m;                                                             \
        };                                                                                         \
        static const struct field fields[] = {__VA_ARGS__};                                        \
        return (struct layout){#message, fields, sizeof fields / sizeof *fields,                   \
                               sizeof(struct self)};                                               \
    }
#include "graph/wire/messages.def"
#undef M
#undef F

static struct layout layout_of(uint32_t type)
{
    switch (type) {
#define M(message, number, ...)                                                                    \
    case number:                                                                                   \
        return layout_##message();
#include "graph/wire/messages.def"
#undef M
    default:
        return (struct layout){0};
    }
}

/* The structs of all messages start at the offset of the anonymous union. */
enum { BODY = offsetof(struct gw_message, hello) };

/* Returns the bytes of a field of variable length. NULL counts as an empty string. */
static struct gw_bin field_bytes(const struct field *field, const char *body)
{
    struct gw_bin bin = {0};
    const char *text;
    switch ((enum kind)field->kind) {
    case KIND_STR:
        memcpy(&text, body + field->offset, sizeof text);
        if (!text || !*text)
            return bin;
        return (struct gw_bin){text, (uint32_t)strnlen(text, GW_FRAME_BULK_BYTES_MAX + 1)};
    case KIND_BIN:
        memcpy(&bin, body + field->offset, sizeof bin);
        return bin;
    case KIND_C32:
    case KIND_C64:
        memcpy(&bin, body + field->offset, sizeof bin);
        if (bin.size > GW_FRAME_BULK_BYTES_MAX)
            return bin; /* too large in any case; the product would overflow */
        bin.size *= field->kind == KIND_C32 ? 4 : 8;
        return bin;
    default:
        return bin;
    }
}

size_t gw_message_bytes_max(uint32_t type)
{
    bool bulk = type == GW_MESSAGE_submit || type == GW_MESSAGE_assign;
    return bulk ? GW_FRAME_BULK_BYTES_MAX : GW_FRAME_BYTES_MAX;
}

/* The write function for msgpack-c's packer. The memory was reserved before. */
static int write_reserved(void *arg, const char *data, size_t bytes)
{
    struct gw_buffer *buffer = arg;
    memcpy(buffer->data + buffer->size, data, bytes);
    buffer->size += bytes;
    return 0;
}

/* Size of a number in the struct; 0 for other fields and for floats. */
static const uint8_t number_bytes[] = {
    [KIND_U32] = 4, [KIND_U64] = 8, [KIND_I32] = 4, [KIND_I64] = 8, [KIND_C64] = 0,
};

enum { EMPTY_STR = 0xa0, EMPTY_BIN = 0xc4 /* followed by a 0 */ };

/* Encodes the usual cases directly: numbers from 0 to 127 take one byte, and most strings and bins
 * are empty. */
static bool encode_small(const struct field *field, const char *body, struct gw_buffer *buffer)
{
    const char *at = body + field->offset, *text;
    size_t bytes = number_bytes[field->kind];
    uint64_t number = 0;
    struct gw_bin bin;
    if (bytes) {
        memcpy(&number, at, bytes); /* a negative number is not small */
        if (number >= 0x80)
            return false;
        buffer->data[buffer->size++] = (uint8_t)number;
        return true;
    }
    if (field->kind == KIND_STR) {
        memcpy(&text, at, sizeof text);
        if (text && *text)
            return false;
        buffer->data[buffer->size++] = EMPTY_STR;
        return true;
    }
    if (field->kind < KIND_STR)
        return false;
    memcpy(&bin, at, sizeof bin);
    if (bin.size)
        return false;
    buffer->data[buffer->size++] = EMPTY_BIN;
    buffer->data[buffer->size++] = 0;
    return true;
}

static bool decode_small(const struct field *field, struct gw_reader *reader, char *body)
{
    static const char *const empty = "";
    char *at = body + field->offset;
    size_t bytes = number_bytes[field->kind];
    if (reader->at == reader->end)
        return false;
    if (bytes) {
        if (*reader->at >= 0x80)
            return false;
        memcpy(at, &(uint64_t){*reader->at++}, bytes);
        return true;
    }
    if (field->kind == KIND_STR) {
        if (*reader->at != EMPTY_STR)
            return false;
        reader->at++;
        memcpy(at, &empty, sizeof empty);
        return true;
    }
    if (field->kind < KIND_STR || *reader->at != EMPTY_BIN || reader->end - reader->at < 2 ||
        reader->at[1])
        return false;
    reader->at += 2;
    memcpy(at, &(struct gw_bin){reader->at, 0}, sizeof(struct gw_bin));
    return true;
}

static void encode_field(const struct field *field, const char *body, msgpack_packer *packer)
{
    const char *at = body + field->offset;
    uint32_t u32;
    uint64_t u64;
    int32_t i32;
    int64_t i64;
    double f64;
    struct gw_bin bin;
    switch ((enum kind)field->kind) {
    case KIND_U32:
        memcpy(&u32, at, sizeof u32);
        msgpack_pack_uint32(packer, u32);
        break;
    case KIND_U64:
        memcpy(&u64, at, sizeof u64);
        msgpack_pack_uint64(packer, u64);
        break;
    case KIND_I32:
        memcpy(&i32, at, sizeof i32);
        msgpack_pack_int32(packer, i32);
        break;
    case KIND_I64:
        memcpy(&i64, at, sizeof i64);
        msgpack_pack_int64(packer, i64);
        break;
    case KIND_F64:
        memcpy(&f64, at, sizeof f64);
        msgpack_pack_double(packer, f64);
        break;
    case KIND_STR:
        bin = field_bytes(field, body);
        msgpack_pack_str(packer, bin.size);
        if (bin.size)
            msgpack_pack_str_body(packer, bin.data, bin.size);
        break;
    case KIND_BIN:
    case KIND_C32:
    case KIND_C64:
        bin = field_bytes(field, body);
        msgpack_pack_bin(packer, bin.size);
        if (bin.size)
            msgpack_pack_bin_body(packer, bin.data, bin.size);
        break;
    }
}

int gw_message_encode(const struct gw_message *message, uint8_t fds, struct gw_buffer *buffer)
{
    struct layout layout = layout_of(message->type);
    const char *body = (const char *)message + BODY;
    assert(layout.name && fds <= GW_FRAME_FDS_MAX);
#ifdef GANGWAY_CHECK
    for (const struct gw_relation *r = gw_relation_of(message->type); r->kind; r++)
        assert(gw_relation_holds(r, message));
#endif

    size_t room =
        GW_FRAME_HEADER_BYTES + FIELD_BYTES_MAX * (size_t)(1 + ENVELOPE_FIELDS + layout.count);
    for (uint32_t i = 0; i < layout.count; i++)
        if (layout.fields[i].kind >= KIND_STR)
            room += field_bytes(&layout.fields[i], body).size;
    if (room > 2 * (size_t)gw_message_bytes_max(message->type))
        return GW_ELIMIT;
    int rc = gw_buffer_reserve(buffer, room);
    if (rc < 0)
        return rc;

    size_t start = buffer->size;
    buffer->size += GW_FRAME_HEADER_BYTES;
    msgpack_packer packer;
    msgpack_packer_init(&packer, buffer, write_reserved);
    msgpack_pack_array(&packer, ENVELOPE_FIELDS + layout.count);
    msgpack_pack_uint32(&packer, message->type);
    msgpack_pack_uint64(&packer, message->term);
    msgpack_pack_uint64(&packer, message->peer);
    msgpack_pack_uint64(&packer, message->sequence);
    for (uint32_t i = 0; i < layout.count; i++)
        if (!encode_small(&layout.fields[i], body, buffer))
            encode_field(&layout.fields[i], body, &packer);

    size_t payload = buffer->size - start - GW_FRAME_HEADER_BYTES;
    if (payload > gw_message_bytes_max(message->type)) {
        buffer->size = start;
        return GW_ELIMIT;
    }
    struct gw_frame_header header = {.bytes = (uint32_t)payload, .fds = fds};
    gw_frame_header_write(buffer->data + start, &header);
    return 0;
}

/* -- Decoding -- */

static bool item_uint(const struct gw_item *item, uint64_t max, uint64_t *number)
{
    if (item->type != GW_ITEM_UINT || item->u > max)
        return false;
    *number = item->u;
    return true;
}

static bool item_int(const struct gw_item *item, int64_t min, int64_t max, int64_t *number)
{
    if (item->type == GW_ITEM_INT ? item->i < min
                                  : item->type != GW_ITEM_UINT || item->u > (uint64_t)max)
        return false;
    *number = item->i; /* below 2^63 both members of the union have the same value */
    return true;
}

/* Stores a bin in a field. Returns false if its size is not a multiple of the item size. */
static bool store_bin(const struct gw_item *item, uint32_t item_bytes, char *at)
{
    if (item->type != GW_ITEM_BIN || item->count % item_bytes)
        return false;
    struct gw_bin bin = {item->data, item->count / item_bytes};
    memcpy(at, &bin, sizeof bin);
    return true;
}

/* Stores a NUL-terminated copy of a string. Returns 0, GW_EPROTO or GW_ENOMEM. */
static int store_str(const struct gw_item *item, struct gw_arena *arena, char *at)
{
    if (item->type != GW_ITEM_STR)
        return GW_EPROTO;
    const char *text = "";
    if (item->count) {
        if (memchr(item->data, '\0', item->count))
            return GW_EPROTO;
        char *copy = gw_arena_alloc(arena, (size_t)item->count + 1);
        if (!copy)
            return GW_ENOMEM;
        memcpy(copy, item->data, item->count);
        text = copy;
    }
    memcpy(at, &text, sizeof text);
    return 0;
}

static int decode_field(const struct field *field, const struct gw_item *item,
                        struct gw_arena *arena, char *body)
{
    char *at = body + field->offset;
    uint64_t u64;
    int64_t i64;
    switch ((enum kind)field->kind) {
    case KIND_U32:
        if (!item_uint(item, UINT32_MAX, &u64))
            return GW_EPROTO;
        memcpy(at, &(uint32_t){(uint32_t)u64}, sizeof(uint32_t));
        return 0;
    case KIND_U64:
        if (!item_uint(item, UINT64_MAX, &u64))
            return GW_EPROTO;
        memcpy(at, &u64, sizeof u64);
        return 0;
    case KIND_I32:
        if (!item_int(item, INT32_MIN, INT32_MAX, &i64))
            return GW_EPROTO;
        memcpy(at, &(int32_t){(int32_t)i64}, sizeof(int32_t));
        return 0;
    case KIND_I64:
        if (!item_int(item, INT64_MIN, INT64_MAX, &i64))
            return GW_EPROTO;
        memcpy(at, &i64, sizeof i64);
        return 0;
    case KIND_F64:
        if (item->type != GW_ITEM_F64)
            return GW_EPROTO;
        memcpy(at, &item->f, sizeof item->f);
        return 0;
    case KIND_STR:
        return store_str(item, arena, at);
    case KIND_BIN:
        return store_bin(item, 1, at) ? 0 : GW_EPROTO;
    case KIND_C32:
        return store_bin(item, 4, at) ? 0 : GW_EPROTO;
    case KIND_C64:
        return store_bin(item, 8, at) ? 0 : GW_EPROTO;
    }
    return GW_EPROTO;
}

/* Returns the name of the field at an offset in struct gw_message. */
static const char *field_name(const struct layout *layout, uint16_t offset)
{
    for (uint32_t i = 0; i < layout->count; i++)
        if (layout->fields[i].offset + BODY == offset)
            return layout->fields[i].name;
    return "?";
}

static int check_relations(const struct layout *layout, const struct gw_message *message,
                           struct gw_error *error)
{
    for (const struct gw_relation *r = gw_relation_of(message->type); r->kind; r++)
        if (!gw_relation_holds(r, message))
            return gw_error_set(error, GW_EPROTO, "message %s: %s does not match %s", layout->name,
                                field_name(layout, r->a),
                                r->a == r->b ? "a hash" : field_name(layout, r->b));
    return 0;
}

/* Reads the header of the array and the four numbers before the fields. */
static int decode_envelope(struct gw_reader *reader, struct gw_message *message, uint32_t *fields,
                           struct gw_error *error)
{
    struct gw_item item;
    if (!gw_reader_next(reader, &item) || item.type != GW_ITEM_ARRAY ||
        item.count < ENVELOPE_FIELDS)
        return gw_error_set(error, GW_EPROTO, "not a message");
    *fields = item.count - ENVELOPE_FIELDS;
    uint64_t numbers[ENVELOPE_FIELDS];
    for (int i = 0; i < ENVELOPE_FIELDS; i++)
        if (!gw_reader_next(reader, &item) ||
            !item_uint(&item, i == 0 ? UINT32_MAX : UINT64_MAX, &numbers[i]))
            return gw_error_set(error, GW_EPROTO, "not a message: no envelope");
    message->type = (uint32_t)numbers[0];
    message->term = numbers[1];
    message->peer = numbers[2];
    message->sequence = numbers[3];
    return 0;
}

/* Returns the minimum number of fields of a message from an older version. A hello of any version
 * is accepted, so that a peer with another version gets an error that says so. A spec of a detached
 * job that the scheduler stored earlier may lack uid, streams and what follows. An `ended` of a
 * runner with the previous protocol lacks peer. A worker's `memory` may lack idle_bytes. */
static uint32_t fields_min(uint32_t type, uint32_t count)
{
    if (type == GW_MESSAGE_hello)
        return 5;
    if (type == GW_MESSAGE_spec)
        return count - 6;
    return type == GW_MESSAGE_memory || type == GW_MESSAGE_ended ? count - 1 : count;
}

int gw_message_decode(const void *data, size_t bytes, struct gw_arena *arena,
                      struct gw_message *message, struct gw_error *error)
{
    struct gw_reader reader = {data, (const uint8_t *)data + bytes};
    struct gw_message decoded; /* the code below writes all of the union that this type uses */
    uint32_t fields = 0;
    int rc = decode_envelope(&reader, &decoded, &fields, error);
    if (rc < 0)
        return rc;
    struct layout layout = layout_of(decoded.type);
    if (!layout.name)
        return gw_error_set(error, GW_EPROTO, "unknown message type %u", decoded.type);
    if (bytes > gw_message_bytes_max(decoded.type))
        return gw_error_set(error, GW_EPROTO, "message %s: %zu bytes, more than %zu", layout.name,
                            bytes, gw_message_bytes_max(decoded.type));
    if (fields < layout.count) {
        if (fields < fields_min(decoded.type, layout.count))
            return gw_error_set(error, GW_EPROTO, "message %s: %s is missing", layout.name,
                                layout.fields[fields].name);
        memset((char *)&decoded + BODY, 0, layout.bytes);
        layout.count = fields;
    }

    for (uint32_t i = 0; i < layout.count; i++) {
        struct gw_item item;
        if (decode_small(&layout.fields[i], &reader, (char *)&decoded + BODY))
            continue;
        if (!gw_reader_next(&reader, &item) || item.type == GW_ITEM_ARRAY ||
            item.type == GW_ITEM_MAP)
            rc = GW_EPROTO;
        else
            rc = decode_field(&layout.fields[i], &item, arena, (char *)&decoded + BODY);
        if (rc == GW_ENOMEM)
            return gw_error_set(error, rc, "out of memory");
        if (rc < 0)
            return gw_error_set(error, rc, "message %s: %s has the wrong type or value",
                                layout.name, layout.fields[i].name);
    }
    if (fields > layout.count ||
        reader.at != reader.end) /* extra fields are allowed only from a newer version */
        rc = gw_frame_check(data, bytes, error);
    if (rc == 0)
        rc = check_relations(&layout, &decoded, error);
    if (rc == 0)
        memcpy(message, &decoded, BODY + layout.bytes);
    return rc;
}

/* -- For people -- */

const char *gw_message_name(uint32_t type)
{
    const char *name = layout_of(type).name;
    return name ? name : "?";
}

static int format_field(const struct field *field, const char *body, char *text, size_t room)
{
    const char *at = body + field->offset;
    uint32_t u32;
    uint64_t u64;
    int32_t i32;
    int64_t i64;
    double f64;
    struct gw_bin bin = field_bytes(field, body);
    memcpy(&u32, at, sizeof u32);
    memcpy(&i32, at, sizeof i32);
    switch ((enum kind)field->kind) {
    case KIND_U32:
        return snprintf(text, room, " %s=%" PRIu32, field->name, u32);
    case KIND_I32:
        return snprintf(text, room, " %s=%" PRId32, field->name, i32);
    case KIND_U64:
        memcpy(&u64, at, sizeof u64);
        return snprintf(text, room, " %s=%" PRIu64, field->name, u64);
    case KIND_I64:
        memcpy(&i64, at, sizeof i64);
        return snprintf(text, room, " %s=%" PRId64, field->name, i64);
    case KIND_F64:
        memcpy(&f64, at, sizeof f64);
        return snprintf(text, room, " %s=%g", field->name, f64);
    case KIND_STR:
        return snprintf(text, room, " %s=\"%.*s\"", field->name, (int)bin.size,
                        bin.size ? (const char *)bin.data : "");
    case KIND_BIN:
        return snprintf(text, room, " %s=<%" PRIu32 " bytes>", field->name, bin.size);
    case KIND_C32:
        return snprintf(text, room, " %s=[%" PRIu32 "]", field->name, bin.size / 4);
    case KIND_C64:
        return snprintf(text, room, " %s=[%" PRIu32 "]", field->name, bin.size / 8);
    }
    return 0;
}

void gw_message_format(const struct gw_message *message, char *text, size_t text_bytes)
{
    struct layout layout = layout_of(message->type);
    if (!text_bytes)
        return;
    int length =
        snprintf(text, text_bytes, "%s term=%" PRIu64 " peer=%" PRIu64 " sequence=%" PRIu64,
                 gw_message_name(message->type), message->term, message->peer, message->sequence);
    size_t at = length > 0 ? (size_t)length : 0;
    for (uint32_t i = 0; i < layout.count && at < text_bytes; i++) {
        length = format_field(&layout.fields[i], (const char *)message + BODY, text + at,
                              text_bytes - at);
        at += length > 0 ? (size_t)length : 0;
    }
}
