/* Listings of jobs, tasks, workers, GPUs and reported metrics, row by row.
 *
 *     struct gw_listing *jobs;
 *     const struct gw_job_row *job;
 *     int rc = gw_listing_new(client, GW_LISTING_JOBS, GW_LISTING_OPTIONS(.state = "running"),
 * &jobs, &error); while (rc == 0 && (rc = gw_listing_next_job(jobs, &job, &error)) > 0)
 *         printf("%llu %s\n", (unsigned long long)job->id, job->name);
 *     gw_listing_free(jobs);
 *
 * The scheduler sends a listing in pages, and the process holds one page at a time. A row shows the
 * state at the time when its page was made. A later version may have more fields at the end of a
 * row; programs use rows only through the pointers that they get. gw_client_query gives the same
 * listings as values, and the listings that have no rows here. */
#ifndef GANGWAY_LISTING_H
#define GANGWAY_LISTING_H

#include <gangway/error.h>
#include <gangway/options.h>
#include <gangway/value.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_client;
struct gw_listing;

enum gw_listing_kind {
    GW_LISTING_JOBS,    /* the jobs that the cluster knows, the newest first */
    GW_LISTING_TASKS,   /* the tasks of one job */
    GW_LISTING_WORKERS, /* the workers of the cluster */
    GW_LISTING_GPUS,    /* the GPUs of all workers */
    GW_LISTING_METRICS, /* what the tasks of one job have reported, in this order */
};

/* Which rows a listing has. Every field may be 0, which means: all. */
struct gw_listing_options {
    size_t struct_size; /* see options.h */
    uint64_t job;       /* number of the job, for GW_LISTING_TASKS and GW_LISTING_METRICS, which
                           need it */
    const char *state;  /* only jobs or tasks in this state; copied. Jobs: a state of gw_job_row,
                           "unfinished" or "ended". Tasks: a state of gw_task_row */
    const char *user;   /* only jobs of this user, a name or a number; copied */
    uint64_t since_ns;  /* only jobs submitted at or after this time; nanoseconds since 1970 */
    uint64_t limit;     /* at most this number of rows */
    uint64_t after;     /* only reports with a greater `seq`; for GW_LISTING_METRICS */
    bool follow;        /* at the end, wait for the next report until the job has ended; for
                           GW_LISTING_METRICS */
};
#define GW_LISTING_OPTIONS(...) GW_POINTER(gw_listing_options, __VA_ARGS__)

/* Times of day are in nanoseconds since 1970; 0: not yet. Texts are never NULL, unless a comment
 * says so. `row` is the same row as a dict, which has further fields (docs/reference/json.md).
 * Everything is borrowed from the listing. */
struct gw_job_row {
    uint64_t id;
    const char *name, *user;
    const char *state; /* "queued", "running", "pausing", "paused", "open" (a stream that may get
                          more tasks), "done", "failed" or "cancelled" */
    uint64_t tasks, done, failed, cancelled, running; /* numbers of tasks */
    uint32_t ranks;                                   /* of its gang; 0: no gang */
    bool detached;
    uint64_t submitted_ns, started_ns, ended_ns;
    double slot_seconds, gpu_seconds; /* resources used so far */
    double cpu_seconds;               /* CPU time so far; of tasks that run, some seconds old */
    double progress;                  /* last progress of a task, from 0 to 1 */
    const char *progress_text;
    int32_t code, exit_code; /* of a failed job: GW_E... and exit code of the first failure */
    const char *text;        /* of a failed job: the error */
    const struct gw_value *row;
};

struct gw_task_row {
    uint32_t index;
    const char *name;
    const char *state; /* "waiting" (for other tasks), "ready" (waits for a worker), "queued" or
                          "pipelined" (at a worker), "running", "cancelling", "done", "failed" or
                          "cancelled" */
    uint32_t attempts; /* number of attempts so far */
    uint64_t attempt;  /* id of the last attempt, for gw_job_log; 0: none */
    const char *where; /* worker or workers */
    uint32_t ranks;    /* 0: an ordinary task */
    uint64_t started_ns, run_ns; /* of the last attempt: begin and duration */
    int32_t code, exit_code;     /* of a failed task: GW_E... and exit code */
    const char *text;            /* of a failed task: the error */
    const struct gw_value *row;
};

struct gw_worker_row {
    uint32_t id;
    const char *name, *host;
    const char *address; /* "local": a worker on the scheduler's host */
    const char *state;   /* "ready", or why the worker takes no tasks */
    uint32_t slots, slots_free;
    uint32_t gpus;    /* number of its GPUs, with those that are drained or another worker's */
    uint32_t running; /* number of attempts that run on it */
    uint64_t memory_bytes, memory_used_bytes;
    uint64_t result_bytes, spilled_bytes; /* results in its memory and on its disk */
    const struct gw_value *row;
};

struct gw_gpu_row {
    uint32_t worker; /* id of its worker */
    const char *worker_name, *host;
    uint32_t number; /* on its worker */
    const char *name, *uuid;
    const char *physical_gpu; /* of a MIG instance: UUID of its GPU; "": a whole GPU */
    const char *state;   /* "free", "used", "shared", "clearing", "drained" or "elsewhere" (another
                            worker of the machine offers it) */
    const char *drained; /* why the GPU is drained; "": it is not */
    uint64_t memory_bytes, memory_used_bytes;
    double power_w;
    uint32_t busy_percent;
    uint32_t nvlink_domain; /* GPUs with the same number are linked by NVLink */
    const struct gw_value *row;
};

/* A value that a task has reported (gw_task_step, `gangway report`). A metric of a task has the
 * first 4,096 reports; of later ones 512 for each doubling of their number, and the latest. */
struct gw_metric_row {
    uint64_t seq;   /* grows from report to report, in all jobs of the cluster */
    uint32_t index; /* of the task; of a gang: 0, because only rank 0 adds to the metrics */
    int64_t step;
    uint64_t time_ns; /* when it was reported */
    const char *name; /* of the metric */
    double value;     /* may be infinite or not a number */
    const struct gw_value *row;
};

/* gw_listing_new makes a listing. It copies the options and asks the scheduler nothing. options may
 * be NULL. Free the listing before the client is closed. One thread at a time may use it.
 * GW_EINVAL: an option that this kind does not take, or no job for a kind that needs it.
 */
GW_API int gw_listing_new(struct gw_client *client, enum gw_listing_kind kind,
                          const struct gw_listing_options *options, struct gw_listing **listing,
                          struct gw_error *error);
GW_API void gw_listing_free(struct gw_listing *listing);

/* Each of these functions gets the next row of a listing of its kind. It returns 1 and sets *row, 0
 * after the last row, or a negative code. The row and its texts stay valid until the next call on
 * the listing. The call blocks when it fetches a page. With `follow`, gw_listing_next_metric also
 * blocks until there is another report, for which it asks five times a second, or the job has
 * ended; then it returns 0. A program that must not wait makes a listing without `follow` from time
 * to time, with the `seq` of the last row as `after`. GW_EINVAL: a listing of another kind, or a
 * state or user that does not exist. GW_ENOENT: no such job. GW_ECLOSED: the connection has ended.
 */
GW_API int gw_listing_next_job(struct gw_listing *listing, const struct gw_job_row **row,
                               struct gw_error *error);
GW_API int gw_listing_next_task(struct gw_listing *listing, const struct gw_task_row **row,
                                struct gw_error *error);
GW_API int gw_listing_next_worker(struct gw_listing *listing, const struct gw_worker_row **row,
                                  struct gw_error *error);
GW_API int gw_listing_next_gpu(struct gw_listing *listing, const struct gw_gpu_row **row,
                               struct gw_error *error);
GW_API int gw_listing_next_metric(struct gw_listing *listing, const struct gw_metric_row **row,
                                  struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
