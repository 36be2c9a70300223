/* The training loop. Always: whatever decides how many collectives a rank calls (steps, epochs,
 * when to evaluate) comes from options, which are the same on all ranks, never from a clock. */
#include "examples/petnames/train.h"

#include "examples/petnames/device_model.h"

#include <gangway/ddp.h>
#include <gangway/optimizer.h>
#include <gangway/sampler.h>
#include <gangway/scaler.h>
#include <limits.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { WARM_UP_STEPS = 30, HIDDEN_MAX = 4096, BATCH_MAX = 1 << 20 };

struct pet_train {
    struct pet_train_options options;
    struct gw_comm *comm;
    struct pet_model model;
    struct pet_train_progress progress;
    pet_real *parameters;             /* on a GPU: as they were when they were last read */
    pet_real *used_parameters;        /* the same array, or that on the device */
    pet_real *gradients[PET_TENSORS]; /* in ddp's buckets */
    struct nn_device *device;         /* NULL: the CPU */
    enum nn_precision precision;      /* of its products */
    struct pet_device_model *on_device;
    struct gw_ddp *ddp;
    struct gw_optimizer *optimizer;
    struct gw_scaler *scaler;            /* NULL: the loss is not scaled */
    struct gw_scaler_state scaler_state; /* in the checkpoint that was made last, or read */
    struct gw_sampler *sampler;
    struct pet_batch *batch;
    struct pet_workspace *workspace;
    uint64_t *chosen; /* [room] samples of this step */
    size_t room;      /* most samples of a step on a rank */
    int64_t epoch;    /* of the sampler's order */
    int64_t used;     /* samples of this epoch that all ranks together have used */
    int64_t step_began;
    double began;    /* of this run, on the monotonic clock */
    double stepping; /* seconds spent in steps */
    double loss_sum; /* of the steps since the last epoch's end */
    int64_t loss_steps;
    struct gw_error *error; /* of the pass that is going on, for on_gradient */
    int rc;
};

static double now_s(void)
{
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

/* --- making one --- */

/* Found by trying on the real names, on cores of 2.4 GHz: the demo takes 40 s of core time to 2.36
 * nats a held-out character, the article's size 80 s to 2.35. */
static const struct {
    const char *size;
    size_t batch; /* of all ranks together */
    double lr;
    int64_t epochs;
} recipes[] = {
    {"demo", 512, 0.01, 6},
    {"article", 1024, 0.006, 5},
};

int pet_train_defaults(struct pet_train_options *options, const char *size, int ranks,
                       struct gw_error *error)
{
    struct pet_model model;
    int rc = pet_model_init(&model, size, error);
    for (size_t i = 0; rc == 0 && i < sizeof recipes / sizeof recipes[0]; i++) {
        if (strcmp(recipes[i].size, size) != 0)
            continue;
        size_t each = recipes[i].batch / (size_t)ranks;
        options->size = recipes[i].size;
        options->batch = (each > 0 ? each : 1) * (size_t)ranks;
        options->lr = recipes[i].lr;
        options->epochs = recipes[i].epochs;
    }
    return rc;
}

static int check_options(const struct pet_train_options *options, int ranks, struct gw_error *error)
{
    if (options->batch < (size_t)ranks || options->batch > (size_t)BATCH_MAX * (size_t)ranks)
        return gw_error_set(error, GW_EINVAL,
                            "batch %zu: take 1 to %d samples for each of the %d ranks",
                            options->batch, BATCH_MAX, ranks);
    if (!(options->lr >= 0) || !isfinite(options->lr))
        return gw_error_set(error, GW_EINVAL, "learning rate %g: take a number from 0 on",
                            options->lr);
    if (options->steps < 0 || (options->steps == 0 && options->epochs < 1))
        return gw_error_set(error, GW_EINVAL, "%lld epochs: take at least 1",
                            (long long)options->epochs);
    if (!options->size && (options->hidden < 1 || options->hidden > HIDDEN_MAX))
        return gw_error_set(error, GW_EINVAL, "%d hidden units: take 1 to %d", options->hidden,
                            HIDDEN_MAX);
    if (options->sample_count < options->batch)
        return gw_error_set(error, GW_EINVAL,
                            "%zu samples do not fill one batch of %zu: take a smaller batch",
                            options->sample_count, options->batch);
    return 0;
}

static int open_ddp(struct pet_train *train, struct gw_error *error)
{
    struct gw_ddp_param params[PET_TENSORS];
    memset(params, 0, sizeof params);
    for (int t = 0; t < PET_TENSORS; t++) {
        const struct pet_tensor *tensor = &train->model.tensors[t];
        params[t].name = tensor->name;
        params[t].data = train->used_parameters + tensor->offset;
        params[t].dtype = GW_DTYPE_F32;
        params[t].dims = 2;
        params[t].shape[0] = tensor->rows;
        params[t].shape[1] = tensor->columns;
    }
    const struct gw_ddp_options options =
        GW_INIT(gw_ddp_options, .comm = train->comm, .params = params, .params_count = PET_TENSORS,
                .stream = train->device ? train->device->stream : NULL);
    int rc = gw_ddp_open(&options, &train->ddp, error);
    for (int t = 0; rc == 0 && t < PET_TENSORS; t++)
        train->gradients[t] = gw_ddp_gradient(train->ddp, (size_t)t);
    return rc;
}

static int make_optimizer(struct pet_train *train, struct gw_error *error)
{
    struct gw_optimizer_tensor tensors[PET_TENSORS];
    memset(tensors, 0, sizeof tensors);
    for (int t = 0; t < PET_TENSORS; t++) {
        tensors[t].data = train->used_parameters + train->model.tensors[t].offset;
        tensors[t].gradient = train->gradients[t];
        tensors[t].count = train->model.tensors[t].count;
    }
    struct gw_optimizer_options adam = gw_optimizer_adam(train->options.lr);
    adam.stream = train->device ? train->device->stream : NULL;
    return gw_optimizer_new(&adam, tensors, PET_TENSORS, &train->optimizer, error);
}

/* Goes to a place of an epoch, with the sampler and the counts that follow from it. */
static int go_to(struct pet_train *train, int64_t epoch, int64_t used, struct gw_error *error)
{
    const struct pet_train_options *own = &train->options;
    const int64_t samples = (int64_t)own->sample_count, batch = (int64_t)own->batch;
    struct pet_train_progress *progress = &train->progress;
    const struct gw_sampler_options options =
        GW_INIT(gw_sampler_options, .samples = samples, .rank = gw_comm_rank(train->comm),
                .ranks = gw_comm_size(train->comm), .seed = own->seed);
    gw_sampler_free(train->sampler);
    train->sampler = NULL;
    int rc = gw_sampler_new(&options, &train->sampler, error);
    if (rc < 0)
        return rc;
    train->epoch = samples - used < batch ? epoch + 1 : epoch;
    train->used = samples - used < batch ? 0 : used;
    gw_sampler_set_epoch(train->sampler, (uint64_t)train->epoch);
    progress->steps_per_epoch = samples / batch;
    progress->steps = own->steps;
    if (own->steps == 0)
        progress->steps = progress->step + (samples - train->used) / batch +
                          (own->epochs - train->epoch - 1) * progress->steps_per_epoch;
    return 0;
}

/* What can fail on one rank alone, before the first collective call. */
static int make_local(struct pet_train *train, struct gw_error *error)
{
    const struct pet_train_options *options = &train->options;
    int rc = 0;
    if (options->size)
        rc = pet_model_init(&train->model, options->size, error);
    else
        pet_model_init_hidden(&train->model, "custom", options->hidden);
    if (rc == 0)
        rc = pet_batch_new(train->room, &train->batch, error);
    if (rc == 0 && !options->gpu)
        rc = pet_workspace_new(&train->model, train->room, &train->workspace, error);
    if (rc == 0)
        rc = go_to(train, 0, 0, error);
    if (rc < 0)
        return rc;
    train->chosen = malloc(train->room * sizeof *train->chosen);
    train->parameters = malloc(train->model.parameter_count * sizeof *train->parameters);
    if (!train->chosen || !train->parameters)
        return gw_error_set(error, GW_ENOMEM, "no memory for a model of %zu parameters",
                            train->model.parameter_count);
    pet_model_randomise(&train->model, options->seed, train->parameters);
    train->used_parameters = train->parameters;
    return 0;
}

/* Copies the parameters to the device, or from it. */
static int parameters_copy(const struct pet_train *train, bool to_device, struct gw_error *error)
{
    const size_t bytes = train->model.parameter_count * sizeof *train->parameters;
    if (!train->device)
        return 0;
    nn_device_copy(train->device, to_device ? train->used_parameters : train->parameters,
                   to_device ? train->parameters : train->used_parameters, bytes);
    return nn_device_wait(train->device, error);
}

static int open_device(struct pet_train *train, struct gw_error *error)
{
    int rc = nn_device_open(train->comm, &train->device, error);
    if (rc == 0 && train->precision == NN_F16)
        rc =
            gw_scaler_new(GW_SCALER_OPTIONS(.scale = 1024, .interval = 200), &train->scaler, error);
    if (rc == 0) {
        train->device->precision = train->precision;
        rc = pet_device_model_new(&train->model, train->room, train->device, &train->on_device,
                                  error);
    }
    if (rc < 0)
        return rc;
    train->used_parameters = nn_device_alloc(train->device, train->model.parameter_count *
                                                                sizeof *train->used_parameters);
    return parameters_copy(train, true, error);
}

int pet_train_new(const struct pet_train_options *options, struct gw_comm *comm,
                  struct pet_train **train, struct gw_error *error)
{
    int rc = check_options(options, gw_comm_size(comm), error);
    if (rc < 0)
        return rc;
    struct pet_train *made = calloc(1, sizeof *made);
    if (!made)
        return gw_error_set(error, GW_ENOMEM, "no memory to train");
    made->options = *options;
    made->comm = comm;
    made->room = (options->batch - 1) / (size_t)gw_comm_size(comm) + 1;
    made->progress.held_out_loss = NAN;
    made->progress.loss = NAN;
    made->began = now_s();
    rc =
        nn_precision_read(options->precision ? options->precision : "f32", &made->precision, error);
    if (rc == 0 && made->precision != NN_F32 && !options->gpu)
        rc = gw_error_set(error, GW_EINVAL, "precision %s is for GPUs: take f32, or train on GPUs",
                          options->precision);
    if (rc == 0)
        rc = make_local(made, error);
    if (rc == 0 && options->gpu)
        rc = open_device(made, error);
    if (rc == 0)
        rc = open_ddp(made, error);
    if (rc == 0)
        rc = make_optimizer(made, error);
    if (rc < 0) {
        pet_train_free(made);
        return rc;
    }
    *train = made;
    return 0;
}

void pet_train_free(struct pet_train *train)
{
    if (!train)
        return;
    gw_optimizer_free(train->optimizer);
    gw_scaler_free(train->scaler);
    gw_ddp_close(train->ddp);
    gw_sampler_free(train->sampler);
    pet_device_model_free(train->on_device);
    if (train->device)
        nn_device_release(train->device, train->used_parameters);
    nn_device_close(train->device);
    pet_workspace_free(train->workspace);
    pet_batch_free(train->batch);
    free(train->chosen);
    free(train->parameters);
    free(train);
}

/* --- steps --- */

/* The learning rate of step number `step`, from 0. */
static double schedule(const struct pet_train *train, int64_t step)
{
    const int64_t steps = train->progress.steps;
    int64_t warm_up = steps / 10 < WARM_UP_STEPS ? steps / 10 : WARM_UP_STEPS;
    if (step < warm_up)
        return train->options.lr * (double)(step + 1) / (double)warm_up;
    double done = (double)(step - warm_up) / (double)(steps - warm_up);
    return train->options.lr * 0.5 * (1 + cos(M_PI * done));
}

/* The next samples of the epoch's order, one rank after the other: the batch is the same samples
 * with any number of ranks. */
static void choose_samples(struct pet_train *train)
{
    const size_t ranks = (size_t)gw_comm_size(train->comm), batch = train->options.batch;
    const size_t count = batch / ranks + ((size_t)gw_comm_rank(train->comm) < batch % ranks);
    gw_sampler_skip(train->sampler, train->used);
    for (size_t i = 0; i < count; i++)
        train->chosen[i] = train->options.samples[gw_sampler_index(train->sampler, (int64_t)i)];
    pet_batch_build(train->batch, train->chosen, count);
    train->batch->share = (double)ranks / (double)batch; /* the mean over ranks follows */
    if (train->scaler)
        train->batch->share *= gw_scaler_scale(train->scaler);
}

static void train_on_gradient(void *user, int tensor)
{
    struct pet_train *train = user;
    if (train->rc == 0)
        train->rc = gw_ddp_ready(train->ddp, (size_t)tensor, train->error);
}

static int backward(struct pet_train *train, bool reduce, struct gw_error *error)
{
    int rc = gw_ddp_begin(train->ddp, reduce, error);
    if (rc < 0)
        return rc;
    train->rc = 0;
    train->error = error;
    if (train->device)
        pet_device_model_backward(train->on_device, train->used_parameters, train->batch,
                                  train->gradients, train_on_gradient, train);
    else
        pet_model_backward(&train->model, train->parameters, train->batch, train->workspace,
                           train->gradients, train_on_gradient, train);
    return train->rc < 0 ? train->rc : gw_ddp_finish(train->ddp, error);
}

/* On a device the loss comes later, from forward_end. */
static double forward(struct pet_train *train)
{
    if (!train->device)
        return pet_model_forward(&train->model, train->parameters, train->batch, train->workspace);
    pet_device_model_forward(train->on_device, train->used_parameters, train->batch);
    return 0;
}

static int forward_end(struct pet_train *train, double *loss, struct gw_error *error)
{
    return train->device ? pet_device_model_loss(train->on_device, loss, error) : 0;
}

static int mean_over_ranks(struct pet_train *train, double *value, struct gw_error *error)
{
    return gw_comm_all_reduce(
        train->comm,
        GW_COMM_ARGS(.recv = value, .count = 1, .dtype = GW_DTYPE_F64, .reduce = GW_REDUCE_AVG),
        error);
}

static void update_progress(struct pet_train *train, double loss)
{
    struct pet_train_progress *progress = &train->progress;
    const size_t samples = train->options.sample_count, batch = train->options.batch;
    progress->step++;
    progress->loss = loss;
    train->used += (int64_t)batch;
    if (samples - (size_t)train->used < batch) {
        train->used = 0;
        gw_sampler_set_epoch(train->sampler, (uint64_t)++train->epoch);
    }
    progress->epoch = (double)train->epoch + (double)train->used / (double)samples;
    train->loss_sum += loss;
    train->loss_steps++;
    int64_t done = progress->step - train->step_began;
    progress->samples_per_s = (double)done * (double)batch / train->stepping;
    progress->seconds = now_s() - train->began;
    progress->seconds_left =
        progress->seconds / (double)done * (double)(progress->steps - progress->step);
}

int pet_train_step(struct pet_train *train, struct gw_error *error)
{
    struct pet_train_progress *progress = &train->progress;
    if (progress->step >= progress->steps)
        return gw_error_set(error, GW_EINVAL, "training ended at step %lld",
                            (long long)progress->steps);
    double began = now_s();
    choose_samples(train);
    double loss = forward(train);
    int rc = backward(train, progress->step + 1 != train->options.fault_step, error);
    if (rc == 0)
        rc = forward_end(train, &loss, error);
    if (train->scaler)
        loss /= gw_scaler_scale(train->scaler);
    if (rc == 0)
        rc = mean_over_ranks(train, &loss, error);
    if (rc < 0)
        return rc;
    progress->lr = schedule(train, progress->step);
    gw_optimizer_set_lr(train->optimizer, progress->lr);
    rc = train->scaler ? gw_scaler_step(train->scaler, train->optimizer, NULL, NULL, error)
                       : gw_optimizer_step(train->optimizer, error);
    if (rc < 0)
        return rc;
    train->stepping += now_s() - began;
    update_progress(train, loss);
    return 0;
}

int pet_train_evaluate(struct pet_train *train, double *loss, struct gw_error *error)
{
    const struct pet_train_options *options = &train->options;
    const size_t ranks = (size_t)gw_comm_size(train->comm);
    const size_t rank = (size_t)gw_comm_rank(train->comm);
    const size_t end = options->held_out_count * (rank + 1) / ranks;
    double sum = 0;
    int rc = 0;
    if (options->held_out_count == 0)
        return gw_error_set(error, GW_EINVAL, "there are no held-out samples");
    for (size_t first = options->held_out_count * rank / ranks; first < end;) {
        size_t count = end - first < train->room ? end - first : train->room;
        pet_batch_build(train->batch, options->held_out + first, count);
        double part = forward(train);
        rc = forward_end(train, &part, error);
        if (rc < 0)
            return rc;
        sum += (double)count * part;
        first += count;
    }
    rc = gw_comm_all_reduce(
        train->comm,
        GW_COMM_ARGS(.recv = &sum, .count = 1, .dtype = GW_DTYPE_F64, .reduce = GW_REDUCE_SUM),
        error);
    if (rc == 0)
        *loss = sum / (double)options->held_out_count;
    return rc;
}

static int end_epoch(struct pet_train *train, struct gw_error *error)
{
    struct pet_train_progress *progress = &train->progress;
    int rc = 0;
    if (train->options.held_out_count > 0)
        rc = pet_train_evaluate(train, &progress->held_out_loss, error);
    if (rc < 0 || !train->options.on_epoch)
        return rc;
    struct pet_train_progress told = *progress;
    told.loss = train->loss_sum / (double)train->loss_steps;
    told.seconds = now_s() - train->began;
    train->loss_sum = 0;
    train->loss_steps = 0;
    return train->options.on_epoch(train->options.user, &told);
}

int pet_train_run(struct pet_train *train, struct gw_error *error)
{
    struct pet_train_progress *progress = &train->progress;
    int rc = 0;
    while (rc == 0 && progress->step < progress->steps) {
        rc = pet_train_step(train, error);
        if (rc == 0 && train->options.on_step)
            rc = train->options.on_step(train->options.user, progress);
        if (rc == 0 && (train->used == 0 || progress->step == progress->steps))
            rc = end_epoch(train, error);
    }
    /* A run that was restored after its last step. */
    if (rc == 0 && isnan(progress->held_out_loss) && train->options.held_out_count > 0)
        rc = pet_train_evaluate(train, &progress->held_out_loss, error);
    return rc;
}

const struct pet_train_progress *pet_train_progress(const struct pet_train *train)
{
    return &train->progress;
}

const struct pet_model *pet_train_model(const struct pet_train *train)
{
    return &train->model;
}

const pet_real *pet_train_parameters(const struct pet_train *train)
{
    (void)parameters_copy(train, false, NULL);
    return train->parameters;
}

/* --- checkpoints --- */

int pet_train_store(struct pet_train *train, struct gw_checkpoint *checkpoint,
                    struct gw_error *error)
{
    size_t state_bytes;
    const void *state = gw_optimizer_state(train->optimizer, &state_bytes);
    int rc = state ? parameters_copy(train, false, error)
                   : gw_error_set(error, GW_EIO, "cannot read the optimizer's state from the GPU");
    if (rc < 0)
        return rc;
    rc = gw_checkpoint_set_bytes(checkpoint, "petnames.size", train->model.name,
                                 strlen(train->model.name));
    if (rc == 0)
        rc = gw_checkpoint_set_i64(checkpoint, "petnames.hidden", train->model.hidden);
    const struct {
        const char *name;
        int64_t value;
    } numbers[] = {{"petnames.step", train->progress.step},
                   {"petnames.epoch", train->epoch},
                   {"petnames.used", train->used},
                   {"petnames.samples", (int64_t)train->options.sample_count},
                   {"petnames.seed", (int64_t)train->options.seed}};
    for (size_t i = 0; rc == 0 && i < sizeof numbers / sizeof *numbers; i++)
        rc = gw_checkpoint_set_i64(checkpoint, numbers[i].name, numbers[i].value);
    if (rc == 0)
        rc = gw_checkpoint_set_bytes(checkpoint, "petnames.parameters", train->parameters,
                                     train->model.parameter_count * sizeof *train->parameters);
    if (rc == 0)
        rc = gw_checkpoint_set_bytes(checkpoint, "petnames.optimizer", state, state_bytes);
    if (rc == 0 && train->scaler) {
        train->scaler_state = gw_scaler_state(train->scaler);
        rc = gw_checkpoint_set_bytes(checkpoint, "petnames.scaler", &train->scaler_state,
                                     sizeof train->scaler_state);
    }
    if (rc < 0)
        return gw_error_set(error, rc, "a checkpoint of step %lld: %s",
                            (long long)train->progress.step, gw_error_text(rc));
    return 0;
}

/* Reads which model a checkpoint is of. */
static int read_shape(const struct gw_checkpoint *checkpoint, struct pet_model *model,
                      struct gw_error *error)
{
    const void *size;
    size_t length;
    int64_t hidden;
    char name[sizeof model->name];
    if (gw_checkpoint_bytes(checkpoint, "petnames.size", &size, &length) < 0 ||
        gw_checkpoint_i64(checkpoint, "petnames.hidden", &hidden) < 0 || hidden < 1 ||
        hidden > HIDDEN_MAX || length >= sizeof name)
        return gw_error_set(error, GW_ECORRUPT, "the checkpoint holds no pet-names model");
    memcpy(name, size, length);
    name[length] = '\0';
    pet_model_init_hidden(model, name, (int)hidden);
    return 0;
}

int pet_train_restore(struct pet_train *train, const struct gw_checkpoint *checkpoint,
                      struct gw_error *error)
{
    struct pet_model model;
    const void *state;
    size_t state_bytes;
    int64_t step, epoch, used, samples, seed;
    int rc = read_shape(checkpoint, &model, error);
    if (rc < 0)
        return rc;
    if (model.hidden != train->model.hidden)
        return gw_error_set(error, GW_EMISMATCH,
                            "the checkpoint is of a model \"%s\" with %d hidden units, this run's "
                            "is \"%s\" with %d: give the same --size, or another checkpoint",
                            model.name, model.hidden, train->model.name, train->model.hidden);
    if (gw_checkpoint_i64(checkpoint, "petnames.step", &step) < 0 || step < 0 ||
        gw_checkpoint_i64(checkpoint, "petnames.epoch", &epoch) < 0 || epoch < 0 ||
        gw_checkpoint_i64(checkpoint, "petnames.used", &used) < 0 || used < 0 ||
        gw_checkpoint_i64(checkpoint, "petnames.samples", &samples) < 0 || samples < used ||
        gw_checkpoint_i64(checkpoint, "petnames.seed", &seed) < 0 ||
        gw_checkpoint_bytes(checkpoint, "petnames.optimizer", &state, &state_bytes) < 0)
        return gw_error_set(error, GW_ECORRUPT, "the checkpoint holds no pet-names run");
    rc = gw_optimizer_set_state(train->optimizer, state, state_bytes, error);
    if (rc == 0)
        rc = gw_checkpoint_copy(checkpoint, "petnames.parameters", train->parameters,
                                model.parameter_count * sizeof *train->parameters, error);
    if (rc == 0)
        rc = parameters_copy(train, true, error);
    if (rc < 0)
        return rc;
    /* A run of another precision saved none: the scale begins anew. */
    if (train->scaler && gw_checkpoint_copy(checkpoint, "petnames.scaler", &train->scaler_state,
                                            sizeof train->scaler_state, NULL) == 0)
        gw_scaler_set_state(train->scaler, &train->scaler_state);
    train->options.seed = (uint64_t)seed;
    train->progress.step = step;
    rc = go_to(train, epoch, samples == (int64_t)train->options.sample_count ? used : 0, error);
    if (rc < 0)
        return rc;
    train->progress.epoch =
        (double)train->epoch + (double)train->used / (double)train->options.sample_count;
    train->step_began = step;
    train->began = now_s();
    train->stepping = 0;
    return 0;
}

int pet_train_read_model(const struct gw_checkpoint *checkpoint, struct pet_model *model,
                         pet_real **parameters, struct gw_error *error)
{
    struct pet_model found;
    int rc = read_shape(checkpoint, &found, error);
    if (rc < 0)
        return rc;
    pet_real *made = malloc(found.parameter_count * sizeof *made);
    if (!made)
        return gw_error_set(error, GW_ENOMEM, "no memory for a model of %zu parameters",
                            found.parameter_count);
    rc = gw_checkpoint_copy(checkpoint, "petnames.parameters", made,
                            found.parameter_count * sizeof *made, error);
    if (rc < 0) {
        free(made);
        return rc;
    }
    *model = found;
    *parameters = made;
    return 0;
}
