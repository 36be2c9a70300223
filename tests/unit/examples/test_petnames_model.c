/* The pet-names model against a plain implementation: sample by sample, step by step, in double.
 * The program is built twice, with the model in double (tight tolerance) and in float (what users
 * run). */
#include "tests/unit/unit.h"

#include "examples/petnames/gates.h"
#include "examples/petnames/model.h"

#include <gangway/rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#ifdef NN_DOUBLE
static const double loss_tolerance = 1e-12, gradient_tolerance = 1e-7;
#else
static const double loss_tolerance = 2e-6, gradient_tolerance = 2e-4;
#endif

enum { HIDDEN = 11, SAMPLES = 16, UNITS_MAX = 64 };

/* --- the plain model --- */

static double sigmoid(double x)
{
    return 1 / (1 + exp(-x));
}

static double dot_column(const double *x, size_t count, const double *weight, size_t columns)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += x[i] * weight[i * columns];
    return sum;
}

/* A step of one layer: input x[in] and the states h, c; returns the new states. */
static void plain_cell(const struct pet_model *model, const double *parameters, int layer,
                       const double *x, double *h, double *c)
{
    const struct pet_tensor *tensors = &model->tensors[3 * layer];
    const size_t units = (size_t)model->hidden;
    double sums[4 * UNITS_MAX];
    for (size_t j = 0; j < 4 * units; j++)
        sums[j] =
            parameters[tensors[PET_BIAS].offset + j] +
            dot_column(x, tensors[PET_WEIGHT_INPUT].rows,
                       parameters + tensors[PET_WEIGHT_INPUT].offset + j, 4 * units) +
            dot_column(h, units, parameters + tensors[PET_WEIGHT_HIDDEN].offset + j, 4 * units);
    for (size_t j = 0; j < units; j++) {
        c[j] = sigmoid(sums[units + j]) * c[j] + sigmoid(sums[j]) * tanh(sums[2 * units + j]);
        h[j] = sigmoid(sums[3 * units + j]) * tanh(c[j]);
    }
}

static void plain_probabilities(const struct pet_model *model, const double *parameters,
                                uint64_t window, double probabilities[PET_LABELS])
{
    double h[PET_LAYERS][UNITS_MAX] = {{0}}, c[PET_LAYERS][UNITS_MAX] = {{0}};
    for (int place = 0; place < PET_CONTEXT; place++) {
        double one_hot[PET_INPUTS] = {0};
        one_hot[pet_window_symbol(window, place)] = 1;
        for (int layer = 0; layer < PET_LAYERS; layer++)
            plain_cell(model, parameters, layer, layer == 0 ? one_hot : h[layer - 1], h[layer],
                       c[layer]);
    }
    double sum = 0;
    for (size_t j = 0; j < PET_LABELS; j++) {
        double logit =
            parameters[model->tensors[PET_DENSE_BIAS].offset + j] +
            dot_column(h[PET_LAYERS - 1], (size_t)model->hidden,
                       parameters + model->tensors[PET_DENSE_WEIGHT].offset + j, PET_LABELS);
        probabilities[j] = exp(logit);
        sum += probabilities[j];
    }
    for (size_t j = 0; j < PET_LABELS; j++)
        probabilities[j] /= sum;
}

static double plain_loss(const struct pet_model *model, const double *parameters,
                         const uint64_t *samples, size_t count)
{
    double loss = 0, probabilities[PET_LABELS];
    for (size_t i = 0; i < count; i++) {
        plain_probabilities(model, parameters, pet_sample_window(samples[i]), probabilities);
        loss -= log(probabilities[pet_sample_label(samples[i])]);
    }
    return loss / (double)count;
}

/* --- what all tests here work on --- */

struct fixture {
    struct pet_model model;
    pet_real *parameters;
    double *plain; /* the same numbers */
    uint64_t samples[SAMPLES];
    struct pet_batch *batch;
    struct pet_workspace *workspace;
    pet_real *gradients[PET_TENSORS];
};

static void set_up(struct fixture *fixture)
{
    /* Several labels after one context, a repeated context, and names longer than the context. */
    static const char *const prefixes[SAMPLES] = {
        "",    "",    "l",   "l",     "lu",          "luc",          "lucy",          "m",
        "max", "max", "max", "mr. p", "sir barksal", "sir barksalo", "sir barksalot", "-"};
    static const char labels[] = "lmuacy+a+-+aloet";
    struct gw_rng rng;
    gw_rng_init(&rng, 3);
    pet_model_init_hidden(&fixture->model, "test", HIDDEN);
    const size_t count = fixture->model.parameter_count;
    fixture->parameters = malloc(count * sizeof *fixture->parameters);
    fixture->plain = malloc(count * sizeof *fixture->plain);
    pet_model_randomise(&fixture->model, 5, fixture->parameters);
    for (size_t i = 0; i < count; i++) {
        fixture->parameters[i] *= 2; /* away from the linear region */
        fixture->plain[i] = (double)fixture->parameters[i];
    }
    for (size_t i = 0; i < SAMPLES; i++) {
        uint64_t window = pet_window_blank();
        for (const char *c = prefixes[i]; *c; c++)
            window = pet_window_push(window, pet_symbol(*c));
        fixture->samples[i] = pet_sample(window, pet_symbol(labels[i]));
    }
    assert_int_equal(pet_batch_new(SAMPLES, &fixture->batch, NULL), 0);
    assert_int_equal(pet_workspace_new(&fixture->model, SAMPLES, &fixture->workspace, NULL), 0);
    pet_batch_build(fixture->batch, fixture->samples, SAMPLES);
    for (int t = 0; t < PET_TENSORS; t++)
        fixture->gradients[t] = malloc(fixture->model.tensors[t].count * sizeof(pet_real));
}

static void tear_down(struct fixture *fixture)
{
    for (int t = 0; t < PET_TENSORS; t++)
        free(fixture->gradients[t]);
    pet_workspace_free(fixture->workspace);
    pet_batch_free(fixture->batch);
    free(fixture->plain);
    free(fixture->parameters);
}

/* --- tests --- */

static void forward_pass_matches_a_plain_implementation(void **state)
{
    struct fixture f;
    set_up(&f);
    double loss = pet_model_forward(&f.model, f.parameters, f.batch, f.workspace);
    double plain = plain_loss(&f.model, f.plain, f.samples, SAMPLES);
    assert_true(plain > 1);
    assert_true(fabs(loss - plain) < loss_tolerance * plain);

    const pet_real *rows = pet_model_probabilities(f.workspace);
    for (size_t i = 0; i < SAMPLES; i++) {
        double expected[PET_LABELS];
        uint64_t window = pet_sample_window(f.samples[i]);
        plain_probabilities(&f.model, f.plain, window, expected);
        const pet_real *row = rows + pet_batch_leaf_of(f.batch, window) * PET_LABELS;
        for (int j = 0; j < PET_LABELS; j++)
            assert_true(fabs((double)row[j] - expected[j]) < loss_tolerance);
    }
    tear_down(&f);
}

static double difference(const struct fixture *f, size_t offset, double step)
{
    f->plain[offset] += step;
    double up = plain_loss(&f->model, f->plain, f->samples, SAMPLES);
    f->plain[offset] -= 2 * step;
    double down = plain_loss(&f->model, f->plain, f->samples, SAMPLES);
    f->plain[offset] += step;
    return (up - down) / (2 * step);
}

/* Some numbers of each tensor, among them the largest gradient, and a random direction in all of
 * them. */
static void check_tensor(const struct fixture *f, int t, struct gw_rng *rng)
{
    const struct pet_tensor *tensor = &f->model.tensors[t];
    double *saved = malloc(tensor->count * sizeof *saved), expected = 0, largest = 0;
    const double step = 1e-5;
    size_t at_largest = 0;
    for (size_t i = 0; i < tensor->count; i++) {
        double gradient = fabs((double)f->gradients[t][i]);
        at_largest = gradient > largest ? i : at_largest;
        largest = gradient > largest ? gradient : largest;
    }
    assert_true(largest > 1e-5);
    for (int try = 0; try < 12; try++) {
        size_t i = try == 0 ? at_largest : (size_t)gw_rng_below(rng, tensor->count);
        double finite = difference(f, tensor->offset + i, step);
        assert_true(fabs(finite - (double)f->gradients[t][i]) < gradient_tolerance * largest);
    }

    double losses[2], norm = 0;
    double *direction = malloc(tensor->count * sizeof *direction);
    memcpy(saved, f->plain + tensor->offset, tensor->count * sizeof *saved);
    for (size_t i = 0; i < tensor->count; i++) {
        direction[i] = gw_rng_normal(rng);
        expected += direction[i] * (double)f->gradients[t][i];
        norm += (double)f->gradients[t][i] * (double)f->gradients[t][i];
    }
    for (int side = 0; side < 2; side++) {
        for (size_t i = 0; i < tensor->count; i++)
            f->plain[tensor->offset + i] = saved[i] + (side ? -step : step) * direction[i];
        losses[side] = plain_loss(&f->model, f->plain, f->samples, SAMPLES);
    }
    memcpy(f->plain + tensor->offset, saved, tensor->count * sizeof *saved);
    assert_true(fabs((losses[0] - losses[1]) / (2 * step) - expected) <
                10 * gradient_tolerance * sqrt(norm));
    free(direction);
    free(saved);
}

static void gradients_match_finite_differences(void **state)
{
    struct fixture f;
    struct gw_rng rng;
    set_up(&f);
    gw_rng_init(&rng, 11);
    for (int round = 0; round < 2;
         round++) { /* the second round starts with the buffers of the first */
        for (int t = 0; t < PET_TENSORS; t++)
            memset(f.gradients[t], 0xff, f.model.tensors[t].count * sizeof(pet_real)); /* NaN */
        pet_model_forward(&f.model, f.parameters, f.batch, f.workspace);
        pet_model_backward(&f.model, f.parameters, f.batch, f.workspace, f.gradients, NULL, NULL);
    }
    for (int t = 0; t < PET_TENSORS; t++)
        check_tensor(&f, t, &rng);
    tear_down(&f);
}

/* Sums of gates far beyond both limits of the exponential. */
static void gradients_of_saturated_gates_are_finite(void **state)
{
    struct fixture f;
    set_up(&f);
    for (size_t i = 0; i < f.model.parameter_count; i++)
        f.parameters[i] *= (pet_real)1e4;
    pet_model_forward(&f.model, f.parameters, f.batch, f.workspace);
    pet_model_backward(&f.model, f.parameters, f.batch, f.workspace, f.gradients, NULL, NULL);
    for (int t = 0; t < PET_TENSORS; t++)
        for (size_t i = 0; i < f.model.tensors[t].count; i++)
            assert_true(isfinite(f.gradients[t][i]));
    tear_down(&f);
}

struct told {
    int count;
    int order[PET_TENSORS + 1];
};

static void remember(void *user, int tensor)
{
    struct told *told = user;
    if (told->count <= PET_TENSORS)
        told->order[told->count++] = tensor;
}

static void backward_pass_reports_gradients_last_tensor_first(void **state)
{
    struct fixture f;
    struct told told = {0};
    set_up(&f);
    pet_model_forward(&f.model, f.parameters, f.batch, f.workspace);
    pet_model_backward(&f.model, f.parameters, f.batch, f.workspace, f.gradients, remember, &told);
    assert_int_equal(told.count, PET_TENSORS);
    for (int i = 0; i < PET_TENSORS; i++)
        assert_int_equal(told.order[i], PET_TENSORS - 1 - i);
    tear_down(&f);
}

static void model_sizes_have_the_expected_parameter_counts(void **state)
{
    struct pet_model model;
    struct gw_error error;
    assert_int_equal(pet_model_init(&model, "demo", &error), 0);
    assert_int_equal(pet_model_init(&model, "article", &error), 0);
    assert_string_equal(model.name, "article");
    size_t units = (size_t)model.hidden, end = 0;
    for (int t = 0; t < PET_TENSORS; t++) {
        assert_int_equal(model.tensors[t].offset, end);
        assert_int_equal(model.tensors[t].count, model.tensors[t].rows * model.tensors[t].columns);
        end += model.tensors[t].count;
    }
    assert_int_equal(end, model.parameter_count);
    assert_int_equal(end, PET_INPUTS * 4 * units + 7 * 4 * units * units + 4 * 4 * units +
                              (units + 1) * PET_LABELS);
    assert_string_equal(model.tensors[3 * 2 + PET_WEIGHT_HIDDEN].name, "lstm2.weight_hidden");

    assert_int_equal(pet_model_init(&model, "huge", &error), GW_EINVAL);
    assert_non_null(strstr(error.text, "huge"));
    assert_non_null(strstr(error.text, "article"));
}

static void initial_parameters_depend_only_on_the_seed(void **state)
{
    struct pet_model model;
    pet_model_init_hidden(&model, "test", 16);
    const size_t bytes = model.parameter_count * sizeof(pet_real);
    pet_real *a = malloc(bytes), *b = malloc(bytes);
    double lowest = 1, highest = -1;
    pet_model_randomise(&model, 1, a);
    pet_model_randomise(&model, 1, b);
    assert_memory_equal(a, b, bytes);
    pet_model_randomise(&model, 2, b);
    assert_memory_not_equal(a, b, bytes);
    for (size_t i = 0; i < model.parameter_count; i++) {
        lowest = fmin(lowest, (double)a[i]);
        highest = fmax(highest, (double)a[i]);
    }
    assert_true(lowest >= -0.25 && lowest < -0.249);
    assert_true(highest <= 0.25 && highest > 0.249);
    /* the first numbers of seed 1, on any machine */
    assert_true(fabs((double)a[0] - 0.10146091657942524) < 1e-7);
    free(a);
    free(b);
}

/* Compares the vectorised exponential with exp() over the whole range of the softmax. */
static void softmax_matches_the_exact_exponential(void **state)
{
    pet_real row[PET_LABELS], normaliser;
    for (int shift = -50; shift <= 50; shift += 5) {
        double sum = 0, logits[PET_LABELS];
        for (int j = 0; j < PET_LABELS; j++) {
            row[j] = (pet_real)(shift - 1.37 * j);
            logits[j] = (double)row[j];
            sum += exp(logits[j] - shift);
        }
        pet_softmax(row, 1, &normaliser);
        assert_true(fabs((double)normaliser - (shift + log(sum))) < 1e-5);
        for (int j = 0; j < PET_LABELS; j++) {
            double expected = exp(logits[j] - shift) / sum;
            /* unless the shift is 0, the difference to the highest logit is itself rounded */
            assert_true(fabs((double)row[j] - expected) < (shift ? 1e-5 : 1e-6) * expected);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(forward_pass_matches_a_plain_implementation),
        cmocka_unit_test(gradients_match_finite_differences),
        cmocka_unit_test(gradients_of_saturated_gates_are_finite),
        cmocka_unit_test(backward_pass_reports_gradients_last_tensor_first),
        cmocka_unit_test(model_sizes_have_the_expected_parameter_counts),
        cmocka_unit_test(initial_parameters_depend_only_on_the_seed),
        cmocka_unit_test(softmax_matches_the_exact_exponential),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
