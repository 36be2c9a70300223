/* The growing buffer for encoded messages. */
#ifndef GW_WIRE_BUFFER_H
#define GW_WIRE_BUFFER_H

#include <gangway/error.h>
#include <stddef.h>
#include <stdint.h>

/* A buffer of whole frames, including their headers, one after another. */
struct gw_buffer {
    uint8_t *data;
    size_t size, capacity;
};

/* gw_buffer_reserve makes room for `extra` more bytes. gw_buffer_append copies bytes to the end.
 * gw_buffer_deinit frees the memory. They return 0 or GW_ENOMEM. */
int gw_buffer_reserve(struct gw_buffer *buffer, size_t extra);
int gw_buffer_append(struct gw_buffer *buffer, const void *data, size_t bytes);
void gw_buffer_deinit(struct gw_buffer *buffer);

#endif
