/* Ranks partition the data set, whatever its size; the order depends on seed and epoch only. */
#include "tests/unit/unit.h"

#include <gangway/sampler.h>
#include <stdlib.h>
#include <string.h>

static struct gw_sampler *sampler_of(const struct gw_sampler_options *options)
{
    struct gw_sampler *sampler;
    assert_int_equal(gw_sampler_new(options, &sampler, NULL), 0);
    return sampler;
}

/* Counts how often each sample occurs, over all ranks. */
static void check_partition(int64_t samples, int ranks, bool drop_last, bool in_order)
{
    int *seen = calloc((size_t)samples, sizeof *seen);
    const bool even = samples % ranks == 0;
    const int64_t each = samples / ranks + (!even && !drop_last);
    int64_t padding = 0, real = 0;
    assert_non_null(seen);
    for (int rank = 0; rank < ranks; rank++) {
        struct gw_sampler *sampler =
            sampler_of(GW_SAMPLER_OPTIONS(.samples = samples, .rank = rank, .ranks = ranks,
                                          .seed = 3, .drop_last = drop_last, .in_order = in_order));
        gw_sampler_set_epoch(sampler, 5);
        assert_int_equal(gw_sampler_count(sampler), each);
        for (int64_t i = 0; i < each; i++) {
            int64_t index = gw_sampler_index(sampler, i);
            assert_in_range(index, 0, samples - 1);
            if (in_order)
                assert_int_equal(index, (rank + i * ranks) % samples);
            if (gw_sampler_is_padding(sampler, i)) {
                padding++;
                continue;
            }
            real++;
            assert_int_equal(seen[index]++, 0); /* no other rank has it */
        }
        gw_sampler_free(sampler);
    }
    assert_int_equal(real, drop_last ? each * ranks : samples);
    assert_int_equal(padding, each * ranks - real);
    free(seen);
}

static void sampler_covers_each_sample_once_across_ranks(void **state)
{
    static const int64_t sizes[] = {1, 2, 7, 8, 9, 100, 1000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (int ranks = 1; ranks <= 9; ranks++)
            for (int in_order = 0; in_order < 2; in_order++) {
                check_partition(sizes[i], ranks, false, in_order);
                if (sizes[i] >= ranks)
                    check_partition(sizes[i], ranks, true, in_order);
            }
}

/* Some ranks begin an epoch and another number of ranks ends it; each sample is used once. */
static void sampler_resumes_an_epoch_on_another_number_of_ranks(void **state)
{
    enum { SAMPLES = 53, EACH = 6 };
    static const int worlds[][2] = {{4, 2}, {4, 3}, {2, 4}, {3, 5}, {1, 4}};
    (void)state;
    for (size_t w = 0; w < sizeof worlds / sizeof *worlds; w++) {
        int seen[SAMPLES] = {0};
        int64_t taken = 0;
        for (int part = 0; part < 2; part++) {
            int ranks = worlds[w][part];
            int64_t now = 0;
            for (int rank = 0; rank < ranks; rank++) {
                struct gw_sampler *sampler =
                    sampler_of(GW_SAMPLER_OPTIONS(.samples = SAMPLES, .rank = rank, .ranks = ranks,
                                                  .seed = 9));
                gw_sampler_set_epoch(sampler, 2);
                gw_sampler_skip(sampler, taken);
                int64_t count = part == 0 ? EACH : gw_sampler_count(sampler);
                for (int64_t i = 0; i < count; i++)
                    if (!gw_sampler_is_padding(sampler, i)) {
                        seen[gw_sampler_index(sampler, i)]++;
                        now++;
                    }
                gw_sampler_free(sampler);
            }
            taken += now;
        }
        for (int i = 0; i < SAMPLES; i++)
            assert_int_equal(seen[i], 1);
    }
    struct gw_sampler *sampler =
        sampler_of(GW_SAMPLER_OPTIONS(.samples = 4, .ranks = 2, .drop_last = true));
    gw_sampler_skip(sampler, 3);
    assert_int_equal(gw_sampler_count(sampler), 0);
    gw_sampler_skip(sampler, 9);
    assert_int_equal(gw_sampler_count(sampler), 0);
    gw_sampler_free(sampler);
}

static void order_of(uint64_t seed, uint64_t epoch, int64_t order[50])
{
    struct gw_sampler *sampler =
        sampler_of(GW_SAMPLER_OPTIONS(.samples = 50, .ranks = 1, .seed = seed));
    gw_sampler_set_epoch(sampler, 99); /* the earlier state does not matter */
    gw_sampler_set_epoch(sampler, epoch);
    for (int64_t i = 0; i < 50; i++)
        order[i] = gw_sampler_index(sampler, i);
    gw_sampler_free(sampler);
}

static void sampler_order_depends_only_on_seed_and_epoch(void **state)
{
    int64_t one[50], same[50], other[50], seed[50];
    order_of(1, 7, one);
    order_of(1, 7, same);
    order_of(1, 8, other);
    order_of(2, 7, seed);
    assert_memory_equal(one, same, sizeof one);
    assert_memory_not_equal(one, other, sizeof one);
    assert_memory_not_equal(one, seed, sizeof one);
    assert_memory_equal(other, seed, sizeof seed); /* seed + epoch, as its contract says */

    /* Must never change: checkpoints in the middle of an epoch depend on it. */
    static const int64_t first[] = {16, 10, 21, 47, 5, 25, 1, 11};
    assert_memory_equal(one, first, sizeof first);
}

static void sampler_digest_tells_what_a_rank_has_read(void **state)
{
    struct gw_sampler *ranks[3];
    for (int rank = 0; rank < 3; rank++)
        ranks[rank] =
            sampler_of(GW_SAMPLER_OPTIONS(.samples = 50, .rank = rank % 2, .ranks = 2, .seed = 1));
    assert_true(gw_sampler_digest(ranks[0], 25) == gw_sampler_digest(ranks[2], 25));
    assert_true(gw_sampler_digest(ranks[0], 25) != gw_sampler_digest(ranks[1], 25));
    assert_true(gw_sampler_digest(ranks[0], 25) != gw_sampler_digest(ranks[0], 24));
    const uint64_t first_epoch = gw_sampler_digest(ranks[0], 25);
    gw_sampler_set_epoch(ranks[0], 1);
    assert_true(gw_sampler_digest(ranks[0], 25) != first_epoch);
    gw_sampler_set_epoch(ranks[0], 0);
    assert_true(gw_sampler_digest(ranks[0], 25) == first_epoch);
    for (int rank = 0; rank < 3; rank++)
        gw_sampler_free(ranks[rank]);
}

static void steps_of_an_epoch_follow_the_global_batch(void **state)
{
    assert_int_equal(gw_sampler_steps(5656, 64, 1), 89);
    assert_int_equal(gw_sampler_steps(5656, 64, 2), 45);
    assert_int_equal(gw_sampler_steps(128, 64, 2), 1);
}

static void sampler_refuses_invalid_options(void **state)
{
    static const struct gw_sampler_options bad[] = {
        GW_INIT(gw_sampler_options, .samples = 0, .ranks = 1),
        GW_INIT(gw_sampler_options, .samples = 5, .ranks = 0),
        GW_INIT(gw_sampler_options, .samples = 5, .rank = 2, .ranks = 2),
        GW_INIT(gw_sampler_options, .samples = 5, .rank = -1, .ranks = 2),
        GW_INIT(gw_sampler_options, .samples = 2, .ranks = 3, .drop_last = true),
    };
    struct gw_sampler *sampler;
    struct gw_error error;
    for (size_t i = 0; i < sizeof bad / sizeof bad[0]; i++)
        assert_int_equal(gw_sampler_new(&bad[i], &sampler, &error), GW_EINVAL);
    const struct gw_sampler_options huge =
        GW_INIT(gw_sampler_options, .samples = INT64_MAX, .ranks = 1);
    assert_int_equal(gw_sampler_new(&huge, &sampler, &error), GW_ENOMEM);
    gw_sampler_free(NULL);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sampler_covers_each_sample_once_across_ranks),
        cmocka_unit_test(sampler_resumes_an_epoch_on_another_number_of_ranks),
        cmocka_unit_test(sampler_order_depends_only_on_seed_and_epoch),
        cmocka_unit_test(sampler_digest_tells_what_a_rank_has_read),
        cmocka_unit_test(steps_of_an_epoch_follow_the_global_batch),
        cmocka_unit_test(sampler_refuses_invalid_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
