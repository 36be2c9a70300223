/* Frames: how bytes on a stream become messages, and the check before msgpack-c sees them.
 *
 * A frame is an 8-byte header (little-endian: uint32 payload bytes, uint8 descriptors, uint8 kind,
 * uint16 magic 0x5747) and the payload. Of kind 0 it is one MessagePack array
 *     [type, term, peer, sequence, field, field, ...]
 * Descriptors travel as SCM_RIGHTS beside the frame's first byte; the header says how many. Kind 1,
 * only over a transport, is a piece of the contents of descriptors that a frame announced. */
#ifndef GW_WIRE_FRAME_H
#define GW_WIRE_FRAME_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    GW_FRAME_HEADER_BYTES = 8,
    GW_FRAME_MAGIC = 0x5747,
    GW_FRAME_BYTES_MAX = 1 << 20,       /* payload */
    GW_FRAME_BULK_BYTES_MAX = 16 << 20, /* of messages that are columns of tasks */
    GW_FRAME_FDS_MAX = 64,
    GW_FRAME_PIECE_BYTES_MAX = 256 << 10, /* of contents */
    GW_FRAME_DEPTH_MAX = 16,
};

struct gw_frame_header {
    uint32_t bytes;
    uint8_t fds;
    bool piece; /* of contents; then without descriptors */
};

/* gw_frame_header_write writes the 8 bytes. */
void gw_frame_header_write(uint8_t *out, const struct gw_frame_header *header);

/* gw_frame_header_read reads and checks 8 bytes: 0, or GW_EPROTO with a text (wrong magic: "not a
 * Gangway peer"; larger than any message; too many descriptors). */
int gw_frame_header_read(const uint8_t *in, struct gw_frame_header *header, struct gw_error *error);

/* gw_frame_check walks a MessagePack object without allocating: every count is held against the
 * bytes that are left, depth is at most GW_FRAME_DEPTH_MAX, exactly one object fills the bytes. 0
 * or GW_EPROTO. Runs before msgpack-c decodes anything from a peer. */
int gw_frame_check(const void *data, size_t bytes, struct gw_error *error);

#endif
