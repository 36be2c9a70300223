/* gw_task_gpus_run: one thread and one NCCL communicator for each GPU of a task.
 *
 * The task's communicator is multiplied: each rank has one rank for each of its GPUs. The threads
 * upgrade their communicators to NCCL at the same time, because they wait for each other there. If
 * a thread fails, it breaks the communicator with its own error, so that all threads of all ranks
 * end with this error. */
#include "gpu/base/comm_backend.h"
#include "gpu/host/segment.h"
#include "graph/base/thread.h"
#include "worker/runner/join.h"
#include "worker/runner/task.h"

#include <stdio.h>
#include <stdlib.h>

struct job {
    struct gw_task *task;
    int (*run)(struct gw_comm *comm, uint32_t gpu, void *arg, struct gw_error *error);
    void *arg;
};

struct gpu {
    const struct job *job;
    struct gw_comm *comm; /* owned; first of the host backend */
    uint32_t number;
    bool is_started;
    int rc;
    struct gw_error error;
    pthread_t thread;
};

/* Breaks the communicator, unless it is broken, and takes over the first cause. */
static void fail(struct gpu *gpu, struct gw_comm *comm, const struct gw_segment *segment, int rc)
{
    const struct gw_task *task = gpu->job->task;
    char text[GW_SEGMENT_TEXT_MAX];
    (void)snprintf(text, sizeof text, "GPU %u of rank %u: %.*s", (unsigned)gpu->number,
                   (unsigned)task->rank, GW_SEGMENT_TEXT_MAX - 48,
                   gpu->error.text[0] ? gpu->error.text : gw_error_text(rc));
    const struct gw_segment_fault fault = {
        .code = rc, .cause = rc, .rank = gw_comm_rank(comm), .text = text};
    gw_segment_break(segment, &fault);
    gpu->rc = gw_segment_broken(segment, &gpu->error);
}

static void *gpu_main(void *arg)
{
    struct gpu *gpu = arg;
    struct gw_comm *comm = gpu->comm;
    struct gw_segment *segment = comm->backend->segment(comm);
    const struct gw_comm_nccl_options options =
        GW_INIT(gw_comm_nccl_options, .host = comm, .device = (int)gpu->number,
                .timeout_ns = comm->timeout_ns);
    int rc = gw_comm_open_nccl(&options, &comm, &gpu->error);
    if (rc == 0) {
        gpu->error = (struct gw_error){.code = 0};
        rc = gpu->job->run(comm, gpu->number, gpu->job->arg, &gpu->error);
    }
    gpu->rc = rc;
    if (rc < 0)
        fail(gpu, comm, segment, rc);
    gw_comm_close(comm);
    return NULL;
}

/* Returns the number of GPUs that this rank has for itself, or 0 and the reason. */
static int32_t own_count(const struct gw_task *task, const char **reason)
{
    *reason = NULL;
    if (gw_join_gpu_count() == 0)
        *reason = "this task has no GPU: ask for GPUs (gpu.count)";
    else if (getenv("GANGWAY_GPU_MEMORY_BYTES"))
        *reason = "NCCL needs whole GPUs, and this task has a part of one: ask for a whole one "
                  "(gpu.count)";
    else if (task->is_gpu_shared)
        *reason = "ranks of this gang share a GPU's MIG instances, which NCCL refuses";
    else if (task->world > 1 && !task->hooks)
        *reason = "the ranks of a gang share the GPUs of this process in inline mode "
                  "(GANGWAY_INLINE)";
    return *reason ? 0 : (int32_t)gw_join_gpu_count();
}

/* Checks that all ranks have the same number of GPUs, because all open one communicator. */
static int counts_agree(struct gw_task *task, struct gw_comm *comm, int32_t *count)
{
    int32_t all[GW_COMM_HOST_RANKS_MAX];
    const char *reason;
    *count = own_count(task, &reason);
    int rc = gw_comm_all_gather(
        comm, GW_COMM_ARGS(.send = count, .recv = all, .count = 1, .dtype = GW_DTYPE_I32),
        &task->error);
    if (rc == 0 && reason)
        rc = gw_error_set(&task->error, GW_ENOTSUP, "%s", reason);
    for (int rank = 0; rank < gw_comm_size(comm) && rc == 0; rank++) {
        if (all[rank] == 0)
            rc = gw_error_set(&task->error, GW_ENOTSUP, "rank %d has no GPU for itself", rank);
        else if (all[rank] != *count)
            rc = gw_error_set(&task->error, GW_EMISMATCH,
                              "rank %d has %d GPUs, but rank %u has %d: all ranks of a gang need "
                              "the same number",
                              rank, (int)all[rank], (unsigned)task->rank, (int)*count);
    }
    return rc;
}

/* Runs all threads. The last one to start is the task's own, which has GPU 0. */
static int run_all(struct gpu *gpus, int32_t count, struct gw_error *error)
{
    int rc = 0;
    for (int32_t i = 1; i < count; i++) {
        gpus[i].is_started = gw_thread_start(&gpus[i].thread, gpu_main, &gpus[i]) == 0;
        if (gpus[i].is_started)
            continue;
        (void)gw_error_set(&gpus[i].error, GW_ENOMEM, "no thread");
        fail(&gpus[i], gpus[i].comm, gpus[i].comm->backend->segment(gpus[i].comm), GW_ENOMEM);
        gw_comm_close(gpus[i].comm);
    }
    (void)gpu_main(&gpus[0]);
    for (int32_t i = 0; i < count; i++) {
        if (gpus[i].is_started)
            (void)pthread_join(gpus[i].thread, NULL);
        if (rc == 0 && gpus[i].rc < 0)
            rc = gw_error_set(error, gpus[i].rc, "%s", gpus[i].error.text);
    }
    return rc < 0 ? rc : gpus[0].rc;
}

int gw_task_gpus_run(struct gw_task *task,
                     int (*run)(struct gw_comm *comm, uint32_t gpu, void *arg,
                                struct gw_error *error),
                     void *arg)
{
    const struct job job = {.task = task, .run = run, .arg = arg};
    struct gw_comm *comm = gw_task_comm(task), *children[GW_COMM_HOST_RANKS_MAX];
    int32_t count = 0;
    int rc = comm ? counts_agree(task, comm, &count) : task->error.code;
    if (rc == 0)
        rc = gw_comm_multiply(comm, count, children, &task->error);
    if (rc < 0)
        return rc;
    struct gpu *gpus = calloc((size_t)count, sizeof *gpus);
    for (int32_t i = 0; i < count && !gpus; i++)
        gw_comm_close(children[i]); /* the other ranks see that this one is gone */
    if (!gpus)
        return gw_error_set(&task->error, GW_ENOMEM, "out of memory for %d GPUs", (int)count);
    for (int32_t i = 0; i < count; i++)
        gpus[i] = (struct gpu){.job = &job, .comm = children[i], .number = (uint32_t)i};
    rc = run_all(gpus, count, &task->error);
    free(gpus);
    return rc;
}
