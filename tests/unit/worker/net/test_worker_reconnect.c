/* The second connection of a worker to its scheduler, which replaces a broken one. */
#include "graph/wire/enums.h"
#include "tests/unit/unit.h"
#include "worker/net/link/host_link.h"
#include "worker/net/link/reconnect.h"

#include <stdlib.h>
#include <sys/socket.h>
#include <unistd.h>

static void on_message(struct gw_link *link, const struct gw_message *message, const int *fds,
                       uint8_t fd_count, void *arg)
{
    (void)link;
    (void)message;
    (void)fds;
    (void)fd_count;
    (void)arg;
}

static void on_close(struct gw_link *link, const struct gw_error *error, void *arg)
{
    (void)link;
    (void)error;
    (void)arg;
}

/* Opens a connection whose other end is *scheduler_fd. */
static struct gw_host_link *open_connection(struct gw_host *host, int *scheduler_fd)
{
    int fds[2];
    assert_int_equal(socketpair(AF_UNIX, SOCK_STREAM | SOCK_NONBLOCK | SOCK_CLOEXEC, 0, fds), 0);
    *scheduler_fd = fds[1];
    struct gw_host_link *link = gw_host_link_new(host, fds[0], GW_ROLE_SCHEDULER);
    assert_non_null(link);
    return link;
}

/* Heartbeats overtake queued messages, also the answer `reconnected`. */
static void heartbeat_that_overtakes_the_answer_leaves_the_connection_open(void **state)
{
    struct gw_host *host = calloc(1, sizeof *host);
    const struct gw_backlog_item *unsent;
    uv_loop_t loop;
    int first_fd, second_fd;
    (void)state;
    assert_non_null(host);
    assert_int_equal(uv_loop_init(&loop), 0);
    host->loop = &loop;
    host->next_peer = 1;
    host->link_callbacks = (struct gw_link_callbacks){on_message, on_close, NULL};
    gw_host_reconnect_init(host, NULL);
    host->scheduler = open_connection(host, &first_fd);
    host->reconnect.second = open_connection(host, &second_fd);
    host->reconnect.backlog = gw_backlog_new();
    assert_int_equal(gw_backlog_add(host->reconnect.backlog,
                                    &(struct gw_message){.type = GW_MESSAGE_checkpointed}, NULL, 0,
                                    &unsent),
                     0);

    gw_host_reconnect_on_second(host, &(struct gw_message){.type = GW_MESSAGE_heartbeat});
    gw_host_reconnect_on_second(host, &(struct gw_message){.type = GW_MESSAGE_reconnected});

    /* The worker continues on the second connection and sends the message again. */
    uint8_t frame[256];
    ssize_t bytes = -1;
    for (int turn = 0; turn < 100 && bytes < 0; turn++) {
        (void)uv_run(&loop, UV_RUN_NOWAIT);
        bytes = recv(second_fd, frame, sizeof frame, 0);
    }
    assert_int_equal(bytes, unsent->bytes);
    assert_memory_equal(frame, unsent->frame, unsent->bytes);

    gw_link_close(host->scheduler->link);
    gw_host_reconnect_close(host);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
    gw_host_reconnect_deinit(host);
    gw_map_deinit(&host->links);
    free(host->scheduler);
    free(host);
    close(first_fd);
    close(second_fd);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(heartbeat_that_overtakes_the_answer_leaves_the_connection_open),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
