/* Connects the programs of a server with its connections and its core. */
#include "scheduler/net/server_programs.h"

#include "scheduler/net/server_state.h"

static void programs_send(uint64_t peer, const struct gw_message *message, int fd, void *arg)
{
    struct gw_connection *connection = gw_server_find_connection(arg, peer);
    if (connection && gw_connection_reachable(connection))
        gw_connection_send(connection, message, &fd, fd >= 0 ? 1 : 0);
}

static bool programs_used(struct gw_bin hash, void *arg)
{
    const struct gw_server *server = arg;
    return gw_sched_job_uses_files(server->core, hash);
}

static bool programs_named(struct gw_bin hash, void *arg)
{
    return gw_sched_job_names_content(((const struct gw_server *)arg)->core, hash);
}

int gw_server_programs_open(struct gw_server *server, const struct gw_server_options *options,
                            struct gw_error *error)
{
    const char *dir = options->state ? options->state : options->dir;
    const struct gw_programs_options programs = {
        .dir = dir,
        .keeps = options->state != NULL,
        .files_bytes_max = options->files_bytes_max,
        .callbacks = {programs_send, programs_used, programs_named, server},
    };
    return gw_programs_open(server->loop, &programs, &server->programs, error);
}
