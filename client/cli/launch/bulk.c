/* Many commands as one job.
 *
 * An array is submitted as a range, so neither this process nor the scheduler stores a list of its
 * tasks. Lines of a file, JSON objects and arrays of gangs are submitted as a graph. The output of
 * a task is printed as a whole when the task has ended. */
#include "client/cli/launch/bulk.h"

#include "client/cli/launch/bulk_file.h"
#include "client/cli/lib/cli.h"
#include "client/cli/lib/selector.h"
#include "client/cli/lib/table.h"

#include <errno.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

enum {
    ARRAY_TASKS_MAX = 1 << 30, /* limit of a range, see range.h */
    GANGS_MAX = 100000,        /* limit of an array of gangs */
    LINE_BYTES_MAX = 64 << 10,
};

struct gw_bulk {
    struct gw_client *client;
    const struct gw_launch_options *options;
    uint64_t job;
    struct gw_range_run *run; /* the range of an array; NULL: a graph */
    struct gw_bulk_file file; /* the commands, if it is a graph */
    struct gw_future **futures;
    size_t failed, tasks;
    bool hinted;                /* do not print the hint about {line} (any more) */
    char note[GW_LOG_NOTE_MAX]; /* why the printed output of a successful task may be incomplete */
};

bool gw_bulk_wanted(const struct gw_launch_options *options)
{
    return options->array || options->each_line || options->from_json;
}

bool gw_bulk_reads_stdin(const struct gw_launch_options *options)
{
    const char *file = options->each_line ? options->each_line : options->from_json;
    return file && strcmp(file, "-") == 0;
}

uint64_t gw_bulk_job(const struct gw_bulk *bulk)
{
    return bulk->job;
}

size_t gw_bulk_tasks(const struct gw_bulk *bulk)
{
    return bulk->tasks;
}

/* -- Arrays --------------------------------------------------------------------------------------
 */

static bool number(const char **at, int64_t *n)
{
    char *end;
    errno = 0;
    *n = strtoll(*at, &end, 10);
    bool well = errno == 0 && end != *at;
    *at = end;
    return well;
}

/* Parses FIRST-LAST[:STEP][%LIMIT], or one number. */
static int parse_array(const char *text, struct gw_range *range, struct gw_error *error)
{
    const char *at = text;
    int64_t first, last, step = 1, limit = 0;
    bool well = number(&at, &first);
    last = first;
    if (well && *at == '-')
        well = *++at && number(&at, &last);
    if (well && *at == ':')
        well = *++at && number(&at, &step) && step > 0;
    if (well && *at == '%')
        well = *++at && number(&at, &limit) && limit > 0 && limit <= UINT32_MAX;
    if (!well || *at || last == INT64_MAX)
        return gw_error_set(
            error, GW_EINVAL,
            "--array %s: give numbers like 0-99, 10-20:2 (every second) or 0-99%%8 (8 at a time)",
            text);
    if (last < first)
        return gw_error_set(error, GW_EINVAL,
                            "--array %s: no number is in this range: give the smaller number first",
                            text);
    uint64_t tasks = ((uint64_t)last - (uint64_t)first) / (uint64_t)step + 1;
    if (tasks > ARRAY_TASKS_MAX)
        return gw_error_set(
            error, GW_EINVAL,
            "--array %s: these are %llu tasks, and %d is the most: give several arrays", text,
            (unsigned long long)tasks, ARRAY_TASKS_MAX);
    range->begin = first;
    range->end = last + 1;
    range->step = step;
    range->limit = (uint32_t)limit;
    return 0;
}

static int submit_array(struct gw_bulk *bulk, const struct gw_bulk_after *after,
                        struct gw_error *error)
{
    const struct gw_launch_options *options = bulk->options;
    const char **env;
    if (gw_launch_options_env(options, &env) < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    struct gw_task_options task = options->task;
    task.name = options->name;
    const struct gw_command command =
        GW_INIT(gw_command, .argv = options->command, .env = env, .cwd = options->cwd,
                .env_templates = (uint32_t)options->env.count, .epilog = options->wrap.epilog);
    struct gw_range range =
        GW_INIT(gw_range, .command = &command, .options = &task, .detached = options->detached,
                .key = options->key, .account = options->account, .queue = options->queue,
                .discard_results = options->detached, .after = after->jobs,
                .after_count = after->count, .after_any = after->any);
    int rc = parse_array(options->array, &range, error);
    if (rc == 0)
        rc = gw_map_range(bulk->client, &range, &bulk->run, error);
    if (rc == 0) {
        bulk->job = gw_range_job(bulk->run);
        bulk->tasks = gw_range_count(bulk->run);
    }
    free(env);
    return rc;
}

/* -- Graphs --------------------------------------------------------------------------------------
 */

static int read_array_of_gangs(struct gw_bulk *bulk, struct gw_error *error)
{
    const struct gw_launch_options *options = bulk->options;
    struct gw_range range = GW_INIT(gw_range);
    int rc = parse_array(options->array, &range, error);
    if (rc < 0)
        return rc;
    if (range.limit)
        return gw_error_set(error, GW_EINVAL,
                            "--array %s: leave %%%u out: only `submit` limits how many run at a "
                            "time; gangs start when there is room for them",
                            options->array, range.limit);
    if ((range.end - 1 - range.begin) / range.step >= GANGS_MAX)
        return gw_error_set(error, GW_EINVAL, "--array %s: an array has at most %d gangs",
                            options->array, GANGS_MAX);
    return gw_bulk_file_init_numbers(&bulk->file, options, &range, error);
}

static int submit_graph(struct gw_bulk *bulk, const struct gw_bulk_after *after,
                        struct gw_error *error)
{
    const struct gw_launch_options *options = bulk->options;
    int rc = options->array ? read_array_of_gangs(bulk, error)
                            : gw_bulk_file_init(&bulk->file, options, error);
    if (rc < 0)
        return rc;
    bulk->tasks = bulk->file.count;
    bulk->futures = calloc(bulk->tasks + 1, sizeof *bulk->futures);
    if (!bulk->futures)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    const struct gw_submit_options submit =
        GW_INIT(gw_submit_options, .name = options->name ? options->name : bulk->file.name,
                .detached = options->detached, .key = options->key, .account = options->account,
                .queue = options->queue, .after = after->jobs, .after_count = after->count,
                .after_any = after->any);
    rc = gw_client_submit_many(bulk->client, bulk->file.graph, &submit, bulk->file.nodes,
                               bulk->tasks, bulk->futures, error);
    if (rc == 0)
        bulk->job = gw_future_job(bulk->futures[0]);
    else
        memset(bulk->futures, 0, bulk->tasks * sizeof *bulk->futures);
    return rc;
}

int gw_bulk_submit(struct gw_client *client, const struct gw_launch_options *options,
                   const struct gw_bulk_after *after, struct gw_bulk **out, struct gw_error *error)
{
    struct gw_bulk *bulk = calloc(1, sizeof *bulk);
    if (!bulk)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    bulk->client = client;
    bulk->options = options;
    int rc = options->array && !options->gang ? submit_array(bulk, after, error)
                                              : submit_graph(bulk, after, error);
    if (rc == 0)
        *out = bulk;
    else
        gw_bulk_free(bulk);
    return rc;
}

void gw_bulk_free(struct gw_bulk *bulk)
{
    if (!bulk)
        return;
    for (size_t i = 0; bulk->futures && i < bulk->tasks; i++)
        gw_future_release(bulk->futures[i]);
    free(bulk->futures);
    gw_bulk_file_deinit(&bulk->file);
    gw_range_close(bulk->run);
    free(bulk);
}

/* -- Printing -----------------------------------------------------------------------------------
 */

/* A task that has ended. */
struct ended {
    uint32_t index;  /* index in the job */
    uint32_t ranks;  /* number of ranks of a gang; 0: an ordinary task */
    bool silent;     /* cancelled before its first attempt, so it has no output */
    char label[128]; /* prefix of each line */
    int exit_code;
    const struct gw_error *error;
};

/* Prints the pieces of a task's output line by line. */
struct printer {
    const struct gw_bulk *bulk;
    const struct ended *ended;
    uint32_t rank, stream;
    FILE *out;
    bool inside;       /* the last line is not complete yet */
    size_t line_bytes; /* bytes of the incomplete line, with --json */
    char line[LINE_BYTES_MAX];
};

/* Makes an object with the keys that each line of JSON about a task has. */
static json_t *about(const struct gw_bulk *bulk, const struct ended *ended)
{
    return json_pack("{s:I, s:i, s:o}", "job", (json_int_t)bulk->job, "index", (int)ended->index,
                     "name", gw_table_json_string(ended->label, strlen(ended->label)));
}

/* Prints a JSON object as one line, and releases the object. */
static void print_object(json_t *object)
{
    char *text = json_dumps(object, JSON_COMPACT);
    printf("%s\n", text ? text : "{}");
    free(text);
    json_decref(object);
}

static void print_json_line(struct printer *printer)
{
    json_t *object = about(printer->bulk, printer->ended);
    if (printer->ended->ranks)
        json_object_set_new(object, "rank", json_integer(printer->rank));
    json_object_set_new(object, "stream", json_string(printer->stream == 1 ? "out" : "err"));
    json_object_set_new(object, "text", gw_table_json_string(printer->line, printer->line_bytes));
    print_object(object);
    printer->line_bytes = 0;
}

static void print_json_piece(struct printer *printer, const char *data, size_t bytes)
{
    for (size_t i = 0; i < bytes; i++) {
        printer->inside = data[i] != '\n';
        if (!printer->inside || printer->line_bytes == LINE_BYTES_MAX)
            print_json_line(printer);
        if (printer->inside)
            printer->line[printer->line_bytes++] = data[i];
    }
}

static void print_label(FILE *out, const struct ended *ended)
{
    fputc('[', out);
    gw_table_say(out, ended->label);
    fputs("] ", out);
}

/* Prints the prefix "[label:rank] " for a rank of a gang, or "[label] ". */
static void print_place(const struct printer *printer)
{
    if (printer->ended->ranks <= 1) {
        print_label(printer->out, printer->ended);
        return;
    }
    fputc('[', printer->out);
    gw_table_say(printer->out, printer->ended->label);
    fprintf(printer->out, ":%u] ", printer->rank);
}

static void print_piece(struct printer *printer, const char *data, size_t bytes)
{
    while (bytes > 0) {
        const char *newline = memchr(data, '\n', bytes);
        size_t line = newline ? (size_t)(newline - data) + 1 : bytes;
        if (!printer->inside)
            print_place(printer);
        fwrite(data, 1, line, printer->out);
        printer->inside = !newline;
        data += line;
        bytes -= line;
    }
}

static void say_left_out(const struct printer *printer, uint64_t bytes)
{
    const struct ended *ended = printer->ended;
    if (printer->bulk->options->json) {
        json_t *object = about(printer->bulk, ended);
        if (ended->ranks)
            json_object_set_new(object, "rank", json_integer(printer->rank));
        json_object_set_new(object, "stream", json_string(printer->stream == 1 ? "out" : "err"));
        json_object_set_new(object, "left_out", json_integer((json_int_t)bytes));
        print_object(object);
        return;
    }
    fflush(printer->out);
    gw_cli_message_left_out(bytes, ended->ranks ? (int)printer->rank : -1, printer->stream == 2);
}

/* A task that did not run has no output, and the error of a failed task says enough. */
static void note_missing(struct gw_bulk *bulk, const struct ended *ended,
                         const struct gw_error *error)
{
    if (ended->error->code == 0 && error->code != GW_ENOENT)
        (void)snprintf(bulk->note, sizeof bulk->note,
                       "the output shown of [%.64s] is incomplete: %.300s", ended->label,
                       error->text);
}

static void print_stream(struct gw_bulk *bulk, const struct ended *ended, uint32_t rank,
                         uint32_t stream)
{
    bool json = bulk->options->json;
    struct printer *printer = calloc(1, sizeof *printer);
    if (!printer)
        return;
    *printer = (struct printer){.bulk = bulk,
                                .ended = ended,
                                .rank = rank,
                                .stream = stream,
                                .out = stream == 1 ? stdout : stderr};
    struct gw_log_request request = GW_INIT(gw_log_request, .job = bulk->job, .index = ended->index,
                                            .rank = rank, .stream = stream);
    for (bool end = false; !end;) {
        struct gw_log_chunk chunk;
        const void *data = NULL;
        size_t bytes = 0;
        struct gw_error error;
        if (gw_job_log(bulk->client, &request, &chunk, &error) < 0) {
            note_missing(bulk, ended, &error);
            break;
        }
        gw_value_get_bytes(chunk.data, &data, &bytes, NULL);
        if (chunk.left_out > 0)
            say_left_out(printer, chunk.left_out);
        if (json)
            print_json_piece(printer, data, bytes);
        else
            print_piece(printer, data, bytes);
        gw_value_unref(chunk.data);
        if (*chunk.note && ended->error->code == 0)
            memcpy(bulk->note, chunk.note, sizeof bulk->note);
        request.attempt = chunk.attempt;
        request.offset = chunk.next_offset;
        end = chunk.end || (bytes == 0 && chunk.left_out == 0);
    }
    if (printer->inside && json)
        print_json_line(printer);
    else if (printer->inside)
        fputc('\n', printer->out);
    free(printer);
}

static void print_end(const struct gw_bulk *bulk, const struct ended *ended)
{
    int code = ended->error->code;
    const char *text = ended->error->text;
    json_t *object = about(bulk, ended);
    json_object_set_new(object, "state",
                        json_string(code == 0               ? "done"
                                    : code == GW_ECANCELLED ? "cancelled"
                                                            : "failed"));
    json_object_set_new(object, "exit_code", json_integer(ended->exit_code));
    if (code)
        json_object_set_new(object, "error", gw_table_json_string(text, strlen(text)));
    print_object(object);
}

/* Prints a hint if the first task that ends has failed, {line} is used, and lines have several
 * fields. Then the program probably got a whole line as one argument, and the other tasks fail in
 * the same way. */
static void hint(struct gw_bulk *bulk, const struct ended *ended)
{
    const bool failed = ended->error->code < 0 && ended->error->code != GW_ECANCELLED;
    if (!bulk->hinted && failed && bulk->file.has_fields)
        for (const char **word = bulk->options->command; *word; word++)
            if (strcmp(*word, "{line}") == 0) {
                gw_cli_message("gangway: {line} is the whole line as one word; {1} {2} ... are the "
                               "fields of the line, one word each");
                break;
            }
    bulk->hinted = true;
}

static void show(struct gw_bulk *bulk, const struct ended *ended)
{
    const struct gw_launch_options *options = bulk->options;
    bulk->failed += ended->error->code < 0;
    const uint32_t ranks = options->quiet || ended->silent ? 0 : ended->ranks ? ended->ranks : 1;
    for (uint32_t rank = 0; rank < ranks; rank++) {
        print_stream(bulk, ended, rank, 1);
        print_stream(bulk, ended, rank, 2);
    }
    if (options->json) {
        print_end(bulk, ended);
    } else if (ended->error->code < 0 && ended->error->code != GW_ECANCELLED) {
        fputs("gangway: ", stderr);
        print_label(stderr, ended);
        gw_table_say(stderr, ended->error->text);
        fputc('\n', stderr);
    }
    if (!options->json)
        hint(bulk, ended);
    fflush(stdout);
}

static void show_array(struct gw_bulk *bulk)
{
    struct gw_range_result result;
    while (gw_range_next(bulk->run, UINT64_MAX, &result, NULL) == 0) {
        struct ended ended = {
            .index = result.index, .error = &result.error, .exit_code = result.exit_code};
        snprintf(ended.label, sizeof ended.label, "%lld", (long long)result.number);
        show(bulk, &ended);
        gw_value_unref(result.value);
    }
}

static void show_graph(struct gw_bulk *bulk)
{
    struct gw_completions *completions;
    size_t i;
    if (gw_completions_new(bulk->futures, bulk->tasks, &completions) < 0) {
        gw_cli_message(
            "gangway: out of memory: the output of the tasks is not shown, but they go on");
        return;
    }
    while (gw_completions_next(completions, UINT64_MAX, &i) == 0) {
        struct gw_error error = {0};
        struct gw_value *value = NULL;
        if (gw_future_get(bulk->futures[i], 0, &value, &error) == 0)
            gw_value_unref(value);
        struct ended ended = {.index = gw_future_index(bulk->futures[i]),
                              .ranks = bulk->file.ranks ? bulk->file.ranks[i]
                                                        : bulk->options->task.ranks,
                              .error = &error,
                              .exit_code = gw_future_exit_code(bulk->futures[i])};
        ended.silent = error.code == GW_ECANCELLED && gw_future_attempt(bulk->futures[i]) == 0;
        gw_bulk_file_label(&bulk->file, i, ended.label, sizeof ended.label);
        show(bulk, &ended);
        if (error.code == GW_ECLOSED)
            break;
    }
    gw_completions_free(completions);
}

/* Asks the scheduler how many tasks failed. A range gives no result for tasks that were cancelled
 * before they started. */
static void ask_failed(struct gw_bulk *bulk)
{
    struct gw_value *filter =
        gw_selector_query(&(struct gw_selected_task){.job = bulk->job, .whole = true});
    struct gw_value *answer;
    if (gw_client_query(bulk->client, "job", filter, &answer, NULL) == 0) {
        bulk->failed =
            (size_t)(gw_table_number(answer, "failed") + gw_table_number(answer, "cancelled"));
        gw_value_unref(answer);
    }
    gw_value_unref(filter);
}

int gw_bulk_run(struct gw_bulk *bulk)
{
    struct gw_error error = {0};
    int exit_code = 0;
    if (bulk->run)
        show_array(bulk);
    else
        show_graph(bulk);
    if (*bulk->note)
        gw_cli_message("gangway: %s", bulk->note);
    int rc = gw_job_wait(bulk->client, bulk->job, UINT64_MAX, &exit_code, &error);
    if (rc < 0 && exit_code == 0)
        exit_code = gw_error_exit_code(&error);
    if (exit_code && !bulk->options->json)
        ask_failed(bulk);
    if (bulk->failed > 0 && !bulk->options->json)
        fprintf(stderr, "gangway: %zu of %zu tasks failed or were cancelled\n", bulk->failed,
                bulk->tasks);
    return exit_code;
}
