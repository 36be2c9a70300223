/* Training the pet-names model, data-parallel over the ranks of a communicator.
 *
 * Any number of ranks computes the same, up to rounding: they share the batch, in the same order of
 * samples. If the batch cannot be divided evenly, some ranks have one sample more, and each sample
 * counts the same. Ranks start equal (same seed, and rank 0's parameters are broadcast) and stay
 * equal bit for bit. So a run can go on from a checkpoint with another number of ranks.
 *
 * Functions here are collective where they say so: all ranks call them at the same step. */
#ifndef GW_EXAMPLES_PETNAMES_TRAIN_H
#define GW_EXAMPLES_PETNAMES_TRAIN_H

#include "examples/petnames/model.h"

#include <gangway/checkpoint.h>
#include <gangway/comm.h>
#include <gangway/error.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Where training stands; the same on all ranks but for the clocks. */
struct pet_train_progress {
    int64_t step;            /* steps done */
    int64_t steps;           /* of the whole run */
    int64_t steps_per_epoch; /* the last samples of an epoch that fill no batch are left out */
    double epoch;            /* epochs done, with their fraction */
    double loss;             /* of the last step; in on_epoch the mean of the epoch's steps */
    double held_out_loss;    /* nats a character; NaN before the first epoch's end */
    double lr;               /* of the last step */
    double samples_per_s;    /* of all ranks together, since training began, evaluation apart */
    double seconds;          /* since training began (or went on from a checkpoint) */
    double seconds_left;     /* as far as one can tell */
};

/* Told after each step, and after each epoch (and the last step) with the held-out loss. Returns 0
 * to go on; anything else ends pet_train_run with that code. All ranks must return the same. */
typedef int pet_train_on_progress(void *user, const struct pet_train_progress *progress);

struct pet_train_options {
    const char *size;        /* "demo" or "article"; NULL: take hidden */
    int hidden;              /* units a layer, 1 to 4096 */
    size_t batch;            /* samples of a step, of all ranks together; at least one for each */
    double lr;               /* Adam's, at its highest: it rises for 30 steps, then falls to 0 on
                                half a cosine over the run */
    int64_t epochs;          /* at least 1, or steps */
    int64_t steps;           /* 0: as many as epochs have; else ends after these */
    uint64_t seed;           /* of parameters and order */
    bool gpu;                /* train on the GPU that this process sees; comm reaches GPUs */
    const char *precision;   /* of products: NULL or "f32"; with gpu also "bf16" and "f16" */
    const uint64_t *samples; /* [sample_count] to train on, the same on all ranks; borrowed */
    size_t sample_count;
    const uint64_t *held_out; /* [held_out_count], the same on all ranks; borrowed */
    size_t held_out_count;
    pet_train_on_progress *on_step; /* NULL: nobody */
    pet_train_on_progress *on_epoch;
    void *user;
    int64_t fault_step; /* for the test of the tests: the gradients of this step, from 1, are not
                           reduced; 0: none */
};

struct pet_train;

/* pet_train_defaults sets size, batch, lr and epochs of a named size, so that it trains well. Each
 * of so many ranks gets as many samples. The rest of options stays.
 * GW_EINVAL where there is no such size. */
int pet_train_defaults(struct pet_train_options *options, const char *size, int ranks,
                       struct gw_error *error);

/* pet_train_new gets a run ready at step 0: collective. comm is borrowed until pet_train_free;
 * samples are too, options are copied. GW_EINVAL names the option that is wrong; GW_ENOMEM where
 * the batch does not fit; GW_EMISMATCH where ranks differ in the model; with gpu, GW_ENOTSUP on all
 * ranks if one of them cannot use a GPU; errors of the communicator. */
int pet_train_new(const struct pet_train_options *options, struct gw_comm *comm,
                  struct pet_train **train, struct gw_error *error);

/* pet_train_free frees it; NULL is fine. */
void pet_train_free(struct pet_train *train);

/* pet_train_step does one step; collective. GW_EINVAL after the last one. */
int pet_train_step(struct pet_train *train, struct gw_error *error);

/* pet_train_evaluate gives back the held-out loss in nats a character, each rank computing its part
 * of the held-out samples; collective. */
int pet_train_evaluate(struct pet_train *train, double *loss, struct gw_error *error);

/* pet_train_run does all steps that are left and tells the callbacks; collective. Returns 0, an
 * error, or what a callback returned. */
int pet_train_run(struct pet_train *train, struct gw_error *error);

/* pet_train_progress returns where training stands; borrowed. */
const struct pet_train_progress *pet_train_progress(const struct pet_train *train);

/* pet_train_model and pet_train_parameters return the model and its parameters; borrowed. */
const struct pet_model *pet_train_model(const struct pet_train *train);
const pet_real *pet_train_parameters(const struct pet_train *train);

/* pet_train_store adds the run's state to an empty checkpoint, which borrows it until it is
 * written: for gw_task_checkpoint_save at this step. Its sections are the model, the optimizer, how
 * many samples of which epoch have been used, and the seed of their order. GW_ENOMEM. */
int pet_train_store(struct pet_train *train, struct gw_checkpoint *checkpoint,
                    struct gw_error *error);

/* pet_train_restore goes on from a checkpoint of a run of the same model, on every rank; copied.
 * The number of ranks and the batch may be other ones: no sample of the epoch is omitted, and none
 * is used twice. If there are other samples, the epoch begins anew. The seed is the checkpoint's.
 * GW_EMISMATCH where it is of another one, naming both; GW_ECORRUPT where it is of no run. */
int pet_train_restore(struct pet_train *train, const struct gw_checkpoint *checkpoint,
                      struct gw_error *error);

/* pet_train_read_model gives back model and parameters of a checkpoint alone, for generating; the
 * caller frees the parameters. Errors as pet_train_restore. */
int pet_train_read_model(const struct gw_checkpoint *checkpoint, struct pet_model *model,
                         pet_real **parameters, struct gw_error *error);

#endif
