/* Named resources: "license=1,tape=2". A list says how much of each resource a worker offers or a
 * rank uses. */
#ifndef GW_MODEL_RESOURCES_H
#define GW_MODEL_RESOURCES_H

#include "graph/model/pairs.h"

#define GW_RESOURCE_AMOUNT_MAX (UINT32_C(1) << 31)

/* Sorted by name, in the order of strcmp. */
struct gw_resources {
    const struct gw_resource {
        const char *name;
        uint32_t amount;
    } * items;
    uint32_t count;
};

/* gw_resources_parse parses "name=amount,...". An amount is a whole number from 1 to 2^31. NULL and
 * "" give no resources. All memory is in the arena. Returns GW_EINVAL with a text, or GW_ENOMEM. */
int gw_resources_parse(const char *text, struct gw_arena *arena, struct gw_resources *resources,
                       struct gw_error *error);

bool gw_resources_equal(const struct gw_resources *a, const struct gw_resources *b);

#endif
