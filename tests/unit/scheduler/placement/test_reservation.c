/* The reservation of a waiting gang: the slots reserved for it, the tasks that may use them
 * nevertheless, and how waiting gangs gain priority. */
#include "tests/unit/scheduler/sched_world.h"

#define SECOND (1000 * MS)

enum { TASKS_MAX = 32 };

/* The running tasks, in the order of their placement. */
struct runs {
    uint64_t attempt[TASKS_MAX];
    int worker[TASKS_MAX];
    uint32_t ranks[TASKS_MAX];
    int count;
};

/* Stores all assignments of the last step; returns how many rows there were. */
static int note(const struct world *w, struct runs *runs)
{
    int rows = 0;
    for (int worker = 0; worker < 4; worker++) {
        const struct gw_message *assign;
        for (int n = 0; (assign = sent(w, WORKER + (uint64_t)worker, GW_MESSAGE_assign, n)); n++)
            for (uint32_t i = 0; i < assign->assign.attempt.count; i++, rows++) {
                assert_true(runs->count < TASKS_MAX);
                runs->attempt[runs->count] = attempt_in(assign, i);
                runs->ranks[runs->count] = gw_col32_at(assign->assign.rank, i);
                runs->worker[runs->count++] = worker;
            }
    }
    return rows;
}

/* A job of `count` equal tasks or gangs; returns how many rows were assigned at once. */
static int add(struct world *w, struct runs *runs, struct gw_msg_spec spec, uint32_t rows)
{
    static uint64_t request;
    spec.key = ++request;
    send_spec(w, spec);
    submit(w, (struct chunk){spec.key, rows, GW_SUBMIT_LAST, false, 0});
    return note(w, runs);
}

static int end(struct world *w, struct runs *runs, int i)
{
    finish(w, runs->worker[i], runs->attempt[i], runs->ranks[i], 1);
    return note(w, runs);
}

static void started(struct world *w, const struct runs *runs, int i)
{
    say(w, WORKER + (uint64_t)runs->worker[i],
        (struct gw_message){
            .type = GW_MESSAGE_started,
            .started = {.attempt = {&runs->attempt[i], 1}, .rank = {&runs->ranks[i], 1}}});
}

static int note_after(struct world *w, struct runs *runs, uint64_t ns)
{
    pass(w, ns);
    return note(w, runs);
}

static void free_slots_are_reserved_for_a_waiting_gang(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    (void)state;
    add_worker(w, 0, 3, "a");
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 3), 3);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 3}, 1), 0);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 2), 0); /* comes later than the gang */
    assert_int_equal(end(w, &runs, 1), 0);
    assert_int_equal(end(w, &runs, 0), 0);
    assert_int_equal(end(w, &runs, 2), 3);
    assert_int_equal(runs.ranks[5], 2);
    free_world(w);
}

static void slots_outside_the_reservation_run_other_tasks(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    (void)state;
    add_worker(w, 0, 3, "a");
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.slots = 1}, 3), 3);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 2}, 1), 0);
    assert_int_equal(end(w, &runs, 0), 0);
    add_worker(w, 1, 1, "b"); /* a rank could go there, and then both run: one on each worker */
    assert_int_equal(note(w, &runs), 2);
    free_world(w);

    w = new_world();
    runs.count = 0;
    add_worker(w, 0, 2, "a");
    add_worker(w, 1, 2, "b");
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 4), 4);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 2, .slots = 2}, 1), 0);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 2), 0);
    add_worker(w, 2, 1, "c"); /* too small for a rank */
    assert_int_equal(note(w, &runs), 1);
    assert_int_equal(runs.worker[4], 2);
    free_world(w);
}

static void task_with_a_short_time_limit_uses_reserved_slots(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    const uint64_t grace_ns = SECOND;
    (void)state;
    add_worker(w, 0, 2, "a");
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.time_limit_ns = 10 * SECOND}, 1), 1);
    started(w, &runs, 0);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.time_limit_ns = 60 * SECOND}, 1), 1);
    started(w, &runs, 1);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 2}, 1), 0);
    assert_int_equal(end(w, &runs, 0), 0);
    (void)note_after(w, &runs, SECOND); /* 59 s are left */
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 1), 0);
    assert_int_equal(
        add(w, &runs, (struct gw_msg_spec){.time_limit_ns = 59 * SECOND, .grace_ns = grace_ns}, 1),
        0);
    assert_int_equal(
        add(w, &runs, (struct gw_msg_spec){.time_limit_ns = 40 * SECOND, .grace_ns = grace_ns}, 1),
        1);
    assert_int_equal(end(w, &runs, 1), 0); /* the gang waits only for the task that was let in */
    assert_int_equal(
        add(w, &runs, (struct gw_msg_spec){.time_limit_ns = 40 * SECOND, .grace_ns = grace_ns}, 1),
        0);
    assert_int_equal(end(w, &runs, 2), 2);
    free_world(w);
}

static void reserved_slots_stay_free_if_a_task_has_no_time_limit(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    (void)state;
    add_worker(w, 0, 2, "a");
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 2), 2);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 2}, 1), 0);
    assert_int_equal(end(w, &runs, 0), 0);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.time_limit_ns = 1, .grace_ns = 1}, 1), 0);
    assert_int_equal(end(w, &runs, 1), 2);
    free_world(w);
}

static void smaller_gangs_take_at_most_what_the_first_needs(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    (void)state;
    add_worker(w, 0, 2, "a");
    add_worker(w, 1, 2, "b");
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 4), 4);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 4}, 1), 0);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 2}, 3), 0);
    for (int pair = 0; pair < 4; pair += 2) { /* 2 of the small gangs start */
        assert_int_equal(end(w, &runs, pair), 0);
        assert_int_equal(end(w, &runs, pair + 1), 2);
    }
    for (int rank = 4; rank < 8; rank++)
        say(w, WORKER + (uint64_t)runs.worker[rank],
            (struct gw_message){.type = GW_MESSAGE_rank_ready,
                                .rank_ready = {runs.attempt[rank], runs.ranks[rank], {"", 0}}});
    for (int rank = 4; rank < 7; rank++)
        assert_int_equal(end(w, &runs, rank), 0); /* the third one would fit */
    assert_int_equal(end(w, &runs, 7), 4);
    free_world(w);
}

static void gang_of_a_lower_priority_does_not_take_slots_of_the_first(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    (void)state;
    add_worker(w, 0, 2, "a");
    add_worker(w, 1, 2, "b");
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 4), 4);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 4}, 1), 0);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 2, .priority = -1}, 1), 0);
    assert_int_equal(end(w, &runs, 0), 0);
    assert_int_equal(end(w, &runs, 1), 0); /* the second gang would fit */
    assert_int_equal(end(w, &runs, 2), 0);
    assert_int_equal(end(w, &runs, 3), 4);
    free_world(w);
}

static void ranks_go_to_the_workers_that_become_free_first(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    (void)state;
    add_worker(w, 0, 1, "a");
    add_worker(w, 1, 1, "b");
    add_worker(w, 2, 1, "c");
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 3), 3);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 2}, 1), 0);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 3), 0);
    /* Whichever two were reserved: the two that end first are used. */
    assert_int_equal(end(w, &runs, 1), 0);
    assert_int_equal(end(w, &runs, 2), 2);
    assert_true(runs.worker[3] != runs.worker[0] && runs.worker[4] != runs.worker[0]);
    free_world(w);
}

/* A place goes as a whole to the first worker of its host with enough free slots; free slots at
 * another place do not matter. */
static void rank_goes_to_the_first_free_worker_of_its_host(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    (void)state;
    add_worker(w, 0, 2, "h");
    add_worker(w, 1, 2, "h");
    add_worker(w, 2, 1, "k");
    for (int i = 0; i < 2; i++)
        assert_int_equal(add(w, &runs, (struct gw_msg_spec){.slots = 2}, 1), 1);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.workers = "k"}, 1), 1);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 3, .workers = "k:1,h:2"}, 1), 0);
    int second =
        runs.worker[0] == 1 ? 0 : 1; /* the task at worker 1; slots are reserved at worker 0 */
    assert_int_equal(end(w, &runs, second), 0);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 1),
                     0); /* slots are reserved there now */
    assert_int_equal(end(w, &runs, 2), 3);
    for (int i = 3; i < 6; i++)
        assert_int_equal(runs.worker[i], runs.ranks[i] == 0 ? 2 : 1);
    free_world(w);
}

static void cancelling_the_gang_ends_its_reservation(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    (void)state;
    add_worker(w, 0, 2, "a");
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 2), 2);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 2}, 1), 0);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 1), 0);
    assert_int_equal(end(w, &runs, 0), 0);
    say(w, CLIENT,
        (struct gw_message){.type = GW_MESSAGE_cancel,
                            .cancel = {.job = 2, .index = GW_INDEX_ALL}});
    assert_int_equal(note(w, &runs), 1);
    free_world(w);
}

static void reservation_moves_if_its_worker_is_lost(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    (void)state;
    add_worker(w, 0, 1, "a");
    add_worker(w, 1, 1, "b");
    add_worker(w, 2, 1, "c");
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 3), 3);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 2}, 1), 0);
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER + 0}});
    assert_int_equal(note(w, &runs), 0); /* the lost task comes before the gang */
    add_worker(w, 3, 1, "d");
    assert_int_equal(note(w, &runs), 1);
    assert_int_equal(end(w, &runs, 1), 0);
    assert_int_equal(end(w, &runs, 2), 2);
    free_world(w);
}

static void higher_priority_task_ignores_a_reservation(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    (void)state;
    add_worker(w, 0, 2, "a");
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){0}, 2), 2);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 2}, 1), 0);
    assert_int_equal(end(w, &runs, 0), 0);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.priority = 1}, 1), 1);
    assert_int_equal(end(w, &runs, 1), 0);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.priority = 1, .ranks = 2}, 1), 0);
    assert_int_equal(end(w, &runs, 2), 2);
    free_world(w);
}

static void waiting_gang_gains_priority_with_time(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    (void)state;
    add_worker(w, 0, 2, "a");
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.priority = 2}, 2), 2);
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 2}, 1), 0);
    assert_int_equal(end(w, &runs, 0), 0);
    int last = 1;
    for (int i = 0; i < 4; i++) { /* priority 2 comes first, one task at a time */
        assert_int_equal(add(w, &runs, (struct gw_msg_spec){.priority = 2}, 1), 1);
        assert_int_equal(end(w, &runs, last), 0);
        last = runs.count - 1;
    }
    for (int i = 0; i < 15; i++) { /* one level in its first 10 minutes, three in the second */
        w->now_ns += 90 * SECOND;
        say(w, WORKER, (struct gw_message){.type = GW_MESSAGE_heartbeat});
        assert_int_equal(note_after(w, &runs, SECOND), 0);
    }
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.priority = 2}, 1), 0);
    assert_int_equal(end(w, &runs, last), 2);
    free_world(w);
}

/* The explanation contains each of the words, in this order. */
static void explained_in_order(struct world *w, int64_t job, const char *const words[])
{
    const char *text = explain(w, job, -1), *at = text;
    for (int i = 0; words[i]; i++)
        if (!(at = strstr(at, words[i])))
            fail_msg("\"%s\" is not in \"%s\", or too early", words[i], text);
}

static void explain_tells_each_waiting_job_its_reason(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    (void)state;
    add_worker(w, 0, 2, "a");
    (void)add(w, &runs, (struct gw_msg_spec){.time_limit_ns = 720 * SECOND}, 1);
    started(w, &runs, 0);
    (void)add(w, &runs, (struct gw_msg_spec){0}, 1);
    (void)add(w, &runs, (struct gw_msg_spec){.ranks = 2}, 1);
    (void)add(w, &runs, (struct gw_msg_spec){.ranks = 2}, 1);
    (void)add(w, &runs, (struct gw_msg_spec){0}, 1);
    (void)add(w, &runs, (struct gw_msg_spec){.time_limit_ns = 715 * SECOND}, 1);
    explained_in_order(
        w, 3,
        (const char *[]){"a gang of 2 needs 2 free slots", "it is the first waiting gang", "2 at a",
                         "they are free for 0 of 2 ranks now",
                         "it starts in 12m at the earliest: job 2 has no time limit (--time-limit)",
                         NULL});
    explained_in_order(
        w, 4, (const char *[]){"1 gang is before it in the queue", "reserved for job 3", NULL});
    explained_in_order(w, 5,
                       (const char *[]){"reserved for job 3 (j), a waiting gang of 2 ranks",
                                        "with a time limit (--time-limit)", NULL});
    assert_int_equal(end(w, &runs, 1), 0);
    explained_in_order(
        w, 3,
        (const char *[]){"they are free for 1 of 2 ranks now",
                         "it starts in about 12m at the latest, when job 1 reaches its "
                         "time limit",
                         NULL});
    explained(w, 5, "that gang starts in about 12m");
    explained_in_order(w, 6,
                       (const char *[]){"it may take 11m55s (--time-limit) and 10s more (--grace)",
                                        "that gang starts in about 12m", NULL});
    free_world(w);
}

/* Earlier tasks take the slots before the gang, so none is reserved for it; a gang that does not
 * fit gets no reservation either. */
static void explain_tells_why_no_slots_are_reserved(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    (void)state;
    add_worker(w, 0, 2, "a");
    add_worker(w, 1, 2, "b");
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.priority = 1}, 4), 4);
    for (int i = 0; i < 4; i++)
        started(w, &runs, i);
    (void)add(w, &runs, (struct gw_msg_spec){.slots = 2, .priority = 1}, 1);
    (void)add(w, &runs, (struct gw_msg_spec){.ranks = 4}, 1);
    explained_in_order(w, 3,
                       (const char *[]){"0 of 4 slots are free; ",
                                        "no slots are reserved for it before these tasks run",
                                        NULL});
    (void)add(w, &runs, (struct gw_msg_spec){.workers = "a"}, 1);
    explained(w, 4, "on a; 0 of 2 slots are free at the workers that it may use");
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE,
                                    .peer = {WORKER + 1},
                                    .text = "the connection broke"});
    explained_in_order(
        w, 3,
        (const char *[]){"may fit when these are back: b on b",
                         "no slots are reserved for it, because the connected workers could not",
                         NULL});
    free_world(w);
}

/* A worker whose connection broke may be back in a moment, so a gang that fits with it is not
 * refused. */
static void gang_is_not_refused_while_a_worker_reconnects(void **state)
{
    struct world *w = new_world();
    struct runs runs = {0};
    (void)state;
    add_worker(w, 0, 2, "a");
    add_worker(w, 1, 2, "b");
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE,
                                    .peer = {WORKER + 1},
                                    .text = "the connection broke"});
    w->now_ns += 3 * SECOND;
    assert_int_equal(add(w, &runs, (struct gw_msg_spec){.ranks = 4}, 1), 0);
    explained_in_order(w, 1,
                       (const char *[]){"a gang of 4 needs 4 free slots",
                                        "does not fit on the connected workers",
                                        "may fit when these are back: b on b, lost 3s ago", NULL});
    send_spec(w, (struct gw_msg_spec){.key = 1000, .ranks = 5});
    assert_non_null(
        strstr(must(w, CLIENT, GW_MESSAGE_rejected)->rejected.text, "room for 2 ranks"));
    send_spec(w, (struct gw_msg_spec){.key = 1001, .ranks = 3, .ranks_per_node = 3});
    must(w, CLIENT, GW_MESSAGE_rejected);
    add_worker(w, 2, 2, "b");
    assert_int_equal(note(w, &runs), 4);
    (void)step(w, (struct gw_event){.type = GW_EVENT_CLOSE, .peer = {WORKER + 2}, .text = "gone"});
    w->now_ns += 61 * SECOND;
    send_spec(w, (struct gw_msg_spec){.key = 1002, .ranks = 4});
    must(w, CLIENT, GW_MESSAGE_rejected);
    free_world(w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(free_slots_are_reserved_for_a_waiting_gang),
        cmocka_unit_test(slots_outside_the_reservation_run_other_tasks),
        cmocka_unit_test(task_with_a_short_time_limit_uses_reserved_slots),
        cmocka_unit_test(reserved_slots_stay_free_if_a_task_has_no_time_limit),
        cmocka_unit_test(smaller_gangs_take_at_most_what_the_first_needs),
        cmocka_unit_test(gang_of_a_lower_priority_does_not_take_slots_of_the_first),
        cmocka_unit_test(ranks_go_to_the_workers_that_become_free_first),
        cmocka_unit_test(rank_goes_to_the_first_free_worker_of_its_host),
        cmocka_unit_test(cancelling_the_gang_ends_its_reservation),
        cmocka_unit_test(reservation_moves_if_its_worker_is_lost),
        cmocka_unit_test(higher_priority_task_ignores_a_reservation),
        cmocka_unit_test(waiting_gang_gains_priority_with_time),
        cmocka_unit_test(explain_tells_each_waiting_job_its_reason),
        cmocka_unit_test(explain_tells_why_no_slots_are_reserved),
        cmocka_unit_test(gang_is_not_refused_while_a_worker_reconnects),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
