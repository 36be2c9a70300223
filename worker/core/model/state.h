/* The state of the worker's core, shared by all its files. No file outside worker/core includes
 * this header.
 *
 * A variable named `run` points to a struct gw_attempt: one attempt of a task, or one rank of a
 * gang's attempt. A pool holds the runners that can execute the same functions (same program,
 * environment, folder, slots and GPUs) and the attempts that wait for them. A process is a runner
 * or a command that the supervisor has started. */
#ifndef GW_WORKER_CORE_MODEL_STATE_H
#define GW_WORKER_CORE_MODEL_STATE_H

#include "graph/base/array.h"
#include "graph/base/log.h"
#include "graph/base/map.h"
#include "graph/base/sm.h"
#include "graph/base/strmap.h"
#include "graph/wire/enums.h"
#include "graph/wire/step.h"
#include "graph/wire/timeouts.h"
#include "worker/core/model/options.h"
#include "worker/core/model/output_path.h"

#include <gangway/options.h>
#include <gangway/value.h>

enum gw_attempt_state {
    GW_ATTEMPT_WAITING,    /* waits for its inputs */
    GW_ATTEMPT_READY,      /* queued in its pool or in core->alone */
    GW_ATTEMPT_STARTING,   /* gang, actor: bound to a runner that starts or was told of it */
    GW_ATTEMPT_RANK_READY, /* gang: reported ready; task of an actor: the actor exists */
    GW_ATTEMPT_SENT,       /* function: in a runner's queue, whose first attempt executes */
    GW_ATTEMPT_RUNNING,    /* a command, or a rank after the gang started */
    GW_ATTEMPT_ENDING,     /* the outcome of the attempt is known; the worker reports it when the
                              process is reaped */
    GW_ATTEMPT_ENDED,
};

enum gw_process_state {
    GW_PROCESS_STARTING, /* spawn was sent; a runner has not sent its first message */
    GW_PROCESS_IDLE,     /* a runner without work */
    GW_PROCESS_BUSY,
    GW_PROCESS_ENDING, /* the worker ordered its end (message reap) */
    GW_PROCESS_EXITED, /* the process itself has exited, but descendants may still live */
    GW_PROCESS_REAPED, /* reaped; messages that it sent may still arrive */
    GW_PROCESS_GONE,
};

enum gw_gang_state { GW_GANG_FORMING, GW_GANG_RUNNING, GW_GANG_ABORTED, GW_GANG_GONE };

/* How this worker uses a GPU. */
enum gw_gpu_state {
    GW_GPU_CLEAR,    /* no process of this worker is on it */
    GW_GPU_HELD,     /* processes of this worker are on it */
    GW_GPU_CLEARING, /* no process is left, but its memory may not be free yet */
    GW_GPU_DRAINED,  /* no new process may use it */
};

/* How an administrator has released a drained GPU. */
enum gw_gpu_given {
    GW_GPU_GIVEN_NOT,
    GW_GPU_GIVEN_REPAIRED, /* the GPU had an error and was reset; it must be as before */
    GW_GPU_GIVEN_AS_IT_IS, /* other programs on it are accepted */
};

enum gw_object_state {
    GW_OBJECT_RESIDENT, /* a value, or a descriptor of memory */
    GW_OBJECT_SPILLING, /* in memory, and being written to a file */
    GW_OBJECT_SPILLED,  /* in a closed file */
    GW_OBJECT_OPENING,  /* the file is being opened and checked */
    GW_OBJECT_OPEN,     /* a descriptor of its file */
    GW_OBJECT_GONE,
};

/* State of a memfd that is used for one result after another. See result_memfd.c. */
enum gw_result_memfd_state {
    GW_RESULT_MEMFD_GIVEN,  /* given to an attempt, which writes its result to it */
    GW_RESULT_MEMFD_FILLED, /* belongs to an object */
    GW_RESULT_MEMFD_READ,   /* the object is freed, but runners may still read the file */
    GW_RESULT_MEMFD_IDLE,   /* nobody reads or writes it */
    GW_RESULT_MEMFD_GONE,
};

enum gw_fetch_state { GW_FETCH_CONNECTING, GW_FETCH_ASKED, GW_FETCH_GONE };

extern struct gw_sm gw_attempt_sm, gw_process_sm, gw_gang_sm, gw_fetch_sm, gw_object_sm, gw_gpu_sm,
    gw_result_memfd_sm;

/* A connection to a peer. */
struct gw_node_link {
    gw_peer peer;
    uint32_t role;
    uint64_t sent, received; /* sequence numbers */
    struct gw_process *process;
    struct gw_neighbour *neighbour;
};

struct gw_program {
    uint8_t *hash; /* followed by the folder of the separate user, and a NUL */
    uint32_t hash_size;
    const char *user; /* that folder; "": none */
    /* The file was missing, so the program was requested again since a runner last started */
    bool again;
    uint32_t agains; /* how often it was requested again */
    int32_t code; /* GW_EAGAIN: being fetched. 0: path is set. Otherwise text says why it failed */
    char *path, *text;
};

struct gw_node_spec {
    uint64_t job, serial; /* serial: unique in this core */
    uint32_t refs;
    struct gw_msg_spec message; /* all its pointers point into block */
    void *block;
    uint32_t slots;
    uint64_t cost_ns;      /* average duration of its tasks; UINT64_MAX: unknown */
    bool function_known;   /* the function was found in the program */
    uint64_t result_bytes; /* size of the last result if it was large; 0: small or unknown */
    struct gw_program *program;
    struct gw_runner_pool *pool; /* pool of the tasks, if they use no GPUs; NULL: unknown */
    bool speaks;                 /* a command's processes reach the cluster through this worker */
    struct gw_bin address;       /* GANGWAY_ADDRESS of these processes, in block; empty: not set */
};

/* What this worker knows of a job. */
struct gw_node_job {
    uint64_t id;
    GW_ARRAY(struct gw_node_spec *) specs;
    struct gw_map objects; /* (index, rank) -> struct gw_object */
    struct gw_map fetches; /* (index, rank) -> struct gw_fetch */
};

/* An attempt, or a peer's request, that waits until the file of an object is open. */
struct gw_object_waiter {
    struct gw_attempt *run;
    uint64_t serial; /* serial of the attempt, since its memory may be used again */
    uint64_t peer, request;
};

struct gw_object {
    struct gw_node_job *job; /* NULL: the object of another attempt has replaced this one */
    uint32_t index, rank;
    uint32_t users; /* attempts that have it as an input */
    uint32_t pins;  /* users that were given to a runner */
    uint8_t state;
    bool released;           /* freed with its last user */
    uint64_t token;          /* descriptor; 0: the object is a value, or in a closed file */
    uint64_t attempt, bytes; /* attempt: the one that made it; 0: unknown */
    void *value;
    struct gw_result_memfd *memfile; /* the memory file of the token; NULL: none */
    uint64_t file;                   /* number of its file on disk; 0: none */
    uint32_t checksum;
    struct gw_objects *list; /* the list that it is in */
    struct gw_object *older, *newer;
    GW_ARRAY(struct gw_object_waiter) waiters;
};

struct gw_result_memfd {
    uint64_t number;  /* never used twice */
    uint64_t bytes;   /* size; 0: the memfd does not exist yet */
    uint64_t token;   /* 0: its object has the token, or the memfd does not exist yet */
    uint64_t idle_ns; /* when it became idle */
    uint32_t uid;     /* the user whose results it holds and held before */
    uint32_t leases;  /* sum over all readers */
    uint8_t state;
    bool left; /* a process that is not counted in `leases` has the descriptor, so the file is not
                  used for a later result */
    struct gw_result_memfd *older, *newer; /* neighbours in the list of idle ones */
    GW_ARRAY(struct gw_memfd_reader {
        uint64_t process; /* may have it mapped */
        uint32_t leases;  /* how often it was lent to this process and not returned */
    })
    readers;
};

struct gw_result_memfds {
    struct gw_map by_number;
    struct gw_result_memfd *oldest, *newest; /* idle ones */
    size_t idle;
    uint64_t bytes;       /* sum over those that belong to no object */
    uint32_t descriptors; /* their descriptors */
    uint64_t last_number;
};

/* Results that could be spilled, in order of last use. */
struct gw_objects {
    struct gw_object *oldest, *newest;
    size_t count;
};

struct gw_memory {
    /* Thresholds; UINT64_MAX: none */
    uint64_t target_bytes, spill_bytes, pause_bytes, terminate_bytes;
    uint64_t own_bytes, processes_bytes; /* as measured */
    uint64_t resident_bytes, spilled_bytes;
    uint64_t written_bytes; /* in total since the worker started */
    uint32_t descriptors, descriptors_max;
    size_t on_disk, in_memory; /* number of objects */
    /* `unused`: objects that no attempt uses. `wanted`: inputs of attempts that were not sent to a
     * runner yet */
    struct gw_objects unused, wanted;
    struct gw_map files; /* requests to write or open: file -> struct gw_object *, 0: freed */
    uint64_t last_file, spilling_bytes;
    uint32_t spilling;
    uint64_t retry_ns, pause_ns;  /* time of the next try, and pause, after a failed write */
    char *trouble;                /* why the write failed; owned */
    uint32_t state;               /* enum gw_memory_state */
    uint64_t since_ns, runs;      /* start of that state, and the value of core->runs then */
    bool lets;                    /* in this step: the single attempt that may start has arrived */
    bool begun;                   /* in state GW_MEMORY_ONE: an attempt has begun */
    bool full;                    /* at the end of the last step */
    uint64_t full_ns, full_least; /* since when no result was released; resident bytes then */
    uint32_t full_added;          /* results added since */
    uint64_t killing;             /* the process that is being killed to free memory */
    bool told, told_trouble;      /* told: the scheduler knows the following values */
    uint32_t told_state;
    uint64_t told_used, told_resident, told_spilled;
};

struct gw_fetch {
    uint64_t request, deadline_ns;
    struct gw_node_job *job;
    uint32_t index, rank, worker;
    uint8_t state;
    bool released; /* released meanwhile: the copy is freed with its last user */
    GW_ARRAY(uint64_t) replica_requests; /* request numbers of replica requests of the scheduler */
    const char *trouble;                 /* text of the error at the deadline; static */
    GW_ARRAY(struct gw_fetch_waiter {
        struct gw_attempt *run;
        uint64_t serial; /* serial of the attempt, since its memory may be used again */
        uint32_t dep;
    })
    waiters;
};

/* Another worker. */
struct gw_neighbour {
    uint32_t worker;
    char *address;
    struct gw_node_link *link;
    bool connecting;
};

struct gw_attempt_input {
    uint64_t job, bytes;
    uint32_t index, rank, worker, value_size;
    const void *value;
    struct gw_object *object; /* the object counts this input as one of its users */
    struct gw_attempt *maker; /* the attempt on this worker that makes the input; NULL: no such
                                 attempt, or the input was made already */
    /* The attempt that has this input; prev and next link the maker's list of successors */
    struct gw_attempt *successor;
    struct gw_attempt_input *prev, *next;
    void *owned;       /* the value, if it was made here */
    uint8_t small[16]; /* the value, if it fits */
};

/* A reference to an attempt that may have been freed: its memory may be used again. */
struct gw_attempt_ref {
    struct gw_attempt *run;
    uint64_t serial;
};

struct gw_attempt_end {
    uint32_t outcome, executing;
    int32_t code, exit_code, signal;
    uint64_t run_ns;
    uint32_t peer;    /* for UNREACHED: the rank that was not reached */
    uint64_t capture; /* process whose capture file holds its stderr; 0: its own file */
    char *text;       /* owned */
};

struct gw_attempts {
    struct gw_attempt *first, *last;
    size_t count;
};

struct gw_attempt {
    uint64_t attempt, serial;
    uint64_t job;
    uint32_t index, rank, try_number;
    uint8_t state;
    bool pinned;              /* a runner was given its inputs */
    uint64_t untold_bytes[2]; /* bytes of stdout and of stderr that were not sent, because the
                                 scheduler read slowly when they were printed */
    /* Kill it when it becomes the first of its runner's queue; a call: only if it is taken back */
    bool killing;
    bool holds_slots;  /* a prepared rank of a command, which reserves its slots */
    bool goes;         /* a prepared rank that starts as soon as its GPUs are free */
    bool wants_folder; /* the working folder is being made */
    bool filled;       /* the attempt has written its result to its memory file */
    bool preempted;    /* its kill says that it will continue later */
    bool bound;        /* the attempt depends on this term of the scheduler: its client is
                          connected to the scheduler, or it pauses */
    uint64_t load_ns;  /* the part of the process's load_ns that this attempt causes */
    uint64_t peak_told_bytes, kill_grace_ns;
    uint64_t cpu_ns;  /* CPU time that it used; known at its end */
    uint32_t missing; /* number of inputs that have not arrived */
    uint32_t gpu_count, dep_count, args_size;
    uint32_t *gpus;
    struct gw_attempt_input *deps;
    const void *args;
    void *block; /* memory for `deps`, `gpus`, `args` and the values; NULL: they are stored in
                    `small` */
    struct gw_node_spec *spec;
    struct gw_runner_pool *pool;
    struct gw_process *process;
    struct gw_gang *gang;
    struct gw_node_actor *actor;     /* the actor of which this is a call */
    struct gw_result_memfd *memfile; /* memory file for its result; NULL: none */
    struct gw_attempt_input *first_successor, *last_successor; /* inputs that wait for its result */
    uint64_t batch;           /* last batch that it, or an input of it, was put into */
    uint32_t batch_row;       /* row in that batch */
    uint32_t batch_deps;      /* number of inputs that earlier rows of that batch make */
    struct gw_attempts *list; /* the list that it is in */
    struct gw_attempt *prev, *next;
    char *folder; /* working folder; NULL: none, or not made yet */
    struct gw_attempt_end end;
    char *tail;         /* the last lines of the task's stderr, as its runner reported them; owned;
                           NULL: no lines */
    uint64_t small[30]; /* Must be last: gw_attempt_new does not clear it. Two inputs fit. */
};

struct gw_runner_pool {
    struct gw_program *program;
    struct gw_node_spec *like; /* a spec of this pool: environment, folder, slots */
    uint32_t gpu_count;
    uint32_t *gpus;
    size_t run_count, process_count; /* attempts and processes that refer to this pool */
    struct gw_attempts ready;
    GW_ARRAY(struct gw_process *) runners; /* runners that are not being ended */
    uint32_t starting;       /* number of runners that start for the queue, not for a rank */
    uint32_t start_failures; /* consecutive failed starts */
    bool proven;             /* a runner of it has sent its first message */
    bool left;               /* a process has left it in this step */
    struct gw_strmap functions;
};

struct gw_process {
    uint64_t id;
    uint8_t state;
    uint32_t agains; /* program->agains when it was started */
    bool runner;
    bool reaping; /* the worker ordered its end, so its later results are ignored */
    bool cut_off; /* the worker ends the process because its connection was closed although it has
                     not exited */
    uint64_t led; /* id of the attempt that the worker gave up while this process executed its rank
                     0; 0: none */
    bool started_told;
    bool starts;    /* counted in its pool's `starting` */
    bool lent;      /* the task waits for other tasks and has yielded its slots */
    bool runs_long; /* the task runs long, so nothing is queued behind it */
    bool woke;      /* the task continued after a wait, even without free slots */
    bool parked;    /* idle, and has released its slots */
    bool woken;     /* got its slots back, and is about to get work */
    /* Commands that wait for each other's end: the one ahead, and the one after */
    struct gw_process *behind, *before;
    uint32_t slots;
    struct gw_runner_pool *pool;
    struct gw_node_link *link;
    struct gw_node_actor *actor; /* the actor that it holds; its queue then contains calls */
    struct gw_attempts queue;    /* attempts given to it, in order */
    uint64_t load_ns;            /* expected duration of the queued attempts */
    uint64_t spec_last;          /* serial of the last spec sent */
    struct gw_map specs;         /* serials of all specs sent */
    bool hello;                  /* a runner that has sent its first message */
    /* Deadline for the first message, or for the exit after the link closed; 0: none */
    uint64_t deadline_ns;
    uint64_t idle_since_ns, memory_bytes; /* memory_bytes: as measured */
    uint64_t head_since_ns; /* when the first of queue began to execute; 0: it does not */
    struct gw_inactivity {  /* used if the task has an inactivity timeout */
        uint64_t of_ns;     /* the head_since_ns that these values belong to */
        uint64_t alive_ns;  /* time of the last sign of life */
        uint64_t measure_ns;
        uint64_t output_bytes; /* as measured last; UINT64_MAX: not yet */
    } silence;
    int32_t exit_code, signal, spawn_code;
    uint32_t oom;
    bool exit_known;
    bool unasked;    /* the process ended before the worker ordered it to */
    uint64_t began;  /* last attempt that it began, as it reported; 0: unknown */
    uint64_t ran_ns; /* as its reaper measured; 0: unknown */
    /* CPU time since its start, as it or its reaper said, and the part that was given to attempts
     */
    uint64_t cpu_ns, cpu_given_ns;
    uint64_t peak_bytes; /* of its cgroup, known at its end; 0: unknown */
    uint32_t gpu_count;
    uint32_t *gpus;             /* GPUs that it uses; owned */
    uint32_t xid;               /* last error of its GPUs that it may have caused; 0: none */
    char *trouble;              /* why the worker ended it; owned */
    GW_ARRAY(uint64_t) folders; /* folders of attempts that were given up; removed with it */
};

struct gw_gpu {
    uint8_t state, given; /* given: enum gw_gpu_given */
    /* The GPU had a fatal error and stays drained until an administrator releases it */
    bool broken;
    bool shared;              /* processes have shares of the GPU */
    bool told, told_clearing; /* the scheduler knows `why`, and that the GPU is clearing */
    char *why;                /* why it is drained; owned */
    uint32_t processes;       /* of this worker, from start until reaped */
    uint64_t since_ns;        /* when clearing began */
    uint64_t idle_bytes;      /* in use while no process of this worker was on it */
    uint32_t idle_processes;
    struct gw_gpu_sample seen, told_seen;
};

/* A runner that holds the state of an actor, from the end of the task that created the actor until
 * the runner is reaped. */
struct gw_node_actor {
    uint64_t id;            /* the job of its task */
    struct gw_attempt *run; /* the task that created the actor: standing, or ending */
    struct gw_process *process;
    struct gw_attempts calls; /* calls whose inputs are here and that were not sent, in order */
    uint64_t cost_ns;         /* average duration of a call; UINT64_MAX: unknown */
    struct gw_node_place place;
};

struct gw_gang {
    uint64_t attempt;
    uint8_t state;
    struct gw_msg_gang message;
    GW_ARRAY(struct gw_attempt *) ranks; /* live ones on this worker */
    uint32_t arrived;
    bool leased, lease_failed;
    bool holds_lease, holds_port; /* holds_port: the socket that reserves rank 0's port */
    uint64_t segment;             /* token of the shared memory segment; 0: none yet */
    /* Token of the socket that ranks of other workers connect to, until rank 0 has it */
    uint64_t listener;
    uint32_t ring_port;
    uint8_t ring_key[32]; /* used if functions run on several workers */
    bool has_key;
    bool transferring;   /* the checkpoint is being transferred to this worker; until it is here,
                            no rank is ready */
    bool mirrors;        /* the transfer from rank 0's worker has started; for commands */
    bool watches;        /* the checkpoint folder is watched */
    char *transfer_text; /* why the transfer failed; owned */
    int32_t transfer_code;
    char *address;
    uint32_t port;
    uint32_t rendezvous_port; /* commands only; 0: none */
    char *own_address;        /* address of this worker, from its lease */
    uint32_t *ports;          /* commands only: a port for each rank here */
    uint32_t port_count;
    struct gw_bin doors; /* addresses of all ranks, known from the start on; owned */
    uint32_t *locals;    /* memory of message.locals */
    char *lease_text;
    int32_t lease_code;
    /* Commands only: the largest step that a rank here has reported, and the answer to reports from
     * step control_from on */
    int64_t reported, control_from;
    uint32_t control; /* enum gw_control */
    struct gw_watch { /* detects ranks that hang; see hang.c */
        uint64_t look_ns, since_ns;
        bool asked, told;
        bool closer;          /* the scheduler has requested the stacks */
        bool closely;         /* the stacks were reported */
        bool idle, idle_told; /* no rank uses CPU or writes; the scheduler knows this */
        uint64_t idle_ns, active;
        struct gw_stand *seen; /* state of the ranks when last observed; owned */
        uint32_t count;
    } watch;
};

/* A checkpoint that is being copied to this worker. */
struct gw_checkpoint_transfer {
    uint64_t number, attempt; /* attempt: the gang that waits for it; 0: a copy to keep */
    struct gw_msg_checkpoint_transfer what;
};

/* The retained working folder of a command. */
struct gw_retained_workdir {
    uint64_t serial;     /* number of the folder */
    uint64_t job, bytes; /* bytes: 0 if not measured yet */
    uint32_t index, rank;
    char *path; /* owned */
};

/* State while the worker has no scheduler. See orphaned.c. */
struct gw_orphaned {
    uint64_t since_ns; /* time when the worker first could not connect to the scheduler; 0: no
                          attempt to connect has failed since the last welcome message */
    GW_ARRAY(struct gw_untold) untold;
    size_t bytes;
};

/* The minimum number of commits in the state of the cluster, and the term of the scheduler that
 * reported it. */
struct gw_known_history {
    char *cluster; /* from the last welcome; owned; NULL: none yet */
    uint64_t life, commits;
};

enum { HEARTBEATS_RETAINED = 32 };
static_assert(HEARTBEATS_RETAINED * GW_HEARTBEAT_NS > GW_FENCE_NS,
              "of each heartbeat that may still be acknowledged it is known when it was sent");

/* State of a worker that was told to shut down. See shutdown.c. */
struct gw_leave {
    char *why;         /* why the worker shuts down; owned. NULL: it does not shut down, or it need
                          not wait for the scheduler's permission */
    uint64_t until_ns; /* latest time to wait for permission */
    bool told, may; /* `told`: the scheduler knows that no attempt runs here. `may`: the scheduler
                       permits the exit */
};

/* The health checks of this machine. See health.h. */
struct gw_health {
    char *why[GW_HEALTH_CHECKS];       /* why it fails; owned; NULL: it does not */
    uint32_t passes[GW_HEALTH_CHECKS]; /* in a row, of one that has failed */
    int32_t clock_s;                   /* how far the clock is ahead, if its check fails */
    bool ended;                        /* checks were run, and no more are */
    uint32_t known;                    /* bits: checks that have run */
    bool told;                         /* the scheduler knows this state */
};

struct gw_node_core {
    struct gw_node_options options;
    uint64_t now_ns, incarnation;
    struct gw_effects *effects; /* valid during a step */

    struct gw_node_link *scheduler, *supervisor;
    bool registered, shutting_down, exited;
    struct gw_leave leave;
    uint64_t term, peer; /* for message envelopes, from the last welcome */
    uint32_t worker;
    uint64_t heartbeat_number, heartbeat_due_ns, heartbeat_received;
    uint64_t heartbeat_sent_ns[HEARTBEATS_RETAINED];
    uint64_t acked_ns; /* when the last acknowledged heartbeat was sent */
    struct gw_known_history history;

    struct gw_map jobs, attempts, gangs, actors, links, processes_by_id, neighbours, requests;
    struct gw_map folders;        /* serial -> struct gw_attempt that has or requested a folder */
    struct gw_map metric_reports; /* attempt -> struct gw_metric_reports *, see metric_reports.h */
    struct gw_map throttled;      /* attempt -> progress stored while the scheduler is slow */
    bool scheduler_slow;
    GW_ARRAY(char *) users; /* folders of separate users, owned; never removed */
    GW_ARRAY(struct gw_program *) programs;
    GW_ARRAY(struct gw_runner_pool *) pools;
    GW_ARRAY(struct gw_process *) processes;
    /* Ready attempts that need a process of their own: commands, ranks, creators of actors */
    struct gw_attempts alone;
    /* `waiting`: attempts that wait for inputs. `held`: ranks of commands that are prepared but
     * not started, ranks that end, and tasks of actors. */
    struct gw_attempts waiting, held;
    GW_ARRAY(struct gw_fetch *) fetches; /* in order of deadline */
    /* Attempts whose makers are gone: given back to the scheduler in this step */
    GW_ARRAY(struct gw_attempt_ref) orphans;
    /* Attempts whose processes must be told of them in this step */
    GW_ARRAY(struct gw_attempt_ref) bound;
    struct gw_attempts ended;    /* reported and freed in this step */
    struct gw_attempts supplied; /* attempts whose last inputs arrived in this step */
    GW_ARRAY(struct gw_node_actor *) ended_actors; /* freed in this step */
    bool pools_left; /* true: a process has left its pool, so pools that nothing uses are freed in
                        this step */
    GW_ARRAY(void *) run_chunks;
    struct gw_attempt *run_spare;
    uint64_t serial, process_id, request, batch; /* last number used of each kind */
    uint32_t slots_used;      /* number of slots in use; larger than the number of the worker's
                                 slots only while tasks continue after a wait for other tasks */
    uint32_t lent;            /* number of processes that have yielded their slots */
    bool woken;               /* a process is marked woken */
    uint64_t starving_serial; /* attempts with a higher serial number get no runners, because an
                                 earlier one waits too long for slots; UINT64_MAX: no attempt does
                                 */
    uint64_t object_bytes;
    uint64_t runs; /* attempts that ever arrived, except calls of actors */
    struct gw_memory memory;
    struct gw_result_memfds memfiles;
    struct gw_gpu *gpus; /* array of options.gpu_count */
    bool gpus_told;      /* the scheduler knows the GPUs' state */
    /* In use, but replaced by the object of another attempt */
    GW_ARRAY(struct gw_object *) replaced;
    GW_ARRAY(struct gw_checkpoint_transfer) transfers; /* in progress */
    uint64_t transfer;                                 /* number of the last transfer */
    struct gw_orphaned orphaned;
    GW_ARRAY(struct gw_retained_workdir)
    retained_workdirs; /* in the order in which they were retained */
    uint64_t retained_bytes;
    struct gw_health health;
};

#endif
