/* Sweeps without a cluster: what starts and events do to trials; the records of trials; the words
 * of a trial's command. */
#include "tests/unit/unit.h"

#include <gangway/sweep.h>

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "client/cli/sweep/sweep_view.h"
#include "client/cli/sweep/trial_folder.h"
#include "client/cli/sweep/trial_template.h"
#include "client/sweep/controller/sweep_state.h"
#include "client/sweep/controller/trial_record.h"

static struct gw_error error;
static uint64_t next_seq;

/* -- The state --- */

static struct gw_sweep_state make_state(const struct gw_search_options *options, const char *metric)
{
    struct gw_sweep_state state;
    struct gw_space *space = gw_space_new();
    struct gw_search *search;
    assert_int_equal(gw_space_add(space, "x=0..1", &error), 0);
    if (gw_search_new(space, options, &search, &error) < 0)
        fail_msg("%s", error.text);
    gw_sweep_state_init(&state, search, metric, options->max_steps);
    next_seq = 1;
    return state;
}

static struct gw_sweep_state_trial *start(struct gw_sweep_state *state, uint64_t job)
{
    struct gw_sweep_state_trial *trial;
    if (gw_sweep_state_start(state, 0, &trial, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(gw_sweep_state_started(state, trial, job, 1), 0);
    return trial;
}

/* Returns the job to cancel. */
static uint64_t report_as(struct gw_sweep_state *state, uint64_t job, int64_t step, double value,
                          bool provisional)
{
    const struct gw_sweep_event event = {.seq = next_seq++,
                                         .job = job,
                                         .step = step,
                                         .name = "loss",
                                         .value = value,
                                         .text = "",
                                         .provisional = provisional};
    uint64_t cancel;
    assert_int_equal(gw_sweep_state_handle(state, &event, &cancel, &error), 0);
    return cancel;
}

static uint64_t report(struct gw_sweep_state *state, uint64_t job, int64_t step, double value)
{
    return report_as(state, job, step, value, false);
}

static void end_with(struct gw_sweep_state *state, uint64_t job, const char *end, double value)
{
    const struct gw_sweep_event event = {
        .seq = next_seq++, .job = job, .name = "", .value = value, .end = end, .text = ""};
    uint64_t cancel;
    assert_int_equal(gw_sweep_state_handle(state, &event, &cancel, &error), 0);
    assert_int_equal(cancel, 0);
}

static void the_last_report_is_the_value_of_a_trial(void **state)
{
    (void)state;
    struct gw_sweep_state sweep =
        make_state(GW_SEARCH_OPTIONS(.method = GW_SEARCH_RANDOM, .trials = 2), "loss");
    struct gw_sweep_state_trial *a = start(&sweep, 7), *b = start(&sweep, 8);
    report(&sweep, 7, 1, 0.9);
    report(&sweep, 8, 1, 0.1);
    report(&sweep, 7, 2, 0.5);
    end_with(&sweep, 7, "done", NAN);
    end_with(&sweep, 8, "failed", NAN);
    assert_int_equal(a->shown.trial->state, GW_TRIAL_DONE);
    assert_true(a->shown.trial->value == 0.5);
    assert_int_equal(b->shown.trial->state, GW_TRIAL_FAILED);
    assert_string_equal(b->shown.text, "failed");
    assert_int_equal(sweep.live.count, 0);
    assert_int_equal(sweep.seen, 5);
    gw_sweep_state_deinit(&sweep);
}

static void a_provisional_report_is_told_only_if_it_is_the_last_one(void **state)
{
    (void)state;
    /* A sweep that is made again does not see the report of step 2. */
    for (int made_again = 0; made_again < 2; made_again++) {
        struct gw_sweep_state sweep =
            make_state(GW_SEARCH_OPTIONS(.method = GW_SEARCH_RANDOM, .trials = 3,
                                         .pruner = GW_PRUNE_ASHA, .eta = 2, .max_steps = 9),
                       "loss");
        struct gw_sweep_state_trial *a = start(&sweep, 1);
        start(&sweep, 2);
        report(&sweep, 1, 1, 0.2);
        if (!made_again)
            report_as(&sweep, 1, 2, 0.5, true);
        report(&sweep, 1, 3, 0.7);
        report_as(&sweep, 1, 4, 0.6, true);
        end_with(&sweep, 1, "done", NAN);
        assert_true(a->shown.trial->value == 0.6);
        assert_int_equal(report(&sweep, 2, 2, 0.6), 0); /* better than 0.7, worse than 0.5 */
        gw_sweep_state_deinit(&sweep);
    }
}

static void a_result_is_the_value_without_a_metric(void **state)
{
    (void)state;
    struct gw_sweep_state sweep =
        make_state(GW_SEARCH_OPTIONS(.method = GW_SEARCH_RANDOM, .trials = 2), NULL);
    struct gw_sweep_state_trial *a = start(&sweep, 7), *b = start(&sweep, 8);
    report(&sweep, 7, 1, 0.9); /* means nothing here */
    end_with(&sweep, 7, "done", 0.25);
    end_with(&sweep, 8, "done", NAN);
    assert_true(a->shown.trial->value == 0.25);
    assert_int_equal(b->shown.trial->state, GW_TRIAL_FAILED);
    assert_int_equal(sweep.silent, 1);
    gw_sweep_state_deinit(&sweep);
}

static void a_pruned_trial_is_cancelled_and_keeps_the_value_of_the_decision(void **state)
{
    (void)state;
    struct gw_sweep_state sweep =
        make_state(GW_SEARCH_OPTIONS(.method = GW_SEARCH_RANDOM, .trials = 3,
                                     .pruner = GW_PRUNE_ASHA, .eta = 2, .max_steps = 4),
                   "loss");
    start(&sweep, 1);
    start(&sweep, 2);
    struct gw_sweep_state_trial *bad = start(&sweep, 3);
    assert_int_equal(report(&sweep, 1, 1, 0.1), 0);
    assert_int_equal(report(&sweep, 2, 1, 0.2), 2);
    assert_int_equal(report(&sweep, 3, 1, 0.9), 3);
    assert_true(gw_sweep_state_cancels(bad));
    report(&sweep, 3, 2, 0.05); /* it was on its way */
    end_with(&sweep, 3, "cancelled", NAN);
    assert_int_equal(bad->shown.trial->state, GW_TRIAL_PRUNED);
    assert_true(bad->shown.trial->value == 0.9);
    gw_sweep_state_deinit(&sweep);
}

static void a_paused_trial_starts_again_as_another_job(void **state)
{
    (void)state;
    struct gw_sweep_state sweep =
        make_state(GW_SEARCH_OPTIONS(.method = GW_SEARCH_RANDOM, .trials = 2, .eta = 2,
                                     .max_steps = 2, .pruner = GW_PRUNE_ASHA_PROMOTE),
                   "loss");
    struct gw_sweep_state_trial *a = start(&sweep, 1), *b = start(&sweep, 2);
    assert_int_equal(a->until, 1);
    assert_int_equal(report(&sweep, 1, 1, 0.1), 0);
    assert_int_equal(report(&sweep, 2, 1, 0.2), 0);
    end_with(&sweep, 1, "done", NAN);
    end_with(&sweep, 2, "done", NAN);
    assert_int_equal(b->shown.trial->state, GW_TRIAL_PAUSED);
    assert_ptr_equal(start(&sweep, 3), a);
    assert_int_equal(a->until, 2);
    assert_int_equal(a->shown.starts, 2);
    report(&sweep, 1, 2, 0.7); /* of its first job: too late */
    report(&sweep, 3, 2, 0.05);
    end_with(&sweep, 3, "done", NAN);
    assert_int_equal(a->shown.trial->state, GW_TRIAL_DONE);
    assert_true(a->shown.trial->value == 0.05);
    gw_sweep_state_deinit(&sweep);
}

static void a_trial_that_goes_on_beyond_its_last_step_is_cancelled(void **state)
{
    (void)state;
    struct gw_sweep_state sweep =
        make_state(GW_SEARCH_OPTIONS(.method = GW_SEARCH_RANDOM, .trials = 2, .eta = 2,
                                     .max_steps = 2, .pruner = GW_PRUNE_ASHA_PROMOTE),
                   "loss");
    struct gw_sweep_state_trial *a = start(&sweep, 1);
    assert_int_equal(report(&sweep, 1, 1, 0.1), 0);
    assert_int_equal(report(&sweep, 1, 2, 0.1), 1);
    end_with(&sweep, 1, "cancelled", NAN);
    assert_int_equal(a->shown.trial->state, GW_TRIAL_PAUSED);
    gw_sweep_state_deinit(&sweep);
}

static void a_trial_cancelled_from_outside_counts_as_no_failure(void **state)
{
    (void)state;
    struct gw_sweep_state sweep = make_state(
        GW_SEARCH_OPTIONS(.method = GW_SEARCH_RANDOM, .trials = 2, .failures = 1), "loss");
    struct gw_sweep_state_trial *a = start(&sweep, 1);
    report(&sweep, 1, 1, 0.1);
    end_with(&sweep, 1, "cancelled", NAN);
    assert_int_equal(a->shown.trial->state, GW_TRIAL_CANCELLED);
    assert_string_equal(a->shown.text, "");
    start(&sweep, 2);
    end_with(&sweep, 2, "failed", NAN);
    assert_int_equal(gw_sweep_state_start(&sweep, 0, &a, &error), GW_ENOENT);
    gw_sweep_state_deinit(&sweep);
}

static void an_interrupted_trial_can_start_again(void **state)
{
    (void)state;
    struct gw_sweep_state sweep =
        make_state(GW_SEARCH_OPTIONS(.method = GW_SEARCH_RANDOM, .trials = 1), "loss");
    struct gw_sweep_state_trial *a = start(&sweep, 1);
    end_with(&sweep, 1, "cancelled", NAN);
    assert_int_equal(gw_sweep_state_reopen(&sweep, 0, &error), 0);
    assert_true(gw_sweep_view_waits(&a->shown));
    assert_ptr_equal(start(&sweep, 2), a);
    assert_false(gw_sweep_view_waits(&a->shown));
    report(&sweep, 2, 1, 0.5);
    end_with(&sweep, 2, "done", NAN);
    assert_int_equal(a->shown.trial->state, GW_TRIAL_DONE);
    assert_string_equal(a->shown.text, "");
    assert_int_equal(gw_sweep_state_reopen(&sweep, 0, &error), 0); /* does nothing */
    assert_int_equal(a->shown.trial->state, GW_TRIAL_DONE);
    gw_sweep_state_deinit(&sweep);
}

static void a_trial_that_the_cluster_cannot_run_fails_with_the_reason(void **state)
{
    (void)state;
    struct gw_sweep_state sweep =
        make_state(GW_SEARCH_OPTIONS(.method = GW_SEARCH_RANDOM, .trials = 1), "loss");
    struct gw_sweep_state_trial *a = start(&sweep, 1);
    assert_int_equal(gw_sweep_state_unfit(a, "it is too large"), 0);
    end_with(&sweep, 1, "failed", NAN);
    assert_int_equal(a->shown.trial->state, GW_TRIAL_FAILED);
    assert_string_equal(a->shown.text, "it is too large");
    gw_sweep_state_deinit(&sweep);
}

static void a_copied_trial_starts_again_with_other_params(void **state)
{
    (void)state;
    struct gw_sweep_state sweep =
        make_state(GW_SEARCH_OPTIONS(.method = GW_SEARCH_RANDOM, .trials = 4, .grace = 1,
                                     .max_steps = 8, .pruner = GW_PRUNE_POPULATION),
                   "loss");
    struct gw_sweep_state_trial *worst = NULL;
    uint64_t cancel = 0;
    for (uint64_t job = 1; job <= 4; job++)
        worst = start(&sweep, job);
    for (uint64_t job = 1; job <= 4; job++)
        cancel = report(&sweep, job, 1, (double)job);
    if (!cancel)
        cancel = report(&sweep, 4, 2, 4);
    assert_int_equal(cancel, 4);
    end_with(&sweep, 4, "cancelled", NAN);
    assert_int_equal(worst->shown.trial->state, GW_TRIAL_RUNNING);
    assert_true(gw_sweep_view_waits(&worst->shown));
    assert_ptr_equal(start(&sweep, 5), worst);
    assert_int_not_equal(worst->shown.trial->source, 3);
    gw_sweep_state_deinit(&sweep);
}

/* -- Records --- */

static void a_record_is_read_as_it_was_written(void **state)
{
    (void)state;
    char text[GW_TRIAL_RECORD_BYTES], *at = text;
    const struct gw_trial_record written = {.start = 3,
                                            .batch = 1,
                                            .trial = 2,
                                            .seen = 1ull << 60,
                                            .params = "opt=a,b% c lr=0.1",
                                            .definition = "{\"words\":[\"\xc3\xa4\\n\"]}",
                                            .unfit = "it has 9 ranks, too many"};
    assert_int_equal(gw_trial_record_write(&written, "s", text, &error), 0);
    struct gw_value *annotations = gw_dict();
    while (*at) { /* as the scheduler shows them */
        const size_t bytes = strcspn(at, ","), name = strcspn(at, "=");
        char *key = strndup(at, name), *value = strndup(at + name + 1, bytes - name - 1);
        assert_int_equal(gw_dict_set(annotations, key, gw_str(value)), 0);
        free(key);
        free(value);
        at += bytes + (at[bytes] == ',');
    }
    struct gw_trial_record read;
    assert_int_equal(gw_trial_record_read(annotations, &read), 0);
    assert_int_equal(read.start, 3);
    assert_int_equal(read.batch, 1);
    assert_int_equal(read.trial, 2);
    assert_true(read.seen == written.seen);
    assert_string_equal(read.params, written.params);
    assert_string_equal(read.definition, written.definition);
    assert_string_equal(read.unfit, written.unfit);
    gw_trial_record_deinit(&read);
    assert_int_equal(gw_dict_set(annotations, "sweep.start", gw_str("-1")), 0);
    assert_int_equal(gw_trial_record_read(annotations, &read), GW_EINVAL);
    assert_int_equal(gw_dict_set(annotations, "sweep.start", gw_str("0")), 0);
    assert_int_equal(gw_trial_record_read(annotations, &read), GW_EINVAL); /* before its batch */
    gw_value_unref(annotations);
}

static void a_record_that_is_too_long_is_refused(void **state)
{
    (void)state;
    static char text[GW_TRIAL_RECORD_BYTES], params[GW_TRIAL_RECORD_BYTES];
    memset(params, 'x', sizeof params - 1);
    const struct gw_trial_record record = {.params = params};
    assert_int_equal(gw_trial_record_write(&record, "s", text, &error), GW_ELIMIT);
    for (size_t bytes = sizeof params - 1; bytes > 0; bytes--) {
        params[bytes] = '\0';
        if (gw_trial_record_write(&record, "s", text, &error) < 0)
            continue;
        assert_int_equal(strlen(text), GW_TRIAL_RECORD_BYTES - 1);
        return;
    }
    fail();
}

/* Trials that end one after another; returns the processor time that they took. */
static clock_t run_trials(uint32_t count)
{
    const clock_t begin = clock();
    struct gw_sweep_state sweep = make_state(GW_SEARCH_OPTIONS(.method = GW_SEARCH_RANDOM), NULL);
    for (uint32_t i = 0; i < count; i++) {
        start(&sweep, i + 1);
        end_with(&sweep, i + 1, "done", i);
    }
    assert_int_equal(sweep.trials.count, count);
    assert_int_equal(sweep.live.count, 0);
    gw_sweep_state_deinit(&sweep);
    return clock() - begin;
}

static void the_cost_of_a_trial_does_not_grow_with_their_number(void **state)
{
    const clock_t few = run_trials(2000), many = run_trials(80000);
    assert_true(many < 40 * 5 * few);
}

static void a_number_has_the_digits_that_it_needs(void **state)
{
    (void)state;
    const double numbers[] = {0.1, 1e-4, 1.0 / 3, 5e-324, 1e300, 3, 0.0009037670547078629};
    char word[64];
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct gw_value *value = gw_f64(numbers[i]);
        gw_sweep_word(value, word, sizeof word);
        assert_true(strtod(word, NULL) == numbers[i]);
        gw_value_unref(value);
    }
    struct gw_value *tenth = gw_f64(0.1);
    gw_sweep_word(tenth, word, sizeof word);
    assert_string_equal(word, "0.1");
    gw_value_unref(tenth);
}

/* -- Folders --- */

static void write_file(const char *dir, const char *name, const char *text)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static bool exists(const char *dir, const char *name)
{
    char path[512];
    (void)snprintf(path, sizeof path, "%s/%s", dir, name);
    return access(path, F_OK) == 0;
}

static void the_folder_of_a_copy_has_the_files_of_its_source(void **state)
{
    (void)state;
    char top[] = "/tmp/gw-test-sweep-XXXXXX", command[600];
    assert_non_null(mkdtemp(top));
    struct gw_trial good = {.number = 0, .source = 0}, bad = {.number = 1, .source = 1};
    assert_int_equal(gw_trial_folder_make(top, "dirs", &good, &error), 0);
    assert_int_equal(gw_trial_folder_make(top, "dirs", &bad, &error), 0);
    write_file(top, "dirs/0/good", "");
    write_file(top, "dirs/1/bad", "");
    bad.source = 0;
    if (gw_trial_folder_make(top, "dirs", &bad, &error) < 0)
        fail_msg("%s", error.text);
    assert_true(exists(top, "dirs/1/good"));
    assert_false(exists(top, "dirs/1/bad"));
    assert_true(exists(top, "dirs/0/good"));
    (void)snprintf(command, sizeof command, "rm -rf %s", top);
    assert_int_equal(system(command), 0);
}

/* -- Words --- */

static void words_get_the_parameters_of_their_trial(void **state)
{
    (void)state;
    char *words[] = {
        "-n",   "{gpus}", "--lr={lr}/{trial}", "--m={momentum}", "{rank}", "{{}lr}", "{", "{}",
        "a{lr", NULL};
    static const char *const wanted[] = {"-n",     "4", "--lr=0.5/7", "{rank}",
                                         "{{}lr}", "{", "{}",         "a{lr"};
    struct gw_value *params = gw_dict();
    gw_dict_set(params, "gpus", gw_i64(4));
    gw_dict_set(params, "lr", gw_f64(0.5));
    const struct gw_trial trial = {.number = 7, .params = params};
    char **made;
    assert_int_equal(gw_trial_template_expand(words, &trial, &made), 0);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++)
        assert_string_equal(made[i], wanted[i]);
    assert_null(made[sizeof wanted / sizeof *wanted]);
    gw_trial_template_free(made);
    gw_value_unref(params);
}

static bool is_lr(const char *name, void *arg)
{
    (void)arg;
    return strcmp(name, "lr") == 0;
}

static void an_unknown_parameter_in_a_word_is_refused(void **state)
{
    (void)state;
    char *good[] = {"{lr}",        "{{}lrr}",       "{rank}",   "{trial}",
                    "{not closed", "f() { echo; }", "${x} {1}", NULL};
    char *bad[] = {"x{lr}{lrr}", NULL};
    assert_int_equal(gw_trial_template_check(good, is_lr, NULL, &error), 0);
    assert_int_equal(gw_trial_template_check(bad, is_lr, NULL, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "lrr"));
}

static void a_trial_without_a_job_waits(void **state)
{
    (void)state;
    struct gw_trial search = {.state = GW_TRIAL_RUNNING};
    struct gw_sweep_trial trial = {.trial = &search};
    assert_true(gw_sweep_view_waits(&trial));
    trial.job = 7;
    assert_false(gw_sweep_view_waits(&trial));
    trial.job = 0;
    search.state = GW_TRIAL_PAUSED;
    assert_false(gw_sweep_view_waits(&trial));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_last_report_is_the_value_of_a_trial),
        cmocka_unit_test(a_provisional_report_is_told_only_if_it_is_the_last_one),
        cmocka_unit_test(a_result_is_the_value_without_a_metric),
        cmocka_unit_test(a_pruned_trial_is_cancelled_and_keeps_the_value_of_the_decision),
        cmocka_unit_test(a_paused_trial_starts_again_as_another_job),
        cmocka_unit_test(a_trial_that_goes_on_beyond_its_last_step_is_cancelled),
        cmocka_unit_test(a_trial_cancelled_from_outside_counts_as_no_failure),
        cmocka_unit_test(an_interrupted_trial_can_start_again),
        cmocka_unit_test(a_trial_that_the_cluster_cannot_run_fails_with_the_reason),
        cmocka_unit_test(a_copied_trial_starts_again_with_other_params),
        cmocka_unit_test(a_record_is_read_as_it_was_written),
        cmocka_unit_test(a_record_that_is_too_long_is_refused),
        cmocka_unit_test(the_cost_of_a_trial_does_not_grow_with_their_number),
        cmocka_unit_test(a_number_has_the_digits_that_it_needs),
        cmocka_unit_test(the_folder_of_a_copy_has_the_files_of_its_source),
        cmocka_unit_test(words_get_the_parameters_of_their_trial),
        cmocka_unit_test(an_unknown_parameter_in_a_word_is_refused),
        cmocka_unit_test(a_trial_without_a_job_waits),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
