/* Lines of JSON with which commands report their steps. */
#include "tests/unit/unit.h"
#include "worker/net/parts/report_line.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static struct gw_report_line parse(const char *line)
{
    struct gw_report_line report;
    struct gw_error error;
    assert_int_equal(gw_report_line_parse(line, strlen(line), &report, &error), 0);
    return report;
}

static void refuse(const char *line, size_t bytes, const char *words)
{
    struct gw_report_line report;
    struct gw_error error = {0};
    assert_int_equal(gw_report_line_parse(line, bytes, &report, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, words));
}

static void report_has_a_step_and_metrics_in_order(void **state)
{
    struct gw_report_line report = parse("{\"loss\": 4e-1, \"step\": -3, \"größe\": 2}\r");
    (void)state;
    assert_true(report.has_step);
    assert_int_equal(report.step, -3);
    assert_int_equal(report.count, 2);
    assert_string_equal(report.metrics[0].name, "loss");
    assert_true(report.metrics[0].value == 0.4);
    assert_string_equal(report.metrics[1].name, "größe");
    report = parse("{}");
    assert_false(report.has_step);
    assert_int_equal(report.count, 0);
    assert_int_equal(parse("{\"step\": 3.0}").step, 3);
}

static void words_for_numbers_that_json_lacks_are_accepted(void **state)
{
    struct gw_report_line report =
        parse("{\"a\": NaN, \"b\": -Infinity, \"c\": \"inf\", \"NaN \\\" NaN\": Infinity}");
    (void)state;
    assert_int_equal(report.count, 4);
    assert_true(isnan(report.metrics[0].value));
    assert_true(report.metrics[1].value == -INFINITY);
    assert_true(report.metrics[2].value == INFINITY);
    assert_string_equal(report.metrics[3].name, "NaN \" NaN");
}

static void other_lines_are_refused_with_the_reason(void **state)
{
    static const struct {
        const char *line, *words;
    } wrong[] = {
        {"", "one line of JSON"},
        {"3", "one line of JSON"},
        {"{\"loss\": 1} x", "one line of JSON"},
        {"{\"loss\": 1", "one line of JSON"},
        {"{\"loss\": 1e999}", "one line of JSON"},
        {"{\"\xff\": 1}", "one line of JSON"},
        {"{\"loss\": true}", "must be a number"},
        {"{\"loss\": \"1\"}", "must be a number"},
        {"{\"\": 1}", "1 to 127 bytes"},
        {"{\"a\\n\": 1}", "control characters"},
        {"{\"step\": \"3\"}", "whole number"},
        {"{\"step\": 1e300}", "whole number"},
    };
    (void)state;
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        refuse(wrong[i].line, strlen(wrong[i].line), wrong[i].words);
    refuse("{\"loss\": 1}\0", 12, "one line of JSON");
}

static void longest_line_of_words_is_handled(void **state)
{
    char line[GW_REPORT_LINE_BYTES + 1];
    (void)state;
    for (size_t i = 0; i < sizeof line; i++)
        line[i] = "NaN"[i % 3];
    refuse(line, GW_REPORT_LINE_BYTES, "one line of JSON");
    refuse(line, sizeof line, "at most 4096 bytes");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(report_has_a_step_and_metrics_in_order),
        cmocka_unit_test(words_for_numbers_that_json_lacks_are_accepted),
        cmocka_unit_test(other_lines_are_refused_with_the_reason),
        cmocka_unit_test(longest_line_of_words_is_handled),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
