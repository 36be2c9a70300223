/* Log lines of daemons and tools, to stderr: "2026-01-01T00:00:00.000 scheduler info: text".
 *
 * Thread-safe; a line is one write. The level comes from GANGWAY_LOG (error, warn, info, debug);
 * info is the default of daemons, warn of everything else. */
#ifndef GW_BASE_LOG_H
#define GW_BASE_LOG_H

#include <gangway/error.h>

enum gw_log_level { GW_LOG_ERROR, GW_LOG_WARN, GW_LOG_INFO, GW_LOG_DEBUG };

/* gw_log_init names this process in its lines (borrowed, must stay valid) and sets the level that
 * holds when GANGWAY_LOG says nothing. Call it once, before other threads exist. */
void gw_log_init(const char *process, enum gw_log_level level);

void gw_log_error(const char *format, ...) GW_PRINTF(1, 2);
void gw_log_warn(const char *format, ...) GW_PRINTF(1, 2);
void gw_log_info(const char *format, ...) GW_PRINTF(1, 2);
void gw_log_debug(const char *format, ...) GW_PRINTF(1, 2);

/* GW_MUST(x): for daemons, aborts with a line when x (an allocation) is negative or NULL. */
#define GW_MUST(x) ((void)((x) >= 0 || (gw_log_out_of_memory(__FILE__, __LINE__), 0)))
#define GW_MUST_PTR(x) ((void)((x) != NULL || (gw_log_out_of_memory(__FILE__, __LINE__), 0)))
void gw_log_out_of_memory(const char *file, int line) __attribute__((noreturn));

#endif
