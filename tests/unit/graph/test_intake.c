/* Intakes: each message counts once, whatever connection delivers it. */
#include "tests/unit/unit.h"

#include "graph/wire/intake.h"

static const struct gw_message counts = {.type = GW_MESSAGE_forget};
static const struct gw_message heartbeat = {.type = GW_MESSAGE_heartbeat};

static void take(struct gw_intake *intake, int new, int again)
{
    for (int i = 0; i < again + new; i++) {
        assert_int_equal(gw_intake_take(intake, &counts), i >= again);
        assert_true(gw_intake_take(intake, &heartbeat));
    }
}

static void intake_counts_each_message_of_a_connection_once(void **state)
{
    struct gw_intake intake = {0};
    (void)state;
    take(&intake, 5, 0);
    assert_int_equal(intake.taken, 5);
    assert_int_equal(gw_intake_say(&intake), 5);
    gw_intake_move(&intake);
    take(&intake, 2, 0);
    assert_int_equal(gw_intake_say(&intake), 7);
}

static void intake_drops_repeats_on_the_second_connection(void **state)
{
    struct gw_intake intake = {0};
    (void)state;
    take(&intake, 5, 0);
    assert_int_equal(gw_intake_say(&intake), 5);
    take(&intake, 3, 0); /* the connection revived before the answer */
    gw_intake_move(&intake);
    take(&intake, 2, 3);
    assert_int_equal(intake.taken, 10);
}

static void intake_resumes_if_the_second_connection_breaks(void **state)
{
    struct gw_intake intake = {0};
    (void)state;
    take(&intake, 1, 0);
    (void)gw_intake_say(&intake);
    take(&intake, 4, 0);
    gw_intake_move(&intake);
    take(&intake, 0, 2); /* of 4 */
    assert_int_equal(gw_intake_say(&intake), 5);
    take(&intake, 0, 2);
    take(&intake, 1, 0);
    gw_intake_move(&intake);
    take(&intake, 1, 1);
    assert_int_equal(intake.taken, 7);
}

static void failed_reconnect_leaves_the_intake_count_unchanged(void **state)
{
    struct gw_intake intake = {0};
    (void)state;
    take(&intake, 2, 0);
    assert_int_equal(gw_intake_say(&intake), 2);
    take(&intake, 2, 0);
    assert_int_equal(gw_intake_say(&intake), 4);
    take(&intake, 1, 0);
    gw_intake_move(&intake);
    take(&intake, 1, 1);
    assert_int_equal(intake.taken, 6);
}

/* If a peer learned on the first connection of a higher count than the second connection
 * announced, the peer would forget messages that the second connection needs. */
static void acknowledgements_pause_during_a_reconnect(void **state)
{
    struct gw_intake intake = {0};
    (void)state;
    take(&intake, 2, 0);
    assert_int_equal(gw_intake_forgettable(&intake), 2);
    assert_int_equal(gw_intake_say(&intake), 2);
    take(&intake, 3, 0);
    assert_int_equal(gw_intake_forgettable(&intake), 2);
    gw_intake_stay(&intake);
    assert_int_equal(gw_intake_forgettable(&intake), 5);
    assert_int_equal(gw_intake_say(&intake), 5);
    take(&intake, 1, 0);
    gw_intake_move(&intake);
    assert_int_equal(gw_intake_forgettable(&intake), 6);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(intake_counts_each_message_of_a_connection_once),
        cmocka_unit_test(intake_drops_repeats_on_the_second_connection),
        cmocka_unit_test(intake_resumes_if_the_second_connection_breaks),
        cmocka_unit_test(failed_reconnect_leaves_the_intake_count_unchanged),
        cmocka_unit_test(acknowledgements_pause_during_a_reconnect),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
