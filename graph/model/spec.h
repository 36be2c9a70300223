/* A spec: what many nodes of a graph share. Nodes that agree in everything but name and arguments
 * have the same. */
#ifndef GW_MODEL_SPEC_H
#define GW_MODEL_SPEC_H

#include "graph/base/arena.h"
#include "graph/model/graph.h"

/* gw_spec_hash gives equal numbers for equal specs. */
uint64_t gw_spec_hash(const struct gw_graph_spec *spec);

/* gw_spec_equal compares all but options.name. */
bool gw_spec_equal(const struct gw_graph_spec *a, const struct gw_graph_spec *b);

/* gw_spec_copy copies all that a spec points to, but for the function, into the arena; 0 or
 * GW_ENOMEM. */
int gw_spec_copy(struct gw_arena *arena, const struct gw_graph_spec *spec,
                 struct gw_graph_spec *copy);

#endif
