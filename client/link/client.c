/* A client's creation and end, its errors, and how its threads wait.
 *
 * A task that waits for the cluster yields its slots to other tasks, but only if it has waited for
 * PATIENCE_NS: to yield the slots takes longer than a shorter wait. */
#include "client/link/client.h"

#include "graph/base/clock.h"
#include "worker/runner/task.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define PATIENCE_NS (300 * GW_NS_PER_US)

struct gw_client *gw_client_new(const char *name)
{
    struct gw_client *client = calloc(1, sizeof *client);
    char *copy = strdup(name);
    if (!client || !copy) {
        free(client);
        free(copy);
        return NULL;
    }
    client->name = copy;
    client->refs = 1;
    client->descriptor = -1;
    pthread_mutex_init(&client->lock, NULL);
    pthread_mutex_init(&client->start_lock, NULL);
    pthread_cond_init(&client->answered, NULL);
    pthread_condattr_t attributes;
    pthread_condattr_init(&attributes);
    pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
    pthread_cond_init(&client->changed, &attributes);
    pthread_condattr_destroy(&attributes);
    gw_reader_handoff_init(&client->turn);
    return client;
}

void gw_client_unref(struct gw_client *client)
{
    pthread_mutex_lock(&client->lock);
    bool last = --client->refs == 0;
    pthread_mutex_unlock(&client->lock);
    if (!last)
        return;
    gw_map_deinit(&client->calls);
    gw_map_deinit(&client->groups);
    gw_map_deinit(&client->named);
    gw_map_deinit(&client->ranges);
    gw_map_deinit(&client->streams);
    gw_program_free(client->program);
    gw_buffer_deinit(&client->env);
    free(client->home);
    pthread_mutex_destroy(&client->lock);
    pthread_mutex_destroy(&client->start_lock);
    pthread_cond_destroy(&client->answered);
    pthread_cond_destroy(&client->changed);
    gw_reader_handoff_deinit(&client->turn);
    free(client->name);
    free((void *)(uintptr_t)client->cluster_options.resources);
    free((void *)(uintptr_t)client->cluster_options.peers);
    free(client);
}

int gw_client_closed_error(const struct gw_client *client, struct gw_error *error)
{
    return gw_error_set(error, GW_ECLOSED,
                        client->forked ? GW_CLIENT_FORKED_TEXT : "the client was closed");
}

int gw_client_down_error(struct gw_client *client, struct gw_error *error)
{
    struct gw_error down;
    pthread_mutex_lock(&client->lock);
    /* After the connection has ended, its cause arrives a moment later. Wait for the cause. */
    while (!client->closed && !client->down.code && client->io && gw_io_life(client->io) == 0)
        pthread_cond_wait(&client->changed, &client->lock);
    down = client->down;
    pthread_mutex_unlock(&client->lock);
    if (client->closed)
        return gw_client_closed_error(client, error);
    if (down.code == 0)
        return gw_error_set(error, GW_ECLOSED,
                            "the connection to the scheduler was lost, and a new cluster runs at "
                            "its address: submit again");
    return gw_error_set(error, down.code, "%s", down.text);
}

void gw_client_prompt(struct gw_client *client)
{
    const struct gw_message nothing = {.type = GW_MESSAGE_release};
    (void)gw_io_put(client->io, &nothing,
                    -1); /* no scheduler receives it if the connection is down */
}

/* -- Waiting -------------------------------------------------------------------------------------
 */

static int next(struct gw_client *client, struct gw_waiter *waiter, uint64_t timeout_ns,
                size_t *item)
{
    return client && !client->inlined
               ? gw_reader_handoff_wait(&client->turn, waiter, timeout_ns, item)
               : gw_waiter_next(waiter, timeout_ns, item);
}

int gw_client_sleep(struct gw_client *client, struct gw_waiter *waiter, uint64_t timeout_ns,
                    size_t *item)
{
    const struct gw_task_hooks *hooks = client && client->task ? client->task->hooks : NULL;
    if (!hooks || timeout_ns <= PATIENCE_NS || !pthread_equal(pthread_self(), client->task_thread))
        return next(client, waiter, timeout_ns, item);
    int rc = next(client, waiter, PATIENCE_NS, item);
    if (rc != GW_ETIMEDOUT)
        return rc;
    hooks->blocked(hooks->arg, true);
    rc = next(client, waiter, timeout_ns == UINT64_MAX ? timeout_ns : timeout_ns - PATIENCE_NS,
              item);
    hooks->blocked(hooks->arg, false);
    return rc;
}

int gw_client_await_until(struct gw_client *client, uint64_t deadline_ns, uint32_t *life,
                          struct gw_error *error)
{
    const struct timespec until = {(time_t)(deadline_ns / GW_NS_PER_S),
                                   (long)(deadline_ns % GW_NS_PER_S)};
    int late = 0;
    pthread_mutex_lock(&client->lock);
    /* After the connection has ended, the callback on_close follows a moment later. Wait for it. */
    while (late != ETIMEDOUT && !client->closed &&
           (client->lost || (!client->down.code && gw_io_life(client->io) == 0)))
        late = pthread_cond_timedwait(&client->changed, &client->lock, &until);
    const struct gw_error down = client->down;
    bool closed = client->closed;
    if (life)
        *life = client->life;
    pthread_mutex_unlock(&client->lock);
    if (closed)
        return gw_client_closed_error(client, error);
    if (late == ETIMEDOUT)
        return gw_error_set(error, GW_ETIMEDOUT, "the client has not reconnected in time");
    return down.code ? gw_error_set(error, down.code, "%s", down.text) : 0;
}

int gw_client_await(struct gw_client *client, uint32_t *life, struct gw_error *error)
{
    return gw_client_await_until(client, GW_FOREVER, life, error);
}
