/* Memory of the host backend: the part of the segment's file behind the fixed part, divided into
 * extents.
 *
 * All ranks allocate and free in the same order. So each rank maintains its own copy of the list of
 * extents and computes the same offsets. Every allocation compares a digest of the earlier calls to
 * verify this. Freed extents are reused, because writing to pages that exist is four times faster
 * than allocating new ones. The file never shrinks. */
#include "gpu/host/comm_host.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#ifndef MADV_POPULATE_WRITE
#define MADV_POPULATE_WRITE 23 /* Linux 5.14 */
#endif

static void history_add(struct gw_comm_host *host, uint64_t event)
{
    host->history = (host->history ^ event) * 0x100000001b3 + 1;
}

uint64_t gw_comm_host_memory_where(const struct gw_comm_host *host, const void *memory,
                                   size_t bytes)
{
    const uintptr_t at = (uintptr_t)memory;
    for (size_t i = 0; i < host->extents_count; i++) {
        const struct gw_comm_host_extent *extent = &host->extents[i];
        const uintptr_t begin = (uintptr_t)extent->memory;
        if (begin && at >= begin && at - begin <= extent->bytes &&
            bytes <= extent->bytes - (at - begin))
            return extent->offset + (at - begin);
    }
    return GW_SEGMENT_NOWHERE;
}

void *gw_comm_host_memory_at(const struct gw_comm_host *host, uint64_t where, size_t bytes)
{
    for (size_t i = 0; i < host->extents_count; i++) {
        const struct gw_comm_host_extent *extent = &host->extents[i];
        if (extent->memory && where >= extent->offset && where - extent->offset <= extent->bytes &&
            bytes <= extent->bytes - (where - extent->offset))
            return extent->memory + (where - extent->offset);
    }
    return NULL;
}

/* Inserts an extent at index i. */
static int extents_insert(struct gw_comm_host *host, size_t i,
                          const struct gw_comm_host_extent *extent)
{
    struct gw_comm_host_extent *extents =
        realloc(host->extents, (host->extents_count + 1) * sizeof *extents);
    if (!extents)
        return GW_ENOMEM;
    memmove(extents + i + 1, extents + i, (host->extents_count - i) * sizeof *extents);
    extents[i] = *extent;
    host->extents = extents;
    host->extents_count++;
    return 0;
}

static void extents_remove(struct gw_comm_host *host, size_t i)
{
    host->extents_count--;
    memmove(host->extents + i, host->extents + i + 1,
            (host->extents_count - i) * sizeof *host->extents);
}

/* Merges extent i with its free neighbours. */
static void extents_join(struct gw_comm_host *host, size_t i)
{
    if (i + 1 < host->extents_count && !host->extents[i + 1].memory) {
        host->extents[i].bytes += host->extents[i + 1].bytes;
        extents_remove(host, i + 1);
    }
    if (i > 0 && !host->extents[i - 1].memory) {
        host->extents[i - 1].bytes += host->extents[i].bytes;
        extents_remove(host, i);
    }
}

static uint64_t extents_end(const struct gw_comm_host *host)
{
    if (host->extents_count == 0)
        return gw_segment_header(host->segment)->fixed_bytes;
    const struct gw_comm_host_extent *last = &host->extents[host->extents_count - 1];
    return last->offset + last->bytes;
}

/* The range that an allocation will use. */
struct place {
    size_t index;    /* index of a free extent that is large enough, or extents_count */
    bool appended;   /* the range is behind the last extent: the file must grow */
    uint64_t offset; /* offset in the file */
    uint64_t stride, bytes;
};

static int place_find(const struct gw_comm_host *host, size_t bytes, struct place *place)
{
    const uint64_t page = GW_SEGMENT_PAGE;
    place->stride = ((uint64_t)bytes + page - 1) / page * page;
    if (__builtin_mul_overflow(place->stride, (uint64_t)host->comm.size, &place->bytes) ||
        place->bytes > (uint64_t)INT64_MAX - extents_end(host))
        return GW_ENOMEM;
    place->index = 0;
    while (place->index < host->extents_count &&
           (host->extents[place->index].memory || host->extents[place->index].bytes < place->bytes))
        place->index++;
    place->appended = place->index == host->extents_count;
    place->offset = place->appended ? extents_end(host) : host->extents[place->index].offset;
    return 0;
}

/* Inserts the mapped range into the list of extents. */
static int place_take(struct gw_comm_host *host, const struct place *place, char *memory)
{
    const struct gw_comm_host_extent taken = {
        .offset = place->offset, .stride = place->stride, .bytes = place->bytes, .memory = memory};
    if (place->appended)
        return extents_insert(host, place->index, &taken);

    struct gw_comm_host_extent rest = host->extents[place->index];
    rest.offset += place->bytes;
    rest.bytes -= place->bytes;
    if (rest.bytes == 0) {
        host->extents[place->index] = taken;
        return 0;
    }
    int rc = extents_insert(host, place->index, &taken);
    if (rc == 0)
        host->extents[place->index + 1] = rest;
    return rc;
}

/* Undoes place_take. The list must become the same as on a rank where place_take failed. */
static void place_return(struct gw_comm_host *host, const struct place *place)
{
    if (place->appended) {
        extents_remove(host, place->index);
        return;
    }
    host->extents[place->index].memory = NULL;
    extents_join(host, place->index);
}

/* Allocates and zeroes the pages of this rank's buffer. If the machine has not enough memory, this
 * returns an error now. Otherwise a signal would kill the process later, during an operation. */
static int pages_fill(char *own, size_t stride, bool recycled)
{
    if (madvise(own, stride, MADV_POPULATE_WRITE) < 0 && errno != EINVAL)
        return GW_ENOMEM;
    if (recycled)
        memset(own, 0, stride);
    return 0;
}

/* Grows the file to at least `bytes` bytes. The file may be larger already, if an earlier
 * allocation failed on some rank. */
static int file_grow(const struct gw_comm_host *host, uint64_t bytes)
{
    const int fd = gw_segment_fd(host->segment);
    struct stat status;
    if (fstat(fd, &status) < 0)
        return GW_ENOMEM;
    if ((uint64_t)status.st_size >= bytes)
        return 0;
    return ftruncate(fd, (off_t)bytes) < 0 ? GW_ENOMEM : 0;
}

/* Runs one step in which each rank publishes its status. Returns an error on all ranks if any rank
 * failed. */
static int step_status(struct gw_comm_host *host, struct gw_segment_call *call, int status,
                       struct gw_error *error)
{
    call->status = status;
    int rc = gw_comm_host_step(host, call, error);
    for (int i = 0; i < host->comm.size && rc == 0; i++)
        if (gw_comm_host_call(host, i)->status < 0)
            rc = gw_error_set(error, GW_ENOMEM, "rank %d has no %llu bytes of shared memory",
                              host->first_rank + i, (unsigned long long)call->count);
    return rc;
}

/* Maps the range and allocates the pages of this rank's buffer. Returns NULL if out of memory. */
static char *place_map(struct gw_comm_host *host, const struct place *place)
{
    char *memory = gw_segment_map(host->segment, place->offset, place->bytes);
    if (!memory)
        return NULL;
    char *own = memory + place->stride * (uint64_t)host->comm.rank;
    if (pages_fill(own, place->stride, !place->appended) < 0) {
        gw_segment_unmap(host->segment, memory);
        return NULL;
    }
    return memory;
}

int gw_comm_host_memory_alloc(struct gw_comm *comm, size_t bytes, void **memory,
                              struct gw_error *error)
{
    struct gw_comm_host *host = (struct gw_comm_host *)comm;
    struct gw_segment_call call = {
        .verb = GW_COMM_ALLOC,
        .count = bytes,
        .agreed = host->history,
        .send_at = GW_SEGMENT_NOWHERE,
        .recv_at = GW_SEGMENT_NOWHERE,
    };
    int rc = gw_comm_host_begin(host, GW_COMM_ALLOC, error);
    if (rc == 0)
        rc = gw_comm_host_step(host, &call, error);
    if (rc == 0)
        rc = gw_comm_host_agree(host, error);
    if (rc < 0)
        return rc;

    struct place place = {0};
    int status = place_find(host, bytes, &place);
    if (status == 0 && comm->rank == 0 && place.appended)
        status = file_grow(host, place.offset + place.bytes);
    rc = step_status(host, &call, status, error);
    if (rc < 0)
        return rc;

    char *mapped = place_map(host, &place);
    status = mapped ? place_take(host, &place, mapped) : GW_ENOMEM;
    const bool taken = status == 0;
    rc = step_status(host, &call, status, error);
    if (rc < 0) {
        if (taken)
            place_return(host, &place);
        if (mapped)
            gw_segment_unmap(host->segment, mapped);
        return rc;
    }
    history_add(host, bytes);
    /* The pages of the other ranks exist now. Map them all in this process with one call. If the
     * kernel does not support this, each page is mapped at its first access. */
    (void)madvise(mapped, place.bytes, MADV_POPULATE_WRITE);
    *memory = mapped + place.stride * (uint64_t)comm->rank;
    return 0;
}

void gw_comm_host_memory_dealloc(struct gw_comm *comm, void *memory)
{
    struct gw_comm_host *host = (struct gw_comm_host *)comm;
    size_t i = 0;
    while (i < host->extents_count &&
           (!host->extents[i].memory ||
            host->extents[i].memory + host->extents[i].stride * (uint64_t)comm->rank !=
                (char *)memory))
        i++;
    assert(i < host->extents_count && "gw_comm_dealloc: not from gw_comm_alloc");

    gw_segment_unmap(host->segment, host->extents[i].memory);
    history_add(host, ~host->extents[i].offset);
    host->extents[i].memory = NULL;
    extents_join(host, i);
}

void gw_comm_host_memory_deinit(struct gw_comm_host *host)
{
    for (size_t i = 0; i < host->extents_count; i++)
        if (host->extents[i].memory)
            gw_segment_unmap(host->segment, host->extents[i].memory);
    free(host->extents);
}
