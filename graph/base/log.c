/* Log lines. A line is built on the stack and written with one write call, so that lines of several
 * threads and processes do not mix. A line that is too long is cut. */
#include "graph/base/log.h"

#include "graph/base/clock.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 4096 };

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char *process_name = "gangway";
static enum gw_log_level level_max = GW_LOG_WARN;
static uint64_t bytes_max = UINT64_MAX; /* maximum size of the log file; UINT64_MAX: no limit */
static pthread_mutex_t rolling = PTHREAD_MUTEX_INITIALIZER;

void gw_log_init(const char *process, enum gw_log_level level)
{
    process_name = process;
    level_max = level;
    const char *wanted = getenv("GANGWAY_LOG");
    if (!wanted)
        return;
    for (size_t i = 0; i < sizeof level_names / sizeof *level_names; i++)
        if (strcmp(wanted, level_names[i]) == 0)
            level_max = (enum gw_log_level)i;
}

/* Appends formatted text to the line at offset `at`. Returns the new end of the line. */
static size_t GW_PRINTF(3, 0) line_add(char *line, size_t at, const char *format, va_list args)
{
    int length = vsnprintf(line + at, LINE_BYTES_MAX - at, format, args);
    if (length < 0)
        return at;
    return (size_t)length < LINE_BYTES_MAX - at ? at + (size_t)length : LINE_BYTES_MAX - 1;
}

/* -- Rolling -------------------------------------------------------------------------------------
 */

void gw_log_limit(uint64_t bytes)
{
    bytes_max = bytes ? bytes : GW_LOG_BYTES_MAX;
}

static bool write_all(int fd, const char *data, size_t bytes)
{
    while (bytes > 0) {
        ssize_t wrote = write(fd, data, bytes);
        if (wrote < 0 && errno == EINTR)
            continue;
        if (wrote <= 0)
            return false;
        data += wrote;
        bytes -= (size_t)wrote;
    }
    return true;
}

/* Copies the whole log file to another file, including lines that are written meanwhile. */
static bool copy_to(const char *path)
{
    static char part[1 << 16]; /* static, protected by the lock */
    int from = open("/proc/self/fd/2", O_RDONLY | O_CLOEXEC);
    int to = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_NOFOLLOW | O_CLOEXEC, 0600);
    bool well = from >= 0 && to >= 0;
    ssize_t got = 1;
    while (well && got > 0) {
        got = read(from, part, sizeof part);
        well = got >= 0 && write_all(to, part, (size_t)got);
    }
    if (from >= 0)
        close(from);
    if (to >= 0 && close(to) < 0)
        well = false;
    return well;
}

/* Moves the content of the log file to PATH.1 and empties the file. The file is not replaced,
 * because other processes have it open, too. */
static void roll(void)
{
    struct stat stat;
    char path[PATH_MAX];
    if (fstat(STDERR_FILENO, &stat) < 0 || !S_ISREG(stat.st_mode) || stat.st_nlink == 0 ||
        (uint64_t)stat.st_size < bytes_max || !(fcntl(STDERR_FILENO, F_GETFL) & O_APPEND))
        return;
    ssize_t length = readlink("/proc/self/fd/2", path, sizeof path - sizeof ".1");
    if (length <= 0 || (size_t)length >= sizeof path - sizeof ".1")
        return;
    memcpy(path + length, ".1", sizeof ".1");
    if (!copy_to(path))
        (void)unlink(path); /* do not keep an incomplete copy */
    if (ftruncate(STDERR_FILENO, 0) < 0)
        bytes_max = UINT64_MAX; /* the file cannot be truncated: do not try again at every line */
}

static void line_out(const char *line, size_t bytes)
{
    bool limited = bytes_max < UINT64_MAX;
    if (limited)
        (void)pthread_mutex_lock(&rolling);
    (void)write_all(STDERR_FILENO, line, bytes);
    if (limited) {
        roll();
        (void)pthread_mutex_unlock(&rolling);
    }
}

/* -- Callback ------------------------------------------------------------------------------------
 */

static pthread_mutex_t printing = PTHREAD_MUTEX_INITIALIZER; /* held while the callback runs */

/* callbacks[used] is in use; 0: there is none. gw_log_set writes 1 or 2, the one that is not used,
 * and then uses it. So the one in use is complete, also in the child of a fork. */
static struct {
    void (*print)(enum gw_log_level level, const char *text, void *arg);
    void *arg;
} callbacks[3];
static _Atomic unsigned used;

/* In the child of a fork, the thread that held a lock does not exist. */
static void after_fork_in_child(void)
{
    (void)pthread_mutex_init(&printing, NULL);
    (void)pthread_mutex_init(&rolling, NULL);
}

static void watch_forks(void)
{
    (void)pthread_atfork(NULL, NULL, after_fork_in_child);
}

void gw_log_set(void (*print)(enum gw_log_level level, const char *text, void *arg), void *arg)
{
    static pthread_once_t once = PTHREAD_ONCE_INIT;
    (void)pthread_once(&once, watch_forks);
    (void)pthread_mutex_lock(&printing);
    const unsigned other = used == 1 ? 2 : 1;
    callbacks[other].print = print;
    callbacks[other].arg = arg;
    used = print ? other : 0;
    (void)pthread_mutex_unlock(&printing);
}

/* Passes the message to the callback. Returns false if there is none. */
static bool GW_PRINTF(2, 0) passed_on(enum gw_log_level level, const char *format, va_list args)
{
    char text[LINE_BYTES_MAX];
    va_list copy;
    if (!used)
        return false;
    va_copy(copy, args);
    (void)vsnprintf(text, sizeof text, format, copy);
    va_end(copy);
    (void)pthread_mutex_lock(&printing);
    const bool there = used > 0;
    if (there)
        callbacks[used].print(level, text, callbacks[used].arg);
    (void)pthread_mutex_unlock(&printing);
    return there;
}

/* -- Lines ---------------------------------------------------------------------------------------
 */

/* Writes the text and a newline after the `at` bytes that the line has. */
static void GW_PRINTF(3, 0) finish(char *line, size_t at, const char *format, va_list args)
{
    at = line_add(line, at, format, args);
    if (at == LINE_BYTES_MAX - 1)
        at--; /* room for the newline */
    line[at++] = '\n';
    line_out(line, at);
}

static void GW_PRINTF(2, 0) log_line(enum gw_log_level level, const char *format, va_list args)
{
    if (level > level_max)
        return;
    int saved = errno;
    char line[LINE_BYTES_MAX];
    if (passed_on(level, format, args)) {
        errno = saved;
        return;
    }
    uint64_t wall_ns = gw_clock_wall_ns();
    time_t seconds = (time_t)(wall_ns / GW_NS_PER_S);
    struct tm utc;
    size_t at = 0;
    if (gmtime_r(&seconds, &utc))
        at = strftime(line, sizeof line, "%Y-%m-%dT%H:%M:%S", &utc);
    int length = snprintf(line + at, sizeof line - at,
                          ".%03u %.64s %s: ", (unsigned)(wall_ns % GW_NS_PER_S / GW_NS_PER_MS),
                          process_name, level_names[level]);
    at += length > 0 ? (size_t)length : 0;
    finish(line, at, format, args);
    errno = saved;
}

void gw_log_plain(enum gw_log_level level, const char *before, const char *format, ...)
{
    char line[LINE_BYTES_MAX];
    int saved = errno;
    va_list args;
    va_start(args, format);
    if (!passed_on(level, format, args))
        finish(line, (size_t)snprintf(line, sizeof line, "%.64s", before), format, args);
    va_end(args);
    errno = saved;
}

#define LOG_FUNCTION(name, level)                                                                  \
    void gw_log_##name(const char *format, ...)                                                    \
    {                                                                                              \
        va_list args;                                                                              \
        va_start(args, format);                                                                    \
        log_line(level, format, args);                                                             \
        va_end(args);                                                                              \
    }
LOG_FUNCTION(error, GW_LOG_ERROR)
LOG_FUNCTION(warn, GW_LOG_WARN)
LOG_FUNCTION(info, GW_LOG_INFO)
LOG_FUNCTION(debug, GW_LOG_DEBUG)
