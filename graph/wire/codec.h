/* Values as MessagePack, and back. References become ext 1 (see messages.def), a little-endian
 * uint32. */
#ifndef GW_WIRE_CODEC_H
#define GW_WIRE_CODEC_H

#include "graph/base/array.h"
#include "graph/base/map.h"
#include "graph/wire/message.h"

#include <gangway/value.h>

enum { GW_CODEC_EXT_REF = 1 };

/* What the values of one task refer to, in the order in which it first came up. */
struct gw_codec_dep {
    uint32_t index; /* of the node */
    uint32_t rank;  /* or GW_DEP_ALL */
};
struct gw_codec_deps {
    GW_ARRAY(struct gw_codec_dep) list;
    struct gw_map places; /* (index, rank) -> place, once there are many */
};

/* gw_codec_deps_clear empties them for the next task; gw_codec_deps_deinit frees. */
void gw_codec_deps_clear(struct gw_codec_deps *deps);
void gw_codec_deps_deinit(struct gw_codec_deps *deps);

/* gw_codec_encode appends a value's bytes. References are written as their place in `deps`, which
 * grows by each new (node, rank); NULL deps refuses references. 0, GW_ENOMEM (also for a NULL
 * value, and a list that lost an item to it), GW_EINVAL, GW_ELIMIT (a string or bytes of 4 GiB);
 * then nothing was appended, though deps may have grown. */
int gw_codec_encode(const struct gw_value *value, struct gw_codec_deps *deps,
                    struct gw_buffer *buffer);

/* gw_codec_encode_texts appends what gw_codec_encode would for a list of these strings, without the
 * values. 0, GW_ENOMEM, GW_ELIMIT; then nothing was appended. */
int gw_codec_encode_texts(const char *const *texts, size_t count, struct gw_buffer *buffer);

/* gw_codec_bytes_head writes what stands before so many bytes (more than 255, and at most
 * UINT32_MAX) where they are one value, for whoever sends them from where they are; gives it. */
enum { GW_CODEC_HEAD_MAX = 5 };
struct gw_bin gw_codec_bytes_head(size_t bytes, uint8_t to[static GW_CODEC_HEAD_MAX]);

/* gw_codec_decode makes a value of bytes from anywhere, looked at as they are read. With an owner
 * (referenced by each), bytes values are views of data, which owner keeps valid; else they are
 * copies. Strings are copied always, being terminated. Ext 1 becomes a reference whose node index
 * is k: hold it against the number of dependencies. 0, GW_ENOMEM, GW_EPROTO. */
int gw_codec_decode(const void *data, size_t bytes, struct gw_value *owner, struct gw_value **value,
                    struct gw_error *error);

#endif
