/* The training loop: several ranks together compute what one rank computes with the whole batch, a
 * run resumes from a checkpoint as if it had never stopped, and callbacks receive the progress. */
#include "tests/unit/gpu/comm_world.h"
#include "tests/unit/unit.h"

#include "examples/petnames/train.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

enum { STEPS = 50, BATCH = 128, RANKS = 4, HIDDEN = 24, SAMPLES_MAX = 4096 };

/* The results of a run, in memory shared by all processes. */
struct result {
    double losses[STEPS];
    double held_out;
    uint64_t parameters[RANKS]; /* a hash of each rank's parameters */
};

struct run {
    struct pet_train_options options;
    const struct gw_checkpoint *from; /* NULL: the run begins at step 0 */
    struct result *result;
};

/* --- data: names over few letters, so that 50 steps teach much --- */

static uint64_t samples[SAMPLES_MAX], held_out[64];
static size_t sample_count, held_out_count;

static size_t add_name(uint64_t *to, const char *name)
{
    uint64_t window = pet_window_blank();
    size_t length = strlen(name);
    for (size_t i = 0; i < length; i++) {
        to[i] = pet_sample(window, pet_symbol(name[i]));
        window = pet_window_push(window, pet_symbol(name[i]));
    }
    to[length] = pet_sample(window, PET_END);
    return length + 1;
}

static void make_data(void)
{
    static const char *const names[] = {"abba", "baba", "bab",  "abab", "cab",  "caba",
                                        "bac",  "acab", "cacb", "baca", "abca", "cc"};
    for (int copy = 0; copy < 40; copy++)
        for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
            sample_count += add_name(samples + sample_count, names[i]);
    held_out_count = add_name(held_out, "abac");
    held_out_count += add_name(held_out + held_out_count, "caca");
    held_out_count += add_name(held_out + held_out_count, "bb");
}

static struct pet_train_options run_options(void)
{
    return (struct pet_train_options){
        .hidden = HIDDEN,
        .batch = BATCH,
        .lr = 0.01,
        .steps = STEPS,
        .seed = 3,
        .samples = samples,
        .sample_count = sample_count,
        .held_out = held_out,
        .held_out_count = held_out_count,
    };
}

/* --- runs --- */

static uint64_t hash_of(const struct pet_train *train)
{
    const float *parameters = pet_train_parameters(train);
    uint64_t hash = 0;
    for (size_t i = 0; i < pet_train_model(train)->parameter_count; i++) {
        uint32_t bits;
        memcpy(&bits, &parameters[i], sizeof bits);
        hash = (hash ^ bits) * UINT64_C(0x100000001b3);
    }
    return hash;
}

static int train_rank(struct world_rank *self)
{
    const struct run *run = self->context;
    struct pet_train *train;
    struct gw_error error;
    RANK_CHECK_RC(pet_train_new(&run->options, self->comm, &train, &error), 0);
    if (run->from)
        RANK_CHECK_RC(pet_train_restore(train, run->from, &error), 0);
    for (int64_t step = pet_train_progress(train)->step; step < STEPS; step++) {
        RANK_CHECK_RC(pet_train_step(train, &error), 0);
        if (self->rank == 0)
            run->result->losses[step] = pet_train_progress(train)->loss;
    }
    RANK_CHECK_RC(pet_train_step(train, &error), GW_EINVAL);
    double loss;
    RANK_CHECK_RC(pet_train_evaluate(train, &loss, &error), 0);
    if (self->rank == 0)
        run->result->held_out = loss;
    run->result->parameters[self->rank] = hash_of(train);
    pet_train_free(train);
    return 0;
}

static struct result *train_from(const struct gw_checkpoint *from, int ranks,
                                 struct pet_train_options options)
{
    struct run run = {.options = options, .from = from};
    run.result =
        mmap(NULL, sizeof *run.result, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(run.result != MAP_FAILED);
    struct world world = {
        .hooks = &comm_host_hooks, .ranks = ranks, .function = train_rank, .context = &run};
    assert_int_equal(world_run(&world), 0);
    return run.result;
}

static struct result *train(int ranks, int64_t fault_step)
{
    struct pet_train_options options = run_options();
    options.fault_step = fault_step;
    return train_from(NULL, ranks, options);
}

static void forget(struct result *result)
{
    munmap(result, sizeof *result);
}

/* The largest relative difference of the losses per step, from a step on. */
static double difference_from(int step, const struct result *a, const struct result *b)
{
    double largest = 0;
    for (; step < STEPS; step++)
        largest = fmax(largest, fabs(a->losses[step] - b->losses[step]) / a->losses[step]);
    return largest;
}

static double difference(const struct result *a, const struct result *b)
{
    return difference_from(0, a, b);
}

static void training_on_four_ranks_matches_a_single_rank(void **state)
{
    struct result *one = train(1, 0), *four = train(RANKS, 0);
    print_message("loss %.3f to %.3f, ranks differ from one by %.1e\n", one->losses[0],
                  one->losses[STEPS - 1], difference(one, four));
    assert_true(one->losses[STEPS - 1] < 0.7 * one->losses[0]);
    assert_true(difference(one, four) < 1e-4);
    assert_true(fabs(one->held_out - four->held_out) < 1e-4 * one->held_out);
    for (int rank = 1; rank < RANKS; rank++)
        assert_true(four->parameters[rank] == four->parameters[0]);
    forget(one);
    forget(four);
}

/* 128 samples on 3 ranks: two have 43, and one has 42. */
static void uneven_batch_counts_each_sample_once(void **state)
{
    struct result *one = train(1, 0), *three = train(3, 0);
    assert_true(difference(one, three) < 1e-4);
    forget(one);
    forget(three);
}

/* This proves that the test above detects a gradient that is not reduced once, anywhere in the
 * run. */
static void skipped_reduction_makes_the_ranks_differ(void **state)
{
    struct result *one = train(1, 0);
    for (int64_t fault = 1; fault <= 41; fault += 20) {
        struct result *four = train(RANKS, fault);
        assert_true(difference(one, four) > 1e-4);
        assert_true(four->parameters[1] != four->parameters[0]);
        forget(four);
    }
    forget(one);
}

/* --- one rank in this process --- */

static struct gw_comm *open_alone(void)
{
    struct gw_comm *comm;
    int fd;
    assert_int_equal(gw_comm_segment_create(1, &fd, NULL), 0);
    const struct gw_comm_host_options options =
        GW_INIT(gw_comm_host_options, .fd = fd, .rank = 0, .ranks = 1);
    assert_int_equal(gw_comm_open_host(&options, &comm, NULL), 0);
    comm_host_hooks.destroy(fd);
    return comm;
}

static void restored_training_continues_with_equal_results(void **state)
{
    struct gw_comm *comm = open_alone();
    struct pet_train_options options = run_options();
    struct pet_train *whole, *first, *second;
    struct gw_error error;
    assert_int_equal(pet_train_new(&options, comm, &whole, &error), 0);
    assert_int_equal(pet_train_new(&options, comm, &first, &error), 0);
    for (int step = 0; step < STEPS; step++)
        assert_int_equal(pet_train_step(whole, &error), 0);
    for (int step = 0; step < 20; step++) /* an epoch has 17 steps */
        assert_int_equal(pet_train_step(first, &error), 0);

    struct gw_checkpoint *checkpoint = gw_checkpoint_new();
    assert_int_equal(pet_train_store(first, checkpoint, &error), 0);
    assert_int_equal(pet_train_store(first, checkpoint, &error), GW_EEXIST);
    options.hidden++;
    assert_int_equal(pet_train_new(&options, comm, &second, &error), 0);
    assert_int_equal(pet_train_restore(second, checkpoint, &error), GW_EMISMATCH);
    assert_non_null(strstr(error.text, "24 hidden units"));
    pet_train_free(second);
    options.hidden--;
    assert_int_equal(pet_train_new(&options, comm, &second, &error), 0);
    assert_int_equal(pet_train_restore(second, checkpoint, &error), 0);
    assert_int_equal(pet_train_progress(second)->step, 20);
    assert_int_equal(pet_train_run(second, &error), 0);
    assert_int_equal(pet_train_progress(second)->step, STEPS);
    assert_true(hash_of(second) == hash_of(whole));

    struct pet_model model;
    pet_real *parameters;
    assert_int_equal(pet_train_read_model(checkpoint, &model, &parameters, &error), 0);
    assert_int_equal(model.hidden, HIDDEN);
    assert_memory_equal(parameters, pet_train_parameters(first),
                        model.parameter_count * sizeof *parameters);
    free(parameters);
    struct gw_checkpoint *foreign = gw_checkpoint_new();
    assert_int_equal(gw_checkpoint_set_i64(foreign, "step", 1), 0);
    assert_int_equal(pet_train_read_model(foreign, &model, &parameters, &error), GW_ECORRUPT);
    assert_int_equal(pet_train_restore(second, foreign, &error), GW_ECORRUPT);
    gw_checkpoint_free(foreign);
    gw_checkpoint_free(checkpoint);
    pet_train_free(second);
    pet_train_free(first);
    pet_train_free(whole);
    gw_comm_close(comm);
}

/* In the middle of an epoch, on more ranks than before. */
static void another_number_of_ranks_continues_with_equal_results(void **state)
{
    struct gw_comm *comm = open_alone();
    struct pet_train_options options = run_options();
    struct pet_train *first;
    struct gw_error error;
    struct result *whole = train(1, 0);
    assert_int_equal(pet_train_new(&options, comm, &first, &error), 0);
    for (int step = 0; step < 20; step++)
        assert_int_equal(pet_train_step(first, &error), 0);
    struct gw_checkpoint *checkpoint = gw_checkpoint_new();
    assert_int_equal(pet_train_store(first, checkpoint, &error), 0);
    options.seed++; /* the order is that of the checkpoint */
    struct result *three = train_from(checkpoint, 3, options);
    print_message("3 ranks differ from one by %.1e\n", difference_from(20, whole, three));
    assert_true(difference_from(20, whole, three) < 1e-4);
    forget(three);
    gw_checkpoint_free(checkpoint);
    pet_train_free(first);
    forget(whole);
    gw_comm_close(comm);
}

/* With a larger batch the rest of the epoch has fewer steps, and no sample is used twice. */
static void another_batch_continues_in_the_middle_of_the_epoch(void **state)
{
    struct gw_comm *comm = open_alone();
    struct pet_train_options options = run_options();
    struct pet_train *first, *second;
    struct gw_error error;
    options.steps = 0;
    options.epochs = 2;
    assert_int_equal(pet_train_new(&options, comm, &first, &error), 0);
    const int64_t per_epoch = pet_train_progress(first)->steps_per_epoch;
    for (int64_t step = 0; step < per_epoch - 4; step++)
        assert_int_equal(pet_train_step(first, &error), 0);
    struct gw_checkpoint *checkpoint = gw_checkpoint_new();
    assert_int_equal(pet_train_store(first, checkpoint, &error), 0);
    options.batch *= 2;
    assert_int_equal(pet_train_new(&options, comm, &second, &error), 0);
    assert_int_equal(pet_train_restore(second, checkpoint, &error), 0);
    assert_int_equal(pet_train_progress(second)->steps, per_epoch - 4 + 2 + per_epoch / 2);
    assert_int_equal(pet_train_run(second, &error), 0);
    assert_true(fabs(pet_train_progress(second)->epoch - 2) < 1e-9);
    gw_checkpoint_free(checkpoint);
    pet_train_free(second);
    pet_train_free(first);
    gw_comm_close(comm);
}

struct told {
    int steps, epochs, stop_at;
    double loss_sum, mean, held_out[8];
    struct pet_train_progress last;
};

static int told_step(void *user, const struct pet_train_progress *progress)
{
    struct told *told = user;
    told->steps++;
    told->loss_sum += progress->loss;
    told->last = *progress;
    assert_int_equal(progress->step, told->steps);
    return told->steps == told->stop_at ? 7 : 0;
}

static int told_epoch(void *user, const struct pet_train_progress *progress)
{
    struct told *told = user;
    if (told->epochs == 0) {
        assert_int_equal(told->steps, progress->steps_per_epoch);
        assert_true(fabs(progress->loss - told->loss_sum / told->steps) < 1e-9);
    }
    told->held_out[told->epochs++] = progress->held_out_loss;
    return 0;
}

static void training_calls_the_callback_at_each_step_and_epoch(void **state)
{
    struct gw_comm *comm = open_alone();
    struct told told = {0};
    struct pet_train_options options = run_options();
    struct pet_train *train;
    struct gw_error error;
    options.steps = 0;
    options.epochs = 3;
    options.on_step = told_step;
    options.on_epoch = told_epoch;
    options.user = &told;
    assert_int_equal(pet_train_new(&options, comm, &train, &error), 0);
    assert_int_equal(pet_train_run(train, &error), 0);
    const int per_epoch = (int)(sample_count / BATCH);
    assert_int_equal(told.steps, 3 * per_epoch);
    assert_int_equal(told.epochs, 3);
    assert_int_equal(told.last.steps, 3 * per_epoch);
    assert_true(told.last.epoch == 3);
    assert_true(told.held_out[2] < told.held_out[0]);
    assert_true(told.last.samples_per_s > 0 && told.last.seconds > 0);
    assert_true(told.last.seconds_left == 0);
    assert_true(told.last.lr >= 0 && told.last.lr < 0.001); /* the end of the cosine */
    pet_train_free(train);

    told = (struct told){.stop_at = per_epoch + 2};
    assert_int_equal(pet_train_new(&options, comm, &train, &error), 0);
    assert_int_equal(pet_train_run(train, &error), 7);
    assert_int_equal(told.steps, per_epoch + 2);
    assert_int_equal(told.epochs, 1);
    assert_true(told.last.seconds_left > 0);
    pet_train_free(train);
    gw_comm_close(comm);
}

static void check_refused(struct gw_comm *comm, struct pet_train_options options, const char *words)
{
    struct pet_train *train = NULL;
    struct gw_error error = {0};
    assert_int_equal(pet_train_new(&options, comm, &train, &error), GW_EINVAL);
    assert_null(train);
    if (!strstr(error.text, words))
        fail_msg("\"%s\" lacks \"%s\"", error.text, words);
}

static void training_refuses_invalid_options(void **state)
{
    struct gw_comm *comm = open_alone();
    struct pet_train_options options = run_options();
    options.batch = 0;
    check_refused(comm, options, "batch 0");
    options.batch = sample_count + 1;
    check_refused(comm, options, "do not fill one batch");
    options = run_options();
    options.lr = -1;
    check_refused(comm, options, "learning rate -1");
    options = run_options();
    options.hidden = 0;
    check_refused(comm, options, "0 hidden units");
    options.size = "tiny";
    check_refused(comm, options, "no size \"tiny\"");
    options = run_options();
    options.steps = 0;
    check_refused(comm, options, "0 epochs");

    struct gw_error error;
    assert_int_equal(pet_train_defaults(&options, "demo", 2, &error), 0);
    assert_string_equal(options.size, "demo");
    assert_int_equal(options.batch, 512);
    assert_int_equal(pet_train_defaults(&options, "demo", 3, &error), 0);
    assert_int_equal(options.batch, 510);
    assert_int_equal(pet_train_defaults(&options, "tiny", 4, &error), GW_EINVAL);
    gw_comm_close(comm);
}

int main(void)
{
    make_data();
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_on_four_ranks_matches_a_single_rank),
        cmocka_unit_test(uneven_batch_counts_each_sample_once),
        cmocka_unit_test(another_number_of_ranks_continues_with_equal_results),
        cmocka_unit_test(another_batch_continues_in_the_middle_of_the_epoch),
        cmocka_unit_test(skipped_reduction_makes_the_ranks_differ),
        cmocka_unit_test(restored_training_continues_with_equal_results),
        cmocka_unit_test(training_calls_the_callback_at_each_step_and_epoch),
        cmocka_unit_test(training_refuses_invalid_options),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
