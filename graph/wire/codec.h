/* Values as MessagePack, and back. References become ext 1 (see messages.def). */
#ifndef GW_WIRE_CODEC_H
#define GW_WIRE_CODEC_H

#include "graph/wire/message.h"

#include <gangway/value.h>

enum { GW_CODEC_EXT_REF = 1 };

/* gw_codec_encode appends a value's bytes. References are written as their place in `deps`, which
 * grows by each new (node, rank); NULL deps refuses references. 0, GW_ENOMEM, GW_EINVAL. */
struct gw_codec_dep {
    uint32_t index;
    uint32_t rank; /* or GW_DEP_ALL */
};
struct gw_codec_deps {
    struct gw_codec_dep *items;
    uint32_t count, capacity;
};
int gw_codec_encode(const struct gw_value *value, struct gw_codec_deps *deps,
                    struct gw_buffer *buffer);

/* gw_codec_decode makes a value of bytes that gw_frame_check accepts. borrow: strings and bytes are
 * views that `owner` (referenced) keeps valid; else copied. Ext 1 becomes a reference whose node
 * index is k. 0, GW_ENOMEM, GW_EPROTO. */
int gw_codec_decode(const void *data, size_t bytes, struct gw_value *owner, struct gw_value **value,
                    struct gw_error *error);

#endif
