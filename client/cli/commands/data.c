/* `gangway data`: results that are published under names, for other programs of the same user. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/atomic_file.h"
#include "client/cli/lib/listing.h"
#include "client/cli/lib/options.h"
#include "client/cli/lib/selector.h"
#include "client/cli/lib/value_io.h"

#include <ctype.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

/* Finds a result: published as NAME, or of a task JOB[/NAME] or JOB[/INDEX], where JOB may be
 * "last". */
static int find(struct gw_client *client, const char *text, struct gw_future **future,
                struct gw_error *error)
{
    struct gw_selected_task task;
    struct gw_error other;
    int rc = gw_client_lookup(client, text, future, error);
    if (rc != GW_ENOENT || gw_selector_task_check(text, NULL) < 0)
        return rc;
    rc = gw_selector_task(client, text, &task, &other);
    if (rc == 0)
        return gw_client_task(client, task.job, task.index, future, error);
    if (isdigit((unsigned char)*text) || strncmp(text, "last", 4) == 0)
        *error = other; /* the text names a task and not a published result */
    return error->code;
}

/* -- get -----------------------------------------------------------------------------------------
 */

/* Writes to an existing path that is not a regular file, such as a device or a fifo, without
 * replacing it. */
static int write_through(const char *path, const struct gw_value *value, bool json,
                         struct gw_error *error)
{
    FILE *file = fopen(path, "we");
    if (!file)
        return gw_cli_path_error(path, errno, error);
    int rc = gw_value_io_write(file, value, json);
    int why = errno;
    if (fclose(file) != 0 && rc == 0) {
        rc = GW_EIO;
        why = errno;
    }
    return rc < 0 ? gw_error_set(error, rc, "%s: %s", path, strerror(why)) : 0;
}

/* Writes a file completely or not at all. */
static int write_file(const char *path, const struct gw_value *value, bool json,
                      struct gw_error *error)
{
    struct stat there;
    if (lstat(path, &there) == 0 && !S_ISREG(there.st_mode))
        return write_through(path, value, json, error);
    struct gw_atomic_file draft;
    int rc = gw_atomic_file_open(&draft, path, error);
    return rc < 0 ? rc
                  : gw_atomic_file_close(&draft, gw_value_io_write(draft.file, value, json), error);
}

static int get(struct gw_client *client, const char *name, const char *path, bool json,
               struct gw_error *error)
{
    struct gw_future *future;
    struct gw_value *value;
    int rc = find(client, name, &future, error);
    if (rc < 0)
        return rc;
    rc = gw_future_get(future, 0, &value, error);
    gw_future_release(future);
    if (rc < 0)
        return rc;
    if (path)
        rc = write_file(path, value, json, error);
    else if ((rc = gw_value_io_write(stdout, value, json)) < 0)
        gw_error_set(error, rc, "cannot write the output");
    gw_value_unref(value);
    return rc;
}

static int run_get(int argc, char **argv)
{
    const char *path = NULL;
    bool json = false;
    const struct gw_option table[] = {
        {"output", 'o', GW_OPTION_TEXT, &path, "FILE", "write the result to this file"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON, bytes as base64"},
        {0},
    };
    const struct gw_options options = {
        .command = "data get",
        .arguments = "NAME|JOB[/TASK]",
        .summary = "Print a result: one that is published as NAME, or a task's.",
        .details =
            "TASK is a name or an index (default: 0), JOB a number or last. Waits until the\n"
            "result is available. Bytes and text are printed unchanged, other values as\n"
            "JSON.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1,
    };
    struct gw_cli_verb verb;
    struct gw_error error;
    if (!gw_cli_begin(&options, argc, argv, &verb))
        return verb.exit_code;
    int rc = get(verb.client, argv[verb.first], path, json, &error);
    return gw_cli_end(&verb, rc, &error);
}

/* -- put, publish, rm ----------------------------------------------------------------------------
 */

/* Publishes a result under a name, and releases the future. */
static int publish_as(struct gw_client *client, const char *name, struct gw_future *future,
                      struct gw_error *error)
{
    int rc = gw_publish(client, name, future, error);
    gw_future_release(future);
    return rc;
}

static int put(struct gw_client *client, const char *name, const struct gw_value *value,
               struct gw_error *error)
{
    struct gw_future *future;
    int rc = gw_scatter(client, value, &future, error);
    return rc < 0 ? rc : publish_as(client, name, future, error);
}

static int run_put(int argc, char **argv)
{
    bool json = false;
    const struct gw_option table[] = {
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "FILE is JSON: put the value that it contains"},
        {0},
    };
    const struct gw_options options = {
        .command = "data put",
        .arguments = "NAME FILE",
        .summary = "Put a file's bytes into the cluster, and publish them under a name.",
        .details = "If FILE is -, stdin is read. Programs get the value by gw_published(NAME),\n"
                   "shells by `gangway data get NAME`. The value stays until `gangway data rm\n"
                   "NAME`.",
        .table = table,
        .arguments_min = 2,
        .arguments_max = 2,
    };
    struct gw_client *client;
    struct gw_value *value;
    struct gw_error error;
    int first, exit_code;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (gw_value_io_read(argv[first + 1], json, &value, &error) < 0)
        return gw_cli_error(&error);
    exit_code = gw_cli_open(&client);
    if (exit_code == GW_EXIT_OK) {
        if (put(client, argv[first], value, &error) < 0)
            exit_code = gw_cli_error(&error);
        gw_client_close(client);
    }
    gw_value_unref(value);
    return exit_code;
}

static int publish(struct gw_client *client, const char *name, const char *text,
                   struct gw_error *error)
{
    struct gw_selected_task task;
    struct gw_future *future;
    int rc = gw_selector_task(client, text, &task, error);
    if (rc == 0)
        rc = gw_client_task(client, task.job, task.index, &future, error);
    return rc < 0 ? rc : publish_as(client, name, future, error);
}

static int run_publish(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    int first, exit_code;
    const struct gw_options options = {
        .command = "data publish",
        .arguments = "NAME JOB[/TASK]",
        .summary = "Publish a task's result under a name. It outlives the program that submitted\n"
                   "the task.",
        .details = "TASK is a name or an index (default: 0). The task need not have ended.",
        .table = table,
        .arguments_min = 2,
        .arguments_max = 2,
    };
    struct gw_client *client;
    struct gw_error error;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (gw_selector_task_check(argv[first + 1], &error) < 0)
        return gw_cli_error(&error);
    exit_code = gw_cli_open(&client);
    if (exit_code)
        return exit_code;
    if (publish(client, argv[first], argv[first + 1], &error) < 0)
        exit_code = gw_cli_error(&error);
    gw_client_close(client);
    return exit_code;
}

static int remove_one(struct gw_client *client, const char *name, void *arg, struct gw_error *error)
{
    (void)arg;
    return gw_unpublish(client, name, error);
}

static int run_rm(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_options options = {
        .command = "data rm",
        .arguments = "NAME...",
        .summary = "Remove the names of published results.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1000,
    };
    return gw_cli_each(&options, argc, argv, remove_one, NULL);
}

/* -- where ---------------------------------------------------------------------------------------
 */

static int run_where(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"rank", "RANK", GW_CELL_NUMBER},
        {"worker", "WORKER", GW_CELL_NUMBER},
        {"host", "HOST", GW_CELL_TEXT},
        {"bytes", "SIZE", GW_CELL_SIZE},
        {0},
    };
    bool json = false;
    const struct gw_option table[] = {
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "data where",
        .arguments = "NAME|JOB[/TASK]",
        .summary = "Show which workers have a result (worker 0: the scheduler): one that is\n"
                   "published as NAME, or a task's.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1,
    };
    struct gw_cli_verb verb;
    struct gw_future *future;
    struct gw_value *answer;
    struct gw_error error;
    if (!gw_cli_begin(&options, argc, argv, &verb))
        return verb.exit_code;
    int rc = find(verb.client, argv[verb.first], &future, &error);
    if (rc == 0) {
        rc = gw_who_has(future, &answer, &error);
        gw_future_release(future);
    }
    if (rc == 0 && json)
        gw_table_json(stdout, answer, false);
    else if (rc == 0)
        gw_table_print(stdout, columns, answer);
    if (rc == 0)
        gw_value_unref(answer);
    return gw_cli_end(&verb, rc, &error);
}

/* -- replicate -----------------------------------------------------------------------------------
 */

static int replicate(struct gw_client *client, const char *text,
                     const struct gw_replicate_options *options, struct gw_error *error)
{
    struct gw_future *future;
    struct gw_value *holders;
    int64_t id;
    uint32_t workers = 0;
    int rc = find(client, text, &future, error);
    if (rc < 0)
        return rc;
    rc = gw_replicate(client, &future, 1, options, error);
    if (rc == 0)
        rc = gw_who_has(future, &holders, error);
    gw_future_release(future);
    if (rc < 0)
        return rc;
    for (size_t i = 0; i < gw_value_count(holders); i++) {
        const struct gw_value *holder = gw_value_at(holders, i);
        if (gw_value_get_i64(gw_value_find(holder, "rank"), &id, NULL) == 0 && id == 0 &&
            gw_value_get_i64(gw_value_find(holder, "worker"), &id, NULL) == 0)
            workers += id > 0;
    }
    gw_value_unref(holders);
    printf("%s: at %u worker%s\n", text, workers, workers == 1 ? "" : "s");
    return 0;
}

static int run_replicate(int argc, char **argv)
{
    struct gw_replicate_options wanted = GW_INIT(gw_replicate_options);
    bool all = false;
    const struct gw_option table[] = {
        {"copies", 0, GW_OPTION_U32, &wanted.copies, "N",
         "number of workers that shall have a copy"},
        {"workers", 0, GW_OPTION_TEXT, &wanted.workers, "A,B", "use only these workers or hosts"},
        {"all", 0, GW_OPTION_FLAG, &all, NULL,
         "copy to all workers, or to all of --workers\n"
         "(default)"},
        {0},
    };
    const struct gw_options options = {
        .command = "data replicate",
        .arguments = "NAME|JOB[/TASK]",
        .summary = "Copy a result to several workers: one that is published as NAME, or that of a\n"
                   "task.",
        .details = "Waits until the copies are made. They stay as long as the result.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1,
    };
    struct gw_cli_verb verb;
    struct gw_error error;
    if (!gw_cli_begin(&options, argc, argv, &verb))
        return verb.exit_code;
    int rc = all && wanted.copies
                 ? gw_error_set(&error, GW_EINVAL,
                                "--copies %u and --all contradict each other: give one of them",
                                wanted.copies)
                 : replicate(verb.client, argv[verb.first], &wanted, &error);
    return gw_cli_end(&verb, rc, &error);
}

/* -- list ----------------------------------------------------------------------------------------
 */

static int run_list(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"name", "NAME", GW_CELL_TEXT},    {"job", "JOB", GW_CELL_NUMBER},
        {"index", "TASK", GW_CELL_NUMBER}, {"state", "STATE", GW_CELL_TEXT},
        {"bytes", "SIZE", GW_CELL_SIZE},   {"published_ns", "AGE", GW_CELL_SINCE},
        {"session", "BY", GW_CELL_TEXT},   {0},
    };
    const struct gw_listing_command listing = {
        .command = "data list",
        .summary = "List what is published.",
        .query = "published",
        .columns = columns,
        .none = "no published results",
    };
    return gw_listing_run(&listing, argc, argv);
}

static const struct gw_cli_command verbs[] = {
    {"list", "list what is published", run_list},
    {"get", "print a result, or write it to a file", run_get},
    {"put", "put a file into the cluster under a name", run_put},
    {"publish", "publish a task's result under a name", run_publish},
    {"rm", "remove a name", run_rm},
    {"where", "show which workers have a result", run_where},
    {"replicate", "copy a result to several workers", run_replicate},
    {NULL, NULL, NULL},
};

int gw_cli_data(int argc, char **argv)
{
    return gw_cli_run_verb("data", verbs, argc, argv);
}
