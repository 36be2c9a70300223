/* Memory thresholds: which are refused, and how they reach a worker. */
#include "tests/unit/unit.h"

#include "graph/base/memory_lines.h"

#include <string.h>

static void memory_thresholds_out_of_order_are_refused(void **state)
{
    struct gw_memory_lines lines;
    struct gw_error error;
    (void)state;
    gw_memory_lines_init(&lines);
    assert_int_equal(gw_memory_lines_check(&lines, &error), 0);
    lines.target = 900;
    assert_int_equal(gw_memory_lines_check(&lines, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "memory target (0.9) is above memory spill (0.7)"));
    lines.spill = lines.pause = 0; /* off: the others must be in order */
    assert_int_equal(gw_memory_lines_check(&lines, &error), 0);
    lines.terminate = 1001;
    assert_int_equal(gw_memory_lines_check(&lines, &error), GW_EINVAL);
    lines.terminate = 950;
    lines.limit_bytes = 1000;
    assert_int_equal(gw_memory_lines_check(&lines, &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "less than 1 MiB"));
}

static void memory_thresholds_format_and_parse_back(void **state)
{
    struct gw_memory_lines lines = {UINT64_C(1) << 40, 1, 20, 0, 1000}, read;
    char text[GW_MEMORY_LINES_TEXT_BYTES];
    struct gw_error error;
    static const char *const wrong[] = {"",
                                        "1",
                                        "-1,600,700,800,950",
                                        "64M,600,700,800,950",
                                        "0,600,700,800,950,3",
                                        "0,800,700,600,950"};
    (void)state;
    gw_memory_lines_format(&lines, text);
    assert_int_equal(gw_memory_lines_parse(text, &read, &error), 0);
    assert_memory_equal(&lines, &read, sizeof read);
    for (size_t i = 0; i < sizeof wrong / sizeof *wrong; i++)
        assert_int_equal(gw_memory_lines_parse(wrong[i], &read, &error), GW_EINVAL);
    assert_memory_equal(&lines, &read, sizeof read); /* written on success only */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(memory_thresholds_out_of_order_are_refused),
        cmocka_unit_test(memory_thresholds_format_and_parse_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
