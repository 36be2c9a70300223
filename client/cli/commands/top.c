/* `gangway top`: a live view of the cluster and its unfinished jobs. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/options.h"
#include "client/cli/lib/synonym.h"
#include "client/cli/lib/table.h"

#include <poll.h>
#include <signal.h>
#include <sys/ioctl.h>
#include <termios.h>
#include <unistd.h>

enum { REFRESH_MS = 2000, ROWS_ABOVE = 11, ROWS_DEFAULT = 20, ROWS_MIN = 3, ROWS_MAX = 500 };

static const struct gw_column cluster_columns[] = {
    {"uptime_ns", "Running for", GW_CELL_DURATION},
    {"workers", "Workers", GW_CELL_TEXT},
    {"slots", "Slots", GW_CELL_TEXT},
    {"slots_free", "Free slots", GW_CELL_TEXT},
    {"gpus_free", "Free GPUs", GW_CELL_TEXT},
    {"memory_used", "Used memory", GW_CELL_SIZE},
    {"jobs.running", "Unfinished jobs", GW_CELL_TEXT},
    {"tasks.waiting", "Waiting tasks", GW_CELL_TEXT},
    {"tasks.running", "Running tasks", GW_CELL_TEXT},
    {0},
};

static const struct gw_column job_columns[] = {
    {"id", "JOB", GW_CELL_NUMBER},
    {"name", "NAME", GW_CELL_TEXT},
    {"state", "STATE", GW_CELL_TEXT},
    {"tasks", "TASKS", GW_CELL_NUMBER},
    {"running", "RUNNING", GW_CELL_NUMBER},
    {"done", "DONE", GW_CELL_NUMBER},
    {"failed", "FAILED", GW_CELL_NUMBER},
    {"progress.shown", "PROGRESS", GW_CELL_MINOR_TEXT},
    {"submitted_ns", "AGE", GW_CELL_SINCE},
    {"user", "USER", GW_CELL_MINOR_TEXT},
    {0},
};

/* -- Keys ----------------------------------------------------------------------------------------
 */

static struct termios earlier; /* the terminal's mode before `top` */

/* Restores the terminal before a signal such as SIGINT ends the process. */
static void on_signal(int number)
{
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &earlier);
    (void)signal(number, SIG_DFL);
    (void)raise(number);
}

/* Lets single keys be read without the return key, and does not show them. Returns false if
 * standard input is not a terminal. */
static bool keys_open(void)
{
    static const int ends[] = {SIGINT, SIGTERM, SIGHUP, SIGQUIT};
    struct termios keys;
    if (tcgetattr(STDIN_FILENO, &earlier) < 0)
        return false;
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        (void)signal(ends[i], on_signal);
    keys = earlier;
    keys.c_lflag &= ~(tcflag_t)(ICANON | ECHO);
    (void)tcsetattr(STDIN_FILENO, TCSANOW, &keys);
    return true;
}

/* Waits for the next refresh. Returns false if the user has pressed q. Another key refreshes at
 * once. */
static bool keys_wait(bool keys)
{
    struct pollfd in = {.fd = keys ? STDIN_FILENO : -1, .events = POLLIN};
    char key = 0;
    if (poll(&in, 1, REFRESH_MS) <= 0)
        return true;
    return read(STDIN_FILENO, &key, 1) == 1 && key != 'q' && key != 'Q';
}

/* -- The view ------------------------------------------------------------------------------------
 */

/* Returns how many jobs fit below the figures of the cluster. */
static int64_t rows_that_fit(bool live)
{
    struct winsize size;
    if (!live || ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) < 0 || size.ws_row == 0)
        return ROWS_DEFAULT;
    const int rows = size.ws_row - ROWS_ABOVE - 2;
    return rows < ROWS_MIN ? ROWS_MIN : rows > ROWS_MAX ? ROWS_MAX : rows;
}

static int ask_jobs(struct gw_client *client, int64_t limit, struct gw_value **jobs,
                    struct gw_error *error)
{
    struct gw_value *arguments = gw_dict();
    int rc = arguments ? gw_dict_set(arguments, "state", gw_str("unfinished")) : GW_ENOMEM;
    rc = rc < 0 ? rc : gw_dict_set(arguments, "limit", gw_i64(limit));
    rc = rc < 0 ? gw_error_set(error, rc, "out of memory")
                : gw_client_query(client, "jobs", arguments, jobs, error);
    gw_value_unref(arguments);
    return rc;
}

static int show(struct gw_client *client, bool live, struct gw_error *error)
{
    struct gw_value *cluster, *jobs;
    int rc = gw_client_query(client, "status", NULL, &cluster, error);
    if (rc < 0)
        return rc;
    rc = ask_jobs(client, rows_that_fit(live), &jobs, error);
    if (rc == 0) {
        if (live)
            fputs("\033[H\033[2J", stdout);
        gw_table_print_dict(stdout, cluster_columns, cluster);
        putchar('\n');
        if (gw_value_count(jobs) > 0)
            gw_table_print(stdout, job_columns, jobs);
        else
            puts("no unfinished jobs");
        if (live)
            fputs("q ends", stdout);
        fflush(stdout);
        gw_value_unref(jobs);
    }
    gw_value_unref(cluster);
    return rc;
}

int gw_cli_top(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_options options = {
        .command = "top",
        .arguments = "",
        .summary = "Show the cluster and its unfinished jobs, again every 2 seconds.",
        .details = "q or Ctrl-C ends it; another key shows it again at once. If the output is not\n"
                   "a terminal, it is printed once.",
        .table = table,
        .synonyms = gw_synonym_top,
    };
    struct gw_cli_verb verb;
    struct gw_error error;
    if (!gw_cli_begin(&options, argc, argv, &verb))
        return verb.exit_code;
    const bool live = gw_table_is_terminal(stdout), keys = live && keys_open();
    int rc;
    do
        rc = show(verb.client, live, &error);
    while (rc == 0 && live && !ferror(stdout) && keys_wait(keys));
    if (live)
        putchar('\n');
    if (keys)
        (void)tcsetattr(STDIN_FILENO, TCSANOW, &earlier);
    return gw_cli_end(&verb, rc, &error);
}
