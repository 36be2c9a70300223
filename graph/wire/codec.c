/* Encodes values as MessagePack and decodes them.
 *
 * The encoder reserves all memory first, so that writing cannot fail. Before the decoder makes a
 * list or dict, it checks that enough bytes are left for the number of items. GW_FRAME_DEPTH_MAX
 * limits the recursion of both. */
#include "graph/wire/codec.h"

#include "graph/value/value.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"
#include "graph/wire/reader.h"

#include <assert.h>
#include <endian.h>
#include <msgpack/pack.h>
#include <stdlib.h>
#include <string.h>

static_assert((int)GW_VALUE_DEPTH_MAX == (int)GW_FRAME_DEPTH_MAX, "a value fits a frame");

/* Up to this many references are searched linearly. */
enum { DEPS_SMALL = 16, HEADER_BYTES_MAX = 9 };

void gw_codec_deps_clear(struct gw_codec_deps *deps)
{
    deps->list.count = 0;
    gw_map_deinit(&deps->places);
}

void gw_codec_deps_deinit(struct gw_codec_deps *deps)
{
    gw_array_deinit(&deps->list);
    gw_map_deinit(&deps->places);
}

static uint64_t dep_key(const struct gw_codec_dep *dep)
{
    return (uint64_t)dep->index << 32 | dep->rank;
}

static bool deps_find(const struct gw_codec_deps *deps, const struct gw_codec_dep *dep,
                      uint64_t *place)
{
    if (deps->list.count > DEPS_SMALL)
        return gw_map_get(&deps->places, dep_key(dep), place);
    for (size_t i = 0; i < deps->list.count; i++)
        if (dep_key(&deps->list.items[i]) == dep_key(dep)) {
            *place = i;
            return true;
        }
    return false;
}

static int deps_add(struct gw_codec_deps *deps, const struct gw_codec_dep *dep)
{
    uint64_t place;
    if (deps_find(deps, dep, &place))
        return 0;
    size_t count = deps->list.count + 1;
    int rc = gw_array_reserve(&deps->list, 1);
    if (rc == 0 && count > DEPS_SMALL)
        rc = gw_map_reserve(&deps->places, count - deps->places.count);
    if (rc < 0)
        return rc;
    (void)gw_array_push(&deps->list, *dep); /* cannot fail: reserved above, as in the map */
    if (count > DEPS_SMALL)
        for (size_t i = deps->places.count; i < count; i++)
            (void)gw_map_put(&deps->places, dep_key(&deps->list.items[i]), i);
    return 0;
}

static struct gw_codec_dep dep_of(const struct gw_value *ref)
{
    uint32_t rank = ref->ref.rank == GW_RANK_ALL ? GW_DEP_ALL : (uint32_t)ref->ref.rank;
    return (struct gw_codec_dep){ref->ref.node.index, rank};
}

/* Computes the maximum size of the encoding of a value, and collects its references. */
static int measure(const struct gw_value *value, struct gw_codec_deps *deps, size_t *room)
{
    if (!value)
        return GW_ENOMEM;
    if (value->failed)
        return value->failed;
    size_t bytes = 0, count = gw_value_count(value);
    if (value->type == GW_STR)
        bytes = value->str.bytes;
    else if (value->type == GW_BYTES)
        bytes = value->bytes.count;
    if (bytes > UINT32_MAX || count > UINT32_MAX)
        return GW_ELIMIT;
    if (__builtin_add_overflow(*room, bytes + HEADER_BYTES_MAX, room))
        return GW_ENOMEM;
    if (value->type == GW_RESULT) {
        struct gw_codec_dep dep = dep_of(value);
        if (!deps || value->ref.rank < GW_RANK_ALL)
            return GW_EINVAL;
        return deps_add(deps, &dep);
    }
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        if (value->type == GW_DICT)
            *room += strlen(gw_value_key(value, i)) + HEADER_BYTES_MAX;
        rc = measure(gw_value_at(value, i), deps, room);
    }
    return rc;
}

static int write_reserved(void *arg, const char *data, size_t bytes)
{
    struct gw_buffer *buffer = arg;
    assert(buffer->capacity - buffer->size >= bytes);
    if (bytes == 1) /* a small number, or the header of a list */
        buffer->data[buffer->size] = (uint8_t)*data;
    else
        memcpy(buffer->data + buffer->size, data, bytes);
    buffer->size += bytes;
    return 0;
}

static void write_text(msgpack_packer *packer, const char *text, size_t bytes)
{
    msgpack_pack_str(packer, bytes);
    if (bytes)
        msgpack_pack_str_body(packer, text, bytes);
}

static void write_ref(msgpack_packer *packer, const struct gw_value *ref,
                      const struct gw_codec_deps *deps)
{
    struct gw_codec_dep dep = dep_of(ref);
    uint64_t place = 0;
    bool found = deps_find(deps, &dep, &place);
    assert(found); /* measure has added it */
    uint32_t little = htole32((uint32_t)place);
    msgpack_pack_ext(packer, sizeof little, GW_CODEC_EXT_REF);
    msgpack_pack_ext_body(packer, &little, sizeof little);
}

static void write_value(msgpack_packer *packer, const struct gw_value *value,
                        const struct gw_codec_deps *deps)
{
    size_t count = gw_value_count(value);
    switch ((enum gw_value_type)value->type) {
    case GW_NIL:
        msgpack_pack_nil(packer);
        break;
    case GW_BOOL:
        (void)(value->b ? msgpack_pack_true(packer) : msgpack_pack_false(packer));
        break;
    case GW_I64:
        msgpack_pack_int64(packer, value->i);
        break;
    case GW_F64:
        msgpack_pack_double(packer, value->f);
        break;
    case GW_STR:
        write_text(packer, value->str.text, value->str.bytes);
        break;
    case GW_BYTES:
        msgpack_pack_bin(packer, value->bytes.count);
        if (value->bytes.count)
            msgpack_pack_bin_body(packer, value->bytes.data, value->bytes.count);
        break;
    case GW_LIST:
        msgpack_pack_array(packer, count);
        for (size_t i = 0; i < count; i++)
            write_value(packer, gw_value_at(value, i), deps);
        break;
    case GW_DICT:
        msgpack_pack_map(packer, count);
        for (size_t i = 0; i < count; i++) {
            write_text(packer, gw_value_key(value, i), strlen(gw_value_key(value, i)));
            write_value(packer, gw_value_at(value, i), deps);
        }
        break;
    case GW_RESULT:
        write_ref(packer, value, deps);
        break;
    }
}

int gw_codec_encode(const struct gw_value *value, struct gw_codec_deps *deps,
                    struct gw_buffer *buffer)
{
    size_t room = HEADER_BYTES_MAX; /* enough for a number; most values are numbers */
    int rc = 0;
    if (!value || value->type != GW_I64) {
        room = 0;
        rc = measure(value, deps, &room);
    }
    if (rc == 0)
        rc = gw_buffer_reserve(buffer, room);
    if (rc < 0)
        return rc;
    msgpack_packer packer;
    msgpack_packer_init(&packer, buffer, write_reserved);
    write_value(&packer, value, deps);
    return 0;
}

struct gw_bin gw_codec_bytes_head(size_t bytes, uint8_t to[static GW_CODEC_HEAD_MAX])
{
    const int count = bytes <= UINT16_MAX ? 2 : 4; /* MessagePack's bin 16 or bin 32 */
    to[0] = count == 2 ? 0xc5 : 0xc6;
    for (int i = 0; i < count; i++)
        to[1 + i] = (uint8_t)(bytes >> (8 * (count - 1 - i)));
    return (struct gw_bin){to, (uint32_t)count + 1};
}

int gw_codec_encode_texts(const char *const *texts, size_t count, struct gw_buffer *buffer)
{
    size_t room = HEADER_BYTES_MAX;
    int rc = count > UINT32_MAX ? GW_ELIMIT : 0;
    for (size_t i = 0; i < count && rc == 0; i++) {
        size_t bytes = strlen(texts[i]);
        if (bytes > UINT32_MAX)
            rc = GW_ELIMIT;
        else if (__builtin_add_overflow(room, bytes + HEADER_BYTES_MAX, &room))
            rc = GW_ENOMEM;
    }
    if (rc == 0)
        rc = gw_buffer_reserve(buffer, room);
    if (rc < 0)
        return rc;
    msgpack_packer packer;
    msgpack_packer_init(&packer, buffer, write_reserved);
    msgpack_pack_array(&packer, count);
    for (size_t i = 0; i < count; i++)
        write_text(&packer, texts[i], strlen(texts[i]));
    return 0;
}

/* -- Decoding -- */

/* State that is shared by all levels of the recursion. */
struct decoder {
    struct gw_reader reader;
    const uint8_t *start;
    unsigned depth;
    struct gw_value *owner;
    struct gw_error *error;
    int rc; /* the first error; all later values are then NULL */
};

static struct gw_value *fail(struct decoder *decoder, int code, const char *text)
{
    if (decoder->rc == 0)
        decoder->rc = gw_error_set(decoder->error, code, "%s", text);
    return NULL;
}

static struct gw_value *read_value(struct decoder *decoder);

/* Reads the next item. Fails if a container announces more objects than bytes are left. */
static bool read_next(struct decoder *decoder, struct gw_item *item)
{
    const struct gw_reader *reader = &decoder->reader;
    size_t bytes = (size_t)(reader->end - decoder->start);
    if (!gw_reader_next(&decoder->reader, item)) {
        decoder->rc =
            gw_error_set(decoder->error, GW_EPROTO, "damaged MessagePack at byte %zu of %zu",
                         (size_t)(reader->at - decoder->start), bytes);
        return false;
    }
    if (item->type != GW_ITEM_ARRAY && item->type != GW_ITEM_MAP)
        return true;
    uint64_t count = (uint64_t)item->count * (item->type == GW_ITEM_MAP ? 2 : 1);
    size_t left = (size_t)(reader->end - reader->at);
    if (count > left)
        decoder->rc = gw_error_set(decoder->error, GW_EPROTO, "%llu objects announced in %zu bytes",
                                   (unsigned long long)count, left);
    else if (decoder->depth >= GW_FRAME_DEPTH_MAX)
        decoder->rc = gw_error_set(decoder->error, GW_EPROTO, "MessagePack nested deeper than %d",
                                   GW_FRAME_DEPTH_MAX);
    return decoder->rc == 0;
}

static struct gw_value *read_list(struct decoder *decoder, uint32_t count)
{
    struct gw_value *list = gw_value_list_of(count);
    for (uint32_t i = 0; list && i < count; i++) {
        struct gw_value *value = read_value(decoder);
        if (!value || gw_list_push(list, value) < 0) {
            gw_value_unref(list);
            return NULL; /* if there is no error yet, the caller reports out of memory */
        }
    }
    return list;
}

/* Reads the key of a map and returns a NUL-terminated copy, or NULL on an error. */
static char *read_key(struct decoder *decoder)
{
    struct gw_item item;
    if (!read_next(decoder, &item))
        return NULL;
    if (item.type != GW_ITEM_STR || memchr(item.data, '\0', item.count)) {
        (void)fail(decoder, GW_EPROTO, "the key of a map is no string");
        return NULL;
    }
    char *key = malloc((size_t)item.count + 1);
    if (key) {
        memcpy(key, item.data, item.count);
        key[item.count] = '\0';
    }
    return key;
}

static struct gw_value *read_dict(struct decoder *decoder, uint32_t count)
{
    struct gw_value *dict = gw_dict();
    for (uint32_t i = 0; dict && i < count; i++) {
        char *key = read_key(decoder);
        struct gw_value *value = key ? read_value(decoder) : NULL;
        bool set = value && gw_dict_set(dict, key, value) == 0;
        free(key);
        if (!set) {
            gw_value_unref(dict);
            return NULL;
        }
    }
    return dict;
}

static struct gw_value *read_ref(struct decoder *decoder, const struct gw_item *item)
{
    uint32_t little;
    if (item->ext != GW_CODEC_EXT_REF || item->count != sizeof little)
        return fail(decoder, GW_EPROTO, "an extension that is no reference");
    memcpy(&little, item->data, sizeof little);
    return gw_result((gw_node){le32toh(little)});
}

static struct gw_value *read_item(struct decoder *decoder, const struct gw_item *item)
{
    switch (item->type) {
    case GW_ITEM_NIL:
        return gw_nil();
    case GW_ITEM_BOOL:
        return gw_bool(item->b);
    case GW_ITEM_UINT:
        if (item->u > INT64_MAX)
            return fail(decoder, GW_EPROTO, "an integer above 2^63 - 1");
        return gw_i64((int64_t)item->u);
    case GW_ITEM_INT:
        return gw_i64(item->i);
    case GW_ITEM_F64:
        return gw_f64(item->f);
    case GW_ITEM_STR:
        if (item->count && memchr(item->data, '\0', item->count))
            return fail(decoder, GW_EPROTO, "a string with a NUL byte in it");
        return gw_value_str_of(item->data, item->count);
    case GW_ITEM_BIN:
        return decoder->owner ? gw_value_bytes_of(item->data, item->count, decoder->owner)
                              : gw_bytes_copy(item->data, item->count);
    case GW_ITEM_EXT:
        return read_ref(decoder, item);
    case GW_ITEM_ARRAY:
        return read_list(decoder, item->count);
    case GW_ITEM_MAP:
        return read_dict(decoder, item->count);
    }
    return NULL;
}

static struct gw_value *read_value(struct decoder *decoder)
{
    struct gw_item item;
    if (!read_next(decoder, &item))
        return NULL;
    decoder->depth++; /* only containers check it */
    struct gw_value *value = read_item(decoder, &item);
    decoder->depth--;
    return value ? value : fail(decoder, GW_ENOMEM, "out of memory");
}

int gw_codec_decode(const void *data, size_t bytes, struct gw_value *owner, struct gw_value **value,
                    struct gw_error *error)
{
    const uint8_t *start = data, *end = start + bytes;
    struct decoder decoder = {
        .reader = {start, end}, .start = start, .owner = owner, .error = error};
    struct gw_value *decoded = read_value(&decoder);
    if (!decoded)
        return decoder.rc;
    if (decoder.reader.at != end) {
        gw_value_unref(decoded);
        return gw_error_set(error, GW_EPROTO, "%zu extra bytes after the object",
                            (size_t)(end - decoder.reader.at));
    }
    *value = decoded;
    return 0;
}
