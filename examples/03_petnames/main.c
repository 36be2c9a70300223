/* Trains the pet-names model in a gang of ranks, then makes up new names.
 *
 *     petnames --ranks 2 --data names.csv        trains, writes petnames.checkpoint
 *     petnames --generate 20                     20 names from that checkpoint alone
 *
 * The gang runs on this user's cluster, or on a private one that lives as long as this program. */
#include "examples/petnames/generate.h"
#include "examples/petnames/source.h"
#include "examples/petnames/train.h"
#include "examples/petnames/trainer.h"
#include "examples/rank_log.h"

#include <gangway/gangway.h>

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { EXIT_USAGE = 2, NAMES_MAX = 100000 };

struct arguments {
    struct pet_trainer_options train;
    char checkpoint[PATH_MAX];
    char source[PATH_MAX];
    uint32_t ranks, ranks_min;
    int64_t generate; /* 0: train */
    double temperature;
};

static const char usage[] =
    "usage: petnames [options]             train, in a gang of ranks\n"
    "       petnames --generate N [...]    make up N names from a checkpoint\n"
    "\n"
    "  --ranks N            ranks of the gang (2)\n"
    "  --min-ranks N        start also with fewer ranks, down to N; the batch stays the same\n"
    "  --size NAME          demo or article (demo)\n"
    "  --data FILE|URL      one name a line or CSV, .gz too; auto: $GANGWAY_PETNAMES, else the "
    "city\n"
    "                       of Seattle's open data, else made-up names (made-up names)\n"
    "  --column NAME        of a CSV (Animal's Name, Pet Name or Name)\n"
    "  --allow-http         the URL may be http, unencrypted\n"
    "  --gpu                train on GPUs, one for each rank\n"
    "  --precision NAME     with --gpu: f32, or bf16 or f16 for products on tensor cores (f32)\n"
    "  --batch N            samples of each rank; the global batch is N x ranks\n"
    "  --epochs N           passes over the data\n"
    "  --steps N            end after so many steps, whatever the epochs\n"
    "  --lr X               Adam's learning rate\n"
    "  --seed N             of parameters, order and names to make up (1)\n"
    "  --checkpoint FILE    gets a copy of the checkpoint of each epoch (petnames.checkpoint)\n"
    "  --resume             go on from that file\n"
    "  --generate N         names to make up\n"
    "  --temperature X      1 as the model says, less keeps to what is likely (0.8)\n"
    "\n"
    "Batch, epochs and learning rate have a default for each size.\n";

/* -- The command line ----------------------------------------------------------------------------
 */

static int bad(const char *what)
{
    (void)fprintf(stderr, "petnames: %s\nTry: petnames --help\n", what);
    return GW_EINVAL;
}

static int read_count(const char *option, const char *text, int64_t max, int64_t *count)
{
    char *end;
    errno = 0;
    long long n = strtoll(text, &end, 10);
    if (errno || end == text || *end || n < 1 || n > max) {
        (void)fprintf(stderr, "petnames: --%s %s is not a whole number from 1 to %lld\n", option,
                      text, (long long)max);
        return GW_EINVAL;
    }
    *count = n;
    return 0;
}

static int read_positive(const char *option, const char *text, double *x)
{
    char *end;
    *x = strtod(text, &end);
    if (end == text || *end || !(*x > 0) || *x > 1e6) {
        (void)fprintf(stderr, "petnames: --%s %s is not a number above 0\n", option, text);
        return GW_EINVAL;
    }
    return 0;
}

/* What the user gave; the size's recipe stands where they said nothing. */
struct given {
    const char *size, *data, *checkpoint;
    int64_t ranks, ranks_min, batch, epochs;
    double lr;
};

static int read_option(int option, struct arguments *arguments, struct given *given)
{
    struct pet_trainer_options *train = &arguments->train;
    switch (option) {
    case 'r':
        return read_count("ranks", optarg, 4096, &given->ranks);
    case 'm':
        return read_count("min-ranks", optarg, 4096, &given->ranks_min);
    case 's':
        given->size = optarg;
        return 0;
    case 'd':
        given->data = optarg;
        return 0;
    case 'c':
        train->column = optarg;
        return 0;
    case 'H':
        train->http_allowed = true;
        return 0;
    case 'b':
        return read_count("batch", optarg, 1 << 24, &given->batch);
    case 'e':
        return read_count("epochs", optarg, 1000000, &given->epochs);
    case 'n':
        return read_count("steps", optarg, INT64_MAX, &train->steps);
    case 'l':
        return read_positive("lr", optarg, &given->lr);
    case 'S':
        return read_count("seed", optarg, INT64_MAX, &train->seed);
    case 'k':
        given->checkpoint = optarg;
        return 0;
    case 'G':
        train->gpu = true;
        return 0;
    case 'p':
        train->precision = optarg;
        return 0;
    case 'R':
        train->resume = true;
        return 0;
    case 'g':
        return read_count("generate", optarg, NAMES_MAX, &arguments->generate);
    case 't':
        return read_positive("temperature", optarg, &arguments->temperature);
    case 'h':
        (void)fputs(usage, stdout);
        exit(EXIT_SUCCESS);
    default:
        (void)fputs("Try: petnames --help\n", stderr);
        return GW_EINVAL;
    }
}

static int absolute(const char *path, char out[PATH_MAX])
{
    char folder[PATH_MAX];
    if (*path == '/')
        *folder = '\0';
    else if (!getcwd(folder, sizeof folder - 1))
        return bad("cannot tell which folder this is");
    else
        strcat(folder, "/");
    if ((size_t)snprintf(out, PATH_MAX, "%s%s", folder, path) >= PATH_MAX)
        return bad("the checkpoint's path is too long");
    return 0;
}

static int read_arguments(int argc, char **argv, struct arguments *arguments, struct given *given)
{
    static const struct option options[] = {
        {"ranks", required_argument, NULL, 'r'},
        {"min-ranks", required_argument, NULL, 'm'},
        {"size", required_argument, NULL, 's'},
        {"data", required_argument, NULL, 'd'},
        {"column", required_argument, NULL, 'c'},
        {"batch", required_argument, NULL, 'b'},
        {"epochs", required_argument, NULL, 'e'},
        {"steps", required_argument, NULL, 'n'},
        {"lr", required_argument, NULL, 'l'},
        {"seed", required_argument, NULL, 'S'},
        {"checkpoint", required_argument, NULL, 'k'},
        {"resume", no_argument, NULL, 'R'},
        {"generate", required_argument, NULL, 'g'},
        {"temperature", required_argument, NULL, 't'},
        {"help", no_argument, NULL, 'h'},
        {"allow-http", no_argument, NULL, 'H'},
        {"gpu", no_argument, NULL, 'G'},
        {"precision", required_argument, NULL, 'p'},
        {NULL, 0, NULL, 0},
    };
    *arguments = (struct arguments){.train.seed = 1, .temperature = 0.8};
    *given = (struct given){.size = "demo", .checkpoint = "petnames.checkpoint", .ranks = 2};
    int rc = 0, option;
    while (rc >= 0 && (option = getopt_long(argc, argv, "", options, NULL)) >= 0)
        rc = read_option(option, arguments, given);
    if (rc >= 0 && optind < argc)
        rc = bad("takes options only, each begins with --");
    if (rc >= 0)
        rc = absolute(given->checkpoint, arguments->checkpoint);
    return rc;
}

/* The recipe of the size, with what the user said over it. */
static int complete(struct arguments *arguments, const struct given *given)
{
    struct pet_trainer_options *train = &arguments->train;
    struct gw_error error;
    arguments->ranks = (uint32_t)given->ranks;
    arguments->ranks_min = (uint32_t)given->ranks_min;
    if (pet_trainer_recipe(given->size, arguments->ranks, train, &error) < 0)
        return bad(error.text);
    train->batch = given->batch ? given->batch * given->ranks : train->batch;
    train->epochs = given->epochs ? given->epochs : train->epochs;
    train->lr = given->lr > 0 ? given->lr : train->lr;
    train->checkpoint = arguments->checkpoint;

    char why[512];
    if (pet_source_choose(given->data, arguments->source, why, &error) < 0)
        return bad(error.text);
    train->data = arguments->source;
    (void)printf("Names: %s.\n", why);
    return 0;
}

/* -- Training ------------------------------------------------------------------------------------
 */

static int train(const struct arguments *arguments, struct gw_error *error)
{
    const struct pet_trainer_options *options = &arguments->train;
    struct gw_client *client = NULL;
    struct gw_future *future = NULL;
    struct gw_value *value = NULL;
    struct pet_trainer_result result;
    (void)printf("A gang of %u rank%s, %lld samples each (global batch %lld), Adam at %g.\n",
                 arguments->ranks, arguments->ranks == 1 ? "" : "s",
                 (long long)options->batch / arguments->ranks, (long long)options->batch,
                 options->lr);
    (void)fflush(stdout);
    int rc = gw_client_open(GW_CLIENT_OPTIONS(.slots = arguments->ranks), &client, error);
    if (rc >= 0)
        rc = gw_dispatch(
            client, arguments->ranks, pet_trainer,
            GW_OPTIONS(.gang.min_ranks = arguments->ranks_min, .gpu.count = options->gpu),
            GW_ARGS(pet_trainer_argument(options)), &future, error);
    if (rc >= 0) {
        rank_log_print(client, future, false);
        rc = gw_future_get(future, 0, &value, error);
    }
    if (rc >= 0)
        rc = pet_trainer_read_result(value, &result, error);
    if (rc >= 0)
        (void)printf("Trained in %.1f s at %.0f samples/s. Held-out loss %.4f nats a character.\n"
                     "Checkpoint: %s\n",
                     result.train_seconds, result.samples_per_s, result.held_out_loss,
                     arguments->checkpoint);
    gw_value_unref(value);
    gw_future_release(future);
    gw_client_close(client);
    return rc;
}

/* -- Generating ----------------------------------------------------------------------------------
 */

static int generate(const struct arguments *arguments, struct gw_error *error)
{
    struct gw_checkpoint *checkpoint = NULL;
    struct pet_model model;
    pet_real *parameters = NULL;
    char(*names)[PET_NAME_MAX + 1] = calloc((size_t)arguments->generate, sizeof *names);
    int rc = names ? 0 : gw_error_set(error, GW_ENOMEM, "no memory for so many names");
    if (rc >= 0)
        rc = gw_checkpoint_file_read(arguments->checkpoint, &checkpoint, error);
    if (rc >= 0)
        rc = pet_train_read_model(checkpoint, &model, &parameters, error);
    const struct pet_generate_options options = {
        .count = (size_t)arguments->generate,
        .temperature = arguments->temperature,
        .seed = (uint64_t)arguments->train.seed,
    };
    if (rc >= 0)
        rc = pet_generate(&model, parameters, &options, names, error);
    for (size_t i = 0; rc >= 0 && i < options.count; i++)
        (void)printf("%s\n", names[i]);
    free(parameters);
    free(names);
    gw_checkpoint_free(checkpoint);
    return rc;
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);

    struct arguments arguments;
    struct given given;
    struct gw_error error = {0};
    if (read_arguments(argc, argv, &arguments, &given) < 0)
        return EXIT_USAGE;
    if (arguments.generate == 0 && complete(&arguments, &given) < 0)
        return EXIT_USAGE;
    int rc = arguments.generate > 0 ? generate(&arguments, &error) : train(&arguments, &error);
    if (rc < 0)
        gw_error_exit(&error);
    return EXIT_SUCCESS;
}
