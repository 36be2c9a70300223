/* The inside of the worker's core: what its files share. Nobody outside worker/core includes it.
 *
 * A run is one attempt of a task, or one rank of a gang's attempt. A pool holds the runners that
 * can run the same functions (program, environment, folder, slots, GPUs) and the runs that wait for
 * them. A process is what the guardian started: a runner, or a command. */
#ifndef GW_WORKER_CORE_STATE_H
#define GW_WORKER_CORE_STATE_H

#include "graph/base/array.h"
#include "graph/base/log.h"
#include "graph/base/map.h"
#include "graph/base/planted.h"
#include "graph/base/sm.h"
#include "graph/wire/enums.h"
#include "worker/core/node.h"

enum gw_run_state {
    GW_RUN_WAITING,  /* for inputs */
    GW_RUN_READY,    /* queued: in its pool, or among those that need a process of their own */
    GW_RUN_STARTING, /* gang: bound to a runner that starts, or that was told of it */
    GW_RUN_STANDING, /* gang: reported ready */
    GW_RUN_SENT,     /* ordinary function: in a runner's queue; the first there executes */
    GW_RUN_RUNNING,  /* command, or rank after go */
    GW_RUN_ENDING,   /* how it ends is known; told when its process is buried */
    GW_RUN_ENDED,
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

enum gw_object_state {
    GW_OBJECT_RESIDENT, /* a value, or a descriptor of memory */
    GW_OBJECT_SPILLING, /* the same, and it is being written to a file */
    GW_OBJECT_SPILLED,  /* in a file that is closed */
    GW_OBJECT_OPENING,  /* that file is being opened, and held against what was written */
    GW_OBJECT_OPEN,     /* a descriptor of the file */
    GW_OBJECT_GONE,
};

enum gw_fetch_state { GW_FETCH_CONNECTING, GW_FETCH_ASKED, GW_FETCH_GONE };

extern struct gw_sm gw_run_sm, gw_process_sm, gw_gang_sm, gw_fetch_sm, gw_object_sm, gw_gpu_sm;

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
    int32_t code; /* GW_EAGAIN: on its way; 0: path; else text says why not */
    char *path, *text;
};

struct gw_node_spec {
    uint64_t job, serial; /* serial: unique in this core */
    uint32_t refs;
    struct gw_msg_spec message; /* all it points to lies in block */
    void *block;
    uint32_t slots;
    uint64_t cost_ns;    /* how long its tasks run, on average; UINT64_MAX: unknown */
    bool function_known; /* its function was found in the program */
    struct gw_program *program;
    struct gw_pool *pool; /* where it needs no GPUs; NULL: not known yet */
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
    struct gw_run *run;
    uint64_t serial; /* of the run: another one may have its place by then */
    uint64_t peer, request;
};

struct gw_object {
    struct gw_node_job *job; /* NULL: another attempt's took its place */
    uint32_t index, rank;
    uint32_t users; /* runs that have it as an input */
    uint32_t pins;  /* of them, those that a runner was given */
    uint8_t state;
    bool released;  /* goes with its last user */
    uint64_t token; /* 0: value, or in a closed file */
    uint64_t bytes;
    void *value;
    uint64_t file; /* number of its file; 0: none */
    uint32_t checksum;
    struct gw_objects *list; /* the one it is in */
    struct gw_object *older, *newer;
    GW_ARRAY(struct gw_object_waiter) waiters;
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
    size_t on_disk;                   /* objects */
    struct gw_objects unused, wanted; /* wanted: a run that was not sent has it as an input */
    struct gw_map files;              /* being written or opened -> struct gw_object *, 0: gone */
    uint64_t last_file, spilling_bytes;
    uint32_t spilling;
    uint64_t retry_ns, pause_ns; /* after a write that failed */
    char *trouble;               /* why it did; owned */
    uint32_t state;              /* enum gw_memory_state */
    uint64_t since_ns, runs;     /* when that began, and how many runs had come by then */
    bool lets;                   /* in this step: the one that it let in has come */
    uint64_t killing;            /* process that is being ended for its memory */
    bool told, told_trouble;     /* told: what follows is what the scheduler knows */
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
        struct gw_run *run;
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

struct gw_run_dep {
    uint64_t job, bytes;
    uint32_t index, rank, worker, value_size;
    const void *value;
    struct gw_object *object; /* counted as a user */
    struct gw_run *maker;     /* the run here that makes it; NULL: none, or it was made */
    struct gw_run *heir;      /* the run that this belongs to, and the maker's other heirs */
    struct gw_run_dep *prev, *next;
    void *owned;       /* the value, where the maker gave one ... */
    uint8_t small[16]; /* ... that does not fit here */
};

/* A run whose maker is gone: another one may have its place by then. */
struct gw_orphan {
    struct gw_run *run;
    uint64_t serial;
};

struct gw_run_end {
    uint32_t outcome, executing;
    int32_t code, exit_code, signal;
    uint64_t run_ns;
    uint64_t capture; /* the process in whose capture its stderr lies; 0: in its own file */
    char *text;       /* owned */
};

struct gw_runs {
    struct gw_run *first, *last;
    size_t count;
};

struct gw_run {
    uint64_t attempt, serial;
    uint64_t job;
    uint32_t index, rank, try_number;
    uint8_t state;
    bool pinned;       /* a runner was given its inputs */
    bool killing;      /* to be killed as soon as it is its runner's first */
    bool holds_slots;  /* a command's rank that is prepared */
    bool goes;         /* the same, told to go: as soon as its GPUs let it */
    bool wants_folder; /* it is being made */
    bool bound;        /* to this life of the scheduler: it has a connection there, or it pauses */
    uint64_t kill_grace_ns;
    uint64_t load_ns; /* its share of its runner's load */
    uint64_t peak_told_bytes;
    uint32_t missing; /* inputs on their way */
    uint32_t gpu_count, dep_count, args_size;
    uint32_t *gpus;
    struct gw_run_dep *deps;
    const void *args;
    void *block; /* deps, gpus, args and their values; NULL: in small */
    struct gw_node_spec *spec;
    struct gw_pool *pool;
    struct gw_process *process;
    struct gw_gang *gang;
    struct gw_node_actor *actor;               /* of which it is a call */
    struct gw_run_dep *first_heir, *last_heir; /* what waits for its result */
    uint64_t batch;       /* the one it was put into last, or an input of it was */
    uint32_t batch_row;   /* where in it */
    uint32_t batch_deps;  /* inputs that runs before it in that batch make */
    struct gw_runs *list; /* the one it is in */
    struct gw_run *prev, *next;
    char *folder; /* its own, with its files; NULL: none, or not there yet */
    struct gw_run_end end;
    uint64_t small[30]; /* last: what was not written is not read; two inputs fit */
};

struct gw_pool {
    struct gw_program *program;
    struct gw_node_spec *like; /* a spec of this pool: environment, folder, slots */
    uint32_t gpu_count;
    uint32_t *gpus;
    size_t run_count, process_count; /* that point here; without any it goes with a process */
    struct gw_runs ready;
    GW_ARRAY(struct gw_process *) runners; /* not being ended */
    uint32_t starting;                     /* of them, and bound to no rank */
    uint32_t start_failures;               /* in a row */
    bool proven;                           /* a runner of it has said hello */
    struct gw_strmap functions;
};

struct gw_process {
    uint64_t id;
    uint8_t state;
    bool runner;
    bool burying; /* by our order: what it says from then on is too late */
    bool started_told;
    bool starts;    /* counted in its pool's `starting` */
    bool lent;      /* its task waits for others: it holds no slots */
    bool runs_long; /* its task takes longer than a moment: nothing is queued behind it */
    bool woke;      /* that is over: its task runs on whether there were slots for it or not */
    struct gw_process *behind, *before; /* a command: whose turn comes before its own, and after */
    uint32_t slots;
    struct gw_pool *pool;
    struct gw_node_link *link;
    struct gw_node_actor *actor; /* that it keeps; its queue are calls then */
    struct gw_runs queue;        /* what it was given, in order */
    uint64_t load_ns;            /* how long that takes, about */
    uint64_t spec_last;          /* serial of the spec sent last */
    struct gw_map specs;         /* serials of specs sent */
    bool hello;                  /* a runner that said hello */
    uint32_t protocol;           /* that it speaks */
    uint64_t deadline_ns;        /* to say hello, or to end after it closed its link; 0: none */
    uint64_t idle_since_ns;
    uint64_t memory_bytes;  /* as measured */
    uint64_t head_since_ns; /* since when the first of queue executes; 0: it does not */
    struct gw_silence {     /* where that has a progress limit */
        uint64_t of_ns;     /* the head_since_ns that this is about */
        uint64_t alive_ns;  /* the last sign of life */
        uint64_t measure_ns;
        uint64_t output_bytes; /* as measured last; UINT64_MAX: not yet */
    } silence;
    int32_t exit_code, signal, spawn_code;
    uint32_t oom;
    bool exit_known;
    bool unasked;    /* it ended before anybody told it to */
    uint64_t began;  /* the call of an actor that had begun last when it ended; 0: none */
    uint64_t ran_ns; /* as its warden measured; 0: not known */
    uint32_t gpu_count;
    uint32_t *gpus;             /* that it is on; owned */
    uint32_t xid;               /* the last error of one of them that may be its own; 0: none */
    char *trouble;              /* what it did wrong, in words; owned */
    GW_ARRAY(uint64_t) folders; /* of runs that were given up: they go with it */
};

struct gw_gpu {
    uint8_t state;
    bool broken;              /* drained as long as this worker lives */
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
    uint64_t id;        /* the job of its task */
    struct gw_run *run; /* that task: standing, or ending */
    struct gw_process *process;
    struct gw_runs calls; /* whose inputs are here, not given to the runner yet, in order */
    uint64_t cost_ns;     /* how long a call runs, on average; UINT64_MAX: unknown */
    struct gw_node_place place;
};

struct gw_gang {
    uint64_t attempt;
    uint8_t state;
    struct gw_msg_gang message;
    GW_ARRAY(struct gw_run *) ranks; /* live ones of this worker */
    uint32_t arrived;
    bool leased, lease_failed;
    bool holds_lease, holds_port; /* the port's socket, which rank 0 is to have */
    uint64_t segment;             /* token; 0: none yet */
    uint64_t listener; /* token, until rank 0 has it: where ranks of other workers come */
    uint32_t ring_port;
    uint8_t ring_key[32]; /* of functions at several workers */
    bool has_key;
    bool carrying;    /* its checkpoint: rank 0 does not stand before that is here */
    bool watches;     /* its folder of checkpoints is watched */
    char *carry_text; /* why it does not come; owned */
    int32_t carry_code;
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
        bool closer;           /* the scheduler wants them to be looked at closely */
        bool closely;          /* they were, and it was told */
        struct gw_stand *seen; /* where they stood at the last look; owned */
        uint32_t count;
    } watch;
};

/* A checkpoint on its way here. */
struct gw_node_carry {
    uint64_t number, attempt; /* of the gang that waits for it; 0: a copy to be kept */
    struct gw_msg_carry what;
};

/* What a command left in the folder of its own. */
struct gw_kept {
    uint64_t serial;     /* the number of the folder */
    uint64_t job, bytes; /* 0: not counted yet */
    uint32_t index, rank;
    char *path; /* owned */
};

/* See adrift.c. */
struct gw_adrift {
    uint64_t since_ns; /* connecting was refused first; 0: it was not, since the last welcome */
    GW_ARRAY(struct gw_unsaid) unsaid;
    size_t bytes;
};

enum { HEARTBEATS_KEPT = 16 };

struct gw_node_core {
    struct gw_node_options options;
    uint64_t now_ns, incarnation;
    struct gw_effects *effects; /* during a step */

    struct gw_node_link *scheduler, *guardian;
    bool registered, shutting_down, exited;
    uint64_t term, peer; /* of the envelope, from the last welcome */
    uint32_t worker;
    uint64_t heartbeat_number, heartbeat_due_ns, heartbeat_received;
    uint64_t heartbeat_sent_ns[HEARTBEATS_KEPT];
    uint64_t acked_ns; /* when the last acknowledged heartbeat was sent */

    struct gw_map jobs, attempts, gangs, actors, links, processes_by_id, neighbours, requests;
    struct gw_map folders; /* serial -> struct gw_run that has or wants one */
    struct gw_map news;    /* attempt -> what is kept of it while the scheduler is slow */
    bool scheduler_slow;
    GW_ARRAY(struct gw_program *) programs;
    GW_ARRAY(struct gw_pool *) pools;
    GW_ARRAY(struct gw_process *) processes;
    struct gw_runs alone; /* ready ones that need a process of their own: commands and ranks */
    /* for inputs; prepared command ranks and those that end, and tasks of actors */
    struct gw_runs waiting, held;
    GW_ARRAY(struct gw_fetch *) fetches; /* in order of their deadlines */
    GW_ARRAY(struct gw_orphan) orphans;  /* to be given back before the step ends */
    GW_ARRAY(void *) run_chunks;
    struct gw_run *run_spare;
    uint64_t serial, process_id, request, batch;
    uint32_t slots_used; /* more than there are only while tasks run on that waited for others */
    uint32_t lent;       /* processes */
    uint64_t
        starving_serial; /* what came later than this run gets no more runners; or UINT64_MAX */
    uint64_t object_bytes;
    uint64_t runs; /* that ever came, calls apart */
    struct gw_memory memory;
    struct gw_gpu *gpus;                    /* options.gpu_count */
    bool gpus_told;                         /* how they do */
    GW_ARRAY(struct gw_object *) replaced;  /* in use, and another attempt's took their place */
    GW_ARRAY(struct gw_node_carry) carries; /* under way */
    uint64_t carry;                         /* number of the last */
    struct gw_adrift adrift;
    GW_ARRAY(struct gw_kept) kept; /* in the order in which they were left */
    uint64_t kept_bytes;
};

/* -- node.c */
void *gw_core_alloc(size_t bytes); /* zeroed; aborts when out of memory */
char *gw_core_strdup(const char *text);
void *gw_core_scratch(struct gw_node_core *core, size_t bytes);        /* until the next step */
const char *gw_core_text(struct gw_node_core *core, const char *text); /* a copy, likewise */
struct gw_effect *gw_core_effect(struct gw_node_core *core, uint32_t type);
/* gw_core_send adds a SEND effect; the caller fills the message in before anything else is added.
 */
struct gw_effect *gw_core_send(struct gw_node_core *core, struct gw_node_link *link, uint32_t type);
void gw_core_drop_token(struct gw_node_core *core, uint64_t token);

/* -- adrift.c: while there is no scheduler */
void gw_adrift_on_refused(struct gw_node_core *core, const struct gw_event *event);
/* gw_adrift_until_ns is when what runs is ended because no scheduler came; UINT64_MAX: never. */
uint64_t gw_adrift_until_ns(const struct gw_node_core *core);
/* gw_adrift_finished and gw_adrift_ended keep the end of a run, where nobody is there to hear it
 * and another scheduler might take it (of run.end; copies). */
struct gw_adrift_result {
    uint64_t bytes, run_ns;
};
void gw_adrift_finished(struct gw_node_core *core, const struct gw_run *run, struct gw_bin value,
                        const struct gw_adrift_result *result);
void gw_adrift_ended(struct gw_node_core *core, const struct gw_run *run, const char *stderr_path);
/* gw_adrift_list writes all that runs, and what is kept, into a registration; gw_adrift_say tells
 * what is kept, behind it. */
void gw_adrift_list(struct gw_node_core *core, struct gw_msg_registration *message);
void gw_adrift_say(struct gw_node_core *core);
void gw_adrift_forget(struct gw_node_core *core);
void gw_adrift_deinit(struct gw_node_core *core);

/* -- job.c */
struct gw_node_job *gw_core_job(struct gw_node_core *core, uint64_t id, bool make);
void gw_job_tidy(struct gw_node_core *core, struct gw_node_job *job);
void gw_job_free(struct gw_node_core *core, struct gw_node_job *job);
void gw_job_on_spec(struct gw_node_core *core, const struct gw_msg_spec *spec);
void gw_job_on_forget(struct gw_node_core *core, uint64_t id);
struct gw_node_spec *gw_job_spec(struct gw_node_core *core, uint64_t job, uint32_t number);
void gw_spec_unref(struct gw_node_spec *spec);
void gw_program_on_event(struct gw_node_core *core, const struct gw_event *event);

/* -- run.c */
int gw_run_on_assign(struct gw_node_core *core, const struct gw_msg_assign *assign);
void gw_run_on_kill(struct gw_node_core *core, const struct gw_msg_kill *kill);
void gw_run_ready(struct gw_node_core *core, struct gw_run *run); /* all inputs are there */
void gw_run_find_pool(struct gw_node_core *core, struct gw_run *run);
void gw_run_push(struct gw_runs *list, struct gw_run *run);
void gw_run_push_first(struct gw_runs *list, struct gw_run *run);
void gw_run_push_behind(struct gw_runs *list, struct gw_run *before, struct gw_run *run);
void gw_run_pull(struct gw_run *run);
bool gw_run_executes(const struct gw_run *run);
/* gw_run_end ends a run otherwise than well: at once where nothing of it lives, else when its
 * process, which is told to end within grace_ns, is buried. Takes end.text. */
void gw_run_end(struct gw_node_core *core, struct gw_run *run, struct gw_run_end end,
                uint64_t grace_ns);
void gw_run_tell(struct gw_node_core *core, struct gw_run *run); /* run.end; frees the run */
void gw_run_free(struct gw_node_core *core, struct gw_run *run);
void gw_run_place(const struct gw_run *run, struct gw_node_place *place);
struct gw_run *gw_run_find(const struct gw_node_core *core, uint64_t attempt, uint32_t rank);
char *gw_run_text(const char *format, ...) GW_PRINTF(1, 2); /* owned by the caller */

/* -- heir.c: runs that wait for what other runs here make */
/* gw_heir_wait has a run wait for input d, which dep->bytes says who makes; false where that
 * attempt is not here (any more). */
bool gw_heir_wait(struct gw_node_core *core, struct gw_run *run, uint32_t d);
/* gw_heir_give gives what a run made, a value (copied) or an object, to all its heirs. */
void gw_heir_give(struct gw_node_core *core, struct gw_run *maker, struct gw_bin value,
                  struct gw_object *object);
/* gw_heir_part takes a run that is being freed away from its makers and its heirs. */
void gw_heir_part(struct gw_node_core *core, struct gw_run *run);
/* gw_heir_unsend takes an heir out of its runner's queue; it waits again. */
void gw_heir_unsend(struct gw_node_core *core, struct gw_run *run);
/* gw_heir_settle gives back what will never get its inputs. */
void gw_heir_settle(struct gw_node_core *core);

/* -- folder.c: working folders of tasks with files */
/* gw_folder_want has a new run wait for its folder, where it is to have one; gw_folder_leave lets
 * go of it. gw_folder_of is where a run is to run. */
void gw_folder_want(struct gw_node_core *core, struct gw_run *run);
void gw_folder_on_event(struct gw_node_core *core, const struct gw_event *event);
void gw_folder_leave(struct gw_node_core *core, struct gw_run *run);
/* gw_folder_outlive lets the folders of what a process was given stay until gw_folder_end: its runs
 * are given up, and it is still to be buried. */
void gw_folder_outlive(struct gw_node_core *core, struct gw_process *process);
void gw_folder_end(struct gw_node_core *core, struct gw_process *process);
const char *gw_folder_of(const struct gw_run *run);

/* -- kept.c: folders that commands left */
/* gw_kept_take keeps the folder of a run that ends, and its path with it; false: it goes. */
bool gw_kept_take(struct gw_node_core *core, struct gw_run *run);
void gw_kept_on_counted(struct gw_node_core *core, const struct gw_event *event);
void gw_kept_on_forget(struct gw_node_core *core, uint64_t job);
void gw_kept_deinit(struct gw_node_core *core);
void gw_kept_check(const struct gw_node_core *core);

/* -- result.c: what runners report */
int gw_result_on_finished(struct gw_node_core *core, struct gw_process *process,
                          const struct gw_event *event);
int gw_result_on_ended(struct gw_node_core *core, struct gw_process *process,
                       const struct gw_msg_ended *ended);
void gw_result_of_command(struct gw_node_core *core, struct gw_run *run); /* exit code 0 */
/* gw_result_tell tells the scheduler, if there is one, of an end; stderr_path: see struct
 * gw_effect. */
void gw_result_tell(struct gw_node_core *core, const struct gw_message *message,
                    struct gw_bin stderr_path);

/* -- store.c: objects */
struct gw_object *gw_object_find(struct gw_node_core *core, uint64_t job, uint32_t index,
                                 uint32_t rank);
/* gw_object_put adds an object like this one, in place of an earlier attempt's (takes its token and
 * value); it is marked neither used nor released. */
struct gw_object *gw_object_put(struct gw_node_core *core, const struct gw_object *like);
/* gw_object_use makes it an input of a run; false where the run must wait until it is read back
 * (`missing` is raised then). gw_object_pin says that a runner is given the inputs of a run, unpin
 * that it has not, or no longer. */
bool gw_object_use(struct gw_node_core *core, struct gw_object *object, struct gw_run *run,
                   uint32_t dep);
void gw_object_unuse(struct gw_node_core *core, struct gw_object *object);
void gw_object_pin(struct gw_node_core *core, struct gw_run *run);
void gw_object_unpin(struct gw_node_core *core, struct gw_run *run);
void gw_object_free(struct gw_node_core *core, struct gw_object *object);
void gw_object_release(struct gw_object *object); /* its memory alone, at the end of the core */
/* gw_object_answer answers a fetch; object NULL: it is not here. */
void gw_object_answer(struct gw_node_core *core, struct gw_node_link *link, uint64_t request,
                      const struct gw_object *object);
void gw_object_on_fetch(struct gw_node_core *core, struct gw_node_link *link,
                        const struct gw_msg_fetch *fetch);
void gw_object_on_release(struct gw_node_core *core, const struct gw_msg_release *release);

/* -- memory.c */
void gw_memory_init(struct gw_node_core *core);
void gw_memory_deinit(struct gw_node_core *core);
/* gw_memory_add counts an object, gw_memory_remove no longer; between the two its state, bytes and
 * token stay. gw_memory_rank makes it the newest of the list where it belongs. */
void gw_memory_add(struct gw_node_core *core, struct gw_object *object);
void gw_memory_remove(struct gw_node_core *core, struct gw_object *object);
void gw_memory_rank(struct gw_node_core *core, struct gw_object *object);
uint64_t gw_memory_used(const struct gw_node_core *core);
bool gw_memory_holds(const struct gw_node_core *core); /* nothing new starts, ranks apart */
/* gw_memory_keeps: a run that was not given a process stays, though it is asked back. */
bool gw_memory_keeps(const struct gw_node_core *core, const struct gw_run *run);
void gw_memory_on_measured(struct gw_node_core *core, const struct gw_event *event);
void gw_memory_settle(struct gw_node_core *core); /* at the end of a step */
uint64_t gw_memory_deadline_ns(const struct gw_node_core *core);

/* -- spill.c */
void gw_spill_write(struct gw_node_core *core, struct gw_object *object);
void gw_spill_open(struct gw_node_core *core, struct gw_object *object,
                   struct gw_object_waiter waiter);
void gw_spill_close(struct gw_node_core *core, struct gw_object *object);        /* if it is open */
void gw_spill_forget(struct gw_node_core *core, struct gw_object *object);       /* it is freed */
void gw_spill_on_event(struct gw_node_core *core, const struct gw_event *event); /* its answers */

/* -- fetch.c */
void gw_fetch_for(struct gw_node_core *core, struct gw_run *run, uint32_t dep);
void gw_fetch_on_object(struct gw_node_core *core, const struct gw_event *event);
/* gw_fetch_address is where another worker is found; NULL: nobody said. */
const char *gw_fetch_address(const struct gw_node_core *core, uint32_t worker);
void gw_fetch_on_neighbour(struct gw_node_core *core, const struct gw_msg_neighbour *message);
void gw_fetch_on_open(struct gw_node_core *core, struct gw_node_link *link, uint32_t worker);
void gw_fetch_on_close(struct gw_node_core *core, struct gw_neighbour *neighbour);
void gw_fetch_fail_worker(struct gw_node_core *core, uint32_t worker);
void gw_fetch_tick(struct gw_node_core *core);
void gw_fetch_free(struct gw_node_core *core, struct gw_fetch *fetch);
/* gw_fetch_keep fetches what the scheduler wants kept here; gw_fetch_release follows a release of
 * what is on its way; gw_fetch_unkeep forgets what a scheduler wanted that is gone. */
void gw_fetch_keep(struct gw_node_core *core, const struct gw_msg_keep *keep);
void gw_fetch_release(struct gw_node_core *core, uint64_t job, uint32_t index, uint32_t rank);
void gw_fetch_unkeep(struct gw_node_core *core);

/* -- keep.c: copies that the scheduler wants here */
void gw_keep_on_keep(struct gw_node_core *core, const struct gw_msg_keep *keep);
/* gw_keep_tell tells it how that ended; code 0: the object is here. */
void gw_keep_tell(struct gw_node_core *core, const struct gw_msg_keep *keep, int code,
                  const char *text);

/* -- pool.c */
struct gw_pool *gw_pool_for(struct gw_node_core *core, struct gw_node_spec *spec,
                            const struct gw_run *run);
void gw_pool_pump(struct gw_node_core *core); /* give work to runners, start and end them */
void gw_pool_tidy(struct gw_node_core *core, struct gw_pool *pool); /* free it if nobody uses it */
bool gw_pool_has_function(struct gw_pool *pool, struct gw_node_spec *spec);
void gw_pool_free(struct gw_pool *pool);
void gw_pool_fail(struct gw_node_core *core, struct gw_pool *pool, const char *text,
                  const struct gw_process *process);

/* -- nested.c: tasks that submit tasks, and wait for them */
int gw_nested_on_link(struct gw_node_core *core, struct gw_process *process,
                      const struct gw_msg_task_link *link);
int gw_nested_on_blocked(struct gw_node_core *core, struct gw_process *process,
                         const struct gw_msg_task_blocked *blocked);
/* gw_nested_end follows the end of what a process executed. */
void gw_nested_end(struct gw_node_core *core, struct gw_process *process);
/* gw_nested_room tells whether an idle runner's slots are free for it to use. */
bool gw_nested_room(const struct gw_node_core *core, const struct gw_process *process);
/* gw_pool_feed hands a runner what it can take of a list, at most `share` runs. */
void gw_pool_feed(struct gw_node_core *core, struct gw_process *process, struct gw_runs *from,
                  size_t share);

/* -- turn.c: commands that wait in the warden of another
 * gw_turn_behind is the process behind which a command may wait; NULL: none.
 * gw_turn_come follows the burial of a process: the next one has its slots.
 * gw_turn_return follows the word that a command was not begun; it frees the process. */
struct gw_process *gw_turn_behind(const struct gw_node_core *core, const struct gw_run *run);
void gw_turn_come(struct gw_node_core *core, struct gw_process *process);
void gw_turn_return(struct gw_node_core *core, struct gw_process *process);
void gw_turn_leave(struct gw_process *process);

/* -- batch.c */
void gw_batch_send(struct gw_node_core *core, struct gw_process *process,
                   struct gw_run *const *runs, uint32_t count);

/* -- process.c */
struct gw_process *gw_process_find(const struct gw_node_core *core, uint64_t id);
struct gw_process *gw_process_start(struct gw_node_core *core, struct gw_pool *pool,
                                    struct gw_run *run, struct gw_process *behind);
void gw_process_give(struct gw_node_core *core, struct gw_process *process, struct gw_run *run);
void gw_process_unbind(struct gw_node_core *core, struct gw_process *process, struct gw_run *run);
/* gw_process_next follows the end of the first run of a queue: the next one executes, or none. */
void gw_process_next(struct gw_node_core *core, struct gw_process *process);

/* gw_process_requeue has those behind `first` (NULL: all) go back to where they came from, at the
 * front, in their order. */
void gw_process_requeue(struct gw_node_core *core, struct gw_process *process,
                        const struct gw_run *first);
void gw_process_idle(struct gw_node_core *core, struct gw_process *process);
void gw_process_bury(struct gw_node_core *core, struct gw_process *process, uint64_t grace_ns);
/* gw_process_signal sends a command and its descendants the signal that its user named for its end,
 * and no more. */
void gw_process_signal(struct gw_node_core *core, const struct gw_process *process);
/* gw_process_hurry has what an ended process left behind end within grace_ns. */
void gw_process_hurry(struct gw_node_core *core, const struct gw_process *process,
                      uint64_t grace_ns);
void gw_process_on_spawned(struct gw_node_core *core, const struct gw_msg_spawned *spawned);
void gw_process_on_exited(struct gw_node_core *core, const struct gw_msg_exited *exited);
void gw_process_on_buried(struct gw_node_core *core, const struct gw_msg_buried *buried);
void gw_process_on_close(struct gw_node_core *core, struct gw_process *process, const char *text);
int gw_process_on_hello(struct gw_node_core *core, struct gw_process *process,
                        const struct gw_msg_runner *hello);
char *gw_process_exit_text(const struct gw_process *process); /* owned by the caller */
void gw_process_tick(struct gw_node_core *core);

/* -- silence.c: progress limits */
/* gw_silence_tick has output measured where that is due; gw_silence_deadline_ns is when. */
void gw_silence_tick(struct gw_node_core *core, struct gw_process *process);
uint64_t gw_silence_deadline_ns(const struct gw_process *process);
/* gw_news_tell passes a task's `progress` or `metric` on, or keeps it while the scheduler is slow;
 * gw_news_end: the end of that run is told next. gw_news_on_queued takes QUEUED. */
void gw_news_tell(struct gw_node_core *core, const struct gw_run *run,
                  const struct gw_message *message);
void gw_news_end(struct gw_node_core *core, const struct gw_run *run);
void gw_news_on_queued(struct gw_node_core *core, uint64_t bytes);

/* gw_silence_end is a sign of life of what a process executes. */
void gw_silence_end(const struct gw_node_core *core, struct gw_process *process);
void gw_silence_on_measured(struct gw_node_core *core, const struct gw_event *event);
uint64_t gw_process_deadline_ns(const struct gw_node_core *core);
void gw_process_free(struct gw_node_core *core, struct gw_process *process);

/* -- hang.c: ranks that stand still */
void gw_hang_tick(struct gw_node_core *core);
uint64_t gw_hang_deadline_ns(const struct gw_node_core *core);
void gw_hang_on_surveyed(struct gw_node_core *core, const struct gw_event *event);
void gw_hang_on_look(struct gw_node_core *core, const struct gw_msg_gang_look *wanted);
/* gw_hang_on_scheduler: what was told of a gang before this registration is told again. */
void gw_hang_on_scheduler(struct gw_gang *gang);

/* -- actor.c */
/* gw_node_actor_makes tells whether a run's task makes an actor: it needs a runner for itself. */
static inline bool gw_node_actor_makes(const struct gw_run *run)
{
    return run->spec->message.actor == GW_ACTOR_NEW;
}
static inline bool gw_node_actor_calls(const struct gw_run *run)
{
    return run->spec->message.actor && run->spec->message.actor != GW_ACTOR_NEW;
}
/* gw_node_actor_prepare gives a runner the task that makes an actor. gw_node_actor_join finds the
 * actor of a call that came; false where there is none: the call was given back. gw_node_actor_call
 * queues a call whose inputs are here. */
void gw_node_actor_prepare(struct gw_node_core *core, struct gw_process *process,
                           struct gw_run *run);
bool gw_node_actor_join(struct gw_node_core *core, struct gw_run *run);
void gw_node_actor_call(struct gw_run *run);
int gw_node_actor_on_ready(struct gw_node_core *core, struct gw_process *process,
                           const struct gw_msg_actor_ready *ready);
/* gw_node_actor_kill does what a kill of an actor's own task, or of a call, asks for; false where
 * it is a run like others. */
bool gw_node_actor_kill(struct gw_node_core *core, struct gw_run *run,
                        const struct gw_msg_kill *kill);
/* gw_node_actor_judge tells how an actor and its calls ended: its process is buried. */
void gw_node_actor_judge(struct gw_node_core *core, struct gw_process *process);
void gw_node_actor_take_back(struct gw_node_core *core, struct gw_process *process,
                             uint64_t attempt);
void gw_node_actor_pump(struct gw_node_core *core); /* give calls to runners */
void gw_node_actor_learn(struct gw_node_actor *actor, uint64_t run_ns);
void gw_node_actors_drop(
    struct gw_node_core *core); /* all of them, and their calls; runs are gone */
void gw_node_actors_check(const struct gw_node_core *core, size_t *runs);

/* -- gpu.c */
void gw_gpus_init(struct gw_node_core *core);
void gw_gpus_deinit(struct gw_node_core *core);
/* gw_gpu_hold puts a new process on the GPUs of its pool or, without one, of its run; gw_gpu_leave
 * takes it off, buried. */
void gw_gpu_hold(struct gw_node_core *core, struct gw_process *process, const struct gw_pool *pool,
                 const struct gw_run *run);
void gw_gpu_leave(struct gw_node_core *core, struct gw_process *process);
/* gw_gpu_cpus is the CPUs near a process's GPUs, as `spawn` has them; empty: it is not bound. */
const char *gw_gpu_cpus(struct gw_node_core *core, const struct gw_process *process,
                        const struct gw_node_spec *spec);
/* gw_gpu_lets tells whether a process of this spec could start on them now. */
bool gw_gpu_lets(const struct gw_node_core *core, const struct gw_node_spec *spec,
                 const uint32_t *gpus, uint32_t count);
void gw_gpu_pump(struct gw_node_core *core); /* end idle runners where others are to start */
void gw_gpu_on_samples(struct gw_node_core *core, const struct gw_event *event);
void gw_gpu_tick(struct gw_node_core *core);
uint64_t gw_gpu_deadline_ns(const struct gw_node_core *core);
void gw_gpus_registered(struct gw_node_core *core); /* anew: the scheduler knows nothing */
void gw_gpu_settle(struct gw_node_core *core);      /* at the end of a step */
void gw_gpus_check(const struct gw_node_core *core);

/* -- environment.c */
struct gw_bin gw_environment_of_runner(struct gw_node_core *core, const struct gw_pool *pool);
struct gw_bin gw_environment_of_command(struct gw_node_core *core, const struct gw_run *run);
/* gw_environment_argv gives a command's words, with what stands in braces filled in (template.h);
 * gw_environment_first the first of a list as text; gw_environment_checkpoints the folder of a
 * command's job that stays over its attempts. All scratch. */
struct gw_bin gw_environment_argv(struct gw_node_core *core, const struct gw_run *run);
const char *gw_environment_checkpoints(struct gw_node_core *core, const struct gw_run *run);
const char *gw_environment_first(struct gw_node_core *core, struct gw_bin list);
struct gw_bin gw_environment_list1(struct gw_node_core *core, const char *text);

/* -- door.c: ports of ranks of commands */
/* gw_door_of is where a rank of this worker is found, "host:port"; empty: it has none.
 * gw_door_tf_config is the line of its environment that tells TensorFlow of all, while the gang
 * goes; NULL: there is none. */
const char *gw_door_of(struct gw_node_core *core, const struct gw_run *run);
const char *gw_door_tf_config(struct gw_node_core *core, const struct gw_run *run);

/* -- gang.c */
void gw_gang_on_gang(struct gw_node_core *core, const struct gw_msg_gang *message);
/* gw_gang_on_scheduler: ranks that did not come over the last connection never will. */
void gw_gang_on_scheduler(struct gw_node_core *core);
/* gw_gang_on_event takes LEASED, LOOKED, CARRIED and SAVED. */
void gw_gang_on_event(struct gw_node_core *core, const struct gw_event *event);
void gw_gang_on_go(struct gw_node_core *core, const struct gw_event *event);
void gw_gang_pump(struct gw_node_core *core); /* start ranks that waited for their GPUs */
int gw_gang_on_ready(struct gw_node_core *core, struct gw_process *process,
                     const struct gw_msg_rank_ready *ready);
void gw_gang_on_control(struct gw_node_core *core, const struct gw_msg_control *control);
/* gw_gang_prepare tells a runner of the rank that it was given; gw_gang_stand tells the scheduler
 * that a rank stands. */
void gw_gang_prepare(struct gw_node_core *core, struct gw_process *process, struct gw_run *run);
void gw_gang_stand(struct gw_node_core *core, struct gw_run *run);
void gw_gang_leave(struct gw_node_core *core, struct gw_run *run);
void gw_gang_abort(struct gw_node_core *core, struct gw_gang *gang);
void gw_gang_tidy(struct gw_node_core *core, struct gw_gang *gang);
void gw_gang_free(struct gw_node_core *core, struct gw_gang *gang);

/* -- carry.c: checkpoints that come here from other workers, and those of commands here */
void gw_node_carry_on_gang(struct gw_node_core *core, struct gw_gang *gang);
void gw_node_carry_on_carry(struct gw_node_core *core, const struct gw_msg_carry *carry);
void gw_node_carry_on_carried(struct gw_node_core *core, const struct gw_event *event);
/* gw_node_carry_lets tells whether a rank may stand as far as this goes; where it never may it is
 * ended. */
bool gw_node_carry_lets(struct gw_node_core *core, struct gw_run *run);
/* gw_node_carry_watch has the folder of a command's rank 0 watched, until it ends. */
void gw_node_carry_watch(struct gw_node_core *core, const struct gw_run *run);
void gw_node_carry_unwatch(struct gw_node_core *core, struct gw_gang *gang);
void gw_node_carry_on_saved(struct gw_node_core *core, const struct gw_event *event);
/* gw_node_carry_on_checkpointed takes a runner's word that it has saved one. */
int gw_node_carry_on_checkpointed(struct gw_node_core *core, struct gw_process *process,
                                  const struct gw_msg_checkpointed *checkpointed);

#endif
