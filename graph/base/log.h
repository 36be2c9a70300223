/* Log lines of daemons and tools, to stderr: "2026-01-01T00:00:00.000 scheduler info: text".
 *
 * Thread-safe; a line is one write. The level comes from GANGWAY_LOG (error, warn, info, debug);
 * info is the default of daemons, warn of everything else. */
#ifndef GW_BASE_LOG_H
#define GW_BASE_LOG_H

#include "graph/base/must.h"

#include <gangway/error.h>

#include <stdint.h>

enum gw_log_level { GW_LOG_ERROR, GW_LOG_WARN, GW_LOG_INFO, GW_LOG_DEBUG };

/* gw_log_init names this process in its lines (borrowed, must stay valid) and sets the level that
 * holds when GANGWAY_LOG says nothing. Call it once, before other threads exist. */
void gw_log_init(const char *process, enum gw_log_level level);

/* gw_log_limit keeps the file that stderr is to about `bytes` (0: to GW_LOG_BYTES_MAX): with the
 * line that makes it larger, all of it moves to a file of the same name with ".1" behind it, whose
 * former content goes, and it begins anew; so no more than twice that is kept. What cannot be kept,
 * on a full disk, goes. Nothing of this where stderr is no file that is appended to, or has no name
 * any more. Who else writes to it goes on in the new one, but for what comes between copying and
 * emptying. Call it before other threads exist. */
#define GW_LOG_BYTES_MAX (UINT64_C(64) << 20)
void gw_log_limit(uint64_t bytes);

void gw_log_error(const char *format, ...) GW_PRINTF(1, 2);
void gw_log_warn(const char *format, ...) GW_PRINTF(1, 2);
void gw_log_info(const char *format, ...) GW_PRINTF(1, 2);
void gw_log_debug(const char *format, ...) GW_PRINTF(1, 2);

#endif
