/* Parses words that options of `submit` and `dispatch` take, for the command line and for
 * --from-json. */
#ifndef GW_CLI_LAUNCH_WORD_H
#define GW_CLI_LAUNCH_WORD_H

#include <gangway/graph.h>

/* gw_launch_word_gpus parses "2", "0.5" or "any"; gw_launch_word_bind "near" or "none";
 * gw_launch_word_signal "USR1", "SIGUSR1" or "10". They return false for any other word. */
bool gw_launch_word_gpus(const char *text, struct gw_task_options *task);
bool gw_launch_word_bind(const char *text, struct gw_task_options *task);
bool gw_launch_word_signal(const char *text, uint32_t *number);

#endif
