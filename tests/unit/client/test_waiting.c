/* Waiting for futures with a timeout, and through the descriptor for event loops; forks. */
#include "tests/unit/client/fake_client.h"

#include <gangway/gangway.h>
#include <poll.h>
#include <pthread.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>
#include <uv.h>

#define S(n) ((uint64_t)(n)*1000000000)

FAKED(echo);
FAKED(never);
FAKED(large);
FAKED(bad);
FAKED(gone);

static void assert_list_of(struct gw_value *list, int64_t wanted)
{
    int64_t n;
    assert_int_equal(gw_value_type(list), GW_LIST);
    assert_int_equal(gw_value_get_i64(gw_value_at(list, 0), &n, NULL), 0);
    assert_int_equal(n, wanted);
    gw_value_unref(list);
}

static void get_and_gather_time_out_and_the_future_stays_usable(void **state)
{
    struct fixture *f = *state;
    struct gw_future *futures[3];
    struct gw_value *values[3], *value;
    assert_int_equal(gw_submit(f->client, echo, NULL, GW_ARGS(gw_i64(4)), &futures[0], &f->error),
                     0);
    assert_int_equal(gw_submit(f->client, large, NULL, GW_ARGS(), &futures[1], &f->error), 0);
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &futures[2], &f->error), 0);
    assert_int_equal(gw_future_get_within(futures[2], 0, 1000000, &value, &f->error), GW_ETIMEDOUT);
    assert_non_null(strstr(f->error.text, "did not arrive within 1ms"));
    assert_int_equal(gw_future_state(futures[2]), GW_PENDING);
    assert_int_equal(gw_future_get_within(futures[0], 0, GW_FOREVER, &value, &f->error), 0);
    assert_list_of(value, 4);
    assert_int_equal(gw_future_get_within(futures[0], 0, 0, &value, &f->error), 0);
    assert_list_of(value, 4);

    gw_fake_scheduler_hold(f->fake, 2); /* the first fetch is answered with the second */
    assert_int_equal(gw_future_wait(futures[1], GW_FOREVER), 0);
    assert_int_equal(gw_future_get_within(futures[1], 0, 0, &value, &f->error), GW_ETIMEDOUT);
    assert_int_equal(gw_future_get_within(futures[1], 0, 1000000, &value, &f->error), GW_ETIMEDOUT);
    assert_int_equal(gw_future_get_within(futures[1], 0, GW_FOREVER, &value, &f->error), 0);
    gw_value_unref(value);

    assert_int_equal(gw_gather_within(f->client, futures, 3, 1000000, values, &f->error),
                     GW_ETIMEDOUT);
    assert_int_equal(gw_gather_within(f->client, futures, 2, S(30), values, &f->error), 0);
    assert_list_of(values[0], 4);
    gw_value_unref(values[1]);
    for (int i = 0; i < 3; i++)
        gw_future_release(futures[i]);
}

/* -- Through the descriptor ---------------------------------------------------------------------
 */

enum { AT_ONCE = 8, IN_ALL = 200 };

/* A program with a loop of its own: each result leads to the next submission, and no call waits. */
struct program {
    struct fixture *f;
    uv_poll_t poll;
    struct gw_completions *completions;
    struct gw_future *futures[IN_ALL + 1];
    size_t submitted, ended, failed;
};

static void submit_next(struct program *program)
{
    struct fixture *f = program->f;
    size_t index, n = program->submitted++;
    int rc = n % 50 == 49
                 ? gw_submit(f->client, bad, NULL, GW_ARGS(), &program->futures[n], &f->error)
                 : gw_submit(f->client, echo, NULL, GW_ARGS(gw_i64((int64_t)n)),
                             &program->futures[n], &f->error);
    assert_int_equal(rc, 0);
    assert_int_equal(gw_completions_add(program->completions, program->futures[n], &index), 0);
    assert_int_equal(index, n);
}

static void on_readable(uv_poll_t *poll, int status, int events)
{
    struct program *program = poll->data;
    struct gw_value *value;
    size_t index;
    assert_int_equal(status, 0);
    assert_int_equal(events, UV_READABLE);
    gw_client_descriptor_clear(program->f->client);
    while (gw_completions_next(program->completions, 0, &index) == 0) {
        int rc = gw_future_get_within(program->futures[index], 0, 0, &value, &program->f->error);
        if (rc == 0)
            assert_list_of(value, (int64_t)index);
        program->failed += rc == GW_ETASK;
        gw_future_release(program->futures[index]);
        program->ended++;
        if (program->submitted < IN_ALL)
            submit_next(program);
    }
    if (program->ended == IN_ALL)
        assert_int_equal(uv_poll_stop(poll), 0);
}

static void uv_loop_drives_a_client_through_the_descriptor(void **state)
{
    struct program program = {.f = *state};
    struct gw_client *client = program.f->client;
    uv_loop_t loop;
    int descriptor, same;
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(gw_client_descriptor(client, &descriptor, &program.f->error), 0);
    assert_int_equal(gw_client_descriptor(client, &same, &program.f->error), 0);
    assert_int_equal(same, descriptor);
    assert_int_equal(uv_poll_init(&loop, &program.poll, descriptor), 0);
    program.poll.data = &program;
    assert_int_equal(gw_completions_new(NULL, 0, &program.completions), 0);
    for (int i = 0; i < AT_ONCE; i++)
        submit_next(&program);
    assert_int_equal(uv_poll_start(&program.poll, UV_READABLE, on_readable), 0);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(program.ended, IN_ALL);
    assert_int_equal(program.failed, IN_ALL / 50);
    gw_completions_free(program.completions);
    uv_close((uv_handle_t *)&program.poll, NULL);
    assert_int_equal(uv_run(&loop, UV_RUN_DEFAULT), 0);
    assert_int_equal(uv_loop_close(&loop), 0);
}

static bool is_readable(int descriptor, int timeout_ms)
{
    struct pollfd fd = {descriptor, POLLIN, 0};
    return poll(&fd, 1, timeout_ms) == 1;
}

static void descriptor_is_readable_after_each_event_until_cleared(void **state)
{
    struct fixture *f = *state;
    struct gw_future *future, *lasts;
    struct gw_completions *completions;
    size_t index;
    int descriptor;
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &lasts, &f->error), 0);
    assert_int_equal(gw_submit(f->client, echo, NULL, GW_ARGS(), &future, &f->error), 0);
    assert_int_equal(gw_future_wait(future, S(30)), 0);
    assert_int_equal(gw_client_descriptor(f->client, &descriptor, &f->error), 0);
    assert_true(is_readable(descriptor, 0)); /* a future has ended before */
    gw_client_descriptor_clear(f->client);
    assert_false(is_readable(descriptor, 0));

    assert_int_equal(gw_completions_new(&future, 1, &completions), 0); /* an ended future */
    assert_true(is_readable(descriptor, 0));
    gw_client_descriptor_clear(f->client);
    assert_int_equal(gw_completions_next(completions, 0, &index), 0);
    gw_completions_free(completions);
    gw_future_release(future);

    assert_int_equal(gw_future_cancel(lasts, false, &f->error), 0);
    assert_true(is_readable(descriptor, 30000));
    assert_true(is_readable(descriptor, 0));
    gw_client_descriptor_clear(f->client);
    assert_int_equal(gw_future_state(lasts), GW_FAILED);
    gw_future_release(lasts);

    int rc = gw_submit(f->client, gone, NULL, GW_ARGS(), &future, &f->error);
    assert_true(is_readable(descriptor, 30000)); /* the connection has ended */
    if (rc == 0)
        gw_future_release(future);
}

/* -- After a fork -------------------------------------------------------------------------------
 */

#define CHILD_CHECK(condition)                                                                     \
    do {                                                                                           \
        if (!(condition)) {                                                                        \
            fprintf(stderr, "line %d: %s\n", __LINE__, f->error.text);                             \
            _exit(1);                                                                              \
        }                                                                                          \
    } while (0)

static void *wait_in_parent(void *future)
{
    (void)gw_future_wait(future, GW_FOREVER);
    return NULL;
}

/* Another thread of the parent waits meanwhile, so that locks and conditions are in use. */
static void calls_of_a_forked_child_fail_and_leave_the_parent_alone(void **state)
{
    struct fixture *f = *state;
    struct gw_future *lasts, *ended, *future;
    struct gw_completions *completions;
    struct gw_value *value;
    pthread_t thread;
    size_t index;
    int status;
    assert_int_equal(gw_submit(f->client, echo, NULL, GW_ARGS(gw_i64(7)), &ended, &f->error), 0);
    assert_int_equal(gw_future_wait(ended, S(30)), 0);
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &lasts, &f->error), 0);
    assert_int_equal(gw_completions_new(&lasts, 1, &completions), 0);
    assert_int_equal(pthread_create(&thread, NULL, wait_in_parent, lasts), 0);
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            alarm(60);
            CHILD_CHECK(gw_submit(f->client, echo, NULL, GW_ARGS(), &future, &f->error) ==
                        GW_ECLOSED);
            CHILD_CHECK(strstr(f->error.text, "belongs to the parent of this process"));
            CHILD_CHECK(gw_future_get(lasts, 0, &value, &f->error) == GW_ECLOSED);
            CHILD_CHECK(strstr(f->error.text, "belongs to the parent of this process"));
            CHILD_CHECK(gw_client_query(f->client, "counts", NULL, &value, &f->error) ==
                        GW_ECLOSED);
            CHILD_CHECK(gw_lock_acquire(f->client, "lock", GW_FOREVER, &f->error) == GW_ECLOSED);
            CHILD_CHECK(gw_future_cancel(ended, false, &f->error) == 0); /* it has ended */
            CHILD_CHECK(gw_future_retry(lasts, &f->error) == GW_ECLOSED);
            CHILD_CHECK(gw_completions_next(completions, GW_FOREVER, &index) == 0);
            gw_completions_free(completions);
            gw_future_release(ended);
            gw_future_release(lasts);
            gw_client_close(f->client);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    assert_int_equal(gw_future_state(lasts), GW_PENDING);
    assert_int_equal(gw_future_get(ended, 0, &value, &f->error), 0);
    assert_list_of(value, 7);
    assert_int_equal(gw_fake_scheduler_releases(f->fake), 0);
    assert_int_equal(gw_future_cancel(lasts, false, &f->error), 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    gw_completions_free(completions);
    gw_future_release(ended);
    gw_future_release(lasts);
}

static void *read_in_parent(void *tunnel)
{
    size_t bytes = 0;
    char byte = 0;
    (void)gw_tunnel_read(tunnel, &byte, 1, &bytes, NULL);
    return (void *)(uintptr_t)(bytes == 1 && byte == 'x');
}

static void tunnel_closed_in_a_forked_child_stays_open_in_the_parent(void **state)
{
    struct fixture *f = *state;
    struct gw_tunnel *tunnel;
    pthread_t thread;
    void *well;
    size_t bytes;
    char byte;
    int status;
    assert_int_equal(
        gw_tunnel_open(f->client, GW_TUNNEL_OPTIONS(.job = 1, .port = 80), &tunnel, &f->error), 0);
    assert_int_equal(pthread_create(&thread, NULL, read_in_parent, tunnel), 0);
    for (int i = 0; i < 20; i++) {
        pid_t pid = fork();
        assert_true(pid >= 0);
        if (pid == 0) {
            alarm(60);
            CHILD_CHECK(gw_tunnel_read(tunnel, &byte, 1, &bytes, &f->error) == GW_ECLOSED);
            CHILD_CHECK(strstr(f->error.text, "belongs to the parent of this process"));
            CHILD_CHECK(gw_tunnel_write(tunnel, "y", 1, &f->error) == GW_ECLOSED);
            CHILD_CHECK(gw_tunnel_end(tunnel, &f->error) == GW_ECLOSED);
            gw_tunnel_close(tunnel);
            gw_client_close(f->client);
            _exit(0);
        }
        assert_int_equal(waitpid(pid, &status, 0), pid);
        assert_int_equal(status, 0);
    }
    assert_int_equal(gw_tunnel_write(tunnel, "x", 1, &f->error), 0);
    assert_int_equal(pthread_join(thread, &well), 0);
    assert_non_null(well);
    gw_tunnel_close(tunnel);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FAKE(get_and_gather_time_out_and_the_future_stays_usable),
        WITH_FAKE(uv_loop_drives_a_client_through_the_descriptor),
        WITH_FAKE(descriptor_is_readable_after_each_event_until_cleared),
        WITH_FAKE(calls_of_a_forked_child_fail_and_leave_the_parent_alone),
        WITH_FAKE(tunnel_closed_in_a_forked_child_stays_open_in_the_parent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
