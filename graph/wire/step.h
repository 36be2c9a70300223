/* Events and effects: how both pure cores (scheduler/core, worker/core) meet the world.
 *
 * A core is a function of its events: time, ids, seeds and messages come in, effects come out, and
 * whoever drives it (net/ with libuv, or the simulator) carries them out in order. Descriptors are
 * tokens here: numbers that the driver gave out and resolves. */
#ifndef GW_WIRE_STEP_H
#define GW_WIRE_STEP_H

#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "graph/wire/message.h"

/* A connection, named by the driver; never reused in one life of the core. */
typedef struct gw_peer {
    uint64_t id;
} gw_peer;

enum gw_event_type {
    GW_EVENT_START = 1, /* first: term (scheduler) or incarnation (worker) in `number`, seed; of a
                           scheduler, another in each life, and `bytes`, as in COMMITTED */
    GW_EVENT_OPEN,      /* a peer that has said hello and was accepted: role, uid, name */
    GW_EVENT_CLOSE,     /* a peer is gone; text says why */
    GW_EVENT_MESSAGE,   /* decoded and validated; its tokens belong to the core now */
    GW_EVENT_TICK,      /* the deadline that the core asked for has come */
    GW_EVENT_COMMITTED, /* facts up to `number` are on disk, and with them `bytes` commits since the
                           state was made; 0: there is no state */
    GW_EVENT_PROGRAM, /* worker: program `hash` can be started (code 0; text: path) or never will */
    GW_EVENT_LEASED,  /* worker, answers LEASE: `number` the attempt; code the port, text its
                         address,  tokens[0] the segment; or a negative code with its text. Where
                         the gang spans workers, for the one that leads: tokens[1] a socket that
                         listens at port `rank`. bytes: the port of the rendezvous, where one was
                         asked for. ports: one for each rank here, where they were asked for */
    GW_EVENT_SHUTDOWN, /* worker: end everything, then EXIT */
    GW_EVENT_LEAVE, /* worker: end everything, and EXIT when others have its checkpoints; text: who
                       told it to. Said again: EXIT without waiting for that */
    GW_EVENT_MEASURED, /* worker, answers MEASURE: what process `number` has written, `bytes` */
    GW_EVENT_FOLDER,   /* worker, answers FOLDER: `number` lies at text (code 0), or why it does not
                        */
    GW_EVENT_SPILLED,  /* worker, answers SPILL: `number` the file; code 0 with its checksum, and
                          tokens[0] the file for reading; or a negative code with its text, and no
                          file is left */
    GW_EVENT_RESTORED, /* worker, answers RESTORE: `number` the file; code 0 and tokens[0]; or a
                          negative code: it is not what was written */
    GW_EVENT_SURVEYED, /* worker, answers SURVEY: where the ranks of attempt `number` stand; code 1:
                          looked at closely, their `stack`s are set */
    GW_EVENT_USAGE,    /* worker: `number` the bytes of the worker itself, and those of processes */
    GW_EVENT_GPUS,     /* worker: how its GPUs were doing, all of them, from time `number` on */
    GW_EVENT_LOOKED,   /* worker, answers LOOK: rank `rank` of attempt `number` can start here (code
                          0), or its folder or program is missing, as text says */
    GW_EVENT_CHECKPOINT_TRANSFERRED, /* worker, answers CHECKPOINT_TRANSFER: `number` lies here; or
                         a negative code with its text: GW_EEXIST, this worker sees the same folder;
                         GW_ELOST, who had it is gone; GW_ENOENT, it has it no more; else what was
                         wrong here
                       */
    GW_EVENT_SAVED,   /* worker, of a WATCH: the folder of attempt `number` has changed for the
                         `bytes`th time, and is still */
    GW_EVENT_ROOM,    /* scheduler: there is no room on disk for another detached job, as text says
                         (code negative), or there is again (code 0) */
    GW_EVENT_STOP,    /* scheduler: this process ends and another goes on with its work: EXIT */
    GW_EVENT_REFUSED, /* worker: connecting to the scheduler, begun at time `number`, was refused:
                         none is there */
    GW_EVENT_GONE,    /* scheduler: the worker `text` of this host runs no more, and nothing of
                         its */
    GW_EVENT_COUNTED, /* worker, answers COUNT: folder `number` has `bytes`, and `free_bytes` are
                         free on its disk */
    GW_EVENT_QUEUED,  /* worker: `bytes` wait to be read by the scheduler: when they come to more
                         than GW_NODE_SLOW_BYTES, and when no longer */
};

/* The worker's peers. SCHEDULER is opened before `welcome`, which comes as a message. RUNNER:
 * opened right after the driver carried out a `spawn` with runner 1, `number` its process; closed
 * when the runner's end of the socket is. PEER: `number` 0, or the worker that a CONNECT asked for;
 * where that fails, CLOSE with peer 0 and that `number`. */

/* How much memory a process of a worker has, descendants included. mpi: how it shows that it is an
 * MPI program that no MPI launcher started, borrowed during the step; NULL: it does not. */
struct gw_process_use {
    uint64_t process, bytes;
    const char *mpi;
};

/* How a GPU of a worker is doing. xids: NVIDIA's numbers of errors that it had since it was looked
 * at before. */
enum { GW_GPU_XIDS_MAX = 4 };
struct gw_gpu_sample {
    bool lost; /* it fell off the bus: nothing else is known */
    uint64_t used_bytes;
    uint32_t processes, power_mw, busy_percent;
    uint32_t xids[GW_GPU_XIDS_MAX], xid_count;
};

enum { GW_STAND_STACK_BYTES = 256 };

/* Where a rank of a gang stands. */
struct gw_stand {
    uint32_t rank;
    uint32_t place;        /* among its worker's ranks, which is its place in their segment */
    bool stopped;          /* its process is */
    uint64_t process;      /* of the worker */
    uint64_t begun;        /* collectives that it has called */
    uint64_t active;       /* of commands: grows with the CPU that they use, and what they write */
    const char *operation; /* the one that it is in; static; NULL: in none */
    char stack[GW_STAND_STACK_BYTES]; /* where its process is, a line for people; empty: nobody has
                                         looked closely */
};

struct gw_event {
    uint32_t type;    /* enum gw_event_type */
    uint64_t now_ns;  /* monotonic, never smaller than the last event's */
    uint64_t wall_ns; /* since 1970; only shown to people */
    gw_peer peer;
    uint64_t number;
    uint64_t bytes;
    uint64_t seed;
    uint32_t role; /* enum gw_role */
    uint32_t uid;
    const char *user;    /* OPEN of a client: what that user is called; NULL: nobody knows */
    uint32_t rank;       /* OPEN of a role task: of its attempt, which is `number` */
    const char *address; /* OPEN of a worker: the host it connected from; "": this one */
    bool admin; /* OPEN of a client: acts on the jobs of all users, and may end the cluster */
    int32_t code;
    const char *text; /* borrowed during the step */
    struct gw_bin hash;
    const struct gw_message *message; /* borrowed during the step */
    const uint64_t *tokens;
    uint32_t token_count;
    uint32_t checksum;                 /* SPILLED */
    const struct gw_process_use *uses; /* MEASURED; borrowed during the step */
    uint32_t use_count;
    const struct gw_gpu_sample *gpus; /* GPUS; borrowed during the step */
    uint32_t gpu_count;
    const struct gw_stand *stands; /* SURVEYED; borrowed during the step */
    uint32_t stand_count;
    const uint32_t *ports; /* LEASED; borrowed during the step */
    uint32_t port_count;
    uint64_t free_bytes; /* COUNTED */
};

enum gw_effect_type {
    GW_EFFECT_SEND = 1,   /* message to peer, with tokens (borrowed: the driver duplicates) */
    GW_EFFECT_CLOSE,      /* close a peer after what was sent to it */
    GW_EFFECT_DROP_TOKEN, /* close the descriptor behind tokens[0] */
    GW_EFFECT_COMMIT,     /* make a durable fact durable: `number`, bytes; answered by COMMITTED */
    GW_EFFECT_PROGRAM,    /* worker: make program `hash` startable; answered by EVENT_PROGRAM */
    GW_EFFECT_EXIT,       /* end this process, all is done */
    GW_EFFECT_CONNECT,    /* worker: open a link to worker `number` at address `bytes` */
    GW_EFFECT_LEASE,   /* worker: make a segment for the `count` ranks of attempt `number` that are
                          here, and where this worker leads the gang (`size` > 0: how many workers
                          it stands at) lease a port, and open a rendezvous where that is set;
                          doors: no segment, but a port for each rank that is here;
                          answered by LEASED */
    GW_EFFECT_UNLEASE, /* worker: the lease of attempt `number` is over */
    GW_EFFECT_ABORT,   /* worker: abort the collectives on segment tokens[0] */
    GW_EFFECT_LINK,    /* worker: open a connection to the scheduler for rank `count` of attempt
                          `number`, say hello on it, and send `message`, a task_linked, to `peer`
                          with its descriptor, or with the code and text of why there is none */
    GW_EFFECT_MEASURE, /* worker: how much output has what process `number` executes; answered by
                          MEASURED */
    GW_EFFECT_FOLDER,  /* worker: make a working folder with the files of manifest `bytes`, fetching
                          what is not here; answered by FOLDER with the same `number` */
    GW_EFFECT_UNFOLDER, /* worker: remove folder `number`, of which FOLDER has told */
    GW_EFFECT_SPILL,    /* worker: write the `size` bytes behind tokens[0] to file `number` */
    GW_EFFECT_RESTORE,  /* worker: open file `number`, and hold it against size and checksum */
    GW_EFFECT_UNLINK,   /* worker: remove file `number` */
    GW_EFFECT_SURVEY,   /* worker: where do `stands`, ranks of attempt `number` with the segment
                           tokens[0] (none: commands), stand? count 1: look closely, and leave
                           their stacks at the end of their stderr. Answered by SURVEYED */
    GW_EFFECT_UNBIND,   /* worker: the ranks of attempt `number` are about to start: let them bind
                           the leased ports, whose numbers are nobody else's until UNLEASE */
    GW_EFFECT_LOOK,     /* worker: are the folder and the program of `message`, a spawn, on this
                           host? Of rank `count` of attempt `number`; answered by LOOKED */
    GW_EFFECT_CHECKPOINT_TRANSFER, /* worker: fetch what `message`, a checkpoint_transfer, names
                        from that worker, and then from its `others`, at addresses `bytes`, each
                        with its zero byte; out of its copy where size is 1, and into the copies
                        here where count is 1, else into the task's folder. Answered by CARRIED with
                        the same `number` */
    GW_EFFECT_WATCH, /* worker: tell by SAVED of changes in the folder of checkpoints of
                        `message`, a checkpoint_transfer, for attempt `number`, until UNWATCH */
    GW_EFFECT_UNWATCH,
    GW_EFFECT_KEEP,    /* scheduler: the program or the files `bytes`, a hash, are wanted for as
                          long as what the next COMMIT says: have them on disk before it */
    GW_EFFECT_EMPTY,   /* worker: give back the memory of memfd tokens[0], whoever has it mapped */
    GW_EFFECT_COUNT,   /* worker: how much is in folder `number`, of which FOLDER has told? Answered
                          by COUNTED, unless UNFOLDER comes before that */
    GW_EFFECT_LOG,     /* scheduler: `bytes`, a line with its 0, for the log */
    GW_EFFECT_DAMAGED, /* scheduler: end this process, for the state lacks `number` commits;
                          `bytes`, with its 0, says how that is known */
};

/* Everything that an effect points to lies in the effects' arena, or in the core, and is valid
 * until the next step. */
struct gw_effect {
    uint32_t type; /* enum gw_effect_type */
    gw_peer peer;
    bool held; /* SEND, without tokens: may wait until this peer is sent something else, or sends
                  something else than specs and submits; its order stays */
    struct gw_message message;
    const uint64_t *tokens;
    uint32_t token_count;
    uint64_t number;
    uint32_t count;
    uint64_t size;       /* SPILL, RESTORE, LEASE */
    bool lazy;           /* SEND: nobody waits for it; it may leave with what follows */
    bool rendezvous;     /* LEASE */
    bool spans, doors;   /* LEASE: the gang stands at several workers; its ranks have doors */
    bool alone;          /* LOOK: no MPI program, as its ranks would not find each other */
    uint32_t checksum;   /* RESTORE */
    struct gw_bin bytes; /* COMMIT: the fact; PROGRAM, FOLDER: the hash; CONNECT: the address; SEND
                            of an `ended`: the file with its stderr, whose last lines the driver
                            puts into stderr_tail where that is empty; of a `spawn` with an attempt
                            in `number` (rank: count), whose processes may speak for that: the
                            address of the cluster as they find it */
    const struct gw_stand *stands; /* SURVEY */
    uint32_t stand_count;
};

struct gw_effects {
    GW_ARRAY(struct gw_effect) list;
    struct gw_arena arena;
};

#endif
