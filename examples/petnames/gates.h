/* The pointwise half of an LSTM layer and the softmax: everything that is not a matrix product.
 * Rows are nodes of a batch. A row of gates is 4 * hidden values, blocks input, forget, cell,
 * output. Nothing here allocates or fails; arrays do not overlap. */
#ifndef GW_EXAMPLES_PETNAMES_GATES_H
#define GW_EXAMPLES_PETNAMES_GATES_H

#include "examples/petnames/batch.h"
#include "examples/petnames/real.h"

/* What a layer keeps of a batch between its forward and its backward pass. */
struct pet_gates {
    size_t hidden;
    pet_real *gates;  /* [node][4 * hidden] sums in, activations out; in backward: gradients out */
    pet_real *cell;   /* [node][hidden] */
    pet_real *output; /* [node][hidden] */
    pet_real *zeroes; /* [hidden] the cell before the first symbol */
};

/* Where the sums of a level come from, beside the gates themselves. */
struct pet_gates_input {
    const pet_real *bias;      /* [4 * hidden] */
    const pet_real *by_symbol; /* [PET_INPUTS][4 * hidden] added by symbol; NULL: gates hold it */
    const pet_real *by_parent; /* [parents of level - 1][4 * hidden]; unused in level 0; NULL: the
                                  gates hold it */
};

/* pet_gates_forward computes a level of nodes from their sums and their parents' states. */
void pet_gates_forward(const struct pet_gates *layer, const struct pet_batch *batch, int level,
                       const struct pet_gates_input *input);

/* Gradients on their way down through a layer. */
struct pet_gates_gradient {
    const pet_real *output; /* [node][hidden] of the nodes' outputs */
    pet_real *cell[2];      /* [nodes of the level][hidden] of the nodes' cells, by level % 2; those
                               of the parents are written to the other one */
    pet_real *by_parent;    /* [parents of level - 1][4 * hidden] sum of the children's gates; NULL:
                               nobody needs it */
    pet_real *bias;         /* [4 * hidden] the nodes' gates are added to it, or, if by_symbol is
                               not NULL, to the rows of their symbols */
    pet_real *by_symbol;    /* [PET_INPUTS][4 * hidden] */
};

/* pet_gates_backward turns the activations of a level into gradients of their sums and passes on to
 * the parents what belongs to them. Levels go from the last to the first. */
void pet_gates_backward(const struct pet_gates *layer, const struct pet_batch *batch, int level,
                        const struct pet_gates_gradient *gradient);

/* pet_gates_sum_rows writes the sum of rows[count][width] to sum[width]. */
void pet_gates_sum_rows(const pet_real *rows, size_t count, size_t width, pet_real *sum);

/* pet_softmax turns rows[count][PET_LABELS] of logits into probabilities and writes the natural
 * logarithm of each row's normaliser, to be taken from a logit for its log-probability. */
void pet_softmax(pet_real *rows, size_t count, pet_real *normaliser);

#endif
