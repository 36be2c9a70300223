/* In double, training the pet-names model on several ranks is training on one rank with the whole
 * batch: 100 steps of SGD. */
#include "tests/unit/gpu/comm_world.h"
#include "tests/unit/unit.h"

#include "examples/petnames/model.h"

#include <gangway/ddp.h>
#include <gangway/optimizer.h>
#include <gangway/rng.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { HIDDEN = 12, STEPS = 100, BATCH = 24, NUMBERS_MAX = 16384 };

struct run {
    double weights[NUMBERS_MAX], losses[STEPS];
};

/* Sample i of the whole batch of a step: the label follows from the context. */
static uint64_t sample_of(int step, int i)
{
    struct gw_rng rng;
    uint64_t window = pet_window_blank();
    int symbol = 0;
    gw_rng_init(&rng, (uint64_t)(step * BATCH + i));
    for (int k = 0; k < 4; k++) {
        symbol = (int)gw_rng_below(&rng, 5);
        window = pet_window_push(window, symbol);
    }
    return window << PET_SYMBOL_BITS | (uint64_t)(symbol + 1);
}

struct pass {
    struct gw_ddp *ddp;
    int rc;
};

static void pass_on_gradient(void *user, int tensor)
{
    struct pass *pass = user;
    if (pass->rc == 0)
        pass->rc = gw_ddp_ready(pass->ddp, (size_t)tensor, NULL);
}

static int rank_trains(struct world_rank *self)
{
    static pet_real weights[NUMBERS_MAX];
    struct run *run = self->context;
    const struct gw_optimizer_options sgd = gw_optimizer_sgd(0.5);
    struct gw_ddp_param params[PET_TENSORS] = {{0}};
    struct gw_optimizer_tensor tensors[PET_TENSORS] = {{0}};
    pet_real *gradients[PET_TENSORS];
    struct pet_workspace *workspace;
    struct gw_optimizer *optimizer;
    struct pet_batch *batch;
    struct pet_model model;
    struct pass pass = {0};
    pet_model_init_hidden(&model, "test", HIDDEN);
    RANK_CHECK(model.parameter_count <= NUMBERS_MAX);
    pet_model_randomise(&model, 1, weights);
    RANK_CHECK_RC(pet_workspace_new(&model, BATCH, &workspace, NULL), 0);
    RANK_CHECK_RC(pet_batch_new(BATCH, &batch, NULL), 0);
    for (size_t t = 0; t < PET_TENSORS; t++)
        params[t] = (struct gw_ddp_param){.data = weights + model.tensors[t].offset,
                                          .dtype = GW_DTYPE_F64,
                                          .dims = 1,
                                          .shape = {model.tensors[t].count}};
    RANK_CHECK_RC(gw_ddp_open(GW_DDP_OPTIONS(.comm = self->comm, .params = params,
                                             .params_count = PET_TENSORS),
                              &pass.ddp, NULL),
                  0);
    for (size_t t = 0; t < PET_TENSORS; t++) {
        gradients[t] = gw_ddp_gradient(pass.ddp, t);
        tensors[t] = (struct gw_optimizer_tensor){.data = params[t].data,
                                                  .gradient = gradients[t],
                                                  .count = model.tensors[t].count,
                                                  .dtype = GW_DTYPE_F64};
    }
    RANK_CHECK_RC(gw_optimizer_new(&sgd, tensors, PET_TENSORS, &optimizer, NULL), 0);
    for (int step = 0; step < STEPS; step++) {
        uint64_t samples[BATCH];
        const int count = BATCH / self->ranks;
        for (int i = 0; i < count; i++)
            samples[i] = sample_of(step, self->rank + i * self->ranks);
        pet_batch_build(batch, samples, (size_t)count);
        double loss = pet_model_forward(&model, weights, batch, workspace) / self->ranks;
        RANK_CHECK_RC(gw_ddp_begin(pass.ddp, true, NULL), 0);
        pet_model_backward(&model, weights, batch, workspace, gradients, pass_on_gradient, &pass);
        RANK_CHECK_RC(pass.rc, 0);
        RANK_CHECK_RC(gw_ddp_finish(pass.ddp, NULL), 0);
        RANK_CHECK_RC(gw_optimizer_step(optimizer, NULL), 0);
        RANK_CHECK_RC(
            gw_comm_all_reduce(
                self->comm, GW_COMM_ARGS(.recv = &loss, .count = 1, .dtype = GW_DTYPE_F64), NULL),
            0);
        run->losses[step] = loss;
    }
    if (self->rank == 0)
        memcpy(run->weights, weights, model.parameter_count * sizeof *weights);
    gw_optimizer_free(optimizer);
    gw_ddp_close(pass.ddp);
    pet_batch_free(batch);
    pet_workspace_free(workspace);
    return 0;
}

static struct run *train(int ranks)
{
    struct run *run =
        mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(run != MAP_FAILED);
    struct world world = {
        .hooks = &comm_host_hooks, .ranks = ranks, .function = rank_trains, .context = run};
    assert_int_equal(world_run(&world), 0);
    return run;
}

/* The norm of the difference of the weights, relative to the norm of the weights. */
static double difference(const struct run *a, const struct run *b)
{
    double off = 0, norm = 0;
    for (int i = 0; i < NUMBERS_MAX; i++) {
        off += pow(a->weights[i] - b->weights[i], 2);
        norm += pow(a->weights[i], 2);
    }
    return sqrt(off / norm);
}

static void ranks_in_double_match_one_rank_with_the_whole_batch(void **state)
{
    struct run *one = train(1), *runs[] = {train(2), train(3), train(4)};
    assert_true(one->losses[STEPS - 1] < 0.7 * one->losses[0]);
    for (int i = 0; i < 3; i++) {
        double loss = 0;
        for (int step = 0; step < STEPS; step++)
            loss = fmax(loss, fabs(runs[i]->losses[step] / one->losses[step] - 1));
        print_message("loss %.3f to %.3f; %d ranks: losses differ by %.1e, weights by %.1e\n",
                      one->losses[0], one->losses[STEPS - 1], i + 2, loss,
                      difference(one, runs[i]));
        assert_true(loss <= 1e-12 && difference(one, runs[i]) <= 1e-12);
        assert_true(difference(one, runs[i]) > 0);
        munmap(runs[i], sizeof *one);
    }
    munmap(one, sizeof *one);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(ranks_in_double_match_one_rank_with_the_whole_batch)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
