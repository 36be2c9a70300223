/* Log lines of daemons and tools, to stderr: "2026-01-01T00:00:00.000 scheduler info: text".
 *
 * Thread-safe; a line is one write. The level comes from GANGWAY_LOG (error, warn, info, debug);
 * info is the default of daemons, warn of everything else. */
#ifndef GW_BASE_LOG_H
#define GW_BASE_LOG_H

#include "graph/base/must.h"

#include <gangway/error.h>

enum gw_log_level { GW_LOG_ERROR, GW_LOG_WARN, GW_LOG_INFO, GW_LOG_DEBUG };

/* gw_log_init names this process in its lines (borrowed, must stay valid) and sets the level that
 * holds when GANGWAY_LOG says nothing. Call it once, before other threads exist. */
void gw_log_init(const char *process, enum gw_log_level level);

void gw_log_error(const char *format, ...) GW_PRINTF(1, 2);
void gw_log_warn(const char *format, ...) GW_PRINTF(1, 2);
void gw_log_info(const char *format, ...) GW_PRINTF(1, 2);
void gw_log_debug(const char *format, ...) GW_PRINTF(1, 2);

#endif
