/* Contents of descriptors as bytes.
 *
 * What is sent is read through a mapping, without a copy. What is received is written with pwrite:
 * a page that is written whole is never cleared first, and no page faults. */
#include "graph/wire/content.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

enum { WINDOW_BYTES = 256 << 10, TURN_BYTES = 4 << 20 };

#define CONTENT_BYTES_MAX (UINT64_C(1) << 42)

int gw_content_sendable(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? 0 : GW_ENOTSUP;
}

void gw_content_deinit(struct gw_content *content)
{
    if (content->map)
        (void)munmap((void *)(uintptr_t)content->map, content->bytes);
    if (content->window && content->fd >= 0)
        (void)close(content->fd);
    free(content->window);
    *content = (struct gw_content){0};
}

/* -- Sending -------------------------------------------------------------------------------------
 */

static int start_sending(struct gw_content *content, int fd, struct gw_error *error)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return gw_error_set(error, GW_EIO, "fstat: %s", strerror(errno));
    struct gw_content made = {.active = true, .fd = fd, .bytes = (uint64_t)st.st_size};
    if (made.bytes) {
        void *map = mmap(NULL, made.bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
            return gw_error_set(error, GW_EIO, "mmap: %s", strerror(errno));
        made.map = map;
    }
    uint64_t bytes = htole64(made.bytes);
    memcpy(made.header, &bytes, sizeof made.header);
    *content = made;
    return 0;
}

int gw_content_send(struct gw_content *content, int fd, struct gw_transport *transport,
                    struct gw_error *error)
{
    int rc = content->active ? 0 : start_sending(content, fd, error);
    size_t wrote;
    while (rc == 0 && content->header_bytes < sizeof content->header) {
        rc = transport->write(transport, content->header + content->header_bytes,
                              sizeof content->header - content->header_bytes, &wrote, error);
        if (rc == 0)
            content->header_bytes += wrote;
    }
    while (rc == 0 && content->done < content->bytes) {
        rc = transport->write(transport, content->map + content->done,
                              content->bytes - content->done, &wrote, error);
        if (rc == 0)
            content->done += wrote;
    }
    if (rc == 0)
        gw_content_deinit(content);
    return rc;
}

/* -- Receiving -----------------------------------------------------------------------------------
 */

static int start_receiving(struct gw_content *content, struct gw_error *error)
{
    uint64_t bytes;
    memcpy(&bytes, content->header, sizeof bytes);
    content->bytes = le64toh(bytes);
    if (content->bytes > CONTENT_BYTES_MAX)
        return gw_error_set(error, GW_EPROTO, "a value of %llu bytes is announced",
                            (unsigned long long)content->bytes);
    content->fd = memfd_create("gangway-value", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (content->fd < 0)
        return gw_error_set(error, GW_ENOMEM, "memfd_create: %s", strerror(errno));
    if (ftruncate(content->fd, (off_t)content->bytes) < 0)
        return gw_error_set(error, GW_ENOMEM, "no memory for a value of %llu bytes: %s",
                            (unsigned long long)content->bytes, strerror(errno));
    return 0;
}

static int store(struct gw_content *content, const uint8_t *data, size_t bytes,
                 struct gw_error *error)
{
    while (bytes) {
        ssize_t wrote = pwrite(content->fd, data, bytes, (off_t)content->done);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return gw_error_set(error, GW_ENOMEM, "no memory for a value of %llu bytes: %s",
                                (unsigned long long)content->bytes, strerror(errno));
        content->done += (uint64_t)wrote;
        data += wrote;
        bytes -= (size_t)wrote;
    }
    return 0;
}

/* Up to `bytes` of what was read already, else from the transport. */
static int take(struct gw_content_bytes *first, struct gw_transport *transport, void *data,
                size_t bytes, size_t *got, struct gw_error *error)
{
    size_t left = first->bytes - first->used;
    if (left == 0)
        return transport ? transport->read(transport, data, bytes, got, error) : GW_EAGAIN;
    *got = bytes < left ? bytes : left;
    memcpy(data, first->data + first->used, *got);
    first->used += *got;
    return 0;
}

static int receive_header(struct gw_content *content, struct gw_content_bytes *first,
                          struct gw_transport *transport, struct gw_error *error)
{
    if (!content->active) {
        uint8_t *window = malloc(WINDOW_BYTES);
        if (!window)
            return gw_error_set(error, GW_ENOMEM, "out of memory");
        *content = (struct gw_content){.active = true, .fd = -1, .window = window};
    }
    while (content->header_bytes < sizeof content->header) {
        size_t got;
        int rc = take(first, transport, content->header + content->header_bytes,
                      sizeof content->header - content->header_bytes, &got, error);
        if (rc < 0)
            return rc;
        content->header_bytes += got;
    }
    return content->fd < 0 ? start_receiving(content, error) : 0;
}

int gw_content_receive(struct gw_content *content, struct gw_content_bytes *first,
                       struct gw_transport *transport, int *fd, struct gw_error *error)
{
    int rc = receive_header(content, first, transport, error);
    uint64_t before = content->done;
    while (rc == 0 && content->done < content->bytes) {
        uint64_t left = content->bytes - content->done;
        size_t got = left < WINDOW_BYTES ? (size_t)left : WINDOW_BYTES;
        if (content->done - before >= TURN_BYTES)
            return GW_EAGAIN; /* others have their turn; the transport is pending */
        rc = take(first, transport, content->window, got, &got, error);
        if (rc == 0)
            rc = store(content, content->window, got, error);
    }
    if (rc < 0)
        return rc;
    if (fcntl(content->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return gw_error_set(error, GW_EIO, "cannot seal a value: %s", strerror(errno));
    *fd = content->fd;
    content->fd = -1;
    gw_content_deinit(content);
    return 0;
}
