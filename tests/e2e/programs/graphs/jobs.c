/* Calls on jobs by number, on GPUs and on the cluster, on a running cluster; each subject is a
 * function with asserts. Arguments: the subject, a fifo. */
#include "tests/e2e/programs/check.h"
#include "tests/e2e/programs/subject.h"

#include <assert.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Returns 1, as a failing main function does. */
static int return_one(struct gw_task *task)
{
    (void)task;
    return 1;
}
GW_TASK(return_one);

enum { SHORT = 120, ABORTS = 100 }; /* the number of short tasks, and the one that aborts */

static int abort_once(struct gw_task *task)
{
    int64_t i;
    if (gw_task_arg_i64(task, 0, &i) < 0)
        return GW_EINVAL;
    if (i == ABORTS)
        abort();
    return gw_task_return(task, gw_i64(i));
}
GW_TASK(abort_once);

static struct gw_client *client;
static int exit_code;

static int wait_for(uint64_t job)
{
    return gw_job_wait(client, job, UINT64_MAX, &exit_code, &error);
}

static void subject_wait(const char *path)
{
    struct gw_future *bad, *runs;
    assert(gw_job_wait(client, 12345, 0, &exit_code, &error) == GW_ENOENT);
    MUST(gw_submit(client, return_one, NULL, GW_ARGS(), &bad, &error));
    assert(wait_for(gw_future_job(bad)) == GW_ETASK);
    assert(strstr(error.text, "return_one returned 1:"));
    assert(gw_job_wait(client, gw_future_job(bad), 0, &exit_code, &error) == GW_ETASK);
    MUST(gw_submit(client, hang, NULL, GW_ARGS(gw_str(path)), &runs, &error));
    subject_hear(path, NULL, 0);
    assert(gw_job_wait(client, gw_future_job(runs), 0, &exit_code, &error) == GW_ETIMEDOUT);
    MUST(gw_job_cancel_task(client, gw_future_job(runs), 0, true, &error));
    assert(wait_for(gw_future_job(runs)) == GW_ECANCELLED);
    assert(gw_job_cancel_task(client, gw_future_job(runs), 1, true, &error) == GW_ENOENT);
    gw_future_release(bad);
    gw_future_release(runs);
}

static void subject_retry(const char *path)
{
    struct gw_future *future;
    uint32_t tasks = 0;
    char file[4096];
    (void)snprintf(file, sizeof file, "%s.made", path);
    MUST(gw_submit(client, need_file, NULL, GW_ARGS(gw_str(file)), &future, &error));
    const uint64_t job = gw_future_job(future);
    assert(wait_for(job) == GW_ETASK && strstr(error.text, "is not there"));
    MUST(gw_job_retry(client, job, &tasks, &error));
    assert(tasks == 1);
    assert(wait_for(job) == GW_ETASK);
    subject_make_file(file);
    assert(gw_job_retry_task(client, job, 1, &error) == GW_ENOENT);
    MUST(gw_job_retry_task(client, job, 0, &error));
    MUST(wait_for(job));
    assert(gw_job_retry(client, job, &tasks, &error) == GW_EINVAL);
    gw_future_release(future);
    (void)unlink(file);
}

/* Restarted twice, the gang steps from the beginning until it is stopped, which is a success. */
static void subject_gang(const char *path)
{
    struct gw_future *future;
    assert(gw_job_stop(client, 12345, &error) == GW_ENOENT);
    MUST(gw_dispatch(client, 2, march, NULL, GW_ARGS(gw_str(path)), &future, &error));
    const uint64_t job = gw_future_job(future);
    subject_hear(path, NULL, 0);
    MUST(gw_job_restart(client, job, &error));
    subject_hear(path, NULL, 0);
    assert(gw_job_resume(client, job, &error) == GW_EINVAL);
    MUST(gw_job_pause(client, job, true, &error));
    MUST(gw_job_resume(client, job, &error));
    subject_hear(path, NULL, 0);
    MUST(gw_job_stop(client, job, &error));
    MUST(wait_for(job));
    assert(gw_job_restart(client, job, &error) == GW_ENOENT);
    gw_future_release(future);
}

static void subject_gpu(const char *path)
{
    (void)path;
    assert(gw_gpu_drain(client, "GPU-x", &error) == GW_ENOENT);
    assert(gw_gpu_undrain(client, "GPU-a", &error) == GW_EINVAL);
    MUST(gw_gpu_drain(client, "GPU-a", &error));
    MUST(gw_gpu_undrain(client, "GPU-a", &error));
    MUST(gw_gpu_drain(client, "GPU-a", &error));
}

/* Running tasks end with the cluster. */
static void subject_shutdown(const char *path)
{
    struct gw_future *runs;
    MUST(gw_submit(client, hang, NULL, GW_ARGS(gw_str(path)), &runs, &error));
    subject_hear(path, NULL, 0);
    MUST(gw_client_shutdown(client, &error));
    assert(gw_future_wait(runs, UINT64_MAX) == 0 && gw_future_state(runs) == GW_FAILED);
    gw_future_release(runs);
}

/* A job of short tasks, one of which crashes; it stays listed for queries. */
static void subject_crash(const char *path)
{
    struct gw_future *futures[SHORT];
    gw_node nodes[SHORT];
    struct gw_graph *graph = gw_graph_new();
    (void)path;
    for (int i = 0; i < SHORT; i++)
        nodes[i] = gw_call(graph, abort_once, NULL, gw_i64(i));
    MUST(gw_client_submit_many(client, graph, GW_SUBMIT_OPTIONS(.detached = true), nodes, SHORT,
                               futures, &error));
    gw_graph_free(graph);
    for (int i = 0; i < SHORT; i++) {
        if (i != ABORTS)
            assert(subject_i64(futures[i], 0) == i);
        else
            assert(gw_future_wait(futures[i], UINT64_MAX) == 0 &&
                   gw_future_state(futures[i]) == GW_FAILED);
        gw_future_release(futures[i]);
    }
}

/* Reports two metrics, faster than they are sent; 0.5 and 0.75 in the end. */
static int measure(struct gw_task *task)
{
    int64_t i;
    int rc = gw_task_arg_i64(task, 0, &i);
    for (int64_t step = 0; step < 20 && rc == 0; step += 2) {
        rc = gw_task_step(task, step, "loss", step == 18 ? 0.5 : 9);
        rc = rc == 0 ? gw_task_step(task, step + 1, "accuracy", step == 18 ? 0.75 : 0) : rc;
    }
    return rc == 0 ? gw_task_return(task, gw_i64(i * i)) : rc;
}
GW_TASK(measure);

static void subject_metrics(const char *path)
{
    enum { COUNT = 3 };
    struct gw_future *futures[COUNT];
    gw_node nodes[COUNT];
    struct gw_graph *graph = gw_graph_new();
    (void)path;
    for (int i = 0; i < COUNT; i++)
        nodes[i] = gw_call(graph, measure, NULL, gw_i64(i));
    MUST(gw_client_submit_many(client, graph,
                               GW_SUBMIT_OPTIONS(.name = "metrics", .detached = true), nodes, COUNT,
                               futures, &error));
    gw_graph_free(graph);
    for (int i = 0; i < COUNT; i++) {
        assert(subject_i64(futures[i], 0) == i * i);
        gw_future_release(futures[i]);
    }
}

/* Reports two values, waits for a reader of the fifo, and reports a third. */
static int measure_slowly(struct gw_task *task)
{
    const char *path;
    int rc = gw_task_arg_str(task, 0, &path);
    rc = rc == 0 ? gw_task_step(task, 1, "loss", 0.5) : rc;
    rc = rc == 0 ? gw_task_step(task, 2, "größe", INFINITY) : rc;
    if (rc == 0)
        subject_say(path, "go");
    return rc == 0 ? gw_task_step(task, -3, "loss", NAN) : rc;
}
GW_TASK(measure_slowly);

/* A watcher gets reports while the task runs, and the end of the job; later listings get them
 * again, or a part of them. */
static void subject_history(const char *path)
{
    struct gw_future *future;
    struct gw_listing *reports;
    const struct gw_metric_row *row;
    MUST(gw_submit(client, measure_slowly, NULL, GW_ARGS(gw_str(path)), &future, &error));
    const uint64_t job = gw_future_job(future);
    MUST(gw_listing_new(client, GW_LISTING_METRICS, GW_LISTING_OPTIONS(.job = job, .follow = true),
                        &reports, &error));
    assert(gw_listing_next_metric(reports, &row, &error) == 1);
    assert(row->step == 1 && strcmp(row->name, "loss") == 0 && row->value == 0.5);
    assert(row->index == 0 && row->time_ns > 0 && row->seq > 0 && row->row);
    assert(gw_listing_next_metric(reports, &row, &error) == 1);
    assert(row->step == 2 && strcmp(row->name, "größe") == 0 && isinf(row->value));
    const uint64_t second = row->seq;
    subject_hear(path, NULL, 0);
    assert(gw_listing_next_metric(reports, &row, &error) == 1);
    assert(row->step == -3 && isnan(row->value) && row->seq > second);
    assert(gw_listing_next_metric(reports, &row, &error) == 0);
    assert(gw_listing_next_metric(reports, &row, &error) == 0);
    gw_listing_free(reports);
    MUST(gw_listing_new(client, GW_LISTING_METRICS, GW_LISTING_OPTIONS(.job = job, .after = second),
                        &reports, &error));
    assert(gw_listing_next_metric(reports, &row, &error) == 1 && row->step == -3);
    assert(gw_listing_next_metric(reports, &row, &error) == 0);
    gw_listing_free(reports);
    assert(gw_listing_new(client, GW_LISTING_METRICS, NULL, &reports, &error) == GW_EINVAL);
    assert(gw_listing_new(client, GW_LISTING_TASKS, GW_LISTING_OPTIONS(.job = job, .follow = true),
                          &reports, &error) == GW_EINVAL);
    gw_future_release(future);
}

/* The scheduler refuses one of several jobs that are submitted together. */
static void subject_several(const char *path)
{
    enum { JOBS = 4, REFUSED = 1 };
    const struct gw_submit_options detached = GW_INIT(gw_submit_options, .detached = true);
    struct gw_submit_job jobs[JOBS];
    uint64_t last = 0;
    (void)path;
    MUST(gw_client_submit_jobs(client, NULL, 0, &error));
    for (int i = 0; i < JOBS; i++) {
        jobs[i] = (struct gw_submit_job){.graph = gw_graph_new(), .options = &detached};
        jobs[i].node = gw_call(jobs[i].graph, abort_once,
                               GW_OPTIONS(.workers = i == REFUSED ? "nowhere" : NULL), gw_i64(i));
    }
    assert(gw_client_submit_jobs(client, jobs, JOBS, &error) == GW_ENOENT);
    assert(strcmp(error.text, jobs[REFUSED].error.text) == 0 && strstr(error.text, "nowhere"));
    for (int i = 0; i < JOBS; i++) {
        assert(!jobs[i].future == (i == REFUSED));
        if (i != REFUSED) {
            assert(jobs[i].error.code == 0 && subject_i64(jobs[i].future, 0) == i);
            assert(gw_future_job(jobs[i].future) > last); /* in the order of the array */
            last = gw_future_job(jobs[i].future);
        }
        gw_future_release(jobs[i].future);
        gw_graph_free(jobs[i].graph);
    }
}

/* Goes through all tasks of a job; each index comes once, in order. */
static void list_tasks(uint64_t job, const char *state, uint32_t first, uint32_t count)
{
    struct gw_listing *tasks;
    const struct gw_task_row *task;
    MUST(gw_listing_new(client, GW_LISTING_TASKS, GW_LISTING_OPTIONS(.job = job, .state = state),
                        &tasks, &error));
    for (uint32_t i = first; i < first + count; i++) {
        assert(gw_listing_next_task(tasks, &task, &error) == 1);
        assert(task->index == i && task->attempts == 1 && task->ranks == 0 && task->attempt > 0);
        assert(strcmp(task->state, state ? state : i ? "done" : "failed") == 0);
        if (i == 0)
            assert(task->code == GW_ETASK && strstr(task->text, "return_one returned 1:"));
        else
            assert(task->code == 0 && strcmp(task->text, "") == 0);
        assert(gw_value_find(task->row, "where"));
    }
    assert(gw_listing_next_task(tasks, &task, &error) == 0);
    assert(gw_listing_next_task(tasks, &task, &error) == 0);
    gw_listing_free(tasks);
}

static void list_jobs(uint64_t job, uint32_t tasks)
{
    struct gw_listing *jobs;
    const struct gw_job_row *row;
    const struct gw_worker_row *worker;
    MUST(gw_listing_new(client, GW_LISTING_JOBS, GW_LISTING_OPTIONS(.state = "failed", .limit = 1),
                        &jobs, &error));
    assert(gw_listing_next_worker(jobs, &worker, &error) == GW_EINVAL);
    assert(gw_listing_next_job(jobs, &row, &error) == 1);
    assert(row->id == job && strcmp(row->name, "many") == 0 && row->tasks == tasks);
    assert(row->failed == 1 && row->done == tasks - 1 && row->code == GW_ETASK && row->detached);
    assert(row->ended_ns >= row->started_ns && row->started_ns >= row->submitted_ns);
    assert(row->submitted_ns > 0 && strcmp(row->progress_text, "") == 0);
    assert(gw_listing_next_job(jobs, &row, &error) == 0);
    gw_listing_free(jobs);
    MUST(gw_listing_new(client, GW_LISTING_JOBS, GW_LISTING_OPTIONS(.state = "well"), &jobs,
                        &error));
    assert(gw_listing_next_job(jobs, &row, &error) == GW_EINVAL);
    gw_listing_free(jobs);
}

/* A job of more tasks than a page has rows; the first task fails. */
static void subject_listing(const char *path)
{
    enum { TASKS = 1100 };
    static struct gw_future *futures[TASKS];
    static gw_node nodes[TASKS];
    struct gw_graph *graph = gw_graph_new();
    struct gw_listing *listing;
    const struct gw_worker_row *worker;
    const struct gw_gpu_row *gpu;
    (void)path;
    for (int i = 0; i < TASKS; i++)
        nodes[i] =
            i ? gw_call(graph, abort_once, NULL, gw_i64(-i)) : gw_call(graph, return_one, NULL);
    MUST(gw_client_submit_many(client, graph, GW_SUBMIT_OPTIONS(.name = "many", .detached = true),
                               nodes, TASKS, futures, &error));
    gw_graph_free(graph);
    const uint64_t job = gw_future_job(futures[0]);
    assert(wait_for(job) == GW_ETASK);
    list_tasks(job, NULL, 0, TASKS);
    list_tasks(job, "done", 1, TASKS - 1);
    list_jobs(job, TASKS);
    MUST(gw_listing_new(client, GW_LISTING_WORKERS, NULL, &listing, &error));
    assert(gw_listing_next_worker(listing, &worker, &error) == 1);
    assert(worker->id == 1 && worker->slots == 2 && worker->slots_free == 2 && worker->gpus == 1);
    assert(strcmp(worker->state, "ready") == 0 && worker->memory_bytes > 0);
    assert(gw_listing_next_worker(listing, &worker, &error) == 0);
    gw_listing_free(listing);
    MUST(gw_listing_new(client, GW_LISTING_GPUS, NULL, &listing, &error));
    assert(gw_listing_next_gpu(listing, &gpu, &error) == 1);
    assert(gpu->worker == 1 && gpu->memory_bytes == UINT64_C(16) << 30);
    assert(strcmp(gpu->uuid, "GPU-a") == 0 && strcmp(gpu->drained, "") == 0);
    gw_listing_free(listing);
    assert(gw_listing_new(client, GW_LISTING_TASKS, NULL, &listing, &error) == GW_EINVAL);
    assert(gw_listing_new(client, GW_LISTING_GPUS, GW_LISTING_OPTIONS(.state = "free"), &listing,
                          &error) == GW_EINVAL);
    for (int i = 0; i < TASKS; i++)
        gw_future_release(futures[i]);
}

int main(int argc, char **argv)
{
    static const struct subject list[] = {
        {"wait", subject_wait},       {"retry", subject_retry},       {"gang", subject_gang},
        {"gpu", subject_gpu},         {"shutdown", subject_shutdown}, {"crash", subject_crash},
        {"metrics", subject_metrics}, {"listing", subject_listing},   {"history", subject_history},
        {"several", subject_several},
    };
    const struct subjects subjects = {.options = GW_CLIENT_OPTIONS(.must_exist = true),
                                      .client = &client,
                                      .list = list,
                                      .count = sizeof list / sizeof *list};
    return subjects_main(&subjects, argc, argv);
}
