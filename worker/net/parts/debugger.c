/* Runs one gdb, which attaches to one rank after the other and prints the stacks of its threads.
 * gdb has a few seconds for all ranks and is then killed. Its output until then is used. It runs no
 * code of the processes, loads no scripts and asks no server for symbols. If the kernel forbids
 * attaching (another user's process, Yama), there is no output for that rank.
 *
 * If gdb is killed between attaching and detaching, its process may stay stopped. So each process
 * that was not stopped before gets SIGCONT. */
#include "worker/net/parts/debugger.h"

#include "graph/base/log.h"
#include "graph/base/must.h"

#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    LIMIT_MS = 5000,
    KILLED_MS = 1000, /* time to wait after the kill */
    SAID_BYTES = 1024 * 1024,
    LINE_BYTES = 512,
    COMMAND_BYTES = 32,
    ARGV_FIXED = 13,
    ARGV_RANK = 8, /* arguments per rank */
};

#define MARK "gangway rank "

extern char **environ;

struct gw_debugger {
    struct gw_debugger_options options;
    struct gw_debugger_rank ranks[GW_DEBUGGER_RANKS_MAX];
    uv_process_t process;
    uv_pipe_t pipe;
    uv_timer_t timer;
    uint32_t open; /* number of handles that are not closed */
    bool exited, ended, killed, done;
    size_t bytes;
    char said[SAID_BYTES + 1];
};

static void on_closed(uv_handle_t *handle)
{
    struct gw_debugger *debugger = handle->data;
    if (--debugger->open == 0)
        free(debugger);
}

static void close_handle(uv_handle_t *handle)
{
    if (!uv_is_closing(handle))
        uv_close(handle, on_closed);
}

static void kill_all(struct gw_debugger *debugger)
{
    if (!debugger->exited)
        (void)kill(-debugger->process.pid, SIGKILL); /* gdb is in a session of its own */
    debugger->killed = true;
}

/* Ends the debugger and calls on_done. If gdb does not die, the handle of its process stays until
 * it does. */
static void finish(struct gw_debugger *debugger)
{
    close_handle((uv_handle_t *)&debugger->pipe);
    close_handle((uv_handle_t *)&debugger->timer);
    if (debugger->done)
        return;
    debugger->done = true;
    debugger->said[debugger->bytes] = '\0';
    debugger->options.on_done(debugger->said, debugger->options.arg);
}

static void on_exited(uv_process_t *process, int64_t status, int term_signal)
{
    struct gw_debugger *debugger = process->data;
    (void)status;
    (void)term_signal;
    debugger->exited = true;
    for (uint32_t i = 0; i < debugger->options.count && debugger->killed; i++)
        if (!debugger->ranks[i].stopped)
            (void)kill(debugger->ranks[i].pid, SIGCONT);
    close_handle((uv_handle_t *)process);
    if (debugger->ended || debugger->killed)
        finish(debugger);
}

static void on_alloc(uv_handle_t *handle, size_t wanted, uv_buf_t *buffer)
{
    static char rest[4096]; /* receives output beyond SAID_BYTES, which is dropped */
    struct gw_debugger *debugger = handle->data;
    size_t left = SAID_BYTES - debugger->bytes;
    (void)wanted;
    *buffer = left ? uv_buf_init(debugger->said + debugger->bytes, (unsigned)left)
                   : uv_buf_init(rest, sizeof rest);
}

static void on_read(uv_stream_t *stream, ssize_t bytes, const uv_buf_t *buffer)
{
    struct gw_debugger *debugger = stream->data;
    if (bytes > 0 && buffer->base == debugger->said + debugger->bytes &&
        debugger->bytes < SAID_BYTES)
        debugger->bytes += (size_t)bytes;
    if (bytes >= 0)
        return;
    debugger->ended = true;
    (void)uv_read_stop(stream);
    if (debugger->exited)
        finish(debugger);
}

static void on_time(uv_timer_t *timer)
{
    struct gw_debugger *debugger = timer->data;
    /* Another process holds the pipe, or gdb does not die */
    if (debugger->exited || debugger->killed) {
        finish(debugger);
        return;
    }
    gw_log_warn(
        "gdb has not read the stacks of hanging ranks in time and was killed: they are not shown");
    kill_all(debugger);
    (void)uv_timer_start(timer, on_time, KILLED_MS, 0);
}

/* Returns a copy of the worker's environment in which gdb asks no debuginfod server for symbols. */
static char **make_environment(void)
{
    static char no_servers[] = "DEBUGINFOD_URLS=";
    size_t count = 0, retained = 0;
    while (environ[count])
        count++;
    char **copy = calloc(count + 2, sizeof *copy);
    GW_MUST_PTR(copy);
    for (size_t i = 0; i < count; i++)
        if (strncmp(environ[i], no_servers, sizeof no_servers - 1) != 0)
            copy[retained++] = environ[i];
    copy[retained] = no_servers;
    return copy;
}

static int spawn(struct gw_debugger *debugger)
{
    char marks[GW_DEBUGGER_RANKS_MAX][COMMAND_BYTES], attach[GW_DEBUGGER_RANKS_MAX][COMMAND_BYTES];
    char *argv[ARGV_FIXED + ARGV_RANK * GW_DEBUGGER_RANKS_MAX + 1] = {
        "gdb",  "-nx",
        "-nh",  "-batch",
        "-iex", "set auto-load no",
        "-iex", "set print address off",
        "-iex", "set print frame-arguments presence",
        "-iex", "set width 0",
        "-q"};
    size_t count = ARGV_FIXED;
    for (uint32_t i = 0; i < debugger->options.count; i++) {
        (void)snprintf(marks[i], COMMAND_BYTES, "echo " MARK "%u\\n", debugger->ranks[i].rank);
        (void)snprintf(attach[i], COMMAND_BYTES, "attach %d", (int)debugger->ranks[i].pid);
        char *words[ARGV_RANK] = {"-ex",     marks[i], "-ex",
                                  attach[i], "-ex",    "thread apply all -ascending bt 64",
                                  "-ex",     "detach"};
        memcpy(argv + count, words, sizeof words);
        count += ARGV_RANK;
    }
    char **environment = make_environment();
    uv_stdio_container_t stdio[] = {
        {.flags = UV_IGNORE},
        {.flags = UV_CREATE_PIPE | UV_WRITABLE_PIPE, .data.stream = (uv_stream_t *)&debugger->pipe},
        {.flags = UV_IGNORE},
    };
    /* So that it can be killed with its children */
    uv_process_options_t options = {.exit_cb = on_exited,
                                    .file = "gdb",
                                    .args = argv,
                                    .env = environment,
                                    .stdio = stdio,
                                    .stdio_count = 3,
                                    .flags = UV_PROCESS_DETACHED};
    int rc = uv_spawn(debugger->options.loop, &debugger->process, &options);
    free(environment);
    return rc;
}

struct gw_debugger *gw_debugger_start(const struct gw_debugger_options *options)
{
    struct gw_debugger *debugger = calloc(1, sizeof *debugger);
    GW_MUST_PTR(debugger);
    debugger->options = *options;
    if (options->count > GW_DEBUGGER_RANKS_MAX)
        debugger->options.count = GW_DEBUGGER_RANKS_MAX;
    memcpy(debugger->ranks, options->ranks, debugger->options.count * sizeof *debugger->ranks);
    debugger->options.ranks = debugger->ranks;
    (void)uv_pipe_init(options->loop, &debugger->pipe, 0);
    (void)uv_timer_init(options->loop, &debugger->timer);
    debugger->process.data = debugger->pipe.data = debugger->timer.data = debugger;
    debugger->open = 3;
    if (spawn(debugger) < 0) {
        debugger->exited = debugger->done = true;
        close_handle((uv_handle_t *)&debugger->process);
        finish(debugger);
        return NULL;
    }
    (void)uv_read_start((uv_stream_t *)&debugger->pipe, on_alloc, on_read);
    (void)uv_timer_start(&debugger->timer, on_time,
                         options->limit_ms ? options->limit_ms : LIMIT_MS, 0);
    return debugger;
}

void gw_debugger_cancel(struct gw_debugger *debugger)
{
    debugger->done = true;
    kill_all(debugger);
    finish(debugger);
}

/* -- Parsing the output --------------------------------------------------------------------------
 */

static bool begins(const char *line, const char *with)
{
    return strncmp(line, with, strlen(with)) == 0;
}

/* Returns true for the lines of threads and frames. */
static bool is_useful(const char *line, size_t length)
{
    return *line == '#' || (begins(line, "Thread ") && length > 0 && line[length - 1] == ':');
}

/* Returns the length of a path's prefix up to the folder of a program, which is named by a hash. 0:
 * the path is another one. */
static size_t hashed_bytes(const char *path, size_t length)
{
    enum { DIGITS = 64 };
    for (size_t i = 0; i + DIGITS + 1 < length; i++) {
        size_t digits = path[i] == '/' ? strspn(path + i + 1, "0123456789abcdef") : 0;
        if (digits == DIGITS && i + 1 + digits < length && path[i + 1 + digits] == '/')
            return i + digits + 2;
    }
    return 0;
}

/* Copies a line without the prefix of programs. Returns the length, at most LINE_BYTES. */
static size_t copy_line(const char *line, size_t length, char to[static LINE_BYTES])
{
    size_t used = 0;
    for (size_t i = 0; i < length && used < LINE_BYTES; i++) {
        if (line[i] == '/' && (i == 0 || line[i - 1] == ' ' || line[i - 1] == '"')) {
            const char *end = memchr(line + i, ' ', length - i);
            i += hashed_bytes(line + i, end ? (size_t)(end - line) - i : length - i);
        }
        to[used++] = (unsigned char)line[i] < ' ' || line[i] == 0x7f ? '?' : line[i];
    }
    return used;
}

void gw_debugger_frames(const char *said, uint32_t rank, char *to, size_t bytes)
{
    char mark[COMMAND_BYTES], copy[LINE_BYTES];
    size_t used = 0;
    bool ours = false;
    (void)snprintf(mark, sizeof mark, MARK "%u\n", rank);
    *to = '\0';
    for (const char *line = said, *next; *line; line = next) {
        size_t length = strcspn(line, "\n");
        next = line + length + (line[length] == '\n');
        if (begins(line, MARK))
            ours = begins(line, mark);
        if (!ours || !is_useful(line, length))
            continue;
        length = copy_line(line, length, copy);
        if (used + length + sizeof "  \n" > bytes)
            return;
        used += (size_t)snprintf(to + used, bytes - used, "  %.*s\n", (int)length, copy);
    }
}

/* -- Brief text ----------------------------------------------------------------------------------
 */

/* Returns the last occurrence of a text in a line. NULL: none. */
static const char *last_of(const char *line, size_t length, const char *text)
{
    const size_t size = strlen(text);
    for (size_t i = length < size ? 0 : length - size + 1; i-- > 0;)
        if (memcmp(line + i, text, size) == 0)
            return line + i;
    return NULL;
}

struct frame {
    const char *name, *place; /* place: file and line; NULL: unknown */
    size_t name_length, place_length;
    bool waits;   /* a function of libc, or unknown */
    bool outside; /* the frame and its callers are not part of a task */
};

static bool is_named(const struct frame *frame, const char *name)
{
    return frame->name_length == strlen(name) && begins(frame->name, name);
}

/* Parses a frame like "#3 work (...) at src/work.c:7". Returns false if the line is not a frame. */
static bool read_frame(const char *line, size_t length, struct frame *frame)
{
    if (length < 5 || !begins(line, "  #"))
        return false;
    const char *end = line + length, *at = memchr(line + 2, ' ', length - 2);
    while (at && at < end && *at == ' ')
        at++;
    const char *in = at && begins(at, "0x") ? memmem(at, (size_t)(end - at), " in ", 4) : NULL;
    at = in ? in + 4 : at;
    if (!at || at >= end)
        return false;
    const char *stop = memmem(at, (size_t)(end - at), " (", 2);
    *frame = (struct frame){.name = at, .name_length = (size_t)((stop ? stop : end) - at)};
    const char *file = last_of(at, (size_t)(end - at), " at ");
    file = file ? file : last_of(at, (size_t)(end - at), " from ");
    const char *slash = file ? last_of(file, (size_t)(end - file), "/") : NULL;
    frame->place = slash ? slash + 1 : file ? strchr(file + 1, ' ') + 1 : NULL;
    frame->place_length = frame->place ? (size_t)(end - frame->place) : 0;
    static const char *const waiting[] = {"??",    "__",     "syscall",   "futex_", "clock_nano",
                                          "sleep", "usleep", "nanosleep", "_start", "clone"};
    frame->waits = file && memmem(file, (size_t)(end - file), "/sysdeps/", 9) != NULL;
    for (size_t i = 0; i < sizeof waiting / sizeof *waiting; i++)
        frame->waits = frame->waits || begins(at, waiting[i]);
    frame->waits = frame->waits || memmem(at, (size_t)(end - at), "/libc.so", 8) != NULL;
    frame->outside = is_named(frame, "gw_task_run");
    return true;
}

/* Writes the frames of the thread that begins at `line`. waiting: also those in which it waits.
 * Returns the number of frames. */
static int say_thread(const char *line, bool waiting, char *to, size_t bytes)
{
    int said = 0;
    size_t used = 0;
    struct frame frame;
    *to = '\0';
    for (; *line && said < GW_DEBUGGER_BRIEF_FRAMES; line += *line == '\n') {
        const size_t length = strcspn(line, "\n");
        if (!read_frame(line, length, &frame) || frame.outside)
            return said;
        line += length;
        if (frame.waits && !waiting)
            continue;
        int size = snprintf(to + used, bytes - used, frame.place ? "%s%.*s (%.*s)" : "%s%.*s",
                            said ? ", " : "", (int)frame.name_length, frame.name,
                            (int)frame.place_length, frame.place ? frame.place : "");
        if (size < 0 || (size_t)size >= bytes - used) {
            to[used] = '\0';
            return said;
        }
        used += (size_t)size;
        said++;
    }
    return said;
}

void gw_debugger_brief(const char *frames, char *to, size_t bytes)
{
    const char *first = NULL;
    *to = '\0';
    for (const char *line = frames; *line; line += strcspn(line, "\n"), line += *line == '\n') {
        if (!begins(line, "  #0"))
            continue;
        first = first ? first : line;
        if (say_thread(line, false, to, bytes) > 0)
            return;
    }
    if (first)
        (void)say_thread(first, true, to, bytes);
}
