/* Log lines. A line is built on the stack and leaves with one write, so that lines of several
 * threads and processes do not mix; it is cut where it is too long. */
#include "graph/base/log.h"

#include "graph/base/clock.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { LINE_BYTES_MAX = 4096 };

static const char *const level_names[] = {"error", "warn", "info", "debug"};
static const char *process_name = "gangway";
static enum gw_log_level level_max = GW_LOG_WARN;

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

/* snprintf at `at`; gives the new end, which stays in the line. */
static size_t GW_PRINTF(3, 0) line_add(char *line, size_t at, const char *format, va_list args)
{
    int length = vsnprintf(line + at, LINE_BYTES_MAX - at, format, args);
    if (length < 0)
        return at;
    return (size_t)length < LINE_BYTES_MAX - at ? at + (size_t)length : LINE_BYTES_MAX - 1;
}

static void GW_PRINTF(2, 0) log_line(enum gw_log_level level, const char *format, va_list args)
{
    if (level > level_max)
        return;
    int saved = errno;
    char line[LINE_BYTES_MAX];
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
    at = line_add(line, at, format, args);
    if (at == LINE_BYTES_MAX - 1)
        at--; /* room for the newline */
    line[at++] = '\n';
    while (write(STDERR_FILENO, line, at) < 0 && errno == EINTR)
        ;
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
