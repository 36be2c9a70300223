/* The order of an epoch is one array. It depends only on seed and epoch, so all ranks have the same
 * one. The positions of a rank's samples in it are computed. */
#include "graph/base/options_read.h"

#include <assert.h>
#include <gangway/rng.h>
#include <gangway/sampler.h>
#include <stdlib.h>

struct gw_sampler {
    struct gw_sampler_options options;
    int64_t skipped; /* first samples of the order, which all ranks have used */
    int64_t count;   /* number of samples of one rank after the skipped ones */
    int64_t order[];
};

int gw_sampler_new(const struct gw_sampler_options *given, struct gw_sampler **sampler,
                   struct gw_error *error)
{
    struct gw_sampler_options read;
    const struct gw_sampler_options *options = &read;
    int rc = GW_OPTIONS_READ(&read, given, gw_sampler_options, error);
    if (rc < 0)
        return rc;
    int64_t samples = options->samples;
    int ranks = options->ranks;
    if (ranks < 1 || options->rank < 0 || options->rank >= ranks)
        return gw_error_set(error, GW_EINVAL, "sampler: there is no rank %d among %d ranks",
                            options->rank, ranks);
    if (samples < 1 || (options->drop_last && samples < ranks))
        return gw_error_set(error, GW_EINVAL, "sampler: %lld samples are too few for %d ranks",
                            (long long)samples, ranks);
    if ((uint64_t)samples > (SIZE_MAX - sizeof(struct gw_sampler)) / sizeof(int64_t))
        return gw_error_set(error, GW_ENOMEM, "sampler: out of memory for %lld samples",
                            (long long)samples);

    struct gw_sampler *self = malloc(sizeof *self + (size_t)samples * sizeof self->order[0]);
    if (!self)
        return gw_error_set(error, GW_ENOMEM, "sampler: out of memory for %lld samples",
                            (long long)samples);
    self->options = *options;
    gw_sampler_set_epoch(self, 0);
    *sampler = self;
    return 0;
}

void gw_sampler_free(struct gw_sampler *sampler)
{
    free(sampler);
}

void gw_sampler_set_epoch(struct gw_sampler *sampler, uint64_t epoch)
{
    int64_t *order = sampler->order;
    int64_t samples = sampler->options.samples;
    gw_sampler_skip(sampler, 0);
    for (int64_t i = 0; i < samples; i++)
        order[i] = i;
    if (sampler->options.in_order)
        return;

    struct gw_rng rng;
    gw_rng_init(&rng, sampler->options.seed + epoch);
    for (int64_t i = samples - 1; i > 0; i--) {
        int64_t j = (int64_t)gw_rng_below(&rng, (uint64_t)i + 1);
        int64_t swapped = order[i];
        order[i] = order[j];
        order[j] = swapped;
    }
}

void gw_sampler_skip(struct gw_sampler *sampler, int64_t samples)
{
    const struct gw_sampler_options *options = &sampler->options;
    assert(samples >= 0);
    sampler->skipped = samples < options->samples ? samples : options->samples;
    int64_t left = options->samples - sampler->skipped;
    sampler->count = left / options->ranks + (!options->drop_last && left % options->ranks != 0);
}

int64_t gw_sampler_count(const struct gw_sampler *sampler)
{
    return sampler->count;
}

static int64_t position_of(const struct gw_sampler *sampler, int64_t i)
{
    assert(i >= 0 && i < sampler->count);
    return sampler->skipped + i * sampler->options.ranks + sampler->options.rank;
}

int64_t gw_sampler_index(const struct gw_sampler *sampler, int64_t i)
{
    return sampler->order[position_of(sampler, i) % sampler->options.samples];
}

bool gw_sampler_is_padding(const struct gw_sampler *sampler, int64_t i)
{
    return position_of(sampler, i) >= sampler->options.samples;
}

uint64_t gw_sampler_digest(const struct gw_sampler *sampler, int64_t count)
{
    uint64_t digest = 0xcbf29ce484222325; /* FNV-1a, over little-endian numbers of 8 bytes */
    assert(count >= 0 && count <= sampler->count);
    for (int64_t i = 0; i < count; i++) {
        const uint64_t index = (uint64_t)gw_sampler_index(sampler, i);
        for (int shift = 0; shift < 64; shift += 8)
            digest = (digest ^ (index >> shift & 0xff)) * 0x100000001b3;
    }
    return digest;
}

int64_t gw_sampler_steps(int64_t samples, int64_t batch, int ranks)
{
    const int64_t global = batch * ranks;
    assert(samples >= 1 && batch >= 1 && ranks >= 1);
    return (samples + global - 1) / global;
}
