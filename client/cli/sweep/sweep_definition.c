/* Reads the options of a sweep. The words before `--` that are none of its own options belong to
 * submit or dispatch; each trial parses them again, with its parameters in place. */
#include "client/cli/sweep/sweep_definition.h"

#include "client/cli/launch/launch_options.h"
#include "client/cli/lib/cli.h"
#include "client/cli/lib/selector.h"
#include "client/cli/lib/synonym.h"
#include "client/cli/lib/value_io.h"

#include "client/cli/sweep/trial_template.h"
#include "graph/base/text.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

enum { ROWS_MAX = 40, TRIALS_DEFAULT = 100 };

static const char details[] =
    "All other options before -- are those of `gangway submit` (with -n: of\n"
    "`gangway dispatch`) and are given to each trial; in them and in the command,\n"
    "{NAME} becomes the value of a parameter, and {trial} the number of the trial.\n"
    "A word with a parameter that a trial does not have is left out. Each trial also\n"
    "has its parameters as JSON in GANGWAY_PARAMS, and its number in GANGWAY_TRIAL.\n\n"
    "VALUES of --param are 1,4,16 or adam|sgd (one of these), 0..1, log:1e-4..1e-1,\n"
    "int:1..8, int-log:16..1024, 0..1:0.1 (in steps); ` if OTHER=VALUE` at the end:\n"
    "only if another parameter has this value.\n\n"
    "A trial reports METRIC by `gangway report step=3 loss=0.4`, by a line of JSON to\n"
    "the socket in GANGWAY_REPORT, or, with --metric loss, by printing `loss=0.4`.\n"
    "Its last value counts.";

static void make_table(struct gw_sweep_definition *d, struct gw_option rows[ROWS_MAX + 1])
{
    const struct gw_option table[] = {
        {"name", 0, GW_OPTION_TEXT, &d->name, "NAME", "name of the sweep (default: made up)"},
        {"param", 'P', GW_OPTION_TEXTS, &d->params, "NAME=VALUES",
         "a parameter; may be given several times"},
        {"space", 0, GW_OPTION_TEXT, &d->space, "FILE",
         "parameters from a JSON file: {\"lr\": {\"log\":\n[1e-4, 0.1]}, \"opt\": [\"adam\", "
         "\"sgd\"]}"},
        {"derive", 0, GW_OPTION_TEXTS, &d->derived, "NAME=EXPR",
         "a parameter computed from others, like\n'batch=global/gpus'"},
        {"require", 0, GW_OPTION_TEXTS, &d->required, "CONDITION",
         "only trials that meet it, like 'batch*gpus<=256'"},
        {"first", 0, GW_OPTION_TEXTS, &d->first, "NAME=V,...",
         "parameters of a trial that runs before all others"},
        {"minimize", 0, GW_OPTION_TEXT, &d->minimize, "METRIC", "smaller is better"},
        {"maximize", 0, GW_OPTION_TEXT, &d->maximize, "METRIC", "larger is better"},
        {"search", 0, GW_OPTION_TEXT, &d->method, "METHOD",
         "grid, random, sobol, tpe (default: tpe; grid if\nneither trials nor time are limited)"},
        {"seed", 0, GW_OPTION_TEXT, &d->seed, "N", "seed of the search (default: 0)"},
        {"startup", 0, GW_OPTION_COUNT, &d->startup, "N",
         "random trials before tpe learns (default: 10)"},
        {"trials", 0, GW_OPTION_COUNT, &d->trials, "N",
         "number of trials (needed unless another option\n"
         "ends the sweep, or it is a grid)"},
        {"time-budget", 0, GW_OPTION_DURATION, &d->time_budget_ns, "TIME",
         "end the sweep and its trials after this time"},
        {"target", 0, GW_OPTION_TEXT, &d->target, "VALUE", "stop when a trial reaches it"},
        {"patience", 0, GW_OPTION_COUNT, &d->patience, "N",
         "stop if the last N trials were no better"},
        {"max-failures", 0, GW_OPTION_COUNT, &d->failures, "N",
         "end the sweep and its trials when N have failed"},
        {"asha", 0, GW_OPTION_TEXT, &d->asha, "eta=4,...",
         "stop bad trials early: eta=4,grace=1,max=STEPS;\n"
         "with `promote`, pause them and continue the best"},
        {"median", 0, GW_OPTION_TEXT, &d->median, "grace=N",
         "stop trials that are worse than the median"},
        {"population", 0, GW_OPTION_TEXT, &d->population, "every=N",
         "every N steps, bad trials continue as changed\ncopies of good ones"},
        {"max-steps", 0, GW_OPTION_TEXT, &d->max_steps, "N", "steps of a trial, for --asha ..."},
        {"trial-dirs", 0, GW_OPTION_TEXT, &d->trial_dirs, "DIR",
         "folder on a disk that all hosts share: trial N has\n"
         "DIR/N as GANGWAY_CHECKPOINT_DIR (for promote and\n--population)"},
        {"parallel", 0, GW_OPTION_COUNT, &d->parallel, "N",
         "at most N trials at the same time (default: as\nmany as there is room for)"},
        {"out", 0, GW_OPTION_TEXT, &d->out, "DIR", "write trials.csv and pictures to DIR"},
        {"mlflow", 0, GW_OPTION_TEXT, &d->mlflow, "URL", "send all trials to this MLflow server"},
        {"experiment", 0, GW_OPTION_TEXT, &d->experiment, "NAME",
         "experiment of MLflow (default: Default)"},
        {"account", 0, GW_OPTION_TEXT, &d->account, "NAME", "account that pays for the trials"},
        {"queue", 0, GW_OPTION_TEXT, &d->queue, "NAME", "queue of the trials"},
        {"notify", 0, GW_OPTION_TEXT, &d->notify, "COMMAND",
         "shell command that runs when the sweep has ended,\n"
         "with GANGWAY_SWEEP and GANGWAY_OUTCOME (done,\n"
         "failed or cancelled); with --detach on a worker"},
        {"continue", 0, GW_OPTION_FLAG, &d->continues, NULL,
         "continue the sweep of this name, if there is one"},
        {"dry-run", 0, GW_OPTION_FLAG, &d->dry_run, NULL,
         "print the first trials, and run nothing"},
        {"detach", 'd', GW_OPTION_FLAG, &d->detached, NULL,
         "run the sweep itself in the cluster, and return"},
        {"json", 0, GW_OPTION_FLAG, &d->json, NULL, "print JSON at the end"},
        {"quiet", 'q', GW_OPTION_FLAG, &d->quiet, NULL, "print only the result"},
    };
    memcpy(rows, table, sizeof table);
    rows[sizeof table / sizeof *table] = (struct gw_option){0};
}

/* -- Words --- */

static const struct gw_option *find_own(const struct gw_option *rows, const char *word)
{
    for (; rows->name; rows++) {
        const size_t bytes = strlen(rows->name);
        if (strncmp(word, "--", 2) == 0 && strncmp(word + 2, rows->name, bytes) == 0 &&
            (word[2 + bytes] == '\0' || word[2 + bytes] == '='))
            return rows;
        if (word[0] == '-' && rows->letter && word[1] == rows->letter)
            return rows;
    }
    return NULL;
}

/* Whether the word after `word` is the option's value. */
static bool takes_next(const struct gw_option *option, const char *word)
{
    return option->kind != GW_OPTION_FLAG && (word[1] == '-' ? !strchr(word, '=') : !word[2]);
}

static bool says_gang(const char *word)
{
    return strncmp(word, "-n", 2) == 0 || strncmp(word, "--ranks", 7) == 0;
}

/* Splits the words into those of the sweep's own options and those of each trial. */
static int split(struct gw_sweep_definition *d, const struct gw_option *rows, bool *command)
{
    size_t count = 0, own = 0, launch = 0;
    while (d->words[count])
        count++;
    d->own = calloc(count + 2, sizeof *d->own);
    d->launch = calloc(count + 4, sizeof *d->launch);
    if (!d->own || !d->launch)
        return GW_ENOMEM;
    d->own[own++] = (char *)(uintptr_t) "sweep";
    launch = 1; /* the name of the command is set below */
    for (size_t i = 0; i < count; i++) {
        char *word = d->words[i];
        *command = strcmp(word, "--") == 0;
        if (*command) {
            while (i < count)
                d->launch[launch++] = d->words[i++];
            break;
        }
        const struct gw_option *option = find_own(rows, word);
        if (!option && strcmp(word, "--help") != 0 && strcmp(word, "-h") != 0) {
            d->gang |= says_gang(word);
            d->launch[launch++] = word;
            continue;
        }
        d->own[own++] = word;
        if (option && takes_next(option, word) && i + 1 < count)
            d->own[own++] = d->words[++i];
    }
    d->launch[0] = (char *)(uintptr_t)(d->gang ? "dispatch" : "submit");
    return 0;
}

/* -- Checks --- */

static bool complain(const char *format, ...) GW_PRINTF(1, 2);
static bool complain(const char *format, ...)
{
    va_list args;
    va_start(args, format);
    gw_cli_message_v("gangway sweep", format, args);
    va_end(args);
    return false;
}

static bool read_count(const char *option, const char *text, uint64_t *count)
{
    char *end;
    errno = 0;
    *count = strtoull(text, &end, 10);
    if (*text >= '0' && *text <= '9' && !*end && !errno)
        return true;
    return complain("--%s %s: give a whole number", option, text);
}

/* Whether `keys`, "eta=N, promote", have this whole word. */
static bool is_key(const char *keys, const char *word)
{
    const size_t bytes = strlen(word);
    for (const char *at = keys; bytes && (at = strstr(at, word)); at++)
        if ((at == keys || at[-1] == ' ') && strchr("=,", at[bytes]))
            return true;
    return false;
}

/* Reads "eta=3,grace=1,max=81,promote". `keys` are the allowed ones. */
static bool read_pruner(const char *option, const char *text, const char *keys,
                        struct gw_search_options *search)
{
    for (size_t bytes; *text; text += bytes + (text[bytes] == ',')) {
        char part[64];
        uint64_t number = 0;
        bytes = strcspn(text, ",");
        (void)snprintf(part, sizeof part, "%.*s", (int)bytes, text);
        char *value = strchr(part, '=');
        if (value)
            *value++ = '\0';
        if (!is_key(keys, part) || !value != !strcmp(part, "promote"))
            return complain("--%s %.*s: give %s", option, (int)bytes, text, keys);
        if (value && !read_count(option, value, &number))
            return false;
        if (strcmp(part, "eta") == 0)
            search->eta = number > UINT32_MAX ? UINT32_MAX : (uint32_t)number;
        else if (strcmp(part, "max") == 0)
            search->max_steps = number;
        else if (value)
            search->grace = number;
        else
            search->pruner = GW_PRUNE_ASHA_PROMOTE;
        if (value && number == 0)
            return complain("--%s %s=0: give at least 1", option, part);
    }
    return true;
}

static bool read_pruners(struct gw_sweep_definition *d)
{
    struct gw_search_options *search = &d->search;
    if ((d->asha != NULL) + (d->median != NULL) + (d->population != NULL) > 1)
        return complain("give only one of --asha, --median and --population");
    if (d->max_steps && !read_count("max-steps", d->max_steps, &search->max_steps))
        return false;
    search->pruner = d->asha         ? GW_PRUNE_ASHA
                     : d->median     ? GW_PRUNE_MEDIAN
                     : d->population ? GW_PRUNE_POPULATION
                                     : GW_PRUNE_NOTHING;
    if ((d->asha && !read_pruner("asha", d->asha, "eta=N, grace=N, max=N, promote", search)) ||
        (d->median && !read_pruner("median", d->median, "grace=N, max=N", search)) ||
        (d->population && !read_pruner("population", d->population, "every=N, max=N", search)))
        return false;
    if (search->pruner == GW_PRUNE_ASHA_PROMOTE && !search->max_steps)
        return complain("--asha promote needs the number of steps of a whole trial: max=N");
    if ((search->pruner == GW_PRUNE_ASHA_PROMOTE || search->pruner == GW_PRUNE_POPULATION) &&
        !d->trial_dirs)
        return complain("trials continue from their checkpoints with --asha promote and "
                        "--population: give --trial-dirs DIR, a folder that all hosts share");
    if (search->max_steps && !search->pruner)
        return complain("--max-steps needs --asha, --median or --population");
    return true;
}

static bool read_method(struct gw_sweep_definition *d)
{
    static const char *const names[] = {[GW_SEARCH_RANDOM] = "random",
                                        [GW_SEARCH_GRID] = "grid",
                                        [GW_SEARCH_SOBOL] = "sobol",
                                        [GW_SEARCH_TPE] = "tpe"};
    const bool limited = d->trials || d->time_budget_ns || d->target || d->patience;
    d->search.method = limited ? GW_SEARCH_TPE : GW_SEARCH_GRID;
    if (!d->method)
        return true;
    for (int i = 0; i < 4; i++)
        if (strcmp(names[i], d->method) == 0) {
            d->search.method = (enum gw_search_method)i;
            if (!limited && i != GW_SEARCH_GRID)
                d->trials = TRIALS_DEFAULT;
            return true;
        }
    return complain("--search %s: give grid, random, sobol or tpe", d->method);
}

static bool read_search(struct gw_sweep_definition *d)
{
    char *end;
    d->search = (struct gw_search_options)GW_INIT(gw_search_options);
    if (!d->minimize == !d->maximize)
        return complain(d->minimize ? "give only one of --minimize and --maximize"
                                    : "say what is searched for: --minimize METRIC or "
                                      "--maximize METRIC, as the trials report it");
    d->metric = d->minimize ? d->minimize : d->maximize;
    d->search.maximize = d->maximize != NULL;
    if (!*d->metric)
        return complain("the name of the metric is empty");
    if (!read_method(d) || (d->seed && !read_count("seed", d->seed, &d->search.seed)))
        return false;
    d->search.startup = d->startup;
    d->search.trials = d->trials;
    d->search.failures = d->failures;
    d->search.patience = d->patience;
    d->search.time_limit_ns = d->time_budget_ns;
    if (d->target) {
        d->search.has_target = true;
        d->search.target = strtod(d->target, &end);
        if (end == d->target || *end || !isfinite(d->search.target))
            return complain("--target %s: give a number", d->target);
    }
    return read_pruners(d);
}

/* -- The space --- */

static int read_space(const char *path, struct gw_value **values, struct gw_error *error)
{
    int rc = gw_value_io_read(path, true, values, error);
    if (rc == 0 && gw_value_type(*values) != GW_DICT) {
        gw_value_unref(*values);
        *values = NULL;
        rc = gw_error_set(error, GW_EINVAL, "--space %s: give a dict of parameters", path);
    }
    return rc;
}

/* Reads "lr=0.1,opt=adam" to a dict. */
static int read_first(const char *text, struct gw_value **values, struct gw_error *error)
{
    int rc = 0;
    *values = gw_dict();
    for (size_t bytes; *text && rc == 0; text += bytes + (text[bytes] == ',')) {
        char part[256], *equals;
        struct gw_value *value = NULL;
        bytes = strcspn(text, ",");
        (void)snprintf(part, sizeof part, "%.*s", (int)bytes, text);
        equals = strchr(part, '=');
        if (!equals)
            rc = gw_error_set(error, GW_EINVAL, "--first %s: give NAME=VALUE,...", part);
        if (rc == 0) {
            *equals = '\0';
            rc = gw_value_io_parse(equals + 1, GW_VALUE_IO_EITHER, &value, error);
        }
        if (rc == 0 && (rc = gw_dict_set(*values, part, value)) < 0)
            (void)gw_error_set(error, rc, "out of memory");
    }
    if (rc == 0)
        return 0;
    gw_value_unref(*values);
    *values = NULL;
    return rc;
}

static int add_first(struct gw_space *space, const char *text, struct gw_error *error)
{
    struct gw_value *values = NULL;
    int rc = read_first(text, &values, error);
    if (rc == 0)
        rc = gw_space_first(space, values, error);
    gw_value_unref(values);
    return rc;
}

int gw_sweep_definition_space(const struct gw_sweep_definition *d, struct gw_space **made,
                              struct gw_error *error)
{
    struct gw_space *space = gw_space_new();
    struct gw_value *values = NULL;
    int rc = d->space ? read_space(d->space, &values, error) : 0;
    if (rc == 0 && values)
        rc = gw_space_add_values(space, values, error);
    gw_value_unref(values);
    for (size_t i = 0; i < d->params.count && rc == 0; i++)
        rc = gw_space_add(space, d->params.items[i], error);
    for (size_t i = 0; i < d->derived.count && rc == 0; i++)
        rc = gw_space_derive(space, d->derived.items[i], error);
    for (size_t i = 0; i < d->required.count && rc == 0; i++)
        rc = gw_space_require(space, d->required.items[i], error);
    for (size_t i = 0; i < d->first.count && rc == 0; i++)
        rc = add_first(space, d->first.items[i], error);
    if (rc < 0) {
        gw_space_free(space);
        return rc;
    }
    *made = space;
    return 0;
}

/* The names of a space. */
struct names {
    const struct gw_sweep_definition *definition;
    struct gw_value *values; /* of --space; or NULL */
};

static bool begins(const struct gw_option_texts *texts, const char *name)
{
    const size_t bytes = strlen(name);
    for (size_t i = 0; i < texts->count; i++)
        if (strncmp(texts->items[i], name, bytes) == 0 && texts->items[i][bytes] == '=')
            return true;
    return false;
}

static bool is_known(const char *name, void *arg)
{
    const struct names *names = arg;
    return begins(&names->definition->params, name) || begins(&names->definition->derived, name) ||
           (names->values && gw_value_find(names->values, name));
}

/* Whether an expression has this name. */
static bool mentions(const char *text, const char *name)
{
    static const char letters[] =
        "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789.";
    for (size_t bytes; *text; text += bytes + !bytes) {
        bytes = strspn(text, letters);
        if (bytes == strlen(name) && strncmp(text, name, bytes) == 0)
            return true;
    }
    return false;
}

bool gw_sweep_definition_uses(const struct gw_sweep_definition *d, const char *name)
{
    char braces[132];
    (void)snprintf(braces, sizeof braces, "{%.128s}", name);
    for (char **word = d->launch; *word; word++)
        if (strstr(*word, braces) || strstr(*word, "GANGWAY_PARAMS"))
            return true;
    for (size_t i = 0; i < d->derived.count; i++)
        if (mentions(d->derived.items[i], name))
            return true;
    for (size_t i = 0; i < d->required.count; i++)
        if (mentions(d->required.items[i], name))
            return true;
    for (size_t i = 0; i < d->params.count; i++) {
        const char *condition = strstr(d->params.items[i], " if ");
        if (condition && mentions(condition, name))
            return true;
    }
    return false;
}

/* Appends the name if nothing uses it. */
static void add_unused(const struct gw_sweep_definition *d, const char *name, size_t bytes,
                       struct gw_text *unused)
{
    char one[132];
    (void)snprintf(one, sizeof one, "%.*s", (int)bytes, name);
    if (!gw_sweep_definition_uses(d, one))
        gw_text_say(unused, "%s{%s}", unused->used ? ", " : "", one);
}

/* Checks the words in braces. If they are right, says which parameters no word has. */
static bool check_words(const struct gw_sweep_definition *d, bool warns)
{
    struct names names = {.definition = d};
    struct gw_error error;
    char text[256] = "";
    struct gw_text unused = {text, sizeof text, 0};
    int rc = d->space ? read_space(d->space, &names.values, &error) : 0;
    if (rc == 0)
        rc = gw_trial_template_check(d->launch, is_known, &names, &error);
    for (size_t i = 0; i < d->params.count && rc == 0 && warns; i++)
        add_unused(d, d->params.items[i], strcspn(d->params.items[i], "="), &unused);
    for (size_t i = 0; i < gw_value_count(names.values) && rc == 0 && warns; i++)
        add_unused(d, gw_value_key(names.values, i), strlen(gw_value_key(names.values, i)),
                   &unused);
    if (*text)
        gw_cli_message("gangway sweep: no word of the command has %s: its program has to read "
                       "GANGWAY_PARAMS, or all trials do the same",
                       text);
    gw_value_unref(names.values);
    return rc == 0 ? true : complain("%s", error.text);
}

/* -- Definitions --- */

/* Makes up a name that no earlier sweep has. */
static void make_name(struct gw_sweep_definition *d)
{
    uint32_t random = 0;
    if (getrandom(&random, sizeof random, 0) != sizeof random)
        random = (uint32_t)getpid();
    (void)snprintf(d->given, sizeof d->given, "%.40s-%06x", d->metric, random & 0xffffff);
    for (char *at = d->given; *at; at++)
        if (!strchr("-_.", *at) && !(*at >= '0' && *at <= '9') && !(*at >= 'a' && *at <= 'z') &&
            !(*at >= 'A' && *at <= 'Z'))
            *at = '-';
    d->name = d->given;
}

static int copy_words(struct gw_sweep_definition *d, char *const *words, const char *cwd)
{
    size_t count = 0;
    while (words[count])
        count++;
    d->words = calloc(count + 1, sizeof *d->words);
    d->cwd = cwd ? strdup(cwd) : getcwd(NULL, 0);
    for (size_t i = 0; d->words && i < count; i++)
        if (!(d->words[i] = strdup(words[i])))
            return GW_ENOMEM;
    return d->words && d->cwd ? 0 : GW_ENOMEM;
}

static bool check(struct gw_sweep_definition *d, bool command, bool is_new)
{
    struct gw_space *space = NULL;
    struct gw_error error;
    if (!command)
        return complain("-- COMMAND [ARGUMENT...] is missing");
    if (!d->params.count && !d->space)
        return complain("there is no parameter: give --param NAME=VALUES, for example "
                        "--param lr=log:1e-4..1e-1");
    if (d->name && gw_selector_name_check(d->name, &error) < 0)
        return complain("--name %s", error.text);
    if (!read_search(d))
        return false;
    if (gw_sweep_definition_space(d, &space, &error) < 0)
        return complain("%s", error.text);
    gw_space_free(space);
    if (!check_words(d, is_new && !d->quiet && !d->continues))
        return false;
    if (!d->name)
        make_name(d);
    return true;
}

/* Checks the names of all options, those of submit or dispatch too. */
static bool check_names(const struct gw_sweep_definition *d, const struct gw_options *options,
                        int *exit_code)
{
    int count = 0;
    while (d->words[count])
        count++;
    char **words = calloc((size_t)count + 2, sizeof *words);
    if (!words) {
        gw_cli_message("gangway: out of memory");
        return false;
    }
    words[0] = d->own[0];
    memcpy(words + 1, d->words, (size_t)count * sizeof *words);
    const bool right = gw_launch_options_names(options, d->gang, count + 1, words, exit_code);
    free(words);
    return right;
}

bool gw_sweep_definition_init(struct gw_sweep_definition *d, char *const *words, const char *cwd,
                              const struct gw_cli_command *verbs, int *exit_code)
{
    struct gw_option rows[ROWS_MAX + 1];
    bool command = false;
    int first, count = 0;
    *d = (struct gw_sweep_definition){0};
    make_table(d, rows);
    *exit_code = GW_EXIT_FAILED;
    if (copy_words(d, words, cwd) < 0 || split(d, rows, &command) < 0) {
        gw_cli_message("gangway: out of memory");
        return false;
    }
    while (d->own[count])
        count++;
    const struct gw_options options = {
        .command = "sweep",
        .arguments = "-- COMMAND [ARGUMENT...]",
        .summary = "Search the parameters of a command: run it again and again with other values,\n"
                   "many trials at the same time.",
        .details = details,
        .table = rows,
        .synonyms = gw_synonym_sweep,
        .verbs = verbs,
    };
    if (!check_names(d, &options, exit_code) ||
        !gw_options_parse(&options, count, d->own, &first, exit_code))
        return false;
    *exit_code = GW_EXIT_USAGE;
    return check(d, command, !cwd);
}

void gw_sweep_definition_deinit(struct gw_sweep_definition *d)
{
    gw_trial_template_free(d->words);
    free(d->cwd);
    free(d->own);
    free(d->launch);
    free(d->params.items);
    free(d->derived.items);
    free(d->required.items);
    free(d->first.items);
    *d = (struct gw_sweep_definition){0};
}

/* The words without those that only say how the sweep is started. */
static json_t *lasting_words(const struct gw_sweep_definition *d)
{
    static const char *const passing[] = {"-d",     "--detach", "--continue",
                                          "--json", "-q",       "--quiet"};
    json_t *words = json_array();
    bool command = false;
    if (d->name == d->given) {
        (void)json_array_append_new(words, json_string("--name"));
        (void)json_array_append_new(words, json_string(d->name));
    }
    for (char **word = d->words; *word; word++) {
        bool stays = true;
        command |= strcmp(*word, "--") == 0;
        for (size_t i = 0; i < sizeof passing / sizeof *passing && !command; i++)
            stays &= strcmp(*word, passing[i]) != 0;
        if (stays)
            (void)json_array_append_new(words, json_string(*word));
    }
    return words;
}

int gw_sweep_definition_extend(struct gw_sweep_definition *d, uint32_t trials)
{
    char number[16], **word = d->words;
    (void)snprintf(number, sizeof number, "%" PRIu32, trials);
    while (strcmp(*word, "--") != 0 && strncmp(*word, "--trials", 8) != 0)
        word++;
    size_t count = 0;
    while (d->words[count])
        count++;
    char *text = NULL;
    if (asprintf(&text, "--trials=%s", number) < 0)
        return GW_ENOMEM;
    if (strcmp(*word, "--") == 0) { /* it had no limit */
        char **longer = calloc(count + 2, sizeof *longer);
        if (!longer) {
            free(text);
            return GW_ENOMEM;
        }
        longer[0] = text;
        memcpy(longer + 1, d->words, count * sizeof *longer);
        free(d->words);
        d->words = longer;
    } else {
        char **after = word + (strchr(*word, '=') ? 1 : 2);
        for (char **old = word; old < after; old++)
            free(*old);
        *word = text;
        memmove(word + 1, after, (size_t)(d->words + count + 1 - after) * sizeof *word);
    }
    d->trials = d->search.trials = trials;
    return 0;
}

char *gw_sweep_definition_text(const struct gw_sweep_definition *d)
{
    json_t *words = lasting_words(d);
    json_t *all = json_pack("{s:s, s:o}", "cwd", d->cwd, "words", words);
    char *text = all ? json_dumps(all, JSON_COMPACT) : NULL;
    json_decref(all);
    return text;
}

int gw_sweep_definition_parse(const char *text, char ***words, char **cwd, struct gw_error *error)
{
    json_t *all = json_loads(text, 0, NULL), *list = json_object_get(all, "words");
    const char *folder = json_string_value(json_object_get(all, "cwd"));
    const size_t count = json_array_size(list);
    *words = calloc(count + 1, sizeof **words);
    *cwd = folder ? strdup(folder) : NULL;
    bool whole = *words && *cwd && count;
    for (size_t i = 0; whole && i < count; i++) {
        const char *word = json_string_value(json_array_get(list, i));
        whole = word && ((*words)[i] = strdup(word));
    }
    json_decref(all);
    if (whole)
        return 0;
    gw_trial_template_free(*words);
    free(*cwd);
    return gw_error_set(error, GW_ECORRUPT, "the sweep was not made by `gangway sweep`");
}
