/* Parses places. pairs.h parses the names. This file parses the counts and the order. */
#include "graph/model/places.h"

#include <string.h>

/* Returns the first colon that is not part of an address in brackets, or NULL. */
static char *next_colon(char *item)
{
    char *colon = strpbrk(item, "[:");
    while (colon && *colon == '[')
        colon = strpbrk(colon + 1 + strcspn(colon + 1, "]"), "[:");
    return colon;
}

/* Removes ":N" from the end of an item, in place, and returns N. Returns 0 if the item does not end
 * with a valid count. */
static uint32_t cut_count(char *item)
{
    char *colon = next_colon(item);
    uint32_t ranks = 0;
    size_t digits = colon ? strspn(colon + 1, "0123456789") : 0;
    for (size_t i = 1; i <= digits && ranks <= GW_PLACES_RANKS_MAX; i++)
        ranks = ranks * 10 + (uint32_t)(colon[i] - '0');
    if (digits == 0 || colon[1 + digits] || ranks > GW_PLACES_RANKS_MAX)
        return 0;
    *colon = '\0';
    return ranks;
}

/* Parses the counts. Writes the text without the counts to `names`. */
static int parse_counts(char *rest, char *names, struct gw_places_item *items, uint32_t *count,
                        struct gw_error *error)
{
    for (bool more = true; more; (*count)++) {
        char *item = rest;
        rest += strcspn(rest, ",");
        more = *rest == ',';
        *rest = '\0';
        rest += more;
        if (*count == GW_PAIRS_MAX)
            return gw_error_set(error, GW_EINVAL,
                                "a list of workers has more than %d names, which is the most",
                                GW_PAIRS_MAX);
        uint32_t ranks = cut_count(item);
        if (!*item)
            return gw_error_set(error, GW_EINVAL, "a name is missing: NAME:RANKS for each");
        if (ranks == 0)
            return gw_error_set(error, GW_EINVAL,
                                "\"%.80s\" does not say how many ranks go there: NAME:RANKS, 1 to "
                                "%d, for each of them or for none",
                                item, GW_PLACES_RANKS_MAX);
        items[*count] = (struct gw_places_item){names + (*item == '['), ranks};
        size_t length = strlen(item);
        memcpy(names, item, length);
        names[length] = more ? ',' : '\0';
        names += length + 1;
    }
    return 0;
}

int gw_places_parse(const char *text, struct gw_arena *arena, struct gw_places *places,
                    struct gw_pairs *names, struct gw_error *error)
{
    *places = (struct gw_places){0};
    *names = (struct gw_pairs){0};
    if (!text || !strchr(text, ':')) /* no counts, as for most tasks: nothing is copied */
        return gw_pairs_parse_names(text, arena, names, error);
    if (strlen(text) > GW_PAIRS_BYTES_MAX)
        return gw_error_set(error, GW_EINVAL, "the list is longer than %d bytes",
                            GW_PAIRS_BYTES_MAX);
    char *rest = gw_arena_strdup(arena, text), *list = gw_arena_strdup(arena, text);
    if (rest && !next_colon(rest))
        return gw_pairs_parse_names(text, arena, names, error);
    struct gw_places_item *items = gw_arena_alloc(arena, GW_PAIRS_MAX * sizeof *items);
    uint32_t count = 0;
    if (!rest || !list || !items)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    int rc = parse_counts(rest, list, items, &count, error);
    if (rc == 0)
        rc = gw_pairs_parse_names(list, arena, names, error);
    if (rc < 0)
        return rc;
    for (char *end = list; (end = strpbrk(end, ",]")); end++)
        *end = '\0';
    *places = (struct gw_places){items, count};
    return 0;
}

int gw_places_check(const struct gw_places *places, const struct gw_places_of *of,
                    struct gw_error *error)
{
    uint64_t ranks = 0;
    if (places->count == 0)
        return 0;
    for (uint32_t i = 0; i < places->count; i++)
        ranks += places->items[i].ranks;
    if (of->ranks != ranks)
        return gw_error_set(
            error, GW_EINVAL, "there are places for %llu ranks (%s:%u...), and the gang has %u",
            (unsigned long long)ranks, places->items[0].name, places->items[0].ranks, of->ranks);
    if (of->ranks_per_node || of->spread || of->min_ranks || of->prefer)
        return gw_error_set(error, GW_EINVAL,
                            "so many ranks at each (%s:%u...), and then no ranks_per_node, "
                            "spread, min_ranks or workers_prefer",
                            places->items[0].name, places->items[0].ranks);
    return 0;
}

bool gw_places_equal(const struct gw_places *a, const struct gw_places *b)
{
    bool equal = a->count == b->count;
    for (uint32_t i = 0; equal && i < a->count; i++)
        equal = a->items[i].ranks == b->items[i].ranks &&
                strcmp(a->items[i].name, b->items[i].name) == 0;
    return equal;
}
