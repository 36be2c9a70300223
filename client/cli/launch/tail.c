/* Tails. Each reader asks for more from where it is, when it has printed what it has; the scheduler
 * answers when there is some. So who reads our output slowly holds back the task that waits for its
 * reader.
 *
 * The output of one task is printed byte for byte. Lines of several ranks are never mixed: a line
 * is printed when it is whole, with its rank before it. A carriage return ends one, too, which its
 * next state overwrites, unless another rank has printed since. */
#include "client/cli/launch/tail.h"

#include "client/cli/lib/cli.h"
#include "client/cli/lib/selector.h"
#include "client/cli/lib/table.h"
#include "graph/wire/message.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 64 << 10, STACK_BYTES = 256 << 10 };

/* What several readers print to. */
struct output {
    pthread_mutex_t lock;
    FILE *file;
    struct reader *open; /* whose text the last line is, which has no end yet; NULL: it has */
};

struct reader {
    struct gw_tail *stream;
    struct output *output;
    uint32_t rank;
    bool err;
    bool plain; /* alone: as it comes */
    bool bar;   /* the last line ended with a carriage return: it will be overwritten */
    bool begun; /* its text stands at the end of the last line */
    char *line; /* what has no end yet, and is not printed */
    size_t line_bytes;
    pthread_t thread;
};

struct gw_tail {
    struct gw_tail_options options;
    struct output outputs[2]; /* lines of JSON: the first */
    pthread_mutex_t lock;     /* of what follows */
    struct gw_error error;
    char note[GW_LOG_NOTE_MAX]; /* why less may be printed than was written */
    uint32_t told;              /* the newest attempt of which it was said why it ended; 0: none */
    uint64_t told_id;           /* the attempt that came after it, by its id */
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
    json_object_set_new(object, "text", gw_table_json_string(line, bytes));
    print_object(object);
}

/* Ends a line that another one has begun. The output's lock is held. */
static void take_line(struct reader *reader)
{
    struct output *output = reader->output;
    if (!output->open || output->open == reader)
        return;
    fputc('\n', output->file);
    output->open->begun = false;
    output->open = NULL;
}

/* Prints text, and how it ended: by '\n', by '\r', or (0) not yet. */
static void print_text(struct reader *reader, const char *text, size_t bytes, char end)
{
    struct output *output = reader->output;
    FILE *out = output->file;
    take_line(reader);
    const bool returned = reader->bar && bytes == 0 && end == '\n'; /* "\r\n" */
    if (!reader->begun && (bytes > 0 || end == '\n') && !returned)
        fprintf(out, "[%u] ", reader->rank);
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

/* Prints what was gathered. In JSON a line that will be overwritten keeps its '\r'. */
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

/* Once a piece of output, not once a line: of short lines that would be most of the work. Of a bar
 * what is there is shown: its end comes with its next state. */
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

/* The end of an attempt: what comes next begins a line. */
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

/* Not among what was printed: that is somebody's data. */
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
    return gw_job_log(options->client, request, chunk, error);
}

/* What cannot be read on is not waited for any more. */
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

/* Which of the task's attempts, 1, 2, ..., has an id; 0: that is not known (any more). */
static uint32_t number_of(const struct gw_value *attempts, uint64_t id)
{
    for (size_t i = 0; i < gw_value_count(attempts); i++)
        if ((uint64_t)gw_table_number(gw_value_at(attempts, i), "attempt") == id)
            return (uint32_t)i + 1;
    return 0;
}

/* The number of the attempt whose end a fact tells; 0: it tells something else. */
static uint32_t attempt_ended(const char *fact)
{
    uint32_t number;
    int end = 0;
    if (sscanf(fact, "attempt %u %n", &number, &end) != 1 || end == 0)
        return 0;
    return strncmp(fact + end, "failed", 6) == 0 || strncmp(fact + end, "was", 3) == 0 ? number : 0;
}

/* The newest fact that tells why an attempt ended: that with a number, or (0) any; NULL: none. */
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
    gw_cli_message("gangway: %s; the next follows", line ? line : "out of memory");
    free(line);
}

static struct gw_value *ask(const struct gw_tail_options *options, const char *what)
{
    struct gw_value *answer = NULL, *question = gw_selector_question(&(struct gw_selected_task){
                                        .job = options->job, .index = options->index});
    if (question)
        (void)gw_client_query(options->client, what, question, &answer, NULL);
    gw_value_unref(question);
    return answer;
}

/* Says why attempts ended, from one to before that which is read next: once each, though every
 * reader comes here. A reader may be attempts behind the event log. */
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
        if (!known) /* the scheduler has begun anew since, and counts others */
            print_why(find_why(facts, 0));
        stream->told = before ? before - 1 : stream->told;
        stream->told_id = next;
        gw_value_unref(events);
    }
    gw_value_unref(attempts);
    pthread_mutex_unlock(&stream->lock);
}

static void keep_note(struct gw_tail *stream, const struct gw_log_chunk *chunk)
{
    if (!*chunk->note)
        return;
    pthread_mutex_lock(&stream->lock);
    memcpy(stream->note, chunk->note, sizeof stream->note);
    pthread_mutex_unlock(&stream->lock);
}

/* Where the last `lines` lines of some output begin; what is behind the last newline is a line. */
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

/* The last lines that have come. */
struct last {
    struct gw_buffer text;
    size_t trim_at;
    size_t hole_at;    /* where in text something is left out, */
    uint64_t left_out; /* so much; 0: nothing */
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

/* Adds what comes next. Lines are counted when there is twice as much as they took. False: out of
 * memory. */
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

/* Prints the last lines of what an attempt has written by now. The request is then about what comes
 * behind it: who asks that finds any error again. */
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

/* Prints one attempt from its beginning, and first why that ended that this reader has read before
 * it (0: none); request->attempt says which it was, afterwards at least. */
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
        keep_note(reader->stream, &chunk);
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
    struct gw_log_request request = {.attempt = stream->options.attempt, .after = future ? 1 : 0};
    struct gw_error error = {0};
    bool follow = stream->options.follow, onwards = future || stream->options.onwards;
    if (stream->options.tail)
        read_tail(reader, &request);
    int rc = read_attempt(reader, &request, 0, &error);
    /* A retry, or another worker after this one was lost, is another attempt. */
    while (follow && onwards && request.attempt > 0 && rc != GW_ECLOSED) {
        uint64_t ended = request.attempt;
        request = (struct gw_log_request){.after = ended};
        int again = read_attempt(reader, &request, ended, &error);
        rc = request.attempt > 0 || again < 0 ? again : rc;
    }
    pthread_mutex_lock(&stream->lock);
    if (rc < 0 && stream->error.code == 0)
        stream->error = error;
    pthread_mutex_unlock(&stream->lock);
    return NULL;
}

/* -- All of them ---------------------------------------------------------------------------------
 */

static int start(struct gw_tail *stream, uint32_t rank, bool err)
{
    struct reader *reader = &stream->readers[stream->count];
    pthread_attr_t attr;
    bool json = stream->options.json;
    *reader = (struct reader){.stream = stream,
                              .output = &stream->outputs[err && !json],
                              .rank = rank,
                              .err = err,
                              .plain = !stream->prefix && !json,
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
        /* What is not live is printed rank by rank. */
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
    /* What failed says so itself. */
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
