/* Values: constructors, reference counts, reading.
 *
 * A value does not change after it was taken over, so readers need no lock. Only the reference
 * count is atomic. Each list and dict knows its depth, which every push updates. This limits all
 * recursion here and in the codec. If an item could not be added to a list or dict, the list or
 * dict stores the error code (`failed`), so that it cannot be sent without the item. */
#include "graph/value/value.h"

#include <assert.h>
#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* A dict with at most this many keys is searched linearly. */
enum { DICT_SMALL = 8 };

/* The items of a new list with at most this many items are stored in the same allocation, after the
 * value. */
enum { LIST_TAIL_MAX = 64 };

static struct gw_value *value_new(enum gw_value_type type, size_t tail)
{
    if (tail > PTRDIFF_MAX / 2)
        return NULL;
    struct gw_value *value = malloc(sizeof *value + tail);
    if (value) /* no memset here: the compiler would merge it with malloc into calloc, which does
                  not use the C library's cache */
        *value = (struct gw_value){.refs = 1, .type = (uint8_t)type};
    return value;
}

struct gw_value *gw_nil(void)
{
    static struct gw_value nil = {.type = GW_NIL, .immortal = true};
    return &nil;
}

struct gw_value *gw_bool(bool b)
{
    static struct gw_value bools[2] = {{.type = GW_BOOL, .immortal = true, .b = false},
                                       {.type = GW_BOOL, .immortal = true, .b = true}};
    return &bools[b];
}

struct gw_value *gw_i64(int64_t i)
{
    struct gw_value *value = value_new(GW_I64, 0);
    if (value)
        value->i = i;
    return value;
}

struct gw_value *gw_f64(double d)
{
    struct gw_value *value = value_new(GW_F64, 0);
    if (value)
        value->f = d;
    return value;
}

struct gw_value *gw_value_str_of(const char *text, size_t bytes)
{
    struct gw_value *value = value_new(GW_STR, bytes + 1);
    if (!value)
        return NULL;
    if (bytes)
        memcpy(value->tail, text, bytes);
    value->tail[bytes] = '\0';
    value->str.text = value->tail;
    value->str.bytes = bytes;
    return value;
}

struct gw_value *gw_str(const char *text)
{
    return gw_value_str_of(text, strlen(text));
}

struct gw_value *gw_value_bytes_of(const void *data, size_t bytes, struct gw_value *owner)
{
    struct gw_value *value = value_new(GW_BYTES, 0);
    if (!value)
        return NULL;
    value->bytes.data = data;
    value->bytes.count = bytes;
    value->bytes.owner = owner ? gw_value_ref(owner) : NULL;
    return value;
}

struct gw_value *gw_bytes(const void *data, size_t bytes)
{
    return gw_value_bytes_of(data, bytes, NULL);
}

struct gw_value *gw_bytes_copy(const void *data, size_t bytes)
{
    struct gw_value *value = value_new(GW_BYTES, bytes);
    if (!value)
        return NULL;
    if (bytes)
        memcpy(value->tail, data, bytes);
    value->bytes.data = value->tail;
    value->bytes.count = bytes;
    return value;
}

struct gw_value *gw_bytes_owned(void *data, size_t bytes, void (*free_fn)(void *data, size_t bytes))
{
    struct gw_value *value = gw_value_bytes_of(data, bytes, NULL);
    if (value)
        value->bytes.free_fn = free_fn;
    else
        free_fn(data, bytes);
    return value;
}

struct gw_value *gw_list(void)
{
    struct gw_value *value = value_new(GW_LIST, 0);
    if (value)
        value->depth = 1;
    return value;
}

struct gw_value *gw_value_list_of(size_t count)
{
    if (count > LIST_TAIL_MAX)
        return gw_list();
    struct gw_value *value = value_new(GW_LIST, count * sizeof(struct gw_value *));
    if (!value)
        return NULL;
    value->depth = 1;
    value->list.items = (struct gw_value **)(void *)value->tail;
    value->list.capacity = count;
    return value;
}

/* Returns true if the items of a list are stored in its own allocation. */
static bool has_tail(const struct gw_value *list)
{
    return (const char *)list->list.items == list->tail;
}

/* Moves the items to an allocation that can grow. */
static int leave_tail(struct gw_value *list)
{
    struct gw_value **tail = list->list.items;
    size_t count = list->list.count;
    list->list.items = NULL;
    list->list.count = list->list.capacity = 0;
    int rc = gw_array_reserve(&list->list, count + 1);
    if (rc < 0) {
        list->list.items = tail;
        list->list.capacity = count;
    } else if (count) {
        memcpy(list->list.items, tail, count * sizeof *tail);
    }
    list->list.count = count;
    return rc;
}

struct gw_value *gw_dict(void)
{
    struct gw_value *value = value_new(GW_DICT, 0);
    if (!value)
        return NULL;
    value->depth = 1;
    value->dict = calloc(1, sizeof *value->dict);
    if (!value->dict) {
        free(value);
        return NULL;
    }
    return value;
}

struct gw_value *gw_result_rank(gw_node node, int32_t rank)
{
    struct gw_value *value = value_new(GW_RESULT, 0);
    if (value) {
        value->ref.node = node;
        value->ref.rank = rank;
    }
    return value;
}

struct gw_value *gw_result(gw_node node)
{
    return gw_result_rank(node, 0);
}

struct gw_value *gw_result_all(gw_node node)
{
    return gw_result_rank(node, GW_RANK_ALL);
}

struct gw_value *gw_value_ref(struct gw_value *value)
{
    if (value && !value->immortal)
        atomic_fetch_add_explicit(&value->refs, 1, memory_order_relaxed);
    return value;
}

static void dict_free(struct gw_value_dict *dict)
{
    for (size_t i = 0; i < dict->keys.count; i++)
        free(dict->keys.items[i]);
    for (size_t i = 0; i < dict->values.count; i++)
        gw_value_unref(dict->values.items[i]);
    gw_array_deinit(&dict->keys);
    gw_array_deinit(&dict->values);
    gw_strmap_deinit(&dict->places);
    free(dict);
}

/* Removes const. The data belonged to the user before, and is const only while it is a value. */
static void *unconst(const void *data)
{
    void *writable;
    memcpy(&writable, &data, sizeof writable);
    return writable;
}

void gw_value_unref(struct gw_value *value)
{
    if (!value || value->immortal)
        return;
    uint32_t before = atomic_fetch_sub_explicit(&value->refs, 1, memory_order_acq_rel);
    assert(before > 0);
    if (before > 1)
        return;

    if (value->type == GW_BYTES) {
        if (value->bytes.free_fn)
            value->bytes.free_fn(unconst(value->bytes.data), value->bytes.count);
        gw_value_unref(value->bytes.owner);
    } else if (value->type == GW_LIST) {
        for (size_t i = 0; i < value->list.count; i++)
            gw_value_unref(value->list.items[i]);
        if (!has_tail(value))
            gw_array_deinit(&value->list);
    } else if (value->type == GW_DICT) {
        dict_free(value->dict);
    }
    free(value);
}

/* Checks whether `inner` may be added to `outer`, and updates the depth. Returns 0 or an error
 * code, which outer stores. */
static int admit(struct gw_value *outer, enum gw_value_type type, const struct gw_value *inner)
{
    if (!outer)
        return GW_ENOMEM;
    if (outer->type != type)
        return GW_EINVAL;
    int rc = 0;
    if (!inner)
        rc = GW_ENOMEM;
    else if (inner->failed)
        rc = inner->failed;
    else if (inner == outer || inner->depth >= GW_VALUE_DEPTH_MAX)
        rc = GW_EINVAL;
    if (rc < 0) {
        outer->failed = (int16_t)rc;
        outer->deep = inner && (inner->failed ? inner->deep : inner->depth >= GW_VALUE_DEPTH_MAX);
    } else if (outer->depth <= inner->depth)
        outer->depth = (uint8_t)(inner->depth + 1);
    return rc;
}

static_assert(GW_VALUE_DEPTH_MAX == 16, "the text of gw_value_invalid says it");

const char *gw_value_invalid(const struct gw_value *value)
{
    return value && value->deep
               ? "lists and dicts in it are nested 17 deep, and 16 is the most"
               : "it holds a reference (gw_result), which only arguments may, or a list in itself";
}

int gw_list_push(struct gw_value *list, struct gw_value *value)
{
    int rc = admit(list, GW_LIST, value);
    if (rc == 0) {
        if (list->list.count == list->list.capacity && has_tail(list))
            rc = leave_tail(list);
        rc = rc < 0 ? rc : gw_array_push(&list->list, value);
        if (rc < 0)
            list->failed = (int16_t)rc;
    }
    if (rc < 0)
        gw_value_unref(value);
    return rc;
}

/* Finds a key and writes its index. */
static bool dict_find(const struct gw_value_dict *dict, const char *key, uint64_t *place)
{
    if (dict->keys.count > DICT_SMALL)
        return gw_strmap_get(&dict->places, key, place);
    for (size_t i = 0; i < dict->keys.count; i++)
        if (strcmp(dict->keys.items[i], key) == 0) {
            *place = i;
            return true;
        }
    return false;
}

/* Adds keys to the map: all keys when the dict grows beyond DICT_SMALL, later the last key. */
static int dict_index(struct gw_value_dict *dict)
{
    size_t count = dict->keys.count;
    if (count <= DICT_SMALL)
        return 0;
    int rc = 0;
    for (size_t i = count == DICT_SMALL + 1 ? 0 : count - 1; i < count && rc == 0; i++)
        rc = gw_strmap_put(&dict->places, dict->keys.items[i], i);
    return rc;
}

static int dict_add(struct gw_value_dict *dict, const char *key, struct gw_value *value)
{
    if (gw_array_reserve(&dict->keys, 1) < 0 || gw_array_reserve(&dict->values, 1) < 0)
        return GW_ENOMEM;
    char *copy = strdup(key);
    if (!copy)
        return GW_ENOMEM;
    (void)gw_array_push(&dict->keys, copy); /* cannot fail: both were reserved above */
    int rc = dict_index(dict);
    if (rc < 0) {
        (void)gw_strmap_remove(&dict->places, copy);
        dict->keys.count--;
        free(copy);
        return rc;
    }
    return gw_array_push(&dict->values, value);
}

int gw_dict_set(struct gw_value *dict, const char *key, struct gw_value *value)
{
    int rc = admit(dict, GW_DICT, value);
    uint64_t place;
    if (rc == 0 && dict_find(dict->dict, key, &place)) {
        gw_value_unref(dict->dict->values.items[place]);
        dict->dict->values.items[place] = value;
        return 0;
    }
    if (rc == 0) {
        rc = dict_add(dict->dict, key, value);
        if (rc < 0)
            dict->failed = (int16_t)rc;
    }
    if (rc < 0)
        gw_value_unref(value);
    return rc;
}

/* -- Reading -- */

enum gw_value_type gw_value_type(const struct gw_value *value)
{
    return value ? (enum gw_value_type)value->type : GW_NIL;
}

const char *gw_value_type_name(enum gw_value_type type)
{
    switch (type) {
    case GW_NIL:
        return "nil";
    case GW_BOOL:
        return "a bool";
    case GW_I64:
        return "an integer";
    case GW_F64:
        return "a number";
    case GW_STR:
        return "a string";
    case GW_BYTES:
        return "bytes";
    case GW_LIST:
        return "a list";
    case GW_DICT:
        return "a dict";
    case GW_RESULT:
        return "a reference";
    }
    return "?";
}

static int wrong_type(const struct gw_value *value, enum gw_value_type wanted,
                      struct gw_error *error)
{
    return gw_error_set(error, GW_EINVAL, "%s, wanted %s", gw_value_type_name(gw_value_type(value)),
                        gw_value_type_name(wanted));
}

int gw_value_get_bool(const struct gw_value *value, bool *b, struct gw_error *error)
{
    if (gw_value_type(value) != GW_BOOL)
        return wrong_type(value, GW_BOOL, error);
    *b = value->b;
    return 0;
}

int gw_value_get_i64(const struct gw_value *value, int64_t *i, struct gw_error *error)
{
    if (gw_value_type(value) == GW_F64) {
        double whole = value->f;
        if (!(whole >= -0x1p63 && whole < 0x1p63) || whole != trunc(whole))
            return gw_error_set(error, GW_EINVAL, "%g, wanted an integer", whole);
        *i = (int64_t)whole;
        return 0;
    }
    if (gw_value_type(value) != GW_I64)
        return wrong_type(value, GW_I64, error);
    *i = value->i;
    return 0;
}

int gw_value_get_f64(const struct gw_value *value, double *d, struct gw_error *error)
{
    if (gw_value_type(value) == GW_F64)
        *d = value->f;
    else if (gw_value_type(value) == GW_I64)
        *d = (double)value->i;
    else
        return wrong_type(value, GW_F64, error);
    return 0;
}

int gw_value_get_str(const struct gw_value *value, const char **text, struct gw_error *error)
{
    if (gw_value_type(value) != GW_STR)
        return wrong_type(value, GW_STR, error);
    *text = value->str.text;
    return 0;
}

int gw_value_get_bytes(const struct gw_value *value, const void **data, size_t *bytes,
                       struct gw_error *error)
{
    if (gw_value_type(value) != GW_BYTES)
        return wrong_type(value, GW_BYTES, error);
    *data = value->bytes.data;
    *bytes = value->bytes.count;
    return 0;
}

int gw_value_get_result(const struct gw_value *value, gw_node *node, int32_t *rank)
{
    if (gw_value_type(value) != GW_RESULT)
        return GW_EINVAL;
    *node = value->ref.node;
    *rank = value->ref.rank;
    return 0;
}

size_t gw_value_count(const struct gw_value *value)
{
    if (gw_value_type(value) == GW_LIST)
        return value->list.count;
    return gw_value_type(value) == GW_DICT ? value->dict->keys.count : 0;
}

struct gw_value *gw_value_at(const struct gw_value *value, size_t i)
{
    if (i >= gw_value_count(value))
        return NULL;
    return value->type == GW_LIST ? value->list.items[i] : value->dict->values.items[i];
}

const char *gw_value_key(const struct gw_value *value, size_t i)
{
    if (gw_value_type(value) != GW_DICT || i >= value->dict->keys.count)
        return NULL;
    return value->dict->keys.items[i];
}

struct gw_value *gw_value_find(const struct gw_value *value, const char *key)
{
    uint64_t place;
    if (gw_value_type(value) != GW_DICT || !dict_find(value->dict, key, &place))
        return NULL;
    return value->dict->values.items[place];
}

static bool items_equal(const struct gw_value *a, const struct gw_value *b)
{
    size_t count = gw_value_count(a);
    if (count != gw_value_count(b))
        return false;
    for (size_t i = 0; i < count; i++) {
        const struct gw_value *other =
            a->type == GW_LIST ? gw_value_at(b, i) : gw_value_find(b, gw_value_key(a, i));
        if (!other || !gw_value_equal(gw_value_at(a, i), other))
            return false;
    }
    return true;
}

bool gw_value_equal(const struct gw_value *a, const struct gw_value *b)
{
    if (a == b)
        return true;
    if (!a || !b || a->type != b->type)
        return false;
    switch ((enum gw_value_type)a->type) {
    case GW_NIL:
        return true;
    case GW_BOOL:
        return a->b == b->b;
    case GW_I64:
        return a->i == b->i;
    case GW_F64:
        return a->f == b->f || (isnan(a->f) && isnan(b->f));
    case GW_STR:
        return strcmp(a->str.text, b->str.text) == 0;
    case GW_BYTES:
        return a->bytes.count == b->bytes.count &&
               (a->bytes.count == 0 || memcmp(a->bytes.data, b->bytes.data, a->bytes.count) == 0);
    case GW_LIST:
    case GW_DICT:
        return items_equal(a, b);
    case GW_RESULT:
        return a->ref.node.index == b->ref.node.index && a->ref.rank == b->ref.rank;
    }
    return false;
}
