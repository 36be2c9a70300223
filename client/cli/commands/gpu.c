/* `gangway gpu`: lists the GPUs of the workers, drains a GPU, and undrains it. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/listing.h"
#include "client/cli/lib/options.h"
#include "client/cli/lib/table.h"
#include "graph/base/clock.h"

#include <string.h>
#include <unistd.h>

#define LOOKED_AT_NS (5 * GW_NS_PER_S)
enum { POLL_US = 20000 };

static const struct gw_column columns[] = {
    {"worker", "WORKER", GW_CELL_NUMBER},
    {"host", "HOST", GW_CELL_MINOR_TEXT},
    {"number", "GPU", GW_CELL_NUMBER},
    {"name", "NAME", GW_CELL_TEXT},
    {"uuid", "UUID", GW_CELL_MINOR_TEXT},
    {"memory_bytes", "MEMORY", GW_CELL_SIZE},
    {"used_bytes", "USED", GW_CELL_SIZE},
    {"power", "POWER", GW_CELL_TEXT},
    {"busy_percent", "BUSY%", GW_CELL_NUMBER},
    {"idle_ns", "IDLE", GW_CELL_DURATION},
    {"nvlink_domain", "NVLINK", GW_CELL_MINOR_NUMBER},
    {"state", "STATE", GW_CELL_TEXT},
    {"users", "USER", GW_CELL_TEXT},
    {"by", "BY, OR WHY", GW_CELL_TEXT},
    {0},
};

static uint64_t idle_ns_min; /* --idle; 0: all GPUs */

static bool is_listed(const struct gw_value *gpu)
{
    return !idle_ns_min || gw_table_number(gpu, "idle_ns") >= (int64_t)idle_ns_min;
}

static int run_list(int argc, char **argv)
{
    static struct gw_option table[] = {
        {"idle", 0, GW_OPTION_DURATION, &idle_ns_min, "TIME",
         "only GPUs that tasks have and that were idle for\n"
         "at least this long, like 10m"},
        {0},
    };
    const struct gw_listing_command listing = {
        .command = "gpu list",
        .summary =
            "List the GPUs of this cluster's workers: their load, memory and power, and the\n"
            "tasks that have them. GPUs with the same NVLINK are linked by NVLink.",
        .details =
            "IDLE is the time since a task has the GPU and the driver reports a utilization\n"
            "of 0. It is not known for MIG instances, whose utilization the driver does not\n"
            "report.",
        .options = table,
        .lists = is_listed,
        .query = "gpus",
        .columns = columns,
        .none = "no GPUs to list",
    };
    return gw_listing_run(&listing, argc, argv);
}

static int drain(struct gw_client *client, const char *uuid, void *arg, struct gw_error *error)
{
    (void)arg;
    int rc = gw_gpu_drain(client, uuid, error);
    if (rc == 0)
        fprintf(stderr, "GPU %s: drained; `gangway gpu undrain %s` allows work on it again\n", uuid,
                uuid);
    return rc;
}

#define ADMINS "\n\nOnly an admin, or the user who started the cluster, may do this."

static int run_drain(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_options options = {
        .command = "gpu drain",
        .arguments = "UUID...",
        .summary = "Place no more work on a GPU, nor on its instances. Running work goes on.",
        .details =
            "The GPU stays drained until `gangway gpu undrain`, also if workers or the\n"
            "scheduler restart. `gangway gpu list` shows the UUIDs.\n\n"
            "A worker drains a GPU by itself in three cases: the GPU has an error after which\n"
            "it cannot be trusted (Xid 46, 48, 79, 95, 119, 120), the GPU falls off the bus,\n"
            "or the memory of a task is still in use 10 s after the task's end. In the last\n"
            "case the worker undrains the GPU when the memory is free again." ADMINS,
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1000,
    };
    return gw_cli_each(&options, argc, argv, drain, NULL);
}

/* Writes the reason why the GPU, or an instance of it, is still drained. `why` is empty if it is
 * not drained. */
static int read_why(struct gw_client *client, const char *uuid, char why[256],
                    struct gw_error *error)
{
    struct gw_listing *gpus;
    const struct gw_gpu_row *gpu;
    *why = '\0';
    int rc = gw_listing_new(client, GW_LISTING_GPUS, NULL, &gpus, error);
    if (rc < 0)
        return rc;
    while (!*why && (rc = gw_listing_next_gpu(gpus, &gpu, error)) > 0)
        if (strcmp(gpu->uuid, uuid) == 0 || strcmp(gpu->physical_gpu, uuid) == 0)
            (void)snprintf(why, 256, "%s", gpu->drained);
    gw_listing_free(gpus);
    return rc < 0 ? rc : 0;
}

/* Undrains a GPU, and waits for the worker's check of its GPUs, which happens once a second. */
static int undrain(struct gw_client *client, const char *uuid, void *arg, struct gw_error *error)
{
    (void)arg;
    char why[256];
    int rc = gw_gpu_undrain(client, uuid, error);
    const uint64_t until_ns = gw_clock_now_ns() + LOOKED_AT_NS;
    while (rc == 0 && (rc = read_why(client, uuid, why, error)) == 0 && *why) {
        if (gw_clock_now_ns() > until_ns)
            return gw_error_set(error, GW_EIO, "GPU %s is still drained: %s", uuid, why);
        (void)usleep(POLL_US);
    }
    if (rc == 0)
        fprintf(stderr, "GPU %s: undrained\n", uuid);
    return rc;
}

static int run_undrain(int argc, char **argv)
{
    static const struct gw_option table[] = {{0}};
    const struct gw_options options = {
        .command = "gpu undrain",
        .arguments = "UUID...",
        .summary = "Allow work on a drained GPU, and on its instances, again.",
        .details = "After an error, reset the GPU first (nvidia-smi --gpu-reset)." ADMINS,
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1000,
    };
    return gw_cli_each(&options, argc, argv, undrain, NULL);
}

static const struct gw_cli_command verbs[] = {
    {"list", "list the GPUs of the cluster", run_list},
    {"drain", "place no more work on a GPU", run_drain},
    {"undrain", "allow work on a drained GPU again", run_undrain},
    {NULL, NULL, NULL},
};

int gw_cli_gpu(int argc, char **argv)
{
    return gw_cli_run_verb("gpu", verbs, argc, argv);
}
