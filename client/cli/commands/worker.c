/* `gangway worker list`: prints one line for each worker. Without a verb this process is a worker
 * (hosts/worker_daemon.c), also as a scheduler starts it, with --dir and --parent,
 * or a worker, with --check-disk. */
#include "client/cli/commands/commands.h"

#include "client/cli/hosts/worker_daemon.h"
#include "client/cli/lib/listing.h"
#include "client/cli/lib/options.h"
#include "client/cli/lib/units.h"
#include "worker/net/worker.h"

#include <stdlib.h>
#include <string.h>

static bool is_option(const char *word, const char *option)
{
    size_t length = strlen(option);
    return strncmp(word, option, length) == 0 && (word[length] == '\0' || word[length] == '=');
}

/* Whether a scheduler or a client has started this process, with options of the daemon itself. */
static bool is_started(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (is_option(argv[i], "--parent") || is_option(argv[i], "--private") ||
            is_option(argv[i], "--check-disk"))
            return true;
    return false;
}

static int by_text(const void *a, const void *b)
{
    return strcmp(*(const char *const *)a, *(const char *const *)b);
}

/* Prints a warning if several workers have the same name, because a name is then ambiguous in --on.
 */
static void say_namesakes(const struct gw_value *workers)
{
    size_t count = gw_value_count(workers);
    const char **names = calloc(count + 1, sizeof *names);
    if (!names)
        return; /* out of memory: leave the warning out */
    for (size_t i = 0; i < count; i++)
        if (gw_value_get_str(gw_value_find(gw_value_at(workers, i), "name"), &names[i], NULL) < 0)
            names[i] = "";
    qsort(names, count, sizeof *names, by_text);
    for (size_t i = 0, alike; i < count; i += alike) {
        for (alike = 1; i + alike < count && strcmp(names[i], names[i + alike]) == 0;)
            alike++;
        if (alike > 1)
            gw_cli_message(
                "gangway: %zu workers have the name %s: `--on %s` selects all of them, `-H %s:N` "
                "one of them; `gangway worker --name` gives a worker another name",
                alike, names[i], names[i], names[i]);
    }
    free(names);
}

static int run_list(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"id", "WORKER", GW_CELL_NUMBER},
        {"name", "NAME", GW_CELL_TEXT},
        {"host", "HOST", GW_CELL_TEXT},
        {"address", "FROM", GW_CELL_MINOR_TEXT},
        {"state", "STATE", GW_CELL_TEXT},
        {"slots", "SLOTS", GW_CELL_NUMBER},
        {"slots_free", "FREE", GW_CELL_NUMBER},
        {"gpus_own", "GPUS", GW_CELL_TEXT},
        {"running", "RUNNING", GW_CELL_MINOR_NUMBER},
        {"memory_bytes", "MEMORY", GW_CELL_MINOR_SIZE},
        {"memory_used", "USED", GW_CELL_MINOR_SIZE},
        {"memory_state", "TAKES", GW_CELL_MINOR_TEXT},
        {"held_bytes", "RESULTS", GW_CELL_MINOR_SIZE},
        {"idle_bytes", "REUSE", GW_CELL_MINOR_SIZE},
        {"spilled_bytes", "ON DISK", GW_CELL_MINOR_SIZE},
        {"drained", "WHY", GW_CELL_MINOR_TEXT},
        {0},
    };
    const struct gw_listing_command listing = {
        .command = "worker list",
        .summary = "List this cluster's workers. GPUS 1 of 4: the worker offers four GPUs, and\n"
                   "three of them belong to another worker of this machine or are drained (see\n"
                   "`gangway gpu list`). REUSE: the part of USED that is free memory of former\n"
                   "results, for the next results.",
        .query = "workers",
        .columns = columns,
        .none = "no workers",
        .remark = say_namesakes,
    };
    return gw_listing_run(&listing, argc, argv);
}

struct drain {
    const char *reason;
    uint64_t deadline_ns;
};

static int drain_worker(struct gw_client *client, const char *name, void *arg,
                        struct gw_error *error)
{
    const struct drain *drain = arg;
    const uint64_t deadline_ns =
        drain->deadline_ns < GW_UNITS_NONE ? drain->deadline_ns : UINT64_MAX;
    int rc = gw_worker_drain(client, name, drain->reason, deadline_ns, error);
    if (rc == 0)
        fprintf(stderr,
                "worker %s: takes no new work, and is drained when its tasks have ended; `gangway "
                "worker undrain %s` allows work on it again\n",
                name, name);
    return rc;
}

#define ADMINS "\n\nOnly an admin, or the user who started the cluster, may do this."

static int run_drain(int argc, char **argv)
{
    struct drain drain = {.deadline_ns = UINT64_MAX};
    const struct gw_option table[] = {
        {"reason", 0, GW_OPTION_TEXT, &drain.reason, "TEXT",
         "why, for `worker list` and `explain`"},
        {"deadline", 0, GW_OPTION_DELAY, &drain.deadline_ns, "TIME",
         "end what still runs after this time, like 2h (0:\n"
         "now; default: none)"},
        {0},
    };
    const struct gw_options options = {
        .command = "worker drain",
        .arguments = "NAME...",
        .summary = "Place no more work on workers. Work that has begun goes on.",
        .details =
            "At the deadline, tasks and gangs that still run get SIGTERM (or their --signal)\n"
            "and have their grace time. They run again elsewhere, gangs from their\n"
            "checkpoint, which does not count against their retry budget. Actors end, too.\n\n"
            "A worker stays drained until `gangway worker undrain`, also if it or the\n"
            "scheduler restarts. `gangway worker list` shows names and states: a `draining`\n"
            "worker still runs something, a `drained` one is empty." ADMINS,
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1000,
    };
    return gw_cli_each(&options, argc, argv, drain_worker, &drain);
}

static int undrain_worker(struct gw_client *client, const char *name, void *arg,
                          struct gw_error *error)
{
    (void)arg;
    int rc = gw_worker_undrain(client, name, error);
    if (rc == 0)
        fprintf(stderr, "worker %s: undrained\n", name);
    return rc;
}

static int run_undrain(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_options options = {
        .command = "worker undrain",
        .arguments = "NAME...",
        .summary = "Allow work on drained workers again." ADMINS,
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1000,
    };
    return gw_cli_each(&options, argc, argv, undrain_worker, NULL);
}

int gw_cli_worker(int argc, char **argv)
{
    static const struct gw_cli_command verbs[] = {
        {"list", "list the workers", run_list},
        {"drain", "place no more work on workers", run_drain},
        {"undrain", "allow work on them again", run_undrain},
        {NULL, NULL, NULL}};
    if (is_started(argc, argv))
        return gw_worker_main(argc, argv);
    if (argc < 2 || argv[1][0] == '-')
        return gw_worker_daemon_run(argc, argv, verbs);
    if (argc > 1 && strcmp(argv[1], "gpus") == 0)
        gw_cli_message("gangway worker: `worker gpus` is now called `gangway gpu list`; there are "
                       "also `gangway gpu drain UUID` and `gangway gpu undrain UUID`");
    else
        return gw_cli_run_verb("worker", verbs, argc, argv);
    return GW_EXIT_USAGE;
}
