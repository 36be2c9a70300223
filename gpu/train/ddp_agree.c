/* Compares the options and the parameters of all ranks. Rank 0 sends its own. Every rank finds the
 * first difference, and the text of the first rank that has one is the error of all ranks.
 */
#include "gpu/train/ddp_agree.h"

#include "gpu/train/rank_error.h"

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

static int broadcast(struct gw_comm *comm, void *memory, size_t bytes, struct gw_error *error)
{
    return gw_comm_broadcast(
        comm, GW_COMM_ARGS(.recv = memory, .count = bytes, .dtype = GW_DTYPE_U8), error);
}

/* The options that must be the same on all ranks, because the operations follow from them. */
struct term {
    char name[24];
    uint64_t value;
};

enum { TERMS = 9 };

static void terms_init(struct term terms[TERMS], const struct gw_ddp_options *options)
{
    const struct term all[TERMS] = {
        {"first_bucket_bytes", options->first_bucket_bytes},
        {"bucket_bytes", options->bucket_bytes},
        {"find_unused", options->find_unused},
        {"no_broadcast", options->no_broadcast},
        {"no_overlap", options->no_overlap},
        {"compress_bf16", options->compress_bf16},
        {"find_not_finite", options->find_not_finite},
        {"stream (1: given)", options->stream != NULL},
        {"params_count", options->params_count},
    };
    memcpy(terms, all, sizeof all);
}

/* Compares the options and takes over the result `rc` of this rank. `count` receives the number of
 * parameters of rank 0, which the list of parameters explains better than this comparison. */
static int options_agree(const struct gw_ddp_options *options, int rc, uint64_t *count,
                         struct gw_error *error)
{
    struct term own[TERMS], first[TERMS];
    struct gw_error broken;
    terms_init(own, options);
    memcpy(first, own, sizeof first);
    int sent = broadcast(options->comm, first, sizeof first, &broken);
    if (sent < 0)
        return gw_error_set(error, sent, "%s", broken.text);
    for (int i = 0; i < TERMS - 1 && rc == 0; i++)
        if (own[i].value != first[i].value)
            rc = gw_error_set(error, GW_EMISMATCH,
                              "ranks disagree on the option %s of gw_ddp_open: rank 0 has %llu, "
                              "rank %d has %llu",
                              own[i].name, (unsigned long long)first[i].value,
                              gw_comm_rank(options->comm), (unsigned long long)own[i].value);
    *count = first[TERMS - 1].value;
    return gw_rank_error_share(options->comm, rc, error);
}

/* Returns GW_EMISMATCH for the first parameter in which this rank's list differs from rank 0's. */
static int list_compare(const struct record *theirs, size_t their_count,
                        const struct gw_ddp_options *options, struct gw_error *error)
{
    const size_t count = options->params_count;
    for (size_t i = 0; i < their_count || i < count; i++) {
        struct record own, first = {.dims = 0};
        char texts[2][320];
        record_init(&own, options->params, count, i);
        if (i < their_count)
            first = theirs[i];
        if (memcmp(&own, &first, sizeof own) == 0)
            continue;
        record_describe(&first, texts[0], sizeof texts[0]);
        record_describe(&own, texts[1], sizeof texts[1]);
        return gw_error_set(error, GW_EMISMATCH,
                            "ranks disagree on parameter %zu: rank 0 has %s, rank %d has %s", i,
                            texts[0], gw_comm_rank(options->comm), texts[1]);
    }
    return 0;
}

int gw_ddp_agree(const struct gw_ddp_options *options, int rc, struct gw_error *error)
{
    struct gw_comm *comm = options->comm;
    uint64_t count;
    rc = options_agree(options, rc, &count, error);
    if (rc < 0)
        return rc;
    struct record *list = calloc((size_t)count, sizeof *list);
    if (!list)
        rc = gw_error_set(error, GW_ENOMEM, "ddp: out of memory for %zu parameters", (size_t)count);
    for (size_t i = 0; list && gw_comm_rank(comm) == 0 && i < count; i++)
        record_init(&list[i], options->params, (size_t)count, i);
    rc = gw_rank_error_share(comm, rc, error);
    if (rc == 0)
        rc = broadcast(comm, list, (size_t)count * sizeof *list, error);
    if (rc == 0)
        rc = gw_rank_error_share(comm, list_compare(list, (size_t)count, options, error), error);
    free(list);
    return rc;
}
