/* Sockets of the ring, and who is let in.
 *
 * Always: nothing blocks but poll, for a tick at most, so that a broken segment is noticed without
 * anybody to say so; a guest that says nothing holds up nobody, and is dropped when too many are
 * waiting. */
#include "gpu/ring/ring_link.h"

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
    TICK_MS = 20,     /* how late a broken segment may be seen by who waits for a socket */
    GUESTS_MAX = 256, /* that have connected and are not let in yet */
    SILENCE_S = 5,    /* of a host, before it is asked whether it is there */
    SILENCE_ASKS = 3, /* every other second */
    BYTE_ORDER_MARK = 0x01020304,
};

/* What who connects says first. Hosts of different byte order are refused, so it goes as it lies.
 */
struct hello {
    char magic[8];
    uint32_t order;
    uint32_t purpose;
    uint64_t attempt;
    uint32_t ranks;
    int32_t from, to;
    uint32_t zero;
};

static const char magic[8] = "GWRING1";

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
    struct gw_transport transport; /* first: the cast goes both ways */
    bool full;                     /* the socket took no more */
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

static int plain_new(int fd, struct gw_transport **link, struct gw_error *error)
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

int gw_ring_pause(struct pollfd *fds, size_t count, const struct gw_ring_wait *wait,
                  struct gw_error *error)
{
    const int broken = gw_segment_broken(wait->segment, error);
    if (broken < 0)
        return GW_EABORTED;
    const uint64_t now_ns = gw_segment_now_ns();
    if (now_ns >= wait->deadline_ns)
        return gw_error_set(error, GW_ETIMEDOUT, "not in time");
    const uint64_t left_ms = (wait->deadline_ns - now_ns) / 1000000 + 1;
    (void)poll(fds, count, left_ms < TICK_MS ? (int)left_ms : TICK_MS);
    return 0;
}

/* Until what the link holds back can be sent, or (a handshake) the other side has answered. */
static int pause_to_send(const struct gw_transport *link, const struct gw_ring_wait *wait,
                         struct gw_error *error)
{
    struct pollfd one = {.fd = link->fd, .events = link->blocked(link) ? POLLOUT : POLLIN};
    return gw_ring_pause(&one, 1, wait, error);
}

int gw_ring_send(struct gw_transport *link, const struct gw_ring_bytes *bytes,
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

int gw_ring_receive(struct gw_transport *link, const struct gw_ring_bytes *bytes,
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
            rc = link->flush(link, error); /* a handshake has something to say */
            struct pollfd one = {.fd = link->fd, .events = POLLIN};
            if (link->blocked(link))
                one.events |= POLLOUT;
            if (rc == 0 || rc == GW_EAGAIN)
                rc = gw_ring_pause(&one, 1, wait, error);
        }
        if (rc < 0)
            return rc;
    }
    return 0;
}

/* -- Connecting ----------------------------------------------------------------------------------
 */

/* A host that vanishes without a word is noticed after about ten seconds. */
static void keep_alive(int fd)
{
    const int on = 1, idle_s = SILENCE_S, every_s = 2, asks = SILENCE_ASKS, give_up_ms = 10000;
    (void)setsockopt(fd, SOL_SOCKET, SO_KEEPALIVE, &on, sizeof on);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPIDLE, &idle_s, sizeof idle_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPINTVL, &every_s, sizeof every_s);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_KEEPCNT, &asks, sizeof asks);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_USER_TIMEOUT, &give_up_ms, sizeof give_up_ms);
    (void)setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
}

/* The answer to a hello: 0, or why not. */
static int await_answer(struct gw_transport *link, const struct gw_ring_call *call,
                        const struct gw_ring_wait *wait, struct gw_error *error)
{
    int32_t answer = 0;
    int rc = gw_ring_receive(link, &(struct gw_ring_bytes){&answer, sizeof answer}, wait, error);
    if (rc < 0)
        return rc;
    if (answer == GW_EEXIST)
        return gw_error_set(error, GW_EEXIST, "rank %d: another one has this number", call->from);
    if (answer < 0)
        return gw_error_set(error, GW_EPERM, "rank %d was refused by rank %d (%s)", call->from,
                            call->to, gw_error_text(answer));
    return 0;
}

/* Gets a handshake done, which goes on in reads: nothing is to be read before a hello was sent. */
static int shake_hands(struct gw_transport *link, const struct gw_ring_wait *wait,
                       struct gw_error *error)
{
    for (;;) {
        uint8_t byte;
        size_t got;
        int rc = link->read(link, &byte, sizeof byte, &got, error);
        if (rc == 0)
            return gw_error_set(error, GW_EPROTO, "the other side spoke first");
        if (rc == GW_EAGAIN)
            rc = link->flush(link, error);
        if (rc != GW_EAGAIN)
            return rc;
        struct pollfd one = {.fd = link->fd, .events = POLLIN};
        if (link->blocked(link))
            one.events |= POLLOUT;
        rc = gw_ring_pause(&one, 1, wait, error);
        if (rc < 0)
            return rc;
    }
}

int gw_ring_connect(const struct gw_ring_call *call, const struct gw_ring_wait *wait,
                    struct gw_transport **link, struct gw_error *error)
{
    struct hello hello = {
        .order = BYTE_ORDER_MARK,
        .purpose = (uint32_t)call->purpose,
        .attempt = call->trust->attempt,
        .ranks = call->trust->ranks,
        .from = call->from,
        .to = call->to,
    };
    memcpy(hello.magic, magic, sizeof magic);
    struct gw_transport *made;
    int fd;
    int rc = gw_endpoint_connect(call->endpoint, &fd, error);
    if (rc < 0)
        return rc;
    keep_alive(fd);
    struct pollfd connected = {.fd = fd, .events = POLLOUT};
    while (rc == 0 && connected.revents == 0)
        rc = gw_ring_pause(&connected, 1, wait, error);
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
                            : plain_new(fd, &made, error);
    if (rc < 0)
        return rc;
    if (call->trust->keyed)
        rc = shake_hands(made, wait, error);
    if (rc == 0)
        rc = gw_ring_send(made, &(struct gw_ring_bytes){&hello, sizeof hello}, wait, error);
    if (rc == 0)
        rc = await_answer(made, call, wait, error);
    if (rc < 0) {
        made->free(made);
        return rc;
    }
    *link = made;
    return 0;
}

/* -- The door ------------------------------------------------------------------------------------
 */

struct guest {
    struct gw_transport *link;
    struct hello hello;
    size_t got; /* bytes of the hello; all of it: it is a good one */
};

struct gw_ring_door {
    int listener;
    int self;
    const struct gw_ring_trust *trust;
    bool full; /* no descriptor is left for who stands outside: another look in a moment */
    size_t guests_count;
    struct guest guests[GUESTS_MAX]; /* in the order in which they came */
};

struct gw_ring_door *gw_ring_door_new(int listener, const struct gw_ring_trust *trust, int self)
{
    struct gw_ring_door *door = calloc(1, sizeof *door);
    if (!door) {
        (void)close(listener);
        return NULL;
    }
    door->listener = listener;
    door->trust = trust;
    door->self = self;
    return door;
}

void gw_ring_door_free(struct gw_ring_door *door)
{
    if (!door)
        return;
    for (size_t i = 0; i < door->guests_count; i++)
        door->guests[i].link->free(door->guests[i].link);
    (void)close(door->listener);
    free(door);
}

static void guest_forget(struct gw_ring_door *door, size_t i)
{
    door->guests_count--;
    memmove(door->guests + i, door->guests + i + 1,
            (door->guests_count - i) * sizeof door->guests[0]);
}

static void guest_drop(struct gw_ring_door *door, size_t i)
{
    door->guests[i].link->free(door->guests[i].link);
    guest_forget(door, i);
}

static bool find_key(const char *identity, uint8_t secret[GW_TLS_SECRET_BYTES], void *arg)
{
    const struct gw_ring_door *door = arg;
    if (strcmp(identity, door->trust->key.identity) != 0)
        return false;
    memcpy(secret, door->trust->key.secret, GW_TLS_SECRET_BYTES);
    return true;
}

/* Everybody who stands outside; where too many wait the oldest goes. */
static void guests_come(struct gw_ring_door *door)
{
    for (;;) {
        int fd = accept4(door->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        door->full =
            fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
        if (fd < 0)
            return;
        keep_alive(fd);
        struct gw_transport *link;
        int rc = door->trust->keyed ? gw_ring_tls_accept(fd, find_key, door, &link, NULL)
                                    : plain_new(fd, &link, NULL);
        if (rc < 0)
            continue;
        if (door->guests_count == GUESTS_MAX)
            guest_drop(door, 0);
        door->guests[door->guests_count++] = (struct guest){.link = link};
    }
}

static bool is_known(const struct gw_ring_door *door, const struct hello *hello)
{
    return memcmp(hello->magic, magic, sizeof magic) == 0 && hello->order == BYTE_ORDER_MARK &&
           hello->attempt == door->trust->attempt && hello->ranks == door->trust->ranks &&
           hello->from >= 0 && (uint32_t)hello->from < hello->ranks && hello->to == door->self;
}

/* Reads on: 0, or it is to go. */
static int guest_listen(const struct gw_ring_door *door, struct guest *guest)
{
    while (guest->got < sizeof guest->hello) {
        size_t got = 0;
        int rc = guest->link->read(guest->link, (char *)&guest->hello + guest->got,
                                   sizeof guest->hello - guest->got, &got, NULL);
        if (rc == GW_EAGAIN) {
            rc = guest->link->flush(guest->link, NULL);
            return rc == GW_EAGAIN ? 0 : rc;
        }
        if (rc < 0)
            return rc;
        guest->got += got;
    }
    return is_known(door, &guest->hello) ? 0 : GW_EPERM;
}

/* The first who is wanted, or guests_count. */
static size_t guest_find(const struct gw_ring_door *door, const struct gw_ring_guest *wanted)
{
    size_t i = 0;
    for (; i < door->guests_count; i++) {
        const struct guest *guest = &door->guests[i];
        if (guest->got == sizeof guest->hello && guest->hello.purpose == wanted->purpose &&
            (wanted->from < 0 || guest->hello.from == wanted->from))
            break;
    }
    return i;
}

static int door_pause(struct gw_ring_door *door, const struct gw_ring_wait *wait,
                      struct gw_error *error)
{
    struct pollfd fds[GUESTS_MAX + 1];
    size_t count = 0;
    fds[count++] = (struct pollfd){.fd = door->full ? -1 : door->listener, .events = POLLIN};
    for (size_t i = 0; i < door->guests_count; i++) {
        struct guest *guest = &door->guests[i];
        if (guest->got == sizeof guest->hello)
            continue; /* waits for its turn */
        const short out = guest->link->blocked(guest->link) ? POLLOUT : 0;
        fds[count++] = (struct pollfd){.fd = guest->link->fd, .events = (short)(POLLIN | out)};
    }
    return gw_ring_pause(fds, count, wait, error);
}

int gw_ring_door_take(struct gw_ring_door *door, struct gw_ring_guest *guest,
                      const struct gw_ring_wait *wait, struct gw_error *error)
{
    for (;;) {
        guests_come(door);
        for (size_t i = 0; i < door->guests_count;) {
            int rc = guest_listen(door, &door->guests[i]);
            if (rc == 0) {
                i++;
            } else if (door->guests[i].got == sizeof door->guests[i].hello) {
                gw_ring_refuse(door->guests[i].link, rc);
                guest_forget(door, i);
            } else {
                guest_drop(door, i);
            }
        }
        size_t i = guest_find(door, guest);
        if (i < door->guests_count) {
            guest->from = door->guests[i].hello.from;
            guest->link = door->guests[i].link;
            guest_forget(door, i);
            return 0;
        }
        int rc = door_pause(door, wait, error);
        if (rc < 0)
            return rc;
    }
}

int gw_ring_welcome(struct gw_transport *link, const struct gw_ring_wait *wait,
                    struct gw_error *error)
{
    int32_t answer = 0;
    return gw_ring_send(link, &(struct gw_ring_bytes){&answer, sizeof answer}, wait, error);
}

/* The word fits into any socket that was just opened; who does not take it learns less. */
void gw_ring_refuse(struct gw_transport *link, int code)
{
    const int32_t answer = code;
    size_t wrote;
    (void)link->write(link, &answer, sizeof answer, &wrote, NULL);
    (void)link->flush(link, NULL);
    link->free(link);
}
