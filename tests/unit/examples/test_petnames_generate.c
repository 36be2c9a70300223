/* Generates names from models of known distribution: all weights are 0 and the dense bias is set.
 */
#include "tests/unit/unit.h"

#include "examples/petnames/generate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { NAMES = 600 };

struct fixture {
    struct pet_model model;
    float *parameters;
    float *bias; /* of the dense layer: the logits */
    char (*names)[PET_NAME_MAX + 1];
};

static void set_up(struct fixture *fixture, float others)
{
    pet_model_init_hidden(&fixture->model, "test", 8);
    fixture->parameters = calloc(fixture->model.parameter_count, sizeof(float));
    fixture->bias = fixture->parameters + fixture->model.tensors[PET_DENSE_BIAS].offset;
    fixture->names = calloc(NAMES, sizeof *fixture->names);
    for (int label = 0; label < PET_LABELS; label++)
        fixture->bias[label] = others;
}

static void tear_down(struct fixture *fixture)
{
    free(fixture->parameters);
    free(fixture->names);
}

static void generate(const struct fixture *fixture, double temperature, uint64_t seed)
{
    struct gw_error error;
    const struct pet_generate_options options = {
        .count = NAMES, .temperature = temperature, .seed = seed};
    assert_int_equal(
        pet_generate(&fixture->model, fixture->parameters, &options, fixture->names, &error), 0);
}

static size_t count_of(const struct fixture *fixture, char character)
{
    size_t count = 0;
    for (size_t i = 0; i < NAMES; i++)
        for (const char *c = fixture->names[i]; *c; c++)
            count += *c == character;
    return count;
}

static void generated_names_end_at_the_end_symbol_or_maximum(void **state)
{
    struct fixture fixture;
    set_up(&fixture, -40);
    fixture.bias[0] = 0; /* always a */
    generate(&fixture, 1, 1);
    for (size_t i = 0; i < NAMES; i++)
        assert_string_equal(fixture.names[i], "aaaaaaaaaaaaaaaaaaaaaaaa"); /* PET_NAME_MAX */
    fixture.bias[PET_END] = 40; /* ends as soon as possible */
    generate(&fixture, 1, 1);
    for (size_t i = 0; i < NAMES; i++)
        assert_string_equal(fixture.names[i], "a");
    tear_down(&fixture);
}

static void generated_names_have_no_outer_or_double_blanks(void **state)
{
    struct fixture fixture;
    set_up(&fixture, -40);
    fixture.bias[0] = 0;
    fixture.bias[PET_BLANK] = 3;
    fixture.bias[PET_END] = 0;
    generate(&fixture, 1, 1);
    size_t with_blank = 0;
    for (size_t i = 0; i < NAMES; i++) {
        size_t length = strlen(fixture.names[i]);
        assert_int_equal(fixture.names[i][0], 'a');
        assert_int_equal(fixture.names[i][length - 1], 'a');
        assert_null(strstr(fixture.names[i], "  "));
        with_blank += strchr(fixture.names[i], ' ') != NULL;
    }
    assert_true(with_blank > NAMES / 10);
    tear_down(&fixture);
}

/* With logits 1 and 0, the ratio of the drawn letters is e^(1/temperature). */
static void temperature_scales_the_sampling_odds(void **state)
{
    static const double temperatures[] = {0.5, 1, 2};
    struct fixture fixture;
    set_up(&fixture, -400);
    fixture.bias[0] = 1;
    fixture.bias[1] = 0;
    for (int i = 0; i < 3; i++) {
        generate(&fixture, temperatures[i], 1);
        double ratio = (double)count_of(&fixture, 'a') / (double)count_of(&fixture, 'b');
        assert_int_equal(count_of(&fixture, 'a') + count_of(&fixture, 'b'), NAMES * PET_NAME_MAX);
        assert_true(fabs(log(ratio) - 1 / temperatures[i]) < 0.08);
    }
    struct gw_error error;
    const struct pet_generate_options cold = {.count = 1, .temperature = 0};
    assert_int_equal(pet_generate(&fixture.model, fixture.parameters, &cold, fixture.names, &error),
                     GW_EINVAL);
    assert_non_null(strstr(error.text, "temperature 0"));
    tear_down(&fixture);
}

static void same_seed_generates_the_same_names(void **state)
{
    struct fixture fixture;
    char first[NAMES][PET_NAME_MAX + 1];
    set_up(&fixture, 0);
    generate(&fixture, 1, 1);
    memcpy(first, fixture.names, sizeof first);
    size_t distinct = 0;
    for (size_t i = 1; i < NAMES; i++)
        distinct += strcmp(first[i - 1], first[i]) != 0;
    assert_true(distinct > NAMES * 9 / 10);
    generate(&fixture, 1, 1);
    for (size_t i = 0; i < NAMES; i++)
        assert_string_equal(fixture.names[i], first[i]);
    generate(&fixture, 1, 2);
    size_t same = 0;
    for (size_t i = 0; i < NAMES; i++)
        same += strcmp(fixture.names[i], first[i]) == 0;
    assert_true(same < NAMES / 10);
    tear_down(&fixture);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(generated_names_end_at_the_end_symbol_or_maximum),
        cmocka_unit_test(generated_names_have_no_outer_or_double_blanks),
        cmocka_unit_test(temperature_scales_the_sampling_odds),
        cmocka_unit_test(same_seed_generates_the_same_names),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
