/* A study of ranks, batch and learning rate with <gangway/sweep.h>: each trial is a gang of its own
 * size, and as many run side by side as the cluster has slots for.
 *
 *     petnames_sweep --ranks 1,2 --batch 64,256 --lr .004,.016 --data names.csv
 *
 * Ends with a table and pictures. On a shared cluster the trials are detached jobs: the same
 * command line continues a study that was interrupted. */
#include "examples/petnames/source.h"
#include "examples/petnames/trainer.h"

#include <gangway/gangway.h>
#include <gangway/sweep.h>

#include <getopt.h>
#include <inttypes.h>
#include <limits.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

enum { EXIT_USAGE = 2 };

struct arguments {
    const char *ranks, *batch, *lr;   /* values of the three parameters, "1,2,4" */
    struct pet_trainer_options train; /* what all trials share */
    const char *data, *name, *out;
    char own_name[GW_SWEEP_NAME_MAX + 1];    /* without --name */
    char source[PATH_MAX], folder[PATH_MAX]; /* absolute: of the data, and of `out` */
    bool attached; /* the cluster is private, and ends with this program */
};

static const char usage[] =
    "usage: petnames_sweep [options]\n"
    "\n"
    "  --ranks LIST       ranks of each gang (1,2,4)\n"
    "  --batch LIST       samples of each rank (64,256,1024)\n"
    "  --lr LIST          learning rates (.001,.004,.016)\n"
    "  --size NAME        demo or article (demo)\n"
    "  --data FILE|URL    names to train on, as for 03_petnames (made-up names)\n"
    "  --epochs N         passes over the data (4)\n"
    "  --seed N           of parameters and order (1)\n"
    "  --name NAME        of the study, at the cluster (petnames-SIZE-EPOCHS)\n"
    "  --out DIR          where the pictures go (petnames_sweep)\n";

/* -- The command line --- */

static int read_count(const char *option, int64_t *count, struct gw_error *error)
{
    char *end;
    *count = strtoll(optarg, &end, 10);
    if (end == optarg || *end || *count < 1 || *count > INT32_MAX)
        return gw_error_set(error, GW_EINVAL, "--%s %s is not a whole number above 0", option,
                            optarg);
    return 0;
}

static int read_option(int option, struct arguments *arguments, struct gw_error *error)
{
    const char **texts[] = {
        ['r'] = &arguments->ranks,      ['b'] = &arguments->batch, ['l'] = &arguments->lr,
        ['s'] = &arguments->train.size, ['d'] = &arguments->data,  ['n'] = &arguments->name,
        ['o'] = &arguments->out};
    if (option == 'h') {
        (void)fputs(usage, stdout);
        exit(EXIT_SUCCESS);
    }
    if (option == 'e')
        return read_count("epochs", &arguments->train.epochs, error);
    if (option == 'S')
        return read_count("seed", &arguments->train.seed, error);
    if (option == '?')
        return gw_error_set(error, GW_EINVAL, "see the message above");
    *texts[option] = optarg;
    return 0;
}

static int read_arguments(int argc, char **argv, struct arguments *arguments,
                          struct gw_error *error)
{
    static const struct option options[] = {
        {"ranks", required_argument, NULL, 'r'},
        {"batch", required_argument, NULL, 'b'},
        {"lr", required_argument, NULL, 'l'},
        {"size", required_argument, NULL, 's'},
        {"data", required_argument, NULL, 'd'},
        {"epochs", required_argument, NULL, 'e'},
        {"seed", required_argument, NULL, 'S'},
        {"name", required_argument, NULL, 'n'},
        {"out", required_argument, NULL, 'o'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    *arguments = (struct arguments){
        .ranks = "1,2,4",
        .batch = "64,256,1024",
        .lr = ".001,.004,.016",
        .train = {.size = "demo", .epochs = 4, .seed = 1, .by_epoch = true, .resume = true},
        .out = "petnames_sweep",
    };
    int rc = 0, option;
    while (rc >= 0 && (option = getopt_long(argc, argv, "", options, NULL)) >= 0)
        rc = read_option(option, arguments, error);
    if (rc >= 0 && optind < argc)
        rc = gw_error_set(error, GW_EINVAL, "%s: takes options only", argv[optind]);
    struct pet_trainer_options recipe;
    (void)snprintf(arguments->own_name, sizeof arguments->own_name, "petnames-%s-%" PRId64,
                   arguments->train.size, arguments->train.epochs);
    if (!arguments->name) /* a study with other settings is another one */
        arguments->name = arguments->own_name;
    if (rc >= 0)
        rc = pet_trainer_recipe(arguments->train.size, 1, &recipe, error);
    return rc;
}

/* The folder for results and the names: what can fail before a trial waits for a slot. */
static int prepare(struct arguments *arguments, struct gw_error *error)
{
    char why[512];
    (void)mkdir(arguments->out, 0777);
    if (!realpath(arguments->out, arguments->folder))
        return gw_error_set(error, GW_EIO, "cannot make the folder %s", arguments->out);
    int rc = pet_source_choose(arguments->data, arguments->source, why, error);
    if (rc >= 0)
        (void)printf("Names: %s.\n", why);
    arguments->train.data = arguments->source;
    return rc;
}

/* -- Trials --- */

struct params {
    int64_t ranks, batch;
    double lr;
};

static int read_params(const struct gw_trial *trial, struct params *params, struct gw_error *error)
{
    int rc = gw_value_get_i64(gw_value_find(trial->params, "ranks"), &params->ranks, error);
    if (rc >= 0)
        rc = gw_value_get_i64(gw_value_find(trial->params, "batch"), &params->batch, error);
    if (rc >= 0)
        rc = gw_value_get_f64(gw_value_find(trial->params, "lr"), &params->lr, error);
    return rc;
}

/* Makes the gang of a trial. A private cluster ends with this program, and its jobs' folders with
 * it; there a trial keeps its checkpoint in --out. */
static int make_trial(const struct gw_trial *trial, struct gw_graph *graph,
                      struct gw_sweep_task *task, void *arg, struct gw_error *error)
{
    const struct arguments *arguments = arg;
    struct pet_trainer_options train = arguments->train;
    struct params params;
    char path[PATH_MAX + 32];
    int rc = read_params(trial, &params, error);
    if (rc < 0)
        return rc;
    if (params.ranks < 1 || params.ranks > UINT16_MAX)
        return gw_error_set(error, GW_EINVAL, "--ranks: a gang has 1 to %d ranks", UINT16_MAX);
    train.batch = params.ranks * params.batch;
    train.lr = params.lr;
    (void)snprintf(path, sizeof path, "%s/trial-%" PRIu32 ".checkpoint", arguments->folder,
                   trial->number);
    train.checkpoint = arguments->attached ? path : NULL;
    task->slots = (uint32_t)params.ranks;
    task->node =
        gw_call(graph, pet_trainer, GW_GANG(.ranks = task->slots, .annotations = task->annotations),
                pet_trainer_argument(&train));
    return 0;
}

static bool has_ended(const struct gw_trial *trial)
{
    return trial->state != GW_TRIAL_RUNNING && trial->state != GW_TRIAL_PAUSED;
}

/* Prints how many trials have ended, and the best so far, whenever these change. */
static void print_progress(struct gw_sweep *sweep, void *arg)
{
    static uint32_t printed;
    const struct gw_sweep_trial *best;
    uint32_t ended = 0;
    for (uint32_t i = 0; i < gw_sweep_count(sweep); i++)
        ended += has_ended(gw_sweep_trial(sweep, i)->trial);
    if (ended != printed && gw_sweep_best(sweep, &best, NULL) == 0)
        (void)fprintf(stderr, "%" PRIu32 " trials have ended, best held-out loss %.4f\n", ended,
                      best->trial->value);
    printed = ended;
    (void)arg;
}

/* -- The table --- */

static int by_global_batch(const void *a, const void *b)
{
    const struct gw_sweep_trial *const *trials[] = {a, b};
    struct params p[2] = {{0}};
    for (int i = 0; i < 2; i++)
        (void)read_params((*trials[i])->trial, &p[i], NULL);
    const double order[] = {(double)(p[0].ranks * p[0].batch - p[1].ranks * p[1].batch),
                            (double)(p[0].ranks - p[1].ranks), p[0].lr - p[1].lr};
    for (int i = 0; i < 3; i++)
        if (order[i] != 0)
            return order[i] < 0 ? -1 : 1;
    return 0;
}

/* The time that the job of a trial has run; 0 if the cluster has forgotten it. */
static double run_seconds(struct gw_client *client, uint64_t job)
{
    struct gw_listing *tasks = NULL;
    const struct gw_task_row *row;
    double seconds = 0;
    if (gw_listing_new(client, GW_LISTING_TASKS, GW_LISTING_OPTIONS(.job = job), &tasks, NULL) >=
            0 &&
        gw_listing_next_task(tasks, &row, NULL) > 0)
        seconds = (double)row->run_ns / 1e9;
    gw_listing_free(tasks);
    return seconds;
}

/* Small global batches first. Returns the number of failed trials. */
static uint32_t print_table(const struct gw_sweep *sweep, struct gw_client *client)
{
    const uint32_t count = gw_sweep_count(sweep);
    const struct gw_sweep_trial **trials = calloc(count + 1, sizeof *trials);
    uint32_t failed = 0;
    if (!trials)
        return 0;
    for (uint32_t i = 0; i < count; i++)
        trials[i] = gw_sweep_trial(sweep, i);
    qsort(trials, count, sizeof *trials, by_global_batch);
    (void)printf("\nglobal                             held-out\n"
                 " batch  ranks   batch       lr         loss     time  trial\n");
    for (uint32_t i = 0; i < count; i++) {
        struct params params = {0};
        (void)read_params(trials[i]->trial, &params, NULL);
        (void)printf("%6" PRId64 " %6" PRId64 " %7" PRId64 " %8g  ", params.ranks * params.batch,
                     params.ranks, params.batch, params.lr);
        failed += trials[i]->trial->state == GW_TRIAL_FAILED;
        if (trials[i]->trial->state == GW_TRIAL_FAILED)
            (void)printf("failed: %.*s\n", (int)strcspn(trials[i]->text, "\n"), trials[i]->text);
        else if (trials[i]->trial->state == GW_TRIAL_CANCELLED)
            (void)printf("cancelled\n");
        else
            (void)printf("%11.4f %6.1f s %6" PRIu32 "\n", trials[i]->trial->value,
                         run_seconds(client, trials[i]->job), trials[i]->trial->number);
    }
    free(trials);
    return failed;
}

/* Says where the best model is. */
static void print_best(const struct gw_sweep *sweep, const struct arguments *arguments)
{
    const struct gw_sweep_trial *best;
    if (gw_sweep_best(sweep, &best, NULL) < 0)
        return;
    (void)printf("\nBest: trial %" PRIu32 ", held-out loss %.4f nats a character. Its model:\n",
                 best->trial->number, best->trial->value);
    if (arguments->attached)
        (void)printf("    petnames --generate 12 --checkpoint %s/trial-%" PRIu32 ".checkpoint\n",
                     arguments->out, best->trial->number);
    else
        (void)printf("    gangway get %" PRIu64 " --checkpoint -o %s/best\n"
                     "    petnames --generate 12 --checkpoint %s/best/task-0\n",
                     best->job, arguments->out, arguments->out);
    (void)printf("Pictures: %s/*.svg\n", arguments->out);
}

/* -- The study --- */

static struct gw_sweep *running; /* what Ctrl-C stops */

static void on_signal(int number)
{
    (void)signal(number, SIG_DFL); /* the next one ends the program */
    gw_sweep_stop(running);
}

/* This user's cluster; if there is none, a private one with room for the largest gang. */
static int open_client(struct arguments *arguments, struct gw_client **client,
                       struct gw_error *error)
{
    int rc = gw_client_open(GW_CLIENT_OPTIONS(.must_exist = true), client, error);
    if (rc != GW_ENOSCHEDULER)
        return rc;
    uint32_t slots = 1;
    for (const char *at = arguments->ranks; *at;
         at += strcspn(at, ",|") + (at[strcspn(at, ",|")] != 0)) {
        const unsigned long ranks = strtoul(at, NULL, 10);
        slots = ranks > slots && ranks <= UINT16_MAX ? (uint32_t)ranks : slots;
    }
    arguments->attached = true;
    return gw_client_open(GW_CLIENT_OPTIONS(.slots = slots), client, error);
}

/* The grid: every combination of the three lists. */
static int make_sweep(struct arguments *arguments, struct gw_sweep **sweep, struct gw_error *error)
{
    const char *const params[][2] = {
        {"ranks", arguments->ranks}, {"batch", arguments->batch}, {"lr", arguments->lr}};
    struct gw_space *space = gw_space_new();
    int rc = 0;
    for (size_t i = 0; i < 3 && rc >= 0; i++) {
        char text[1024];
        (void)snprintf(text, sizeof text, "%s=%s", params[i][0], params[i][1]);
        rc = gw_space_add(space, text, error);
    }
    if (rc >= 0)
        rc = gw_space_derive(space, "global=ranks*batch", error);
    if (rc < 0) {
        gw_space_free(space);
        return rc;
    }
    return gw_sweep_new(space, GW_SEARCH_OPTIONS(.method = GW_SEARCH_GRID),
                        GW_SWEEP_OPTIONS(.name = arguments->name, .metric = "held_out",
                                         .attached = arguments->attached, .make = make_trial,
                                         .on_change = print_progress, .arg = arguments),
                        sweep, error);
}

/* Runs all trials. *failed: how many of them have failed. */
static int study(struct arguments *arguments, uint32_t *failed, struct gw_error *error)
{
    struct gw_client *client = NULL;
    struct gw_sweep *sweep = NULL;
    int rc = prepare(arguments, error);
    if (rc >= 0)
        rc = open_client(arguments, &client, error);
    if (rc >= 0)
        rc = make_sweep(arguments, &sweep, error);
    if (rc >= 0) {
        (void)fflush(stdout);
        running = sweep;
        (void)signal(SIGINT, on_signal);
        (void)signal(SIGTERM, on_signal);
        rc = gw_sweep_run(sweep, client, error);
    }
    if (rc >= 0) {
        *failed = print_table(sweep, client);
        print_best(sweep, arguments);
        rc = gw_sweep_export(sweep, client, GW_SWEEP_PICTURES, arguments->folder, error);
    }
    gw_sweep_free(sweep);
    gw_client_close(client);
    return rc;
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);

    struct arguments arguments;
    struct gw_error error = {0};
    uint32_t failed = 0;
    if (read_arguments(argc, argv, &arguments, &error) < 0) {
        (void)fprintf(stderr, "petnames_sweep: %s\nTry: petnames_sweep --help\n", error.text);
        return EXIT_USAGE;
    }
    if (study(&arguments, &failed, &error) < 0)
        gw_error_exit(&error);
    return failed > 0 ? EXIT_FAILURE : EXIT_SUCCESS;
}
