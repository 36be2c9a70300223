/* Which samples a rank trains on: every epoch a new order of the data set, the same on all ranks,
 * dealt out in turn. The rules are torch.utils.data.DistributedSampler's (the order is not: the
 * generator is gw_rng). With N samples and R ranks a rank gets
 *     ceil(N / R)          samples: the order is padded by starting again at its front, or
 *     floor(N / R)         with drop_last: up to R - 1 samples at the end are left out this epoch,
 * and rank r takes order[r], order[r + R], order[r + 2R] ... Padding counts a few samples twice; in
 * evaluation leave them out with gw_sampler_is_padding.
 *
 * The order does not depend on R. A gang that goes on from a checkpoint with another number of
 * ranks (min_ranks) leaves none out and takes none twice: save how many samples all ranks together
 * have taken of the epoch, and gw_sampler_skip them.
 *
 * A sampler is used by one thread at a time; nothing blocks. */
#ifndef GANGWAY_SAMPLER_H
#define GANGWAY_SAMPLER_H

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_sampler;

struct gw_sampler_options {
    int64_t samples; /* in the data set; at least 1 */
    int rank;        /* 0 to ranks - 1 */
    int ranks;
    uint64_t seed;  /* the same on all ranks */
    bool in_order;  /* do not shuffle */
    bool drop_last; /* needs samples >= ranks */
};

/* gw_sampler_new returns a sampler at epoch 0, for gw_sampler_free. Memory: 8 bytes a sample.
 * GW_EINVAL for options out of range. */
GW_API int gw_sampler_new(const struct gw_sampler_options *options, struct gw_sampler **sampler,
                          struct gw_error *error);

/* gw_sampler_free frees it (NULL: nothing). */
GW_API void gw_sampler_free(struct gw_sampler *sampler);

/* gw_sampler_set_epoch makes the order of an epoch: shuffled (Fisher-Yates) by a generator that
 * starts from seed + epoch. The same epoch gives the same order at any time. Nothing is skipped. */
GW_API void gw_sampler_set_epoch(struct gw_sampler *sampler, uint64_t epoch);

/* gw_sampler_skip leaves out the first samples of this epoch's order, so many of all ranks
 * together: those that it was trained on before. What is left is dealt out as a whole epoch is. */
GW_API void gw_sampler_skip(struct gw_sampler *sampler, int64_t samples);

/* gw_sampler_count returns how many samples this rank has in an epoch, behind what is skipped; the
 * same on all ranks. */
GW_API int64_t gw_sampler_count(const struct gw_sampler *sampler);

/* gw_sampler_index returns which sample of the data set (0 to samples - 1) is this rank's i-th;
 * i is 0 to gw_sampler_count - 1. */
GW_API int64_t gw_sampler_index(const struct gw_sampler *sampler, int64_t i);

/* gw_sampler_is_padding says whether this rank's i-th sample is one that counts twice. */
GW_API bool gw_sampler_is_padding(const struct gw_sampler *sampler, int64_t i);

#ifdef __cplusplus
}
#endif

#endif
