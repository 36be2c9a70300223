/* Metrics in lines of output. */
#include "tests/unit/unit.h"
#include "worker/net/parts/metric_line.h"

#include <stdlib.h>
#include <string.h>

static struct gw_metric_line read_bytes(const char *line, size_t bytes)
{
    struct gw_metric_names names;
    struct gw_metric_line found;
    char *exact = malloc(bytes + !bytes); /* a sanitizer sees each read beyond the line */
    assert_non_null(exact);
    memcpy(exact, line, bytes);
    gw_metric_line_init(&names, "loss,accuracy");
    gw_metric_line_read(&names, exact, bytes, &found);
    free(exact);
    return found;
}

static struct gw_metric_line read_line(const char *line)
{
    return read_bytes(line, strlen(line));
}

static void number_behind_the_name_is_the_value(void **state)
{
    static const struct {
        const char *line;
        double loss;
    } lines[] = {
        {"loss=0.5", 0.5},
        {"loss = 5", 5},
        {"  loss\t=  -2 ", -2},
        {"loss=1e-3", 1e-3},
        {"loss=+.5", .5},
        {"loss=-1.5E+2x", -150},
        {"loss=1.", 1},
        {"loss=1e", 1},
        {"loss=.5.5", .5},
        {"val_loss=0.3 loss=0.2", 0.2},
        {"loss=0.2 val-loss=0.3 xloss=3 lossx=4 loss|x=5", 0.2},
        {"loss=1 loss=2", 2},
        {"loss=1 loss=abc", 1},
        {"a=loss=3", 3},
        {"[3/10] \xe2\x86\x92 loss=0.25, lr=1", 0.25},
        {"\xff loss=0.25\r", 0.25},
        {"{\"loss=7\"}", 7},
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        const struct gw_metric_line found = read_line(lines[i].line);
        assert_int_equal(found.found, 1);
        assert_true(found.values[0] == lines[i].loss);
    }
    assert_true(read_bytes("x\0loss=4\0", 9).values[0] == 4);
}

static void name_without_a_number_is_no_metric(void **state)
{
    static const char *const lines[] = {
        "",          "loss",     "loss=",      "loss=abc",   "loss=nan",  "loss=inf", "loss==3",
        "loss: 0.5", "loss=-",   "loss=.",     "loss=e5",    "Loss=1",    "loss 3",   "=3",
        "loss-=3",   "losses=1", "\xc3\xa9=1", "loss=\n+.e", "loss = =3",
    };
    (void)state;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        assert_int_equal(read_line(lines[i]).found, 0);
}

static void step_comes_before_epoch(void **state)
{
    struct gw_metric_line found = read_line("epoch=3/10 loss=1 accuracy=2");
    (void)state;
    assert_int_equal(found.found, 3);
    assert_true(found.has_step);
    assert_int_equal(found.step, 3);
    assert_int_equal(read_line("step=7 epoch=3 loss=1").step, 7);
    assert_int_equal(read_line("epoch=3 step=7 loss=1").step, 7);
    assert_false(read_line("epoch=3.5 loss=1").has_step);
    assert_false(read_line("loss=1").has_step);
}

static void list_of_names_is_bounded(void **state)
{
    struct gw_metric_names names;
    char list[400];
    (void)state;
    gw_metric_line_init(&names, "a,b,c,d,e,f,g,h,i");
    assert_int_equal(names.count, GW_METRICS_READ_MAX);
    memset(list, 'x', 200);
    strcpy(list + 200, ",,b");
    gw_metric_line_init(&names, list);
    assert_int_equal(names.count, 1);
    assert_string_equal(names.names[0], "b");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(number_behind_the_name_is_the_value),
        cmocka_unit_test(name_without_a_number_is_no_metric),
        cmocka_unit_test(step_comes_before_epoch),
        cmocka_unit_test(list_of_names_is_bounded),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
