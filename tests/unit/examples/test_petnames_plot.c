/* SVG plots: the positions of lines and ticks, and inputs that could break the picture. */
#include "tests/unit/unit.h"

#include "examples/petnames/plot.h"

#include <dirent.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct fixture {
    char folder[64], path[80];
    char text[1 << 16];
};

static int set_up(void **state)
{
    static struct fixture fixture;
    const char *folder = getenv("TMPDIR");
    (void)snprintf(fixture.folder, sizeof fixture.folder, "%s/petplot-XXXXXX",
                   folder && strlen(folder) < 32 ? folder : "/tmp");
    if (!mkdtemp(fixture.folder))
        return -1;
    (void)snprintf(fixture.path, sizeof fixture.path, "%s/plot.svg", fixture.folder);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state)
{
    struct fixture *fixture = *state;
    unlink(fixture->path);
    return rmdir(fixture->folder); /* fails if another file was left */
}

static const char *draw(struct fixture *fixture, const struct pet_plot *plot)
{
    struct gw_error error;
    if (pet_plot_write(plot, fixture->path, &error) < 0)
        fail_msg("%s", error.text);
    FILE *file = fopen(fixture->path, "r");
    assert_non_null(file);
    size_t length = fread(fixture->text, 1, sizeof fixture->text - 1, file);
    fclose(file);
    fixture->text[length] = '\0';
    assert_int_equal(strncmp(fixture->text, "<svg ", 5), 0);
    assert_string_equal(fixture->text + length - 7, "</svg>\n");
    assert_null(strstr(fixture->text, "nan"));
    assert_null(strstr(fixture->text, "inf"));
    return fixture->text;
}

static size_t count_of(const char *text, const char *part)
{
    size_t count = 0;
    for (; (text = strstr(text, part)); text += strlen(part))
        count++;
    return count;
}

static void plot_scales_lines_and_leaves_gaps_at_nan(void **state)
{
    const double x[] = {0, 5, 10}, up[] = {0, 1, 2}, gap[] = {0, NAN, 1};
    const struct pet_plot_series series[] = {
        {.label = "up", .family = 0, .x = x, .y = up, .count = 3},
        {.label = "gap", .family = 0, .x = x, .y = gap, .count = 3},
    };
    const struct pet_plot plot = {
        .title = "t", .x_label = "epoch", .y_label = "loss", .series = series, .series_count = 2};
    const char *text = draw(*state, &plot);
    /* From the left edge (72) to the right (876), with the middle between them. */
    double x1, y1, x2, y2, x3, y3;
    const char *line = strstr(text, "d=\"M72.0 4");
    while (line && sscanf(line, "d=\"M%lf %lfL%lf %lfL%lf %lf", &x1, &y1, &x2, &y2, &x3, &y3) != 6)
        line = strstr(line + 1, "d=\"M");
    assert_non_null(line);
    assert_true(fabs(x1 - 72) < 0.1 && fabs(x2 - 474) < 0.1 && fabs(x3 - 876) < 0.1);
    assert_true(y1 > y2 && y2 > y3 && fabs(y1 + y3 - 2 * y2) < 0.2);
    assert_int_equal(count_of(text, "<circle"), 5); /* the gap has no circle */
    assert_non_null(strstr(text, ">10</text>"));
    assert_non_null(strstr(text, ">0.5</text>"));
    assert_non_null(strstr(text, ">epoch</text>"));
    assert_non_null(strstr(text, ">gap</text>"));
}

static void plot_gives_the_runs_of_a_family_one_colour(void **state)
{
    const double x[] = {0, 1}, y[] = {0, 1};
    struct pet_plot_series series[40];
    for (int i = 0; i < 40; i++)
        series[i] = (struct pet_plot_series){"run", i / 2, x, y, 2};
    const struct pet_plot plot = {
        .title = "t", .x_label = "x", .y_label = "y", .series = series, .series_count = 40};
    const char *text = draw(*state, &plot);
    assert_int_equal(count_of(text, ">run</text>"), 40);
    char first[8], second[8];
    const char *at = strstr(text, "fill=\"none\" stroke=\"#1"); /* two shades of the first family */
    assert_non_null(at);
    assert_int_equal(sscanf(at, "fill=\"none\" stroke=\"%7s", first), 1);
    at = strstr(at + 1, "fill=\"none\" stroke=\"#");
    assert_non_null(at);
    assert_int_equal(sscanf(at, "fill=\"none\" stroke=\"%7s", second), 1);
    assert_string_not_equal(first, second);
}

static void plot_escapes_text_and_accepts_odd_series(void **state)
{
    const double one[] = {3}, bad[] = {INFINITY};
    struct pet_plot_series series = {.label = "a < b & \"c\"\x01", .x = one, .y = one, .count = 1};
    struct pet_plot plot = {.title = "<t>",
                            .subtitle = "s",
                            .x_label = "x",
                            .y_label = "y",
                            .series = &series,
                            .series_count = 1,
                            .level = 3,
                            .level_label = "trigram"};
    const char *text = draw(*state, &plot);
    assert_non_null(strstr(text, "a &lt; b &amp; &quot;c&quot;<"));
    assert_non_null(strstr(text, "&lt;t&gt;"));
    assert_non_null(strstr(text, ">trigram</text>"));
    series.y = bad;
    plot.level_label = NULL;
    draw(*state, &plot);
    plot.series_count = 0;
    assert_non_null(strstr(draw(*state, &plot), "no data"));
}

static void unwritable_plot_file_is_reported(void **state)
{
    const struct pet_plot plot = {.title = "t", .x_label = "x", .y_label = "y"};
    struct gw_error error;
    assert_int_equal(pet_plot_write(&plot, "/nowhere/plot.svg", &error), GW_EIO);
    assert_string_equal(error.text, "cannot write /nowhere/plot.svg: No such file or directory");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(plot_scales_lines_and_leaves_gaps_at_nan),
        cmocka_unit_test(plot_gives_the_runs_of_a_family_one_colour),
        cmocka_unit_test(plot_escapes_text_and_accepts_odd_series),
        cmocka_unit_test(unwritable_plot_file_is_reported),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
