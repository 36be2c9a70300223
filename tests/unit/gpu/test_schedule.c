/* Schedules beside numbers of PyTorch 2.15, which must be the same bit for bit. SequentialLR joins
 * LinearLR with the schedule after it. tests/bench/train/parity.py compares more of them. */
#include "tests/unit/unit.h"

#include <gangway/plateau.h>
#include <gangway/schedule.h>
#include <math.h>

/* With a stop in the middle: another schedule continues from the state. */
static void check(const struct gw_schedule_options *options, const double *expected, int count)
{
    struct gw_schedule *schedule, *before;
    assert_int_equal(gw_schedule_new(options, &before, NULL), 0);
    assert_true(gw_schedule_lr(before) == expected[0]);
    for (int i = 1; i < count / 2; i++)
        assert_true(gw_schedule_next(before) == expected[i]);
    const struct gw_schedule_state state = gw_schedule_state(before);
    assert_int_equal(state.step, count / 2 - 1);
    gw_schedule_free(before);
    assert_int_equal(gw_schedule_new(options, &schedule, NULL), 0);
    gw_schedule_set_state(schedule, &state);
    for (int i = count / 2; i < count; i++)
        assert_true(gw_schedule_next(schedule) == expected[i]);
    gw_schedule_free(schedule);
}

static void schedules_have_the_bits_of_pytorch(void **state)
{
    static const double cosine[] = {
        0x1.999999999999ap-4, 0x1.6666666666667p-3, 0x1.0000000000001p-2, 0x1.4cccccccccccep-2,
        0x1.999999999999ap-2, 0x1.7376ea5a43904p-2, 0x1.0f9fe01cd2ec6p-2, 0x1.286e54413b6edp-3,
        0x1.8300ff19689ccp-5, 0x1.47ae147ae147bp-7, 0x1.8300ff19689cbp-5, 0x1.286e54413b6f0p-3,
        0x1.0f9fe01cd2ec9p-2, 0x1.7376ea5a43908p-2, 0x1.999999999999dp-2, 0x1.7376ea5a4390ap-2};
    static const double stairs[] = {
        0x1.999999999999ap-4, 0x1.6666666666667p-3, 0x1.0000000000001p-2, 0x1.4cccccccccccep-2,
        0x1.999999999999ap-2, 0x1.999999999999ap-2, 0x1.999999999999ap-2, 0x1.47ae147ae147cp-5,
        0x1.47ae147ae147cp-5, 0x1.47ae147ae147cp-5, 0x1.0624dd2f1a9fdp-8, 0x1.0624dd2f1a9fdp-8,
        0x1.0624dd2f1a9fdp-8, 0x1.a36e2eb1c432fp-12};
    check(GW_SCHEDULE_OPTIONS(.kind = GW_SCHEDULE_COSINE, .lr = 0.1, .ranks = 4, .warm_up_steps = 4,
                              .period = 5, .lr_min = 0.01),
          cosine, 16);
    check(GW_SCHEDULE_OPTIONS(.kind = GW_SCHEDULE_STAIRS, .lr = 0.4, .warm_up_steps = 4,
                              .warm_up_factor = 0.25, .period = 3),
          stairs, 14);
}

static const double metrics[] = {1,  .9, .95, .9, .89999, .95,    .95, .95, .95, .95,
                                 .5, .5, .5,  .5, NAN,    .49999, .6,  .6,  .6};
enum { METRICS = sizeof metrics / sizeof metrics[0] };

static void check_plateau(const struct gw_plateau_options *options, const double *expected)
{
    struct gw_plateau *plateau;
    double lr = 0.4;
    assert_int_equal(gw_plateau_new(options, &plateau, NULL), 0);
    for (int i = 0; i < METRICS; i++) {
        lr = gw_plateau_next(plateau, metrics[i], lr);
        assert_true(lr == expected[i]);
        const struct gw_plateau_state state = gw_plateau_state(plateau);
        gw_plateau_free(plateau);
        assert_int_equal(gw_plateau_new(options, &plateau, NULL), 0);
        gw_plateau_set_state(plateau, &state);
    }
    gw_plateau_free(plateau);
}

static void plateau_reduces_as_pytorch_does(void **state)
{
    static const double lowest[METRICS] = {
        0x1.999999999999ap-2,  0x1.999999999999ap-2,  0x1.999999999999ap-2,  0x1.999999999999ap-2,
        0x1.47ae147ae147cp-5,  0x1.47ae147ae147cp-5,  0x1.47ae147ae147cp-5,  0x1.47ae147ae147cp-5,
        0x1.0624dd2f1a9fdp-8,  0x1.0624dd2f1a9fdp-8,  0x1.0624dd2f1a9fdp-8,  0x1.0624dd2f1a9fdp-8,
        0x1.0624dd2f1a9fdp-8,  0x1.a36e2eb1c432fp-12, 0x1.a36e2eb1c432fp-12, 0x1.a36e2eb1c432fp-12,
        0x1.a36e2eb1c432fp-12, 0x1.4f8b588e368f3p-15, 0x1.4f8b588e368f3p-15};
    static const double highest[METRICS] = {
        0x1.999999999999ap-2, 0x1.999999999999ap-2, 0x1.eb851eb851eb8p-4, 0x1.eb851eb851eb8p-4,
        0x1.26e978d4fdf3bp-5, 0x1.26e978d4fdf3bp-5, 0x1.47ae147ae147bp-6, 0x1.47ae147ae147bp-6,
        0x1.47ae147ae147bp-6, 0x1.47ae147ae147bp-6, 0x1.47ae147ae147bp-6, 0x1.47ae147ae147bp-6,
        0x1.47ae147ae147bp-6, 0x1.47ae147ae147bp-6, 0x1.47ae147ae147bp-6, 0x1.47ae147ae147bp-6,
        0x1.47ae147ae147bp-6, 0x1.47ae147ae147bp-6, 0x1.47ae147ae147bp-6};
    check_plateau(GW_PLATEAU_OPTIONS(.patience = 2, .cooldown = 1), lowest);
    check_plateau(GW_PLATEAU_OPTIONS(.is_max = true, .is_absolute = true, .patience = 1,
                                     .factor = 0.3, .threshold = 0.1, .lr_min = 0.02),
                  highest);
}

static void schedules_refuse_invalid_options(void **state)
{
    struct gw_schedule *schedule;
    struct gw_plateau *plateau;
    const struct gw_schedule_options wrong[] = {
        GW_INIT(gw_schedule_options, .lr = -1),
        GW_INIT(gw_schedule_options, .lr = 1, .ranks = -1),
        GW_INIT(gw_schedule_options, .lr = 1, .warm_up_steps = -1),
        GW_INIT(gw_schedule_options, .lr = 1, .warm_up_factor = 2),
        GW_INIT(gw_schedule_options, .lr = 1, .kind = GW_SCHEDULE_COSINE),
        GW_INIT(gw_schedule_options, .lr = 1, .factor = NAN),
    };
    for (size_t i = 0; i < sizeof wrong / sizeof wrong[0]; i++)
        assert_int_equal(gw_schedule_new(&wrong[i], &schedule, NULL), GW_EINVAL);
    assert_int_equal(gw_plateau_new(GW_PLATEAU_OPTIONS(.factor = 1), &plateau, NULL), GW_EINVAL);
    assert_int_equal(gw_plateau_new(GW_PLATEAU_OPTIONS(.lr_min = -1), &plateau, NULL), GW_EINVAL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(schedules_have_the_bits_of_pytorch),
        cmocka_unit_test(plateau_reduces_as_pytorch_does),
        cmocka_unit_test(schedules_refuse_invalid_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
