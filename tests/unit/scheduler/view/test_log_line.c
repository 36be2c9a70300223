/* Lines of the scheduler's log: jobs and workers, and no more lines than a person can read. */
#include "tests/unit/scheduler/sched_world.h"

#include <string.h>

/* The nth log line of the last step; NULL: there are fewer. */
static const char *line(const struct world *w, int n)
{
    for (size_t i = 0; i < w->effects.list.count; i++)
        if (w->effects.list.items[i].type == GW_EFFECT_LOG && n-- == 0)
            return w->effects.list.items[i].bytes.data;
    return NULL;
}

static void scheduler_log_has_a_line_per_job_and_worker(void **state)
{
    struct world *w = new_world_with((struct gw_sched_options){.owner = "alice"});
    (void)state;
    add_worker_with(w, 0, 2, "a", UINT64_C(3) << 30);
    assert_string_equal(line(w, 0), "worker a joined: 2 slots, 3.0 GiB");
    assert_null(line(w, 1));
    send_spec(w, (struct gw_msg_spec){.key = 1, .ranks = 2});
    assert_null(line(w, 0));
    submit(w, (struct chunk){1, 3, GW_SUBMIT_LAST, false, 0});
    assert_string_equal(line(w, 0), "job 1 (j) by c (alice): 3 tasks, gangs of up to 2 ranks");
    assert_null(line(w, 1));
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER}, .text = "gone"});
    assert_string_equal(line(w, 0), "worker a left: its connection closed");
    free_world(w);
}

/* A burst gets ten lines a second and one line for all other jobs. */
static void scheduler_log_sums_up_a_burst_of_jobs(void **state)
{
    enum { JOBS = 300 };
    struct world *w = new_world_with((struct gw_sched_options){.owner = "alice"});
    uint64_t lines = 0, told = 0, more, jobs, tasks;
    (void)state;
    for (uint64_t job = 1; job <= JOBS; job++) {
        send_spec(w, (struct gw_msg_spec){.key = job});
        submit(w, (struct chunk){job, 1, GW_SUBMIT_LAST | GW_SUBMIT_QUIET, false, 0});
        lines += line(w, 0) != NULL;
        assert_null(line(w, 1));
    }
    assert_int_equal(lines, 10);
    told = lines;
    pass(w, 999 * MS);
    assert_null(line(w, 0));
    pass(w, 1 * MS);
    assert_non_null(line(w, 0));
    assert_int_equal(
        sscanf(line(w, 0), "%lu more jobs with %lu tasks, up to job %lu", &more, &tasks, &jobs), 3);
    assert_int_equal(told + more, JOBS);
    assert_int_equal(tasks, more);
    assert_int_equal(jobs, JOBS);
    assert_non_null(strstr(line(w, 0), "up to job 300 by c (alice)"));
    send_spec(w, (struct gw_msg_spec){.key = JOBS + 1});
    submit(w, (struct chunk){JOBS + 1, 1, GW_SUBMIT_LAST, false, 0});
    assert_non_null(strstr(line(w, 0), "job 301 ("));
    free_world(w);
}

/* The name that a peer gives itself cannot add a line to the log. */
static void newline_in_a_name_does_not_split_a_log_line(void **state)
{
    struct world *w = new_world();
    (void)state;
    add_worker_with(w, 0, 1, "a\n2026 error: all is lost", UINT64_C(1) << 30);
    assert_string_equal(line(w, 0), "worker a?2026 error: all is lost joined: 1 slot, 1.0 GiB");
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scheduler_log_has_a_line_per_job_and_worker),
        cmocka_unit_test(scheduler_log_sums_up_a_burst_of_jobs),
        cmocka_unit_test(newline_in_a_name_does_not_split_a_log_line),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
