/* Jobs and their tasks. See state.h. */
#ifndef GW_SCHEDULER_CORE_MODEL_JOBS_H
#define GW_SCHEDULER_CORE_MODEL_JOBS_H

#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "graph/base/map.h"
#include "graph/wire/step.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/spans.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct gw_actor;
struct gw_job_rare;
struct gw_line;
struct gw_payer;
struct gw_queue;
struct gw_replication;
struct gw_resource_class;
struct gw_session;
struct gw_submit_queue;

struct gw_spec {
    struct gw_msg_spec message; /* its pointers point into the job's arena */
    struct gw_resource_class *shape;
    struct gw_queue *queue;
    uint64_t mean_ns; /* running average of the run time of its tasks */
    uint32_t samples;
    /* Last computed prefetch window, and its inputs. */
    uint32_t window, window_samples, window_slots;
    uint64_t mean_bytes; /* running average of the size of its results */
    uint64_t peak_bytes; /* highest memory use seen for a process of its tasks */
    uint32_t told_count;
    uint32_t *told; /* by worker slot: id of the worker that has the spec */
};

/* The first cause of a failure. Tasks that failed because of the same cause share it. */
struct gw_failure {
    uint32_t refs;
    int32_t code, exit_code;
    uint64_t attempt;
    char *text;
};

enum gw_task_flag {
    GW_TASK_TARGET = 1,       /* submitted with a future */
    GW_TASK_HELD = 2,         /* the client holds this future */
    GW_TASK_TOLD = 4,         /* the session was told of its end */
    GW_TASK_ALONE = 8,        /* must run with no other task on its worker */
    GW_TASK_STARTED = 16,     /* its running attempt reported the start */
    GW_TASK_TOLD_FAILED = 64, /* with TOLD: it was told that the task failed */
    GW_TASK_DEPENDENT = 32,   /* failed because a dependency failed */
    GW_TASK_AGAIN = 128,      /* was reopened after it had ended */
    GW_TASK_WAS_DONE = 256,   /* ended well once */
    GW_TASK_RERUN = 512,      /* being cancelled, but a retried task needs it again */
    GW_TASK_ALIAS = 8192,     /* its result is that of its only dependency */
    GW_TASK_DELAYED = 1024,   /* waits for its retry delay */
    GW_TASK_CANCELS = 16384,  /* after a restart: its cancellation was not complete */
    GW_TASK_CLOSED = 4096,    /* a task of a range that has ended, and whose result no client can
                                 request any more */
};

/* A dependency of a row. job 0: the job of the row. */
struct gw_edge {
    uint64_t job;
    uint32_t index, rank;
};

/* A successor in another job. index GW_INDEX_ALL: all rows of a range. */
struct gw_later {
    uint64_t job;
    uint32_t index, next;
};

/* Table of tasks by row. All columns are in one memory block. */
struct gw_tasks {
    uint32_t count, capacity;
    void *block;
    size_t lazy_bytes; /* of a lazily committed block; 0: an ordinary allocation */
    bool forgets;      /* range: retired rows give their memory back */
    /* Range: all rows have the same dependencies; dependencies were freed. */
    bool shared_deps, edges_gone;
    uint64_t *attempt; /* id of the live attempt, else of the last one */
    const uint8_t **args;
    struct gw_charges *charges;
    uint32_t *args_size, *spec, *waiting, *users, *deps_at, *succ, *object, *worker;
    uint16_t *flags;
    uint8_t *state;

    uint32_t edges, edges_capacity;
    uint32_t *dep, *next; /* dependencies; this and the fields below: see edge.c */
    uint32_t *edge_rows;  /* row of every 256th dependency */
    GW_ARRAY(struct gw_edge) far;
    GW_ARRAY(struct gw_later) laters;
};

/* Progress that a task reported. */
struct gw_progress {
    uint32_t index;
    double fraction; /* 0 to 1 */
    char text[201];
};

/* Where an attempt ran. Recorded for ranks of gangs, and for attempts of a task that has several.
 */
struct gw_place {
    uint64_t attempt;
    uint32_t index, rank, worker; /* worker id; 0: in an earlier term, see name */
    const char *name; /* of the worker of an earlier term, in the job's arena; NULL: this term */
    bool unbegun;     /* its gang never started, so listings do not show the attempt */
    uint16_t number;  /* of the task's attempts: 1, 2, ... */
};

/* A request that waits for the end of a job or task, or for the answer of a worker. */
struct gw_pending_request {
    uint64_t relay; /* its number in messages to workers */
    uint32_t type;  /* GW_MESSAGE_wait, fetch, log_read, replicate */
    gw_peer peer;
    uint64_t request, job;
    uint32_t index, rank;
    struct gw_msg_log_read log;
    uint32_t worker;                    /* id of the worker that was asked; 0: none yet */
    struct gw_replication *replication; /* owned; only for replicate */
};

/* A job whose tasks differ only by a number. Its first tasks.count rows were created. */
struct gw_range {
    int64_t begin, step;
    uint32_t count;       /* all rows, including those that are not created yet */
    uint32_t limit;       /* rows that may be unfinished at once */
    uint32_t ahead;       /* rows that may be created and not closed */
    uint32_t live;        /* created and not ended */
    uint32_t open_rows;   /* created and not closed: not ended, or the result is held */
    uint32_t low;         /* number of blocks at the beginning that were freed */
    uint32_t block;       /* rows in a block */
    uint32_t *block_open; /* number of rows in each block that are not closed */
    uint32_t args_size, index_at;
    uint8_t *args;
    uint32_t retired_done, retired_failed, retired_cancelled;
    struct gw_spans given_up;  /* rows that are not created and that nobody wants */
    struct gw_spans cancelled; /* rows that are not created and will be cancelled at creation */
    bool results;              /* each row is a target */
    bool closed;               /* its client will request nothing more of it */
    bool stop;                 /* end the range at the first failure */
    bool retires;              /* blocks of closed rows are freed */
    bool feeding;              /* holds the inputs: more rows will be created */
    bool ended;                /* the range creates no more tasks: those that it has not created
                                  are cancelled */
    bool failed;               /* a row has failed and `stop` is set */
    bool hungry;               /* is on the list sched->hungry */
};

/* A job that starts after another job has ended. Both jobs record the relation. */
struct gw_follower {
    uint64_t job;
    bool any; /* starts also if the other job ended badly */
};

/* A list of ended jobs, in the order in which they came into it. */
struct gw_ended_jobs {
    struct gw_job *first, *last;
    uint64_t count, tasks;
};

struct gw_job {
    uint64_t id;
    uint64_t age;   /* id of the root job, if tasks submitted this job */
    uint32_t depth; /* number of submitting tasks above it */
    uint8_t state;
    bool detached, compacted, cancelled;
    uint8_t paused; /* enum gw_pause; if not 0, its queues are in no heap */
    /* Likewise, because workers that may run it are expected, see hold.h and adopt.h. */
    bool awaits;
    uint32_t uid;
    char *name, *user;
    struct gw_session *session; /* NULL: the session has ended */
    struct gw_job *session_prev, *session_next;
    struct gw_job *prev, *next;             /* list of all jobs, oldest first */
    struct gw_job *ended_prev, *ended_next; /* list sched->ended or sched->retained */
    uint64_t parent; /* id of the detached job whose task submitted it; 0: none. While the parent
                        has not ended, the job is not forgotten */
    bool has_children, retained; /* retained: ended, and no limit of the history forgets it yet */
    uint64_t request;
    uint64_t submitted_wall_ns, ended_wall_ns;
    struct gw_job_usage usage;
    struct gw_payer *payer; /* see account.h; NULL: there is no policy, or nothing to pay for */
    uint64_t ended_number;  /* number of the fact of its end, if that is durable */
    uint64_t end_event;     /* number of its end among all events; 0: none */
    struct gw_arena arena;  /* for specs and names */
    GW_ARRAY(struct gw_spec) specs;
    GW_ARRAY(struct gw_queue *) queues;
    GW_ARRAY(void *) blobs; /* arguments, one block for each chunk */
    struct gw_tasks tasks;
    struct gw_job_rare *rare; /* rarely used fields, see jobs/job.h; owned; NULL: none */
    struct gw_map failures;   /* row -> struct gw_failure * */
    struct gw_map *decided;   /* attempts of lost workers and gangs -> row; NULL: none */
    uint32_t shared;          /* number of shares of its tasks */
    uint32_t aliases;         /* number of rows whose result is another task's */
    GW_ARRAY(struct gw_place) places;
    uint32_t unfinished, done, failed, cancelled_tasks, placed, held;
    uint32_t objects;   /* objects that exist */
    uint32_t borrowers; /* dependencies of its tasks on other jobs that may run again */
    uint32_t needed;    /* uses of its results by unfinished tasks of other jobs */
    uint32_t pending_requests, names; /* waiting requests; its own names: scoped_name.h */
    struct gw_failure *first_failure;
    struct gw_failure *cancelled_failure; /* shared by tasks that were cancelled before they ran */
    struct gw_range *range;               /* NULL: not a range */
    bool gated;                /* waits for other jobs; counts as a dependency of each row */
    bool unwritten;            /* has a key and is not on disk yet */
    uint32_t gates;            /* number of unended jobs before it, plus 1 if `unwritten` */
    uint64_t gate_failed;      /* id of a job before it that ended badly; 0: none */
    bool stream;               /* the client sends it graph by graph */
    uint32_t stream_rows;      /* rows of complete graphs */
    uint32_t weight;           /* number of rows that it counts for in the history */
    struct gw_actor *actor;    /* the actor that its only task creates; owned */
    struct gw_actor *calls_of; /* the actor that its tasks call */
    struct gw_line *line;      /* line of calls of that actor; NULL: no row is to be placed */
    struct gw_job *line_prev, *line_next;
    uint32_t line_row;                    /* first row that may be ready or waiting */
    struct gw_progress *progress;         /* last reported progress of a task; NULL: none */
    uint64_t opened_ns;                   /* 0: the job was restored from the journal */
    uint64_t log_from;                    /* number of facts in the event log before this job */
    struct gw_submit_queue *submit_queue; /* queue of the policy; NULL: none */
    uint32_t billed;                      /* its attempts that are billed while they run */
    bool queued;                          /* counts among the queued jobs of its account */
    uint32_t log_unusual; /* recorded unusual facts, while not all facts are recorded */
};

/* A row of any job. */
struct gw_row {
    struct gw_job *job;
    uint32_t index;
};

#endif
