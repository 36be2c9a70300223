#include "graph/model/graph_inside.h"

#include <stdio.h>

const char *gw_graph_label(const struct gw_graph *graph, uint32_t index, char *text, size_t bytes)
{
    const struct gw_graph_node *node = &graph->nodes.items[index];
    const char *what = "earlier result";
    if (node->spec != GW_GRAPH_EXTERNAL) {
        const struct gw_graph_spec *spec = &graph->specs.items[node->spec];
        what = spec->function ? spec->function->name : spec->argv[0];
    }
    if (node->name)
        (void)snprintf(text, bytes, "%s", node->name);
    else
        (void)snprintf(text, bytes, "%s#%u", what, index);
    return text;
}
