/* `gangway actor`: lists actors and removes an actor. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/listing.h"
#include "client/cli/lib/options.h"

#include <stdlib.h>
#include <string.h>

/* Finds the job of a living actor by the actor's job number or name. */
static int find(struct gw_client *client, const char *text, uint64_t *job, struct gw_error *error)
{
    struct gw_value *list;
    char *end;
    uint64_t number = strtoull(text, &end, 10);
    bool by_number = *text && !*end;
    int rc = gw_client_query(client, "actors", NULL, &list, error);
    if (rc < 0)
        return rc;
    rc = GW_ENOENT;
    for (size_t i = 0; i < gw_value_count(list) && rc < 0; i++) {
        const struct gw_value *actor = gw_value_at(list, i);
        const char *name = "", *state = "";
        int64_t id = 0;
        (void)gw_value_get_i64(gw_value_find(actor, "job"), &id, NULL);
        (void)gw_value_get_str(gw_value_find(actor, "name"), &name, NULL);
        (void)gw_value_get_str(gw_value_find(actor, "state"), &state, NULL);
        if (strcmp(state, "dead") == 0 ||
            (by_number ? (uint64_t)id != number : strcmp(name, text) != 0))
            continue;
        *job = (uint64_t)id;
        rc = 0;
    }
    gw_value_unref(list);
    return rc < 0 ? gw_error_set(error, rc,
                                 "there is no living actor %s; `gangway actor list` lists actors",
                                 text)
                  : 0;
}

static int remove_one(struct gw_client *client, const char *text, void *now, struct gw_error *error)
{
    uint64_t job = 0;
    int rc = find(client, text, &job, error);
    return rc < 0 ? rc : gw_job_cancel(client, job, *(const bool *)now, error);
}

static int run_rm(int argc, char **argv)
{
    bool now = false;
    const struct gw_option table[] = {
        {"now", 0, GW_OPTION_FLAG, &now, NULL, "kill at once, without the grace time"},
        {0},
    };
    const struct gw_options options = {
        .command = "actor rm",
        .arguments = "NAME|JOB...",
        .summary = "End and remove actors, even if clients hold them. Their calls fail.",
        .table = table,
        .arguments_min = 1,
        .arguments_max = 1000,
    };
    return gw_cli_each(&options, argc, argv, remove_one, &now);
}

static int run_list(int argc, char **argv)
{
    static const struct gw_column columns[] = {
        {"job", "JOB", GW_CELL_NUMBER},
        {"name", "NAME", GW_CELL_TEXT},
        {"function", "FUNCTION", GW_CELL_TEXT},
        {"state", "STATE", GW_CELL_TEXT},
        {"worker", "WORKER", GW_CELL_NUMBER},
        {"holders", "HOLDERS", GW_CELL_NUMBER},
        {"calls_done", "CALLS", GW_CELL_NUMBER},
        {"calls_waiting", "WAITING", GW_CELL_NUMBER},
        {"restarts", "RESTARTS", GW_CELL_NUMBER},
        {"session", "BY", GW_CELL_TEXT},
        {0},
    };
    const struct gw_listing_command listing = {
        .command = "actor list",
        .summary = "List actors: tasks that keep their state, and whose methods are called.",
        .query = "actors",
        .columns = columns,
        .none = "no living actors",
    };
    return gw_listing_run(&listing, argc, argv);
}

static const struct gw_cli_command verbs[] = {
    {"list", "list actors", run_list},
    {"rm", "end and remove an actor", run_rm},
    {NULL, NULL, NULL},
};

int gw_cli_actor(int argc, char **argv)
{
    return gw_cli_run_verb("actor", verbs, argc, argv);
}
