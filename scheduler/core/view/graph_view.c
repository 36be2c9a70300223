/* Draws the graph of a job as nodes and edges for people.
 *
 * Each row belongs to one node, and `of` maps rows to nodes. All tasks of another job that supply
 * results form one node. Nodes are numbered in the order of their first rows, so edges run from
 * lower numbers to higher numbers, except for edges inside a group. */
#include "scheduler/core/view/graph_view.h"

#include "graph/base/strmap.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/view/running.h"

#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { STATES = GW_TASK_PIPELINED + 1, EDGES_MAX = 20000 };

struct node {
    char label[128];
    const char *kind;
    uint64_t job;                   /* id of another job; 0: this job */
    uint64_t tasks, states[STATES]; /* the count of placed tasks includes running ones */
    uint64_t running;
    uint32_t ranks, first;
};

struct graph_view {
    const struct gw_sched *sched;
    struct gw_job *job;
    struct gw_running runs;
    GW_ARRAY(struct node) nodes;
    uint32_t limit;
    bool grouped;
    uint32_t *of;           /* row -> node */
    struct gw_strmap names; /* label of a group -> node */
    struct gw_map jobs;     /* another job -> node */
    struct gw_map edges;    /* from << 32 | to -> how many */
    uint64_t edge_count;
    bool cut; /* EDGES_MAX was reached: some edges are missing */
};

static void set(struct gw_value *dict, const char *key, struct gw_value *value)
{
    GW_MUST(gw_dict_set(dict, key, value));
}

static const char *kind_of(const struct gw_job *job, const struct gw_spec *spec)
{
    if (job->actor)
        return "actor";
    if (spec->message.ranks > 0)
        return "gang";
    return spec->message.kind == GW_SPEC_VALUE ? "value" : "task";
}

/* Replaces the number at the end of a label by "*": "step-12" and "step-13" both become "step-*".
 */
static void strip_number(char *label)
{
    size_t length = strlen(label), end = length;
    while (end > 0 && isdigit((unsigned char)label[end - 1]))
        end--;
    if (end < length && end + 1 < length + 1)
        memcpy(label + end, "*", 2);
}

static uint32_t add_node(struct graph_view *graph_view, const struct node *node)
{
    GW_MUST(gw_array_push(&graph_view->nodes, *node));
    return (uint32_t)graph_view->nodes.count - 1;
}

static uint32_t node_of_row(struct graph_view *graph_view, uint32_t row)
{
    struct gw_job *job = graph_view->job;
    const struct gw_spec *spec = &job->specs.items[job->tasks.spec[row]];
    struct node node = {.kind = kind_of(job, spec), .ranks = spec->message.ranks, .first = row};
    uint64_t known;
    gw_sched_task_label(job, row, node.label, sizeof node.label);
    if (!graph_view->grouped)
        return add_node(graph_view, &node);
    strip_number(node.label);
    if (gw_strmap_get(&graph_view->names, node.label, &known))
        return (uint32_t)known;
    if (graph_view->nodes.count >= graph_view->limit) { /* the last node takes all other tasks */
        uint32_t last = (uint32_t)graph_view->nodes.count - 1;
        (void)snprintf(graph_view->nodes.items[last].label, sizeof node.label, "others");
        return last;
    }
    uint32_t number = add_node(graph_view, &node);
    GW_MUST(gw_strmap_put(&graph_view->names, node.label, number));
    return number;
}

static void add_rows(struct graph_view *graph_view)
{
    const struct gw_tasks *tasks = &graph_view->job->tasks;
    uint32_t last_spec = GW_NO_INDEX, last = 0;
    graph_view->grouped = tasks->count > graph_view->limit;
    graph_view->of = calloc((size_t)tasks->count + 1, sizeof *graph_view->of);
    GW_MUST_PTR(graph_view->of);
    for (uint32_t row = 0; row < tasks->count; row++) {
        bool same = graph_view->grouped && tasks->spec[row] == last_spec &&
                    gw_job_rare(graph_view->job)->names.count ==
                        0; /* saves look-ups: most tasks of a large job are alike */
        if (!same)
            last = node_of_row(graph_view, row);
        last_spec = tasks->spec[row];
        graph_view->of[row] = last;
        struct node *node = &graph_view->nodes.items[last];
        uint8_t state = tasks->state[row];
        node->tasks++;
        node->states[state == GW_TASK_RELEASED ? GW_TASK_DONE : state]++;
        node->running += state == GW_TASK_PLACED &&
                         gw_running_row(&graph_view->runs, graph_view->sched, graph_view->job, row);
    }
}

/* Adds one node for a whole range. Counts every index of the range, with or without a row. */
static void add_range(struct graph_view *graph_view)
{
    struct gw_job *job = graph_view->job;
    struct node node = {.kind = "range", .tasks = job->range->count};
    (void)snprintf(node.label, sizeof node.label, "%s", job->name);
    node.states[GW_TASK_DONE] = job->done;
    node.states[GW_TASK_FAILED] = job->failed;
    node.states[GW_TASK_CANCELLED] = job->cancelled_tasks;
    node.states[GW_TASK_PLACED] = job->placed;
    node.states[GW_TASK_WAITING] = job->unfinished - job->placed;
    node.running = gw_running_job(&graph_view->runs, job);
    (void)add_node(graph_view, &node);
}

/* Returns the node of another job that supplies results to this job. */
static uint32_t node_of_job(struct graph_view *graph_view, uint64_t id)
{
    uint64_t known;
    if (gw_map_get(&graph_view->jobs, id, &known))
        return (uint32_t)known;
    const struct gw_job *other = gw_sched_job_find(graph_view->sched, id);
    struct node node = {.kind = "job", .job = id, .tasks = 1};
    (void)snprintf(node.label, sizeof node.label, "%s",
                   other && other->name ? other->name : "a job that was forgotten");
    uint32_t number = add_node(graph_view, &node);
    GW_MUST(gw_map_put(&graph_view->jobs, id, number));
    return number;
}

static void add_edge(struct graph_view *graph_view, uint32_t from, uint32_t to)
{
    uint64_t key = (uint64_t)from << 32 | to, count = 0;
    graph_view->edge_count++;
    if (!gw_map_get(&graph_view->edges, key, &count) && graph_view->edges.count >= EDGES_MAX) {
        graph_view->cut = true;
        return;
    }
    GW_MUST(gw_map_put(&graph_view->edges, key, count + 1));
}

static void add_edges(struct graph_view *graph_view)
{
    const struct gw_tasks *tasks = &graph_view->job->tasks;
    uint32_t rows = graph_view->job->range && tasks->count > 1
                        ? 1
                        : tasks->count; /* all rows of a range have the same dependencies */
    for (uint32_t row = 0; row < rows && !tasks->edges_gone; row++) {
        if (!gw_sched_row_live(graph_view->job, row))
            continue;
        uint32_t to = graph_view->of ? graph_view->of[row] : 0;
        for (uint32_t e = tasks->deps_at[row]; e < gw_sched_deps_end(tasks, row); e++) {
            const struct gw_edge from = gw_sched_edge(tasks, e);
            bool own = from.job == 0 || from.job == graph_view->job->id;
            add_edge(graph_view,
                     own ? graph_view->of[from.index] : node_of_job(graph_view, from.job), to);
        }
    }
}

/* Counts tasks by state, as the listing "tasks" does. Placed tasks are shown
 * as "running" or "queued". */
static struct gw_value *describe_states(const struct node *node)
{
    struct gw_value *states = gw_dict();
    const uint64_t placed = node->states[GW_TASK_PLACED];
    const uint64_t running = node->running < placed ? node->running : placed;
    for (uint32_t state = 0; state < STATES; state++)
        if (node->states[state] && state != GW_TASK_PLACED)
            set(states, gw_sm_name(&gw_sched_task_sm, state), gw_i64((int64_t)node->states[state]));
    if (running)
        set(states, "running", gw_i64((int64_t)running));
    if (placed > running)
        set(states, "queued", gw_i64((int64_t)(placed - running)));
    return states;
}

static struct gw_value *describe_nodes(const struct graph_view *graph_view)
{
    struct gw_value *list = gw_list();
    for (size_t i = 0; i < graph_view->nodes.count; i++) {
        const struct node *node = &graph_view->nodes.items[i];
        struct gw_value *dict = gw_dict();
        set(dict, "label", gw_str(node->label));
        set(dict, "kind", gw_str(node->kind));
        set(dict, "tasks", gw_i64((int64_t)node->tasks));
        if (node->job)
            set(dict, "job", gw_i64((int64_t)node->job));
        else
            set(dict, "index", gw_i64(node->first));
        if (node->ranks)
            set(dict, "ranks", gw_i64(node->ranks));
        set(dict, "states", describe_states(node));
        GW_MUST(gw_list_push(list, dict));
    }
    return list;
}

static struct gw_value *describe_edges(const struct graph_view *graph_view)
{
    struct gw_value *list = gw_list();
    size_t at = 0;
    uint64_t key, count;
    while (gw_map_next(&graph_view->edges, &at, &key, &count)) {
        struct gw_value *edge = gw_list();
        GW_MUST(gw_list_push(edge, gw_i64((int64_t)(key >> 32))));
        GW_MUST(gw_list_push(edge, gw_i64((int64_t)(key & UINT32_MAX))));
        GW_MUST(gw_list_push(edge, gw_i64((int64_t)count)));
        GW_MUST(gw_list_push(list, edge));
    }
    return list;
}

struct gw_value *gw_sched_graph_view_query(const struct gw_sched *sched, struct gw_job *job,
                                           uint32_t limit)
{
    struct graph_view graph_view = {.sched = sched, .job = job, .limit = limit};
    struct gw_value *dict = gw_dict();
    const char *note = "";
    gw_running_init(&graph_view.runs, sched);
    if (job->range)
        add_range(&graph_view);
    else
        add_rows(&graph_view);
    gw_running_deinit(&graph_view.runs);
    add_edges(&graph_view);
    if (job->tasks.edges_gone)
        note = "the job is over: which task came after which is not known any more";
    else if (graph_view.cut)
        note = "not all edges are shown: there are too many";
    set(dict, "job", gw_i64((int64_t)job->id));
    set(dict, "name", gw_str(job->name ? job->name : ""));
    set(dict, "tasks", gw_i64(gw_sched_rows_in_all(job)));
    set(dict, "edge_count", gw_i64((int64_t)graph_view.edge_count));
    set(dict, "grouped", gw_bool(graph_view.grouped));
    set(dict, "note", gw_str(note));
    set(dict, "nodes", describe_nodes(&graph_view));
    set(dict, "edges", describe_edges(&graph_view));
    free(graph_view.of);
    gw_array_deinit(&graph_view.nodes);
    gw_strmap_deinit(&graph_view.names);
    gw_map_deinit(&graph_view.jobs);
    gw_map_deinit(&graph_view.edges);
    return dict;
}
