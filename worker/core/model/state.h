/* The inside of the worker's core: what its files share. Nobody outside worker/core includes it.
 *
 * A run is one attempt of a task, or one rank of a gang's attempt. A pool holds the runners that
 * can run the same functions (program, environment, folder, slots, GPUs) and the runs that wait for
 * them. A process is what the guardian started: a runner, or a command. */
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

#include <gangway/value.h>

enum gw_attempt_state {
    GW_ATTEMPT_WAITING,  /* for inputs */
    GW_ATTEMPT_READY,    /* queued: in its pool, or among those that need a process of their own */
    GW_ATTEMPT_STARTING, /* gang: bound to a runner that starts, or that was told of it */
    GW_ATTEMPT_STANDING, /* gang: reported ready */
    GW_ATTEMPT_SENT,     /* ordinary function: in a runner's queue; the first there executes */
    GW_ATTEMPT_RUNNING,  /* command, or rank after go */
    GW_ATTEMPT_ENDING,   /* how it ends is known; told when its process is buried */
    GW_ATTEMPT_ENDED,
};

enum gw_process_state {
    GW_PROCESS_STARTING, /* spawn was sent; a runner has not said hello */
    GW_PROCESS_IDLE,     /* a runner with nothing to do */
    GW_PROCESS_BUSY,
    GW_PROCESS_ENDING, /* bury was sent */
    GW_PROCESS_EXITED, /* itself gone, perhaps not its descendants */
    GW_PROCESS_BURIED, /* perhaps something it sent has not arrived yet */
    GW_PROCESS_GONE,
};

enum gw_gang_state { GW_GANG_FORMING, GW_GANG_RUNNING, GW_GANG_ABORTED, GW_GANG_GONE };

/* Of a GPU: what of ours is there. */
enum gw_gpu_state {
    GW_GPU_CLEAR,    /* nothing */
    GW_GPU_HELD,     /* processes */
    GW_GPU_CLEARING, /* nothing any more, but what they used may not be free yet */
    GW_GPU_DRAINED,  /* nothing new may be there */
};

/* Of one that is drained: somebody says that it may be used. */
enum gw_gpu_given {
    GW_GPU_GIVEN_NOT,
    GW_GPU_GIVEN_REPAIRED, /* it had an error, and is as it was before */
    GW_GPU_GIVEN_AS_IT_IS, /* what is left there is no task's */
};

enum gw_object_state {
    GW_OBJECT_RESIDENT, /* a value, or a descriptor of memory */
    GW_OBJECT_SPILLING, /* the same, and it is being written to a file */
    GW_OBJECT_SPILLED,  /* in a file that is closed */
    GW_OBJECT_OPENING,  /* that file is being opened, and held against what was written */
    GW_OBJECT_OPEN,     /* a descriptor of the file */
    GW_OBJECT_GONE,
};

/* Of a memfd in which results lie, one after another. See result_memfd.c. */
enum gw_result_memfd_state {
    GW_RESULT_MEMFD_GIVEN,  /* a run's to write its result into */
    GW_RESULT_MEMFD_FILLED, /* an object's */
    GW_RESULT_MEMFD_READ,   /* its object is gone, and runners may still read it */
    GW_RESULT_MEMFD_IDLE,   /* nobody reads or writes it */
    GW_RESULT_MEMFD_GONE,
};

enum gw_fetch_state { GW_FETCH_CONNECTING, GW_FETCH_ASKED, GW_FETCH_GONE };

extern struct gw_sm gw_attempt_sm, gw_process_sm, gw_gang_sm, gw_fetch_sm, gw_object_sm, gw_gpu_sm,
    gw_result_memfd_sm;

/* A connection. */
struct gw_node_link {
    gw_peer peer;
    uint32_t role;
    uint64_t sent, received; /* sequence numbers */
    struct gw_process *process;
    struct gw_neighbour *neighbour;
};

struct gw_program {
    uint8_t *hash;
    uint32_t hash_size;
    bool again;      /* it was gone from its place, and asked for again, since it last started */
    uint32_t agains; /* how often, in all */
    int32_t code;    /* GW_EAGAIN: on its way; 0: path; else text says why not */
    char *path, *text;
};

struct gw_node_spec {
    uint64_t job, serial; /* serial: unique in this core */
    uint32_t refs;
    struct gw_msg_spec message; /* all it points to lies in block */
    void *block;
    uint32_t slots;
    uint64_t cost_ns;      /* how long its tasks run, on average; UINT64_MAX: unknown */
    bool function_known;   /* its function was found in the program, */
    uint64_t result_bytes; /* and made a result so large last; 0: not known, or a small one */
    struct gw_program *program;
    struct gw_runner_pool *pool; /* where it needs no GPUs; NULL: not known yet */
    bool speaks;                 /* a command's processes reach the cluster through this worker; */
    struct gw_bin address; /* and find this as GANGWAY_ADDRESS (in block; empty: it is not set) */
};

/* The tables of a job. */
struct gw_node_job {
    uint64_t id;
    GW_ARRAY(struct gw_node_spec *) specs;
    struct gw_map objects; /* (index, rank) -> struct gw_object */
    struct gw_map fetches; /* (index, rank) -> struct gw_fetch */
};

/* Who waits until an object's file is open: a run, or whoever asked for the object. */
struct gw_object_waiter {
    struct gw_attempt *run;
    uint64_t serial; /* of the run: another one may have its place by then */
    uint64_t peer, request;
};

struct gw_object {
    struct gw_node_job *job; /* NULL: another attempt's took its place */
    uint32_t index, rank;
    uint32_t users; /* runs that have it as an input */
    uint32_t pins;  /* of them, those that a runner was given */
    uint8_t state;
    bool released;           /* goes with its last user */
    uint64_t token;          /* 0: value, or in a closed file */
    uint64_t attempt, bytes; /* attempt: that made it; 0: not known */
    void *value;
    struct gw_result_memfd *memfile; /* whose descriptor the token is; NULL: nobody's */
    uint64_t file;                   /* number of its file; 0: none */
    uint32_t checksum;
    struct gw_objects *list; /* the one it is in */
    struct gw_object *older, *newer;
    GW_ARRAY(struct gw_object_waiter) waiters;
};

struct gw_result_memfd {
    uint64_t number;  /* never given twice */
    uint64_t bytes;   /* that it has; 0: there is none yet */
    uint64_t token;   /* 0: its object has it, or there is none yet */
    uint64_t idle_ns; /* since when nobody has it */
    uint32_t uid;     /* whose results lie in it, and lay there before */
    uint32_t leases;  /* in all */
    uint8_t state;
    bool left; /* somebody has a descriptor who is not counted: it is not used again */
    struct gw_result_memfd *older, *newer; /* of those that are idle */
    GW_ARRAY(struct gw_memfd_reader {
        uint64_t process; /* may have it mapped, */
        uint32_t leases;  /* and reads it, or is about to, so often */
    })
    readers;
};

struct gw_result_memfds {
    struct gw_map by_number;
    struct gw_result_memfd *oldest, *newest; /* idle ones */
    size_t idle;
    uint64_t bytes;       /* of those that no object has, */
    uint32_t descriptors; /* and their descriptors */
    uint64_t last_number;
};

/* Results that could be written to disk, by when they were used last. */
struct gw_objects {
    struct gw_object *oldest, *newest;
    size_t count;
};

struct gw_memory {
    uint64_t target_bytes, spill_bytes, pause_bytes, terminate_bytes; /* UINT64_MAX: no such line */
    uint64_t own_bytes, processes_bytes;                              /* as measured */
    uint64_t resident_bytes, spilled_bytes;
    uint64_t written_bytes; /* ever */
    uint32_t descriptors, descriptors_max;
    size_t on_disk, in_memory;        /* objects */
    struct gw_objects unused, wanted; /* wanted: a run that was not sent has it as an input */
    struct gw_map files;              /* being written or opened -> struct gw_object *, 0: gone */
    uint64_t last_file, spilling_bytes;
    uint32_t spilling;
    uint64_t retry_ns, pause_ns;  /* after a write that failed */
    char *trouble;                /* why it did; owned */
    uint32_t state;               /* enum gw_memory_state */
    uint64_t since_ns, runs;      /* when that began, and how many runs had come by then */
    bool lets;                    /* in this step: the one that it let in has come */
    bool begun;                   /* while it lets one in: that one, or one that was here, began */
    bool full;                    /* as it was when the last step ended */
    uint64_t full_ns, full_least; /* since when nothing went; what was in memory then */
    uint32_t full_added;          /* results that came since */
    uint64_t killing;             /* process that is being ended for its memory */
    bool told, told_trouble;      /* told: what follows is what the scheduler knows */
    uint32_t told_state;
    uint64_t told_used, told_resident, told_spilled;
};

struct gw_fetch {
    uint64_t request, deadline_ns;
    struct gw_node_job *job;
    uint32_t index, rank, worker;
    uint8_t state;
    bool released;               /* meanwhile: it goes with its last user */
    GW_ARRAY(uint64_t) keepings; /* requests of the scheduler that it be kept here */
    const char *trouble;         /* what to say when the deadline comes; static */
    GW_ARRAY(struct gw_fetch_waiter {
        struct gw_attempt *run;
        uint64_t serial; /* of the run: another one may have its place by then */
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
    struct gw_object *object; /* counted as a user */
    struct gw_attempt *maker; /* the run here that makes it; NULL: none, or it was made */
    struct gw_attempt
        *successor; /* the run that this belongs to, and the maker's other successors */
    struct gw_attempt_input *prev, *next;
    void *owned;       /* the value, where the maker gave one ... */
    uint8_t small[16]; /* ... that does not fit here */
};

/* A run, which may have gone since: another one may have its place by then. */
struct gw_attempt_ref {
    struct gw_attempt *run;
    uint64_t serial;
};

struct gw_attempt_end {
    uint32_t outcome, executing;
    int32_t code, exit_code, signal;
    uint64_t run_ns;
    uint32_t peer;    /* of UNREACHED: that rank */
    uint64_t capture; /* the process in whose capture its stderr lies; 0: in its own file */
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
    uint64_t untold_bytes[2]; /* of what it printed, while the scheduler was slow */
    bool killing;      /* to be killed as soon as it is its runner's first; a call: if taken back */
    bool holds_slots;  /* a command's rank that is prepared */
    bool goes;         /* the same, told to go: as soon as its GPUs let it */
    bool wants_folder; /* it is being made */
    bool filled;       /* its result lies in its memfile */
    bool bound;        /* to this life of the scheduler: it has a connection there, or it pauses */
    uint64_t load_ns;  /* its share of its runner's load */
    uint64_t peak_told_bytes, kill_grace_ns;
    uint32_t missing; /* inputs on their way */
    uint32_t gpu_count, dep_count, args_size;
    uint32_t *gpus;
    struct gw_attempt_input *deps;
    const void *args;
    void *block; /* deps, gpus, args and their values; NULL: in small */
    struct gw_node_spec *spec;
    struct gw_runner_pool *pool;
    struct gw_process *process;
    struct gw_gang *gang;
    struct gw_node_actor *actor;                               /* of which it is a call */
    struct gw_result_memfd *memfile;                           /* that it was given; NULL: none */
    struct gw_attempt_input *first_successor, *last_successor; /* what waits for its result */
    uint64_t batch;           /* the one it was put into last, or an input of it was */
    uint32_t batch_row;       /* where in it */
    uint32_t batch_deps;      /* inputs that runs before it in that batch make */
    struct gw_attempts *list; /* the one it is in */
    struct gw_attempt *prev, *next;
    char *folder; /* its own, with its files; NULL: none, or not there yet */
    struct gw_attempt_end end;
    char *tail;         /* owned; last lines of stderr that its runner knows; NULL: none */
    uint64_t small[30]; /* last: what was not written is not read; two inputs fit */
};

struct gw_runner_pool {
    struct gw_program *program;
    struct gw_node_spec *like; /* a spec of this pool: environment, folder, slots */
    uint32_t gpu_count;
    uint32_t *gpus;
    size_t run_count, process_count; /* that point here; without any it goes with a process */
    struct gw_attempts ready;
    GW_ARRAY(struct gw_process *) runners; /* not being ended */
    uint32_t starting;                     /* of them, and bound to no rank */
    uint32_t start_failures;               /* in a row */
    bool proven;                           /* a runner of it has said hello */
    bool left;                             /* by a process, in this step */
    struct gw_strmap functions;
};

struct gw_process {
    uint64_t id;
    uint8_t state;
    uint32_t agains; /* of its program, when it was to be started */
    bool runner;
    bool burying; /* by our order: what it says of results is too late then */
    bool cut_off; /* that is why: its link closed, and nothing said that it ended */
    uint64_t led; /* the attempt of which it was rank 0 when that was given up; 0: none */
    bool started_told;
    bool starts;    /* counted in its pool's `starting` */
    bool lent;      /* its task waits for others: it holds no slots */
    bool runs_long; /* its task takes longer than a moment: nothing is queued behind it */
    bool woke;      /* that is over: its task runs on whether there were slots for it or not */
    bool parked;    /* idle: its slots are others' */
    bool woken;     /* has its slots again, for work that it is about to be fed */
    struct gw_process *behind, *before; /* a command: whose turn comes before its own, and after */
    uint32_t slots;
    struct gw_runner_pool *pool;
    struct gw_node_link *link;
    struct gw_node_actor *actor; /* that it keeps; its queue are calls then */
    struct gw_attempts queue;    /* what it was given, in order */
    uint64_t load_ns;            /* how long that takes, about */
    uint64_t spec_last;          /* serial of the spec sent last */
    struct gw_map specs;         /* serials of specs sent */
    bool hello;                  /* a runner that said hello */
    uint64_t deadline_ns;        /* to say hello, or to end after it closed its link; 0: none */
    uint64_t idle_since_ns, memory_bytes; /* memory_bytes: as measured */
    uint64_t head_since_ns; /* since when the first of queue executes; 0: it does not */
    struct gw_inactivity {  /* if the task has an inactivity timeout */
        uint64_t of_ns;     /* the head_since_ns that this is about */
        uint64_t alive_ns;  /* the last sign of life */
        uint64_t measure_ns;
        uint64_t output_bytes; /* as measured last; UINT64_MAX: not yet */
    } silence;
    int32_t exit_code, signal, spawn_code;
    uint32_t oom;
    bool exit_known;
    bool unasked;    /* it ended before anybody told it to */
    uint64_t began;  /* what it had begun last when it ended, as it said itself; 0: unknown */
    uint64_t ran_ns; /* as its warden measured; 0: not known */
    uint32_t gpu_count;
    uint32_t *gpus;             /* that it is on; owned */
    uint32_t xid;               /* the last error of one of them that may be its own; 0: none */
    char *trouble;              /* what it did wrong, in words; owned */
    GW_ARRAY(uint64_t) folders; /* of runs that were given up: they go with it */
};

struct gw_gpu {
    uint8_t state, given;     /* given: enum gw_gpu_given, somebody says that it may be used */
    bool broken;              /* drained until then */
    bool shared;              /* those there have shares of it */
    bool told, told_clearing; /* the scheduler knows `why`; and that it is clearing */
    char *why;                /* it is drained; owned */
    uint32_t processes;       /* of ours, from spawn to burial */
    uint64_t since_ns;        /* it is clearing */
    uint64_t idle_bytes;      /* in use while nothing of ours was there */
    uint32_t idle_processes;
    struct gw_gpu_sample seen, told_seen;
};

/* A runner that keeps the state of an actor, from when its task was through to the burial. */
struct gw_node_actor {
    uint64_t id;            /* the job of its task */
    struct gw_attempt *run; /* that task: standing, or ending */
    struct gw_process *process;
    struct gw_attempts calls; /* whose inputs are here, not given to the runner yet, in order */
    uint64_t cost_ns;         /* how long a call runs, on average; UINT64_MAX: unknown */
    struct gw_node_place place;
};

struct gw_gang {
    uint64_t attempt;
    uint8_t state;
    struct gw_msg_gang message;
    GW_ARRAY(struct gw_attempt *) ranks; /* live ones of this worker */
    uint32_t arrived;
    bool leased, lease_failed;
    bool holds_lease, holds_port; /* the port's socket, which rank 0 is to have */
    uint64_t segment;             /* token; 0: none yet */
    uint64_t listener; /* token, until rank 0 has it: where ranks of other workers come */
    uint32_t ring_port;
    uint8_t ring_key[32]; /* of functions at several workers */
    bool has_key;
    bool transferring; /* its checkpoint: rank 0 does not stand before that is here; of commands */
    bool mirrors;      /* none does; that was asked of rank 0's worker */
    bool watches;      /* its folder of checkpoints is watched */
    char *transfer_text; /* why it does not come; owned */
    int32_t transfer_code;
    char *address;
    uint32_t port;
    uint32_t rendezvous_port; /* of commands; 0: none */
    char *own_address;        /* of this worker, as of its lease */
    uint32_t *ports;          /* of commands: a port of its own for each rank here */
    uint32_t port_count;
    struct gw_bin doors; /* from go on: where all ranks of it listen; owned */
    uint32_t *locals;    /* what message.locals points to */
    char *lease_text;
    int32_t lease_code;
    struct gw_watch { /* for ranks that hang */
        uint64_t look_ns, since_ns;
        bool asked, told;
        bool closer;          /* the scheduler wants them to be looked at closely */
        bool closely;         /* they were, and it was told */
        bool idle, idle_told; /* none uses CPU or writes; the scheduler heard so */
        uint64_t idle_ns, active;
        struct gw_stand *seen; /* where they stood at the last look; owned */
        uint32_t count;
    } watch;
};

/* A checkpoint on its way here. */
struct gw_checkpoint_transfer {
    uint64_t number, attempt; /* of the gang that waits for it; 0: a copy to be kept */
    struct gw_msg_checkpoint_transfer what;
};

/* What a command left in the folder of its own. */
struct gw_retained_workdir {
    uint64_t serial;     /* the number of the folder */
    uint64_t job, bytes; /* 0: not counted yet */
    uint32_t index, rank;
    char *path; /* owned */
};

/* See orphaned.c. */
struct gw_orphaned {
    uint64_t since_ns; /* connecting was refused first; 0: it was not, since the last welcome */
    GW_ARRAY(struct gw_untold) untold;
    size_t bytes;
};

/* How many commits the cluster's state has at least, and which life of its scheduler said so. */
struct gw_known_history {
    char *cluster; /* of the last welcome; owned; NULL: there was none */
    uint64_t life, commits;
};

enum { HEARTBEATS_KEPT = 32 };
static_assert(HEARTBEATS_KEPT * GW_HEARTBEAT_NS > GW_FENCE_NS,
              "of each heartbeat that may still be acknowledged it is known when it was sent");

/* It was told to end: see leave.c. */
struct gw_leave {
    char *why;         /* in words; owned. NULL: it was not, or need not stay */
    uint64_t until_ns; /* it stays no longer, once it has told */
    bool told, may;    /* the scheduler knows that nothing runs here; it lets us go */
};

struct gw_node_core {
    struct gw_node_options options;
    uint64_t now_ns, incarnation;
    struct gw_effects *effects; /* during a step */

    struct gw_node_link *scheduler, *guardian;
    bool registered, shutting_down, exited;
    struct gw_leave leave;
    uint64_t term, peer; /* of the envelope, from the last welcome */
    uint32_t worker;
    uint64_t heartbeat_number, heartbeat_due_ns, heartbeat_received;
    uint64_t heartbeat_sent_ns[HEARTBEATS_KEPT];
    uint64_t acked_ns; /* when the last acknowledged heartbeat was sent */
    struct gw_known_history history;

    struct gw_map jobs, attempts, gangs, actors, links, processes_by_id, neighbours, requests;
    struct gw_map folders;   /* serial -> struct gw_attempt that has or wants one */
    struct gw_map throttled; /* attempt -> what is kept of it while the scheduler is slow */
    bool scheduler_slow;
    GW_ARRAY(struct gw_program *) programs;
    GW_ARRAY(struct gw_runner_pool *) pools;
    GW_ARRAY(struct gw_process *) processes;
    struct gw_attempts alone; /* ready ones that need a process of their own: commands and ranks */
    /* for inputs; prepared command ranks and those that end, and tasks of actors */
    struct gw_attempts waiting, held;
    GW_ARRAY(struct gw_fetch *) fetches; /* in order of their deadlines */
    GW_ARRAY(struct gw_attempt_ref)
    orphans; /* their makers are gone: to be given back in this step */
    GW_ARRAY(struct gw_attempt_ref)
    bound;                       /* their processes are to be told of them, in this step */
    struct gw_attempts ended;    /* to be told of and freed, in this step */
    struct gw_attempts supplied; /* their last inputs came in this step */
    GW_ARRAY(struct gw_node_actor *) ended_actors; /* to be freed, in this step */
    bool pools_left; /* by a process: those that nobody uses any more go in this step */
    GW_ARRAY(void *) run_chunks;
    struct gw_attempt *run_spare;
    uint64_t serial, process_id, request, batch; /* the last of each that was given */
    uint32_t slots_used; /* more than there are only while tasks run on that waited for others */
    uint32_t lent;       /* processes */
    bool woken;          /* some process is */
    uint64_t
        starving_serial; /* what came later than this run gets no more runners; or UINT64_MAX */
    uint64_t object_bytes;
    uint64_t runs; /* that ever came, calls apart */
    struct gw_memory memory;
    struct gw_result_memfds memfiles;
    struct gw_gpu *gpus;                   /* options.gpu_count */
    bool gpus_told;                        /* how they do */
    GW_ARRAY(struct gw_object *) replaced; /* in use, and another attempt's took their place */
    GW_ARRAY(struct gw_checkpoint_transfer) transfers; /* under way */
    uint64_t transfer;                                 /* number of the last */
    struct gw_orphaned orphaned;
    GW_ARRAY(struct gw_retained_workdir) kept; /* in the order in which they were left */
    uint64_t kept_bytes;
};

#endif
