/* Connections without a hello: the oldest is closed if there are too many. */
#include "tests/unit/unit.h"

#include "graph/wire/greeting.h"

enum { STRANGERS = 3 * GW_GREETINGS_MAX };

static void full_greeting_list_drops_its_oldest_connection(void **state)
{
    struct gw_greetings greetings = {0};
    static struct gw_greeting all[STRANGERS];
    (void)state;
    for (int i = 0; i < STRANGERS; i++) {
        const struct gw_greeting *gone = gw_greetings_add(&greetings, &all[i], &all[i]);
        assert_ptr_equal(gone, i < GW_GREETINGS_MAX ? NULL : &all[i - GW_GREETINGS_MAX]);
        assert_true(greetings.count <= GW_GREETINGS_MAX);
    }
    assert_true(greetings.crowded);
    for (int i = 0; i < STRANGERS; i++) /* closed connections are on no list */
        gw_greetings_remove(&greetings, &all[i]);
    assert_int_equal(greetings.count, 0);
    assert_null(greetings.first);
    assert_null(greetings.last);
    assert_false(greetings.crowded);
}

static void completed_greeting_frees_its_place(void **state)
{
    struct gw_greetings greetings = {0};
    static struct gw_greeting all[GW_GREETINGS_MAX + 1];
    (void)state;
    for (int i = 0; i < GW_GREETINGS_MAX; i++)
        assert_null(gw_greetings_add(&greetings, &all[i], &all[i]));
    gw_greetings_remove(&greetings, &all[GW_GREETINGS_MAX / 2]);
    assert_null(gw_greetings_add(&greetings, &all[GW_GREETINGS_MAX], NULL));
    assert_ptr_equal(gw_greetings_add(&greetings, &all[GW_GREETINGS_MAX / 2], NULL), &all[0]);
    assert_ptr_equal(greetings.first->arg, &all[1]);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(full_greeting_list_drops_its_oldest_connection),
        cmocka_unit_test(completed_greeting_frees_its_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
