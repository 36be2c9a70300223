/* Task graphs: a node is a call of a function or a command; an edge is a result that a node takes.
 *
 * One thread builds a graph. Errors stick: the graph keeps the first error, later calls do nothing,
 * and gw_graph_check or submitting reports it. A node refers only to earlier nodes, except by
 * gw_graph_after; gw_graph_check finds cycles. */
#ifndef GANGWAY_GRAPH_H
#define GANGWAY_GRAPH_H

#include <gangway/cxx.h>
#include <gangway/value.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_graph;
struct gw_task;

/* A function that can be a task, made by GW_TASK (task.h). Its process has the environment that the
 * submitting program has at that time (as getenv sees it) without the variables that name devices
 * and ranks (see gw_command). Its working directory is that program's, by its path on the worker;
 * with `files` a folder of its own. */
struct gw_function {
    const char *name;
    int (*run)(struct gw_task *task);
};

/* GW_FUNCTION(name) is a pointer to the gw_function of GW_TASK(name). */
#define GW_FUNCTION(name) (&gw_registered_##name)

/* gpus_per_rank: as many GPUs as there are for this rank, none on a cluster without. */
enum { GW_GPU_IF_ANY = -1 };

/* How a node runs. Zero is the default of every field. Times are in nanoseconds. */
struct gw_task_options {
    const char *name;       /* shown to people; unique in the graph; a line of UTF-8 of at most 255
                             * bytes; copied */
    uint32_t ranks;         /* of a gang (GW_GANG); 0: an ordinary task */
    int32_t gpus_per_rank;  /* GPUs of each rank or of an ordinary task; or GW_GPU_IF_ANY; see
                               below */
    uint32_t slots;         /* per rank; 0: 1 */
    uint64_t memory_bytes;  /* per rank: reserved at the worker; the task is killed above it */
    int32_t priority;       /* higher runs first; above 0 only for an admin, unless the cluster
                               serves one user */
    uint32_t retries;       /* further attempts after an error of its own, at most 255; of a gang:
                               restarts. A function that dies by a signal runs up to three times in
                               any case, because an earlier function may have damaged the process;
                               this does not hold for gangs, actors and their calls */
    uint64_t time_limit_ns; /* time limit of an attempt, which is killed above it; 0 and UINT64_MAX:
                               none */
    uint64_t grace_ns;      /* from SIGTERM to SIGKILL at cancel and limits; 0: 10 s; UINT64_MAX:
                               no SIGKILL */
    uint64_t fail_grace_ns; /* the same after another rank failed; 0: 200 ms */
    uint64_t output_bytes_max;      /* of each output file; 0: 64 MiB */
    uint64_t gpu_memory_bytes;      /* per rank: of each of its GPUs; with gpu_fraction: of it */
    uint64_t inactivity_timeout_ns; /* inactivity timeout: an attempt that is silent for longer (no
                                       gw_task_step, no gw_task_progress, no output) is killed with
                                       GW_ETIMEDOUT; checked four times in this time. If the output
                                       file is full, the timeout no longer applies */
    uint64_t backoff_ns;      /* before the second attempt; doubled before each further attempt, up
                                 to 5 minutes; 0: at once */
    const char *resources;    /* named resources, per rank: "license=1,tape=2"; workers say what
                                 they offer; copied */
    const char *workers;      /* names of workers or hosts, "a,b": run only on these; copied. The
                                 task waits for a named worker that is gone. A name that no worker
                                 ever had is refused (GW_ENOENT) if there are workers. A gang may
                                 give the ranks of each, "a:2,b:3", in this order (ranks 0 and 1
                                 on a): `ranks` is then the sum, and ranks_per_node, spread,
                                 min_ranks and workers_prefer are not set */
    const char *annotations;  /* "key=value,...", shown to people; copied */
    const char *const *files; /* "PATH" or "PATH:NAME", NULL-terminated; copied; see below */
    bool workers_prefer;      /* also use other workers if those in `workers` have no room */
    bool pure;                /* the same function with the same arguments gives the same result.
                                 The result is computed once for this user and program, and kept
                                 while somebody holds or needs it and some time after (gangway up
                                 --pure-keep). Pending results are shared too, with the options of
                                 the first task. Cancelling affects only the caller; any other end
                                 affects all. A failure is not shared with later tasks. Not
                                 allowed in detached jobs and ranges. Equal arguments of more than
                                 64 KiB are not recognised: share one gw_scatter */
    double gpu_fraction;      /* a fraction of one GPU, 0.001 to 0.999, in place of gpus_per_rank;
                                 others may use the rest. The fraction is of memory. Nothing
                                 enforces it: GANGWAY_GPU_MEMORY_BYTES tells the task its part */
    bool isolate_gpus;        /* each rank of a command's gang sees only its own GPUs; false: it
                                 sees the GPUs of all ranks on its host, in the order of
                                 LOCAL_RANK, unless a rank has several GPUs or a fraction.
                                 GANGWAY_GPUS has the numbers of its own among those it sees:
                                 "0,1" */
    uint32_t worker_losses_max; /* further attempts after the loss of a worker; 0: 9; UINT32_MAX:
                                   none */
    uint32_t preemptions_max;   /* further attempts after gw_job_restart; 0: 100, the maximum;
                                   UINT32_MAX: none */
    uint32_t signal;            /* the signal by number (SIGUSR1) that ends a command and its
                                   descendants in place of SIGTERM; 0: SIGTERM */
    uint64_t hang_timeout_ns;   /* hang timeout of a gang: how long its ranks may stand still at
                                   different places (one in a collective and one not, or one stopped
                                   by SIGSTOP). Then the attempt ends, and the error names the ranks
                                   that are behind; 0: 10 minutes; UINT64_MAX: none */
    uint32_t ranks_per_node;    /* of a gang: exactly this many ranks at each worker, one worker a
                                   host; `ranks` is a multiple of it; equal to `ranks`: all on one
                                   host; 0: on as few workers as possible, preferring near GPUs */
    bool spread;                /* of a gang: on as many workers as possible, evenly; not with
                                   ranks_per_node */
    uint32_t min_ranks;         /* of an elastic gang: an attempt may have fewer than `ranks` ranks,
                                   but at least this many; 0: `ranks`; see below */
    uint64_t full_wait_ns;      /* with min_ranks: how long the gang waits for room for all ranks
                                   before it starts with fewer; 0: 30 s; UINT64_MAX: no limit while
                                   the room exists but is in use */
    bool unbound;               /* of a task with GPUs: its processes may run on all CPUs of the
                                   worker; false: only on CPUs near their GPUs */
};

/* GPUs. A task owns its GPUs until its process and all descendants have ended and their GPU memory
 * is free again. It sees no other GPUs: when its process starts, CUDA_VISIBLE_DEVICES holds their
 * UUIDs (empty: none), unless its own environment sets the variable. The ranks of a gang get GPUs
 * that are linked by NVLink if possible, in the order of nearness. A request that no worker could
 * ever serve is refused (GW_EINFEASIBLE), if there are workers; if a worker with room for it was
 * lost in the last minute, the task waits. If a GPU fails, its task runs again elsewhere; this does
 * not count against the retry budget.
 *
 * MIG instances. An instance counts as a GPU. An ordinary task with one GPU prefers a free instance
 * with gpu_memory_bytes to a whole GPU. A task with several GPUs gets whole GPUs, because CUDA
 * shows a process only one instance; if only instances would do, it is refused. The ranks of a gang
 * get whole GPUs and wait for them. If the cluster can never have enough, all ranks get instances,
 * on different physical GPUs if possible; each rank of a command then sees only its own, as with
 * isolate_gpus. If two ranks share a physical GPU, which NCCL refuses, gw_task_comm uses the host
 * backend, and commands find GANGWAY_PHYSICAL_GPU_SHARED=1. A fraction may be of a GPU or of an
 * instance.
 *
 * CPUs. A process with GPUs starts bound to the CPUs near its GPUs (sched_setaffinity) that its
 * worker may use. It is bound to all CPUs of the worker if the driver does not say what is near, if
 * the worker may use none of the near ones, or with `unbound`. It may bind itself otherwise. */

/* Restarts of a gang. A gang fails as a whole and starts again as a whole: a new attempt
 * (gw_task_try) with a new communicator, port and processes. There are three budgets. `retries`
 * (also --max-restarts) counts its own errors: ranks that fail, crash, run out of memory, hang, or
 * are not ready within 60 s. worker_losses_max counts lost workers; preemptions_max preemptions. A
 * time limit and a program that cannot start are final. A worker that was lost, or on which a rank
 * was not ready, takes no ranks for one second; the time doubles each further time in a row, up to
 * 2 minutes. */

/* Elastic gangs. With min_ranks an attempt has as many ranks as there is room for, from min_ranks
 * to `ranks`. With ranks_per_node it has whole nodes, and min_ranks is a multiple of it too; if
 * ranks_per_node equals `ranks`, the attempt is on one host with any number of ranks. The world
 * size, and everything in a rank's environment, are the attempt's.
 *
 * The gang waits full_wait_ns for room for all ranks, and room is reserved as for any gang. A
 * further attempt starts at once if the missing room is gone, not in use: a host was lost, or takes
 * no ranks for a longer time. When there is room for more ranks again, a gang of functions gets
 * GW_PAUSE on all ranks, at the step after its next gw_checkpoint_save, and starts again from there
 * with more ranks; this does not count against any budget. A gang of commands gets more ranks only
 * when it is started again, because nobody knows when it has saved (gw_job_restart, `gangway
 * restart`). A gang always has the results of `ranks` ranks; the value of a rank that its last
 * attempt did not have is nil. */

/* Files. The files and folders in `files` are read when the task is submitted. When the task starts
 * they lie in its working directory, a new folder for this attempt and rank that is removed with
 * it. A file has the last part of its path as its name ("data/a.csv" becomes a.csv), or NAME: a
 * relative path; "." puts the contents of a folder in place. Permission bits are kept. If a file of
 * the full name "PATH:NAME" exists, that file is meant. The task has its own copies: what it writes
 * there is lost, so return results. A call of an actor runs in its actor's folder. Contents are
 * sent to the cluster and to each worker once, by hash, and kept for some time (gangway up
 * --file-cache).
 *
 * Links in folders stay links if their target is in the folder too, or does not exist; other links
 * are followed. These are left out: empty folders; ~/.cache/gangway/hashes; in a git work tree,
 * .git and what git ignores, if git is installed and the folder itself is not ignored. At most 4096
 * files.
 *
 * GW_ENOENT: a file is missing. GW_EINVAL: NAME is absolute or has "..", a folder links to a folder
 * around it, or a command has a cwd. GW_EEXIST: two files have one name. GW_EAGAIN: a file changed
 * while it was read. GW_ELIMIT: too many or too large. If a worker has no room for the files, the
 * task fails with GW_ESTART. With GANGWAY_INLINE=1 the whole process is in that folder while the
 * task runs; not allowed for actors and gangs of several ranks (GW_ENOTSUP). */

/* GW_OPTIONS(.retries = 2) and GW_GANG(.ranks = 4) make options on the spot, valid until the end of
 * the call in which they stand. C++ requires the designators in the order above. */
#ifdef __cplusplus
#define GW_OPTIONS(...) gw_options_of(GW_BRACES(gw_task_options, __VA_ARGS__))
#else
#define GW_OPTIONS(...) (&(const struct gw_task_options){__VA_ARGS__})
#endif
#define GW_GANG(...) GW_OPTIONS(__VA_ARGS__)

/* gw_graph_new makes an empty graph, or returns NULL if out of memory. Every call accepts NULL, and
 * submitting then fails with GW_ENOMEM. gw_graph_free accepts NULL. The futures of a submitted
 * graph stay. */
GW_API struct gw_graph *gw_graph_new(void);
GW_API void gw_graph_free(struct gw_graph *graph);

/* gw_call(graph, function, options, arguments...) adds a call of a GW_TASK function and returns its
 * node. options may be NULL. The arguments are values (the graph takes them) or references
 * (gw_result). An error sticks to the graph. */
#ifdef __cplusplus
#define gw_call(graph, function, ...)                                                              \
    gw_graph_call_list((graph), &gw_registered_##function, GW_CALL_SPLIT(__VA_ARGS__, NULL))
#define GW_CALL_SPLIT(options, ...)                                                                \
    (options),                                                                                     \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#else
#define gw_call(graph, function, ...)                                                              \
    gw_graph_call((graph), &gw_registered_##function, GW_CALL_SPLIT(__VA_ARGS__, NULL))
#define GW_CALL_SPLIT(options, ...)                                                                \
    (options), (struct gw_value *[]){__VA_ARGS__},                                                 \
        sizeof((struct gw_value *[]){__VA_ARGS__}) / sizeof(struct gw_value *) - 1
#endif

/* gw_graph_call is gw_call as a function. It takes `count` values and copies the options;
 * `function` must stay valid. All arguments of a graph together have less than 4 GiB: scatter
 * larger ones. */
GW_API gw_node gw_graph_call(struct gw_graph *graph, const struct gw_function *function,
                             const struct gw_task_options *options, struct gw_value **values,
                             size_t count);

/* A program with its arguments, environment and working directory. Everything is copied. */
struct gw_command {
    const char *const *argv;   /* NULL-terminated; argv[0] is searched on the environment's PATH */
    const char *const *env;    /* "NAME=value", NULL-terminated; NULL: this process's environment
                                  without the variables that name devices and ranks:
                                  CUDA_VISIBLE_DEVICES, SLURM_*, RANK, WORLD_SIZE, GANGWAY_JOB, ...
                                  */
    const char *cwd;           /* NULL: this process's working directory */
    const int64_t *index;      /* for one command in many tasks: `{index}` in argv becomes this
                                  number, which is also in GANGWAY_ARRAY_INDEX; NULL: none */
    const char *line;          /* with index: the same for `{line}` and GANGWAY_LINE. The system
                                  cannot start a program with an argument of 128 KiB or more */
    uint32_t env_templates;    /* words in braces are also replaced in the last this many of env */
    const char *const *epilog; /* a command that runs after each attempt, when all processes of the
                                  attempt have ended, in its environment with GANGWAY_EXIT_CODE (128
                                  and more: ended by a signal). The slots are free after it; it has
                                  at most 20 s; NULL: none */
    bool held_output;          /* each output stream waits while it is 16 MiB ahead of its reader
                                  (gw_log_request.holds), so the reader gets every byte. false, and
                                  in detached jobs: it never waits, and the middle of an output of
                                  more than output_bytes_max is left out */
    bool input;                /* standard input (of a gang: rank 0's) comes from a tunnel
                                  (gw_tunnel_options.input). false, and in detached jobs: it is
                                  /dev/null */
};

/* Words in braces in argv: `{index}` and `{line}` as above; `{1}`, `{2}` ... for the fields of the
 * line, separated by blanks (quotes have no special meaning); of a gang also `{rank}`,
 * `{local_rank}`, `{node_rank}` (the number of the worker among the gang's workers) and
 * `{world_size}`. `{{}` becomes `{`, so `{{}1}` is the text `{1}`. Other words in braces, and
 * fields that the line does not have, do not change. */

/* gw_graph_command adds a command. Its value is its exit code, which is 0 on success. */
GW_API gw_node gw_graph_command(struct gw_graph *graph, const struct gw_command *command,
                                const struct gw_task_options *options);

/* gw_graph_after makes `node` start only after `before` has succeeded, without taking its value. */
GW_API void gw_graph_after(struct gw_graph *graph, gw_node node, gw_node before);

/* gw_graph_check validates the graph. It returns 0, the first error that stuck, GW_ECYCLE with the
 * names along the cycle, GW_EEXIST: a name is used twice, or GW_EINVAL: a node of another graph. */
GW_API int gw_graph_check(struct gw_graph *graph, struct gw_error *error);

/* gw_graph_count returns the number of tasks. */
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
