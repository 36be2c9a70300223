/* Selects the samples that a rank trains on. Every epoch has a new order of the data set, which is
 * the same on all ranks, and the samples are distributed over the ranks in turn. The rules are
 * those of torch.utils.data.DistributedSampler, but the order is not the same, because the random
 * generator is gw_rng. With N samples and R ranks a rank gets
 *     ceil(N / R)          samples: the order is padded with samples from its front, or
 *     floor(N / R)         with drop_last: up to R - 1 samples at the end are not used this epoch,
 * and rank r takes order[r], order[r + R], order[r + 2R] ... With padding a few samples are used
 * twice. In an evaluation leave them out with gw_sampler_is_padding.
 *
 * The order does not depend on R. So a gang that continues from a checkpoint with another number of
 * ranks (min_ranks) omits no sample and repeats none: save how many samples of the epoch all ranks
 * together have used, and pass that number to gw_sampler_skip.
 *
 * A sampler is used by one thread at a time. No function blocks. */
#ifndef GANGWAY_SAMPLER_H
#define GANGWAY_SAMPLER_H

#include <gangway/error.h>
#include <gangway/options.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_sampler;

struct gw_sampler_options {
    size_t struct_size; /* see options.h */
    int64_t samples;    /* number of samples in the data set; at least 1 */
    int rank;           /* 0 to ranks - 1 */
    int ranks;
    uint64_t seed;  /* the same on all ranks */
    bool in_order;  /* no shuffling */
    bool drop_last; /* requires samples >= ranks */
};
#define GW_SAMPLER_OPTIONS(...) GW_POINTER(gw_sampler_options, __VA_ARGS__)

/* gw_sampler_new returns a sampler at epoch 0, which the caller frees with gw_sampler_free. It uses
 * 8 bytes of memory per sample. Returns GW_EINVAL if an option is out of range. */
GW_API int gw_sampler_new(const struct gw_sampler_options *options, struct gw_sampler **sampler,
                          struct gw_error *error);

/* gw_sampler_free frees the sampler. NULL is allowed. */
GW_API void gw_sampler_free(struct gw_sampler *sampler);

/* gw_sampler_set_epoch creates the order of the samples for an epoch. The order is shuffled
 * (Fisher-Yates) by a generator with the seed `seed + epoch`, so an epoch always has the same
 * order. An earlier gw_sampler_skip no longer applies. */
GW_API void gw_sampler_set_epoch(struct gw_sampler *sampler, uint64_t epoch);

/* gw_sampler_skip removes the first `samples` samples of this epoch's order, because all ranks
 * together have already trained on them. The remaining samples are distributed over the ranks in
 * the same way as a whole epoch. */
GW_API void gw_sampler_skip(struct gw_sampler *sampler, int64_t samples);

/* gw_sampler_count returns how many samples this rank has in this epoch, without the skipped ones.
 * It is the same number on all ranks. */
GW_API int64_t gw_sampler_count(const struct gw_sampler *sampler);

/* gw_sampler_index returns the index in the data set (0 to samples - 1) of this rank's i-th sample;
 * 0 <= i < gw_sampler_count. */
GW_API int64_t gw_sampler_index(const struct gw_sampler *sampler, int64_t i);

/* gw_sampler_is_padding returns true if this rank's i-th sample is padding: another rank, or this
 * one, has the same sample in this epoch. */
GW_API bool gw_sampler_is_padding(const struct gw_sampler *sampler, int64_t i);

/* gw_sampler_digest returns a hash of the indexes of this rank's first `count` samples in their
 * order; 0 <= count <= gw_sampler_count. It shows that two runs read the same samples (print it at
 * the end of an epoch), or that two ranks read different ones. It is the same on all machines. */
GW_API uint64_t gw_sampler_digest(const struct gw_sampler *sampler, int64_t count);

/* gw_sampler_steps returns the number of steps in which all samples are used once, if each of
 * `ranks` ranks takes `batch` samples a step. The last step may have fewer samples. So the global
 * batch is batch * ranks: 5,656 samples at 64 a rank are 89 steps, with two ranks 45. All
 * parameters are at least 1. */
GW_API int64_t gw_sampler_steps(int64_t samples, int64_t batch, int ranks);

#ifdef __cplusplus
}
#endif

#endif
