/* Building a task graph, and turning it into the rows of a submit.
 *
 * Arguments are encoded when a node is added, so nothing of the user's is kept but the function.
 * The first error sticks; from then on nothing is added. A node's data dependencies are a stretch
 * of `deps`, in the order in which its arguments name them; gw_graph_after's are apart, and come
 * behind them in the rows. Nodes that stand for tasks of earlier jobs have no row. */
#include "graph/model/graph.h"

#include "graph/base/array.h"
#include "graph/base/map.h"
#include "graph/model/options.h"
#include "graph/model/order.h"
#include "graph/model/spec.h"
#include "graph/model/value.h"
#include "graph/wire/codec.h"
#include "graph/wire/enums.h"
#include "graph/wire/frame.h"

#include <assert.h>
#include <msgpack/pack.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CYCLE_SHOWN_MAX = 8, LARGE_NODES = 1 << 15, HEAD_NODES = 1024, AHEAD = 8 };
#define EXTERNAL UINT32_MAX /* as the spec of a node */
#define NO_NODE ((gw_node){UINT32_MAX})

struct node {
    uint32_t spec;
    uint32_t deps_at, dep_count;
    uint32_t index; /* of an external node: in its job */
    uint64_t job;
    size_t args_at, args_bytes;
    const char *name; /* or NULL */
};

struct after {
    uint32_t node, before;
};

/* The edges of a graph, by node: data dependencies first, then the others. */
struct edges {
    uint32_t *at;
    uint32_t *to, *rank;
};

/* The columns of the rows, while they are written. */
struct columns {
    uint32_t *row_of_node, *spec, *args_at, *deps_at, *dep_row, *dep_rank;
    const char **names;
    uint8_t *args;
    uint64_t *dep_job;
};

/* Rows that are written one after the other, of the first `nodes` nodes in this order. */
struct writing {
    struct columns columns;
    struct edges edges;
    uint32_t *order;
    size_t nodes, at;         /* at: of `order`, the next */
    uint32_t row, args, deps; /* written so far */
};

struct gw_graph {
    struct gw_error error; /* the first that stuck */
    bool sealed, headed;   /* headed: the first HEAD_NODES nodes are the first rows */
    uint32_t external_count;
    GW_ARRAY(struct node) nodes;
    GW_ARRAY(struct gw_codec_dep) deps; /* .index is a node */
    GW_ARRAY(struct after) after;
    GW_ARRAY(struct gw_graph_spec) specs;
    struct gw_map spec_by_hash;
    const struct gw_function *plain; /* that was called last without options; NULL: none was ... */
    uint32_t plain_spec;             /* ... and its spec */
    struct gw_strmap node_by_name;
    struct gw_buffer args;
    struct gw_codec_deps found; /* of the node that is being added */
    struct gw_arena arena;      /* texts; the rows */
    struct gw_graph_rows rows;
    struct writing writing; /* of those rows */
};

struct gw_graph *gw_graph_new(void)
{
    return calloc(1, sizeof(struct gw_graph));
}

static void edges_deinit(struct edges *edges)
{
    free(edges->at);
    free(edges->to);
    free(edges->rank);
}

static void writing_deinit(struct writing *writing)
{
    edges_deinit(&writing->edges);
    free(writing->order);
    writing->edges = (struct edges){0};
    writing->order = NULL;
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
    writing_deinit(&graph->writing);
    free(graph);
}

uint32_t gw_graph_count(const struct gw_graph *graph)
{
    return graph ? (uint32_t)graph->nodes.count - graph->external_count : 0;
}

/* What a person calls a node: its name, else its function or program with its number. */
static const char *label(const struct gw_graph *graph, uint32_t index, char *text, size_t bytes)
{
    const struct node *node = &graph->nodes.items[index];
    const char *what = "earlier result";
    if (node->spec != EXTERNAL) {
        const struct gw_graph_spec *spec = &graph->specs.items[node->spec];
        what = spec->function ? spec->function->name : spec->argv[0];
    }
    if (node->name)
        (void)snprintf(text, bytes, "%s", node->name);
    else
        (void)snprintf(text, bytes, "%s#%u", what, index);
    return text;
}

/* -- Adding nodes -- */

/* Whether nothing may be added any more. */
static bool closed(struct gw_graph *graph)
{
    if (!graph)
        return true;
    if ((graph->sealed || graph->headed) && !graph->error.code)
        gw_error_set(&graph->error, GW_EINVAL, "the graph was submitted and takes no more nodes");
    return graph->error.code != 0;
}

static gw_node no_memory(struct gw_graph *graph)
{
    gw_error_set(&graph->error, GW_ENOMEM, "out of memory");
    return NO_NODE;
}

/* Gives the number of an equal spec, or of a copy. */
static int share_spec(struct gw_graph *graph, const struct gw_graph_spec *spec, uint32_t *number)
{
    size_t count = graph->specs.count;
    if (count && gw_spec_equal(spec, &graph->specs.items[count - 1])) { /* most often */
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

/* Whether a reference of a new node points to what is there. */
static int check_ref(const struct gw_graph *graph, const struct gw_codec_dep *dep, const char *what,
                     struct gw_error *error)
{
    if (dep->index >= graph->nodes.count)
        return gw_error_set(error, GW_EINVAL, "%s: refers to a node that is not of this graph",
                            what);
    const struct node *node = &graph->nodes.items[dep->index];
    if (node->spec == EXTERNAL)
        return 0; /* the scheduler knows its ranks */
    uint32_t ranks = graph->specs.items[node->spec].options.ranks;
    char text[256];
    if (dep->rank == GW_DEP_ALL ? ranks > 0 : dep->rank == 0 || dep->rank < ranks)
        return 0;
    label(graph, dep->index, text, sizeof text);
    if (dep->rank == GW_DEP_ALL)
        return gw_error_set(error, GW_EINVAL, "%s: takes all ranks of %s, which is not a gang",
                            what, text);
    return gw_error_set(error, GW_EINVAL, "%s: takes rank %u of %s, which has %u", what, dep->rank,
                        text, ranks ? ranks : 1);
}

static int write_buffer(void *arg, const char *data, size_t bytes)
{
    return gw_buffer_append(arg, data, bytes);
}

/* Appends the list of arguments to graph->args, and what it refers to to graph->found. */
static int encode_args(struct gw_graph *graph, struct gw_value **values, size_t count,
                       const char *what)
{
    msgpack_packer packer;
    msgpack_packer_init(&packer, &graph->args, write_buffer);
    if (msgpack_pack_array(&packer, count) < 0)
        return gw_error_set(&graph->error, GW_ENOMEM, "out of memory");
    for (size_t i = 0; i < count; i++) {
        int rc = GW_EINVAL;
        if (!values[i] || values[i]->depth < GW_FRAME_DEPTH_MAX) /* the list around is one more */
            rc = gw_codec_encode(values[i], &graph->found, &graph->args);
        if (rc < 0)
            return gw_error_set(&graph->error, rc, "%s: argument %zu: %s", what, i,
                                rc == GW_EINVAL ? "a broken reference, or nested too deeply"
                                                : gw_error_text(rc));
    }
    return 0;
}

/* Appends the node that was put together, with its spec; its arguments are at the end of
 * graph->args already. */
static gw_node add_node(struct gw_graph *graph, const char *name, struct node *node)
{
    uint32_t index = (uint32_t)graph->nodes.count;
    node->deps_at = (uint32_t)graph->deps.count;
    node->dep_count = (uint32_t)graph->found.list.count;
    if (graph->nodes.count >= EXTERNAL - 1 || graph->deps.count > UINT32_MAX - node->dep_count) {
        gw_error_set(&graph->error, GW_ELIMIT, "more than 2^32 nodes or edges");
        return NO_NODE;
    }
    if (name && gw_strmap_get(&graph->node_by_name, name, NULL)) {
        gw_error_set(&graph->error, GW_EEXIST, "two nodes are named \"%s\"", name);
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
        (void)gw_array_push(&graph->deps, *dep); /* reserved above */
    return (gw_node){index};
}

/* The spec of a call. Nearly all are of the same function as the one before, without options: they
 * are not even compared. */
static int spec_of_call(struct gw_graph *graph, const struct gw_function *function,
                        const struct gw_task_options *options, uint32_t *number)
{
    if (!options && graph->plain == function) {
        *number = graph->plain_spec;
        return 0;
    }
    struct gw_graph_spec spec = {.kind = GW_SPEC_FUNCTION, .function = function};
    const char *what = function->name;
    if (options) {
        spec.options = *options;
        what = options->name ? options->name : what;
    }
    int rc = gw_options_check(&spec.options, what, &graph->error);
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
    struct node node = {.spec = spec, .args_at = graph->args.size};
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
        if (options && options->signal)
            gw_error_set(&graph->error, GW_EINVAL, "a function gets no signal of its own");
        else if (!function || !function->name)
            gw_error_set(&graph->error, GW_EINVAL, "a call without a function");
        else if (spec_of_call(graph, function, options, &spec) == 0)
            node = call(graph, spec, options ? options->name : NULL, values, count);
    }
    for (size_t i = 0; i < count; i++)
        gw_value_unref(values[i]);
    return node;
}

static int check_command(const struct gw_command *command, struct gw_error *error)
{
    if (!command || !command->argv || !command->argv[0] || !*command->argv[0])
        return gw_error_set(error, GW_EINVAL, "a command without a program");
    for (const char *const *entry = command->env; entry && *entry; entry++)
        if (!strchr(*entry, '=') || **entry == '=')
            return gw_error_set(error, GW_EINVAL, "%s: \"%s\" in env is not NAME=value",
                                command->argv[0], *entry);
    return 0;
}

/* A command's arguments: [], or [index], or [index, line]. */
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

gw_node gw_graph_command(struct gw_graph *graph, const struct gw_command *command,
                         const struct gw_task_options *options)
{
    if (closed(graph) || check_command(command, &graph->error) < 0)
        return NO_NODE;
    struct gw_graph_spec spec = {.kind = GW_SPEC_COMMAND,
                                 .argv = command->argv,
                                 .env = command->env,
                                 .cwd = command->cwd,
                                 .env_templates = command->env ? command->env_templates : 0,
                                 .epilog = command->epilog};
    if (options)
        spec.options = *options;
    struct node node = {.args_at = graph->args.size};
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
    struct node node = {.spec = EXTERNAL, .job = job, .index = index};
    if (graph->nodes.count >= EXTERNAL - 1 || gw_array_push(&graph->nodes, node) < 0)
        return no_memory(graph);
    graph->external_count++;
    return (gw_node){(uint32_t)graph->nodes.count - 1};
}

bool gw_graph_external_of(const struct gw_graph *graph, gw_node node, uint64_t *job,
                          uint32_t *index)
{
    if (!graph || node.index >= graph->nodes.count ||
        graph->nodes.items[node.index].spec != EXTERNAL)
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
        graph->nodes.items[node.index].spec == EXTERNAL)
        gw_error_set(&graph->error, GW_EINVAL,
                     "gw_graph_after: a node that is not of this graph, or not run by it");
    else if (gw_array_push(&graph->after, ((struct after){node.index, before.index})) < 0)
        (void)no_memory(graph);
}

/* -- Checking and sealing -- */

/* The data dependencies of the first `count` nodes, and the bytes of their arguments: both lie in
 * the order of nodes. */
static size_t deps_of(const struct gw_graph *graph, size_t count)
{
    for (; count < graph->nodes.count; count++) /* an external one has no place */
        if (graph->nodes.items[count].spec != EXTERNAL)
            return graph->nodes.items[count].deps_at;
    return graph->deps.count;
}

static size_t args_of(const struct gw_graph *graph, size_t count)
{
    for (; count < graph->nodes.count; count++) /* likewise */
        if (graph->nodes.items[count].spec != EXTERNAL)
            return graph->nodes.items[count].args_at;
    return graph->args.size;
}

/* Without gw_graph_after: the edges lie as they came. */
static void edges_copy(struct edges *edges, const struct gw_graph *graph, size_t count,
                       bool external)
{
    const struct node *nodes = graph->nodes.items;
    uint32_t edge = 0;
    for (size_t i = 0; i < count; i++) {
        edges->at[i] = edge;
        for (uint32_t d = 0; d < nodes[i].dep_count; d++) {
            const struct gw_codec_dep *dep = &graph->deps.items[nodes[i].deps_at + d];
            if (!external && nodes[dep->index].spec == EXTERNAL)
                continue;
            edges->to[edge] = dep->index;
            edges->rank[edge++] = dep->rank;
        }
    }
    edges->at[count] = edge;
}

/* Lays out the edges of the first `count` nodes; those to external nodes only where `external` is
 * set. With fewer than all nodes there are none of gw_graph_after. */
static int edges_init(struct edges *edges, const struct gw_graph *graph, size_t count,
                      bool external)
{
    size_t room = deps_of(graph, count) + graph->after.count;
    *edges =
        (struct edges){calloc(count + 2, sizeof(uint32_t)), malloc((room + 1) * sizeof(uint32_t)),
                       malloc((room + 1) * sizeof(uint32_t))};
    if (!edges->at || !edges->to || !edges->rank || room > UINT32_MAX)
        return GW_ENOMEM;
    if (graph->after.count == 0) {
        edges_copy(edges, graph, count, external);
        return 0;
    }

    const struct node *nodes = graph->nodes.items;
    const struct after *after;
    uint32_t *at = edges->at + 1; /* counted one behind, so that filling moves it into place */
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < nodes[i].dep_count; d++)
            at[i + 1] +=
                external || nodes[graph->deps.items[nodes[i].deps_at + d].index].spec != EXTERNAL;
    GW_ARRAY_EACH (&graph->after, after)
        at[after->node + 1] += external || nodes[after->before].spec != EXTERNAL;
    for (size_t i = 0; i < count; i++)
        at[i + 1] += at[i];
    for (size_t i = 0; i < count; i++)
        for (uint32_t d = 0; d < nodes[i].dep_count; d++) {
            const struct gw_codec_dep *dep = &graph->deps.items[nodes[i].deps_at + d];
            if (!external && nodes[dep->index].spec == EXTERNAL)
                continue;
            edges->to[at[i]] = dep->index;
            edges->rank[at[i]++] = dep->rank;
        }
    GW_ARRAY_EACH (&graph->after, after) {
        if (!external && nodes[after->before].spec == EXTERNAL)
            continue;
        edges->to[at[after->node]] = after->before;
        edges->rank[at[after->node]++] = GW_DEP_AFTER;
    }
    return 0;
}

static int say_cycle(const struct gw_graph *graph, const uint32_t *cycle, uint32_t count,
                     struct gw_error *error)
{
    char path[GW_ERROR_TEXT_MAX] = "", one[96];
    size_t at = 0;
    for (uint32_t i = 0; i < count && i < CYCLE_SHOWN_MAX; i++)
        at += (size_t)snprintf(path + at, sizeof path - at, "%s -> ",
                               label(graph, cycle[i], one, sizeof one));
    if (count > CYCLE_SHOWN_MAX)
        (void)snprintf(path + at, sizeof path - at, "(%u more) -> ", count - CYCLE_SHOWN_MAX);
    return gw_error_set(error, GW_ECYCLE, "the graph has a cycle: %s%s", path,
                        label(graph, cycle[0], one, sizeof one));
}

/* Sorts the graph into `order` (room for all nodes). edges: all of it, or NULL. */
static int sort(const struct gw_graph *graph, const struct edges *edges, uint32_t *order,
                struct gw_error *error)
{
    struct edges inner = {0};
    uint32_t cycle;
    int rc = 0;
    if (!edges || graph->external_count > 0) {
        rc = edges_init(&inner, graph, graph->nodes.count, false);
        edges = &inner;
    }
    if (rc == 0) {
        struct gw_order_graph input = {(uint32_t)graph->nodes.count, edges->at, edges->to,
                                       graph->headed ? HEAD_NODES : 0};
        rc = gw_order_sort(&input, order, &cycle);
    }
    edges_deinit(&inner);
    if (rc == GW_ECYCLE)
        return say_cycle(graph, order, cycle, error);
    return rc < 0 ? gw_error_set(error, rc, "out of memory") : 0;
}

/* The error that stuck, or a missing graph. */
static int stuck(const struct gw_graph *graph, struct gw_error *error)
{
    if (!graph)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    if (graph->error.code)
        return gw_error_set(error, graph->error.code, "%s", graph->error.text);
    return 0;
}

int gw_graph_check(struct gw_graph *graph, struct gw_error *error)
{
    int rc = stuck(graph, error);
    if (rc < 0 || graph->after.count == 0) /* references alone go backwards: no cycle */
        return rc;
    uint32_t *order = malloc((graph->nodes.count + 1) * sizeof *order);
    if (!order)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    rc = sort(graph, NULL, order, error);
    free(order);
    return rc;
}

/* Room for the first `count` nodes. */
static int columns_alloc(struct columns *c, struct gw_graph *graph, size_t count)
{
    struct gw_arena *arena = &graph->arena;
    size_t nodes = count + 1;
    size_t deps = deps_of(graph, count) + graph->after.count + 1;
    *c = (struct columns){
        .row_of_node = gw_arena_alloc(arena, nodes * sizeof(uint32_t)),
        .spec = gw_arena_alloc(arena, nodes * sizeof(uint32_t)),
        .args_at = gw_arena_alloc(arena, nodes * sizeof(uint32_t)),
        .deps_at = gw_arena_alloc(arena, nodes * sizeof(uint32_t)),
        .names = gw_arena_alloc(arena, nodes * sizeof(char *)),
        .args = gw_arena_alloc(arena, args_of(graph, count) + 1),
        .dep_row = gw_arena_alloc(arena, deps * sizeof(uint32_t)),
        .dep_rank = gw_arena_alloc(arena, deps * sizeof(uint32_t)),
        .dep_job = gw_arena_alloc(arena, deps * sizeof(uint64_t)),
    };
    return c->row_of_node && c->spec && c->args_at && c->deps_at && c->names && c->args &&
                   c->dep_row && c->dep_rank && c->dep_job
               ? 0
               : GW_ENOMEM;
}

/* What a row is written from lies anywhere in the graph: it is asked for some rows ahead. */
static void prefetch(const struct gw_graph *graph, const struct edges *edges, const uint32_t *order,
                     size_t left)
{
    if (left > 2 * AHEAD) {
        __builtin_prefetch(&graph->nodes.items[order[2 * AHEAD]]);
        __builtin_prefetch(&edges->at[order[2 * AHEAD]]);
    }
    if (left > AHEAD) {
        const struct node *node = &graph->nodes.items[order[AHEAD]];
        __builtin_prefetch(graph->args.data + node->args_at);
        __builtin_prefetch(&edges->to[edges->at[order[AHEAD]]]);
        __builtin_prefetch(&edges->rank[edges->at[order[AHEAD]]]);
    }
}

/* Writes rows until there are `rows` of them, or all; external nodes have none. */
static void write_rows(struct writing *writing, const struct gw_graph *graph, uint32_t rows)
{
    struct columns *c = &writing->columns;
    const struct edges *edges = &writing->edges;
    const bool any_external = graph->external_count > 0;
    uint32_t row = writing->row, args = writing->args, deps = writing->deps;
    size_t at = writing->at;
    for (; at < writing->nodes && row < rows; at++) {
        uint32_t index = writing->order[at];
        const struct node *node = &graph->nodes.items[index];
        prefetch(graph, edges, writing->order + at, writing->nodes - at);
        if (any_external && node->spec == EXTERNAL)
            continue;
        c->spec[row] = node->spec;
        c->names[row] = node->name;
        memcpy(c->args + args, graph->args.data + node->args_at, node->args_bytes);
        args += (uint32_t)node->args_bytes;
        for (uint32_t e = edges->at[index]; e < edges->at[index + 1]; e++, deps++) {
            const struct node *dep = &graph->nodes.items[edges->to[e]];
            bool external = any_external && dep->spec == EXTERNAL;
            c->dep_row[deps] = external ? dep->index : c->row_of_node[edges->to[e]];
            c->dep_job[deps] = external ? dep->job : 0;
            c->dep_rank[deps] = edges->rank[e];
            assert(external || c->dep_row[deps] < row);
        }
        row++;
        c->args_at[row] = args;
        c->deps_at[row] = deps;
    }
    writing->at = at;
    writing->row = row;
    writing->args = args;
    writing->deps = deps;
    if (at == writing->nodes)
        writing_deinit(writing);
}

/* Gives each node its row; gives how many rows there are. */
static uint32_t number_rows(struct writing *writing, const struct gw_graph *graph)
{
    uint32_t *row_of_node = writing->columns.row_of_node, rows = 0;
    for (size_t i = 0; i < writing->nodes; i++) {
        uint32_t node = writing->order[i];
        bool external = graph->external_count && graph->nodes.items[node].spec == EXTERNAL;
        row_of_node[node] = external ? UINT32_MAX : rows++;
    }
    return rows;
}

static struct gw_graph_rows rows_of(const struct gw_graph *graph, const struct writing *writing,
                                    uint32_t count)
{
    const struct columns *columns = &writing->columns;
    return (struct gw_graph_rows){
        .count = count,
        .node_count = (uint32_t)writing->nodes,
        .row_of_node = columns->row_of_node,
        .specs = graph->specs.items,
        .spec_count = (uint32_t)graph->specs.count,
        .spec = columns->spec,
        .names = columns->names,
        .args_at = columns->args_at,
        .args = columns->args,
        .deps_at = columns->deps_at,
        .dep_row = columns->dep_row,
        .dep_rank = columns->dep_rank,
        .dep_job = columns->dep_job,
    };
}

/* Finds the order of the first `nodes` nodes (of all: sorted; of fewer: as they are), and room for
 * their rows, of which none is written. */
static int writing_init(struct writing *writing, struct gw_graph *graph, size_t nodes,
                        struct gw_graph_rows *rows, struct gw_error *error)
{
    int rc = 0;
    *writing = (struct writing){.nodes = nodes, .order = malloc((nodes + 1) * sizeof(uint32_t))};
    if (!writing->order || edges_init(&writing->edges, graph, nodes, true) < 0)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    else if (nodes == graph->nodes.count)
        rc = sort(graph, &writing->edges, writing->order, error);
    else
        for (uint32_t i = 0; i < nodes; i++)
            writing->order[i] = i;
    if (rc == 0 && graph->args.size > UINT32_MAX)
        rc = gw_error_set(error, GW_ELIMIT, "4 GiB of arguments or more");
    if (rc == 0 && columns_alloc(&writing->columns, graph, nodes) < 0)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc < 0) {
        writing_deinit(writing);
        return rc;
    }
    writing->columns.args_at[0] = writing->columns.deps_at[0] = 0;
    *rows = rows_of(graph, writing, number_rows(writing, graph));
    return 0;
}

int gw_graph_head(struct gw_graph *graph, struct gw_graph_rows *rows, struct gw_error *error)
{
    struct writing writing;
    int rc = stuck(graph, error);
    *rows = (struct gw_graph_rows){0};
    if (rc < 0 || graph->sealed || graph->headed || graph->after.count > 0 ||
        graph->nodes.count < LARGE_NODES)
        return rc;
    rc = writing_init(&writing, graph, HEAD_NODES, rows, error);
    if (rc == 0) {
        write_rows(&writing, graph, UINT32_MAX);
        graph->headed = true;
    }
    return rc;
}

int gw_graph_sort(struct gw_graph *graph, struct gw_graph_rows *rows, struct gw_error *error)
{
    int rc = graph && graph->sealed ? 0 : stuck(graph, error);
    if (rc == 0 && !graph->sealed)
        rc = writing_init(&graph->writing, graph, graph->nodes.count, &graph->rows, error);
    if (rc < 0)
        return rc;
    graph->sealed = true;
    *rows = graph->rows;
    return 0;
}

void gw_graph_write(struct gw_graph *graph, uint32_t rows)
{
    write_rows(&graph->writing, graph, rows);
}

int gw_graph_seal(struct gw_graph *graph, struct gw_graph_rows *rows, struct gw_error *error)
{
    int rc = gw_graph_sort(graph, rows, error);
    if (rc == 0)
        gw_graph_write(graph, UINT32_MAX);
    return rc;
}
