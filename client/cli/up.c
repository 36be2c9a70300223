/* `gangway up` starts this user's cluster on this machine. */
#include "client/cli/cli.h"
#include "client/cli/options.h"
#include "client/cluster.h"
#include "graph/base/clock.h"
#include "graph/wire/endpoint.h"

#include <string.h>
#include <unistd.h>

/* Refuses here what the workers would refuse in their logs. */
static int check_peers(const char *peers, uint32_t workers, struct gw_error *error)
{
    char actual[GW_ENDPOINT_TEXT_MAX];
    int fds[2] = {-1, -1};
    if (strchr(peers, '/'))
        return gw_error_set(error, GW_EINVAL, "%s is no address of this host", peers);
    int rc = gw_endpoint_listen(peers, &fds[0], actual, error);
    if (rc == 0 && workers > 1 && (rc = gw_endpoint_listen(peers, &fds[1], actual, error)) < 0)
        (void)gw_error_set(error, rc, "%s: name no port: %u workers cannot share one", peers,
                           workers);
    for (int i = 0; i < 2; i++)
        if (fds[i] >= 0)
            close(fds[i]);
    return rc;
}

int gw_cli_up(int argc, char **argv)
{
    struct gw_cluster_options cluster = {0};
    const char *listen = NULL;
    uint64_t idle_stop_ns = 0, pure_keep_bytes = UINT64_MAX;
    bool json = false;
    int first, exit_code;
    const struct gw_option table[] = {
        {"slots", 's', GW_OPTION_U32, &cluster.slots, "N",
         "slots in all: tasks that run at once\n(default: the cores)"},
        {"workers", 'w', GW_OPTION_U32, &cluster.workers, "K",
         "worker processes that share the slots\n(default: 1)"},
        {"resources", 0, GW_OPTION_TEXT, &cluster.resources, "NAME=N,...",
         "what tasks may ask for by name, like\nlicense=1,tape=2; the first worker has it"},
        {"peers", 0, GW_OPTION_TEXT, &cluster.peers, "HOST",
         "workers exchange results over TLS at this\naddress, as they would between "
         "hosts\n(default: as descriptors, which is faster)"},
        {"idle-stop", 0, GW_OPTION_DURATION, &idle_stop_ns, "TIME",
         "end when unused for so long (30m)"},
        {"pure-keep", 0, GW_OPTION_SIZE, &pure_keep_bytes, "SIZE",
         "results of pure tasks that are kept for who\nasks next (64M; 0: none)"},
        {"file-cache", 0, GW_OPTION_SIZE, &cluster.file_cache_bytes, "SIZE",
         "shipped files that are kept (4G): of all jobs,\nand on each host those used last"},
        {"listen", 0, GW_OPTION_TEXT, &listen, "ADDRESS", "not there yet"},
        {"json", 0, GW_OPTION_FLAG, &json, NULL, "print JSON"},
        {0},
    };
    const struct gw_options options = {
        .command = "up",
        .arguments = "",
        .summary = "Start a cluster on this machine, for this user. It goes on when the terminal\n"
                   "is closed; `gangway down` ends it.",
        .table = table,
    };
    struct gw_error error;
    pid_t pid;
    if (!gw_options_parse(&options, argc, argv, &first, &exit_code))
        return exit_code;
    if (listen) {
        gw_error_set(&error, GW_EINVAL,
                     "--listen %s: clusters of several machines are not there yet", listen);
        return gw_cli_error(&error);
    }
    int rc = gw_cluster_check_resources(cluster.resources, &error);
    if (rc == 0 && cluster.peers &&
        (rc = check_peers(cluster.peers, cluster.workers, &error)) < 0) {
        fprintf(stderr, "gangway up: --peers: %s\n", error.text);
        return GW_EXIT_USAGE;
    }
    if (rc < 0) {
        fprintf(stderr, "gangway up: %s\n", error.text);
        return GW_EXIT_USAGE;
    }
    if (pure_keep_bytes != UINT64_MAX)
        cluster.pure_keep_bytes = pure_keep_bytes ? pure_keep_bytes : 1; /* nothing is so small */
    cluster.idle_stop_s = (idle_stop_ns + GW_NS_PER_S - 1) / GW_NS_PER_S;
    rc = gw_cluster_up(&cluster, &pid, &error);
    if (rc < 0)
        return gw_cli_error(&error);
    if (json)
        printf("{\"pid\": %d}\n", (int)pid);
    else
        fprintf(stderr, "the cluster is up (process %d); `gangway down` ends it\n", (int)pid);
    return GW_EXIT_OK;
}
