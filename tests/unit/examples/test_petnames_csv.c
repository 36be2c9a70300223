/* The CSV reader. */
#include "tests/unit/unit.h"

#include "examples/petnames/csv.h"

#include <string.h>

/* Reads text and compares with `expected`: fields between bars, records between newlines. */
static void check(const char *text, const char *expected)
{
    char copy[256], got[512] = "";
    struct pet_csv csv;
    struct gw_error error;
    int rc;
    assert_true(strlen(text) < sizeof copy);
    strcpy(copy, text);
    pet_csv_init(&csv, copy, strlen(copy));
    while ((rc = pet_csv_next(&csv, &error)) > 0) {
        for (size_t i = 0; i < csv.field_count; i++) {
            strcat(got, i > 0 ? "|" : "");
            strcat(got, csv.fields[i]);
        }
        strcat(got, ";");
    }
    assert_int_equal(rc, 0);
    assert_string_equal(got, expected);
}

static void csv_parser_splits_quoted_and_plain_records(void **state)
{
    check("", "");
    check("a,b\nc,d\n", "a|b;c|d;");
    check("a,b\nc,d", "a|b;c|d;");
    check("a,b\r\nc,d\r\n", "a|b;c|d;");
    check("a,b\rc,d", "a|b;c|d;");
    check("\n\na\n\nb\n\n", "a;b;");
    check(",\n,,", "|;||;");
    check("a,", "a|;");
    check("\"\"\n", ";");
    check("\"a\",\"b c\"\n", "a|b c;");
    check("\"a, b\",c", "a, b|c;");
    check("\"say \"\"hi\"\"\",x\n", "say \"hi\"|x;");
    check("\"two\nlines\",x\ny,z", "two\nlines|x;y|z;");
    check("\"two\r\nlines\",x\n", "two\r\nlines|x;");
    check("a \"b\" c,d", "a \"b\" c|d;");
    check("\"\"\"\",x", "\"|x;");
}

static void check_error(const char *text, const char *words)
{
    char copy[2048];
    struct pet_csv csv;
    struct gw_error error;
    int rc;
    assert_true(strlen(text) < sizeof copy);
    strcpy(copy, text);
    pet_csv_init(&csv, copy, strlen(copy));
    while ((rc = pet_csv_next(&csv, &error)) > 0)
        ;
    assert_int_equal(rc, GW_ECORRUPT);
    if (!strstr(error.text, words))
        fail_msg("\"%s\" lacks \"%s\"", error.text, words);
}

static void csv_errors_name_the_line_and_column(void **state)
{
    char commas[400];
    check_error("a,b\nc,\"d\n", "line 2: a quote opens column 2");
    check_error("\"a\"b,c\n", "line 1: column 1 goes on after its closing quote");
    check_error("\"x\ny\"\nz,\"q\"q", "line 3");
    memset(commas, ',', sizeof commas - 1);
    commas[sizeof commas - 1] = '\0';
    check_error(commas, "more than 256 columns");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(csv_parser_splits_quoted_and_plain_records),
        cmocka_unit_test(csv_errors_name_the_line_and_column),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
