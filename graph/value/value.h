/* The inside of a value, for the codec. See <gangway/value.h>. */
#ifndef GW_GRAPH_VALUE_H
#define GW_GRAPH_VALUE_H

#include "graph/base/array.h"
#include "graph/base/strmap.h"

#include <gangway/value.h>
#include <stddef.h>

/* The most that values may be nested; frames have the same limit (GW_FRAME_DEPTH_MAX). */
enum { GW_VALUE_DEPTH_MAX = 16 };

struct gw_value_dict {
    GW_ARRAY(char *) keys;
    GW_ARRAY(struct gw_value *) values; /* values[i] belongs to keys[i] */
    struct gw_strmap places;            /* key -> i; filled once the dict is no longer small */
};

struct gw_value {
    _Atomic uint32_t refs;
    uint8_t type;   /* enum gw_value_type */
    uint8_t depth;  /* 0: holds no values; a list of scalars: 1 */
    bool immortal;  /* static: not counted */
    bool deep;      /* failed, because something in it would be nested too deep */
    int16_t failed; /* a list or dict that an item could not be put into: the code */
    union {
        bool b;
        int64_t i;
        double f;
        struct {
            const char *text; /* terminated, no NUL inside */
            size_t bytes;     /* without the NUL */
        } str;
        struct {
            const void *data;
            size_t count;
            void (*free_fn)(void *data, size_t bytes); /* NULL: nothing to free */
            struct gw_value *owner;                    /* NULL, or what keeps data valid */
        } bytes;
        GW_ARRAY(struct gw_value *) list;
        struct gw_value_dict *dict;
        struct {
            gw_node node;
            int32_t rank;
        } ref;
    };
    char tail[]; /* the text or bytes of a value that has its own copy */
};

/* gw_value_str_of makes a string of `bytes` of text; NULL when out of memory. The text has no NUL
 * inside. */
struct gw_value *gw_value_str_of(const char *text, size_t bytes);

/* gw_value_list_of makes an empty list that will get `count` items. */
struct gw_value *gw_value_list_of(size_t count);

/* gw_value_invalid says why a value cannot be encoded (GW_EINVAL) as a result, in words. */
const char *gw_value_invalid(const struct gw_value *value);

/* gw_value_bytes_of makes bytes that borrow from what `owner` (referenced) keeps valid. */
struct gw_value *gw_value_bytes_of(const void *data, size_t bytes, struct gw_value *owner);

#endif
