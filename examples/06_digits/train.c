/* The training loop. All ranks take the same path: whatever decides about the next collective call
 * comes from options and from numbers that were reduced over all ranks.
 *
 * Any number of ranks computes the same, up to rounding: they share the batch, in the same order of
 * images, and normalise over all of it. So a later attempt goes on with as many ranks as it has. */
#include "examples/06_digits/train.h"

#include "examples/06_digits/images.h"
#include "examples/06_digits/model.h"
#include "examples/06_digits/precision.h"
#include "examples/nn/device.h"

#include <gangway/rng.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM_UP_EPOCHS = 1, SHIFT_MAX = 2 };

/* Where training stands; a section of a checkpoint. */
struct position {
    int64_t epoch, used; /* used: images of the epoch that all ranks together have used */
    int64_t step;        /* steps done */
    struct gw_schedule_state schedule;
    struct gw_plateau_state plateau;
    struct gw_scaler_state scaler;
    double reduced; /* what the plateau has made of the schedule's rate: a factor */
};

/* One rank's run. */
struct run {
    struct gw_task *task;
    struct digits_train_options options;
    struct digits_images images;
    struct nn_device *device; /* NULL: the CPU */
    struct nn_net *net;
    nn_real *parameters;                 /* on the device, if there is one */
    void *gradients[DIGITS_TENSORS_MAX]; /* in ddp's buckets, of the type of `precision` */
    struct digits_precision precision;
    struct gw_scaler *scaler; /* NULL: the loss is not scaled */
    nn_real *parameters_copy; /* on the host: as they were when they were last copied */
    struct gw_ddp *ddp;
    struct gw_optimizer *optimizer;
    struct gw_schedule *schedule;
    struct gw_plateau *plateau;
    struct gw_sampler *sampler;
    size_t room;     /* most images of a step on a rank */
    nn_real *pixels; /* [room][DIGITS_PIXELS] */
    uint8_t *labels; /* [room] */
    size_t count;    /* images of a step on this rank */
    struct position at;
    double loss, seen; /* of this epoch on this rank: the sum of losses, and of how many images */
    double held_out_loss, accuracy, seconds, trained;
    int rc; /* of the backward pass that is going on */
};

static double now_s(void)
{
    struct timespec now;
    (void)clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* -- Argument and result ----------------------------------------------------------------------- */

struct gw_value *digits_train_argument(const struct digits_train_options *options)
{
    struct gw_value *dict = gw_dict();
    int rc = gw_dict_set(dict, "net", gw_str(options->net));
    rc |= gw_dict_set(dict, "optimizer", gw_str(options->optimizer));
    rc |= gw_dict_set(dict, "precision", gw_str(options->precision));
    rc |= gw_dict_set(dict, "data", gw_str(options->data));
    rc |= gw_dict_set(dict, "gpu", gw_bool(options->gpu));
    rc |= gw_dict_set(dict, "plateau", gw_bool(options->plateau));
    rc |= gw_dict_set(dict, "batch", gw_i64(options->batch));
    rc |= gw_dict_set(dict, "epochs", gw_i64(options->epochs));
    rc |= gw_dict_set(dict, "lr", gw_f64(options->lr));
    rc |= gw_dict_set(dict, "ranks", gw_i64(options->ranks));
    rc |= gw_dict_set(dict, "seed", gw_i64(options->seed));
    if (rc == 0)
        return dict;
    gw_value_unref(dict);
    return NULL;
}

static int read_options(struct gw_task *task, struct digits_train_options *options)
{
    struct gw_error *error = gw_task_error(task);
    struct gw_value *dict;
    int rc = gw_task_arg_value(task, 0, &dict);
    if (rc == 0)
        rc = gw_value_get_str(gw_value_find(dict, "net"), &options->net, error);
    if (rc == 0)
        rc = gw_value_get_str(gw_value_find(dict, "optimizer"), &options->optimizer, error);
    if (rc == 0)
        rc = gw_value_get_str(gw_value_find(dict, "precision"), &options->precision, error);
    if (rc == 0)
        rc = gw_value_get_str(gw_value_find(dict, "data"), &options->data, error);
    if (rc == 0)
        rc = gw_value_get_bool(gw_value_find(dict, "gpu"), &options->gpu, error);
    if (rc == 0)
        rc = gw_value_get_bool(gw_value_find(dict, "plateau"), &options->plateau, error);
    if (rc == 0)
        rc = gw_value_get_i64(gw_value_find(dict, "batch"), &options->batch, error);
    if (rc == 0)
        rc = gw_value_get_i64(gw_value_find(dict, "epochs"), &options->epochs, error);
    if (rc == 0)
        rc = gw_value_get_f64(gw_value_find(dict, "lr"), &options->lr, error);
    if (rc == 0)
        rc = gw_value_get_i64(gw_value_find(dict, "ranks"), &options->ranks, error);
    return rc == 0 ? gw_value_get_i64(gw_value_find(dict, "seed"), &options->seed, error) : rc;
}

static struct gw_value *make_result(const struct run *run)
{
    struct gw_value *dict = gw_dict();
    int rc = gw_dict_set(dict, "accuracy", gw_f64(run->accuracy));
    rc |= gw_dict_set(dict, "loss", gw_f64(run->held_out_loss));
    rc |= gw_dict_set(dict, "images_per_s",
                      gw_f64(run->seconds > 0 ? run->trained / run->seconds : 0));
    if (rc == 0)
        return dict;
    gw_value_unref(dict);
    return NULL;
}

int digits_train_read_result(const struct gw_value *value, struct digits_train_result *result,
                             struct gw_error *error)
{
    int rc = gw_value_get_f64(gw_value_find(value, "accuracy"), &result->accuracy, error);
    if (rc == 0)
        rc = gw_value_get_f64(gw_value_find(value, "loss"), &result->loss, error);
    if (rc == 0)
        rc = gw_value_get_f64(gw_value_find(value, "images_per_s"), &result->images_per_s, error);
    return rc;
}

/* -- Making a run ------------------------------------------------------------------------------ */

static int sum_over_ranks(void *comm, double *sums, size_t count, struct gw_error *error)
{
    return gw_comm_all_reduce(
        comm,
        GW_COMM_ARGS(.recv = sums, .count = count, .dtype = GW_DTYPE_F64, .reduce = GW_REDUCE_SUM),
        error);
}

/* Copies the parameters to the device, or from it. */
static int copy_parameters(struct run *run, bool to_device)
{
    const size_t bytes = nn_net_parameters(run->net) * sizeof *run->parameters;
    if (!run->device)
        return 0;
    nn_device_copy(run->device, to_device ? run->parameters : run->parameters_copy,
                   to_device ? run->parameters_copy : run->parameters, bytes);
    return nn_device_wait(run->device, gw_task_error(run->task));
}

static int make_net(struct run *run)
{
    struct gw_error *error = gw_task_error(run->task);
    struct gw_comm *comm = gw_task_comm(run->task);
    const size_t batch = (size_t)run->options.batch, ranks = (size_t)gw_comm_size(comm);
    run->room = (batch + ranks - 1) / ranks;
    run->count = batch / ranks + ((size_t)gw_comm_rank(comm) < batch % ranks);
    run->net = digits_model_new(run->options.net);
    if (!run->net)
        return gw_task_fail(run->task, GW_EINVAL, "there is no net \"%s\": convnet or residual",
                            run->options.net);
    int rc = run->options.gpu ? nn_device_open(comm, &run->device, error) : 0;
    nn_net_use_device(run->net, run->device);
    nn_net_synchronise(run->net, ranks > 1 ? comm : NULL);
    if (rc == 0)
        rc = nn_net_prepare(run->net, run->room, error);
    if (rc < 0)
        return rc;
    const size_t bytes = nn_net_parameters(run->net) * sizeof *run->parameters;
    run->parameters_copy = run->parameters = calloc(1, bytes);
    if (run->device)
        run->parameters = nn_device_alloc(run->device, bytes);
    run->pixels = calloc(run->room * DIGITS_PIXELS, sizeof *run->pixels);
    run->labels = calloc(run->room, 1);
    if (!run->parameters_copy || !run->parameters || !run->pixels || !run->labels)
        return gw_task_fail(run->task, GW_ENOMEM, "no memory for batches of %zu images", run->room);
    nn_net_randomise(run->net, (uint64_t)run->options.seed, run->parameters_copy);
    rc = copy_parameters(run, true);
    if (rc == 0)
        rc = digits_precision_init(&run->precision, run->options.precision, run->net, run->device,
                                   error);
    if (rc == 0 && run->precision.dtype == GW_DTYPE_F16)
        rc = gw_scaler_new(GW_SCALER_OPTIONS(.interval = 200), &run->scaler, error);
    return rc;
}

static bool is_mixed(const struct run *run)
{
    return run->precision.dtype != GW_DTYPE_F32;
}

/* The parameter that ranks exchange and the optimizer changes. */
static void *parameter_of(const struct run *run, const struct nn_tensor *tensor)
{
    if (is_mixed(run))
        return run->precision.parameters + tensor->offset;
    return run->parameters + tensor->offset;
}

static int open_ddp(struct run *run)
{
    struct gw_ddp_param params[DIGITS_TENSORS_MAX];
    const size_t count = nn_net_tensors(run->net);
    memset(params, 0, sizeof params);
    for (size_t t = 0; t < count; t++) {
        const struct nn_tensor *tensor = nn_net_tensor(run->net, t);
        params[t].name = tensor->name;
        params[t].data = parameter_of(run, tensor);
        params[t].dtype = run->precision.dtype;
        params[t].dims = tensor->dims;
        memcpy(params[t].shape, tensor->shape, sizeof tensor->shape);
    }
    if (is_mixed(run))
        digits_precision_narrow(&run->precision, run->parameters);
    int rc = gw_ddp_open(GW_DDP_OPTIONS(.comm = gw_task_comm(run->task), .params = params,
                                        .params_count = count,
                                        .stream = run->device ? run->device->stream : NULL),
                         &run->ddp, gw_task_error(run->task));
    for (size_t t = 0; t < count && rc == 0; t++)
        run->gradients[t] = gw_ddp_gradient(run->ddp, t);
    if (rc == 0 && is_mixed(run)) /* those of rank 0 */
        digits_precision_widen(&run->precision, run->parameters);
    return rc;
}

static int make_optimizer(struct run *run)
{
    struct gw_optimizer_tensor tensors[DIGITS_TENSORS_MAX];
    struct gw_optimizer_options options = gw_optimizer_sgd(run->options.lr);
    options.momentum = 0.9;
    options.nesterov = true;
    options.weight_decay = 1e-4;
    if (strcmp(run->options.optimizer, "adam") == 0)
        options = gw_optimizer_adam(run->options.lr);
    else if (strcmp(run->options.optimizer, "lars") == 0) {
        options = gw_lars_options(run->options.lr);
        options.weight_decay = 1e-4;
        options.trust = 0.02;
    } else if (strcmp(run->options.optimizer, "sgd") != 0)
        return gw_task_fail(run->task, GW_EINVAL, "there is no optimizer \"%s\": sgd, adam or lars",
                            run->options.optimizer);
    options.stream = run->device ? run->device->stream : NULL;
    memset(tensors, 0, sizeof tensors);
    for (size_t t = 0; t < nn_net_tensors(run->net); t++) {
        const struct nn_tensor *tensor = nn_net_tensor(run->net, t);
        tensors[t].data = parameter_of(run, tensor);
        tensors[t].dtype = run->precision.dtype;
        tensors[t].gradient = run->gradients[t];
        tensors[t].count = tensor->count;
        tensors[t].no_decay = tensor->no_decay;
    }
    return gw_optimizer_new(&options, tensors, nn_net_tensors(run->net), &run->optimizer,
                            gw_task_error(run->task));
}

/* The sampler and the learning rate: k ranks have k times the rate, after a warm-up that goes up to
 * it from the rate of one (arXiv 1706.02677). An attempt with fewer ranks keeps batch and rate. */
static int make_schedule(struct run *run)
{
    struct gw_error *error = gw_task_error(run->task);
    const int ranks = gw_comm_size(gw_task_comm(run->task));
    if ((int64_t)run->images.train < run->options.batch)
        return gw_task_fail(run->task, GW_EINVAL,
                            "%zu images do not fill one batch of %lld: take a smaller batch",
                            run->images.train, (long long)run->options.batch);
    int rc = gw_sampler_new(GW_SAMPLER_OPTIONS(.samples = (int64_t)run->images.train,
                                               .rank = gw_comm_rank(gw_task_comm(run->task)),
                                               .ranks = ranks, .seed = (uint64_t)run->options.seed),
                            &run->sampler, error);
    if (rc < 0)
        return rc;
    const int64_t steps = (int64_t)run->images.train / run->options.batch; /* of an epoch */
    const int64_t warm_up = run->options.epochs > WARM_UP_EPOCHS ? WARM_UP_EPOCHS * steps : 0;
    rc =
        gw_schedule_new(GW_SCHEDULE_OPTIONS(.kind = run->options.plateau ? GW_SCHEDULE_CONSTANT
                                                                         : GW_SCHEDULE_COSINE,
                                            .lr = run->options.lr, .ranks = (int)run->options.ranks,
                                            .warm_up_steps = warm_up,
                                            .period = run->options.epochs * steps - warm_up),
                        &run->schedule, error);
    if (rc == 0)
        rc = gw_plateau_new(GW_PLATEAU_OPTIONS(.patience = 2, .factor = 0.2), &run->plateau, error);
    return rc;
}

/* -- Checkpoints ------------------------------------------------------------------------------- */

/* Adds the sections, whose data is borrowed until the set is freed. */
static int store(struct run *run, struct gw_checkpoint *checkpoint)
{
    size_t statistics, optimizer;
    nn_real *numbers = nn_net_statistics(run->net, &statistics);
    const void *moments = gw_optimizer_state(run->optimizer, &optimizer);
    int rc = copy_parameters(run, false);
    if (rc < 0 || !moments)
        return rc < 0 ? rc : gw_task_fail(run->task, GW_EIO, "cannot read the GPU's memory");
    run->at.schedule = gw_schedule_state(run->schedule);
    run->at.plateau = gw_plateau_state(run->plateau);
    if (run->scaler)
        run->at.scaler = gw_scaler_state(run->scaler);
    rc = gw_checkpoint_set_bytes(checkpoint, "digits.position", &run->at, sizeof run->at);
    if (rc == 0)
        rc = gw_checkpoint_set_bytes(checkpoint, "digits.parameters", run->parameters_copy,
                                     nn_net_parameters(run->net) * sizeof(nn_real));
    if (rc == 0)
        rc = gw_checkpoint_set_bytes(checkpoint, "digits.statistics", numbers,
                                     statistics * sizeof(nn_real));
    if (rc == 0)
        rc = gw_checkpoint_set_bytes(checkpoint, "digits.optimizer", moments, optimizer);
    return rc < 0 ? gw_task_fail(run->task, rc, "a checkpoint: %s", gw_error_text(rc)) : 0;
}

static int save(struct run *run)
{
    struct gw_checkpoint *checkpoint = gw_checkpoint_new();
    int rc = checkpoint ? store(run, checkpoint)
                        : gw_task_fail(run->task, GW_ENOMEM, "no memory for a checkpoint");
    if (rc == 0)
        rc = gw_task_checkpoint_save(run->task, checkpoint, run->at.step);
    gw_checkpoint_free(checkpoint);
    return rc;
}

/* Takes over what was loaded. */
static int restored(struct run *run)
{
    struct gw_error *error = gw_task_error(run->task);
    int rc = gw_optimizer_checkpoint_loaded(run->optimizer, error);
    if (rc == 0)
        rc = nn_net_statistics_changed(run->net, error);
    if (rc == 0)
        rc = copy_parameters(run, true);
    if (rc < 0)
        return rc;
    if (run->scaler)
        gw_scaler_set_state(run->scaler, &run->at.scaler);
    gw_plateau_set_state(run->plateau, &run->at.plateau);
    gw_schedule_set_state(run->schedule, &run->at.schedule);
    return 0;
}

/* Goes on from the checkpoint of an attempt before this one, with as many ranks as there are. */
static int restore(struct run *run)
{
    struct gw_checkpoint *checkpoint = NULL;
    size_t statistics;
    int64_t step;
    nn_real *numbers = nn_net_statistics(run->net, &statistics);
    const struct gw_checkpoint_place places[] = {
        {"digits.position", &run->at, sizeof run->at},
        {"digits.parameters", run->parameters_copy, nn_net_parameters(run->net) * sizeof(nn_real)},
        {"digits.statistics", numbers, statistics * sizeof(nn_real)},
        gw_optimizer_checkpoint_place(run->optimizer, "digits.optimizer"),
    };
    int rc = gw_task_checkpoint_load_into(run->task, places, sizeof places / sizeof *places,
                                          &checkpoint, &step);
    if (rc == 0 && checkpoint)
        rc = restored(run);
    if (rc == 0 && checkpoint && gw_task_rank(run->task) == 0)
        (void)printf("continues at step %lld, with %d ranks\n", (long long)step,
                     gw_comm_size(gw_task_comm(run->task)));
    gw_checkpoint_free(checkpoint);
    return rc;
}

/* -- Training ---------------------------------------------------------------------------------- */

/* Puts image i of the data into place n of the batch, moved by so many pixels, with mean 0 and
 * deviation 1 over MNIST. */
static void put_image(struct run *run, size_t n, size_t i, int right, int down)
{
    const uint8_t *from = run->images.pixels + i * DIGITS_PIXELS;
    nn_real *to = run->pixels + n * DIGITS_PIXELS;
    for (int y = 0; y < DIGITS_SIDE; y++)
        for (int x = 0; x < DIGITS_SIDE; x++) {
            const int from_x = x - right, from_y = y - down;
            const bool inside =
                from_x >= 0 && from_x < DIGITS_SIDE && from_y >= 0 && from_y < DIGITS_SIDE;
            const double ink = inside ? from[from_y * DIGITS_SIDE + from_x] / 255.0 : 0;
            *to++ = (nn_real)((ink - 0.1307) / 0.3081);
        }
    run->labels[n] = run->images.labels[i];
}

/* This rank's part of the batch: the next images of the epoch's order, one rank after the other. So
 * the batch has the same images with any number of ranks. Each image is moved by up to SHIFT_MAX
 * pixels, in each epoch in another way, so that the network sees more than the few images of the
 * data. The change depends on the image and the epoch alone, and so not on the number of ranks. */
static void choose_batch(struct run *run)
{
    gw_sampler_skip(run->sampler, run->at.used);
    for (size_t n = 0; n < run->count; n++) {
        const int64_t i = gw_sampler_index(run->sampler, (int64_t)n);
        struct gw_rng rng;
        gw_rng_init(&rng, (uint64_t)(run->at.epoch * (int64_t)run->images.count + i));
        const int right = (int)gw_rng_below(&rng, 2 * SHIFT_MAX + 1) - SHIFT_MAX;
        const int down = (int)gw_rng_below(&rng, 2 * SHIFT_MAX + 1) - SHIFT_MAX;
        put_image(run, n, (size_t)i, right, down);
    }
}

static void run_on_gradient(void *user, size_t tensor)
{
    struct run *run = user;
    if (is_mixed(run))
        digits_precision_gradient(&run->precision, tensor, run->gradients[tensor]);
    if (run->rc == 0)
        run->rc = gw_ddp_ready(run->ddp, tensor, gw_task_error(run->task));
}

/* Also of 16 bits: then the layers compute with the rounded parameters. */
static int optimizer_step(struct run *run)
{
    struct gw_error *error = gw_task_error(run->task);
    const int rc = run->scaler ? gw_scaler_step(run->scaler, run->optimizer, NULL, NULL, error)
                               : gw_optimizer_step(run->optimizer, error);
    if (rc == 0 && is_mixed(run))
        digits_precision_widen(&run->precision, run->parameters);
    return rc;
}

static int train_step(struct run *run, double *loss)
{
    struct gw_error *error = gw_task_error(run->task);
    const double batch = (double)run->options.batch, count = (double)run->count;
    const double ranks = gw_comm_size(gw_task_comm(run->task));
    const nn_real *output;
    size_t right;
    choose_batch(run);
    if (is_mixed(run))
        digits_precision_zero(&run->precision);
    else
        gw_ddp_zero(run->ddp);
    /* Each image counts the same: the mean over the ranks follows. */
    nn_net_scale_loss(run->net,
                      (run->scaler ? gw_scaler_scale(run->scaler) : 1) * count * ranks / batch);
    int rc =
        nn_net_forward(run->net, run->parameters, run->pixels, run->count, true, &output, error);
    if (rc == 0)
        rc = nn_net_entropy(run->net, run->labels, error);
    if (rc == 0)
        rc = gw_ddp_begin(run->ddp, true, error);
    if (rc < 0)
        return rc;
    run->rc = 0;
    rc =
        nn_net_backward(run->net, run->parameters, NULL,
                        is_mixed(run) ? run->precision.gradients : (nn_real *const *)run->gradients,
                        run_on_gradient, run, error);
    rc = rc < 0 ? rc : run->rc;
    if (rc == 0)
        rc = gw_ddp_finish(run->ddp, error);
    if (rc == 0)
        rc = nn_net_entropy_end(run->net, loss, &right, error);
    if (rc < 0)
        return rc;
    gw_optimizer_set_lr(run->optimizer, gw_schedule_lr(run->schedule) * run->at.reduced);
    rc = optimizer_step(run);
    (void)gw_schedule_next(run->schedule);
    run->loss += *loss * count;
    run->seen += count;
    run->trained += batch;
    run->at.used += run->options.batch;
    run->at.step++;
    return rc;
}

/* Each rank takes its part of the held-out images. *loss becomes the mean of the epoch's losses. */
static int evaluate(struct run *run, double *loss)
{
    const size_t ranks = (size_t)gw_comm_size(gw_task_comm(run->task));
    const size_t rank = (size_t)gw_comm_rank(gw_task_comm(run->task));
    const size_t count = run->images.count - run->images.train;
    const size_t end = count * (rank + 1) / ranks, batch = run->room;
    struct gw_error *error = gw_task_error(run->task);
    double sums[4] = {0, 0, run->loss, run->seen};
    int rc = 0;
    for (size_t first = count * rank / ranks; first < end && rc == 0; first += batch) {
        const size_t some = end - first < batch ? end - first : batch;
        const nn_real *output;
        double part;
        size_t right;
        for (size_t i = 0; i < some; i++)
            put_image(run, i, run->images.train + first + i, 0, 0);
        rc = nn_net_forward(run->net, run->parameters, run->pixels, some, false, &output, error);
        if (rc == 0)
            rc = nn_net_entropy(run->net, run->labels, error);
        if (rc == 0)
            rc = nn_net_entropy_end(run->net, &part, &right, error);
        if (rc < 0)
            break;
        sums[0] += (double)some * part;
        sums[1] += (double)right;
    }
    if (rc == 0)
        rc = sum_over_ranks(gw_task_comm(run->task), sums, 4, error);
    run->held_out_loss = sums[0] / (double)count;
    run->accuracy = sums[1] / (double)count;
    *loss = sums[2] / sums[3];
    return rc;
}

/* Trains to the end of the epoch. Returns 0, GW_PAUSE, GW_STOP or an error. */
static int train_epoch(struct run *run)
{
    const double began = now_s();
    double loss = 0;
    int rc = 0;
    gw_sampler_set_epoch(run->sampler, (uint64_t)run->at.epoch);
    run->loss = run->seen = 0;
    while (rc == 0 && run->at.used + run->options.batch <= (int64_t)run->images.train) {
        rc = train_step(run, &loss);
        if (rc == 0)
            rc = gw_task_step(run->task, run->at.step, "loss", loss);
    }
    run->seconds += now_s() - began;
    return rc;
}

static int end_epoch(struct run *run)
{
    const double rate = gw_optimizer_lr(run->optimizer);
    double loss;
    const int rc = evaluate(run, &loss);
    if (rc < 0)
        return rc;
    run->at.epoch++;
    run->at.used = 0;
    if (run->options.plateau)
        run->at.reduced = gw_plateau_next(run->plateau, run->held_out_loss, run->at.reduced);
    if (gw_task_rank(run->task) == 0) {
        (void)printf("epoch %2lld/%lld  loss %.4f  held out: loss %.4f, %.2f%% right  lr %.3g  "
                     "%.0f images/s\n",
                     (long long)run->at.epoch, (long long)run->options.epochs, loss,
                     run->held_out_loss, 100 * run->accuracy, rate, run->trained / run->seconds);
        (void)fflush(stdout);
    }
    return save(run);
}

static int train(struct run *run)
{
    double loss;
    int rc = make_net(run);
    if (rc == 0)
        rc = open_ddp(run);
    if (rc == 0)
        rc = make_optimizer(run);
    if (rc == 0)
        rc = make_schedule(run);
    run->at.reduced = 1;
    if (rc == 0)
        rc = restore(run);
    if (rc == 0 && run->at.epoch >= run->options.epochs) /* an attempt that had just finished */
        rc = evaluate(run, &loss);
    while (rc == 0 && run->at.epoch < run->options.epochs) {
        rc = train_epoch(run);
        if (rc == GW_PAUSE || rc == GW_STOP)
            return save(run);
        if (rc == 0)
            rc = end_epoch(run);
    }
    return rc;
}

static int digits_train(struct gw_task *task)
{
    struct run run = {.task = task};
    int rc = read_options(task, &run.options);
    if (rc == 0)
        rc = digits_images_load(run.options.data, &run.images, gw_task_error(task));
    if (rc == 0 && gw_task_rank(task) == 0)
        (void)printf("%zu images to train on, %zu held out (%s)\n", run.images.train,
                     run.images.count - run.images.train, run.images.source);
    if (rc == 0)
        rc = train(&run);
    if (rc == 0)
        rc = gw_task_return(task, make_result(&run));
    gw_plateau_free(run.plateau);
    gw_schedule_free(run.schedule);
    gw_sampler_free(run.sampler);
    gw_optimizer_free(run.optimizer);
    gw_scaler_free(run.scaler);
    gw_ddp_close(run.ddp);
    digits_precision_deinit(&run.precision);
    nn_net_free(run.net);
    if (run.device)
        nn_device_release(run.device, run.parameters);
    nn_device_close(run.device);
    digits_images_deinit(&run.images);
    free(run.parameters_copy);
    free(run.pixels);
    free(run.labels);
    return rc;
}
GW_TASK(digits_train);
