/* Parses amounts of named resources. */
#include "graph/model/resources.h"

#include <string.h>

static int parse_amount(const struct gw_pair *pair, uint32_t *amount, struct gw_error *error)
{
    uint64_t number = 0;
    const char *at = pair->value;
    for (; *at >= '0' && *at <= '9' && number <= GW_RESOURCE_AMOUNT_MAX; at++)
        number = number * 10 + (uint64_t)(*at - '0');
    if (*at || number < 1 || number > GW_RESOURCE_AMOUNT_MAX)
        return gw_error_set(error, GW_EINVAL, "%s=%.40s: not a whole number from 1 to 2^31",
                            pair->name, pair->value);
    *amount = (uint32_t)number;
    return 0;
}

int gw_resources_parse(const char *text, struct gw_arena *arena, struct gw_resources *resources,
                       struct gw_error *error)
{
    struct gw_pairs pairs;
    int rc = gw_pairs_parse(text, arena, &pairs, error);
    if (rc < 0 || pairs.count == 0) {
        *resources = (struct gw_resources){0};
        return rc;
    }
    struct gw_resource *items = gw_arena_alloc(arena, (pairs.count + 1) * sizeof *items);
    if (!items)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < pairs.count && rc == 0; i++) {
        items[i].name = pairs.items[i].name;
        rc = parse_amount(&pairs.items[i], &items[i].amount, error);
    }
    if (rc == 0)
        *resources = (struct gw_resources){items, pairs.count};
    return rc;
}

bool gw_resources_equal(const struct gw_resources *a, const struct gw_resources *b)
{
    bool equal = a->count == b->count;
    for (uint32_t i = 0; equal && i < a->count; i++)
        equal = a->items[i].amount == b->items[i].amount &&
                strcmp(a->items[i].name, b->items[i].name) == 0;
    return equal;
}
