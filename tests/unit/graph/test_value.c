/* Values: created, read, compared and printed, and out-of-memory errors at every allocation. */
#include "graph/value/value.h"
#include "tests/unit/alloc.h"
#include "tests/unit/unit.h"

#include <gangway/value.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

static void scalars_return_their_values(void **state)
{
    bool b = false;
    int64_t i = 0;
    double d = 0;
    const char *text = NULL;
    struct gw_value *value = gw_bool(true);
    assert_int_equal(gw_value_get_bool(value, &b, NULL), 0);
    assert_true(b);
    gw_value_unref(value);

    value = gw_i64(INT64_MIN);
    assert_int_equal(gw_value_get_i64(value, &i, NULL), 0);
    assert_true(i == INT64_MIN);
    assert_int_equal(gw_value_get_f64(value, &d, NULL), 0);
    assert_true(d == -0x1p63);
    gw_value_unref(value);

    value = gw_str("h\xc3\xa9");
    assert_int_equal(gw_value_get_str(value, &text, NULL), 0);
    assert_string_equal(text, "h\xc3\xa9");
    gw_value_unref(value);
    gw_value_unref(gw_nil());
    gw_value_unref(NULL);
    assert_int_equal(gw_value_type(NULL), GW_NIL);
}

static int as_i64(double d, int64_t *i, struct gw_error *error)
{
    struct gw_value *value = gw_f64(d);
    int rc = gw_value_get_i64(value, i, error);
    gw_value_unref(value);
    return rc;
}

static void whole_floats_convert_to_integers(void **state)
{
    int64_t i = 0;
    struct gw_error error;
    assert_int_equal(as_i64(-3.0, &i, NULL), 0);
    assert_int_equal(i, -3);
    assert_int_equal(as_i64(-0x1p63, &i, NULL), 0);
    assert_true(i == INT64_MIN);
    i = 77;
    assert_int_equal(as_i64(0x1p63, &i, NULL), GW_EINVAL);
    assert_int_equal(as_i64(NAN, &i, NULL), GW_EINVAL);
    assert_int_equal(as_i64(-INFINITY, &i, NULL), GW_EINVAL);
    assert_int_equal(as_i64(2.5, &i, &error), GW_EINVAL);
    assert_string_equal(error.text, "2.5, wanted an integer");
    assert_int_equal(i, 77);
}

static void type_error_names_both_types(void **state)
{
    struct gw_error error;
    double d;
    bool b;
    const void *data;
    size_t bytes;
    struct gw_value *text = gw_str("x");
    assert_int_equal(gw_value_get_f64(text, &d, &error), GW_EINVAL);
    assert_string_equal(error.text, "a string, wanted a number");
    assert_int_equal(gw_value_get_bool(text, &b, &error), GW_EINVAL);
    assert_string_equal(error.text, "a string, wanted a bool");
    assert_int_equal(gw_value_get_bytes(text, &data, &bytes, &error), GW_EINVAL);
    assert_string_equal(error.text, "a string, wanted bytes");
    assert_int_equal(gw_value_count(text), 0);
    assert_null(gw_value_at(text, 0));
    assert_null(gw_value_key(text, 0));
    assert_null(gw_value_find(text, "k"));
    gw_value_unref(text);
}

static int freed;
static void count_free(void *data, size_t bytes)
{
    freed += (int)bytes;
    memset(data, 0, bytes);
}

static void bytes_can_be_borrowed_copied_or_owned(void **state)
{
    char mine[3] = "abc";
    const void *data;
    size_t bytes;
    struct gw_value *view = gw_bytes(mine, 3), *copy = gw_bytes_copy(mine, 3);
    struct gw_value *owned = gw_bytes_owned(mine, 3, count_free);
    assert_int_equal(gw_value_get_bytes(view, &data, &bytes, NULL), 0);
    assert_ptr_equal(data, mine);
    assert_int_equal(bytes, 3);
    assert_true(gw_value_equal(view, copy));
    freed = 0;
    assert_ptr_equal(gw_value_ref(owned), owned);
    gw_value_unref(owned);
    assert_int_equal(freed, 0);
    gw_value_unref(owned);
    assert_int_equal(freed, 3);
    assert_false(gw_value_equal(view, copy)); /* count_free wiped what view shows */
    gw_value_unref(view);
    gw_value_unref(copy);

    gw_alloc_fail_after(0);
    assert_null(gw_bytes_owned(mine, 3, count_free));
    gw_alloc_fail_after(-1);
    assert_int_equal(freed, 6);
    struct gw_value *none = gw_bytes(NULL, 0), *empty = gw_bytes_copy("", 0);
    assert_true(gw_value_equal(none, empty));
    gw_value_unref(none);
    gw_value_unref(empty);
}

static void lists_and_dicts_return_their_items(void **state)
{
    struct gw_value *list = gw_list(), *dict = gw_dict();
    char key[16];
    for (int i = 0; i < 100; i++) {
        assert_int_equal(gw_list_push(list, gw_i64(i)), 0);
        snprintf(key, sizeof key, "k%d", i);
        assert_int_equal(gw_dict_set(dict, key, gw_i64(i)), 0);
        for (int j = 0; j <= i; j++) {
            int64_t found;
            snprintf(key, sizeof key, "k%d", j);
            assert_int_equal(gw_value_get_i64(gw_value_find(dict, key), &found, NULL), 0);
            assert_int_equal(found, j);
        }
        assert_null(gw_value_find(dict, "k100"));
    }
    assert_int_equal(gw_dict_set(dict, "k7", gw_str("seven")), 0);
    assert_int_equal(gw_value_count(list), 100);
    assert_int_equal(gw_value_count(dict), 100);
    assert_string_equal(gw_value_key(dict, 7), "k7");
    assert_int_equal(gw_value_type(gw_value_at(dict, 7)), GW_STR);
    assert_null(gw_value_at(list, 100));
    assert_int_equal(gw_list_push(dict, gw_i64(1)), GW_EINVAL);
    assert_int_equal(gw_dict_set(list, "k", gw_i64(1)), GW_EINVAL);
    assert_int_equal(gw_list_push(NULL, gw_i64(1)), GW_ENOMEM);
    gw_value_unref(list);
    gw_value_unref(dict);
}

static void value_nested_17_deep_is_refused(void **state)
{
    struct gw_value *inner = gw_list();
    assert_int_equal(gw_list_push(inner, gw_value_ref(inner)), GW_EINVAL); /* in itself */
    gw_value_unref(inner);
    inner = gw_list();
    for (int depth = 2; depth <= 16; depth++) {
        struct gw_value *outer = depth % 2 ? gw_list() : gw_dict();
        assert_int_equal(depth % 2 ? gw_list_push(outer, inner) : gw_dict_set(outer, "k", inner),
                         0);
        inner = outer;
    }
    struct gw_value *outer = gw_list();
    assert_int_equal(gw_list_push(outer, inner), GW_EINVAL);
    gw_value_unref(outer);
}

/* A list with a failed item reports the failure to the container that it is added to. */
static void failed_item_makes_its_list_invalid(void **state)
{
    struct gw_value *list = gw_list(), *outer = gw_list();
    assert_int_equal(gw_list_push(list, NULL), GW_ENOMEM);
    assert_int_equal(gw_list_push(list, gw_i64(1)), 0);
    assert_int_equal(gw_list_push(outer, list), GW_ENOMEM);
    gw_value_unref(outer);
}

static void result_references_return_node_and_rank(void **state)
{
    gw_node node = {7};
    int32_t rank = -9;
    struct gw_value *one = gw_result_rank((gw_node){7}, 3), *all = gw_result_all(node);
    assert_int_equal(gw_value_get_result(one, &node, &rank), 0);
    assert_int_equal(node.index, 7);
    assert_int_equal(rank, 3);
    assert_int_equal(gw_value_get_result(all, &node, &rank), 0);
    assert_int_equal(rank, GW_RANK_ALL);
    assert_false(gw_value_equal(one, all));
    assert_int_equal(gw_value_get_result(gw_nil(), &node, &rank), GW_EINVAL);
    gw_value_unref(one);
    gw_value_unref(all);
}

static struct gw_value *sample(bool turned)
{
    struct gw_value *dict = gw_dict(), *list = gw_list();
    gw_list_push(list, gw_f64(0.1));
    gw_list_push(list, gw_nil());
    gw_dict_set(dict, turned ? "b" : "a", turned ? gw_str("x\"\n\x01") : list);
    gw_dict_set(dict, turned ? "a" : "b", turned ? list : gw_str("x\"\n\x01"));
    return dict;
}

static void invalid_value_states_the_cause(void **state)
{
    (void)state;
    struct gw_value *list = gw_list();
    for (int i = 0; i < 18; i++) { /* the error also sticks to the containers around it */
        struct gw_value *outer = gw_list();
        assert_int_equal(gw_list_push(outer, list), i < 15 ? 0 : GW_EINVAL);
        list = outer;
        if (i >= 15)
            assert_non_null(strstr(gw_value_invalid(list), "nested 17 deep, and 16 is the most"));
    }
    gw_value_unref(list);
    list = gw_list();
    assert_int_equal(gw_list_push(list, gw_result((gw_node){0})), 0);
    assert_non_null(strstr(gw_value_invalid(list), "gw_result"));
    gw_value_unref(list);
}

static void equality_compares_nested_values(void **state)
{
    struct gw_value *a = sample(false), *b = sample(true), *i = gw_i64(1), *f = gw_f64(1);
    struct gw_value *nan = gw_f64(NAN), *other = gw_f64(NAN);
    assert_true(gw_value_equal(a, b));
    gw_list_push(gw_value_find(b, "a"), gw_bool(false));
    assert_false(gw_value_equal(a, b));
    assert_false(gw_value_equal(i, f));
    assert_false(gw_value_equal(i, NULL));
    assert_true(gw_value_equal(nan, other));
    struct gw_value *all[] = {a, b, i, f, nan, other};
    for (size_t v = 0; v < 6; v++)
        gw_value_unref(all[v]);
}

static void assert_format(struct gw_value *value, const char *wanted)
{
    char text[200];
    assert_int_equal(gw_value_format(value, text, sizeof text), strlen(wanted));
    assert_string_equal(text, wanted);
    for (size_t room = 1; room < strlen(wanted); room++) {
        assert_int_equal(gw_value_format(value, text, room), strlen(wanted));
        assert_int_equal(strlen(text), room - 1);
    }
    assert_int_equal(gw_value_format(value, NULL, 0), strlen(wanted));
    gw_value_unref(value);
}

static void values_format_as_short_text(void **state)
{
    assert_format(sample(false), "{\"a\": [0.1, null], \"b\": \"x\\\"\\n\\u0001\"}");
    assert_format(gw_f64(0.1 + 0.2), "0.30000000000000004");
    assert_format(gw_f64(NAN), "nan");
    assert_format(gw_i64(INT64_MIN), "-9223372036854775808");
    assert_format(gw_bytes("x", 999), "<999 bytes>");
    assert_format(gw_bytes("x", 1500000), "<1.5 MB of bytes>");
    assert_format(gw_bool(false), "false");
    assert_format(gw_result((gw_node){4}), "<result of node 4>");
}

/* Whatever allocation fails, nothing leaks and every failure is reported. */
static void value_reports_out_of_memory_at_every_allocation(void **state)
{
    bool done = false;
    for (int64_t count = 0; !done; count++) {
        gw_alloc_fail_after(count);
        struct gw_value *dict = gw_dict();
        int rc = dict ? 0 : GW_ENOMEM;
        for (int i = 0; i < 12 && rc == 0; i++) {
            char key[4] = {'k', (char)('a' + i)};
            struct gw_value *list = gw_list();
            (void)gw_list_push(list, gw_str("text"));
            (void)gw_list_push(list, gw_bytes_copy("x", 1));
            rc = gw_dict_set(dict, key, list);
        }
        done = rc == 0;
        gw_alloc_fail_after(-1);
        if (done)
            assert_int_equal(gw_value_count(dict), 12);
        else
            assert_int_equal(rc, GW_ENOMEM);
        for (size_t i = 0; i < gw_value_count(dict); i++)
            assert_ptr_equal(gw_value_find(dict, gw_value_key(dict, i)), gw_value_at(dict, i));
        gw_value_unref(dict);
        assert_true(count < 500);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(scalars_return_their_values),
        cmocka_unit_test(whole_floats_convert_to_integers),
        cmocka_unit_test(type_error_names_both_types),
        cmocka_unit_test(bytes_can_be_borrowed_copied_or_owned),
        cmocka_unit_test(lists_and_dicts_return_their_items),
        cmocka_unit_test(value_nested_17_deep_is_refused),
        cmocka_unit_test(failed_item_makes_its_list_invalid),
        cmocka_unit_test(result_references_return_node_and_rank),
        cmocka_unit_test(invalid_value_states_the_cause),
        cmocka_unit_test(equality_compares_nested_values),
        cmocka_unit_test(values_format_as_short_text),
        cmocka_unit_test(value_reports_out_of_memory_at_every_allocation),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
