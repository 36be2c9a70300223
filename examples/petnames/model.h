/* The model of the pet-names article: one-hot characters, 4 LSTM layers, a dense layer on the last
 * state, softmax cross entropy. Forward and backward on the CPU, with OpenBLAS for the products.
 *
 * Parameters are one flat array with a table of tensors that says what lies where; gradients are an
 * array a tensor, wherever the caller wants them (gw_ddp keeps them in its buckets).
 * pet_workspace_new sets OpenBLAS to one thread for the whole process. */
#ifndef GW_EXAMPLES_PETNAMES_MODEL_H
#define GW_EXAMPLES_PETNAMES_MODEL_H

#include "examples/petnames/batch.h"
#include "examples/petnames/real.h"

#include <gangway/error.h>
#include <stddef.h>
#include <stdint.h>

enum { PET_LAYERS = 4, PET_TENSORS = 3 * PET_LAYERS + 2 };

/* A tensor in the flat array, row by row. */
struct pet_tensor {
    char name[24];  /* "lstm2.weight_hidden" */
    size_t rows;    /* 1 for a bias */
    size_t columns; /* of an LSTM layer: 4 * hidden; blocks input, forget, cell, output */
    size_t offset;  /* of its first number in the flat array */
    size_t count;   /* rows * columns */
};

/* Which number of tensors[] is what. Weights map from rows to columns: x W. */
enum { PET_WEIGHT_INPUT, PET_WEIGHT_HIDDEN, PET_BIAS };
enum { PET_DENSE_WEIGHT = 3 * PET_LAYERS, PET_DENSE_BIAS };

struct pet_model {
    char name[16]; /* "demo" or "article" */
    int hidden;
    struct pet_tensor tensors[PET_TENSORS]; /* in the order in which forward uses them */
    size_t parameter_count;
};

/* pet_model_init describes the model of a named size, "demo" or "article"; GW_EINVAL. */
int pet_model_init(struct pet_model *model, const char *size, struct gw_error *error);

/* pet_model_init_hidden describes a model with so many hidden units a layer, named `name`. */
void pet_model_init_hidden(struct pet_model *model, const char *name, int hidden);

/* pet_model_randomise fills parameters[parameter_count], uniform in +-1/sqrt(hidden); the same
 * numbers for a seed on every machine. */
void pet_model_randomise(const struct pet_model *model, uint64_t seed, pet_real *parameters);

/* What a forward pass leaves for the backward pass, and scratch: one for a thread. */
struct pet_workspace;

/* pet_workspace_new makes room for batches of up to sample_max samples; GW_ENOMEM. Pages that no
 * batch has needed are not touched. OpenBLAS gets one thread: with products this
 * small a second one gains 1.2 to 1.5 times on an idle machine and loses as much or more where
 * other ranks want the core. */
int pet_workspace_new(const struct pet_model *model, size_t sample_max,
                      struct pet_workspace **workspace, struct gw_error *error);

/* pet_workspace_free frees a workspace; NULL is fine. */
void pet_workspace_free(struct pet_workspace *workspace);

/* pet_model_forward returns the cross entropy in nats, the mean over the batch's samples (with
 * another pet_batch.share: that much of each). */
double pet_model_forward(const struct pet_model *model, const pet_real *parameters,
                         const struct pet_batch *batch, struct pet_workspace *workspace);

/* pet_model_probabilities returns [leaf][PET_LABELS] of the last forward pass; borrowed until the
 * next one or a backward pass. */
const pet_real *pet_model_probabilities(const struct pet_workspace *workspace);

/* Told by pet_model_backward, on its thread, when a tensor's gradient is complete: the last tensor
 * comes first. */
typedef void pet_model_on_gradient(void *user, int tensor);

/* pet_model_backward writes the gradient of the last forward pass's loss, of the same batch, to
 * gradients[tensor][count]; once a forward pass. on_gradient may be NULL. */
void pet_model_backward(const struct pet_model *model, const pet_real *parameters,
                        const struct pet_batch *batch, struct pet_workspace *workspace,
                        pet_real *const gradients[PET_TENSORS], pet_model_on_gradient *on_gradient,
                        void *user);

#endif
