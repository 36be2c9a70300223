/* Replaces references in the arguments of a task. The depth of recursion is limited, since received
 * data is checked against GW_FRAME_DEPTH_MAX. */
#include "worker/runner/args.h"

#include "graph/value/value.h"

#include <stdatomic.h>

struct resolver {
    struct gw_value *const *deps;
    size_t count;
    struct gw_error *error;
};

static int resolve(const struct resolver *resolver, struct gw_value *value,
                   struct gw_value **resolved);

/* Called for each argument of each task. Most are not containers. */
static bool has_references(const struct gw_value *value)
{
    if (value->depth == 0)
        return value->type == GW_RESULT;
    size_t count = gw_value_count(value);
    for (size_t i = 0; i < count; i++)
        if (has_references(gw_value_at(value, i)))
            return true;
    return false;
}

static int resolve_reference(const struct resolver *resolver, struct gw_value *value,
                             struct gw_value **resolved)
{
    gw_node node;
    int32_t rank;
    int rc = gw_value_get_result(value, &node, &rank);
    if (rc < 0 || node.index >= resolver->count || !resolver->deps[node.index])
        return gw_error_set(resolver->error, GW_EPROTO,
                            "an argument refers to a dependency that the task does not have: "
                            "install one version of Gangway on both sides");
    *resolved = gw_value_ref(resolver->deps[node.index]);
    return 0;
}

static int resolve_items(const struct resolver *resolver, struct gw_value *value,
                         struct gw_value *made)
{
    bool dict = gw_value_type(value) == GW_DICT;
    size_t count = gw_value_count(value);
    for (size_t i = 0; i < count; i++) {
        struct gw_value *item;
        int rc = resolve(resolver, gw_value_at(value, i), &item);
        if (rc == 0)
            rc = dict ? gw_dict_set(made, gw_value_key(value, i), item) : gw_list_push(made, item);
        if (rc < 0)
            return rc;
    }
    return 0;
}

static int resolve(const struct resolver *resolver, struct gw_value *value,
                   struct gw_value **resolved)
{
    if (gw_value_type(value) == GW_RESULT)
        return resolve_reference(resolver, value, resolved);
    if (!has_references(value)) {
        *resolved = gw_value_ref(value);
        return 0;
    }
    struct gw_value *made =
        gw_value_type(value) == GW_DICT ? gw_dict() : gw_value_list_of(gw_value_count(value));
    if (!made)
        return gw_error_set(resolver->error, GW_ENOMEM, "out of memory");
    int rc = resolve_items(resolver, value, made);
    if (rc < 0) {
        gw_value_unref(made);
        return rc == GW_ENOMEM ? gw_error_set(resolver->error, rc, "out of memory") : rc;
    }
    *resolved = made;
    return 0;
}

static const struct gw_value *dep_of(const struct resolver *resolver, const struct gw_value *ref)
{
    return ref->ref.node.index < resolver->count ? resolver->deps[ref->ref.node.index] : NULL;
}

/* Replaces the references in the list itself. This needs a list without other references to it, of
 * scalars and references to scalars, as nearly all arguments are. Returns false if the list is
 * another one. The list is then unchanged. */
static bool resolve_in_place(const struct resolver *resolver, struct gw_value *args)
{
    if (args->type != GW_LIST || args->immortal || args->failed || args->depth > 1 ||
        atomic_load_explicit(&args->refs, memory_order_acquire) != 1)
        return false;
    for (size_t i = 0; i < args->list.count; i++) {
        const struct gw_value *item = args->list.items[i];
        const struct gw_value *dep = item->type == GW_RESULT ? dep_of(resolver, item) : item;
        if (!dep || dep->depth > 0)
            return false;
    }
    for (size_t i = 0; i < args->list.count; i++) {
        struct gw_value *item = args->list.items[i];
        if (item->type != GW_RESULT)
            continue;
        args->list.items[i] = gw_value_ref(resolver->deps[item->ref.node.index]);
        gw_value_unref(item);
    }
    return true;
}

int gw_args_resolve(struct gw_value *args, struct gw_value *const *deps, size_t dep_count,
                    struct gw_value **resolved, struct gw_error *error)
{
    const struct resolver resolver = {deps, dep_count, error};
    return resolve(&resolver, args, resolved);
}

int gw_args_resolve_own(struct gw_value *args, struct gw_value *const *deps, size_t dep_count,
                        struct gw_value **resolved, struct gw_error *error)
{
    const struct resolver resolver = {deps, dep_count, error};
    if (resolve_in_place(&resolver, args)) {
        *resolved = args;
        return 0;
    }
    int rc = resolve(&resolver, args, resolved);
    gw_value_unref(args);
    return rc;
}
