/* Table of mappings by the number of the memory file.
 *
 * Invariants: a file is returned as often as it was lent. Each return happens after the value made
 * from it is freed, and the worker does not change the file before. A mapping that is not used must
 * not be read, since the file may change or be emptied.
 *
 * If the process forks, the child may read the mapped files for an unknown time. Files in use at
 * that time are never returned. The worker takes them back when both processes are dead. */
#include "worker/runner/mapping.h"

#include "graph/base/array.h"
#include "graph/base/must.h"
#include "graph/wire/codec.h"

#include <errno.h>
#include <pthread.h>
#include <stdbool.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>

struct mapping {
    uint64_t memfile, used; /* used: value of mappings.uses at the last use */
    void *data;
    size_t bytes;
    uint32_t users; /* number of values */
    bool gone;      /* unmap it when it has no users */
    bool forked;    /* a child process may read it */
};

static struct {
    pthread_mutex_t mutex;
    GW_ARRAY(struct mapping) list;
    GW_ARRAY(uint64_t) returned;
    uint64_t uses;
    bool forks; /* the fork handlers are installed */
} mappings = {.mutex = PTHREAD_MUTEX_INITIALIZER};

static void fork_on_before(void)
{
    pthread_mutex_lock(&mappings.mutex);
}

static void fork_on_after(void)
{
    struct mapping *mapping;
    GW_ARRAY_EACH (&mappings.list, mapping)
        mapping->forked = mapping->forked || mapping->users;
    pthread_mutex_unlock(&mappings.mutex);
}

/* -- Functions that need the mutex
 * ------------------------------------------------------------------ */

static struct mapping *find(uint64_t memfile)
{
    struct mapping *mapping;
    GW_ARRAY_EACH (&mappings.list, mapping)
        if (mapping->memfile == memfile)
            return mapping;
    return NULL;
}

static void drop(struct mapping *mapping)
{
    (void)munmap(mapping->data, mapping->bytes);
    gw_array_remove_swap(&mappings.list, (size_t)(mapping - mappings.list.items));
}

/* Unmaps the file that was used least recently if too many are unused. */
static void drop_oldest(void)
{
    struct mapping *mapping, *oldest = NULL;
    size_t unused = 0;
    GW_ARRAY_EACH (&mappings.list, mapping) {
        if (mapping->users)
            continue;
        unused++;
        if (!oldest || mapping->used < oldest->used)
            oldest = mapping;
    }
    if (unused > GW_MAPPINGS_MAX)
        drop(oldest);
}

static void give_back(uint64_t memfile)
{
    GW_MUST(gw_array_push(&mappings.returned, memfile));
}

static void leave(struct mapping *mapping)
{
    mapping->users--;
    if (!mapping->forked)
        give_back(mapping->memfile);
    if (mapping->users)
        return;
    if (mapping->gone || mapping->forked)
        drop(mapping);
    else
        drop_oldest();
}

static struct mapping *map(uint64_t memfile, int fd, size_t bytes)
{
    struct mapping *mapping = find(memfile);
    /* The file has grown, and no value uses the old mapping */
    if (mapping && mapping->bytes < bytes) {
        drop(mapping);
        mapping = NULL;
    }
    if (mapping)
        return mapping;
    struct stat status;
    struct mapping made = {.memfile = memfile, .bytes = bytes};
    if (fstat(fd, &status) < 0 || (uint64_t)status.st_size < bytes) {
        errno = EBADF; /* a read beyond its end would kill the process */
        return NULL;
    }
    made.data = mmap(NULL, bytes, PROT_READ, MAP_SHARED, fd, 0);
    if (made.data == MAP_FAILED)
        return NULL;
    if (gw_array_push(&mappings.list, made) < 0) {
        (void)munmap(made.data, bytes);
        errno = ENOMEM;
        return NULL;
    }
    return &mappings.list.items[mappings.list.count - 1];
}

/* -- Values --------------------------------------------------------------------------------------
 */

static void value_on_free(void *data, size_t bytes)
{
    struct mapping *mapping;
    (void)bytes;
    pthread_mutex_lock(&mappings.mutex);
    GW_ARRAY_EACH (&mappings.list, mapping)
        if (mapping->data == data) {
            leave(mapping);
            break;
        }
    pthread_mutex_unlock(&mappings.mutex);
}

/* Decodes mapped data to a value, which owns the mapping. It takes over the mapping even if it
 * fails. */
static int decode(void *data, size_t bytes, struct gw_value **value, struct gw_error *error)
{
    struct gw_value *owner = gw_bytes_owned(data, bytes, value_on_free);
    if (!owner)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    int rc = gw_codec_decode(data, bytes, owner, value, error);
    gw_value_unref(owner);
    return rc;
}

int gw_mapping_open(uint64_t memfile, int fd, size_t bytes, struct gw_value **value,
                    struct gw_error *error)
{
    void *data = NULL;
    int errnum = 0;
    pthread_mutex_lock(&mappings.mutex);
    if (!mappings.forks)
        mappings.forks = pthread_atfork(fork_on_before, fork_on_after, fork_on_after) == 0;
    struct mapping *mapping = map(memfile, fd, bytes);
    if (mapping) {
        mapping->users++;
        mapping->used = ++mappings.uses;
        data = mapping->data;
    } else {
        errnum = errno;
        give_back(memfile);
    }
    pthread_mutex_unlock(&mappings.mutex);
    if (!data)
        return gw_error_set(error, GW_ENOMEM, "cannot map a value of %zu bytes into memory: %s",
                            bytes, strerror(errnum));
    return decode(data, bytes, value, error);
}

/* -- Messages of the worker, and to it -----------------------------------------------------------
 */

void gw_mapping_return(uint64_t memfile)
{
    pthread_mutex_lock(&mappings.mutex);
    give_back(memfile);
    pthread_mutex_unlock(&mappings.mutex);
}

void gw_mapping_gone(uint64_t memfile)
{
    pthread_mutex_lock(&mappings.mutex);
    struct mapping *mapping = find(memfile);
    if (mapping && mapping->users)
        mapping->gone = true;
    else if (mapping)
        drop(mapping);
    pthread_mutex_unlock(&mappings.mutex);
}

uint32_t gw_mapping_take_returned(uint64_t *memfiles, uint32_t max)
{
    uint32_t count = 0;
    pthread_mutex_lock(&mappings.mutex);
    while (count < max && mappings.returned.count)
        memfiles[count++] = mappings.returned.items[--mappings.returned.count];
    pthread_mutex_unlock(&mappings.mutex);
    return count;
}

size_t gw_mapping_count(void)
{
    pthread_mutex_lock(&mappings.mutex);
    size_t count = mappings.list.count;
    pthread_mutex_unlock(&mappings.mutex);
    return count;
}
