/* Log lines of daemons and tools, written to stderr: "2026-01-01T00:00:00.000 scheduler info:
 * text", or passed to the callback of gw_log_set.
 *
 * Thread-safe. Each line is one write. The environment variable GANGWAY_LOG (error, warn, info,
 * debug) sets the level. The default is info for daemons and warn for other programs. */
#ifndef GW_BASE_LOG_H
#define GW_BASE_LOG_H

#include "graph/base/must.h"

#include <gangway/log.h>

#include <stdint.h>

/* gw_log_init sets the name of this process in its log lines (borrowed, must stay valid) and the
 * level that applies if GANGWAY_LOG is not set. Call it once, before other threads exist. */
void gw_log_init(const char *process, enum gw_log_level level);

/* gw_log_limit limits the log file (the file that stderr writes to) to about `bytes` bytes; 0 means
 * GW_LOG_BYTES_MAX. When the file becomes larger, its content is moved to a file with the suffix
 * ".1", which replaces the previous ".1" file, and the log file is emptied. So at most twice
 * `bytes` is kept. If the copy fails because the disk is full, the content is lost. The limit has
 * no effect if stderr is not a file, is not open for appending, or was removed. Other processes can
 * write to the same log file, but a line that they write between the copy and the truncation is
 * lost. Call it before other threads exist. */
#define GW_LOG_BYTES_MAX (UINT64_C(64) << 20)
void gw_log_limit(uint64_t bytes);

void gw_log_error(const char *format, ...) GW_PRINTF(1, 2);
void gw_log_warn(const char *format, ...) GW_PRINTF(1, 2);
void gw_log_info(const char *format, ...) GW_PRINTF(1, 2);
void gw_log_debug(const char *format, ...) GW_PRINTF(1, 2);

/* gw_log_plain is for messages inside programs of users: on standard error the line begins with
 * `before` in place of the time and the level. A callback (gw_log_set) gets the text alone. */
void gw_log_plain(enum gw_log_level level, const char *before, const char *format, ...)
    GW_PRINTF(3, 4);

#endif
