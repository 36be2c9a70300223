/* Lists in texts: resources, names, annotations. */
#include "tests/unit/unit.h"

#include "graph/model/hostname.h"
#include "graph/model/places.h"
#include "graph/model/resources.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void resource_amounts_parse_in_sorted_order(void **state)
{
    struct gw_arena arena = {0};
    struct gw_resources a, b;
    (void)state;
    assert_int_equal(gw_resources_parse("tape=2,license=1", &arena, &a, NULL), 0);
    assert_int_equal(a.count, 2);
    assert_string_equal(a.items[0].name, "license");
    assert_int_equal(a.items[1].amount, 2);
    assert_int_equal(gw_resources_parse("license=1,tape=2", &arena, &b, NULL), 0);
    assert_true(gw_resources_equal(&a, &b));
    assert_int_equal(gw_resources_parse("license=1,tape=2147483648", &arena, &b, NULL), 0);
    assert_false(gw_resources_equal(&a, &b));
    assert_int_equal(gw_resources_parse("", &arena, &b, NULL), 0);
    assert_int_equal(b.count, 0);
    assert_int_equal(gw_resources_parse(NULL, &arena, &b, NULL), 0);
    gw_arena_deinit(&arena);
}

static void bad_resource_amounts_are_refused_with_the_cause(void **state)
{
    static const char *const wrong[][2] = {
        {"license", "is not NAME=VALUE"},
        {"license=", "not a whole number"},
        {"license=0", "not a whole number"},
        {"license=-1", "not a whole number"},
        {"license=1.5", "not a whole number"},
        {"license=2147483649", "not a whole number"},
        {"license=99999999999999999999999", "not a whole number"},
        {"license=1,", "is not NAME=VALUE"},
        {"license=1,license=2", "is in the list twice"},
        {"a b=1", "is not a name"},
        {"=1", "is not a name"},
        {"0123456789012345678901234567890123456789012345678901234567890123x=1", "is not a name"},
    };
    struct gw_arena arena = {0};
    struct gw_resources resources;
    struct gw_error error;
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(gw_resources_parse(wrong[i][0], &arena, &resources, &error), GW_EINVAL);
        if (!strstr(error.text, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], error.text);
    }
    char *long_text = calloc(1, GW_PAIRS_BYTES_MAX + 2);
    assert_non_null(long_text);
    memset(long_text, 'a', GW_PAIRS_BYTES_MAX + 1);
    assert_int_equal(gw_resources_parse(long_text, &arena, &resources, &error), GW_EINVAL);
    free(long_text);
    gw_arena_deinit(&arena);
}

static void name_lists_and_annotations_parse_into_pairs(void **state)
{
    struct gw_arena arena = {0};
    struct gw_pairs pairs;
    struct gw_error error;
    (void)state;
    assert_int_equal(gw_pairs_parse_names("worker-2,host.example", &arena, &pairs, NULL), 0);
    assert_int_equal(pairs.count, 2);
    assert_string_equal(gw_pairs_find(&pairs, "worker-2"), "");
    assert_null(gw_pairs_find(&pairs, "worker-1"));
    assert_int_equal(gw_pairs_parse_names("a=b", &arena, &pairs, &error), GW_EINVAL);
    assert_int_equal(gw_pairs_parse_names("a,,b", &arena, &pairs, &error), GW_EINVAL);
    assert_int_equal(gw_pairs_parse("team=x y,ticket=a=b,empty=", &arena, &pairs, NULL), 0);
    assert_string_equal(gw_pairs_find(&pairs, "team"), "x y");
    assert_string_equal(gw_pairs_find(&pairs, "ticket"), "a=b");
    assert_string_equal(gw_pairs_find(&pairs, "empty"), "");
    gw_arena_deinit(&arena);
}

static void rank_layout_parses_hosts_with_counts(void **state)
{
    static const char *const wrong[][2] = {
        {"a:2,b", "\"b\" does not say how many"},
        {"a:0", "how many"},
        {"a:65536", "how many"},
        {"a:99999999999999999999", "how many"},
        {"a:2x", "how many"},
        {"a:", "how many"},
        {":2", "a name is missing"},
        {"a:2,", "a name is missing"},
        {"a:1,a:1", "is in the list twice"},
        {"a:b:1", "how many"},
        {"::1:2", "how many"},
        {"[::1]:2,[::1]:1", "is in the list twice"},
        {"[::1", "is not a name"},
        {"[x]:1", "is not a name"},
    };
    struct gw_arena arena = {0};
    struct gw_places places, other;
    struct gw_pairs names;
    struct gw_error error;
    (void)state;
    assert_int_equal(gw_places_parse("b:2,a:65535", &arena, &places, &names, &error), 0);
    assert_int_equal(places.count, 2);
    assert_string_equal(places.items[0].name, "b");
    assert_int_equal(places.items[0].ranks, 2);
    assert_string_equal(places.items[1].name, "a");
    assert_int_equal(places.items[1].ranks, 65535);
    assert_string_equal(names.items[0].name, "a");
    assert_int_equal(gw_places_parse("a:65535,b:2", &arena, &other, &names, &error), 0);
    assert_false(gw_places_equal(&places, &other));
    assert_int_equal(gw_places_parse("[fe80::1]:2,a:1", &arena, &places, &names, &error), 0);
    assert_int_equal(places.count, 2);
    assert_string_equal(places.items[0].name, "fe80::1");
    assert_int_equal(places.items[0].ranks, 2);
    assert_string_equal(gw_pairs_find(&names, "fe80::1"), "");
    assert_int_equal(gw_places_parse("b,[::1]", &arena, &places, &names, &error), 0);
    assert_int_equal(places.count, 0);
    assert_string_equal(names.items[0].name, "::1");
    assert_int_equal(gw_places_parse("a,b", &arena, &places, &names, &error), 0);
    assert_int_equal(places.count, 0);
    assert_int_equal(names.count, 2);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++) {
        assert_int_equal(gw_places_parse(wrong[i][0], &arena, &places, &names, &error), GW_EINVAL);
        if (!strstr(error.text, wrong[i][1]))
            fail_msg("%s: %s", wrong[i][0], error.text);
    }
    char many[GW_PAIRS_MAX * 8 + 8] = "";
    for (int i = 0; i <= GW_PAIRS_MAX; i++)
        (void)snprintf(many + strlen(many), 8, "%sh%d:1", i ? "," : "", i);
    assert_int_equal(gw_places_parse(many, &arena, &places, &names, &error), GW_EINVAL);
    gw_arena_deinit(&arena);
}

static void host_names_match_with_or_without_a_domain(void **state)
{
    (void)state;
    assert_true(gw_hostname_is("gpu1", "GPU1"));
    assert_true(gw_hostname_is("gpu1", "gpu1.example.com"));
    assert_true(gw_hostname_is("gpu1.example.com", "Gpu1"));
    assert_false(gw_hostname_is("gpu1.a.org", "gpu1.b.org"));
    assert_false(gw_hostname_is("gpu1", "gpu11.b.org"));
    assert_false(gw_hostname_is("10.0.0.1", "10"));
    assert_true(gw_hostname_is("10.0.0.1", "10.0.0.1"));
    assert_false(gw_hostname_is("", ".org"));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(resource_amounts_parse_in_sorted_order),
        cmocka_unit_test(bad_resource_amounts_are_refused_with_the_cause),
        cmocka_unit_test(name_lists_and_annotations_parse_into_pairs),
        cmocka_unit_test(rank_layout_parses_hosts_with_counts),
        cmocka_unit_test(host_names_match_with_or_without_a_domain),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
