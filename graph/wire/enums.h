/* Numbers inside messages. They are sent between processes: never reuse or renumber one. */
#ifndef GW_WIRE_ENUMS_H
#define GW_WIRE_ENUMS_H

#include <stdint.h>

#define GW_RANK_NONE UINT32_MAX
#define GW_DEP_ALL UINT32_MAX
#define GW_DEP_AFTER (UINT32_MAX - 1)
#define GW_INDEX_ALL UINT32_MAX
#define GW_DEP_HERE UINT32_MAX /* value of dep_worker; see assign */
#define GW_ACTOR_NEW UINT64_MAX

enum gw_role {
    GW_ROLE_CLIENT = 1,
    GW_ROLE_WORKER = 2,
    GW_ROLE_PEER = 3,
    GW_ROLE_RUNNER = 4,
    GW_ROLE_SCHEDULER = 5, /* these two send no hello: the worker's driver sets the role */
    GW_ROLE_SUPERVISOR = 6,
    GW_ROLE_TASK = 7, /* a client inside a task; its worker sends hello for it */
};

enum gw_spec_kind { GW_SPEC_FUNCTION = 1, GW_SPEC_COMMAND = 2, GW_SPEC_VALUE = 3 };

/* EXACT: a rank gets exactly spec.gpus GPUs. IF_ANY: it gets one GPU if the cluster has GPUs, and
 * otherwise none. */
enum gw_gpu_mode { GW_GPU_MODE_EXACT = 0, GW_GPU_MODE_IF_ANY = 1 };

enum gw_submit_flag {
    GW_SUBMIT_LAST = 1,
    GW_SUBMIT_DETACHED = 2,
    GW_SUBMIT_STREAM = 4, /* the answer is opened; later graphs use only results with a future */
    GW_SUBMIT_PART = 8,   /* the last chunk of one graph of a stream */
    GW_SUBMIT_QUIET = 16, /* with LAST: `accepted` may be delayed, see PROTOCOL.md */
};

enum gw_range_flag {
    GW_RANGE_RESULTS = 256, /* each task is a target */
    GW_RANGE_STOP = 512,    /* the first failure cancels the other tasks */
};

/* How an attempt (or a rank of it) ended without success, and the budget that it counts against. */
#define GW_OUTCOMES(X)                                                                             \
    X(GW_OUTCOME_FAILED, 1, "failed")             /* an error of the task: retries */              \
    X(GW_OUTCOME_CRASHED, 2, "crashed")           /* signal or exit in the runner: crash budget */ \
    X(GW_OUTCOME_OOM, 3, "out of memory")         /* crash budget */                               \
    X(GW_OUTCOME_TIMEOUT, 4, "over its limit")    /* time limit: no further attempt */             \
    X(GW_OUTCOME_KILLED, 5, "killed")             /* by order of the scheduler: no budget */       \
    X(GW_OUTCOME_CANNOT_START, 6, "cannot start") /* no budget, no further attempt */              \
    X(GW_OUTCOME_LOST_INPUT, 7, "input lost")     /* no budget: recompute, run again */            \
    X(GW_OUTCOME_LOST, 8, "lost with its worker") /* loss budget; decided by the scheduler */      \
    X(GW_OUTCOME_GPU, 9, "lost its GPU")          /* no budget: run again elsewhere */             \
    X(GW_OUTCOME_PREEMPTED, 10, "preempted") /* preemption budget; decided by the scheduler */     \
    X(GW_OUTCOME_PORT, 11, "found its port taken") /* no budget three times: use another port */   \
    X(GW_OUTCOME_FILES, 12, "got no files there")  /* no charge: run again elsewhere, if anywhere  \
                                                    */                                             \
    X(GW_OUTCOME_FULL, 13, "no memory there")      /* no budget three times: run elsewhere */      \
    X(GW_OUTCOME_UNREACHED, 14, "could not reach another rank") /* no budget a few times */

#define GW_OUTCOME_ENUM(name, number, text) name = number,
enum gw_outcome { GW_OUTCOMES(GW_OUTCOME_ENUM) };
#undef GW_OUTCOME_ENUM

/* What a task reports about itself (task_blocked). */
enum gw_blocked {
    GW_BLOCKED_NOT = 0,   /* the task continues */
    GW_BLOCKED_WAITS = 1, /* the task waits for others, and its slots may be used */
    GW_BLOCKED_LONG = 2,  /* the task runs for long, and keeps its slots */
};

/* How a client cancels. */
enum gw_cancel_hard {
    GW_CANCEL_GENTLY = 0,
    GW_CANCEL_HARD = 1,    /* kill immediately */
    GW_CANCEL_GIVE_UP = 2, /* cancel the whole job, except tasks that other clients hold or need (as
                              when a job is closed) */
};

enum gw_kill_reason {
    GW_KILL_CANCEL = 1,   /* cancelled by the user */
    GW_KILL_GANG = 2,     /* another rank ended */
    GW_KILL_SESSION = 3,  /* the client disconnected */
    GW_KILL_SHUTDOWN = 4, /* the cluster shuts down */
    GW_KILL_STALE = 5,    /* an attempt that the scheduler does not know */
    GW_KILL_TAKE_BACK =
        6,               /* only if no process has started it: another worker can run it earlier */
    GW_KILL_RELEASE = 7, /* an actor without handles: it first releases its state */
    GW_KILL_PREEMPT = 8, /* a gang that will continue later: its ranks may save their state */
};

/* Metrics that are read from the output of a command, and the longest name of a metric with its
 * NUL. */
enum { GW_METRICS_READ_MAX = 8, GW_METRIC_NAME_BYTES = 128 };

/* Commands of `control`, and answers to reports. */
enum gw_control { GW_CONTROL_CONTINUE, GW_CONTROL_PAUSE, GW_CONTROL_STOP };

/* The state of an attempt that the scheduler placed in an earlier term, as its worker reports it.
 */
enum gw_attempt_claim {
    GW_CLAIM_WAITS = 0, /* assigned to a process behind others; a rank: waits for gang_start */
    GW_CLAIM_RUNS = 1,  /* a rank: it has received gang_start */
    GW_CLAIM_ENDED = 2, /* the scheduler may not know how: finished or ended follows */
    GW_CLAIM_UNFIT = 3, /* the attempt runs, but has lost what that scheduler had sent */
};

/* The parts of a folder in a checkpoint transfer. Links come last, so that no file is written
 * through a link. */
enum gw_transfer_kind {
    GW_TRANSFER_FOLDER = 1,
    GW_TRANSFER_FILE = 2, /* starts a file */
    GW_TRANSFER_MORE = 3, /* continues the last file */
    GW_TRANSFER_LINK = 4,
    GW_TRANSFER_END = 5, /* the end of the transfer */
};

/* How a worker uses the files of a transferred checkpoint folder. */
enum gw_transfer_how {
    GW_TRANSFER_INSERT = 0, /* functions: put their file into the folder */
    GW_TRANSFER_JOIN = 1,   /* rank 0: merge what the ranks of all hosts have written */
    GW_TRANSFER_MIRROR = 2, /* other ranks: make their folder equal to that of rank 0 */
};

/* How many parts may be sent without an acknowledgement, and the size of a part. */
enum { GW_TRANSFER_WINDOW = 8, GW_TRANSFER_PART_BYTES = 512 << 10 };

enum { GW_RETRIES_MAX = 255 };    /* further attempts after errors of the task */
enum { GW_NAME_BYTES_MAX = 255 }; /* maximum length of the name of a job or a task */
enum { GW_SIGNAL_MAX = 64 };      /* the largest number of a signal */

/* What a user requests for the gangs of a job, or (pause, resume) for the job. */
enum gw_gang_verb {
    GW_ASK_RESTART = 1,   /* end gracefully, count as a preemption, and place again */
    GW_ASK_PAUSE = 2,     /* start nothing of the job; functions return at a step; else end */
    GW_ASK_PAUSE_NOW = 3, /* the same, but functions are also ended gracefully */
    GW_ASK_RESUME = 4,    /* the job may start again */
    GW_ASK_REMOVE = 6,    /* forget the job, which has ended, and remove its output */
    GW_ASK_PREEMPT = 7,   /* only by the scheduler itself, and only for gangs: as PAUSE */
    GW_ASK_STOP = 5, /* functions return at a step, commands get their signal; the result is used */
};

/* Objects by which tasks and clients coordinate. A lock is a semaphore with one lease that exists
 * only while it is used. */
enum gw_sync_kind {
    GW_SYNC_SEMAPHORE = 1,
    GW_SYNC_LOCK = 2,
    GW_SYNC_EVENT = 3,
    GW_SYNC_VARIABLE = 4,
    GW_SYNC_QUEUE = 5,
};

#define GW_SYNC_VALUE_BYTES (768u << 10) /* maximum size of a value */

enum gw_sync_verb {
    GW_SYNC_OPEN = 1,    /* semaphore (number: leases), queue (number: bound) */
    GW_SYNC_ACQUIRE = 2, /* semaphore, lock */
    GW_SYNC_RELEASE = 3, /* semaphore, lock */
    GW_SYNC_SET = 4,     /* event, variable */
    GW_SYNC_CLEAR = 5,   /* event */
    GW_SYNC_WAIT = 6,    /* event; variable: wait until its version is not number */
    GW_SYNC_REPLACE = 7, /* variable, if its version is number */
    GW_SYNC_PUT = 8,     /* queue */
    GW_SYNC_GET = 9,     /* queue: up to number values */
    GW_SYNC_CLOSE = 10,  /* queue */
    GW_SYNC_DELETE = 11, /* all kinds */
};

/* What the scheduler may place on a worker, given the worker's memory. */
/* The name of the shell that runs a command's prolog and then executes the command. This name in
 * argv marks a command with a prolog. At most 31 bytes. */
#define GW_PROLOG_NAME "gangway: the prolog"

/* The worker's end of a tunnel. */
enum gw_tunnel_kind {
    GW_TUNNEL_PROCESS = 1, /* a process with argv, in the environment and folder of the rank */
    GW_TUNNEL_PORT = 2,  /* a connection to a TCP port on the loopback address of the rank's host */
    GW_TUNNEL_INPUT = 3, /* the standard input of the rank, if its spec has GW_STREAM_INPUT */
};

/* The streams of a command, and (SHOWN) of a function. Bits of spec.streams. */
enum gw_spec_stream {
    GW_STREAM_HELD = 1,  /* the task waits until its output is read with log_read.holds */
    GW_STREAM_INPUT = 2, /* standard input (of a gang: of rank 0) comes from a tunnel */
    GW_STREAM_SHOWN = 4, /* its output is sent to its client */
};

/* How far the output of a held task may be ahead of its reader. */
enum { GW_HELD_BYTES = 16 << 20 };

/* The working folder of the process of a tunnel. */
enum gw_tunnel_left {
    GW_LEFT_NO = 0,         /* the rank's folder; the task must be running */
    GW_LEFT_FOLDER = 1,     /* the rank's folder, also after the task has ended */
    GW_LEFT_CHECKPOINT = 2, /* the folder of its checkpoints, always. Without argv: GW_EEXIST if
                               there are any, else GW_ENOENT. For a rank other than 0: GW_EEXIST if
                               an earlier rank is on the same worker */
};

/* maximum number of jobs in one orphaned files message, so that it fits into a frame */
enum { GW_ORPHANED_FILES_MAX = 1 << 16 };

enum { GW_TUNNEL_DATA_BYTES = 32 << 10, GW_TUNNEL_WINDOW_BYTES = 256 << 10 };

enum gw_memory_state {
    GW_MEMORY_OPEN = 0,
    GW_MEMORY_PAUSED = 1, /* place nothing: memory is above the threshold and will decrease */
    GW_MEMORY_ONE = 2,    /* place one task at a time: memory will not decrease by itself */
};

#endif
