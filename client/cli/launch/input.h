/* The standard input of a launched command: this process reads it and sends it to each attempt of
 * the task. */
#ifndef GW_CLI_INPUT_H
#define GW_CLI_INPUT_H

#include <gangway/gangway.h>

struct gw_input;

/* gw_input_find selects the input of a command. `text` is the value of --stdin: "none", "-" for
 * this process's standard input, or a file; NULL: not given. If it is NULL, standard input is used
 * unless it is a terminal or /dev/null. *fd is -1 if there is no input; otherwise the caller closes
 * it. Returns 0, or GW_ENOENT or GW_EIO with a text. */
int gw_input_find(const char *text, int *fd, struct gw_error *error);

/* gw_input_open starts a thread that sends the input from `fd` (borrowed) to a command whose
 * `input` is set. It reads at most 2 MiB more than the task has read. Each further attempt gets the
 * same input from the start. If the start cannot be read again, for example after the first
 * megabytes of a pipe, the job is cancelled. `future` is the command's, borrowed. Error: GW_ENOMEM.
 */
int gw_input_open(struct gw_client *client, struct gw_future *future, int fd,
                  struct gw_input **input);

/* gw_input_close stops the thread. Call it when the future has ended. It accepts NULL. It returns
 * true if the job was cancelled because of its input; the reason was printed. */
bool gw_input_close(struct gw_input *input);

#endif
