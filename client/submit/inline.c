/* GANGWAY_INLINE=1: runs a graph in this process. The rows are in topological order: every
 * dependency comes before the tasks that need it.
 *
 * Retries and the pauses between them are as on a cluster. Resources and priorities have no effect,
 * because tasks run one after the other. Time limits have no effect, so that a user can stop a task
 * in a debugger. */
#include "client/submit/inline.h"

#include "client/deploy/address.h"
#include "client/submit/inline_folder.h"
#include "graph/base/clock.h"
#include "graph/base/dir.h"
#include "graph/base/user_dir.h"
#include "graph/wire/codec.h"
#include "worker/runner/runner.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define BACKOFF_NS_MAX (300 * GW_NS_PER_S) /* the scheduler's limit */

/* Environment variable with the checkpoint folder. Runners read it. */
#define CHECKPOINTS "GANGWAY_CHECKPOINTS"

int gw_inline_open(struct gw_client *client, struct gw_error *error)
{
    char dir[PATH_MAX], path[PATH_MAX + 32];
    if (getenv(CHECKPOINTS))
        return 0;
    int rc = gw_user_dir_runtime(dir, error);
    if (rc < 0)
        return rc;
    snprintf(path, sizeof path, "%s/inline-%d", dir, (int)getpid());
    rc = gw_dir_make(path, error);
    if (rc == 0 && (!(client->inline_dir = strdup(path)) || setenv(CHECKPOINTS, path, 1) < 0))
        rc = gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc < 0)
        gw_inline_close(client);
    return rc;
}

void gw_inline_close(struct gw_client *client)
{
    if (!client->inline_dir)
        return;
    unsetenv(CHECKPOINTS);
    gw_dir_remove(client->inline_dir, NULL);
    free(client->inline_dir);
    client->inline_dir = NULL;
}

/* Result or failure of one row. */
struct outcome {
    struct gw_value **values; /* one value for each rank; NULL if the row failed */
    struct gw_failure *failure;
};

struct run {
    struct gw_client *client;
    const struct gw_graph_rows *rows;
    uint64_t job;
    struct outcome *outcomes; /* one for each row */
};

static uint32_t world_of(const struct gw_graph_rows *rows, uint32_t row)
{
    uint32_t ranks = rows->specs[rows->spec[row]].options.ranks;
    return ranks ? ranks : 1;
}

/* Returns the value of task `index` of an earlier submission `job`, if the caller still holds a
 * future of the task. Otherwise it returns NULL and sets *error. */
static struct gw_value *earlier(struct gw_client *client, uint64_t job, uint32_t index,
                                struct gw_error *error)
{
    uint64_t found;
    struct gw_future *future = NULL;
    struct gw_value *value = NULL;
    pthread_mutex_lock(&client->lock);
    struct gw_future_group *group = gw_map_get(&client->groups, job, &found)
                                        ? (struct gw_future_group *)(uintptr_t)found
                                        : NULL;
    for (uint32_t i = 0; group && i < group->count; i++)
        if (!group->futures[i].released && (group->rows ? group->rows[i] : i) == index)
            future = &group->futures[i];
    pthread_mutex_unlock(&client->lock);
    if (!future)
        gw_error_set(error, GW_ENOENT,
                     "an input of the task is a future that was released (gw_future_release)");
    else if (gw_future_get(future, 0, &value, error) < 0)
        gw_error_prefix(error, "a task before it failed");
    return value;
}

static struct gw_value *all_ranks(const struct outcome *outcome, uint32_t world)
{
    struct gw_value *list = gw_list();
    for (uint32_t i = 0; i < world && list; i++) {
        if (gw_list_push(list, gw_value_ref(outcome->values[i])) < 0) {
            gw_value_unref(list);
            list = NULL;
        }
    }
    return list;
}

/* Collects the values that a task depends on in `deps`. If a dependency has failed, it sets the
 * failure of the task and returns false. */
static bool resolve(struct run *run, uint32_t row, struct gw_value **deps)
{
    const struct gw_graph_rows *rows = run->rows;
    struct outcome *own = &run->outcomes[row];
    uint32_t first = rows->deps_at[row], count = rows->deps_at[row + 1] - first;
    for (uint32_t k = 0; k < count; k++) {
        uint32_t index = rows->dep_row[first + k], rank = rows->dep_rank[first + k];
        if (rows->dep_job[first + k]) {
            struct gw_error why;
            deps[k] = earlier(run->client, rows->dep_job[first + k], index, &why);
            if (!deps[k])
                own->failure = gw_value_slot_failure_new(GW_EDEPENDENCY, 0, 0, why.text);
        } else if (run->outcomes[index].failure) {
            struct gw_error error = {0};
            gw_error_set(&error, GW_EDEPENDENCY, "a task that it depends on failed: %s",
                         run->outcomes[index].failure->text);
            own->failure = gw_value_slot_failure_new(GW_EDEPENDENCY, 0, 0, error.text);
        } else if (rank == GW_DEP_ALL) {
            deps[k] = all_ranks(&run->outcomes[index], world_of(rows, index));
        } else if (rank != GW_DEP_AFTER) {
            deps[k] = rank < world_of(rows, index) ? gw_value_ref(run->outcomes[index].values[rank])
                                                   : NULL;
            if (!deps[k])
                own->failure = gw_value_slot_failure_new(
                    GW_EDEPENDENCY, 0, 0, "it takes the result of a rank that does not exist");
        }
    }
    return !own->failure;
}

static void wait_ns(uint64_t ns)
{
    struct timespec left = {(time_t)(ns / GW_NS_PER_S), (long)(ns % GW_NS_PER_S)};
    while (nanosleep(&left, &left) < 0 && errno == EINTR)
        ;
}

/* Calls the function. If it fails, calls it again up to options->retries times, with a growing
 * pause before each retry. */
static int call_again(const struct gw_runner_call *call, const struct gw_task_options *options,
                      struct gw_value **values, struct gw_error *error)
{
    struct gw_runner_call again = *call;
    uint64_t pause_ns = options->backoff_ns;
    int rc = gw_runner_call(&again, values, error);
    while (rc < 0 && again.try_number < options->retries) {
        pause_ns = pause_ns > BACKOFF_NS_MAX ? BACKOFF_NS_MAX : pause_ns;
        wait_ns(pause_ns);
        pause_ns *= 2;
        again.try_number++;
        rc = gw_runner_call(&again, values, error);
    }
    return rc;
}

static int run_row(struct run *run, uint32_t row, struct gw_error *error)
{
    const struct gw_graph_rows *rows = run->rows;
    const struct gw_graph_spec *spec = &rows->specs[rows->spec[row]];
    struct outcome *outcome = &run->outcomes[row];
    uint32_t dep_count = rows->deps_at[row + 1] - rows->deps_at[row];
    uint32_t world = world_of(rows, row);
    struct gw_value **deps = calloc(dep_count + 1, sizeof *deps);
    struct gw_value *args = NULL;
    struct gw_error failed = {0};

    outcome->values = calloc(world, sizeof *outcome->values);
    int rc = deps && outcome->values ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    if (rc == 0)
        rc = gw_codec_decode(rows->args + rows->args_at[row],
                             rows->args_at[row + 1] - rows->args_at[row], NULL, &args, error);
    if (rc == 0 && resolve(run, row, deps)) {
        const struct gw_runner_call call = {
            .function = spec->function,
            .args = args,
            .deps = deps,
            .dep_count = dep_count,
            .ranks = spec->options.ranks,
            .job = run->job,
            .index = row,
            .actor = spec->actor ? run->client->inline_on : NULL,
            .makes_actor = spec->actor == GW_ACTOR_NEW,
            .until_step = spec->options.until_step,
        };
        struct gw_inline_folder folder;
        rc = gw_inline_folder_open(spec->options.files, &folder, error);
        if (rc == 0 && call_again(&call, &spec->options, outcome->values, &failed) < 0)
            outcome->failure = gw_value_slot_failure_new(GW_ETASK, 0, 0, failed.text);
        gw_inline_folder_close(&folder);
    }
    if (rc == 0 && outcome->failure) {
        free(outcome->values);
        outcome->values = NULL;
    }
    gw_value_unref(args);
    for (uint32_t k = 0; deps && k < dep_count; k++)
        gw_value_unref(deps[k]);
    free(deps);
    return rc;
}

/* Copies the values and failures of the tasks to the futures of the group. */
static void settle(struct run *run, struct gw_future_group *group)
{
    pthread_mutex_lock(&run->client->lock);
    for (uint32_t i = 0; i < group->count; i++) {
        uint32_t row = group->rows[i];
        const struct outcome *outcome = &run->outcomes[row];
        group->futures[i].ranks = run->rows->specs[run->rows->spec[row]].options.ranks;
        if (outcome->failure)
            gw_future_group_set_failure(
                &group->futures[i],
                gw_value_slot_failure_new(outcome->failure->code, 0, 0, outcome->failure->text));
        for (uint32_t rank = 0; !outcome->failure && rank < world_of(run->rows, row); rank++)
            gw_future_group_set_value(&group->futures[i], rank,
                                      &(struct gw_landing){.value = outcome->values[rank]});
    }
    pthread_mutex_unlock(&run->client->lock);
}

static void run_deinit(struct run *run)
{
    for (uint32_t i = 0; run->outcomes && i < run->rows->count; i++) {
        for (uint32_t rank = 0; run->outcomes[i].values && rank < world_of(run->rows, i); rank++)
            gw_value_unref(run->outcomes[i].values[rank]);
        free(run->outcomes[i].values);
        free(run->outcomes[i].failure);
    }
    free(run->outcomes);
}

/* Whether the task has files and would need several folders (a gang) or a folder that stays after
 * the call (an actor). */
static bool has_folders(const struct gw_graph_spec *spec)
{
    return spec->options.files && spec->options.files[0] &&
           (spec->options.ranks > 1 || spec->actor);
}

int gw_inline_submit(struct gw_client *client, const struct gw_graph_rows *rows,
                     const uint32_t *target_rows, uint32_t target_count,
                     struct gw_future_group **out, struct gw_error *error)
{
    for (uint32_t i = 0; i < rows->spec_count; i++)
        if (rows->specs[i].kind != GW_SPEC_FUNCTION)
            return gw_error_set(
                error, GW_ENOTSUP,
                "GANGWAY_INLINE=1 runs task functions only: unset it to run commands");
        else if (rows->specs[i].options.workers && !rows->specs[i].options.workers_prefer)
            return gw_error_set(error, GW_ENOTSUP,
                                "GANGWAY_INLINE=1 runs tasks in this process, not on worker %s",
                                rows->specs[i].options.workers);
        else if (has_folders(&rows->specs[i]))
            return gw_error_set(
                error, GW_ENOTSUP,
                "GANGWAY_INLINE=1 runs tasks in this process, which has one working folder: %s "
                "cannot be shipped to an actor, or a gang of %u ranks",
                rows->specs[i].options.files[0], rows->specs[i].options.ranks);
    pthread_mutex_lock(&client->lock);
    uint64_t request = ++client->last_request;
    pthread_mutex_unlock(&client->lock);
    struct run run = {client, rows, request, calloc(rows->count, sizeof *run.outcomes)};
    struct gw_future_group *group = gw_future_group_new(client, request, target_rows, target_count);
    int rc = run.outcomes && group ? 0 : gw_error_set(error, GW_ENOMEM, "out of memory");
    if (group)
        group->job = request;
    for (uint32_t row = 0; row < rows->count && rc == 0; row++)
        rc = run_row(&run, row, error);
    if (rc == 0)
        settle(&run, group);
    run_deinit(&run);
    if (rc == 0)
        *out = group;
    else if (group)
        gw_future_group_drop(group);
    return rc;
}
