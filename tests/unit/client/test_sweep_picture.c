/* Pictures of sweeps: complete files for the oddest studies, ticks, correlations. */
#include "tests/unit/unit.h"

#include "client/sweep/picture/draw.h"
#include "client/sweep/picture/picture.h"
#include "client/sweep/picture/trials.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { TRIALS = 40 };

static const struct gw_study_choice names[] = {{"a<b>", true}, {"\"c\"&\x01", true}};
static const struct gw_study_choice numbers[] = {{"16", false}, {"1", false}, {"4", false}};
static const struct gw_study_param params[] = {
    {.name = "lr<&", .kind = GW_STUDY_FLOAT, .log = true, .low = .001, .high = 1},
    {.name = "opt", .kind = GW_STUDY_CHOICE, .choices = names, .choice_count = 2},
    {.name = "gpus", .kind = GW_STUDY_CHOICE, .choices = numbers, .choice_count = 3},
    {.name = "batch", .kind = GW_STUDY_FLOAT, .derived = true},
};
enum { PARAMS = sizeof params / sizeof *params };

static double points[TRIALS][PARAMS];
static struct gw_study_trial trials[TRIALS];
static struct gw_study_report reports[TRIALS];
static struct gw_study_run runs[TRIALS];

/* A study of `count` trials that are done, the best last; values fall with lr and with gpus. */
static struct gw_study make_study(size_t count, double value)
{
    for (size_t i = 0; i < count; i++) {
        points[i][0] = .001 * (double)(i + 1);
        points[i][1] = (double)(i % 2);
        points[i][2] = (double)(i % 3);
        points[i][3] = 64;
        const double found = isfinite(value) ? value : 10. / (double)(i + 1);
        reports[i] =
            (struct gw_study_report){"loss<", 1, (uint64_t)(i + 2) * 1000000000, found, i + 1};
        trials[i] = (struct gw_study_trial){GW_STUDY_DONE,
                                            points[i],
                                            found,
                                            1,
                                            (uint64_t)(i + 1) * 1000000000,
                                            (uint64_t)(i + 3) * 1000000000,
                                            &reports[i],
                                            1,
                                            &runs[i],
                                            1};
        runs[i] = (struct gw_study_run){i, trials[i].began_ns, trials[i].ended_ns, 1};
    }
    return (struct gw_study){
        "pets & <dogs>", "loss<", false, NAN, params, PARAMS, trials, count, count ? count - 1 : 0};
}

static void draw_all(const struct gw_study *study)
{
    for (const struct gw_picture *picture = gw_pictures; picture->file; picture++) {
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        picture->draw(out, study);
        assert_int_equal(fclose(out), 0);
        assert_memory_equal(text, "<svg ", 5);
        assert_string_equal(text + bytes - 7, "</svg>\n");
        static const char *const bad[] = {"=\"nan", "=\"inf", " nan", "-nan", "inf\"",
                                          "a<b>",   "<dogs",  "\x01", "& "};
        for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
            if (strstr(text, bad[i]))
                fail_msg("%s has %s", picture->file, bad[i]);
        free(text);
    }
}

static void each_picture_is_complete_for_odd_studies(void **state)
{
    (void)state;
    struct gw_study study = make_study(0, NAN);
    draw_all(&study);
    study = make_study(1, NAN);
    draw_all(&study);
    study = make_study(TRIALS, 0); /* equal */
    draw_all(&study);
    study.param_count = 0;
    draw_all(&study);
    study = make_study(TRIALS, NAN);
    trials[3].value = reports[3].value = INFINITY;
    trials[4] =
        (struct gw_study_trial){GW_STUDY_FAILED, points[4], NAN, 0, 5, 4, NULL, 0, &runs[4], 1};
    trials[5] =
        (struct gw_study_trial){GW_STUDY_RUNNING, points[5], NAN, 0, 0, 0, NULL, 0, NULL, 0};
    runs[4].ended_ns = 4; /* before its begin */
    runs[6].ended_ns = 0;
    runs[7].ranks = 1000;
    points[6][1] = NAN;
    reports[7].value = NAN;
    draw_all(&study);
    for (size_t i = 0; i < TRIALS; i++)
        trials[i].value = NAN;
    study.best = TRIALS;
    study.maximize = true;
    draw_all(&study);
}

static void each_run_has_a_bar_with_a_row_for_each_rank(void **state)
{
    enum { S = 1000000000 };
    const struct gw_study_run all[] = {
        {0, 1ull * S, 5ull * S, 2}, {1, 1ull * S, 3ull * S, 1}, {1, 4ull * S, 6ull * S, 1}};
    struct gw_study study = make_study(2, NAN);
    char *text = NULL;
    size_t bytes, bars = 0;
    (void)state;
    trials[0].runs = all;
    trials[1].runs = all + 1;
    trials[1].run_count = 2;
    FILE *out = open_memstream(&text, &bytes);
    gw_picture_timeline(out, &study);
    assert_int_equal(fclose(out), 0);
    for (const char *at = text; (at = strstr(at, "<title>trial")); at++)
        bars++;
    assert_int_equal(bars, 3);
    assert_non_null(strstr(text, "height=\"54.0\"")); /* two rows of 28 without the gap of 2 */
    free(text);
    assert_true(gw_trials_run_s(&trials[1], 2ull * S) == 1);
    assert_true(gw_trials_run_s(&trials[1], 5ull * S) == 3); /* without the pause from 3 to 4 */
    assert_true(gw_trials_run_s(&trials[1], 9ull * S) == 4);
}

/* Trials of 1, 2 and 4 ranks; `batch` is that of a rank. The global batches are 64 and 256. */
static void time_to_target_joins_only_trials_of_one_global_batch(void **state)
{
    enum { S = 1000000000 };
    struct gw_study study = make_study(6, .5);
    static const uint32_t ranks[] = {1, 2, 4, 1, 4, 4};
    static const double batches[] = {64, 32, 16, 256, 64, 64};
    char *text = NULL;
    size_t bytes;
    (void)state;
    for (size_t i = 0; i < 6; i++) {
        points[i][3] = batches[i];
        runs[i].ranks = ranks[i];
        runs[i].began_ns = 0;
        runs[i].ended_ns = 100ull * S;
        reports[i].wall_ns = (20 + i) * (uint64_t)S;
    }
    reports[5].value = trials[5].value = .6; /* does not reach what the others reach */
    FILE *out = open_memstream(&text, &bytes);
    gw_picture_scaling(out, &study);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "time until loss&lt; is at most 0.5,"));
    assert_non_null(strstr(text, "global batch 64: 1 rank 20s, 2 ranks 21s, 4 ranks 22s<"));
    assert_non_null(strstr(text, "global batch 256: 1 rank 23s, 4 ranks 24s<"));
    assert_null(strstr(text, "trial 5<"));
    free(text);
    study.target = .7;
    out = open_memstream(&text, &bytes);
    gw_picture_scaling(out, &study);
    assert_int_equal(fclose(out), 0);
    assert_non_null(strstr(text, "is at most 0.7,"));
    assert_non_null(strstr(text, "trial 5<"));
    free(text);
}

static void assert_ticks(struct gw_axis axis, unsigned wanted, const char *labels)
{
    double ticks[GW_AXIS_TICKS_MAX];
    char text[512] = "";
    const size_t count = gw_axis_ticks(&axis, wanted, ticks);
    for (size_t i = 0; i < count; i++) {
        char label[GW_AXIS_LABEL_BYTES];
        gw_axis_label(&axis, ticks[i], label);
        strcat(strcat(text, i ? " " : ""), label);
    }
    assert_string_equal(text, labels);
}

static void ticks_are_round_numbers(void **state)
{
    (void)state;
    assert_ticks(gw_axis_numbers(0, 1, false), 5, "0 0.2 0.4 0.6 0.8 1");
    assert_ticks(gw_axis_numbers(-0.013, 0.042, false), 5, "-0.01 0 0.01 0.02 0.03 0.04");
    assert_ticks(gw_axis_numbers(7, 7, false), 4, "6 7 8");
    assert_ticks(gw_axis_numbers(1e-5, 1, true), 6, "1e-5 0.0001 0.001 0.01 0.1 1");
    assert_ticks(gw_axis_numbers(1, 30, true), 6, "1 2 5 10 20");
    assert_ticks(gw_axis_numbers(0.42, 0.44, true), 4, "0.42 0.425 0.43 0.435 0.44");
    assert_ticks(gw_axis_numbers(-1, 1, true), 2, "-1 0 1"); /* has no logarithm */
    struct gw_axis axis = gw_axis_numbers(0, 5400, false);
    axis.is_time = true;
    assert_ticks(axis, 4, "0 30m 1h 1h30m");
    axis = gw_axis_numbers(0, 2, false);
    axis.is_whole = true;
    assert_ticks(axis, 8, "0 1 2");
    struct gw_study study = make_study(TRIALS, NAN);
    points[0][3] = 1024;
    assert_true(gw_axis_param(&study, 3).log); /* a derived parameter from 64 to 1024 */
    const struct gw_study_param count = {.name = "n", .kind = GW_STUDY_INT, .low = 1, .high = 3};
    study.params = &count;
    study.trial_count = 0;
    assert_ticks(gw_axis_param(&study, 0), 8, "1 2 3");
}

static void few_bad_values_lie_outside_and_wide_losses_are_logarithmic(void **state)
{
    double values[TRIALS];
    struct gw_study study = {.maximize = false};
    (void)state;
    for (size_t i = 0; i < TRIALS; i++)
        values[i] = 1 + (double)i / TRIALS;
    values[7] = 1e6;
    struct gw_axis axis = gw_trials_axis_of(&study, values, TRIALS);
    assert_true(axis.high < 4 && axis.low < 1 && axis.low > 0.5);
    assert_false(axis.log);
    for (size_t i = 0; i < TRIALS; i++)
        values[i] = pow(10, (double)i / 10);
    axis = gw_trials_axis_of(&study, values, TRIALS);
    assert_true(axis.log && axis.low < 1);
    study.maximize = true;
    for (size_t i = 0; i < TRIALS; i++)
        values[i] = (double)i;
    values[7] = -1e6;
    axis = gw_trials_axis_of(&study, values, TRIALS);
    assert_true(axis.low > -100 && axis.high > TRIALS - 1);
}

static void correlations_are_of_ranks(void **state)
{
    bool ordered;
    (void)state;
    struct gw_study study = make_study(TRIALS, NAN);
    assert_float_equal(gw_picture_importance_correlation(&study, 0, &ordered), -1, 1e-9);
    assert_true(ordered);
    assert_true(isnan(gw_picture_importance_correlation(&study, 3, &ordered))); /* always 64 */
    for (size_t i = 0; i < TRIALS; i++)
        trials[i].value = atof(numbers[i % 3].text); /* not in the order of the choices */
    assert_float_equal(gw_picture_importance_correlation(&study, 2, &ordered), 1, 1e-9);
    for (size_t i = 0; i < TRIALS; i++)
        trials[i].value = (double)(i % 2) * 5 + (double)i / 1000;
    const double found = gw_picture_importance_correlation(&study, 1, &ordered);
    assert_false(ordered);
    assert_true(found > 0.8 && found < 1);
    trials[1].state = GW_STUDY_PRUNED; /* does not count */
    study.trial_count = 3;
    assert_true(isnan(gw_picture_importance_correlation(&study, 0, &ordered)));
}

static void trials_are_drawn_from_the_worst_to_the_best(void **state)
{
    static const size_t wanted[] = {3, 1, 2, 4, 0, 5};
    (void)state;
    struct gw_study study = make_study(6, NAN); /* 10, 5, 3.3, 2.5, 2, 1.7 */
    trials[1].state = trials[2].state = GW_STUDY_PRUNED;
    trials[3].value = NAN;
    trials[4].value = 20;
    size_t *order = gw_trials_order(&study);
    assert_non_null(order);
    assert_memory_equal(order, wanted, sizeof wanted);
    free(order);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_picture_is_complete_for_odd_studies),
        cmocka_unit_test(each_run_has_a_bar_with_a_row_for_each_rank),
        cmocka_unit_test(time_to_target_joins_only_trials_of_one_global_batch),
        cmocka_unit_test(ticks_are_round_numbers),
        cmocka_unit_test(few_bad_values_lie_outside_and_wide_losses_are_logarithmic),
        cmocka_unit_test(trials_are_drawn_from_the_worst_to_the_best),
        cmocka_unit_test(correlations_are_of_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
