/* Trains a network to read digits, in a gang of ranks.
 *
 *     digits --ranks 2                          digits that the program draws itself
 *     digits --ranks 4 --data ~/mnist --net residual --optimizer lars --plateau
 *
 * The gang runs on this user's cluster, or on a private one that lives as long as this program. */
#include "examples/06_digits/train.h"
#include "examples/rank_log.h"

#include <errno.h>
#include <getopt.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { EXIT_USAGE = 2 };

static const char usage[] =
    "usage: digits [options]\n"
    "\n"
    "  --ranks N          ranks of the gang (2)\n"
    "  --min-ranks N      start also with fewer ranks, down to N; batch and rate stay the same\n"
    "  --data FOLDER      MNIST's files under their usual names, .gz or not (drawn digits)\n"
    "  --net NAME         convnet or residual (convnet)\n"
    "  --optimizer NAME   sgd, adam or lars (sgd)\n"
    "  --lr X             learning rate of one rank; N ranks have N times this (sgd 0.01, adam\n"
    "                     0.001, lars 0.05)\n"
    "  --precision NAME   f32, or bf16 or f16 with masters in float (f32)\n"
    "  --gpu              train on GPUs, one for each rank\n"
    "  --plateau          reduce the rate if the held-out loss no longer falls (else a cosine)\n"
    "  --batch N          images of each rank; the global batch is N x ranks (50)\n"
    "  --epochs N         passes over the data (8)\n"
    "  --seed N           of parameters and order (1)\n";

struct arguments {
    struct digits_train_options train;
    char data[PATH_MAX];
    int64_t ranks_min; /* 0: all ranks */
};

static int read_count(const char *option, const char *text, int64_t most, int64_t *count)
{
    char *end;
    errno = 0;
    *count = strtoll(text, &end, 10);
    if (!errno && end != text && !*end && *count >= 1 && *count <= most)
        return 0;
    (void)fprintf(stderr, "digits: --%s %s is not a whole number from 1 to %lld\n", option, text,
                  (long long)most);
    return -1;
}

static int read_lr(const char *text, double *lr)
{
    char *end;
    *lr = strtod(text, &end);
    if (end != text && !*end && *lr > 0 && *lr < 1e6)
        return 0;
    (void)fprintf(stderr, "digits: --lr %s is not a number above 0\n", text);
    return -1;
}

/* Ranks may run in another folder. */
static int read_data(const char *text, char data[PATH_MAX])
{
    char *path = realpath(text, NULL);
    if (!path)
        (void)fprintf(stderr, "digits: --data %s: %s\n", text, strerror(errno));
    else
        (void)snprintf(data, PATH_MAX, "%s", path);
    free(path);
    return path ? 0 : -1;
}

static int read_option(int option, struct arguments *arguments)
{
    struct digits_train_options *train = &arguments->train;
    switch (option) {
    case 'r':
        return read_count("ranks", optarg, 4096, &train->ranks);
    case 'm':
        return read_count("min-ranks", optarg, 4096, &arguments->ranks_min);
    case 'b':
        return read_count("batch", optarg, 1 << 16, &train->batch);
    case 'e':
        return read_count("epochs", optarg, 1000000, &train->epochs);
    case 's':
        return read_count("seed", optarg, INT64_MAX, &train->seed);
    case 'l':
        return read_lr(optarg, &train->lr);
    case 'd':
        return read_data(optarg, arguments->data);
    case 'n':
        train->net = optarg;
        return 0;
    case 'o':
        train->optimizer = optarg;
        return 0;
    case 'P':
        train->precision = optarg;
        return 0;
    case 'g':
        train->gpu = true;
        return 0;
    case 'p':
        train->plateau = true;
        return 0;
    case 'h':
        (void)fputs(usage, stdout);
        exit(EXIT_SUCCESS);
    default:
        return -1;
    }
}

static int read_arguments(int argc, char **argv, struct arguments *arguments)
{
    static const struct option options[] = {
        {"ranks", required_argument, NULL, 'r'},
        {"min-ranks", required_argument, NULL, 'm'},
        {"data", required_argument, NULL, 'd'},
        {"net", required_argument, NULL, 'n'},
        {"optimizer", required_argument, NULL, 'o'},
        {"lr", required_argument, NULL, 'l'},
        {"precision", required_argument, NULL, 'P'},
        {"gpu", no_argument, NULL, 'g'},
        {"plateau", no_argument, NULL, 'p'},
        {"batch", required_argument, NULL, 'b'},
        {"epochs", required_argument, NULL, 'e'},
        {"seed", required_argument, NULL, 's'},
        {"help", no_argument, NULL, 'h'},
        {NULL, 0, NULL, 0},
    };
    int rc = 0, option;
    while (rc == 0 && (option = getopt_long(argc, argv, "", options, NULL)) >= 0)
        rc = read_option(option, arguments);
    if (rc == 0 && optind < argc) {
        (void)fprintf(stderr, "digits: %s is no option\n", argv[optind]);
        rc = -1;
    }
    if (rc < 0)
        (void)fputs("Try: digits --help\n", stderr);
    struct digits_train_options *train = &arguments->train;
    if (train->lr == 0)
        train->lr = strcmp(train->optimizer, "adam") == 0   ? 0.001
                    : strcmp(train->optimizer, "lars") == 0 ? 0.05
                                                            : 0.01;
    train->data = arguments->data;
    train->batch *= train->ranks; /* the user said how many for each */
    return rc;
}

static int train(const struct arguments *arguments, struct gw_error *error)
{
    const struct digits_train_options *options = &arguments->train;
    const uint32_t ranks = (uint32_t)options->ranks;
    struct gw_client *client = NULL;
    struct gw_future *future = NULL;
    struct gw_value *value = NULL;
    struct digits_train_result result;
    (void)printf("A gang of %u rank%s, %lld images each (global batch %lld): %s with %s.\n", ranks,
                 ranks == 1 ? "" : "s", (long long)options->batch / ranks,
                 (long long)options->batch, options->net, options->optimizer);
    (void)fflush(stdout);
    int rc = gw_client_open(GW_CLIENT_OPTIONS(.slots = ranks), &client, error);
    if (rc == 0)
        rc = gw_dispatch(
            client, ranks, digits_train,
            GW_OPTIONS(.gang.min_ranks = (uint32_t)arguments->ranks_min, .gpu.count = options->gpu),
            GW_ARGS(digits_train_argument(options)), &future, error);
    if (rc == 0) {
        rank_log_print(client, future, false);
        rc = gw_future_get(future, 0, &value, error);
    }
    if (rc == 0)
        rc = digits_train_read_result(value, &result, error);
    if (rc == 0)
        (void)printf("%.2f%% of the held-out digits are read right. %.0f images/s.\n",
                     100 * result.accuracy, result.images_per_s);
    gw_value_unref(value);
    gw_future_release(future);
    gw_client_close(client);
    return rc;
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);

    struct arguments arguments = {.train = {.net = "convnet",
                                            .optimizer = "sgd",
                                            .precision = "f32",
                                            .batch = 50,
                                            .epochs = 8,
                                            .ranks = 2,
                                            .seed = 1}};
    struct gw_error error = {0};
    if (read_arguments(argc, argv, &arguments) < 0)
        return EXIT_USAGE;
    if (train(&arguments, &error) < 0)
        gw_error_exit(&error);
    return EXIT_SUCCESS;
}
