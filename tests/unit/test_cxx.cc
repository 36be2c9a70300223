// The public headers from C++: what reads like C there must compile and do the same here.
#include <gangway/graph.h>

#include <cstdio>
#include <cstring>

static int run_nothing(struct gw_task *)
{
    return 0;
}

static const struct gw_function gw_function_add = {"add", run_nothing};

static int failures;

static void expect(bool holds, const char *what)
{
    if (!holds) {
        std::fprintf(stderr, "failed: %s\n", what);
        failures++;
    }
}

int main()
{
    struct gw_error error;
    struct gw_graph *graph = gw_graph_new();
    gw_node none = gw_call(graph, add, NULL);
    gw_node sum = gw_call(graph, add, nullptr, gw_f64(1), gw_ref(none));
    gw_task_options options = {};
    options.name = "named";
    gw_node named = gw_call(graph, add, &options, gw_ref(sum));
    expect(gw_graph_count(graph) == 3, "three tasks");
    expect(gw_graph_check(graph, &error) == 0, "a good graph");
#if __cplusplus >= 202002L
    gw_node gang = gw_call(graph, add, GW_GANG(.name = "gang", .ranks = 4), gw_ref(named));
    gw_call(graph, add, GW_OPTIONS(.retries = 2), gw_ref_rank(gang, 3));
    expect(gw_graph_check(graph, &error) == 0, "options kept until the call");
#endif
    gw_graph_after(graph, none, named);
    expect(gw_graph_check(graph, &error) == GW_ECYCLE, "a cycle");
    expect(std::strstr(error.text, "add#0 -> add#1 -> named -> add#0") != nullptr, error.text);
    gw_graph_free(graph);
    return failures != 0;
}
