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

struct seat {
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

static void execute(struct seat *seat)
{
    struct gang *gang = seat->gang;
    struct gw_task *task = &seat->task;
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
        rc = gw_task_result_decode(&task->result, seat->value, &task->error);
    if (rc < 0) {
        fail(gang, task, rc);
        if (gang->segment >= 0)
            (void)gw_comm_segment_abort(gang->segment, rc, (int)task->rank, NULL);
    }
    gw_task_end_client(task);
    gw_comm_close(task->comm);
    task->comm = NULL;
}

static void *seat_main(void *arg)
{
    execute(arg);
    return NULL;
}

static void seat_init(struct seat *seat, struct gang *gang, uint32_t rank)
{
    const struct gw_runner_call *call = gang->call;
    seat->gang = gang;
    gw_task_init(&seat->task);
    seat->task.function = call->function;
    seat->task.args = gw_value_ref(gang->args);
    seat->task.job = call->job;
    seat->task.index = call->index;
    seat->task.try_number = call->try_number;
    seat->task.actor = call->actor;
    seat->task.makes_actor = call->makes_actor;
    seat->task.rank = seat->task.local_rank = rank;
    seat->task.world = call->ranks ? call->ranks : 1;
}

static void run_gang(struct gang *gang, struct seat *seats, uint32_t ranks)
{
    uint32_t started = 0;
    for (; started < ranks; started++)
        if (pthread_create(&seats[started].thread, NULL, seat_main, &seats[started]) != 0)
            break;
    if (started < ranks) {
        (void)gw_error_set(&seats[started].task.error, GW_ENOMEM, "cannot start a thread");
        fail(gang, &seats[started].task, GW_ENOMEM);
        (void)gw_comm_segment_abort(gang->segment, GW_ENOMEM, (int)started, NULL);
    }
    for (uint32_t i = 0; i < started; i++)
        pthread_join(seats[i].thread, NULL);
}

static int run_all(struct gang *gang, struct gw_value **values)
{
    uint32_t ranks = gang->call->ranks ? gang->call->ranks : 1;
    struct seat *seats = calloc(ranks, sizeof *seats);
    if (!seats)
        return gw_error_set(&gang->error, GW_ENOMEM, "out of memory");
    for (uint32_t i = 0; i < ranks; i++) {
        values[i] = NULL;
        seats[i].value = &values[i];
        seat_init(&seats[i], gang, i);
    }
    if (gang->segment >= 0)
        run_gang(gang, seats, ranks);
    else
        execute(&seats[0]);
    for (uint32_t i = 0; i < ranks; i++) {
        gw_task_deinit(&seats[i].task);
        if (gang->rc < 0)
            gw_value_unref(values[i]);
    }
    free(seats);
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
