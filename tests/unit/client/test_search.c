/* Searches: ask, tell and end; the same calls give the same trials; when a search is over. */
#include "tests/unit/client/searches.h"

#include "client/sweep/search/parzen.h"
#include "client/sweep/search/sobol.h"
#include "client/sweep/search/space.h"

static void a_random_trial_depends_on_the_seed_and_its_number_only(void **state)
{
    (void)state;
    struct gw_search *one = make_search(SPACE("x=0..1", "y=log:1..10"), NULL);
    struct gw_search *two = make_search(SPACE("new=1,2,3", "y=log:1..10", "x=0..1"), NULL);
    struct gw_search *other = make_search(SPACE("x=0..1"), GW_SEARCH_OPTIONS(.seed = 1));
    int equal = 0;
    for (int i = 0; i < 100; i++) {
        const struct gw_trial *a = ask(one), *b = ask(two), *c = ask(other);
        assert_int_equal(a->number, i);
        assert_true(number(a, "x") == number(b, "x") && number(a, "y") == number(b, "y"));
        assert_true(number(a, "x") >= 0 && number(a, "x") < 1);
        equal += number(a, "x") == number(c, "x");
        if (i % 2)
            end(two, b, i);
    }
    assert_int_equal(equal, 0);
    gw_search_free(one);
    gw_search_free(two);
    gw_search_free(other);
}

static void random_values_are_spread_evenly(void **state)
{
    (void)state;
    struct gw_search *search = make_search(SPACE("x=0..1", "n=int:1..4"), NULL);
    double sum = 0, counts[5] = {0};
    for (int i = 0; i < 4000; i++) {
        const struct gw_trial *trial = ask(search);
        sum += number(trial, "x");
        counts[(int)number(trial, "n")]++;
    }
    assert_true(fabs(sum / 4000 - .5) < .02);
    for (int n = 1; n <= 4; n++)
        assert_true(fabs(counts[n] - 1000) < 120);
    gw_search_free(search);
}

static void a_grid_has_each_point_once(void **state)
{
    (void)state;
    struct gw_space *space = SPACE("opt=adam|sgd", "momentum=0..1:0.5 if opt=sgd", "n=int:1..2");
    assert_int_equal(gw_space_require(space, "momentum+n!=2", &error), 0);
    struct gw_search *search = make_search(space, GW_SEARCH_OPTIONS(.method = GW_SEARCH_GRID));
    static const double expected[][2] = {{NAN, 1}, {NAN, 2}, {0, 1}, {.5, 1}, {.5, 2}, {1, 2}};
    for (size_t i = 0; i < 6; i++) {
        const struct gw_trial *trial = ask(search);
        const double momentum = number(trial, "momentum");
        assert_true(momentum == expected[i][0] || (isnan(momentum) && isnan(expected[i][0])));
        assert_true(number(trial, "n") == expected[i][1]);
    }
    expect_over(search, "the grid has ended");
    assert_int_equal(gw_search_count(search), 6);
    gw_search_free(search);
}

static void a_grid_of_a_range_without_steps_is_refused(void **state)
{
    (void)state;
    const struct gw_search_options *grid = GW_SEARCH_OPTIONS(.method = GW_SEARCH_GRID);
    expect_refused(SPACE("n=1,2", "lr=log:1e-4..1"), grid, "parameter lr: a grid needs");
    expect_refused(SPACE("a=int:0..65535", "b=int:0..65536"), grid, "at most 2^32");
    gw_search_free(make_search(SPACE("a=int:0..65535", "b=int:0..65535"), grid));
}

static void a_grid_gives_up_after_a_million_cells(void **state)
{
    (void)state;
    struct gw_space *space = SPACE("a=int:0..65535", "b=int:0..65535");
    const struct gw_search_options *grid = GW_SEARCH_OPTIONS(.method = GW_SEARCH_GRID);
    const struct gw_trial *trial;
    assert_int_equal(gw_space_require(space, "a>65535", &error), 0);
    expect_refused(space, grid, "1000000 points of the grid in a row");
    space = SPACE("a=0,1,2", "b=int:1..1000000");
    assert_int_equal(gw_space_require(space, "b<2", &error), 0);
    assert_int_equal(gw_space_require(space, "a!=1", &error), 0);
    struct gw_search *search = make_search(space, grid);
    assert_true(number(ask(search), "a") == 0);
    assert_int_equal(gw_search_ask(search, 0, &trial, &error), GW_ELIMIT);
    assert_true(number(ask(search), "a") == 2); /* the next call looks behind these */
    gw_search_free(search);
}

static void empty_and_contradictory_spaces_are_refused(void **state)
{
    (void)state;
    struct gw_search *search;
    for (int method = GW_SEARCH_RANDOM; method <= GW_SEARCH_GRID; method++) {
        const struct gw_search_options *options =
            GW_SEARCH_OPTIONS(.method = (enum gw_search_method)method);
        expect_refused(gw_space_new(), options, "the space has no parameter");
        struct gw_space *space = SPACE("a=1,2", "b=3,4");
        assert_int_equal(gw_space_require(space, "a>b", &error), 0);
        expect_refused(space, options, "meets the constraints");
    }
    expect_refused(SPACE("a=1"), GW_SEARCH_OPTIONS(.method = (enum gw_search_method)99),
                   "no method");
    expect_refused(SPACE("a=1"), GW_SEARCH_OPTIONS(.has_target = true, .target = NAN), "target");
    assert_int_equal(gw_search_new(NULL, NULL, &search, &error), GW_ENOMEM);
    gw_search_free(NULL);
}

static void constraints_and_derived_parameters_hold(void **state)
{
    (void)state;
    struct gw_space *space = SPACE("gpus=1,4,16", "global=int:16..256:16");
    assert_int_equal(gw_space_derive(space, "batch=global/gpus", &error), 0);
    assert_int_equal(gw_space_require(space, "batch>=8", &error), 0);
    struct gw_search *search = make_search(space, NULL);
    for (int i = 0; i < 200; i++) {
        const struct gw_trial *trial = ask(search);
        assert_true(number(trial, "batch") == number(trial, "global") / number(trial, "gpus"));
        assert_true(number(trial, "batch") >= 8);
    }
    gw_search_free(search);
}

static void a_constraint_on_a_number_that_does_not_exist_is_not_met(void **state)
{
    (void)state;
    for (int derived = 0; derived < 2; derived++) {
        struct gw_space *space = SPACE("opt=a|b", "x=0,2 if opt=a");
        assert_int_equal(gw_space_derive(space, "ratio=x/x", &error), 0);
        assert_int_equal(gw_space_require(space, derived ? "ratio!=2" : "x/x!=2", &error), 0);
        struct gw_search *search = make_search(space, GW_SEARCH_OPTIONS(.method = GW_SEARCH_GRID));
        assert_true(number(ask(search), "x") == 2);   /* not 0 */
        assert_true(isnan(number(ask(search), "x"))); /* a trial without x is admitted */
        expect_over(search, "the grid has ended");
        gw_search_free(search);
    }
}

/* Each derived parameter uses the one before it twice: 2^200 computations if each is not kept. */
static void a_derived_parameter_is_computed_once(void **state)
{
    (void)state;
    struct gw_space *space = SPACE("d0=1");
    for (int i = 1; i <= 200; i++) {
        char text[48];
        snprintf(text, sizeof text, "d%d=d%d+d%d", i, i - 1, i - 1);
        assert_int_equal(gw_space_derive(space, text, &error), 0);
    }
    assert_int_equal(gw_space_require(space, "d200>d199", &error), 0);
    struct gw_search *search = make_search(space, NULL);
    assert_true(number(ask(search), "d200") == 0x1p200);
    gw_search_free(search);
}

static void first_points_come_first(void **state)
{
    (void)state;
    struct gw_space *space = SPACE("x=0..1", "y=0..1");
    struct gw_value *values = gw_dict();
    gw_dict_set(values, "x", gw_f64(.125));
    assert_int_equal(gw_space_first(space, values, &error), 0);
    gw_value_unref(values);
    struct gw_search *search = make_search(space, NULL);
    const struct gw_trial *trial = ask(search);
    assert_true(number(trial, "x") == .125 && number(trial, "y") < 1);
    assert_true(number(ask(search), "x") != .125);
    gw_search_free(search);
}

static void a_first_point_that_meets_no_constraint_is_refused(void **state)
{
    (void)state;
    for (int method = GW_SEARCH_RANDOM; method <= GW_SEARCH_TPE; method++) {
        struct gw_space *space = SPACE("x=1,2", "y=1,2");
        struct gw_value *values = gw_dict();
        assert_int_equal(gw_space_require(space, "x+y!=2", &error), 0);
        assert_int_equal(gw_space_first(space, values, &error), 0);
        gw_dict_set(values, "x", gw_i64(1));
        assert_int_equal(gw_space_first(space, values, &error), 0);
        assert_int_equal(gw_space_require(space, "x>1", &error), 0);
        gw_value_unref(values);
        expect_refused(space, GW_SEARCH_OPTIONS(.method = (enum gw_search_method)method),
                       "with the values of a first point");
    }
}

static void a_grid_does_not_repeat_its_first_points(void **state)
{
    (void)state;
    struct gw_space *space = SPACE("x=1,2", "y=1,2 if x=2");
    struct gw_value *values = gw_dict();
    gw_dict_set(values, "x", gw_i64(1));
    assert_int_equal(gw_space_first(space, values, &error), 0);
    gw_value_unref(values);
    struct gw_search *search = make_search(space, GW_SEARCH_OPTIONS(.method = GW_SEARCH_GRID));
    for (int i = 0; i < 3; i++)
        assert_true(number(ask(search), "x") == (i ? 2 : 1));
    expect_over(search, "the grid has ended");
    gw_search_free(search);
}

static void the_best_trial_is_done_and_has_a_number(void **state)
{
    (void)state;
    struct gw_search *search = make_search(SPACE("x=0..1"), GW_SEARCH_OPTIONS(.maximize = true));
    const struct gw_trial *best;
    assert_int_equal(gw_search_best(search, &best, &error), GW_ENOENT);
    for (int i = 0; i < 6; i++)
        ask(search);
    end(search, gw_search_trial(search, 0), NAN);
    assert_int_equal(gw_search_trial(search, 0)->state, GW_TRIAL_FAILED);
    end(search, gw_search_trial(search, 1), 1);
    end(search, gw_search_trial(search, 2), 3);
    end(search, gw_search_trial(search, 3), 3);
    assert_int_equal(gw_search_end(search, 4, GW_TRIAL_PRUNED, 9, &error), 0);
    assert_int_equal(gw_search_end(search, 5, GW_TRIAL_FAILED, 9, &error), 0);
    assert_int_equal(gw_search_best(search, &best, &error), 0);
    assert_int_equal(best->number, 2);
    assert_null(gw_search_trial(search, 6));
    gw_search_free(search);
}

static void reports_of_unknown_and_ended_trials_are_refused(void **state)
{
    (void)state;
    struct gw_search *search = make_search(SPACE("x=0..1"), NULL);
    enum gw_decision decision;
    const struct gw_trial *trial = ask(search);
    assert_int_equal(gw_search_tell(search, 1, 0, 1, &decision, &error), GW_ENOENT);
    assert_int_equal(gw_search_end(search, 1, GW_TRIAL_DONE, 1, &error), GW_ENOENT);
    assert_int_equal(gw_search_end(search, 0, GW_TRIAL_RUNNING, 1, &error), GW_EINVAL);
    assert_int_equal(gw_search_end(search, 0, GW_TRIAL_CANCELLED + 1, 1, &error), GW_EINVAL);
    assert_int_equal(gw_search_tell(search, 0, 5, 2, &decision, &error), 0);
    assert_int_equal(gw_search_tell(search, 0, 4, 1, &decision, &error), 0); /* a restart */
    assert_true(trial->value == 2 && trial->step == 5);
    end(search, trial, NAN); /* the last report counts */
    assert_true(trial->state == GW_TRIAL_DONE && trial->value == 2);
    assert_int_equal(gw_search_tell(search, 0, 6, 1, &decision, &error), GW_EINVAL);
    assert_int_equal(gw_search_end(search, 0, GW_TRIAL_DONE, 1, &error), GW_EINVAL);
    gw_search_free(search);
}

static void a_search_ends_at_each_of_its_limits(void **state)
{
    (void)state;
    struct gw_search *search = make_search(SPACE("x=0..1"), GW_SEARCH_OPTIONS(.trials = 2));
    ask(search);
    ask(search);
    expect_over(search, "its 2 trials");
    gw_search_free(search);

    search = make_search(SPACE("x=0..1"), GW_SEARCH_OPTIONS(.has_target = true, .target = .5));
    end(search, ask(search), .6);
    end(search, ask(search), .5);
    expect_over(search, "trial 1 has reached the target");
    gw_search_free(search);

    search = make_search(SPACE("x=0..1"), GW_SEARCH_OPTIONS(.failures = 2));
    for (int i = 0; i < 2; i++)
        assert_int_equal(gw_search_end(search, ask(search)->number, GW_TRIAL_FAILED, NAN, &error),
                         0);
    expect_over(search, "2 trials have failed");
    gw_search_free(search);

    search = make_search(SPACE("x=0..1"), GW_SEARCH_OPTIONS(.patience = 3));
    static const double values[] = {5, 6, 6, 4, 4, 5, 6};
    for (size_t i = 0; i < 7; i++)
        end(search, ask(search), values[i]);
    expect_over(search, "the last 3 trials were not better");
    gw_search_free(search);

    search = make_search(SPACE("x=0..1"), GW_SEARCH_OPTIONS(.time_limit_ns = 100));
    const struct gw_trial *trial;
    assert_int_equal(gw_search_ask(search, 99, &trial, &error), 0);
    assert_int_equal(gw_search_ask(search, 100, &trial, &error), GW_ENOENT);
    gw_search_free(search);
}

static void sobol_points_are_those_of_joe_and_kuo(void **state)
{
    /* From SciPy 1.17's qmc.Sobol(64, scramble=False, bits=32). */
    static const uint32_t dimensions[] = {0, 1, 2, 5, 40, 63};
    static const struct {
        uint32_t i, x[6];
    } points[] = {
        {1, {2147483648, 2147483648, 2147483648, 2147483648, 2147483648, 2147483648}},
        {2, {3221225472, 1073741824, 1073741824, 3221225472, 1073741824, 3221225472}},
        {7, {536870912, 2684354560, 1610612736, 1610612736, 536870912, 1610612736}},
        {100, {1778384896, 1107296256, 3321888768, 3187671040, 3053453312, 2785017856}},
        {1023, {4194304, 3233808384, 2629828608, 1883242496, 2713714688, 171966464}},
    };
    (void)state;
    for (size_t i = 0; i < sizeof points / sizeof *points; i++)
        for (size_t k = 0; k < 6; k++)
            assert_int_equal(gw_sobol_at(dimensions[k], points[i].i), points[i].x[k]);
}

static void sobol_fills_each_cell_of_a_grid_once(void **state)
{
    (void)state;
    struct gw_search *search = make_search(SPACE("x=0..1", "y=0..1"),
                                           GW_SEARCH_OPTIONS(.method = GW_SEARCH_SOBOL, .seed = 5));
    int counts[64] = {0};
    for (int i = 0; i < 64; i++) {
        const struct gw_trial *trial = ask(search);
        counts[(int)(number(trial, "x") * 8) * 8 + (int)(number(trial, "y") * 8)]++;
    }
    for (int i = 0; i < 64; i++)
        assert_int_equal(counts[i], 1);
    gw_search_free(search);
}

static struct gw_space *make_wide_space(int params)
{
    struct gw_space *space = gw_space_new();
    for (int i = 0; i < params; i++) {
        char text[32];
        snprintf(text, sizeof text, "p%d=0..1", i);
        assert_int_equal(gw_space_add(space, text, &error), 0);
    }
    return space;
}

static void sobol_has_64_parameters_and_no_more(void **state)
{
    (void)state;
    const struct gw_search_options *sobol = GW_SEARCH_OPTIONS(.method = GW_SEARCH_SOBOL);
    struct gw_search *search = make_search(make_wide_space(GW_SOBOL_DIMENSIONS), sobol);
    ask(search);
    gw_search_free(search);
    expect_refused(make_wide_space(GW_SOBOL_DIMENSIONS + 1), sobol,
                   "at most 64 parameters, not 65");
}

/* The best of 100 trials by a method: a bowl in x, n and the choice. */
static double search_bowl(enum gw_search_method method, uint64_t seed)
{
    struct gw_search *search = make_search(
        SPACE("x=0..1", "n=int:1..100", "lr=log:1e-6..1", "opt=a|b|c", "m=0..1 if opt=c"),
        GW_SEARCH_OPTIONS(.method = method, .seed = seed));
    const struct gw_trial *best;
    for (int i = 0; i < 100; i++) {
        const struct gw_trial *trial = ask(search);
        const double x = number(trial, "x") - .3, n = (number(trial, "n") - 70) / 100;
        const double lr = (log10(number(trial, "lr")) + 3) / 6, m = number(trial, "m") - .5;
        end(search, trial, x * x + n * n + lr * lr + (isnan(m) ? 1 : m * m));
    }
    assert_int_equal(gw_search_best(search, &best, &error), 0);
    const double value = best->value;
    gw_search_free(search);
    return value;
}

static void tpe_finds_better_points_than_random_search(void **state)
{
    (void)state;
    int better = 0;
    for (uint64_t seed = 0; seed < 20; seed++)
        better += search_bowl(GW_SEARCH_TPE, seed) < search_bowl(GW_SEARCH_RANDOM, seed);
    if (better < 17)
        fail_msg("better with %d of 20 seeds", better);
}

static void a_kernel_is_as_wide_as_the_gap_to_a_neighbour(void **state)
{
    (void)state;
    struct gw_space *space = SPACE("x=0..100");
    struct gw_parzen parzen;
    static const double observed[] = {50, 20, 21, 22}, sigmas[] = {28, 100. / 12, 100. / 12, 28};
    assert_int_equal(gw_parzen_init(&parzen, &space->params.items[0], observed, 4), 0);
    for (size_t i = 0; i < 4; i++) /* from range / (2 * (kernels + 1)) on */
        assert_true(fabs(parzen.sigmas[i] - sigmas[i]) < 1e-9);
    assert_true(parzen.sigmas[4] == 100); /* the prior */
    gw_parzen_deinit(&parzen);
    gw_space_free(space);
}

static void tpe_gives_the_same_trials_for_the_same_reports(void **state)
{
    (void)state;
    for (uint64_t seed = 0; seed < 3; seed++)
        assert_true(search_bowl(GW_SEARCH_TPE, seed) == search_bowl(GW_SEARCH_TPE, seed));
    assert_true(search_bowl(GW_SEARCH_TPE, 0) != search_bowl(GW_SEARCH_TPE, 1));
}

/* Kernels of one place, of infinite losses and of failed trials neither stop nor confuse TPE. */
static void tpe_bears_odd_reports(void **state)
{
    (void)state;
    struct gw_search *search =
        make_search(SPACE("x=0..1:0.25", "y=2..2", "w=int-log:1..4", "z=0..1"),
                    GW_SEARCH_OPTIONS(.method = GW_SEARCH_TPE, .startup = GW_NONE));
    static const double odd[] = {1, INFINITY, NAN, -INFINITY, 0};
    for (int i = 0; i < 200; i++) {
        const struct gw_trial *trial = ask(search);
        const double x = number(trial, "x"), w = number(trial, "w");
        assert_true(x >= 0 && x <= 1 && x * 4 == floor(x * 4) && number(trial, "y") == 2);
        assert_true(w >= 1 && w <= 4 && w == floor(w));
        if (i % 7 == 6)
            assert_int_equal(gw_search_end(search, trial->number, GW_TRIAL_PRUNED, NAN, &error), 0);
        else if (i % 11 != 10) /* that one runs on */
            end(search, trial, odd[i % 5]);
    }
    gw_search_free(search);
}

/* Five trials, eta 4: no rung above the first has four trials. */
static void the_best_of_few_paused_trials_runs_to_its_end(void **state)
{
    (void)state;
    struct gw_search *search = make_search(
        SPACE("x=0..1"), GW_SEARCH_OPTIONS(.method = GW_SEARCH_RANDOM, .trials = 5, .max_steps = 8,
                                           .pruner = GW_PRUNE_ASHA_PROMOTE));
    const struct gw_trial *trial, *best;
    enum gw_decision decision;
    int asked = 0;
    while (gw_search_ask(search, 0, &trial, &error) == 0 && ++asked < 20) {
        assert_int_equal(gw_search_tell(search, trial->number, trial->until, number(trial, "x"),
                                        &decision, &error),
                         0);
        assert_int_equal(
            gw_search_end(search, trial->number,
                          decision == GW_DECISION_PAUSE ? GW_TRIAL_PAUSED : GW_TRIAL_DONE, NAN,
                          &error),
            0);
    }
    assert_int_equal(asked, 5 + 2); /* to 4 steps, to 8 */
    assert_int_equal(gw_search_best(search, &best, &error), 0);
    for (uint32_t i = 0; i < 5; i++)
        assert_true(best->value <= gw_search_trial(search, i)->value);
    gw_search_free(search);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_random_trial_depends_on_the_seed_and_its_number_only),
        cmocka_unit_test(random_values_are_spread_evenly),
        cmocka_unit_test(a_grid_has_each_point_once),
        cmocka_unit_test(a_grid_of_a_range_without_steps_is_refused),
        cmocka_unit_test(a_grid_gives_up_after_a_million_cells),
        cmocka_unit_test(empty_and_contradictory_spaces_are_refused),
        cmocka_unit_test(constraints_and_derived_parameters_hold),
        cmocka_unit_test(a_constraint_on_a_number_that_does_not_exist_is_not_met),
        cmocka_unit_test(a_derived_parameter_is_computed_once),
        cmocka_unit_test(first_points_come_first),
        cmocka_unit_test(a_first_point_that_meets_no_constraint_is_refused),
        cmocka_unit_test(a_grid_does_not_repeat_its_first_points),
        cmocka_unit_test(the_best_trial_is_done_and_has_a_number),
        cmocka_unit_test(reports_of_unknown_and_ended_trials_are_refused),
        cmocka_unit_test(a_search_ends_at_each_of_its_limits),
        cmocka_unit_test(sobol_points_are_those_of_joe_and_kuo),
        cmocka_unit_test(sobol_fills_each_cell_of_a_grid_once),
        cmocka_unit_test(sobol_has_64_parameters_and_no_more),
        cmocka_unit_test(tpe_finds_better_points_than_random_search),
        cmocka_unit_test(a_kernel_is_as_wide_as_the_gap_to_a_neighbour),
        cmocka_unit_test(tpe_gives_the_same_trials_for_the_same_reports),
        cmocka_unit_test(tpe_bears_odd_reports),
        cmocka_unit_test(the_best_of_few_paused_trials_runs_to_its_end),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
