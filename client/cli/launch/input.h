/* The standard input of what is launched: read here, brought to the task, again to each attempt. */
#ifndef GW_CLI_INPUT_H
#define GW_CLI_INPUT_H

#include <gangway/gangway.h>

struct gw_input;

/* gw_input_find tells what a command is to read, from `text`, what was typed (NULL: nothing):
 * "none",
 * "-" for our own, or a file. Without it our own, where that is no terminal and not /dev/null.
 * *fd -1: nothing; the caller closes another. 0, or GW_ENOENT, GW_EIO with a text. */
int gw_input_find(const char *text, int *fd, struct gw_error *error);

/* gw_input_open brings what can be read from fd (borrowed) to a command whose `input` is set, on a
 * thread of its own. It never reads further ahead than the task, by more than 2 MiB. An attempt
 * that follows another gets the same from its beginning; where that is gone, as a pipe's first
 * megabytes are, the job is cancelled. future: the command's, borrowed. GW_ENOMEM. */
int gw_input_open(struct gw_client *client, struct gw_future *future, int fd,
                  struct gw_input **input);

/* gw_input_close is for when the future is done; accepts NULL. It tells whether the job was
 * cancelled for its input, of which a text was printed. */
bool gw_input_close(struct gw_input *input);

#endif
