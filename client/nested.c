/* Clients inside tasks.
 *
 * The worker gives the task a connection on which hello was already sent. The scheduler already has
 * the program. Submitted tasks get the environment of the task's job, so that they can run in the
 * same runners. gw_client_sleep in client.c yields the task's slots while it waits. */
#include "client/fork.h"
#include "client/incoming.h"
#include "client/link/session.h"
#include "client/open.h"
#include "client/submit/inline.h"
#include "graph/base/clock.h"
#include "worker/runner/task.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#define LINK_TIMEOUT_NS (10 * GW_NS_PER_S)
#define LINK_AGAIN_NS (5 * GW_NS_PER_MS)

/* Asks the worker for a connection, and tries again while it answers GW_EAGAIN. The scheduler
 * accepts connections one at a time, and may be busy with a large graph. */
static int get_link(struct gw_task *task, struct gw_task_link *link, struct gw_error *error)
{
    uint64_t deadline_ns = gw_clock_now_ns() + LINK_TIMEOUT_NS;
    int rc;
    while ((rc = task->hooks->link(task->hooks->arg, link, error)) == GW_EAGAIN &&
           gw_clock_now_ns() < deadline_ns)
        nanosleep(&(struct timespec){.tv_nsec = LINK_AGAIN_NS}, NULL);
    return rc;
}

/* Makes the client's program from its hash alone: the scheduler already has the files, because the
 * task runs. */
static int adopt_program(struct gw_client *client, const struct gw_task_link *link)
{
    if (link->program_bytes != GW_HASH_BYTES)
        return GW_EPROTO;
    client->program = calloc(1, sizeof *client->program);
    if (!client->program)
        return GW_ENOMEM;
    memcpy(client->program->hash, link->program, GW_HASH_BYTES);
    client->program_ready = true;
    return gw_buffer_append(&client->env, link->env, link->env_bytes);
}

static int connect_task(struct gw_client *client, struct gw_task *task, struct gw_error *error)
{
    struct gw_task_link link = {.fd = -1};
    int rc = get_link(task, &link, error);
    if (rc < 0)
        return rc;
    client->slots = UINT32_MAX;
    rc = adopt_program(client, &link);
    if (rc < 0) {
        close(link.fd);
        gw_error_set(error, rc, "%s", gw_error_text(rc));
    } else {
        rc = gw_session_connect(client, &(struct gw_io_socket){.fd = link.fd}, false, error);
    }
    free(link.program);
    free(link.env);
    return rc;
}

struct gw_client *gw_task_client(struct gw_task *task, struct gw_error *error)
{
    char name[64];
    if (task->client)
        return task->client;
    snprintf(name, sizeof name, "task %" PRIu32 " of job %" PRIu64, task->index, task->job);
    struct gw_client *client = gw_client_new(name);
    if (!client) {
        gw_error_set(error, GW_ENOMEM, "out of memory");
        return NULL;
    }
    gw_incoming_open(client);
    client->inlined = !task->hooks;
    int rc = client->inlined ? gw_inline_open(client, error) : connect_task(client, task, error);
    if (rc < 0) {
        gw_client_unref(client);
        return NULL;
    }
    if (!client->inlined)
        gw_fork_watch(client);
    client->task = task;
    client->task_thread = pthread_self();
    task->client = client;
    task->client_end = gw_open_undo;
    return client;
}
