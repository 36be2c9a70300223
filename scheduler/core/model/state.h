/* The state of the scheduler's core. Only files of scheduler/core use this header.
 *
 * Only the files of model/ change this state: appliers of facts (fact.h), and mutators that make
 * one assignment each. Pointers to jobs, workers, sessions, remotes, resource classes (struct
 * gw_resource_class) and gangs stay valid while the object exists. Attempts, objects and holders
 * are named by their index into a table, because these tables move when they grow. */
#ifndef GW_SCHEDULER_CORE_STATE_H
#define GW_SCHEDULER_CORE_STATE_H

#include "graph/base/array.h"
#include "graph/base/map.h"
#include "graph/base/must.h"
#include "graph/base/strmap.h"
#include "graph/wire/enums.h"
#include "graph/wire/step.h"
#include "scheduler/core/model/adopted.h"
#include "scheduler/core/model/bits.h"
#include "scheduler/core/model/counts.h"
#include "scheduler/core/model/fact.h"
#include "scheduler/core/model/limits.h"
#include "scheduler/core/model/logged.h"
#include "scheduler/core/model/options.h"
#include "scheduler/core/model/outgoing.h"
#include "scheduler/core/model/parted.h"
#include "scheduler/core/model/preemption.h"
#include "scheduler/core/model/pures.h"
#include "scheduler/core/model/reserved.h"
#include "scheduler/core/model/spans.h"
#include "scheduler/core/model/states.h"

#include <assert.h>

/* -- Peers ------------------------------------------------------------------------------------ */

/* The other end of a connection. */
struct gw_remote {
    gw_peer peer;
    uint64_t id;               /* used in message envelopes */
    uint32_t role, uid, owner; /* owner: the user to whom a worker belongs */
    bool admin;                /* may act on the jobs of all users */
    char *name;
    char address[64];    /* host that it connected from; empty: this host */
    uint64_t seen, sent; /* sequence numbers of the last received and sent message */
    struct gw_session *session;
    struct gw_worker *worker;
};

struct gw_session {
    struct gw_remote *remote;
    struct gw_session *prev, *next;
    struct gw_job *jobs;    /* list linked by session_next */
    struct gw_map requests; /* requests whose job is incomplete -> struct gw_job * */
    struct gw_map refused;  /* refused requests of which more messages may arrive */
    struct gw_done_rows done;
    struct gw_map shares;                /* request -> struct gw_share * */
    struct gw_sync_waiter *sync_waiters; /* its waiting coordination requests */
    struct gw_sync_lease *sync_leases;   /* its coordination leases */
    uint32_t attempt; /* if the client runs inside an attempt, the index of this attempt in the
                         table of attempts; otherwise GW_NO_INDEX */
    struct gw_session *inside_prev, *inside_next; /* other sessions inside the same attempt */
    uint64_t age;                                 /* age of jobs that it submits; 0: their own id */
    uint32_t depth;
    bool of_command; /* the client runs inside a command: its detached jobs get an age of their own
                        and depth 0 */
    struct gw_scattered scattered; /* scattered values of its jobs that the scheduler holds */
};

/* A session to be told the end of a task, with the request and index that identify the task for it.
 */
struct gw_hearer {
    struct gw_session *session;
    uint64_t request;
    uint32_t index;
};

/* -- Jobs and tasks --------------------------------------------------------------------------- */

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

/* -- Resource classes and ready queues -------------------------------------------------------- */

struct gw_resource_class {
    uint32_t id, uid;      /* index into sched->shapes; the user if of_user is set */
    uint32_t ranks;        /* 0: an ordinary task */
    uint32_t slots, gpus;  /* of one rank; 0 slots: a task without a slot, or `calls` */
    bool calls;            /* calls of an actor, which use the resources of the actor */
    uint32_t gpu_fraction; /* thousandths of its one GPU; 0: whole GPUs */
    /* If on_instances is set, ranks of the gang get MIG instances, see gpu.h. */
    bool gpu_if_any, alone, on_instances;
    uint32_t any_gpus; /* gpu_if_any: GPUs that a rank gets in the present cluster */
    uint64_t memory_bytes;
    uint32_t time_limit_class;     /* group of similar time limits; 0: no limit */
    uint32_t per_node;             /* gang: ranks on each worker; 0: any number */
    bool spread;                   /* gang: spread evenly over many workers */
    bool files, of_user;           /* tasks have files; only workers that serve `uid` are used */
    uint32_t min_ranks;            /* gang: may start with this many ranks; 0: needs all */
    uint64_t full_size_timeout_ns; /* gang: time to wait for all ranks, see gang_size.h */
    struct gw_need *need;          /* constraint on workers; NULL: none */
    uint32_t queues, attempts;     /* number of references to it */
    uint32_t debits, ready; /* number of debits in all worker queues of this class; number of tasks
                               in all its ready queues */
    GW_ARRAY(struct gw_queue_group *) groups; /* a heap, ordered by their first queues */
    struct gw_queue_group *spare;             /* an empty group, or NULL */
    uint32_t nested; /* queues in the groups whose jobs were submitted by tasks */
    GW_ARRAY(struct gw_queue *) parked; /* queues without enough memory, at most GW_PARKED_MAX */
    bool parted;  /* blocked because some pairs of workers cannot connect to each other */
    bool blocked; /* none of its tasks fits until something is freed */
    bool could;   /* an empty cluster could run it; valid for could_epoch */
    uint64_t could_epoch;
    /* Worker queues that take further short tasks, as rings by load. A bit of `rooms` is set if the
     * ring of this load is not empty. */
    struct gw_worker_queue *room[GW_WORKER_QUEUE_LOADS];
    uint64_t rooms;
    struct gw_worker_queue *queued; /* ring of worker queues with more attempts than debits */
    uint32_t recalled;              /* attempts that were asked back and have not ended */
    /* If `need` is set: the workers that could ever run a rank, as of candidates_epoch. Workers
     * that the constraint names come first. */
    GW_ARRAY(struct gw_worker *) candidates;
    uint32_t candidates_named;
    uint64_t candidates_epoch;
};

/* Ready queues of a resource class that change their places in the order together: without a
 * policy, all; with a policy, those with the same priority, payer and stand to the quotas. */
struct gw_queue_group {
    const struct gw_payer *payer; /* NULL: without a policy */
    const struct gw_submit_queue *submit_queue;
    int32_t priority;
    uint32_t quota_kind; /* of their jobs, see account.h */
    uint8_t quota;       /* enum gw_quota of their first tasks */
    uint32_t heap_at;
    GW_ARRAY(struct gw_queue *) heap; /* ordered by priority, then job */
};

/* Ready tasks of one job with the same resource class and priority. */
struct gw_queue {
    struct gw_resource_class *shape;
    struct gw_job *job;
    int32_t priority;
    uint32_t heap_at;             /* GW_NO_INDEX: not in the heap of a group */
    struct gw_queue_group *group; /* NULL: not in a group */
    struct gw_bits ready;
    struct gw_bits fed; /* those of `ready` that have dependencies */
    bool parked;        /* not in the heap: no worker has enough memory now */
    uint8_t quota;      /* enum gw_quota of its first task, if it is in no group */
    uint32_t aged;      /* gangs: waiting periods of its first task, see ageing.h */
    uint64_t ages_ns;   /* end of the present period; 0: no task waits */
    uint64_t full_ns;   /* gangs with min_ranks: end of the wait for all ranks */
    struct gw_queue *age_prev, *age_next;
};

/* A worker's attempts of one resource class. A debit is the slots and other resources of one
 * attempt. There are at most as many debits as attempts. Attempts beyond the debits are prefetched
 * short tasks, and take over the debit of an attempt that ends. */
struct gw_worker_queue {
    struct gw_worker *worker;
    struct gw_resource_class *shape;
    uint32_t debits, attempts;
    uint32_t longs;     /* number of attempts that have a debit of their own, so that no other task
                           waits for their slot */
    uint32_t blocked;   /* of the longs: waiting for other tasks, with yielded slots */
    uint32_t may_run;   /* while the worker is lost: attempts that may have run */
    uint32_t recalled;  /* attempts that were asked back */
    uint32_t load;      /* index of its ring in shape->room */
    uint32_t pipelined; /* attempts whose tasks wait for tasks on this worker */
    bool barren;        /* nothing was worth asking back, and nothing has changed since */
    bool asked;         /* true: the worker queue is idle, the scheduler asked the worker to return
                           its pipelined tasks, and none was added since */
    struct gw_worker_queue *prev, *next;               /* ring shape->room[load]; NULL: not in it */
    struct gw_worker_queue *queued_prev, *queued_next; /* ring shape->queued; NULL: not in it */
    struct gw_worker_queue *idle_prev, *idle_next; /* ring sched->idle_queues; NULL: not in it */
};

/* -- Workers and attempts --------------------------------------------------------------------- */

/* A GPU of a worker, or a MIG instance of one. See gpu.h. */
struct gw_gpu {
    uint64_t memory_bytes;
    /* Attempt that has the whole GPU; its owner, see gpu_twin.h; or GW_NO_INDEX. */
    uint32_t slot, twin;
    uint32_t shared; /* thousandths that attempts share */
    /* Owned texts or NULL: reason of the worker for draining, reason of an admin for draining
     * (gpu_drain.c), and who undrained it. */
    char *drained, *remembered, *back;
    /* GPUs with the same number share an NVLink domain, a PCIe bridge, or a NUMA node. */
    uint32_t nvlink_domain, bridge;
    int32_t numa_node;
    const char *uuid, *name, *physical_gpu, *cpus;
    uint64_t used_bytes, idle_since_ns; /* by its worker's last report, as the next line; 0: busy */
    uint32_t processes, power_mw, busy_percent, clearing;
};

/* A named resource that a worker offers. */
struct gw_stock {
    const char *name;
    uint32_t amount, free;
    uint32_t over; /* taken although none was free, see slots_over of a worker */
};

/* Short attempts whose successors were not pipelined yet, oldest first. Some may have ended. */
struct gw_frontier {
    GW_ARRAY(uint64_t) attempts;
    size_t at;   /* entries before it were handled */
    bool listed; /* is on the list sched->frontiers */
};

struct gw_stale {
    uint64_t attempt;
    uint32_t rank;
};

struct gw_worker {
    uint32_t id;   /* never reused */
    uint32_t slot; /* index into sched->workers */
    uint8_t state;
    struct gw_remote *remote;
    struct gw_arena arena; /* for texts of the registration */
    const char *host, *address, *machine;
    uint64_t incarnation;
    uint32_t slots, slots_free, gpu_count, gpus_free, instances_free;
    uint64_t memory_bytes, memory_free;
    uint32_t slots_over; /* slots in use that the worker does not have; freed ones reduce it */
    uint64_t memory_over;
    uint32_t reserved;       /* the set of reservations with ranks here */
    uint32_t reserved_slots; /* free slots that are kept for these ranks, at most */
    uint32_t reserved_ranks[GW_RESERVATIONS];
    uint32_t blocked; /* attempts that wait for other tasks */
    uint32_t aside;   /* attempts that memory need not wait for, see memory.h */
    struct gw_gpu *gpus;
    struct gw_stock *stock;
    uint32_t stock_count;
    struct gw_worker_queue **queues; /* by id of the resource class */
    uint32_t queue_count;
    uint32_t first, last; /* attempts, oldest first */
    uint32_t attempts;
    uint32_t first_holder;
    uint64_t held_bytes;
    struct gw_worker *prev, *next; /* list of workers with the same number of free slots */
    GW_ARRAY(struct gw_stale) stale;
    GW_ARRAY(struct gw_late_claim) late; /* late claims, see adopt.c */
    uint64_t joined;      /* fact of its connection; 0: none, or of an earlier term */
    uint32_t *neighbours; /* by worker slot: id of the neighbour that it knows */
    uint32_t neighbour_count;
    uint64_t heard_ns, beats_sent, beat_seen, memory_used_bytes;
    struct gw_msg_memory memory; /* last report, without its text */
    char *memory_trouble;        /* text of the last report; NULL: none */
    bool memory_one, all_users;  /* one task may be placed although memory is short; serves all */
    bool drained, drain_told;    /* see worker_drain.h; it was asked for what it has not begun */
    bool leaves, let_go;         /* was told to end; need not stay for checkpoints; see leave.h */
    uint64_t expected_bytes;     /* memory that its attempts are expected to take */
    uint64_t score_epoch, score; /* used by the current placement */
    struct gw_worker_rows rows;
    struct gw_frontier frontier;
};

/* One task, or one rank of a gang, at one worker. */
struct gw_attempt {
    /* Fields that every task uses: 64 bytes, because thousands of attempts exist at once. */
    uint64_t id; /* id of the attempt; in messages, all ranks of a gang have the id of the attempt
                    of rank 0 */
    struct gw_job *job;
    struct gw_worker *worker;
    struct gw_worker_queue *lane;
    uint32_t index, rank;
    uint32_t prev, next; /* of its worker; next: also of the list of free slots */
    uint32_t generation;
    uint8_t state;
    bool is_long : 1, blocked : 1; /* blocked: waits for other tasks, with yielded slots */
    bool stands : 1;               /* a call of an actor, or an actor that has started */
    bool pipelined : 1;            /* its task waits: its inputs do not count as fetched yet */
    bool drain_ends : 1;           /* is being ended because its worker is drained */
    uint8_t preempted : 4;         /* was told to end by this preemption; 0: by none */
    bool ends_next : 1;            /* adopted as ended: the report of its end will follow */
    bool billed : 1;               /* its payer is billed while it runs, see account.h */
    bool fetches : 1;              /* the worker fetches some inputs for this attempt */
    uint64_t expected_bytes;       /* see memory.h */

    /* Other fields. */
    struct gw_gang_attempt *gang; /* NULL: not a gang */
    struct gw_session *sessions;  /* clients inside its task, linked by inside_next; NULL: none */
    /* 0: not yet. If the attempt was adopted and is older than the clock of this host, they are
     * negative (modulo 2^64): only differences to now_ns have a meaning. */
    uint64_t placed_ns, started_ns;
    uint64_t cpu_ns;       /* CPU time so far, which its worker reports at times */
    uint64_t near_bytes;   /* size of the inputs that its worker had */
    uint64_t told;         /* number of the fact that announced it; 0: none */
    uint16_t gpus, gpu;    /* number of GPUs, and the first; a worker has at most 256 */
    uint16_t gpu_fraction; /* thousandths of its one GPU; 0: whole GPUs */
    bool aside;            /* counted in worker->aside */
    uint8_t why;           /* enum gw_placed_why */
};
static_assert(sizeof(struct gw_attempt) == 128, "a shift finds an attempt, not a multiplication");

/* Where a rank is placed. */
struct gw_placed_rank {
    struct gw_worker *worker;
    const uint32_t *gpus; /* numbers of its GPUs; NULL: none */
};

/* How an attempt ended, if it did not end well. */
struct gw_end {
    uint32_t outcome;
    int32_t code, exit_code, signal;
    bool executing, port_taken;
    bool dismissed; /* lost, because its worker was dismissed or told to end */
    const char *text, *stderr_tail;
    uint64_t run_ns; /* run time of a function that failed; else 0 */
    uint32_t peer;   /* UNREACHED: the rank that could not be reached */
};

struct gw_rank {
    uint32_t slot;   /* of its attempt; GW_NO_INDEX: the rank has ended */
    uint32_t worker; /* id */
    /* `asked`: the worker of the rank was asked to inspect the rank's process. `seen`: the worker
     * has answered. */
    bool ready, finished, asked, seen;
    /* `still`: the rank made no progress within the hang timeout. `stopped`: its process is
     * stopped by SIGSTOP. `idle`: the process used no CPU time and wrote no output. */
    bool still, stopped, idle;
    uint64_t begun;          /* collectives that it has called */
    char operation[24];      /* name of the collective that it is in */
    struct gw_result result; /* value is owned */
    char *door, *stack;      /* `door`: address "host:port" of a rank that is a command. `stack`:
                                the result of the inspection of its process. Both are owned, or
                                NULL */
};

/* One attempt of a gang. */
struct gw_gang_attempt {
    uint64_t id;
    struct gw_job *job;
    uint32_t index;
    uint8_t state;
    uint32_t count, ready, live;
    struct gw_rank *ranks;
    uint64_t deadline_ns;                /* time by which all ranks must have started */
    struct gw_gang_attempt *prev, *next; /* list of preparing gangs, by deadline */
    void *info;
    uint32_t info_size;
    bool stopped;           /* asked to stop: it does not restart, however it ends */
    bool paused;            /* its results do not count, because it continues later */
    bool growing;           /* was told to pause so that it can continue with more ranks */
    bool early, port_taken; /* failed soon after the start; the MASTER_PORT was in use */
    bool stood, late;       /* a rank made no progress; ranks that were late are inspected */
    uint64_t went_ns;
    uint64_t from_attempt; /* attempt whose checkpoint it continues from; 0: none */
    int64_t from_step;
    bool from_lost; /* the checkpoint was lost */
    bool mirrors;   /* for a gang of commands: the checkpoint folder of rank 0 is copied to all
                       workers of the gang */
    uint64_t token; /* token of the data of rank 0; 0: none */
    uint32_t cause_rank, cause_worker; /* GW_NO_INDEX and 0: not caused by a rank */
    struct gw_end cause;               /* texts are owned */
};

/* A worker, by name, that made gangs fail or could not set up the files of tasks. */
struct gw_quarantine {
    char name[64];
    bool files;        /* true: could not set up files, gets no task with files */
    uint32_t failures; /* consecutive failures */
    uint64_t until_ns;
    bool over; /* it may take ranks again */
};

/* -- Results ---------------------------------------------------------------------------------- */

/* The result of a rank. Small results are kept here, larger ones at workers or behind a token. */
struct gw_object {
    struct gw_job *job; /* NULL: free */
    uint64_t bytes;
    union {
        uint8_t small[8];
        void *value;
        uint64_t token;
    };
    uint32_t size; /* size of the value that is here */
    uint32_t index, rank;
    uint32_t holders;
    uint32_t next;             /* next rank's object; for a free entry: the next free one */
    bool has_token, scattered; /* scattered by a client and counted */
    bool absent;               /* after a restart: a worker may reconnect with it, see adopt.h */
};

/* A worker that has an object, or will have it because an attempt fetches it or the worker was told
 * to keep a replica. */
struct gw_holder {
    uint32_t object;
    uint32_t worker;   /* worker slot */
    uint32_t fetching; /* number of attempts that fetch it */
    bool firm;         /* the worker has it */
    bool copying;      /* told to fetch and keep it, without an answer yet */
    uint32_t next;     /* next holder of the object, or next free entry */
    uint32_t worker_prev, worker_next;
};

/* A block of rows of a range. */
struct gw_stub {
    uint64_t job;
    uint32_t block;
};

/* An event whose fact may not be committed yet. */
struct gw_event_waiting {
    uint64_t number, fact;
};

/* Number of tasks by state, including rows of ranges that were not created. */
struct gw_tally {
    uint64_t unfinished, done, failed, cancelled;
};

struct gw_sched {
    struct gw_sched_options options;
    uint64_t term, now_ns, wall_ns, start_ns, idle_since_ns;
    uint64_t next_remote, next_job, job_ids_upto, next_relay;
    struct gw_history history;
    uint32_t next_worker;

    struct gw_map users;                 /* uid -> name, owned */
    struct gw_accounts *accounts;        /* the policy, see account.h; NULL: none */
    struct gw_strmap usages;             /* "account/user" -> durable usage, see account.c */
    struct gw_map remotes, worker_names; /* gw_peer.id -> struct gw_remote *; worker id -> name */
    struct gw_session *sessions;
    uint32_t session_count;
    struct gw_map jobs;     /* id -> struct gw_job * */
    struct gw_map job_keys; /* user and key -> job id, see jobs/job.h */
    struct gw_job *first_job, *last_job;
    struct gw_ended_jobs ended, retained;
    uint32_t job_count, unended_jobs;
    uint32_t values;       /* jobs that hold a scattered value */
    struct gw_tally tally; /* of all jobs */

    GW_ARRAY(struct gw_worker *) workers; /* by worker slot; NULL: free */
    GW_ARRAY(struct gw_worker *) by_free; /* ready workers by number of free slots */
    uint32_t free_max;                    /* no worker has more free slots than this */
    uint64_t workers_epoch;               /* incremented when a worker becomes ready or is lost */
    uint32_t workers_ready, slots, slots_free, gpus, gpus_free, instances_free;
    uint32_t slots_open; /* free slots that are not kept for a reservation */
    GW_ARRAY(struct gw_resource_class *) shapes; /* by id; NULL: free */
    uint32_t shapes_count;
    struct gw_strmap names; /* of workers and hosts that were ever ready */
    bool freed; /* true: since the last placement, resources became free or tasks became ready */
    uint64_t score_epoch;
    GW_ARRAY(struct gw_worker *) frontiers; /* to be handled in this step */
    /* Ring of worker queues whose debits are held only by pipelined attempts. */
    struct gw_worker_queue *idle_queues;

    GW_ARRAY(struct gw_attempt) attempts;
    uint32_t free_attempt;
    struct gw_map gangs; /* attempt id -> struct gw_gang_attempt * */
    struct gw_gang_attempt *preparing, *preparing_last;
    GW_ARRAY(struct gw_quarantine) quarantines;
    GW_ARRAY(struct gw_parting) partings;
    struct gw_queue *ageing, *ageing_last; /* waiting gangs, by ages_ns */
    uint64_t elastic_ns;                   /* next end of a gang's wait for all ranks; 0: none */
    struct gw_reservation reservations[GW_RESERVATIONS];
    uint32_t reserved; /* the set of those that exist */
    struct gw_preemptions preemptions;
    GW_ARRAY(struct gw_object) objects;
    uint32_t free_object;
    GW_ARRAY(struct gw_holder) holders;
    uint32_t free_holder;
    struct gw_scattered scattered; /* total */

    /* Notes: possible consequences of facts, to be handled before the step ends. A note may be
     * outdated. */
    struct gw_actor *actors, *actors_last; /* list of all actors, oldest first (not a note) */
    GW_ARRAY(struct gw_actor *) touched;   /* actors whose state may change */
    GW_ARRAY(struct gw_actor *) callable;  /* actors that may have a call to place */
    GW_ARRAY(struct gw_row) doomed;        /* a dependency failed */
    GW_ARRAY(struct gw_row) idle;          /* done, and the result may not be needed any more */
    GW_ARRAY(struct gw_row) lost;          /* done, but the result was lost */
    GW_ARRAY(struct gw_row) reopened;      /* may be ready or doomed */
    GW_ARRAY(struct gw_row) unwanted;      /* may not be needed any more */
    GW_ARRAY(struct gw_row) retried;       /* failed, and needed again by a retried task */
    GW_ARRAY(struct gw_job *) ending;      /* jobs whose tasks have all ended */
    GW_ARRAY(uint64_t) hungry;             /* ids of ranges that may create more rows */
    GW_ARRAY(struct gw_stub) stubs;        /* blocks of ranges whose rows are all closed */
    GW_ARRAY(uint64_t) ungated;            /* ids of jobs that may start now, or never */
    GW_ARRAY(gw_peer) orphaned;            /* clients inside attempts that have ended */
    GW_ARRAY(uint64_t) aging;              /* ids of ended jobs of which something may be freed */
    GW_ARRAY(uint64_t) revisited;          /* ids of jobs whose pending requests may be answered */
    GW_ARRAY(uint64_t) nameless;           /* ids of jobs whose names end with them */
    GW_ARRAY(uint64_t) followed;           /* ids of jobs with pending requests that were placed */
    GW_ARRAY(struct gw_delay) delays;      /* a heap by due_ns */

    struct gw_map pending_requests; /* relay -> struct gw_pending_request * */
    struct gw_map replicas;         /* index of a copying holder -> struct gw_replica * */
    struct gw_map tunnels;          /* number -> struct gw_tunnel * */
    uint32_t tunnels_waiting;
    uint64_t next_tunnel;

    struct gw_strmap syncs; /* "uid kind name" -> struct gw_sync * */
    struct gw_sync *first_sync, *last_sync;
    struct gw_map sync_names;                         /* uid -> number of its names */
    GW_ARRAY(struct gw_sync_waiter *) sync_deadlines; /* a heap */
    uint64_t fence;                                   /* fence number of the latest lease */
    uint64_t sync_bytes;
    struct gw_strmap published; /* "uid/name" -> struct gw_share * */
    struct gw_pures pures;

    struct gw_map adopted; /* attempt id of an earlier term -> its place */
    uint32_t late_claims;  /* number of late claims of all workers */
    uint32_t ends_coming;  /* attempts that were adopted as ended and not reported yet */
    struct gw_hold hold;

    /* Numbers of reports and ends of jobs; see jobs/event_number.h. */
    uint64_t event_number; /* of the last one */
    GW_ARRAY(struct gw_event_waiting) events_waiting;

    struct gw_buffer commit; /* durable facts of this step */
    uint64_t facts, committed;
    bool restoring, commit_urgent; /* urgent: some facts of `commit` are no reports of metrics */
    GW_ARRAY(struct gw_announcement) announcements;
    GW_ARRAY(struct gw_acknowledgement) acknowledgements; /* waiting for their commit */

    struct gw_event_log event_log;
    struct gw_log_jobs log_jobs;
    char no_room[400];     /* why no detached job is accepted; empty: accepted */
    char lost_worker[240]; /* text about the last lost worker */
    uint64_t lost_worker_ns;
    struct gw_lost_workers *disconnected;   /* workers that may reconnect; NULL: none */
    uint32_t leaving;                       /* number of workers in the state SHUTTING_DOWN */
    uint64_t leave_look_ns;                 /* when to check again whether they may end */
    struct gw_gpus_left *gpus_left;         /* see gpu_twin.c; NULL: none */
    struct gw_gpu_drains *gpu_drains;       /* see gpu_drain.c; NULL: none */
    struct gw_worker_drains *worker_drains; /* see worker_drain.c; NULL: none */
    uint64_t beat_ns;                       /* time of the next heartbeats */
    gw_peer shutdown_peer;
    uint64_t shutdown_request, shutdown_deadline_ns, shutdown_grace_ns;
    uint32_t shutdown_workers; /* the shutdown waits for workers with ids below this */
    bool shutting_down, exited;
    struct gw_step step;
};

#endif
