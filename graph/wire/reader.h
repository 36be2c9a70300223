/* A reader: goes over MessagePack in place, one item (a scalar, bytes, or the header of an array or
 * map) a call. It allocates nothing and reads nothing outside the given bytes; the checks and
 * decoders of this folder stand on it, because msgpack-c can only read a whole object, and
 * allocates for it. */
#ifndef GW_WIRE_READER_H
#define GW_WIRE_READER_H

#include <stdbool.h>
#include <stdint.h>

enum gw_item_type {
    GW_ITEM_NIL,
    GW_ITEM_BOOL,
    GW_ITEM_UINT, /* not negative */
    GW_ITEM_INT,  /* negative */
    GW_ITEM_F64,  /* of either width */
    GW_ITEM_STR,
    GW_ITEM_BIN,
    GW_ITEM_EXT,
    GW_ITEM_ARRAY, /* `count` objects follow */
    GW_ITEM_MAP,   /* `count` pairs of objects follow */
};

struct gw_item {
    enum gw_item_type type;
    int8_t ext;       /* GW_ITEM_EXT: its type */
    uint32_t count;   /* bytes in data, items, or pairs */
    const void *data; /* STR, BIN, EXT: borrowed */
    union {
        bool b;
        uint64_t u;
        int64_t i;
        double f;
    };
};

/* What is still to be read. */
struct gw_reader {
    const uint8_t *at, *end;
};

/* gw_reader_next reads an item and moves behind it (behind the header of an array or map); false
 * when the bytes end before it does, or are no MessagePack. */
bool gw_reader_next(struct gw_reader *reader, struct gw_item *item);

#endif
