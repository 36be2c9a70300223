/* Groups of operations: recording, and running them on a backend that has no groups itself.
 *
 * Every rank runs the operations of a group in the same global order (see order). So no cycle of
 * waiting ranks is possible: of all messages that are still to be exchanged, the first in this
 * order is the next one at both of its ends. Short reductions of the same kind that follow each
 * other are combined into one operation. The ranks then compare a digest of the combined
 * operations. */
#include "gpu/base/comm_backend.h"

#include <stdlib.h>
#include <string.h>

enum {
    FUSED_BYTES_MAX = 16 << 10, /* the host backend moves this much in a single step */
    FUSED_EACH_MAX = 4 << 10,
};

struct gw_comm_group {
    struct gw_comm_item *items;
    size_t count, room;
    size_t fused_bytes; /* bytes in `fused` for the current operation */
    int rc;             /* error of the first call that could not be recorded */
    _Alignas(16) char fused[FUSED_BYTES_MAX];
};

int gw_comm_group_begin(struct gw_comm *comm, struct gw_error *error)
{
    if (comm->group)
        return gw_error_set(error, GW_EINVAL, "group: gw_comm_group_begin inside a group");
    comm->group = calloc(1, sizeof *comm->group);
    return comm->group ? 0 : gw_error_set(error, GW_ENOMEM, "group: out of memory");
}

void gw_comm_group_free(struct gw_comm_group *group)
{
    if (group)
        free(group->items);
    free(group);
}

int gw_comm_group_add(struct gw_comm_group *group, const struct gw_comm_item *item,
                      struct gw_error *error)
{
    if (item->verb == GW_COMM_BARRIER)
        return gw_error_set(error, GW_EINVAL, "barrier: not allowed inside a group");
    if (group->count == group->room) {
        const size_t room = group->room ? group->room * 2 : 16;
        struct gw_comm_item *more = realloc(group->items, room * sizeof *more);
        if (!more) {
            group->rc = GW_ENOMEM;
            return gw_error_set(error, GW_ENOMEM, "group: out of memory for %zu operations",
                                group->count + 1);
        }
        group->items = more;
        group->room = room;
    }
    group->items[group->count++] = *item;
    return 0;
}

/* -- Order ---------------------------------------------------------------------------------------
 */

static bool is_message(const struct gw_comm_item *item)
{
    return item->verb == GW_COMM_SEND || item->verb == GW_COMM_RECV;
}

/* Returns the position of a message in the global order: first by the lower rank of the pair, then
 * by the higher rank. The message from the lower to the higher rank comes first. */
static uint64_t message_place(const struct gw_comm_item *item, int rank)
{
    const int peer = item->args.root;
    const uint64_t low = (uint64_t)(rank < peer ? rank : peer);
    const uint64_t high = (uint64_t)(rank < peer ? peer : rank);
    const bool upwards = (item->verb == GW_COMM_SEND) == (rank < peer);
    return low << 32 | high << 1 | (upwards ? 0 : 1);
}

static bool goes_before(const struct gw_comm_item *a, const struct gw_comm_item *b, int rank)
{
    if (!is_message(a) || !is_message(b))
        return !is_message(a) && is_message(b);
    return message_place(a, rank) < message_place(b, rank);
}

/* Sorts the operations into the global order: first the collectives in the order of their calls,
 * then the messages pair by pair. The insertion sort is stable and fast enough, because groups are
 * short. */
static void order(struct gw_comm_item *items, size_t count, int rank)
{
    for (size_t i = 1; i < count; i++) {
        const struct gw_comm_item item = items[i];
        size_t at = i;
        for (; at > 0 && goes_before(&item, &items[at - 1], rank); at--)
            items[at] = items[at - 1];
        items[at] = item;
    }
}

/* -- Running -------------------------------------------------------------------------------------
 */

static size_t item_bytes(const struct gw_comm_item *item)
{
    return item->args.count * gw_dtype_size(item->args.dtype);
}

/* Returns how many operations, from the first one, can be combined into one. */
static size_t fuse_count(struct gw_comm_group *group, const struct gw_comm_item *items,
                         size_t count)
{
    size_t fused = 0;
    group->fused_bytes = 0;
    while (fused < count && items[fused].verb == GW_COMM_ALL_REDUCE &&
           items[fused].args.dtype == items[0].args.dtype &&
           items[fused].args.reduce == items[0].args.reduce &&
           item_bytes(&items[fused]) <= FUSED_EACH_MAX &&
           group->fused_bytes + item_bytes(&items[fused]) <= FUSED_BYTES_MAX)
        group->fused_bytes += item_bytes(&items[fused++]);
    return fused;
}

static int fused_run(struct gw_comm *comm, struct gw_comm_group *group,
                     const struct gw_comm_item *items, size_t count, struct gw_error *error)
{
    const enum gw_dtype dtype = items[0].args.dtype;
    char *at = group->fused;
    comm->agreed = 0xcbf29ce484222325;
    for (size_t i = 0; i < count; at += item_bytes(&items[i++])) {
        comm->agreed = (comm->agreed ^ items[i].args.count) * 0x100000001b3;
        if (items[i].args.count > 0)
            memcpy(at, items[i].args.send, item_bytes(&items[i]));
    }
    const struct gw_comm_args args = {.send = group->fused,
                                      .recv = group->fused,
                                      .count = group->fused_bytes / gw_dtype_size(dtype),
                                      .dtype = dtype,
                                      .reduce = items[0].args.reduce};
    int rc = comm->backend->run(comm, GW_COMM_ALL_REDUCE, &args, error);
    comm->agreed = 0;
    at = group->fused;
    for (size_t i = 0; rc == 0 && i < count; at += item_bytes(&items[i++]))
        if (items[i].args.count > 0)
            memcpy(items[i].args.recv, at, item_bytes(&items[i]));
    return rc;
}

static int group_run(struct gw_comm *comm, struct gw_comm_group *group, struct gw_error *error)
{
    order(group->items, group->count, comm->rank);
    if (comm->backend->group)
        return comm->backend->group(comm, group->items, group->count, error);
    int rc = 0;
    for (size_t i = 0; i < group->count && rc == 0;) {
        const struct gw_comm_item *item = &group->items[i];
        const size_t fused = fuse_count(group, item, group->count - i);
        rc = fused > 1 ? fused_run(comm, group, item, fused, error)
                       : comm->backend->run(comm, item->verb, &item->args, error);
        i += fused > 1 ? fused : 1;
    }
    return rc;
}

int gw_comm_group_end(struct gw_comm *comm, struct gw_error *error)
{
    struct gw_comm_group *group = comm->group;
    if (!group)
        return gw_error_set(error, GW_EINVAL,
                            "group: gw_comm_group_end without gw_comm_group_begin");
    comm->group = NULL;
    int rc = group->rc;
    if (rc < 0) { /* the other ranks will run the group and would wait for this one */
        gw_comm_abort(comm, rc, comm->rank);
        gw_error_set(error, rc, "group: out of memory for an operation of the group");
    } else {
        gw_comm_backend_begin(comm, GW_COMM_GROUP);
        rc = group->count > 0 ? group_run(comm, group, error) : 0;
        gw_comm_backend_end(comm);
    }
    gw_comm_group_free(group);
    return rc;
}
