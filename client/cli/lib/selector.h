/* Selectors: the text with which a user names jobs. A selector is a list of numbers and ranges
 * ("1,3,5-8"), "all", "last" (the latest job that was not submitted by a task), or a name (the
 * latest job with this name). A list may also contain names and "last" if no job has the whole list
 * as its name. Names, "last" and "all" mean the user's own jobs, unless the scope says otherwise.
 */
#ifndef GW_CLI_SELECTOR_H
#define GW_CLI_SELECTOR_H

#include "client/cli/lib/options.h"

#include <gangway/gangway.h>

struct gw_selected {
    uint64_t job;
    bool ended;   /* whether it had ended at the time of the lookup */
    bool missing; /* no job has this number; the scheduler reports it when the command uses it */
};

struct gw_selector {
    struct gw_selected *items; /* ascending by number */
    size_t count;
};

/* Scope of a selector: the users whose jobs are meant by a name, "last" and "all", and whether
 * "all" means only unfinished jobs. user: a name or a number; NULL: the calling user. */
struct gw_selector_scope {
    const char *user;
    const char *state; /* "all" means only the jobs in this state; NULL: in any */
    bool all_users, unfinished;
};

/* Options that set a scope, as rows of a table. */
#define GW_SELECTOR_OPTIONS(scope)                                                                 \
    {"user",         'u',    GW_OPTION_TEXT,                                                       \
     &(scope)->user, "USER", "names, last and all mean this user's jobs, not\nyour own"},          \
    {                                                                                              \
        "all-users", 0, GW_OPTION_FLAG, &(scope)->all_users, NULL,                                 \
            "names, last and all mean everybody's jobs"                                            \
    }

/* gw_selector_scope_check returns GW_EINVAL if the options contradict each other. */
int gw_selector_scope_check(const struct gw_selector_scope *scope, struct gw_error *error);

/* gw_selector_arguments makes the arguments of a query "jobs" for one selector, which was checked
 * before. scope may be NULL. Returns NULL if out of memory. */
struct gw_value *gw_selector_arguments(const char *text, const struct gw_selector_scope *scope);

/* gw_selector_init resolves a selector to jobs. scope may be NULL: the user's own jobs, including
 * ended ones. A range selects the existing jobs in it. A single number without a job is kept, so
 * that the scheduler reports it. If "all" selects no job, a message is printed on stderr. Returns
 * 0; GW_EINVAL: malformed selector; GW_ENOENT: no job for "last" or a name; or the error of the
 * query. */
int gw_selector_init(struct gw_selector *selector, struct gw_client *client, const char *text,
                     const struct gw_selector_scope *scope, struct gw_error *error);
void gw_selector_deinit(struct gw_selector *selector);

/* gw_selector_sort sorts the jobs by number and removes duplicates. */
void gw_selector_sort(struct gw_selector *selector);

/* gw_selector_ranges makes the arguments of a query "jobs" for the jobs before index *at, the
 * newest first, with as many ranges as a query may have. It reduces *at to the index of the first
 * job in the query. Returns NULL if out of memory. */
struct gw_value *gw_selector_ranges(const struct gw_selector *selector, size_t *at);

/* gw_selector_check checks the syntax of a selector, without a query. Returns 0 or GW_EINVAL. */
int gw_selector_check(const char *text, struct gw_error *error);

/* gw_selector_name_check checks that a job with this name could be selected by its name. GW_EINVAL:
 * the name would mean something else; the text says what. */
int gw_selector_name_check(const char *name, struct gw_error *error);

/* One task: "JOB", "JOB/NAME", "JOB/INDEX" or "JOB.INDEX". JOB may be "last", or (not before a dot)
 * the name of a job. */
struct gw_selected_task {
    uint64_t job;
    bool whole; /* only the job was named */
    uint32_t index;
};

/* gw_selector_task_check checks the syntax of a task. gw_selector_task finds the task, and asks the
 * scheduler for a name. Errors: GW_EINVAL, GW_ENOENT. */
int gw_selector_task_check(const char *text, struct gw_error *error);
int gw_selector_task(struct gw_client *client, const char *text, struct gw_selected_task *task,
                     struct gw_error *error);

/* gw_selector_query makes the arguments of a query about a task or a job. Returns NULL if out of
 * memory. */
struct gw_value *gw_selector_query(const struct gw_selected_task *task);

/* A subcommand whose arguments select jobs. `each` is called for every job, prints the output, and
 * returns an exit code. The subcommand exits with the first exit code that is not 0. */
struct gw_selector_command {
    struct gw_options options; /* the arguments of the command, and their number; gw_selector_run
                                  sets both fields */
    bool unfinished;           /* "all" selects only unfinished jobs */
    const char *state; /* "all" selects only the jobs in this state, unless the option --state
                          names another one; NULL: no such option */
    bool by_number;    /* process the jobs of all arguments in the order of their numbers */
    bool at_once;      /* process many jobs in parallel on threads, in any order */
    int (*each)(struct gw_client *client, const struct gw_selected *job, void *arg);
    int (*task)(struct gw_client *client, const struct gw_selected_task *task,
                void *arg); /* called if an argument is a task; NULL: only jobs are allowed */
    int (*end)(struct gw_client *client,
               void *arg); /* a function that is called after all jobs were processed, if each had
                              the exit code 0; or NULL */
    void *arg;
};

/* gw_selector_run is the complete subcommand. Returns the exit code. */
int gw_selector_run(const struct gw_selector_command *command, int argc, char **argv);

#endif
