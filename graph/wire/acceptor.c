/* Listening sockets on a loop. At any time either the poll handle is active, or the timer that
 * starts it again. */
#include "graph/wire/acceptor.h"

#include "graph/base/log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <unistd.h>

enum { REST_MS = 100, ACCEPTS_A_TURN = 16 };

struct gw_acceptor {
    uv_poll_t poll;
    uv_timer_t rest;
    struct gw_acceptor_callbacks callbacks;
    int fd, reserve_fd;
    uint8_t handles;
    bool closing;
};

static void acceptor_on_poll(uv_poll_t *poll, int status, int events);

static void acceptor_on_rested(uv_timer_t *timer)
{
    struct gw_acceptor *acceptor = timer->data;
    if (acceptor->reserve_fd < 0)
        acceptor->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    (void)uv_poll_start(&acceptor->poll, UV_READABLE, acceptor_on_poll);
}

/* Accepts and closes the next connection, then pauses. */
static void refuse_next(struct gw_acceptor *acceptor, int errnum)
{
    gw_log_error("cannot accept a connection: %s", strerror(errnum));
    if (acceptor->reserve_fd >= 0) {
        (void)close(acceptor->reserve_fd);
        int fd = accept4(acceptor->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0)
            (void)close(fd);
        acceptor->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    }
    (void)uv_poll_stop(&acceptor->poll);
    (void)uv_timer_start(&acceptor->rest, acceptor_on_rested, REST_MS, 0);
}

static void acceptor_on_poll(uv_poll_t *poll, int status, int events)
{
    struct gw_acceptor *acceptor = poll->data;
    (void)events;
    for (int i = 0; status >= 0 && i < ACCEPTS_A_TURN && !acceptor->closing; i++) {
        int fd = accept4(acceptor->fd, NULL, NULL, SOCK_NONBLOCK | SOCK_CLOEXEC);
        if (fd >= 0) {
            acceptor->callbacks.on_accept(fd, acceptor->callbacks.arg);
        } else if (errno == EMFILE || errno == ENFILE || errno == ENOBUFS || errno == ENOMEM) {
            refuse_next(acceptor, errno);
            return;
        } else if (errno != ECONNABORTED && errno != EINTR) {
            return; /* no connection is waiting */
        }
    }
}

static void acceptor_on_handle_closed(uv_handle_t *handle)
{
    struct gw_acceptor *acceptor = handle->data;
    if (--acceptor->handles)
        return;
    struct gw_acceptor_callbacks callbacks = acceptor->callbacks;
    free(acceptor);
    if (callbacks.on_closed)
        callbacks.on_closed(callbacks.arg);
}

int gw_acceptor_open(uv_loop_t *loop, int fd, const struct gw_acceptor_callbacks *callbacks,
                     struct gw_acceptor **acceptor, struct gw_error *error)
{
    struct gw_acceptor *made = calloc(1, sizeof *made);
    int rc = made ? uv_poll_init(loop, &made->poll, fd) : UV_ENOMEM;
    if (rc < 0) {
        free(made);
        (void)close(fd);
        return gw_error_set(error, GW_EIO, "cannot wait for connections at a socket: %s",
                            uv_strerror(rc));
    }
    made->callbacks = *callbacks;
    made->fd = fd;
    made->reserve_fd = open("/dev/null", O_RDONLY | O_CLOEXEC);
    made->handles = 2;
    (void)uv_timer_init(loop, &made->rest);
    made->poll.data = made->rest.data = made;
    (void)uv_poll_start(&made->poll, UV_READABLE, acceptor_on_poll);
    *acceptor = made;
    return 0;
}

void gw_acceptor_close(struct gw_acceptor *acceptor)
{
    acceptor->closing = true;
    (void)uv_poll_stop(&acceptor->poll);
    (void)close(acceptor->fd);
    if (acceptor->reserve_fd >= 0)
        (void)close(acceptor->reserve_fd);
    uv_close((uv_handle_t *)&acceptor->poll, acceptor_on_handle_closed);
    uv_close((uv_handle_t *)&acceptor->rest, acceptor_on_handle_closed);
}
