/* The growing buffer for encoded messages. Its capacity doubles. */
#include "graph/wire/buffer.h"

#include <stdlib.h>
#include <string.h>

enum { BUFFER_BYTES_MIN = 256 };

int gw_buffer_reserve(struct gw_buffer *buffer, size_t extra)
{
    size_t wanted;
    if (__builtin_add_overflow(buffer->size, extra, &wanted) || wanted > PTRDIFF_MAX / 2)
        return GW_ENOMEM;
    if (wanted <= buffer->capacity)
        return 0;
    size_t grown = buffer->capacity < BUFFER_BYTES_MIN ? BUFFER_BYTES_MIN : buffer->capacity;
    while (grown < wanted)
        grown *= 2;
    uint8_t *data = realloc(buffer->data, grown);
    if (!data)
        return GW_ENOMEM;
    buffer->data = data;
    buffer->capacity = grown;
    return 0;
}

int gw_buffer_append(struct gw_buffer *buffer, const void *data, size_t bytes)
{
    int rc = gw_buffer_reserve(buffer, bytes);
    if (rc == 0 && bytes) {
        memcpy(buffer->data + buffer->size, data, bytes);
        buffer->size += bytes;
    }
    return rc;
}

void gw_buffer_deinit(struct gw_buffer *buffer)
{
    free(buffer->data);
    *buffer = (struct gw_buffer){0};
}
