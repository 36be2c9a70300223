/* An interpolated trigram. The two blanks before a name are symbols of its context like any other,
 * so it sees of a sample what the model sees, two symbols deep. */
#include "examples/petnames/trigram.h"

#include <math.h>
#include <string.h>

static uint32_t sum(const uint32_t counts[PET_LABELS])
{
    uint32_t total = 0;
    for (int label = 0; label < PET_LABELS; label++)
        total += counts[label];
    return total;
}

static double share(const uint32_t counts[PET_LABELS], int label)
{
    uint32_t total = sum(counts);
    return total > 0 ? (double)counts[label] / (double)total : 0;
}

static double share_without_one(uint32_t count, uint32_t total)
{
    return total > 1 ? (double)(count - 1) / (double)(total - 1) : 0;
}

static void set_weights(struct pet_trigram *trigram)
{
    double votes[3] = {1, 1, 1}, total = 0;
    uint32_t none_total = sum(trigram->after_none);
    for (int a = 0; a < PET_INPUTS; a++) {
        for (int b = 0; b < PET_INPUTS; b++) {
            const uint32_t *two = trigram->after_two[a][b], *one = trigram->after_one[b];
            uint32_t two_total = sum(two), one_total = sum(one);
            for (int label = 0; label < PET_LABELS; label++) {
                if (two[label] == 0)
                    continue;
                const double left_out[3] = {
                    share_without_one(two[label], two_total),
                    share_without_one(one[label], one_total),
                    share_without_one(trigram->after_none[label], none_total),
                };
                int best = left_out[1] > left_out[0];
                best = left_out[2] > left_out[best] ? 2 : best;
                votes[best] += two[label];
            }
        }
    }
    for (int order = 0; order < 3; order++)
        total += votes[order];
    trigram->weight[3] = 0.001; /* nothing is impossible */
    for (int order = 0; order < 3; order++)
        trigram->weight[order] = (1 - trigram->weight[3]) * votes[order] / total;
}

void pet_trigram_init(struct pet_trigram *trigram, const uint64_t *samples, size_t count)
{
    memset(trigram, 0, sizeof *trigram);
    for (size_t i = 0; i < count; i++) {
        uint64_t window = pet_sample_window(samples[i]);
        int label = pet_sample_label(samples[i]);
        int a = pet_window_symbol(window, PET_CONTEXT - 2);
        int b = pet_window_symbol(window, PET_CONTEXT - 1);
        trigram->after_two[a][b][label]++;
        trigram->after_one[b][label]++;
        trigram->after_none[label]++;
    }
    set_weights(trigram);
}

double pet_trigram_probability(const struct pet_trigram *trigram, uint64_t window, int label)
{
    int a = pet_window_symbol(window, PET_CONTEXT - 2);
    int b = pet_window_symbol(window, PET_CONTEXT - 1);
    return trigram->weight[0] * share(trigram->after_two[a][b], label) +
           trigram->weight[1] * share(trigram->after_one[b], label) +
           trigram->weight[2] * share(trigram->after_none, label) + trigram->weight[3] / PET_LABELS;
}

double pet_trigram_loss(const struct pet_trigram *trigram, const uint64_t *samples, size_t count)
{
    double loss = 0;
    for (size_t i = 0; i < count; i++)
        loss -= log(pet_trigram_probability(trigram, pet_sample_window(samples[i]),
                                            pet_sample_label(samples[i])));
    return loss / (double)count;
}
