/* Sends the contents of descriptors over transports, which cannot carry descriptors. The sender
 * sends the size of a file (8 bytes, little-endian) and its bytes in pieces (frame.h). The receiver
 * makes a sealed memfd from them. */
#ifndef GW_WIRE_CONTENT_H
#define GW_WIRE_CONTENT_H

#include "graph/wire/message.h"
#include "graph/wire/transport.h"

#include <stdint.h>

/* The content that is being sent or received. All zero: none. */
struct gw_content {
    bool active;
    int fd; /* sending: borrowed. Receiving: owned until the content is complete */
    uint8_t size[8];
    size_t size_bytes; /* received bytes of `size` */
    uint64_t bytes, done;
    const uint8_t *map; /* sending a memfd that nobody can truncate: its mapping */
    uint8_t *piece;     /* sending a file: the current piece */
    uint8_t head[16];   /* sending: bytes before the data of the current piece */
    size_t head_bytes, head_sent;
    uint64_t piece_start, piece_end; /* sending: the piece's range in the content */
};

struct gw_content_source {
    int fd;      /* borrowed */
    bool hashed; /* the receiver knows the hash of the content. If a file on disk was truncated,
                    zeros may be sent instead. Its offset shows how far it was read */
    uint32_t piece_bytes_max; /* maximum size of a piece, at most GW_FRAME_PIECE_BYTES_MAX */
};

/* gw_content_sendable returns 0 if the content of a descriptor can be sent (a memfd or a file),
 * else GW_ENOTSUP. */
int gw_content_sendable(int fd);

/* gw_content_in_memory returns true for a memfd and for a file on a tmpfs, whose reads never wait
 * for another process. */
bool gw_content_in_memory(int fd);

/* gw_content_send sends the rest of the current piece, or the next piece of the content. If no
 * content is active, it starts with the descriptor in `source`. Returns 0 when the transport has
 * accepted a whole piece: other frames may then be sent before the next piece. If `active` is then
 * false, that was the last piece. Returns GW_EAGAIN; GW_EIO with a text (also if a file on
 * disk was truncated and is not `hashed`); or an error of the transport. */
int gw_content_send(struct gw_content *content, struct gw_content_source source,
                    struct gw_transport *transport, struct gw_error *error);
bool gw_content_is_in_piece(const struct gw_content *content);

/* gw_content_receive reads received bytes of the next descriptor's content and sets *used to the
 * number of bytes read. Returns 0 with a new sealed descriptor, which the caller owns; GW_EAGAIN if
 * more bytes are needed; GW_ENOMEM or GW_EPROTO with a text. */
int gw_content_receive(struct gw_content *content, struct gw_bin bytes, size_t *used, int *fd,
                       struct gw_error *error);

/* gw_content_file makes a new sealed memfd, which the caller owns. It contains `head` (which may be
 * empty) followed by the data. Readers may map it, because it can never change. Returns 0, or
 * GW_EIO with a text. */
int gw_content_file(struct gw_bin head, const void *data, size_t bytes, int *fd,
                    struct gw_error *error);

/* gw_content_deinit drops the active content. */
void gw_content_deinit(struct gw_content *content);

#endif
