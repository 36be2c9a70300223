/* Functions for use inside a task: registration, arguments, the result, and, in a gang, ranks and
 * their communicator.
 *
 * A task function runs in a runner: this same program, started again by a worker. All functions
 * here are called on the thread that runs the task. A `struct gw_task` is valid until the task
 * returns. A runner has the environment and working directory that the submitting program had at
 * that time (see gw_function in graph.h), with GANGWAY_*, CUDA_VISIBLE_DEVICES and similar
 * variables set. If a task changes them (setenv, chdir), later tasks of that runner may see the
 * change. If threads or child processes of a task go on after its end, their output is shown as
 * output of the task that the runner executes at that time. */
#ifndef GANGWAY_TASK_H
#define GANGWAY_TASK_H

#include <gangway/checkpoint.h>
#include <gangway/comm.h>
#include <gangway/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* Answers of gw_task_step besides errors. */
enum { GW_CONTINUE = 0, GW_PAUSE = 1, GW_STOP = 2 };

/* GW_TASK(function) makes `static int function(struct gw_task *)` a task of this program and
 * defines GW_FUNCTION(function). Use it once for each name, at file scope. The function returns 0
 * after gw_task_return (without it the result is nil), or a negative GW_E...
 * after gw_task_fail. It may also return the last answer of gw_task_step, which counts as 0. Any
 * other positive number is a failure with its own error, because failed programs often return 1. */
#define GW_TASK(function)                                                                          \
    GW_TASK_DECLARE(function);                                                                     \
    const struct gw_function gw_registered_##function = {#function, function};                     \
    __attribute__((constructor)) static void gw_register_task_##function(void)                     \
    {                                                                                              \
        gw_function_register(&gw_registered_##function);                                           \
    }                                                                                              \
    extern const struct gw_function gw_registered_##function

/* GW_TASK_DECLARE(function) declares the task in another file that calls it, or before the function
 * itself if the task submits tasks of its own kind. */
#define GW_TASK_DECLARE(function) extern const struct gw_function gw_registered_##function

/* gw_function_register adds a function to this program. GW_TASK calls it before main. Two functions
 * of one name end the program with a message. The function must stay valid for ever. */
GW_API void gw_function_register(const struct gw_function *function);

/* gw_function_find returns the registered function of a name, or NULL. */
GW_API const struct gw_function *gw_function_find(const char *name);

/* gw_init must be the first statement of main. In a runner it runs tasks and never returns.
 * Otherwise it removes --gangway-* options from argv and returns. Code before it runs in every
 * runner. Globals that are set after it have no value in a runner. */
GW_API void gw_init(int *argc, char ***argv);

/* gw_task_arg_count returns the number of arguments. gw_task_arg_* read argument i and return 0, or
 * GW_EINVAL with the task's error set to the function, the argument and both types ("add: argument
 * 1 is a string, wanted a number"). Strings, bytes and values are borrowed and valid until the task
 * returns. Large bytes are a read-only mapping. */
GW_API uint32_t gw_task_arg_count(const struct gw_task *task);
GW_API int gw_task_arg_bool(struct gw_task *task, uint32_t i, bool *b);
GW_API int gw_task_arg_i64(struct gw_task *task, uint32_t i, int64_t *n);
GW_API int gw_task_arg_f64(struct gw_task *task, uint32_t i, double *d);
GW_API int gw_task_arg_str(struct gw_task *task, uint32_t i, const char **text);
GW_API int gw_task_arg_bytes(struct gw_task *task, uint32_t i, const void **data, size_t *bytes);
GW_API int gw_task_arg_value(struct gw_task *task, uint32_t i, struct gw_value **value);

/* gw_task_return sets the result (takes value; copies it before it returns). It returns 0, or with
 * the task's error set: GW_ENOMEM; GW_ELIMIT: more than 4 GiB; GW_EINVAL: a reference in it, or
 * lists nested deeper than 16. Use it as the last statement: `return gw_task_return(task,
 * gw_f64(x));`. */
GW_API int gw_task_return(struct gw_task *task, struct gw_value *value);

/* gw_task_fail sets the error's text and returns code: `return gw_task_fail(task, GW_EIO, "...")`.
 */
GW_API int gw_task_fail(struct gw_task *task, int code, const char *format, ...) GW_PRINTF(3, 4);

/* gw_task_error returns this task's error, to pass to functions that take one. */
GW_API struct gw_error *gw_task_error(struct gw_task *task);

/* gw_task_job returns the job's number, gw_task_index the task's index in the job, and gw_task_try
 * the number of attempts before this one. */
GW_API uint64_t gw_task_job(const struct gw_task *task);
GW_API uint32_t gw_task_index(const struct gw_task *task);
GW_API uint32_t gw_task_try(const struct gw_task *task);

/* gw_task_rank and gw_task_world return 0 and 1 in an ordinary task. gw_task_local_rank counts the
 * ranks on this host. */
GW_API uint32_t gw_task_rank(const struct gw_task *task);
GW_API uint32_t gw_task_world(const struct gw_task *task);
GW_API uint32_t gw_task_local_rank(const struct gw_task *task);

/* gw_task_gpu_count returns how many GPUs this rank may use. CUDA shows only these, numbered from
 * 0. */
GW_API uint32_t gw_task_gpu_count(const struct gw_task *task);

/* gw_task_client returns a client inside the running task, for all functions of <gangway/gangway.h>
 * and <gangway/coordination.h>, as the task's user. It is borrowed, and the same at every call. It
 * ends with this attempt: attached work that was submitted through it is then cancelled, and its
 * locks and leases are released. gw_client_close does nothing to it. The task releases its own
 * futures.
 *
 * While the task's own thread waits in a call on this client, the task yields its slots to other
 * tasks, but not its memory and GPUs. So tasks can wait for tasks on a single slot. After the wait
 * the task continues at once. Its time limit and inactivity timeout count during the wait. If 512
 * tasks of a worker wait in this way, the next one that would wait fails with GW_ELIMIT. A wait of
 * another thread does not yield the slots.
 *
 * Tasks that it submits have the environment and the folder of its own job, and run before the
 * waiting tasks of that job. In a gang every rank may have a client of its own. NULL: GW_ECLOSED:
 * the cluster is shutting down; GW_ENOMEM; GW_EIO. With GANGWAY_INLINE=1 submitted tasks run at
 * once, on this thread. */
struct gw_client;
GW_API struct gw_client *gw_task_client(struct gw_task *task, struct gw_error *error);

/* gw_task_comm returns the gang's communicator; in an ordinary task one with a single rank (of
 * NCCL, on the task's first GPU, if it has a whole GPU and NCCL is there). It is borrowed; the
 * runner closes it. If each rank of a gang has several GPUs, it is one of the host backend, with
 * the ranks of the task; gw_task_gpus_run gives communicators for the GPUs. */
GW_API struct gw_comm *gw_task_comm(struct gw_task *task);

/* gw_task_gpus_run calls run(comm, gpu, arg, error) once for each GPU of this task, each on a
 * thread of its own, and returns when all have returned. It is collective: all ranks of a gang call
 * it. `comm` is an NCCL communicator over all GPUs of all ranks, borrowed until run returns. With G
 * GPUs for each of W ranks its size is W * G, and GPU i of rank r is rank r * G + i. So gw_ddp, the
 * samplers and the optimizers work with it as in a gang of W * G ranks with one GPU. `gpu` counts
 * from 0 and is the CUDA device, which is the current one of the thread. `arg` is the same for all
 * threads.
 *
 * GPU 0 has the task's own thread. Only this thread may call gw_task_step, gw_task_checkpoint_save
 * and other functions of the task; they use the ranks of the task (gw_task_comm). Broadcast an
 * answer of gw_task_step on `comm` to the other threads.
 *
 * Returns what run returned for GPU 0, if that is not negative and no thread failed. If run fails
 * (negative; with a text in error), `comm` breaks with this error on all ranks, and the call
 * returns it on all ranks, with the task's error set. `comm` also breaks if the gang ends. Other
 * errors, on all ranks before any thread runs: GW_ENOTSUP: a rank has no GPU for itself (none, a
 * part of one, MIG instances of one physical GPU), NCCL is missing, or the ranks share a process
 * (GANGWAY_INLINE); GW_EMISMATCH: ranks have different numbers of GPUs; GW_EINVAL: more than
 * GW_COMM_HOST_RANKS_MAX GPUs; GW_ENOMEM; those of gw_comm_open_nccl. */
GW_API int gw_task_gpus_run(struct gw_task *task,
                            int (*run)(struct gw_comm *comm, uint32_t gpu, void *arg,
                                       struct gw_error *error),
                            void *arg);

/* gw_task_actor sets the state of an actor (<gangway/actor.h>), in the task that makes the actor.
 * gw_task_state returns this state in every call of the actor. The task and all calls run in one
 * process, one after the other. destroy (may be NULL) is called with the state when the actor ends
 * because nobody holds it, and when this task fails after all. It is not called if the process is
 * killed or crashes. GW_EINVAL: in any other task. gw_task_state returns NULL in a task that is not
 * a call of an actor, and if no state was set. */
GW_API int gw_task_actor(struct gw_task *task, void *state, void (*destroy)(void *state));
GW_API void *gw_task_state(const struct gw_task *task);

/* gw_task_step reports one step of training and returns what to do next: GW_CONTINUE, GW_PAUSE
 * (save a checkpoint and return), GW_STOP, or an error. It is collective: every rank calls it at
 * the same steps, and all ranks get the same answer. metric may be NULL. The value of rank 0 is
 * reported: `gangway metrics` lists every one. If there are more than 64 within 50 ms, only the
 * newest of each metric is reported of the others. A cancel with a grace time, a time limit and the
 * end of the cluster ask for GW_STOP, so a gang that answers within its grace time can save. When
 * the grace time is over, the gang is killed. GW_STOP is also the answer at each step from
 * options.until_step on: the function then saves its checkpoint and returns its result. */
GW_API int gw_task_step(struct gw_task *task, int64_t step, const char *metric, double value);

/* gw_task_progress reports how far the task is, from 0 to 1, and a text (may be NULL; 200 bytes of
 * it are kept). `gangway jobs` shows the latest of rank 0. Like a step and output it resets the
 * inactivity timeout (options.inactivity_timeout_ns). It is cheap and may be called often.
 * GW_EINVAL: the fraction is not from 0 to 1. */
GW_API int gw_task_progress(struct gw_task *task, double fraction, const char *text);

/* gw_task_checkpoint_dir returns this task's folder for checkpoints, and makes it if necessary.
 * Borrowed. NULL, with the task's error set: there is none, or it cannot be made. */
GW_API const char *gw_task_checkpoint_dir(struct gw_task *task);

/* gw_checkpoint_save writes `bytes` of state and the step as the task's checkpoint, from rank 0,
 * atomically. Collective. GW_EIO: it cannot be written, for example because the disk is full; the
 * text has the path, the reason and the bytes needed, and the checkpoint before it stays.
 * GW_ENOENT: there is no folder. In a gang also the errors of its communicator.
 *
 * gw_checkpoint_load gives the newest intact checkpoint to all ranks, also one of an earlier
 * attempt. If there is none, it does not change state and sets *step to 0. GW_EMISMATCH: the
 * checkpoint has another size. If a file is torn, rank 0 logs it on stderr and the checkpoint
 * before it is used. GW_ECORRUPT: that one is torn too. If the hosts do not share the folder, the
 * file is copied to rank 0's host before any rank starts, and another host of the gang keeps a copy
 * of the newest checkpoint. If the host that saved is lost, this copy may be some steps behind;
 * *step is the step of the copy. Without a copy the gang starts from step 0; rank 0's stderr and
 * `gangway events` say so. GW_ENOENT: the checkpoint is missing although no host is known to be
 * lost, for example after a restart of the scheduler. */
GW_API int gw_checkpoint_save(struct gw_task *task, const void *state, size_t bytes, int64_t step);
GW_API int gw_checkpoint_load(struct gw_task *task, void *state, size_t bytes, int64_t *step);

/* gw_task_checkpoint_save and gw_task_checkpoint_load do the same with a set of named sections
 * (<gangway/checkpoint.h>) in place of one state: parameters, optimizer, sampler. The sections may
 * have other sizes in each save, so another number of ranks can continue.
 *
 * gw_task_checkpoint_save adds the section "step" to the set, which the caller keeps and frees.
 * Rank 0's set is saved; other ranks may pass NULL. GW_EEXIST: the set has this section already.
 *
 * gw_task_checkpoint_load gives each rank a new set, which the caller frees with
 * gw_checkpoint_free. If there is no checkpoint, the set is NULL and *step is 0.
 *
 * gw_task_checkpoint_load_into loads the sections of these names straight into their places in
 * memory of the host or of the rank's GPU, by the rules and errors of gw_checkpoint_comm_load_into.
 * The other sections are in the set. If there is no checkpoint, the places do not change. The
 * failure of one rank is the failure of all ranks. An ordinary task uses gw_task_comm for it. */
GW_API int gw_task_checkpoint_save(struct gw_task *task, struct gw_checkpoint *checkpoint,
                                   int64_t step);
GW_API int gw_task_checkpoint_load(struct gw_task *task, struct gw_checkpoint **checkpoint,
                                   int64_t *step);
GW_API int gw_task_checkpoint_load_into(struct gw_task *task,
                                        const struct gw_checkpoint_place *places, size_t count,
                                        struct gw_checkpoint **checkpoint, int64_t *step);

#ifdef __cplusplus
}
#endif

#endif
