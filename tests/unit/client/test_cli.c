/* What the command line reads and writes: options, durations, sizes, selectors, tables, JSON. */
#include "tests/unit/unit.h"

#include "client/cli/hosts/hosts.h"
#include "client/cli/hosts/memory_options.h"
#include "client/cli/launch/bulk_option.h"
#include "client/cli/launch/launch_options.h"
#include "client/cli/lib/nearest.h"
#include "client/cli/lib/options.h"
#include "client/cli/lib/table.h"
#include "client/cli/lib/units.h"
#include "graph/base/clock.h"

#include <fcntl.h>
#include <gangway/gangway.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

static void duration_parser_accepts_units_and_clock_times(void **state)
{
    static const struct {
        const char *text;
        uint64_t wanted_ns;
    } good[] = {
        {"90", 90 * GW_NS_PER_S},
        {"0", 0},
        {"1.5s", 1500 * GW_NS_PER_MS},
        {"500ms", 500 * GW_NS_PER_MS},
        {"1h30m", 5400 * GW_NS_PER_S},
        {"2d", 172800 * GW_NS_PER_S},
        {"10us", 10 * GW_NS_PER_US},
        {"1m5s", 65 * GW_NS_PER_S},
        {"1:30", 90 * GW_NS_PER_S},
        {"90:00", 5400 * GW_NS_PER_S},
        {"0:59:59", 3599 * GW_NS_PER_S},
        {"100:00:01", 360001 * GW_NS_PER_S},
        {"1-12", 129600 * GW_NS_PER_S},
        {"1-0:30", 88200 * GW_NS_PER_S},
        {"2-23:59:59", 259199 * GW_NS_PER_S},
    };
    static const char *const bad[] = {
        "",          "s",     "-1",   "1h30", "30parsecs", "1..5s", "nan",
        "inf",       "0x10",  " 5",   "5 ",   "1e9",       "1:60",  "0:60:0",
        "1-24",      "1:",    ":1",   "1::1", "1-",        "1-2-3", "1:2:3:4",
        "1-2:3:4:5", "1:1.5", "1:-1", "1: 1", "+1:1",      "1:1s",  "9999999999:0"};
    uint64_t ns;
    for (size_t i = 0; i < sizeof good / sizeof *good; i++) {
        assert_int_equal(gw_units_parse_duration(good[i].text, &ns), 0);
        assert_int_equal(ns, good[i].wanted_ns);
    }
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(gw_units_parse_duration(bad[i], &ns), GW_EINVAL);
    assert_int_equal(gw_units_parse_duration("1000000000000d", &ns), GW_ELIMIT);
    assert_int_equal(gw_units_parse_duration("104166d", &ns), 0);
    assert_int_equal(gw_units_parse_duration("104167d", &ns), GW_ELIMIT);
    assert_int_equal(gw_units_parse_duration("104166-15:59:59", &ns), 0);
    assert_int_equal(gw_units_parse_duration("104166-16:00:00", &ns), GW_ELIMIT);
}

static void points_in_time_are_durations_before_now_or_dates(void **state)
{
    static const uint64_t now_ns = UINT64_C(1800000000) * GW_NS_PER_S;
    static const struct {
        const char *text;
        uint64_t seconds; /* 0: refused */
    } cases[] = {
        {"90", 1799999910},
        {"2h", 1799992800},
        {"2026-11-26T09:30:05Z", 1795685405},
        {"2026-11-26 09:30:04.9999999999Z", 1795685405},
        {"2026-11-26 09:30Z", 1795685400},
        {"2026-11-26Z", 1795651200},
        {"2026-11-26T09:30:05", 1795685405}, /* local time, which is UTC here */
        {"2026-11-26T09:30:05+01", 0},
        {"yesterday", 0},
        {"2026-13-01", 0},
    };
    uint64_t at_ns;
    setenv("TZ", "UTC", 1);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int rc = gw_units_parse_since(cases[i].text, now_ns, &at_ns);
        assert_int_equal(rc, cases[i].seconds ? 0 : GW_EINVAL);
        if (rc == 0)
            assert_int_equal(at_ns, cases[i].seconds * GW_NS_PER_S);
    }
    char text[GW_UNITS_TIME_ROOM];
    gw_units_format_time(UINT64_C(1795685405) * GW_NS_PER_S + 7 * GW_NS_PER_MS, text);
    assert_string_equal(text, "2026-11-26T09:30:05.007Z");
}

static void size_parser_accepts_units_and_refuses_overflow(void **state)
{
    static const char *const bad[] = {"", "M", "-1", "1X", "1MM", "1 M", "1iB"};
    uint64_t bytes;
    char text[32];
    assert_int_equal(gw_units_parse_size("100", &bytes), 0);
    assert_int_equal(bytes, 100);
    assert_int_equal(gw_units_parse_size("64M", &bytes), 0);
    assert_int_equal(bytes, 64 << 20);
    assert_int_equal(gw_units_parse_size("1.5GiB", &bytes), 0);
    assert_int_equal(bytes, 3ull << 29);
    assert_int_equal(gw_units_parse_size("2kb", &bytes), 0);
    assert_int_equal(bytes, 2048);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(gw_units_parse_size(bad[i], &bytes), GW_EINVAL);
    assert_int_equal(gw_units_parse_size("99999999999T", &bytes), GW_ELIMIT);
    assert_int_equal(gw_units_parse_size("7993P", &bytes), 0);
    assert_int_equal(gw_units_parse_size("7994P", &bytes), GW_ELIMIT);
    gw_units_format_size(512, text, sizeof text);
    assert_string_equal(text, "512 B");
    gw_units_format_size(3 << 19, text, sizeof text);
    assert_string_equal(text, "1.5 MiB");
}

static void range_parser_accepts_lists_and_refuses_bad_syntax(void **state)
{
    static const char *const bad[] = {"", "a", "1,", ",1", "5-3", "1-", "-1", "1 2", "1,,2"};
    struct gw_units_range ranges[GW_UNITS_RANGES_MAX];
    assert_int_equal(gw_units_parse_ranges("1,3,5-8", ranges), 3);
    assert_int_equal(ranges[1].first, 3);
    assert_int_equal(ranges[1].last, 3);
    assert_int_equal(ranges[2].first, 5);
    assert_int_equal(ranges[2].last, 8);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++)
        assert_int_equal(gw_units_parse_ranges(bad[i], ranges), GW_EINVAL);
}

/* Options of every kind. */
struct parsed {
    bool flag;
    const char *text;
    struct gw_option_texts texts;
    uint32_t number;
    uint64_t duration_ns, bytes;
    int argc, first, exit_code;
    char *argv[17];
};

/* Parses words separated by single spaces. */
static bool parse(struct parsed *parsed, int arguments, bool command_line, char *line)
{
    memset(parsed, 0, sizeof *parsed);
    const struct gw_option table[] = {
        {"flag", 'f', GW_OPTION_FLAG, &parsed->flag, NULL, "a flag"},
        {"text", 't', GW_OPTION_TEXT, &parsed->text, "TEXT", "a text\nof two lines"},
        {"texts", 'e', GW_OPTION_TEXTS, &parsed->texts, "TEXT", "texts"},
        {"number", 'n', GW_OPTION_U32, &parsed->number, "N", "a number"},
        {"time-limit", 0, GW_OPTION_DURATION, &parsed->duration_ns, "TIME", "a time"},
        {"memory", 0, GW_OPTION_SIZE, &parsed->bytes, "SIZE", "a size"},
        {0},
    };
    const struct gw_options options = {
        .command = "test",
        .arguments = "THING",
        .summary = "Test.",
        .table = table,
        .arguments_min = arguments,
        .arguments_max = command_line ? 100 : arguments,
        .command_line = command_line,
    };
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
        parsed->argv[parsed->argc++] = word;
    return gw_options_parse(&options, parsed->argc, parsed->argv, &parsed->first,
                            &parsed->exit_code);
}

/* `none` is no limit, in every kind of limit, and 0 is what the kind says. */
static void every_kind_of_limit_accepts_none(void **state)
{
    static const struct {
        enum gw_option_kind kind;
        uint64_t none, zero; /* zero UINT64_MAX - 1: 0 is refused */
    } kinds[] = {
        {GW_OPTION_LIMIT, UINT32_MAX, UINT64_MAX - 1},
        {GW_OPTION_BUDGET, INT32_MAX, UINT32_MAX},
        {GW_OPTION_LINES, UINT32_MAX, 0},
        {GW_OPTION_RETRIES, 255, 0},
        {GW_OPTION_DURATION, 0, 0},
        {GW_OPTION_DELAY, GW_UNITS_NONE, 1},
        {GW_OPTION_TIMEOUT, UINT64_MAX, 0},
        {GW_OPTION_PATIENCE, UINT64_MAX, UINT64_MAX},
        {GW_OPTION_SIZE, 0, 0},
        {GW_OPTION_CAP, GW_UNITS_NONE, UINT64_MAX - 1},
        {GW_OPTION_ROOM, GW_UNITS_NONE, 1},
    };
    for (size_t i = 0; i < sizeof kinds / sizeof *kinds; i++)
        for (int zero = 0; zero < 2; zero++) {
            union {
                uint32_t narrow;
                uint64_t wide;
            } stored = {.wide = 0};
            const struct gw_option table[] = {{"limit", 0, kinds[i].kind, &stored, "L", "a limit"},
                                              {0}};
            const struct gw_options options = {
                .command = "test", .arguments = "", .summary = "Test.", .table = table};
            char name[] = "test", option[] = "--limit", none[] = "none", nought[] = "0";
            char *argv[] = {name, option, zero ? nought : none, NULL};
            const uint64_t wanted = zero ? kinds[i].zero : kinds[i].none;
            int first, exit_code;
            const bool accepted = gw_options_parse(&options, 3, argv, &first, &exit_code);
            assert_int_equal(accepted, wanted != UINT64_MAX - 1);
            if (accepted)
                assert_int_equal(stored.wide, wanted);
        }
}

static void options_parse_in_long_and_short_form(void **state)
{
    struct parsed p;
    char line[] = "test -f thing --text=a -e x --texts y -n4 --time-limit 1h30m --memory 2K";
    assert_true(parse(&p, 1, false, line));
    assert_true(p.flag);
    assert_string_equal(p.text, "a");
    assert_int_equal(p.texts.count, 2);
    assert_string_equal(p.texts.items[1], "y");
    assert_int_equal(p.number, 4);
    assert_int_equal(p.duration_ns, 5400 * GW_NS_PER_S);
    assert_int_equal(p.bytes, 2048);
    assert_string_equal(p.argv[p.first], "thing");
    free(p.texts.items);

    char dashes[] = "test -- -f";
    assert_true(parse(&p, 1, false, dashes));
    assert_false(p.flag);
    assert_string_equal(p.argv[p.first], "-f");
}

/* Arguments are argv[first] to argv[argc - 1], wherever options stand between them. */
static void arguments_are_collected_from_between_options(void **state)
{
    static const char *const lines[] = {"test -n 2 -f a b c", "test a -n 2 b -f c",
                                        "test a b c -f --number 2", "test a -f b -n 2 -- c",
                                        "test -f -n2 -- a b c"};
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        struct parsed p;
        char line[64];
        snprintf(line, sizeof line, "%s", lines[i]);
        assert_true(parse(&p, 3, false, line));
        assert_true(p.flag);
        assert_int_equal(p.number, 2);
        assert_int_equal(p.argc - p.first, 3);
        assert_null(p.argv[p.argc]);
        assert_string_equal(p.argv[p.first], "a");
        assert_string_equal(p.argv[p.first + 1], "b");
        assert_string_equal(p.argv[p.first + 2], "c");
    }
    struct parsed p;
    char none[] = "test -f -n 2";
    assert_true(parse(&p, 0, false, none));
    assert_int_equal(p.argc, p.first);
}

static void options_after_the_command_belong_to_the_command(void **state)
{
    struct parsed p;
    char line[] = "test -n 2 python -n 3 --no-such";
    assert_true(parse(&p, 1, true, line));
    assert_int_equal(p.number, 2);
    assert_string_equal(p.argv[p.first], "python");
    assert_string_equal(p.argv[p.first + 1], "-n");
    char dashes[] = "test -- -n";
    assert_true(parse(&p, 1, true, dashes));
    assert_string_equal(p.argv[p.first], "-n");
}

/* In the library, an option of 0 means the default; on the command line, 0 means 0. */
static void an_explicit_zero_replaces_the_option_default(void **state)
{
    static const char *const keys[] = {"max-worker-losses", "max-preemptions", "grace",
                                       "fail-grace",        "hang-timeout",    "full-size-timeout"};
    struct gw_launch_options launch;
    int exit_code = 0;
    char *argv[] = {"dispatch",
                    "--max-worker-losses=0",
                    "--max-preemptions=0",
                    "--grace=0",
                    "--fail-grace=0",
                    "--full-size-timeout=0s",
                    "--hang-timeout=0",
                    "-n2",
                    "--slots-per-rank=3",
                    "--min-ranks=1",
                    "true",
                    NULL};
    assert_true(gw_launch_options_init(&launch, true, 11, argv, &exit_code));
    struct gw_task_options read = GW_INIT(gw_task_options);
    json_t *zero = json_integer(0);
    struct gw_bulk_texts texts = {0};
    const char *takes;
    for (size_t i = 0; i < sizeof keys / sizeof *keys; i++)
        assert_int_equal(gw_bulk_option_set(&read, &texts, keys[i], zero, &takes), 0);
    assert_int_equal(gw_bulk_option_set(&read, &texts, "slots", zero, &takes), GW_EINVAL);
    const struct gw_task_options *both[] = {&launch.task, &read};
    for (size_t i = 0; i < 2; i++) {
        assert_int_equal(both[i]->worker_losses_max, UINT32_MAX);
        assert_int_equal(both[i]->preemptions_max, UINT32_MAX);
        assert_int_equal(both[i]->grace_ns, 1);
        assert_int_equal(both[i]->gang.fail_grace_ns, 1);
        assert_int_equal(both[i]->gang.full_size_timeout_ns, 1);
        assert_true(both[i]->gang.hang_timeout_ns == UINT64_MAX);
    }
    assert_int_equal(launch.task.slots, 3);
    json_decref(zero);
    gw_bulk_option_texts_deinit(&texts);
    gw_launch_options_deinit(&launch);
    char *none[] = {"submit", "--slots", "0", "true", NULL};
    assert_false(gw_launch_options_init(&launch, false, 4, none, &exit_code));
    assert_int_equal(exit_code, 2);
}

/* Parses the words of `dispatch` or `submit` as main() receives them. */
static bool launch_with(struct gw_launch_options *launch, bool gang, const char *words,
                        int *exit_code)
{
    static char line[256];
    static char *argv[32];
    int argc = 0;
    snprintf(line, sizeof line, "%s %s", gang ? "dispatch" : "submit", words);
    for (char *word = strtok(line, " "); word; word = strtok(NULL, " "))
        argv[argc++] = word;
    argv[argc] = NULL;
    *exit_code = 0;
    return gw_launch_options_init(launch, gang, argc, argv, exit_code);
}

/* Option names of Slurm and torchrun are read as the options of Gangway with the same meaning. */
static void options_of_slurm_and_torchrun_are_accepted(void **state)
{
    static const char *const gangs[] = {
        "--nnodes 2 --nproc-per-node 3 -J sweep -c 4 --time 1:30:00 true",
        "--nnodes=2 --nproc_per_node=3 --job-name=sweep --cpus-per-task=4 --time=1:30:00 true",
        "-N2 --ntasks-per-node 3 --ntasks 6 -Jsweep -c4 --time 90:00 true",
        "--nodes 2 --per-node 3 --name sweep --slots-per-rank 4 --time-limit 5400 true"};
    struct gw_launch_options launch;
    int exit_code;
    for (size_t i = 0; i < sizeof gangs / sizeof *gangs; i++) {
        assert_true(launch_with(&launch, true, gangs[i], &exit_code));
        assert_int_equal(launch.task.ranks, 6);
        assert_int_equal(launch.task.gang.ranks_per_node, 3);
        assert_int_equal(launch.task.slots, 4);
        assert_int_equal(launch.task.time_limit_ns, 5400 * GW_NS_PER_S);
        assert_string_equal(launch.name, "sweep");
        gw_launch_options_deinit(&launch);
    }
    assert_true(launch_with(&launch, false, "-c 2 -J nap --time 0-1:0 true", &exit_code));
    assert_int_equal(launch.task.slots, 2);
    assert_int_equal(launch.task.time_limit_ns, 3600 * GW_NS_PER_S);
    gw_launch_options_deinit(&launch);
}

/* Options that mean something else in the other tool are refused, and so are ranks of `submit`. */
static void ambiguous_options_of_other_tools_are_refused(void **state)
{
    static const char *const words[] = {
        "--time 30 true", "--time=30 true", "--mem 4G true",           "--gres=gpu:2 true",
        "-n 2 true",      "-N 2 true",      "--nproc-per-node 2 true", "-o log true"};
    struct gw_launch_options launch;
    int exit_code;
    for (size_t i = 0; i < sizeof words / sizeof *words; i++) {
        assert_false(launch_with(&launch, false, words[i], &exit_code));
        assert_int_equal(exit_code, 2);
        gw_launch_options_deinit(&launch);
    }
}

static void wrong_options_exit_with_code_2(void **state)
{
    static const char *const lines[] = {"test thing --no-such",
                                        "test -hostname thing",
                                        "test thing -x",
                                        "test thing -n two",
                                        "test thing -n -1",
                                        "test thing --time-limit 3y",
                                        "test thing --memory much",
                                        "test",
                                        "test a b",
                                        "test thing --text",
                                        "test thing --flag=1",
                                        "test thing --fla",
                                        "test thing --num 2",
                                        "test thing --num=2",
                                        "test thing --tex=x"};
    struct parsed p;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        char line[64];
        snprintf(line, sizeof line, "%s", lines[i]);
        assert_false(parse(&p, 1, false, line));
        assert_int_equal(p.exit_code, 2);
    }
    char help[] = "test --help";
    assert_false(parse(&p, 1, false, help));
    assert_int_equal(p.exit_code, 0);
}

static const char *next_word(void *arg, size_t i)
{
    static const char *const words[] = {"status", "submit", "dispatch", "wait", NULL};
    return words[i];
}

static void misspelt_words_suggest_the_nearest_known_word(void **state)
{
    assert_string_equal(gw_nearest_word("stauts", next_word, NULL), "status");
    assert_string_equal(gw_nearest_word("dispach", next_word, NULL), "dispatch");
    assert_string_equal(gw_nearest_word("wiat", next_word, NULL), "wait");
    assert_null(gw_nearest_word("frobnicate", next_word, NULL));
    assert_null(gw_nearest_word("wa", next_word, NULL));
    assert_null(gw_nearest_word("xat", next_word, NULL));
    assert_null(gw_nearest_word("a-word-that-is-longer-than-any-option-can-ever-be-and-so-is-none",
                                next_word, NULL));
}

static const struct gw_column columns[] = {
    {"job", "JOB", GW_CELL_NUMBER},
    {"name", "NAME", GW_CELL_TEXT},
    {"time", "TIME", GW_CELL_DURATION},
    {"bytes", "BYTES", GW_CELL_SIZE},
    {0},
};

static struct gw_value *row(int64_t job, const char *name, int64_t time_ns)
{
    struct gw_value *dict = gw_dict();
    gw_dict_set(dict, "job", gw_i64(job));
    gw_dict_set(dict, "name", gw_str(name));
    gw_dict_set(dict, "time", gw_i64(time_ns));
    return dict;
}

static void table_aligns_columns_and_masks_control_characters(void **state)
{
    char *text = NULL;
    size_t bytes = 0;
    FILE *out = tmpfile();
    struct gw_value *rows = gw_list();
    gw_list_push(rows, row(7, "größe", 1500000000));
    gw_list_push(rows, row(123, "a\033[31m", 5000000));
    gw_table_print(out, columns, rows);
    bytes = (size_t)ftell(out);
    rewind(out);
    text = calloc(1, bytes + 1);
    assert_int_equal(fread(text, 1, bytes, out), bytes);
    assert_string_equal(text, "JOB  NAME    TIME  BYTES\n"
                              "  7  größe   1.5s      -\n"
                              "123  a?[31m   5ms      -\n");
    free(text);
    fclose(out);
    gw_value_unref(rows);
}

/* Texts are cut if the terminal is narrow; numbers are never cut. */
static void table_shortens_text_to_the_terminal_width(void **state)
{
    const char expected[] = "   JOB  NAME    TIME  BYTES\r\n"
                            "123456  ein g…  1.5s      -\r\n";
    char text[512] = "";
    const struct winsize window = {.ws_col = 24, .ws_row = 9};
    int master = posix_openpt(O_RDWR | O_NOCTTY);
    struct gw_value *rows = gw_list();
    if (master < 0 || grantpt(master) < 0 || unlockpt(master) < 0)
        skip();
    FILE *out = fopen(ptsname(master), "r+e");
    assert_non_null(out);
    assert_int_equal(ioctl(fileno(out), TIOCSWINSZ, &window), 0);
    gw_list_push(rows, row(123456, "ein größerer Name", 1500000000));
    setenv("NO_COLOR", "1", 1);
    gw_table_print(out, columns, rows);
    unsetenv("NO_COLOR");
    fflush(out);
    for (size_t at = 0; at < sizeof expected - 1;) { /* a terminal returns what is available */
        ssize_t bytes = read(master, text + at, sizeof expected - 1 - at);
        assert_true(bytes > 0);
        at += (size_t)bytes;
    }
    assert_string_equal(text, expected);
    fclose(out);
    close(master);
    gw_value_unref(rows);
}

/* Only bytes that are not valid UTF-8 are replaced, and no byte can control the terminal. */
static void output_replaces_invalid_utf8_and_control_bytes(void **state)
{
    static const struct {
        const char *text, *json, *said;
    } cases[] = {
        {"caf\351: no such file", "\"caf\xef\xbf\xbd: no such file\"", "caf\351: no such file"},
        {"na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80",
         "\"na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80\"",
         "na\xc3\xafve \xe2\x82\xac \xf0\x9f\x98\x80"},
        {"\xe2\x82", "\"\xef\xbf\xbd\xef\xbf\xbd\"", "\xe2\x82"},
        {"\xc0\xaf", "\"\xef\xbf\xbd\xef\xbf\xbd\"", "\xc0\xaf"},
        {"\xed\xa0\x80.", "\"\xef\xbf\xbd\xef\xbf\xbd\xef\xbf\xbd.\"", "\xed\xa0\x80."},
        {"a\033[2J\tb\r\nc\x7f", "\"a\\u001B[2J\\tb\\r\\nc\x7f\"", "a?[2J\tb?\nc?"},
        {"\xc2\x9b[2J\xc2\xa0", "\"\xc2\x9b[2J\xc2\xa0\"", "?[2J\xc2\xa0"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char *text = NULL;
        size_t bytes;
        FILE *out = open_memstream(&text, &bytes);
        struct gw_value *dict = gw_dict(), *keys = gw_dict();
        assert_int_equal(gw_dict_set(dict, "k", gw_str(cases[i].text)), 0);
        assert_int_equal(gw_table_json(out, gw_value_find(dict, "k"), true), 0);
        assert_int_equal(gw_dict_set(keys, cases[i].text, gw_i64(1)), 0);
        assert_int_equal(gw_table_json(out, keys, true), 0);
        gw_table_say(out, cases[i].text);
        fclose(out);
        char wanted[256];
        snprintf(wanted, sizeof wanted, "%s\n{%s:1}\n%s", cases[i].json, cases[i].json,
                 cases[i].said);
        assert_string_equal(text, wanted);
        free(text);
        gw_value_unref(dict);
        gw_value_unref(keys);
    }
}

static void json_output_covers_every_value_type(void **state)
{
    char text[256] = "";
    FILE *out = tmpfile();
    struct gw_value *value = row(1, "x\"0.10000000000000001", 2), *list = gw_list();
    gw_list_push(list, gw_nil());
    gw_list_push(list, gw_bool(true));
    gw_list_push(list, gw_f64(0.5));
    gw_list_push(list, gw_f64((double)INFINITY));
    gw_list_push(list, gw_f64(0));
    gw_list_push(list, gw_f64(0.1));
    gw_list_push(list, gw_f64(-1e22));
    gw_list_push(list, gw_f64(0.1 + 0.2));
    gw_list_push(list, gw_bytes_copy("abc", 3));
    gw_dict_set(value, "list", list);
    assert_int_equal(gw_table_json(out, value, true), 0);
    rewind(out);
    assert_non_null(fgets(text, sizeof text, out));
    assert_string_equal(text,
                        "{\"job\":1,\"name\":\"x\\\"0.10000000000000001\",\"time\":2,\"list\":"
                        "[null,true,0.5,null,0.0,0.1,-1e22,0.30000000000000004,\"YWJj\"]}\n");
    fclose(out);
    gw_value_unref(value);
}

static void host_list_parser_refuses_malformed_hosts(void **state)
{
    static const struct {
        const char *text, *wanted;
    } bad[] = {
        {"", "a host is missing"},
        {"a:4,", "a host is missing"},
        {",a", "a host is missing"},
        {"a:0", "1 to 4096"},
        {"a:4097", "1 to 4096"},
        {"a:99999999999999999999", "1 to 4096"},
        {"a:x", "1 to 4096"},
        {"a:4x", "1 to 4096"},
        {"a:", "1 to 4096"},
        {"fe80::1", "1 to 4096"},
        {":4", "is not a host"},
        {"-oProxyCommand=x:4", "is not a host"},
        {"bob@-x:4", "is not a host"},
        {"@a:4", "is not a host"},
        {"bob@:4", "is not a host"},
        {"a@b@c:4", "is not a host"},
        {"a b:4", "is not a host"},
        {"$(x):4", "is not a host"},
        {"[::1:4", "is not a host"},
        {"[]:4", "is not a host"},
        {"a:4,b:2,a:1", "a is listed twice"},
    };
    struct gw_hosts hosts;
    struct gw_error error;
    assert_int_equal(gw_hosts_init(&hosts, "a:4,bob@b-2.example:4096,[::1]:2,c", &error), 0);
    assert_int_equal(hosts.items.count, 4);
    assert_string_equal(hosts.items.items[0].name, "a");
    assert_int_equal(hosts.items.items[0].slots, 4);
    assert_string_equal(hosts.items.items[1].name, "bob@b-2.example");
    assert_string_equal(gw_hosts_address(&hosts.items.items[1]), "b-2.example");
    assert_int_equal(hosts.items.items[1].slots, 4096);
    assert_string_equal(gw_hosts_address(&hosts.items.items[2]), "::1");
    assert_int_equal(hosts.items.items[3].slots, 0);
    gw_hosts_deinit(&hosts);
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        assert_int_equal(gw_hosts_init(&hosts, bad[i].text, &error), GW_EINVAL);
        assert_non_null(strstr(error.text, bad[i].wanted));
    }
    char text[600];
    memset(text, 'a', sizeof text - 1);
    for (size_t length = 250; length < sizeof text; length++) { /* near the limits */
        text[length] = '\0';
        int rc = gw_hosts_init(&hosts, text, &error);
        assert_int_equal(rc, length < GW_HOSTS_NAME_BYTES ? 0 : GW_EINVAL);
        gw_hosts_deinit(&hosts);
        text[length] = 'a';
    }
}

static void a_memory_limit_of_none_turns_off_the_thresholds_that_are_not_given(void **state)
{
    struct gw_memory_options options = {.limit = "none", .lines = {[2] = "0.9"}};
    struct gw_memory_lines lines;
    const char *spill_dir;
    struct gw_error error;
    assert_int_equal(gw_memory_options_read(&options, &lines, &spill_dir, &error), 0);
    assert_memory_equal(&lines, &(struct gw_memory_lines){.pause = 900}, sizeof lines);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(duration_parser_accepts_units_and_clock_times),
        cmocka_unit_test(points_in_time_are_durations_before_now_or_dates),
        cmocka_unit_test(size_parser_accepts_units_and_refuses_overflow),
        cmocka_unit_test(range_parser_accepts_lists_and_refuses_bad_syntax),
        cmocka_unit_test(every_kind_of_limit_accepts_none),
        cmocka_unit_test(a_memory_limit_of_none_turns_off_the_thresholds_that_are_not_given),
        cmocka_unit_test(options_parse_in_long_and_short_form),
        cmocka_unit_test(arguments_are_collected_from_between_options),
        cmocka_unit_test(options_after_the_command_belong_to_the_command),
        cmocka_unit_test(an_explicit_zero_replaces_the_option_default),
        cmocka_unit_test(options_of_slurm_and_torchrun_are_accepted),
        cmocka_unit_test(ambiguous_options_of_other_tools_are_refused),
        cmocka_unit_test(wrong_options_exit_with_code_2),
        cmocka_unit_test(misspelt_words_suggest_the_nearest_known_word),
        cmocka_unit_test(table_aligns_columns_and_masks_control_characters),
        cmocka_unit_test(table_shortens_text_to_the_terminal_width),
        cmocka_unit_test(output_replaces_invalid_utf8_and_control_bytes),
        cmocka_unit_test(json_output_covers_every_value_type),
        cmocka_unit_test(host_list_parser_refuses_malformed_hosts),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
