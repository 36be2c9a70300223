/* Backlogs: which messages are stored, which are dropped, and whether a connection can be resumed.
 */
#include "tests/unit/descriptors.h"
#include "tests/unit/unit.h"

#include "graph/wire/backlog.h"
#include "graph/wire/frame.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

static const struct gw_backlog_item *add(struct gw_backlog *backlog, uint64_t job, int fd)
{
    const struct gw_backlog_item *item = NULL;
    struct gw_message message = {.type = GW_MESSAGE_forget, .forget.job = job};
    assert_int_equal(gw_backlog_add(backlog, &message, &fd, fd >= 0, &item), 0);
    return item;
}

/* The job of an item. */
static uint64_t job_of(const struct gw_backlog_item *item)
{
    struct gw_arena arena = {0};
    struct gw_message message;
    assert_non_null(item);
    assert_int_equal(gw_message_decode(item->frame + GW_FRAME_HEADER_BYTES,
                                       item->bytes - GW_FRAME_HEADER_BYTES, &arena, &message, NULL),
                     0);
    gw_arena_deinit(&arena);
    return message.forget.job;
}

static void backlog_holds_unacknowledged_messages(void **state)
{
    struct gw_backlog *backlog = gw_backlog_new();
    assert_true(gw_backlog_can_reconnect(backlog, 0));
    assert_false(gw_backlog_can_reconnect(backlog, 1));
    assert_null(gw_backlog_item(backlog, 1));
    for (uint64_t i = 1; i <= 100; i++)
        assert_int_equal(job_of(add(backlog, i, -1)), i);
    uint64_t upto = 1; /* sent */
    for (uint64_t taken = 0; taken <= 100; taken += upto++ % 3) {
        assert_int_equal(gw_backlog_took(backlog, taken), 0);
        assert_true(gw_backlog_can_reconnect(backlog, taken));
        assert_true(taken == 0 || !gw_backlog_can_reconnect(backlog, taken - 1));
        assert_null(gw_backlog_item(backlog, taken));
        for (uint64_t i = taken + 1; i <= 100; i++)
            assert_int_equal(job_of(gw_backlog_item(backlog, i)), i);
        assert_null(gw_backlog_item(backlog, 101));
    }
    assert_int_equal(gw_backlog_took(backlog, 3), 0); /* acknowledged late: known already */
    assert_int_equal(gw_backlog_took(backlog, 101), GW_EPROTO);
    assert_int_equal(gw_backlog_took(backlog, 100), 0);
    assert_int_equal(job_of(add(backlog, 7, -1)), 7);
    assert_int_equal(job_of(gw_backlog_item(backlog, 101)), 7);
    gw_backlog_free(backlog);
}

static void heartbeats_are_not_counted_in_the_backlog(void **state)
{
    assert_false(gw_backlog_counts(&(struct gw_message){.type = GW_MESSAGE_heartbeat}));
    assert_true(gw_backlog_counts(&(struct gw_message){.type = GW_MESSAGE_assign}));
}

static void full_backlog_drops_its_oldest_messages(void **state)
{
    enum { MB = 1 << 20, MESSAGES = 80 };
    struct gw_backlog *backlog = gw_backlog_new();
    char *blob = calloc(1, MB);
    struct gw_message message = {.type = GW_MESSAGE_log_data};
    message.log_data.text = "";
    message.log_data.data = (struct gw_bin){blob, MB - 1000};
    const struct gw_backlog_item *item;
    for (int i = 0; i < MESSAGES; i++)
        assert_int_equal(gw_backlog_add(backlog, &message, NULL, 0, &item), 0);
    assert_true(gw_backlog_can_reconnect(backlog, 20));
    assert_false(gw_backlog_can_reconnect(backlog, 10));
    assert_null(gw_backlog_item(backlog, 10));
    assert_non_null(gw_backlog_item(backlog, 21));
    message.log_data.data.size = 2 * MB;
    assert_int_equal(gw_backlog_add(backlog, &message, NULL, 0, &item), GW_ELIMIT);
    assert_true(gw_backlog_can_reconnect(backlog, MESSAGES)); /* nothing was added */
    assert_false(gw_backlog_can_reconnect(backlog, MESSAGES + 1));
    free(blob);
    gw_backlog_free(backlog);
}

static void backlog_duplicates_and_closes_descriptors(void **state)
{
    struct gw_backlog *backlog = gw_backlog_new();
    int before = count_descriptors();
    int fd = memfd_create("test", MFD_CLOEXEC);
    const struct gw_backlog_item *item = add(backlog, 1, fd);
    assert_int_equal(item->fd_count, 1);
    assert_int_not_equal(item->fds[0], fd);
    close(fd);
    assert_int_equal(count_descriptors(), before + 1);
    assert_int_equal(gw_backlog_took(backlog, 1), 0);
    assert_int_equal(count_descriptors(), before);

    fd = memfd_create("test", MFD_CLOEXEC);
    for (uint64_t i = 0; i < 600; i++)
        (void)add(backlog, i, fd);
    close(fd);
    assert_true(count_descriptors() <= before + 512);
    assert_false(gw_backlog_can_reconnect(backlog, 1));
    gw_backlog_free(backlog);
    assert_int_equal(count_descriptors(), before);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(backlog_holds_unacknowledged_messages),
        cmocka_unit_test(heartbeats_are_not_counted_in_the_backlog),
        cmocka_unit_test(full_backlog_drops_its_oldest_messages),
        cmocka_unit_test(backlog_duplicates_and_closes_descriptors),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
