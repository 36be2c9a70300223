/* The state of the scheduler's core: for its files, and for nobody outside of scheduler/core.
 *
 * Only the room model/ changes it: appliers of facts (fact.h), and plain mutators for what wraps
 * one assignment. Pointers to jobs, workers, sessions, remotes, shapes and gangs are stable;
 * attempts, objects and holders are named by their place in a table, because the tables move when
 * they grow. */
#ifndef GW_SCHEDULER_CORE_STATE_H
#define GW_SCHEDULER_CORE_STATE_H

#include "graph/base/array.h"
#include "graph/base/map.h"
#include "graph/base/must.h"
#include "graph/base/sm.h"
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
#include "scheduler/core/model/spans.h"

/* -- State machines -----------------------------------------------------------------------------
 */

enum gw_task_state {
    GW_TASK_RETIRED,    /* a range's: it ended, and its row was given back (and so reads as 0) */
    GW_TASK_WAITING,    /* for tasks before it */
    GW_TASK_READY,      /* in a queue */
    GW_TASK_PLACED,     /* at a worker */
    GW_TASK_CANCELLING, /* at a worker that was told to end it */
    GW_TASK_DONE,
    GW_TASK_RELEASED, /* done, and its result is gone because nobody needs it */
    GW_TASK_FAILED,
    GW_TASK_CANCELLED,
    GW_TASK_PIPELINED, /* at a worker that makes what it waits for */
};

enum gw_attempt_state {
    GW_ATTEMPT_FREE,
    GW_ATTEMPT_SENT,
    GW_ATTEMPT_RUNNING,
    GW_ATTEMPT_KILLED,
    GW_ATTEMPT_RECALLED, /* asked back, to be placed elsewhere; it may run all the same */
};

enum gw_gang_state {
    GW_GANG_PREPARING, /* ranks start */
    GW_GANG_READY,     /* all stand */
    GW_GANG_RUNNING,
    GW_GANG_ENDING, /* one ended badly: the others are being ended */
    GW_GANG_ENDED,
    GW_GANG_RECOVERING, /* of an earlier life: not all ranks have been told of */
};

enum gw_worker_state {
    GW_WORKER_CONNECTED,
    GW_WORKER_REJOINING, /* registered with attempts of an earlier connection, which end now */
    GW_WORKER_READY,
    GW_WORKER_SHUTTING_DOWN, /* nothing of it runs any more: it stays for its checkpoints; leave.h
                              */
    GW_WORKER_LOST,
};

enum gw_job_state { GW_JOB_OPEN, GW_JOB_RUNNING, GW_JOB_ENDED };

enum gw_actor_state {
    GW_ACTOR_CREATING,   /* its task has not been through yet */
    GW_ACTOR_ALIVE,      /* takes calls */
    GW_ACTOR_RESTARTING, /* its runner or worker is gone: its task runs again */
    GW_ACTOR_ENDING,     /* nobody holds it, or somebody ended it */
    GW_ACTOR_DEAD,
};

extern struct gw_sm gw_sched_task_sm, gw_sched_attempt_sm, gw_sched_gang_sm, gw_sched_worker_sm,
    gw_sched_job_sm, gw_sched_actor_sm, gw_sched_tunnel_sm;

/* -- Peers ---------------------------------------------------------------------------------------
 */

/* The other end of a connection. */
struct gw_remote {
    gw_peer peer;
    uint64_t id; /* in the envelopes */
    uint32_t role, uid;
    bool admin; /* acts on the jobs of all */
    char *name;
    char address[64];    /* the host it connected from; empty: this one */
    uint64_t seen, sent; /* sequence numbers */
    struct gw_session *session;
    struct gw_worker *worker;
};

struct gw_session {
    struct gw_remote *remote;
    struct gw_session *prev, *next;
    struct gw_job *jobs;    /* by session_next */
    struct gw_map requests; /* of jobs whose last chunk has not come -> struct gw_job * */
    struct gw_map refused;  /* requests that were refused, of which more may be under way */
    struct gw_done_rows done;
    struct gw_map shares;                /* request -> struct gw_share * */
    struct gw_sync_waiter *sync_waiters; /* what it waits for */
    struct gw_sync_lease *sync_leases;   /* what it holds */
    uint32_t attempt; /* place of the attempt that it is inside of; GW_NO_INDEX: a client's */
    struct gw_session *inside_prev, *inside_next; /* others inside of the same attempt */
    uint64_t age;                                 /* of what it submits; 0: the jobs' own */
    uint32_t depth;
    bool of_command; /* inside of one: detached jobs have an age of their own, and no depth */
    struct gw_scattered scattered; /* of its jobs' values, those that are here */
};

/* Who is told of a task's end, and as what. */
struct gw_hearer {
    struct gw_session *session;
    uint64_t request;
    uint32_t index;
};

/* -- Jobs and tasks ------------------------------------------------------------------------------
 */

struct gw_spec {
    struct gw_msg_spec message; /* key: the job; all it points to lies in the job's arena */
    struct gw_shape *shape;
    struct gw_queue *queue;
    uint64_t mean_ns; /* of the time its tasks ran, weighted towards the latest */
    uint32_t samples;
    uint32_t window, window_samples, window_slots; /* as computed last, and for what */
    uint64_t mean_bytes;                           /* of its results, likewise */
    uint64_t peak_bytes; /* the most that a process of its tasks was seen with */
    uint32_t told_count;
    uint32_t *told; /* by worker slot: the id of the worker that was told */
};

/* The first cause of a failure; tasks that failed because of one share it. */
struct gw_failure {
    uint32_t refs;
    int32_t code, exit_code;
    uint64_t attempt;
    char *text;
};

enum gw_task_flag {
    GW_TASK_TARGET = 1,       /* was submitted with a future */
    GW_TASK_HELD = 2,         /* that future is held */
    GW_TASK_TOLD = 4,         /* its end was shown to the session */
    GW_TASK_ALONE = 8,        /* runs with no other on its worker */
    GW_TASK_STARTED = 16,     /* its running attempt said so */
    GW_TASK_TOLD_FAILED = 64, /* with TOLD: that it failed */
    GW_TASK_DEPENDENT = 32,   /* it failed because a task before it did */
    GW_TASK_AGAIN = 128,      /* it was opened again after it had ended */
    GW_TASK_WAS_DONE = 256,   /* it ended well once */
    GW_TASK_RERUN = 512,      /* cancelling, and wanted again by a task that is retried */
    GW_TASK_ALIAS = 8192,     /* its result is that of the one task that it depends on */
    GW_TASK_DELAYED = 1024,   /* waiting for its time before it is tried again */
    GW_TASK_CANCELS = 16384,  /* of an earlier life: it was being cancelled when that ended */
    GW_TASK_CLOSED = 4096,    /* of a range: it ended, and nobody can ask for it any more */
};

/* A dependency of a row. job 0: the row's own. */
struct gw_edge {
    uint64_t job;
    uint32_t index, rank;
};

/* A successor in another job. index GW_INDEX_ALL: all rows of a range. */
struct gw_later {
    uint64_t job;
    uint32_t index, next;
};

/* Tasks by row. All columns lie in one block. */
struct gw_tasks {
    uint32_t count, capacity;
    void *block;
    size_t lazy_bytes;            /* of a block of lazy memory; 0: it is an ordinary allocation */
    bool forgets;                 /* a range's: rows that were retired give their memory back */
    bool shared_deps, edges_gone; /* a range's: all edges are every row's; they were let go */
    uint64_t *attempt;            /* the live one, else the last */
    const uint8_t **args;
    struct gw_charges *charges;
    uint32_t *args_size, *spec, *waiting, *users, *deps_at, *succ, *object, *worker;
    uint16_t *flags;
    uint8_t *state;

    uint32_t edges, edges_capacity;
    uint32_t *dep, *next; /* see edge.c, which has what follows, too */
    uint32_t *edge_rows;  /* of every 32nd edge */
    GW_ARRAY(struct gw_edge) far;
    GW_ARRAY(struct gw_later) laters;
};

/* How far a task says that it is. */
struct gw_progress {
    uint32_t index;
    double fraction; /* 0 to 1 */
    char text[201];
};

/* Where an attempt ran that is not a task's only one, or a rank of a gang. */
struct gw_place {
    uint64_t attempt;
    uint32_t index, rank, worker; /* its id; 0: of an earlier life, where */
    const char *name;             /* it was called this; else NULL; in the job's arena */
    bool unbegun;                 /* its gang never went: none of its attempts in what is said */
};

/* Somebody who waits for a job's or a task's end, or for an answer of a worker. */
struct gw_pending_request {
    uint64_t relay; /* its number when a worker is asked */
    uint32_t type;  /* GW_MESSAGE_wait, fetch, log_read, replicate */
    gw_peer peer;
    uint64_t request, job;
    uint32_t index, rank;
    struct gw_msg_log_read log;
    uint32_t worker;                    /* the id of the one that was asked; 0: none yet */
    struct gw_replication *replication; /* owned; NULL but for replicate */
};

/* A job whose tasks differ by a number. Its first tasks.count rows were made. */
struct gw_range {
    int64_t begin, step;
    uint32_t count;       /* rows in all, those that are not made yet too */
    uint32_t limit;       /* rows that may be unfinished at once */
    uint32_t ahead;       /* rows that may be made and not closed */
    uint32_t live;        /* made, not ended */
    uint32_t kept;        /* made, not closed: not ended, or somebody holds the result */
    uint32_t low;         /* blocks below it were given back */
    uint32_t block;       /* rows of a block */
    uint32_t *block_open; /* rows of each block that are not closed */
    uint32_t args_size, index_at;
    uint8_t *args;
    uint32_t retired_done, retired_failed, retired_cancelled;
    struct gw_spans given_up;  /* rows that are not made, and that nobody wants */
    struct gw_spans cancelled; /* rows that are not made, and end at once when they are */
    bool results;              /* each row is a target */
    bool closed;               /* its client asks for nothing of it any more */
    bool stop;                 /* at the first failure */
    bool retires;              /* blocks are given back */
    bool feeding;              /* it holds the inputs: more rows will be made */
    bool ended;                /* no more rows will be made: the others are cancelled */
    bool failed;               /* a row has failed, and stop is set */
    bool hungry;               /* is on sched->hungry */
};

/* A job that starts when another has ended: as that one, or as the other, has it. */
struct gw_follower {
    uint64_t job;
    bool any; /* whatever its end */
};

/* What a job has used. */
struct gw_job_usage {
    uint64_t started_wall_ns; /* its first attempt was given to a worker; 0: not yet, or unknown */
    uint64_t slot_ns, gpu_ns; /* slots and GPUs times time */
    uint64_t memory_mib_ms;   /* memory that was asked for, times time */
};

/* When a task's latest attempt began, and how long it ran. */
struct gw_ran {
    uint64_t started_wall_ns, run_ns;
};

struct gw_job {
    uint64_t id;
    uint64_t age;   /* the id of the job at the root, where tasks of it submitted this one */
    uint32_t depth; /* how many tasks lie between */
    uint8_t state;
    bool detached, compacted, cancelled;
    bool paused; /* none of its queues is in a heap */
    bool awaits; /* likewise: workers may run it, or have what it takes; hold.h, adopt.h */
    uint32_t uid;
    char *name, *user;
    struct gw_session *session; /* NULL: it has none any more */
    struct gw_job *session_prev, *session_next;
    struct gw_job *prev, *next; /* all jobs, oldest first */
    struct gw_job *ended_prev, *ended_next;
    uint64_t request;
    uint64_t submitted_wall_ns, ended_wall_ns;
    struct gw_job_usage usage;
    uint64_t ended_number; /* the fact of its end, where that is durable */
    struct gw_arena arena; /* of specs and names */
    GW_ARRAY(struct gw_spec) specs;
    GW_ARRAY(struct gw_queue *) queues;
    GW_ARRAY(void *) blobs; /* arguments, one a chunk */
    struct gw_tasks tasks;
    struct gw_job_rare *rare; /* see jobs/job.h; owned; NULL: it has nothing of that */
    struct gw_map failures;   /* row -> struct gw_failure * */
    struct gw_map *decided;   /* attempts of lost workers and gangs -> row; NULL: none */
    uint32_t shared;          /* shares of its tasks */
    uint32_t aliases;         /* rows whose result is another task's */
    GW_ARRAY(struct gw_place) places;
    uint32_t unfinished, done, failed, cancelled_tasks, placed, held;
    uint32_t objects;   /* alive */
    uint32_t borrowers; /* edges from its tasks to those of other jobs that may run again */
    uint32_t needed;    /* times that unfinished tasks of other jobs use one of its results */
    uint32_t pending_requests; /* that wait for it */
    struct gw_failure *first_failure;
    struct gw_failure *cancelled_failure; /* of tasks that were cancelled before they ran */
    struct gw_range *range;               /* NULL: an ordinary job */
    bool gated;                           /* nothing starts yet: each row waits for that, too */
    bool unwritten;                       /* it has a key, and is not on disk yet */
    uint32_t gates;                       /* jobs before it that have not ended, and `unwritten` */
    uint64_t gate_failed;                 /* one of them that did not end well; 0: none */
    bool stream;                          /* comes graph by graph */
    uint32_t stream_rows;                 /* of whole graphs */
    uint32_t weight;                      /* rows that it counts for in the history */
    struct gw_actor *actor;               /* that its one task makes; owned */
    struct gw_actor *calls_of;            /* the actor that its tasks are calls of */
    struct gw_line *line; /* of that actor, while a row may have to be placed; NULL: not in it */
    struct gw_job *line_prev, *line_next;
    uint32_t line_row;            /* none before it is ready, or waits */
    struct gw_progress *progress; /* what a task of it said last; NULL: nothing */
    uint64_t opened_ns;           /* 0: it was restored */
    uint64_t log_from;            /* facts that were told before it came */
    uint32_t log_unusual;         /* facts that were told of it, while not all are */
};

/* A row, named from anywhere. */
struct gw_row {
    struct gw_job *job;
    uint32_t index;
};

/* -- What tasks need, and the queues -------------------------------------------------------------
 */

struct gw_shape {
    uint32_t id;                          /* place in sched->shapes */
    uint32_t ranks;                       /* 0: an ordinary task */
    uint32_t slots, gpus;                 /* of one rank */
    uint32_t gpu_fraction;                /* thousandths of that one GPU; 0: all of it */
    bool gpu_if_any, alone, on_instances; /* of a gang: its ranks get MIG instances; see gpu.h */
    uint32_t any_gpus;                    /* gpu_if_any: what a rank gets, as the cluster is now */
    uint64_t memory_bytes;
    uint32_t time_limit_class;          /* limits of about so long; 0: none */
    uint32_t per_node;                  /* of a gang: ranks at each worker; 0: any */
    bool spread;                        /* of a gang: at many workers, evenly */
    bool files;                         /* files come with it */
    uint32_t min_ranks;                 /* of a gang: it may start with fewer; 0: it may not */
    uint64_t full_wait_ns;              /* how long such a gang waits for all; see gang_size.h */
    struct gw_need *need;               /* what it needs besides; NULL: nothing */
    uint32_t queues, attempts;          /* that refer to it */
    uint32_t debits, ready;             /* of all its lanes; rows in its queues */
    GW_ARRAY(struct gw_queue *) heap;   /* by priority, then job */
    uint32_t nested;                    /* of the heap: queues of jobs that tasks submitted */
    GW_ARRAY(struct gw_queue *) parked; /* at most GW_PARKED_MAX */
    bool parted;                        /* blocked because of pairs that cannot reach each other */
    bool blocked;                       /* nothing of it can be placed until something is freed */
    bool could; /* the cluster, if empty, could hold it; as of could_epoch */
    uint64_t could_epoch;
    /* Lanes that short tasks may queue in: rings by their load, and which of them are not empty. */
    struct gw_worker_queue *room[GW_WORKER_QUEUE_LOADS];
    uint64_t rooms;
    struct gw_worker_queue *queued; /* ring of lanes with more attempts than debits */
    uint32_t recalled;              /* attempts that were asked back and have not ended */
    /* With a need: the workers that could ever hold a rank, as of candidates_epoch; first those
     * that it asks for by name. */
    GW_ARRAY(struct gw_worker *) candidates;
    uint32_t candidates_named;
    uint64_t candidates_epoch;
};

/* Ready tasks of one job that have one shape and one priority. */
struct gw_queue {
    struct gw_shape *shape;
    struct gw_job *job;
    int32_t priority;
    uint32_t heap_at; /* GW_NO_INDEX: not in the heap */
    struct gw_bits ready;
    struct gw_bits fed; /* of them, those that have tasks before them */
    bool parked;        /* not in the heap: no worker has memory for it, until something is freed */
    uint32_t aged;      /* periods that its first has waited; of gangs only; see ageing.h */
    uint64_t ages_ns;   /* when the next is over; 0: none waits */
    uint64_t full_ns;   /* of gangs that may start smaller: until when they wait for all ranks */
    struct gw_queue *age_prev, *age_next;
};

/* A worker's attempts of one shape: at most as many debits as attempts; attempts beyond the debits
 * are short tasks that were prefetched and inherit the debit of one that ends. */
struct gw_worker_queue {
    struct gw_worker *worker;
    struct gw_shape *shape;
    uint32_t debits, attempts;
    uint32_t longs; /* attempts that hold a debit of their own and let nobody queue behind them */
    uint32_t
        blocked; /* of the longs: they wait for others, and the slots of their debits are lent */
    uint32_t may_run;   /* while its worker is lost: attempts that may have been running */
    uint32_t recalled;  /* attempts that were asked back */
    uint32_t load;      /* which ring of shape->room it is in */
    uint32_t pipelined; /* attempts whose tasks wait for others at their worker */
    bool barren;        /* nothing of it was worth asking back; none has come or ended since */
    bool asked;         /* idle, and what was handed over was asked back; none has come since */
    struct gw_worker_queue *prev, *next;               /* shape->room[load]; NULL: not in it */
    struct gw_worker_queue *queued_prev, *queued_next; /* shape->queued, likewise */
    struct gw_worker_queue *idle_prev, *idle_next;     /* sched->idle_queues, likewise */
};

/* -- Workers and attempts ------------------------------------------------------------------------
 */

/* A GPU of a worker, or an instance of one; see gpu.h. */
struct gw_gpu {
    uint64_t memory_bytes;
    uint32_t slot, twin; /* the attempt that has all of it; whose it is (gpu_twin.h); GW_NO_INDEX */
    uint32_t shared;     /* thousandths that attempts share */
    /* Why nothing is placed there, as its worker says, and by gpu_drain.c; who gave it back; NULL
     * or owned. */
    char *drained, *kept, *back;
    /* Those of one number are linked by NVLink, below one PCIe bridge, near one processor. */
    uint32_t nvlink_domain, bridge;
    int32_t numa_node;
    const char *uuid, *name, *physical_gpu, *cpus;
    uint64_t used_bytes; /* as its worker saw it last, and what follows */
    uint32_t processes, power_mw, busy_percent, clearing;
};

/* A named resource that a worker offers. */
struct gw_stock {
    const char *name;
    uint32_t amount, free;
    uint32_t over; /* overdrawn, as slots_over of a worker is */
};

/* Short attempts with successors that were not handed over yet, oldest first; some ended since. */
struct gw_frontier {
    GW_ARRAY(uint64_t) attempts;
    size_t at;   /* those before it were looked at */
    bool listed; /* among sched->frontiers */
};

struct gw_stale {
    uint64_t attempt;
    uint32_t rank;
};

struct gw_worker {
    uint32_t id;   /* never used again */
    uint32_t slot; /* place in sched->workers */
    uint8_t state;
    struct gw_remote *remote;
    struct gw_arena arena; /* texts of the registration */
    const char *host, *address, *machine;
    uint64_t incarnation;
    uint32_t slots, slots_free, gpu_count, gpus_free, instances_free;
    uint64_t memory_bytes, memory_free;
    uint32_t
        slots_over; /* overdrawn: taken though none was free; made good by what is given back */
    uint64_t memory_over;
    uint32_t reserved_ranks; /* of the gang that holds the reservation */
    uint32_t reserved_slots; /* of those ranks: free ones up to so many are kept for them */
    uint32_t blocked;        /* attempts */
    uint32_t aside;          /* attempts that need not end before memory comes back; see memory.h */
    struct gw_gpu *gpus;
    struct gw_stock *stock;
    uint32_t stock_count;
    struct gw_worker_queue **queues; /* by shape id */
    uint32_t queue_count;
    uint32_t first, last; /* attempts, oldest first */
    uint32_t attempts;
    uint32_t first_holder;
    uint64_t held_bytes;
    struct gw_worker *prev, *next; /* with as many free slots */
    GW_ARRAY(struct gw_stale) stale;
    GW_ARRAY(struct gw_late_claim) late; /* claims that wait, see adopt.c */
    uint64_t joined; /* the fact that it is connected; 0: of an earlier life, or there is none */
    uint32_t *neighbours; /* by worker slot: the id of the worker it was told of */
    uint32_t neighbour_count;
    uint64_t heard_ns, beats_sent, beat_seen, memory_used_bytes;
    struct gw_msg_memory memory; /* as it reported last; without its trouble */
    char *memory_trouble;        /* NULL: none */
    bool memory_one;             /* one task may be placed, though it is short of memory */
    bool leaves, let_go;         /* it was told to end; it need not stay; see leave.h */
    uint64_t expected_bytes;     /* that its attempts will take */
    uint64_t score_epoch, score; /* of the placement under way */
    struct gw_worker_rows rows;
    struct gw_frontier frontier;
};

/* One task (or one rank of a gang) at one worker. */
struct gw_attempt {
    /* what each task touches: 64 bytes, for thousands are in flight at once ... */
    uint64_t id; /* a gang's ranks have the gang's id on the wire, which is its first rank's here */
    struct gw_job *job;
    struct gw_worker *worker;
    struct gw_worker_queue *lane;
    uint32_t index, rank;
    uint32_t prev, next; /* of its worker; next: also of the free ones */
    uint32_t generation;
    uint8_t state;
    bool is_long : 1, blocked : 1; /* blocked: it waits for others; its slots are lent */
    bool stands : 1;               /* a call, or an actor that is through */
    bool pipelined : 1;            /* its task waits: its inputs do not count as fetched yet */
    bool ends_next : 1;            /* it was adopted as ended, and its end is on the way */
    bool fetches : 1;        /* some of its inputs count as fetched by it; else all were here */
    uint64_t expected_bytes; /* see memory.h */

    /* ... and the rest */
    struct gw_gang_attempt *gang;   /* NULL: an ordinary task */
    struct gw_session *sessions;    /* of its task's clients, by inside_next; NULL: none */
    uint64_t placed_ns, started_ns; /* 0: not yet */
    uint64_t near_bytes;            /* of its inputs that its worker had */
    uint64_t told;                  /* the number of the fact that told of it; 0: none did */
    uint32_t gpus, gpu;             /* how many, and the first */
    uint16_t gpu_fraction;          /* of that one, in thousandths; 0: it has them whole */
    bool aside;                     /* it counts as such at its worker */
    uint8_t why;                    /* enum gw_placed_why */
};

/* Where a rank goes. */
struct gw_placed_rank {
    struct gw_worker *worker;
    const uint32_t *gpus; /* numbers of the rank's GPUs; NULL: it has none */
};

/* How an attempt ended otherwise than well. */
struct gw_end {
    uint32_t outcome;
    int32_t code, exit_code, signal;
    bool executing, port_taken;
    bool dismissed; /* lost: its worker was sent away, or told to end */
    const char *text, *stderr_tail;
    uint64_t run_ns; /* of a function that failed; else 0 */
    uint32_t peer;   /* of UNREACHED: the rank that could not be reached */
};

struct gw_rank {
    uint32_t slot;                     /* of its attempt; GW_NO_INDEX: ended */
    uint32_t worker;                   /* id */
    bool ready, finished, asked, seen; /* its worker is to look at it closely; has done so */
    bool still, stopped, idle; /* not moved for the gang's limit; by SIGSTOP; without CPU, output */
    uint64_t begun;            /* where it stands then: collectives that it has called ... */
    char operation[24];        /* ... and the one that it is in */
    struct gw_result result;   /* value is owned */
    char *door, *stack;        /* owned: "host:port", of commands; what was seen of it; or NULL */
};

/* One attempt of a gang. */
struct gw_gang_attempt {
    uint64_t id;
    struct gw_job *job;
    uint32_t index;
    uint8_t state;
    uint32_t count, ready, live;
    struct gw_rank *ranks;
    uint64_t deadline_ns;                /* until all must stand */
    struct gw_gang_attempt *prev, *next; /* those that prepare, by deadline */
    void *info;
    uint32_t info_size;
    bool stopped;           /* asked to stop: however it ends, it does not start again */
    bool paused;            /* what its ranks return is no result: it goes on later */
    bool growing;           /* it was told to pause because there is room for more ranks */
    bool early, port_taken; /* it ended badly soon after it went; another has its MASTER_PORT */
    bool stood, late; /* some rank stands still; ranks were not ready in time, and are looked at */
    uint64_t went_ns;
    uint64_t from_attempt; /* whose checkpoint it goes on from; 0: none */
    int64_t from_step;
    bool from_lost; /* there was one, and it is lost */
    bool mirrors;   /* commands: the folder of rank 0 is carried to all other workers */
    uint64_t token; /* of rank 0's segment; 0: none */
    uint32_t cause_rank, cause_worker; /* GW_NO_INDEX, 0: no rank's */
    struct gw_end cause;               /* texts are owned */
};

/* A worker that failed gangs, or could not lay files of tasks into folders, by its name. */
struct gw_quarantine {
    char name[64];
    bool files;        /* the latter: what has files does not go there */
    uint32_t failures; /* in a row */
    uint64_t until_ns;
    bool over; /* it takes ranks again */
};

/* -- Results -------------------------------------------------------------------------------------
 */

/* A rank's result. Small ones are kept here; larger ones at workers, or behind a token. */
struct gw_object {
    struct gw_job *job; /* NULL: free */
    uint64_t bytes;
    union {
        uint8_t small[8];
        void *value;
        uint64_t token;
    };
    uint32_t size; /* of the value that is here */
    uint32_t index, rank;
    uint32_t holders;
    uint32_t next;             /* the next rank's; of a free one: the next free */
    bool has_token, scattered; /* scattered: by a client: it is counted */
    bool absent;               /* of an earlier life: a worker may come back with it; adopt.h */
};

/* A worker that has an object, or will have it because an attempt there fetches it, or it was told
 * to keep a copy. */
struct gw_holder {
    uint32_t object;
    uint32_t worker;   /* slot */
    uint32_t fetching; /* attempts */
    bool firm;         /* it has it */
    bool copying;      /* it was told to fetch and keep it, and has not answered */
    uint32_t next;     /* of the object, or of the free ones */
    uint32_t worker_prev, worker_next;
};

/* A block of a range. */
struct gw_stub {
    uint64_t job;
    uint32_t block;
};

/* Where ranks of the gang will go that holds the reservation; see reservation.h. */
struct gw_reserved_rank {
    struct gw_worker *worker;
    uint32_t ranks;
    bool let; /* its memory let something be placed there when it was chosen */
};

struct gw_reservation {
    uint64_t job; /* whose gang holds it; 0: nobody's */
    uint32_t index;
    struct gw_queue *queue; /* of that gang; good after the review of a step, and until its end */
    struct gw_shape *shape; /* likewise */
    GW_ARRAY(struct gw_reserved_rank) reserved_ranks;
    uint64_t workers_epoch, made_ns;
    uint64_t start_ns; /* when time limits let it start at the latest; UINT64_MAX: nobody knows */
    bool seen;         /* start_ns is of this step */
};

/* Tasks by how they stand, those of a range without a row too. */
struct gw_tally {
    uint64_t unfinished, done, failed, cancelled;
};

struct gw_sched {
    struct gw_sched_options options;
    uint64_t term, now_ns, wall_ns, start_ns, idle_since_ns;
    uint64_t next_remote, next_job, job_ids_upto, next_relay;
    struct gw_history history;
    uint32_t next_worker;

    struct gw_map users;                 /* number -> name, owned */
    struct gw_map remotes, worker_names; /* gw_peer.id -> struct gw_remote *; id -> its name */
    struct gw_session *sessions;
    uint32_t session_count;
    struct gw_map jobs;     /* id -> struct gw_job * */
    struct gw_map job_keys; /* of what names a user and a key -> id; see jobs/job.h */
    struct gw_job *first_job, *last_job, *first_ended, *last_ended;
    uint32_t job_count, unended_jobs, ended_jobs;
    uint32_t values; /* jobs that are values */
    uint64_t ended_tasks;
    struct gw_tally tally; /* of all jobs */

    GW_ARRAY(struct gw_worker *) workers; /* by slot; NULL: free */
    GW_ARRAY(struct gw_worker *) by_free; /* by free slots: those that are ready */
    uint32_t free_max;                    /* no worker has more free slots */
    uint64_t workers_epoch;               /* raised when a worker becomes ready or is lost */
    uint32_t workers_ready, slots, slots_free, gpus, gpus_free, instances_free;
    uint32_t slots_open; /* of the free ones, those that are not kept for a reservation */
    GW_ARRAY(struct gw_shape *) shapes; /* by id; NULL: free */
    uint32_t shapes_count;
    struct gw_strmap names; /* of workers and hosts that ever were ready */
    bool freed;             /* something was freed, or became ready, since the last placement */
    uint64_t score_epoch;
    GW_ARRAY(struct gw_worker *) frontiers; /* to be looked at in this step */
    struct gw_worker_queue
        *idle_queues; /* ring of those with debits that only handed attempts keep */

    GW_ARRAY(struct gw_attempt) attempts;
    uint32_t free_attempt;
    struct gw_map gangs; /* attempt -> struct gw_gang_attempt * */
    struct gw_gang_attempt *preparing, *preparing_last;
    GW_ARRAY(struct gw_quarantine) quarantines;
    GW_ARRAY(struct gw_parting) partings;
    struct gw_queue *ageing, *ageing_last; /* of gangs that wait, by ages_ns */
    uint64_t elastic_ns; /* one of them may have waited long enough for all its ranks; 0: none */
    struct gw_reservation reservation;
    GW_ARRAY(struct gw_object) objects;
    uint32_t free_object;
    GW_ARRAY(struct gw_holder) holders;
    uint32_t free_holder;
    struct gw_scattered scattered; /* of all */

    /* What follows from what became true, to be decided before the step ends. */
    struct gw_actor *actors, *actors_last; /* all, oldest first */
    GW_ARRAY(struct gw_actor *) touched;   /* perhaps something follows for them */
    GW_ARRAY(struct gw_actor *) callable;  /* perhaps a call of them can be placed */
    GW_ARRAY(struct gw_row) doomed;        /* a task before them failed */
    GW_ARRAY(struct gw_row) idle;          /* done, perhaps nobody needs the result any more */
    GW_ARRAY(struct gw_row) lost;          /* done, but the result must be made again */
    GW_ARRAY(struct gw_row) reopened;      /* perhaps ready, perhaps doomed */
    GW_ARRAY(struct gw_row) unwanted;      /* perhaps nobody waits for them any more */
    GW_ARRAY(struct gw_row) retried;       /* failed, and wanted again by a task that is retried */
    GW_ARRAY(struct gw_job *) ending;      /* all tasks have ended */
    GW_ARRAY(uint64_t) hungry;      /* ranges of which more rows can be made, perhaps, by id */
    GW_ARRAY(struct gw_stub) stubs; /* blocks of ranges of which all rows are closed */
    GW_ARRAY(uint64_t) ungated;     /* jobs that may start now, or never, by id */
    GW_ARRAY(gw_peer) orphaned;     /* clients inside of attempts that have ended */
    GW_ARRAY(uint64_t) aging;       /* ended jobs of which something can be freed, perhaps */
    GW_ARRAY(uint64_t) revisited;   /* jobs whose questions can be answered now, by id */
    GW_ARRAY(uint64_t) followed;    /* jobs with questions that were placed, by id */

    GW_ARRAY(struct gw_delay) delays; /* a heap by due_ns */

    struct gw_map pending_requests; /* relay -> struct gw_pending_request * */
    struct gw_map replicas;         /* place of a holder that is copying -> struct gw_replica * */
    struct gw_map tunnels;          /* number -> struct gw_tunnel * */
    uint32_t tunnels_waiting;
    uint64_t next_tunnel;

    struct gw_strmap syncs; /* "uid kind name" -> struct gw_sync * */
    struct gw_sync *first_sync, *last_sync;
    struct gw_map sync_names;                         /* uid -> how many */
    GW_ARRAY(struct gw_sync_waiter *) sync_deadlines; /* a heap */
    uint64_t fence;                                   /* of the latest lease */
    uint64_t sync_bytes;
    struct gw_strmap published; /* "uid/name" -> struct gw_share * */
    struct gw_map pures;        /* digest.low -> struct gw_pure * */
    struct gw_pure *first_pure, *last_pure;
    uint32_t pure_kept;
    uint64_t pure_kept_bytes;

    struct gw_map adopted; /* attempt of an earlier life -> its place */
    uint32_t late_claims;  /* of all workers */
    uint32_t ends_coming;  /* attempts that were adopted as ended: how is told next */
    struct gw_hold hold;

    struct gw_buffer commit; /* this step's durable facts */
    uint64_t facts, committed;
    bool restoring;
    GW_ARRAY(struct gw_announcement) announcements;
    GW_ARRAY(struct gw_acknowledgement) acknowledgements; /* that wait for their commit */

    struct gw_event_log event_log;
    struct gw_log_jobs log_jobs;
    char no_room[400];     /* why no detached job can be taken; empty: it can */
    char lost_worker[240]; /* the last that was lost, and why */
    uint64_t lost_worker_ns;
    struct gw_lost_workers *disconnected; /* who may come back; NULL: nobody */
    uint32_t leaving;                     /* workers in that state, */
    uint64_t leave_look_ns;               /* and when it is looked at next whether they may go */
    struct gw_gpus_left *gpus_left;       /* gpu_twin.c; NULL: none */
    struct gw_gpu_drains *gpu_drains;     /* gpu_drain.c; NULL: none */
    uint64_t beat_ns;                     /* when heartbeats are due */
    gw_peer shutdown_peer;
    uint64_t shutdown_request, shutdown_deadline_ns, shutdown_grace_ns;
    uint32_t shutdown_workers; /* ids below it were told, and are waited for */
    bool shutting_down, exited;
    struct gw_step step;
};

#endif
