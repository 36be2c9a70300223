/* The promise of the demo, on the real names if they are available: two ranks on two cores, trained
 * as in the demo, predict unseen names better than an interpolated trigram, and the names they
 * generate look like names. Prints what it measures. */
#include "tests/unit/gpu/comm_world.h"
#include "tests/unit/unit.h"

#include "examples/petnames/generate.h"
#include "examples/petnames/names.h"
#include "examples/petnames/train.h"
#include "examples/petnames/trigram.h"

#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

enum { RANKS = 2, MADE = 200 };

struct shared {
    double held_out, seconds, samples_per_s;
    char made[MADE][PET_NAME_MAX + 1];
};

struct run {
    struct pet_train_options options;
    struct shared *shared;
};

static int tell_epoch(void *user, const struct pet_train_progress *progress)
{
    print_message("epoch %.0f: loss %.3f, held out %.4f, %.0f samples/s, %.1f s, %.0f s left\n",
                  progress->epoch, progress->loss, progress->held_out_loss, progress->samples_per_s,
                  progress->seconds, progress->seconds_left);
    return 0;
}

static int train_rank(struct world_rank *self)
{
    const struct run *run = self->context;
    struct pet_train_options options = run->options;
    struct pet_train *train;
    struct gw_error error;
    options.on_epoch = self->rank == 0 ? tell_epoch : NULL;
    RANK_CHECK_RC(pet_train_new(&options, self->comm, &train, &error), 0);
    RANK_CHECK_RC(pet_train_run(train, &error), 0);
    const struct pet_train_progress *progress = pet_train_progress(train);
    if (self->rank == 0) {
        const struct pet_generate_options draw = {.count = MADE, .temperature = 0.8, .seed = 1};
        run->shared->held_out = progress->held_out_loss;
        run->shared->seconds = progress->seconds;
        run->shared->samples_per_s = progress->samples_per_s;
        RANK_CHECK_RC(pet_generate(pet_train_model(train), pet_train_parameters(train), &draw,
                                   run->shared->made, &error),
                      0);
    }
    pet_train_free(train);
    return 0;
}

static double trigram_loss(const struct pet_names *names, enum pet_names_part part,
                           const struct run *run)
{
    uint64_t *samples;
    size_t count;
    struct pet_trigram *trigram = malloc(sizeof *trigram);
    assert_int_equal(pet_names_samples(names, part, &samples, &count, NULL), 0);
    pet_trigram_init(trigram, samples, count);
    double loss = pet_trigram_loss(trigram, run->options.held_out, run->options.held_out_count);
    free(samples);
    free(trigram);
    return loss;
}

static void demo_model_predicts_unseen_names_better_than_a_trigram(void **state)
{
    const char *path = getenv("GANGWAY_PETNAMES");
    const struct pet_names_options source = {
        .data = path ? path : PET_SOURCE_DIR "/../shared/data/seattle_pet_names.txt.gz"};
    struct pet_names *names;
    struct run run = {.options = {.seed = 1}};
    uint64_t *samples, *held_out;
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
    skip(); /* takes minutes with sanitizers; the release build runs it */
#endif
    if (access(source.data, R_OK) < 0)
        skip();
    assert_int_equal(pet_names_load(&source, &names, NULL), 0);
    assert_int_equal(pet_train_defaults(&run.options, "demo", RANKS, NULL), 0);
    assert_int_equal(
        pet_names_samples(names, PET_TRAIN_ROOT, &samples, &run.options.sample_count, NULL), 0);
    assert_int_equal(
        pet_names_samples(names, PET_HELD_OUT, &held_out, &run.options.held_out_count, NULL), 0);
    run.options.samples = samples;
    run.options.held_out = held_out;
    run.shared =
        mmap(NULL, sizeof *run.shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    struct world world = {
        .hooks = &comm_host_hooks, .ranks = RANKS, .function = train_rank, .context = &run};
    assert_int_equal(world_run(&world), 0);

    double by_count = trigram_loss(names, PET_TRAIN_COUNT, &run);
    double by_root = trigram_loss(names, PET_TRAIN_ROOT, &run);
    const struct shared *shared = run.shared;
    print_message("held out %.4f nats; trigram %.4f, on the same samples %.4f; %.1f s, %.0f/s\n",
                  shared->held_out, by_count, by_root, shared->seconds, shared->samples_per_s);
    assert_true(shared->held_out < by_count - 0.05);
    assert_true(shared->held_out < by_root - 0.05);

    size_t known = 0, letters = 0;
    for (size_t i = 0; i < MADE; i++) {
        known += pet_names_find(names, shared->made[i]) != NULL;
        letters += strlen(shared->made[i]);
    }
    print_message("made %s, %s, %s, %s, %s; %zu of %d are real names\n", shared->made[0],
                  shared->made[1], shared->made[2], shared->made[3], shared->made[4], known, MADE);
    assert_in_range(known, MADE / 20, MADE * 19 / 20);
    assert_in_range(letters, 3 * MADE, 9 * MADE);
    munmap(run.shared, sizeof *run.shared);
    free(held_out);
    free(samples);
    pet_names_free(names);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(demo_model_predicts_unseen_names_better_than_a_trigram),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
