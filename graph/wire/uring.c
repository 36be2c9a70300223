/* One io_uring around a libuv loop.
 *
 * What the kernel always has from us while it waits is a chain: look whether the loop's backend has
 * something, then receive from the socket that is expected to speak next (who was sent to last).
 * Where nothing came from there, libuv runs and finds out what it was. A chain holds no socket
 * before it receives, only its number: a request that waits on a socket would keep it open for some
 * 10 ms behind a scheduler that was killed, and its workers would take it for alive. So a number
 * that may be given to another socket ends the chain first.
 *
 * Always: a send is given to the kernel with MSG_DONTWAIT, so it is over when the call that submits
 * it returns, one way or another. It says something (a completion) only where it has not sent all;
 * so a send that nobody hears of was sent, and does not end the wait for what comes next. The
 * kernel moves nothing but inside of our own calls (DEFER_TASKRUN).
 *
 * A kernel that has no memory for more is not waited for: what it does not take is taken back, and
 * libuv does without it until the next turn, which tries again. */
#include "graph/wire/uring.h"

#include "graph/base/array.h"
#include "graph/base/log.h"
#include "graph/base/must.h"
#include "graph/wire/frame.h"
#include "graph/wire/link.h"
#include "graph/wire/ring.h"

#include <assert.h>
#include <errno.h>
#include <liburing.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>
#include <sys/eventfd.h>
#include <unistd.h>

enum {
    ENTRIES = 256,       /* given to the kernel at once */
    COMPLETIONS = 1024,  /* what is over that is kept; the kernel keeps more if it must */
    IN_BYTES = 64 << 10, /* of one read; what comes beyond libuv finds */
    SUBMITS_MAX = 8,     /* before what the kernel does not take is taken back */
    EXPECTED_MAX = 16,   /* reads as expected before libuv looks for others */
};

/* What a completion is about: in the low bits of a pointer to a socket, or of a chain's number. */
enum tag { TAG_SEND = 1, TAG_BACKEND, TAG_RECEIVE, TAG_BITS = 2, TAG_MASK = 3 };

struct uring {
    struct gw_ring ring;
    struct io_uring io;
    bool waiting;                            /* a chain is with the kernel */
    uint64_t chain;                          /* its number */
    struct gw_ring_socket *expected, *asked; /* the next chain's, this one's; NULL: none */
    uint32_t in_a_row;                       /* as expected */
    struct msghdr in;
    struct iovec in_bytes;
    union {
        struct cmsghdr align;
        char bytes[CMSG_SPACE(sizeof(int) * GW_FRAME_FDS_MAX)];
    } in_control;
    uint8_t *buffer;
    bool ready;   /* libuv has something, or may have */
    bool starved; /* the kernel has no memory: libuv waits this once */
    bool told;    /* that it had none, once */
    GW_ARRAY(struct gw_ring_socket *) wanted, sending;
};

static _Thread_local struct uring *uring_of_thread;

static struct uring *uring_of(const struct gw_ring *ring)
{
    struct uring *uring = uring_of_thread;
    assert(&uring->ring == ring);
    return uring;
}

/* -- Giving work to the kernel -- */

/* What may be submitted, in time or again: all else is our own bug. */
static bool is_passing(int rc)
{
    return rc >= 0 || rc == -EINTR || rc == -EAGAIN || rc == -EBUSY || rc == -ENOMEM;
}

/* Ends a chain; what its receiving got already is told of behind it. Takes no memory. */
static void cancel_chain(struct uring *uring)
{
    struct io_uring_sync_cancel_reg which = {
        .addr = uring->chain << TAG_BITS | TAG_BACKEND, .fd = -1, .timeout = {-1, -1}};
    (void)io_uring_register_sync_cancel(&uring->io, &which);
}

/* What the kernel has no memory for is not left with it: of the sends nothing was sent, which their
 * links find out at once, and there is no chain, or only its first half. */
static void take_back(struct uring *uring)
{
    struct io_uring_sq *entries = &uring->io.sq;
    const unsigned first = io_uring_smp_load_acquire(entries->khead);
    bool cut = false;
    for (unsigned at = first; at != entries->sqe_tail; at++) {
        const uint64_t about = entries->sqes[at & entries->ring_mask].user_data;
        if ((about & TAG_MASK) == TAG_SEND)
            ((struct gw_ring_socket *)(uintptr_t)(about - TAG_SEND))->sent = 0;
        else
            cut = true;
    }
    entries->sqe_head = entries->sqe_tail = first;
    io_uring_smp_store_release(entries->ktail, first);
    if (cut) {
        cancel_chain(uring);
        uring->waiting = false;
        uring->asked = NULL;
    }
    uring->ready = uring->starved = true;
    if (!uring->told)
        gw_log_warn("io_uring: the kernel has no memory for it: epoll stands in, turn by turn");
    uring->told = true;
}

static void submit_all(struct uring *uring)
{
    for (int i = 0; io_uring_sq_ready(&uring->io) > 0 && i < SUBMITS_MAX; i++) {
        int rc = io_uring_submit(&uring->io);
        if (!is_passing(rc)) {
            gw_log_error("io_uring: %s; GANGWAY_IO=epoll does without it", strerror(-rc));
            abort();
        }
    }
    if (io_uring_sq_ready(&uring->io) > 0)
        take_back(uring);
}

static void make_room(struct uring *uring, unsigned entries)
{
    if (io_uring_sq_space_left(&uring->io) < entries)
        submit_all(uring);
}

static struct io_uring_sqe *next_entry(struct uring *uring)
{
    struct io_uring_sqe *entry = io_uring_get_sqe(&uring->io);
    assert(entry); /* room was made */
    return entry;
}

static void want(struct gw_ring *ring, struct gw_ring_socket *socket)
{
    if (!socket->wanted)
        GW_MUST(gw_array_push(&uring_of(ring)->wanted, socket));
    socket->wanted = true;
}

static void leave(struct gw_ring *ring, struct gw_ring_socket *socket)
{
    struct uring *uring = uring_of(ring);
    struct gw_ring_socket **item;
    GW_ARRAY_EACH (&uring->wanted, item)
        if (*item == socket)
            *item = NULL;
    socket->wanted = false;
    if (uring->expected == socket)
        uring->expected = NULL;
    if (!uring->waiting || uring->asked != socket)
        return;
    cancel_chain(uring); /* now: its number is free soon */
    uring->asked = NULL;
}

static void give(struct gw_ring *ring, struct gw_ring_socket *socket)
{
    struct uring *uring = uring_of(ring);
    make_room(uring, 1);
    struct io_uring_sqe *entry = next_entry(uring);
    /* MSG_WAITALL: less than all is a failure, so that it is told. */
    io_uring_prep_sendmsg(entry, socket->fd, &socket->piece.header,
                          MSG_NOSIGNAL | MSG_DONTWAIT | MSG_WAITALL);
    entry->flags |= IOSQE_CQE_SKIP_SUCCESS;
    io_uring_sqe_set_data64(entry, (uint64_t)(uintptr_t)socket | TAG_SEND);
    socket->sent = socket->piece.bytes.iov_len;
    uring->expected = socket;
    GW_MUST(gw_array_push(&uring->sending, socket));
}

/* Has the kernel look at the loop's backend and then receive. */
static void begin_chain(struct uring *uring)
{
    make_room(uring, 2); /* a chain goes to the kernel at once */
    struct io_uring_sqe *look = next_entry(uring);
    uring->chain++;
    uring->waiting = true;
    uring->asked = uring->expected;
    uring->expected = NULL;
    io_uring_prep_poll_add(look, uv_backend_fd(uring->ring.loop), POLLIN);
    io_uring_sqe_set_data64(look, uring->chain << TAG_BITS | TAG_BACKEND);
    if (!uring->asked)
        return;
    look->flags |= IOSQE_IO_LINK | IOSQE_CQE_SKIP_SUCCESS;
    uring->in_bytes = (struct iovec){uring->buffer, IN_BYTES};
    uring->in = (struct msghdr){.msg_iov = &uring->in_bytes,
                                .msg_iovlen = 1,
                                .msg_control = &uring->in_control,
                                .msg_controllen = sizeof uring->in_control};
    struct io_uring_sqe *receive = next_entry(uring);
    io_uring_prep_recvmsg(receive, uring->asked->fd, &uring->in, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    io_uring_sqe_set_data64(receive, uring->chain << TAG_BITS | TAG_RECEIVE);
}

/* -- A turn -- */

static void flush(struct uring *uring)
{
    const size_t count = uring->wanted.count;
    for (size_t i = 0; i < count; i++) {
        struct gw_ring_socket *socket = uring->wanted.items[i];
        if (!socket) /* it left */
            continue;
        socket->wanted = false;
        socket->callbacks->on_flush(socket);
    }
    const size_t left = uring->wanted.count - count; /* wanted again: in the next turn */
    if (left > 0)
        memmove(uring->wanted.items, uring->wanted.items + count,
                left * sizeof *uring->wanted.items);
    uring->wanted.count = left;
}

/* Submits all there is, and waits for something: up to so long, -1: for ever. */
static void enter(struct uring *uring, int wait_ms)
{
    struct __kernel_timespec wait = {.tv_sec = wait_ms / 1000,
                                     .tv_nsec = (long long)(wait_ms % 1000) * 1000000};
    struct io_uring_cqe *first;
    if (!uring->waiting)
        begin_chain(uring);
    (void)io_uring_submit_and_wait_timeout(&uring->io, &first, 1, wait_ms < 0 ? NULL : &wait, NULL);
    submit_all(uring); /* nothing, as a rule; an error shows here */
}

/* What became of what was sent; completions stay where they are. */
static void settle_sends(struct uring *uring)
{
    struct io_uring_cqe *over;
    unsigned at;
    struct gw_ring_socket **item;
    if (uring->sending.count == 0)
        return;
    io_uring_for_each_cqe(&uring->io, at, over)
    {
        if ((over->user_data & TAG_MASK) != TAG_SEND)
            continue;
        struct gw_ring_socket *socket =
            (struct gw_ring_socket *)(uintptr_t)(over->user_data - TAG_SEND);
        socket->sent = over->res > 0 ? (size_t)over->res : 0;
    }
    GW_ARRAY_EACH (&uring->sending, item)
        (*item)->callbacks->on_sent(*item, (*item)->sent);
    gw_array_clear(&uring->sending);
}

/* The socket left while it was received from. */
static void drop_received(struct uring *uring)
{
    for (struct cmsghdr *c = CMSG_FIRSTHDR(&uring->in); c; c = CMSG_NXTHDR(&uring->in, c)) {
        const size_t count = (c->cmsg_len - CMSG_LEN(0)) / sizeof(int);
        for (size_t i = 0; i < count && c->cmsg_type == SCM_RIGHTS; i++) {
            int fd;
            memcpy(&fd, CMSG_DATA(c) + i * sizeof fd, sizeof fd);
            (void)close(fd);
        }
    }
}

/* The chain is over; bytes: what came, 0 or less where libuv is to find out what is the matter. */
static void end_chain(struct uring *uring, int bytes)
{
    struct gw_ring_socket *socket = uring->asked;
    uring->waiting = false;
    uring->asked = NULL;
    uring->ready = bytes <= 0 || ++uring->in_a_row >= EXPECTED_MAX;
    if (uring->ready)
        uring->in_a_row = 0;
    if (bytes <= 0)
        return;
    uring->in_bytes.iov_len = (size_t)bytes;
    if (socket)
        socket->callbacks->on_received(socket, &uring->in);
    else
        drop_received(uring);
}

static void take_completions(struct uring *uring)
{
    for (unsigned left = io_uring_cq_ready(&uring->io); left > 0; left--) {
        struct io_uring_cqe *first;
        if (io_uring_peek_cqe(&uring->io, &first) < 0)
            break;
        const uint64_t about = first->user_data;
        const int res = first->res;
        const enum tag tag = about & TAG_MASK;
        io_uring_cqe_seen(&uring->io, first);
        if ((tag == TAG_RECEIVE || tag == TAG_BACKEND) && uring->waiting &&
            about >> TAG_BITS == uring->chain)
            end_chain(uring, tag == TAG_RECEIVE ? res : 0);
    }
}

static bool is_alive(const struct uring *uring)
{
    return uv_loop_alive(uring->ring.loop) || uring->wanted.count > 0;
}

static bool turn(struct uring *uring, uv_run_mode mode)
{
    uv_loop_t *loop = uring->ring.loop;
    bool waits = mode != UV_RUN_NOWAIT;
    if (uring->ready || uv_backend_timeout(loop) == 0) {
        const bool instead = uring->starved && waits && uring->wanted.count == 0;
        uring->ready = uring->starved = false;
        (void)uv_run(loop, instead ? UV_RUN_ONCE : UV_RUN_NOWAIT);
        waits = mode == UV_RUN_DEFAULT; /* once: that may have been it */
    }
    flush(uring);
    if (!is_alive(uring))
        return false;
    enter(uring, waits && uring->wanted.count == 0 && !uring->ready ? uv_backend_timeout(loop) : 0);
    uv_update_time(loop);
    settle_sends(uring);
    take_completions(uring);
    return is_alive(uring);
}

int gw_uring_run(uv_loop_t *loop, uv_run_mode mode)
{
    struct uring *uring = uring_of_thread;
    if (!uring || uring->ring.loop != loop)
        return uv_run(loop, mode);
    bool alive;
    do
        alive = turn(uring, mode);
    while (alive && mode == UV_RUN_DEFAULT);
    return alive;
}

/* -- Opening and closing -- */

static void on_prepare(uv_prepare_t *prepare)
{
    (void)prepare; /* that it is active is what counts */
}

static void on_poll(uv_poll_t *poll, int status, int events)
{
    (void)poll, (void)status, (void)events;
}

/* Whether libuv says (by a timeout of 0) that it has something new to watch: older
 * ones did not, and who watches its backend would not hear of it otherwise. */
static bool libuv_tells(void)
{
    uv_loop_t loop;
    uv_poll_t poll;
    uv_prepare_t alive;
    bool tells = false;
    int fd = eventfd(0, EFD_CLOEXEC | EFD_NONBLOCK);
    if (fd < 0)
        return false;
    (void)uv_loop_init(&loop);
    (void)uv_prepare_init(&loop, &alive);
    (void)uv_prepare_start(&alive, on_prepare);
    (void)uv_run(&loop, UV_RUN_NOWAIT);
    if (uv_poll_init(&loop, &poll, fd) == 0) {
        tells = uv_backend_timeout(&loop) == -1;
        (void)uv_poll_start(&poll, UV_READABLE, on_poll);
        tells = tells && uv_backend_timeout(&loop) == 0;
        uv_close((uv_handle_t *)&poll, NULL);
    }
    uv_close((uv_handle_t *)&alive, NULL);
    (void)uv_run(&loop, UV_RUN_DEFAULT);
    (void)uv_loop_close(&loop);
    (void)close(fd);
    return tells;
}

static void free_uring(struct uring *uring)
{
    gw_array_deinit(&uring->wanted);
    gw_array_deinit(&uring->sending);
    free(uring->buffer);
    free(uring);
}

int gw_uring_open(uv_loop_t *loop, struct gw_error *error)
{
    assert(!uring_of_thread);
    struct io_uring_params wanted = {
        .flags = IORING_SETUP_SINGLE_ISSUER | IORING_SETUP_DEFER_TASKRUN | IORING_SETUP_SUBMIT_ALL |
                 IORING_SETUP_CQSIZE,
        .cq_entries = COMPLETIONS,
    };
    if (!libuv_tells())
        return gw_error_set(error, GW_ENOTSUP, "this libuv does not tell what it will watch");
    struct uring *uring = calloc(1, sizeof *uring);
    GW_MUST_PTR(uring);
    uring->buffer = malloc(IN_BYTES);
    GW_MUST_PTR(uring->buffer);
    int rc = io_uring_queue_init_params(ENTRIES, &uring->io, &wanted);
    if (rc < 0) {
        free_uring(uring);
        return gw_error_set(error, GW_ENOTSUP, "io_uring: %s", strerror(-rc));
    }
    (void)io_uring_register_ring_fd(&uring->io); /* a look-up less a call, where the kernel can */
    uring->ring = (struct gw_ring){loop, want, leave, give};
    uring->ready = true;
    uring_of_thread = uring;
    gw_link_use_ring(&uring->ring);
    return 0;
}

void gw_uring_close(uv_loop_t *loop)
{
    struct uring *uring = uring_of_thread;
    if (!uring || uring->ring.loop != loop)
        return;
    gw_link_use_ring(NULL);
    uring_of_thread = NULL;
    io_uring_queue_exit(&uring->io);
    free_uring(uring);
}
