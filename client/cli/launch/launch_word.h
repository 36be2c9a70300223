/* Words that options of a launch take, on the command line and in a file of tasks alike. */
#ifndef GW_CLI_LAUNCH_WORD_H
#define GW_CLI_LAUNCH_WORD_H

#include <gangway/graph.h>

/* gw_launch_word_gpus reads "2", "0.5" or "any", _bind "near" or "none", _signal "USR1", "SIGUSR1"
 * or "10"; false: it is none of these. */
bool gw_launch_word_gpus(const char *text, struct gw_task_options *task);
bool gw_launch_word_bind(const char *text, struct gw_task_options *task);
bool gw_launch_word_signal(const char *text, uint32_t *number);

#endif
