/* Tails. Each reader asks for more from where it is; the scheduler answers when there is some.
 * Lines of several ranks are never mixed: a line is printed whole, with its rank before it. */
#include "client/cli/tail.h"

#include "client/cli/cli.h"
#include "client/cli/selector.h"
#include "client/cli/table.h"

#include <jansson.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 64 << 10, STACK_BYTES = 256 << 10 };

struct reader {
    struct gw_tail *stream;
    uint32_t rank;
    bool err;
    bool raw;      /* to a terminal, alone: as it comes */
    bool terminal; /* to one, line by line */
    char *line;
    size_t line_bytes;
    pthread_t thread;
};

struct gw_tail {
    struct gw_tail_options options;
    pthread_mutex_t lock; /* of what is printed, and of what follows */
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

/* What a terminal would show of a line in the end: progress bars overwrite themselves. A carriage
 * return right before the newline alone is only another way to end a line. */
static void collapse(const char **line, size_t *bytes)
{
    size_t end = *bytes;
    if (end == 0 || !memchr(*line, '\r', end - 1))
        return;
    while (end > 0 && (*line)[end - 1] == '\r')
        end--;
    const char *last = end > 0 ? memrchr(*line, '\r', end) : NULL;
    if (last) {
        end -= (size_t)(last + 1 - *line);
        *line = last + 1;
    }
    *bytes = end;
}

static void print_json(const struct reader *reader, const char *line, size_t bytes)
{
    json_t *object =
        json_pack("{s:i, s:s, s:o}", "rank", (int)reader->rank, "stream",
                  reader->err ? "err" : "out", "text", gw_table_json_string(line, bytes));
    char *dump = json_dumps(object, JSON_COMPACT);
    printf("%s\n", dump ? dump : "{}");
    free(dump);
    json_decref(object);
}

/* Prints the gathered line; `whole`: a newline came. */
static void print_line(struct reader *reader, bool whole)
{
    struct gw_tail *stream = reader->stream;
    FILE *out = reader->err ? stderr : stdout;
    const char *line = reader->line;
    size_t bytes = reader->line_bytes;
    if (reader->terminal)
        collapse(&line, &bytes);
    pthread_mutex_lock(&stream->lock);
    if (stream->options.json) {
        print_json(reader, line, bytes);
    } else {
        if (stream->prefix)
            fprintf(out, "[%u] ", reader->rank);
        fwrite(line, 1, bytes, out);
        if (whole || stream->prefix)
            fputc('\n', out);
    }
    pthread_mutex_unlock(&stream->lock);
    reader->line_bytes = 0;
}

/* Once a piece of output, not once a line: of short lines that would be most of the work. */
static void flush(const struct reader *reader)
{
    pthread_mutex_lock(&reader->stream->lock);
    fflush(reader->err && !reader->stream->options.json ? stderr : stdout);
    pthread_mutex_unlock(&reader->stream->lock);
}

static void feed(struct reader *reader, const char *data, size_t bytes)
{
    if (reader->raw) {
        pthread_mutex_lock(&reader->stream->lock);
        fwrite(data, 1, bytes, reader->err ? stderr : stdout);
        pthread_mutex_unlock(&reader->stream->lock);
        return;
    }
    for (size_t i = 0; i < bytes; i++) {
        if (data[i] == '\n') {
            print_line(reader, true);
            continue;
        }
        if (reader->line_bytes == LINE_BYTES_MAX)
            print_line(reader, false);
        reader->line[reader->line_bytes++] = data[i];
    }
}

/* -- Reading -------------------------------------------------------------------------------------
 */

static int read_chunk(struct reader *reader, struct gw_log_request *request,
                      struct gw_log_chunk *chunk, struct gw_error *error)
{
    const struct gw_tail_options *options = &reader->stream->options;
    request->job = options->job;
    request->index = options->index;
    request->rank = reader->rank;
    request->stream = reader->err ? 2 : 1;
    request->follow = options->follow;
    return gw_job_log(options->client, request, chunk, error);
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
    gw_cli_say("gangway: %s; the next follows", line ? line : "out of memory");
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
 * reader comes here. A reader may be attempts behind what the story tells by now. */
static void say_why(struct gw_tail *stream, uint64_t ended, uint64_t next)
{
    const struct gw_tail_options *options = &stream->options;
    pthread_mutex_lock(&stream->lock);
    struct gw_value *attempts = options->json ? NULL : ask(options, "attempts");
    uint32_t from = number_of(attempts, ended), before = number_of(attempts, next);
    if (!options->json && (before ? stream->told + 1 < before : next > stream->told_id)) {
        struct gw_value *story = ask(options, "story");
        const struct gw_value *facts = story ? gw_value_find(story, "facts") : NULL;
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
        gw_value_unref(story);
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

/* Prints one attempt from its beginning, and first why that ended that this reader has read before
 * it (0: none); request->attempt says which it was, afterwards at least. */
static int read_attempt(struct reader *reader, struct gw_log_request *request, uint64_t ended,
                        struct gw_error *error)
{
    for (;;) {
        struct gw_log_chunk chunk;
        const void *data = NULL;
        size_t bytes = 0;
        int rc = read_chunk(reader, request, &chunk, error);
        if (rc < 0)
            return rc;
        if (ended > 0 && request->attempt == 0 && chunk.attempt > 0)
            say_why(reader->stream, ended, chunk.attempt);
        gw_value_get_bytes(chunk.data, &data, &bytes, NULL);
        feed(reader, data, bytes);
        flush(reader);
        gw_value_unref(chunk.data);
        keep_note(reader->stream, &chunk);
        request->attempt = chunk.attempt;
        request->offset = chunk.next_offset;
        if (chunk.end || (bytes == 0 && !request->follow))
            break;
    }
    if (reader->line_bytes > 0)
        print_line(reader, false);
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
    FILE *out = err ? stderr : stdout;
    bool terminal = gw_table_is_terminal(out);
    *reader = (struct reader){.stream = stream,
                              .rank = rank,
                              .err = err,
                              .raw = terminal && !stream->prefix && !stream->options.json,
                              .terminal = !stream->options.json && isatty(fileno(out)),
                              .line = malloc(LINE_BYTES_MAX)};
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
        gw_cli_say("gangway: %s", stream->note);
    int rc = stream->error.code;
    if (rc < 0 && error)
        *error = stream->error;
    pthread_mutex_destroy(&stream->lock);
    free(stream);
    return rc;
}
