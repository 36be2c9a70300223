/* Reconnects a client whose scheduler has disappeared. The work runs on a separate thread, which
 * starts when the connection is lost for the first time.
 *
 * While client->lost is set, client->down is set too: new requests fail or wait, and only the
 * reconnect thread sends messages over the new connection. restore() clears both when it has
 * submitted all unfinished work again. */
#include "client/submit/reconnect.h"

#include "client/deploy/address.h"
#include "client/link/descriptor.h"
#include "client/link/session.h"
#include "client/results/future_group.h"
#include "graph/base/clock.h"
#include "graph/base/text.h"
#include "graph/base/thread.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { ANSWER_TIMEOUT_S = 10, PAUSE_MS_MIN = 20, PAUSE_MS_MAX = 1000 };

struct gw_reconnect {
    struct gw_client *client;
    pthread_t thread;
    bool started;
    pthread_mutex_t saying; /* a thread holds this lock while it submits again, so only one thread
                               does this at a time: the reconnect thread, or a caller of
                               gw_reconnect_revive */
    uint64_t for_ns;
};

/* -- Submitting again ----------------------------------------------------------------------------
 */

struct again {
    struct gw_client *client;
    uint32_t life;
    bool lost; /* the reconnect thread runs this: client->down is expected, and no other thread
                  sends messages */
    struct gw_error *error;
};

/* Marks the inputs of needed submissions as needed too, transitively. Inputs come before the
 * submissions that take them, so one pass from the end is enough. */
static void spread(struct gw_resubmit_log *const *records, size_t count)
{
    for (size_t i = count; i-- > 0;) {
        struct gw_resubmit_log **input;
        if (!records[i]->needed)
            continue;
        GW_ARRAY_EACH (&records[i]->inputs, input)
            (*input)->needed = true;
    }
}

static int expect(const struct again *again, struct gw_rpc *call)
{
    struct gw_client *client = again->client;
    pthread_mutex_lock(&client->lock);
    bool gone = client->closed || (client->down.code && !again->lost);
    int rc = gone ? GW_ECLOSED : gw_map_put(&client->calls, call->request, (uintptr_t)call);
    pthread_mutex_unlock(&client->lock);
    return rc;
}

/* The scheduler refused the submission: its pending futures fail with the reason. */
static void fail_record(struct gw_resubmit_log *record, const struct gw_error *why)
{
    struct gw_error error;
    (void)gw_error_set(&error, why->code,
                       "submitted again, because the connection to the scheduler was lost: %s",
                       why->text);
    pthread_mutex_lock(&record->client->lock);
    if (record->group)
        gw_future_group_fail_pending(record->group, &error);
    pthread_mutex_unlock(&record->client->lock);
}

static int say(const struct again *again, struct gw_resubmit_log *record)
{
    struct gw_client *client = again->client;
    struct gw_rpc call;
    struct gw_error why = {0};
    if (record->said++ == GW_RESUBMIT_LOG_SAID_MAX) {
        (void)gw_error_set(&why, GW_ECLOSED,
                           "it was submitted %d times, which is the most, and each time the "
                           "connection was lost again",
                           GW_RESUBMIT_LOG_SAID_MAX);
        fail_record(record, &why);
        record->cut = true;
        return 0;
    }
    gw_rpc_open(&call, client);
    call.request = record->request;
    int rc = expect(again, &call);
    if (rc == 0)
        rc = gw_resubmit_log_say(record, again->life);
    if (rc == GW_ENOENT)
        (void)gw_error_set(&why, rc, "a result that the job takes is not stored any more");
    if (rc == 0)
        rc = gw_rpc_wait(&call, client, UINT64_MAX, &why);
    if (rc == 0) {
        pthread_mutex_lock(&client->lock);
        if (gw_io_life(client->io) != again->life)
            rc = GW_ECLOSED;
        else
            gw_resubmit_log_accept(record, call.number);
        if (rc == 0 && record->group)
            record->group->job = call.number;
        pthread_mutex_unlock(&client->lock);
    }
    gw_rpc_close(&call, client);
    if (rc < 0 && rc != GW_ECLOSED && rc != GW_ENOMEM) {
        fail_record(record, &why);
        rc = 0;
    }
    return rc;
}

/* Submits all needed records again that have not been submitted on this connection. */
static int say_all(const struct again *again, struct gw_resubmit_log *const *records, size_t count)
{
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        if (records[i]->needed && records[i]->life != again->life && !records[i]->cut)
            rc = say(again, records[i]);
    return rc;
}

struct held {
    struct gw_resubmit_log *record;
    struct gw_io *io;
};

static void release_unheld(uint32_t row, void *arg)
{
    const struct held *held = arg;
    struct gw_resubmit_log *record = held->record;
    if (record->group ? !gw_future_group_holds(record->group, row) : !record->held)
        (void)gw_io_release(held->io, record->job, row);
}

/* Releases the tasks that no future holds any more. Until now these results were kept, because
 * submissions that follow take them. The client's lock is held. */
static void release_all(const struct again *again, struct gw_resubmit_log *const *records,
                        size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (records[i]->needed && records[i]->life == again->life)
            gw_resubmit_log_targets(records[i], release_unheld,
                                    &(struct held){records[i], again->client->io});
}

static void let_go(struct gw_resubmit_log **records, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        records[i]->needed = false;
        gw_resubmit_log_unref(records[i]);
    }
    free(records);
}

/* Submits again everything that a caller still waits for or may still fetch, with its inputs. If
 * this succeeds, it sets client->lost to false. */
static int restore(const struct again *again)
{
    struct gw_client *client = again->client;
    struct gw_resubmit_log **records;
    size_t count;
    pthread_mutex_lock(&client->lock);
    client->life = again->life;
    int rc = gw_resubmit_log_list(client, &records, &count);
    for (size_t i = 0; i < count && rc == 0; i++)
        records[i]->needed =
            records[i]->held || (records[i]->group && gw_future_group_waits(records[i]->group));
    if (rc == 0)
        spread(records, count);
    pthread_mutex_unlock(&client->lock);
    if (rc < 0)
        return rc;
    rc = say_all(again, records, count);
    pthread_mutex_lock(&client->lock);
    if (rc == 0 && gw_io_life(client->io) != again->life)
        rc = GW_ECLOSED;
    if (rc == 0) {
        release_all(again, records, count);
        client->down.code = 0;
        client->lost = false;
        client->unproven = (struct gw_error){0};
        pthread_cond_broadcast(&client->changed);
    }
    let_go(records, count);
    pthread_mutex_unlock(&client->lock);
    return rc;
}

int gw_reconnect_revive(struct gw_resubmit_log *record, struct gw_error *error)
{
    struct gw_client *client = record->client;
    struct gw_reconnect *reconnect = client->reconnect;
    struct gw_resubmit_log **records, **input;
    bool stale = false;
    size_t count;
    pthread_mutex_lock(&client->lock);
    GW_ARRAY_EACH (&record->inputs, input)
        stale = stale || (*input)->life != client->life;
    pthread_mutex_unlock(&client->lock);
    if (!stale)
        return 0;
    pthread_mutex_lock(&reconnect->saying);
    pthread_mutex_lock(&client->lock);
    const struct again again = {.client = client, .life = client->life};
    int rc = gw_resubmit_log_list(client, &records, &count);
    GW_ARRAY_EACH (&record->inputs, input)
        (*input)->needed = rc == 0;
    if (rc == 0)
        spread(records, count);
    pthread_mutex_unlock(&client->lock);
    if (rc == 0) {
        rc = say_all(&again, records, count);
        pthread_mutex_lock(&client->lock);
        let_go(records, count);
        pthread_mutex_unlock(&client->lock);
    }
    pthread_mutex_unlock(&reconnect->saying);
    return rc < 0 ? gw_error_set(error, rc, "%s", gw_error_text(rc)) : 0;
}

/* -- Connecting to the next scheduler ------------------------------------------------------------
 */

static int connect_home(struct gw_client *client, struct gw_error *error)
{
    struct gw_io_socket socket = {.fd = -1};
    int rc = client->home_tcp ? gw_address_connect_tcp(client->home, &socket.transport, error)
                              : gw_address_connect(client->home, &socket.fd, error);
    if (rc == 0)
        gw_io_reopen(client->io, &socket);
    return rc;
}

/* Sends a request over the new connection and waits for the answer. */
static int ask(const struct again *again, uint64_t request, const struct gw_message *message)
{
    struct gw_client *client = again->client;
    struct gw_rpc call;
    gw_rpc_open(&call, client);
    call.request = request;
    int rc = expect(again, &call);
    if (rc == 0)
        rc = gw_io_put_in(client->io, (struct gw_io_manner){.life = again->life}, message, -1);
    if (rc == 0)
        rc = gw_rpc_wait(&call, client, ANSWER_TIMEOUT_S * GW_NS_PER_S, again->error);
    gw_rpc_close(&call, client);
    return rc;
}

static int greet(const struct again *again)
{
    const struct gw_message hello = gw_session_hello(again->client);
    const struct gw_program *program = again->client->program_ready ? again->client->program : NULL;
    int rc = ask(again, GW_REQUEST_HELLO, &hello);
    if (rc < 0 || !program)
        return rc;
    const struct gw_message message = gw_session_program(program);
    return ask(again, GW_REQUEST_PROGRAM, &message);
}

/* Tries once to connect to a scheduler and to submit everything again. After GW_ENOSCHEDULER,
 * GW_ECLOSED, GW_ETIMEDOUT or GW_EIO the caller may try again. */
static int return_home(struct gw_client *client, struct gw_error *error)
{
    int rc = connect_home(client, error);
    if (rc < 0)
        return rc;
    struct again again = {
        .client = client, .life = gw_io_life(client->io), .lost = true, .error = error};
    rc = again.life ? greet(&again) : GW_ECLOSED;
    pthread_mutex_lock(&client->reconnect->saying);
    if (rc == 0)
        rc = restore(&again);
    pthread_mutex_unlock(&client->reconnect->saying);
    return rc;
}

static bool is_worth_another(const struct gw_client *client, int rc)
{
    return client->refused.code == 0 &&
           (rc == GW_ENOSCHEDULER || rc == GW_ECLOSED || rc == GW_ETIMEDOUT || rc == GW_EIO);
}

/* Waits for pause_ms, or until the client is closed. The caller holds the client's lock; the wait
 * releases it. */
static void pause_for(struct gw_reconnect *reconnect, uint64_t pause_ms)
{
    struct timespec until;
    clock_gettime(CLOCK_MONOTONIC, &until);
    until.tv_nsec += (long)(pause_ms * GW_NS_PER_MS);
    until.tv_sec += until.tv_nsec / (long)GW_NS_PER_S;
    until.tv_nsec %= (long)GW_NS_PER_S;
    while (!reconnect->client->closed &&
           pthread_cond_timedwait(&reconnect->client->changed, &reconnect->client->lock, &until) ==
               0)
        continue;
}

/* Ends the search for a scheduler: pending futures and requests fail. The client's lock is held. */
static void give_up(struct gw_reconnect *reconnect, int rc, const struct gw_error *why)
{
    struct gw_client *client = reconnect->client;
    char time[GW_TEXT_DURATION_ROOM];
    if (client->closed)
        (void)gw_error_set(&client->down, GW_ECLOSED, "the client was closed");
    else if (is_worth_another(client, rc))
        (void)gw_error_set(&client->down, GW_ECLOSED,
                           "the connection to the scheduler was lost, and no scheduler was back "
                           "within %s%s%s%s",
                           gw_text_duration(reconnect->for_ns, time),
                           client->unproven.code ? ": " : "", client->unproven.text,
                           client->unproven.code
                               ? " before it had proven that it is the scheduler: the token was "
                                 "revoked meanwhile, or another program answers there"
                               : "");
    else if (client->refused.code)
        client->down = client->refused;
    else
        (void)gw_error_set(&client->down, rc, "%s",
                           why->code == rc ? why->text : gw_error_text(rc));
    client->lost = false;
    gw_waiter_hold();
    gw_future_group_fail_all(client, true);
    gw_rpc_fail_all(client);
    gw_descriptor_signal(client);
    pthread_cond_broadcast(&client->changed);
}

/* Tries to reconnect until it succeeds, reconnect->for_ns have passed, or the error is permanent.
 * The caller holds the client's lock; the function releases it while it connects. */
static void look(struct gw_reconnect *reconnect)
{
    struct gw_client *client = reconnect->client;
    const uint64_t deadline_ns = gw_clock_deadline_ns(reconnect->for_ns);
    uint64_t pause_ms = PAUSE_MS_MIN;
    struct gw_error why = {0};
    int rc = GW_ECLOSED;
    while (!client->closed) {
        pthread_mutex_unlock(&client->lock);
        rc = return_home(client, &why);
        pthread_mutex_lock(&client->lock);
        if (rc == 0)
            return;
        if (!is_worth_another(client, rc) || gw_clock_now_ns() > deadline_ns)
            break;
        pause_for(reconnect, pause_ms);
        pause_ms = pause_ms * 2 < PAUSE_MS_MAX ? pause_ms * 2 : PAUSE_MS_MAX;
    }
    give_up(reconnect, rc, &why);
    pthread_mutex_unlock(&client->lock);
    gw_waiter_ring();
    pthread_mutex_lock(&client->lock);
}

static void *reconnect_thread(void *arg)
{
    struct gw_reconnect *reconnect = arg;
    struct gw_client *client = reconnect->client;
    pthread_mutex_lock(&client->lock);
    while (!client->closed) {
        if (client->lost)
            look(reconnect);
        else
            pthread_cond_wait(&client->changed, &client->lock);
    }
    if (client->lost)
        give_up(reconnect, GW_ECLOSED, NULL);
    pthread_mutex_unlock(&client->lock);
    gw_waiter_ring();
    return NULL;
}

/* -- Interface to the client ---------------------------------------------------------------------
 */

int gw_reconnect_open(struct gw_client *client, const char *home, bool tcp, uint64_t reconnect_ns)
{
    struct gw_reconnect *reconnect = calloc(1, sizeof *reconnect);
    char *copy = strdup(home);
    if (!reconnect || !copy) {
        free(reconnect);
        free(copy);
        return GW_ENOMEM;
    }
    reconnect->client = client;
    reconnect->for_ns = reconnect_ns;
    pthread_mutex_init(&reconnect->saying, NULL);
    pthread_mutex_lock(&client->lock);
    client->reconnect = reconnect;
    client->home = copy;
    client->home_tcp = tcp;
    client->life = 1;
    pthread_mutex_unlock(&client->lock);
    return 0;
}

void gw_reconnect_stop(struct gw_client *client)
{
    struct gw_reconnect *reconnect = client->reconnect;
    if (!reconnect)
        return;
    pthread_mutex_lock(&client->lock);
    if (client->lost)
        gw_rpc_fail_all(
            client); /* also fails a request of the reconnect thread, so that this thread ends */
    pthread_cond_broadcast(&client->changed);
    bool started = reconnect->started;
    pthread_mutex_unlock(&client->lock);
    if (started)
        pthread_join(reconnect->thread, NULL);
}

void gw_reconnect_close(struct gw_client *client)
{
    struct gw_reconnect *reconnect = client->reconnect;
    if (!reconnect)
        return;
    pthread_mutex_destroy(&reconnect->saying);
    free(reconnect);
    client->reconnect = NULL;
}

bool gw_reconnect_lost(struct gw_client *client)
{
    pthread_cond_broadcast(&client->changed);
    if (!client->reconnect || client->closed || client->down.code != GW_ECLOSED ||
        client->refused.code)
        return false;
    if (!client->reconnect->started &&
        gw_thread_start(&client->reconnect->thread, reconnect_thread, client->reconnect) != 0)
        return false;
    client->reconnect->started = client->lost = true;
    return true;
}
