/* A spec: what many nodes of a graph share. Nodes that agree in everything but name and arguments
 * have the same. */
#ifndef GW_MODEL_SPEC_H
#define GW_MODEL_SPEC_H

#include "graph/base/arena.h"

#include <gangway/graph.h>

struct gw_graph_spec {
    uint32_t kind; /* enum gw_spec_kind */
    const struct gw_function *function;
    const char *const *argv;        /* NULL-terminated */
    const char *const *env;         /* NULL-terminated; NULL: the client's */
    const char *cwd;                /* NULL: the client's */
    struct gw_task_options options; /* .name is NULL: it belongs to the node */
    uint64_t actor;                 /* as in the message */
    const char *actor_name;         /* borrowed, never copied; NULL: none */
    uint32_t env_templates;         /* as in struct gw_command */
    const char *const *epilog;      /* likewise */
    bool held_output, input;        /* likewise */
};

/* gw_spec_hash gives equal numbers for equal specs. */
uint64_t gw_spec_hash(const struct gw_graph_spec *spec);

/* gw_spec_equal compares all but options.name. */
bool gw_spec_equal(const struct gw_graph_spec *a, const struct gw_graph_spec *b);

/* gw_spec_copy copies all that a spec points to, but for the function, into the arena; 0 or
 * GW_ENOMEM. */
int gw_spec_copy(struct gw_arena *arena, const struct gw_graph_spec *spec,
                 struct gw_graph_spec *copy);

#endif
