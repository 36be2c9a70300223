/* Accepts connections to the ring and checks their hello.
 *
 * A connection that sends nothing delays no other connection. If too many connections wait, the
 * oldest one is closed. */
#include "gpu/ring/ring_door.h"

#include "gpu/ring/ring_hello.h"
#include "gpu/ring/ring_tls.h"

#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { GUESTS_MAX = 256 }; /* connections that are accepted but not taken yet */

struct guest {
    struct gw_transport *link;
    struct gw_ring_hello hello;
    size_t got; /* bytes of the hello received; if complete, the hello was checked */
};

struct gw_ring_door {
    int listener;
    int self;
    const struct gw_ring_trust *trust;
    bool full; /* accept failed because no descriptor or memory was free: try again later */
    size_t guests_count;
    struct guest guests[GUESTS_MAX]; /* accepted connections, oldest first */
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

/* Accepts all pending connections. If too many wait, closes the oldest one. */
static void guests_come(struct gw_ring_door *door)
{
    for (;;) {
        int fd = accept4(door->listener, NULL, NULL, SOCK_CLOEXEC | SOCK_NONBLOCK);
        door->full =
            fd < 0 && (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM);
        if (fd < 0)
            return;
        gw_ring_link_detect_loss(fd);
        struct gw_transport *link;
        int rc = door->trust->keyed ? gw_ring_tls_accept(fd, find_key, door, &link, NULL)
                                    : gw_ring_link_plain_new(fd, &link, NULL);
        if (rc < 0)
            continue;
        if (door->guests_count == GUESTS_MAX)
            guest_drop(door, 0);
        door->guests[door->guests_count++] = (struct guest){.link = link};
    }
}

static bool is_known(const struct gw_ring_door *door, const struct gw_ring_hello *hello)
{
    return memcmp(hello->magic, GW_RING_MAGIC, sizeof hello->magic) == 0 &&
           hello->order == GW_RING_BYTE_ORDER && hello->attempt == door->trust->attempt &&
           hello->ranks == door->trust->ranks && hello->from >= 0 &&
           (uint32_t)hello->from < hello->ranks && hello->to == door->self;
}

/* Reads more of a hello and checks it when it is complete. Returns 0, or an error if the connection
 * must be closed. */
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

/* Returns the index of the first connection with the wanted purpose and rank, or guests_count. */
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
            continue; /* its hello is complete; it waits until gw_ring_door_take takes it */
        const short out = guest->link->blocked(guest->link) ? POLLOUT : 0;
        fds[count++] = (struct pollfd){.fd = guest->link->fd, .events = (short)(POLLIN | out)};
    }
    return gw_ring_link_pause(fds, count, wait, error);
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
                gw_ring_link_refuse(door->guests[i].link, rc);
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
