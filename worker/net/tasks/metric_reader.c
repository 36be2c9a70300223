/* Reads metrics from the output files of commands, piece by piece.
 *
 * Invariants: a piece is read once. Of each piece at most METRICS_A_PIECE values of a metric are
 * passed on, and always the last one. A line ends with a newline or a carriage return, since
 * progress bars end with the latter; only its first LINE_BYTES_MAX bytes are looked at. A hole in a
 * file (output that was cut) ends a line, and what was before the hole in that line is dropped. */
#include "worker/net/tasks/metric_reader.h"

#include "graph/base/clock.h"
#include "graph/base/files.h"
#include "graph/base/must.h"
#include "worker/net/link/state.h"
#include "worker/net/link/step.h"
#include "worker/net/parts/metric_line.h"

#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum {
    PIECE_BYTES = 256 << 10,
    PIECES_A_TURN = 8,
    LINE_BYTES_MAX = 64 << 10,
    METRICS_A_PIECE = 200,
    EVERY_MS = 100,
    BEHIND_MS = 5, /* while there is more than a turn reads */
};

struct gw_metric_reader {
    struct gw_host *host;
    uint64_t process;
    struct gw_metric_names names;
    uint64_t lines[GW_METRICS_READ_MAX];  /* number of lines with each metric */
    uint32_t passed[GW_METRICS_READ_MAX]; /* in this piece */
    struct gw_metric_line last; /* values of this piece that were not passed on, with their steps */
    int64_t last_steps[GW_METRICS_READ_MAX];
    int fd; /* -1: the file does not exist yet */
    off_t offset;
    bool skips; /* the rest of a line is skipped */
    size_t line_bytes;
    char line[LINE_BYTES_MAX]; /* the beginning of a line that is not complete */
    char path[];
};

/* -- Lines ---------------------------------------------------------------------------------------
 */

static void pass(const struct gw_metric_reader *reader, uint32_t i, int64_t step, double value)
{
    struct gw_message message = {.type = GW_MESSAGE_metric};
    message.metric = (struct gw_msg_metric){.step = step,
                                            .name = reader->names.names[i],
                                            .value = value,
                                            .wall_ns = gw_clock_wall_ns()};
    (void)gw_host_step(reader->host, &(struct gw_event){.type = GW_EVENT_REPORTED,
                                                        .number = reader->process,
                                                        .message = &message});
}

static void on_line(struct gw_metric_reader *reader, const char *line, size_t bytes)
{
    struct gw_metric_line found;
    gw_metric_line_read(&reader->names, line, bytes, &found);
    for (uint32_t i = 0; i < reader->names.count; i++) {
        const uint32_t bit = UINT32_C(1) << i;
        if (!(found.found & bit))
            continue;
        reader->lines[i]++;
        const int64_t step = found.has_step ? found.step : (int64_t)reader->lines[i];
        if (reader->passed[i] < METRICS_A_PIECE) {
            reader->passed[i]++;
            pass(reader, i, step, found.values[i]);
            continue;
        }
        reader->last.found |= bit;
        reader->last.values[i] = found.values[i];
        reader->last_steps[i] = step;
    }
}

static void piece_end(struct gw_metric_reader *reader)
{
    const uint32_t left = reader->last.found;
    reader->last.found = 0;
    memset(reader->passed, 0, sizeof reader->passed);
    for (uint32_t i = 0; i < reader->names.count; i++)
        if (left & UINT32_C(1) << i)
            pass(reader, i, reader->last_steps[i], reader->last.values[i]);
}

/* Adds the part of a line that is in this piece. */
static void add(struct gw_metric_reader *reader, const char *part, size_t bytes)
{
    const size_t room = sizeof reader->line - reader->line_bytes;
    bytes = bytes < room ? bytes : room;
    memcpy(reader->line + reader->line_bytes, part, bytes);
    reader->line_bytes += bytes;
}

static void line_end(struct gw_metric_reader *reader)
{
    if (!reader->skips && reader->line_bytes)
        on_line(reader, reader->line, reader->line_bytes);
    reader->skips = false;
    reader->line_bytes = 0;
}

/* Handles a part of the output without a newline, which a newline follows if `ends`. */
static void on_part(struct gw_metric_reader *reader, const char *part, size_t bytes, bool ends)
{
    const char *end = part + bytes, *stop;
    do {
        stop = memchr(part, '\r', (size_t)(end - part));
        const size_t length = (size_t)((stop ? stop : end) - part);
        const bool complete = stop || ends;
        if (complete && !reader->line_bytes && !reader->skips && length <= sizeof reader->line) {
            on_line(reader, part, length);
        } else {
            add(reader, part, length);
            if (complete)
                line_end(reader);
        }
        part += length + (stop != NULL);
    } while (stop);
}

static void on_piece(struct gw_metric_reader *reader, const char *piece, size_t bytes)
{
    const char *end = piece + bytes, *newline;
    for (; piece < end && (newline = memchr(piece, '\n', (size_t)(end - piece)));
         piece = newline + 1)
        on_part(reader, piece, (size_t)(newline - piece), true);
    if (piece < end)
        on_part(reader, piece, (size_t)(end - piece), false);
    piece_end(reader);
}

/* -- Files ---------------------------------------------------------------------------------------
 */

/* Reads a piece. Returns true if there may be more. */
static bool read_piece(struct gw_metric_reader *reader)
{
    static char piece[PIECE_BYTES];
    if (reader->fd < 0)
        reader->fd = gw_files_open(reader->path, O_RDONLY | O_CLOEXEC, 0);
    const off_t data = reader->fd < 0 ? -1 : lseek(reader->fd, reader->offset, SEEK_DATA);
    if (data < 0)
        return false;
    if (data > reader->offset) {
        reader->line_bytes = 0;
        reader->skips = true;
        reader->offset = data;
    }
    const ssize_t got = pread(reader->fd, piece, sizeof piece, reader->offset);
    if (got <= 0)
        return false;
    reader->offset += got;
    on_piece(reader, piece, (size_t)got);
    return true;
}

static void readers_on_timer(uv_timer_t *timer)
{
    struct gw_host *host = timer->data;
    uint64_t next_ms = EVERY_MS;
    for (size_t i = 0; i < host->metric_readers.count && !host->exiting; i++) {
        int pieces = 0;
        while (pieces < PIECES_A_TURN && read_piece(host->metric_readers.items[i]))
            pieces++;
        if (pieces == PIECES_A_TURN)
            next_ms = BEHIND_MS;
    }
    if (host->metric_readers.count && !host->exiting)
        (void)uv_timer_start(timer, readers_on_timer, next_ms, 0);
}

/* -- Readers -------------------------------------------------------------------------------------
 */

static void reader_free(struct gw_metric_reader *reader)
{
    if (reader->fd >= 0)
        close(reader->fd);
    free(reader);
}

void gw_metric_readers_begin(struct gw_host *host, uint64_t process, const char *path,
                             const char *metrics)
{
    if (!metrics || !*metrics)
        return;
    struct gw_metric_reader *reader = calloc(1, sizeof *reader + strlen(path) + 1);
    GW_MUST_PTR(reader);
    reader->host = host;
    reader->process = process;
    reader->fd = -1;
    strcpy(reader->path, path);
    gw_metric_line_init(&reader->names, metrics);
    GW_MUST(gw_array_push(&host->metric_readers, reader));
    if (!uv_is_active((uv_handle_t *)&host->metric_timer) && !host->exiting)
        (void)uv_timer_start(&host->metric_timer, readers_on_timer, EVERY_MS, 0);
}

void gw_metric_readers_end(struct gw_host *host, uint64_t process)
{
    for (size_t i = host->metric_readers.count; i-- > 0;) {
        struct gw_metric_reader *reader = host->metric_readers.items[i];
        if (reader->process != process)
            continue;
        /* In a step the process was not started */
        while (!host->stepping && !host->exiting && read_piece(reader))
            ;
        if (!host->stepping && !host->exiting) {
            line_end(reader);
            piece_end(reader);
        }
        reader_free(reader);
        gw_array_remove_swap(&host->metric_readers, i);
    }
}

void gw_metric_readers_deinit(struct gw_host *host)
{
    struct gw_metric_reader **reader;
    GW_ARRAY_EACH (&host->metric_readers, reader)
        reader_free(*reader);
    gw_array_deinit(&host->metric_readers);
}
