/* Resources that people name: "license=1,tape=2", what a worker offers or a rank takes of each. */
#ifndef GW_MODEL_RESOURCES_H
#define GW_MODEL_RESOURCES_H

#include "graph/model/pairs.h"

#define GW_RESOURCE_AMOUNT_MAX (UINT32_C(1) << 31)

/* By name, in the order of strcmp. */
struct gw_resources {
    const struct gw_resource {
        const char *name;
        uint32_t amount;
    } * items;
    uint32_t count;
};

/* gw_resources_parse reads "name=amount,..."; amounts are whole numbers from 1 to 2^31; NULL and ""
 * are none. All lies in the arena. GW_EINVAL with a text, GW_ENOMEM. */
int gw_resources_parse(const char *text, struct gw_arena *arena, struct gw_resources *resources,
                       struct gw_error *error);

bool gw_resources_equal(const struct gw_resources *a, const struct gw_resources *b);

#endif
