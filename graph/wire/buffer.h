/* The growing buffer of encoders. */
#ifndef GW_WIRE_BUFFER_H
#define GW_WIRE_BUFFER_H

#include <gangway/error.h>
#include <stddef.h>
#include <stdint.h>

/* What grows while messages are encoded: whole frames, header included, one after the other. */
struct gw_buffer {
    uint8_t *data;
    size_t size, capacity;
};

/* gw_buffer_reserve makes room for `extra` more bytes; gw_buffer_append copies bytes in;
 * gw_buffer_deinit frees. 0 or GW_ENOMEM. */
int gw_buffer_reserve(struct gw_buffer *buffer, size_t extra);
int gw_buffer_append(struct gw_buffer *buffer, const void *data, size_t bytes);
void gw_buffer_deinit(struct gw_buffer *buffer);

#endif
