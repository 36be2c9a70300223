/* Batches as prefix trees. Samples are sorted integers, so a node begins wherever the first symbols
 * of a sample differ from those of the sample before it. */
#include "examples/petnames/batch.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

int pet_batch_new(size_t sample_max, struct pet_batch **batch, struct gw_error *error)
{
    struct pet_batch *made = calloc(1, sizeof *made);
    if (!made)
        return gw_error_set(error, GW_ENOMEM, "no memory for a batch of %zu samples", sample_max);

    size_t nodes = pet_batch_node_max(sample_max);
    made->sample_max = sample_max;
    made->samples = malloc(sample_max * sizeof *made->samples);
    made->symbol = malloc(nodes * sizeof *made->symbol);
    made->parent = malloc(nodes * sizeof *made->parent);
    made->leaf = malloc(sample_max * sizeof *made->leaf);
    if (!made->samples || !made->symbol || !made->parent || !made->leaf) {
        pet_batch_free(made);
        return gw_error_set(error, GW_ENOMEM, "no memory for a batch of %zu samples", sample_max);
    }
    *batch = made;
    return 0;
}

void pet_batch_free(struct pet_batch *batch)
{
    if (!batch)
        return;
    free(batch->samples);
    free(batch->symbol);
    free(batch->parent);
    free(batch->leaf);
    free(batch);
}

size_t pet_batch_node_max(size_t sample_max)
{
    size_t nodes = 0, distinct = 1;
    for (int level = 0; level < PET_CONTEXT; level++) {
        distinct = distinct < sample_max ? distinct * PET_INPUTS : distinct;
        nodes += distinct < sample_max ? distinct : sample_max;
    }
    return nodes;
}

static int by_value(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a > b) - (a < b);
}

/* The first level at which two contexts differ; PET_CONTEXT where they are the same. */
static int first_difference(uint64_t a, uint64_t b)
{
    if (a == b)
        return PET_CONTEXT;
    int highest = 63 - __builtin_clzll(a ^ b);
    return PET_CONTEXT - 1 - highest / PET_SYMBOL_BITS;
}

static void count_levels(struct pet_batch *batch)
{
    size_t begins[PET_CONTEXT] = {0}; /* samples whose first new node is in this level */
    begins[0] = 1;
    for (size_t i = 1; i < batch->sample_count; i++) {
        int level = first_difference(pet_sample_window(batch->samples[i - 1]),
                                     pet_sample_window(batch->samples[i]));
        if (level < PET_CONTEXT)
            begins[level]++;
    }
    size_t in_level = 0;
    batch->level_start[0] = 0;
    for (int level = 0; level < PET_CONTEXT; level++) {
        in_level += begins[level];
        batch->level_start[level + 1] = batch->level_start[level] + in_level;
    }
    batch->node_count = batch->level_start[PET_CONTEXT];
}

void pet_batch_build(struct pet_batch *batch, const uint64_t *samples, size_t count)
{
    assert(count > 0 && count <= batch->sample_max);
    batch->sample_count = count;
    batch->share = 1 / (double)count;
    memcpy(batch->samples, samples, count * sizeof *samples);
    qsort(batch->samples, count, sizeof *samples, by_value);
    count_levels(batch);

    size_t next[PET_CONTEXT]; /* the node that each level gets next */
    memcpy(next, batch->level_start, sizeof next);
    for (size_t i = 0; i < count; i++) {
        uint64_t window = pet_sample_window(batch->samples[i]);
        int level = 0;
        if (i > 0)
            level = first_difference(pet_sample_window(batch->samples[i - 1]), window);
        for (; level < PET_CONTEXT; level++) {
            batch->symbol[next[level]] = (uint8_t)pet_window_symbol(window, level);
            batch->parent[next[level]] = level > 0 ? (uint32_t)(next[level - 1] - 1) : UINT32_MAX;
            next[level]++;
        }
        batch->leaf[i] =
            (uint32_t)(next[PET_CONTEXT - 1] - 1 - batch->level_start[PET_CONTEXT - 1]);
    }
}

size_t pet_batch_leaf_count(const struct pet_batch *batch)
{
    return batch->node_count - batch->level_start[PET_CONTEXT - 1];
}

size_t pet_batch_leaf_of(const struct pet_batch *batch, uint64_t window)
{
    size_t low = 0, high = batch->sample_count;
    while (low < high) {
        size_t middle = low + (high - low) / 2;
        if (pet_sample_window(batch->samples[middle]) < window)
            low = middle + 1;
        else
            high = middle;
    }
    assert(low < batch->sample_count && pet_sample_window(batch->samples[low]) == window);
    return batch->leaf[low];
}
