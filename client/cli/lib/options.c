/* Parses options with getopt_long. The tables of getopt_long are made from tables of struct
 * gw_option. */
#include "client/cli/lib/options.h"

#include "client/cli/lib/exit_code.h"
#include "client/cli/lib/message.h"
#include "client/cli/lib/synonym.h"
#include "client/cli/lib/units.h"
#include "graph/base/clock.h"
#include "graph/wire/enums.h"

#include <gangway/options.h>

#include <assert.h>
#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 112, LONGS_MAX = 176, LONG_ONLY = 256, HELP = 1000, WORD_MAX = 32 };

/* Returns the number of edits (insert, delete, replace, swap of neighbours) that change a into b.
 */
static size_t distance(const char *a, const char *b)
{
    size_t n = strlen(a), m = strlen(b), cost[WORD_MAX + 1][WORD_MAX + 1];
    if (n > WORD_MAX || m > WORD_MAX)
        return SIZE_MAX;
    for (size_t i = 0; i <= n; i++) {
        for (size_t j = 0; j <= m; j++) {
            if (i == 0 || j == 0) {
                cost[i][j] = i + j;
                continue;
            }
            size_t best = cost[i - 1][j - 1] + (a[i - 1] != b[j - 1]);
            if (cost[i - 1][j] + 1 < best)
                best = cost[i - 1][j] + 1;
            if (cost[i][j - 1] + 1 < best)
                best = cost[i][j - 1] + 1;
            if (i > 1 && j > 1 && a[i - 1] == b[j - 2] && a[i - 2] == b[j - 1] &&
                cost[i - 2][j - 2] + 1 < best)
                best = cost[i - 2][j - 2] + 1;
            cost[i][j] = best;
        }
    }
    return cost[n][m];
}

const char *gw_options_nearest(const char *word, const char *(*next)(void *arg, size_t i),
                               void *arg)
{
    const char *best = NULL, *candidate;
    size_t length = strlen(word), best_distance = length < 4 ? 2 : length / 3 + 2;
    if (length < 3)
        return NULL; /* short words are all similar to each other */
    for (size_t i = 0; (candidate = next(arg, i)); i++) {
        size_t d = distance(word, candidate);
        if (d < best_distance) {
            best_distance = d;
            best = candidate;
        }
    }
    return best;
}

static const char *next_option(void *arg, size_t i)
{
    const struct gw_option *table = arg;
    return table[i].name;
}

/* -- Help ----------------------------------------------------------------------------------------
 */

static void print_option(const struct gw_option *option)
{
    char left[64];
    int length = option->letter ? snprintf(left, sizeof left, "-%c, ", option->letter)
                                : snprintf(left, sizeof left, "    ");
    snprintf(left + length, sizeof left - (size_t)length, "--%s%s%s", option->name,
             option->argument ? " " : "", option->argument ? option->argument : "");
    /* Further lines of a help text are aligned with the first. */
    const char *help = option->help;
    printf("  %-26s ", left);
    while (*help) {
        int line = (int)strcspn(help, "\n");
        printf("%.*s\n", line, help);
        help += line + (help[line] == '\n');
        if (*help)
            printf("  %-26s ", "");
    }
}

static void print_help(const struct gw_options *options)
{
    printf("Usage: gangway %s [options]%s%s\n\n%s\n", options->command,
           *options->arguments ? " " : "", options->arguments, options->summary);
    if (options->details)
        printf("\n%s\n", options->details);
    printf("\nOptions:\n");
    for (const struct gw_option *option = options->table; option->name; option++)
        print_option(option);
    print_option(&(struct gw_option){.name = "help", .letter = 'h', .help = "show this help"});
    if (options->verbs)
        gw_options_print_verbs(stdout, options->command, options->verbs);
}

void gw_options_print_verbs(FILE *out, const char *command, const struct gw_cli_command *verbs)
{
    fprintf(out, "\nCommands:\n");
    for (const struct gw_cli_command *verb = verbs; verb->name; verb++)
        fprintf(out, "  %-10s %s\n", verb->name, verb->summary);
    fprintf(out, "\n`gangway %s COMMAND --help` shows the help of a command.\n", command);
}

static void (*show_help)(const struct gw_options *options) = print_help;

void gw_options_show_by(void (*show)(const struct gw_options *options))
{
    show_help = show;
}

/* -- Parsing -------------------------------------------------------------------------------------
 */

static int usage_error(const struct gw_options *options, const char *format, ...) GW_PRINTF(2, 3);

static int usage_error(const struct gw_options *options, const char *format, ...)
{
    char who[64];
    va_list args;
    (void)snprintf(who, sizeof who, "gangway %s", options->command);
    va_start(args, format);
    gw_cli_message_v(who, format, args);
    va_end(args);
    fprintf(stderr, "`gangway %s --help` shows the options\n", options->command);
    return GW_EXIT_USAGE;
}

/* Parses an integer in a range. Returns 0, or prints an error and returns the exit code. */
static int parse_integer(const struct gw_options *options, const struct gw_option *option,
                         const char *text, const long long range[2], long long *number)
{
    char *end;
    *number = strtoll(text, &end, 10); /* a number out of range becomes LLONG_MAX or LLONG_MIN */
    if (end == text || *end)
        return usage_error(options, "--%s %s: not a whole number", option->name, text);
    if (*number < range[0])
        return usage_error(options, "--%s %s: the minimum is %lld", option->name, text, range[0]);
    if (*number > range[1])
        return usage_error(options, "--%s %s: the maximum is %lld", option->name, text, range[1]);
    return 0;
}

static int store_duration(const struct gw_options *options, const struct gw_option *option,
                          const char *text)
{
    uint64_t duration_ns = 0;
    const bool none = gw_units_is_none(text);
    int rc = none ? 0 : gw_units_parse_duration(text, &duration_ns);
    if (rc == GW_ELIMIT)
        return usage_error(options, "--%s %s: the maximum is 104166d", option->name, text);
    if (rc < 0)
        return usage_error(options, "--%s %s: not a duration like 90 (seconds), 1h30m or 1:30:00",
                           option->name, text);
    const bool zero = duration_ns == 0;
    if (option->kind == GW_OPTION_DELAY && zero)
        duration_ns = none ? GW_UNITS_NONE : 1;
    else if ((option->kind == GW_OPTION_PATIENCE && zero) ||
             (option->kind == GW_OPTION_TIMEOUT && none))
        duration_ns = UINT64_MAX;
    *(uint64_t *)option->into = duration_ns;
    return 0;
}

static int store_size(const struct gw_options *options, const struct gw_option *option,
                      const char *text)
{
    uint64_t bytes = 0;
    const bool none = gw_units_is_none(text);
    int rc = none ? 0 : gw_units_parse_size(text, &bytes);
    if (rc == GW_ELIMIT)
        return usage_error(options, "--%s %s: the maximum is 7993P", option->name, text);
    if (rc < 0)
        return usage_error(options, "--%s %s: not a size like 100, 64M or 1.5G", option->name,
                           text);
    if (bytes == 0 && !none && option->kind == GW_OPTION_CAP)
        return usage_error(options, "--%s %s: the minimum is 1 byte, or none for no limit",
                           option->name, text);
    if (bytes == 0 && option->kind != GW_OPTION_SIZE)
        bytes = none ? GW_UNITS_NONE : 1;
    *(uint64_t *)option->into = bytes;
    return 0;
}

static int store_since(const struct gw_options *options, const struct gw_option *option,
                       const char *text)
{
    const bool none = gw_units_is_none(text);
    const int rc = none ? 0 : gw_units_parse_since(text, gw_clock_wall_ns(), option->into);
    if (rc < 0)
        return usage_error(options,
                           "--%s %s: neither a duration like 90 (seconds) or 2h, nor a time like "
                           "2026-11-26T09:30:00",
                           option->name, text);
    if (none)
        *(uint64_t *)option->into = 0;
    return 0;
}

static int store_count(const struct gw_options *options, const struct gw_option *option,
                       const char *text)
{
    const enum gw_option_kind kind = option->kind;
    const bool least_1 = kind == GW_OPTION_LIMIT || kind == GW_OPTION_COUNT;
    const bool wide = kind == GW_OPTION_U32 || kind == GW_OPTION_LINES || kind == GW_OPTION_RETRIES;
    uint32_t *into = option->into;
    long long number;
    if (kind != GW_OPTION_U32 && kind != GW_OPTION_COUNT && gw_units_is_none(text)) {
        *into = kind == GW_OPTION_BUDGET    ? GW_UNLIMITED
                : kind == GW_OPTION_RETRIES ? GW_RETRIES_MAX
                                            : GW_NONE;
        return 0;
    }
    int code = parse_integer(options, option, text,
                             (const long long[]){least_1, wide ? UINT32_MAX : INT32_MAX}, &number);
    if (code == 0)
        *into = number == 0 && kind == GW_OPTION_BUDGET ? GW_NONE : (uint32_t)number;
    return code;
}

/* Stores the value of an option. Returns 0 or the exit code. */
static int store(const struct gw_options *options, const struct gw_option *option, const char *text)
{
    long long number;
    int code;
    switch (option->kind) {
    case GW_OPTION_FLAG:
        *(bool *)option->into = true;
        return 0;
    case GW_OPTION_TEXT:
        *(const char **)option->into = text;
        return 0;
    case GW_OPTION_LIST: {
        const char **list = option->into;
        if (*list)
            return usage_error(options, "--%s is given twice: write --%s %s,%s", option->name,
                               option->name, *list, text);
        *list = text;
        return 0;
    }
    case GW_OPTION_TEXTS: {
        struct gw_option_texts *texts = option->into;
        const char **grown = realloc(texts->items, (texts->count + 2) * sizeof *grown);
        if (!grown)
            return usage_error(options, "out of memory");
        texts->items = grown;
        texts->items[texts->count++] = text;
        texts->items[texts->count] = NULL;
        return 0;
    }
    case GW_OPTION_LIMIT:
    case GW_OPTION_BUDGET:
    case GW_OPTION_LINES:
    case GW_OPTION_RETRIES:
    case GW_OPTION_COUNT:
    case GW_OPTION_U32:
        return store_count(options, option, text);
    case GW_OPTION_U64:
        code = parse_integer(options, option, text, (const long long[]){0, INT64_MAX}, &number);
        if (code == 0)
            *(uint64_t *)option->into = (uint64_t)number;
        return code;
    case GW_OPTION_I32:
        code = parse_integer(options, option, text, (const long long[]){INT32_MIN, INT32_MAX},
                             &number);
        if (code == 0)
            *(int32_t *)option->into = (int32_t)number;
        return code;
    case GW_OPTION_DURATION:
    case GW_OPTION_DELAY:
    case GW_OPTION_TIMEOUT:
    case GW_OPTION_PATIENCE:
        return store_duration(options, option, text);
    case GW_OPTION_SINCE:
        return store_since(options, option, text);
    case GW_OPTION_SIZE:
    case GW_OPTION_CAP:
    case GW_OPTION_ROOM:
        return store_size(options, option, text);
    case GW_OPTION_ROWS:
        break;
    }
    return usage_error(options, "--%s: unknown kind", option->name);
}

/* Reports a long option with a single dash, for example -host. getopt has read only its first
 * letter. */
static int unknown_single(const struct gw_options *options, const char *word)
{
    for (const struct gw_option *option = options->table; option->name; option++)
        if (strcmp(option->name, word + 1) == 0)
            return usage_error(options, "unknown option %s, did you mean -%s?", word, word);
    return usage_error(options, "unknown option %s: a long option starts with two dashes", word);
}

/* Returns the option of this table that a synonym means, or NULL if there is none. */
static const struct gw_option *meant_by(const struct gw_options *options,
                                        const struct gw_synonym *synonym)
{
    for (const struct gw_option *option = options->table; option->name; option++)
        if (strcmp(option->name, synonym->name) == 0)
            return NULL; /* the command has an option with this name */
    for (size_t i = 0; i < sizeof synonym->meant / sizeof *synonym->meant; i++)
        for (const struct gw_option *option = options->table; option->name; option++)
            if (synonym->meant[i] && strcmp(option->name, synonym->meant[i]) == 0)
                return option;
    return NULL;
}

/* Returns advice about an option of another tool, by its name or its letter, or NULL if the option
 * is not known. */
static const char *answer_to(const struct gw_options *options, const char *name, int letter)
{
    for (const struct gw_synonym *synonym = options->synonyms; synonym && synonym->name; synonym++)
        if (synonym->answer &&
            (name ? strcmp(synonym->name, name) == 0 : synonym->letter == letter))
            return synonym->answer;
    return NULL;
}

/* Lists the options whose names begin with `name`, for example "--memory-limit, --memory-target".
 * Returns their number. */
static size_t completions(const struct gw_options *options, const char *name, char text[static 256])
{
    size_t used = 0, count = 0;
    *text = '\0';
    for (const struct gw_option *option = options->table; option->name; option++) {
        if (strncmp(option->name, name, strlen(name)) != 0 || used >= 256)
            continue;
        int n = snprintf(text + used, 256 - used, "%s--%s", count++ ? ", " : "", option->name);
        used += n > 0 ? (size_t)n : 0;
    }
    return count;
}

/* A letter has one meaning in all commands, so an option may have none of its own. */
static int unknown_letter(const struct gw_options *options, int letter)
{
    char known[256];
    const char *answer = answer_to(options, NULL, letter);
    if (answer)
        return usage_error(options, "unknown option -%c: %s", letter, answer);
    size_t count = completions(options, (const char[]){(char)letter, '\0'}, known);
    return usage_error(options, "unknown option -%c%s%s%s", letter,
                       count == 0  ? ""
                       : count > 1 ? ", did you mean one of "
                                   : ", did you mean ",
                       known, count ? "?" : "");
}

static int unknown(const struct gw_options *options, const char *word)
{
    char name[WORD_MAX + 1], known[256];
    const char *answer;
    if (strncmp(word, "--", 2) != 0)
        return unknown_letter(options, optopt);
    snprintf(name, sizeof name, "%.*s", (int)strcspn(word + 2, "="), word + 2);
    for (char *at = name; (at = strchr(at, '_'));) /* Python tools write _ in option names */
        *at = '-';
    if ((answer = answer_to(options, name, 0)))
        return usage_error(options, "unknown option --%s: %s", name, answer);
    const char *nearest = gw_options_nearest(name, next_option, (void *)(uintptr_t)options->table);
    if (nearest && strcmp(nearest, name) == 0 && word[2 + strlen(name)] == '=')
        return usage_error(options, "--%s takes no value", name);
    size_t count = *name ? completions(options, name, known) : 0;
    if (count > 0)
        return usage_error(
            options, "unknown option --%s, did you mean %s%s? Option names cannot be abbreviated",
            name, count > 1 ? "one of " : "", known);
    if (nearest)
        return usage_error(options, "unknown option --%s, did you mean --%s?", name, nearest);
    return usage_error(options, "unknown option --%s", name);
}

/* Makes the tables for getopt. The value of an option is LONG_ONLY + its index; a synonym has the
 * value of the option that it means. */
static void make_tables(const struct gw_options *options, char letters[static 3 * OPTIONS_MAX],
                        struct option longs[static LONGS_MAX])
{
    size_t count = 0;
    char *letter = letters;
    *letter++ = options->command_line ? '+' : '-';
    *letter++ = ':';
    *letter++ = 'h';
    for (const struct gw_option *option = options->table; option->name; option++) {
        bool argument = option->kind != GW_OPTION_FLAG;
        longs[count] = (struct option){option->name, argument ? required_argument : no_argument,
                                       NULL, LONG_ONLY + (int)count};
        count++;
        if (!option->letter)
            continue;
        *letter++ = option->letter;
        if (argument)
            *letter++ = ':';
    }
    for (const struct gw_synonym *synonym = options->synonyms; synonym && synonym->name;
         synonym++) {
        const struct gw_option *meant = meant_by(options, synonym);
        if (!meant)
            continue;
        assert(count + 2 < LONGS_MAX && letter + 3 < letters + 3 * OPTIONS_MAX);
        longs[count++] = (struct option){synonym->name, required_argument, NULL,
                                         LONG_ONLY + (int)(meant - options->table)};
        *letter = '\0';
        if (!synonym->letter || strchr(letters, synonym->letter))
            continue;
        *letter++ = synonym->letter;
        *letter++ = ':';
    }
    longs[count++] = (struct option){"help", no_argument, NULL, HELP};
    longs[count] = (struct option){0};
    *letter = '\0';
}

static const struct gw_option *find(const struct gw_options *options, int found)
{
    if (found >= LONG_ONLY)
        return &options->table[found - LONG_ONLY];
    for (const struct gw_option *option = options->table; option->name; option++)
        if (option->letter == found)
            return option;
    for (const struct gw_synonym *synonym = options->synonyms; synonym && synonym->name; synonym++)
        if (synonym->letter == found && meant_by(options, synonym))
            return meant_by(options, synonym);
    return NULL;
}

/* Whether a long option was typed with its full name. getopt_long also accepts abbreviations, which
 * we refuse: an abbreviation changes its meaning when an option is added. */
static bool is_whole(const char *word, int found, const struct option *longs)
{
    const size_t length = strcspn(word + 2, "=");
    for (const struct option *option = longs; option->name; option++)
        if (option->val == found && strlen(option->name) == length &&
            strncmp(option->name, word + 2, length) == 0)
            return true;
    return false;
}

/* Refuses a number without a unit for an option that means minutes in another tool: as seconds, the
 * limit would be 60 times too short. Returns 0 or the exit code. */
static int check_minutes(const struct gw_options *options, const char *word, const char *value)
{
    const size_t length = strcspn(word + 2, "=");
    for (const struct gw_synonym *synonym = options->synonyms; synonym && synonym->name; synonym++)
        if (synonym->minutes && strlen(synonym->name) == length &&
            strncmp(synonym->name, word + 2, length) == 0 && *value &&
            !value[strspn(value, "0123456789")])
            return usage_error(
                options, "--%s %s: give a unit: %sm for minutes, as in Slurm, or %ss for seconds",
                synonym->name, value, value, value);
    return 0;
}

/* Accepts the options of mpiexec that name hosts. They have a single dash and several spellings. */
static void take_familiar(const struct gw_options *options, char **argv)
{
    static char hosts[] = "--hosts", file[] = "--hostfile";
    static const struct {
        const char *typed;
        char *meant;
    } names[] = {{"-host", hosts},
                 {"-hosts", hosts},
                 {"-hostfile", file},
                 {"-machinefile", file},
                 {"--machinefile", file}};
    char **word = &argv[optind ? optind : 1];
    for (size_t i = 0; *word && i < sizeof names / sizeof *names; i++) {
        const struct gw_option *option = options->table;
        if (strcmp(*word, names[i].typed) != 0)
            continue;
        while (option->name && strcmp(option->name, names[i].meant + 2) != 0)
            option++;
        if (option->name)
            *word = names[i].meant;
        return;
    }
}

/* Returns the next option, as getopt_long does. Also accepts -np. */
static int next(const struct gw_options *options, int argc, char **argv, const char *letters,
                const struct option *longs)
{
    take_familiar(options, argv);
    int found = getopt_long(argc, argv, letters, longs, NULL);
    if (found != 'n' || !optarg || *optarg != 'p')
        return found;
    if (optarg[1]) /* -np4 */
        optarg++;
    else if (strcmp(argv[optind - 1], "-np") == 0 && optind < argc)
        optarg = argv[optind++]; /* -np 4, which getopt reads as -n with the value p */
    return found;
}

/* Copies the rows of a table, and of the tables inside it, after the first `count` rows. Returns
 * the new number of rows. */
static size_t spread(const struct gw_option *table, struct gw_option rows[OPTIONS_MAX],
                     size_t count)
{
    for (; table->name; table++) {
        if (table->kind == GW_OPTION_ROWS) {
            count = spread(table->into, rows, count);
            continue;
        }
        assert(count + 2 < OPTIONS_MAX); /* room for --help and the end of the table */
        rows[count++] = *table;
    }
    rows[count] = (struct gw_option){0};
    return count;
}

static bool parse(const struct gw_options *options, int argc, char **argv, int *first,
                  int *exit_code)
{
    char letters[3 * OPTIONS_MAX];
    struct option longs[LONGS_MAX];
    int found, arguments = 0;
    make_tables(options, letters, longs);
    optind = 0; /* glibc: restart the scan */
    opterr = 0;
    *exit_code = 0;
    /* '-' in `letters` makes getopt return arguments between options too. They move, in order, to
     * the start of argv, over words that were already read. */
    while (*exit_code == 0) {
        const int at = optind ? optind : 1;
        if ((found = next(options, argc, argv, letters, longs)) == -1)
            break;
        const char *word = argv[optind - 1];
        if (found == 'h' && optind < argc && strncmp(argv[optind], "-h", 2) == 0 &&
            argv[optind][2] != '\0') { /* getopt has read only its first letter */
            *exit_code = unknown_single(options, argv[optind]);
            return false;
        }
        const int typed = found == ':' ? optopt : found; /* ':' means that the value is missing */
        if (typed >= LONG_ONLY && !is_whole(argv[at], typed, longs)) {
            *exit_code = unknown(options, argv[at]);
            return false;
        }
        if (options->names_only && (found == HELP || found == 'h'))
            continue;
        if (found == HELP || found == 'h') {
            show_help(options);
            return false;
        }
        if (found == 1)
            argv[1 + arguments++] = optarg;
        else if (found == '?')
            *exit_code = unknown(options, word);
        else if (found == ':')
            *exit_code = usage_error(options, "%s needs a value", word);
        else if (options->names_only)
            ;
        else if (found < LONG_ONLY || (*exit_code = check_minutes(options, argv[at], optarg)) == 0)
            *exit_code = store(options, find(options, found), optarg);
    }
    if (*exit_code)
        return false;
    while (!options->command_line && optind < argc)
        argv[1 + arguments++] = argv[optind++]; /* arguments after "--" */
    int count = options->command_line ? argc - optind : arguments;
    *first = argc - count;
    if (!options->command_line) /* move them to the end, so that argc and the NULL after the last
                                   stay valid */
        memmove(argv + *first, argv + 1, (size_t)count * sizeof *argv);
    if (count < options->arguments_min)
        *exit_code = usage_error(options, "%s is missing", options->arguments);
    else if (count > options->arguments_max)
        *exit_code =
            usage_error(options, "unexpected argument: %s", argv[*first + options->arguments_max]);
    return *exit_code == 0;
}

static uint64_t connect_timeout_ns;

/* Whether the command connects to a scheduler. */
static bool connects(const char *command)
{
    static const char *const others[] = {"up",  "down",       "scheduler", "worker",
                                         "new", "completion", "help"};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (strcmp(command, others[i]) == 0)
            return false;
    return strncmp(command, "token", strlen("token")) != 0;
}

uint64_t gw_options_connect_timeout_ns(void)
{
    return connect_timeout_ns;
}

bool gw_options_parse(const struct gw_options *options, int argc, char **argv, int *first,
                      int *exit_code)
{
    struct gw_option rows[OPTIONS_MAX];
    struct gw_options flat = *options;
    static const struct gw_option common[] = {
        {"connect-timeout", 0, GW_OPTION_DELAY, &connect_timeout_ns, "TIME",
         "if the scheduler was killed or stopped, wait this\n"
         "long for its next start (default: 10s)"},
        {0},
    };
    size_t count = spread(options->table, rows, 0);
    if (connects(options->command))
        (void)spread(common, rows, count);
    flat.table = rows;
    return parse(&flat, argc, argv, first, exit_code);
}
