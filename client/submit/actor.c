/* Actors: making and finding actors, and calling their methods.
 *
 * gw_result_of has no graph parameter, so it makes its references in a graph of the calling thread
 * (`refs`). The thread's next call takes that graph. A call without references is encoded without a
 * graph, which is faster. With GANGWAY_INLINE=1 the actor's state is in the handle, and calls run
 * on the caller's thread. */
#include <gangway/actor.h>

#include "client/link/session.h"
#include "client/results/actor_batch.h"
#include "client/results/deferred_accept.h"
#include "client/submit/large_args.h"
#include "client/submit/submit.h"
#include "graph/base/log.h"
#include "graph/base/options_read.h"
#include "graph/wire/codec.h"
#include "worker/runner/actor.h"

#include <gangway/gangway.h>
#include <stdlib.h>
#include <string.h>

struct gw_actor {
    uint32_t slots;                    /* that it holds in the cluster; 0: found, not made */
    struct gw_actor_batch calls;       /* calls.client is referenced */
    struct gw_actor_instance instance; /* the actor's state, with GANGWAY_INLINE=1 */
    struct gw_error dead; /* GANGWAY_INLINE=1: why the actor could not be made or was ended */
};

static _Thread_local struct gw_graph *refs; /* by gw_result_of, for the next call */

/* Serializes inline calls. The lock is recursive because a call may make other calls. */
static pthread_mutex_t inline_lock = PTHREAD_RECURSIVE_MUTEX_INITIALIZER_NP;

struct gw_value *gw_result_of(const struct gw_future *future)
{
    if (!refs)
        refs = gw_graph_new();
    return gw_result_future(refs, future);
}

static struct gw_graph *take_graph(void)
{
    struct gw_graph *graph = refs ? refs : gw_graph_new();
    refs = NULL;
    return graph;
}

/* `named` is true if gw_client_close has to wait until the actor's name is free. */
static struct gw_actor *handle_new(struct gw_client *client, uint64_t job, bool named)
{
    struct gw_actor *actor = calloc(1, sizeof *actor);
    if (!actor)
        return NULL;
    actor->calls.client = client;
    actor->calls.actor = job;
    pthread_mutex_lock(&client->lock);
    client->refs++;
    int rc = named && !client->inlined ? gw_map_put(&client->named, job, 1) : 0;
    pthread_mutex_unlock(&client->lock);
    if (rc < 0) {
        gw_actor_free(actor);
        return NULL;
    }
    return actor;
}

/* -- Inline --------------------------------------------------------------------------------------
 */

/* Runs the only task of a sealed graph on the actor and returns its future. `what` is GW_ACTOR_NEW
 * or the actor that is called. */
static int run_inline(struct gw_actor *actor, struct gw_graph_rows *rows, uint64_t what,
                      struct gw_future **future, struct gw_error *error)
{
    struct gw_client *client = actor->calls.client;
    struct gw_graph_spec spec = rows->specs[0];
    struct gw_future_group *group = NULL;
    spec.actor = what;
    rows->specs = &spec;
    pthread_mutex_lock(&inline_lock);
    struct gw_actor_instance *before = client->inline_on;
    client->inline_on = &actor->instance;
    int rc = gw_submit_one(client, rows, true, &group, error);
    client->inline_on = before;
    pthread_mutex_unlock(&inline_lock);
    if (rc == 0)
        *future = &group->futures[0];
    return rc;
}

static int new_inline(struct gw_actor *actor, struct gw_graph_rows *rows, struct gw_error *error)
{
    struct gw_future *future = NULL;
    struct gw_value *value;
    int rc = run_inline(actor, rows, GW_ACTOR_NEW, &future, error);
    if (rc < 0)
        return rc;
    if (gw_future_get(future, 0, &value, &actor->dead) == 0)
        gw_value_unref(value);
    gw_future_release(future);
    return 0;
}

static int call_inline(struct gw_actor *actor, struct gw_graph_rows *rows,
                       struct gw_future **future, struct gw_error *error)
{
    struct gw_future *made = NULL;
    if (actor->dead.code < 0)
        return gw_error_set(error, GW_EACTOR, "the actor has ended: %s", actor->dead.text);
    int rc = run_inline(actor, rows, actor->calls.actor, &made, error);
    if (rc == 0 && future)
        *future = made;
    else
        gw_future_release(made);
    return rc;
}

/* -- Making, finding and releasing actors -------------------------------------------------------
 */

static int submit(struct gw_client *client, struct gw_graph_rows *rows,
                  const struct gw_actor_options *options, uint64_t *job, struct gw_error *error)
{
    struct gw_graph_spec spec = rows->specs[0];
    struct gw_future_group *group = NULL;
    spec.actor = GW_ACTOR_NEW;
    spec.actor_name = options->name;
    spec.options.retries = options->restarts;
    rows->specs = &spec;
    int rc = gw_submit_one(client, rows, false, &group, error);
    if (rc < 0)
        return rc;
    *job = group->job;
    gw_future_group_drop(group);
    return 0;
}

/* Warns once if the actors of this client hold all slots of the cluster: other tasks wait for ever,
 * and a program that waits for such a task prints nothing. */
static void count_slots(struct gw_actor *actor, uint32_t slots)
{
    struct gw_client *client = actor->calls.client;
    struct gw_value *status;
    pthread_mutex_lock(&client->lock);
    actor->slots = slots;
    client->actor_slots += slots;
    const bool maybe = !client->full_told && client->actor_slots >= (uint64_t)client->slots_known;
    pthread_mutex_unlock(&client->lock);
    if (!maybe || gw_client_query(client, "status", NULL, &status, NULL) < 0)
        return;
    pthread_mutex_lock(&client->lock);
    (void)gw_value_get_i64(gw_value_find(status, "slots"), &client->slots_known, NULL);
    const int64_t all = client->slots_known;
    const bool full = all > 0 && client->actor_slots >= (uint64_t)all && !client->full_told;
    client->full_told = client->full_told || full;
    pthread_mutex_unlock(&client->lock);
    gw_value_unref(status);
    if (full)
        gw_log_plain(
            GW_LOG_WARN, "warning: ",
            "the actors of this program hold all slots of the cluster (%lld): other tasks "
            "wait until an actor ends. A larger cluster (`gangway up --slots N`, or .slots "
            "in gw_client_options) runs them",
            (long long)all);
}

int gw_actor_new_call(struct gw_client *client, const struct gw_function *function,
                      const struct gw_actor_options *given, struct gw_value **values, size_t count,
                      struct gw_actor **out, struct gw_error *error)
{
    struct gw_actor_options read = GW_INIT(gw_actor_options);
    const struct gw_actor_options *options = &read;
    struct gw_graph *graph = take_graph();
    struct gw_graph_rows rows;
    uint64_t job = UINT64_MAX - 1;
    int read_rc = GW_OPTIONS_READ(&read, given, gw_actor_options, error);
    (void)gw_graph_call(graph, function, options->task, values, count);
    int rc = read_rc < 0 ? read_rc : gw_graph_rows_seal(graph, &rows, error);
    const uint32_t slots = rc == 0 ? rows.specs[0].options.slots : 0;
    if (rc == 0 && (rows.specs[0].options.ranks > 0 || options->restarts > UINT8_MAX))
        rc = gw_error_set(error, GW_EINVAL,
                          "an actor is one process (`ranks` must be 0), with at most 255 restarts");
    if (rc == 0 && options->name && !*options->name)
        rc = gw_error_set(error, GW_EINVAL,
                          "the name of the actor is empty: give it one, or NULL for none");
    if (rc == 0 && !client->inlined)
        rc = submit(client, &rows, options, &job, error);
    struct gw_actor *actor = rc == 0 ? handle_new(client, job, options->name != NULL) : NULL;
    if (rc == 0 && !actor)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc == 0 && client->inlined)
        rc = new_inline(actor, &rows, error);
    if (rc == 0 && !client->inlined)
        count_slots(actor, slots ? slots : 1);
    gw_graph_free(graph);
    if (rc == 0)
        *out = actor;
    else
        gw_actor_free(actor);
    return rc;
}

int gw_actor_find(struct gw_client *client, const char *name, uint64_t job, struct gw_actor **out,
                  struct gw_error *error)
{
    struct gw_message message = {.type = GW_MESSAGE_actor_hold,
                                 .actor_hold = {.actor = name ? 0 : job, .name = name ? name : ""}};
    struct gw_rpc call;
    if ((name && !*name) || (!name && !job))
        return gw_error_set(error, GW_EINVAL,
                            "it is not said which actor: give its name or its job");
    int rc = gw_session_need(client, error);
    if (rc == 0)
        rc = gw_session_ship(
            client,
            error); /* the actor's calls run functions of this program, so workers need it */
    if (rc < 0)
        return rc;
    rc = gw_session_ask(client, &call, &message, &message.actor_hold.request, UINT64_MAX, error);
    struct gw_actor *actor = rc == 0 ? handle_new(client, call.number, true) : NULL;
    gw_rpc_close(&call, client);
    if (rc == 0 && !actor)
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc == 0)
        *out = actor;
    return rc;
}

uint64_t gw_actor_job(const struct gw_actor *actor)
{
    return actor->calls.actor;
}

int gw_actor_kill(struct gw_actor *actor, struct gw_error *error)
{
    struct gw_client *client = actor->calls.client;
    if (client->inlined) {
        gw_error_set(&actor->dead, GW_EACTOR, "it was cancelled");
        return 0;
    }
    pthread_mutex_lock(&client->lock);
    gw_actor_batch_flush(client);
    struct gw_message message = {
        .type = GW_MESSAGE_cancel,
        .cancel = {.request = ++client->last_request,
                   .job = actor->calls.actor,
                   .index = GW_INDEX_ALL},
    };
    int rc = client->closed || !client->io ? GW_ECLOSED : gw_io_put(client->io, &message, -1);
    pthread_mutex_unlock(&client->lock);
    return rc == GW_ECLOSED ? gw_client_down_error(client, error)
           : rc < 0         ? gw_error_set(error, rc, "%s", gw_error_text(rc))
                            : 0;
}

void gw_actor_free(struct gw_actor *actor)
{
    if (!actor)
        return;
    struct gw_client *client = actor->calls.client;
    pthread_mutex_lock(&client->lock);
    client->actor_slots -= actor->slots;
    gw_actor_batch_flush(client); /* sends the calls of all actors, so that this actor is in no list
                                     of waiting calls */
    bool down = client->closed || client->down.code || !client->io;
    if (!down && !client->inlined)
        gw_io_put(client->io,
                  &(struct gw_message){.type = GW_MESSAGE_actor_release,
                                       .actor_release = {.actor = actor->calls.actor}},
                  -1);
    pthread_mutex_unlock(&client->lock);
    if (down)
        gw_deferred_accepts_closed(client);
    if (client->inlined)
        gw_actor_let_go(&actor->instance);
    gw_actor_batch_deinit(&actor->calls);
    free(actor);
    gw_client_unref(client);
}

/* -- Calling -------------------------------------------------------------------------------------
 */

/* Scatters large arguments of the call, and adds its task to the actor's batch. */
static int add_row(struct gw_actor *actor, struct gw_actor_batch_row *row,
                   struct gw_future **future, struct gw_error *error)
{
    struct gw_large_args spill = {0};
    if (row->row.args_bytes <= GW_LARGE_ARGS_BYTES)
        return gw_actor_batch_add(&actor->calls, row, future, error);
    int rc = gw_large_args_init(&spill, actor->calls.client, &row->row, error);
    if (rc == 0 && gw_chunk_row_bytes(&spill.row) > GW_CHUNK_BYTES)
        rc = gw_error_set(error, GW_ELIMIT,
                          "the arguments of the call that are sent with it exceed 512 KiB in "
                          "total: pass large values by gw_scatter");
    row->row = spill.row;
    row->scattered = spill.jobs.items;
    row->scattered_count = (uint32_t)spill.jobs.count;
    if (rc == 0)
        rc = gw_actor_batch_add(&actor->calls, row, future, error);
    gw_large_args_deinit(&spill);
    return rc;
}

/* Makes a call whose arguments hold no references: encodes the list of values directly. */
static int call_plain(struct gw_actor *actor, struct gw_actor_batch_row *row,
                      struct gw_value **values, size_t count, struct gw_future **future,
                      struct gw_error *error)
{
    struct gw_buffer args = {0};
    uint8_t head[3] = {0xdc, (uint8_t)(count >> 8), (uint8_t)count};
    if (count < 16)
        head[0] = (uint8_t)(0x90 | count);
    int rc = gw_buffer_append(&args, head, count < 16 ? 1 : 3);
    for (size_t i = 0; i < count && rc == 0; i++) {
        rc = values[i] ? gw_codec_encode(values[i], NULL, &args) : GW_ENOMEM;
        if (rc < 0)
            gw_error_set(error, rc, "%s: argument %zu: %s", row->spec.function->name, i,
                         rc == GW_EINVAL ? "a reference (use gw_result_of), or nested too deeply"
                                         : gw_error_text(rc));
    }
    row->row.args = args.data;
    row->row.args_bytes = args.size;
    if (rc == 0)
        rc = add_row(actor, row, future, error);
    gw_buffer_deinit(&args);
    for (size_t i = 0; i < count; i++)
        gw_value_unref(values[i]);
    return rc;
}

static int call_graph(struct gw_actor *actor, struct gw_actor_batch_row *row,
                      struct gw_value **values, size_t count, struct gw_future **future,
                      struct gw_error *error)
{
    struct gw_graph *graph = take_graph();
    struct gw_graph_rows rows;
    (void)gw_graph_call(graph, row->spec.function, NULL, values, count);
    int rc = gw_graph_rows_seal(graph, &rows, error);
    if (rc == 0 && actor->calls.client->inlined) {
        rc = call_inline(actor, &rows, future, error);
    } else if (rc == 0) {
        row->row.args = rows.args + rows.args_at[0];
        row->row.args_bytes = rows.args_at[1] - rows.args_at[0];
        row->row.dep_job = rows.dep_job;
        row->row.dep_index = rows.dep_row;
        row->row.dep_rank = rows.dep_rank;
        row->row.dep_count = rows.deps_at[1] - rows.deps_at[0];
        rc = add_row(actor, row, future, error);
    }
    gw_graph_free(graph);
    return rc;
}

int gw_actor_make_call(struct gw_actor *actor, const struct gw_function *method,
                       const struct gw_task_options *given, struct gw_value **values, size_t count,
                       struct gw_future **future, struct gw_error *error)
{
    struct gw_actor_batch_row row = {.spec = {.function = method}};
    struct gw_task_options options;
    int rc = GW_OPTIONS_READ(&options, given, gw_task_options, error);
    if (rc == 0) {
        row.spec.retries = options.retries;
        row.spec.priority = options.priority;
        row.spec.time_limit_ns = options.time_limit_ns;
        row.spec.inactivity_timeout_ns =
            options.inactivity_timeout_ns == GW_FOREVER ? 0 : options.inactivity_timeout_ns;
        row.row.name = options.name;
    }
    if (rc == 0 && !gw_function_find(method->name))
        rc = gw_error_set(
            error, GW_ENOENT,
            "this program has no task \"%s\": GW_TASK(%s) must be in it, at file scope",
            method->name, method->name);
    else if (rc == 0 && count > UINT16_MAX)
        rc =
            gw_error_set(error, GW_EINVAL,
                         "%s: the call has %zu arguments, and %d is the most: put them into a list",
                         method->name, count, UINT16_MAX);
    if (rc == 0 && (refs || actor->calls.client->inlined))
        return call_graph(actor, &row, values, count, future, error);
    if (rc == 0)
        return call_plain(actor, &row, values, count, future, error);
    for (size_t i = 0; i < count; i++)
        gw_value_unref(values[i]);
    return rc;
}
