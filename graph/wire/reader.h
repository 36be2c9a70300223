/* A reader: parses MessagePack in place. Each call reads one item: a scalar, bytes, or the header
 * of an array or a map. It allocates nothing and never reads outside the given bytes. The checks
 * and decoders of this folder use it, because msgpack-c can read only whole objects and allocates
 * memory for them. */
#ifndef GW_WIRE_READER_H
#define GW_WIRE_READER_H

#include <stdbool.h>
#include <stdint.h>

enum gw_item_type {
    GW_ITEM_NIL,
    GW_ITEM_BOOL,
    GW_ITEM_UINT, /* not negative */
    GW_ITEM_INT,  /* negative */
    GW_ITEM_F64,  /* float or double */
    GW_ITEM_STR,
    GW_ITEM_BIN,
    GW_ITEM_EXT,
    GW_ITEM_ARRAY, /* `count` objects follow */
    GW_ITEM_MAP,   /* `count` pairs of objects follow */
};

struct gw_item {
    enum gw_item_type type;
    int8_t ext;       /* GW_ITEM_EXT: the extension type */
    uint32_t count;   /* number of bytes in data, of objects, or of pairs */
    const void *data; /* STR, BIN, EXT: borrowed */
    union {
        bool b;
        uint64_t u;
        int64_t i;
        double f;
    };
};

/* The bytes that are still to be read. */
struct gw_reader {
    const uint8_t *at, *end;
};

/* gw_reader_next reads an item and moves past it (for an array or map, past its header). Returns
 * false if the bytes end inside the item or are not MessagePack. */
bool gw_reader_next(struct gw_reader *reader, struct gw_item *item);

#endif
