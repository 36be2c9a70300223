/* Options that place the ranks of a gang: --nodes, --per-node, --same-host, --spread, --pack, or as
 * in mpiexec -H a:2,b:3 and --hostfile FILE. */
#ifndef GW_CLI_NODES_H
#define GW_CLI_NODES_H

#include <gangway/graph.h>

#define GW_NODES_UNSAID UINT32_MAX

struct gw_nodes {
    uint32_t nodes, per_node; /* GW_NODES_UNSAID: not given */
    bool same_host, spread, pack;
    const char *hosts, *host_file; /* NULL: not given */
    char *workers;                 /* names of the hosts, set by gw_nodes_apply; owned */
};

/* gw_nodes_apply sets the number of ranks of a gang (task->ranks is GW_NODES_UNSAID if -n was not
 * given) and their placement. It prints an error and returns false if options contradict each
 * other. */
bool gw_nodes_apply(struct gw_nodes *nodes, struct gw_task_options *task);
void gw_nodes_deinit(struct gw_nodes *nodes);

#endif
