/* The port of a ring if no descriptor is left for a caller. */
#include "tests/unit/unit.h"

#include "gpu/ring/ring_door.h"

#include <arpa/inet.h>
#include <fcntl.h>
#include <netinet/in.h>
#include <pthread.h>
#include <stdio.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <time.h>
#include <unistd.h>

#define MS UINT64_C(1000000)

static const struct gw_ring_trust trust = {.attempt = 7, .ranks = 2};

struct caller {
    char endpoint[64];
    struct gw_ring_wait wait;
    struct gw_transport *link;
};

static uint64_t cpu_ns(void)
{
    struct timespec now;
    clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
    return (uint64_t)now.tv_sec * 1000000000 + (uint64_t)now.tv_nsec;
}

static int listen_at(struct caller *caller)
{
    struct sockaddr_in address = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    socklen_t length = sizeof address;
    int fd = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC | SOCK_NONBLOCK, 0);
    assert_true(fd >= 0);
    assert_int_equal(bind(fd, (struct sockaddr *)&address, sizeof address), 0);
    assert_int_equal(listen(fd, 8), 0);
    assert_int_equal(getsockname(fd, (struct sockaddr *)&address, &length), 0);
    (void)snprintf(caller->endpoint, sizeof caller->endpoint, "127.0.0.1:%d",
                   ntohs(address.sin_port));
    return fd;
}

static void *call(void *arg)
{
    struct caller *caller = arg;
    const struct gw_ring_call options = {caller->endpoint, &trust, GW_RING_DATA, 1, 0};
    (void)gw_ring_link_connect(&options, &caller->wait, &caller->link, NULL);
    return NULL;
}

/* A caller waits while no descriptor is free. The door does not spin, and it accepts all callers
 * once descriptors are free. */
static void ring_door_sleeps_if_descriptors_run_out(void **state)
{
    struct caller caller = {0};
    struct gw_segment *segment;
    struct gw_ring_guest guest = {.purpose = GW_RING_DATA, .from = 1};
    struct rlimit limit, small;
    int segment_fd, outside = socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
    (void)state;
    assert_int_equal(gw_segment_create(2, &segment_fd, NULL), 0);
    assert_int_equal(gw_segment_ref(segment_fd, &segment, NULL), 0);
    struct gw_ring_door *door = gw_ring_door_new(listen_at(&caller), &trust, 0);
    assert_non_null(door);
    struct sockaddr_in to = {.sin_family = AF_INET, .sin_addr.s_addr = htonl(INADDR_LOOPBACK)};
    int port;
    assert_int_equal(sscanf(caller.endpoint, "127.0.0.1:%d", &port), 1);
    to.sin_port = htons((uint16_t)port);
    assert_int_equal(connect(outside, (struct sockaddr *)&to, sizeof to), 0);

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &limit), 0);
    int next = fcntl(outside, F_DUPFD_CLOEXEC, 0); /* all lower numbers are in use */
    close(next);
    small = (struct rlimit){(rlim_t)next, limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &small), 0);
    uint64_t before_ns = gw_segment_now_ns(), used_ns = cpu_ns();
    struct gw_ring_wait wait = {segment, before_ns + 500 * MS};
    assert_int_equal(gw_ring_door_take(door, &guest, &wait, NULL), GW_ETIMEDOUT);
    assert_true(cpu_ns() - used_ns < (gw_segment_now_ns() - before_ns) / 2);
    assert_int_equal(setrlimit(RLIMIT_NOFILE, &limit), 0);

    pthread_t thread;
    wait.deadline_ns = caller.wait.deadline_ns = gw_segment_now_ns() + 60000 * MS;
    caller.wait.segment = segment;
    assert_int_equal(pthread_create(&thread, NULL, call, &caller), 0);
    assert_int_equal(gw_ring_door_take(door, &guest, &wait, NULL), 0);
    assert_int_equal(gw_ring_link_welcome(guest.link, &wait, NULL), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_non_null(caller.link);
    caller.link->free(caller.link);
    guest.link->free(guest.link);
    gw_ring_door_free(door);
    gw_segment_unref(segment);
    close(segment_fd);
    close(outside);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(ring_door_sleeps_if_descriptors_run_out)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
