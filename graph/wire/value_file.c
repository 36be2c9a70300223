/* Values in files. Small files are read and larger ones are mapped. For 8 KiB, reading takes 0.6 us
 * and mapping 6 us, including the page fault and the unmapping. */
#include "graph/wire/value_file.h"

#include "graph/wire/codec.h"

#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { READ_BYTES_MAX = 64 << 10 };

static void unmap(void *data, size_t bytes)
{
    munmap(data, bytes);
}

static void free_read(void *data, size_t bytes)
{
    (void)bytes;
    free(data);
}

static int read_file(int fd, size_t bytes, void **data, struct gw_error *error)
{
    uint8_t *to = malloc(bytes);
    size_t done = 0;
    if (!to)
        return gw_error_set(error, GW_ENOMEM, "no memory for a value of %zu bytes", bytes);
    ssize_t got = 0;
    while (done < bytes) {
        got = pread(fd, to + done, bytes - done, (off_t)done);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            break;
        done += (size_t)got;
    }
    if (done == bytes) {
        *data = to;
        return 0;
    }
    free(to);
    if (got < 0)
        return gw_error_set(error, GW_EIO, "cannot read a value of %zu bytes: %s", bytes,
                            strerror(errno));
    return gw_error_set(error, GW_EPROTO, "a value of %zu bytes came with %zu bytes only", bytes,
                        done);
}

/* Checks the size first, because access to a mapped page beyond the end of the file would kill the
 * process. */
static int map_file(int fd, size_t bytes, void **data, struct gw_error *error)
{
    struct stat info;
    if (fstat(fd, &info) < 0)
        return gw_error_set(error, GW_EIO, "cannot look at a value of %zu bytes: %s", bytes,
                            strerror(errno));
    if ((uint64_t)info.st_size < bytes)
        return gw_error_set(error, GW_EPROTO, "a value of %zu bytes arrived with only %lld bytes",
                            bytes, (long long)info.st_size);
    void *mapped = mmap(NULL, bytes, PROT_READ, MAP_PRIVATE, fd, 0);
    if (mapped == MAP_FAILED)
        return gw_error_set(error, GW_ENOMEM, "cannot map a value of %zu bytes: %s", bytes,
                            strerror(errno));
    *data = mapped;
    return 0;
}

int gw_value_file_decode(int fd, size_t bytes, struct gw_value **value, struct gw_error *error)
{
    const bool small = bytes <= READ_BYTES_MAX;
    void *data = NULL;
    int rc = small ? read_file(fd, bytes, &data, error) : map_file(fd, bytes, &data, error);
    if (rc < 0)
        return rc;
    struct gw_value *owner = gw_bytes_owned(data, bytes, small ? free_read : unmap);
    if (!owner)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    rc = gw_codec_decode(data, bytes, owner, value, error);
    gw_value_unref(owner);
    return rc;
}
