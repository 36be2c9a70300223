/* Computations of a GPU besides matrix products, as kernels of two shapes. A kernel of elements has
 * a thread for each of its outputs, which reads whatever that one needs. A kernel of sums has a
 * block of threads for each output, which share the numbers to be added. So no two threads write to
 * one place, and a result is the same in every run.
 *
 * The arithmetic is in kernel_body.inc, one source for the GPU and for tests without one. */
#ifndef GW_EXAMPLES_NN_KERNEL_H
#define GW_EXAMPLES_NN_KERNEL_H

#include <stdint.h>

enum {
    NN_KERNEL_THREADS = 256, /* of a block; a power of 2 */
    NN_KERNEL_POINTERS = 10,
    NN_KERNEL_NUMBERS = 10,
};

/* The comment after a kind tells its pointers at[] (-> outputs; += added to) and its numbers n[].
 * "image": channels, height, width. Kinds of pet names are in petnames/device_model.c. */
enum nn_kernel_kind {
    NN_KERNEL_FILL,        /* at: bias, -> value; n: channels, area */
    NN_KERNEL_SQUARES,     /* at: image, -> columns; n: image, kernel, stride, height, width */
    NN_KERNEL_UNSQUARES,   /* at: columns, += image gradient; n: as SQUARES */
    NN_KERNEL_ADD_ROWS,    /* at: rows, += row; n: rows, stride */
    NN_KERNEL_RELU,        /* at: from, -> value */
    NN_KERNEL_RELU_BACK,   /* at: value, gradient, += input gradient */
    NN_KERNEL_POOL,        /* at: from, -> value, -> places; n: size, from height, from width,
                              height, width */
    NN_KERNEL_POOL_BACK,   /* at: gradient, places, += input gradient; n: as POOL */
    NN_KERNEL_MEAN,        /* at: from, -> value; n: area */
    NN_KERNEL_MEAN_BACK,   /* at: gradient, += input gradient; n: area */
    NN_KERNEL_ADD,         /* at: first, second, -> value */
    NN_KERNEL_ACCUMULATE,  /* at: gradient, += input gradient */
    NN_KERNEL_ENTROPY,     /* at: output, labels, -> losses, -> rights, -> gradient (may be NULL);
                              n: classes; x: samples */
    NN_KERNEL_GATES,       /* at: gates, -> cell, -> squash, -> output, bias, by_symbol (may be
                              NULL), by_parent, symbol, parent; n: first, units, parents or -1 */
    NN_KERNEL_GATES_BACK,  /* at: gates, squash, cell, d_output, d_cell, parent; n: first, units,
                              1: has parents, 1: is the last level */
    NN_KERNEL_CHILDREN,    /* at: gates, d_cell, -> by_parent, children; n: first, units */
    NN_KERNEL_ONE_HOT,     /* at: symbol, -> one_hot; n: symbols */
    NN_KERNEL_LEAVES,      /* at: logits, bias, leaf_start, labels, -> losses; n: labels; x: share.
                              Logits become their gradients */
    NN_KERNEL_NARROW,      /* at: reals, -> halves; n: 1: bf16, 0: f16 */
    NN_KERNEL_WIDEN,       /* at: halves, -> reals; n: as NARROW */
    NN_KERNEL_SUM_BIAS,    /* sums; at: gradient, += bias gradient; n: channels, area, samples */
    NN_KERNEL_SUM_DOUBLES, /* sums; at: first, second (may be NULL), -> both; n: numbers */
};

struct nn_kernel {
    enum nn_kernel_kind kind;
    uint64_t count; /* outputs */
    void *at[NN_KERNEL_POINTERS];
    int64_t n[NN_KERNEL_NUMBERS];
    double x;
};

static inline int nn_kernel_sums(enum nn_kernel_kind kind)
{
    return kind >= NN_KERNEL_SUM_BIAS;
}

#endif
