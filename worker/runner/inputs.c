/* Collects the inputs of a row in the order in which its arguments refer to them. A row may need
 * the results of all ranks of a gang. They arrive one by one, and one reference stands for all of
 * them. */
#include "worker/runner/inputs.h"

#include "graph/base/must.h"
#include "graph/wire/codec.h"
#include "graph/wire/enums.h"
#include "graph/wire/value_file.h"
#include "worker/runner/args.h"
#include "worker/runner/mapping.h"

#include <stdlib.h>
#include <unistd.h>

/* Returns the value of a dependency, or NULL if it has none. Its descriptor is consumed in any
 * case. */
static int take_value(const struct gw_batch_dep *dep, struct gw_value **value,
                      struct gw_error *error)
{
    if (dep->here) {
        *value = dep->cached;
        return 0;
    }
    if (dep->fd >= 0) {
        int rc = dep->memfile ? gw_mapping_open(dep->memfile, dep->fd, dep->bytes, value, error)
                              : gw_value_file_decode(dep->fd, dep->bytes, value, error);
        close(dep->fd);
        return rc;
    }
    if (dep->value.size == 0)
        return 0;
    return gw_codec_decode(dep->value.data, dep->value.size, NULL, value, error);
}

/* Dependencies of a task, numbered as the references in its arguments. */
struct deps {
    struct gw_value **items;
    uint32_t count;
    struct gw_value *all; /* a list to which `missing` more values belong */
    uint64_t missing;
    bool skip; /* an input was not made */
};

static int add_dep(struct deps *deps, const struct gw_batch_dep *dep, struct gw_error *error)
{
    struct gw_value *value = NULL;
    int rc = take_value(dep, &value, error);
    if (rc < 0)
        return rc;
    deps->skip = deps->skip || (dep->here && !value);
    if (deps->missing) {
        deps->missing--;
        return gw_list_push(deps->all, value ? value : gw_nil());
    }
    if (dep->rank == GW_DEP_ALL && !value) {
        deps->missing = dep->bytes;
        deps->all = value = gw_list();
    }
    deps->items[deps->count++] = value;
    return 0;
}

static int resolve_args(struct gw_bin args, struct gw_value *const *deps, uint32_t dep_count,
                        struct gw_task *task)
{
    struct gw_value *raw = args.size ? NULL : gw_list();
    int rc = args.size ? gw_codec_decode(args.data, args.size, NULL, &raw, &task->error) : 0;
    if (rc == 0 && gw_value_type(raw) == GW_LIST)
        return gw_args_resolve_own(raw, deps, dep_count, &task->args, &task->error);
    if (rc == 0)
        rc = gw_error_set(&task->error, GW_EPROTO,
                          "the arguments of the task are not a list: install one version of "
                          "Gangway on both sides");
    gw_value_unref(raw);
    return rc;
}

int gw_inputs_take(struct gw_batch *batch, const struct gw_batch_row *row, struct gw_task *task)
{
    struct gw_value *few[8] = {NULL};
    struct deps deps = {.items = row->dep_count > 8 ? calloc(row->dep_count, sizeof *few) : few};
    int rc = 0;
    GW_MUST_PTR(deps.items);
    for (uint32_t i = 0; i < row->dep_count; i++) {
        struct gw_batch_dep dep;
        int taken = gw_batch_dep(batch, &dep);
        if (taken == 0)
            taken = add_dep(&deps, &dep, &task->error);
        else
            (void)gw_error_set(&task->error, taken, "a dependency has no value");
        rc = rc < 0 ? rc : taken;
    }
    if (rc == 0 && deps.skip)
        rc = GW_EAGAIN;
    if (rc == 0)
        rc = resolve_args(row->args, deps.items, deps.count, task);
    for (uint32_t i = 0; i < deps.count; i++)
        gw_value_unref(deps.items[i]);
    if (deps.items != few)
        free(deps.items);
    return rc;
}
