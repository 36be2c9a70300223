/* Pruners: which trials end early, pause, go on or copy another one. */
#include "tests/unit/client/searches.h"

#include "tests/unit/alloc.h"

static void asha_stops_trials_that_are_not_among_the_best(void **state)
{
    (void)state;
    struct gw_search *search = make_search(
        SPACE("x=0..1"), GW_SEARCH_OPTIONS(.pruner = GW_PRUNE_ASHA, .eta = 2, .grace = 2,
                                           .max_steps = 8, .maximize = true));
    for (int i = 0; i < 6; i++)
        ask(search);
    assert_int_equal(tell(search, 0, 1, 0), GW_DECISION_CONTINUE);  /* no rung yet */
    assert_int_equal(tell(search, 0, 2, 10), GW_DECISION_CONTINUE); /* the first is the best */
    assert_int_equal(tell(search, 1, 2, 9), GW_DECISION_STOP);
    assert_int_equal(tell(search, 1, 2, 99), GW_DECISION_STOP); /* repeated: the same answer */
    assert_int_equal(tell(search, 2, 3, 9.5),
                     GW_DECISION_CONTINUE); /* the cutoff, between 9 and 10 */
    assert_int_equal(tell(search, 3, 2, 9.4), GW_DECISION_STOP);
    assert_int_equal(tell(search, 4, 2, NAN), GW_DECISION_STOP);
    assert_int_equal(tell(search, 0, 3, 0), GW_DECISION_CONTINUE); /* between two rungs */
    assert_int_equal(tell(search, 0, 4, 5), GW_DECISION_CONTINUE);
    assert_int_equal(tell(search, 2, 5, 4), GW_DECISION_STOP);
    assert_int_equal(tell(search, 0, 8, 0), GW_DECISION_DONE);
    gw_search_free(search);
}

static void pause_trial(struct gw_search *search, uint32_t trial, uint64_t step, double value)
{
    assert_int_equal(tell(search, trial, step, value), GW_DECISION_PAUSE);
    assert_int_equal(gw_search_end(search, trial, GW_TRIAL_PAUSED, NAN, &error), 0);
}

static void asha_promotes_the_best_of_the_highest_rung(void **state)
{
    (void)state;
    struct gw_search *search =
        make_search(SPACE("x=0..1"), GW_SEARCH_OPTIONS(.pruner = GW_PRUNE_ASHA_PROMOTE, .eta = 2,
                                                       .max_steps = 3, .trials = 4));
    const struct gw_trial *trial;
    for (int i = 0; i < 4; i++)
        assert_int_equal(ask(search)->until, 1);
    assert_int_equal(gw_search_ask(search, 0, &trial, &error), GW_EAGAIN);
    assert_int_equal(tell(search, 0, 1, 5), GW_DECISION_PAUSE);
    pause_trial(search, 0, 2, 4); /* one report late: the rung has the trial once */
    assert_int_equal(gw_search_ask(search, 0, &trial, &error), GW_EAGAIN); /* 1 of 2, not 1 of 1 */
    pause_trial(search, 1, 1, 4);
    trial = ask(search);
    assert_true(trial->number == 1 && trial->until == 2 && trial->state == GW_TRIAL_RUNNING);
    assert_int_equal(tell(search, 1, 1, 4), GW_DECISION_CONTINUE); /* again, from its checkpoint */
    pause_trial(search, 2, 1, 3);
    pause_trial(search, 3, 1, 6);
    assert_int_equal(ask(search)->number, 2);
    pause_trial(search, 1, 2, 2);
    pause_trial(search, 2, 2, 3);
    trial = ask(search); /* the best of the rung above comes before trial 0 of the first one */
    assert_true(trial->number == 1 && trial->until == 3);
    assert_int_equal(tell(search, 1, 3, 1), GW_DECISION_DONE);
    end(search, trial, 1);
    expect_over(search, "its 4 trials");
    assert_int_equal(gw_search_trial(search, 0)->state, GW_TRIAL_PAUSED);
    gw_search_free(search);
}

static void a_grid_waits_for_trials_that_may_be_promoted(void **state)
{
    (void)state;
    struct gw_search *search = make_search(
        SPACE("x=1,2"), GW_SEARCH_OPTIONS(.method = GW_SEARCH_GRID, .eta = 2,
                                          .pruner = GW_PRUNE_ASHA_PROMOTE, .max_steps = 2));
    const struct gw_trial *trial;
    ask(search);
    ask(search);
    pause_trial(search, 0, 1, 1);
    assert_int_equal(gw_search_ask(search, 0, &trial, &error), GW_EAGAIN);
    pause_trial(search, 1, 1, 2);
    end(search, ask(search), 1);
    expect_over(search, "the grid has ended");
    gw_search_free(search);
}

static void only_a_trial_that_was_asked_to_pauses(void **state)
{
    (void)state;
    struct gw_search *search =
        make_search(SPACE("x=0..1"),
                    GW_SEARCH_OPTIONS(.pruner = GW_PRUNE_ASHA_PROMOTE, .grace = 2, .max_steps = 4));
    ask(search);
    assert_int_equal(tell(search, 0, 1, 1), GW_DECISION_CONTINUE);
    assert_int_equal(gw_search_end(search, 0, GW_TRIAL_PAUSED, NAN, &error), GW_EINVAL);
    pause_trial(search, 0, 2, 1);
    gw_search_free(search);
}

static void the_median_rule_needs_three_others(void **state)
{
    (void)state;
    struct gw_search *search =
        make_search(SPACE("x=0..1"), GW_SEARCH_OPTIONS(.pruner = GW_PRUNE_MEDIAN, .grace = 2));
    for (int i = 0; i < 5; i++)
        ask(search);
    for (uint32_t i = 0; i < 3; i++)
        for (uint64_t step = 1; step <= 2; step++) /* means up to step 2: 1.5, 11.5, 21.5 */
            assert_int_equal(tell(search, i, step, (double)(i * 10 + step)), GW_DECISION_CONTINUE);
    assert_int_equal(tell(search, 3, 1, 100), GW_DECISION_CONTINUE); /* grace */
    assert_int_equal(tell(search, 3, 2, 11.6), GW_DECISION_STOP);
    assert_int_equal(tell(search, 4, 1, 11.6), GW_DECISION_CONTINUE);
    assert_int_equal(tell(search, 4, 2, 11.5), GW_DECISION_CONTINUE);
    assert_int_equal(tell(search, 0, 3, 100), GW_DECISION_CONTINUE); /* nobody else is there */
    gw_search_free(search);
}

static void bad_options_of_pruners_are_refused(void **state)
{
    (void)state;
    expect_refused(SPACE("x=0..1"), GW_SEARCH_OPTIONS(.pruner = GW_PRUNE_ASHA, .eta = 1), "eta");
    expect_refused(SPACE("x=0..1"),
                   GW_SEARCH_OPTIONS(.pruner = GW_PRUNE_ASHA, .grace = 5, .max_steps = 4), "grace");
    expect_refused(SPACE("x=0..1"), GW_SEARCH_OPTIONS(.pruner = GW_PRUNE_ASHA_PROMOTE),
                   "needs max_steps");
    expect_refused(SPACE("x=0..1"), GW_SEARCH_OPTIONS(.pruner = (enum gw_search_pruner)9),
                   "no pruner");
}

static void a_bad_trial_of_a_population_copies_a_good_one(void **state)
{
    (void)state;
    struct gw_search *search =
        make_search(SPACE("lr=log:1e-6..1", "n=int:1..100"),
                    GW_SEARCH_OPTIONS(.pruner = GW_PRUNE_POPULATION, .grace = 5, .max_steps = 20));
    for (int i = 0; i < 8; i++)
        ask(search);
    for (uint32_t i = 0; i < 7; i++) /* the first is the best: all others may be the worst */
        if (tell(search, i, 5, i ? 7 - i : 0) == GW_DECISION_COPY)
            assert_int_not_equal(gw_search_trial(search, i)->source, i);
    const struct gw_trial *bad = gw_search_trial(search, 7);
    assert_int_equal(tell(search, 7, 4, 99), GW_DECISION_CONTINUE); /* inside the interval */
    assert_int_equal(tell(search, 7, 6, 99), GW_DECISION_COPY);
    const struct gw_trial *good = gw_search_trial(search, bad->source);
    assert_true(bad->source != 7 && bad->step == 5);
    const double lr = number(bad, "lr"), from = number(good, "lr"), n = number(bad, "n");
    assert_true(lr >= 1e-6 && lr <= 1 && n >= 1 && n <= 100 && n == floor(n));
    assert_true(lr != from);
    assert_int_equal(tell(search, 7, 20, 0), GW_DECISION_DONE);
    gw_search_free(search);
}

static void the_report_before_a_copy_gets_its_answer_again(void **state)
{
    (void)state;
    struct gw_search *search =
        make_search(SPACE("x=0..1"),
                    GW_SEARCH_OPTIONS(.pruner = GW_PRUNE_POPULATION, .grace = 5, .maximize = true));
    const struct gw_trial *good = ask(search), *bad = ask(search);
    assert_int_equal(tell(search, 0, 5, 3), GW_DECISION_CONTINUE);
    assert_int_equal(tell(search, 1, 7, 1), GW_DECISION_COPY);
    assert_true(bad->source == good->number && bad->step == 5 && bad->value == 3);
    const double x = number(bad, "x");
    assert_int_equal(tell(search, 1, 7, 1), GW_DECISION_COPY); /* the answer was lost */
    assert_true(bad->step == 5 && number(bad, "x") == x);
    assert_int_equal(tell(search, 1, 5, 4), GW_DECISION_CONTINUE); /* the checkpoint's own step */
    assert_true(bad->value == 3);
    assert_int_equal(tell(search, 1, 7, 1), GW_DECISION_CONTINUE); /* of the copy */
    assert_true(bad->step == 7 && bad->value == 1);
    gw_search_free(search);
}

/* The checkpoint that it gets may be of a later step than that of the ranking, with a worse value.
 */
static void a_trial_copies_once_up_to_a_step(void **state)
{
    (void)state;
    struct gw_search *search =
        make_search(SPACE("x=0..1"), GW_SEARCH_OPTIONS(.pruner = GW_PRUNE_POPULATION, .grace = 5));
    ask(search);
    ask(search);
    assert_int_equal(tell(search, 0, 5, 1), GW_DECISION_CONTINUE);
    assert_int_equal(tell(search, 1, 10, 9), GW_DECISION_COPY);
    assert_int_equal(tell(search, 1, 10, 2), GW_DECISION_CONTINUE);
    assert_int_equal(tell(search, 1, 15, 2), GW_DECISION_COPY);
    gw_search_free(search);
}

/* A call without memory, repeated with memory, gives the answer that it would have given. */
static void a_report_without_memory_is_no_report(void **state)
{
    static const enum gw_search_pruner pruners[] = {GW_PRUNE_ASHA, GW_PRUNE_ASHA_PROMOTE,
                                                    GW_PRUNE_MEDIAN, GW_PRUNE_POPULATION};
    static const enum gw_decision answers[] = {GW_DECISION_STOP, GW_DECISION_PAUSE,
                                               GW_DECISION_STOP, GW_DECISION_COPY};
    (void)state;
    for (size_t i = 0; i < 4; i++) {
        struct gw_search *search = make_search(
            SPACE("x=0..1"), GW_SEARCH_OPTIONS(.pruner = pruners[i], .eta = 2, .max_steps = 9));
        for (int trial = 0; trial < 5; trial++)
            ask(search);
        for (uint32_t trial = 0; trial < 4; trial++)
            tell(search, trial, 1, trial);
        enum gw_decision decision;
        int64_t allowed = 0;
        int rc;
        do {
            gw_alloc_fail_after(allowed++);
            rc = gw_search_tell(search, 4, 1, 9, &decision, &error);
            gw_alloc_fail_after(-1);
            const struct gw_trial *trial = gw_search_trial(search, 4);
            assert_true(rc == 0 || (rc == GW_ENOMEM && trial->step == 0 && isnan(trial->value)));
        } while (rc < 0);
        assert_true(allowed > 1);
        assert_int_equal(decision, answers[i]);
        gw_search_free(search);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(asha_stops_trials_that_are_not_among_the_best),
        cmocka_unit_test(asha_promotes_the_best_of_the_highest_rung),
        cmocka_unit_test(a_grid_waits_for_trials_that_may_be_promoted),
        cmocka_unit_test(only_a_trial_that_was_asked_to_pauses),
        cmocka_unit_test(the_median_rule_needs_three_others),
        cmocka_unit_test(bad_options_of_pruners_are_refused),
        cmocka_unit_test(a_bad_trial_of_a_population_copies_a_good_one),
        cmocka_unit_test(a_trial_copies_once_up_to_a_step),
        cmocka_unit_test(the_report_before_a_copy_gets_its_answer_again),
        cmocka_unit_test(a_report_without_memory_is_no_report),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
