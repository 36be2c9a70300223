/* Prints the output of tasks. Each reader asks for more output when it has printed what it has, and
 * the scheduler answers when there is more. So a slow reader of this process's output also slows
 * down a task with held output.
 *
 * The output of a single task is printed byte for byte. Lines of several ranks are never mixed: a
 * line is printed when it is complete, with its rank before it. A carriage return also ends a line,
 * as in a progress bar. The next line then overwrites it, unless another rank has printed
 * meanwhile. */
#include "client/cli/launch/tail.h"

#include "client/cli/lib/cli.h"
#include "client/cli/lib/selector.h"
#include "client/cli/lib/table.h"
#include "client/cli/lib/units.h"
#include "graph/wire/message.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 64 << 10, STACK_BYTES = 256 << 10 };

/* A stream to which several readers print. */
struct output {
    pthread_mutex_t lock;
    FILE *file;
    struct reader *open; /* the reader that printed the last line of this stream, if that line is
                            incomplete; NULL: the last line is complete */
};

struct reader {
    struct gw_tail *stream;
    struct output *output;
    uint32_t rank;
    bool err;
    bool plain;       /* the only reader: print bytes unchanged */
    bool bar;         /* the last line ended with a carriage return and will be overwritten */
    bool begun;       /* its text is at the end of the last line of the stream */
    bool blind;       /* with --since: output without a time was printed */
    uint64_t time_ns; /* when the line that is gathered was printed; 0: not known */
    char *line;       /* incomplete line that is not printed yet */
    size_t line_bytes;
    pthread_t thread;
};

struct gw_tail {
    struct gw_tail_options options;
    struct output outputs[2]; /* with --json only the first */
    pthread_mutex_t lock;     /* guards the fields below */
    struct gw_error error;
    char note[GW_LOG_NOTE_MAX]; /* why the printed output may be incomplete */
    uint32_t told;              /* number of the newest attempt whose end was reported; 0: none */
    uint64_t told_id;           /* id of the attempt after it */
    bool prefix;
    size_t count;
    struct reader readers[];
};

/* -- Printing ------------------------------------------------------------------------------------
 */

static void print_object(json_t *object)
{
    char *dump = json_dumps(object, JSON_COMPACT);
    printf("%s\n", dump ? dump : "{}");
    free(dump);
    json_decref(object);
}

static json_t *about(const struct reader *reader)
{
    return json_pack("{s:i, s:s}", "rank", (int)reader->rank, "stream",
                     reader->err ? "err" : "out");
}

static void print_json(const struct reader *reader, const char *line, size_t bytes)
{
    json_t *object = about(reader);
    char time[GW_UNITS_TIME_ROOM];
    if (reader->time_ns)
        gw_units_format_time(reader->time_ns, time);
    if (reader->stream->options.timestamps)
        json_object_set_new(object, "time", reader->time_ns ? json_string(time) : json_null());
    json_object_set_new(object, "text", gw_table_json_string(line, bytes));
    print_object(object);
}

/* Ends the incomplete line of another reader. The output's lock is held. */
static void take_line(struct reader *reader)
{
    struct output *output = reader->output;
    if (!output->open || output->open == reader)
        return;
    fputc('\n', output->file);
    output->open->begun = false;
    output->open = NULL;
}

/* Prints what is before each line: its time and its rank. */
static void print_prefix(const struct reader *reader, FILE *out)
{
    char time[GW_UNITS_TIME_ROOM] = "-";
    if (reader->time_ns)
        gw_units_format_time(reader->time_ns, time);
    if (reader->stream->options.timestamps)
        fprintf(out, "%-24s ", time);
    if (reader->stream->prefix)
        fprintf(out, "[%u] ", reader->rank);
}

/* Prints text and its end: '\n', '\r', or 0 if the line is not complete. */
static void print_text(struct reader *reader, const char *text, size_t bytes, char end)
{
    struct output *output = reader->output;
    FILE *out = output->file;
    take_line(reader);
    const bool returned = reader->bar && bytes == 0 && end == '\n'; /* "\r\n" */
    if (!reader->begun && (bytes > 0 || end == '\n') && !returned)
        print_prefix(reader, out);
    fwrite(text, 1, bytes, out);
    if (bytes > 0) {
        reader->begun = true;
        output->open = reader;
    }
    if (end == '\n' && (!returned || output->open))
        fputc('\n', out);
    if (end == '\r' && output->open)
        fputc('\r', out);
    if (end)
        reader->begun = false;
    if (end == '\n')
        output->open = NULL;
}

/* Prints the gathered line. With --json, a line that will be overwritten keeps its '\r'. */
static void print_line(struct reader *reader, char end)
{
    pthread_mutex_lock(&reader->output->lock);
    if (reader->stream->options.json) {
        if (end == '\r' && reader->line_bytes > 0)
            reader->line[reader->line_bytes++] = end;
        if (reader->line_bytes > 0 || (end == '\n' && !reader->bar))
            print_json(reader, reader->line, reader->line_bytes);
    } else {
        print_text(reader, reader->line, reader->line_bytes, end);
    }
    pthread_mutex_unlock(&reader->output->lock);
    reader->bar = end ? end == '\r' : reader->bar;
    reader->line_bytes = 0;
}

/* Flushes once for each piece of output and not for each line, which would take most of the time
 * for short lines. The present state of a progress bar is printed too, because its end arrives only
 * with the next state. */
static void flush(struct reader *reader)
{
    if (reader->bar && reader->line_bytes > 0 && !reader->stream->options.json)
        print_line(reader, '\0');
    pthread_mutex_lock(&reader->output->lock);
    fflush(reader->output->file);
    pthread_mutex_unlock(&reader->output->lock);
}

static void feed(struct reader *reader, const char *data, size_t bytes)
{
    if (reader->plain) {
        pthread_mutex_lock(&reader->output->lock);
        fwrite(data, 1, bytes, reader->output->file);
        pthread_mutex_unlock(&reader->output->lock);
        return;
    }
    for (size_t i = 0; i < bytes; i++) {
        const bool line_end = data[i] == '\r' && i + 1 < bytes && data[i + 1] == '\n';
        if (data[i] == '\n' || (data[i] == '\r' && !line_end)) {
            print_line(reader, data[i]);
            continue;
        }
        if (reader->line_bytes == LINE_BYTES_MAX)
            print_line(reader, '\0');
        reader->line[reader->line_bytes++] = data[i];
    }
}

/* Completes the line at the end of an attempt, so that the next output begins a new line. */
static void end_line(struct reader *reader)
{
    if (reader->line_bytes > 0)
        print_line(reader, '\0');
    pthread_mutex_lock(&reader->output->lock);
    if (reader->output->open == reader)
        fputc('\n', reader->output->file);
    if (reader->output->open == reader)
        reader->output->open = NULL;
    pthread_mutex_unlock(&reader->output->lock);
    reader->begun = reader->bar = false;
}

/* Reports missing bytes on stderr, so that the message does not mix with the task's output. */
static void say_left_out(struct reader *reader, uint64_t bytes)
{
    if (reader->stream->options.json) {
        pthread_mutex_lock(&reader->output->lock);
        json_t *object = about(reader);
        json_object_set_new(object, "left_out", json_integer((json_int_t)bytes));
        print_object(object);
        pthread_mutex_unlock(&reader->output->lock);
        return;
    }
    flush(reader);
    gw_cli_message_left_out(bytes, reader->stream->prefix ? (int)reader->rank : -1, reader->err);
}

/* -- Reading -------------------------------------------------------------------------------------
 */

/* Stores the time of a chunk. Reports once that --since could not select output, because its time
 * is not known. */
static void note_time(struct reader *reader, const struct gw_log_chunk *chunk)
{
    const void *data;
    size_t bytes = 0;
    gw_value_get_bytes(chunk->data, &data, &bytes, NULL);
    reader->time_ns = chunk->time_ns;
    if (!reader->stream->options.since_ns || reader->time_ns || reader->blind || bytes == 0)
        return;
    reader->blind = true;
    gw_cli_message("gangway: the times of this output are not known, so all of it is printed%s",
                   reader->err ? " (standard error)" : "");
}

static int read_chunk(struct reader *reader, bool follow, struct gw_log_request *request,
                      struct gw_log_chunk *chunk, struct gw_error *error)
{
    const struct gw_tail_options *options = &reader->stream->options;
    request->job = options->job;
    request->index = options->index;
    request->rank = reader->rank;
    request->stream = reader->err ? 2 : 1;
    request->follow = follow;
    request->holds = options->holds;
    request->since_ns = options->since_ns;
    request->times = options->timestamps;
    const int rc = gw_job_log(options->client, request, chunk, error);
    if (rc == 0)
        note_time(reader, chunk);
    return rc;
}

/* After an error, informs the scheduler that this process reads no more output. Otherwise a task
 * with the option held_output would wait for it. */
static void let_go(const struct reader *reader, const struct gw_log_request *request)
{
    struct gw_log_request last = *request;
    struct gw_log_chunk chunk;
    last.offset = UINT64_MAX;
    last.follow = false;
    if (last.holds && last.attempt > 0 &&
        gw_job_log(reader->stream->options.client, &last, &chunk, NULL) == 0)
        gw_value_unref(chunk.data);
}

/* Returns the number (1, 2, ...) of the task's attempt with this id, or 0 if it is not known (any
 * more). */
static uint32_t number_of(const struct gw_value *attempts, uint64_t id)
{
    for (size_t i = 0; i < gw_value_count(attempts); i++)
        if ((uint64_t)gw_table_number(gw_value_at(attempts, i), "attempt") == id)
            return (uint32_t)gw_table_number(gw_value_at(attempts, i), "number");
    return 0;
}

/* Returns the number of the attempt whose end an event reports, or 0 if it reports something else.
 */
static uint32_t attempt_ended(const char *fact)
{
    uint32_t number;
    int end = 0;
    if (sscanf(fact, "attempt %u %n", &number, &end) != 1 || end == 0)
        return 0;
    /* "ended at" tells of an attempt that a restarted scheduler took over. */
    static const char *const ends[] = {"failed", "was", "ended,", "ended on"};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        if (strncmp(fact + end, ends[i], strlen(ends[i])) == 0)
            return number;
    return 0;
}

/* Returns the text of the newest event that reports why attempt `number` ended (0: any attempt), or
 * NULL. */
static const char *find_why(const struct gw_value *facts, uint32_t number)
{
    for (size_t i = gw_value_count(facts); i > 0; i--) {
        const char *text = gw_table_text(gw_value_at(facts, i - 1), "text");
        uint32_t ended = attempt_ended(text);
        if (ended && (number == 0 || ended == number))
            return text;
    }
    return NULL;
}

static void print_why(const char *why)
{
    if (!why)
        return;
    char *line = strndup(why, strcspn(why, "\n"));
    gw_cli_message("gangway: %s; the next attempt follows", line ? line : "out of memory");
    free(line);
}

static struct gw_value *ask(const struct gw_tail_options *options, const char *what)
{
    struct gw_value *answer = NULL, *filter = gw_selector_query(&(struct gw_selected_task){
                                        .job = options->job, .index = options->index});
    if (filter)
        (void)gw_client_query(options->client, what, filter, &answer, NULL);
    gw_value_unref(filter);
    return answer;
}

/* Prints why attempts ended: from attempt `ended` up to the attempt before `next`. Every reader
 * calls this, and each end is printed once. When this is called, several further attempts may have
 * ended already. */
static void say_why(struct gw_tail *stream, uint64_t ended, uint64_t next)
{
    const struct gw_tail_options *options = &stream->options;
    pthread_mutex_lock(&stream->lock);
    struct gw_value *attempts = options->json ? NULL : ask(options, "attempts");
    uint32_t from = number_of(attempts, ended), before = number_of(attempts, next);
    if (!options->json && (before ? stream->told + 1 < before : next > stream->told_id)) {
        struct gw_value *events = ask(options, "events");
        const struct gw_value *facts = events ? gw_value_find(events, "events") : NULL;
        from = from > stream->told ? from : stream->told + 1;
        bool known = false;
        for (uint32_t number = from; number < before; number++) {
            const char *why = find_why(facts, number);
            known = known || why;
            print_why(why);
        }
        if (!known) /* a restarted scheduler counts attempts anew */
            print_why(find_why(facts, 0));
        stream->told = before ? before - 1 : stream->told;
        stream->told_id = next;
        gw_value_unref(events);
    }
    gw_value_unref(attempts);
    pthread_mutex_unlock(&stream->lock);
}

static void copy_note(struct gw_tail *stream, const struct gw_log_chunk *chunk)
{
    if (!*chunk->note)
        return;
    pthread_mutex_lock(&stream->lock);
    memcpy(stream->note, chunk->note, sizeof stream->note);
    pthread_mutex_unlock(&stream->lock);
}

/* Returns the offset of the last `lines` lines. Text after the last newline counts as a line. */
static size_t last_lines(const char *text, size_t bytes, uint32_t lines)
{
    size_t at = bytes > 0 && text[bytes - 1] == '\n' ? bytes - 1 : bytes;
    for (uint32_t i = 0; i < lines; i++) {
        while (at > 0 && text[at - 1] != '\n')
            at--;
        if (at == 0)
            return 0;
        at--;
    }
    return lines ? at + 1 : bytes;
}

/* The last lines of the output so far. */
struct last {
    struct gw_buffer text;
    size_t trim_at;
    size_t hole_at;    /* offset in `text` at which bytes are missing */
    uint64_t left_out; /* number of these bytes; 0: none */
};

static void last_trim(struct last *last, uint32_t lines)
{
    char *text = (char *)last->text.data;
    const size_t from = last_lines(text, last->text.size, lines);
    last->text.size -= from;
    memmove(text, text + from, last->text.size);
    if (from > last->hole_at)
        last->left_out = 0;
    last->hole_at -= from < last->hole_at ? from : last->hole_at;
    last->trim_at = 2 * last->text.size;
}

/* Adds a chunk. The text is trimmed to `lines` lines each time its size has doubled. Returns false
 * if out of memory. */
static bool last_add(struct last *last, const struct gw_log_chunk *chunk, uint32_t lines)
{
    const void *data = NULL;
    size_t bytes = 0;
    gw_value_get_bytes(chunk->data, &data, &bytes, NULL);
    if (chunk->left_out > 0)
        last->hole_at = last->text.size;
    last->left_out += chunk->left_out;
    if (bytes > 0 && gw_buffer_append(&last->text, data, bytes) < 0)
        return false;
    if (bytes > 0 && last->text.size >= last->trim_at)
        last_trim(last, lines);
    return true;
}

/* Prints the last lines of the output that exists so far. Afterwards `request` continues after
 * them. Errors are ignored here, because the next read finds them again. */
static void read_tail(struct reader *reader, struct gw_log_request *request)
{
    const uint32_t lines = reader->stream->options.lines;
    struct last last = {0};
    for (bool end = false; !end;) {
        struct gw_log_chunk chunk;
        if (read_chunk(reader, false, request, &chunk, NULL) < 0)
            break;
        const bool is_new = chunk.next_offset > request->offset;
        end = chunk.end || !is_new;
        if (is_new && last_add(&last, &chunk, lines)) {
            request->attempt = chunk.attempt;
            request->offset = chunk.next_offset;
        } else {
            end = true;
        }
        gw_value_unref(chunk.data);
    }
    if (last.text.size > 0)
        last_trim(&last, lines);
    if (reader->stream->options.timestamps) { /* read again, now with times */
        request->offset -= last.text.size + last.left_out;
        gw_buffer_deinit(&last.text);
        return;
    }
    const char *text = (const char *)last.text.data;
    const size_t first = last.left_out > 0 ? last.hole_at : 0;
    if (first > 0)
        feed(reader, text, first);
    if (last.left_out > 0)
        say_left_out(reader, last.left_out);
    if (last.text.size > first)
        feed(reader, text + first, last.text.size - first);
    flush(reader);
    gw_buffer_deinit(&last.text);
}

/* Prints one attempt from its beginning. Before that, it prints why attempt `ended` ended, which
 * this reader has read before (0: none). Afterwards request->attempt is the id of the attempt, if
 * it is known. */
static int read_attempt(struct reader *reader, struct gw_log_request *request, uint64_t ended,
                        struct gw_error *error)
{
    for (;;) {
        struct gw_log_chunk chunk;
        const void *data = NULL;
        size_t bytes = 0;
        int rc = read_chunk(reader, reader->stream->options.follow, request, &chunk, error);
        if (rc < 0) {
            let_go(reader, request);
            return rc;
        }
        if (ended > 0 && request->attempt == 0 && chunk.attempt > 0)
            say_why(reader->stream, ended, chunk.attempt);
        gw_value_get_bytes(chunk.data, &data, &bytes, NULL);
        if (chunk.left_out > 0)
            say_left_out(reader, chunk.left_out);
        feed(reader, data, bytes);
        flush(reader);
        gw_value_unref(chunk.data);
        copy_note(reader->stream, &chunk);
        request->attempt = chunk.attempt;
        request->offset = chunk.next_offset;
        if (chunk.end || (bytes == 0 && chunk.left_out == 0 && !request->follow))
            break;
    }
    end_line(reader);
    flush(reader);
    return 0;
}

static void *reader_thread(void *arg)
{
    struct reader *reader = arg;
    struct gw_tail *stream = reader->stream;
    struct gw_future *future = stream->options.future;
    struct gw_log_request request =
        GW_INIT(gw_log_request, .attempt = stream->options.attempt, .after = future ? 1 : 0);
    struct gw_error error = {0};
    bool follow = stream->options.follow, onwards = future || stream->options.onwards;
    if (stream->options.tail)
        read_tail(reader, &request);
    int rc = read_attempt(reader, &request, 0, &error);
    /* A retry is another attempt, and so is a new start after the loss of a worker. */
    while (follow && onwards && request.attempt > 0 && rc != GW_ECLOSED) {
        uint64_t ended = request.attempt;
        request = (struct gw_log_request)GW_INIT(gw_log_request, .after = ended);
        int again = read_attempt(reader, &request, ended, &error);
        rc = request.attempt > 0 || again < 0 ? again : rc;
    }
    pthread_mutex_lock(&stream->lock);
    if (rc < 0 && stream->error.code == 0)
        stream->error = error;
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

/* -- All readers --------------------------------------------------------------------------------
 */

static int start(struct gw_tail *stream, uint32_t rank, bool err)
{
    struct reader *reader = &stream->readers[stream->count];
    pthread_attr_t attr;
    const struct gw_tail_options *options = &stream->options;
    bool json = options->json;
    *reader = (struct reader){.stream = stream,
                              .output = &stream->outputs[err && !json],
                              .rank = rank,
                              .err = err,
                              .plain = !stream->prefix && !json && !options->timestamps,
                              .line = malloc(LINE_BYTES_MAX + 1)};
    if (!reader->line)
        return GW_ENOMEM;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    int rc = pthread_create(&reader->thread, &attr, reader_thread, reader) == 0 ? 0 : GW_ENOMEM;
    pthread_attr_destroy(&attr);
    if (rc == 0)
        stream->count++;
    else
        free(reader->line);
    return rc;
}

int gw_tail_open(const struct gw_tail_options *options, struct gw_tail **out)
{
    uint32_t world = options->ranks ? options->ranks : 1;
    uint32_t first = options->rank >= 0 ? (uint32_t)options->rank : 0;
    uint32_t last = options->rank >= 0 ? first + 1 : world;
    struct gw_tail *stream =
        calloc(1, sizeof *stream + 2 * (size_t)(last - first) * sizeof *stream->readers);
    if (!stream)
        return GW_ENOMEM;
    stream->options = *options;
    stream->prefix = last - first > 1;
    pthread_mutex_init(&stream->lock, NULL);
    for (int i = 0; i < 2; i++) {
        pthread_mutex_init(&stream->outputs[i].lock, NULL);
        stream->outputs[i].file = i ? stderr : stdout;
    }
    int rc = 0;
    for (uint32_t rank = first; rank < last && rc == 0; rank++) {
        rc = options->out ? start(stream, rank, false) : 0;
        if (rc == 0 && options->err)
            rc = start(stream, rank, true);
        /* Without --follow, ranks are printed one after the other. */
        for (; !options->follow && stream->count > 0; stream->count--) {
            pthread_join(stream->readers[stream->count - 1].thread, NULL);
            free(stream->readers[stream->count - 1].line);
        }
    }
    if (rc < 0)
        gw_tail_close(stream, NULL);
    else
        *out = stream;
    return rc;
}

int gw_tail_close(struct gw_tail *stream, struct gw_error *error)
{
    if (!stream)
        return 0;
    for (size_t i = 0; i < stream->count; i++) {
        pthread_join(stream->readers[i].thread, NULL);
        free(stream->readers[i].line);
    }
    /* The error of a failed task already contains this. */
    if (*stream->note &&
        !(stream->options.future && gw_future_state(stream->options.future) == GW_FAILED))
        gw_cli_message("gangway: %s", stream->note);
    int rc = stream->error.code;
    if (rc < 0 && error)
        *error = stream->error;
    for (int i = 0; i < 2; i++)
        pthread_mutex_destroy(&stream->outputs[i].lock);
    pthread_mutex_destroy(&stream->lock);
    free(stream);
    return rc;
}
