/* What Gangway adds to a training step on the CPU, with the pet-names model on batches that share
 * no beginnings. All figures are medians of rounds that alternate what is compared. Comparisons in
 * one thread are in processor time, so that other work of the machine counts less.
 *
 *     train_bench [--quick | --bars]
 *
 * Rows: a step with DDP of world 1 beside a plain loop (bar 1.01); two ranks beside one (bar 97% of
 * double); a step beside its matrix products alone (bar 1.15); the stall of a save in the
 * background beside a save (bar 5%). The last line begins with "parity". With --bars, the program
 * ends with 1 if a bar is missed, or with 77 if other work keeps the cores busy. */
#include "examples/petnames/model.h"
#include "tests/bench/timing.h"

#include <gangway/checkpoint_writer.h>
#include <gangway/ddp.h>
#include <gangway/optimizer.h>
#include <gangway/rng.h>
#include <limits.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>

enum { ROUNDS_MAX = 64 };

char *openblas_get_corename(void);

static struct gw_error error;
static int rounds = 21;
static size_t samples = 256;

/* A rank's training without ranks, or with DDP. */
struct training {
    struct pet_model model;
    struct pet_batch *batch;
    struct pet_workspace *workspace;
    struct gw_optimizer *optimizer;
    struct gw_ddp *ddp; /* NULL: a plain loop */
    pet_real *weights, *gradients[PET_TENSORS];
};

static void *must_alloc(size_t bytes)
{
    void *memory = calloc(1, bytes);
    if (!memory)
        abort();
    return memory;
}

static void batch_make(struct training *training)
{
    uint64_t *list = must_alloc(samples * sizeof *list);
    struct gw_rng rng;
    gw_rng_init(&rng, 3);
    for (size_t i = 0; i < samples; i++) {
        for (int k = 0; k < PET_CONTEXT; k++)
            list[i] = list[i] << PET_SYMBOL_BITS | gw_rng_below(&rng, PET_INPUTS);
        list[i] = list[i] << PET_SYMBOL_BITS | gw_rng_below(&rng, PET_LABELS);
    }
    timing_must(pet_batch_new(samples, &training->batch, &error), &error);
    pet_batch_build(training->batch, list, samples);
    free(list);
}

static void training_init(struct training *training, struct gw_comm *comm)
{
    const struct gw_optimizer_options adam = gw_optimizer_adam(1e-3);
    struct gw_ddp_param params[PET_TENSORS] = {{0}};
    struct gw_optimizer_tensor tensors[PET_TENSORS] = {{0}};
    *training = (struct training){0};
    timing_must(pet_model_init(&training->model, "article", &error), &error);
    training->weights = must_alloc(training->model.parameter_count * sizeof(pet_real));
    pet_model_randomise(&training->model, 1, training->weights);
    timing_must(pet_workspace_new(&training->model, samples, &training->workspace, &error), &error);
    batch_make(training);
    for (size_t t = 0; t < PET_TENSORS; t++) {
        const struct pet_tensor *tensor = &training->model.tensors[t];
        params[t] = (struct gw_ddp_param){.data = training->weights + tensor->offset,
                                          .dtype = GW_DTYPE_F32,
                                          .dims = 1,
                                          .shape = {tensor->count}};
    }
    if (comm)
        timing_must(
            gw_ddp_open(GW_DDP_OPTIONS(.comm = comm, .params = params, .params_count = PET_TENSORS),
                        &training->ddp, &error),
            &error);
    for (size_t t = 0; t < PET_TENSORS; t++) {
        const size_t count = training->model.tensors[t].count;
        training->gradients[t] =
            comm ? gw_ddp_gradient(training->ddp, t) : must_alloc(count * sizeof(pet_real));
        tensors[t] = (struct gw_optimizer_tensor){
            .data = params[t].data, .gradient = training->gradients[t], .count = count};
    }
    timing_must(gw_optimizer_new(&adam, tensors, PET_TENSORS, &training->optimizer, &error),
                &error);
}

static void training_deinit(struct training *training)
{
    gw_optimizer_free(training->optimizer);
    for (size_t t = 0; t < PET_TENSORS && !training->ddp; t++)
        free(training->gradients[t]);
    gw_ddp_close(training->ddp);
    pet_batch_free(training->batch);
    pet_workspace_free(training->workspace);
    free(training->weights);
}

static void on_gradient(void *user, int tensor)
{
    timing_must(gw_ddp_ready(user, (size_t)tensor, &error), &error);
}

static void step(struct training *training)
{
    struct gw_ddp *ddp = training->ddp;
    if (ddp)
        timing_must(gw_ddp_begin(ddp, true, &error), &error);
    (void)pet_model_forward(&training->model, training->weights, training->batch,
                            training->workspace);
    pet_model_backward(&training->model, training->weights, training->batch, training->workspace,
                       training->gradients, ddp ? on_gradient : NULL, ddp);
    if (ddp)
        timing_must(gw_ddp_finish(ddp, &error), &error);
    timing_must(gw_optimizer_step(training->optimizer, &error), &error);
}

static double median(double *times, int count)
{
    qsort(times, (size_t)count, sizeof *times, timing_compare);
    return times[count / 2];
}

/* Processor time of this thread. */
static double busy_now_us(void)
{
    struct timespec now;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    return (double)now.tv_sec * 1e6 + (double)now.tv_nsec * 1e-3;
}

static double step_time(struct training *training, double (*now_us)(void))
{
    const double before = now_us();
    step(training);
    return now_us() - before;
}

/* -- Matrix products --------------------------------------------------------------------------- */

/* The products of a step, recorded as the model calls them: the linker gives it this function in
 * place of OpenBLAS's. So what is measured alone has the shapes and the memory of the step. */
struct product {
    CBLAS_TRANSPOSE a_side, b_side;
    int m, n, k, lda, ldb, ldc;
    float alpha, beta;
    const float *a, *b;
    float *c;
};

static struct product products[256];
static size_t products_count;
static bool is_recorded;

void __real_cblas_sgemm(CBLAS_ORDER, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, float,
                        const float *, int, const float *, int, float, float *, int);
void __wrap_cblas_sgemm(CBLAS_ORDER, CBLAS_TRANSPOSE, CBLAS_TRANSPOSE, int, int, int, float,
                        const float *, int, const float *, int, float, float *, int);

void __wrap_cblas_sgemm(CBLAS_ORDER order, CBLAS_TRANSPOSE a_side, CBLAS_TRANSPOSE b_side, int m,
                        int n, int k, float alpha, const float *a, int lda, const float *b, int ldb,
                        float beta, float *c, int ldc)
{
    if (is_recorded) {
        if (order != CblasRowMajor || products_count == sizeof products / sizeof *products)
            abort();
        products[products_count++] =
            (struct product){a_side, b_side, m, n, k, lda, ldb, ldc, alpha, beta, a, b, c};
    }
    __real_cblas_sgemm(order, a_side, b_side, m, n, k, alpha, a, lda, b, ldb, beta, c, ldc);
}

static double measure_products(struct training *training)
{
    double steps[ROUNDS_MAX], alone[ROUNDS_MAX];
    is_recorded = true;
    step(training);
    is_recorded = false;
    for (int i = 0; i < rounds; i++) {
        steps[i] = step_time(training, busy_now_us);
        const double before = busy_now_us();
        for (const struct product *p = products; p < products + products_count; p++)
            __real_cblas_sgemm(CblasRowMajor, p->a_side, p->b_side, p->m, p->n, p->k, p->alpha,
                               p->a, p->lda, p->b, p->ldb, p->beta, p->c, p->ldc);
        alone[i] = busy_now_us() - before;
    }
    const double ratio = median(steps, rounds) / median(alone, rounds);
    printf("a step without shared beginnings: %.1f ms, its %zu products alone %.1f ms: %.3f (bar "
           "1.15)\n",
           median(steps, rounds) / 1e3, products_count, median(alone, rounds) / 1e3, ratio);
    return ratio;
}

/* -- Ranks ------------------------------------------------------------------------------------- */

static struct gw_comm *comm_open(int fd, int rank, int ranks)
{
    struct gw_comm *comm;
    const struct gw_comm_host_options options =
        GW_INIT(gw_comm_host_options, .fd = fd, .rank = rank, .ranks = ranks);
    timing_must(gw_comm_open_host(&options, &comm, &error), &error);
    return comm;
}

static double measure_world_of_one(struct training *plain)
{
    struct training ddp;
    double times[2][ROUNDS_MAX];
    int fd;
    timing_must(gw_comm_segment_create(1, &fd, &error), &error);
    struct gw_comm *comm = comm_open(fd, 0, 1);
    training_init(&ddp, comm);
    for (int i = -1; i < rounds; i++)
        for (int k = 0; k < 2; k++) {
            const double us = step_time(k ? &ddp : plain, busy_now_us);
            if (i >= 0)
                times[k][i] = us;
        }
    const double ratio = median(times[1], rounds) / median(times[0], rounds);
    training_deinit(&ddp);
    gw_comm_close(comm);
    printf("a step of DDP, world 1: %.2f ms, plain loop %.2f ms: %.4f (bar 1.01)\n",
           times[1][rounds / 2] / 1e3, times[0][rounds / 2] / 1e3, ratio);
    return ratio;
}

/* Of each round and rank. */
struct shared {
    double together[2][ROUNDS_MAX]; /* both with DDP */
    double apart[2][ROUNDS_MAX];    /* both at the same time, without communication */
    double alone[ROUNDS_MAX];       /* rank 0, while rank 1 sleeps */
};

static void pin(int processor)
{
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(processor, &set);
    (void)sched_setaffinity(0, sizeof set, &set);
}

/* Two steps, of which the second is measured: the first one after a sleep finds other data in the
 * cache. */
static double second_step_time(struct training *training, struct gw_comm *comm)
{
    double us = 0;
    for (int i = 0; i < 2; i++) {
        if (comm)
            timing_must(gw_comm_barrier(comm, &error), &error);
        us = step_time(training, timing_now_us);
    }
    return us;
}

static void rank_run(struct shared *shared, int fd, int rank)
{
    struct training ddp, plain;
    pin(rank);
    struct gw_comm *comm = comm_open(fd, rank, 2);
    training_init(&ddp, comm);
    training_init(&plain, NULL);
    for (int i = 0; i < rounds; i++) {
        shared->together[rank][i] = second_step_time(&ddp, comm);
        shared->apart[rank][i] = second_step_time(&plain, comm);
        timing_must(gw_comm_barrier(comm, &error), &error);
        if (rank == 0)
            shared->alone[i] = second_step_time(&plain, NULL);
    }
    _exit(0);
}

/* Two ranks, each with a processor, beside one of them alone. Two processes that do not communicate
 * show what the machine allows: a step of both is as long as that of the slower one. */
static double measure_two_ranks(void)
{
    struct shared *shared =
        mmap(NULL, sizeof *shared, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int fd, status;
    if (shared == MAP_FAILED)
        abort();
    timing_must(gw_comm_segment_create(2, &fd, &error), &error);
    for (int rank = 0; rank < 2; rank++)
        if (fork() == 0)
            rank_run(shared, fd, rank);
    while (wait(&status) > 0)
        if (status != 0)
            exit(1);
    double *apart = shared->apart[0];
    for (int i = 0; i < rounds; i++)
        apart[i] = apart[i] > shared->apart[1][i] ? apart[i] : shared->apart[1][i];
    const double together = median(shared->together[0], rounds);
    const double alone = median(shared->alone, rounds), ceiling = median(apart, rounds);
    printf("two ranks: %.1f ms a step, one alone %.1f ms: %.1f%% of double (bar 97%%); two "
           "processes that do not communicate: %.1f ms, %.1f%%\n",
           together / 1e3, alone / 1e3, 100 * alone / together, ceiling / 1e3,
           100 * alone / ceiling);
    return alone / together;
}

/* -- Checkpoints ------------------------------------------------------------------------------- */

static double measure_save(struct training *training, size_t bytes)
{
    char folder[] = "/tmp/gangway-train-bench-XXXXXX", path[PATH_MAX], command[PATH_MAX];
    double stalls[ROUNDS_MAX], copies[ROUNDS_MAX], saves[ROUNDS_MAX];
    struct gw_checkpoint_writer *writer;
    struct gw_checkpoint *set = gw_checkpoint_new();
    const int count = rounds < 9 ? rounds : 9;
    char *memory = must_alloc(bytes);
    memset(memory, 7, bytes);
    if (!set || !mkdtemp(folder))
        abort();
    timing_must(gw_checkpoint_set_bytes(set, "weights", memory, bytes), &error);
    (void)snprintf(path, sizeof path, "%s/background", folder);
    timing_must(
        gw_checkpoint_writer_open(GW_CHECKPOINT_WRITER_OPTIONS(.path = path), &writer, &error),
        &error);
    for (int i = 0; i < count; i++) {
        double before = timing_now_us();
        timing_must(gw_checkpoint_writer_start(writer, set, (uint64_t)i, i, &error), &error);
        stalls[i] = timing_now_us() - before;
        step(training); /* the next forward and backward pass */
        before = timing_now_us();
        gw_checkpoint_writer_copied(writer);
        stalls[i] += timing_now_us() - before;
        timing_must(gw_checkpoint_writer_wait(writer, &error), &error);
        before = timing_now_us();
        timing_must(gw_checkpoint_writer_save(writer, set, (uint64_t)i, i, &error), &error);
        copies[i] = timing_now_us() - before;
        timing_must(gw_checkpoint_writer_wait(writer, &error), &error);
        (void)snprintf(path, sizeof path, "%s/save", folder);
        before = timing_now_us();
        timing_must(gw_checkpoint_file_write(set, path, &error), &error);
        saves[i] = timing_now_us() - before;
    }
    timing_must(gw_checkpoint_writer_close(writer, &error), &error);
    gw_checkpoint_free(set);
    free(memory);
    (void)snprintf(command, sizeof command, "rm -r %s", folder);
    if (system(command) != 0)
        abort();
    const double stall = median(stalls, count), save = median(saves, count);
    const double copy = median(copies, count);
    printf("a save of %zu MB in the background stalls %.2f ms, a save %.0f ms: %.2f%% (bar 5%%)\n",
           bytes >> 20, stall / 1e3, save / 1e3, 100 * stall / save);
    printf("gw_checkpoint_writer_save, which waits for the copy: %.2f ms, %.2f%%\n", copy / 1e3,
           100 * copy / save);
    return stall / save;
}

static int missed(const char *row, bool misses)
{
    if (misses)
        printf("the bar is missed: %s\n", row);
    return misses;
}

int main(int argc, char **argv)
{
    struct training plain;
    double load = 0;
    const bool quick = argc > 1 && strcmp(argv[1], "--quick") == 0;
    if (quick) {
        rounds = 3;
        samples = 16;
    }
    training_init(&plain, NULL);
    const double world = measure_world_of_one(&plain);
    const double products_ratio = measure_products(&plain);
    const double ranks = measure_two_ranks();
    const double stall = measure_save(&plain, quick ? 1 << 20 : 64 << 20);
    training_deinit(&plain);
    (void)getloadavg(&load, 1);
    printf(
        "parity training: DDP of one %.4f, products %.3f, two ranks %.1f%%, save %.2f%%; OpenBLAS "
        "for %s, load %.1f\n",
        world, products_ratio, 100 * ranks, 100 * stall, openblas_get_corename(), load);
    if (__builtin_cpu_supports("avx512f") && strcmp(openblas_get_corename(), "Haswell") == 0)
        printf("OpenBLAS does not use AVX-512: set OPENBLAS_CORETYPE=SkylakeX\n");
    if (argc < 2 || strcmp(argv[1], "--bars") != 0)
        return 0;
    if (load > 2 * (double)sysconf(_SC_NPROCESSORS_ONLN)) {
        printf("no bar is judged: the machine has other work\n");
        return 77;
    }
    return missed("DDP of one", world > 1.01) | missed("products", products_ratio > 1.15) |
           missed("two ranks", ranks < .97) | missed("save", stall > .05);
}
