/* One value, many threads: counts are atomic, and the last thread to release it frees it once. */
#include "tests/unit/unit.h"

#include <gangway/value.h>
#include <pthread.h>
#include <stdlib.h>

enum { THREADS = 4, ROUNDS = 20000 };

static int released;

static void count_release(void *data, size_t bytes)
{
    released++; /* by one thread, after all others have released it */
    free(data);
}

static void *hold_and_read(void *arg)
{
    struct gw_value *shared = arg;
    int64_t sum = 0;
    for (int i = 0; i < ROUNDS; i++) {
        struct gw_value *list = gw_list(), *first = gw_value_at(shared, 0);
        int64_t number;
        (void)gw_list_push(list, gw_value_ref(shared));
        (void)gw_list_push(list, gw_value_ref(first));
        (void)gw_list_push(list, gw_nil());
        if (gw_value_get_i64(gw_value_at(gw_value_at(list, 0), 0), &number, NULL) == 0)
            sum += number;
        gw_value_unref(list);
    }
    gw_value_unref(shared);
    return sum == (int64_t)ROUNDS * 7 ? NULL : shared;
}

static void value_shared_by_threads_is_freed_once(void **state)
{
    pthread_t threads[THREADS];
    struct gw_value *shared = gw_list();
    assert_int_equal(gw_list_push(shared, gw_i64(7)), 0);
    assert_int_equal(gw_list_push(shared, gw_bytes_owned(malloc(8), 8, count_release)), 0);
    for (int i = 0; i < THREADS; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, hold_and_read, gw_value_ref(shared)), 0);
    gw_value_unref(shared);
    for (int i = 0; i < THREADS; i++) {
        void *wrong;
        assert_int_equal(pthread_join(threads[i], &wrong), 0);
        assert_null(wrong);
    }
    assert_int_equal(released, 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(value_shared_by_threads_is_freed_once),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
