/* Sends the contents of descriptors as bytes.
 *
 * A piece has bytes of one descriptor only. A memfd that nobody can truncate is sent from a
 * mapping, without a copy. Everything else is read piece by piece, because a process that truncates
 * a mapped file would make this process die of SIGBUS. Received bytes are written with pwrite: this
 * avoids page faults, and pages that are written completely are not cleared first. */
#include "graph/wire/content.h"

#include "graph/wire/frame.h"

#include <endian.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#define CONTENT_BYTES_MAX (UINT64_C(1) << 42)

bool gw_content_in_memory(int fd)
{
    return fcntl(fd, F_GET_SEALS) >= 0;
}

int gw_content_sendable(int fd)
{
    struct stat st;
    return fstat(fd, &st) == 0 && S_ISREG(st.st_mode) ? 0 : GW_ENOTSUP;
}

static bool write_all(int file, const char *data, size_t bytes)
{
    size_t at = 0;
    while (at < bytes) {
        ssize_t written = write(file, data + at, bytes - at);
        if (written < 0 && errno != EINTR)
            return false;
        at += written > 0 ? (size_t)written : 0;
    }
    return true;
}

int gw_content_file(struct gw_bin head, const void *data, size_t bytes, int *fd,
                    struct gw_error *error)
{
    int file = memfd_create("gangway-value", MFD_CLOEXEC | MFD_ALLOW_SEALING);
    if (file >= 0 && write_all(file, head.data, head.size) && write_all(file, data, bytes) &&
        fcntl(file, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) == 0) {
        *fd = file;
        return 0;
    }
    gw_error_set(error, GW_EIO, "cannot keep %zu bytes in memory: %s", bytes, strerror(errno));
    if (file >= 0)
        (void)close(file);
    return GW_EIO;
}

void gw_content_deinit(struct gw_content *content)
{
    if (content->map)
        (void)munmap((void *)(uintptr_t)content->map, content->bytes);
    else if (content->piece)
        free(content->piece);
    else if (content->active && content->size_bytes == sizeof content->size && content->fd >= 0)
        (void)close(content->fd);
    *content = (struct gw_content){0};
}

/* -- Sending -------------------------------------------------------------------------------------
 */

static bool keeps_its_size(int fd)
{
    int seals = fcntl(fd, F_GET_SEALS);
    return seals >= 0 && (seals & F_SEAL_SHRINK);
}

static int start_sending(struct gw_content *content, int fd, struct gw_error *error)
{
    struct stat st;
    if (fstat(fd, &st) < 0)
        return gw_error_set(error, GW_EIO, "fstat: %s", strerror(errno));
    struct gw_content made = {.active = true, .fd = fd, .bytes = (uint64_t)st.st_size};
    if (made.bytes && !keeps_its_size(fd)) {
        made.piece = malloc(GW_FRAME_PIECE_BYTES_MAX);
        if (!made.piece)
            return gw_error_set(error, GW_ENOMEM, "out of memory");
    } else if (made.bytes) {
        void *map = mmap(NULL, made.bytes, PROT_READ, MAP_SHARED, fd, 0);
        if (map == MAP_FAILED)
            return gw_error_set(error, GW_EIO, "mmap: %s", strerror(errno));
        made.map = map;
    }
    uint64_t bytes = htole64(made.bytes);
    memcpy(made.size, &bytes, sizeof made.size);
    *content = made;
    return 0;
}

bool gw_content_is_in_piece(const struct gw_content *content)
{
    return content->head_sent < content->head_bytes || content->done < content->piece_end;
}

/* Reads the next piece. The size was announced before. If the file was truncated since then, zeros
 * are sent instead if the receiver checks the hash (it will find that the content is wrong), or if
 * the file is in memory: whoever made that value has truncated it, and must not end the connection,
 * which others use, too. */
static int read_piece(struct gw_content *content, size_t bytes, bool hashed, struct gw_error *error)
{
    size_t at = 0;
    ssize_t got = 1;
    while (at < bytes && got != 0) {
        got = pread(content->fd, content->piece + at, bytes - at, (off_t)(content->done + at));
        if (got < 0 && errno != EINTR)
            break;
        at += got > 0 ? (size_t)got : 0;
    }
    if (hashed) /* a process with another descriptor of the file sees the progress */
        (void)lseek(content->fd, (off_t)(content->done + at), SEEK_SET);
    if (at < bytes && !hashed && (got < 0 || !gw_content_in_memory(content->fd)))
        return gw_error_set(error, GW_EIO, "a value on disk cannot be read: %s",
                            got < 0 ? strerror(errno) : "the file was truncated while it was read");
    memset(content->piece + at, 0, bytes - at);
    return 0;
}

/* Makes the header of the next piece. The first piece also contains the size. */
static void start_piece(struct gw_content *content, uint32_t bytes_max)
{
    const size_t size_bytes = content->head_bytes ? 0 : sizeof content->size;
    uint64_t left = content->bytes - content->done;
    if (left > bytes_max - size_bytes)
        left = bytes_max - size_bytes;
    gw_frame_header_write(content->head, &(struct gw_frame_header){
                                             .bytes = (uint32_t)(left + size_bytes),
                                             .piece = true,
                                         });
    memcpy(content->head + GW_FRAME_HEADER_BYTES, content->size, size_bytes);
    content->head_bytes = GW_FRAME_HEADER_BYTES + size_bytes;
    content->head_sent = 0;
    content->piece_start = content->done;
    content->piece_end = content->done + left;
}

int gw_content_send(struct gw_content *content, struct gw_content_source source,
                    struct gw_transport *transport, struct gw_error *error)
{
    int rc = content->active ? 0 : start_sending(content, source.fd, error);
    size_t wrote;
    if (rc == 0 && !gw_content_is_in_piece(content)) {
        start_piece(content, source.piece_bytes_max);
        if (content->piece)
            rc = read_piece(content, content->piece_end - content->done, source.hashed, error);
    }
    while (rc == 0 && content->head_sent < content->head_bytes) {
        rc = transport->write(transport, content->head + content->head_sent,
                              content->head_bytes - content->head_sent, &wrote, error);
        if (rc == 0)
            content->head_sent += wrote;
    }
    while (rc == 0 && content->done < content->piece_end) {
        const uint8_t *from = content->piece
                                  ? content->piece + (content->done - content->piece_start)
                                  : content->map + content->done;
        rc = transport->write(transport, from, content->piece_end - content->done, &wrote, error);
        if (rc == 0)
            content->done += wrote;
    }
    if (rc == 0 && content->done == content->bytes)
        gw_content_deinit(content);
    return rc;
}

/* -- Receiving -----------------------------------------------------------------------------------
 */

/* Called when the size has arrived. */
static int start_receiving(struct gw_content *content, struct gw_error *error)
{
    uint64_t bytes;
    memcpy(&bytes, content->size, sizeof bytes);
    content->bytes = le64toh(bytes);
    if (content->bytes > CONTENT_BYTES_MAX)
        return gw_error_set(error, GW_EPROTO, "a value has %llu bytes, and %llu is the most",
                            (unsigned long long)content->bytes,
                            (unsigned long long)CONTENT_BYTES_MAX);
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

int gw_content_receive(struct gw_content *content, struct gw_bin bytes, size_t *used, int *fd,
                       struct gw_error *error)
{
    const uint8_t *data = bytes.data;
    size_t size_bytes = sizeof content->size - content->size_bytes;
    if (!content->active)
        *content = (struct gw_content){.active = true, .fd = -1};
    if (size_bytes > bytes.size)
        size_bytes = bytes.size;
    memcpy(content->size + content->size_bytes, data, size_bytes);
    content->size_bytes += size_bytes;
    *used = size_bytes;
    if (content->size_bytes < sizeof content->size)
        return GW_EAGAIN;
    int rc = content->fd < 0 ? start_receiving(content, error) : 0;
    if (rc < 0)
        return rc;
    uint64_t left = content->bytes - content->done;
    size_t some = bytes.size - *used < left ? bytes.size - *used : (size_t)left;
    rc = store(content, data + *used, some, error);
    if (rc < 0)
        return rc;
    *used += some;
    if (content->done < content->bytes)
        return GW_EAGAIN;
    if (fcntl(content->fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_WRITE) < 0)
        return gw_error_set(error, GW_EIO, "cannot seal a value: %s", strerror(errno));
    *fd = content->fd;
    content->fd = -1;
    gw_content_deinit(content);
    return 0;
}
