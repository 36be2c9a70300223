/* Encodes results of tasks as MessagePack, and decodes values from descriptors. */
#include "worker/runner/task_result.h"

#include "graph/value/value.h"
#include "graph/wire/codec.h"
#include "graph/wire/value_file.h"
#include "worker/runner/mapping.h"
#include "worker/runner/stream.h"

#include <errno.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

void gw_task_result_init(struct gw_task_result *result)
{
    *result = (struct gw_task_result){.fd = -1, .given.fd = -1};
}

void gw_task_result_clear(struct gw_task_result *result)
{
    if (result->fd >= 0)
        close(result->fd);
    result->fd = -1;
    result->bytes = result->memfile = 0;
    result->buffer.size = 0;
}

void gw_task_result_end_given(struct gw_task_result *result)
{
    if (result->given.fd >= 0)
        close(result->given.fd);
    result->given = (struct gw_task_result_given){.fd = -1};
}

void gw_task_result_give(struct gw_task_result *result, struct gw_task_result_given given)
{
    gw_task_result_end_given(result);
    result->given = given;
}

void gw_task_result_deinit(struct gw_task_result *result)
{
    gw_task_result_clear(result);
    gw_task_result_end_given(result);
    gw_buffer_deinit(&result->buffer);
}

/* Writes at a position of its own, since the descriptor's position is that of an earlier result. */
static int write_all(int fd, const void *data, size_t bytes, off_t to)
{
    const char *at = data;
    while (bytes > 0) {
        ssize_t written = pwrite(fd, at, bytes, to);
        if (written < 0 && errno == EINTR)
            continue;
        if (written <= 0)
            return -1;
        at += written;
        to += written;
        bytes -= (size_t)written;
    }
    return 0;
}

static int new_file(void)
{
    return gw_stream_apart(memfd_create("gangway-value", MFD_CLOEXEC));
}

/* Returns the descriptor of the given memory file, truncated to exactly `bytes` so that no older
 * data is behind the result. -1: there is no file of about this size. */
static int open_given(struct gw_task_result *result, size_t bytes)
{
    struct gw_task_result_given *given = &result->given;
    if (!given->memfile || bytes < GW_MEMFILE_BYTES_MIN)
        return -1;
    if (given->fd < 0)
        return new_file();
    if (bytes / 2 > given->bytes || given->bytes / 2 > bytes ||
        (bytes != given->bytes && ftruncate(given->fd, (off_t)bytes) < 0))
        return -1;
    int fd = given->fd;
    given->fd = -1;
    return fd;
}

static int write_into(int fd, struct gw_bin head, const void *data, size_t bytes)
{
    if (fd >= 0 && write_all(fd, head.data, head.size, 0) == 0 &&
        write_all(fd, data, bytes, head.size) == 0)
        return 0;
    int errnum = errno;
    if (fd >= 0)
        close(fd);
    errno = errnum;
    return -1;
}

static int write_memfd(struct gw_task_result *result, struct gw_bin head, const void *data,
                       size_t bytes)
{
    int fd = open_given(result, head.size + bytes);
    uint64_t memfile = fd >= 0 ? result->given.memfile : 0;
    /* Used only once: if the task returns again, a new file is made */
    gw_task_result_end_given(result);
    if (fd < 0)
        fd = new_file();
    if (write_into(fd, head, data, bytes) < 0)
        return -1;
    result->fd = fd;
    result->memfile = memfile;
    result->bytes = head.size + bytes;
    return 0;
}

int gw_task_result_set(struct gw_task_result *result, const struct gw_value *value,
                       struct gw_error *error)
{
    gw_task_result_clear(result);
    const void *data;
    size_t bytes;
    if (gw_value_type(value) == GW_BYTES && gw_value_get_bytes(value, &data, &bytes, NULL) == 0 &&
        bytes > GW_INLINE_BYTES_MAX) {
        uint8_t head[GW_CODEC_HEAD_MAX];
        if (bytes > UINT32_MAX)
            return gw_error_set(
                error, GW_ELIMIT,
                "the result has %zu bytes, and 4 GiB is the most: split it, or write it to a file",
                bytes);
        if (write_memfd(result, gw_codec_bytes_head(bytes, head), data, bytes) < 0)
            return gw_error_set(error, GW_ENOMEM, "no memory for a result of %zu bytes: %s", bytes,
                                strerror(errno));
        return 0;
    }
    int rc = gw_codec_encode(value, NULL, &result->buffer);
    if (rc < 0)
        return gw_error_set(error, rc, "the result is not a valid value: %s",
                            rc == GW_EINVAL ? gw_value_invalid(value) : gw_error_text(rc));
    result->bytes = result->buffer.size;
    if (result->bytes <= GW_INLINE_BYTES_MAX)
        return 0;
    struct gw_buffer large = result->buffer;
    if (write_memfd(result, (struct gw_bin){0}, large.data, large.size) < 0) {
        result->bytes = 0;
        return gw_error_set(error, GW_ENOMEM, "no memory for a result of %zu bytes: %s", large.size,
                            strerror(errno));
    }
    return 0;
}

int gw_task_result_decode(const struct gw_task_result *result, struct gw_value **value,
                          struct gw_error *error)
{
    if (result->bytes == 0) {
        struct gw_value *nil = gw_nil();
        if (!nil)
            return gw_error_set(error, GW_ENOMEM, "out of memory");
        *value = nil;
        return 0;
    }
    if (result->memfile)
        return gw_mapping_open(result->memfile, result->fd, result->bytes, value, error);
    if (result->fd >= 0)
        return gw_value_file_decode(result->fd, result->bytes, value, error);
    return gw_codec_decode(result->buffer.data, result->buffer.size, NULL, value, error);
}
