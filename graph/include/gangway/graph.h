/* Task graphs. A node is a call of a function, or a command. An edge is a result of one node that
 * another node takes as an argument.
 *
 * One thread builds a graph. If a call fails, the graph keeps that error: later calls do nothing,
 * and gw_graph_check or submitting the graph reports the first error. The arguments of a node refer
 * only to earlier nodes. gw_graph_after can also make an earlier node wait for a later one;
 * gw_graph_check finds cycles. */
#ifndef GANGWAY_GRAPH_H
#define GANGWAY_GRAPH_H

#include <gangway/options.h>
#include <gangway/value.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_graph;
struct gw_task;

/* A function that can run as a task. The macro GW_TASK (task.h) defines one. The process of the
 * task gets the environment of the submitting program at the time of the submit (as getenv sees
 * it), without the variables that name devices and ranks (see gw_command). The working directory is
 * the path of the submitting program's working directory, on the worker. A task with `files` has
 * its own new folder as working directory. */
struct gw_function {
    const char *name;
    int (*run)(struct gw_task *task);
};

/* GW_FUNCTION(name) is a pointer to the gw_function of GW_TASK(name). */
#define GW_FUNCTION(name) (&gw_registered_##name)

/* GW_GPU_IF_ANY is a value for gpu.count: each rank gets one GPU if the cluster has GPUs, and
 * otherwise none. */
enum { GW_GPU_IF_ANY = -1 };

/* The part of gw_task_options for gangs. Every field may be 0, which means its default. */
struct gw_gang_options {
    uint32_t min_ranks;      /* for an elastic gang: the smallest number of ranks with which an
                                attempt may start; 0: an attempt always has `ranks` ranks; see
                                "Elastic gangs" below */
    uint32_t ranks_per_node; /* the exact number of ranks on each worker, with one worker per host;
                                `ranks` is a multiple of this number. If both are equal, all ranks
                                are on one host. 0: the ranks are on as few workers as possible, if
                                possible on GPUs that are near each other */
    uint64_t full_size_timeout_ns; /* with min_ranks: how long the gang waits for room for all
                                      `ranks` ranks before it starts with fewer; 0: 30 s;
                                      GW_FOREVER: without limit, if the cluster has enough resources
                                      but other tasks use them */
    uint64_t hang_timeout_ns; /* hang timeout: how long the ranks may make no progress at different
                                 places (one rank in a collective and another not, or a rank stopped
                                 by SIGSTOP). Then the attempt ends, and the error names the ranks
                                 that are behind; 0: 10 minutes; GW_FOREVER: none */
    uint64_t fail_grace_ns; /* time from SIGTERM to SIGKILL after another rank failed; 0: 200 ms */
    bool spread; /* place the ranks on as many workers as possible, with the same number of ranks on
                    each; cannot be combined with ranks_per_node */
    uint64_t reserved[8]; /* for fields of later versions, see options.h */
};

/* The part of gw_task_options for GPUs. Every field may be 0, which means its default. */
struct gw_gpu_options {
    int32_t count;         /* GPUs of each rank or of the task; or GW_GPU_IF_ANY */
    uint64_t memory_bytes; /* least GPU memory that each GPU of a rank must have; with fraction:
                              least memory of the fraction */
    double fraction;       /* a fraction of one GPU, 0.001 to 0.999, instead of count; other tasks
                              may use the rest of the GPU. The fraction is one of the GPU's memory.
                              Gangway does not enforce it: the task reads its number of bytes from
                              GANGWAY_GPU_MEMORY_BYTES */
    bool isolate; /* each rank of a command's gang sees only its own GPUs. false: a rank sees the
                     GPUs of all ranks on its host, in the order of LOCAL_RANK, unless a rank has
                     several GPUs or a fraction. GANGWAY_GPUS lists a rank's own GPUs by their
                     numbers: "0,1" */
    bool unbound; /* true: the processes of the task may run on all CPUs of the worker; false: only
                     on the CPUs near their GPUs */
    uint64_t reserved[8]; /* for fields of later versions, see options.h */
};

/* How a node runs. Every field may be 0, which means its default. Times are in nanoseconds. */
struct gw_task_options {
    size_t struct_size; /* see options.h */
    const char *name;   /* name of the task in listings and errors; unique in the graph; one line of
                           UTF-8, at most 255 bytes; copied */
    uint32_t ranks;     /* number of ranks of a gang (GW_GANG); 0: an ordinary task */
    uint32_t slots;     /* slots per rank; 0: 1; GW_NONE: no slot, see "Tasks without a slot" */
    uint64_t memory_bytes; /* memory of each rank, in bytes: the worker reserves it, and kills a
                              task that uses more */
    int32_t priority; /* a task with higher priority runs first; only an admin may set more than 0,
                         unless the cluster serves one user */
    uint32_t retries; /* number of further attempts after the task itself failed, at most 255; for
                         a gang, the number of restarts. A function that dies by a signal runs up
                         to three times in any case, because an earlier function may have damaged
                         the process; this does not hold for gangs, actors and their calls */
    uint64_t time_limit_ns; /* time limit of an attempt: an attempt that runs longer is killed; 0
                               and GW_FOREVER: no limit */
    uint64_t grace_ns; /* time from SIGTERM to SIGKILL if the task is cancelled or exceeds a limit;
                          0: 10 s; GW_FOREVER: no SIGKILL */
    uint64_t output_bytes_max;      /* maximum size of each output file; 0: 64 MiB */
    uint64_t inactivity_timeout_ns; /* inactivity timeout: an attempt that is silent for longer (no
                                       gw_task_step, no gw_task_progress, no output) is killed with
                                       GW_ETIMEDOUT; checked four times in this time. If the output
                                       file is full, the timeout no longer applies; 0 and
                                       GW_FOREVER: none */
    uint64_t backoff_ns;   /* delay before the second attempt of a failed task; it doubles before
                              each further attempt, up to 5 minutes; 0: no delay */
    const char *resources; /* named resources that each rank needs, for example "license=1,tape=2";
                              `gangway up --resources` says what a worker offers; copied */
    const char *workers;   /* names of workers or hosts, for example "a,b": the task runs only on
                              these; copied. The task waits for a named worker that is gone. A name
                              that no worker ever had is refused (GW_ENOENT) if there are workers.
                              A gang may give the number of ranks for each name: with "a:2,b:3"
                              ranks 0 and 1 run on a, and ranks 2 to 4 on b. `ranks` is then the
                              sum, and workers_prefer, ranks_per_node, spread and min_ranks are not
                              set */
    const char *annotations;  /* "key=value,...", shown to people; copied */
    const char *const *files; /* "PATH" or "PATH:NAME", NULL-terminated; copied; see below */
    bool workers_prefer;      /* also use other workers if those in `workers` have no room */
    bool pure; /* the same function with the same arguments gives the same result, so the result is
                  computed once for this user and program. It is kept while a client holds it or a
                  task needs it, and for some time after (gangway up --pure-keep). Pending results
                  are shared too, with the options of the first task. Cancelling affects only the
                  caller; any other end affects all. A failure is not shared with later tasks.
                  Detached jobs share with detached ones, others with others. Not allowed in ranges.
                  Equal arguments of more than 64 KiB are not recognised: share one gw_scatter */
    uint32_t worker_losses_max; /* number of further attempts after a worker was lost; 0: 9;
                                   GW_NONE: no further attempt; GW_UNLIMITED: no limit */
    uint32_t preemptions_max;   /* number of further attempts after gw_job_restart; 0: 100, which
                                   is also the maximum; GW_NONE: no further attempt */
    uint32_t signal;            /* number of the signal (for example SIGUSR1) that asks a command
                                   and its descendants to end; 0: SIGTERM */
    uint64_t until_step; /* gw_task_step returns GW_STOP at this step and at every later one, in all
                            ranks, and reports of commands are answered with "stop"; 0: no such step
                          */
    const char *metrics; /* names of metrics, "loss,accuracy", at most 8: they are read from the
                            standard output of a command (rank 0 of a gang); copied; see below */
    struct gw_gang_options gang; /* only for gangs: .gang = {.spread = true} */
    struct gw_gpu_options gpu;   /* .gpu = {.count = 1} */
};

/* GPUs. A task owns its GPUs until its process and all descendants have ended and their GPU memory
 * is free again. It sees no other GPUs: when its process starts, CUDA_VISIBLE_DEVICES holds the
 * UUIDs of its GPUs (empty: none), unless the task's own environment sets the variable. The ranks
 * of a gang get GPUs that are linked by NVLink if possible, ordered so that neighbouring ranks have
 * near GPUs. A request that no worker could ever serve is refused (GW_EINFEASIBLE) if there are
 * workers. If a worker that could serve it was lost in the last minute, the task waits. If a GPU
 * fails, its task runs again elsewhere; this does not count against the retry budget.
 *
 * MIG instances. An instance counts as a GPU. An ordinary task with one GPU prefers a free instance
 * with gpu.memory_bytes to a whole GPU. A task with several GPUs gets whole GPUs, because CUDA
 * shows a process only one instance; a request that only instances could serve is refused. The
 * ranks of a gang get whole GPUs and wait for them. If the cluster can never have enough whole
 * GPUs, all ranks get instances, on different physical GPUs if possible; each rank of a command
 * then sees only its own, as with gpu.isolate. If two ranks share a physical GPU, which NCCL
 * refuses, gw_task_comm uses the host backend, and commands find GANGWAY_PHYSICAL_GPU_SHARED=1. A
 * fraction may be of a GPU or of an instance.
 *
 * CPUs. A process with GPUs starts bound (sched_setaffinity) to those CPUs of its worker that are
 * near its GPUs. It is bound to all CPUs of the worker if the driver does not report which CPUs are
 * near, if the worker may use none of the near ones, or with gpu.unbound. The process may change
 * its binding. */

/* Metrics in the output of a command. A line like "epoch=3 loss=0.25" of its standard output
 * reports each metric of `metrics` that it names: the name, "=" (blanks may surround it) and a
 * number. A name consists of letters, digits, "_", "-" and "|". Other text in the line does not
 * matter. "step=N" or "epoch=N" in the same line is the step; otherwise the step is the number of
 * lines so far that report the metric. If a line names a metric several times, the last number
 * counts. Output beyond output_bytes_max is not stored, and so not read. */

/* Tasks without a slot. A task with `slots` GW_NONE is for work that mostly waits, such as a
 * program that submits other tasks and decides by their results. It starts at once on a worker that
 * matches its other options, although all slots are in use, and takes no slot from other tasks. It
 * has a process of its own. If SIGKILL or SIGTERM from outside ends this process, this counts like
 * the loss of its worker (worker_losses_max). Its memory_bytes and named resources must be free, as
 * for any task. A worker runs at most 64 such tasks at once; further ones wait. Such a task has no
 * GPUs, and is not a gang, an actor, or a task of a range (GW_EINVAL). */

/* Restarts of a gang. A gang fails as a whole and starts again as a whole: a new attempt
 * (gw_task_try) with a new communicator, port and processes. There are three budgets. `retries`
 * (also --max-restarts) counts errors of the gang itself: ranks that fail, crash, run out of
 * memory, hang, or are not ready within 60 s. worker_losses_max counts lost workers.
 * preemptions_max counts preemptions. If an attempt exceeds its time limit, or a program cannot
 * start, the gang does not start again. If a worker was lost, or a rank on it was not ready, the
 * worker gets no ranks for one second. This time doubles with each further failure in a row, up to
 * 2 minutes. */

/* Elastic gangs. With min_ranks an attempt has as many ranks as the free resources allow, from
 * min_ranks to `ranks`. With ranks_per_node the attempt has whole nodes, and min_ranks must be a
 * multiple of ranks_per_node too. If ranks_per_node equals `ranks`, the attempt is on one host with
 * any number of ranks. The world size and the other variables in a rank's environment are those of
 * the attempt.
 *
 * The gang waits full_size_timeout_ns for enough resources for all ranks, and resources are
 * reserved as for any gang. A further attempt does not wait if the missing resources are gone and
 * not merely in use: a host was lost, or takes no ranks for a longer time. When there are resources
 * for more ranks again, a gang of functions gets GW_PAUSE on all ranks, at the step after its next
 * gw_checkpoint_save, and starts again from there with more ranks; this does not count against any
 * budget. A gang of commands gets more ranks only when it is started again (gw_job_restart,
 * `gangway restart`), because Gangway does not know when a command has saved its state. A gang
 * always has the results of `ranks` ranks; the value of a rank that its last attempt did not have
 * is nil. */

/* Files. The files and folders in `files` are read when the task is submitted. When the task starts
 * they are in its working directory. This is a new folder for this attempt and rank, which is
 * removed when the attempt has ended. In this folder a file has the last part of its path as its
 * name ("data/a.csv" becomes a.csv), or NAME if given. NAME is a relative path; "." puts the
 * contents of a folder into the working directory itself. Permission bits are kept. If a file with
 * the full name "PATH:NAME" exists, that file is used. The task has its own copies: changes to them
 * are lost, so return results. A call of an actor runs in its actor's folder. Contents are sent to
 * the cluster and to each worker once, by hash, and kept for some time (gangway up --file-cache).
 *
 * A link inside a folder stays a link if its target is in the folder too, or does not exist. Other
 * links are followed. Not included are empty folders, ~/.cache/gangway/hashes, and in a git work
 * tree .git and all files that git ignores (if git is installed and the folder itself is not
 * ignored). The maximum is 4096 files.
 *
 * Errors. GW_ENOENT: a file is missing. GW_EINVAL: NAME is absolute or has "..", a folder contains
 * a link to itself or to a folder that contains it, or a command has a cwd. GW_EEXIST: two files
 * have the same name. GW_EAGAIN: a file changed while it was read. GW_ELIMIT: too many or too large
 * files. If a worker has not enough disk space for the files, the task fails with GW_ESTART. With
 * GANGWAY_INLINE=1 the whole process is in that folder while the task runs; `files` is then not
 * allowed for actors and gangs of several ranks (GW_ENOTSUP). */

/* GW_OPTIONS(.retries = 2) and GW_GANG(.ranks = 4) build options inside a call (options.h). */
#define GW_OPTIONS(...) GW_POINTER(gw_task_options, __VA_ARGS__)
#define GW_GANG(...) GW_OPTIONS(__VA_ARGS__)

/* gw_graph_new makes an empty graph, or returns NULL if out of memory. Every function of this
 * header accepts NULL as a graph; submitting it then fails with GW_ENOMEM. gw_graph_free accepts
 * NULL. Futures of a submitted graph stay valid after gw_graph_free. */
GW_API struct gw_graph *gw_graph_new(void);
GW_API void gw_graph_free(struct gw_graph *graph);

/* gw_call(graph, function, options, arguments...) adds a call of a GW_TASK function and returns its
 * node. options may be NULL. The arguments are values, which the graph takes over. A value may
 * refer to the result of an earlier node (gw_result). If the call fails, the graph keeps the error
 * for gw_graph_check. */
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

/* GW_ARGS(arguments...) is a list of arguments for gw_submit, gw_dispatch, gw_actor_new and
 * gw_actor_call, which take ownership of the values, also on failure. GW_ARGS() is empty. */
#ifdef __cplusplus
#define GW_ARGS(...)                                                                               \
    std::initializer_list<gw_value *>                                                              \
    {                                                                                              \
        __VA_ARGS__                                                                                \
    }
#else
#define GW_ARGS(...)                                                                               \
    &(struct gw_value *[]){NULL, __VA_ARGS__}[1],                                                  \
        sizeof((struct gw_value *[]){NULL, __VA_ARGS__}) / sizeof(struct gw_value *) - 1
#endif

/* gw_graph_call does the same as gw_call, as a function. It takes over `count` values and copies
 * the options; `function` must stay valid. The arguments of a graph must have less than 4 GiB in
 * total: use gw_scatter for larger data. */
GW_API gw_node gw_graph_call(struct gw_graph *graph, const struct gw_function *function,
                             const struct gw_task_options *options, struct gw_value **values,
                             size_t count);

/* A program with its arguments, environment and working directory. Everything is copied. */
struct gw_command {
    size_t struct_size;      /* see options.h */
    const char *const *argv; /* the words of the command, ended by NULL; argv[0], the program, is
                                searched for in the PATH of the task's environment */
    const char *const *env;  /* the environment, as texts "NAME=value", ended by NULL; NULL: the
                                environment of this process without the variables that name devices
                                and ranks: CUDA_VISIBLE_DEVICES, SLURM_*, RANK, WORLD_SIZE,
                                GANGWAY_JOB, ... */
    const char *cwd;         /* NULL: this process's working directory */
    const int64_t *index;    /* a number for one of many tasks with the same command: it replaces
                                `{index}` in argv, and is also in the variable GANGWAY_ARRAY_INDEX;
                                NULL: no number */
    const char *line; /* a line of text, only together with index: it replaces `{line}` in argv,
                         and is also in the variable GANGWAY_LINE; NULL: no line. The system cannot
                         start a program with an argument of 128 KiB or more */
    uint32_t env_templates; /* number of entries at the end of env in which words in braces are
                               also replaced */
    const char *const
        *epilog; /* a command that runs after each attempt, when all processes of the attempt have
                    ended. It has the attempt's environment and GANGWAY_EXIT_CODE (128 and more:
                    ended by a signal). It may run for at most 20 s, and the slots become free after
                    it; NULL: none */
    bool held_output; /* true: if 16 MiB of output wait for the reader (gw_log_request.holds), the
                         task waits until they are read, so the reader gets every byte. false, and
                         in detached jobs: the task never waits, and if the output exceeds
                         output_bytes_max, its middle is not stored */
    bool input;       /* true: the standard input (in a gang that of rank 0) comes from a tunnel
                         (gw_tunnel_options.input). false, and in detached jobs: it is /dev/null */
};
#define GW_COMMAND(...) GW_POINTER(gw_command, __VA_ARGS__)

/* Words in braces in argv. `{index}` and `{line}`: see above. `{1}`, `{2}` ... are the fields of
 * the line, separated by blanks (quotes have no special meaning). In a gang also `{rank}`,
 * `{local_rank}`, `{node_rank}` (the number of the worker among the gang's workers) and
 * `{world_size}`. `{{}` becomes `{`, so `{{}1}` gives the text `{1}`. Other words in braces, and
 * numbers of fields that the line does not have, stay as they are. */

/* gw_graph_command adds a command. The value of the node is the exit code of the command; on
 * success this is 0. */
GW_API gw_node gw_graph_command(struct gw_graph *graph, const struct gw_command *command,
                                const struct gw_task_options *options);

/* gw_graph_after makes `node` start only after `before` has succeeded, without passing its value.
 */
GW_API void gw_graph_after(struct gw_graph *graph, gw_node node, gw_node before);

/* gw_graph_check validates the graph. It returns 0 if the graph is valid. Otherwise it returns the
 * error of the first call that failed, GW_ECYCLE with the names of the tasks in the cycle,
 * GW_EEXIST if two tasks have the same name, or GW_EINVAL if an argument refers to a node that this
 * graph does not have. */
GW_API int gw_graph_check(struct gw_graph *graph, struct gw_error *error);

/* gw_graph_count returns the number of tasks. */
GW_API uint32_t gw_graph_count(const struct gw_graph *graph);

#ifdef __cplusplus
}

#include <initializer_list>

/* Helpers that the macros above need in C++, which has no compound literals. GW_CALL_SPLIT adds a
 * NULL as the last entry of an argument list, so the list is never empty. */

static inline gw_node gw_graph_call_list(gw_graph *graph, const gw_function *function,
                                         const gw_task_options *options,
                                         std::initializer_list<gw_value *> values)
{
    return gw_graph_call(graph, function, options, const_cast<gw_value **>(values.begin()),
                         values.size() - 1);
}
#endif

#endif
