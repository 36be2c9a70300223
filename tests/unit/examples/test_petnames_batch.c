/* Batches as prefix trees. */
#include "tests/unit/unit.h"

#include "examples/petnames/batch.h"

#include <gangway/rng.h>
#include <string.h>

static uint64_t window_of(const char *prefix)
{
    uint64_t window = pet_window_blank();
    for (; *prefix; prefix++)
        window = pet_window_push(window, pet_symbol(*prefix));
    return window;
}

static uint64_t sample_of(const char *prefix, char label)
{
    return pet_sample(window_of(prefix), pet_symbol(label));
}

static void window_holds_the_last_ten_characters(void **state)
{
    uint64_t window = window_of("zoe");
    for (int place = 0; place < PET_CONTEXT - 3; place++)
        assert_int_equal(pet_window_symbol(window, place), PET_BLANK);
    assert_int_equal(pet_window_symbol(window, PET_CONTEXT - 3), 'z' - 'a');
    assert_int_equal(pet_window_symbol(window, PET_CONTEXT - 1), 'e' - 'a');
    assert_true(window_of("abcdefghijklmn") ==
                window_of("efghijklmn")); /* the last ten characters */

    uint64_t sample = sample_of("zoe", '+');
    assert_true(pet_sample_window(sample) == window);
    assert_int_equal(pet_sample_label(sample), PET_END);
    for (int symbol = 0; symbol < PET_LABELS; symbol++)
        assert_int_equal(pet_symbol(pet_character(symbol)), symbol);
    assert_int_equal(pet_symbol('A'), -1);
    assert_int_equal(pet_symbol('7'), -1);
}

/* The three contexts "", "l" and "la" share 8 levels; the last two contexts share nothing more. */
static void contexts_with_a_common_suffix_share_tree_nodes(void **state)
{
    const uint64_t samples[] = {sample_of("la", '+'), sample_of("", 'l'), sample_of("l", 'a'),
                                sample_of("", 'm'), sample_of("l", 'a')};
    struct pet_batch *batch;
    assert_int_equal(pet_batch_new(8, &batch, NULL), 0);
    pet_batch_build(batch, samples, 5);
    for (int level = 0; level <= 8; level++)
        assert_int_equal(batch->level_start[level], level);
    assert_int_equal(batch->level_start[9], 8 + 2);   /* blank, l */
    assert_int_equal(batch->level_start[10], 10 + 3); /* blank, l after blank; a after l */
    assert_int_equal(batch->node_count, 13);
    assert_int_equal(pet_batch_leaf_count(batch), 3);
    size_t nothing = pet_batch_leaf_of(batch, window_of(""));
    size_t l = pet_batch_leaf_of(batch, window_of("l"));
    size_t la = pet_batch_leaf_of(batch, window_of("la"));
    assert_true(nothing != l && l != la && nothing != la);
    assert_int_equal(batch->parent[batch->level_start[9] + nothing],
                     batch->parent[batch->level_start[9] + l]);
    pet_batch_free(batch);
}

/* The symbols of every sample can be read back from its leaf upwards, and siblings are adjacent. */
static void check_tree(const struct pet_batch *batch)
{
    for (size_t i = 0; i < batch->sample_count; i++) {
        uint64_t window = pet_sample_window(batch->samples[i]);
        size_t node = batch->level_start[PET_CONTEXT - 1] + batch->leaf[i];
        assert_int_equal(batch->leaf[i], pet_batch_leaf_of(batch, window));
        for (int level = PET_CONTEXT - 1; level >= 0; level--) {
            assert_in_range(node, batch->level_start[level], batch->level_start[level + 1] - 1);
            assert_int_equal(batch->symbol[node], pet_window_symbol(window, level));
            node = level > 0 ? batch->parent[node] : 0;
        }
    }
    for (int level = 1; level < PET_CONTEXT; level++) {
        size_t expected = batch->level_start[level - 1]; /* parents in order, each with a child */
        for (size_t k = batch->level_start[level]; k < batch->level_start[level + 1]; k++) {
            assert_true(batch->parent[k] == expected || batch->parent[k] == expected + 1);
            expected = batch->parent[k];
        }
        assert_int_equal(expected, batch->level_start[level] - 1);
    }
    assert_true(batch->node_count <= pet_batch_node_max(batch->sample_max));
}

static void random_batches_build_valid_trees(void **state)
{
    struct gw_rng rng;
    struct pet_batch *batch;
    uint64_t samples[200];
    gw_rng_init(&rng, 7);
    assert_int_equal(pet_batch_new(200, &batch, NULL), 0);
    for (int round = 0; round < 50; round++) {
        size_t count = 1 + (size_t)gw_rng_below(&rng, 200);
        uint64_t letters = 1 + gw_rng_below(&rng, PET_INPUTS);
        for (size_t i = 0; i < count; i++) {
            uint64_t window = pet_window_blank();
            for (uint64_t length = gw_rng_below(&rng, 13); length > 0; length--)
                window = pet_window_push(window, (int)gw_rng_below(&rng, letters));
            samples[i] = pet_sample(window, (int)gw_rng_below(&rng, PET_LABELS));
        }
        pet_batch_build(batch, samples, count);
        check_tree(batch);
    }
    pet_batch_free(batch);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(window_holds_the_last_ten_characters),
        cmocka_unit_test(contexts_with_a_common_suffix_share_tree_nodes),
        cmocka_unit_test(random_batches_build_valid_trees),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
