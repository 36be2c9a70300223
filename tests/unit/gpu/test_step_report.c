/* The summary of what ranks report of their steps. */
#include "tests/unit/gpu/comm_world.h"
#include "tests/unit/unit.h"

#include <gangway/step_report.h>
#include <string.h>

static int rank_reports(struct world_rank *self)
{
    struct gw_step_report report = {0};
    struct gw_step_summary summary;
    char text[GW_STEP_REPORT_TEXT_MAX];
    RANK_CHECK_RC(gw_step_report_reduce(&report, self->comm, &summary, NULL), GW_EINVAL);
    for (int step = 0; step <= self->rank; step++) {
        gw_step_report_phase(&report, GW_STEP_DATA);
        gw_step_report_phase(&report, GW_STEP_OPTIMIZER);
        gw_step_report_end(&report);
    }
    RANK_CHECK(report.ns[GW_STEP_DATA] > 0 && report.ns[GW_STEP_OPTIMIZER] > 0);
    RANK_CHECK(report.ns[GW_STEP_FORWARD] == 0 && report.steps == self->rank + 1);

    for (int i = 0; i < GW_STEP_PHASES; i++) /* known times */
        report.ns[i] = (uint64_t)report.steps * 1000000 * (i == GW_STEP_DATA ? 1 + self->rank : 1);
    RANK_CHECK_RC(gw_step_report_reduce(&report, self->comm, &summary, NULL), 0);
    RANK_CHECK(summary.steps == 1);
    RANK_CHECK(summary.longest_rank[GW_STEP_DATA] == 2 && summary.longest_ns[GW_STEP_DATA] == 3e6);
    gw_step_report_format(&summary, text);
    RANK_CHECK(strcmp(text,
                      "step 6.0 ms: data 2.0 ms (33%), forward 1.0 ms (17%), backward 1.0 ms "
                      "(17%), exposed communication 1.0 ms (17%), optimizer 1.0 ms (17%)") == 0);
    return 0;
}

static void summary_names_the_rank_on_which_a_phase_takes_longest(void **state)
{
    struct world world = {.hooks = &comm_host_hooks, .ranks = 3, .function = rank_reports};
    assert_int_equal(world_run(&world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(summary_names_the_rank_on_which_a_phase_takes_longest)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
