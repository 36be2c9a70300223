/* Spaces: parameters from text and from values, conditions, constraints, bad input. */
#include "tests/unit/unit.h"

#include "client/sweep/search/point.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

static struct gw_error error;

static void add(struct gw_space *space, const char *text)
{
    if (gw_space_add(space, text, &error) < 0)
        fail_msg("%s: %s", text, error.text);
}

static const struct gw_param *last_param(const struct gw_space *space)
{
    return &space->params.items[space->params.count - 1];
}

static void each_form_of_text_gives_its_parameter(void **state)
{
    static const struct {
        const char *text;
        enum gw_param_kind kind;
        bool log;
        double low, high, step;
        uint64_t cells;
    } forms[] = {
        {"a=0..1", GW_PARAM_FLOAT, false, 0, 1, 0, 0},
        {"b=uniform:-1.5..2.", GW_PARAM_FLOAT, false, -1.5, 2, 0, 0},
        {"lr=log:1e-4..1e-1", GW_PARAM_FLOAT, true, 1e-4, 1e-1, 0, 0},
        {"layers=int:1..8", GW_PARAM_INT, false, 1, 8, 1, 8},
        {"units=int:0..70:8", GW_PARAM_INT, false, 0, 64, 8, 9},
        {"width=int-log:16..1024", GW_PARAM_INT, true, 16, 1024, 1, 1009},
        {"drop=0..1:0.1", GW_PARAM_FLOAT, false, 0, 1, .1, 11},
        {"rest=0..1:0.3", GW_PARAM_FLOAT, false, 0, .9, .3, 4},
        {"one=3..3", GW_PARAM_FLOAT, false, 3, 3, 0, 1},
        {"gpus=1,4,16", GW_PARAM_CHOICE, false, 0, 0, 0, 3},
        {"opt=adam|sgd", GW_PARAM_CHOICE, false, 0, 0, 0, 2},
        {"seed=7", GW_PARAM_CHOICE, false, 0, 0, 0, 1},
        {"deep=true|false", GW_PARAM_CHOICE, false, 0, 0, 0, 2},
        {"path=../a,/b..c", GW_PARAM_CHOICE, false, 0, 0, 0, 2},
    };
    (void)state;
    struct gw_space *space = gw_space_new();
    for (size_t i = 0; i < sizeof forms / sizeof *forms; i++) {
        add(space, forms[i].text);
        const struct gw_param *param = last_param(space);
        assert_int_equal(param->kind, forms[i].kind);
        assert_int_equal(param->log, forms[i].log);
        assert_true(fabs(param->low - forms[i].low) < 1e-12);
        assert_true(fabs(param->high - forms[i].high) < 1e-12);
        assert_true(param->step == forms[i].step);
        assert_int_equal(gw_param_cells(param), forms[i].cells);
    }
    gw_space_free(space);
}

static void a_choice_has_values_of_their_types(void **state)
{
    (void)state;
    struct gw_space *space = gw_space_new();
    add(space, "x=1,2.5,true,1e,sgd");
    static const enum gw_value_type types[] = {GW_I64, GW_F64, GW_BOOL, GW_STR, GW_STR};
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(gw_value_type(last_param(space)->choices.items[i]), types[i]);
    gw_space_free(space);
}

static void bad_text_names_the_parameter_and_what_to_type(void **state)
{
    static const struct {
        const char *text;
        int code;
        const char *said;
    } bad[] = {
        {"", GW_EINVAL, "write NAME=VALUES"},
        {"lr", GW_EINVAL, "write NAME=VALUES"},
        {"9lr=1", GW_EINVAL, "write NAME=VALUES"},
        {"lr=", GW_EINVAL, "parameter lr: a value is missing"},
        {"lr=1,,2", GW_EINVAL, "parameter lr: a value is missing"},
        {"lr=2..1", GW_EINVAL, "the range is empty: write lr=1..2"},
        {"n=int:8..1", GW_EINVAL, "write n=int:1..8"},
        {"lr=log:0..1", GW_EINVAL, "needs a lower end above 0"},
        {"lr=log:1..2:0.5", GW_EINVAL, "has no step"},
        {"lr=log:1", GW_EINVAL, "'log:1' is no range"},
        {"lr=loguniform:1..2", GW_EINVAL, "'loguniform:1..2' is no range"},
        {"lr=0 .. 1", GW_EINVAL, "'0 .. 1' is no range"},
        {"lr=log:1..x", GW_EINVAL, "is no range"},
        {"lr=0..1:0", GW_EINVAL, "the step must be above 0"},
        {"lr=0..1:-1", GW_EINVAL, "the step must be above 0"},
        {"lr=0..1e999", GW_EINVAL, "finite"},
        {"lr=uniform:nan..1", GW_EINVAL, "is no range"},
        {"n=int:1..2.5", GW_EINVAL, "whole numbers"},
        {"n=int:1..1e17", GW_EINVAL, "whole numbers"},
        {"opt=a|a", GW_EINVAL, "twice"},
        {"used=1", GW_EEXIST, "parameter used: the space has it already"},
        {"m=0..1 if opt", GW_EINVAL, "' if OTHER=VALUE'"},
        {"m=0..1 if none=1", GW_ENOENT, "'none' is no earlier parameter"},
        {"m=0..1 if m=1", GW_ENOENT, "'m' is no earlier parameter"},
        {"m=0..1 if used=9", GW_EINVAL, "used never has the value 9"},
        {"m=0..1 if real=0.5", GW_EINVAL, "real is neither"},
    };
    (void)state;
    struct gw_space *space = gw_space_new();
    add(space, "used=1,2");
    add(space, "real=0..1");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const int rc = gw_space_add(space, bad[i].text, &error);
        if (rc != bad[i].code || !strstr(error.text, bad[i].said))
            fail_msg("'%s' gives %d, %s", bad[i].text, rc, error.text);
    }
    assert_int_equal(space->params.count, 2);
    assert_int_equal(gw_space_add(NULL, "x=1", &error), GW_ENOMEM);
    gw_space_free(space);
}

static void a_space_has_so_many_parameters_and_no_more(void **state)
{
    (void)state;
    struct gw_space *space = gw_space_new();
    char text[32];
    for (int i = 0; i < GW_SPACE_PARAMS_MAX; i++) {
        snprintf(text, sizeof text, "p%d=0..1", i);
        add(space, text);
    }
    assert_int_equal(gw_space_add(space, "more=1", &error), GW_ELIMIT);
    assert_int_equal(gw_space_derive(space, "more=1", &error), GW_ELIMIT);
    gw_space_free(space);
    struct gw_value *dict = gw_dict();
    for (int i = 0; i <= GW_SPACE_PARAMS_MAX; i++) {
        space = gw_space_new();
        snprintf(text, sizeof text, "p%d", i);
        gw_dict_set(dict, text, gw_i64(i));
        const int rc = gw_space_add_values(space, dict, &error);
        assert_int_equal(rc, i < GW_SPACE_PARAMS_MAX ? 0 : GW_ELIMIT);
        assert_int_equal(space->params.count, rc == 0 ? i + 1 : 0);
        gw_space_free(space);
    }
    gw_value_unref(dict);
}

/* Signs and parentheses in each other. */
static void an_expression_is_so_deep_and_no_deeper(void **state)
{
    (void)state;
    struct gw_space *space = gw_space_new();
    char text[80] = "d=";
    memset(text + 2, '-', 31);
    strcpy(text + 33, "1");
    assert_int_equal(gw_space_derive(space, text, &error), 0);
    text[0] = 'e';
    memset(text + 2, '-', 32);
    strcpy(text + 34, "1");
    assert_int_equal(gw_space_derive(space, text, &error), GW_EINVAL);
    gw_space_free(space);
}

static struct gw_value *make_list(struct gw_value *a, struct gw_value *b)
{
    struct gw_value *list = gw_list();
    gw_list_push(list, a);
    gw_list_push(list, b);
    return list;
}

static struct gw_value *make_range(const char *kind, double low, double high)
{
    struct gw_value *dict = gw_dict();
    gw_dict_set(dict, kind, make_list(gw_f64(low), gw_f64(high)));
    return dict;
}

static void a_dict_gives_the_same_parameters(void **state)
{
    (void)state;
    struct gw_space *space = gw_space_new();
    struct gw_value *dict = gw_dict(), *condition = gw_dict();
    struct gw_value *momentum = make_range("uniform", 0, 1);
    gw_dict_set(condition, "opt", gw_str("sgd"));
    gw_dict_set(momentum, "if", condition);
    gw_dict_set(momentum, "step", gw_f64(.25));
    gw_dict_set(dict, "momentum", momentum); /* before the parameter on which it depends */
    gw_dict_set(dict, "opt", make_list(gw_str("adam"), gw_str("sgd")));
    gw_dict_set(dict, "lr", gw_str("log:1e-4..1e-1"));
    gw_dict_set(dict, "width", make_range("int-log", 16, 1024));
    gw_dict_set(dict, "seed", gw_i64(7));
    if (gw_space_add_values(space, dict, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(space->params.count, 5);
    const struct gw_param *found = &space->params.items[gw_space_find(space, "momentum", 8)];
    assert_string_equal(space->params.items[found->parent].name, "opt");
    assert_int_equal(gw_param_cells(found), 5);
    found = &space->params.items[gw_space_find(space, "width", 5)];
    assert_true(found->log && found->kind == GW_PARAM_INT);
    assert_true(space->params.items[gw_space_find(space, "lr", 2)].log);
    gw_value_unref(dict);
    gw_space_free(space);
}

/* Adds {"good": 1, name: value}, which is refused as a whole. */
static void expect_bad_value(const char *name, struct gw_value *value, const char *said)
{
    struct gw_space *space = gw_space_new();
    struct gw_value *dict = gw_dict();
    gw_dict_set(dict, "good", gw_i64(1));
    gw_dict_set(dict, name, value);
    const int rc = gw_space_add_values(space, dict, &error);
    if (rc >= 0 || !strstr(error.text, said))
        fail_msg("%s gives %d, %s", name, rc, error.text);
    assert_int_equal(space->params.count, 0);
    gw_value_unref(dict);
    gw_space_free(space);
}

static void a_bad_value_adds_nothing(void **state)
{
    (void)state;
    struct gw_value *unknown = gw_dict(), *both = make_range("int", 0, 1), *on = gw_dict();
    struct gw_value *lost = make_range("int", 0, 1);
    gw_dict_set(both, "uniform", gw_list());
    gw_dict_set(on, "none", gw_i64(1));
    gw_dict_set(lost, "if", on);
    expect_bad_value("a", gw_nil(), "parameter a: write a text");
    expect_bad_value("b", gw_list(), "parameter b: the choice is empty");
    expect_bad_value("c", unknown, "parameter c: write one of");
    expect_bad_value("d", both, "parameter d: unexpected");
    expect_bad_value("e", make_range("int", 5, 1), "the range is empty");
    expect_bad_value("f", make_list(gw_nil(), gw_i64(1)), "parameter f: a choice is");
    expect_bad_value("g", lost, "'none' is no earlier parameter");
    expect_bad_value("no name", gw_i64(1), "'no name' is no name");
    struct gw_space *space = gw_space_new();
    struct gw_value *list = gw_list();
    assert_int_equal(gw_space_add_values(space, list, &error), GW_EINVAL);
    assert_int_equal(gw_space_add_values(space, NULL, &error), GW_ENOMEM);
    gw_value_unref(list);
    gw_space_free(space);
}

static void expressions_compute(void **state)
{
    static const struct {
        const char *text;
        double result;
    } expressions[] = {
        {"d=global/gpus", 16},      {"d=1+2*3-4/2", 5}, {"d=-(1 - 3) * gpus", 8},
        {"d=global-gpus-gpus", 56}, {"d=1e2", 100},     {"d= ( ( gpus ) )", 4},
    };
    (void)state;
    struct gw_space *space = gw_space_new();
    add(space, "gpus=1,4");
    add(space, "global=int:64..64");
    const double point[] = {1, 64};
    for (size_t i = 0; i < sizeof expressions / sizeof *expressions; i++) {
        char text[64];
        snprintf(text, sizeof text, "d%zu%s", i, expressions[i].text + 1);
        if (gw_space_derive(space, text, &error) < 0)
            fail_msg("%s: %s", text, error.text);
        struct gw_value *values = gw_point_values(space, point);
        double x = NAN;
        char name[8];
        snprintf(name, sizeof name, "d%zu", i);
        assert_int_equal(gw_value_get_f64(gw_value_find(values, name), &x, &error), 0);
        if (x != expressions[i].result)
            fail_msg("%s is %g", expressions[i].text, x);
        gw_value_unref(values);
    }
    gw_space_free(space);
}

static void bad_expressions_are_refused(void **state)
{
    static const char *const bad[] = {"",      "d",     "d=",    "d=1+", "d=(1", "d=1)", "d=x",
                                      "d=opt", "d=1 2", "d=a<2", "d=$",  "a=1",  "d=d"};
    static const char *const loose[] = {"", "a", "a<", "<1", "a<1<2", "a=1", "a<b", "opt==1"};
    (void)state;
    struct gw_space *space = gw_space_new();
    char deep[200] = "d=";
    memset(deep + 2, '(', 100);
    add(space, "a=1,2");
    add(space, "opt=adam|sgd");
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        if (gw_space_derive(space, bad[i], &error) == 0)
            fail_msg("'%s' is accepted", bad[i]);
    for (size_t i = 0; i < sizeof loose / sizeof *loose; i++)
        if (gw_space_require(space, loose[i], &error) != GW_EINVAL)
            fail_msg("'%s' is accepted", loose[i]);
    assert_int_equal(gw_space_derive(space, deep, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "nested"));
    gw_space_free(space);
}

static void first_points_are_checked(void **state)
{
    (void)state;
    struct gw_space *space = gw_space_new();
    add(space, "opt=adam|sgd");
    add(space, "momentum=0..1 if opt=sgd");
    add(space, "n=int:1..8");
    assert_int_equal(gw_space_require(space, "n*momentum<4", &error), 0);
    struct gw_value *values = gw_dict();
    gw_dict_set(values, "opt", gw_str("sgd"));
    gw_dict_set(values, "n", gw_i64(8));
    assert_int_equal(gw_space_first(space, values, &error), 0);
    gw_dict_set(values, "momentum", gw_f64(.9));
    assert_int_equal(gw_space_first(space, values, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "constraint"));
    gw_dict_set(values, "opt", gw_str("adam"));
    assert_int_equal(gw_space_first(space, values, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "momentum does not exist"));
    gw_dict_set(values, "n", gw_i64(9));
    assert_int_equal(gw_space_first(space, values, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "n is outside of its range"));
    gw_dict_set(values, "n", gw_i64(8));
    gw_dict_set(values, "other", gw_i64(9));
    assert_int_equal(gw_space_first(space, values, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "no parameter other"));
    assert_int_equal(space->first.count, 1);
    assert_int_equal(gw_space_add(space, "late=1", &error), GW_EINVAL);
    gw_value_unref(values);
    gw_space_free(space);
}

static void values_stay_in_their_distribution(void **state)
{
    (void)state;
    struct gw_space *space = gw_space_new();
    add(space, "w=int-log:1..3");
    const struct gw_param *param = last_param(space);
    int counts[4] = {0};
    for (int i = 0; i < 10000; i++)
        counts[(int)gw_param_at_unit(param, (i + .5) / 10000)]++;
    const double range = log(3.5) - log(.5); /* each number has the share of its half steps */
    assert_true(fabs(counts[1] / 1e4 - log(3) / range) < 1e-3);
    assert_true(fabs(counts[3] / 1e4 - log(3.5 / 2.5) / range) < 1e-3);
    add(space, "lr=log:1e-4..1e-2");
    assert_true(fabs(gw_param_at_unit(last_param(space), .5) - 1e-3) < 1e-12);
    add(space, "q=0..1:0.25");
    assert_true(gw_param_at_unit(last_param(space), 0) == 0);
    assert_true(gw_param_at_unit(last_param(space), 1 - 0x1p-53) == 1);
    gw_space_free(space);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_form_of_text_gives_its_parameter),
        cmocka_unit_test(a_choice_has_values_of_their_types),
        cmocka_unit_test(bad_text_names_the_parameter_and_what_to_type),
        cmocka_unit_test(a_space_has_so_many_parameters_and_no_more),
        cmocka_unit_test(an_expression_is_so_deep_and_no_deeper),
        cmocka_unit_test(a_dict_gives_the_same_parameters),
        cmocka_unit_test(a_bad_value_adds_nothing),
        cmocka_unit_test(expressions_compute),
        cmocka_unit_test(bad_expressions_are_refused),
        cmocka_unit_test(first_points_are_checked),
        cmocka_unit_test(values_stay_in_their_distribution),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
