/* `gangway wait`: blocks until jobs have ended. The exit code is that of the first failed job. With
 * --any it blocks until one of the jobs has ended. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"
#include "graph/base/clock.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

enum { ANY_MAX = 1000, STACK_BYTES = 256 * 1024 };

/* How the wait for one job ended. */
struct end {
    uint64_t job;
    int rc, exit_code; /* rc is GW_ETIMEDOUT and exit_code 0 if the job has not ended */
    bool known;        /* the job has ended; false: the connection did, or there is no such job */
    struct gw_error error;
};

struct waiting {
    uint64_t timeout_ns, begin_ns; /* UINT64_MAX: no timeout; begin_ns 0: not started */
    bool json, any;
    /* With --any: */
    struct gw_client *client;
    struct gw_selected *jobs;
    size_t count;
    pthread_mutex_t lock; /* guards the fields below */
    pthread_cond_t changed;
    size_t started, timed_out;
    struct end first; /* first.job is 0 until a job has ended */
};

/* Waits for one job. The timeout applies to all jobs together. */
static struct end wait_end(struct gw_client *client, uint64_t job, const struct waiting *waiting)
{
    struct end end = {.job = job};
    uint64_t passed_ns = gw_clock_now_ns() - waiting->begin_ns;
    uint64_t left_ns = waiting->timeout_ns == UINT64_MAX ? UINT64_MAX
                       : passed_ns < waiting->timeout_ns ? waiting->timeout_ns - passed_ns
                                                         : 0;
    end.rc = gw_job_wait(client, job, left_ns, &end.exit_code, &end.error);
    if (end.rc == GW_ETIMEDOUT && end.exit_code == 0)
        return end;
    end.known = end.rc == 0 || end.exit_code != 0;
    if (end.rc < 0 && end.exit_code == 0)
        end.exit_code = gw_error_exit_code(&end.error);
    return end;
}

static bool has_timed_out(const struct end *end)
{
    return end->rc == GW_ETIMEDOUT && end->exit_code == 0;
}

/* Prints how the wait for a job ended, and returns the exit code. */
static int print_end(const struct end *end, bool json)
{
    if (has_timed_out(end)) {
        fprintf(stderr, "gangway: job %llu has not ended\n", (unsigned long long)end->job);
        return GW_EXIT_TIMEOUT;
    }
    if (json)
        gw_cli_print_end(end->job, end->exit_code, &end->error);
    else if (end->rc < 0)
        gw_cli_print_failure(end->job, &end->error);
    return end->exit_code;
}

/* -- --any ---------------------------------------------------------------------------------------
 */

/* Adds a job to those of which one must end. */
static int collect(struct waiting *waiting, const struct gw_selected *job)
{
    struct gw_selected *jobs = realloc(waiting->jobs, (waiting->count + 1) * sizeof *jobs);
    if (!jobs) {
        gw_cli_message("gangway: out of memory");
        return GW_EXIT_FAILED;
    }
    waiting->jobs = jobs;
    waiting->jobs[waiting->count++] = *job;
    return GW_EXIT_OK;
}

static void *wait_thread(void *arg)
{
    struct waiting *waiting = arg;
    pthread_mutex_lock(&waiting->lock);
    const uint64_t job = waiting->jobs[waiting->started++].job;
    pthread_mutex_unlock(&waiting->lock);
    const struct end end = wait_end(waiting->client, job, waiting);
    pthread_mutex_lock(&waiting->lock);
    if (has_timed_out(&end))
        waiting->timed_out++;
    else if (!waiting->first.job)
        waiting->first = end;
    pthread_cond_signal(&waiting->changed);
    pthread_mutex_unlock(&waiting->lock);
    return NULL;
}

/* Waits on one thread for each job until one of the jobs has ended. Then it ends the process,
 * because the other threads would block until their jobs end. */
static int wait_first(struct waiting *waiting)
{
    pthread_attr_t attr;
    size_t threads = 0;
    pthread_attr_init(&attr);
    pthread_attr_setstacksize(&attr, STACK_BYTES);
    for (pthread_t thread; threads < waiting->count; threads++)
        if (pthread_create(&thread, &attr, wait_thread, waiting) != 0)
            break;
    pthread_attr_destroy(&attr);
    int exit_code = GW_EXIT_TIMEOUT;
    pthread_mutex_lock(&waiting->lock);
    while (threads == waiting->count && !waiting->first.job && waiting->timed_out < waiting->count)
        pthread_cond_wait(&waiting->changed, &waiting->lock);
    if (threads < waiting->count) {
        gw_cli_message("gangway: cannot start %zu threads", waiting->count);
        exit_code = GW_EXIT_FAILED;
    } else if (!waiting->first.job) {
        gw_cli_message("gangway: none of the jobs has ended");
    } else {
        exit_code = print_end(&waiting->first, waiting->json);
        if (!waiting->json && waiting->first.known)
            printf("%llu\n", (unsigned long long)waiting->first.job);
    }
    if (fflush(stdout) != 0 && exit_code == GW_EXIT_OK)
        exit_code = GW_EXIT_FAILED;
    _exit(exit_code);
}

static int wait_any(struct gw_client *client, void *arg)
{
    struct waiting *waiting = arg;
    int exit_code = GW_EXIT_OK;
    waiting->client = client;
    if (waiting->count > ANY_MAX) {
        gw_cli_message("gangway wait: --any takes at most %d jobs", ANY_MAX);
        exit_code = GW_EXIT_USAGE;
    } else if (waiting->count > 0) {
        exit_code = wait_first(waiting);
    }
    free(waiting->jobs);
    return exit_code;
}

/* -- The command --------------------------------------------------------------------------------
 */

static int wait_one(struct gw_client *client, const struct gw_selected *job, void *arg)
{
    struct waiting *waiting = arg;
    if (!waiting->begin_ns)
        waiting->begin_ns = gw_clock_now_ns();
    if (waiting->any)
        return collect(waiting, job);
    const struct end end = wait_end(client, job->job, waiting);
    return print_end(&end, waiting->json);
}

int gw_cli_wait(int argc, char **argv)
{
    struct waiting waiting = {.timeout_ns = UINT64_MAX,
                              .lock = PTHREAD_MUTEX_INITIALIZER,
                              .changed = PTHREAD_COND_INITIALIZER};
    const struct gw_option table[] = {
        {"any", 0, GW_OPTION_FLAG, &waiting.any, NULL,
         "wait until one of the jobs has ended: print its\n"
         "number, and exit with its exit code"},
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
             .table = table},
        .unfinished = true,
        .each = wait_one,
        .end = wait_any,
        .arg = &waiting,
    };
    return gw_selector_run(&command, argc, argv);
}
