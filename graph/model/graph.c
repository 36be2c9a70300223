/* Builds a task graph.
 *
 * Arguments are encoded when a node is added. So the graph keeps no pointer to the user's data
 * except the function. The graph keeps the first error, and later calls do nothing. The data
 * dependencies of a node are a range of `deps`, in the order of its arguments. The edges of
 * gw_graph_after are stored separately, and follow the data dependencies in the rows (rows.c).
 * External nodes, which stand for tasks of earlier jobs, have no row. */
#include "graph/model/graph_inside.h"

#include "graph/base/options_read.h"
#include "graph/model/options.h"
#include "graph/model/spec.h"
#include "graph/value/value.h"
#include "graph/wire/codec.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"

#include <msgpack/pack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define NO_NODE ((gw_node){UINT32_MAX})

struct gw_graph *gw_graph_new(void)
{
    return calloc(1, sizeof(struct gw_graph));
}

void gw_graph_free(struct gw_graph *graph)
{
    if (!graph)
        return;
    gw_array_deinit(&graph->nodes);
    gw_array_deinit(&graph->deps);
    gw_array_deinit(&graph->after);
    gw_array_deinit(&graph->specs);
    gw_map_deinit(&graph->spec_by_hash);
    gw_strmap_deinit(&graph->node_by_name);
    gw_buffer_deinit(&graph->args);
    gw_codec_deps_deinit(&graph->found);
    gw_arena_deinit(&graph->arena);
    gw_graph_rows_deinit(graph);
    free(graph);
}

uint32_t gw_graph_count(const struct gw_graph *graph)
{
    return graph ? (uint32_t)graph->nodes.count - graph->external_count : 0;
}

/* -- Adding nodes -- */

/* Returns true if no more nodes can be added. */
static bool closed(struct gw_graph *graph)
{
    if (!graph)
        return true;
    if ((graph->sealed || graph->headed) && !graph->error.code)
        gw_error_set(&graph->error, GW_EINVAL,
                     "nodes cannot be added to this graph, because it was submitted already: make "
                     "a new graph");
    return graph->error.code != 0;
}

static gw_node no_memory(struct gw_graph *graph)
{
    gw_error_set(&graph->error, GW_ENOMEM, "out of memory");
    return NO_NODE;
}

/* Finds an equal spec, or adds a copy. Writes its number. */
static int share_spec(struct gw_graph *graph, const struct gw_graph_spec *spec, uint32_t *number)
{
    size_t count = graph->specs.count;
    if (count && gw_spec_equal(spec, &graph->specs.items[count - 1])) { /* the usual case */
        *number = (uint32_t)count - 1;
        return 0;
    }
    uint64_t hash = gw_spec_hash(spec), known;
    if (gw_map_get(&graph->spec_by_hash, hash, &known) &&
        gw_spec_equal(spec, &graph->specs.items[known])) {
        *number = (uint32_t)known;
        return 0;
    }
    struct gw_graph_spec copy;
    if (gw_spec_copy(&graph->arena, spec, &copy) < 0 ||
        gw_map_put(&graph->spec_by_hash, hash, graph->specs.count) < 0 ||
        gw_array_reserve(&graph->specs, 1) < 0)
        return GW_ENOMEM;
    *number = (uint32_t)graph->specs.count;
    return gw_array_push(&graph->specs, copy);
}

/* Checks that a reference of a new node refers to an existing node and rank. */
static int check_ref(const struct gw_graph *graph, const struct gw_codec_dep *dep, const char *what,
                     struct gw_error *error)
{
    if (dep->index >= graph->nodes.count)
        return gw_error_set(error, GW_EINVAL, "%s: an argument refers to a node of another graph",
                            what);
    const struct gw_graph_node *node = &graph->nodes.items[dep->index];
    if (node->spec == GW_GRAPH_EXTERNAL)
        return 0; /* the scheduler checks its ranks */
    uint32_t ranks = graph->specs.items[node->spec].options.ranks;
    char text[256];
    if (dep->rank == GW_DEP_ALL ? ranks > 0 : dep->rank == 0 || dep->rank < ranks)
        return 0;
    gw_graph_label(graph, dep->index, text, sizeof text);
    if (dep->rank == GW_DEP_ALL)
        return gw_error_set(
            error, GW_EINVAL,
            "%s: an argument refers to all ranks of %s, which is not a gang: use gw_result", what,
            text);
    return gw_error_set(
        error, GW_EINVAL,
        "%s: an argument refers to rank %u of %s, which has %u ranks, numbered from 0", what,
        dep->rank, text, ranks ? ranks : 1);
}

static int write_buffer(void *arg, const char *data, size_t bytes)
{
    return gw_buffer_append(arg, data, bytes);
}

/* Appends the list of arguments to graph->args and their references to graph->found. */
static int encode_args(struct gw_graph *graph, struct gw_value **values, size_t count,
                       const char *what)
{
    msgpack_packer packer;
    msgpack_packer_init(&packer, &graph->args, write_buffer);
    if (msgpack_pack_array(&packer, count) < 0)
        return gw_error_set(&graph->error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        int rc = GW_EINVAL;
        if (!values[i] ||
            values[i]->depth < GW_FRAME_DEPTH_MAX) /* the list of arguments adds one level */
            rc = gw_codec_encode(values[i], &graph->found, &graph->args);
        if (rc < 0)
            return gw_error_set(
                &graph->error, rc, "%s: argument %zu: %s", what, i,
                rc == GW_EINVAL
                    ? "it has an invalid reference, or lists and dicts nested more than 16 deep"
                    : gw_error_text(rc));
    }
    return 0;
}

/* Adds a node. Its arguments are already at the end of graph->args. */
static gw_node add_node(struct gw_graph *graph, const char *name, struct gw_graph_node *node)
{
    uint32_t index = (uint32_t)graph->nodes.count;
    node->deps_at = (uint32_t)graph->deps.count;
    node->dep_count = (uint32_t)graph->found.list.count;
    if (graph->nodes.count >= GW_GRAPH_EXTERNAL - 1 ||
        graph->deps.count > UINT32_MAX - node->dep_count) {
        gw_error_set(&graph->error, GW_ELIMIT,
                     "the graph has more than 2^32 nodes or edges, which is the most: submit "
                     "several graphs");
        return NO_NODE;
    }
    if (name && gw_strmap_get(&graph->node_by_name, name, NULL)) {
        gw_error_set(&graph->error, GW_EEXIST,
                     "two tasks of the graph are named \"%s\": give one of them another name",
                     name);
        return NO_NODE;
    }
    if (name) {
        node->name = gw_arena_strdup(&graph->arena, name);
        if (!node->name || gw_strmap_put(&graph->node_by_name, name, index) < 0)
            return no_memory(graph);
    }
    if (gw_array_reserve(&graph->deps, node->dep_count) < 0 ||
        gw_array_push(&graph->nodes, *node) < 0)
        return no_memory(graph);
    struct gw_codec_dep *dep;
    GW_ARRAY_EACH (&graph->found.list, dep)
        (void)gw_array_push(&graph->deps, *dep); /* cannot fail: reserved above */
    return (gw_node){index};
}

/* Finds the spec of a call. Most calls have the same function as the call before and no options;
 * their specs are not compared. */
static int spec_of_call(struct gw_graph *graph, const struct gw_function *function,
                        const struct gw_task_options *options, uint32_t *number)
{
    if (!options && graph->plain == function) {
        *number = graph->plain_spec;
        return 0;
    }
    struct gw_graph_spec spec = {.kind = GW_SPEC_FUNCTION, .function = function};
    int rc = options ? gw_spec_set_options(&spec, options, &graph->error) : 0;
    const char *what = spec.options.name ? spec.options.name : function->name;
    if (rc == 0 && (spec.options.signal || spec.options.metrics))
        rc = gw_error_set(&graph->error, GW_EINVAL,
                          "the option `%s` can only be set for commands, not for functions",
                          spec.options.signal ? "signal" : "metrics");
    if (rc == 0)
        rc = gw_options_check(&spec.options, what, &graph->error);
    if (rc == 0 && share_spec(graph, &spec, number) < 0)
        rc = gw_error_set(&graph->error, GW_ENOMEM, "out of memory");
    if (rc == 0 && !options) {
        graph->plain = function;
        graph->plain_spec = *number;
    }
    return rc;
}

static gw_node call(struct gw_graph *graph, uint32_t spec, const char *name,
                    struct gw_value **values, size_t count)
{
    const char *what = name ? name : graph->specs.items[spec].function->name;
    struct gw_graph_node node = {.spec = spec, .args_at = graph->args.size};
    gw_codec_deps_clear(&graph->found);
    if (encode_args(graph, values, count, what) < 0)
        return NO_NODE;
    node.args_bytes = graph->args.size - node.args_at;
    struct gw_codec_dep *dep;
    GW_ARRAY_EACH (&graph->found.list, dep)
        if (check_ref(graph, dep, what, &graph->error) < 0)
            return NO_NODE;
    return add_node(graph, name, &node);
}

gw_node gw_graph_call(struct gw_graph *graph, const struct gw_function *function,
                      const struct gw_task_options *options, struct gw_value **values, size_t count)
{
    gw_node node = NO_NODE;
    if (!closed(graph)) {
        uint32_t spec;
        if (!function || !function->name)
            gw_error_set(&graph->error, GW_EINVAL,
                         "gw_call needs a function: pass the name of a GW_TASK");
        else if (spec_of_call(graph, function, options, &spec) == 0)
            node = call(graph, spec, options ? options->name : NULL, values, count);
    }
    for (size_t i = 0; i < count; i++)
        gw_value_unref(values[i]);
    return node;
}

static int check_command(const struct gw_command *command, struct gw_error *error)
{
    if (!command->argv || !command->argv[0] || !*command->argv[0])
        return gw_error_set(error, GW_EINVAL,
                            "gw_graph_command needs a program: argv[0] is missing");
    for (const char *const *entry = command->env; entry && *entry; entry++)
        if (!strchr(*entry, '=') || **entry == '=')
            return gw_error_set(error, GW_EINVAL, "%s: \"%s\" in env is not NAME=value",
                                command->argv[0], *entry);
    return 0;
}

/* Encodes the arguments of a command: [], [index], or [index, line]. */
static int encode_element(struct gw_graph *graph, const struct gw_command *command)
{
    msgpack_packer packer;
    msgpack_packer_init(&packer, &graph->args, write_buffer);
    bool line = command->index && command->line;
    int rc = msgpack_pack_array(&packer, (size_t)(command->index != NULL) + line);
    if (rc == 0 && command->index)
        rc = msgpack_pack_int64(&packer, *command->index);
    if (rc == 0 && line)
        rc = msgpack_pack_str_with_body(&packer, command->line, strlen(command->line));
    return rc;
}

gw_node gw_graph_command(struct gw_graph *graph, const struct gw_command *given,
                         const struct gw_task_options *options)
{
    struct gw_command read;
    const struct gw_command *command = &read;
    if (closed(graph) || GW_OPTIONS_READ(&read, given, gw_command, &graph->error) < 0 ||
        check_command(command, &graph->error) < 0)
        return NO_NODE;
    struct gw_graph_spec spec = {.kind = GW_SPEC_COMMAND,
                                 .argv = command->argv,
                                 .env = command->env,
                                 .cwd = command->cwd,
                                 .env_templates = command->env ? command->env_templates : 0,
                                 .held_output = command->held_output,
                                 .input = command->input,
                                 .epilog = command->epilog};
    if (options && gw_spec_set_options(&spec, options, &graph->error) < 0)
        return NO_NODE;
    struct gw_graph_node node = {.args_at = graph->args.size};
    gw_codec_deps_clear(&graph->found);
    if (gw_options_check(&spec.options, command->argv[0], &graph->error) < 0)
        return NO_NODE;
    if (encode_element(graph, command) < 0)
        return no_memory(graph);
    node.args_bytes = graph->args.size - node.args_at;
    if (share_spec(graph, &spec, &node.spec) < 0)
        return no_memory(graph);
    return add_node(graph, spec.options.name, &node);
}

gw_node gw_graph_external(struct gw_graph *graph, uint64_t job, uint32_t index)
{
    if (closed(graph))
        return NO_NODE;
    struct gw_graph_node node = {.spec = GW_GRAPH_EXTERNAL, .job = job, .index = index};
    if (graph->nodes.count >= GW_GRAPH_EXTERNAL - 1 || gw_array_push(&graph->nodes, node) < 0)
        return no_memory(graph);
    graph->external_count++;
    return (gw_node){(uint32_t)graph->nodes.count - 1};
}

bool gw_graph_external_of(const struct gw_graph *graph, gw_node node, uint64_t *job,
                          uint32_t *index)
{
    if (!graph || node.index >= graph->nodes.count ||
        graph->nodes.items[node.index].spec != GW_GRAPH_EXTERNAL)
        return false;
    *job = graph->nodes.items[node.index].job;
    *index = graph->nodes.items[node.index].index;
    return true;
}

void gw_graph_after(struct gw_graph *graph, gw_node node, gw_node before)
{
    if (closed(graph))
        return;
    uint32_t count = (uint32_t)graph->nodes.count;
    if (node.index >= count || before.index >= count ||
        graph->nodes.items[node.index].spec == GW_GRAPH_EXTERNAL)
        gw_error_set(
            &graph->error, GW_EINVAL,
            "gw_graph_after: a node is not of this graph, or is a result of an earlier submission");
    else if (gw_array_push(&graph->after,
                           ((struct gw_graph_after_edge){node.index, before.index})) < 0)
        (void)no_memory(graph);
}
