/* Targets are in the order of their rows, for a few of many rows as well as for all of them. */
#include "tests/unit/unit.h"

#include "client/submit/targets.h"

#include <string.h>

enum { NODES = 1000, WANTED_MAX = 1500 };

/* Row r is node (r * 7 + 3) % NODES; nodes from `rows` on have no row. */
static struct gw_graph_rows make_rows(uint32_t *row_of_node, uint32_t rows)
{
    for (uint32_t r = 0; r < NODES; r++)
        row_of_node[(r * 7 + 3) % NODES] = r < rows ? r : UINT32_MAX;
    return (struct gw_graph_rows){.count = rows, .node_count = NODES, .row_of_node = row_of_node};
}

static void check_sorted(const struct gw_targets *targets, const struct gw_graph_rows *rows,
                         const gw_node *nodes)
{
    for (uint32_t i = 0; i < targets->count; i++) {
        const struct gw_target *target = &targets->items[i];
        assert_int_equal(target->row, rows->row_of_node[nodes[target->at].index]);
        assert_int_equal(targets->rows[i], target->row);
        if (i == 0)
            continue;
        assert_true(target->row >= target[-1].row);
        if (target->row == target[-1].row) /* a row requested twice: in the requested order */
            assert_true(target->at > target[-1].at);
    }
}

static void targets_are_sorted_by_graph_row(void **state)
{
    static const uint32_t counts[] = {0, 1, 2, 60, 62, 63, 500, NODES, WANTED_MAX};
    static uint32_t row_of_node[NODES];
    static gw_node nodes[WANTED_MAX];
    struct gw_error error;
    (void)state;
    const struct gw_graph_rows all = make_rows(row_of_node, NODES);
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++) {
        struct gw_targets targets;
        for (uint32_t k = 0; k < counts[i]; k++)
            nodes[k].index = k * 13 % NODES;
        assert_int_equal(gw_targets_init(&targets, &all, nodes, counts[i], &error), 0);
        assert_int_equal(targets.count, counts[i]);
        check_sorted(&targets, &all, nodes);
        gw_targets_deinit(&targets);
    }
}

static void targets_without_a_task_are_sorted_last(void **state)
{
    static const uint32_t heads[] = {0, 1, 300, NODES};
    static uint32_t row_of_node[NODES];
    static gw_node nodes[WANTED_MAX];
    struct gw_error error;
    (void)state;
    for (size_t i = 0; i < sizeof heads / sizeof *heads; i++) {
        struct gw_targets targets;
        const struct gw_graph_rows head = make_rows(row_of_node, heads[i]);
        for (uint32_t k = 0; k < NODES; k++)
            nodes[k].index = NODES - 1 - k;
        assert_int_equal(gw_targets_init_head(&targets, &head, nodes, NODES, &error), 0);
        check_sorted(&targets, &head, nodes);
        for (uint32_t k = 0; k < NODES; k++)
            assert_int_equal(targets.rows[k] == UINT32_MAX, k >= heads[i]);
        gw_targets_deinit(&targets);
    }
}

static void target_outside_the_graph_is_refused(void **state)
{
    static uint32_t row_of_node[NODES];
    const struct gw_graph_rows rows = make_rows(row_of_node, NODES - 1);
    const gw_node without = {((NODES - 1) * 7 + 3) % NODES}, other = {NODES};
    struct gw_targets targets;
    struct gw_error error;
    (void)state;
    assert_int_equal(gw_targets_init(&targets, &rows, &without, 1, &error), GW_EINVAL);
    gw_targets_deinit(&targets);
    assert_int_equal(gw_targets_init(&targets, &rows, &other, 1, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "node 1000 is not a task of this graph"));
    gw_targets_deinit(&targets);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(targets_are_sorted_by_graph_row),
        cmocka_unit_test(targets_without_a_task_are_sorted_last),
        cmocka_unit_test(target_outside_the_graph_is_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
