/* Single tasks: calls whose answer is not awaited, and which thread reads the connection. */
#include "tests/unit/client/fake_client.h"

#include "client/link/client.h"

#include <gangway/gangway.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>

FAKED(echo);
FAKED(never);
FAKED(refused);
FAKED(gone);
FAKED(leaves);

/* The fake scheduler stores the specs of only a few unfinished submissions. */
static pthread_mutex_t submitting = PTHREAD_MUTEX_INITIALIZER;

/* The fake scheduler answers none of these calls before the client sends another request. */
static void submit_without_options_returns_before_the_answer(void **state)
{
    struct fixture *f = *state;
    struct gw_future *future, *first, *second;
    struct gw_value *value;
    assert_int_equal(gw_submit(f->client, echo, NULL, GW_ARGS(gw_i64(1)), &future, &f->error), 0);
    gw_future_release(future);
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &first, &f->error), 0);
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &second, &f->error), 0);
    assert_int_equal(gw_future_job(second), 3);
    assert_int_equal(gw_future_job(first), 2);
    assert_int_equal(gw_future_cancel(first, false, NULL), 0);
    assert_int_equal(gw_future_get(first, 0, &value, &f->error), GW_ECANCELLED);
    gw_future_release(first);
    gw_future_release(second);

    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &future, &f->error), 0);
    gw_future_release(future); /* before its job is known */
    assert_int_equal(gw_submit(f->client, refused, NULL, GW_ARGS(), &future, &f->error), 0);
    assert_int_equal(gw_future_get(future, 0, &value, &f->error), GW_EINFEASIBLE);
    assert_string_equal(f->error.text, "too large");
    gw_future_release(future);
    assert_int_equal(
        gw_submit(f->client, refused, GW_OPTIONS(.retries = 1), GW_ARGS(), &future, &f->error),
        GW_EINFEASIBLE);                /* a call with options waits for its answer */
    while (count_of(f, "releases") < 4) /* the releases follow some milliseconds later */
        continue;
}

/* Each future is released before its submission is answered, and the scheduler receives each
 * release. */
static void released_future_is_reported_despite_late_acceptance(void **state)
{
    enum { CALLS = 200 };
    struct fixture *f = *state;
    struct gw_future *future;
    for (int i = 0; i <= CALLS; i++) {
        assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &future, &f->error), 0);
        gw_future_release(future);
        while (i == 0 && gw_fake_scheduler_releases(f->fake) < 1)
            sched_yield();
    }
    while (gw_fake_scheduler_releases(f->fake) <= CALLS) /* nothing else is sent to the scheduler */
        sched_yield();
}

static void unanswered_submissions_fail_if_the_scheduler_dies(void **state)
{
    struct fixture *f = *state;
    struct gw_future *first, *second, *last = NULL;
    struct gw_value *value;
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &first, &f->error), 0);
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &second, &f->error), 0);
    int rc = gw_submit(f->client, gone, NULL, GW_ARGS(), &last,
                       &f->error); /* reported here, or by `last` */
    assert_int_equal(gw_future_get(second, 0, &value, &f->error), GW_ECLOSED);
    if (rc == 0)
        rc = gw_future_get(last, 0, &value, &f->error);
    assert_int_equal(rc, GW_ECLOSED);
    assert_int_equal(gw_future_job(second), 0);
    assert_int_equal(gw_future_get(first, 0, &value, &f->error), GW_ECLOSED);
    gw_future_release(first);
    gw_future_release(second);
    gw_future_release(last);
}

static int64_t echo_of(struct fixture *f, int64_t n)
{
    struct gw_future *future;
    struct gw_value *list;
    int64_t got = -1;
    struct gw_error error;
    pthread_mutex_lock(&submitting);
    assert_int_equal(gw_submit(f->client, echo, NULL, GW_ARGS(gw_i64(n)), &future, &error), 0);
    pthread_mutex_unlock(&submitting);
    assert_int_equal(gw_future_get(future, 0, &list, &error), 0);
    assert_int_equal(gw_value_get_i64(gw_value_at(list, 0), &got, NULL), 0);
    gw_value_unref(list);
    gw_future_release(future);
    return got;
}

/* Waits until the waiting thread is the reader. */
static void be_lent(struct fixture *f)
{
    int64_t i = 0;
    do
        assert_int_equal(echo_of(f, i), i);
    while (i++, !atomic_load(&f->client->turn.lent));
}

static void *get_never(void *arg)
{
    struct fixture *f = arg;
    struct gw_error error;
    struct gw_future *future;
    struct gw_value *value;
    if (gw_submit(f->client, never, NULL, GW_ARGS(), &future, &error) < 0)
        return NULL;
    (void)gw_future_get(future, 0, &value, &error);
    return future;
}

/* Or until that thread sleeps: on a slow machine, the loop thread may have taken the link back
 * before. */
static void wait_for_reader(struct fixture *f)
{
    bool reading = false;
    while (!reading) {
        pthread_mutex_lock(&f->client->turn.lock);
        reading = f->client->turn.reading || f->client->turn.waiter;
        pthread_mutex_unlock(&f->client->turn.lock);
        sched_yield();
    }
}

static void waiting_thread_reads_the_connection_itself(void **state)
{
    struct fixture *f = *state;
    struct gw_future *future;
    be_lent(f);
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &future, &f->error), 0);
    assert_int_equal(gw_future_wait(future, 1000000), GW_ETIMEDOUT);
    gw_future_release(future);
    be_lent(f);
    assert_int_equal(gw_submit(f->client, echo, NULL, GW_ARGS(gw_i64(5)), &future, &f->error), 0);
    while (gw_future_state(future) == GW_PENDING) /* polling also receives the answer */
        sched_yield();
    gw_future_release(future);
    while (atomic_load(&f->client->turn.lent)) /* the link returns by itself if no thread reads */
        sched_yield();
}

/* One thread reads for a long time and delivers the other thread's answers; the loop thread
 * takes over afterwards. */
static void long_waiting_reader_delivers_answers_to_other_threads(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    void *future;
    be_lent(f);
    assert_int_equal(pthread_create(&thread, NULL, get_never, f), 0);
    wait_for_reader(f);
    for (int64_t i = 0; i < 100; i++)
        assert_int_equal(echo_of(f, i), i);
    gw_client_close(f->client); /* and wakes the reader */
    f->client = NULL;
    assert_int_equal(pthread_join(thread, &future), 0);
    assert_non_null(future);
    assert_int_equal(gw_future_state(future), GW_FAILED);
    gw_future_release(future);
}

static void *echo_some(void *arg)
{
    struct fixture *f = arg;
    for (int64_t i = 0; i < 200; i++)
        assert_int_equal(echo_of(f, i), i);
    return NULL;
}

static void six_waiting_threads_share_the_connection(void **state)
{
    enum { THREADS = 6 };
    struct fixture *f = *state;
    pthread_t threads[THREADS];
    be_lent(f);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, echo_some, f), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_join(threads[i], NULL), 0);
    be_lent(f); /* again, now that only one thread waits */
}

static void cancel_completes_during_a_read_by_another_thread(void **state)
{
    struct fixture *f = *state;
    struct gw_future *future;
    struct gw_value *value;
    pthread_t thread;
    void *other;
    assert_int_equal(gw_submit(f->client, never, NULL, GW_ARGS(), &future, &f->error), 0);
    be_lent(f);
    assert_int_equal(pthread_create(&thread, NULL, get_never, f), 0);
    wait_for_reader(f);
    assert_int_equal(gw_future_cancel(future, false, &f->error), 0);
    assert_int_equal(gw_future_get(future, 0, &value, &f->error), GW_ECANCELLED);
    gw_future_release(future);
    gw_client_close(f->client);
    f->client = NULL;
    assert_int_equal(pthread_join(thread, &other), 0);
    gw_future_release(other);
}

static void *wait_in_turn(void *arg)
{
    struct gw_waiter *waiter = ((void **)arg)[1];
    size_t item;
    assert_int_equal(gw_reader_handoff_wait(((void **)arg)[0], waiter, UINT64_MAX, &item), 0);
    return NULL;
}

/* A waiter that already sleeps would not read, even if the loop thread has delivered all
 * answers. */
static void sleeping_waiter_does_not_get_the_connection(void **state)
{
    (void)state;
    struct gw_reader_handoff turn;
    struct gw_waiter waiter;
    pthread_t thread;
    bool asleep = false;
    gw_reader_handoff_init(&turn);
    gw_waiter_init(&waiter, NULL);
    assert_int_equal(
        pthread_create(&thread, NULL, wait_in_turn, (void *[]){(void *)&turn, (void *)&waiter}), 0);
    while (!asleep) {
        pthread_mutex_lock(&turn.lock);
        asleep = turn.waiter == &waiter;
        pthread_mutex_unlock(&turn.lock);
    }
    assert_false(gw_reader_handoff_is_wanted(&turn));
    assert_false(gw_reader_handoff_lend(&turn, NULL));
    gw_waiter_fire(&waiter, 0);
    assert_int_equal(pthread_join(thread, NULL), 0);
    assert_true(gw_reader_handoff_is_wanted(&turn));
    assert_true(gw_reader_handoff_lend(&turn, NULL));
    assert_int_equal(gw_reader_handoff_look(&turn, false), GW_READER_HANDOFF_WATCH);
    gw_reader_handoff_suspend(&turn);
    assert_int_equal(gw_reader_handoff_look(&turn, false), GW_READER_HANDOFF_BACK);
    gw_reader_handoff_resume(&turn);
    assert_false(gw_reader_handoff_lend(&turn, NULL)); /* no thread has slept since */
    gw_reader_handoff_deinit(&turn);
}

/* The reader has given up after the connection was handed over. A second handover would be
 * refused to the loop thread if another thread had just begun to read, and the loop thread reads
 * what it is refused. */
static void connection_handoff_happens_once_until_recall(void **state)
{
    (void)state;
    struct gw_reader_handoff turn;
    struct gw_waiter waiter;
    size_t item;
    gw_reader_handoff_init(&turn);
    gw_waiter_init(&waiter, NULL);
    assert_int_equal(gw_reader_handoff_wait(&turn, &waiter, 0, &item), GW_ETIMEDOUT);
    assert_true(gw_reader_handoff_is_wanted(&turn));
    assert_true(gw_reader_handoff_lend(&turn, NULL));
    pthread_mutex_lock(&turn.lock);
    turn.reading = true; /* another thread: there is no link here */
    pthread_mutex_unlock(&turn.lock);
    assert_int_equal(gw_reader_handoff_wait(&turn, &waiter, 0, &item), GW_ETIMEDOUT);
    assert_false(gw_reader_handoff_is_wanted(&turn));
    pthread_mutex_lock(&turn.lock);
    turn.reading = false;
    pthread_mutex_unlock(&turn.lock);
    gw_reader_handoff_recall(&turn);
    assert_int_equal(gw_reader_handoff_look(&turn, false), GW_READER_HANDOFF_BACK);
    assert_true(gw_reader_handoff_is_wanted(&turn)); /* a thread that slept meanwhile counts then */
    gw_reader_handoff_deinit(&turn);
}

static void handoff_works_again_after_a_reconnect(void **state)
{
    struct fixture *f = *state;
    const struct gw_client_options options =
        GW_INIT(gw_client_options, .address = gw_fake_scheduler_address(f->fake));
    struct gw_future *future;
    struct gw_value *list;
    int64_t got;
    gw_client_close(f->client);
    f->client = NULL;
    assert_int_equal(gw_client_open(&options, &f->client, &f->error), 0);
    be_lent(f);
    assert_int_equal(gw_submit(f->client, leaves, NULL, GW_ARGS(gw_i64(7)), &future, &f->error), 0);
    assert_int_equal(gw_future_get(future, 0, &list, &f->error), 0);
    assert_int_equal(gw_value_get_i64(gw_value_at(list, 0), &got, NULL), 0);
    assert_int_equal(got, 7);
    gw_value_unref(list);
    gw_future_release(future);
    be_lent(f);
}

static void scheduler_exit_fails_the_future_of_the_reading_thread(void **state)
{
    struct fixture *f = *state;
    pthread_t thread;
    void *future;
    be_lent(f);
    assert_int_equal(pthread_create(&thread, NULL, get_never, f), 0);
    wait_for_reader(f);
    gw_fake_scheduler_leave(f->fake);
    assert_int_equal(pthread_join(thread, &future), 0);
    assert_non_null(future);
    assert_int_equal(gw_future_state(future), GW_FAILED);
    gw_future_release(future);
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    const struct CMUnitTest tests[] = {
        WITH_FAKE(submit_without_options_returns_before_the_answer),
        WITH_FAKE(released_future_is_reported_despite_late_acceptance),
        WITH_FAKE(unanswered_submissions_fail_if_the_scheduler_dies),
        WITH_FAKE(waiting_thread_reads_the_connection_itself),
        WITH_FAKE(long_waiting_reader_delivers_answers_to_other_threads),
        WITH_FAKE(six_waiting_threads_share_the_connection),
        WITH_FAKE(cancel_completes_during_a_read_by_another_thread),
        cmocka_unit_test(sleeping_waiter_does_not_get_the_connection),
        cmocka_unit_test(connection_handoff_happens_once_until_recall),
        WITH_FAKE(handoff_works_again_after_a_reconnect),
        WITH_FAKE(scheduler_exit_fails_the_future_of_the_reading_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
