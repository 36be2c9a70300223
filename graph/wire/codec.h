/* Encodes values as MessagePack and decodes them. A reference to the result of a task is
 * MessagePack extension type 1 (see messages.def), a little-endian uint32. */
#ifndef GW_WIRE_CODEC_H
#define GW_WIRE_CODEC_H

#include "graph/base/array.h"
#include "graph/base/map.h"
#include "graph/wire/message.h"

#include <gangway/value.h>

enum { GW_CODEC_EXT_REF = 1 };

/* The results that the values of one task refer to, in the order of their first occurrence. */
struct gw_codec_dep {
    uint32_t index; /* index of the node */
    uint32_t rank;  /* rank, or GW_DEP_ALL */
};
struct gw_codec_deps {
    GW_ARRAY(struct gw_codec_dep) list;
    struct gw_map places; /* (index, rank) -> position in list; used if there are many */
};

/* gw_codec_deps_clear empties the list for the next task. gw_codec_deps_deinit frees it. */
void gw_codec_deps_clear(struct gw_codec_deps *deps);
void gw_codec_deps_deinit(struct gw_codec_deps *deps);

/* gw_codec_encode appends the encoding of a value. A reference is encoded as its position in
 * `deps`; a new (node, rank) is added to deps. If deps is NULL, references are refused. Returns 0,
 * GW_ENOMEM (also for a NULL value, and for a list that lost an item because of GW_ENOMEM),
 * GW_EINVAL, or GW_ELIMIT (a string or bytes of 4 GiB or more). After an error nothing was
 * appended, but deps may have grown. */
int gw_codec_encode(const struct gw_value *value, struct gw_codec_deps *deps,
                    struct gw_buffer *buffer);

/* gw_codec_encode_texts encodes a list of strings as gw_codec_encode does, without making values.
 * Returns 0, GW_ENOMEM or GW_ELIMIT. After an error nothing was appended. */
int gw_codec_encode_texts(const char *const *texts, size_t count, struct gw_buffer *buffer);

/* gw_codec_bytes_head writes the MessagePack header of a bytes value of `bytes` bytes (256 to
 * UINT32_MAX). The caller sends the bytes themselves without copying them. It returns the header.
 */
enum { GW_CODEC_HEAD_MAX = 5 };
struct gw_bin gw_codec_bytes_head(size_t bytes, uint8_t to[static GW_CODEC_HEAD_MAX]);

/* gw_codec_decode decodes a value from untrusted bytes and checks them while it reads. If there is
 * an owner, bytes values point into data; each takes a reference to the owner, which keeps data
 * valid. Otherwise bytes values are copies. Strings are always copied, because they need a
 * terminating NUL. Extension type 1 becomes a reference whose node index is k; the caller must
 * check k against the number of dependencies. Returns 0, GW_ENOMEM or GW_EPROTO. */
int gw_codec_decode(const void *data, size_t bytes, struct gw_value *owner, struct gw_value **value,
                    struct gw_error *error);

#endif
