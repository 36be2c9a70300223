/* The contents of descriptors, for transports that carry no descriptors: a file's size (8 bytes,
 * little-endian) and its bytes go out, a sealed memfd comes in. */
#ifndef GW_WIRE_CONTENT_H
#define GW_WIRE_CONTENT_H

#include "graph/wire/transport.h"

#include <stdint.h>

/* What is being sent or received; zeroed: nothing is. */
struct gw_content {
    bool active;
    int fd; /* sent: borrowed. Received: its own until it is whole */
    uint8_t header[8];
    size_t header_bytes;
    uint64_t bytes, done;
    const uint8_t *map; /* sent */
    uint8_t *window;    /* received */
};

/* gw_content_sendable is 0 where a descriptor has contents that can be sent: a memfd or a file;
 * else GW_ENOTSUP. */
int gw_content_sendable(int fd);

/* gw_content_send starts to send a descriptor where nothing is active, and goes on with it. 0 when
 * all of it was taken; GW_EAGAIN; GW_EIO or the transport's failure, with text. */
int gw_content_send(struct gw_content *content, int fd, struct gw_transport *transport,
                    struct gw_error *error);

/* gw_content_receive goes on with the next descriptor. `first` are bytes that were read already;
 * *used of them are its. 0 with a new descriptor (sealed, the caller's); GW_EAGAIN; GW_ENOMEM,
 * GW_EPROTO or the transport's failure, with text. `wait` false: reads nothing. */
struct gw_content_bytes {
    const uint8_t *data;
    size_t bytes, used;
};
int gw_content_receive(struct gw_content *content, struct gw_content_bytes *first,
                       struct gw_transport *transport, int *fd, struct gw_error *error);

/* gw_content_deinit forgets what is active. */
void gw_content_deinit(struct gw_content *content);

#endif
