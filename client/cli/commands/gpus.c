/* `gangway worker gpus`: a line a GPU; --drain takes one out, --undrain gives it back. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/options.h"
#include "client/cli/lib/table.h"
#include "graph/base/clock.h"

#include <stdlib.h>
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
    {"island", "ISLAND", GW_CELL_MINOR_NUMBER},
    {"state", "STATE", GW_CELL_TEXT},
    {"by", "BY, OR WHY", GW_CELL_TEXT},
    {0},
};

static int list(struct gw_client *client, bool json, struct gw_error *error)
{
    struct gw_value *answer;
    int rc = gw_client_query(client, "gpus", NULL, &answer, error);
    if (rc < 0)
        return rc;
    if (json)
        rc = gw_table_json(stdout, answer, false);
    else if (gw_value_count(answer) == 0)
        fprintf(stderr, "no worker has a GPU\n");
    else
        gw_table_print(stdout, columns, answer);
    gw_value_unref(answer);
    return rc;
}

/* Why one of that name is drained yet; empty: none is. */
static int read_why(struct gw_client *client, const char *uuid, char why[256],
                    struct gw_error *error)
{
    struct gw_value *answer;
    int rc = gw_client_query(client, "gpus", NULL, &answer, error);
    *why = '\0';
    for (size_t i = 0; rc == 0 && i < gw_value_count(answer) && !*why; i++) {
        const struct gw_value *gpu = gw_value_at(answer, i);
        if (strcmp(gw_table_text(gpu, "uuid"), uuid) == 0 ||
            strcmp(gw_table_text(gpu, "board"), uuid) == 0)
            (void)snprintf(why, 256, "%s", gw_table_text(gpu, "drained"));
    }
    if (rc == 0)
        gw_value_unref(answer);
    return rc;
}

/* Its worker looks at it once a second. */
static int undrain(struct gw_client *client, const char *uuid, struct gw_error *error)
{
    char why[256];
    int rc = gw_gpu_undrain(client, uuid, error);
    const uint64_t until_ns = gw_clock_now_ns() + LOOKED_AT_NS;
    while (rc == 0 && (rc = read_why(client, uuid, why, error)) == 0 && *why) {
        if (gw_clock_now_ns() > until_ns)
            return gw_error_set(error, GW_EIO, "GPU %s is drained yet: %s", uuid, why);
        (void)usleep(POLL_US);
    }
    if (rc == 0)
        fprintf(stderr, "GPU %s: used again\n", uuid);
    return rc;
}

static int drain(struct gw_client *client, const char *uuid, struct gw_error *error)
{
    int rc = gw_gpu_drain(client, uuid, error);
    if (rc == 0)
        fprintf(stderr, "GPU %s: drained; `gangway worker gpus --undrain %s` gives it back\n", uuid,
                uuid);
    return rc;
}

int gw_cli_gpus(int argc, char **argv)
{
    const char *uuid = NULL, *out = NULL;
    bool json = false;
    int first, exit_code;
    const struct gw_option table[] = {
        {"drain", 0, GW_OPTION_TEXT, &out, "UUID",
         "have nothing more placed at this GPU, or at any\ninstance of it; what runs there runs "
         "on"},
        {"undrain", 0, GW_OPTION_TEXT, &uuid, "UUID",
         "have a drained GPU used again, or all instances\nof it; only an admin, or who started "
         "the\ncluster, may do either"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "worker gpus",
        .arguments = "",
        .summary = "List the GPUs of this cluster's workers: how they do, and which tasks have "
                   "them.\nThose of one ISLAND are linked by NVLink.",
        .details =
            "A GPU is drained when it has an error after which it cannot be trusted (Xid 46,\n"
            "48, 79, 95, 119, 120), falls off the bus, or a task's memory is not back 10 s\n"
            "after its end. The last is over by itself when it is back; the others, and\n"
            "--drain, hold until --undrain (after a reset: nvidia-smi --gpu-reset), whatever\n"
            "is started again meanwhile.",
        .table = table,
    };
    struct gw_client *client;
    struct gw_error error;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (out && uuid) {
        fprintf(stderr, "gangway worker gpus: --drain or --undrain, not both\n");
        return 2;
    }
    exit_code = gw_cli_open(&client);
    if (exit_code)
        return exit_code;
    if ((out    ? drain(client, out, &error)
         : uuid ? undrain(client, uuid, &error)
                : list(client, json, &error)) < 0)
        exit_code = gw_cli_error(&error);
    gw_client_close(client);
    return exit_code;
}
