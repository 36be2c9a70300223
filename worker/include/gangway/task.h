/* Inside a task: registration, arguments, the result, and, in a gang, ranks and their communicator.
 *
 * A task function runs in a runner: this same program, started again by a worker. All functions
 * here are called on the thread that runs the task; a `struct gw_task` is valid until it returns.
 * A runner's environment and working directory are those of the program that submitted the task, at
 * that time (see gw_function in graph.h), with GANGWAY_*, CUDA_VISIBLE_DEVICES and the like set;
 * what a task changes of them (setenv, chdir) later tasks of that runner may find. What its threads
 * or children print when it has ended is shown as output of the task that runs there then. */
#ifndef GANGWAY_TASK_H
#define GANGWAY_TASK_H

#include <gangway/comm.h>
#include <gangway/graph.h>

#ifdef __cplusplus
extern "C" {
#endif

/* What gw_task_step and friends answer besides errors. */
enum { GW_CONTINUE = 0, GW_PAUSE = 1, GW_STOP = 2 };

/* GW_TASK(function) makes `static int function(struct gw_task *)` a task of this program and
 * defines gw_function_<function> for gw_call. Once per name in a program, at file scope. The
 * function returns 0 after gw_task_return (no return: nil), or a negative GW_E... after
 * gw_task_fail. What the last gw_task_step answered is as good as 0; any other positive number is a
 * failure, and an error says so: 1 is what programs return that failed. */
#define GW_TASK(function)                                                                          \
    GW_TASK_DECLARE(function);                                                                     \
    const struct gw_function gw_function_##function = {#function, function};                       \
    __attribute__((constructor)) static void gw_register_##function(void)                          \
    {                                                                                              \
        gw_function_register(&gw_function_##function);                                             \
    }                                                                                              \
    extern const struct gw_function gw_function_##function

/* GW_TASK_DECLARE(function) lets another file call it, and, where it stands before that, the
 * function itself: a task that submits its own kind. */
#define GW_TASK_DECLARE(function) extern const struct gw_function gw_function_##function

/* gw_function_register adds a function to this program's; GW_TASK calls it before main. Two of one
 * name end the program with a message. The function is borrowed for ever. */
GW_API void gw_function_register(const struct gw_function *function);

/* gw_function_find finds a registered function by name; NULL when there is none. */
GW_API const struct gw_function *gw_function_find(const char *name);

/* gw_init is the first statement of main. In a runner it runs tasks and never returns; otherwise it
 * takes --gangway-* options out of argv and returns. Code before it runs in every runner; globals
 * set after it do not exist there. */
GW_API void gw_init(int *argc, char ***argv);

/* gw_task_arg_count and gw_task_arg_* read argument i: 0, or GW_EINVAL with the task's error set,
 * with function, argument and both types ("add: argument 1 is a string, wanted a number"). Strings,
 * bytes and values are borrowed and valid until the task returns; large bytes are a read-only
 * mapping. */
GW_API uint32_t gw_task_arg_count(const struct gw_task *task);
GW_API int gw_task_arg_bool(struct gw_task *task, uint32_t i, bool *b);
GW_API int gw_task_arg_i64(struct gw_task *task, uint32_t i, int64_t *n);
GW_API int gw_task_arg_f64(struct gw_task *task, uint32_t i, double *d);
GW_API int gw_task_arg_str(struct gw_task *task, uint32_t i, const char **text);
GW_API int gw_task_arg_bytes(struct gw_task *task, uint32_t i, const void **data, size_t *bytes);
GW_API int gw_task_arg_value(struct gw_task *task, uint32_t i, struct gw_value **value);

/* gw_task_return sets the result (takes value; copied before it returns). 0, or with the task's
 * error set GW_ENOMEM, GW_ELIMIT (more than 4 GiB), GW_EINVAL (a reference in it, or lists nested
 * deeper than 16). Meant as the last statement: `return gw_task_return(task, gw_f64(x));`. */
GW_API int gw_task_return(struct gw_task *task, struct gw_value *value);

/* gw_task_fail sets the error's text and returns code: `return gw_task_fail(task, GW_EIO, "...")`.
 */
GW_API int gw_task_fail(struct gw_task *task, int code, const char *format, ...) GW_PRINTF(3, 4);

/* gw_task_error is where the text of this task's error lies, to pass to functions that want one. */
GW_API struct gw_error *gw_task_error(struct gw_task *task);

/* gw_task_job, gw_task_index and gw_task_try: the job's number, the task's index in it, and which
 * attempt this is (0: the first). */
GW_API uint64_t gw_task_job(const struct gw_task *task);
GW_API uint32_t gw_task_index(const struct gw_task *task);
GW_API uint32_t gw_task_try(const struct gw_task *task);

/* gw_task_rank and gw_task_world: 0 and 1 in an ordinary task. gw_task_local_rank counts on this
 * host. */
GW_API uint32_t gw_task_rank(const struct gw_task *task);
GW_API uint32_t gw_task_world(const struct gw_task *task);
GW_API uint32_t gw_task_local_rank(const struct gw_task *task);

/* gw_task_gpu_count is how many GPUs this rank may use: CUDA sees these only, from 0 on. */
GW_API uint32_t gw_task_gpu_count(const struct gw_task *task);

/* gw_task_client is a client inside the running task: everything of <gangway/gangway.h> and
 * <gangway/coordination.h>, as the task's own user. Borrowed, the same at every call; it ends with
 * this attempt, however that ends, and then what was submitted through it and is not detached is
 * cancelled and its locks and leases are let go (gw_client_close does nothing to it; futures are
 * the task's to release). While the task's own thread waits in a call of it, the task gives its
 * slots back for others to run there (not its memory or GPUs): tasks may wait for tasks on a single
 * slot. When the wait is over it goes on at once; wall and progress limits count on meanwhile.
 * Where 512 tasks of a worker wait in this way the next one that would fails with GW_ELIMIT. What
 * other threads of the task wait for keeps the slots. Tasks that it submits have the environment
 * and the folder of its own job, and come before what its job still has waiting. In a gang every
 * rank may have one, each for itself. NULL with GW_ECLOSED (the cluster is going away),
 * GW_ENOMEM, GW_EIO. With GANGWAY_INLINE=1 what it submits runs at once, on this thread. */
struct gw_client;
GW_API struct gw_client *gw_task_client(struct gw_task *task, struct gw_error *error);

/* gw_task_comm is the gang's communicator, of one rank in an ordinary task; borrowed, closed by the
 * runner. */
GW_API struct gw_comm *gw_task_comm(struct gw_task *task);

/* gw_task_actor, in the task that makes an actor (<gangway/actor.h>), gives it its state: what
 * every call of the actor gets from gw_task_state. Both run in one process, one after the other.
 * destroy (or NULL) is called with the state when the actor ends because nobody holds it any more,
 * and when this task fails after all; a process that is killed or crashes does not come to it.
 * GW_EINVAL in any other task. gw_task_state is NULL in a task that is no call of an actor, and
 * where none was given. */
GW_API int gw_task_actor(struct gw_task *task, void *state, void (*destroy)(void *state));
GW_API void *gw_task_state(const struct gw_task *task);

/* gw_task_step reports one step of training and asks what to do next. Collective: every rank calls
 * it at the same steps, and all get the same answer: GW_CONTINUE, GW_PAUSE (save a checkpoint and
 * return), GW_STOP, or an error. metric may be NULL; rank 0's value is the one reported.
 * A gentle cancel, a wall limit and the cluster's end ask for GW_STOP: a gang that answers within
 * its grace has time to save; what runs on is killed when the grace is over. */
GW_API int gw_task_step(struct gw_task *task, int64_t step, const char *metric, double value);

/* gw_task_progress tells how far the task is, from 0 to 1, and in words (text may be NULL; 200
 * bytes of it are kept): `gangway jobs` shows the latest of rank 0's. As a step and as output it is
 * a sign of life for options.progress_ns. Cheap: it may be called often. GW_EINVAL for what is no
 * fraction. */
GW_API int gw_task_progress(struct gw_task *task, double fraction, const char *text);

/* gw_task_checkpoint_dir is this task's own folder for checkpoints, which is there when it
 * returns; borrowed; NULL, with the task's error set, where there is none or it cannot be made. */
GW_API const char *gw_task_checkpoint_dir(struct gw_task *task);

/* gw_checkpoint_save writes `bytes` of state and the step as the task's checkpoint, from rank 0,
 * atomically; collective. GW_EIO where it cannot be written, a full disk say, with the path and the
 * reason, and how much room it takes: the one before stays; GW_ENOENT where there is no folder, and
 * of a gang what its communicator fails with. gw_checkpoint_load gives the newest
 * whole one to all ranks, one of the attempt before this one too, or, where there is none yet,
 * leaves state alone and sets *step to 0; GW_EMISMATCH when its size is another. A file that is
 * torn is told of on rank 0's stderr, and the one before it is taken; GW_ECORRUPT where that is
 * torn, too. Where hosts do not share the folder, the file is brought to rank 0's host before any
 * rank starts, and another host of the gang keeps a copy of the newest: it may be some steps
 * behind when the host that saved is lost, and step says so. Without one the gang starts from step
 * 0 then, and says so on rank 0's stderr and in `gangway story`. GW_ENOENT where it is not there
 * though nobody is known to be lost (another life of the scheduler). */
GW_API int gw_checkpoint_save(struct gw_task *task, const void *state, size_t bytes, int64_t step);
GW_API int gw_checkpoint_load(struct gw_task *task, void *state, size_t bytes, int64_t *step);

#ifdef __cplusplus
}
#endif

#endif
