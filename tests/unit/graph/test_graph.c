/* Task graphs: built by the macros, refused with an explanation, sealed into rows for a submit
 * message. */
#include "tests/unit/alloc.h"
#include "tests/unit/unit.h"

#include "graph/base/options_read.h"
#include "graph/model/graph_rows.h"
#include "graph/wire/codec.h"
#include "graph/wire/enums.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int run_nothing(struct gw_task *task)
{
    return 0;
}

static const struct gw_function gw_registered_add = {"add", run_nothing};
static const struct gw_function gw_registered_train = {"train", run_nothing};

/* Checks the properties of every sealed graph. */
static struct gw_graph_rows seal(struct gw_graph *graph)
{
    struct gw_graph_rows rows = {0};
    struct gw_error error;
    if (gw_graph_rows_seal(graph, &rows, &error) < 0)
        fail_msg("%s", error.text);
    assert_int_equal(rows.count, gw_graph_count(graph));
    for (uint32_t row = 0; row < rows.count; row++) {
        assert_true(rows.spec[row] < rows.spec_count);
        bool after = false;
        for (uint32_t d = rows.deps_at[row]; d < rows.deps_at[row + 1]; d++) {
            assert_true(rows.dep_job[d] || rows.dep_row[d] < row);
            assert_true(!after || rows.dep_rank[d] == GW_DEP_AFTER);
            after = rows.dep_rank[d] == GW_DEP_AFTER;
        }
        struct gw_value *args;
        assert_int_equal(gw_codec_decode(rows.args + rows.args_at[row],
                                         rows.args_at[row + 1] - rows.args_at[row], NULL, &args,
                                         NULL),
                         0);
        assert_int_equal(gw_value_type(args), GW_LIST);
        gw_value_unref(args);
    }
    return rows;
}

static void assert_fails(struct gw_graph *graph, int code, const char *wanted)
{
    struct gw_error error = {0};
    struct gw_graph_rows rows;
    assert_int_equal(gw_graph_check(graph, &error), code);
    if (!strstr(error.text, wanted))
        fail_msg("\"%s\" says nothing of \"%s\"", error.text, wanted);
    assert_int_equal(gw_graph_rows_seal(graph, &rows, NULL), code);
    gw_graph_free(graph);
}

static void sealed_graph_has_tasks_in_dependency_order(void **state)
{
    struct gw_graph *graph = gw_graph_new();
    gw_node none = gw_call(graph, add, NULL);
    gw_node sum = gw_call(graph, add, NULL, gw_f64(1), gw_result(none));
    gw_node model = gw_call(graph, train, GW_GANG(.ranks = 4, .gpu.count = GW_GPU_IF_ANY),
                            gw_result(sum), gw_result(none), gw_result(sum));
    gw_node last = gw_call(graph, add, GW_OPTIONS(.name = "last"), gw_result_all(model),
                           gw_result_rank(model, 3));
    gw_graph_after(graph, last, none);
    assert_int_equal(gw_graph_check(graph, NULL), 0);
    struct gw_graph_rows rows = seal(graph);
    assert_int_equal(rows.count, 4);
    assert_int_equal(rows.spec_count, 2); /* names do not matter */
    uint32_t row = rows.row_of_node[model.index];
    assert_int_equal(rows.deps_at[row + 1] - rows.deps_at[row], 2);
    assert_int_equal(rows.dep_row[rows.deps_at[row]], rows.row_of_node[sum.index]);
    assert_int_equal(rows.dep_row[rows.deps_at[row] + 1], rows.row_of_node[none.index]);
    assert_int_equal(rows.dep_rank[rows.deps_at[row]], 0);
    assert_int_equal(rows.specs[rows.spec[row]].options.ranks, 4);
    assert_int_equal(rows.specs[rows.spec[row]].options.gpu.count, GW_GPU_IF_ANY);
    assert_ptr_equal(rows.specs[rows.spec[row]].function, GW_FUNCTION(train));

    row = rows.row_of_node[last.index];
    const uint32_t *ranks = rows.dep_rank + rows.deps_at[row];
    assert_int_equal(rows.deps_at[row + 1] - rows.deps_at[row], 3);
    assert_int_equal(ranks[0], GW_DEP_ALL);
    assert_int_equal(ranks[1], 3);
    assert_int_equal(ranks[2], GW_DEP_AFTER);
    assert_string_equal(rows.names[row], "last");
    assert_null(rows.names[rows.row_of_node[sum.index]]);
    assert_null(rows.specs[rows.spec[row]].options.name);

    struct gw_graph_rows again = seal(graph);
    assert_ptr_equal(again.args, rows.args);
    gw_call(graph, add, NULL);
    assert_int_equal(gw_graph_check(graph, NULL), GW_EINVAL);
    again = seal(graph);
    assert_int_equal(again.count, 4);
    gw_graph_free(graph);
}

static void equal_commands_share_a_spec(void **state)
{
    struct gw_graph *graph = gw_graph_new();
    char name[8] = "train";
    const char *argv[] = {"python3", name, NULL}, *env[] = {"A=1", NULL}, *none[] = {NULL};
    struct gw_command command = GW_INIT(gw_command, .argv = argv, .env = env, .cwd = "/tmp");
    gw_graph_command(graph, &command, NULL);
    gw_graph_command(graph, &command, GW_OPTIONS(.name = "x"));
    gw_graph_command(graph, &command, GW_OPTIONS(.retries = 1));
    command.env = none;
    gw_graph_command(graph, &command, NULL);
    command.env = NULL;
    gw_graph_command(graph, &command, NULL);
    command.cwd = NULL;
    gw_graph_command(graph, &command, NULL);
    name[0] = 'b'; /* everything was copied */
    struct gw_graph_rows rows = seal(graph);
    assert_int_equal(rows.count, 6);
    assert_int_equal(rows.spec_count, 5);
    assert_int_equal(rows.spec[0], rows.spec[1]);
    assert_string_equal(rows.specs[0].argv[1], "train");
    assert_null(rows.specs[0].argv[2]);
    assert_string_equal(rows.specs[0].env[0], "A=1");
    assert_string_equal(rows.specs[0].cwd, "/tmp");
    assert_int_equal(rows.specs[0].kind, GW_SPEC_COMMAND);
    gw_graph_free(graph);

    graph = gw_graph_new();
    gw_graph_command(graph, GW_COMMAND(.argv = none), NULL);
    assert_fails(graph, GW_EINVAL, "needs a program");
    graph = gw_graph_new();
    const char *wrong[] = {"NAME", NULL};
    gw_graph_command(graph, GW_COMMAND(.argv = argv, .env = wrong), NULL);
    assert_fails(graph, GW_EINVAL, "\"NAME\" in env is not NAME=value");
}

static void external_results_become_job_dependencies(void **state)
{
    struct gw_graph *graph = gw_graph_new();
    gw_node old = gw_graph_external(graph, 77, 5);
    gw_node user = gw_call(graph, add, NULL, gw_result_all(old), gw_i64(1));
    gw_node next = gw_call(graph, add, NULL, gw_result(user));
    gw_graph_after(graph, next, old);
    struct gw_graph_rows rows = seal(graph);
    assert_int_equal(rows.count, 2);
    assert_int_equal(rows.row_of_node[old.index], UINT32_MAX);
    assert_int_equal(rows.row_of_node[user.index], 0);
    assert_int_equal(rows.dep_job[0], 77);
    assert_int_equal(rows.dep_row[0], 5);
    assert_int_equal(rows.dep_rank[0], GW_DEP_ALL);
    assert_int_equal(rows.dep_job[1], 0);
    assert_int_equal(rows.dep_job[2], 77);
    assert_int_equal(rows.dep_rank[2], GW_DEP_AFTER);
    gw_graph_free(graph);

    graph = gw_graph_new();
    old = gw_graph_external(graph, 77, 5);
    user = gw_call(graph, add, NULL);
    gw_graph_after(graph, old, user);
    assert_fails(graph, GW_EINVAL, "gw_graph_after");
}

/* The first rows of a large graph are known at once and do not change afterwards. */
static void first_tasks_of_a_large_graph_stay_unchanged(void **state)
{
    enum { NODES = 40000 };
    struct gw_graph *graph = gw_graph_new(), *small = gw_graph_new();
    struct gw_graph_rows head, rows;
    (void)state;
    gw_node node = gw_graph_external(graph, 7, 8), earlier = node;
    for (uint32_t i = 1; i < NODES; i++) {
        gw_node next = i % 3 ? gw_call(graph, add, NULL, gw_result(node), gw_i64(i))
                             : gw_call(graph, add, NULL, gw_result(earlier), gw_result(node));
        earlier = node;
        node = next;
    }
    assert_int_equal(gw_graph_rows_head(graph, &head, NULL), 0);
    assert_in_range(head.count, 1, NODES / 10);
    gw_call(graph, add, NULL); /* the graph accepts no more nodes */
    assert_int_equal(gw_graph_rows_seal(graph, &rows, NULL), GW_EINVAL);
    gw_graph_free(graph);

    graph = gw_graph_new();
    for (uint32_t i = 0; i < NODES; i++)
        node =
            i ? gw_call(graph, add, NULL, gw_result(node), gw_i64(i)) : gw_call(graph, add, NULL);
    assert_int_equal(gw_graph_rows_head(graph, &head, NULL), 0);
    assert_int_equal(gw_graph_rows_seal(graph, &rows, NULL), 0);
    assert_int_equal(rows.count, NODES);
    for (uint32_t i = 0; i < head.count; i++) {
        assert_int_equal(head.spec[i], rows.spec[i]);
        assert_int_equal(head.args_at[i + 1], rows.args_at[i + 1]);
        assert_int_equal(head.deps_at[i + 1], rows.deps_at[i + 1]);
        assert_int_equal(head.row_of_node[i], rows.row_of_node[i]);
    }
    assert_memory_equal(head.args, rows.args, head.args_at[head.count]);
    assert_memory_equal(head.dep_row, rows.dep_row, head.deps_at[head.count] * sizeof(uint32_t));
    gw_call(small, add, NULL);
    assert_int_equal(gw_graph_rows_head(small, &head, NULL), 0);
    assert_int_equal(head.count, 0);
    gw_graph_free(graph);
    gw_graph_free(small);
}

/* The head of a graph may end at an external node, which has no dependencies of its own. */
static void graph_head_with_external_nodes_matches_the_rows(void **state)
{
    enum { NODES = 40000 };
    struct gw_graph *graph = gw_graph_new();
    struct gw_graph_rows head, rows;
    (void)state;
    for (uint32_t i = 0; i < NODES; i += 2) /* also if the head ends there, at an even index */
        gw_call(graph, train, NULL, gw_result(gw_graph_external(graph, 7, i)));
    assert_int_equal(gw_graph_rows_head(graph, &head, NULL), 0);
    assert_in_range(head.count, 1, NODES / 10);
    assert_int_equal(head.deps_at[head.count], head.count);
    assert_int_equal(gw_graph_rows_seal(graph, &rows, NULL), 0);
    assert_int_equal(rows.count, NODES / 2);
    for (uint32_t i = 0; i < head.count; i++) {
        assert_int_equal(head.dep_row[i], rows.dep_row[i]);
        assert_int_equal(head.dep_job[i], 7);
        assert_int_equal(head.dep_row[i], 2 * i);
    }
    gw_graph_free(graph);
}

static struct gw_graph *make_ladder(uint32_t count)
{
    struct gw_graph *graph = gw_graph_new();
    gw_node earlier = gw_graph_external(graph, 7, 8), node = earlier;
    for (uint32_t i = 0; i < count; i++) {
        gw_node next = i % 3 ? gw_call(graph, add, NULL, gw_result(node), gw_i64(i))
                             : gw_call(graph, train, NULL, gw_result(earlier), gw_result(node));
        earlier = i % 7 ? node : next;
        node = i % 5 ? next : earlier;
    }
    return graph;
}

/* Rows that are written in several steps equal the rows of a graph that is sealed at once. */
static void rows_written_in_steps_equal_a_sealed_graph(void **state)
{
    enum { NODES = 2000, STEP = 77 };
    struct gw_graph *graph = make_ladder(NODES), *whole = make_ladder(NODES);
    struct gw_graph_rows rows, wanted = seal(whole);
    (void)state;
    assert_int_equal(gw_graph_rows_sort(graph, &rows, NULL), 0);
    assert_int_equal(rows.count, NODES);
    assert_memory_equal(rows.row_of_node, wanted.row_of_node, (NODES + 1) * sizeof(uint32_t));
    for (uint32_t to = STEP; to <= NODES / 2; to += STEP) {
        gw_graph_rows_write(graph, to);
        uint32_t deps = wanted.deps_at[to];
        assert_memory_equal(rows.spec, wanted.spec, to * sizeof(uint32_t));
        assert_memory_equal(rows.args_at, wanted.args_at, (to + 1) * sizeof(uint32_t));
        assert_memory_equal(rows.deps_at, wanted.deps_at, (to + 1) * sizeof(uint32_t));
        assert_memory_equal(rows.args, wanted.args, wanted.args_at[to]);
        assert_memory_equal(rows.dep_row, wanted.dep_row, deps * sizeof(uint32_t));
        assert_memory_equal(rows.dep_job, wanted.dep_job, deps * sizeof(uint64_t));
    }
    rows = seal(graph); /* the rest */
    assert_memory_equal(rows.dep_row, wanted.dep_row, wanted.deps_at[NODES] * sizeof(uint32_t));
    gw_graph_free(graph);
    gw_graph_free(whole);

    graph = make_ladder(NODES);
    assert_int_equal(gw_graph_rows_sort(graph, &rows, NULL), 0);
    gw_graph_rows_write(graph, STEP); /* and no further */
    gw_graph_free(graph);
}

static void cycle_error_names_the_nodes(void **state)
{
    struct gw_graph *graph = gw_graph_new();
    gw_node before = gw_call(graph, add, GW_OPTIONS(.name = "before"));
    gw_node a = gw_call(graph, add, GW_OPTIONS(.name = "prepare"), gw_result(before));
    gw_node b = gw_call(graph, train, NULL, gw_result(a));
    gw_node c = gw_call(graph, add, GW_OPTIONS(.name = "evaluate"), gw_result(b));
    gw_call(graph, add, GW_OPTIONS(.name = "behind"), gw_result(c));
    assert_int_equal(gw_graph_check(graph, NULL), 0);
    gw_graph_after(graph, a, c);
    assert_fails(graph, GW_ECYCLE, "cycle: prepare -> train#2 -> evaluate -> prepare");

    graph = gw_graph_new();
    a = gw_call(graph, add, GW_OPTIONS(.name = "self"));
    gw_graph_after(graph, a, a);
    assert_fails(graph, GW_ECYCLE, "cycle: self -> self");

    graph = gw_graph_new();
    gw_node first = gw_call(graph, add, NULL), last = first;
    for (int i = 0; i < 99; i++)
        last = gw_call(graph, add, NULL, gw_result(last));
    gw_graph_after(graph, first, last);
    assert_fails(graph, GW_ECYCLE,
                 "cycle: add#0 -> add#1 -> add#2 -> add#3 -> add#4 -> add#5 -> "
                 "add#6 -> add#7 -> (92 more) -> add#0");
}

static void duplicate_node_names_are_refused(void **state)
{
    struct gw_graph *graph = gw_graph_new();
    gw_call(graph, add, GW_OPTIONS(.name = "twin"));
    gw_node second = gw_call(graph, add, GW_OPTIONS(.name = "twin"));
    gw_call(graph, add, NULL, gw_result(second)); /* the first error is reported */
    assert_fails(graph, GW_EEXIST, "two tasks of the graph are named \"twin\"");
    graph = gw_graph_new();
    gw_call(graph, add, GW_OPTIONS(.name = ""));
    assert_fails(graph, GW_EINVAL, "name of the task is empty");
}

static void wrong_references_are_refused_with_the_cause(void **state)
{
    struct gw_graph *graph = gw_graph_new();
    gw_call(graph, add, NULL, gw_result((gw_node){5}));
    assert_fails(graph, GW_EINVAL, "add: an argument refers to a node of another graph");

    graph = gw_graph_new();
    gw_node one = gw_call(graph, add, GW_OPTIONS(.name = "one"));
    gw_call(graph, train, NULL, gw_result_all(one));
    assert_fails(graph, GW_EINVAL,
                 "train: an argument refers to all ranks of one, which is not a gang");

    graph = gw_graph_new();
    gw_node gang = gw_call(graph, train, GW_GANG(.ranks = 4));
    gw_call(graph, add, NULL, gw_result_rank(gang, 4));
    assert_fails(graph, GW_EINVAL,
                 "add: an argument refers to rank 4 of train#0, which has 4 ranks");

    graph = gw_graph_new();
    gang = gw_call(graph, train, GW_GANG(.ranks = 4));
    gw_call(graph, add, NULL, gw_i64(1), gw_result_rank(gang, -2));
    assert_fails(graph, GW_EINVAL, "add: argument 1: it has an invalid reference");

    graph = gw_graph_new();
    one = gw_call(graph, add, NULL);
    gw_graph_after(graph, one, (gw_node){1});
    assert_fails(graph, GW_EINVAL, "gw_graph_after");

    graph = gw_graph_new();
    gw_call(graph, add, GW_OPTIONS(.gpu.count = -2));
    assert_fails(graph, GW_EINVAL, "gpu.count is -2");

    static const struct {
        struct gw_task_options options;
        const char *text;
    } gpus[] = {
        {GW_INIT(gw_task_options, .gpu.fraction = 1), "gpu.fraction is 1: 0.001 to 0.999 of a GPU"},
        {GW_INIT(gw_task_options, .gpu.fraction = -0.5), "gpu.fraction is -0.5"},
        {GW_INIT(gw_task_options, .gpu.fraction = 0.5, .gpu.count = 1),
         "set gpu.fraction or gpu.count, not both"},
        {GW_INIT(gw_task_options, .gpu.memory_bytes = 1),
         "gpu.memory_bytes needs gpu.count or gpu.fraction"},
        {GW_INIT(gw_task_options, .gpu.count = 1, .gpu.isolate = true),
         "gpu.isolate is only for gangs"},
    };
    for (size_t i = 0; i < sizeof gpus / sizeof *gpus; i++) {
        graph = gw_graph_new();
        gw_call(graph, add, &gpus[i].options);
        assert_fails(graph, GW_EINVAL, gpus[i].text);
    }

    graph = gw_graph_new();
    struct gw_value *value = gw_i64(1);
    gw_graph_call(graph, NULL, NULL, &value, 1);
    assert_fails(graph, GW_EINVAL, "needs a function");
}

static void arguments_nested_too_deeply_are_refused(void **state)
{
    /* The client scatters large arguments before the task; the graph accepts them. */
    struct gw_graph *graph = gw_graph_new();
    void *giant = calloc(1, 2 << 20);
    gw_call(graph, add, NULL, gw_bytes(giant, 2 << 20));
    assert_int_equal(gw_graph_check(graph, NULL), 0);
    gw_graph_free(graph);
    free(giant);

    graph = gw_graph_new();
    struct gw_value *deep = gw_list();
    for (int depth = 1; depth < 16; depth++) {
        struct gw_value *outer = gw_list();
        gw_list_push(outer, deep);
        deep = outer;
    }
    gw_call(graph, add, NULL, deep); /* 16 deep, and 17 with the list of arguments */
    assert_fails(graph, GW_EINVAL, "nested more than 16 deep");
}

static void graph_check_reports_earlier_out_of_memory(void **state)
{
    gw_node node = gw_call(NULL, add, NULL, gw_i64(1));
    gw_graph_after(NULL, node, node);
    assert_int_equal(gw_graph_check(NULL, NULL), GW_ENOMEM);
    assert_int_equal(gw_graph_count(NULL), 0);
    gw_graph_free(NULL);
    struct gw_graph *graph = gw_graph_new();
    gw_call(graph, add, NULL, gw_i64(1), NULL);
    assert_fails(graph, GW_ENOMEM, "argument 1: out of memory");
}

static void graph_reports_out_of_memory_at_every_allocation(void **state)
{
    const char *argv[] = {"true", NULL};
    int rc = GW_ENOMEM;
    for (int64_t count = 0; rc < 0; count++) {
        gw_alloc_fail_after(count);
        struct gw_graph *graph = gw_graph_new();
        gw_node a = gw_call(graph, add, GW_OPTIONS(.name = "a"), gw_str("x"), gw_i64(7));
        gw_node b = gw_call(graph, train, GW_GANG(.ranks = 2), gw_result(a));
        gw_node c = gw_graph_command(graph, GW_COMMAND(.argv = argv, .cwd = "/"), NULL);
        gw_node d = gw_graph_external(graph, 1, 2);
        gw_graph_after(graph, c, b);
        gw_call(graph, add, NULL, gw_result_all(b), gw_result(d));
        struct gw_graph_rows rows;
        struct gw_error error;
        rc = gw_graph_rows_seal(graph, &rows, &error);
        gw_alloc_fail_after(-1);
        if (rc < 0)
            assert_int_equal(rc, GW_ENOMEM);
        else
            assert_int_equal(rows.count, 4);
        gw_graph_free(graph);
        assert_true(count < 500);
    }
}

/* The largest number of live results if the rows run in order and each result is dropped with its
 * last user. */
static uint32_t alive_max(const struct gw_graph_rows *rows)
{
    uint32_t *users = calloc(rows->count, sizeof *users), alive = 0, most = 0;
    for (uint32_t d = 0; d < rows->deps_at[rows->count]; d++)
        users[rows->dep_row[d]]++;
    for (uint32_t row = 0; row < rows->count; row++) {
        alive++;
        most = alive > most ? alive : most;
        for (uint32_t d = rows->deps_at[row]; d < rows->deps_at[row + 1]; d++)
            alive -= --users[rows->dep_row[d]] == 0;
    }
    free(users);
    return most;
}

static void task_order_of_a_tree_keeps_few_results_at_a_time(void **state)
{
    enum { LEAVES = 4096 };
    struct gw_graph *graph = gw_graph_new();
    gw_node nodes[LEAVES];
    for (int i = 0; i < LEAVES; i++)
        nodes[i] = gw_call(graph, add, NULL, gw_i64(i));
    for (int width = LEAVES; width > 1; width /= 2)
        for (int i = 0; i < width / 2; i++)
            nodes[i] =
                gw_call(graph, add, NULL, gw_result(nodes[2 * i]), gw_result(nodes[2 * i + 1]));
    struct gw_graph_rows rows = seal(graph);
    assert_true(alive_max(&rows) <= 14); /* 12 levels; breadth first would hold 4,096 */
    gw_graph_free(graph);
}

/* The branch that needs more live results runs first; otherwise the small result would wait all
 * the time. */
static void row_order_starts_with_the_wide_branch(void **state)
{
    struct gw_graph *graph = gw_graph_new();
    gw_node small = gw_call(graph, add, NULL), wide[8];
    for (int i = 0; i < 8; i++)
        wide[i] = gw_call(graph, add, NULL);
    gw_node joined = gw_call(graph, add, NULL, gw_result(wide[0]), gw_result(wide[1]),
                             gw_result(wide[2]), gw_result(wide[3]), gw_result(wide[4]),
                             gw_result(wide[5]), gw_result(wide[6]), gw_result(wide[7]));
    gw_call(graph, add, NULL, gw_result(small), gw_result(joined));
    struct gw_graph_rows rows = seal(graph);
    assert_int_equal(rows.row_of_node[small.index], 9);
    assert_int_equal(alive_max(&rows), 9);
    gw_graph_free(graph);
}

/* A recursive sort would overflow the stack here. */
static void sorting_200000_nodes_does_not_overflow_the_stack(void **state)
{
    enum { TASKS = 200000 };
    struct gw_graph *graph = gw_graph_new();
    gw_node last = gw_call(graph, add, NULL), first = last;
    for (int i = 1; i < TASKS; i++)
        last = gw_call(graph, add, NULL, gw_result(last));
    gw_graph_after(graph, last, first);
    for (int i = 0; i < TASKS; i++)
        gw_call(graph, add, NULL, gw_i64(i));
    struct gw_graph_rows rows;
    assert_int_equal(gw_graph_rows_seal(graph, &rows, NULL), 0);
    assert_int_equal(rows.count, 2 * TASKS);
    assert_int_equal(rows.spec_count, 1);
    for (uint32_t i = 0; i < 2 * TASKS; i++)
        assert_int_equal(rows.row_of_node[i], i);
    gw_graph_free(graph);
}

/* Random graphs have edges in both directions: either the error names a cycle, or the rows are
 * in order. */
static void random_graphs_are_sorted_or_their_cycle_is_named(void **state)
{
    uint64_t random = 3;
    int cycles = 0, sealed = 0;
    for (int round = 0; round < 300; round++) {
        struct gw_graph *graph = gw_graph_new();
        gw_node nodes[40];
        uint32_t count = 2 + (uint32_t)round % 38;
        for (uint32_t i = 0; i < count; i++) {
            struct gw_value *values[3] = {0};
            uint32_t refs = 0;
            for (uint32_t r = 0; i && r < 3; r++) {
                random = random * UINT64_C(6364136223846793005) + 1;
                if (random >> 63)
                    values[refs++] = gw_result(nodes[(random >> 33) % i]);
            }
            nodes[i] = gw_graph_call(graph, GW_FUNCTION(add), NULL, values, refs);
        }
        for (uint32_t i = 0; i < 3; i++) {
            random = random * UINT64_C(6364136223846793005) + 1;
            gw_graph_after(graph, nodes[(random >> 33) % count], nodes[(random >> 45) % count]);
        }
        struct gw_error error;
        int rc = gw_graph_check(graph, &error);
        if (rc == 0) {
            seal(graph);
            sealed++;
        } else {
            assert_int_equal(rc, GW_ECYCLE);
            cycles++;
        }
        gw_graph_free(graph);
    }
    assert_true(cycles > 20 && sealed > 20);
}

/* A struct of a program that was built with another version of the headers. */
struct sized_options {
    struct gw_task_options options;
    uint64_t later;
};

static void unknown_fields_of_another_version_are_ignored_if_unset(void **state)
{
    struct sized_options with = {.options =
                                     GW_INIT(gw_task_options, .slots = 3, .gpu.unbound = true)};
    struct gw_task_options read;
    struct gw_error error;

    with.options.struct_size = offsetof(struct gw_task_options, gpu); /* an earlier one */
    assert_int_equal(GW_OPTIONS_READ(&read, &with.options, gw_task_options, &error), 0);
    assert_int_equal(read.slots, 3);
    assert_false(read.gpu.unbound);
    assert_int_equal(read.struct_size, sizeof read);

    with.options.struct_size = sizeof with; /* a later one, which sets no new field */
    assert_int_equal(GW_OPTIONS_READ(&read, &with.options, gw_task_options, &error), 0);
    assert_true(read.gpu.unbound);
    assert_int_equal(read.struct_size, sizeof read);

    with.later = 1;
    assert_int_equal(GW_OPTIONS_READ(&read, &with.options, gw_task_options, &error), GW_ENOTSUP);
    assert_non_null(strstr(error.text, "struct gw_task_options sets a field"));

    assert_int_equal(GW_OPTIONS_READ(&read, NULL, gw_task_options, &error), 0);
    assert_int_equal(read.slots, 0);
}

static void options_without_struct_size_are_refused(void **state)
{
    struct gw_graph *graph = gw_graph_new();
    struct gw_task_options options = {.slots = 3};
    gw_call(graph, add, &options);
    assert_fails(graph, GW_EINVAL, "struct gw_task_options has the struct_size 0: build it with");
    graph = gw_graph_new();
    options.struct_size = SIZE_MAX;
    gw_call(graph, add, &options);
    assert_fails(graph, GW_EINVAL, "struct gw_task_options has the struct_size");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sealed_graph_has_tasks_in_dependency_order),
        cmocka_unit_test(equal_commands_share_a_spec),
        cmocka_unit_test(external_results_become_job_dependencies),
        cmocka_unit_test(first_tasks_of_a_large_graph_stay_unchanged),
        cmocka_unit_test(graph_head_with_external_nodes_matches_the_rows),
        cmocka_unit_test(rows_written_in_steps_equal_a_sealed_graph),
        cmocka_unit_test(cycle_error_names_the_nodes),
        cmocka_unit_test(duplicate_node_names_are_refused),
        cmocka_unit_test(wrong_references_are_refused_with_the_cause),
        cmocka_unit_test(arguments_nested_too_deeply_are_refused),
        cmocka_unit_test(graph_check_reports_earlier_out_of_memory),
        cmocka_unit_test(graph_reports_out_of_memory_at_every_allocation),
        cmocka_unit_test(task_order_of_a_tree_keeps_few_results_at_a_time),
        cmocka_unit_test(row_order_starts_with_the_wide_branch),
        cmocka_unit_test(sorting_200000_nodes_does_not_overflow_the_stack),
        cmocka_unit_test(random_graphs_are_sorted_or_their_cycle_is_named),
        cmocka_unit_test(unknown_fields_of_another_version_are_ignored_if_unset),
        cmocka_unit_test(options_without_struct_size_are_refused),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
