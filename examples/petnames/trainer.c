/* The training task of the pet-names examples.
 *
 * All ranks read the same names, split in the same way; each asks gw_task_step after every step, so
 * that pausing and stopping reach all of them at the same one. A later attempt of the same task
 * goes on from the checkpoint of the one before it, with as many ranks as it has: the batch stays
 * the same. */
#include "examples/petnames/trainer.h"

#include "examples/petnames/names.h"
#include "examples/petnames/train.h"

#include <limits.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int pet_trainer_recipe(const char *size, uint32_t ranks, struct pet_trainer_options *options,
                       struct gw_error *error)
{
    struct pet_train_options train = {0};
    int rc = pet_train_defaults(&train, size, (int)ranks, error);
    if (rc < 0)
        return rc;
    options->size = train.size;
    options->batch = (int64_t)train.batch;
    options->epochs = train.epochs;
    options->lr = train.lr;
    return 0;
}

/* -- The argument --------------------------------------------------------------------------------
 */

struct entry {
    const char *key;
    struct gw_value *value;
};

/* Makes a dict of entries, whose values it takes; NULL when out of memory. */
static struct gw_value *make_dict(const struct entry *entries, size_t count)
{
    struct gw_value *dict = gw_dict();
    int rc = dict ? 0 : GW_ENOMEM;
    for (size_t i = 0; i < count; i++) {
        int set = gw_dict_set(dict, entries[i].key, entries[i].value);
        rc = rc < 0 ? rc : set;
    }
    if (rc < 0) {
        gw_value_unref(dict);
        return NULL;
    }
    return dict;
}

struct gw_value *pet_trainer_argument(const struct pet_trainer_options *options)
{
    const struct entry entries[] = {
        {"size", gw_str(options->size)},
        {"data", gw_str(options->data ? options->data : "")},
        {"column", gw_str(options->column ? options->column : "")},
        {"checkpoint", gw_str(options->checkpoint ? options->checkpoint : "")},
        {"precision", gw_str(options->precision ? options->precision : "f32")},
        {"http_allowed", gw_bool(options->http_allowed)},
        {"resume", gw_bool(options->resume)},
        {"gpu", gw_bool(options->gpu)},
        {"batch", gw_i64(options->batch)},
        {"epochs", gw_i64(options->epochs)},
        {"steps", gw_i64(options->steps)},
        {"lr", gw_f64(options->lr)},
        {"seed", gw_i64(options->seed)},
        {"by_epoch", gw_bool(options->by_epoch)},
    };
    return make_dict(entries, sizeof entries / sizeof *entries);
}

static int read_options(const struct gw_value *dict, struct pet_trainer_options *options,
                        struct gw_error *error)
{
    int rc = 0;
    const struct {
        const char *key;
        const char **text;
    } texts[] = {{"size", &options->size},
                 {"data", &options->data},
                 {"column", &options->column},
                 {"precision", &options->precision},
                 {"checkpoint", &options->checkpoint}};
    const struct {
        const char *key;
        int64_t *number;
    } numbers[] = {{"batch", &options->batch},
                   {"epochs", &options->epochs},
                   {"steps", &options->steps},
                   {"seed", &options->seed}};
    for (size_t i = 0; rc >= 0 && i < sizeof texts / sizeof *texts; i++)
        rc = gw_value_get_str(gw_value_find(dict, texts[i].key), texts[i].text, error);
    for (size_t i = 0; rc >= 0 && i < sizeof numbers / sizeof *numbers; i++)
        rc = gw_value_get_i64(gw_value_find(dict, numbers[i].key), numbers[i].number, error);
    if (rc >= 0)
        rc = gw_value_get_bool(gw_value_find(dict, "resume"), &options->resume, error);
    if (rc >= 0)
        rc = gw_value_get_bool(gw_value_find(dict, "gpu"), &options->gpu, error);
    if (rc >= 0)
        rc = gw_value_get_bool(gw_value_find(dict, "by_epoch"), &options->by_epoch, error);
    if (rc >= 0)
        rc = gw_value_get_bool(gw_value_find(dict, "http_allowed"), &options->http_allowed, error);
    if (rc >= 0)
        rc = gw_value_get_f64(gw_value_find(dict, "lr"), &options->lr, error);
    return rc;
}

/* -- Training ------------------------------------------------------------------------------------
 */

/* One rank's run. */
struct trainer {
    struct gw_task *task;
    struct pet_trainer_options options;
    char copy[PATH_MAX]; /* of each checkpoint; empty: none is written */
    struct pet_names *names;
    uint64_t *samples, *held_out;
    size_t sample_count, held_out_count;
    struct pet_train *train;
};

static int trainer_on_step(void *user, const struct pet_train_progress *progress)
{
    struct trainer *trainer = user;
    if (trainer->options.by_epoch) /* only asks whether to go on: this epoch is not over yet */
        return gw_task_step(trainer->task, (int64_t)ceil(progress->epoch) - 1, NULL, 0);
    return gw_task_step(trainer->task, progress->step, "loss", progress->loss);
}

/* The checkpoint of the task is for its next attempt, on other hosts or with other ranks, and the
 * copy for people. */
static int save(struct trainer *trainer)
{
    struct gw_error *error = gw_task_error(trainer->task);
    struct gw_checkpoint *checkpoint = gw_checkpoint_new();
    if (!checkpoint)
        return gw_error_set(error, GW_ENOMEM, "no memory for a checkpoint");
    int rc = pet_train_store(trainer->train, checkpoint, error);
    if (rc >= 0)
        rc = gw_task_checkpoint_save(trainer->task, checkpoint,
                                     pet_train_progress(trainer->train)->step);
    if (rc >= 0 && *trainer->copy)
        rc = gw_checkpoint_comm_save(checkpoint, gw_task_comm(trainer->task), trainer->copy, error);
    gw_checkpoint_free(checkpoint);
    return rc;
}

static int trainer_on_epoch(void *user, const struct pet_train_progress *progress)
{
    struct trainer *trainer = user;
    if (gw_task_rank(trainer->task) == 0) {
        (void)printf("epoch=%.0f of %lld  loss=%.4f  held_out=%.4f nats a character  "
                     "%7.0f samples/s  %3.0f s left\n",
                     ceil(progress->epoch), (long long)trainer->options.epochs, progress->loss,
                     progress->held_out_loss, progress->samples_per_s, progress->seconds_left);
        (void)fflush(stdout);
    }
    const int rc = save(trainer);
    if (rc < 0 || !trainer->options.by_epoch)
        return rc;
    return gw_task_step(trainer->task, (int64_t)ceil(progress->epoch), "held_out",
                        progress->held_out_loss);
}

/* Where the copy lies; without a wish of the user's, in the task's own folder. */
static void name_copy(struct trainer *trainer)
{
    const char *dir = gw_task_checkpoint_dir(trainer->task);
    if (*trainer->options.checkpoint)
        (void)snprintf(trainer->copy, sizeof trainer->copy, "%s", trainer->options.checkpoint);
    else if (dir)
        (void)snprintf(trainer->copy, sizeof trainer->copy, "%s/task-%u", dir,
                       gw_task_index(trainer->task));
}

/* Goes on from the checkpoint of an attempt before this one, or from the copy of another job if the
 * user wants so. */
static int restore(struct trainer *trainer)
{
    struct gw_error *error = gw_task_error(trainer->task);
    struct gw_comm *comm = gw_task_comm(trainer->task);
    struct gw_checkpoint *checkpoint = NULL;
    const char *from = "the checkpoint of the attempt before";
    int64_t step;
    int rc = gw_task_checkpoint_load(trainer->task, &checkpoint, &step);
    if (rc >= 0 && !checkpoint && trainer->options.resume && *trainer->copy) {
        from = trainer->copy;
        rc = gw_checkpoint_comm_load(comm, from, &checkpoint, error);
        rc = rc == GW_ENOENT ? 0 : rc;
    }
    if (rc >= 0 && checkpoint)
        rc = pet_train_restore(trainer->train, checkpoint, error);
    if (rc >= 0 && checkpoint && gw_task_rank(trainer->task) == 0)
        (void)printf("going on from %s at step %lld, with %d ranks\n", from,
                     (long long)pet_train_progress(trainer->train)->step, gw_comm_size(comm));
    gw_checkpoint_free(checkpoint);
    return rc;
}

static int load_names(struct trainer *trainer)
{
    struct gw_error *error = gw_task_error(trainer->task);
    const struct pet_names_options names = {
        .data = *trainer->options.data ? trainer->options.data : NULL,
        .column = *trainer->options.column ? trainer->options.column : NULL,
        .http_allowed = trainer->options.http_allowed,
        .seed = 1,
    };
    int rc = pet_names_load(&names, &trainer->names, error);
    if (rc >= 0)
        rc = pet_names_samples(trainer->names, PET_TRAIN_ROOT, &trainer->samples,
                               &trainer->sample_count, error);
    if (rc >= 0)
        rc = pet_names_samples(trainer->names, PET_HELD_OUT, &trainer->held_out,
                               &trainer->held_out_count, error);
    if (rc >= 0 && gw_task_rank(trainer->task) == 0)
        (void)printf("%zu names (%zu distinct, %zu of them held out), %zu samples to train on\n",
                     trainer->names->accepted_count, trainer->names->name_count,
                     trainer->names->held_out_count, trainer->sample_count);
    return rc;
}

static int run(struct trainer *trainer)
{
    struct gw_error *error = gw_task_error(trainer->task);
    int rc = load_names(trainer);
    if (rc < 0)
        return rc;
    const struct pet_trainer_options *options = &trainer->options;
    const struct pet_train_options train = {
        .size = options->size,
        .batch = (size_t)options->batch,
        .lr = options->lr,
        .epochs = options->epochs,
        .steps = options->steps,
        .seed = (uint64_t)options->seed,
        .gpu = options->gpu,
        .precision = options->precision,
        .samples = trainer->samples,
        .sample_count = trainer->sample_count,
        .held_out = trainer->held_out,
        .held_out_count = trainer->held_out_count,
        .on_step = trainer_on_step,
        .on_epoch = trainer_on_epoch,
        .user = trainer,
    };
    rc = pet_train_new(&train, gw_task_comm(trainer->task), &trainer->train, error);
    if (rc >= 0)
        rc = restore(trainer);
    if (rc < 0)
        return rc;
    (void)fflush(stdout);
    rc = pet_train_run(trainer->train, error);
    return rc == GW_PAUSE || rc == GW_STOP ? save(trainer) : rc;
}

/* -- The result ----------------------------------------------------------------------------------
 */

static struct gw_value *make_result(const struct trainer *trainer)
{
    const struct pet_train_progress *progress = pet_train_progress(trainer->train);
    const struct entry entries[] = {
        {"held_out_loss", gw_f64(progress->held_out_loss)},
        {"samples_per_s", gw_f64(progress->samples_per_s)},
        {"seconds", gw_f64(progress->seconds)},
    };
    return make_dict(entries, sizeof entries / sizeof *entries);
}

int pet_trainer_read_result(const struct gw_value *value, struct pet_trainer_result *out,
                            struct gw_error *error)
{
    struct pet_trainer_result read;
    int rc = gw_value_get_f64(gw_value_find(value, "held_out_loss"), &read.held_out_loss, error);
    if (rc >= 0)
        rc = gw_value_get_f64(gw_value_find(value, "samples_per_s"), &read.samples_per_s, error);
    if (rc >= 0)
        rc = gw_value_get_f64(gw_value_find(value, "seconds"), &read.train_seconds, error);
    if (rc < 0)
        return rc;
    *out = read;
    return 0;
}

static int pet_trainer(struct gw_task *task)
{
    struct trainer trainer = {.task = task};
    struct gw_value *dict;
    int rc = gw_task_arg_value(task, 0, &dict);
    if (rc >= 0)
        rc = read_options(dict, &trainer.options, gw_task_error(task));
    if (rc < 0)
        return rc;
    name_copy(&trainer);
    rc = run(&trainer);
    if (rc >= 0)
        rc = gw_task_return(task, make_result(&trainer));
    pet_train_free(trainer.train);
    free(trainer.samples);
    free(trainer.held_out);
    pet_names_free(trainer.names);
    return rc;
}
GW_TASK(pet_trainer);
