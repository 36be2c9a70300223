/* Forward and backward of the pet-names model on a batch that is a prefix tree.
 *
 * A layer's input products for all nodes are one GEMM; the first layer's input is one-hot, so its
 * product is a row of its weight, taken by symbol. The recurrent product of a level is computed a
 * row a parent, not a row a child, and the pointwise loops add a parent's row to its children:
 * siblings share it. Backward mirrors that: children's gradients are summed by parent before they
 * meet the recurrent weight. If no node of a level has a sibling, the rows of parents are those of
 * their children, and the products read and write the gates. The gates' array holds sums, then
 * activations, then gradients. Gradients of weights are summed level by level, because the rows of
 * one level are still in the cache. */
#include "examples/petnames/model.h"

#include "examples/petnames/gates.h"

#include <assert.h>
#include <gangway/rng.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { CACHE_LINE = 64 }; /* bytes */

struct pet_workspace {
    size_t sample_max;
    struct pet_gates layers[PET_LAYERS];
    pet_real *by_parent;     /* [parent][4 * hidden] of a level: recurrent products, or gradients */
    pet_real *d_output;      /* [node][hidden] */
    pet_real *d_cell[2];     /* [node of a level][hidden] of two levels */
    pet_real *probabilities; /* [leaf][PET_LABELS]; their gradients after a backward pass */
    pet_real *normaliser;    /* [leaf] */
    pet_real *logits;        /* [leaf][PET_LABELS] */
};

static const struct {
    const char *name;
    int hidden;
} sizes[] = {
    {"demo", 64},
    {"article", 128},
};

int pet_model_init(struct pet_model *model, const char *size, struct gw_error *error)
{
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        if (strcmp(sizes[i].name, size) == 0) {
            pet_model_init_hidden(model, sizes[i].name, sizes[i].hidden);
            return 0;
        }
    }
    return gw_error_set(error, GW_EINVAL, "there is no size \"%s\": take demo or article", size);
}

static void add_tensor(struct pet_model *model, int index, size_t rows, size_t columns)
{
    struct pet_tensor *tensor = &model->tensors[index];
    tensor->rows = rows;
    tensor->columns = columns;
    tensor->offset = model->parameter_count;
    tensor->count = rows * columns;
    model->parameter_count += tensor->count;
}

void pet_model_init_hidden(struct pet_model *model, const char *name, int hidden)
{
    static const char *const kinds[] = {"weight_input", "weight_hidden", "bias"};
    const size_t units = (size_t)hidden;
    memset(model, 0, sizeof *model);
    (void)snprintf(model->name, sizeof model->name, "%s", name);
    model->hidden = hidden;
    for (int layer = 0; layer < PET_LAYERS; layer++) {
        int first = 3 * layer;
        add_tensor(model, first + PET_WEIGHT_INPUT, layer == 0 ? PET_INPUTS : units, 4 * units);
        add_tensor(model, first + PET_WEIGHT_HIDDEN, units, 4 * units);
        add_tensor(model, first + PET_BIAS, 1, 4 * units);
        for (int kind = 0; kind < 3; kind++)
            (void)snprintf(model->tensors[first + kind].name, sizeof model->tensors[0].name,
                           "lstm%d.%s", layer, kinds[kind]);
    }
    add_tensor(model, PET_DENSE_WEIGHT, units, PET_LABELS);
    add_tensor(model, PET_DENSE_BIAS, 1, PET_LABELS);
    (void)strcpy(model->tensors[PET_DENSE_WEIGHT].name, "dense.weight");
    (void)strcpy(model->tensors[PET_DENSE_BIAS].name, "dense.bias");
}

void pet_model_randomise(const struct pet_model *model, uint64_t seed, pet_real *parameters)
{
    struct gw_rng rng;
    gw_rng_init(&rng, seed);
    double bound = 1 / sqrt((double)model->hidden);
    for (size_t i = 0; i < model->parameter_count; i++)
        parameters[i] = (pet_real)((2 * gw_rng_uniform(&rng) - 1) * bound);
}

/* Rows begin with a cache line, because a vector that crosses the end of a line takes two. */
static pet_real *reals(size_t rows, size_t columns)
{
    const size_t bytes = rows * columns * sizeof(pet_real);
    return aligned_alloc(CACHE_LINE, (bytes + CACHE_LINE - 1) / CACHE_LINE * CACHE_LINE);
}

int pet_workspace_new(const struct pet_model *model, size_t sample_max,
                      struct pet_workspace **workspace, struct gw_error *error)
{
    const size_t nodes = pet_batch_node_max(sample_max), units = (size_t)model->hidden;
    openblas_set_num_threads(1);
    struct pet_workspace *made = calloc(1, sizeof *made);
    if (!made)
        goto fail;
    made->sample_max = sample_max;
    int complete = 1;
    for (int layer = 0; layer < PET_LAYERS; layer++) {
        struct pet_gates *gates = &made->layers[layer];
        gates->hidden = units;
        gates->gates = reals(nodes, 4 * units);
        gates->cell = reals(nodes, units);
        gates->output = reals(nodes, units);
        gates->zeroes = calloc(units, sizeof(pet_real));
        complete &= gates->gates && gates->cell && gates->output && gates->zeroes;
    }
    made->by_parent = reals(sample_max, 4 * units);
    made->d_output = reals(nodes, units);
    for (int i = 0; i < 2; i++)
        made->d_cell[i] = reals(sample_max, units);
    made->probabilities = reals(sample_max, PET_LABELS);
    made->logits = reals(sample_max, PET_LABELS);
    made->normaliser = reals(sample_max, 1);
    complete &= made->by_parent && made->d_output && made->d_cell[0] && made->d_cell[1] &&
                made->probabilities && made->logits && made->normaliser;
    if (!complete)
        goto fail;
    *workspace = made;
    return 0;
fail:
    pet_workspace_free(made);
    return gw_error_set(error, GW_ENOMEM,
                        "no memory for a batch of %zu samples with %d hidden units: take a smaller "
                        "batch",
                        sample_max, model->hidden);
}

void pet_workspace_free(struct pet_workspace *workspace)
{
    if (!workspace)
        return;
    for (int layer = 0; layer < PET_LAYERS; layer++) {
        free(workspace->layers[layer].gates);
        free(workspace->layers[layer].cell);
        free(workspace->layers[layer].output);
        free(workspace->layers[layer].zeroes);
    }
    free(workspace->by_parent);
    free(workspace->d_output);
    free(workspace->d_cell[0]);
    free(workspace->d_cell[1]);
    free(workspace->probabilities);
    free(workspace->logits);
    free(workspace->normaliser);
    free(workspace);
}

/* Row-major matrices of `columns` a row, in the three products of a layer with weights W[in][out]:
 * into their outputs, their inputs' gradients, their own gradients. */
struct product {
    size_t count; /* rows of the batch */
    size_t in, out;
};

static void product_forward(struct product size, const pet_real *x, const pet_real *weight,
                            pet_real *y, int add)
{
    pet_gemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (int)size.count, (int)size.out,
             (int)size.in, 1, x, (int)size.in, weight, (int)size.out, (pet_real)add, y,
             (int)size.out);
}

static void product_to_input(struct product size, const pet_real *dy, const pet_real *weight,
                             pet_real *dx, int add)
{
    pet_gemm(CblasRowMajor, CblasNoTrans, CblasTrans, (int)size.count, (int)size.in, (int)size.out,
             1, dy, (int)size.out, weight, (int)size.out, (pet_real)add, dx, (int)size.in);
}

static void product_to_weight(struct product size, const pet_real *x, const pet_real *dy,
                              pet_real *d_weight, int add)
{
    pet_gemm(CblasRowMajor, CblasTrans, CblasNoTrans, (int)size.in, (int)size.out, (int)size.count,
             1, x, (int)size.in, dy, (int)size.out, (pet_real)add, d_weight, (int)size.out);
}

static void layer_forward(const struct pet_model *model, const pet_real *parameters,
                          const struct pet_batch *batch, struct pet_workspace *workspace, int layer)
{
    const struct pet_tensor *tensors = &model->tensors[3 * layer];
    const struct pet_gates *gates = &workspace->layers[layer];
    const size_t units = (size_t)model->hidden;
    const pet_real *weight_input = parameters + tensors[PET_WEIGHT_INPUT].offset;
    const pet_real *weight_hidden = parameters + tensors[PET_WEIGHT_HIDDEN].offset;
    if (layer > 0)
        product_forward((struct product){batch->node_count, units, 4 * units},
                        workspace->layers[layer - 1].output, weight_input, gates->gates, 0);

    struct pet_gates_input input = {
        .bias = parameters + tensors[PET_BIAS].offset,
        .by_symbol = layer == 0 ? weight_input : NULL,
        .by_parent = workspace->by_parent,
    };
    for (int level = 0; level < PET_CONTEXT; level++) {
        const int adds = layer > 0 && pet_batch_is_chain(batch, level);
        input.by_parent = adds ? NULL : workspace->by_parent;
        if (level > 0) {
            const size_t first = batch->level_start[level - 1], end = batch->level_start[level];
            product_forward((struct product){end - first, units, 4 * units},
                            gates->output + first * units, weight_hidden,
                            adds ? gates->gates + end * 4 * units : workspace->by_parent, adds);
        }
        pet_gates_forward(gates, batch, level, &input);
    }
}

static double cross_entropy(const struct pet_batch *batch, const struct pet_workspace *workspace)
{
    double sum = 0;
    for (size_t i = 0; i < batch->sample_count; i++) {
        size_t leaf = batch->leaf[i];
        int label = pet_sample_label(batch->samples[i]);
        sum += (double)workspace->normaliser[leaf] -
               (double)workspace->logits[leaf * PET_LABELS + (size_t)label];
    }
    return sum * batch->share;
}

double pet_model_forward(const struct pet_model *model, const pet_real *parameters,
                         const struct pet_batch *batch, struct pet_workspace *workspace)
{
    assert(batch->sample_count <= workspace->sample_max);
    for (int layer = 0; layer < PET_LAYERS; layer++)
        layer_forward(model, parameters, batch, workspace, layer);

    const size_t leaves = pet_batch_leaf_count(batch), units = (size_t)model->hidden;
    const pet_real *top =
        workspace->layers[PET_LAYERS - 1].output + batch->level_start[PET_CONTEXT - 1] * units;
    const pet_real *bias = parameters + model->tensors[PET_DENSE_BIAS].offset;
    product_forward((struct product){leaves, units, PET_LABELS}, top,
                    parameters + model->tensors[PET_DENSE_WEIGHT].offset, workspace->logits, 0);
    for (size_t k = 0; k < leaves; k++)
        for (size_t j = 0; j < PET_LABELS; j++)
            workspace->logits[k * PET_LABELS + j] += bias[j];
    memcpy(workspace->probabilities, workspace->logits,
           leaves * PET_LABELS * sizeof *workspace->logits);
    pet_softmax(workspace->probabilities, leaves, workspace->normaliser);
    return cross_entropy(batch, workspace);
}

const pet_real *pet_model_probabilities(const struct pet_workspace *workspace)
{
    return workspace->probabilities;
}

/* The gradient of the logits: (samples of the leaf * p - samples with that label) * share. */
static void softmax_backward(const struct pet_batch *batch, pet_real *probabilities)
{
    const pet_real share = (pet_real)batch->share;
    for (size_t i = 0; i < batch->sample_count;) {
        size_t leaf = batch->leaf[i], end = i;
        while (end < batch->sample_count && batch->leaf[end] == leaf)
            end++;
        pet_real *row = probabilities + leaf * PET_LABELS;
        for (int j = 0; j < PET_LABELS; j++)
            row[j] *= (pet_real)(end - i) * share;
        for (; i < end; i++)
            row[pet_sample_label(batch->samples[i])] -= share;
    }
}

/* From d_output (the leaves' rows only in the top layer) to the layer's gradients and, unless it is
 * the first, to the d_output of the layer below. */
static void layer_backward(const struct pet_model *model, const pet_real *parameters,
                           const struct pet_batch *batch, struct pet_workspace *workspace,
                           pet_real *const gradients[PET_TENSORS], int layer)
{
    const struct pet_tensor *tensors = &model->tensors[3 * layer];
    const struct pet_gates *gates = &workspace->layers[layer];
    const size_t units = (size_t)model->hidden;
    struct pet_gates_gradient gradient = {
        .output = workspace->d_output,
        .cell = {workspace->d_cell[0], workspace->d_cell[1]},
        .by_parent = workspace->by_parent,
        .bias = gradients[3 * layer + PET_BIAS],
        .by_symbol = layer == 0 ? gradients[PET_WEIGHT_INPUT] : NULL,
    };
    if (layer == 0)
        memset(gradient.by_symbol, 0, tensors[PET_WEIGHT_INPUT].count * sizeof(pet_real));
    else
        memset(gradient.bias, 0, 4 * units * sizeof *gradient.bias);
    for (int level = PET_CONTEXT - 1; level >= 0; level--) {
        const size_t first = batch->level_start[level], end = batch->level_start[level + 1];
        const struct product nodes = {end - first, units, 4 * units};
        const int is_last = level == PET_CONTEXT - 1;
        if (!is_last) { /* of the children, by parent */
            const pet_real *sums =
                gradient.by_parent ? gradient.by_parent : gates->gates + end * 4 * units;
            product_to_input(nodes, sums, parameters + tensors[PET_WEIGHT_HIDDEN].offset,
                             workspace->d_output + first * units, layer < PET_LAYERS - 1);
            product_to_weight(nodes, gates->output + first * units, sums,
                              gradients[3 * layer + PET_WEIGHT_HIDDEN], level < PET_CONTEXT - 2);
        }
        gradient.by_parent = pet_batch_is_chain(batch, level) ? NULL : workspace->by_parent;
        pet_gates_backward(gates, batch, level, &gradient);
        if (layer > 0)
            product_to_weight(nodes, workspace->layers[layer - 1].output + first * units,
                              gates->gates + first * 4 * units,
                              gradients[3 * layer + PET_WEIGHT_INPUT], !is_last);
    }
    if (layer == 0) {
        pet_gates_sum_rows(gradient.by_symbol, PET_INPUTS, 4 * units, gradient.bias);
        return;
    }
    const struct product nodes = {batch->node_count, units, 4 * units};
    product_to_input(nodes, gates->gates, parameters + tensors[PET_WEIGHT_INPUT].offset,
                     workspace->d_output, 0);
}

void pet_model_backward(const struct pet_model *model, const pet_real *parameters,
                        const struct pet_batch *batch, struct pet_workspace *workspace,
                        pet_real *const gradients[PET_TENSORS], pet_model_on_gradient *on_gradient,
                        void *user)
{
    const size_t leaves = pet_batch_leaf_count(batch), units = (size_t)model->hidden;
    const size_t first = batch->level_start[PET_CONTEXT - 1];
    const struct product dense = {leaves, units, PET_LABELS};
    softmax_backward(batch, workspace->probabilities);
    product_to_weight(dense, workspace->layers[PET_LAYERS - 1].output + first * units,
                      workspace->probabilities, gradients[PET_DENSE_WEIGHT], 0);
    pet_gates_sum_rows(workspace->probabilities, leaves, PET_LABELS, gradients[PET_DENSE_BIAS]);
    product_to_input(dense, workspace->probabilities,
                     parameters + model->tensors[PET_DENSE_WEIGHT].offset,
                     workspace->d_output + first * units, 0);
    for (int tensor = PET_DENSE_BIAS; on_gradient && tensor >= PET_DENSE_WEIGHT; tensor--)
        on_gradient(user, tensor);

    for (int layer = PET_LAYERS - 1; layer >= 0; layer--) {
        layer_backward(model, parameters, batch, workspace, gradients, layer);
        for (int kind = PET_BIAS; on_gradient && kind >= PET_WEIGHT_INPUT; kind--)
            on_gradient(user, 3 * layer + kind);
    }
}
