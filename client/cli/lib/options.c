/* Parses options with getopt_long. The tables of getopt_long are made from tables of struct
 * gw_option. */
#include "client/cli/lib/options.h"

#include "client/cli/lib/config_file.h"
#include "client/cli/lib/exit_code.h"
#include "client/cli/lib/message.h"
#include "client/cli/lib/nearest.h"
#include "client/cli/lib/option_value.h"
#include "client/cli/lib/synonym.h"

#include <assert.h>
#include <errno.h>
#include <gangway/value.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { OPTIONS_MAX = 112, LONGS_MAX = 176, LONG_ONLY = 256, HELP = 1000, WORD_MAX = 32 };

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

/* The last command line that was parsed. Values of the file are borrowed from it, so the file stays
 * open. */
static struct {
    struct gw_option rows[OPTIONS_MAX];
    const char *typed[OPTIONS_MAX]; /* the value of each row on the command line, or NULL */
    const char *group, *const *not_in_file;
    const char *path;
    struct gw_config_file *file;
} last;

static int store(const struct gw_options *options, const struct gw_option *option, const char *text)
{
    struct gw_error error;
    if (gw_option_value_store(option, text, &error) < 0)
        return usage_error(options, "%s", error.text);
    last.typed[option - options->table] = text ? text : "true";
    return 0;
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
    const char *nearest = gw_nearest_word(name, next_option, (void *)(uintptr_t)options->table);
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
    return strncmp(command, "token", strlen("token")) != 0 &&
           (strcmp(command, "config reload") == 0 ||
            strncmp(command, "config ", strlen("config ")) != 0);
}

uint64_t gw_options_connect_timeout_ns(void)
{
    return connect_timeout_ns;
}

/* Stores the values of the configuration file in the options that were not typed. */
static bool read_file(const struct gw_options *options, const char *command, int *exit_code)
{
    struct gw_error error;
    int rc = last.path ? gw_config_file_open(last.path, &last.file, &error) : 0;
    if (rc == 0 && last.file)
        rc = gw_config_file_apply(last.file,
                                  &(struct gw_config_group){options->group, options->table,
                                                            last.typed, options->not_in_file},
                                  &error);
    if (rc == 0)
        return true;
    gw_cli_message("gangway %s: %s", command, error.text);
    *exit_code = rc == GW_EINVAL || rc == GW_ENOENT ? GW_EXIT_USAGE : GW_EXIT_FAILED;
    return false;
}

bool gw_options_parse(const struct gw_options *options, int argc, char **argv, int *first,
                      int *exit_code)
{
    struct gw_options flat = *options;
    static const struct gw_option common[] = {
        {"connect-timeout", 0, GW_OPTION_DELAY, &connect_timeout_ns, "TIME",
         "if the scheduler was killed or stopped, wait this\n"
         "long for its next start (default: 10s)"},
        {0},
    };
    static const struct gw_option config[] = {
        {"config", 0, GW_OPTION_TEXT, &last.path, "FILE",
         "read options from this file; an option that is\n"
         "given here wins (see `gangway config`)"},
        {0},
    };
    gw_config_file_close(last.file);
    memset(&last, 0, sizeof last);
    last.group = options->group;
    last.not_in_file = options->not_in_file;
    size_t count = spread(options->table, last.rows, 0);
    if (connects(options->command))
        count = spread(common, last.rows, count);
    if (options->group)
        (void)spread(config, last.rows, count);
    flat.table = last.rows;
    return parse(&flat, argc, argv, first, exit_code) &&
           (!options->group || read_file(&flat, argv[0], exit_code));
}

struct gw_config_file *gw_options_file(void)
{
    return last.file;
}

static bool is_in(const char *const *names, const char *name)
{
    while (*names && strcmp(*names, name) != 0)
        names++;
    return *names != NULL;
}

/* Sets a number to 0. */
static void clear(const struct gw_option *row)
{
    const bool is_short =
        row->kind == GW_OPTION_U32 || row->kind == GW_OPTION_COUNT || row->kind == GW_OPTION_LIMIT;
    memset(row->into, 0,
           row->kind == GW_OPTION_FLAG ? sizeof(bool)
           : is_short                  ? sizeof(uint32_t)
                                       : sizeof(uint64_t));
}

int gw_options_reread(struct gw_config_file **file, struct gw_error *error)
{
    const struct gw_config_group group = {last.group, last.rows, last.typed, last.not_in_file};
    struct gw_config_file *fresh;
    int rc = last.file ? gw_config_file_open(last.path, &fresh, error)
                       : gw_error_set(error, GW_EINVAL, "it was started without --config FILE");
    if (rc < 0)
        return rc;
    for (size_t i = 0; last.rows[i].name; i++)
        if (!last.typed[i])
            clear(&last.rows[i]);
    rc = gw_config_file_apply(fresh, &group, error);
    if (rc < 0)
        gw_config_file_close(fresh);
    else
        *file = fresh;
    return rc;
}

void gw_options_changed(const char *const *live, struct gw_config_file *file, char *names,
                        size_t bytes)
{
    char where[PATH_MAX + 32];
    size_t used = 0;
    *names = '\0';
    for (size_t i = 0; last.rows[i].name; i++) {
        const char *old = gw_config_file_find(last.file, last.group, last.rows[i].name, where);
        const char *now = gw_config_file_find(file, last.group, last.rows[i].name, where);
        if (!last.typed[i] && !is_in(live, last.rows[i].name) && used < bytes &&
            strcmp(old ? old : "", now ? now : "") != 0)
            used += (size_t)snprintf(names + used, bytes - used, "%s%s", used ? ", " : "",
                                     last.rows[i].name);
    }
}

int gw_options_refuse(const char *command, const struct gw_error *error)
{
    char name[WORD_MAX + 1] = "", where[PATH_MAX + 32];
    if (strncmp(error->text, "--", 2) == 0)
        (void)snprintf(name, sizeof name, "%.*s", (int)strcspn(error->text + 2, " :"),
                       error->text + 2);
    const struct gw_option *option = last.rows;
    while (option->name && strcmp(option->name, name) != 0)
        option++;
    if (option->name && !last.typed[option - last.rows] && last.file &&
        gw_config_file_find(last.file, last.group, name, where))
        gw_cli_message("gangway %s: %s: %s", command, where, error->text + 2);
    else
        gw_cli_message("gangway %s: %s", command, error->text);
    return GW_EXIT_USAGE;
}

/* Returns the value of a row of the last command line, and where it is from. */
static const char *value_of(size_t i, const char **from, char where[static PATH_MAX + 32])
{
    const char *name = last.rows[i].name, *text = last.typed[i];
    *from = text ? "command line" : "default";
    if (!text && last.file && (text = gw_config_file_find(last.file, last.group, name, where)))
        *from = where;
    return text ? text : "";
}

int gw_options_values(struct gw_value *rows)
{
    char where[PATH_MAX + 32];
    int rc = 0;
    for (size_t i = 0; rc == 0 && last.rows[i].name; i++) {
        const char *from, *name = last.rows[i].name, *text = value_of(i, &from, where);
        if (last.rows[i].into == &last.path || gw_config_file_is_flag_only(name, last.not_in_file))
            continue;
        struct gw_value *row = gw_dict();
        (void)gw_dict_set(row, "group", gw_str(last.group));
        (void)gw_dict_set(row, "option", gw_str(name));
        (void)gw_dict_set(row, "value", *text ? gw_str(text) : gw_nil());
        (void)gw_dict_set(row, "from", gw_str(from));
        rc = gw_list_push(rows, row); /* also fails if one of the calls before has failed */
    }
    return rc;
}
