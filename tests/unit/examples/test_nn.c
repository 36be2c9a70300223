/* The layers of examples/nn in double: their gradients agree with finite differences, and training
 * on several ranks with synchronised normalisation is training on one rank with the whole batch. */
#include "tests/unit/gpu/comm_world.h"
#include "tests/unit/unit.h"

#include "examples/nn/net.h"

#include <gangway/ddp.h>
#include <gangway/rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { SAMPLES = 6, TENSORS_MAX = 64, CLASSES = 3 };

/* -- Gradients --------------------------------------------------------------------------------- */

struct subject {
    struct nn_net *net;
    nn_real *parameters, *input, *gradients[TENSORS_MAX];
    nn_real factors[4096]; /* the loss is the sum of output times factor */
    size_t outputs, inputs;
    int called[TENSORS_MAX], calls;
};

static void fill(struct gw_rng *rng, nn_real *to, size_t count)
{
    for (size_t i = 0; i < count; i++)
        to[i] = 2 * gw_rng_uniform(rng) - 1;
}

/* Takes the network over. */
static void begin(struct subject *subject, struct nn_net *net, struct nn_shape input, int last)
{
    const struct nn_shape shape = nn_net_shape(net, last);
    struct gw_error error;
    struct gw_rng rng;
    *subject = (struct subject){.net = net};
    assert_int_equal(nn_net_prepare(net, SAMPLES, &error), 0);
    subject->inputs = SAMPLES * (size_t)(input.channels * input.height * input.width);
    subject->outputs = SAMPLES * (size_t)(shape.channels * shape.height * shape.width);
    assert_true(subject->outputs <= sizeof subject->factors / sizeof *subject->factors);
    assert_true(nn_net_tensors(net) <= TENSORS_MAX);
    subject->parameters = calloc(nn_net_parameters(net) + 1, sizeof *subject->parameters);
    subject->input = calloc(subject->inputs, sizeof *subject->input);
    gw_rng_init(&rng, 5);
    fill(&rng, subject->input, subject->inputs);
    fill(&rng, subject->parameters, nn_net_parameters(net));
    fill(&rng, subject->factors, subject->outputs);
    for (size_t t = 0; t < nn_net_tensors(net); t++)
        subject->gradients[t] = calloc(nn_net_tensor(net, t)->count, sizeof(nn_real));
}

static void end(struct subject *subject)
{
    for (size_t t = 0; t < nn_net_tensors(subject->net); t++)
        free(subject->gradients[t]);
    free(subject->parameters);
    free(subject->input);
    nn_net_free(subject->net);
}

static double loss_of(struct subject *subject)
{
    const nn_real *output;
    struct gw_error error;
    double loss = 0;
    assert_int_equal(nn_net_forward(subject->net, subject->parameters, subject->input, SAMPLES,
                                    true, &output, &error),
                     0);
    for (size_t i = 0; i < subject->outputs; i++)
        loss += output[i] * subject->factors[i];
    return loss;
}

static void subject_on_gradient(void *user, size_t tensor)
{
    struct subject *subject = user;
    subject->called[subject->calls++] = (int)tensor;
}

static void check_gradients(struct subject *subject)
{
    const double step = 1e-5;
    struct gw_error error;
    double worst = 0;
    (void)loss_of(subject);
    assert_int_equal(nn_net_backward(subject->net, subject->parameters, subject->factors,
                                     subject->gradients, subject_on_gradient, subject, &error),
                     0);
    const int tensors = (int)nn_net_tensors(subject->net);
    assert_int_equal(subject->calls, tensors);
    for (int t = 0; t < tensors; t++) {
        const struct nn_tensor *tensor = nn_net_tensor(subject->net, (size_t)t);
        assert_int_equal(subject->called[t], tensors - 1 - t);
        for (size_t i = 0; i < tensor->count; i++) {
            nn_real *at = &subject->parameters[tensor->offset + i], was = *at;
            *at = was + step;
            double difference = loss_of(subject);
            *at = was - step;
            difference = (difference - loss_of(subject)) / (2 * step);
            *at = was;
            const double off = fabs(difference - subject->gradients[t][i]) /
                               fmax(1, fabs(subject->gradients[t][i]));
            if (off > 1e-6)
                print_message("%s[%zu]: %g by differences, %g by backward\n", tensor->name, i,
                              difference, subject->gradients[t][i]);
            worst = fmax(worst, off);
        }
    }
    assert_true(worst < 1e-6);
    end(subject);
}

static void gradients_of_convolutions_agree_with_finite_differences(void **state)
{
    static const struct {
        int kernel, stride, height, width;
    } cases[] = {{1, 1, 4, 5}, {3, 1, 5, 4}, {3, 2, 5, 6},
                 {5, 1, 3, 3}, {5, 3, 7, 2}, {1, 2, 5, 5}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct nn_shape shape = {2, cases[i].height, cases[i].width};
        struct subject subject;
        struct nn_net *net = nn_net_new(shape);
        const int a = nn_convolution(net, 0, 3, cases[i].kernel, cases[i].stride);
        const int b = nn_convolution(net, a, 2, cases[i].kernel, 1);
        begin(&subject, net, shape, b);
        check_gradients(&subject);
    }
}

static void gradients_of_a_residual_net_agree_with_finite_differences(void **state)
{
    const struct nn_shape shape = {2, 6, 6};
    struct subject subject;
    struct nn_net *net = nn_net_new(shape);
    int x = nn_relu(net, nn_batch_norm(net, nn_convolution(net, 0, 3, 3, 1)));
    const int a = nn_relu(net, nn_batch_norm(net, nn_convolution(net, x, 4, 3, 2)));
    const int b = nn_batch_norm(net, nn_convolution(net, a, 4, 3, 1));
    x = nn_relu(net, nn_add(net, nn_batch_norm(net, nn_convolution(net, x, 4, 1, 2)), b));
    begin(&subject, net, shape, nn_dense(net, nn_average(net, x), CLASSES));
    check_gradients(&subject);
}

static void gradients_of_pooling_and_dense_layers_agree_with_finite_differences(void **state)
{
    const struct nn_shape shape = {2, 5, 7};
    struct subject subject;
    struct nn_net *net = nn_net_new(shape);
    const int a = nn_max_pool(net, nn_convolution(net, 0, 3, 3, 1), 2);
    begin(&subject, net, shape, nn_dense(net, nn_relu(net, nn_dense(net, a, 4)), CLASSES));
    check_gradients(&subject);
}

static void gradient_of_cross_entropy_agrees_with_finite_differences(void **state)
{
    const uint8_t labels[2] = {2, 0};
    nn_real output[2 * CLASSES] = {0.3, -1, 2, 700, 690, 0}, gradient[2 * CLASSES];
    size_t right;
    const double loss = nn_cross_entropy(output, labels, 2, CLASSES, gradient, &right);
    assert_int_equal(right, 2);
    assert_true(isfinite(loss));
    for (int i = 0; i < CLASSES; i++) {
        const double was = output[i];
        output[i] = was + 1e-6;
        const double more = nn_cross_entropy(output, labels, 2, CLASSES, NULL, &right);
        output[i] = was - 1e-6;
        const double less = nn_cross_entropy(output, labels, 2, CLASSES, NULL, &right);
        output[i] = was;
        assert_true(fabs((more - less) / 2e-6 - gradient[i]) < 1e-8);
    }
}

static void evaluation_uses_the_running_statistics(void **state)
{
    const struct nn_shape shape = {1, 1, 2};
    const nn_real parameters[] = {1, 0}, input[] = {1, 3, 5, 7}; /* mean 4, variance 20 / 3 */
    const nn_real *output;
    struct nn_net *net = nn_net_new(shape);
    struct gw_error error;
    size_t count;
    assert_true(nn_batch_norm(net, 0) > 0);
    assert_int_equal(nn_net_prepare(net, 2, &error), 0);
    assert_int_equal(nn_net_forward(net, parameters, input, 2, true, &output, &error), 0);
    assert_true(fabs(output[0] + 3 / sqrt(5 + 1e-5)) < 1e-12);
    const nn_real *running = nn_net_statistics(net, &count);
    assert_int_equal(count, 2);
    assert_true(fabs(running[0] - 0.4) < 1e-12 && fabs(running[1] - (0.9 + 2.0 / 3)) < 1e-12);
    assert_int_equal(nn_net_forward(net, parameters, input, 1, false, &output, &error), 0);
    assert_true(fabs(output[0] - 0.6 / sqrt(0.9 + 2.0 / 3 + 1e-5)) < 1e-12);
    assert_int_equal(nn_net_forward(net, parameters, input, 3, false, &output, &error), GW_EINVAL);
    nn_net_free(net);
}

static void first_wrong_layer_is_named(void **state)
{
    struct nn_net *net = nn_net_new((struct nn_shape){1, 4, 4});
    struct gw_error error;
    const int a = nn_convolution(net, 0, 2, 3, 2);
    assert_true(nn_dense(net, nn_relu(net, nn_add(net, a, 0)), 2) < 0);
    assert_int_equal(nn_net_prepare(net, 1, &error), GW_EINVAL);
    assert_string_equal(error.text, "layer 2 (add): its inputs have different shapes");
    nn_net_free(net);
    net = nn_net_new((struct nn_shape){1, 4, 4});
    assert_true(nn_max_pool(net, 0, 5) < 0);
    assert_int_equal(nn_net_prepare(net, 1, &error), GW_EINVAL);
    nn_net_free(net);
}

/* -- Ranks ------------------------------------------------------------------------------------- */

enum { STEPS = 100, BATCH = 16, WEIGHTS_MAX = 8192 };

struct run {
    bool alone; /* normalisation without the other ranks */
    double weights[WEIGHTS_MAX];
    double losses[STEPS];
};

struct pass {
    struct gw_ddp *ddp;
    int rc;
};

static void pass_on_gradient(void *user, size_t tensor)
{
    struct pass *pass = user;
    if (pass->rc == 0)
        pass->rc = gw_ddp_ready(pass->ddp, tensor, NULL);
}

static struct nn_net *residual_net(void)
{
    struct nn_net *net = nn_net_new((struct nn_shape){1, 8, 8});
    int x = nn_relu(net, nn_batch_norm(net, nn_convolution(net, 0, 4, 3, 1)));
    const int a = nn_relu(net, nn_batch_norm(net, nn_convolution(net, x, 8, 3, 2)));
    const int b = nn_batch_norm(net, nn_convolution(net, a, 8, 3, 1));
    x = nn_relu(net, nn_add(net, nn_batch_norm(net, nn_convolution(net, x, 8, 1, 2)), b));
    (void)nn_dense(net, nn_average(net, x), CLASSES);
    return net;
}

/* Sample i of the whole batch of a step. */
static void make_sample(int step, int i, nn_real *image, uint8_t *label)
{
    struct gw_rng rng;
    gw_rng_init(&rng, (uint64_t)(step * BATCH + i));
    *label = (uint8_t)gw_rng_below(&rng, CLASSES);
    fill(&rng, image, 64);
    for (int p = 0; p < 16; p++)
        image[16 * *label + p] += 1;
}

static int train_step(struct world_rank *self, struct nn_net *net, struct gw_ddp *ddp,
                      nn_real *const *gradients, nn_real *parameters, int step)
{
    struct run *run = self->context;
    const int samples = BATCH / self->ranks + (self->rank < BATCH % self->ranks);
    nn_real images[BATCH * 64], slope[BATCH * CLASSES];
    uint8_t labels[BATCH];
    const nn_real *output;
    struct pass pass = {.ddp = ddp};
    struct gw_error error;
    size_t right;
    for (int i = 0; i < samples; i++)
        make_sample(step, self->rank + i * self->ranks, images + (ptrdiff_t)i * 64, &labels[i]);
    gw_ddp_zero(ddp);
    RANK_CHECK_RC(nn_net_forward(net, parameters, images, (size_t)samples, true, &output, &error),
                  0);
    /* The part of these samples in the batch; a mean over the ranks follows. */
    const double share = (double)samples * self->ranks / BATCH;
    double loss = share * nn_cross_entropy(output, labels, (size_t)samples, CLASSES, slope, &right);
    for (int i = 0; i < samples * CLASSES; i++)
        slope[i] *= share;
    RANK_CHECK_RC(gw_ddp_begin(ddp, true, &error), 0);
    RANK_CHECK_RC(
        nn_net_backward(net, parameters, slope, gradients, pass_on_gradient, &pass, &error), 0);
    RANK_CHECK_RC(pass.rc, 0);
    RANK_CHECK_RC(gw_ddp_finish(ddp, &error), 0);
    RANK_CHECK_RC(gw_comm_all_reduce(self->comm,
                                     GW_COMM_ARGS(.recv = &loss, .count = 1, .dtype = GW_DTYPE_F64,
                                                  .reduce = GW_REDUCE_AVG),
                                     &error),
                  0);
    for (size_t t = 0; t < nn_net_tensors(net); t++)
        for (size_t i = 0; i < nn_net_tensor(net, t)->count; i++)
            parameters[nn_net_tensor(net, t)->offset + i] -= 0.1 * gradients[t][i];
    if (self->rank == 0)
        run->losses[step] = loss;
    return 0;
}

static int train_rank(struct world_rank *self)
{
    struct run *run = self->context;
    struct nn_net *net = residual_net();
    struct gw_ddp_param params[TENSORS_MAX] = {{0}};
    nn_real *gradients[TENSORS_MAX], *parameters = calloc(WEIGHTS_MAX, sizeof *parameters);
    struct gw_ddp *ddp;
    struct gw_error error;
    nn_net_synchronise(net, run->alone ? NULL : self->comm);
    RANK_CHECK_RC(nn_net_prepare(net, BATCH, &error), 0);
    RANK_CHECK(nn_net_parameters(net) <= WEIGHTS_MAX && parameters);
    nn_net_randomise(net, 1, parameters);
    for (size_t t = 0; t < nn_net_tensors(net); t++) {
        const struct nn_tensor *tensor = nn_net_tensor(net, t);
        params[t] = (struct gw_ddp_param){.name = tensor->name,
                                          .data = parameters + tensor->offset,
                                          .dtype = GW_DTYPE_F64,
                                          .dims = 1,
                                          .shape = {tensor->count}};
    }
    RANK_CHECK_RC(gw_ddp_open(GW_DDP_OPTIONS(.comm = self->comm, .params = params,
                                             .params_count = nn_net_tensors(net)),
                              &ddp, &error),
                  0);
    for (size_t t = 0; t < nn_net_tensors(net); t++)
        gradients[t] = gw_ddp_gradient(ddp, t);
    for (int step = 0; step < STEPS; step++) {
        const int line = train_step(self, net, ddp, gradients, parameters, step);
        if (line)
            return line;
    }
    if (self->rank == 0)
        memcpy(run->weights, parameters, nn_net_parameters(net) * sizeof *parameters);
    gw_ddp_close(ddp);
    nn_net_free(net);
    free(parameters);
    return 0;
}

static struct run *train(int ranks, bool alone)
{
    struct run *run =
        mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(run != MAP_FAILED);
    run->alone = alone;
    struct world world = {
        .hooks = &comm_host_hooks, .ranks = ranks, .function = train_rank, .context = run};
    assert_int_equal(world_run(&world), 0);
    return run;
}

/* The norm of the difference of the weights, relative to the norm of the weights. */
static double difference(const struct run *a, const struct run *b)
{
    double off = 0, norm = 0;
    for (int i = 0; i < WEIGHTS_MAX; i++) {
        off += (a->weights[i] - b->weights[i]) * (a->weights[i] - b->weights[i]);
        norm += a->weights[i] * a->weights[i];
    }
    return sqrt(off / norm);
}

static void training_on_several_ranks_matches_one_rank_with_the_whole_batch(void **state)
{
    struct run *one = train(1, false), *two = train(2, false), *four = train(4, false);
    struct run *uneven = train(3, false), *alone = train(2, true);
    print_message("loss %.3f to %.3f; two ranks differ by %.1e, three by %.1e, four by %.1e, two "
                  "without synchronisation by %.1e\n",
                  one->losses[0], one->losses[STEPS - 1], difference(one, two),
                  difference(one, uneven), difference(one, four), difference(one, alone));
    assert_true(one->losses[STEPS - 1] < 0.2 * one->losses[0]);
    assert_true(difference(one, two) <= 1e-9 && difference(one, four) <= 1e-9);
    assert_true(difference(one, uneven) <= 1e-9);
    assert_true(difference(one, alone) > 1e-3);
    munmap(one, sizeof *one);
    munmap(two, sizeof *two);
    munmap(four, sizeof *four);
    munmap(uneven, sizeof *uneven);
    munmap(alone, sizeof *alone);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(gradients_of_convolutions_agree_with_finite_differences),
        cmocka_unit_test(gradients_of_a_residual_net_agree_with_finite_differences),
        cmocka_unit_test(gradients_of_pooling_and_dense_layers_agree_with_finite_differences),
        cmocka_unit_test(gradient_of_cross_entropy_agrees_with_finite_differences),
        cmocka_unit_test(evaluation_uses_the_running_statistics),
        cmocka_unit_test(first_wrong_layer_is_named),
        cmocka_unit_test(training_on_several_ranks_matches_one_rank_with_the_whole_batch),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
