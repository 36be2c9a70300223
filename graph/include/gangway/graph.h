/* Task graphs: nodes are calls of functions or commands, edges the results that they take.
 *
 * A graph is built by one thread. Errors stick: the first one is kept, later calls do nothing, and
 * gw_graph_check or submitting reports it. Nodes refer only to nodes made before, but for
 * gw_graph_after, whose cycles are found at the check. */
#ifndef GANGWAY_GRAPH_H
#define GANGWAY_GRAPH_H

#include <gangway/cxx.h>
#include <gangway/value.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_graph;
struct gw_task;

/* A function that can be a task. GW_TASK (task.h) makes one. Its process has the environment that
 * the program which submits it has then, as getenv sees it, less what names devices and ranks (as a
 * command's, see gw_command), and that program's working directory, by its path at the worker; with
 * `files` a folder of its own. */
struct gw_function {
    const char *name;
    int (*run)(struct gw_task *task);
};

/* gpus_per_rank: as many GPUs as there are for this rank, none on a cluster without. */
enum { GW_GPU_IF_ANY = -1 };

/* How a node runs. Zero is the default everywhere. Times in nanoseconds. */
struct gw_task_options {
    const char *name;       /* shown, and unique in the graph; copied; a line of UTF-8 of
                             * at most 255 bytes */
    uint32_t ranks;         /* of a gang (GW_GANG); 0: an ordinary task */
    int32_t gpus_per_rank;  /* or gpus of an ordinary task; or GW_GPU_IF_ANY; see below */
    uint32_t slots;         /* per rank; 0: 1 */
    uint64_t memory_bytes;  /* per rank; held free for it at its worker, and killed above it */
    int32_t priority;       /* higher first; above 0, of several users' clusters: an admin's only */
    uint32_t retries;       /* further attempts after an error of its own, 255 at most; of a gang:
                               restarts. A function that dies by a signal runs up to three
                               times whatever this says, as one before it may have broken that
                               process; not a gang, an actor, or a call of one */
    uint64_t wall_ns;       /* killed when an attempt runs longer; UINT64_MAX: never, as 0 */
    uint64_t grace_ns;      /* from SIGTERM to SIGKILL at cancel and limits; 0: 10 s; UINT64_MAX:
                               no SIGKILL */
    uint64_t fail_grace_ns; /* the same when another rank failed; 0: 200 ms */
    uint64_t output_bytes_max; /* of each output file; 0: 64 MiB */
    uint64_t gpu_memory_bytes; /* per rank: on each of its GPUs; of a share: of that share */
    uint64_t progress_ns;      /* killed (GW_ETIMEDOUT) when it is silent for longer: no
                                  gw_task_step, no gw_task_progress, no output; looked at four
                                  times within it; output at its cap cannot be heard: then never */
    uint64_t backoff_ns;       /* before the second attempt; doubled before each further one, up to
                                  5 minutes; 0: at once */
    const char *resources;     /* of its own kind, per rank: "license=1,tape=2"; a worker says what
                                  it offers; copied */
    const char *workers;       /* names of workers or hosts, "a,b": runs on one of these; copied;
                                  waits for one that is gone; a name that no worker ever had is
                                  refused (GW_ENOENT) where there are workers. Of a gang also
                                  "a:2,b:3": so many of its ranks on each, in this order (0 and 1
                                  on a); `ranks` is their sum, and ranks_per_node, spread,
                                  min_ranks and workers_prefer are not set */
    const char *annotations;   /* "key=value,...", shown to people; copied */
    const char *const *files;  /* "PATH" or "PATH:NAME", NULL-terminated; copied: see below */
    bool workers_prefer;       /* on other workers too, when those in `workers` have no room */
    bool pure;                 /* the same function with the same arguments gives the same result:
                                  computed once for this user and program, as long as somebody
                                  holds or needs it, and a while after (gangway up --pure-keep).
                                  Shared while it is pending, too, with the options of the first:
                                  who cancels it cancels for itself, all else ends it for all alike;
                                  a failure is not shared with who comes later.
                                  Not of detached jobs and ranges, nor of equal arguments over
                                  64 KiB: share one gw_scatter */
    double gpu_share;          /* of one GPU, 0.001 to 0.999, instead of gpus_per_rank: others may
                                  have the rest. What is shared out is its memory, and nothing
                                  keeps a task to its part: GANGWAY_GPU_MEMORY_BYTES tells it */
    bool isolate_gpus;         /* a rank of a command's gang sees its own GPU, not those of all
                                  its gang's ranks on its host in the order of LOCAL_RANK; with
                                  several GPUs a rank, or a share, it sees its own anyway.
                                  GANGWAY_GPUS tells a command which of those that it sees are its
                                  own, by number: "0,1" */
    uint32_t losses_max;       /* further attempts after a worker was lost with it; 0: 9;
                                  UINT32_MAX: none */
    uint32_t preemptions_max;  /* the same after gw_job_restart; 0: 100, which is the most;
                                  UINT32_MAX: none */
    uint32_t signal;           /* that a command and its descendants get instead of SIGTERM when
                                  they are to end, by number (SIGUSR1); 0: SIGTERM */
    uint64_t hang_ns;          /* of a gang: how long its ranks may stand still at different places,
                                  one in a collective and one not, or one stopped (SIGSTOP), before
                                  the attempt ends and the ranks behind are named; 0: 10 minutes;
                                  UINT64_MAX: for ever */
    uint32_t ranks_per_node;   /* of a gang: exactly so many at each worker (one a host), so ranks
                                  is a multiple of it; the same as ranks: all on one host; 0: on as
                                  few workers as can be, those with GPUs near each other first */
    bool spread;               /* of a gang: on as many workers as can be, evenly; not with
                                  ranks_per_node */
    uint32_t min_ranks;        /* of a gang: an attempt of it may have fewer than `ranks`, so many
                                  at the least; 0: all. See below */
    uint64_t full_wait_ns;     /* with min_ranks: how long it waits for room for all before it
                                  starts with fewer; 0: 30 s; UINT64_MAX: for ever, while room is
                                  taken and not gone */
    bool unbound;              /* of what has GPUs: its processes may run on all CPUs of their
                                  worker, not only on those near their GPUs */
};

/* GPUs: a task has those that it was given for itself, until its process and all descendants have
 * ended and their memory there is free again. It sees no others: CUDA_VISIBLE_DEVICES holds their
 * UUIDs when its process starts (none: it is empty), unless its own environment says otherwise.
 * A gang's ranks are given GPUs that are linked with each other by NVLink where that can be, and
 * are in the order of nearness. What can never be is refused (GW_EINFEASIBLE) where there are
 * workers, unless one that was lost in the last minute had room for it: then it waits. A task whose
 * GPU fails is run again elsewhere, uncharged.
 * A MIG instance is a GPU of its own. An ordinary task with one GPU is given an instance where one
 * with gpu_memory_bytes is free, before a whole one. Who asks for several is given whole ones, and
 * refused where only instances would do: CUDA shows a process one. The ranks of a gang have whole
 * GPUs, and wait for them; where those that the cluster has could never suffice for it, all have
 * instances, on different boards where that can be; each rank of a command sees its own alone, as
 * with isolate_gpus. Where two of them are on one board, which NCCL refuses, gw_task_comm is of the
 * host backend, and commands find GANGWAY_BOARD_SHARED=1. A share may be of either.
 * Its process starts bound to the CPUs that are near its GPUs (sched_setaffinity), those that its
 * worker may use: to all of them where the driver does not say what is near one of its GPUs, or the
 * worker may use none of those, and with `unbound`. It may bind itself otherwise. */

/* A gang that fails as a whole starts again as a whole, as a new attempt (gw_task_try) with a new
 * communicator, port and processes. Three budgets: `retries` (also --max-restarts) for errors of
 * its own, ranks that fail, crash, are out of memory, hang or do not get ready in 60 s; losses_max
 * for workers that are lost; preemptions_max. A wall limit and a program that cannot start are
 * final. A worker that was lost under a gang, or where a rank did not get ready, takes no ranks for
 * a second, doubled at each further time in a row up to 2 minutes. */

/* Elastic gangs: with min_ranks, an attempt has as many ranks as there is room for, from min_ranks
 * to `ranks`, and whole nodes where ranks_per_node is set (then min_ranks is a multiple of it, too,
 * unless that is the same as ranks: then it is on one host, however many it has). World size, and
 * what a rank finds in its environment, are the attempt's. It waits full_wait_ns for all ranks,
 * with room reserved like any gang; but an attempt that follows another begins at once where room
 * is gone, not taken: a host was lost, or takes no ranks for longer than that. When there is room
 * for more again, a gang of a function is told to pause at the step after its next
 * gw_checkpoint_save (GW_PAUSE on all ranks), and starts again from there with more, which nobody
 * is charged for. A gang of a command gets more whenever it is started again: nobody knows when it
 * has saved, so that is up to its user (gw_job_restart, `gangway restart`). A gang has the results
 * of `ranks` ranks: nil of those that its last attempt did not have. */

/* Files: what `files` names, files or folders with all that is in them, is read when the task is
 * submitted, and lies in the task's working directory when it starts: a fresh folder that is its
 * alone (its attempt's, its rank's), and goes with it. There they have the name of their last part
 * ("data/a.csv" is a.csv), or NAME (a relative path; "." for a folder: what is in it), and their
 * permission bits; what is there as "PATH:NAME" itself is meant by that. They are the task's own
 * copies: what it writes there nobody else sees, and is lost; it returns results. A call of an
 * actor runs in its actor's folder. Content is sent to a cluster and to a worker once, by hash, and
 * kept for a while (gangway up --file-cache). Links in folders stay links where what they lead to
 * comes too, or is not there; others are followed. Empty folders are left out; of a folder in a git
 * work tree, what git ignores and .git, too, where there is a git and the folder itself is not
 * ignored, and of any folder Gangway's own file
 * ~/.cache/gangway/hashes; at most 4096 files. A missing one is GW_ENOENT; GW_EINVAL: a NAME that
 * is absolute or holds "..", a folder that links to one around it, a command with a cwd; GW_EEXIST:
 * two of one name; GW_EAGAIN: written to while it was read; GW_ELIMIT: too many, too large. A
 * worker that has no room for them fails the task with GW_ESTART. With GANGWAY_INLINE=1 the whole
 * process is in that folder while the task runs; not of actors, nor of gangs of several ranks
 * (GW_ENOTSUP). */

/* GW_OPTIONS(.retries = 2) and GW_GANG(.ranks = 4) make options on the spot, good until the end of
 * the call that they stand in. (C++ wants the designators in the order above.) */
#ifdef __cplusplus
#define GW_OPTIONS(...) gw_options_of(GW_BRACES(gw_task_options, __VA_ARGS__))
#else
#define GW_OPTIONS(...) (&(const struct gw_task_options){__VA_ARGS__})
#endif
#define GW_GANG(...) GW_OPTIONS(__VA_ARGS__)

/* gw_graph_new makes an empty graph; NULL when out of memory (every call accepts that and
 * submitting then fails with GW_ENOMEM). gw_graph_free accepts NULL; futures of a submitted graph
 * stay. */
GW_API struct gw_graph *gw_graph_new(void);
GW_API void gw_graph_free(struct gw_graph *graph);

/* gw_call(graph, function, options, arguments...) adds a call of a GW_TASK function; options may be
 * NULL; arguments are values (taken) or gw_ref()s. Returns the node; on error one that sticks. */
#ifdef __cplusplus
#define gw_call(graph, function, ...)                                                              \
    gw_graph_call_list((graph), &gw_function_##function, GW_CALL_SPLIT(__VA_ARGS__, NULL))
#define GW_CALL_SPLIT(options, ...)                                                                \
    (options),                                                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#else
#define gw_call(graph, function, ...)                                                              \
    gw_graph_call((graph), &gw_function_##function, GW_CALL_SPLIT(__VA_ARGS__, NULL))
#define GW_CALL_SPLIT(options, ...)                                                                \
    (options), (struct gw_value *[]){__VA_ARGS__},                                                 \
        sizeof((struct gw_value *[]){__VA_ARGS__}) / sizeof(struct gw_value *) - 1
#endif

/* gw_graph_call is gw_call as a function: takes `count` values, copies the rest but for the
 * function, which must stay. All arguments of a graph are under 4 GiB: scatter what is larger. */
GW_API gw_node gw_graph_call(struct gw_graph *graph, const struct gw_function *function,
                             const struct gw_task_options *options, struct gw_value **values,
                             size_t count);

/* A program with its arguments and surroundings; all copied. */
struct gw_command {
    const char *const *argv;   /* NULL-terminated; argv[0] is searched on the environment's PATH */
    const char *const *env;    /* "NAME=value", NULL-terminated; NULL: this process's own, less
                                  what names its devices and ranks: CUDA_VISIBLE_DEVICES, SLURM_*,
                                  RANK, WORLD_SIZE ..., GANGWAY_JOB ... */
    const char *cwd;           /* NULL: this process's */
    const int64_t *index;      /* not NULL: `{index}` in argv becomes this number, and
                                  GANGWAY_ARRAY_INDEX has it: one command for many tasks */
    const char *line;          /* with index: the same for `{line}` and GANGWAY_LINE; the
                                  system starts nothing with a word of 128 KiB */
    uint32_t env_templates;    /* so many of the last of env have words in braces filled in, too */
    const char *const *epilog; /* a command that is run when this one has ended and none of its
                                  processes is left, in its environment and GANGWAY_EXIT_CODE
                                  (128 and more: by a signal), as often as it was started;
                                  before its slots are free, 20 s at most; NULL: none */
    bool held_output;          /* each stream of it waits while it is 16 MiB ahead of its reader
                                  (gw_log_request.holds), so that the reader gets every byte; false,
                                  and in detached jobs: it never waits, and the middle of what is
                                  over output_bytes_max is left out */
    bool input;                /* its standard input, of a gang rank 0's, is what a tunnel brings
                                  (gw_tunnel_options.input); false, and in detached jobs: it is
                                  /dev/null */
};

/* Words in braces: in argv, `{index}` and `{line}` as above, `{1}`, `{2}` ... for what stands
 * between the blanks of the line (quotes are characters as any other), and of a gang `{rank}`,
 * `{local_rank}`, `{node_rank}` (the number of its worker among those of the gang) and
 * `{world_size}`. There `{{}` is a `{`: `{{}1}` is the text `{1}`. Other words in braces stay as
 * they are, and so does a field that the line has not. */

/* gw_graph_command adds a command; its value is its exit code, 0. */
GW_API gw_node gw_graph_command(struct gw_graph *graph, const struct gw_command *command,
                                const struct gw_task_options *options);

/* gw_graph_after lets `node` start only after `before` has ended well, without taking its value. */
GW_API void gw_graph_after(struct gw_graph *graph, gw_node node, gw_node before);

/* gw_graph_check validates: 0, or the first error that stuck, or GW_ECYCLE with the names along the
 * cycle, GW_EEXIST for a name used twice, GW_EINVAL for a node that is not of this graph. */
GW_API int gw_graph_check(struct gw_graph *graph, struct gw_error *error);

/* gw_graph_count is the number of tasks. */
GW_API uint32_t gw_graph_count(const struct gw_graph *graph);

#ifdef __cplusplus
}

#include <initializer_list>

/* What the macros above expand to in C++, which has no compound literals. The list ends with a NULL
 * that the macro put there. */
static inline const gw_task_options *gw_options_of(const gw_task_options &options)
{
    return &options;
}

static inline gw_task_options gw_ranks_of(uint32_t ranks)
{
    gw_task_options options = {};
    options.ranks = ranks;
    return options;
}

static inline gw_node gw_graph_call_list(gw_graph *graph, const gw_function *function,
                                         const gw_task_options *options,
                                         std::initializer_list<gw_value *> values)
{
    return gw_graph_call(graph, function, options, const_cast<gw_value **>(values.begin()),
                         values.size() - 1);
}
#endif

#endif
