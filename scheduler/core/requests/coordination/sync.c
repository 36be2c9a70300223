/* Coordination objects: the parts that all kinds (gw_sync_kinds) share.
 *
 * Invariants: every request is answered exactly once, either immediately, or when the object can
 * serve it, its timeout expires or the object is deleted. When a session ends, its waits and leases
 * end. Waiting requests are served in the order of their arrival. This state is not in the journal
 * and is lost with the scheduler, as sessions are. */
#include "scheduler/core/requests/coordination/sync.h"

#include "graph/base/text.h"
#include "scheduler/core/model/jobs/actor.h"
#include "scheduler/core/model/jobs/job.h"
#include "scheduler/core/send/send.h"

#include <assert.h>
#include <gangway/value.h>
#include <stdarg.h>
#include <stdio.h>

/* -- Names ------------------------------------------------------------------------------------ */

const char *const gw_sync_kinds[] = {
    [GW_SYNC_SEMAPHORE] = "semaphore", [GW_SYNC_LOCK] = "lock",   [GW_SYNC_EVENT] = "event",
    [GW_SYNC_VARIABLE] = "variable",   [GW_SYNC_QUEUE] = "queue",
};

enum { HOLDERS_SAID_MAX = 3 };

struct gw_sync *gw_sync_make(struct gw_sched *sched, struct gw_session *session,
                             const struct gw_msg_sync *message, uint32_t count)
{
    uint32_t uid = session->remote->uid;
    uint64_t names = 0;
    struct gw_sync *sync = gw_sync_find(sched, uid, message->kind, message->name);
    if (sync)
        return sync;
    (void)gw_map_get(&sched->sync_names, uid, &names);
    if (names >= GW_SYNC_NAMES_MAX) {
        gw_sync_refuse(sched, session, message->request, GW_ELIMIT,
                       "%d semaphores, events, variables and queues exist, the limit: `gangway "
                       "sync list` shows them, `gangway sync delete` or gw_sync_delete removes one",
                       GW_SYNC_NAMES_MAX);
        return NULL;
    }
    gw_sched_sync_open(sched, uid, message->kind, count, message->name);
    return gw_sync_find(sched, uid, message->kind, message->name);
}

void gw_sync_tidy(struct gw_sched *sched, struct gw_sync *sync)
{
    bool used = sync->waiters[0].count > 0 || sync->held > 0 || sync->set || sync->version > 0;
    if (sync->kind != GW_SYNC_SEMAPHORE && sync->kind != GW_SYNC_QUEUE && !used)
        gw_sched_sync_delete(sched, sync);
}

/* -- Answers ---------------------------------------------------------------------------------- */

void gw_sync_answer(struct gw_sched *sched, struct gw_session *session, uint64_t request,
                    uint64_t number, struct gw_bin value)
{
    struct gw_bin copy = value.size ? gw_sched_send_bin(sched, value) : (struct gw_bin){"", 0};
    struct gw_msg_synced *synced =
        &gw_sched_send(sched, session->remote, GW_MESSAGE_synced)->synced;
    synced->request = request;
    synced->text = "";
    synced->number = number;
    synced->value = copy;
}

void gw_sync_refuse(struct gw_sched *sched, struct gw_session *session, uint64_t request, int code,
                    const char *format, ...)
{
    struct gw_error error;
    va_list args;
    va_start(args, format);
    (void)gw_error_set_v(&error, code, format, args);
    va_end(args);
    struct gw_msg_synced *synced =
        &gw_sched_send(sched, session->remote, GW_MESSAGE_synced)->synced;
    synced->request = request;
    synced->code = code;
    synced->text = gw_sched_send_text(sched, error.text);
}

/* -- Waiting requests ------------------------------------------------------------------------- */

void gw_sync_wait(struct gw_sched *sched, struct gw_sync *sync, struct gw_session *session,
                  const struct gw_msg_sync *message,
                  void (*serve)(struct gw_sched *sched, struct gw_sync *sync))
{
    bool put = message->verb == GW_SYNC_PUT;
    uint64_t timeout_ns = message->timeout_ns;
    uint64_t deadline_ns =
        timeout_ns > UINT64_MAX - sched->now_ns ? UINT64_MAX : sched->now_ns + timeout_ns;
    uint64_t request = message->request;
    if (sync->waiters[put].count >= GW_SYNC_WAITERS_MAX) {
        gw_sync_refuse(sched, session, request, GW_ELIMIT,
                       "%s %s: %d requests wait for it, the limit", gw_sync_kinds[sync->kind],
                       sync->name, GW_SYNC_WAITERS_MAX);
        return;
    }
    gw_sched_sync_wait(sched,
                       &(struct gw_sync_waiter){.sync = sync,
                                                .session = session,
                                                .request = request,
                                                .number = message->number,
                                                .deadline_ns = deadline_ns,
                                                .put = put},
                       message->value);
    struct gw_sync_waiter *waiter = sync->waiters[put].last;
    serve(sched, sync);
    /* If the request was not served, it is still the last of its list. */
    if (timeout_ns == 0 && sync->waiters[put].last == waiter && waiter->session == session &&
        waiter->request == request) {
        gw_sync_refuse(sched, session, request, GW_ETIMEDOUT,
                       "%s %s: it is not available at the moment", gw_sync_kinds[sync->kind],
                       sync->name);
        gw_sync_leave(sched, waiter);
    }
    gw_sync_tidy(sched, sync);
}

void gw_sync_leave(struct gw_sched *sched, struct gw_sync_waiter *waiter)
{
    gw_sched_sync_leave(sched, waiter);
}

/* -- Timeouts --------------------------------------------------------------------------------- */

uint64_t gw_sync_deadline_ns(const struct gw_sched *sched)
{
    return sched->sync_deadlines.count ? sched->sync_deadlines.items[0]->deadline_ns : UINT64_MAX;
}

/* -- Listings and explanations ---------------------------------------------------------------- */

static void set(struct gw_value *dict, const char *key, struct gw_value *value)
{
    GW_MUST(gw_dict_set(dict, key, value));
}

/* Describes the holder of a lease, for example "train (task 0 of job 3) x 2". */
static void say_holder(const struct gw_sched *sched, const struct gw_sync_lease *lease,
                       struct gw_text *text)
{
    const struct gw_session *session = lease->session;
    gw_text_say(text, "%.200s", session->remote->name);
    if (session->attempt != GW_NO_INDEX) {
        const struct gw_attempt *attempt = &sched->attempts.items[session->attempt];
        gw_text_say(text, " (task %u of job %llu)", attempt->index,
                    (unsigned long long)attempt->job->id);
    }
    if (lease->count > 1)
        gw_text_say(text, " x %u", lease->count);
}

static struct gw_value *describe_holders(const struct gw_sched *sched, const struct gw_sync *sync)
{
    struct gw_value *list = gw_list();
    for (const struct gw_sync_lease *lease = sync->leases; lease; lease = lease->next) {
        char name[512];
        struct gw_text text = {name, sizeof name, 0};
        say_holder(sched, lease, &text);
        GW_MUST(gw_list_push(list, gw_str(name)));
    }
    return list;
}

void gw_sync_explain(const struct gw_sched *sched, const struct gw_sync_waiter *waiter,
                     struct gw_text *text)
{
    const struct gw_sync *sync = waiter->sync;
    uint32_t holders = 0;
    gw_text_say(text, "%s%s %s", waiter->put ? "room in " : "", gw_sync_kinds[sync->kind],
                sync->name);
    switch (sync->kind) {
    case GW_SYNC_EVENT:
        gw_text_say(text, ", which nobody has set");
        break;
    case GW_SYNC_VARIABLE:
        if (sync->version)
            gw_text_say(text, " to be set again (it has version %llu)",
                        (unsigned long long)sync->version);
        else
            gw_text_say(text, ", which nobody has set");
        break;
    case GW_SYNC_QUEUE:
        gw_text_say(text, " (it has %u of %u values)", sync->filled, sync->count);
        break;
    default:
        gw_text_say(text, " (%u of %u held", sync->held, sync->count);
        for (const struct gw_sync_lease *lease = sync->leases; lease; lease = lease->next)
            if (holders++ < HOLDERS_SAID_MAX) {
                gw_text_say(text, "%s ", holders == 1 ? " by" : ",");
                say_holder(sched, lease, text);
            }
        if (holders > HOLDERS_SAID_MAX)
            gw_text_say(text, " and %u more", holders - HOLDERS_SAID_MAX);
        gw_text_say(text, ")");
    }
}

struct gw_value *gw_sync_query(const struct gw_sched *sched)
{
    struct gw_value *list = gw_list();
    for (const struct gw_sync *sync = sched->first_sync; sync; sync = sync->next) {
        struct gw_value *dict = gw_dict();
        char state[64] = "";
        if (sync->kind == GW_SYNC_EVENT)
            (void)snprintf(state, sizeof state, "%s", sync->set ? "set" : "cleared");
        else if (sync->kind == GW_SYNC_VARIABLE)
            (void)snprintf(state, sizeof state, "version %llu", (unsigned long long)sync->version);
        else if (sync->kind == GW_SYNC_QUEUE)
            (void)snprintf(state, sizeof state, "%u of %u%s", sync->filled, sync->count,
                           sync->closed ? ", closed" : "");
        else
            (void)snprintf(state, sizeof state, "%u of %u held", sync->held, sync->count);
        set(dict, "kind", gw_str(gw_sync_kinds[sync->kind]));
        set(dict, "name", gw_str(sync->name));
        if (sync->job)
            set(dict, "job", gw_i64((int64_t)sync->job));
        set(dict, "state", gw_str(state));
        struct gw_value *holders = describe_holders(sched, sync);
        if (gw_value_count(holders))
            set(dict, "holder", gw_value_ref(gw_value_at(holders, 0)));
        set(dict, "holders", holders);
        if (sync->held > 0)
            set(dict, "fence", gw_i64((int64_t)sync->fence));
        set(dict, "waiting", gw_i64((int64_t)sync->waiters[0].count + sync->waiters[1].count));
        set(dict, "bytes", gw_i64((int64_t)sync->bytes));
        GW_MUST(gw_list_push(list, dict));
    }
    return list;
}

/* -- Invariants ------------------------------------------------------------------------------- */

static bool session_lives(const struct gw_sched *sched, const struct gw_session *session)
{
    for (const struct gw_session *at = sched->sessions; at; at = at->next)
        if (at == session)
            return true;
    return false;
}

static void check_line(const struct gw_sched *sched, const struct gw_sync *sync, int put,
                       uint64_t *bytes)
{
    uint32_t count = 0;
    const struct gw_sync_waiter *before = NULL;
    for (const struct gw_sync_waiter *at = sync->waiters[put].first; at;
         before = at, at = at->next) {
        assert(at->sync == sync && at->put == put && at->prev == before);
        assert(session_lives(sched, at->session));
        assert((at->heap_at == GW_NO_INDEX) == (at->deadline_ns == UINT64_MAX));
        assert(at->heap_at == GW_NO_INDEX || sched->sync_deadlines.items[at->heap_at] == at);
        *bytes += at->size;
        count++;
    }
    assert(sync->waiters[put].last == before && sync->waiters[put].count == count);
}

static void check_one(const struct gw_sched *sched, const struct gw_sync *sync)
{
    uint64_t waiting = 0, bytes = sync->value.size;
    uint32_t held = 0;
    bool waits = sync->waiters[0].first != NULL;
    check_line(sched, sync, 0, &waiting);
    check_line(sched, sync, 1, &waiting);
    for (const struct gw_sync_lease *lease = sync->leases; lease; lease = lease->next) {
        assert(session_lives(sched, lease->session) && lease->count > 0);
        held += lease->count;
    }
    for (uint32_t i = 0; i < sync->filled; i++)
        bytes += sync->items.items[(sync->first + i) % sync->items.count].size;
    assert(held == sync->held && bytes == sync->bytes && waiting == sync->waiting_bytes);
    switch (sync->kind) {
    case GW_SYNC_EVENT:
        assert(!sync->set || !waits);
        break;
    case GW_SYNC_QUEUE:
        assert(!waits || (sync->filled == 0 && !sync->closed));
        assert(!sync->waiters[1].first || (sync->filled > 0 && !sync->closed));
        break;
    case GW_SYNC_VARIABLE:
        assert(!waits || sync->version == 0 || sync->waiters[0].first->number == sync->version);
        break;
    default:
        assert(sync->held <= sync->count && (!waits || sync->held == sync->count));
    }
}

/* The names of a job end with it, and the job counts them. */
static void check_job(const struct gw_sched *sched, const struct gw_sync *sync)
{
    const struct gw_job *job = gw_sched_job_find(sched, sync->job);
    uint32_t count = 0;
    assert(job && job->state != GW_JOB_ENDED && job->uid == sync->uid);
    for (const struct gw_sync *at = sched->first_sync; at; at = at->next)
        count += at->job == sync->job;
    for (const struct gw_actor *at = sched->actors; at; at = at->next)
        count += at->owner == sync->job;
    assert(count == job->names);
}

void gw_sync_check(const struct gw_sched *sched)
{
    uint64_t bytes = 0;
    size_t count = 0;
    for (const struct gw_sync *sync = sched->first_sync; sync; sync = sync->next, count++) {
        check_one(sched, sync);
        if (sync->job)
            check_job(sched, sync);
        bytes += sync->bytes + sync->waiting_bytes;
    }
    assert(count == sched->syncs.count && bytes == sched->sync_bytes);
    for (size_t i = 1; i < sched->sync_deadlines.count; i++)
        assert(sched->sync_deadlines.items[(i - 1) / 2]->deadline_ns <=
               sched->sync_deadlines.items[i]->deadline_ns);
}
