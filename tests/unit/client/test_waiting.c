/* Waiting for futures with a timeout. */
#include "tests/unit/client/fake_client.h"

#include <gangway/gangway.h>
#include <string.h>

#define S(n) ((uint64_t)(n)*1000000000)

FAKED(echo);
FAKED(never);
FAKED(large);

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
    assert_non_null(strstr(f->error.text, "did not arrive within 0.001 s"));
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

int main(void)
{
    const struct CMUnitTest tests[] = {
        WITH_FAKE(get_and_gather_time_out_and_the_future_stays_usable),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
