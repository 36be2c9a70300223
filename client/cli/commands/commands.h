/* The subcommands of `gangway`, each in a file with its name. ../main.c has the table of them. */
#ifndef GW_CLI_COMMANDS_H
#define GW_CLI_COMMANDS_H

#include "client/cli/lib/cli.h"

int gw_cli_usage(int argc, char **argv);
int gw_cli_up(int argc, char **argv);
int gw_cli_down(int argc, char **argv);
int gw_cli_status(int argc, char **argv);
int gw_cli_top(int argc, char **argv);
int gw_cli_submit(int argc, char **argv);
int gw_cli_dispatch(int argc, char **argv);
int gw_cli_jobs(int argc, char **argv);
int gw_cli_gpu(int argc, char **argv);
int gw_cli_logs(int argc, char **argv);
int gw_cli_wait(int argc, char **argv);
int gw_cli_cancel(int argc, char **argv);
int gw_cli_retry(int argc, char **argv);
int gw_cli_report(int argc, char **argv);
int gw_cli_restart(int argc, char **argv);
int gw_cli_pause(int argc, char **argv);
int gw_cli_resume(int argc, char **argv);
int gw_cli_rm(int argc, char **argv);
int gw_cli_stop(int argc, char **argv);
int gw_cli_explain(int argc, char **argv);
int gw_cli_graph(int argc, char **argv);
int gw_cli_exec(int argc, char **argv);
int gw_cli_forward(int argc, char **argv);
int gw_cli_get(int argc, char **argv);
int gw_cli_metrics(int argc, char **argv);
int gw_cli_events(int argc, char **argv);
int gw_cli_tasks(int argc, char **argv);
int gw_cli_account(int argc, char **argv);
int gw_cli_queue(int argc, char **argv);
int gw_cli_actor(int argc, char **argv);
int gw_cli_data(int argc, char **argv);
int gw_cli_sweep(int argc, char **argv);
int gw_cli_sync(int argc, char **argv);
int gw_cli_token(int argc, char **argv);
int gw_cli_scheduler(int argc, char **argv);
int gw_cli_config(int argc, char **argv);
int gw_cli_worker(int argc, char **argv);
int gw_cli_new(int argc, char **argv);
int gw_cli_notify(int argc, char **argv);
int gw_cli_bench(int argc, char **argv);
int gw_cli_completion(int argc, char **argv);

/* gw_cli_down_workers ends the workers that have outlived the scheduler of this user's own cluster.
 * Call it if no scheduler runs. It also removes the link to the socket, so that clients do not wait
 * for another scheduler. It returns the number of workers, and blocks. */
uint32_t gw_cli_down_workers(void);

/* gw_cli_scheduler_config checks a configuration file's values for schedulers, and appends them to
 * `rows`, as gw_options_values does. Returns the exit code. */
int gw_cli_scheduler_config(const char *path, struct gw_value *rows);

#endif
