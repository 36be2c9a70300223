/* A table of mappings, by the number of the memory file.
 *
 * Always: a file is returned as often as it was lent, each time when the value that was made of it
 * is gone, and not before: until then the worker sees to it that it does not change. What is mapped
 * and not used is not looked at: it changes, or is made empty.
 *
 * A process that forks has its child read what it reads, for how long nobody knows. What was in use
 * then is never returned; the worker takes it back when both are dead. */
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
    uint64_t memfile, used; /* used: by a count of uses, when last */
    void *data;
    size_t bytes;
    uint32_t users; /* values */
    bool gone;      /* to be unmapped with the last of them */
    bool forked;    /* a child may read it */
};

static struct {
    pthread_mutex_t mutex;
    GW_ARRAY(struct mapping) list;
    GW_ARRAY(uint64_t) returned;
    uint64_t uses;
    bool forks; /* handlers are there */
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

/* -- With the mutex ------------------------------------------------------------------------------
 */

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

/* Those that were used last stay. */
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
    if (mapping && mapping->bytes < bytes) { /* nobody reads it: the file has grown since */
        drop(mapping);
        mapping = NULL;
    }
    if (mapping)
        return mapping;
    struct stat status;
    struct mapping made = {.memfile = memfile, .bytes = bytes};
    if (fstat(fd, &status) < 0 || (uint64_t)status.st_size < bytes) {
        errno = EBADF; /* who reads behind its end is killed */
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

/* Takes what is mapped, on failure too. */
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
        return gw_error_set(error, GW_ENOMEM, "cannot map a value of %zu bytes: %s", bytes,
                            strerror(errnum));
    return decode(data, bytes, value, error);
}

/* -- What the worker says, and hears -------------------------------------------------------------
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
