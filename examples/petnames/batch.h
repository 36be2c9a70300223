/* A batch of samples as a prefix tree, so that the model computes each beginning once.
 *
 * The model reads a context from its oldest symbol to its newest, so two samples that begin alike
 * have the same states up to where they part. A batch keeps every distinct beginning once, as a
 * node; the fillers of short names, the same for all, cost one chain of nodes. The sums are those
 * of the plain computation: losses and gradients differ by rounding only. */
#ifndef GW_EXAMPLES_PETNAMES_BATCH_H
#define GW_EXAMPLES_PETNAMES_BATCH_H

#include "examples/petnames/alphabet.h"

#include <gangway/error.h>
#include <stddef.h>
#include <stdint.h>

/* Nodes are numbered level by level (level t holds beginnings of t + 1 symbols), sorted within one;
 * the children of a node lie side by side, in the order of their parents. The nodes of the last
 * level are the leaves: the distinct contexts. */
struct pet_batch {
    size_t sample_max;
    size_t sample_count;
    double share;      /* of a sample in the loss: 1 / sample_count, which gives the mean, unless
                          the caller changes it after pet_batch_build */
    uint64_t *samples; /* [sample_count], sorted */
    size_t node_count;
    size_t level_start[PET_CONTEXT + 1]; /* level t is nodes [level_start[t], level_start[t + 1]) */
    uint8_t *symbol;                     /* [node_count] what the model reads there */
    uint32_t *parent;                    /* [node_count] the node before it; unset in level 0 */
    uint32_t *leaf;                      /* [sample_count] leaf of samples[i], from 0 */
};

/* pet_batch_new makes room for batches of up to sample_max samples; GW_ENOMEM. */
int pet_batch_new(size_t sample_max, struct pet_batch **batch, struct gw_error *error);

/* pet_batch_free frees a batch; NULL is fine. */
void pet_batch_free(struct pet_batch *batch);

/* pet_batch_build makes the tree of samples[count], 1 <= count <= sample_max, copied. */
void pet_batch_build(struct pet_batch *batch, const uint64_t *samples, size_t count);

/* pet_batch_is_chain says that each node of the level before has one child, so that the nodes of
 * both levels have the same order; never of level 0. */
static inline int pet_batch_is_chain(const struct pet_batch *batch, int level)
{
    const size_t *start = batch->level_start + level;
    return level > 0 && start[1] - start[0] == start[0] - start[-1];
}

/* pet_batch_leaf_count returns the number of distinct contexts. */
size_t pet_batch_leaf_count(const struct pet_batch *batch);

/* pet_batch_leaf_of returns the leaf, from 0, of a context that is in the batch. */
size_t pet_batch_leaf_of(const struct pet_batch *batch, uint64_t window);

/* pet_batch_node_max returns the most nodes that a batch of sample_max samples can have. */
size_t pet_batch_node_max(size_t sample_max);

#endif
