/* The internal struct of a value, for the codec. See <gangway/value.h>. */
#ifndef GW_GRAPH_VALUE_H
#define GW_GRAPH_VALUE_H

#include "graph/base/array.h"
#include "graph/base/strmap.h"

#include <gangway/value.h>
#include <stddef.h>

/* Maximum nesting depth of values. Frames have the same limit (GW_FRAME_DEPTH_MAX). */
enum { GW_VALUE_DEPTH_MAX = 16 };

struct gw_value_dict {
    GW_ARRAY(char *) keys;
    GW_ARRAY(struct gw_value *) values; /* values[i] belongs to keys[i] */
    struct gw_strmap places;            /* key -> i; used if the dict has more than a few keys */
};

struct gw_value {
    _Atomic uint32_t refs;
    uint8_t type;   /* enum gw_value_type */
    uint8_t depth;  /* 0: contains no values; a list of scalars: 1 */
    bool immortal;  /* static, without a reference count */
    bool deep;      /* `failed` is set because an item is nested too deeply */
    int16_t failed; /* error code of an item that could not be added to this list or dict */
    union {
        bool b;
        int64_t i;
        double f;
        struct {
            const char *text; /* NUL-terminated, no NUL inside */
            size_t bytes;     /* without the NUL */
        } str;
        struct {
            const void *data;
            size_t count;
            void (*free_fn)(void *data, size_t bytes); /* NULL: nothing to free */
            struct gw_value *owner; /* NULL, or the value that keeps data valid */
        } bytes;
        GW_ARRAY(struct gw_value *) list;
        struct gw_value_dict *dict;
        struct {
            gw_node node;
            int32_t rank;
        } ref;
    };
    char tail[]; /* the text or bytes of a value with its own copy */
};

/* gw_value_str_of makes a string from `bytes` bytes of text, which contain no NUL. Returns NULL if
 * out of memory. */
struct gw_value *gw_value_str_of(const char *text, size_t bytes);

/* gw_value_list_of makes an empty list with room for `count` items. */
struct gw_value *gw_value_list_of(size_t count);

/* gw_value_invalid returns in words why a result cannot be encoded (GW_EINVAL). */
const char *gw_value_invalid(const struct gw_value *value);

/* gw_value_bytes_of makes a bytes value that borrows data from `owner`. It takes a reference to
 * owner, which keeps the data valid. */
struct gw_value *gw_value_bytes_of(const void *data, size_t bytes, struct gw_value *owner);

#endif
