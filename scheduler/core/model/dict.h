/* Helpers to build the dicts of answers. They abort if memory runs out. */
#ifndef GW_SCHEDULER_CORE_DICT_H
#define GW_SCHEDULER_CORE_DICT_H

#include "graph/base/must.h"

#include <gangway/value.h>

/* gw_dict_put and gw_dict_put_u64 set a key. gw_dict_put takes ownership of the value. */
static inline void gw_dict_put(struct gw_value *dict, const char *key, struct gw_value *value)
{
    GW_MUST(gw_dict_set(dict, key, value));
}

static inline void gw_dict_put_u64(struct gw_value *dict, const char *key, uint64_t x)
{
    gw_dict_put(dict, key, gw_i64((int64_t)x));
}

#endif
