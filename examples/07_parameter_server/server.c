/* Weights and gradients travel as bytes: a head, the parameters (or their gradients), and the
 * statistics of the normalisations. A trainer returns the statistics of the weights that it got,
 * moved towards those of its batch, and the server takes them over. */
#include "examples/07_parameter_server/server.h"

#include "examples/06_digits/images.h"
#include "examples/06_digits/model.h"

#include <gangway/rng.h>
#include <stdlib.h>
#include <string.h>

enum { TENSORS_MAX = 64, BATCH_MAX = 1024 };

struct head {
    int64_t version;
};

/* The network, and where its numbers lie in a message. */
struct model {
    struct nn_net *net;
    size_t parameters, statistics, bytes;
};

static int model_init(struct model *model, size_t batch, struct gw_error *error)
{
    model->net = digits_model_new("convnet");
    if (!model->net)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    const int rc = nn_net_prepare(model->net, batch, error);
    model->parameters = nn_net_parameters(model->net);
    if (rc == 0)
        (void)nn_net_statistics(model->net, &model->statistics);
    model->bytes = sizeof(struct head) + (model->parameters + model->statistics) * sizeof(nn_real);
    return rc;
}

static nn_real *numbers(void *message)
{
    return (nn_real *)((char *)message + sizeof(struct head));
}

/* Copies a message that is an argument, because arguments may be unaligned. The caller frees it. */
static int take(struct gw_task *task, const struct model *model, void **message)
{
    const void *data;
    size_t bytes;
    const int rc = gw_task_arg_bytes(task, 0, &data, &bytes);
    if (rc < 0)
        return rc;
    if (bytes != model->bytes)
        return gw_task_fail(task, GW_EINVAL, "a message has %zu bytes, not %zu", bytes,
                            model->bytes);
    *message = malloc(bytes);
    if (!*message)
        return gw_task_fail(task, GW_ENOMEM, "out of memory");
    memcpy(*message, data, bytes);
    return 0;
}

/* -- The server -------------------------------------------------------------------------------- */

struct server {
    struct model model;
    struct gw_optimizer *optimizer;
    char *weights; /* a message */
    nn_real *gradient;
    int64_t bound;
};

static void server_free(void *state)
{
    struct server *server = state;
    gw_optimizer_free(server->optimizer);
    nn_net_free(server->model.net);
    free(server->weights);
    free(server->gradient);
    free(server);
}

static int make_server(struct server *server, double lr, struct gw_error *error)
{
    int rc = model_init(&server->model, 1, error);
    if (rc < 0)
        return rc;
    server->weights = calloc(1, server->model.bytes);
    server->gradient = calloc(server->model.parameters, sizeof *server->gradient);
    if (!server->weights || !server->gradient)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    nn_real *weights = numbers(server->weights);
    nn_net_randomise(server->model.net, 1, weights);
    memcpy(weights + server->model.parameters,
           nn_net_statistics(server->model.net, &server->model.statistics),
           server->model.statistics * sizeof *weights);
    const struct gw_optimizer_options sgd = gw_optimizer_sgd(lr);
    const struct gw_optimizer_tensor tensor = {
        .data = weights, .gradient = server->gradient, .count = server->model.parameters};
    return gw_optimizer_new(&sgd, &tensor, 1, &server->optimizer, error);
}

static int server(struct gw_task *task)
{
    struct server *made = calloc(1, sizeof *made);
    double lr = 0;
    int rc = made ? gw_task_arg_f64(task, 0, &lr) : GW_ENOMEM;
    if (rc == 0)
        rc = gw_task_arg_i64(task, 1, &made->bound);
    if (rc == 0)
        rc = make_server(made, lr, gw_task_error(task));
    if (rc == 0)
        rc = gw_task_actor(task, made, server_free);
    if (rc < 0 && made)
        server_free(made);
    return rc;
}
GW_TASK(server);

static int server_pull(struct gw_task *task)
{
    const struct server *server = gw_task_state(task);
    return gw_task_return(task, gw_bytes_copy(server->weights, server->model.bytes));
}
GW_TASK(server_pull);

static int server_push(struct gw_task *task)
{
    struct server *server = gw_task_state(task);
    const struct model *model = &server->model;
    struct head *now = (struct head *)(void *)server->weights;
    void *message = NULL;
    int rc = take(task, model, &message);
    if (rc < 0)
        return rc;
    const int64_t staleness = now->version - ((struct head *)message)->version;
    const bool drops = staleness > server->bound;
    if (!drops) {
        memcpy(server->gradient, numbers(message), model->parameters * sizeof(nn_real));
        memcpy(numbers(server->weights) + model->parameters, numbers(message) + model->parameters,
               model->statistics * sizeof(nn_real));
        rc = gw_optimizer_step(server->optimizer, gw_task_error(task));
        now->version++;
    }
    free(message);
    return rc < 0 ? rc : gw_task_return(task, gw_i64(drops ? SERVER_DROPPED : staleness));
}
GW_TASK(server_push);

/* -- Trainers ---------------------------------------------------------------------------------- */

/* Made by the first task of a process, for all that it runs. */
struct trainer {
    struct digits_images images;
    struct model model;
    nn_real *pixels, *slope, *gradients;
    uint8_t labels[BATCH_MAX];
};

static int trainer_get(struct trainer **trainer, struct gw_error *error)
{
    static struct trainer *here;
    int rc = 0;
    if (!here) {
        struct trainer *made = calloc(1, sizeof *made);
        rc = made ? digits_images_load("", &made->images, error)
                  : gw_error_set(error, GW_ENOMEM, "out of memory");
        if (rc == 0)
            rc = model_init(&made->model, BATCH_MAX, error);
        if (rc < 0)
            return rc; /* the task fails, and its process is not used again */
        made->pixels = calloc((size_t)BATCH_MAX * DIGITS_PIXELS, sizeof *made->pixels);
        made->slope = calloc((size_t)BATCH_MAX * DIGITS_CLASSES, sizeof *made->slope);
        made->gradients = calloc(made->model.parameters, sizeof *made->gradients);
        if (!made->pixels || !made->slope || !made->gradients)
            return gw_error_set(error, GW_ENOMEM, "out of memory");
        here = made;
    }
    *trainer = here;
    return 0;
}

static void put_image(struct trainer *trainer, size_t n, size_t i)
{
    const uint8_t *from = trainer->images.pixels + i * DIGITS_PIXELS;
    for (int p = 0; p < DIGITS_PIXELS; p++)
        trainer->pixels[n * DIGITS_PIXELS + (size_t)p] = (nn_real)from[p] / 255;
    trainer->labels[n] = trainer->images.labels[i];
}

/* Gives the network the statistics of a message. */
static void put_statistics(struct trainer *trainer, void *message)
{
    const struct model *model = &trainer->model;
    size_t count;
    memcpy(nn_net_statistics(model->net, &count), numbers(message) + model->parameters,
           model->statistics * sizeof(nn_real));
}

static int compute(struct trainer *trainer, void *message, size_t batch, struct gw_error *error)
{
    const struct model *model = &trainer->model;
    nn_real *tensors[TENSORS_MAX];
    const nn_real *output;
    size_t right, count;
    memset(trainer->gradients, 0, model->parameters * sizeof *trainer->gradients);
    for (size_t t = 0; t < nn_net_tensors(model->net); t++)
        tensors[t] = trainer->gradients + nn_net_tensor(model->net, t)->offset;
    put_statistics(trainer, message);
    int rc =
        nn_net_forward(model->net, numbers(message), trainer->pixels, batch, true, &output, error);
    if (rc < 0)
        return rc;
    (void)nn_cross_entropy(output, trainer->labels, batch, DIGITS_CLASSES, trainer->slope, &right);
    rc = nn_net_backward(model->net, numbers(message), trainer->slope, tensors, NULL, NULL, error);
    memcpy(numbers(message), trainer->gradients, model->parameters * sizeof(nn_real));
    memcpy(numbers(message) + model->parameters, nn_net_statistics(model->net, &count),
           model->statistics * sizeof(nn_real));
    return rc;
}

static int gradient(struct gw_task *task)
{
    struct trainer *trainer;
    void *message = NULL;
    int64_t batch = 0, seed = 0;
    struct gw_rng rng;
    int rc = trainer_get(&trainer, gw_task_error(task));
    if (rc == 0)
        rc = take(task, &trainer->model, &message);
    if (rc == 0)
        rc = gw_task_arg_i64(task, 1, &batch);
    if (rc == 0)
        rc = gw_task_arg_i64(task, 2, &seed);
    if (rc == 0 && (batch < 1 || batch > BATCH_MAX))
        rc = gw_task_fail(task, GW_EINVAL, "a batch has 1 to %d images", BATCH_MAX);
    gw_rng_init(&rng, (uint64_t)seed);
    for (int64_t n = 0; n < batch && rc == 0; n++)
        put_image(trainer, (size_t)n, gw_rng_below(&rng, trainer->images.train));
    if (rc == 0)
        rc = compute(trainer, message, (size_t)batch, gw_task_error(task));
    if (rc == 0)
        rc = gw_task_return(task, gw_bytes_copy(message, trainer->model.bytes));
    free(message);
    return rc;
}
GW_TASK(gradient);

static int evaluate(struct gw_task *task)
{
    struct trainer *trainer;
    void *message = NULL;
    size_t right = 0, done = 0;
    int rc = trainer_get(&trainer, gw_task_error(task));
    if (rc == 0)
        rc = take(task, &trainer->model, &message);
    if (rc < 0)
        return rc;
    put_statistics(trainer, message);
    const size_t held_out = trainer->images.count - trainer->images.train;
    while (rc == 0 && done < held_out) {
        const size_t some = held_out - done < BATCH_MAX ? held_out - done : BATCH_MAX;
        const nn_real *output;
        size_t of_these;
        for (size_t n = 0; n < some; n++)
            put_image(trainer, n, trainer->images.train + done + n);
        rc = nn_net_forward(trainer->model.net, numbers(message), trainer->pixels, some, false,
                            &output, gw_task_error(task));
        if (rc == 0)
            (void)nn_cross_entropy(output, trainer->labels, some, DIGITS_CLASSES, NULL, &of_these);
        right += rc == 0 ? of_these : 0;
        done += some;
    }
    free(message);
    return rc < 0 ? rc : gw_task_return(task, gw_f64((double)right / (double)held_out));
}
GW_TASK(evaluate);
