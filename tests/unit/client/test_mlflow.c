/* Requests to MLflow stay within its limits, and names and texts become some that it takes. */
#include "tests/unit/unit.h"

#include "client/sweep/mlflow/mlflow_json.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void assert_name(const char *name, const char *wanted)
{
    char *made = gw_mlflow_json_name(name);
    assert_string_equal(made, wanted);
    free(made);
}

static void names_become_some_that_mlflow_takes(void **state)
{
    (void)state;
    assert_name("val/loss-1.5 a:b_c", "val/loss-1.5 a:b_c");
    assert_name("größe", "größe");
    assert_name("損失", "損失");
    assert_name("a+b", "a_2Bb");
    assert_name("a×b", "a_C3_97b");
    assert_name("\xff\xe2\x82", "_FF_E2_82");
    assert_name("", "_");
    assert_name("..", "_2E.");
    assert_name("/a//b/", "_2Fa/_2Fb/_");
    assert_name("a/./b", "a/_2E/b");
}

static void long_names_are_cut_between_characters(void **state)
{
    char name[400];
    (void)state;
    memset(name, 'n', sizeof name);
    memcpy(name + 248, "ß", 3);
    char *made = gw_mlflow_json_name(name);
    assert_int_equal(strlen(made), 248);
    free(made);
}

static size_t count_of(const json_t *body, const char *kind)
{
    return json_array_size(json_object_get(body, kind));
}

static void batch_has_at_most_100_params_and_998_items_beside_the_tags(void **state)
{
    struct gw_mlflow_batch batch;
    const struct gw_mlflow_report report = {.name = (char[]){"loss"}, .value = -INFINITY};
    (void)state;
    gw_mlflow_json_batch_init(&batch);
    for (int i = 0; i < 100; i++)
        assert_true(gw_mlflow_json_batch_add_param(&batch, "p", "v"));
    assert_false(gw_mlflow_json_batch_add_param(&batch, "p", "v"));
    for (int i = 0; i < 898; i++)
        assert_true(gw_mlflow_json_batch_add_metric(&batch, &report));
    assert_false(gw_mlflow_json_batch_add_metric(&batch, &report));
    json_t *body = gw_mlflow_json_batch_take(&batch, "run");
    assert_int_equal(count_of(body, "params"), 100);
    assert_int_equal(count_of(body, "metrics"), 898);
    json_decref(body);
}

static void values_of_params_have_at_most_6000_bytes(void **state)
{
    static char value[6002];
    struct gw_mlflow_batch batch;
    (void)state;
    for (size_t bytes = 6000; bytes <= 6001; bytes++) {
        memset(value, 'v', bytes);
        gw_mlflow_json_batch_init(&batch);
        assert_true(gw_mlflow_json_batch_add_param(&batch, "p", value));
        json_t *body = gw_mlflow_json_batch_take(&batch, "run");
        const json_t *param = json_array_get(json_object_get(body, "params"), 0);
        assert_int_equal(json_string_length(json_object_get(param, "value")), 6000);
        json_decref(body);
    }
}

static void batch_of_long_values_stays_below_a_megabyte(void **state)
{
    static char value[6001];
    struct gw_mlflow_batch batch;
    int count = 0;
    (void)state;
    memset(value, '\x01', 6000); /* \u0001 in JSON */
    gw_mlflow_json_batch_init(&batch);
    while (gw_mlflow_json_batch_add_param(&batch, "p", value))
        count++;
    json_t *body = gw_mlflow_json_batch_take(&batch, "run");
    char *text = json_dumps(body, JSON_COMPACT);
    assert_in_range(strlen(text), 800000, 1000000);
    assert_in_range(count, 10, 99);
    free(text);
    json_decref(body);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_become_some_that_mlflow_takes),
        cmocka_unit_test(long_names_are_cut_between_characters),
        cmocka_unit_test(batch_has_at_most_100_params_and_998_items_beside_the_tags),
        cmocka_unit_test(values_of_params_have_at_most_6000_bytes),
        cmocka_unit_test(batch_of_long_values_stays_below_a_megabyte),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
