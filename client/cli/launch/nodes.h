/* Where the ranks of a gang go, as it is typed: --nodes, --per-node, --same-host, --spread, --pack,
 * or as
 * mpiexec has it, -H a:2,b:3 or --hostfile FILE. */
#ifndef GW_CLI_NODES_H
#define GW_CLI_NODES_H

#include <gangway/graph.h>

#define GW_NODES_UNSAID UINT32_MAX

struct gw_nodes {
    uint32_t nodes, per_node; /* GW_NODES_UNSAID: not typed */
    bool same_host, spread, pack;
    const char *hosts, *host_file; /* NULL: not typed */
    char *workers;                 /* their names, once applied; owned */
};

/* gw_nodes_apply sets the ranks of a gang (GW_NODES_UNSAID where -n was not typed) and where
 * they go. False, and a text was printed, where what was typed contradicts itself. */
bool gw_nodes_apply(struct gw_nodes *nodes, struct gw_task_options *task);
void gw_nodes_deinit(struct gw_nodes *nodes);

#endif
