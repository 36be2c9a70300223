/* Tasks with several GPUs a rank (gw_task_gpus_run), as gangs of processes. Each process is a host
 * of its own for NCCL, as in nccl_hooks.c, so that two GPUs are enough for all. With one GPU a rank
 * has only this one, and the program ends with 77. */
#include "tests/unit/gpu/comm_world.h"
#include "worker/runner/task.h"

#include <cuda_runtime_api.h>
#include <gangway/ddp.h>
#include <gangway/optimizer.h>
#include <gangway/sampler.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

void nccl_environment(int rank);

static int two = 2; /* GPUs a rank, if there are so many */

enum { FEATURES = 37, SAMPLES = 128, GLOBAL_BATCH = 16, EPOCHS = 3, LEFT_OUT = 77 };

/* -- Tasks ---------------------------------------------------------------------------------------
 */

static void hook_alive(void *arg)
{
    (void)arg;
}

static int hook_control(void *arg)
{
    (void)arg;
    return GW_CONTINUE;
}

static const struct gw_task_hooks hooks = {.alive = hook_alive, .control = hook_control};

/* Makes a task of this rank, which has this many GPUs. */
static void task_init(struct gw_task *task, const struct world_rank *self, int gpus)
{
    char list[512] = "";
    nccl_environment(self->rank);
    for (int i = 0; i < gpus; i++)
        (void)snprintf(list + strlen(list), sizeof list - strlen(list), "%s%d", i > 0 ? "," : "",
                       i);
    (void)setenv("CUDA_VISIBLE_DEVICES", list, 1);
    gw_task_init(task);
    task->comm = self->comm;
    task->rank = (uint32_t)self->rank;
    task->world = (uint32_t)self->ranks;
    task->hooks = &hooks;
}

static void task_deinit(struct gw_task *task)
{
    task->comm = NULL; /* the world closes it */
    gw_task_deinit(task);
}

static void run(int ranks, world_function *function, void *context)
{
    struct world world = {
        .hooks = &comm_host_hooks, .ranks = ranks, .function = function, .context = context};
    assert_int_equal(world_run(&world), 0);
}

/* -- Training ------------------------------------------------------------------------------------
 */

struct training {
    int gpus;                 /* of each rank */
    double weights[FEATURES]; /* what rank 0 has at the end */
};

static double feature(int64_t sample, int k)
{
    return sin((double)(sample * 31 + k * 7));
}

/* The mean gradient of squared errors over samples of this rank, from `first` on. */
static void gradient_of(const double weights[FEATURES], const struct gw_sampler *sampler,
                        int64_t first, int64_t count, double gradient[FEATURES])
{
    memset(gradient, 0, FEATURES * sizeof *gradient);
    for (int64_t i = first; i < first + count; i++) {
        const int64_t sample = gw_sampler_index(sampler, i);
        double error = -cos((double)sample * 0.3) - 0.5;
        for (int k = 0; k < FEATURES; k++)
            error += weights[k] * feature(sample, k);
        for (int k = 0; k < FEATURES; k++)
            gradient[k] += 2 * error * feature(sample, k) / (double)count;
    }
}

struct trainer {
    struct gw_ddp *ddp;
    struct gw_optimizer *optimizer;
    struct gw_sampler *sampler;
    cudaStream_t stream;
    double *weights; /* on the device */
    double host[FEATURES];
};

static int trainer_open(struct trainer *t, struct gw_comm *comm, struct gw_error *error)
{
    if (cudaStreamCreateWithFlags(&t->stream, cudaStreamNonBlocking) != cudaSuccess)
        return gw_error_set(error, GW_EDEVICE, "no stream");
    int rc = gw_comm_alloc(comm, sizeof t->host, (void **)&t->weights, error);
    for (int k = 0; k < FEATURES; k++)
        t->host[k] = gw_comm_rank(comm) + 1; /* those of rank 0 are taken */
    if (rc == 0 &&
        cudaMemcpy(t->weights, t->host, sizeof t->host, cudaMemcpyDefault) != cudaSuccess)
        return gw_error_set(error, GW_EDEVICE, "no copy");
    const struct gw_ddp_param param = {
        .name = "w", .data = t->weights, .dtype = GW_DTYPE_F64, .dims = 1, .shape = {FEATURES}};
    if (rc == 0)
        rc = gw_ddp_open(
            GW_DDP_OPTIONS(.comm = comm, .params = &param, .params_count = 1, .stream = t->stream),
            &t->ddp, error);
    if (rc < 0)
        return rc;
    const struct gw_optimizer_tensor tensor = {.data = t->weights,
                                               .gradient = gw_ddp_gradient(t->ddp, 0),
                                               .count = FEATURES,
                                               .dtype = GW_DTYPE_F64};
    struct gw_optimizer_options options = gw_optimizer_sgd(0.02);
    options.momentum = 0.5;
    options.stream = t->stream;
    rc = gw_optimizer_new(&options, &tensor, 1, &t->optimizer, error);
    return rc < 0
               ? rc
               : gw_sampler_new(GW_SAMPLER_OPTIONS(.samples = SAMPLES, .rank = gw_comm_rank(comm),
                                                   .ranks = gw_comm_size(comm), .seed = 5),
                                &t->sampler, error);
}

static int trainer_step(struct trainer *t, int64_t first, int64_t count, struct gw_error *error)
{
    double gradient[FEATURES];
    gw_ddp_zero(t->ddp);
    int rc = gw_ddp_begin(t->ddp, true, error);
    gradient_of(t->host, t->sampler, first, count, gradient);
    if (rc == 0 && cudaMemcpyAsync(gw_ddp_gradient(t->ddp, 0), gradient, sizeof gradient,
                                   cudaMemcpyDefault, t->stream) != cudaSuccess)
        rc = gw_error_set(error, GW_EDEVICE, "no copy");
    if (rc == 0)
        rc = gw_ddp_ready(t->ddp, 0, error);
    if (rc == 0)
        rc = gw_ddp_finish(t->ddp, error);
    if (rc == 0)
        rc = gw_optimizer_step(t->optimizer, error);
    if (rc == 0 && (cudaMemcpyAsync(t->host, t->weights, sizeof t->host, cudaMemcpyDefault,
                                    t->stream) != cudaSuccess ||
                    cudaStreamSynchronize(t->stream) != cudaSuccess))
        rc = gw_error_set(error, GW_EDEVICE, "no copy");
    return rc;
}

static int gpu_trains(struct gw_comm *comm, uint32_t gpu, void *arg, struct gw_error *error)
{
    struct training *training = arg;
    struct trainer t = {.ddp = NULL};
    const int64_t count = GLOBAL_BATCH / gw_comm_size(comm);
    int device = -1;
    int rc = trainer_open(&t, comm, error);
    if (rc == 0 && (cudaGetDevice(&device) != cudaSuccess || device != (int)gpu ||
                    gw_comm_rank(comm) % training->gpus != device))
        rc = gw_error_set(error, GW_EDEVICE, "device %d is current", device);
    for (int k = 0; k < FEATURES; k++)
        t.host[k] = 1;
    for (uint64_t epoch = 0; epoch < EPOCHS && rc == 0; epoch++) {
        gw_sampler_set_epoch(t.sampler, epoch);
        for (int64_t i = 0; i < gw_sampler_count(t.sampler) && rc == 0; i += count)
            rc = trainer_step(&t, i, count, error);
    }
    if (gw_comm_rank(comm) == 0)
        memcpy(training->weights, t.host, sizeof t.host);
    gw_sampler_free(t.sampler);
    gw_optimizer_free(t.optimizer);
    gw_ddp_close(t.ddp);
    (void)cudaStreamDestroy(t.stream);
    return rc;
}

static int rank_trains(struct world_rank *self)
{
    struct training *training = self->context;
    struct gw_task task;
    task_init(&task, self, training->gpus);
    RANK_CHECK_RC(gw_task_gpus_run(&task, gpu_trains, training), 0);
    RANK_CHECK(gw_comm_rank(gw_task_comm(&task)) == self->rank);
    task_deinit(&task);
    return 0;
}

static struct training *train(int ranks, int gpus)
{
    struct training *training =
        mmap(NULL, sizeof *training, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_true(training != MAP_FAILED);
    training->gpus = gpus;
    run(ranks, rank_trains, training);
    return training;
}

static void training_is_the_same_however_ranks_have_the_gpus(void **state)
{
    const struct training *alone = train(1, 1);
    const struct training *others[] = {train(4, 1), train(2, two), train(1, two)};
    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        for (int k = 0; k < FEATURES; k++)
            assert_true(fabs(others[i]->weights[k] - alone->weights[k]) <=
                        1e-12 * fabs(alone->weights[k]));
    assert_true(fabs(alone->weights[0] - 1) > 1e-3);
}

/* -- Control -------------------------------------------------------------------------------------
 */

struct control {
    struct gw_task *task;
    int64_t last[WORLD_RANKS_MAX]; /* the step at which each GPU was told to stop */
};

/* GPU 0 asks for all GPUs of its rank. */
static int gpu_steps(struct gw_comm *comm, uint32_t gpu, void *arg, struct gw_error *error)
{
    struct control *control = arg;
    int64_t answer = GW_CONTINUE, step = 0;
    while (answer == GW_CONTINUE) {
        step++;
        if (gpu == 0)
            answer = gw_task_step(control->task, step, NULL, 0);
        int rc = gw_comm_broadcast(
            comm, GW_COMM_ARGS(.recv = &answer, .count = 1, .dtype = GW_DTYPE_I64), error);
        if (rc < 0)
            return rc;
    }
    control->last[gpu] = step;
    return (int)answer;
}

static int rank_steps(struct world_rank *self)
{
    struct gw_task task;
    struct control control = {.task = &task};
    task_init(&task, self, two);
    task.until_step = 3;
    RANK_CHECK_RC(gw_task_gpus_run(&task, gpu_steps, &control), GW_STOP);
    for (int i = 0; i < two; i++)
        RANK_CHECK(control.last[i] == 3);
    RANK_CHECK(task.answered == GW_STOP);
    task_deinit(&task);
    return 0;
}

static void answer_of_a_step_is_the_result_of_all_gpus(void **state)
{
    run(2, rank_steps, NULL);
}

/* -- Failures ------------------------------------------------------------------------------------
 */

/* Waits for all GPUs on a stream, or in the call. */
static int wait_for_all(struct gw_comm *comm, uint32_t gpu, struct gw_error *error)
{
    void *memory, *stream = NULL;
    int rc = gw_comm_alloc(comm, 64, &memory, error);
    if (rc == 0 && gpu > 0)
        rc = gw_comm_stream(comm, &stream, error);
    if (rc == 0)
        rc = gw_comm_all_reduce(
            comm, GW_COMM_ARGS(.recv = memory, .count = 8, .dtype = GW_DTYPE_F64, .stream = stream),
            error);
    return rc == 0 && stream ? gw_comm_wait(comm, stream, error) : rc;
}

static int gpu_fails(struct gw_comm *comm, uint32_t gpu, void *arg, struct gw_error *error)
{
    void *memory;
    (void)arg;
    if (gw_comm_rank(comm) < gw_comm_size(comm) - 1)
        return wait_for_all(comm, gpu, error);
    int rc = gw_comm_alloc(comm, 64, &memory, error);
    return rc < 0 ? rc : gw_error_set(error, GW_ENOENT, "there is no sample 7");
}

static int rank_has_a_gpu_that_fails(struct world_rank *self)
{
    struct gw_task task;
    char wanted[64];
    task_init(&task, self, two);
    RANK_CHECK_RC(gw_task_gpus_run(&task, gpu_fails, NULL), GW_ENOENT);
    (void)snprintf(wanted, sizeof wanted, "GPU %d of rank 1: there is no sample 7", two - 1);
    RANK_CHECK(strcmp(task.error.text, wanted) == 0);
    RANK_CHECK_RC(gw_comm_barrier(self->comm, NULL), 0); /* the task's own works */
    task_deinit(&task);
    return 0;
}

static void failure_of_a_gpu_is_the_error_of_all_ranks(void **state)
{
    run(2, rank_has_a_gpu_that_fails, NULL);
}

static int gpu_is_ended(struct gw_comm *comm, uint32_t gpu, void *arg, struct gw_error *error)
{
    const struct world_rank *self = arg;
    if (gw_comm_rank(comm) > 0) {
        world_tell(self);
        return wait_for_all(comm, gpu, error);
    }
    world_wait_gate(self);
    return gw_comm_barrier(comm, error);
}

static int rank_is_ended(struct world_rank *self)
{
    struct gw_task task;
    task_init(&task, self, two);
    RANK_CHECK_RC(gw_task_gpus_run(&task, gpu_is_ended, self), GW_EABORTED);
    RANK_CHECK(strstr(task.error.text, "rank 1: a task's process crashed"));
    task_deinit(&task);
    return 0;
}

static void end_of_the_gang_ends_all_its_gpus(void **state)
{
    struct world world = {.hooks = &comm_host_hooks, .ranks = 2, .function = rank_is_ended};
    world_start(&world);
    world_hear(&world, 2 * two - 1);
    assert_int_equal(comm_host_hooks.abort(world.handle, GW_ECRASHED, 1), 0);
    world_open_gate(&world);
    assert_int_equal(world_join(&world), 0);
}

/* -- Refusals ------------------------------------------------------------------------------------
 */

static int gpu_is_not_called(struct gw_comm *comm, uint32_t gpu, void *arg, struct gw_error *error)
{
    (void)comm, (void)gpu, (void)arg, (void)error;
    abort();
}

/* Returns true if the call is refused with this code and text. */
static bool is_refused(struct gw_task *task, int code, const char *text)
{
    int rc = gw_task_gpus_run(task, gpu_is_not_called, NULL);
    if (rc == code && strstr(task->error.text, text))
        return true;
    (void)fprintf(stderr, "%s: %s\n", gw_error_name(rc), task->error.text);
    return false;
}

static int rank_cannot(struct world_rank *self)
{
    const bool first = self->rank == 0;
    struct gw_task task;
    task_init(&task, self, 0);
    RANK_CHECK(is_refused(&task, GW_ENOTSUP, "this task has no GPU"));
    task_init(&task, self, first ? 2 : 0);
    RANK_CHECK(is_refused(&task, GW_ENOTSUP, first ? "rank 1 has no GPU" : "this task has no GPU"));
    task_init(&task, self, first ? 2 : 3);
    RANK_CHECK(is_refused(&task, GW_EMISMATCH,
                          first ? "rank 1 has 3 GPUs, but rank 0 has 2"
                                : "rank 0 has 2 GPUs, but rank 1 has 3"));
    task_init(&task, self, GW_COMM_HOST_RANKS_MAX / 2 + 1);
    RANK_CHECK(is_refused(&task, GW_EINVAL, "2 x 65 ranks"));
    task_init(&task, self, 1);
    task.is_gpu_shared = true;
    RANK_CHECK(is_refused(&task, GW_ENOTSUP, "share a GPU's MIG instances"));
    task.is_gpu_shared = false;
    task.hooks = NULL;
    RANK_CHECK(is_refused(&task, GW_ENOTSUP, "inline mode"));
    task_init(&task, self, 1);
    (void)setenv("GANGWAY_GPU_MEMORY_BYTES", "1000", 1);
    RANK_CHECK(is_refused(&task, GW_ENOTSUP, "has a part of one"));
    (void)unsetenv("GANGWAY_GPU_MEMORY_BYTES");
    task_init(&task, self, two + 1); /* which the driver does not show */
    (void)setenv("FAKE_CUDA_DEVICES", two == 2 ? "2" : "1", 1);
    RANK_CHECK(is_refused(&task, GW_EINVAL, "GPU"));
    task_deinit(&task);
    return 0;
}

static void task_without_whole_gpus_is_refused_on_all_ranks(void **state)
{
    run(2, rank_cannot, NULL);
}

/* In a process of its own: one that used CUDA cannot fork ranks that use it. */
static int devices(void)
{
    int count = 0, status;
    (void)fflush(NULL);
    const pid_t pid = fork();
    if (pid == 0) {
#ifdef WITH_FAKES
        (void)setenv("CUDA_VISIBLE_DEVICES", "0,1", 0);
#endif
        _exit(cudaGetDeviceCount(&count) == cudaSuccess ? count : 0);
    }
    return pid > 0 && waitpid(pid, &status, 0) == pid && WIFEXITED(status) ? WEXITSTATUS(status)
                                                                           : 0;
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(training_is_the_same_however_ranks_have_the_gpus),
        cmocka_unit_test(answer_of_a_step_is_the_result_of_all_gpus),
        cmocka_unit_test(failure_of_a_gpu_is_the_error_of_all_ranks),
        cmocka_unit_test(end_of_the_gang_ends_all_its_gpus),
        cmocka_unit_test(task_without_whole_gpus_is_refused_on_all_ranks),
    };
    const int count = devices();
    two = count < 2 ? 1 : 2;
    int failed = cmocka_run_group_tests(tests, NULL, NULL);
    if (failed == 0 && two < 2)
        puts("this machine has one GPU: ranks with two GPUs did not run");
    return failed == 0 && two < 2 ? LEFT_OUT : failed;
}
