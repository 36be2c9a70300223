/* Executes tasks inside this process, for debuggers and sanitizers. The ranks of a gang are threads
 * that use the host backend, so the same collectives run as between processes. */
#include "worker/runner/args.h"
#include "worker/runner/runner.h"
#include "worker/runner/task.h"

#include <pthread.h>
#include <stdlib.h>
#include <unistd.h>

struct gang {
    const struct gw_runner_call *call;
    struct gw_value *args; /* without references; all ranks share it and only read it */
    int segment;
    pthread_mutex_t mutex;
    int rc; /* error code of the first rank that failed */
    struct gw_error error;
};

struct rank_call {
    struct gang *gang;
    struct gw_task task;
    struct gw_value **value;
    pthread_t thread;
};

static void fail(struct gang *gang, const struct gw_task *task, int rc)
{
    pthread_mutex_lock(&gang->mutex);
    if (gang->rc == 0) {
        gang->rc = rc;
        gang->error = task->error;
        gang->error.code = rc;
        if (task->world > 1)
            (void)gw_error_prefix(&gang->error, "rank %u", task->rank);
    }
    pthread_mutex_unlock(&gang->mutex);
}

static void execute(struct rank_call *rank_call)
{
    struct gang *gang = rank_call->gang;
    struct gw_task *task = &rank_call->task;
    int rc = 0;
    if (gang->segment >= 0) {
        const struct gw_comm_host_options options =
            GW_INIT(gw_comm_host_options, .fd = gang->segment, .rank = (int)task->rank,
                    .ranks = (int)task->world);
        rc = gw_comm_open_host(&options, &task->comm, &task->error);
    }
    if (rc == 0)
        rc = gw_task_run(task);
    if (rc == 0)
        rc = gw_task_result_decode(&task->result, rank_call->value, &task->error);
    if (rc < 0) {
        fail(gang, task, rc);
        if (gang->segment >= 0)
            (void)gw_comm_segment_abort(gang->segment, rc, (int)task->rank, NULL);
    }
    gw_task_end_client(task);
    gw_comm_close(task->comm);
    task->comm = NULL;
}

static void *rank_call_main(void *arg)
{
    execute(arg);
    return NULL;
}

static void rank_call_init(struct rank_call *rank_call, struct gang *gang, uint32_t rank)
{
    const struct gw_runner_call *call = gang->call;
    rank_call->gang = gang;
    gw_task_init(&rank_call->task);
    rank_call->task.function = call->function;
    rank_call->task.args = gw_value_ref(gang->args);
    rank_call->task.job = call->job;
    rank_call->task.index = call->index;
    rank_call->task.try_number = call->try_number;
    rank_call->task.actor = call->actor;
    rank_call->task.makes_actor = call->makes_actor;
    rank_call->task.until_step = call->until_step;
    rank_call->task.rank = rank_call->task.local_rank = rank;
    rank_call->task.world = call->ranks ? call->ranks : 1;
}

static void run_gang(struct gang *gang, struct rank_call *rank_calls, uint32_t ranks)
{
    uint32_t started = 0;
    for (; started < ranks; started++)
        if (pthread_create(&rank_calls[started].thread, NULL, rank_call_main,
                           &rank_calls[started]) != 0)
            break;
    if (started < ranks) {
        (void)gw_error_set(&rank_calls[started].task.error, GW_ENOMEM, "cannot start a thread");
        fail(gang, &rank_calls[started].task, GW_ENOMEM);
        (void)gw_comm_segment_abort(gang->segment, GW_ENOMEM, (int)started, NULL);
    }
    for (uint32_t i = 0; i < started; i++)
        pthread_join(rank_calls[i].thread, NULL);
}

static int run_all(struct gang *gang, struct gw_value **values)
{
    uint32_t ranks = gang->call->ranks ? gang->call->ranks : 1;
    struct rank_call *rank_calls = calloc(ranks, sizeof *rank_calls);
    if (!rank_calls)
        return gw_error_set(&gang->error, GW_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < ranks; i++) {
        values[i] = NULL;
        rank_calls[i].value = &values[i];
        rank_call_init(&rank_calls[i], gang, i);
    }
    if (gang->segment >= 0)
        run_gang(gang, rank_calls, ranks);
    else
        execute(&rank_calls[0]);
    for (uint32_t i = 0; i < ranks; i++) {
        gw_task_deinit(&rank_calls[i].task);
        if (gang->rc < 0)
            gw_value_unref(values[i]);
    }
    free(rank_calls);
    return gang->rc;
}

int gw_runner_call(const struct gw_runner_call *call, struct gw_value **values,
                   struct gw_error *error)
{
    struct gang gang = {.call = call, .segment = -1};
    int rc = gw_args_resolve(call->args, call->deps, call->dep_count, &gang.args, error);
    if (rc < 0)
        return rc;
    if (call->ranks)
        rc = gw_comm_segment_create((int)call->ranks, &gang.segment, error);
    if (rc == 0) {
        pthread_mutex_init(&gang.mutex, NULL);
        rc = run_all(&gang, values);
        if (rc < 0)
            (void)gw_error_set(error, rc, "%s", gang.error.text);
        pthread_mutex_destroy(&gang.mutex);
    }
    if (gang.segment >= 0)
        close(gang.segment);
    gw_value_unref(gang.args);
    return rc;
}
