/* Frame headers, and the check of a MessagePack object before it is used. Nothing here allocates
 * memory. */
#include "graph/wire/frame.h"

#include "graph/wire/reader.h"

#include <endian.h>
#include <string.h>

struct header_bytes {
    uint32_t bytes;
    uint8_t fds, kind;
    uint16_t magic;
};
_Static_assert(sizeof(struct header_bytes) == GW_FRAME_HEADER_BYTES, "packed by nature");

void gw_frame_header_write(uint8_t *out, const struct gw_frame_header *header)
{
    struct header_bytes raw = {htole32(header->bytes), header->fds, header->piece,
                               htole16(GW_FRAME_MAGIC)};
    memcpy(out, &raw, sizeof raw);
}

int gw_frame_header_read(const uint8_t *in, struct gw_frame_header *header, struct gw_error *error)
{
    struct header_bytes raw;
    memcpy(&raw, in, sizeof raw);
    if (le16toh(raw.magic) != GW_FRAME_MAGIC || raw.kind > 1)
        return gw_error_set(error, GW_EPROTO, "not a Gangway peer");
    uint32_t bytes = le32toh(raw.bytes);
    if (bytes > GW_FRAME_BULK_BYTES_MAX)
        return gw_error_set(error, GW_EPROTO, "a frame of %u bytes is larger than %d bytes", bytes,
                            GW_FRAME_BULK_BYTES_MAX);
    if (raw.fds > GW_FRAME_FDS_MAX)
        return gw_error_set(error, GW_EPROTO, "a frame with %d descriptors has more than %d",
                            raw.fds, GW_FRAME_FDS_MAX);
    if (raw.kind && (raw.fds || bytes == 0 || bytes > GW_FRAME_PIECE_BYTES_MAX))
        return gw_error_set(error, GW_EPROTO, "a piece of %u bytes with %d descriptors", bytes,
                            raw.fds);
    *header = (struct gw_frame_header){bytes, raw.fds, raw.kind == 1};
    return 0;
}

int gw_frame_check(const void *data, size_t bytes, struct gw_error *error)
{
    const uint8_t *start = data;
    struct gw_reader reader = {start, start + bytes};
    uint64_t left[GW_FRAME_DEPTH_MAX + 1] = {
        1}; /* number of objects that are still expected at each depth */
    unsigned depth = 0;

    for (;;) {
        struct gw_item item;
        if (!gw_reader_next(&reader, &item))
            return gw_error_set(error, GW_EPROTO, "damaged MessagePack at byte %zu of %zu",
                                (size_t)(reader.at - start), bytes);
        left[depth]--;
        if (item.type == GW_ITEM_ARRAY || item.type == GW_ITEM_MAP) {
            uint64_t count = (uint64_t)item.count * (item.type == GW_ITEM_MAP ? 2 : 1);
            if (count > (uint64_t)(reader.end - reader.at)) /* an object has at least one byte */
                return gw_error_set(error, GW_EPROTO, "%llu objects announced in %zu bytes",
                                    (unsigned long long)count, (size_t)(reader.end - reader.at));
            if (++depth > GW_FRAME_DEPTH_MAX)
                return gw_error_set(error, GW_EPROTO, "MessagePack nested deeper than %d",
                                    GW_FRAME_DEPTH_MAX);
            left[depth] = count;
        }
        while (depth > 0 && left[depth] == 0)
            depth--;
        if (depth == 0)
            break;
    }
    if (reader.at != reader.end)
        return gw_error_set(error, GW_EPROTO, "%zu extra bytes after the object",
                            (size_t)(reader.end - reader.at));
    return 0;
}
