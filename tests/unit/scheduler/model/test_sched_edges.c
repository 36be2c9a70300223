/* The target row of each dependency in jobs whose rows have very different numbers of dependencies.
 * gw_sched_check examines every dependency after each step; this test provides some. */
#include "tests/unit/scheduler/sched_world.h"

#include <stdlib.h>

enum { ROWS = 3000, EDGES_MAX = 60000 };

static uint32_t zeros[ROWS], counts[ROWS], from[EDGES_MAX], ranks[EDGES_MAX];
static uint64_t jobs[EDGES_MAX];

/* A chunk of rows behind `base` others; edges_of returns how many dependencies on earlier rows a
 * row has. */
static void submit_rows(struct world *w, uint32_t base, uint32_t rows, uint32_t flags,
                        uint32_t (*edges_of)(uint32_t row))
{
    uint32_t edges = 0, random = 1;
    for (uint32_t i = 0; i < rows; i++) {
        counts[i] = edges_of(base + i);
        for (uint32_t k = 0; k < counts[i]; k++) {
            random = random * 1103515245 + 12345;
            assert_true(edges < EDGES_MAX);
            from[edges++] = (random >> 8) % (base + i);
        }
    }
    struct gw_message message = {.type = GW_MESSAGE_submit};
    message.submit = (struct gw_msg_submit){
        .request = 1,
        .flags = flags,
        .name = "",
        .spec = {zeros, rows},
        .args_size = {zeros, rows},
        .args = {"", 0},
        .dep_count = {counts, rows},
        .dep_job = {jobs, edges},
        .dep_index = {from, edges},
        .dep_rank = {ranks, edges},
        .names = {"", 0},
    };
    say(w, CLIENT, message);
    assert_null(sent(w, CLIENT, GW_MESSAGE_rejected, 0));
}

static void submit_two_chunks(uint32_t (*edges_of)(uint32_t row))
{
    struct world *w = new_world();
    send_spec(w, (struct gw_msg_spec){.key = 1});
    submit_rows(w, 0, ROWS / 2, 0, edges_of);
    submit_rows(w, ROWS / 2, ROWS - ROWS / 2, GW_SUBMIT_LAST, edges_of);
    assert_non_null(sent(w, CLIENT, GW_MESSAGE_accepted, 0));
    free_world(w);
}

static uint32_t alike(uint32_t row)
{
    return row ? 2 : 0;
}

/* Long stretches without a dependency, then a row with enough of them for several blocks. */
static uint32_t few_with_many(uint32_t row)
{
    return row % 700 == 699 ? 3000 : 0;
}

static uint32_t more_and_more(uint32_t row)
{
    return row / 100;
}

static uint32_t crowded_ends(uint32_t row)
{
    uint32_t place = row % 500;
    return row && (place < 3 || place > 496) ? 90 : place % 50 == 49;
}

static void chunks_of_equal_tasks_find_their_dependencies(void **state)
{
    (void)state;
    submit_two_chunks(alike);
}

static void chunks_with_few_large_tasks_find_their_dependencies(void **state)
{
    (void)state;
    submit_two_chunks(few_with_many);
}

static void chunks_of_growing_tasks_find_their_dependencies(void **state)
{
    (void)state;
    submit_two_chunks(more_and_more);
}

static void chunks_with_large_last_tasks_find_their_dependencies(void **state)
{
    (void)state;
    submit_two_chunks(crowded_ends);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(chunks_of_equal_tasks_find_their_dependencies),
        cmocka_unit_test(chunks_with_few_large_tasks_find_their_dependencies),
        cmocka_unit_test(chunks_of_growing_tasks_find_their_dependencies),
        cmocka_unit_test(chunks_with_large_last_tasks_find_their_dependencies),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
