/* A search with a loop of one's own: <gangway/search.h> says which parameters to try next,
 * gw_submit runs them as ordinary tasks.
 *
 *     valley --method tpe --trials 60
 *
 * The question: with which settings does gradient descent with momentum get lowest in Rosenbrock's
 * valley in 300 steps? */
#include <gangway/gangway.h>
#include <gangway/search.h>

#include <getopt.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2, STEPS = 300, PARALLEL = 4, DIVERGED = 10 };

static const char usage[] = "usage: valley [options]\n"
                            "\n"
                            "  --method NAME      random, grid, sobol or tpe (tpe)\n"
                            "  --trials N         number of trials (60)\n"
                            "  --seed N           of the search (1)\n";

/* -- A trial, which runs on a worker --- */

static double rosenbrock(double x, double y)
{
    return (1 - x) * (1 - x) + 100 * (y - x * x) * (y - x * x);
}

/* Takes the params of a trial, a dict, and returns log10 of the height that it has reached. */
static int descend(struct gw_task *task)
{
    struct gw_value *params;
    double lr = 0, momentum = 0;
    int rc = gw_task_arg_value(task, 0, &params);
    if (rc == 0)
        rc = gw_value_get_f64(gw_value_find(params, "lr"), &lr, gw_task_error(task));
    if (rc < 0)
        return rc;
    /* Only trials with opt=momentum and opt=nesterov have this parameter. */
    const struct gw_value *has_momentum = gw_value_find(params, "momentum");
    if (has_momentum)
        (void)gw_value_get_f64(has_momentum, &momentum, NULL);
    const char *opt = "";
    (void)gw_value_get_str(gw_value_find(params, "opt"), &opt, NULL);
    const double lookahead = strcmp(opt, "nesterov") == 0 ? momentum : 0;

    double x = -1.2, y = 1, dx = 0, dy = 0;
    for (int i = 0; i < STEPS; i++) {
        const double at_x = x + lookahead * dx, at_y = y + lookahead * dy;
        const double slope_x = -2 * (1 - at_x) - 400 * at_x * (at_y - at_x * at_x);
        const double slope_y = 200 * (at_y - at_x * at_x);
        dx = momentum * dx - lr * slope_x;
        dy = momentum * dy - lr * slope_y;
        x += dx;
        y += dy;
    }
    /* TPE learns from bad values, but not from trials that fail. */
    const double height = rosenbrock(x, y);
    return gw_task_return(task, gw_f64(isfinite(height) ? log10(height + 1e-30) : DIVERGED));
}
GW_TASK(descend);

/* -- The search, in this program --- */

/* The trials that run. Future i of `futures` is that of trial numbers[i]; all of them are kept, so
 * that their indices are those of `completions`. */
struct loop {
    struct gw_client *client;
    struct gw_search *search;
    struct gw_completions *completions;
    struct gw_future **futures;
    uint32_t *numbers;
    size_t submitted, ended;
};

/* Asks for trials and submits them while fewer than PARALLEL run. */
static int submit_trials(struct loop *loop, struct gw_error *error)
{
    const struct gw_trial *trial;
    int rc = 0;
    while (loop->submitted - loop->ended < PARALLEL) {
        rc = gw_search_ask(loop->search, 0, &trial, error);
        if (rc == GW_ENOENT || rc == GW_EAGAIN) /* no more trials, or none now */
            return 0;
        struct gw_future *future;
        size_t index;
        if (rc == 0)
            rc = gw_submit(loop->client, descend, NULL, GW_ARGS(gw_value_ref(trial->params)),
                           &future, error);
        if (rc < 0)
            return rc;
        loop->numbers[loop->submitted] = trial->number;
        loop->futures[loop->submitted++] = future;
        rc = gw_completions_add(loop->completions, future, &index);
        if (rc < 0)
            return gw_error_set(error, rc, "%s", gw_error_text(rc));
    }
    return 0;
}

/* Waits for the end of a trial, and tells the search its value. */
static int take_trial(struct loop *loop, struct gw_error *error)
{
    struct gw_value *value = NULL;
    double result = NAN;
    size_t i;
    int rc = gw_completions_next(loop->completions, UINT64_MAX, &i);
    if (rc < 0)
        return gw_error_set(error, rc, "%s", gw_error_text(rc));
    loop->ended++;
    if (gw_future_get(loop->futures[i], 0, &value, error) == 0)
        rc = gw_value_get_f64(value, &result, error);
    else if (error->code == GW_ECLOSED) /* the cluster is gone; the trial has not failed */
        return GW_ECLOSED;
    gw_value_unref(value);
    return rc < 0 ? rc
                  : gw_search_end(loop->search, loop->numbers[i],
                                  isnan(result) ? GW_TRIAL_FAILED : GW_TRIAL_DONE, result, error);
}

static int run(struct loop *loop, uint32_t trials, struct gw_error *error)
{
    loop->futures = calloc(trials, sizeof *loop->futures);
    loop->numbers = calloc(trials, sizeof *loop->numbers);
    int rc = gw_completions_new(NULL, 0, &loop->completions);
    if (!loop->futures || !loop->numbers || rc < 0)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    do {
        rc = submit_trials(loop, error);
        if (rc == 0 && loop->ended < loop->submitted)
            rc = take_trial(loop, error);
    } while (rc == 0 && loop->ended < loop->submitted);
    return rc;
}

static void print_result(const struct gw_search *search)
{
    const struct gw_trial *best;
    uint32_t diverged = 0;
    for (uint32_t i = 0; i < gw_search_count(search); i++)
        diverged += gw_search_trial(search, i)->value == DIVERGED;
    (void)printf("%" PRIu32 " trials, %" PRIu32 " diverged\n", gw_search_count(search), diverged);
    if (gw_search_best(search, &best, NULL) < 0)
        return;
    (void)printf("best: trial %" PRIu32 ", height %.3g\n", best->number, pow(10, best->value));
    for (size_t i = 0; i < gw_value_count(best->params); i++) {
        const struct gw_value *value = gw_value_at(best->params, i);
        const char *text;
        double number;
        if (gw_value_get_f64(value, &number, NULL) == 0)
            (void)printf("  %s = %g\n", gw_value_key(best->params, i), number);
        else if (gw_value_get_str(value, &text, NULL) == 0)
            (void)printf("  %s = %s\n", gw_value_key(best->params, i), text);
    }
}

/* -- The command line --- */

static int make_space(const char *method, struct gw_space *space, struct gw_error *error)
{
    /* A grid needs a number of values; the others draw from the whole range. */
    const bool grid = strcmp(method, "grid") == 0;
    const char *const params[] = {
        "opt=plain|momentum|nesterov",
        grid ? "lr=1e-5,3e-5,1e-4,3e-4,1e-3,3e-3" : "lr=log:1e-5..1e-2",
        grid ? "momentum=0.8,0.9,0.95,0.99 if opt=momentum|nesterov"
             : "momentum=0.5..0.999 if opt=momentum|nesterov",
    };
    int rc = 0;
    for (size_t i = 0; i < sizeof params / sizeof *params && rc == 0; i++)
        rc = gw_space_add(space, params[i], error);
    return rc;
}

static bool read_arguments(int argc, char **argv, struct gw_search_options *search,
                           const char **method)
{
    static const struct option options[] = {{"method", required_argument, NULL, 'm'},
                                            {"trials", required_argument, NULL, 't'},
                                            {"seed", required_argument, NULL, 's'},
                                            {"help", no_argument, NULL, 'h'},
                                            {NULL, 0, NULL, 0}};
    static const char *const methods[] = {[GW_SEARCH_RANDOM] = "random",
                                          [GW_SEARCH_GRID] = "grid",
                                          [GW_SEARCH_SOBOL] = "sobol",
                                          [GW_SEARCH_TPE] = "tpe"};
    for (int option; (option = getopt_long(argc, argv, "", options, NULL)) >= 0;) {
        int i = 0;
        if (option == 'h') {
            (void)fputs(usage, stdout);
            exit(EXIT_SUCCESS);
        }
        if (option == 't')
            search->trials = (uint32_t)strtoul(optarg, NULL, 10);
        else if (option == 's')
            search->seed = strtoull(optarg, NULL, 10);
        else if (option == 'm')
            while (i <= GW_SEARCH_TPE && strcmp(optarg, methods[i]) != 0)
                i++;
        if (option == '?' || i > GW_SEARCH_TPE)
            return false;
        if (option == 'm')
            search->method = (enum gw_search_method)i;
    }
    *method = methods[search->method];
    return optind == argc && search->trials > 0;
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);

    struct gw_search_options options =
        GW_INIT(gw_search_options, .method = GW_SEARCH_TPE, .trials = 60, .seed = 1);
    const char *method;
    if (!read_arguments(argc, argv, &options, &method)) {
        (void)fputs(usage, stderr);
        return EXIT_USAGE;
    }
    struct loop loop = {0};
    struct gw_error error = {0};
    struct gw_space *space = gw_space_new();
    int rc = make_space(method, space, &error);
    if (rc == 0)
        rc = gw_search_new(space, &options, &loop.search, &error);
    else
        gw_space_free(space);
    if (rc == 0)
        rc = gw_client_open(NULL, &loop.client, &error);
    if (rc == 0)
        rc = run(&loop, options.trials, &error);
    if (rc == 0)
        print_result(loop.search);
    gw_completions_free(loop.completions);
    for (size_t i = 0; i < loop.submitted; i++)
        gw_future_release(loop.futures[i]);
    gw_client_close(loop.client);
    gw_search_free(loop.search);
    free(loop.futures);
    free(loop.numbers);
    if (rc < 0)
        gw_error_exit(&error);
    return EXIT_SUCCESS;
}
