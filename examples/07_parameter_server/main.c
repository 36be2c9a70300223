/* Trains a network with a parameter server: trainers do not wait for one another.
 *
 *     parameter_server --trainers 4 --updates 600 --staleness 8
 *
 * For each trainer the program repeats: pull the weights, compute a gradient, push it. Weights and
 * gradients go from worker to worker; only the staleness of each gradient comes back here. A push
 * is called when its gradient is there, because the calls of one client run in their order: a push
 * that waits would make the pulls of the other trainers wait. If a worker dies, the scheduler
 * computes its gradients again elsewhere, from weights that it pulls again if they were lost (this
 * is what the retries of a pull are for); the others go on meanwhile, and the server drops what
 * comes too late. */
#include "examples/07_parameter_server/server.h"

#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

enum {
    EXIT_USAGE = 2,
    TRAINERS_MAX = 256,
    STALENESS_MAX = 1000,
    PROGRESS_UPDATES = 100,
    PULLS = 9
};

static const char usage[] =
    "usage: parameter_server [options]\n"
    "\n"
    "  --trainers N     gradients that are computed at the same time (2)\n"
    "  --updates N      end after so many updates of the weights (400)\n"
    "  --staleness N    drop gradients of weights that are more than N updates old (2 x trainers)\n"
    "  --batch N        images for each gradient (64)\n"
    "  --lr X           learning rate (0.02)\n";

struct arguments {
    int64_t trainers, updates, staleness, batch;
    double lr;
};

/* What the program waits for. */
struct wait {
    struct gw_future *future; /* NULL: it was handled */
    bool pushed;              /* the result is a staleness; false: a gradient */
};

struct run {
    struct arguments arguments;
    struct gw_client *client;
    struct gw_actor *server;
    struct gw_completions *completions;
    struct wait *waits; /* [count]; their numbers are those of the completions */
    size_t room, count;
    int64_t rounds, updates, dropped, counts[STALENESS_MAX + 1]; /* of each staleness */
};

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* Takes a future over. */
static int wait_for(struct run *run, struct gw_future *future, bool pushed, struct gw_error *error)
{
    size_t index;
    if (run->count == run->room) {
        const size_t room = run->room ? 2 * run->room : 64;
        struct wait *waits = realloc(run->waits, room * sizeof *waits);
        if (!waits) {
            gw_future_release(future);
            return gw_error_set(error, GW_ENOMEM, "out of memory");
        }
        run->waits = waits;
        run->room = room;
    }
    run->waits[run->count++] = (struct wait){future, pushed};
    const int rc = gw_completions_add(run->completions, future, &index);
    return rc < 0 ? gw_error_set(error, rc, "%s", gw_error_text(rc)) : 0;
}

/* Starts a round of one trainer: the gradient of the present weights. */
static int start(struct run *run, struct gw_error *error)
{
    struct gw_future *weights = NULL, *computed = NULL;
    int rc = gw_actor_call(run->server, server_pull, GW_OPTIONS(.retries = PULLS), GW_ARGS(),
                           &weights, error);
    if (rc < 0)
        return rc;
    struct gw_graph *graph = gw_graph_new();
    const gw_node node = gw_call(graph, gradient, NULL, gw_result_future(graph, weights),
                                 gw_i64(run->arguments.batch), gw_i64(run->rounds++));
    rc = gw_client_submit(run->client, graph, node, &computed, error);
    gw_graph_free(graph);
    gw_future_release(weights);
    return rc < 0 ? rc : wait_for(run, computed, false, error);
}

/* A gradient is there: gives it to the server, and starts the next round. */
static int push(struct run *run, struct gw_future *computed, struct gw_error *error)
{
    struct gw_future *pushed = NULL;
    int rc = gw_actor_call(run->server, server_push, NULL, GW_ARGS(gw_result_of(computed)), &pushed,
                           error);
    if (rc == 0)
        rc = wait_for(run, pushed, true, error);
    return rc < 0 ? rc : start(run, error);
}

static int note(struct run *run, struct gw_future *pushed, struct gw_error *error)
{
    struct gw_value *value = NULL;
    int64_t staleness = 0;
    int rc = gw_future_get(pushed, 0, &value, error);
    if (rc == 0)
        rc = gw_value_get_i64(value, &staleness, error);
    gw_value_unref(value);
    if (rc < 0)
        return rc;
    if (staleness == SERVER_DROPPED)
        run->dropped++;
    else {
        run->updates++;
        run->counts[staleness]++;
    }
    return 0;
}

/* Waits for the next gradient or push, and handles it. */
static int step(struct run *run, struct gw_error *error)
{
    size_t i;
    int rc = gw_completions_next(run->completions, UINT64_MAX, &i);
    if (rc < 0)
        return gw_error_set(error, rc, "%s", gw_error_text(rc));
    const struct wait wait = run->waits[i];
    run->waits[i].future = NULL;
    rc = wait.pushed ? note(run, wait.future, error) : push(run, wait.future, error);
    gw_future_release(wait.future);
    return rc;
}

static int measure(struct run *run, double *accuracy, struct gw_error *error)
{
    struct gw_future *weights = NULL, *result = NULL;
    struct gw_value *value = NULL;
    int rc = gw_actor_call(run->server, server_pull, GW_OPTIONS(.retries = PULLS), GW_ARGS(),
                           &weights, error);
    if (rc == 0) {
        struct gw_graph *graph = gw_graph_new();
        const gw_node node = gw_call(graph, evaluate, NULL, gw_result_future(graph, weights));
        rc = gw_client_submit(run->client, graph, node, &result, error);
        gw_graph_free(graph);
    }
    if (rc == 0)
        rc = gw_future_get(result, 0, &value, error);
    if (rc == 0)
        rc = gw_value_get_f64(value, accuracy, error);
    gw_value_unref(value);
    gw_future_release(weights);
    gw_future_release(result);
    return rc;
}

static void print_staleness(const struct run *run)
{
    int64_t most = 1;
    for (int s = 0; s <= STALENESS_MAX; s++)
        most = run->counts[s] > most ? run->counts[s] : most;
    (void)printf("staleness  updates\n");
    for (int s = 0; s <= STALENESS_MAX; s++)
        if (run->counts[s])
            (void)printf("%9d  %7" PRId64 " %.*s\n", s, run->counts[s],
                         (int)(1 + 49 * run->counts[s] / most),
                         "##################################################");
    (void)printf("%" PRId64 " gradients were dropped as too stale.\n", run->dropped);
}

static int train(struct run *run, struct gw_error *error)
{
    const double began = now_s();
    double accuracy = 0;
    int rc = 0;
    for (int64_t i = 0; i < run->arguments.trainers && rc == 0; i++)
        rc = start(run, error);
    while (rc == 0 && run->updates < run->arguments.updates) {
        const int64_t before = run->updates;
        rc = step(run, error);
        if (rc == 0 && run->updates > before && run->updates % PROGRESS_UPDATES == 0) {
            (void)printf("%5" PRId64 " updates, %.1f a second\n", run->updates,
                         (double)run->updates / (now_s() - began));
            (void)fflush(stdout);
        }
    }
    for (size_t i = 0; i < run->count; i++) /* rounds that nobody needs any more */
        if (run->waits[i].future)
            (void)gw_future_cancel(run->waits[i].future, false, NULL);
    if (rc == 0)
        rc = measure(run, &accuracy, error);
    if (rc < 0)
        return rc;
    print_staleness(run);
    (void)printf("%.2f%% of the held-out digits are read right.\n", 100 * accuracy);
    return 0;
}

static int run_all(struct run *run, struct gw_error *error)
{
    const struct arguments *arguments = &run->arguments;
    int rc = gw_client_open(GW_CLIENT_OPTIONS(.slots = (uint32_t)arguments->trainers + 1),
                            &run->client, error);
    if (rc == 0 && gw_completions_new(NULL, 0, &run->completions) < 0)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc == 0)
        rc = gw_actor_new(run->client, server, NULL,
                          GW_ARGS(gw_f64(arguments->lr), gw_i64(arguments->staleness)),
                          &run->server, error);
    if (rc == 0)
        rc = train(run, error);
    gw_completions_free(run->completions);
    for (size_t i = 0; i < run->count; i++)
        gw_future_release(run->waits[i].future);
    free(run->waits);
    gw_actor_free(run->server);
    gw_client_close(run->client);
    return rc;
}

static int read_count(const char *option, const char *text, int64_t least, int64_t most,
                      int64_t *count)
{
    char *end;
    errno = 0;
    *count = strtoll(text, &end, 10);
    if (!errno && end != text && !*end && *count >= least && *count <= most)
        return 0;
    (void)fprintf(
        stderr, "parameter_server: --%s %s is not a whole number from %" PRId64 " to %" PRId64 "\n",
        option, text, least, most);
    return -1;
}

static int read_option(int option, struct arguments *arguments)
{
    char *end;
    switch (option) {
    case 't':
        return read_count("trainers", optarg, 1, TRAINERS_MAX, &arguments->trainers);
    case 'u':
        return read_count("updates", optarg, 1, 1000000, &arguments->updates);
    case 's':
        return read_count("staleness", optarg, 0, STALENESS_MAX, &arguments->staleness);
    case 'b':
        return read_count("batch", optarg, 1, 1024, &arguments->batch);
    case 'l':
        arguments->lr = strtod(optarg, &end);
        if (end != optarg && !*end && arguments->lr > 0 && arguments->lr < 1e6)
            return 0;
        (void)fprintf(stderr, "parameter_server: --lr %s is not a number above 0\n", optarg);
        return -1;
    case 'h':
        (void)fputs(usage, stdout);
        exit(EXIT_SUCCESS);
    default:
        return -1;
    }
}

int main(int argc, char **argv)
{
    static const struct option options[] = {
        {"trainers", required_argument, NULL, 't'},
        {"updates", required_argument, NULL, 'u'},
        {"staleness", required_argument, NULL, 's'},
        {"batch", required_argument, NULL, 'b'},
        {"lr", required_argument, NULL, 'l'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    gw_init(&argc, &argv);

    struct run run = {
        .arguments = {.trainers = 2, .updates = 400, .staleness = -1, .batch = 64, .lr = 0.02}};
    struct gw_error error = {0};
    int rc = 0, option;
    while (rc == 0 && (option = getopt_long(argc, argv, "", options, NULL)) >= 0)
        rc = read_option(option, &run.arguments);
    if (rc < 0 || optind < argc) {
        (void)fputs("Try: parameter_server --help\n", stderr);
        return EXIT_USAGE;
    }
    if (run.arguments.staleness < 0)
        run.arguments.staleness = 2 * run.arguments.trainers;
    if (run_all(&run, &error) < 0)
        gw_error_exit(&error);
    return EXIT_SUCCESS;
}
