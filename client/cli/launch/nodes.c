/* Places the ranks of a gang: N hosts with K ranks each are N x K ranks. If two of the three
 * numbers are given, the third is computed. If all are given, they must agree. */
#include "client/cli/launch/nodes.h"

#include "client/cli/hosts/host_file.h"
#include "client/cli/hosts/hosts.h"

#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

static bool refuse(const char *format, ...) GW_PRINTF(1, 2);

static bool refuse(const char *format, ...)
{
    va_list args;
    fprintf(stderr, "gangway dispatch: ");
    va_start(args, format);
    vfprintf(stderr, format, args);
    va_end(args);
    fprintf(stderr, "\n");
    return false;
}

static bool count_ranks(const struct gw_nodes *nodes, struct gw_task_options *task)
{
    uint64_t count = nodes->nodes, each = nodes->per_node, ranks = task->ranks;
    bool said = task->ranks != GW_NODES_UNSAID;
    if (!count && !each) {
        task->ranks = said ? task->ranks : 1;
        return true;
    }
    if (!count)
        count = said ? ranks / each : 1;
    if (!each)
        each = said ? ranks / count : 1;
    if (said && count * each != ranks && nodes->nodes && nodes->per_node)
        return refuse("--nodes %llu --per-node %llu are %llu ranks, but -n is %llu: leave -n out",
                      (unsigned long long)count, (unsigned long long)each,
                      (unsigned long long)(count * each), (unsigned long long)ranks);
    if (said && count * each != ranks)
        return refuse(nodes->nodes ? "-n %llu ranks cannot be divided evenly among --nodes %u"
                                   : "-n %llu ranks are not a multiple of --per-node %u",
                      (unsigned long long)ranks, nodes->nodes ? nodes->nodes : nodes->per_node);
    if (count * each > INT32_MAX)
        return refuse(
            "--nodes %llu --per-node %llu: these are more than %d ranks: give smaller numbers",
            (unsigned long long)count, (unsigned long long)each, INT32_MAX);
    task->ranks = (uint32_t)(count * each);
    task->gang.ranks_per_node = (uint32_t)each;
    return true;
}

static uint32_t slots_of(const struct gw_hosts_item *host)
{
    return host->slots ? host->slots : 1;
}

static bool is_here(const char *name)
{
    return strcasecmp(name, "localhost") == 0 || strcmp(name, "127.0.0.1") == 0 ||
           strcmp(name, "::1") == 0;
}

/* Writes the hosts of the first `ranks` ranks as `--on` takes them: "a,b", or with counts
 * "a:2,b:3". localhost becomes this machine's own name. */
static bool name_hosts(const struct gw_hosts *hosts, uint64_t ranks, bool counted, char **workers)
{
    char own[HOST_NAME_MAX + 1] = "";
    size_t used = 0, size = 0;
    (void)gethostname(own, sizeof own - 1);
    for (size_t i = 0; i < hosts->items.count; i++)
        size += strlen(hosts->items.items[i].name) + sizeof own + 16;
    *workers = malloc(size + 1);
    if (!*workers)
        return refuse("out of memory");
    for (size_t i = 0; i < hosts->items.count && ranks > 0; i++) {
        const char *name = gw_hosts_address(&hosts->items.items[i]);
        name = is_here(name) ? own : name;
        bool v6 = strchr(name, ':');
        uint64_t here = slots_of(&hosts->items.items[i]);
        here = here < ranks ? here : ranks;
        ranks -= here;
        used += (size_t)snprintf(*workers + used, size + 1 - used, "%s%s%s%s", i ? "," : "",
                                 v6 ? "[" : "", name, v6 ? "]" : "");
        if (counted)
            used += (size_t)snprintf(*workers + used, size + 1 - used, ":%u", (unsigned)here);
    }
    return true;
}

enum { SAID_BYTES = 300 };

/* Writes the option for error messages: "-H a:2,b:3" or "--hostfile FILE". */
static const char *said_by(const struct gw_nodes *nodes, char said[static SAID_BYTES])
{
    (void)snprintf(said, SAID_BYTES, "%s %.250s", nodes->hosts ? "-H" : "--hostfile",
                   nodes->hosts ? nodes->hosts : nodes->host_file);
    return said;
}

/* With --min-ranks: places the gang as --on a,b --nodes 2 --per-node 2 would. */
static bool take_elastic(struct gw_nodes *nodes, const struct gw_hosts *hosts)
{
    uint32_t each = slots_of(&hosts->items.items[0]);
    char said[SAID_BYTES];
    for (size_t i = 1; i < hosts->items.count; i++)
        if (slots_of(&hosts->items.items[i]) != each)
            return refuse("%s --min-ranks: all hosts need the same number of ranks, because whole "
                          "hosts may be missing (--on allows any number of ranks on each host)",
                          said_by(nodes, said));
    nodes->nodes = (uint32_t)hosts->items.count;
    nodes->per_node = each;
    return name_hosts(hosts, UINT64_MAX, false, &nodes->workers);
}

/* Places the ranks as mpiexec does: all slots of the hosts, or only the first -n of them. */
static bool take_hosts(struct gw_nodes *nodes, const struct gw_hosts *hosts,
                       struct gw_task_options *task)
{
    uint64_t ranks = 0;
    char said[SAID_BYTES];
    for (size_t i = 0; i < hosts->items.count; i++)
        ranks += slots_of(&hosts->items.items[i]);
    if (task->gang.min_ranks)
        return take_elastic(nodes, hosts);
    if (task->ranks != GW_NODES_UNSAID && task->ranks > ranks)
        return refuse(
            "%s has room for %llu ranks, but -n is %u (a:2 means two ranks on host a, a means one)",
            said_by(nodes, said), (unsigned long long)ranks, task->ranks);
    if (task->ranks == GW_NODES_UNSAID)
        task->ranks = (uint32_t)ranks;
    return name_hosts(hosts, task->ranks, true, &nodes->workers);
}

static bool read_hosts(struct gw_nodes *nodes, struct gw_task_options *task)
{
    struct gw_hosts hosts;
    struct gw_error error;
    char said[SAID_BYTES];
    if (nodes->hosts && nodes->host_file)
        return refuse("give only one of -H and --hostfile");
    if (nodes->nodes != GW_NODES_UNSAID || nodes->per_node != GW_NODES_UNSAID || nodes->same_host ||
        nodes->spread || task->workers)
        return refuse(
            "%s cannot be combined with --on, --nodes, --per-node, --same-host or --spread",
            nodes->hosts ? "-H" : "--hostfile");
    if ((nodes->hosts ? gw_hosts_init(&hosts, nodes->hosts, &error)
                      : gw_host_file_read(&hosts, nodes->host_file, &error)) < 0)
        return nodes->hosts ? refuse("%s: %s", said_by(nodes, said), error.text)
                            : refuse("--hostfile: %s", error.text);
    bool taken = take_hosts(nodes, &hosts, task);
    gw_hosts_deinit(&hosts);
    return taken;
}

void gw_nodes_deinit(struct gw_nodes *nodes)
{
    free(nodes->workers);
    nodes->workers = NULL;
}

bool gw_nodes_apply(struct gw_nodes *typed, struct gw_task_options *task)
{
    if ((typed->hosts || typed->host_file) && !read_hosts(typed, task))
        return false;
    if (typed->workers)
        task->workers = typed->workers;
    struct gw_nodes said = *typed;
    const struct gw_nodes *nodes = &said;
    if (typed->nodes == 0 || typed->per_node == 0)
        return refuse("--%s 0: must be at least 1", typed->nodes == 0 ? "nodes" : "per-node");
    said.nodes = typed->nodes == GW_NODES_UNSAID ? 0 : typed->nodes;
    said.per_node = typed->per_node == GW_NODES_UNSAID ? 0 : typed->per_node;
    bool by_number = nodes->nodes || nodes->per_node;
    if (nodes->spread && (nodes->same_host || nodes->pack))
        return refuse("--spread is the opposite of %s: give one of them",
                      nodes->same_host ? "--same-host" : "--pack");
    if (task->ranks == 0)
        return refuse("-n 0: a gang has at least one rank");
    if (!count_ranks(nodes, task))
        return false;
    if (nodes->same_host && task->gang.ranks_per_node && task->gang.ranks_per_node != task->ranks)
        return refuse("--same-host means one node, but --nodes is %u",
                      task->ranks / task->gang.ranks_per_node);
    if (nodes->same_host)
        task->gang.ranks_per_node = task->ranks;
    task->gang.spread =
        nodes->spread &&
        !by_number; /* --nodes and --per-node already say how far the ranks are spread */
    if (task->gang.full_size_timeout_ns && !task->gang.min_ranks)
        return refuse("--full-size-timeout needs --min-ranks M");
    if (task->gang.min_ranks > task->ranks)
        return refuse("--min-ranks %u: the gang has only %u ranks (-n)", task->gang.min_ranks,
                      task->ranks);
    if (by_number && task->gang.ranks_per_node != task->ranks &&
        task->gang.min_ranks % task->gang.ranks_per_node)
        return refuse("--min-ranks %u: must be a multiple of the %u ranks of each node",
                      task->gang.min_ranks, task->gang.ranks_per_node);
    return true;
}
