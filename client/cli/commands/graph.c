/* `gangway graph`: prints a job's graph for a terminal or for Graphviz. */
#include "client/cli/commands/commands.h"

#include "client/cli/lib/selector.h"
#include "client/cli/lib/table.h"

#include <stdlib.h>
#include <string.h>

enum { NODES = 40, NODES_DOT = 200, EDGES_SAID = 4, DEPTH_MAX = 6 };

struct drawing {
    bool dot, json;
    uint32_t limit; /* largest number of nodes; 0: the default for this kind of output */
};

/* States in the order in which they are printed: failures first. */
static const struct {
    const char *state, *colour;
} states[] = {
    {"failed", "#f28b82"},  {"cancelled", "#cfcfcf"}, {"cancelling", "#d7ccc8"},
    {"running", "#fdd663"}, {"queued", "#feefc3"},    {"pipelined", "#feefc3"},
    {"ready", "#aecbfa"},   {"waiting", "#e8eaed"},   {"done", "#a8dab5"},
};
enum { STATES = sizeof states / sizeof *states };

/* Returns one number of an edge, which is [from, to, count]. */
static int64_t part_of(const struct gw_value *edge, size_t part)
{
    int64_t number = 0;
    (void)gw_value_get_i64(gw_value_at(edge, part), &number, NULL);
    return number;
}

/* Writes the states of a node's tasks, like "3 failed, 12 done". For a single task it writes only
 * the state. */
static void say_states(const struct gw_value *node, char *text, size_t bytes)
{
    const struct gw_value *counts = gw_value_find(node, "states");
    bool one = gw_table_number(node, "tasks") == 1;
    size_t used = 0;
    *text = '\0';
    for (size_t i = 0; i < STATES && used < bytes; i++) {
        int64_t count = gw_table_number(counts, states[i].state);
        int n = 0;
        if (count && one)
            n = snprintf(text, bytes, "%s", states[i].state);
        else if (count)
            n = snprintf(text + used, bytes - used, "%s%lld %s", used ? ", " : "", (long long)count,
                         states[i].state);
        used += n > 0 ? (size_t)n : 0;
    }
}

/* Writes the kind of a node, like "gang of 4" or "1000 tasks". The text is empty for an ordinary
 * task. */
static void say_kind(const struct gw_value *node, char *text, size_t bytes)
{
    long long tasks = gw_table_number(node, "tasks"), ranks = gw_table_number(node, "ranks");
    const char *kind = gw_table_text(node, "kind");
    *text = '\0';
    if (strcmp(kind, "job") == 0)
        snprintf(text, bytes, "job %lld", (long long)gw_table_number(node, "job"));
    else if (strcmp(kind, "range") == 0)
        snprintf(text, bytes, "range of %lld", tasks);
    else if (ranks && tasks > 1)
        snprintf(text, bytes, "%lld gangs of %lld", tasks, ranks);
    else if (ranks)
        snprintf(text, bytes, "gang of %lld", ranks);
    else if (tasks > 1)
        snprintf(text, bytes, "%lld tasks", tasks);
    else if (strcmp(kind, "task") != 0)
        snprintf(text, bytes, "%s", kind);
}

/* -- Graphviz ------------------------------------------------------------------------------------
 */

static void print_quoted(const char *text)
{
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            putchar('\\');
        putchar(c < 0x20 || c == 0x7f ? '?' : c);
    }
}

/* Prints the colours of a node: one for each state, with a width in proportion to the number of
 * tasks. */
static void print_colours(const struct gw_value *node)
{
    const struct gw_value *counts = gw_value_find(node, "states");
    double tasks = (double)gw_table_number(node, "tasks");
    int said = 0, kinds = 0;
    for (size_t i = 0; i < STATES; i++)
        kinds += gw_table_number(counts, states[i].state) > 0;
    printf(", fillcolor=\"");
    for (size_t i = 0; i < STATES; i++) {
        int64_t count = gw_table_number(counts, states[i].state);
        if (!count)
            continue;
        printf("%s%s", said++ ? ":" : "", states[i].colour);
        if (kinds > 1 && said < kinds) /* the last colour takes the rest of the width */
            printf(";%.4f", (double)count / tasks);
    }
    printf(said ? "\"" : "white\"");
    printf(", style=\"%s\"", kinds > 1                                         ? "striped"
                             : strcmp(gw_table_text(node, "kind"), "job") == 0 ? "filled,dashed"
                             : gw_value_find(node, "ranks")                    ? "filled"
                                                                               : "rounded,filled");
}

static void print_dot(const struct gw_value *graph)
{
    const struct gw_value *nodes = gw_value_find(graph, "nodes");
    const struct gw_value *edges = gw_value_find(graph, "edges");
    char said[256];
    printf("digraph gangway {\n  label=\"");
    print_quoted(gw_table_text(graph, "name"));
    printf(" (job %lld): %lld task%s", (long long)gw_table_number(graph, "job"),
           (long long)gw_table_number(graph, "tasks"),
           gw_table_number(graph, "tasks") == 1 ? "" : "s");
    if (*gw_table_text(graph, "note"))
        printf("\\n%s", gw_table_text(graph, "note"));
    printf("\";\n  labelloc=t;\n  fontname=\"Helvetica\";\n"
           "  node [shape=box, fontname=\"Helvetica\", fontsize=10];\n"
           "  edge [fontname=\"Helvetica\", fontsize=9, color=\"#5f6368\"];\n");
    for (size_t i = 0; i < gw_value_count(nodes); i++) {
        const struct gw_value *node = gw_value_at(nodes, i);
        printf("  n%zu [label=\"", i);
        print_quoted(gw_table_text(node, "label"));
        say_kind(node, said, sizeof said);
        printf("%s%s", *said ? "\\n" : "", said);
        say_states(node, said, sizeof said);
        printf("%s%s\"", *said ? "\\n" : "", said);
        print_colours(node);
        if (gw_value_find(node, "ranks")) /* a gang has a double border */
            printf(", peripheries=2");
        printf("];\n");
    }
    for (size_t i = 0; i < gw_value_count(edges); i++) {
        const struct gw_value *edge = gw_value_at(edges, i);
        printf("  n%lld -> n%lld", (long long)part_of(edge, 0), (long long)part_of(edge, 1));
        if (part_of(edge, 2) > 1)
            printf(" [label=\"%lld\"]", (long long)part_of(edge, 2));
        printf(";\n");
    }
    printf("}\n");
}

/* -- A terminal ----------------------------------------------------------------------------------
 */

/* Computes the depth of each node: the length of the longest path that leads to it, up to
 * DEPTH_MAX. */
static void measure_depths(const struct gw_value *edges, uint32_t *depths, size_t count)
{
    for (bool again = true; again;) {
        again = false;
        for (size_t i = 0; i < gw_value_count(edges); i++) {
            const struct gw_value *edge = gw_value_at(edges, i);
            size_t from = (size_t)part_of(edge, 0), to = (size_t)part_of(edge, 1);
            if (from >= count || to >= count || from == to || depths[to] > depths[from] ||
                depths[from] + 1 > DEPTH_MAX)
                continue;
            depths[to] = depths[from] + 1;
            again = true;
        }
    }
}

/* Writes the predecessors of a node. */
static void say_before(const struct gw_value *graph, size_t node, char *text, size_t bytes)
{
    const struct gw_value *nodes = gw_value_find(graph, "nodes");
    const struct gw_value *edges = gw_value_find(graph, "edges");
    size_t used = 0;
    int said = 0;
    *text = '\0';
    for (size_t i = 0; i < gw_value_count(edges) && used < bytes; i++) {
        const struct gw_value *edge = gw_value_at(edges, i);
        if (part_of(edge, 1) != (int64_t)node)
            continue;
        bool own = part_of(edge, 0) == (int64_t)node;
        int n = 0;
        if (said < EDGES_SAID)
            n = snprintf(
                text + used, bytes - used, "%s%s", said ? ", " : "; after ",
                own ? "each other"
                    : gw_table_text(gw_value_at(nodes, (size_t)part_of(edge, 0)), "label"));
        used += n > 0 ? (size_t)n : 0;
        said++;
    }
    if (said > EDGES_SAID && used < bytes)
        snprintf(text + used, bytes - used, " and %d more", said - EDGES_SAID);
}

static int print_tree(const struct gw_value *graph)
{
    const struct gw_value *nodes = gw_value_find(graph, "nodes");
    size_t count = gw_value_count(nodes);
    uint32_t *depths = calloc(count + 1, sizeof *depths);
    if (!depths)
        return GW_ENOMEM;
    measure_depths(gw_value_find(graph, "edges"), depths, count);
    gw_table_say(stdout, gw_table_text(graph, "name"));
    printf(" (job %lld): %lld task%s, %lld edge%s\n", (long long)gw_table_number(graph, "job"),
           (long long)gw_table_number(graph, "tasks"),
           gw_table_number(graph, "tasks") == 1 ? "" : "s",
           (long long)gw_table_number(graph, "edge_count"),
           gw_table_number(graph, "edge_count") == 1 ? "" : "s");
    for (size_t i = 0; i < count; i++) {
        const struct gw_value *node = gw_value_at(nodes, i);
        char line[1280], kind[64], said[256], before[640];
        say_kind(node, kind, sizeof kind);
        say_states(node, said, sizeof said);
        say_before(graph, i, before, sizeof before);
        snprintf(line, sizeof line, "%.128s%s%s%s%s%s%s", gw_table_text(node, "label"),
                 *kind ? " (" : "", kind, *kind ? ")" : "", *said ? ": " : "", said, before);
        int indent = 2 + 2 * (int)depths[i];
        printf("%*s", indent, "");
        gw_table_wrap(stdout, (size_t)indent + 2, line);
    }
    if (*gw_table_text(graph, "note"))
        fprintf(stderr, "%s\n", gw_table_text(graph, "note"));
    free(depths);
    return 0;
}

/* -- The subcommand ------------------------------------------------------------------------------
 */

static int draw(struct gw_client *client, const struct gw_selected *job, void *arg)
{
    const struct drawing *drawing = arg;
    struct gw_value *filter =
        gw_selector_query(&(struct gw_selected_task){.job = job->job, .whole = true});
    struct gw_value *graph = NULL;
    struct gw_error error;
    uint32_t limit = drawing->limit                  ? drawing->limit
                     : drawing->dot || drawing->json ? NODES_DOT
                                                     : NODES;
    int rc = gw_dict_set(filter, "limit", gw_i64(limit));
    rc = rc == 0 ? gw_client_query(client, "graph", filter, &graph, &error)
                 : gw_error_set(&error, rc, "out of memory");
    gw_value_unref(filter);
    if (rc < 0)
        return gw_cli_error(&error);
    if (drawing->json)
        rc = gw_table_json(stdout, graph, true);
    else if (drawing->dot)
        print_dot(graph);
    else
        rc = print_tree(graph);
    gw_value_unref(graph);
    if (rc == 0)
        return GW_EXIT_OK;
    gw_error_set(&error, rc, "out of memory");
    return gw_cli_error(&error);
}

int gw_cli_graph(int argc, char **argv)
{
    struct drawing drawing = {0};
    const struct gw_option table[] = {
        {"dot", 0, GW_OPTION_FLAG, &drawing.dot, NULL,
         "print for Graphviz: gangway graph 7 --dot | dot\n"
         "-Tsvg >graph.svg"},
        {"limit", 0, GW_OPTION_LIMIT, &drawing.limit, "N",
         "show at most N nodes; if there are more tasks,\n"
         "tasks whose names differ only by a number become\n"
         "one node (default: 40, with --dot 200; none: 5000,\n"
         "the most)"},
        {"json", 0, GW_OPTION_FLAG, &drawing.json, NULL, "print one line of JSON for each"},
        {0},
    };
    const struct gw_selector_command command = {
        .options =
            {.command = "graph",
             .summary = "Show a job's graph: its tasks, their order and their states.",
             .details =
                 "JOB is a number, a list like 1,3,5-8, a name (the latest job of this name),\n"
                 "last, or all (unfinished jobs).",
             .table = table},
        .unfinished = true,
        .each = draw,
        .arg = &drawing,
    };
    return gw_selector_run(&command, argc, argv);
}
