/* `gangway wait`: blocks until jobs have ended. The exit code is that of the first failed job. With
 * --any it blocks until one of the jobs has ended. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"
#include "client/cli/lib/synonym.h"
#include "graph/base/clock.h"

#include <stdlib.h>
#include <time.h>

enum { POLL_MS = 100, POLL_SHARE = 10 };

struct waiting {
    uint64_t timeout_ns, begin_ns; /* UINT64_MAX: no timeout; begin_ns 0: not started */
    bool json, any;
    struct gw_selector jobs; /* with --any */
};

/* The time that is left of the timeout, which applies to all jobs together. */
static uint64_t left_ns(const struct waiting *waiting)
{
    const uint64_t passed_ns = gw_clock_now_ns() - waiting->begin_ns;
    return waiting->timeout_ns == UINT64_MAX ? UINT64_MAX
           : passed_ns < waiting->timeout_ns ? waiting->timeout_ns - passed_ns
                                             : 0;
}

/* Waits for one job and prints how it ended. *ended is false if the job has not ended, or if nobody
 * knows. Returns the exit code. */
static int wait_end(struct gw_client *client, uint64_t job, const struct waiting *waiting,
                    bool *ended)
{
    struct gw_error error;
    int exit_code = 0;
    const int rc = gw_job_wait(client, job, left_ns(waiting), &exit_code, &error);
    *ended = rc == 0 || exit_code != 0;
    if (rc == GW_ETIMEDOUT && exit_code == 0) {
        fprintf(stderr, "gangway: job %llu has not ended\n", (unsigned long long)job);
        return GW_EXIT_TIMEOUT;
    }
    if (rc < 0 && exit_code == 0)
        exit_code = gw_error_exit_code(&error);
    if (waiting->json)
        gw_cli_print_end(job, exit_code, &error);
    else if (rc < 0)
        gw_cli_print_failure(job, &error);
    return exit_code;
}

/* -- --any ---------------------------------------------------------------------------------------
 */

/* Adds a job to those of which one must end. */
static int collect(struct gw_selector *jobs, const struct gw_selected *job)
{
    struct gw_selected *items = realloc(jobs->items, (jobs->count + 1) * sizeof *items);
    if (!items) {
        gw_cli_message("gangway: out of memory");
        return GW_EXIT_FAILED;
    }
    jobs->items = items;
    jobs->items[jobs->count++] = *job;
    return GW_EXIT_OK;
}

/* Compares a listing of jobs, the newest first, with the jobs that were asked for, in ascending
 * order. Returns the first job that has ended or is missing, or 0. */
static uint64_t first_end(const struct gw_value *rows, const struct gw_selected *jobs, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        const struct gw_value *row = gw_value_at(rows, i);
        const uint64_t job = jobs[count - 1 - i].job;
        int64_t listed = 0;
        bool ended = true;
        (void)gw_value_get_i64(gw_value_at(row, 0), &listed, NULL);
        (void)gw_value_get_bool(gw_value_at(row, 1), &ended, NULL);
        if ((uint64_t)listed != job || ended)
            return job;
    }
    return 0;
}

/* Looks for a job that has ended, or that the scheduler does not know. *job is 0 if all run. */
static int find_ended(struct gw_client *client, const struct gw_selector *jobs, uint64_t *job,
                      struct gw_error *error)
{
    int rc = 0;
    *job = 0;
    for (size_t at = jobs->count; at > 0 && rc == 0 && !*job;) {
        struct gw_value *rows;
        const size_t end = at;
        struct gw_value *arguments = gw_selector_ranges(jobs, &at);
        rc = arguments ? gw_dict_set(arguments, "brief", gw_bool(true)) : GW_ENOMEM;
        rc = rc < 0 ? gw_error_set(error, rc, "out of memory")
                    : gw_client_query(client, "jobs", arguments, &rows, error);
        gw_value_unref(arguments);
        if (rc < 0)
            return rc;
        *job = first_end(rows, jobs->items + at, end - at);
        gw_value_unref(rows);
    }
    return rc;
}

/* Asks again and again until one of the jobs has ended. The pause grows with the time of an answer,
 * so that many jobs are no load. */
static int wait_first(struct gw_client *client, const struct waiting *waiting)
{
    for (;;) {
        const uint64_t begin_ns = gw_clock_now_ns();
        struct gw_error error;
        uint64_t job;
        bool ended;
        if (find_ended(client, &waiting->jobs, &job, &error) < 0)
            return gw_cli_error(&error);
        if (job) {
            const int exit_code = wait_end(client, job, waiting, &ended);
            if (ended && !waiting->json)
                printf("%llu\n", (unsigned long long)job);
            return exit_code;
        }
        uint64_t pause_ns = (gw_clock_now_ns() - begin_ns) * POLL_SHARE;
        pause_ns = pause_ns < POLL_MS * GW_NS_PER_MS ? POLL_MS * GW_NS_PER_MS : pause_ns;
        const uint64_t left = left_ns(waiting);
        if (left == 0) {
            gw_cli_message("gangway: none of the jobs has ended");
            return GW_EXIT_TIMEOUT;
        }
        pause_ns = left < pause_ns ? left : pause_ns;
        (void)nanosleep(&(struct timespec){.tv_sec = (time_t)(pause_ns / GW_NS_PER_S),
                                           .tv_nsec = (long)(pause_ns % GW_NS_PER_S)},
                        NULL);
    }
}

/* No job is an error: a loop that waits for one job after the other must come to an end. The
 * selector has printed that there is none. */
static int wait_any(struct gw_client *client, void *arg)
{
    struct waiting *waiting = arg;
    if (!waiting->any)
        return GW_EXIT_OK;
    gw_selector_sort(&waiting->jobs);
    return waiting->jobs.count > 0 ? wait_first(client, waiting) : GW_EXIT_USAGE;
}

/* -- The command --------------------------------------------------------------------------------
 */

static int wait_one(struct gw_client *client, const struct gw_selected *job, void *arg)
{
    struct waiting *waiting = arg;
    bool ended;
    if (!waiting->begin_ns)
        waiting->begin_ns = gw_clock_now_ns();
    return waiting->any ? collect(&waiting->jobs, job)
                        : wait_end(client, job->job, waiting, &ended);
}

int gw_cli_wait(int argc, char **argv)
{
    struct waiting waiting = {.timeout_ns = UINT64_MAX};
    const struct gw_option table[] = {
        {"any", 0, GW_OPTION_FLAG, &waiting.any, NULL,
         "wait until one of the jobs has ended: print its\n"
         "number, and exit with its exit code (2: there is\n"
         "no job)"},
        {"timeout", 0, GW_OPTION_TIMEOUT, &waiting.timeout_ns, "TIME",
         "wait at most this long (exit code 124; 0: check\n"
         "once; default: none)"},
        {"json", 0, GW_OPTION_FLAG, &waiting.json, NULL, "print one line of JSON for each"},
        {0},
    };
    const struct gw_selector_command command = {
        .options =
            {.command = "wait",
             .summary = "Wait until jobs have ended. The exit code is that of the first one "
                        "that failed.",
             .details =
                 "JOB is a number, a list like 1,3,5-8, a name (the latest job of this name),\n"
                 "last, or all (unfinished jobs).",
             .table = table,
             .synonyms = gw_synonym_wait},
        .unfinished = true,
        .each = wait_one,
        .end = wait_any,
        .arg = &waiting,
    };
    const int exit_code = gw_selector_run(&command, argc, argv);
    gw_selector_deinit(&waiting.jobs);
    return exit_code;
}
