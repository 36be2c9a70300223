/* `gangway worker list`: prints one line for each worker. With --connect this process is a worker
 * (hosts/worker_daemon.c), and also with --dir alone, with which a scheduler starts it. */
#include "client/cli/commands/commands.h"

#include "client/cli/hosts/worker_daemon.h"
#include "client/cli/lib/listing.h"
#include "worker/net/worker.h"

#include <stdlib.h>
#include <string.h>

static bool is_option(const char *word, const char *option)
{
    size_t length = strlen(option);
    return strncmp(word, option, length) == 0 && (word[length] == '\0' || word[length] == '=');
}

/* Whether a scheduler has started this process, with options of the daemon itself. */
static bool is_started(int argc, char **argv)
{
    bool dir = false;
    for (int i = 1; i < argc; i++) {
        if (is_option(argv[i], "--connect") || is_option(argv[i], "--config"))
            return false;
        dir = dir || is_option(argv[i], "--dir");
    }
    return dir;
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

int gw_cli_worker(int argc, char **argv)
{
    static const struct gw_cli_command verbs[] = {{"list", "list the workers", run_list},
                                                  {NULL, NULL, NULL}};
    if (is_started(argc, argv))
        return gw_worker_main(argc, argv);
    if (argc > 1 && argv[1][0] == '-')
        return gw_worker_daemon_run(argc, argv, verbs);
    if (argc > 1 && strcmp(argv[1], "gpus") == 0)
        gw_cli_message("gangway worker: `worker gpus` is now called `gangway gpu list`; there are "
                       "also `gangway gpu drain UUID` and `gangway gpu undrain UUID`");
    else if (argc > 1)
        return gw_cli_run_verb("worker", verbs, argc, argv);
    else
        gw_cli_message("gangway worker: a command is missing; there are `gangway worker list` and "
                       "`gangway worker --connect`");
    return GW_EXIT_USAGE;
}
