/* A process beside a task, at this terminal or these pipes. */
#ifndef GW_CLI_CONSOLE_H
#define GW_CLI_CONSOLE_H

#include "client/cli/lib/selector.h"

struct gw_console_options {
    struct gw_client *client;
    struct gw_selected_task task;
    uint32_t rank;
    const char *const *argv; /* NULL at its end */
    bool terminal;           /* a terminal for it; ours is raw while it lasts, where we have one */
    bool wait;               /* until the task runs */
    bool left;               /* also in the folder of a task that has ended */
    bool checkpoint;         /* in its folder of checkpoints */
    bool signals;            /* SIGINT goes to it, SIGTERM and SIGHUP end this; they were blocked */
    int in, out;             /* instead of standard input (-1: nothing) and output */
};

/* gw_cli_console_block blocks the signals that a console takes; before any thread is started. */
void gw_cli_console_block(bool signals);

/* gw_cli_console_run runs it to its end and gives its exit code (128 + the signal that ended it).
 * Errors are those of gw_tunnel_open; GW_ESTART: it could not be started. */
int gw_cli_console_run(const struct gw_console_options *options, int *exit_code,
                       struct gw_error *error);

#endif
