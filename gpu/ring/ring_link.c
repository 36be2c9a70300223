/* Sockets of the ring.
 *
 * Only poll blocks, and for at most TICK_MS. So every wait notices a broken segment, although a
 * broken segment does not wake a thread in poll. */
#include "gpu/ring/ring_link.h"

#include "gpu/ring/ring_hello.h"
#include "gpu/ring/ring_tls.h"

#include <errno.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum {
    TICK_MS = 20,     /* interval at which a wait for a socket checks the segment */
    SILENCE_S = 5,    /* idle time of a connection before the first TCP keepalive probe */
    SILENCE_ASKS = 3, /* number of probes, one every two seconds */
};

/* -- Plain sockets, for tests and for gangs without a key ----------------------------------------
 */

static int socket_failed(int errnum, struct gw_error *error)
{
    if (errnum == EAGAIN || errnum == EWOULDBLOCK || errnum == EINTR)
        return GW_EAGAIN;
    if (errnum == EPIPE || errnum == ECONNRESET)
        return gw_error_set(error, GW_ECLOSED, "connection closed by the other side");
    return gw_error_set(error, GW_EIO, "%s", strerror(errnum));
}

struct plain {
    struct gw_transport transport; /* first field, so that a cast is valid */
    bool full;                     /* the socket buffer is full */
};

static int plain_read(struct gw_transport *link, void *data, size_t bytes, size_t *got,
                      struct gw_error *error)
{
    ssize_t some = recv(link->fd, data, bytes, 0);
    if (some < 0)
        return socket_failed(errno, error);
    if (some == 0)
        return socket_failed(EPIPE, error);
    *got = (size_t)some;
    return 0;
}

static int plain_write(struct gw_transport *link, const void *data, size_t bytes, size_t *wrote,
                       struct gw_error *error)
{
    ssize_t some = send(link->fd, data, bytes, MSG_NOSIGNAL);
    ((struct plain *)link)->full = some < 0;
    if (some < 0)
        return socket_failed(errno, error);
    *wrote = (size_t)some;
    return 0;
}

static int plain_flush(struct gw_transport *link, struct gw_error *error)
{
    return 0;
}

static bool plain_blocked(const struct gw_transport *link)
{
    return ((const struct plain *)link)->full;
}

static bool plain_pending(const struct gw_transport *link)
{
    return false;
}

static void plain_free(struct gw_transport *link)
{
    (void)close(link->fd);
    free(link);
}

int gw_ring_link_plain_new(int fd, struct gw_transport **link, struct gw_error *error)
{
    struct plain *made = malloc(sizeof *made);
    if (!made) {
        (void)close(fd);
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    }
    *made = (struct plain){.transport = {.fd = fd,
                                         .read = plain_read,
                                         .write = plain_write,
                                         .flush = plain_flush,
                                         .blocked = plain_blocked,
                                         .pending = plain_pending,
                                         .free = plain_free}};
    *link = &made->transport;
    return 0;
}

/* -- Waiting -------------------------------------------------------------------------------------
 */

int gw_ring_link_pause(struct pollfd *fds, size_t count, const struct gw_ring_wait *wait,
                       struct gw_error *error)
{
    const int broken = gw_segment_broken(wait->segment, error);
    if (broken < 0)
        return GW_EABORTED;
    const uint64_t now_ns = gw_segment_now_ns();
    if (now_ns >= wait->deadline_ns)
        return gw_error_set(error, GW_ETIMEDOUT, "timed out");
    const uint64_t left_ms = (wait->deadline_ns - now_ns) / 1000000 + 1;
    (void)poll(fds, count, left_ms < TICK_MS ? (int)left_ms : TICK_MS);
    return 0;
}

/* Waits until the link can send its buffered data. During a TLS handshake it waits for the answer
 * of the other side. */
static int pause_to_send(const struct gw_transport *link, const struct gw_ring_wait *wait,
                         struct gw_error *error)
{
    struct pollfd one = {.fd = link->fd, .events = link->blocked(link) ? POLLOUT : POLLIN};
    return gw_ring_link_pause(&one, 1, wait, error);
}

int gw_ring_link_send(struct gw_transport *link, const struct gw_ring_bytes *bytes,
                      const struct gw_ring_wait *wait, struct gw_error *error)
{
    size_t done = 0, wrote = 0;
    for (;;) {
        int rc = done < bytes->bytes ? link->write(link, (const char *)bytes->data + done,
                                                   bytes->bytes - done, &wrote, error)
                                     : link->flush(link, error);
        if (rc == 0 && done == bytes->bytes)
            return 0;
        if (rc == 0) {
            done += wrote;
            continue;
        }
        if (rc == GW_EAGAIN)
            rc = link->flush(link, error);
        if (rc == GW_EAGAIN || (rc == 0 && link->blocked(link)))
            rc = pause_to_send(link, wait, error);
        if (rc < 0)
            return rc;
    }
}

int gw_ring_link_receive(struct gw_transport *link, const struct gw_ring_bytes *bytes,
                         const struct gw_ring_wait *wait, struct gw_error *error)
{
    size_t done = 0, got = 0;
    while (done < bytes->bytes) {
        int rc = link->read(link, (char *)bytes->data + done, bytes->bytes - done, &got, error);
        if (rc == 0) {
            done += got;
            continue;
        }
        if (rc == GW_EAGAIN) {
            rc = link->flush(link, error); /* a TLS handshake may have data to send */
            struct pollfd one = {.fd = link->fd, .events = POLLIN};
            if (link->blocked(link))
                one.events |= POLLOUT;
            if (rc == 0 || rc == GW_EAGAIN)
                rc = gw_ring_link_pause(&one, 1, wait, error);
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* -- Connecting ----------------------------------------------------------------------------------
 */

/* A host that stops without closing its connections is noticed after about ten seconds. */
void gw_ring_link_detect_loss(int fd)
{
    const int on = 1, idle_s = SILENCE_S, every_s = 2, asks = SILENCE_ASKS, give_up_ms = 10000;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &asks, sizeof asks);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &give_up_ms, sizeof give_up_ms);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* Receives the answer to a hello. Returns 0, or an error if the connection was refused. */
static int await_answer(struct gw_transport *link, const struct gw_ring_call *call,
                        const struct gw_ring_wait *wait, struct gw_error *error)
{
    int32_t answer = 0;
    int rc =
        gw_ring_link_receive(link, &(struct gw_ring_bytes){&answer, sizeof answer}, wait, error);
    if (rc < 0)
        return rc;
    if (answer == GW_EEXIST)
        return gw_error_set(error, GW_EEXIST,
                            "rank %d: another process has joined with this rank number",
                            call->from);
    if (answer < 0)
        return gw_error_set(error, GW_EPERM, "rank %d was refused by rank %d (%s)", call->from,
                            call->to, gw_error_text(answer));
    return 0;
}

/* Finishes the TLS handshake, which makes progress in read calls. No data may arrive before the
 * hello was sent. */
static int shake_hands(struct gw_transport *link, const struct gw_ring_wait *wait,
                       struct gw_error *error)
{
    for (;;) {
        uint8_t byte;
        size_t got;
        int rc = link->read(link, &byte, sizeof byte, &got, error);
        if (rc == 0)
            return gw_error_set(error, GW_EPROTO, "the other side sent data before the hello");
        if (rc == GW_EAGAIN)
            rc = link->flush(link, error);
        if (rc != GW_EAGAIN)
            return rc;
        struct pollfd one = {.fd = link->fd, .events = POLLIN};
        if (link->blocked(link))
            one.events |= POLLOUT;
        rc = gw_ring_link_pause(&one, 1, wait, error);
        if (rc < 0)
            return rc;
    }
}

int gw_ring_link_connect(const struct gw_ring_call *call, const struct gw_ring_wait *wait,
                         struct gw_transport **link, struct gw_error *error)
{
    struct gw_ring_hello hello = {
        .magic = GW_RING_MAGIC,
        .order = GW_RING_BYTE_ORDER,
        .purpose = (uint32_t)call->purpose,
        .attempt = call->trust->attempt,
        .ranks = call->trust->ranks,
        .from = call->from,
        .to = call->to,
    };
    struct gw_transport *made;
    int fd;
    int rc = gw_endpoint_connect(call->endpoint, &fd, error);
    if (rc < 0)
        return rc;
    gw_ring_link_detect_loss(fd);
    struct pollfd connected = {.fd = fd, .events = POLLOUT};
    while (rc == 0 && connected.revents == 0)
        rc = gw_ring_link_pause(&connected, 1, wait, error);
    int failed = 0;
    socklen_t size = sizeof failed;
    if (rc == 0 && getsockopt(fd, SOL_SOCKET, SO_ERROR, &failed, &size) == 0 && failed)
        rc = gw_error_set(error, GW_EIO, "cannot connect to rank %d at %s: %s", call->to,
                          call->endpoint, strerror(failed));
    if (rc < 0) {
        (void)close(fd);
        return rc;
    }
    rc = call->trust->keyed ? gw_ring_tls_connect(fd, &call->trust->key, &made, error)
                            : gw_ring_link_plain_new(fd, &made, error);
    if (rc < 0)
        return rc;
    if (call->trust->keyed)
        rc = shake_hands(made, wait, error);
    if (rc == 0)
        rc = gw_ring_link_send(made, &(struct gw_ring_bytes){&hello, sizeof hello}, wait, error);
    if (rc == 0)
        rc = await_answer(made, call, wait, error);
    if (rc < 0) {
        made->free(made);
        return rc;
    }
    *link = made;
    return 0;
}

/* -- The answer ----------------------------------------------------------------------------------
 */

int gw_ring_link_welcome(struct gw_transport *link, const struct gw_ring_wait *wait,
                         struct gw_error *error)
{
    int32_t answer = 0;
    return gw_ring_link_send(link, &(struct gw_ring_bytes){&answer, sizeof answer}, wait, error);
}

/* The answer fits into the buffer of a socket that was just opened. If it cannot be written, the
 * other side sees only that the connection was closed. */
void gw_ring_link_refuse(struct gw_transport *link, int code)
{
    const int32_t answer = code;
    size_t wrote;
    (void)link->write(link, &answer, sizeof answer, &wrote, NULL);
    (void)link->flush(link, NULL);
    link->free(link);
}
