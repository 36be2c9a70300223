/* Which jobs a command means: numbers and ranges "1,3,5-8", "all", "last": the latest that no task
 * submitted, or a name: the latest job that is called so. In a list there may be names and "last",
 * too, where no job is called like the whole of it. Names, "last" and "all" mean the asking user's
 * own jobs, unless the scope says else. */
#ifndef GW_CLI_SELECTOR_H
#define GW_CLI_SELECTOR_H

#include "client/cli/lib/options.h"

#include <gangway/gangway.h>

struct gw_selected {
    uint64_t job;
    bool ended;   /* when it was looked up */
    bool missing; /* nobody has this number: the scheduler says so when it is asked */
};

struct gw_selector {
    struct gw_selected *items; /* ascending */
    size_t count;
};

/* Whose jobs are meant by a name, "last" and "all", and that "all" means those that have not ended.
 * user: a name or a number; NULL: one's own. */
struct gw_selector_scope {
    const char *user;
    bool all_users, unfinished;
};

/* The options that say so, as rows of a table. */
#define GW_SELECTOR_OPTIONS(scope)                                                                 \
    {"user",         0,      GW_OPTION_TEXT,                                                       \
     &(scope)->user, "USER", "names, last and all mean this user's jobs, not\nyour own"},          \
    {                                                                                              \
        "all-users", 0, GW_OPTION_FLAG, &(scope)->all_users, NULL,                                 \
            "names, last and all mean everybody's jobs"                                            \
    }

/* gw_selector_scope_check refuses (GW_EINVAL) options that contradict each other. */
int gw_selector_scope_check(const struct gw_selector_scope *scope, struct gw_error *error);

/* gw_selector_arguments makes the arguments of a query "jobs" for one selector that was checked;
 * scope may be NULL. NULL when out of memory. */
struct gw_value *gw_selector_arguments(const char *text, const struct gw_selector_scope *scope);

/* gw_selector_init resolves a text; scope (NULL: one's own, ended ones too) narrows it. Ranges
 * take what is there of them; a single number that is not there is kept, for the scheduler to say
 * so. Where "all" means none, it says that on stderr. 0; GW_EINVAL (not a selector), GW_ENOENT
 * ("last", or a name, without a job), or the query's error. */
int gw_selector_init(struct gw_selector *selector, struct gw_client *client, const char *text,
                     const struct gw_selector_scope *scope, struct gw_error *error);
void gw_selector_deinit(struct gw_selector *selector);

/* gw_selector_check tells whether the text can be one, before anybody is asked. 0 or GW_EINVAL. */
int gw_selector_check(const char *text, struct gw_error *error);

/* gw_selector_name_check tells whether a job that is called so could be selected by its name; else
 * GW_EINVAL, with a text that says what the name means instead. */
int gw_selector_name_check(const char *name, struct gw_error *error);

/* One task: "JOB", "JOB/NAME", "JOB/INDEX" or "JOB.INDEX", where JOB may be "last", or, but before
 * a dot, a job's name. */
struct gw_selected_task {
    uint64_t job;
    bool whole; /* only the job was named */
    uint32_t index;
};

/* gw_selector_task_check is gw_selector_check for a task. gw_selector_task finds it; a name is
 * looked up at the scheduler. GW_EINVAL, GW_ENOENT. */
int gw_selector_task_check(const char *text, struct gw_error *error);
int gw_selector_task(struct gw_client *client, const char *text, struct gw_selected_task *task,
                     struct gw_error *error);

/* gw_selector_question makes the arguments of a query about a task or a job; NULL when out of
 * memory. */
struct gw_value *gw_selector_question(const struct gw_selected_task *task);

/* A subcommand whose arguments select jobs: `each` is called for every one, prints what is to
 * be printed, and gives an exit code; the first that is not 0 is the command's. */
struct gw_selector_command {
    struct gw_options options; /* arguments and their count are filled in */
    bool unfinished;           /* "all" leaves out what has ended */
    bool by_number;            /* of all arguments the jobs that are older first */
    bool at_once;              /* of many jobs some at once, on threads, in any order */
    int (*each)(struct gw_client *client, const struct gw_selected *job, void *arg);
    int (*task)(struct gw_client *client, const struct gw_selected_task *task,
                void *arg); /* the argument may be a task, too; NULL: jobs only */
    void *arg;
};

/* gw_selector_run is the whole subcommand; gives the exit code. */
int gw_selector_run(const struct gw_selector_command *command, int argc, char **argv);

#endif
