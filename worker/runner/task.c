/* Functions that a task function may call: arguments, result, identity, communicator and steps.
 *
 * Invariant: a function that returns an error has written a text for users to the task's error. */
#include "worker/runner/task.h"

#include "worker/runner/join.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

void gw_task_init(struct gw_task *task)
{
    memset(task, 0, sizeof *task);
    task->world = 1;
    gw_task_result_init(&task->result);
}

void gw_task_end_client(struct gw_task *task)
{
    if (task->client)
        task->client_end(task->client);
    task->client = NULL;
}

void gw_task_reset(struct gw_task *task)
{
    gw_task_end_client(task);
    gw_comm_close(task->comm);
    gw_value_unref(task->args);
    task->comm = NULL;
    task->args = NULL;
    task->function = NULL;
    task->actor = NULL;
    task->makes_actor = false;
    task->rank = task->local_rank = 0;
    task->world = 1;
    task->is_gpu_shared = false;
    task->error.code = 0;
    task->error.text[0] = '\0';
    task->checkpoint_dir[0] = '\0';
    task->attempt = task->checkpoint_from = 0;
    task->checkpoint_saved = task->checkpoint_lost = false;
    gw_task_result_clear(&task->result);
    gw_task_result_end_given(&task->result);
}

void gw_task_deinit(struct gw_task *task)
{
    gw_task_reset(task);
    gw_task_result_deinit(&task->result);
}

int gw_task_run(struct gw_task *task)
{
    task->answered = GW_CONTINUE;
    int rc = task->function->run(task);
    if (rc > 0 && rc != task->answered) /* a positive value means failure, as for main */
        rc = gw_error_set(&task->error, GW_ETASK,
                          "%s returned %d: a task function must return 0 for success or a negative "
                          "GW_E... code, as gw_task_fail does",
                          task->function->name, rc);
    if (rc >= 0)
        return 0;
    if (task->error.text[0] == '\0')
        (void)gw_error_set(&task->error, rc, "%s returned %d (%s: %s)", task->function->name, rc,
                           gw_error_name(rc), gw_error_text(rc));
    task->error.code = rc;
    return rc;
}

/* -- Arguments -----------------------------------------------------------------------------------
 */

uint32_t gw_task_arg_count(const struct gw_task *task)
{
    return (uint32_t)gw_value_count(task->args);
}

static int arg_at(struct gw_task *task, uint32_t i, struct gw_value **value)
{
    uint32_t count = gw_task_arg_count(task);
    if (i >= count) {
        (void)gw_error_set(&task->error, GW_EINVAL,
                           "%s: has %" PRIu32 " argument%s, wanted at least %" PRIu64,
                           task->function->name, count, count == 1 ? "" : "s", (uint64_t)i + 1);
        return GW_EINVAL;
    }
    *value = gw_value_at(task->args, i);
    return 0;
}

static int arg_wrong(struct gw_task *task, uint32_t i, const char *wanted)
{
    const struct gw_value *value = gw_value_at(task->args, i);
    enum gw_value_type type = gw_value_type(value);
    char shown[64];
    if (type == GW_F64) /* show the value of a number that is not an integer */
        (void)gw_value_format(value, shown, sizeof shown);
    else
        snprintf(shown, sizeof shown, "%s", gw_value_type_name(type));
    return gw_error_set(&task->error, GW_EINVAL, "%s: argument %" PRIu32 " is %s, wanted %s",
                        task->function->name, i, shown, wanted);
}

int gw_task_arg_bool(struct gw_task *task, uint32_t i, bool *b)
{
    struct gw_value *value;
    int rc = arg_at(task, i, &value);
    if (rc == 0 && gw_value_get_bool(value, b, NULL) < 0)
        rc = arg_wrong(task, i, gw_value_type_name(GW_BOOL));
    return rc;
}

int gw_task_arg_i64(struct gw_task *task, uint32_t i, int64_t *n)
{
    struct gw_value *value;
    int rc = arg_at(task, i, &value);
    if (rc == 0 && gw_value_get_i64(value, n, NULL) < 0)
        rc = arg_wrong(task, i, "a whole number");
    return rc;
}

int gw_task_arg_f64(struct gw_task *task, uint32_t i, double *d)
{
    struct gw_value *value;
    int rc = arg_at(task, i, &value);
    if (rc == 0 && gw_value_get_f64(value, d, NULL) < 0)
        rc = arg_wrong(task, i, "a number");
    return rc;
}

int gw_task_arg_str(struct gw_task *task, uint32_t i, const char **text)
{
    struct gw_value *value;
    int rc = arg_at(task, i, &value);
    if (rc == 0 && gw_value_get_str(value, text, NULL) < 0)
        rc = arg_wrong(task, i, gw_value_type_name(GW_STR));
    return rc;
}

int gw_task_arg_bytes(struct gw_task *task, uint32_t i, const void **data, size_t *bytes)
{
    struct gw_value *value;
    int rc = arg_at(task, i, &value);
    if (rc == 0 && gw_value_get_bytes(value, data, bytes, NULL) < 0)
        rc = arg_wrong(task, i, gw_value_type_name(GW_BYTES));
    return rc;
}

int gw_task_arg_value(struct gw_task *task, uint32_t i, struct gw_value **value)
{
    return arg_at(task, i, value);
}

/* -- Result --------------------------------------------------------------------------------------
 */

int gw_task_return(struct gw_task *task, struct gw_value *value)
{
    if (!value)
        return gw_error_set(&task->error, GW_ENOMEM, "%s: out of memory for its result",
                            task->function->name);
    int rc = gw_task_result_set(&task->result, value, &task->error);
    if (rc < 0)
        (void)gw_error_prefix(&task->error, "%s", task->function->name);
    gw_value_unref(value);
    return rc;
}

int gw_task_fail(struct gw_task *task, int code, const char *format, ...)
{
    va_list args;
    va_start(args, format);
    (void)gw_error_set_v(&task->error, code < 0 ? code : GW_ETASK, format, args);
    va_end(args);
    return task->error.code;
}

struct gw_error *gw_task_error(struct gw_task *task)
{
    return &task->error;
}

/* -- Actors --------------------------------------------------------------------------------------
 */

int gw_task_actor(struct gw_task *task, void *state, void (*destroy)(void *state))
{
    if (!task->makes_actor)
        return gw_error_set(
            &task->error, GW_EINVAL,
            "%s: only the task that creates an actor may call gw_task_actor (gw_actor_new)",
            task->function->name);
    gw_actor_let_go(task->actor); /* called twice: the first state is destroyed */
    task->actor->state = state;
    task->actor->destroy = destroy;
    return 0;
}

void *gw_task_state(const struct gw_task *task)
{
    return task->actor ? task->actor->state : NULL;
}

/* -- Identity ------------------------------------------------------------------------------------
 */

uint64_t gw_task_job(const struct gw_task *task)
{
    return task->job;
}

uint32_t gw_task_index(const struct gw_task *task)
{
    return task->index;
}

uint32_t gw_task_try(const struct gw_task *task)
{
    return task->try_number;
}

uint32_t gw_task_rank(const struct gw_task *task)
{
    return task->rank;
}

uint32_t gw_task_world(const struct gw_task *task)
{
    return task->world;
}

uint32_t gw_task_local_rank(const struct gw_task *task)
{
    return task->local_rank;
}

uint32_t gw_task_gpu_count(const struct gw_task *task)
{
    (void)task;
    return gw_join_gpu_count();
}

/* -- Ranks ---------------------------------------------------------------------------------------
 */

/* The runner opens the communicator of a gang. This function creates one for a single rank, on the
 * GPU if there is one. */
struct gw_comm *gw_task_comm(struct gw_task *task)
{
    int fd;
    if (task->comm || gw_comm_segment_create(1, &fd, &task->error) < 0)
        return task->comm;
    const struct gw_comm_host_options options =
        GW_INIT(gw_comm_host_options, .fd = fd, .rank = 0, .ranks = 1);
    if (gw_comm_open_host(&options, &task->comm, &task->error) == 0)
        gw_join_device(&task->comm);
    close(fd);
    return task->comm;
}

/* Broadcasts the decision of rank 0. Its step is sent, too: ranks at different steps are a bug of
 * the function that would otherwise become visible much later. */
static int agree(struct gw_task *task, int64_t step, int64_t *command)
{
    int64_t decided[2] = {*command, step};
    int rc = gw_comm_broadcast(
        task->comm, GW_COMM_ARGS(.recv = decided, .count = 2, .dtype = GW_DTYPE_I64, .root = 0),
        &task->error);
    if (rc < 0)
        return rc;
    if (decided[1] != step) {
        gw_comm_abort(task->comm, GW_EMISMATCH, (int)task->rank);
        return gw_error_set(&task->error, GW_EMISMATCH,
                            "%s: rank %" PRIu32 " is at step %" PRId64 ", rank 0 at %" PRId64
                            ": all ranks must report the same steps",
                            task->function->name, task->rank, step, decided[1]);
    }
    *command = decided[0];
    return 0;
}

int gw_task_progress(struct gw_task *task, double fraction, const char *text)
{
    if (!(fraction >= 0 && fraction <= 1))
        return gw_error_set(&task->error, GW_EINVAL, "%s: progress is %g, but must be from 0 to 1",
                            task->function->name, fraction);
    if (task->hooks)
        task->hooks->progress(task->hooks->arg, fraction, text);
    return 0;
}

int gw_task_step(struct gw_task *task, int64_t step, const char *metric, double value)
{
    int64_t command = GW_CONTINUE;
    if (task->hooks)
        task->hooks->alive(task->hooks->arg);
    if (task->rank == 0 && task->hooks) {
        if (metric)
            task->hooks->metric(task->hooks->arg, step, metric, value);
        command = task->hooks->control(task->hooks->arg);
    }
    if (task->world > 1) {
        int rc = agree(task, step, &command);
        if (rc < 0)
            return rc;
    }
    if (task->until_step && step >= 0 && (uint64_t)step >= task->until_step)
        command = GW_STOP; /* each rank knows it */
    task->answered = (int)command;
    return (int)command;
}
