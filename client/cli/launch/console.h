/* Runs a process on the host of a task, next to the task, connected to this terminal or to pipes.
 */
#ifndef GW_CLI_CONSOLE_H
#define GW_CLI_CONSOLE_H

#include "client/cli/lib/selector.h"

struct gw_console_options {
    struct gw_client *client;
    struct gw_selected_task task;
    uint32_t rank;
    const char *const *argv; /* NULL-terminated */
    bool terminal; /* the process gets a terminal; this process's own terminal, if it has one, is in
                      raw mode meanwhile */
    bool wait;     /* wait until the task runs */
    bool left;     /* true: the task may have ended; the process then starts in the working folder
                      that remains of the task */
    bool checkpoint; /* start in the task's checkpoint folder */
    bool signals;    /* SIGINT is sent to the process; SIGTERM and SIGHUP end the console.
                        gw_cli_console_block has blocked them */
    int in, out;     /* descriptors that are used instead of this process's standard input (-1: no
                        input) and standard output */
};

/* gw_cli_console_block blocks the signals that a console handles. Call it before any thread is
 * started. */
void gw_cli_console_block(bool signals);

/* gw_cli_console_run runs the process to its end. *exit_code is its exit code (128 + the number of
 * a signal that ended it). Errors: as gw_tunnel_open; GW_ESTART: the process could not be started.
 */
int gw_cli_console_run(const struct gw_console_options *options, int *exit_code,
                       struct gw_error *error);

#endif
