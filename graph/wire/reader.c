/* Reads MessagePack headers. `at` never exceeds `end`. Every length is compared with end - at
 * before it is used. */
#include "graph/wire/reader.h"

#include <endian.h>
#include <stddef.h>
#include <string.h>

/* Reads a big-endian number of `width` bytes (1, 2, 4 or 8). */
static bool read_number(struct gw_reader *reader, unsigned width, uint64_t *number)
{
    if ((size_t)(reader->end - reader->at) < width)
        return false;
    uint16_t u16;
    uint32_t u32;
    uint64_t u64;
    switch (width) { /* each case is a single load; memcpy with a variable size would be a call */
    case 1:
        *number = *reader->at;
        break;
    case 2:
        memcpy(&u16, reader->at, 2);
        *number = be16toh(u16);
        break;
    case 4:
        memcpy(&u32, reader->at, 4);
        *number = be32toh(u32);
        break;
    default:
        memcpy(&u64, reader->at, 8);
        *number = be64toh(u64);
        break;
    }
    reader->at += width;
    return true;
}

static bool read_data(struct gw_reader *reader, struct gw_item *item, uint64_t bytes)
{
    if ((uint64_t)(reader->end - reader->at) < bytes)
        return false;
    item->count = (uint32_t)bytes;
    item->data = reader->at;
    reader->at += bytes;
    return true;
}

static bool read_sized(struct gw_reader *reader, struct gw_item *item, unsigned width)
{
    uint64_t bytes;
    return read_number(reader, width, &bytes) && read_data(reader, item, bytes);
}

static bool read_ext(struct gw_reader *reader, struct gw_item *item, uint64_t bytes)
{
    uint64_t type;
    if (!read_number(reader, 1, &type))
        return false;
    item->type = GW_ITEM_EXT;
    item->ext = (int8_t)type;
    return read_data(reader, item, bytes);
}

static bool read_signed(struct gw_reader *reader, struct gw_item *item, unsigned width)
{
    uint64_t number;
    if (!read_number(reader, width, &number))
        return false;
    unsigned shift = 64 - 8 * width;
    int64_t i = (int64_t)(number << shift) >> shift;
    if (i < 0) {
        item->type = GW_ITEM_INT;
        item->i = i;
    } else {
        item->type = GW_ITEM_UINT;
        item->u = (uint64_t)i;
    }
    return true;
}

static bool read_float(struct gw_reader *reader, struct gw_item *item, unsigned width)
{
    uint64_t bits;
    if (!read_number(reader, width, &bits))
        return false;
    item->type = GW_ITEM_F64;
    if (width == 8) {
        memcpy(&item->f, &bits, 8);
    } else {
        uint32_t bits32 = (uint32_t)bits;
        float f;
        memcpy(&f, &bits32, 4);
        item->f = (double)f;
    }
    return true;
}

static bool read_count(struct gw_reader *reader, struct gw_item *item, unsigned width)
{
    uint64_t count;
    if (!read_number(reader, width, &count))
        return false;
    item->count = (uint32_t)count;
    return true;
}

/* Reads the items whose first byte is 0xc0 to 0xdf. */
static bool read_long(struct gw_reader *reader, struct gw_item *item, uint8_t head)
{
    uint64_t bytes;
    switch (head) {
    case 0xc0:
        item->type = GW_ITEM_NIL;
        return true;
    case 0xc2:
    case 0xc3:
        item->type = GW_ITEM_BOOL;
        item->b = head == 0xc3;
        return true;
    case 0xc4:
    case 0xc5:
    case 0xc6:
        item->type = GW_ITEM_BIN;
        return read_sized(reader, item, 1U << (head - 0xc4));
    case 0xc7:
    case 0xc8:
    case 0xc9:
        return read_number(reader, 1U << (head - 0xc7), &bytes) && read_ext(reader, item, bytes);
    case 0xca:
    case 0xcb:
        return read_float(reader, item, head == 0xca ? 4 : 8);
    case 0xcc:
    case 0xcd:
    case 0xce:
    case 0xcf:
        item->type = GW_ITEM_UINT;
        return read_number(reader, 1U << (head - 0xcc), &item->u);
    case 0xd0:
    case 0xd1:
    case 0xd2:
    case 0xd3:
        return read_signed(reader, item, 1U << (head - 0xd0));
    case 0xd4:
    case 0xd5:
    case 0xd6:
    case 0xd7:
    case 0xd8:
        return read_ext(reader, item, UINT64_C(1) << (head - 0xd4));
    case 0xd9:
    case 0xda:
    case 0xdb:
        item->type = GW_ITEM_STR;
        return read_sized(reader, item, 1U << (head - 0xd9));
    case 0xdc:
    case 0xdd:
        item->type = GW_ITEM_ARRAY;
        return read_count(reader, item, head == 0xdc ? 2 : 4);
    case 0xde:
    case 0xdf:
        item->type = GW_ITEM_MAP;
        return read_count(reader, item, head == 0xde ? 2 : 4);
    default:
        return false; /* 0xc1 is not used in MessagePack */
    }
}

bool gw_reader_next(struct gw_reader *reader, struct gw_item *item)
{
    if (reader->at == reader->end)
        return false;
    uint8_t head = *reader->at++;
    *item = (struct gw_item){.type = GW_ITEM_UINT};
    if (head < 0x80) {
        item->u = head;
        return true;
    }
    if (head < 0x90) {
        item->type = GW_ITEM_MAP;
        item->count = head & 0x0f;
        return true;
    }
    if (head < 0xa0) {
        item->type = GW_ITEM_ARRAY;
        item->count = head & 0x0f;
        return true;
    }
    if (head < 0xc0) {
        item->type = GW_ITEM_STR;
        return read_data(reader, item, head & 0x1f);
    }
    if (head >= 0xe0) {
        item->type = GW_ITEM_INT;
        item->i = (int8_t)head;
        return true;
    }
    return read_long(reader, item, head);
}
