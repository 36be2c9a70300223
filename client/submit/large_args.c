/* Takes large values out of encoded arguments and scatters them. codec.c has just encoded the
 * arguments, so they are well-formed MessagePack, and this parser needs no checks beyond an assert.
 */
#include "client/submit/large_args.h"

#include "client/results/scatter.h"
#include "graph/wire/codec.h"

#include <assert.h>
#include <string.h>

struct head {
    size_t bytes;    /* size of the head itself */
    size_t payload;  /* bytes after the head, for strings, bins and extensions */
    size_t children; /* number of items of a list, or of keys and values of a map */
    bool map, reference;
};

static uint64_t big_endian(const uint8_t *at, size_t bytes)
{
    uint64_t n = 0;
    for (size_t i = 0; i < bytes; i++)
        n = n << 8 | at[i];
    return n;
}

static struct head read_head(const uint8_t *at)
{
    uint8_t tag = at[0];
    if (tag <= 0x7f || tag >= 0xe0 || tag == 0xc0 || tag == 0xc2 || tag == 0xc3)
        return (struct head){.bytes = 1};
    if (tag <= 0x8f)
        return (struct head){.bytes = 1, .children = (size_t)(tag & 15) * 2, .map = true};
    if (tag <= 0x9f)
        return (struct head){.bytes = 1, .children = tag & 15};
    if (tag <= 0xbf)
        return (struct head){.bytes = 1, .payload = tag & 31};
    if (tag >= 0xc4 && tag <= 0xc6) { /* bin 8, 16, 32 */
        size_t n = (size_t)1 << (tag - 0xc4);
        return (struct head){.bytes = 1 + n, .payload = big_endian(at + 1, n)};
    }
    if (tag >= 0xc7 && tag <= 0xc9) { /* ext 8, 16, 32 */
        size_t n = (size_t)1 << (tag - 0xc7);
        return (struct head){.bytes = 2 + n, .payload = big_endian(at + 1, n), .reference = true};
    }
    if (tag == 0xca || tag == 0xcb) /* float 32, 64 */
        return (struct head){.bytes = tag == 0xca ? 5 : 9};
    if (tag >= 0xcc && tag <= 0xd3) /* integers */
        return (struct head){.bytes = 1 + ((size_t)1 << (tag & 3))};
    if (tag >= 0xd4 && tag <= 0xd8) /* fixext 1 to 16 */
        return (struct head){.bytes = 2, .payload = (size_t)1 << (tag - 0xd4), .reference = true};
    if (tag >= 0xd9 && tag <= 0xdb) { /* str 8, 16, 32 */
        size_t n = (size_t)1 << (tag - 0xd9);
        return (struct head){.bytes = 1 + n, .payload = big_endian(at + 1, n)};
    }
    size_t n = tag == 0xdc || tag == 0xde ? 2 : 4; /* array 16, 32; map 16, 32 */
    bool map = tag >= 0xde;
    return (struct head){
        .bytes = 1 + n, .children = big_endian(at + 1, n) * (map ? 2 : 1), .map = map};
}

/* Returns the size of the object at `at`. Sets *reference if the object contains a reference. */
static size_t object_bytes(const uint8_t *at, bool *reference)
{
    const uint8_t *from = at;
    for (size_t left = 1; left > 0; left--) {
        struct head head = read_head(at);
        *reference |= head.reference;
        at += head.bytes + head.payload;
        left += head.children;
    }
    return (size_t)(at - from);
}

struct copying {
    struct gw_large_args *spill;
    struct gw_client *client;
    size_t threshold; /* values of at most this size stay in the arguments */
    struct gw_error *error;
};

static int out_of_memory(struct copying *copying)
{
    return gw_error_set(copying->error, GW_ENOMEM, "out of memory");
}

/* Scatters one value and writes a reference to the value into the arguments. */
static int send_ahead(struct copying *copying, const uint8_t *value, size_t bytes)
{
    struct gw_large_args *spill = copying->spill;
    uint64_t job;
    int rc = gw_scatter_encoded(copying->client, value, bytes, &job, copying->error);
    if (rc < 0)
        return rc;
    uint32_t place =
        (uint32_t)spill->dep_job
            .count; /* copied in the host's byte order: all supported machines are little-endian */
    if (gw_array_push(&spill->jobs, job) < 0 || gw_array_push(&spill->dep_job, job) < 0 ||
        gw_array_push(&spill->dep_index, 0) < 0 || gw_array_push(&spill->dep_rank, 0) < 0)
        return out_of_memory(copying);
    uint8_t reference[6] = {0xd6, GW_CODEC_EXT_REF};
    memcpy(reference + 2, &place, sizeof place);
    if (gw_buffer_append(&spill->args, reference, sizeof reference) < 0)
        return out_of_memory(copying);
    return 0;
}

/* Copies the object at `at`, and replaces its large parts by references. A large value that
 * contains references cannot be scattered, so its items are copied one by one. The recursion is no
 * deeper than codec.c allows. The top object is always the list of arguments, which is never
 * scattered itself. */
static int copy(struct copying *copying, const uint8_t *at, bool top)
{
    struct gw_buffer *args = &copying->spill->args;
    bool reference = false;
    size_t bytes = object_bytes(at, &reference);
    if (bytes <= copying->threshold)
        return gw_buffer_append(args, at, bytes) < 0 ? out_of_memory(copying) : 0;
    if (!reference && !top)
        return send_ahead(copying, at, bytes);

    struct head head = read_head(at);
    if (gw_buffer_append(args, at, head.bytes) < 0)
        return out_of_memory(copying);
    at += head.bytes;
    for (size_t i = 0; i < head.children; i++) {
        bool ignored = false;
        size_t child_bytes = object_bytes(at, &ignored);
        int rc =
            head.map && i % 2 == 0
                ? gw_buffer_append(args, at, child_bytes) /* a key of a map is never scattered */
                : copy(copying, at, false);
        if (rc < 0)
            return rc;
        at += child_bytes;
    }
    return 0;
}

/* Copies the task's dependencies with data, or those without (GW_DEP_AFTER). Dependencies without
 * data come last, because a reference in the arguments is an index among the dependencies with
 * data. */
static int copy_deps(struct gw_large_args *spill, const struct gw_chunk_row *row, bool data)
{
    for (uint32_t i = 0; i < row->dep_count; i++)
        if ((row->dep_rank[i] != GW_DEP_AFTER) == data &&
            (gw_array_push(&spill->dep_job, row->dep_job[i]) < 0 ||
             gw_array_push(&spill->dep_index, row->dep_index[i]) < 0 ||
             gw_array_push(&spill->dep_rank, row->dep_rank[i]) < 0))
            return GW_ENOMEM;
    return 0;
}

int gw_large_args_init(struct gw_large_args *spill, struct gw_client *client,
                       const struct gw_chunk_row *row, struct gw_error *error)
{
    memset(spill, 0, sizeof *spill);
    struct copying copying = {
        .spill = spill, .client = client, .threshold = GW_LARGE_ARGS_BYTES, .error = error};
    bool ignored = false;
    assert(object_bytes(row->args, &ignored) == row->args_bytes);
    if (copy_deps(spill, row, true) < 0)
        return out_of_memory(&copying);

    /* Many values just below the threshold can together exceed the limit of a message. If they do,
     * scatter smaller values too. */
    int rc = copy(&copying, row->args, true);
    if (rc == 0 && spill->args.size > GW_CHUNK_BYTES) {
        struct gw_buffer before = spill->args;
        spill->args = (struct gw_buffer){0};
        copying.threshold = GW_INLINE_BYTES_MAX;
        rc = copy(&copying, before.data, true);
        gw_buffer_deinit(&before);
    }
    if (rc == 0 && copy_deps(spill, row, false) < 0)
        rc = out_of_memory(&copying);
    spill->row = *row;
    spill->row.args = spill->args.data;
    spill->row.args_bytes = spill->args.size;
    spill->row.dep_job = spill->dep_job.items;
    spill->row.dep_index = spill->dep_index.items;
    spill->row.dep_rank = spill->dep_rank.items;
    spill->row.dep_count = (uint32_t)spill->dep_job.count;
    return rc;
}

void gw_large_args_deinit(struct gw_large_args *spill)
{
    gw_buffer_deinit(&spill->args);
    gw_array_deinit(&spill->dep_job);
    gw_array_deinit(&spill->dep_index);
    gw_array_deinit(&spill->dep_rank);
    gw_array_deinit(&spill->jobs);
}
