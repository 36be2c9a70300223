/* Numbers inside messages. They travel: never reuse or renumber one. */
#ifndef GW_WIRE_ENUMS_H
#define GW_WIRE_ENUMS_H

#include <stdint.h>

#define GW_RANK_NONE UINT32_MAX
#define GW_DEP_ALL UINT32_MAX
#define GW_DEP_AFTER (UINT32_MAX - 1)
#define GW_INDEX_ALL UINT32_MAX
#define GW_DEP_HERE UINT32_MAX /* as dep_worker */
#define GW_ACTOR_NEW UINT64_MAX

enum gw_role {
    GW_ROLE_CLIENT = 1,
    GW_ROLE_WORKER = 2,
    GW_ROLE_PEER = 3,
    GW_ROLE_RUNNER = 4,
    GW_ROLE_SCHEDULER = 5, /* these two never say hello: the worker's driver names them so */
    GW_ROLE_GUARDIAN = 6,
    GW_ROLE_TASK = 7, /* a client inside a task; its worker says hello for it */
};

enum gw_spec_kind { GW_SPEC_FUNCTION = 1, GW_SPEC_COMMAND = 2, GW_SPEC_VALUE = 3 };

/* A rank gets exactly spec.gpus GPUs, or as many as there are for it: none on a cluster without. */
enum gw_gpu_mode { GW_GPU_MODE_EXACT = 0, GW_GPU_MODE_IF_ANY = 1 };

enum gw_submit_flag {
    GW_SUBMIT_LAST = 1,
    GW_SUBMIT_DETACHED = 2,
    GW_SUBMIT_STREAM = 4, /* answered by opened; later graphs take what has a future only */
    GW_SUBMIT_PART = 8,   /* the last chunk of one graph of a stream */
    GW_SUBMIT_QUIET = 16, /* with LAST: `accepted` may be held back, see PROTOCOL.md */
};

enum gw_range_flag {
    GW_RANGE_RESULTS = 256, /* each task is a target */
    GW_RANGE_STOP = 512,    /* the first failure cancels the rest */
};

/* How an attempt (or a rank of it) ended otherwise than well, and what is charged for it. */
#define GW_OUTCOMES(X)                                                                             \
    X(GW_OUTCOME_FAILED, 1, "failed")             /* the user's own error: retries */              \
    X(GW_OUTCOME_CRASHED, 2, "crashed")           /* signal or exit in the runner: crash budget */ \
    X(GW_OUTCOME_OOM, 3, "out of memory")         /* likewise */                                   \
    X(GW_OUTCOME_TIMEOUT, 4, "over its limit")    /* time limit: final */                          \
    X(GW_OUTCOME_KILLED, 5, "killed")             /* because the scheduler said so: no charge */   \
    X(GW_OUTCOME_CANNOT_START, 6, "cannot start") /* final: no charge, no retry */                 \
    X(GW_OUTCOME_LOST_INPUT, 7, "input lost")     /* no charge: recompute, run again */            \
    X(GW_OUTCOME_LOST, 8, "lost with its worker") /* loss budget; said by the scheduler itself */  \
    X(GW_OUTCOME_GPU, 9, "lost its GPU")          /* no charge: run again elsewhere */             \
    X(GW_OUTCOME_PREEMPTED, 10, "preempted")      /* preemption budget; said as LOST is */         \
    X(GW_OUTCOME_PORT, 11, "found its port taken") /* no charge, thrice: another port; likewise */ \
    X(GW_OUTCOME_FILES, 12, "got no files there")  /* no charge: run again elsewhere, if anywhere  \
                                                    */                                             \
    X(GW_OUTCOME_FULL, 13, "no memory there")      /* likewise */                                  \
    X(GW_OUTCOME_UNREACHED, 14, "could not reach another rank") /* some times no charge */

#define GW_OUTCOME_ENUM(name, number, text) name = number,
enum gw_outcome { GW_OUTCOMES(GW_OUTCOME_ENUM) };
#undef GW_OUTCOME_ENUM

/* What a task says of itself (task_blocked). */
enum gw_blocked {
    GW_BLOCKED_NOT = 0,   /* it goes on */
    GW_BLOCKED_WAITS = 1, /* it waits for others, and gives its slots back */
    GW_BLOCKED_LONG = 2,  /* it takes longer than a moment, and keeps its slots */
};

/* How a client cancels. */
enum gw_cancel_hard {
    GW_CANCEL_GENTLY = 0,
    GW_CANCEL_HARD = 1,    /* killed at once */
    GW_CANCEL_GIVE_UP = 2, /* all of a job: but what others hold or need, as when it closes */
};

enum gw_kill_reason {
    GW_KILL_CANCEL = 1,    /* by the user */
    GW_KILL_GANG = 2,      /* another rank ended */
    GW_KILL_SESSION = 3,   /* the client went away */
    GW_KILL_SHUTDOWN = 4,  /* the cluster goes down */
    GW_KILL_STALE = 5,     /* an attempt that the scheduler does not know */
    GW_KILL_TAKE_BACK = 6, /* only if no process was given it yet: it can run sooner elsewhere */
    GW_KILL_RELEASE = 7,   /* an actor that nobody holds: it lets go of its state first */
    GW_KILL_PREEMPT = 8,   /* a gang that is to go on later: its ranks may save what they have */
};

/* What a worker says of an attempt that another life of the scheduler placed there. */
enum gw_attempt_claim {
    GW_CLAIM_WAITS = 0, /* a process has it, behind others; a rank: it was not told to go */
    GW_CLAIM_RUNS = 1,  /* a rank: it was told to go */
    GW_CLAIM_ENDED = 2, /* nobody surely heard how: finished or ended follows */
    GW_CLAIM_UNFIT = 3, /* it runs, but lost what it had from that scheduler */
};

/* What a part of a folder that is carried is. Links come last, and lead nowhere before that. */
enum gw_transfer_kind {
    GW_TRANSFER_FOLDER = 1,
    GW_TRANSFER_FILE = 2, /* begins one */
    GW_TRANSFER_MORE = 3, /* of the file that was begun last */
    GW_TRANSFER_LINK = 4,
    GW_TRANSFER_END = 5, /* of all */
};

/* What becomes of a folder of checkpoints that comes for a gang. */
enum gw_transfer_how {
    GW_TRANSFER_INSERT = 0, /* functions: their file is put into it */
    GW_TRANSFER_JOIN = 1,   /* rank 0's: of what the ranks of all hosts have written, one is made */
    GW_TRANSFER_MIRROR = 2, /* of other ranks: it becomes what rank 0's is */
};

/* How many parts may be on their way, and the bytes of each. */
enum { GW_TRANSFER_WINDOW = 8, GW_TRANSFER_PART_BYTES = 512 << 10 };

enum { GW_RETRIES_MAX = 255 };    /* further attempts after errors of its own */
enum { GW_NAME_BYTES_MAX = 255 }; /* of a job or a task */
enum { GW_SIGNAL_MAX = 64 };      /* the largest number of a signal */

/* What a user asks of a job's gangs, or (pause, resume) of the job. */
enum gw_gang_verb {
    GW_ASK_RESTART = 1, /* ended gently, charged as a preemption, and placed again */
    GW_ASK_PAUSE = 2, /* nothing of the job starts; functions return at a step, others are ended */
    GW_ASK_PAUSE_NOW = 3, /* the same, and functions are ended gently, too */
    GW_ASK_RESUME = 4,    /* the job may start again */
    GW_ASK_STOP = 5, /* functions return at a step, commands get their signal: the result counts */
};

/* What tasks and clients coordinate by. A lock is a semaphore of one lease that comes and goes with
 * its use. */
enum gw_sync_kind {
    GW_SYNC_SEMAPHORE = 1,
    GW_SYNC_LOCK = 2,
    GW_SYNC_EVENT = 3,
    GW_SYNC_VARIABLE = 4,
    GW_SYNC_QUEUE = 5,
};

#define GW_SYNC_VALUE_BYTES (768u << 10) /* of one value, at most */

enum gw_sync_verb {
    GW_SYNC_OPEN = 1,    /* semaphore (number: leases), queue (number: bound) */
    GW_SYNC_ACQUIRE = 2, /* semaphore, lock */
    GW_SYNC_RELEASE = 3, /* semaphore, lock */
    GW_SYNC_SET = 4,     /* event, variable */
    GW_SYNC_CLEAR = 5,   /* event */
    GW_SYNC_WAIT = 6,    /* event; variable, for another version than number */
    GW_SYNC_REPLACE = 7, /* variable, if its version is number */
    GW_SYNC_PUT = 8,     /* queue */
    GW_SYNC_GET = 9,     /* queue, up to number values */
    GW_SYNC_CLOSE = 10,  /* queue */
    GW_SYNC_DELETE = 11, /* all */
};

/* What a worker's memory lets the scheduler place there. */
/* The name of the shell that runs a command's prolog and then becomes the command: a word of its
 * argv, by which it is known that there is one. At most 31 bytes. */
#define GW_PROLOG_NAME "gangway: the prolog"

/* What stands at the worker's end of a tunnel. */
enum gw_tunnel_kind {
    GW_TUNNEL_PROCESS = 1, /* argv, in the rank's environment and folder, by its supervisor */
    GW_TUNNEL_PORT = 2,    /* a connection to a TCP port of the rank's host, loopback */
    GW_TUNNEL_INPUT = 3,   /* the standard input of the rank, of a spec with GW_STREAM_INPUT */
};

/* Of the streams of a command, and (shown) of a function; bits of spec.streams. */
enum gw_spec_stream {
    GW_STREAM_HELD = 1,  /* its output waits for who reads it with log_read.holds */
    GW_STREAM_INPUT = 2, /* its standard input (of a gang rank 0's) is what a tunnel brings */
    GW_STREAM_SHOWN = 4, /* what it prints is told its client */
};

/* How far the output of what is held may be ahead of its reader. */
enum { GW_HELD_BYTES = 16 << 20 };

/* In which folder the process of a tunnel is. */
enum gw_tunnel_left {
    GW_LEFT_NO = 0,         /* the rank's; the task runs */
    GW_LEFT_FOLDER = 1,     /* the same, also after its end */
    GW_LEFT_CHECKPOINT = 2, /* of its checkpoints, always; without argv only whether it has any:
                               GW_EEXIST or GW_ENOENT; of a gang's rank other than 0 GW_EEXIST where
                               its worker is that of a rank before it */
};

/* Of one message of leftovers; it fits a frame. */
enum { GW_LEFTOVERS_MAX = 1 << 16 };

enum { GW_TUNNEL_DATA_BYTES = 32 << 10, GW_TUNNEL_WINDOW_BYTES = 256 << 10 };

enum gw_memory_state {
    GW_MEMORY_OPEN = 0,
    GW_MEMORY_PAUSED = 1, /* nothing: it is above its line, and something will bring it down */
    GW_MEMORY_ONE = 2,    /* one task more: nothing brings it down */
};

#endif
