/* The contents of descriptors, for transports that carry no descriptors: a file's size (8 bytes,
 * little-endian) and its bytes go out in pieces (frame.h), a sealed memfd comes in. */
#ifndef GW_WIRE_CONTENT_H
#define GW_WIRE_CONTENT_H

#include "graph/wire/message.h"
#include "graph/wire/transport.h"

#include <stdint.h>

/* What is being sent or received; zeroed: nothing is. */
struct gw_content {
    bool active;
    int fd; /* sent: borrowed. Received: its own until it is whole */
    uint8_t size[8];
    size_t size_bytes; /* of `size`, received */
    uint64_t bytes, done;
    const uint8_t *map; /* sent, of a memfd */
    uint8_t *piece;     /* sent, of a file: the piece that has begun */
    uint8_t head[16];   /* sent: of a piece, what comes before its bytes */
    size_t head_bytes, head_sent;
    uint64_t piece_start, piece_end; /* sent: where in the contents the piece begins and ends */
};

struct gw_content_source {
    int fd;      /* borrowed */
    bool hashed; /* the receiver knows its hash: what a file has lost may be zeros. Its offset is
                    how far it was read */
    uint32_t piece_bytes_max; /* at most GW_FRAME_PIECE_BYTES_MAX */
};

/* gw_content_sendable is 0 where a descriptor has contents that can be sent: a memfd or a file;
 * else GW_ENOTSUP. */
int gw_content_sendable(int fd);

/* gw_content_send starts to send a descriptor where nothing is active, and sends the piece that has
 * begun, or else the next one. 0 when all of a piece was taken: something else may go before the
 * next, and no piece is left where `active` is false; GW_EAGAIN; GW_EIO (also for a file that is
 * shorter now, where it is not `hashed`) or the transport's failure, with text. */
int gw_content_send(struct gw_content *content, struct gw_content_source source,
                    struct gw_transport *transport, struct gw_error *error);
bool gw_content_is_in_piece(const struct gw_content *content);

/* gw_content_receive takes bytes of the next descriptor: *used of them. 0 with a new descriptor
 * (sealed, the caller's); GW_EAGAIN where it needs more than those; GW_ENOMEM or GW_EPROTO, with
 * text. */
int gw_content_receive(struct gw_content *content, struct gw_bin bytes, size_t *used, int *fd,
                       struct gw_error *error);

/* gw_content_file gives a new sealed memfd (the caller's) with these bytes, behind a head that may
 * be empty: readers may map it and know that it never changes. GW_EIO, with text. */
int gw_content_file(struct gw_bin head, const void *data, size_t bytes, int *fd,
                    struct gw_error *error);

/* gw_content_deinit forgets what is active. */
void gw_content_deinit(struct gw_content *content);

#endif
