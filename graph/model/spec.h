/* A spec: the properties that many nodes of a graph share. Nodes that differ only in their names
 * and arguments have the same spec. */
#ifndef GW_MODEL_SPEC_H
#define GW_MODEL_SPEC_H

#include "graph/base/arena.h"

#include <gangway/graph.h>

struct gw_graph_spec {
    uint32_t kind; /* enum gw_spec_kind */
    const struct gw_function *function;
    const char *const *argv;        /* NULL-terminated */
    const char *const *env;         /* NULL-terminated; NULL: the client's environment */
    const char *cwd;                /* NULL: the client's working directory */
    struct gw_task_options options; /* .name is NULL, because the name belongs to the node */
    uint64_t actor;                 /* the actor, as in the spec message */
    const char *actor_name;         /* borrowed, never copied; NULL: none */
    uint32_t env_templates;         /* see struct gw_command */
    const char *const *epilog;      /* see struct gw_command */
    bool held_output, input;        /* see struct gw_command */
};

/* gw_spec_set_options copies the options of a caller (NULL: defaults) without their struct_size.
 * Texts are borrowed. Returns the errors of gw_options_read_sized. */
int gw_spec_set_options(struct gw_graph_spec *spec, const struct gw_task_options *options,
                        struct gw_error *error);

/* gw_spec_hash returns the same hash for equal specs. */
uint64_t gw_spec_hash(const struct gw_graph_spec *spec);

/* gw_spec_equal compares everything except options.name. */
bool gw_spec_equal(const struct gw_graph_spec *a, const struct gw_graph_spec *b);

/* gw_spec_copy copies a spec and everything it points to, except the function, into the arena.
 * Returns 0 or GW_ENOMEM. */
int gw_spec_copy(struct gw_arena *arena, const struct gw_graph_spec *spec,
                 struct gw_graph_spec *copy);

#endif
