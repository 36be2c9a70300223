/* Exit codes of the `gangway` binary. */
#ifndef GW_CLI_EXIT_CODE_H
#define GW_CLI_EXIT_CODE_H

/* `wait`, and `dispatch` and `submit` in the foreground, also exit with the exit code of the task.
 */
enum {
    GW_EXIT_OK = 0,
    GW_EXIT_FAILED = 1,
    GW_EXIT_USAGE = 2,
    GW_EXIT_NO_SCHEDULER = 3,
    GW_EXIT_TIMEOUT = 124,
    GW_EXIT_INTERRUPTED = 130,
};

/* The meaning of each exit code, for the help and the manual page. The list ends with a NULL text.
 */
struct gw_cli_exit_code {
    int code;
    const char *text;
};
extern const struct gw_cli_exit_code gw_cli_exit_codes[];

#endif
