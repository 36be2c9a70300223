/* `gangway sync`: semaphores, locks, events, variables and queues from a shell. It can also remove
 * an object that blocks others. A lock or a lease is held while a command runs. */
#include "client/cli/commands/commands.h"

#include "client/cli/launch/hold.h"
#include "client/cli/lib/listing.h"
#include "client/cli/lib/options.h"
#include "client/cli/lib/value_io.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Arguments of a verb. */
struct request {
    struct gw_client *client;
    const char *name, *word; /* word: the word after the name, or NULL */
    uint64_t timeout_ns;
    bool json;
    const struct gw_value *value; /* value of the word */
};

/* What a verb does to one kind of object. */
struct deed {
    const char *kind;
    bool takes_word;
    int (*run)(const struct request *request, struct gw_error *error);
};

/* A verb of `gangway sync`, with the list of what the verb does for each kind of object. The list
 * ends with an entry whose kind is NULL. */
struct verb {
    struct gw_options options;
    const struct deed *deeds;
    bool waits, prints, takes;
};

/* -- Actions ------------------------------------------------------------------------------------
 */

static int set_variable(const struct request *request, struct gw_error *error)
{
    return gw_variable_set(request->client, request->name, request->value, NULL, error);
}

static int set_event(const struct request *request, struct gw_error *error)
{
    return gw_event_set(request->client, request->name, error);
}

static int clear_event(const struct request *request, struct gw_error *error)
{
    return gw_event_clear(request->client, request->name, error);
}

static int wait_event(const struct request *request, struct gw_error *error)
{
    return gw_event_wait(request->client, request->name, request->timeout_ns, error);
}

static int put_queue(const struct request *request, struct gw_error *error)
{
    return gw_queue_put(request->client, request->name, request->value, request->timeout_ns, error);
}

static int close_queue(const struct request *request, struct gw_error *error)
{
    return gw_queue_close(request->client, request->name, error);
}

/* Prints the value and unrefs it. */
static int print(const struct request *request, struct gw_value *value, struct gw_error *error)
{
    int rc = gw_value_io_print(stdout, value, request->json);
    gw_value_unref(value);
    if (rc < 0 || fflush(stdout) != 0)
        return gw_error_set(error, rc < 0 ? rc : GW_EIO, "cannot write the output");
    return 0;
}

static int get_variable(const struct request *request, struct gw_error *error)
{
    struct gw_variable variable;
    int rc = gw_variable_get(request->client, request->name, request->timeout_ns, &variable, error);
    return rc < 0 ? rc : print(request, variable.value, error);
}

static int get_queue(const struct request *request, struct gw_error *error)
{
    struct gw_value *value;
    int rc = gw_queue_get(request->client, request->name, request->timeout_ns, &value, error);
    return rc < 0 ? rc : print(request, value, error);
}

static int count_of(const struct request *request, uint32_t *count, struct gw_error *error)
{
    int64_t number = 0;
    if (!request->value || gw_value_get_i64(request->value, &number, NULL) < 0 || number < 1 ||
        number > UINT32_MAX)
        return gw_error_set(error, GW_EINVAL, "%s must be a number of 1 or more", request->word);
    *count = (uint32_t)number;
    return 0;
}

static int open_semaphore(const struct request *request, struct gw_error *error)
{
    uint32_t count = 0;
    int rc = count_of(request, &count, error);
    return rc < 0 ? rc : gw_semaphore_open(request->client, request->name, count, error);
}

static int open_queue(const struct request *request, struct gw_error *error)
{
    uint32_t count = 0;
    int rc = count_of(request, &count, error);
    return rc < 0 ? rc : gw_queue_open(request->client, request->name, count, error);
}

/* -- The verbs -----------------------------------------------------------------------------------
 */

/* Finds what the verb does to the given kind, and checks the number of words. Returns NULL with
 * *error set if something is wrong. */
static const struct deed *find_deed(const struct verb *verb, char **argv, struct gw_error *error)
{
    char kinds[128] = "";
    int words = 0;
    while (argv[words])
        words++;
    for (const struct deed *deed = verb->deeds; deed->kind; deed++) {
        size_t used = strlen(kinds);
        if (strcmp(deed->kind, argv[0]) == 0 && words == 2 + deed->takes_word)
            return deed;
        if (strcmp(deed->kind, argv[0]) == 0) {
            gw_error_set(error, GW_EINVAL, "%s %s: give a name%s, and nothing else",
                         verb->options.command, deed->kind,
                         deed->takes_word ? " and one more word" : "");
            return NULL;
        }
        (void)snprintf(kinds + used, sizeof kinds - used, "%s%s", used ? " or " : "", deed->kind);
    }
    gw_error_set(error, GW_EINVAL, "%s: the kind must be %s, not %s", verb->options.command, kinds,
                 argv[0]);
    return NULL;
}

/* Prints the error and returns the exit code. GW_ECLOSED from a closed queue is not reported as a
 * lost scheduler. */
static int fail(struct gw_client *client, const struct gw_error *error)
{
    struct gw_value *answer;
    int exit_code = gw_cli_error(error);
    if (error->code != GW_ECLOSED || gw_client_query(client, "sync", NULL, &answer, NULL) < 0)
        return exit_code;
    gw_value_unref(answer);
    return GW_EXIT_FAILED;
}

static int run(const struct verb *verb, int argc, char **argv)
{
    struct request request = {.timeout_ns = UINT64_MAX};
    struct gw_value *value = NULL;
    struct gw_error error;
    bool text = false, json = false;
    struct gw_option table[4] = {{0}};
    size_t options = 0;
    int first, exit_code, rc = 0;
    if (verb->waits)
        table[options++] = (struct gw_option){
            "timeout",
            0,
            GW_OPTION_TIMEOUT,
            &request.timeout_ns,
            "TIME",
            "wait at most this long (exit code 124; 0: try once;\ndefault: none)"};
    if (verb->takes) {
        table[options++] = (struct gw_option){
            "text", 0, GW_OPTION_FLAG, &text, NULL, "take VALUE as text, even if it is JSON"};
        table[options++] =
            (struct gw_option){"json", 0, GW_OPTION_FLAG, &json, NULL, "VALUE must be JSON"};
    }
    if (verb->prints)
        table[options++] = (struct gw_option){"json",        0,    GW_OPTION_FLAG,
                                              &request.json, NULL, "print JSON, bytes as base64"};
    struct gw_options with = verb->options;
    with.table = table;
    if (!gw_options_parse(&with, argc, argv, &first, &exit_code))
        return exit_code;
    const struct deed *deed = find_deed(verb, argv + first, &error);
    if (!deed)
        return gw_cli_error(&error);
    request.name = argv[first + 1];
    request.word = deed->takes_word ? argv[first + 2] : NULL;
    if (request.word)
        rc = gw_value_io_parse(request.word,
                               text   ? GW_VALUE_IO_TEXT
                               : json ? GW_VALUE_IO_JSON
                                      : GW_VALUE_IO_EITHER,
                               &value, &error);
    if (rc < 0)
        return gw_cli_error(&error);
    request.value = value;
    exit_code = gw_cli_open(&request.client);
    if (exit_code == GW_EXIT_OK) {
        if (deed->run(&request, &error) < 0)
            exit_code = fail(request.client, &error);
        gw_client_close(request.client);
    }
    gw_value_unref(value);
    return exit_code;
}

#define VALUE_HELP                                                                                 \
    "If VALUE is JSON, programs get its value (a number, a list, ...), otherwise a\ntext."

static int run_set(int argc, char **argv)
{
    static const struct deed deeds[] = {
        {"variable", true, set_variable}, {"event", false, set_event}, {0}};
    const struct verb verb = {
        .options = {.command = "sync set",
                    .arguments = "variable NAME VALUE | event NAME",
                    .summary = "Give a variable a value, or set an event.",
                    .details = VALUE_HELP,
                    .arguments_min = 2,
                    .arguments_max = 3},
        .deeds = deeds,
        .takes = true,
    };
    return run(&verb, argc, argv);
}

static int run_get(int argc, char **argv)
{
    static const struct deed deeds[] = {
        {"variable", false, get_variable}, {"queue", false, get_queue}, {0}};
    const struct verb verb = {
        .options =
            {.command = "sync get",
             .arguments = "variable|queue NAME",
             .summary = "Print the value of a variable, or take the oldest value of a queue.",
             .details =
                 "Waits until there is a value. Bytes and text are printed unchanged, other\n"
                 "values as JSON.",
             .arguments_min = 2,
             .arguments_max = 2},
        .deeds = deeds,
        .waits = true,
        .prints = true,
    };
    return run(&verb, argc, argv);
}

static int run_put(int argc, char **argv)
{
    static const struct deed deeds[] = {{"queue", true, put_queue}, {0}};
    const struct verb verb = {
        .options = {.command = "sync put",
                    .arguments = "queue NAME VALUE",
                    .summary = "Put a value into a queue. Waits until the queue has room.",
                    .details = VALUE_HELP,
                    .arguments_min = 3,
                    .arguments_max = 3},
        .deeds = deeds,
        .waits = true,
        .takes = true,
    };
    return run(&verb, argc, argv);
}

static int run_open(int argc, char **argv)
{
    static const struct deed deeds[] = {
        {"semaphore", true, open_semaphore}, {"queue", true, open_queue}, {0}};
    const struct verb verb = {
        .options = {.command = "sync open",
                    .arguments = "semaphore|queue NAME COUNT",
                    .summary = "Make a semaphore of COUNT leases, or a queue of at most COUNT "
                               "values.",
                    .details = "If it exists already, it must have the same COUNT.",
                    .arguments_min = 3,
                    .arguments_max = 3},
        .deeds = deeds,
    };
    return run(&verb, argc, argv);
}

static int run_clear(int argc, char **argv)
{
    static const struct deed deeds[] = {{"event", false, clear_event}, {0}};
    const struct verb verb = {
        .options = {.command = "sync clear",
                    .arguments = "event NAME",
                    .summary = "Clear an event: later waiters wait until it is set again.",
                    .arguments_min = 2,
                    .arguments_max = 2},
        .deeds = deeds,
    };
    return run(&verb, argc, argv);
}

static int run_wait(int argc, char **argv)
{
    static const struct deed deeds[] = {{"event", false, wait_event}, {0}};
    const struct verb verb = {
        .options = {.command = "sync wait",
                    .arguments = "event NAME",
                    .summary = "Wait until an event is set.",
                    .arguments_min = 2,
                    .arguments_max = 2},
        .deeds = deeds,
        .waits = true,
    };
    return run(&verb, argc, argv);
}

static int run_close(int argc, char **argv)
{
    static const struct deed deeds[] = {{"queue", false, close_queue}, {0}};
    const struct verb verb = {
        .options = {.command = "sync close",
                    .arguments = "queue NAME",
                    .summary =
                        "Close a queue: its values can still be taken, and no value can be put.",
                    .arguments_min = 2,
                    .arguments_max = 2},
        .deeds = deeds,
    };
    return run(&verb, argc, argv);
}

/* -- lock, lease ---------------------------------------------------------------------------------
 */

/* What is held: a lock, or a lease of a semaphore. */
struct holding {
    const char *kind;
    int (*acquire)(struct gw_client *client, const char *name, uint64_t timeout_ns, uint64_t *fence,
                   struct gw_error *error);
    int (*release)(struct gw_client *client, const char *name, struct gw_error *error);
};

/* Runs the command and returns its exit code. If the lock or lease was lost meanwhile, 0 becomes
 * GW_EXIT_FAILED. */
static int run_holding(const struct holding *holding, struct gw_client *client, char **argv,
                       uint64_t fence)
{
    char number[24];
    struct gw_error error;
    int exit_code = GW_EXIT_FAILED;
    (void)snprintf(number, sizeof number, "%" PRIu64, fence);
    if (setenv("GANGWAY_FENCE", number, 1) < 0 || fflush(stdout) != 0)
        return GW_EXIT_FAILED;
    if (gw_hold_run(argv + 1, &exit_code, &error) < 0)
        return gw_cli_error(&error);
    if (holding->release(client, argv[0], &error) < 0) {
        gw_cli_message("gangway: %s %s was lost while %s ran: %s", holding->kind, argv[0], argv[1],
                       error.text);
        exit_code = exit_code ? exit_code : GW_EXIT_FAILED;
    }
    return exit_code;
}

static int hold(const struct gw_options *options, const struct holding *holding, int argc,
                char **argv)
{
    uint64_t timeout_ns = UINT64_MAX, fence;
    const struct gw_option table[] = {
        {"timeout", 0, GW_OPTION_TIMEOUT, &timeout_ns, "TIME",
         "wait at most this long (exit code 124; 0: try once;\ndefault: none)"},
        {0},
    };
    struct gw_options with = *options;
    struct gw_cli_verb verb;
    struct gw_error error;
    with.table = table;
    with.arguments = "NAME -- COMMAND [ARGUMENT...]";
    with.arguments_min = 2;
    with.arguments_max = 1 << 20;
    if (!gw_cli_begin(&with, argc, argv, &verb))
        return verb.exit_code;
    char **words = argv + verb.first;
    int rc = holding->acquire(verb.client, words[0], timeout_ns, &fence, &error);
    if (rc == 0)
        verb.exit_code = run_holding(holding, verb.client, words, fence);
    else
        verb.exit_code = gw_cli_error(&error);
    gw_client_close(verb.client);
    return verb.exit_code;
}

#define HOLD_HELP                                                                                  \
    "The exit code is that of COMMAND: 128 + the number of a signal that ended it,\n127 if there " \
    "is no such command. Signals are forwarded to COMMAND. The lease is\nreleased when COMMAND "   \
    "ends, or when this gangway dies, which also ends COMMAND\n(SIGTERM). GANGWAY_FENCE in its "   \
    "environment is the number of the lease; a later\nlease has a larger number. If the lease "    \
    "was lost meanwhile (removed, or the\nscheduler restarted), a message says so, and exit code " \
    "0 becomes 1."

static int run_lock(int argc, char **argv)
{
    static const struct holding holding = {"lock", gw_lock_acquire_fenced, gw_lock_release};
    const struct gw_options options = {
        .command = "sync lock",
        .summary = "Hold a lock while a command runs, as flock does on one machine.",
        .details = "The lock need not be made first.\n" HOLD_HELP,
    };
    return hold(&options, &holding, argc, argv);
}

static int run_lease(int argc, char **argv)
{
    static const struct holding holding = {"semaphore", gw_semaphore_acquire_fenced,
                                           gw_semaphore_release};
    const struct gw_options options = {
        .command = "sync lease",
        .summary = "Hold a lease of a semaphore while a command runs.",
        .details = "`gangway sync open semaphore NAME COUNT` makes a semaphore.\n" HOLD_HELP,
    };
    return hold(&options, &holding, argc, argv);
}

/* -- list, rm ------------------------------------------------------------------------------------
 */

static int run_list(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"kind", "KIND", GW_CELL_TEXT},      {"name", "NAME", GW_CELL_TEXT},
        {"state", "STATE", GW_CELL_TEXT},    {"bytes", "SIZE", GW_CELL_SIZE},
        {"waiting", "WAIT", GW_CELL_NUMBER}, {"fence", "FENCE", GW_CELL_NUMBER},
        {"holder", "HELD BY", GW_CELL_TEXT}, {0},
    };
    const struct gw_listing_command listing = {
        .command = "sync list",
        .summary = "List semaphores, locks, events, variables and queues. A name like 17/inbox\n"
                   "belongs to job 17 and ends with it; a task of job 17 may write ./inbox.",
        .query = "sync",
        .columns = columns,
        .none = "no semaphores, locks, events, variables or queues",
    };
    return gw_listing_run(&listing, argc, argv);
}

static int run_rm(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_options options = {
        .command = "sync rm",
        .arguments = "KIND NAME",
        .summary = "Remove a semaphore, lock, event, variable or queue with its contents.",
        .details = "Waiting clients get an error, and leases become void.",
        .table = table,
        .arguments_min = 2,
        .arguments_max = 2,
    };
    struct gw_cli_verb verb;
    struct gw_error error;
    if (!gw_cli_begin(&options, argc, argv, &verb))
        return verb.exit_code;
    int rc = gw_sync_delete(verb.client, argv[verb.first], argv[verb.first + 1], &error);
    return gw_cli_end(&verb, rc, &error);
}

int gw_cli_sync(int argc, char **argv)
{
    static const struct gw_cli_command verbs[] = {
        {"list", "list all, with holders and numbers of waiters", run_list},
        {"set", "give a variable a value, or set an event", run_set},
        {"get", "print a variable's value, or take one of a queue", run_get},
        {"put", "put a value into a queue", run_put},
        {"open", "make a semaphore or a queue", run_open},
        {"lock", "hold a lock while a command runs", run_lock},
        {"lease", "hold a lease of a semaphore while a command runs", run_lease},
        {"clear", "clear an event", run_clear},
        {"wait", "wait until an event is set", run_wait},
        {"close", "close a queue", run_close},
        {"rm", "remove a semaphore, lock, event, variable or queue", run_rm},
        {NULL, NULL, NULL},
    };
    return gw_cli_run_verb("sync", verbs, argc, argv);
}
