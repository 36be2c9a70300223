/* What the binary exits with. */
#ifndef GW_CLI_EXIT_CODE_H
#define GW_CLI_EXIT_CODE_H

/* Exit codes; `wait` and foreground `dispatch` and `submit` give the task's own beside these. */
enum {
    GW_EXIT_OK = 0,
    GW_EXIT_FAILED = 1,
    GW_EXIT_USAGE = 2,
    GW_EXIT_NO_SCHEDULER = 3,
    GW_EXIT_TIMEOUT = 124,
    GW_EXIT_INTERRUPTED = 130,
};

/* What they mean, as the help and the manual page say it; ended by a NULL text. */
struct gw_cli_exit_code {
    int code;
    const char *text;
};
extern const struct gw_cli_exit_code gw_cli_exit_codes[];

#endif
