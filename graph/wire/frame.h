/* Frames: how a stream of bytes is divided into messages, and the check of a message before
 * msgpack-c reads it.
 *
 * A frame is an 8-byte header (little-endian: uint32 payload bytes, uint8 number of descriptors,
 * uint8 kind, uint16 magic 0x5747) and the payload. The payload of kind 0 is one MessagePack array
 * [type, term, peer, sequence, field, field, ...]. Descriptors are sent as SCM_RIGHTS with the
 * first byte of the frame. Kind 1 is used only over a transport: a piece of the content of a
 * descriptor that an earlier frame announced. */
#ifndef GW_WIRE_FRAME_H
#define GW_WIRE_FRAME_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

enum {
    GW_FRAME_HEADER_BYTES = 8,
    GW_FRAME_MAGIC = 0x5747,
    GW_FRAME_BYTES_MAX = 1 << 20,       /* maximum payload of a frame */
    GW_FRAME_BULK_BYTES_MAX = 16 << 20, /* maximum payload of messages with columns of tasks */
    GW_FRAME_FDS_MAX = 64,
    GW_FRAME_PIECE_BYTES_MAX = 256 << 10, /* maximum size of a piece of content */
    GW_FRAME_DEPTH_MAX = 16,
};

struct gw_frame_header {
    uint32_t bytes;
    uint8_t fds;
    bool piece; /* a piece of content, without descriptors */
};

/* gw_frame_header_write writes the 8 bytes of a header. */
void gw_frame_header_write(uint8_t *out, const struct gw_frame_header *header);

/* gw_frame_header_read reads and checks the 8 bytes of a header. Returns 0, or GW_EPROTO with a
 * text: wrong magic ("not a Gangway peer"), too large, too many descriptors. */
int gw_frame_header_read(const uint8_t *in, struct gw_frame_header *header, struct gw_error *error);

/* gw_frame_check checks a MessagePack object without allocating memory: no count exceeds the bytes
 * that are left, the depth is at most GW_FRAME_DEPTH_MAX, and the bytes are exactly one object.
 * Returns 0 or GW_EPROTO. It runs before msgpack-c decodes data from a peer. */
int gw_frame_check(const void *data, size_t bytes, struct gw_error *error);

#endif
