/* Scattered values in the scheduler's core: the memory of many small values, and limits that change
 * while the scheduler runs. */
#include "scheduler/core/requests/scattered.h"

#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/state.h"
#include "tests/unit/scheduler/sched_world.h"

#include <malloc.h>
#include <stdlib.h>

/* Provided by the sanitizers in such builds, where mallinfo2 has no data. */
size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));

static size_t allocated(void)
{
    return __sanitizer_get_current_allocated_bytes ? __sanitizer_get_current_allocated_bytes()
                                                   : mallinfo2().uordblks;
}

static void send(struct world *w, uint64_t request, const void *value, uint32_t bytes)
{
    struct gw_message message = {
        .type = GW_MESSAGE_scatter,
        .sequence = ++w->sequence[CLIENT],
        .scatter = {.request = request, .bytes = bytes, .value = {value, bytes}}};
    struct gw_event event = {.type = GW_EVENT_MESSAGE, .peer = {CLIENT}, .message = &message};
    event.now_ns = event.wall_ns = ++w->now_ns;
    /* Without the check of all invariants, which examines every value. */
    assert_int_equal(gw_sched_step(w->sched, &event, &w->effects), 0);
}

static void scatter(struct world *w, uint64_t request, const void *value, uint32_t bytes)
{
    send(w, request, value, bytes);
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_accepted)->accepted.request, request);
}

/* The counted size of a value must be near its real memory use, not a multiple of it. */
static void counted_memory_of_a_scattered_value_is_realistic(void **state)
{
    enum { WARM = 5000, COUNT = 8000, BYTES = 100 };
    struct world *w = new_world();
    (void)state;
    static const uint8_t value[BYTES];
    uint64_t request = 1;
    for (; request <= WARM;
         request++) /* by then, tables that double their size have room for all */
        scatter(w, request, value, BYTES);
    size_t before = allocated();
    for (; request <= COUNT; request++)
        scatter(w, request, value, BYTES);
    double each = (double)(allocated() - before) / (COUNT - WARM) - BYTES;
    gw_sched_check(w->sched);
    if (each > GW_SCATTERED_JOB_BYTES || each < GW_SCATTERED_JOB_BYTES / 2.)
        fail_msg("a value takes %.0f bytes beside its own, and is counted with %d", each,
                 GW_SCATTERED_JOB_BYTES);
    free_world(w);
}

static void limit_of_scattered_values_can_be_changed(void **state)
{
    static const uint8_t value[100];
    struct world *w = new_world();
    (void)state;
    scatter(w, 1, value, sizeof value);
    const uint64_t used = w->sched->scattered.bytes;
    gw_sched_term_limit(w->sched, &(struct gw_sched_limits){.scattered_bytes_max = used + 100});
    scatter(w, 2, value, sizeof value);
    gw_sched_term_limit(w->sched, &(struct gw_sched_limits){.scattered_bytes_max = 2 * used + 99});
    send(w, 3, value, sizeof value);
    assert_int_equal(must(w, CLIENT, GW_MESSAGE_rejected)->rejected.code, GW_ELIMIT);
    gw_sched_term_limit(w->sched, &(struct gw_sched_limits){0});
    scatter(w, 4, value, sizeof value);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counted_memory_of_a_scattered_value_is_realistic),
        cmocka_unit_test(limit_of_scattered_values_can_be_changed),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
