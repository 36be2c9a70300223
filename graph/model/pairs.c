/* Parses lists of names, with or without values. */
#include "graph/model/pairs.h"

#include <stdlib.h>
#include <string.h>

enum { HOST_BYTES_MAX = 255 };

static bool is_name(const char *text, size_t length, size_t most)
{
    static const char letters[] =
        "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_.-";
    return length > 0 && length <= most && strspn(text, letters) >= length;
}

static int by_name(const void *a, const void *b)
{
    return strcmp(((const struct gw_pair *)a)->name, ((const struct gw_pair *)b)->name);
}

static int check_order(const struct gw_pair *items, uint32_t count, struct gw_error *error)
{
    for (uint32_t i = 1; i < count; i++)
        if (strcmp(items[i - 1].name, items[i].name) == 0)
            return gw_error_set(error, GW_EINVAL, "\"%s\" is in the list twice", items[i].name);
    return 0;
}

/* Recognises an IPv6 address in brackets, such as "[::1]", and removes the brackets. */
static bool is_address(char *item)
{
    size_t length = *item == '[' ? strspn(item + 1, "0123456789abcdefABCDEF:.") : 0;
    if (length == 0 || strcmp(item + 1 + length, "]") != 0)
        return false;
    memmove(item, item + 1, length);
    item[length] = '\0';
    return true;
}

/* Parses one item in place: `name=value`, or `name` alone. */
static int parse_item(char *item, bool valued, struct gw_pair *pair, struct gw_error *error)
{
    if (!valued && is_address(item)) {
        *pair = (struct gw_pair){.name = item, .value = ""};
        return 0;
    }
    size_t length = strcspn(item, valued ? "=" : "");
    if (valued && item[length] != '=')
        return gw_error_set(error, GW_EINVAL, "\"%.80s\" is not NAME=VALUE", item);
    if (!is_name(item, length, valued ? GW_PAIRS_NAME_MAX : HOST_BYTES_MAX))
        return gw_error_set(error, GW_EINVAL,
                            "\"%.*s\" is not a name: 1 to %d of A-Z, a-z, 0-9, _, . and -",
                            length < 80 ? (int)length : 80, item, GW_PAIRS_NAME_MAX);
    pair->name = item;
    pair->value = valued ? item + length + 1 : "";
    item[length] = '\0';
    return 0;
}

static int parse(const char *text, bool valued, struct gw_arena *arena, struct gw_pairs *pairs,
                 struct gw_error *error)
{
    *pairs = (struct gw_pairs){0};
    if (!text || !*text)
        return 0;
    if (strlen(text) > GW_PAIRS_BYTES_MAX)
        return gw_error_set(error, GW_EINVAL, "the list is longer than %d bytes",
                            GW_PAIRS_BYTES_MAX);
    char *rest = gw_arena_strdup(arena, text);
    struct gw_pair *items = gw_arena_alloc(arena, GW_PAIRS_MAX * sizeof *items);
    if (!rest || !items)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    uint32_t count = 0;
    for (bool more = true; more; count++) {
        char *item = rest;
        rest += strcspn(rest, ",");
        more = *rest == ',';
        *rest = '\0';
        rest += more;
        if (count == GW_PAIRS_MAX)
            return gw_error_set(error, GW_EINVAL,
                                "a list has more than %d names, which is the most", GW_PAIRS_MAX);
        int rc = parse_item(item, valued, &items[count], error);
        if (rc < 0)
            return rc;
    }
    qsort(items, count, sizeof *items, by_name);
    int rc = check_order(items, count, error);
    if (rc == 0)
        *pairs = (struct gw_pairs){items, count};
    return rc;
}

int gw_pairs_parse(const char *text, struct gw_arena *arena, struct gw_pairs *pairs,
                   struct gw_error *error)
{
    return parse(text, true, arena, pairs, error);
}

int gw_pairs_parse_names(const char *text, struct gw_arena *arena, struct gw_pairs *names,
                         struct gw_error *error)
{
    return parse(text, false, arena, names, error);
}

const char *gw_pairs_find(const struct gw_pairs *pairs, const char *name)
{
    for (uint32_t i = 0; i < pairs->count; i++)
        if (strcmp(pairs->items[i].name, name) == 0)
            return pairs->items[i].value;
    return NULL;
}

bool gw_pairs_equal(const struct gw_pairs *a, const struct gw_pairs *b)
{
    bool equal = a->count == b->count;
    for (uint32_t i = 0; equal && i < a->count; i++)
        equal = strcmp(a->items[i].name, b->items[i].name) == 0 &&
                strcmp(a->items[i].value, b->items[i].value) == 0;
    return equal;
}
