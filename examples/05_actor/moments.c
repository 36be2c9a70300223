/* An actor that keeps running statistics, fed by many tasks.
 *
 *     moments [TASKS]
 *
 * Each task draws numbers and gives (count, mean, sum of squared differences); the actor merges
 * them, one after the other, and is asked for the result at the end. */
#include <gangway/gangway.h>

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

enum { DRAWS = 100000, TASKS_MAX = 100000 };

struct moments {
    double count, mean, squares;
};

/* Chan's rule: the moments of two sets together. */
static void merge(struct moments *into, const struct moments *from)
{
    double count = into->count + from->count, apart = from->mean - into->mean;
    if (count == 0)
        return;
    into->squares += from->squares + apart * apart * into->count * from->count / count;
    into->mean += apart * from->count / count;
    into->count = count;
}

static int give(struct gw_task *task, const struct moments *moments)
{
    return gw_task_return(task, gw_bytes_copy(moments, sizeof *moments));
}

/* (seed): the moments of DRAWS numbers between 0 and 1. */
static int sample(struct gw_task *task)
{
    int64_t seed;
    struct moments moments = {0};
    if (gw_task_arg_i64(task, 0, &seed) < 0)
        return GW_EINVAL;
    uint64_t state = (uint64_t)seed * UINT64_C(0x9e3779b97f4a7c15) + 1;
    for (int i = 0; i < DRAWS; i++) {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        struct moments one = {1, (double)(state >> 11) / (double)(UINT64_C(1) << 53), 0};
        merge(&moments, &one);
    }
    return give(task, &moments);
}
GW_TASK(sample);

/* Makes the actor: what it keeps is in this process until nobody holds it. */
static int keeper(struct gw_task *task)
{
    struct moments *moments = calloc(1, sizeof *moments);
    return moments ? gw_task_actor(task, moments, free) : GW_ENOMEM;
}
GW_TASK(keeper);

/* (moments): merges them into what it has. */
static int keeper_add(struct gw_task *task)
{
    const void *data;
    size_t bytes;
    if (gw_task_arg_bytes(task, 0, &data, &bytes) < 0)
        return GW_EINVAL;
    if (bytes != sizeof(struct moments))
        return gw_task_fail(task, GW_EINVAL, "moments have %zu bytes", sizeof(struct moments));
    merge(gw_task_state(task), data);
    return 0;
}
GW_TASK(keeper_add);

static int keeper_get(struct gw_task *task)
{
    return give(task, gw_task_state(task));
}
GW_TASK(keeper_get);

static int seed_of(size_t i, struct gw_value **args, void *arg)
{
    (void)arg;
    args[0] = gw_i64((int64_t)i);
    return args[0] ? 0 : GW_ENOMEM;
}

static int run(struct gw_client *client, size_t tasks, struct moments *moments,
               struct gw_error *error)
{
    struct gw_actor *actor;
    struct gw_future *result;
    struct gw_value *value;
    struct gw_future **samples = calloc(tasks, sizeof(struct gw_future *));
    if (!samples)
        return gw_error_set(error, GW_ENOMEM, "out of memory");
    int rc = gw_actor_new(client, keeper, NULL, GW_ARGS(), &actor, error);
    if (rc < 0)
        goto fail;
    rc = gw_map(client,
                GW_MAP_CALL(.function = GW_FUNCTION(sample), .count = tasks, .arg_count = 1,
                            .make_args = seed_of),
                samples, error);
    for (size_t i = 0; i < tasks && rc == 0;
         i++) /* leaves at once, runs when the sample is there */
        rc = gw_actor_call(actor, keeper_add, NULL, GW_ARGS(gw_result_of(samples[i])), NULL, error);
    if (rc == 0)
        rc = gw_actor_call(actor, keeper_get, NULL, GW_ARGS(), &result, error);
    if (rc == 0) {
        const void *data;
        size_t bytes;
        rc = gw_future_get(result, 0, &value, error);
        if (rc == 0 && (rc = gw_value_get_bytes(value, &data, &bytes, error)) == 0)
            *moments = *(const struct moments *)data;
        if (rc == 0)
            gw_value_unref(value);
        gw_future_release(result);
    }
    for (size_t i = 0; i < tasks; i++)
        gw_future_release(samples[i]);
    gw_actor_free(actor);
fail:
    free(samples);
    return rc;
}

int main(int argc, char **argv)
{
    gw_init(&argc, &argv);
    struct gw_client *client;
    struct gw_error error;
    struct moments moments = {0};
    size_t tasks = argc > 1 ? strtoul(argv[1], NULL, 10) : 200;
    if (tasks < 1 || tasks > TASKS_MAX) {
        fprintf(stderr, "usage: moments [TASKS], 1 to %d\n", TASKS_MAX);
        return 2;
    }
    int rc = gw_client_open(NULL, &client, &error);
    if (rc < 0)
        gw_error_exit(&error);
    rc = run(client, tasks, &moments, &error);
    gw_client_close(client);
    if (rc < 0)
        gw_error_exit(&error);
    printf("%.0f numbers from %zu tasks: mean %.5f, deviation %.5f\n", moments.count, tasks,
           moments.mean, sqrt(moments.squares / moments.count));
    return 0;
}
