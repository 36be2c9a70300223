/* The journal: one commit covers what was appended in a turn; after closing nothing is called. */
#include "scheduler/store/journal.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <string.h>

#include <cmocka.h>

struct seen {
    uint64_t last;
    int calls;
};

static void test_on_committed(uint64_t number, void *arg)
{
    struct seen *seen = arg;
    seen->last = number;
    seen->calls++;
}

static void test_commits_a_turn_at_once(void **state)
{
    uv_loop_t loop;
    struct seen seen = {0};
    struct gw_journal *journal;
    struct gw_journal_callbacks callbacks = {test_on_committed, &seen};
    assert_int_equal(uv_loop_init(&loop), 0);
    assert_int_equal(gw_journal_open(&loop, &callbacks, &journal), 0);
    assert_int_equal(gw_journal_append(journal, 1, (struct gw_bin){"one", 3}), 0);
    assert_int_equal(gw_journal_append(journal, 2, (struct gw_bin){"three", 5}), 0);
    assert_int_equal(seen.calls, 0); /* never inside the call */
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(seen.calls, 1);
    assert_int_equal(seen.last, 2);
    assert_int_equal(gw_journal_bytes(journal), 4 + 3 + 4 + 5);

    assert_int_equal(gw_journal_append(journal, 3, (struct gw_bin){"x", 1}), 0);
    gw_journal_close(journal);
    uv_run(&loop, UV_RUN_DEFAULT);
    assert_int_equal(seen.calls, 1);
    assert_int_equal(uv_loop_close(&loop), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_commits_a_turn_at_once)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
