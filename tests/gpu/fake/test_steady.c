/* What a step of training costs on a GPU after the first steps: a host communicator that counts
 * meetings, and fakes that count calls of CUDA and NCCL. */
#include "gpu/base/comm_backend.h"
#include "tests/gpu/fake/fake.h"
#include "tests/unit/gpu/comm_world.h"

#include "worker/runner/join.h"
#include "worker/runner/task.h"

#include <gangway/checkpoint.h>
#include <gangway/ddp.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

int nccl_upgrade(struct gw_comm *host, int rank, uint64_t timeout_ns, struct gw_comm **comm);

enum { PARAMS = 3, COUNT = 1000, STEPS = 10 };

/* -- A host communicator that counts -------------------------------------------------------------
 */

static const struct gw_comm_backend *uncounted;
static unsigned meets; /* meetings and operations of the host communicator */

static int run_counted(struct gw_comm *comm, enum gw_comm_verb verb,
                       const struct gw_comm_args *args, struct gw_error *error)
{
    meets++;
    return uncounted->run(comm, verb, args, error);
}

static int meet_counted(struct gw_comm *comm, const struct gw_segment_call *call, int32_t *worst,
                        struct gw_error *error)
{
    meets++;
    return uncounted->meet(comm, call, worst, error);
}

/* Makes the rank's communicator one of NCCL, whose meetings are counted. */
static int upgrade(struct world_rank *self)
{
    static struct gw_comm_backend counted;
    uncounted = self->comm->backend;
    counted = *uncounted;
    counted.run = run_counted;
    counted.meet = meet_counted;
    self->comm->backend = &counted;
    return nccl_upgrade(self->comm, self->rank, 60000000000, &self->comm);
}

/* -- Steps ---------------------------------------------------------------------------------------
 */

struct cost {
    unsigned meets, calls[FAKE_CALLS];
};

static struct cost cost_now(void)
{
    struct cost cost = {.meets = meets};
    for (int i = 0; i < FAKE_CALLS; i++)
        cost.calls[i] = fake_count((enum fake_call)i);
    return cost;
}

static unsigned spent(const struct cost *since, enum fake_call call)
{
    return fake_count(call) - since->calls[call];
}

struct training {
    struct gw_ddp *ddp;
    cudaStream_t stream;
};

static int training_init(struct world_rank *self, struct training *training)
{
    struct gw_ddp_param params[PARAMS];
    struct gw_error error;
    if (upgrade(self) < 0 ||
        cudaStreamCreateWithFlags(&training->stream, cudaStreamNonBlocking) != cudaSuccess)
        return GW_EIO;
    for (int i = 0; i < PARAMS; i++) {
        params[i] =
            (struct gw_ddp_param){.name = "w", .dtype = GW_DTYPE_F32, .dims = 1, .shape = {COUNT}};
        if (gw_comm_alloc(self->comm, COUNT * sizeof(float), &params[i].data, &error) < 0)
            return error.code;
    }
    const struct gw_ddp_options options =
        GW_INIT(gw_ddp_options, .comm = self->comm, .params = params, .params_count = PARAMS,
                .first_bucket_bytes = 1, /* a bucket a parameter */
                .bucket_bytes = 1, .stream = training->stream);
    int rc = gw_ddp_open(&options, &training->ddp, &error);
    if (rc < 0)
        (void)fprintf(stderr, "%s\n", error.text);
    return rc;
}

struct addition {
    float *gradient;
    float value;
};

static void addition_run(void *arg)
{
    const struct addition *addition = arg;
    float *gradient = fake_reach(addition->gradient);
    for (size_t i = 0; i < COUNT; i++)
        gradient[i] += addition->value;
}

static int training_step(const struct training *training, float value)
{
    struct gw_ddp *ddp = training->ddp;
    gw_ddp_zero(ddp);
    int rc = gw_ddp_begin(ddp, true, NULL);
    for (size_t i = PARAMS; i-- > 0 && rc == 0;) {
        struct addition *addition = malloc(sizeof *addition);
        if (!addition)
            abort();
        *addition = (struct addition){gw_ddp_gradient(ddp, i), value};
        fake_enqueue(training->stream, addition_run, addition);
        rc = gw_ddp_ready(ddp, i, NULL);
    }
    return rc == 0 ? gw_ddp_finish(ddp, NULL) : rc;
}

static int training_end(struct world_rank *self, struct training *training)
{
    float host[COUNT];
    const float mean = (float)(self->ranks + 1) / 2;
    for (size_t i = 0; i < PARAMS; i++) {
        RANK_CHECK(cudaMemcpyAsync(host, gw_ddp_gradient(training->ddp, i), sizeof host,
                                   cudaMemcpyDefault, training->stream) == cudaSuccess);
        RANK_CHECK(cudaStreamSynchronize(training->stream) == cudaSuccess);
        for (size_t k = 0; k < COUNT; k++)
            RANK_CHECK(host[k] == mean);
    }
    gw_ddp_close(training->ddp);
    RANK_CHECK(cudaStreamDestroy(training->stream) == cudaSuccess);
    return 0;
}

static int rank_steps(struct world_rank *self)
{
    const bool compares = *(const bool *)self->context;
    struct training training;
    if (compares && self->rank == 0) /* rank 0 decides for all */
        (void)setenv("GANGWAY_COMM_CHECK", "1", 1);
    RANK_CHECK_RC(training_init(self, &training), 0);
    RANK_CHECK_RC(training_step(&training, (float)(self->rank + 1)), 0);
    const struct cost before = cost_now();
    for (int step = 0; step < STEPS; step++)
        RANK_CHECK_RC(training_step(&training, (float)(self->rank + 1)), 0);
    RANK_CHECK(meets - before.meets == (compares ? STEPS * PARAMS : 0));
    RANK_CHECK(spent(&before, FAKE_SYNC) == 0);
    RANK_CHECK(spent(&before, FAKE_ALLOC) == 0);
    RANK_CHECK(spent(&before, FAKE_NCCL) == STEPS * PARAMS);
    return training_end(self, &training);
}

static void steady_step_meets_no_rank_and_allocates_nothing(void **state)
{
    for (int ranks = 1; ranks <= 3; ranks++)
        for (int i = 0; i < 2; i++) {
            bool compares = i > 0;
            struct world world = {.hooks = &comm_host_hooks,
                                  .ranks = ranks,
                                  .function = rank_steps,
                                  .context = &compares};
            assert_int_equal(world_run(&world), 0);
        }
}

/* -- Control traffic -----------------------------------------------------------------------------
 */

static int rank_controls(struct world_rank *self)
{
    static char large[300000];
    char *path = self->context; /* of a folder */
    struct gw_checkpoint *saved = gw_checkpoint_new(), *loaded;
    struct gw_task task;
    struct gw_error error;
    RANK_CHECK_RC(upgrade(self), 0);
    memset(large, 7, sizeof large);
    RANK_CHECK_RC(gw_checkpoint_set_bytes(saved, "weights", large, sizeof large), 0);
    gw_task_init(&task);
    task.comm = self->comm;
    task.rank = (uint32_t)self->rank;
    task.world = (uint32_t)self->ranks;
    const struct cost before = cost_now();
    for (int step = 0; step < STEPS; step++)
        RANK_CHECK_RC(gw_task_step(&task, step, NULL, 0), GW_CONTINUE);
    RANK_CHECK_RC(gw_checkpoint_comm_save(saved, self->comm, path, &error), 0);
    RANK_CHECK_RC(gw_checkpoint_comm_load(self->comm, path, &loaded, &error), 0);
    RANK_CHECK(spent(&before, FAKE_NCCL) == 0);
    RANK_CHECK(spent(&before, FAKE_ALLOC) == 0);
    RANK_CHECK(spent(&before, FAKE_SYNC) == 0 && spent(&before, FAKE_LAUNCH) == 0);
    memset(large, 0, sizeof large);
    RANK_CHECK_RC(gw_checkpoint_copy(loaded, "weights", large, sizeof large, &error), 0);
    RANK_CHECK(large[0] == 7 && large[sizeof large - 1] == 7);
    gw_checkpoint_free(loaded);
    gw_checkpoint_free(saved);
    task.comm = NULL;
    gw_task_deinit(&task);
    return 0;
}

static void steps_and_checkpoints_stay_off_the_device(void **state)
{
    char folder[] = "/tmp/gangway-steady-XXXXXX", path[64];
    assert_non_null(mkdtemp(folder));
    (void)snprintf(path, sizeof path, "%s/checkpoint", folder);
    struct world world = {
        .hooks = &comm_host_hooks, .ranks = 3, .function = rank_controls, .context = path};
    assert_int_equal(world_run(&world), 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(rmdir(folder), 0);
}

/* A task that is no gang has a communicator of one, on its GPU. */
static int rank_has_a_gpu(struct world_rank *self)
{
    struct gw_task task;
    void *memory, *stream;
    gw_task_init(&task);
    (void)setenv("CUDA_VISIBLE_DEVICES", "0", 1);
    struct gw_comm *comm = gw_task_comm(&task);
    RANK_CHECK(strcmp(gw_comm_backend(comm), "nccl") == 0);
    RANK_CHECK_RC(gw_comm_alloc(comm, 64, &memory, NULL), 0);
    RANK_CHECK_RC(gw_comm_stream(comm, &stream, NULL), 0);
    RANK_CHECK_RC(gw_comm_all_reduce(comm,
                                     GW_COMM_ARGS(.recv = memory, .count = 16,
                                                  .dtype = GW_DTYPE_F32, .stream = stream),
                                     NULL),
                  0);
    RANK_CHECK_RC(gw_comm_wait(comm, stream, NULL), 0);
    gw_task_reset(&task);
    (void)setenv("FAKE_CUDA_DEVICES", "0", 1); /* and on the host where there is no GPU */
    RANK_CHECK(strcmp(gw_comm_backend(gw_task_comm(&task)), "host") == 0);
    gw_task_deinit(&task);
    return 0;
}

static void task_with_a_gpu_has_a_communicator_on_it(void **state)
{
    struct world world = {.hooks = &comm_host_hooks, .ranks = 1, .function = rank_has_a_gpu};
    assert_int_equal(world_run(&world), 0);
}

/* If each rank has several GPUs, the communicator of the task keeps the ranks of the task. */
static int rank_has_two_gpus(struct world_rank *self)
{
    const struct gw_msg_gang gang = {.world = 2, .local = 2, .groups = 1};
    struct gw_join join;
    struct gw_comm *comm;
    struct gw_error error;
    gw_join_init(&join);
    RANK_CHECK_RC(gw_comm_segment_create(2, &join.segment, &error), 0);
    (void)setenv("CUDA_VISIBLE_DEVICES", "0,1", 1);
    RANK_CHECK_RC(gw_join_open(&join, &gang, 0, &comm, &error), 0);
    RANK_CHECK(strcmp(gw_comm_backend(comm), "host") == 0 && gw_comm_size(comm) == 2);
    gw_comm_close(comm);
    return 0;
}

static void gang_with_two_gpus_a_rank_keeps_the_ranks_of_the_task(void **state)
{
    struct world world = {.hooks = &comm_host_hooks, .ranks = 1, .function = rank_has_two_gpus};
    assert_int_equal(world_run(&world), 0);
}

static bool holds(const void *memory, float value)
{
    float host[COUNT];
    if (cudaMemcpy(host, memory, sizeof host, cudaMemcpyDefault) != cudaSuccess)
        return false;
    for (size_t k = 0; k < COUNT; k++)
        if (host[k] != value)
            return false;
    return true;
}

static void fill(void *memory, float value)
{
    float host[COUNT];
    for (size_t k = 0; k < COUNT; k++)
        host[k] = value;
    if (cudaMemcpy(memory, host, sizeof host, cudaMemcpyDefault) != cudaSuccess)
        abort();
}

/* One rank's buffer is in host memory, the other's on its device. */
static int rank_mixes(struct world_rank *self)
{
    static float host[COUNT];
    void *device;
    RANK_CHECK_RC(upgrade(self), 0);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, sizeof host, &device, NULL), 0);
    for (int odd = 0; odd < 2; odd++) { /* the rank with the host's memory */
        void *mine = self->rank == odd ? host : device;
        const struct gw_comm_args args = {
            .recv = mine, .send = mine, .count = COUNT, .dtype = GW_DTYPE_F32};
        const struct gw_comm_args message = {.recv = mine,
                                             .send = mine,
                                             .count = COUNT,
                                             .dtype = GW_DTYPE_F32,
                                             .root = 1 - self->rank};
        fill(mine, (float)(self->rank + 1));
        RANK_CHECK_RC(gw_comm_all_reduce(self->comm, &args, NULL), 0);
        RANK_CHECK(holds(mine, 3));
        fill(mine, (float)(self->rank + 5));
        RANK_CHECK_RC(gw_comm_broadcast(self->comm, &args, NULL), 0);
        RANK_CHECK(holds(mine, 5));
        fill(mine, (float)(self->rank + 7));
        if (self->rank == 0)
            RANK_CHECK_RC(gw_comm_send(self->comm, &message, NULL), 0);
        else
            RANK_CHECK_RC(gw_comm_recv(self->comm, &message, NULL), 0);
        RANK_CHECK(holds(mine, 7));
    }
    return 0;
}

static void host_and_device_memory_mix_in_an_operation(void **state)
{
    struct world world = {.hooks = &comm_host_hooks, .ranks = 2, .function = rank_mixes};
    assert_int_equal(world_run(&world), 0);
}

/* A mistake of one rank in gw_ddp_open: all ranks return it, and none waits for another. */
static int rank_gives_host_memory(struct world_rank *self)
{
    static float host[COUNT];
    struct gw_ddp_param param = {
        .name = "embed", .dtype = GW_DTYPE_F32, .dims = 1, .shape = {COUNT}, .data = host};
    struct gw_ddp *ddp;
    struct gw_error error;
    void *memory, *stream;
    RANK_CHECK_RC(upgrade(self), 0);
    RANK_CHECK_RC(gw_comm_stream(self->comm, &stream, &error), 0);
    RANK_CHECK_RC(gw_comm_alloc(self->comm, sizeof host, &memory, &error), 0);
    if (self->rank != 1)
        param.data = memory;
    const struct gw_ddp_options options = GW_INIT(
        gw_ddp_options, .comm = self->comm, .params = &param, .params_count = 1, .stream = stream);
    RANK_CHECK_RC(gw_ddp_open(&options, &ddp, &error), GW_EINVAL);
    RANK_CHECK(strstr(error.text, "parameter 0 (\"embed\") is not in this rank's device memory"));
    RANK_CHECK(self->rank == 1 || strstr(error.text, "rank 1: ddp"));
    return 0;
}

static void host_memory_with_a_stream_is_refused_on_all_ranks(void **state)
{
    struct world world = {
        .hooks = &comm_host_hooks, .ranks = 2, .function = rank_gives_host_memory};
    assert_int_equal(world_run(&world), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(steady_step_meets_no_rank_and_allocates_nothing),
        cmocka_unit_test(steps_and_checkpoints_stay_off_the_device),
        cmocka_unit_test(task_with_a_gpu_has_a_communicator_on_it),
        cmocka_unit_test(gang_with_two_gpus_a_rank_keeps_the_ranks_of_the_task),
        cmocka_unit_test(host_and_device_memory_mix_in_an_operation),
        cmocka_unit_test(host_memory_with_a_stream_is_refused_on_all_ranks),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
