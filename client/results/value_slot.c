/* Value slots, and failures of futures. */
#include "client/results/value_slot.h"

#include <stdlib.h>
#include <string.h>

struct gw_failure *gw_value_slot_failure_new(int code, int exit_code, uint64_t attempt,
                                             const char *text)
{
    size_t length = strlen(text);
    struct gw_failure *failure = malloc(sizeof *failure + length + 1);
    if (!failure)
        return NULL;
    failure->code = code;
    failure->exit_code = exit_code;
    failure->attempt = attempt;
    memcpy(failure->text, text, length + 1);
    return failure;
}

bool gw_value_slot_set(struct gw_value_slot *result, const struct gw_landing *from)
{
    if (from->value) {
        result->kind = GW_VALUE_SLOT_VALUE;
        result->value = gw_value_ref(from->value);
        return true;
    }
    if (!from->encoded) {
        result->kind = GW_VALUE_SLOT_REMOTE;
        return true;
    }
    if (from->bytes > sizeof result->small) {
        uint8_t *heap = malloc(from->bytes);
        if (!heap)
            return false;
        memcpy(heap, from->encoded, from->bytes);
        result->heap = heap;
        result->kind = GW_VALUE_SLOT_HEAP;
    } else {
        memcpy(result->small, from->encoded, from->bytes);
        result->kind = GW_VALUE_SLOT_SMALL;
    }
    result->size = from->bytes;
    return true;
}

void gw_value_slot_clear(struct gw_value_slot *result, uint32_t ranks)
{
    switch (result->kind) {
    case GW_VALUE_SLOT_HEAP:
        free(result->heap);
        break;
    case GW_VALUE_SLOT_VALUE:
        gw_value_unref(result->value);
        break;
    case GW_VALUE_SLOT_RANKS:
        for (uint32_t i = 0; i < ranks; i++)
            gw_value_slot_clear(&result->ranks->items[i], 0);
        free(result->ranks);
        break;
    case GW_VALUE_SLOT_ERROR:
        free(result->failure);
        break;
    default:
        break;
    }
    memset(result, 0, sizeof *result);
}
