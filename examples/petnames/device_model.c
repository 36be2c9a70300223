/* Forward and backward of the pet-names model on a GPU, by the products and steps of model.c and
 * gates.c. The differences: sums over nodes are products with ones or with one-hot symbols, and a
 * parent collects the gradients of its children, where on the CPU they are added to it. */
#include "examples/petnames/device_model.h"

#include <stdlib.h>
#include <string.h>

/* The values that a layer keeps of a batch, as struct pet_gates does. */
struct layer {
    nn_real *gates, *cell, *squash, *output;
};

/* The tree of a batch, as the kernels read it: one block of memory, here and on the device. */
struct tree {
    uint32_t *symbol, *parent; /* [node_max] */
    uint32_t *children; /* [node_max + 1] the first child of a node; those of the next one follow */
    uint32_t *leaf_start; /* [sample_max + 1] the first sample of a leaf */
    uint32_t *labels;     /* [sample_max] */
};

struct pet_device_model {
    struct pet_model model;
    struct nn_device *device;
    size_t node_max, sample_max;
    struct layer layers[PET_LAYERS];
    nn_real *by_parent, *d_output, *d_cell, *logits, *one_hot, *ones;
    double *losses, *loss; /* of leaves; of all, [2] */
    double got[2];         /* the loss on the host */
    struct tree tree, host;
};

/* Lays a tree out in a block; returns its size in bytes. block may be NULL. */
static size_t tree_lay(struct tree *tree, uint32_t *block, size_t nodes, size_t samples)
{
    tree->symbol = block;
    tree->parent = tree->symbol + nodes;
    tree->children = tree->parent + nodes;
    tree->leaf_start = tree->children + nodes + 1;
    tree->labels = tree->leaf_start + samples + 1;
    return (3 * nodes + 1 + 2 * samples + 1) * sizeof *block;
}

static nn_real *reals(struct pet_device_model *self, size_t count)
{
    return nn_device_alloc(self->device, count * sizeof(nn_real));
}

static void layers_alloc(struct pet_device_model *self, size_t units)
{
    for (int layer = 0; layer < PET_LAYERS; layer++) {
        struct layer *made = &self->layers[layer];
        made->gates = reals(self, self->node_max * 4 * units);
        made->cell = reals(self, self->node_max * units);
        made->squash = reals(self, self->node_max * units);
        made->output = reals(self, self->node_max * units);
    }
}

int pet_device_model_new(const struct pet_model *model, size_t sample_max, struct nn_device *device,
                         struct pet_device_model **made, struct gw_error *error)
{
    struct pet_device_model *self = calloc(1, sizeof *self);
    const size_t units = (size_t)model->hidden, nodes = pet_batch_node_max(sample_max);
    const size_t bytes = (3 * nodes + 2 * sample_max + 2) * sizeof(uint32_t);
    nn_real *ones = malloc(nodes * sizeof *ones);
    uint32_t *block = malloc(bytes);
    int rc = self && ones && block ? 0 : gw_error_set(error, GW_ENOMEM, "no memory for a batch");
    if (rc == 0) {
        self->model = *model;
        self->device = device;
        self->node_max = nodes;
        self->sample_max = sample_max;
        (void)tree_lay(&self->host, block, nodes, sample_max);
        layers_alloc(self, units);
        self->by_parent = reals(self, nodes * 4 * units);
        self->d_output = reals(self, nodes * units);
        self->d_cell = reals(self, nodes * units);
        self->logits = reals(self, sample_max * PET_LABELS);
        self->one_hot = reals(self, nodes * PET_INPUTS);
        self->ones = reals(self, nodes);
        self->losses = nn_device_alloc(device, sample_max * sizeof *self->losses);
        self->loss = nn_device_alloc(device, sizeof self->got);
        (void)tree_lay(&self->tree, nn_device_alloc(device, bytes), nodes, sample_max);
        for (size_t i = 0; i < nodes; i++)
            ones[i] = 1;
        nn_device_copy(device, self->ones, ones, nodes * sizeof *ones);
        rc = nn_device_wait(device, error);
    }
    free(ones);
    if (rc < 0) {
        if (!self || !self->device)
            free(block);
        pet_device_model_free(self);
        return rc;
    }
    *made = self;
    return 0;
}

void pet_device_model_free(struct pet_device_model *self)
{
    if (!self)
        return;
    for (int layer = 0; layer < PET_LAYERS && self->device; layer++) {
        nn_device_release(self->device, self->layers[layer].gates);
        nn_device_release(self->device, self->layers[layer].cell);
        nn_device_release(self->device, self->layers[layer].squash);
        nn_device_release(self->device, self->layers[layer].output);
    }
    void *const memory[] = {self->by_parent, self->d_output, self->d_cell,
                            self->logits,    self->one_hot,  self->ones,
                            self->losses,    self->loss,     self->tree.symbol};
    for (size_t i = 0; i < sizeof memory / sizeof *memory && self->device; i++)
        nn_device_release(self->device, memory[i]);
    free(self->host.symbol);
    free(self);
}

/* -- The batch --------------------------------------------------------------------------------- */

static void tree_copy(struct pet_device_model *self, const struct pet_batch *batch)
{
    struct tree *host = &self->host;
    const size_t leaves = pet_batch_leaf_count(batch), first = batch->level_start[1];
    for (size_t node = 0; node < batch->node_count; node++)
        host->symbol[node] = batch->symbol[node];
    memcpy(host->parent, batch->parent, batch->node_count * sizeof *host->parent);
    for (size_t node = batch->node_count; node-- > first;) /* the first child comes last */
        host->children[batch->parent[node]] = (uint32_t)node;
    host->children[batch->level_start[PET_CONTEXT - 1]] = (uint32_t)batch->node_count;
    for (size_t i = batch->sample_count; i-- > 0;) {
        host->leaf_start[batch->leaf[i]] = (uint32_t)i;
        host->labels[i] = (uint32_t)pet_sample_label(batch->samples[i]);
    }
    host->leaf_start[leaves] = (uint32_t)batch->sample_count;
    nn_device_copy(self->device, self->tree.symbol, host->symbol,
                   (3 * self->node_max + 2 * self->sample_max + 2) * sizeof *host->symbol);
}

/* -- Products ---------------------------------------------------------------------------------- */

/* Rows of `in` numbers through a weight [in][out], in both directions, and to the weight. */
static void product_forward(struct pet_device_model *self, size_t count, size_t in, size_t out,
                            const nn_real *x, const nn_real *weight, nn_real *y)
{
    nn_device_product(self->device, &(struct nn_product){.m = (int)count,
                                                         .n = (int)out,
                                                         .k = (int)in,
                                                         .a = x,
                                                         .row_a = (int)in,
                                                         .b = weight,
                                                         .row_b = (int)out,
                                                         .c = y,
                                                         .row_c = (int)out});
}

static void product_to_input(struct pet_device_model *self, size_t count, size_t in, size_t out,
                             const nn_real *dy, const nn_real *weight, nn_real *dx, bool add)
{
    nn_device_product(self->device, &(struct nn_product){.b_turned = true,
                                                         .m = (int)count,
                                                         .n = (int)in,
                                                         .k = (int)out,
                                                         .a = dy,
                                                         .row_a = (int)out,
                                                         .b = weight,
                                                         .row_b = (int)out,
                                                         .c = dx,
                                                         .row_c = (int)in,
                                                         .beta = add});
}

static void product_to_weight(struct pet_device_model *self, size_t count, size_t in, size_t out,
                              const nn_real *x, const nn_real *dy, nn_real *d_weight)
{
    nn_device_product(self->device, &(struct nn_product){.a_turned = true,
                                                         .m = (int)in,
                                                         .n = (int)out,
                                                         .k = (int)count,
                                                         .a = x,
                                                         .row_a = (int)in,
                                                         .b = dy,
                                                         .row_b = (int)out,
                                                         .c = d_weight,
                                                         .row_c = (int)out});
}

/* -- Forward ----------------------------------------------------------------------------------- */

static void layer_forward(struct pet_device_model *self, const pet_real *parameters,
                          const struct pet_batch *batch, int layer)
{
    const struct pet_tensor *tensors = &self->model.tensors[3 * layer];
    const struct layer *own = &self->layers[layer];
    const size_t units = (size_t)self->model.hidden;
    nn_real *weight_input = (nn_real *)(uintptr_t)parameters + tensors[PET_WEIGHT_INPUT].offset;
    nn_real *bias = (nn_real *)(uintptr_t)parameters + tensors[PET_BIAS].offset;
    if (layer > 0)
        product_forward(self, batch->node_count, units, 4 * units, self->layers[layer - 1].output,
                        weight_input, own->gates);
    for (int level = 0; level < PET_CONTEXT; level++) {
        const size_t first = batch->level_start[level], end = batch->level_start[level + 1];
        const size_t parents = level > 0 ? batch->level_start[level - 1] : 0;
        if (level > 0)
            product_forward(self, first - parents, units, 4 * units, own->output + parents * units,
                            parameters + tensors[PET_WEIGHT_HIDDEN].offset, self->by_parent);
        NN_DEVICE_RUN(self->device, .kind = NN_KERNEL_GATES, .count = (end - first) * units,
                      .at = {own->gates, own->cell, own->squash, own->output, bias,
                             layer == 0 ? weight_input : NULL, self->by_parent, self->tree.symbol,
                             self->tree.parent},
                      .n = {(int64_t)first, (int64_t)units, level > 0 ? (int64_t)parents : -1});
    }
}

void pet_device_model_forward(struct pet_device_model *self, const pet_real *parameters,
                              const struct pet_batch *batch)
{
    const size_t units = (size_t)self->model.hidden, leaves = pet_batch_leaf_count(batch);
    const size_t first = batch->level_start[PET_CONTEXT - 1];
    tree_copy(self, batch);
    for (int layer = 0; layer < PET_LAYERS; layer++)
        layer_forward(self, parameters, batch, layer);
    product_forward(self, leaves, units, PET_LABELS,
                    self->layers[PET_LAYERS - 1].output + first * units,
                    parameters + self->model.tensors[PET_DENSE_WEIGHT].offset, self->logits);
    NN_DEVICE_RUN(
        self->device, .kind = NN_KERNEL_LEAVES, .count = leaves,
        .at = {self->logits,
               (nn_real *)(uintptr_t)parameters + self->model.tensors[PET_DENSE_BIAS].offset,
               self->tree.leaf_start, self->tree.labels, self->losses},
        .n = {PET_LABELS}, .x = batch->share);
    NN_DEVICE_RUN(self->device, .kind = NN_KERNEL_SUM_DOUBLES, .count = 1,
                  .at = {self->losses, NULL, self->loss}, .n = {(int64_t)leaves});
    nn_device_copy(self->device, self->got, self->loss, sizeof self->got);
}

int pet_device_model_loss(struct pet_device_model *self, double *loss, struct gw_error *error)
{
    const int rc = nn_device_wait(self->device, error);
    if (rc == 0)
        *loss = self->got[0];
    return rc;
}

/* -- Backward ---------------------------------------------------------------------------------- */

/* From d_output to the gradients of the sums of all nodes, and of the recurrent products. */
static void levels_backward(struct pet_device_model *self, const pet_real *parameters,
                            const struct pet_batch *batch, int layer)
{
    const struct pet_tensor *tensors = &self->model.tensors[3 * layer];
    const struct layer *own = &self->layers[layer];
    const size_t units = (size_t)self->model.hidden;
    for (int level = PET_CONTEXT - 1; level >= 0; level--) {
        const size_t first = batch->level_start[level], end = batch->level_start[level + 1];
        const bool is_last = level == PET_CONTEXT - 1;
        if (!is_last) {
            NN_DEVICE_RUN(self->device, .kind = NN_KERNEL_CHILDREN,
                          .count = (end - first) * 5 * units,
                          .at = {own->gates, self->d_cell, self->by_parent, self->tree.children},
                          .n = {(int64_t)first, (int64_t)units});
            product_to_input(self, end - first, units, 4 * units,
                             self->by_parent + first * 4 * units,
                             parameters + tensors[PET_WEIGHT_HIDDEN].offset,
                             self->d_output + first * units, layer < PET_LAYERS - 1);
        }
        NN_DEVICE_RUN(self->device, .kind = NN_KERNEL_GATES_BACK, .count = (end - first) * units,
                      .at = {own->gates, own->squash, own->cell, self->d_output, self->d_cell,
                             self->tree.parent},
                      .n = {(int64_t)first, (int64_t)units, level > 0, is_last});
    }
}

static void layer_backward(struct pet_device_model *self, const pet_real *parameters,
                           const struct pet_batch *batch, pet_real *const gradients[PET_TENSORS],
                           int layer)
{
    const struct layer *own = &self->layers[layer];
    const size_t units = (size_t)self->model.hidden, nodes = batch->node_count;
    const nn_real *gates = own->gates;
    levels_backward(self, parameters, batch, layer);
    product_to_weight(self, batch->level_start[PET_CONTEXT - 1], units, 4 * units, own->output,
                      self->by_parent, gradients[3 * layer + PET_WEIGHT_HIDDEN]);
    product_to_weight(self, nodes, 1, 4 * units, self->ones, gates,
                      gradients[3 * layer + PET_BIAS]);
    if (layer == 0) {
        NN_DEVICE_RUN(self->device, .kind = NN_KERNEL_ONE_HOT, .count = nodes * PET_INPUTS,
                      .at = {self->tree.symbol, self->one_hot}, .n = {PET_INPUTS});
        product_to_weight(self, nodes, PET_INPUTS, 4 * units, self->one_hot, gates,
                          gradients[PET_WEIGHT_INPUT]);
        return;
    }
    product_to_weight(self, nodes, units, 4 * units, self->layers[layer - 1].output, gates,
                      gradients[3 * layer + PET_WEIGHT_INPUT]);
    product_to_input(self, nodes, units, 4 * units, gates,
                     parameters + self->model.tensors[3 * layer + PET_WEIGHT_INPUT].offset,
                     self->d_output, false);
}

void pet_device_model_backward(struct pet_device_model *self, const pet_real *parameters,
                               const struct pet_batch *batch,
                               pet_real *const gradients[PET_TENSORS],
                               pet_model_on_gradient *on_gradient, void *user)
{
    const size_t units = (size_t)self->model.hidden, leaves = pet_batch_leaf_count(batch);
    const size_t first = batch->level_start[PET_CONTEXT - 1];
    const struct layer *top = &self->layers[PET_LAYERS - 1];
    product_to_weight(self, leaves, units, PET_LABELS, top->output + first * units, self->logits,
                      gradients[PET_DENSE_WEIGHT]);
    product_to_weight(self, leaves, 1, PET_LABELS, self->ones, self->logits,
                      gradients[PET_DENSE_BIAS]);
    product_to_input(self, leaves, units, PET_LABELS, self->logits,
                     parameters + self->model.tensors[PET_DENSE_WEIGHT].offset,
                     self->d_output + first * units, false);
    for (int tensor = PET_DENSE_BIAS; on_gradient && tensor >= PET_DENSE_WEIGHT; tensor--)
        on_gradient(user, tensor);
    for (int layer = PET_LAYERS - 1; layer >= 0; layer--) {
        layer_backward(self, parameters, batch, gradients, layer);
        for (int kind = PET_BIAS; on_gradient && kind >= PET_WEIGHT_INPUT; kind--)
            on_gradient(user, 3 * layer + kind);
    }
}
