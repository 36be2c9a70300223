/* Functions that all subcommands share. */
#include "client/cli/lib/cli.h"

#include "client/cli/lib/background_thread.h"
#include "client/cli/lib/nearest.h"
#include "client/cli/lib/options.h"
#include "client/cli/lib/synonym.h"
#include "client/cli/lib/table.h"

#include <errno.h>
#include <jansson.h>
#include <libgen.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { SILENCE_MS = 2000 };

int gw_cli_check_folder(const char *option, const char *path, struct gw_error *error)
{
    struct stat status;
    const bool there = path && stat(path, &status) == 0;
    if (there ? S_ISDIR(status.st_mode) : !path || errno != ENOTDIR)
        return 0;
    return gw_error_set(error, GW_EINVAL,
                        there ? "%s %s is not a folder" : "%s %s: a part of the path is a file",
                        option, path);
}

int gw_cli_check_output(const char *option, const char *path, struct gw_error *error)
{
    char there[PATH_MAX];
    int rc = gw_cli_check_folder(option, path, error);
    if (rc < 0 || !path)
        return rc;
    if ((size_t)snprintf(there, sizeof there, "%s", path) >= sizeof there)
        return gw_error_set(error, GW_EINVAL,
                            "%s: the path, or a path below it, is longer than %d bytes", option,
                            PATH_MAX - 1);
    struct stat status;
    while (stat(there, &status) < 0 && errno == ENOENT) {
        char above[PATH_MAX];
        (void)snprintf(above, sizeof above, "%s",
                       dirname(there)); /* dirname may return a part of `there` */
        (void)snprintf(there, sizeof there, "%s", above);
    }
    if (access(there, W_OK | X_OK) < 0)
        return gw_error_set(error, GW_EINVAL, "%s %s: cannot write to the folder %s: %s", option,
                            path, there, strerror(errno));
    return 0;
}

int gw_cli_make_output(const char *path, struct gw_error *error)
{
    char part[PATH_MAX];
    struct stat status;
    if ((size_t)snprintf(part, sizeof part, "%s", path) >= sizeof part)
        return gw_error_set(error, GW_EINVAL,
                            "the path of the folder is longer than %d bytes: %.200s", PATH_MAX - 1,
                            path);
    for (char *slash = part; *slash && (slash = strchr(slash + 1, '/'));) {
        *slash = '\0';
        (void)mkdir(part, 0777); /* if this mkdir fails, the last one fails too */
        *slash = '/';
    }
    if (mkdir(part, 0777) == 0 || (stat(part, &status) == 0 && S_ISDIR(status.st_mode)))
        return 0;
    return gw_error_set(error, GW_EINVAL, "cannot make the folder %s: %s", path, strerror(errno));
}

int gw_cli_error(const struct gw_error *error)
{
    gw_cli_message("gangway: %s", *error->text ? error->text : gw_error_text(error->code));
    return gw_error_exit_code(error);
}

static const char *session_name = "gangway";

void gw_cli_called(const char *command)
{
    static char name[32];
    snprintf(name, sizeof name, "gangway %s", command);
    session_name = name;
}

const char *gw_cli_session_name(void)
{
    return session_name;
}

/* Prints a message if the scheduler does not answer, for example because it was stopped or its host
 * is busy. Otherwise the user would see nothing for ten seconds. */
static void *say_silence(void *arg)
{
    if (!gw_background_thread_sleep(arg, SILENCE_MS))
        gw_cli_message("gangway: the scheduler has not answered yet; waiting for it");
    return NULL;
}

int gw_cli_connect(const struct gw_client_options *options, struct gw_client **client,
                   struct gw_error *error)
{
    struct gw_background_thread later; /* only for a terminal: a script needs no message */
    gw_background_thread_init(&later, isatty(STDERR_FILENO) ? say_silence : NULL, &later);
    struct gw_client_options own = *options;
    if (!own.connect_timeout_ns)
        own.connect_timeout_ns = gw_options_connect_timeout_ns();
    int rc = gw_client_open(&own, client, error);
    gw_background_thread_deinit(&later);
    return rc;
}

int gw_cli_open(struct gw_client **client)
{
    struct gw_error error;
    const struct gw_client_options options =
        GW_INIT(gw_client_options, .name = session_name, .must_exist = true, .no_reconnect = true);
    return gw_cli_connect(&options, client, &error) < 0 ? gw_cli_error(&error) : GW_EXIT_OK;
}

bool gw_cli_begin(const struct gw_options *options, int argc, char **argv, struct gw_cli_verb *verb)
{
    if (!gw_options_parse(options, argc, argv, &verb->first, &verb->exit_code))
        return false;
    verb->exit_code = gw_cli_open(&verb->client);
    return verb->exit_code == GW_EXIT_OK;
}

int gw_cli_end(struct gw_cli_verb *verb, int rc, const struct gw_error *error)
{
    if (rc < 0)
        verb->exit_code = gw_cli_error(error);
    gw_client_close(verb->client);
    return verb->exit_code;
}

int gw_cli_each(const struct gw_options *options, int argc, char **argv,
                int (*act)(struct gw_client *client, const char *argument, void *arg,
                           struct gw_error *error),
                void *arg)
{
    struct gw_cli_verb verb;
    struct gw_error error;
    if (!gw_cli_begin(options, argc, argv, &verb))
        return verb.exit_code;
    for (int i = verb.first; i < argc; i++)
        if (act(verb.client, argv[i], arg, &error) < 0)
            verb.exit_code = gw_cli_error(&error);
    return gw_cli_end(&verb, 0, NULL);
}

void gw_cli_print_failure(uint64_t job, const struct gw_error *error)
{
    if (error->code == GW_ECANCELLED)
        gw_cli_message("gangway: job %llu: %s", (unsigned long long)job, error->text);
    else
        gw_cli_message("gangway: %s", error->text);
}

void gw_cli_print_end(uint64_t job, int exit_code, const struct gw_error *error)
{
    json_t *line = json_pack("{s:I, s:s, s:i}", "job", (json_int_t)job, "state",
                             error->code == 0               ? "done"
                             : error->code == GW_ECANCELLED ? "cancelled"
                                                            : "failed",
                             "exit_code", exit_code);
    if (error->code)
        json_object_set_new(line, "error", gw_table_json_string(error->text, strlen(error->text)));
    char *text = json_dumps(line, JSON_COMPACT);
    printf("%s\n", text ? text : "{}");
    free(text);
    json_decref(line);
}

static void (*show_verbs)(const char *command, const struct gw_cli_command *verbs);

void gw_cli_show_verbs_by(void (*show)(const char *command, const struct gw_cli_command *verbs))
{
    show_verbs = show;
}

static void print_verbs(FILE *out, const char *command, const struct gw_cli_command *verbs)
{
    fprintf(out, "Usage: gangway %s COMMAND [options]\n", command);
    gw_options_print_verbs(out, command, verbs);
}

/* Whether a command or verb may be suggested for a mistyped word. Those that end or remove
 * something are not suggested, so that a typing error cannot lead to them. */
static bool is_suggested(const char *name)
{
    static const char *const names[] = {"cancel", "clear",   "close",  "delete", "down", "drain",
                                        "kill",   "restart", "revoke", "rm",     "stop", "up"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        if (strcmp(names[i], name) == 0)
            return false;
    return true;
}

static const char *next_suggested(void *arg, size_t i)
{
    for (const struct gw_cli_command *command = arg; command->name; command++)
        if (command->summary && is_suggested(command->name) && i-- == 0)
            return command->name;
    return NULL;
}

const char *gw_cli_nearest(const char *word, const struct gw_cli_command *commands)
{
    return gw_nearest_word(word, next_suggested, (void *)(uintptr_t)commands);
}

/* Returns the verb of this command that a word of another tool means, or NULL. */
static const char *verb_meant(const char *word, const struct gw_cli_command *verbs)
{
    size_t at = 0;
    for (const char *meant; (meant = gw_synonym_verb(word, &at));)
        for (const struct gw_cli_command *verb = verbs; verb->name; verb++)
            if (strcmp(verb->name, meant) == 0)
                return meant;
    return NULL;
}

static int unknown_verb(const char *command, const struct gw_cli_command *verbs, const char *word)
{
    const char *answer = gw_synonym_verb_answer(command, word);
    const char *meant = verb_meant(word, verbs);
    if (answer) {
        gw_cli_message("gangway %s: unknown command '%s': %s", command, word, answer);
        return GW_EXIT_USAGE;
    }
    meant = meant ? meant : gw_cli_nearest(word, verbs);
    fprintf(stderr, "gangway %s: unknown command '%s'", command, word);
    if (meant)
        fprintf(stderr, ", did you mean '%s'?", meant);
    fprintf(stderr, "\n`gangway %s --help` lists the commands\n", command);
    return GW_EXIT_USAGE;
}

int gw_cli_run_verb(const char *command, const struct gw_cli_command *verbs, int argc, char **argv)
{
    const char *word = argc > 1 ? argv[1] : NULL;
    for (const struct gw_cli_command *verb = verbs; word && verb->name; verb++)
        if (strcmp(verb->name, word) == 0)
            return verb->run(argc - 1, argv + 1);
    bool help = word && (strcmp(word, "--help") == 0 || strcmp(word, "-h") == 0);
    if (word && !help)
        return unknown_verb(command, verbs, word);
    if (help && show_verbs)
        show_verbs(command, verbs);
    else
        print_verbs(help ? stdout : stderr, command, verbs);
    return help ? GW_EXIT_OK : GW_EXIT_USAGE;
}

int gw_cli_path_error(const char *path, int why, struct gw_error *error)
{
    const bool wrong = why == ENOENT || why == ENOTDIR || why == EISDIR || why == EACCES;
    return gw_error_set(error, wrong ? GW_EINVAL : GW_EIO, "%s: %s", path, strerror(why));
}
