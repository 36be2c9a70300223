/* `gangway logs`: prints the output of a task, of all ranks or of one. */
#include "client/cli/commands/commands.h"

#include "client/cli/launch/log_files.h"
#include "client/cli/launch/tail.h"
#include "client/cli/lib/options.h"
#include "client/cli/lib/selector.h"
#include "client/cli/lib/synonym.h"
#include "client/cli/lib/table.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* Prints why a task failed, before its output. Only the first line is printed, because the last
 * lines of the output follow anyway. */
static void say_cause(const struct gw_value *task)
{
    const char *state, *text;
    if (gw_value_get_str(gw_value_find(task, "state"), &state, NULL) == 0 &&
        strcmp(state, "failed") == 0 &&
        gw_value_get_str(gw_value_find(task, "text"), &text, NULL) == 0) {
        char *line = strndup(text, strcspn(text, "\n"));
        gw_cli_message("gangway: %s", line ? line : "out of memory");
        free(line);
    }
}

/* Asks for the number of ranks of a task; 0: an ordinary task. If `told` is true and the task has
 * failed, it also prints why. */
static int rank_count(struct gw_client *client, const struct gw_selected_task *task, bool told,
                      uint32_t *ranks, struct gw_error *error)
{
    struct gw_value *filter = gw_selector_query(task), *answer;
    int rc = gw_client_query(client, "tasks", filter, &answer, error);
    gw_value_unref(filter);
    if (rc < 0)
        return rc;
    /* A task of an array that has not started has fewer fields. */
    *ranks = (uint32_t)gw_table_number(gw_value_at(answer, 0), "ranks");
    if (told)
        say_cause(gw_value_at(answer, 0));
    gw_value_unref(answer);
    return 0;
}

/* Finds the id of a task's attempt by its number 1, 2, ... (UINT32_MAX: the latest). If the attempt
 * had fewer ranks than *ranks, it reduces *ranks. */
static int find_try(struct gw_client *client, const struct gw_selected_task *task, uint32_t number,
                    uint64_t *attempt, uint32_t *ranks, struct gw_error *error)
{
    struct gw_value *filter = gw_selector_query(task), *answer;
    bool last = number == UINT32_MAX;
    int rc = gw_client_query(client, "attempts", filter, &answer, error);
    gw_value_unref(filter);
    if (rc < 0)
        return rc;
    uint32_t count = (uint32_t)gw_value_count(answer);
    if (last && count == 0) {
        gw_value_unref(answer);
        return 0; /* the task has no output yet */
    }
    const struct gw_value *found = NULL, *newest = count ? gw_value_at(answer, count - 1) : NULL;
    const int64_t newest_number = newest ? gw_table_number(newest, "number") : 0;
    for (uint32_t i = 0; i < count; i++)
        if (gw_table_number(gw_value_at(answer, i), "number") == number)
            found = gw_value_at(answer, i);
    found = last ? newest : found;
    if (!newest)
        rc = gw_error_set(
            error, GW_ENOENT,
            "the task has not started yet, so it has no output: --follow waits for it");
    else if (!found && number > 0 && number < newest_number)
        rc = gw_error_set(error, GW_ENOENT,
                          "the output of attempt %u is gone: the cluster was restarted since then",
                          number);
    else if (!found)
        rc =
            gw_error_set(error, GW_ENOENT, "there is no attempt %u: the attempts are 1 to %" PRId64,
                         number, newest_number);
    const int64_t had = found ? gw_table_number(found, "ranks") : 0;
    if (had > 0 && had < *ranks)
        *ranks = (uint32_t)had;
    *attempt = last || !found ? 0 : (uint64_t)gw_table_number(found, "attempt");
    gw_value_unref(answer);
    return rc;
}

/* Converts --rank (INT32_MIN: not given) to the value for a tail (-1: all ranks). */
static int choose_rank(int32_t *rank, struct gw_error *error)
{
    if (*rank < 0 && *rank != INT32_MIN)
        return gw_error_set(error, GW_EINVAL, "there is no rank %d: ranks are numbered from 0",
                            *rank);
    *rank = *rank < 0 ? -1 : *rank;
    return 0;
}

static int check_rank(int32_t rank, uint32_t ranks, struct gw_error *error)
{
    uint32_t last = ranks ? ranks - 1 : 0;
    if (rank == -1 || (rank >= 0 && (uint32_t)rank <= last))
        return 0;
    if (last == 0)
        return gw_error_set(error, GW_EINVAL, "there is no rank %d: the only rank is 0", rank);
    return gw_error_set(error, GW_EINVAL, "there is no rank %d: the ranks are 0 to %u", rank, last);
}

/* Looks up the task, the attempt and the number of ranks. */
static int resolve(struct gw_tail_options *options, const char *text, uint32_t attempt,
                   struct gw_error *error)
{
    struct gw_selected_task task;
    int rc = gw_selector_task(options->client, text, &task, error);
    if (rc < 0)
        return rc;
    task.whole = false; /* if only a job is named: its first task */
    options->job = task.job;
    options->index = task.index;
    bool told = options->err && !options->json && attempt == UINT32_MAX;
    rc = rank_count(options->client, &task, told, &options->ranks, error);
    /* With --follow, the next attempt may have more ranks. */
    if (rc == 0 && (attempt != UINT32_MAX || (options->ranks && !options->follow)))
        rc = find_try(options->client, &task, attempt, &options->attempt, &options->ranks, error);
    if (rc == 0)
        rc = check_rank(options->rank, options->ranks, error);
    return rc;
}

static int print(const struct gw_tail_options *options, struct gw_error *error)
{
    struct gw_tail *stream;
    int rc = gw_tail_open(options, &stream);
    return rc == 0 ? gw_tail_close(stream, error) : gw_error_set(error, rc, "out of memory");
}

int gw_cli_logs(int argc, char **argv)
{
    struct gw_tail_options stream_options = {.rank = INT32_MIN}; /* not given: all ranks */
    bool follow = false, out = false, err = false, json = false;
    uint32_t attempt = UINT32_MAX, lines = UINT32_MAX;
    const char *folder = NULL;
    int first, exit_code;
    const struct gw_option table[] = {
        {"follow", 'f', GW_OPTION_FLAG, &follow, NULL, "print new output until the task has ended"},
        {"tail", 0, GW_OPTION_LINES, &lines, "N",
         "print only the last N lines of each stream (of\n"
         "each rank of a gang); with --follow, then new\n"
         "output (default: none: all lines)"},
        {"since", 0, GW_OPTION_SINCE, &stream_options.since_ns, "TIME",
         "print only output since this time: 10m (ago),\n"
         "2026-11-26T09:30 (default: none)"},
        {"timestamps", 0, GW_OPTION_FLAG, &stream_options.timestamps, NULL,
         "print the time (UTC) before each line; - if it is\n"
         "not known, as for the output of functions"},
        {"rank", 'r', GW_OPTION_I32, &stream_options.rank, "R", "print only this rank of a gang"},
        {"attempt", 0, GW_OPTION_U32, &attempt, "N",
         "print attempt 1, 2, ... (default: the latest)"},
        {"out", 0, GW_OPTION_FLAG, &out, NULL, "print only standard output"},
        {"err", 0, GW_OPTION_FLAG, &err, NULL, "print only standard error"},
        {"output", 'o', GW_OPTION_TEXT, &folder, "DIR",
         "write the output to DIR/stdout and DIR/stderr, of\n"
         "a gang to DIR/rank.000/stdout, ..."},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print one line of JSON for each line"},
        {0},
    };
    const struct gw_options options = {
        .command = "logs",
        .arguments = "JOB[/TASK]",
        .summary =
            "Print the output of one attempt of a task. Each line of a gang starts with its\n"
            "rank.",
        .details =
            "JOB is a number, a name (the latest job of this name), or last; TASK is a name\n"
            "or an index (default: 0). Standard output is printed to standard output, and\n"
            "standard error to standard error. If the task failed, the reason is printed\n"
            "first, on standard error.",
        .table = table,
        .synonyms = gw_synonym_logs,
        .arguments_min = 1,
        .arguments_max = 1,
    };
    struct gw_error error;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (gw_selector_task_check(argv[first], &error) < 0 ||
        choose_rank(&stream_options.rank, &error) < 0)
        return gw_cli_error(&error);
    if (folder && (follow || json || lines != UINT32_MAX || stream_options.timestamps)) {
        gw_cli_message("gangway logs: --output cannot be combined with --follow, --tail, --json or "
                       "--timestamps");
        return GW_EXIT_USAGE;
    }
    if ((exit_code = gw_cli_open(&stream_options.client)) != 0)
        return exit_code;
    stream_options.out = out || !err;
    stream_options.err = err || !out;
    stream_options.follow = follow;
    stream_options.onwards = attempt == UINT32_MAX;
    stream_options.json = json;
    stream_options.tail = lines != UINT32_MAX;
    stream_options.lines = lines;
    int rc = resolve(&stream_options, argv[first], attempt, &error);
    if (rc == 0)
        rc = folder ? gw_log_files_write(&stream_options, folder, &error)
                    : print(&stream_options, &error);
    gw_client_close(stream_options.client);
    return rc < 0 ? gw_cli_error(&error) : GW_EXIT_OK;
}
