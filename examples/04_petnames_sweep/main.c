/* A sweep over ranks x batch x learning rate: each cell of the grid is a gang of its own, and as
 * many run side by side as the cluster has slots for. Ends with a table and two plots, as in the
 * article: loss against epoch and loss against time, equal global batches in one colour.
 *
 *     petnames_sweep --ranks 1,2 --batch 256,1024 --lr .004,.016 --data names.csv
 *
 * A cell that fails says so in its row; the others go on. */
#include "examples/04_petnames_sweep/grid.h"
#include "examples/04_petnames_sweep/report.h"
#include "examples/petnames/source.h"

#include <gangway/gangway.h>

#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { EXIT_USAGE = 2 };

struct arguments {
    struct pet_sweep_grid grid;
    struct pet_trainer_options train; /* what all cells share */
    const char *data;
    const char *out;
    double level;
    char source[PATH_MAX];
};

static const char usage[] =
    "usage: petnames_sweep [options]\n"
    "\n"
    "  --ranks LIST       ranks of each gang (1,2)\n"
    "  --batch LIST       samples of each rank (256,1024)\n"
    "  --lr LIST          learning rates (.004,.016)\n"
    "  --size NAME        demo or article (demo)\n"
    "  --data FILE|URL    names to train on, as for 03_petnames (made-up names)\n"
    "  --epochs N         passes over the data (1)\n"
    "  --samples N        end each cell after so many samples, whatever the epochs\n"
    "  --level X          the loss whose time is taken (2.6)\n"
    "  --seed N           of parameters and order (1)\n"
    "  --out DIR          where plots and table go (petnames_sweep)\n";

/* -- The command line ----------------------------------------------------------------------------
 */

static int read_option(int option, struct arguments *arguments, struct gw_error *error)
{
    struct pet_trainer_options *train = &arguments->train;
    struct pet_sweep_grid *grid = &arguments->grid;
    double number;
    int rc;
    switch (option) {
    case 'r':
        return pet_sweep_list_read(&grid->ranks, "ranks", optarg, error);
    case 'b':
        return pet_sweep_list_read(&grid->batches, "batch", optarg, error);
    case 'l':
        return pet_sweep_list_read(&grid->rates, "lr", optarg, error);
    case 's':
        train->size = optarg;
        return 0;
    case 'd':
        arguments->data = optarg;
        return 0;
    case 'o':
        arguments->out = optarg;
        return 0;
    case 'L':
        return pet_sweep_number_read("level", optarg, &arguments->level, error);
    case 'e':
        rc = pet_sweep_number_read("epochs", optarg, &number, error);
        train->epochs = rc < 0 ? 0 : (int64_t)number;
        return rc;
    case 'n':
        rc = pet_sweep_number_read("samples", optarg, &number, error);
        grid->samples = rc < 0 ? 0 : (int64_t)number;
        return rc;
    case 'S':
        rc = pet_sweep_number_read("seed", optarg, &number, error);
        train->seed = rc < 0 ? 0 : (int64_t)number;
        return rc;
    case 'h':
        (void)fputs(usage, stdout);
        exit(EXIT_SUCCESS);
    default:
        return gw_error_set(error, GW_EINVAL, "see the message above");
    }
}

static int read_arguments(int argc, char **argv, struct arguments *arguments,
                          struct gw_error *error)
{
    static const struct option options[] = {
        {"ranks", required_argument, NULL, 'r'},   {"batch", required_argument, NULL, 'b'},
        {"lr", required_argument, NULL, 'l'},      {"size", required_argument, NULL, 's'},
        {"data", required_argument, NULL, 'd'},    {"epochs", required_argument, NULL, 'e'},
        {"samples", required_argument, NULL, 'n'}, {"level", required_argument, NULL, 'L'},
        {"seed", required_argument, NULL, 'S'},    {"out", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},          {NULL, 0, NULL, 0},
    };
    *arguments = (struct arguments){
        .grid = {.ranks = {{1, 2}, 2}, .batches = {{256, 1024}, 2}, .rates = {{.004, .016}, 2}},
        .train = {.size = "demo", .epochs = 1, .seed = 1, .points = SWEEP_POINTS},
        .out = "petnames_sweep",
        .level = 2.6,
    };
    int rc = 0, option;
    while (rc >= 0 && (option = getopt_long(argc, argv, "", options, NULL)) >= 0)
        rc = read_option(option, arguments, error);
    if (rc >= 0 && optind < argc)
        rc = gw_error_set(error, GW_EINVAL, "%s: takes options only", argv[optind]);
    if (rc >= 0)
        rc = pet_sweep_grid_check(&arguments->grid, error);
    struct pet_trainer_options recipe;
    if (rc >= 0)
        rc = pet_trainer_recipe(arguments->train.size, 1, &recipe, error);
    return rc;
}

/* -- Running -------------------------------------------------------------------------------------
 */

/* Makes what all cells take before they wait for a slot: the folder for results, the names. */
static int prepare(struct arguments *arguments, struct gw_error *error)
{
    char why[512];
    if (mkdir(arguments->out, 0777) < 0 && access(arguments->out, W_OK) < 0)
        return gw_error_set(error, GW_EIO, "cannot write to %s", arguments->out);
    int rc = pet_source_choose(arguments->data, arguments->source, why, error);
    if (rc < 0)
        return rc;
    arguments->train.data = arguments->source;
    (void)printf("Names: %s.\n", why);
    return 0;
}

/* The cells that run: future i is that of cells[cell_of[i]]. */
struct trials {
    struct gw_future **futures;
    size_t *cell_of;
    size_t count;
};

static int submit(struct gw_client *client, const struct arguments *arguments,
                  const struct pet_sweep_cell *cell, struct gw_future **future,
                  struct gw_error *error)
{
    struct pet_trainer_options train = arguments->train;
    train.batch = cell->batch;
    train.lr = cell->lr;
    if (arguments->grid.samples > 0)
        train.steps =
            (arguments->grid.samples + cell->batch * cell->ranks - 1) / (cell->batch * cell->ranks);
    struct gw_graph *graph = gw_graph_new();
    gw_node node = gw_call(graph, pet_trainer, GW_GANG(.ranks = (uint32_t)cell->ranks),
                           pet_trainer_argument(&train));
    int rc = gw_client_submit_many(client, graph, GW_SUBMIT_OPTIONS(.name = cell->name), &node, 1,
                                   future, error);
    gw_graph_free(graph);
    return rc;
}

/* Submits all cells. One that the cluster has no room for has failed; the others go on. */
static int submit_all(struct gw_client *client, const struct arguments *arguments,
                      struct pet_sweep_cell *cells, struct trials *trials, struct gw_error *error)
{
    size_t count = trials->count;
    trials->count = 0;
    for (size_t i = 0; i < count; i++) {
        int rc = submit(client, arguments, &cells[i], &trials->futures[trials->count], error);
        if (rc < 0 && rc != GW_EINFEASIBLE)
            return rc;
        if (rc < 0)
            pet_sweep_cell_set_failure(&cells[i], error);
        else
            trials->cell_of[trials->count++] = i;
    }
    return 0;
}

/* Takes each cell's result as it completes; a failed one keeps the first line of its error. */
static int collect(struct pet_sweep_cell *cells, const struct trials *trials,
                   struct gw_error *error)
{
    struct gw_completions *completions;
    int rc = gw_completions_new(trials->futures, trials->count, &completions);
    if (rc < 0)
        return gw_error_set(error, rc, "cannot wait for the cells: %s", gw_error_text(rc));
    for (size_t done = 1, i; gw_completions_next(completions, UINT64_MAX, &i) >= 0; done++) {
        struct pet_sweep_cell *cell = &cells[trials->cell_of[i]];
        struct gw_value *value = NULL;
        struct gw_error failed;
        int got = gw_future_get(trials->futures[i], 0, &value, &failed);
        if (got >= 0)
            got = pet_sweep_cell_set_result(cell, value, &failed);
        gw_value_unref(value);
        if (got < 0)
            pet_sweep_cell_set_failure(cell, &failed);
        pet_sweep_report_progress(cell, done, trials->count);
        if (got == GW_ECLOSED) {
            rc = gw_error_set(error, GW_ECLOSED, "%s", failed.text);
            break;
        }
    }
    gw_completions_free(completions);
    return rc;
}

static int sweep(struct arguments *arguments, struct pet_sweep_cell *cells, size_t count,
                 struct gw_error *error)
{
    struct gw_client *client = NULL;
    struct trials trials = {
        .futures = calloc(count, sizeof *trials.futures),
        .cell_of = calloc(count, sizeof *trials.cell_of),
        .count = count,
    };
    int rc = trials.futures && trials.cell_of ? prepare(arguments, error)
                                              : gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc >= 0)
        rc = gw_client_open(GW_CLIENT_OPTIONS(.slots = pet_sweep_grid_ranks_max(&arguments->grid)),
                            &client, error);
    if (rc >= 0)
        (void)printf("%zu cells, side by side as far as there are slots.\n", count);
    (void)fflush(stdout);
    if (rc >= 0)
        rc = submit_all(client, arguments, cells, &trials, error);
    if (rc >= 0)
        rc = collect(cells, &trials, error);
    for (size_t i = 0; trials.futures && i < trials.count; i++)
        gw_future_release(trials.futures[i]);
    gw_client_close(client);
    free(trials.futures);
    free(trials.cell_of);
    return rc;
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);

    struct arguments arguments;
    struct gw_error error = {0};
    if (read_arguments(argc, argv, &arguments, &error) < 0) {
        (void)fprintf(stderr, "petnames_sweep: %s\nTry: petnames_sweep --help\n", error.text);
        return EXIT_USAGE;
    }
    size_t count;
    struct pet_sweep_cell *cells = NULL;
    int rc = pet_sweep_grid_cells(&arguments.grid, &cells, &count, &error);
    if (rc >= 0)
        rc = sweep(&arguments, cells, count, &error);
    if (rc >= 0)
        rc = pet_sweep_report(cells, count,
                              &(struct pet_sweep_report_options){arguments.out, arguments.level},
                              &error);
    size_t failed = 0;
    for (size_t i = 0; rc >= 0 && i < count; i++)
        failed += cells[i].failed;
    free(cells);
    if (rc < 0)
        gw_error_exit(&error);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
