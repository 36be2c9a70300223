/* The trigram baseline. */
#include "tests/unit/unit.h"

#include "examples/petnames/names.h"
#include "examples/petnames/trigram.h"

#include <math.h>
#include <stdlib.h>
#include <unistd.h>

static struct pet_trigram *train(const struct pet_names *names, enum pet_names_part part)
{
    uint64_t *samples;
    size_t count;
    struct pet_trigram *trigram = malloc(sizeof *trigram);
    assert_int_equal(pet_names_samples(names, part, &samples, &count, NULL), 0);
    pet_trigram_init(trigram, samples, count);
    free(samples);
    return trigram;
}

static double held_out_loss(const struct pet_names *names, const struct pet_trigram *trigram)
{
    uint64_t *samples;
    size_t count;
    assert_int_equal(pet_names_samples(names, PET_HELD_OUT, &samples, &count, NULL), 0);
    double loss = pet_trigram_loss(trigram, samples, count);
    free(samples);
    return loss;
}

static void check_sums(const struct pet_trigram *trigram)
{
    double weights = 0;
    for (int i = 0; i < 4; i++)
        weights += trigram->weight[i];
    assert_true(fabs(weights - 1) < 1e-12);

    const char *const contexts[] = {"", "l", "luc", "max", "mr. "};
    for (size_t i = 0; i < sizeof contexts / sizeof contexts[0]; i++) {
        uint64_t window = pet_window_blank();
        for (const char *c = contexts[i]; *c; c++)
            window = pet_window_push(window, pet_symbol(*c));
        double sum = 0;
        for (int label = 0; label < PET_LABELS; label++) {
            double probability = pet_trigram_probability(trigram, window, label);
            assert_true(probability > 0);
            sum += probability;
        }
        assert_true(fabs(sum - 1) < 1e-9 || i == 4); /* "mr. " may be unseen */
        assert_true(sum < 1 + 1e-9);
    }
}

/* The text is "ab", repeated; the expected weights are computed by hand. After "a" always
 * follows "b", whether or not a sample is left out, so the longest order gets all votes except
 * the two extra votes that every order starts with. */
static void trigram_weights_match_a_hand_calculation(void **state)
{
    uint64_t samples[30];
    uint64_t none = pet_window_blank(), a = pet_window_push(none, 0), ab = pet_window_push(a, 1);
    for (int i = 0; i < 10; i++) {
        samples[3 * i] = pet_sample(none, 0);
        samples[3 * i + 1] = pet_sample(a, 1);
        samples[3 * i + 2] = pet_sample(ab, PET_END);
    }
    struct pet_trigram *trigram = malloc(sizeof *trigram);
    pet_trigram_init(trigram, samples, 30);
    assert_true(fabs(trigram->weight[0] - 0.999 * 31 / 33) < 1e-12);
    assert_true(fabs(trigram->weight[1] - 0.999 * 1 / 33) < 1e-12);
    double expected = trigram->weight[0] + trigram->weight[1] + trigram->weight[2] / 3 +
                      trigram->weight[3] / PET_LABELS;
    assert_true(fabs(pet_trigram_probability(trigram, a, 1) - expected) < 1e-12);
    assert_true(fabs(pet_trigram_loss(trigram, samples, 30) + log(expected)) < 1e-12);
    free(trigram);
}

static void trigram_learns_from_made_up_names(void **state)
{
    const struct pet_names_options options = {.seed = 1};
    struct pet_names *names;
    assert_int_equal(pet_names_load(&options, &names, NULL), 0);
    struct pet_trigram *trigram = train(names, PET_TRAIN_ROOT);
    check_sums(trigram);
    double loss = held_out_loss(names, trigram);
    assert_true(loss > 1 && loss < 2.6);
    free(trigram);
    pet_names_free(names);
}

static void trigram_losses_on_real_names_stay_near_known_values(void **state)
{
    const char *path = getenv("GANGWAY_PETNAMES");
    const struct pet_names_options options = {
        .data = path ? path : PET_SOURCE_DIR "/../shared/data/seattle_pet_names.txt.gz"};
    struct pet_names *names;
    if (access(options.data, R_OK) < 0)
        skip();
    assert_int_equal(pet_names_load(&options, &names, NULL), 0);
    struct pet_trigram *by_count = train(names, PET_TRAIN_COUNT);
    struct pet_trigram *by_root = train(names, PET_TRAIN_ROOT);
    double counted = held_out_loss(names, by_count), rooted = held_out_loss(names, by_root);
    print_message("trigram, nats a held-out character: by count %.4f, by root %.4f\n", counted,
                  rooted);
    assert_true(fabs(counted - 2.51) < 0.06);
    assert_true(rooted < counted);
    free(by_root);
    free(by_count);
    pet_names_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(trigram_weights_match_a_hand_calculation),
        cmocka_unit_test(trigram_learns_from_made_up_names),
        cmocka_unit_test(trigram_losses_on_real_names_stay_near_known_values),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
