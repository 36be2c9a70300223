/* `gangway down` ends this user's cluster. If no cluster runs, the exit code is 0, because the
 * user's wish is fulfilled. It also ends workers that have outlived a killed scheduler. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/options.h"
#include "client/deploy/address.h"
#include "client/deploy/cluster.h"
#include "client/deploy/identity.h"
#include "client/services/shutdown.h"
#include "graph/base/clock.h"
#include "graph/base/text.h"
#include "scheduler/net/crew.h"

#include <signal.h>
#include <stdlib.h>
#include <unistd.h>

#define WORKER_END_NS (20 * GW_NS_PER_S)

uint32_t gw_cli_down_workers(void)
{
    char dir[PATH_MAX], path[PATH_MAX];
    uint32_t count = 0;
    if (gw_address_default_dir(dir, NULL) < 0)
        return 0;
    if (gw_address_default_socket(path, NULL) == 0)
        (void)unlink(path); /* so that clients do not wait for another scheduler there */
    pid_t pids[GW_CREW_WORKERS_MAX];
    for (uint32_t i = 0; i < GW_CREW_WORKERS_MAX; i++) {
        pid_t pid = gw_crew_who_lives_on(dir, i);
        if (pid && kill(pid, SIGTERM) == 0)
            pids[count++] = pid;
    }
    for (uint32_t i = 0; i < count; i++)
        if (!gw_cluster_wait_gone(pids[i], WORKER_END_NS))
            (void)kill(pids[i], SIGKILL); /* its supervisor reaps the processes that it runs */
    return count;
}

/* -- Progress -----------------------------------------------------------------------------------
 */

#define SAID_FIRST_NS (1 * GW_NS_PER_S)
#define SAID_EACH_NS (30 * GW_NS_PER_S)
enum { NAMES_SAID = 4 };

static volatile sig_atomic_t interrupted;

static void on_interrupt(int number)
{
    (void)number;
    interrupted = 1;
}

struct watching {
    char jobs[512]; /* jobs that ran when the shutdown began */
    uint64_t said_ns;
};

static void say_some(struct gw_text *text, uint32_t count, const char *what)
{
    if (count < NAMES_SAID)
        gw_text_say(text, "%s%s", count ? ", " : "", what);
    else if (count == NAMES_SAID)
        gw_text_say(text, " and others");
}

static void note_jobs(struct gw_client *client, struct watching *watching)
{
    struct gw_text text = {watching->jobs, sizeof watching->jobs, 0};
    struct gw_listing *jobs;
    const struct gw_job_row *job;
    uint32_t count = 0;
    if (gw_listing_new(client, GW_LISTING_JOBS,
                       GW_LISTING_OPTIONS(.state = "running", .limit = NAMES_SAID + 1), &jobs,
                       NULL) < 0)
        return;
    while (gw_listing_next_job(jobs, &job, NULL) > 0) {
        char what[160];
        (void)snprintf(what, sizeof what, "job %llu (%.100s)", (unsigned long long)job->id,
                       job->name);
        if (job->running > 0)
            say_some(&text, count++, what);
    }
    gw_listing_free(jobs);
}

/* Prints from time to time which workers still run. Returns true if the user has pressed Ctrl-C. */
static bool hurry(struct gw_client *client, uint64_t waited_ns, void *arg)
{
    struct watching *watching = arg;
    char names[512] = "";
    struct gw_text text = {names, sizeof names, 0};
    struct gw_listing *workers;
    const struct gw_worker_row *worker;
    uint32_t count = 0;
    if (interrupted)
        return true;
    if (waited_ns < watching->said_ns ||
        gw_listing_new(client, GW_LISTING_WORKERS, NULL, &workers, NULL) < 0)
        return false;
    watching->said_ns = waited_ns + SAID_EACH_NS;
    while (gw_listing_next_worker(workers, &worker, NULL) > 0)
        say_some(&text, count++, worker->name);
    gw_listing_free(workers);
    if (count && *watching->jobs)
        gw_cli_message("waiting for %s to end within its --grace, on %s; Ctrl-C or `gangway down "
                       "--now` ends it at once",
                       watching->jobs, names);
    return false;
}

static int end_cluster(struct gw_client *client, bool now, struct gw_error *error)
{
    struct watching watching = {.said_ns = SAID_FIRST_NS};
    struct gw_shutdown shutdown = {
        .grace_ns_max = now ? 0 : GW_SHUTDOWN_GRACE_NS_MAX, .hurry = hurry, .arg = &watching};
    struct sigaction action = {.sa_handler = on_interrupt};
    if (!now) {
        note_jobs(client, &watching);
        (void)sigaction(SIGINT, &action, NULL);
    }
    return gw_shutdown_wait(client, &shutdown, error);
}

int gw_cli_down(int argc, char **argv)
{
    int first, exit_code;
    bool json = false, now = false;
    const struct gw_option table[] = {
        {"now", 0, GW_OPTION_FLAG, &now, NULL,
         "end running tasks after half a second, without\n"
         "their --grace"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "down",
        .arguments = "",
        .summary = "End the running cluster. Its jobs are cancelled, except for detached jobs,\n"
                   "which the next `up` continues. Running tasks get SIGTERM, and SIGKILL after\n"
                   "their --grace (at most 5 minutes); Ctrl-C ends them at once. Waits until all\n"
                   "processes have ended. If no cluster is running, the exit code is 0.",
        .table = table,
    };
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;

    struct gw_client *client;
    struct gw_error error;
    const struct gw_client_options open = GW_INIT(gw_client_options, .name = "gangway down",
                                                  .must_exist = true, .connect_timeout_ns = 1);
    int rc = gw_cli_connect(&open, &client, &error);
    struct gw_identity identity; /* if this process is in a task, its worker answered, which says
                                    nothing about the user's own cluster */
    bool running = rc != GW_ENOSCHEDULER || gw_identity_find(&identity);
    if (rc == 0) {
        rc = end_cluster(client, now, &error);
        gw_client_close(client);
    }
    if (rc < 0 && running)
        return gw_cli_error(&error);
    const char *address = getenv("GANGWAY_ADDRESS");
    uint32_t left = running || (address && *address) ? 0 : gw_cli_down_workers();
    if (json)
        printf("{\"was_running\": %s}\n", running ? "true" : "false");
    else if (left)
        gw_cli_message("no scheduler is running; %u worker%s of an earlier scheduler ha%s ended",
                       left, left == 1 ? "" : "s", left == 1 ? "s" : "ve");
    else
        fprintf(stderr, running ? "the cluster has ended\n" : "no cluster is running\n");
    return GW_EXIT_OK;
}
