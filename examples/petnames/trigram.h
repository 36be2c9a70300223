/* The baseline that the model must beat: an interpolated trigram of characters. */
#ifndef GW_EXAMPLES_PETNAMES_TRIGRAM_H
#define GW_EXAMPLES_PETNAMES_TRIGRAM_H

#include "examples/petnames/alphabet.h"

#include <stddef.h>
#include <stdint.h>

/* Counts of what follows the last two, one and no symbols, and how much each of them says. */
struct pet_trigram {
    uint32_t after_two[PET_INPUTS][PET_INPUTS][PET_LABELS];
    uint32_t after_one[PET_INPUTS][PET_LABELS];
    uint32_t after_none[PET_LABELS];
    double weight[4]; /* of two, one, no symbols, and of the uniform distribution; sum 1 */
};

/* pet_trigram_init counts samples[count] and sets the weights by deleted interpolation: each sample
 * votes for the order that predicts it best when it is itself left out of the counts. */
void pet_trigram_init(struct pet_trigram *trigram, const uint64_t *samples, size_t count);

/* pet_trigram_probability returns the probability of a label after a context. */
double pet_trigram_probability(const struct pet_trigram *trigram, uint64_t window, int label);

/* pet_trigram_loss returns the cross entropy of samples[count] in nats a character. */
double pet_trigram_loss(const struct pet_trigram *trigram, const uint64_t *samples, size_t count);

#endif
