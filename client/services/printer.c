/* Prints the output of tasks. Messages wait in a queue of limited size, which both streams share.
 * Output that does not fit is dropped and counted.
 *
 * The thread writes without stdio: if nobody reads any more, no bytes may remain in a stdio buffer,
 * because exit() would block while it flushes them. The thread can be cancelled only while it
 * writes. */
#include "client/services/printer.h"

#include "graph/base/clock.h"
#include "graph/base/thread.h"
#include "graph/wire/enums.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { QUEUE_BYTES_MAX = 4 << 20, WRITE_BYTES = 4096, LOCK_MS = 10 };

/* One message with printed output. */
struct piece {
    struct piece *next;
    uint64_t skipped;  /* bytes of any task that did not fit into the queue before this message */
    uint64_t left_out; /* bytes of this task that are missing before this message */
    bool err;
    size_t bytes;
    char where[64]; /* prefix of each line */
    char text[];
};

struct gw_printer {
    pthread_t thread;
    pthread_mutex_t mutex; /* guards the queue, `closing` and `ended` */
    pthread_cond_t changed;
    struct piece *first, **last;
    size_t bytes;     /* memory that the queue uses */
    uint64_t skipped; /* bytes that did not fit since the last message */
    bool closing, ended;
    _Atomic uint64_t written; /* counts successful writes */
    struct piece *piece; /* message that the thread is writing, and its text in `text`; used by the
                            thread only */
    char *text;
};

bool gw_printer_wanted(const struct gw_client *client)
{
    return client->show_output > 0 ||
           (client->show_output == 0 && client->cluster && client->at_terminal);
}

/* Prints one line with its prefix. If the line has carriage returns, as a progress bar has, only
 * its last state is printed. */
static void print_line(FILE *out, const char *where, const char *line, size_t bytes)
{
    while (bytes > 0 && line[bytes - 1] == '\r')
        bytes--;
    const char *state = bytes > 0 ? memrchr(line, '\r', bytes) : NULL;
    if (state) {
        bytes -= (size_t)(state + 1 - line);
        line = state + 1;
    }
    fputs(where, out);
    fwrite(line, 1, bytes, out);
    fputc('\n', out);
}

static void unlock(void *file)
{
    funlockfile(file);
}

/* Writes the bytes. If the stream has no reader any more, the rest is dropped. */
static void write_bytes(struct gw_printer *printer, int fd, const char *text, size_t bytes)
{
    while (bytes > 0) {
        ssize_t taken = write(fd, text, bytes < WRITE_BYTES ? bytes : WRITE_BYTES);
        if (taken < 0 && errno == EAGAIN)
            (void)poll(&(struct pollfd){fd, POLLOUT, 0}, 1, -1);
        else if (taken < 0 && errno != EINTR)
            return;
        if (taken < 0)
            continue;
        printer->written++;
        text += taken;
        bytes -= (size_t)taken;
    }
}

/* Locks the stream. Another thread of the program may hold it while it blocks in a write. The
 * printer must stay cancellable meanwhile, and flockfile does not allow that. */
static void lock(FILE *out)
{
    while (ftrylockfile(out) != 0) {
        pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
        (void)poll(NULL, 0, LOCK_MS);
        pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    }
}

/* Writes the text. It blocks while nobody reads, and can be cancelled meanwhile. */
static void write_all(struct gw_printer *printer, FILE *out, const char *text, size_t bytes)
{
    lock(out);
    pthread_cleanup_push(unlock, out);
    pthread_setcancelstate(PTHREAD_CANCEL_ENABLE, NULL);
    fflush(out); /* the program's own output comes first */
    write_bytes(printer, fileno(out), text, bytes);
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_cleanup_pop(1);
}

static void say_skipped(struct gw_printer *printer, uint64_t bytes)
{
    char line[128];
    int length = snprintf(line, sizeof line,
                          "gangway: %" PRIu64 " bytes that tasks printed are left out here: "
                          "they came faster than they were read\n",
                          bytes);
    write_all(printer, stderr, line, (size_t)length);
}

/* Prints one message. The message and its text are stored in the printer, so that gw_printer_close
 * can free them if the thread is cancelled. */
static void print(struct gw_printer *printer, struct piece *piece)
{
    const char *at = piece->text, *end = piece->text + piece->bytes;
    size_t bytes = 0;
    printer->piece = piece;
    if (piece->skipped)
        say_skipped(printer, piece->skipped);
    if (piece->left_out) {
        char line[128];
        int length =
            snprintf(line, sizeof line, "%s%" PRIu64 " bytes of its output are left out here\n",
                     piece->where, piece->left_out);
        write_all(printer, stderr, line, (size_t)length);
    }
    FILE *lines = open_memstream(&printer->text, &bytes);
    while (lines && at < end) {
        const char *newline = memchr(at, '\n', (size_t)(end - at));
        print_line(lines, piece->where, at, (size_t)((newline ? newline : end) - at));
        at = newline ? newline + 1 : end;
    }
    if (lines && fclose(lines) == 0)
        write_all(printer, piece->err ? stderr : stdout, printer->text, bytes);
    free(printer->text);
    free(piece);
    printer->text = NULL;
    printer->piece = NULL;
}

static size_t memory_of(size_t text_bytes)
{
    return sizeof(struct piece) + text_bytes;
}

/* Removes the first message from the queue and returns it. The mutex is held. */
static struct piece *take_first(struct gw_printer *printer)
{
    struct piece *piece = printer->first;
    printer->first = piece->next;
    if (!printer->first)
        printer->last = &printer->first;
    printer->bytes -= memory_of(piece->bytes);
    return piece;
}

static void *printer_thread(void *arg)
{
    struct gw_printer *printer = arg;
    pthread_setcancelstate(PTHREAD_CANCEL_DISABLE, NULL);
    pthread_mutex_lock(&printer->mutex);
    while (printer->first || printer->skipped || !printer->closing) {
        if (!printer->first && !printer->skipped) {
            pthread_cond_wait(&printer->changed, &printer->mutex);
            continue;
        }
        struct piece *piece = printer->first ? take_first(printer) : NULL;
        const uint64_t skipped = piece ? 0 : printer->skipped;
        printer->skipped -= skipped;
        pthread_mutex_unlock(&printer->mutex);
        if (piece)
            print(printer, piece);
        else
            say_skipped(printer, skipped);
        pthread_mutex_lock(&printer->mutex);
    }
    printer->ended = true;
    pthread_cond_signal(&printer->changed);
    pthread_mutex_unlock(&printer->mutex);
    return NULL;
}

static struct gw_printer *printer_new(void)
{
    struct gw_printer *printer = calloc(1, sizeof *printer);
    if (!printer)
        return NULL;
    printer->last = &printer->first;
    pthread_mutex_init(&printer->mutex, NULL);
    pthread_cond_init(&printer->changed, NULL);
    if (gw_thread_start(&printer->thread, printer_thread, printer) == 0)
        return printer;
    free(printer);
    return NULL;
}

static struct piece *piece_new(const struct gw_msg_printed *printed)
{
    struct piece *piece = malloc(sizeof *piece + printed->data.size);
    if (!piece)
        return NULL;
    *piece = (struct piece){
        .left_out = printed->left_out, .err = printed->stream == 2, .bytes = printed->data.size};
    if (printed->rank == GW_RANK_NONE)
        (void)snprintf(piece->where, sizeof piece->where, "[%" PRIu64 "/%" PRIu32 "] ",
                       printed->job, printed->index);
    else
        (void)snprintf(piece->where, sizeof piece->where, "[%" PRIu64 "/%" PRIu32 ":%" PRIu32 "] ",
                       printed->job, printed->index, printed->rank);
    if (piece->bytes > 0)
        memcpy(piece->text, printed->data.data, piece->bytes);
    return piece;
}

void gw_printer_take(struct gw_client *client, const struct gw_msg_printed *printed)
{
    if (!client->printer)
        client->printer = printer_new();
    struct gw_printer *printer = client->printer;
    if (!printer)
        return;
    const size_t memory = memory_of(printed->data.size);
    pthread_mutex_lock(&printer->mutex);
    struct piece *piece = printer->bytes + memory <= QUEUE_BYTES_MAX ? piece_new(printed) : NULL;
    if (!piece) {
        printer->skipped += printed->left_out + printed->data.size;
    } else {
        piece->skipped = printer->skipped;
        printer->skipped = 0;
        printer->bytes += memory;
        *printer->last = piece;
        printer->last = &piece->next;
        pthread_cond_signal(&printer->changed);
    }
    pthread_mutex_unlock(&printer->mutex);
}

/* Waits until the thread has ended, or until nothing was written for patience_ns. The mutex is
 * held. */
static void await_end(struct gw_printer *printer, uint64_t patience_ns)
{
    uint64_t written = UINT64_MAX;
    while (!printer->ended && written != printer->written) {
        const uint64_t until_ns = gw_clock_now_ns() + patience_ns;
        const struct timespec until = {(time_t)(until_ns / GW_NS_PER_S),
                                       (long)(until_ns % GW_NS_PER_S)};
        written = printer->written;
        while (!printer->ended && pthread_cond_clockwait(&printer->changed, &printer->mutex,
                                                         CLOCK_MONOTONIC, &until) == 0)
            continue;
    }
}

void gw_printer_close(struct gw_client *client, uint64_t patience_ns)
{
    struct gw_printer *printer = client->printer;
    if (!printer)
        return;
    pthread_mutex_lock(&printer->mutex);
    printer->closing = true;
    pthread_cond_signal(&printer->changed);
    await_end(printer, patience_ns);
    const bool ended = printer->ended;
    pthread_mutex_unlock(&printer->mutex);
    if (!ended)
        pthread_cancel(printer->thread);
    pthread_join(printer->thread, NULL);
    while (printer->first)
        free(take_first(printer));
    pthread_mutex_destroy(&printer->mutex);
    pthread_cond_destroy(&printer->changed);
    free(printer->piece);
    free(printer->text);
    free(printer);
    client->printer = NULL;
}
