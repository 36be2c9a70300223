/* Compares the parameters of all ranks. Rank 0 sends its list. Every rank finds the first
 * difference to its own list. The rank with the lowest such index sends what it has at that index.
 */
#include "gpu/train/ddp_agree.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* A parameter as it is sent between ranks. Unused bytes are zero. dims 0: the list has no parameter
 * at this index. */
struct record {
    char name[GW_DDP_NAME_MAX];
    int32_t dtype, dims;
    uint64_t shape[GW_DDP_DIMS_MAX];
};

static void record_init(struct record *record, const struct gw_ddp_param *params, size_t count,
                        size_t i)
{
    memset(record, 0, sizeof *record);
    if (i >= count)
        return;
    if (params[i].name)
        (void)snprintf(record->name, sizeof record->name, "%s", params[i].name);
    record->dtype = (int32_t)params[i].dtype;
    record->dims = params[i].dims;
    for (int k = 0; k < params[i].dims; k++)
        record->shape[k] = params[i].shape[k];
}

static void record_describe(const struct record *record, char *text, size_t size)
{
    if (record->dims == 0) {
        (void)snprintf(text, size, "no such parameter");
        return;
    }
    size_t at = (size_t)snprintf(text, size, "\"%s\" %s [", record->name,
                                 gw_dtype_name((enum gw_dtype)record->dtype));
    for (int k = 0; k < record->dims && at < size; k++)
        at += (size_t)snprintf(text + at, size - at, "%s%llu", k ? ", " : "",
                               (unsigned long long)record->shape[k]);
    if (at < size)
        (void)snprintf(text + at, size - at, "]");
}

static int broadcast(struct gw_comm *comm, void *memory, size_t bytes, int root,
                     struct gw_error *error)
{
    return gw_comm_broadcast(
        comm, GW_COMM_ARGS(.recv = memory, .count = bytes, .dtype = GW_DTYPE_U8, .root = root),
        error);
}

/* Returns the first index at which this rank's list differs from rank 0's, or INT64_MAX if they are
 * equal. */
static int64_t difference_find(const struct record *theirs, size_t their_count,
                               const struct gw_ddp_param *params, size_t count)
{
    for (size_t i = 0; i < their_count || i < count; i++) {
        struct record own;
        record_init(&own, params, count, i);
        if (i >= their_count || memcmp(&own, &theirs[i], sizeof own) != 0)
            return (int64_t)i;
    }
    return INT64_MAX;
}

/* Makes the same error on all ranks: what rank 0 and what `rank` have at index i. own is what this
 * rank has. */
static int difference_show(struct gw_comm *comm, int rank, size_t i, const struct record *own,
                           struct gw_error *error)
{
    struct record first = *own, other = *own;
    char texts[2][320];
    int rc = broadcast(comm, &first, sizeof first, 0, error);
    if (rc == 0)
        rc = broadcast(comm, &other, sizeof other, rank, error);
    if (rc < 0)
        return rc;
    record_describe(&first, texts[0], sizeof texts[0]);
    record_describe(&other, texts[1], sizeof texts[1]);
    return gw_error_set(error, GW_EMISMATCH,
                        "ranks disagree on parameter %zu: rank 0 has %s, rank %d has %s", i,
                        texts[0], rank, texts[1]);
}

/* Sends rank 0's list to all ranks. If it fails on one rank, all ranks return an error. */
static int list_share(struct gw_comm *comm, struct record *list, size_t count,
                      struct gw_error *error)
{
    int32_t status = list ? 0 : GW_ENOMEM;
    int rc = gw_comm_all_reduce(
        comm,
        GW_COMM_ARGS(.recv = &status, .count = 1, .dtype = GW_DTYPE_I32, .reduce = GW_REDUCE_MIN),
        error);
    if (rc == 0 && status < 0)
        rc = gw_error_set(error, status, "ddp: a rank is out of memory");
    return rc < 0 ? rc : broadcast(comm, list, count * sizeof *list, 0, error);
}

int gw_ddp_agree(struct gw_comm *comm, const struct gw_ddp_param *params, size_t count,
                 struct gw_error *error)
{
    const int size = gw_comm_size(comm), rank = gw_comm_rank(comm);
    uint64_t their_count = count;
    int rc = broadcast(comm, &their_count, sizeof their_count, 0, error);
    if (rc < 0)
        return rc;

    struct record *list = calloc((size_t)their_count, sizeof *list);
    int64_t *firsts = calloc((size_t)size, sizeof *firsts);
    if (!firsts) {
        free(list);
        list = NULL;
    }
    for (size_t i = 0; list && rank == 0 && i < count; i++)
        record_init(&list[i], params, count, i);
    rc = list_share(comm, list, (size_t)their_count, error);
    if (rc < 0)
        goto out;

    firsts[rank] = difference_find(list, (size_t)their_count, params, count);
    rc = gw_comm_all_gather(comm, GW_COMM_ARGS(.recv = firsts, .count = 1, .dtype = GW_DTYPE_I64),
                            error);
    if (rc < 0)
        goto out;
    int odd = 0;
    for (int i = 1; i < size; i++)
        if (firsts[i] < firsts[odd])
            odd = i;
    if (firsts[odd] != INT64_MAX) {
        struct record own;
        const size_t at = (size_t)firsts[odd];
        record_init(&own, params, count, at);
        rc = difference_show(comm, odd, at, &own, error);
    }
out:
    free(list);
    free(firsts);
    return rc;
}
