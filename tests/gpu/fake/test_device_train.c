/* Training of the pet names on GPUs, against the fakes: the losses are those of the CPU, with one
 * rank and with three, and a checkpoint goes on from either to the other. */
#include "tests/unit/gpu/comm_world.h"
#include "tests/unit/unit.h"

#include "examples/petnames/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

extern const struct comm_backend_hooks comm_nccl_hooks;

enum { STEPS = 12, BATCH = 40, HIDDEN = 12 };

struct run {
    bool gpu;
    const char *precision; /* NULL: f32 */
    const char *from, *to; /* checkpoint to continue, to write after half of the steps */
    double losses[STEPS], held_out;
};

static uint64_t samples[480], held_out[20];

static void make_samples(uint64_t *to, size_t count, const char *letters)
{
    const size_t length = strlen(letters);
    uint64_t window = pet_window_blank();
    for (size_t i = 0; i < count; i++) {
        const int symbol = pet_symbol(letters[i * i % length]);
        to[i] = pet_sample(window, i % 7 == 6 ? PET_END : symbol);
        window = i % 7 == 6 ? pet_window_blank() : pet_window_push(window, symbol);
    }
}

static int train_rank(struct world_rank *self)
{
    struct run *run = self->context;
    struct gw_checkpoint *checkpoint;
    struct pet_train *train;
    struct gw_error error;
    const struct pet_train_options options = {.hidden = HIDDEN,
                                              .batch = BATCH,
                                              .lr = 0.01,
                                              .steps = STEPS,
                                              .seed = 3,
                                              .gpu = run->gpu,
                                              .precision = run->precision,
                                              .samples = samples,
                                              .sample_count = sizeof samples / sizeof *samples,
                                              .held_out = held_out,
                                              .held_out_count = sizeof held_out / sizeof *held_out};
    RANK_CHECK_RC(pet_train_new(&options, self->comm, &train, &error), 0);
    if (run->from) {
        RANK_CHECK_RC(gw_checkpoint_file_read(run->from, &checkpoint, &error), 0);
        RANK_CHECK_RC(pet_train_restore(train, checkpoint, &error), 0);
        gw_checkpoint_free(checkpoint);
    }
    for (int64_t step = pet_train_progress(train)->step; step < STEPS; step++) {
        if (run->to && step == STEPS / 2 && self->rank == 0) {
            checkpoint = gw_checkpoint_new();
            RANK_CHECK_RC(pet_train_store(train, checkpoint, &error), 0);
            RANK_CHECK_RC(gw_checkpoint_file_write(checkpoint, run->to, &error), 0);
            gw_checkpoint_free(checkpoint);
        }
        RANK_CHECK_RC(pet_train_step(train, &error), 0);
        if (self->rank == 0)
            run->losses[step] = pet_train_progress(train)->loss;
    }
    double loss;
    RANK_CHECK_RC(pet_train_evaluate(train, &loss, &error), 0);
    if (self->rank == 0)
        run->held_out = loss;
    pet_train_free(train);
    return 0;
}

static struct run *train_with(int ranks, bool gpu, const char *precision, const char *from,
                              const char *to)
{
    struct run *run =
        mmap(NULL, sizeof *run, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(run != MAP_FAILED);
    *run = (struct run){.gpu = gpu, .precision = precision, .from = from, .to = to};
    struct world world = {.hooks = gpu ? &comm_nccl_hooks : &comm_host_hooks,
                          .ranks = ranks,
                          .function = train_rank,
                          .context = run};
    assert_int_equal(world_run(&world), 0);
    return run;
}

static struct run *train(int ranks, bool gpu, const char *from, const char *to)
{
    return train_with(ranks, gpu, NULL, from, to);
}

static void check_within(const struct run *expected, const struct run *run, double bound)
{
    for (int step = 0; step < STEPS; step++)
        if (run->losses[step] != 0 &&
            !(fabs(run->losses[step] - expected->losses[step]) < bound * expected->losses[step]))
            fail_msg("step %d: loss %g, on the CPU %g", step + 1, run->losses[step],
                     expected->losses[step]);
    assert_true(run->losses[STEPS - 1] > 0);
    assert_true(fabs(run->held_out - expected->held_out) < bound * expected->held_out);
}

static void check_equal(const struct run *expected, const struct run *run)
{
    check_within(expected, run, 1e-4);
}

static void training_on_gpus_has_the_losses_of_the_cpu(void **state)
{
    char path[] = "/tmp/gangway-test-XXXXXX", previous[sizeof path + 16];
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && unlink(path) == 0);
    struct run *cpu = train(1, false, NULL, path);
    assert_true(cpu->losses[STEPS - 1] < 0.9 * cpu->losses[0]);
    check_equal(cpu, train(1, true, NULL, NULL));
    check_equal(cpu, train(3, true, NULL, NULL));
    check_equal(cpu, train(2, true, path, NULL)); /* from the CPU to GPUs */
    (void)train(3, true, NULL, path);
    check_equal(cpu, train(1, false, path, NULL)); /* and back */
    (void)snprintf(previous, sizeof previous, "%s.previous", path);
    (void)unlink(previous);
    (void)unlink(path);
    (void)close(fd);
}

/* Adam makes a whole step of a gradient near 0 whose sign a rounding has turned, so the losses
 * differ by more than the rounding of f16. A run that goes on from a checkpoint has the same scale
 * of the loss, and so the losses of the undisturbed run. */
static void training_with_products_of_16_bits_has_the_losses_of_the_cpu(void **state)
{
    static const char *const precisions[] = {"bf16", "f16"};
    const double rounding = 0x1p-8;
    char path[] = "/tmp/gangway-test-XXXXXX";
    const int fd = mkstemp(path);
    assert_true(fd >= 0 && unlink(path) == 0);
    struct run *cpu = train(1, false, NULL, NULL);
    for (size_t i = 0; i < 2; i++) {
        struct run *one = train_with(1, true, precisions[i], NULL, path);
        assert_true(one->losses[STEPS - 1] != cpu->losses[STEPS - 1]); /* something was rounded */
        check_within(cpu, one, rounding);
        check_within(cpu, train_with(3, true, precisions[i], NULL, NULL), rounding);
        check_equal(one, train_with(2, true, precisions[i], path, NULL));
        (void)unlink(path);
    }
    (void)close(fd);
}

static int rank_is_refused(struct world_rank *self)
{
    struct pet_train *train;
    struct gw_error error;
    struct pet_train_options options = {.hidden = HIDDEN,
                                        .batch = BATCH,
                                        .steps = STEPS,
                                        .precision = "bf16",
                                        .samples = samples,
                                        .sample_count = sizeof samples / sizeof *samples};
    RANK_CHECK_RC(pet_train_new(&options, self->comm, &train, &error), GW_EINVAL);
    RANK_CHECK(strstr(error.text, "precision bf16 is for GPUs"));
    options.precision = "f8";
    RANK_CHECK_RC(pet_train_new(&options, self->comm, &train, &error), GW_EINVAL);
    RANK_CHECK(strstr(error.text, "there is no precision \"f8\""));
    return 0;
}

static void precision_that_does_not_exist_is_refused(void **state)
{
    struct world world = {.hooks = &comm_host_hooks, .ranks = 1, .function = rank_is_refused};
    assert_int_equal(world_run(&world), 0);
}

/* If a rank has no GPU, the communicator of a gang is one of host memory. All ranks get the reason
 * of that rank. */
static int rank_refused(struct world_rank *self)
{
    const bool *one_has_none = self->context;
    struct pet_train *train;
    struct gw_error error;
    const struct pet_train_options options = {.hidden = HIDDEN,
                                              .batch = BATCH,
                                              .steps = STEPS,
                                              .gpu = true,
                                              .samples = samples,
                                              .sample_count = sizeof samples / sizeof *samples};
    if (*one_has_none && self->rank == 1)
        (void)setenv("FAKE_CUDA_DEVICES", "0", 1);
    RANK_CHECK_RC(pet_train_new(&options, self->comm, &train, &error), GW_ENOTSUP);
    RANK_CHECK(strstr(error.text, *one_has_none ? "rank 1 cannot use a GPU: no GPU"
                                                : "rank 0 cannot use a GPU: "));
    RANK_CHECK_RC(gw_comm_barrier(self->comm, &error), 0);
    return 0;
}

static void rank_without_a_gpu_is_the_error_of_all_ranks(void **state)
{
    bool one_has_none = true;
    struct world world = {
        .hooks = &comm_host_hooks, .ranks = 3, .function = rank_refused, .context = &one_has_none};
    assert_int_equal(world_run(&world), 0);
    one_has_none = false; /* all have one, but the communicator does not reach them */
    assert_int_equal(world_run(&world), 0);
}

int main(void)
{
    make_samples(samples, sizeof samples / sizeof *samples, "abcabdacbb.a");
    make_samples(held_out, sizeof held_out / sizeof *held_out, "bacab");
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_on_gpus_has_the_losses_of_the_cpu),
        cmocka_unit_test(training_with_products_of_16_bits_has_the_losses_of_the_cpu),
        cmocka_unit_test(precision_that_does_not_exist_is_refused),
        cmocka_unit_test(rank_without_a_gpu_is_the_error_of_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
