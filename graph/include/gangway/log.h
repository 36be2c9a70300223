/* Messages of the library for people: warnings and errors that belong to no call. By default they
 * are printed on standard error. The environment variable GANGWAY_LOG (error, warn, info, debug)
 * sets the level in daemons; a program gets errors and warnings.
 *
 * The output of tasks (gw_client_options.show_output) is not among these messages. */
#ifndef GANGWAY_LOG_H
#define GANGWAY_LOG_H

#include <gangway/error.h>

#ifdef __cplusplus
extern "C" {
#endif

enum gw_log_level { GW_LOG_ERROR, GW_LOG_WARN, GW_LOG_INFO, GW_LOG_DEBUG };

/* gw_log_set passes all later messages of this process to `print` in place of standard error. NULL
 * prints them on standard error again. `text` is one message without a time, a level and a newline;
 * it is valid during the call. `print` is called by any thread of the program or the library, by
 * one at a time. It must not call functions of this library, because locks are held.
 *
 * gw_log_set returns when the earlier callback runs no more. Any thread may call it, except in a
 * callback. The child of a fork has the same callback, also if it ran in another thread during the
 * fork. */
GW_API void gw_log_set(void (*print)(enum gw_log_level level, const char *text, void *arg),
                       void *arg);

#ifdef __cplusplus
}
#endif

#endif
