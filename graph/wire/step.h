/* Events and effects: the interface of the two pure cores (scheduler/core, worker/core).
 *
 * A core is a function of its events. The time, ids, random seeds and messages are part of the
 * events. The core returns effects, which the driver executes in order. The driver is net/ (with
 * libuv) or the simulator. The core refers to descriptors by tokens, which are numbers that the
 * driver assigned. */
#ifndef GW_WIRE_STEP_H
#define GW_WIRE_STEP_H

#include "graph/base/arena.h"
#include "graph/base/array.h"
#include "graph/wire/message.h"

/* A connection, numbered by the driver. A number is never reused in one run of the core. */
typedef struct gw_peer {
    uint64_t id;
} gw_peer;

enum gw_event_type {
    GW_EVENT_START =
        1, /* the first event: `number` is the term (scheduler) or the incarnation (worker); seed;
              for the scheduler the seed differs in each term, and `bytes` is as in COMMITTED */
    GW_EVENT_OPEN,      /* a peer has sent hello and was accepted: role, uid, name */
    GW_EVENT_CLOSE,     /* a peer has disconnected; text says why */
    GW_EVENT_MESSAGE,   /* a message, decoded and validated; the core owns its tokens */
    GW_EVENT_TICK,      /* the deadline that the core requested has passed */
    GW_EVENT_COMMITTED, /* facts up to `number` are on disk, with `bytes` commits since the state
                           was created; 0: there is no state */
    GW_EVENT_PROGRAM,   /* worker: program `hash` can be started (code 0; text: its path), or never
                           can */
    GW_EVENT_LEASED,    /* worker, answers LEASE: `number` is the attempt. Success: code is the
                           port, text its address, tokens[0] the segment. Failure: a negative code
                           and text. On the worker that leads a gang on several workers: tokens[1]
                           is a socket that listens at port `rank`. bytes: the port of the
                           rendezvous, if requested. ports: one for each rank here, if requested */
    GW_EVENT_SHUTDOWN,  /* worker: end all tasks, then EXIT */
    GW_EVENT_LEAVE,     /* worker: end all tasks, and EXIT after others have copied its checkpoints;
                           text: who requested this. If repeated: EXIT without waiting for the
                           copies */
    GW_EVENT_MEASURED,  /* worker, answers MEASURE: process `number` has written `bytes` bytes */
    GW_EVENT_FOLDER, /* worker, answers FOLDER: folder `number` is at text (code 0), or why it could
                        not be created */
    GW_EVENT_SPILLED, /* worker, answers SPILL: `number` is the file. Success: code 0, the checksum,
                         and tokens[0] to read the file. Failure: a negative code and text, and no
                         file is left */
    GW_EVENT_RESTORED, /* worker, answers RESTORE: `number` is the file. Code 0 and tokens[0], or a
                          negative code: the file is not what was written */
    GW_EVENT_SURVEYED, /* worker, answers SURVEY: progress of the ranks of attempt `number`; code 1:
                          with their `stack`s */
    GW_EVENT_USAGE,    /* worker: `number` bytes are used by the worker itself, and uses by its
                          processes */
    GW_EVENT_GPUS,     /* worker: the state of all its GPUs, measured from time `number` on */
    GW_EVENT_LOOKED,   /* worker, answers LOOK: rank `rank` of attempt `number` can start here (code
                          0), or text says which folder or program is missing */
    GW_EVENT_CHECKPOINT_TRANSFERRED, /* worker, answers CHECKPOINT_TRANSFER: `number` has arrived;
                                        or a negative code with its text: GW_EEXIST: this worker
                                        sees the same folder; GW_ELOST: the other worker is gone;
                                        GW_ENOENT: it does not have the checkpoint any more; other
                                        codes: an error on this worker */
    GW_EVENT_SAVED,   /* worker, answers WATCH: the folder of attempt `number` has changed for the
                         `bytes`th time and is not being changed now */
    GW_EVENT_ROOM,    /* scheduler: the disk has no space for another detached job, as text says
                         (negative code), or has space again (code 0) */
    GW_EVENT_STOP,    /* scheduler: this process ends and another continues its work: EXIT */
    GW_EVENT_REFUSED, /* worker: connecting to the scheduler, started at time `number`, was refused:
                         there is no scheduler */
    GW_EVENT_GONE, /* scheduler: the worker `text` on this host and all its processes have ended */
    GW_EVENT_COUNTED,  /* worker, answers COUNT: folder `number` has `bytes` bytes, and `free_bytes`
                          are free on its disk */
    GW_EVENT_REPORTED, /* worker: a process of command `number` has reported a step; `message` is a
                          metric without attempt and rank; its name is "" if there is none */
    GW_EVENT_QUEUED,   /* worker: `bytes` are queued to the scheduler. Sent when this rises above
                          GW_NODE_SLOW_BYTES and when it falls below */
    GW_EVENT_HEALTH,   /* worker: the health check `number` (enum gw_health_check) has run; text
                          says why it fails; "": it passes. code, of a clock that fails: seconds by
                          which it is ahead of the scheduler's (negative: behind) */
};

/* The worker's peers. SCHEDULER: opened before `welcome`, which arrives as a message. RUNNER:
 * opened right after the driver has executed a `spawn` with runner 1; `number` is its process. It
 * is closed when the runner closes its end of the socket. PEER: `number` is 0, or the worker of a
 * CONNECT. If that CONNECT fails, CLOSE has peer 0 and this `number`. */

/* How much memory a process of a worker uses, including its descendants. mpi: evidence that it is
 * an MPI program without an MPI launcher, borrowed during the step; NULL: none. */
struct gw_process_use {
    uint64_t process, bytes, cpu_ns;
    const char *mpi;
};

/* The state of a GPU of a worker. xids: NVIDIA's numbers of the errors since the last sample. */
enum { GW_GPU_XIDS_MAX = 4 };
struct gw_gpu_sample {
    bool lost; /* the GPU failed: the other fields are unknown */
    uint64_t used_bytes;
    uint32_t processes, power_mw, busy_percent; /* busy_percent UINT32_MAX: unknown */
    uint32_t xids[GW_GPU_XIDS_MAX], xid_count;
};

enum { GW_STAND_STACK_BYTES = 256 };

/* The progress of a rank of a gang. */
struct gw_stand {
    uint32_t rank;
    uint32_t
        place;    /* its index among the ranks of its worker, which is its rank in their segment */
    bool stopped; /* its process is stopped by a signal */
    uint64_t process;      /* its process number on the worker */
    uint64_t begun;        /* number of collectives that it has begun */
    uint64_t active;       /* progress of commands: grows with their CPU time and output */
    const char *operation; /* the collective that it is in; static; NULL: none */
    char stack[GW_STAND_STACK_BYTES]; /* what its process is doing, one line for people; empty: not
                                         examined */
};

struct gw_event {
    uint32_t type;    /* enum gw_event_type */
    uint64_t now_ns;  /* monotonic, never less than in the event before */
    uint64_t wall_ns; /* since 1970; used only to show it to people */
    gw_peer peer;
    uint64_t number;
    uint64_t bytes;
    uint64_t seed;
    uint32_t role; /* enum gw_role */
    uint32_t uid;
    uint32_t owner;   /* OPEN of a worker: uid of the user as whom its tasks run */
    const char *user; /* OPEN of a client: name of its user; NULL: unknown. PROGRAM: folder of the
                         separate user for whom it was wanted; NULL or "": none */
    uint32_t rank;    /* OPEN of role task: its rank in attempt `number` */
    const char *address; /* OPEN of a worker: the host that it connected from; "": this host */
    bool admin; /* OPEN of a client: may act on the jobs of all users and shut down the cluster */
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
    GW_EFFECT_SEND =
        1, /* send message to peer, with tokens (borrowed: the driver duplicates the descriptors) */
    GW_EFFECT_CLOSE,      /* close a peer after all messages to it were sent */
    GW_EFFECT_DROP_TOKEN, /* close the descriptor of tokens[0] */
    GW_EFFECT_COMMIT,     /* write fact `number` with its bytes to disk; answered by COMMITTED */
    GW_EFFECT_PROGRAM,    /* worker: make the program with the hash in `bytes` startable, for the
                             separate user whose folder follows it; answered by EVENT_PROGRAM */
    GW_EFFECT_EXIT,       /* end this process: all work is finished */
    GW_EFFECT_CONNECT,    /* worker: open a link to worker `number` at address `bytes` */
    GW_EFFECT_LEASE,   /* worker: make a segment for the `count` ranks of attempt `number` on this
                          worker. If this worker leads the gang (`size` > 0: the number of its
                          workers), also lease a port, and open a rendezvous if that is set. doors:
                          no segment, but a port for each rank here. Answered by LEASED */
    GW_EFFECT_UNLEASE, /* worker: end the lease of attempt `number` */
    GW_EFFECT_ABORT,   /* worker: abort the collectives on segment tokens[0] */
    GW_EFFECT_LINK,    /* worker: open a connection to the scheduler for rank `count` of attempt
                          `number` and send hello on it. Then send `message`, a task_linked, to
                          `peer` with the descriptor of the connection, or with a code and text if
                          it failed */
    GW_EFFECT_MEASURE, /* worker: how much output process `number` has written; answered by MEASURED
                        */
    GW_EFFECT_FOLDER, /* worker: make a working folder with the files of manifest `bytes`, and fetch
                         missing files; answered by FOLDER with the same `number` */
    GW_EFFECT_UNFOLDER, /* worker: remove folder `number`, which an event FOLDER has reported */
    GW_EFFECT_SPILL,    /* worker: write the `size` bytes of tokens[0] to file `number` */
    GW_EFFECT_RESTORE,  /* worker: open file `number` and check its size and checksum */
    GW_EFFECT_UNLINK,   /* worker: remove file `number` */
    GW_EFFECT_SURVEY, /* worker: report the progress of `stands`, ranks of attempt `number` with the
                         segment tokens[0] (none: commands). count 1: also examine their stacks, and
                         write these to the end of their stderr. Answered by SURVEYED */
    GW_EFFECT_UNBIND, /* worker: the ranks of attempt `number` are about to start: release the
                         leased ports so that the ranks can bind them. Until UNLEASE nobody else
                         gets these ports */
    GW_EFFECT_LOOK, /* worker: check that the folder and the program of `message`, a spawn, exist on
                       this host. For rank `count` of attempt `number`; answered by LOOKED */
    GW_EFFECT_CHECKPOINT_TRANSFER, /* worker: fetch the checkpoints that `message`, a
                                      checkpoint_transfer, names. Fetch from its worker and then
                                      from its `others`, at addresses `bytes`, each with its NUL.
                                      size 1: from that worker's copy. count 1: into the copies
                                      here, else into the task's folder. Answered by
                                      CHECKPOINT_TRANSFERRED with the same `number` */
    GW_EFFECT_WATCH, /* worker: report changes in the folder of checkpoints of `message`, a
                        checkpoint_transfer, for attempt `number`, by SAVED, until UNWATCH. Its
                        `user` is the folder of a separate user; "": none */
    GW_EFFECT_UNWATCH,
    GW_EFFECT_STORE_CONTENT, /* scheduler: the program or the files with hash `bytes` are needed as
                       long as the fact of the next COMMIT: have them on disk before it */
    GW_EFFECT_EMPTY,         /* worker: free the memory of memfd tokens[0], even if it is mapped */
    GW_EFFECT_COUNT,   /* worker: measure the size of folder `number`, which an event FOLDER has
                          reported. Answered by COUNTED, unless UNFOLDER comes first */
    GW_EFFECT_LOG,     /* scheduler: write `bytes`, a line with its NUL, to the log; number 1: as an
                          error */
    GW_EFFECT_ACCOUNT, /* scheduler: store `bytes`, a struct gw_accounting_row, in the accounting */
    GW_EFFECT_ASK_ACCOUNTING, /* scheduler: answer the query `number` of client `peer` with
                                 arguments `bytes` from the accounting, when it has been read */
    GW_EFFECT_RELOAD, /* scheduler: read the configuration file again, and answer the query `number`
                         of client `peer` */
    GW_EFFECT_DAMAGED, /* scheduler: end this process, because `number` commits are missing in the
                          state; `bytes`, with its NUL, says how this was found */
};

/* Everything that an effect points to is in the arena of the effects or in the core. It is valid
 * until the next step. */
struct gw_effect {
    uint32_t type; /* enum gw_effect_type */
    gw_peer peer;
    bool held; /* SEND, without tokens: may be delayed until another message is sent to this peer,
                  or until this peer sends a message other than a spec or a submit; messages stay in
                  order */
    struct gw_message message;
    const uint64_t *tokens;
    uint32_t token_count;
    uint64_t number;
    uint32_t count;
    uint64_t size;     /* SPILL, RESTORE, LEASE */
    bool lazy;         /* SEND: not urgent; may be sent together with the next message. COMMIT: only
                          reports of metrics; may be committed together with the next fact */
    bool rendezvous;   /* LEASE */
    bool spans, doors; /* LEASE: the gang has several workers; its ranks have doors */
    bool alone; /* LOOK: check that it is no MPI program, because its ranks would not find each
                   other */
    uint32_t checksum;   /* RESTORE */
    struct gw_bin bytes; /* COMMIT: the fact. PROGRAM, FOLDER: the hash. CONNECT: the address. SEND
                            of an `ended`: the file with its stderr; the driver puts its last lines
                            into stderr_tail if that is empty. SEND of a `spawn` with an attempt in
                            `number` (rank: count), whose processes may act for that attempt: the
                            address of the cluster as the processes see it */
    const char *metrics; /* SEND of a `spawn`: metrics to read in its output; NULL: none */
    const struct gw_stand *stands; /* SURVEY */
    uint32_t stand_count;
};

struct gw_effects {
    GW_ARRAY(struct gw_effect) list;
    struct gw_arena arena;
};

#endif
