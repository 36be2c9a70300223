/* Coordination: what all gw_sync_kinds share.
 *
 * What always holds: every request is answered once, at once or when what it waits for is there,
 * its time is over, or the thing was deleted; a session that ends waits for nothing and holds
 * nothing. Lines are served in order. Everything here is soft: it goes with the scheduler, as
 * sessions do. */
#include "scheduler/core/requests/coordination/sync.h"

#include "graph/base/text.h"
#include "scheduler/core/send/effect.h"

#include <assert.h>
#include <gangway/value.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* -- Names ---------------------------------------------------------------------------------------
 */

const char *const gw_sync_kinds[] = {
    [GW_SYNC_SEMAPHORE] = "semaphore", [GW_SYNC_LOCK] = "lock",   [GW_SYNC_EVENT] = "event",
    [GW_SYNC_VARIABLE] = "variable",   [GW_SYNC_QUEUE] = "queue",
};

enum { KEY_BYTES = GW_SYNC_NAME_BYTES_MAX + 32, HOLDERS_SAID_MAX = 3 };

static const char *key_of(char key[KEY_BYTES], uint32_t uid, uint32_t kind, const char *name)
{
    (void)snprintf(key, KEY_BYTES, "%u %u %s", uid, kind, name);
    return key;
}

struct gw_sync *gw_sync_find(const struct gw_sched *sched, uint32_t uid, uint32_t kind,
                             const char *name)
{
    char key[KEY_BYTES];
    uint64_t value;
    return gw_strmap_get(&sched->syncs, key_of(key, uid, kind, name), &value)
               ? (struct gw_sync *)(uintptr_t)value
               : NULL;
}

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
                       "%d semaphores, events, variables and queues are there already: `gangway "
                       "sync list` shows them, `gangway sync delete` or gw_sync_delete removes one",
                       GW_SYNC_NAMES_MAX);
        return NULL;
    }
    GW_FACT(sched, sync_opened, .uid = uid, .kind = message->kind, .name = message->name,
            .count = count);
    return gw_sync_find(sched, uid, message->kind, message->name);
}

void gw_sched_apply_sync_opened(struct gw_sched *sched, const struct gw_fact_sync_opened *fact)
{
    char key[KEY_BYTES];
    uint64_t names = 0;
    struct gw_sync *sync = calloc(1, sizeof *sync);
    GW_MUST_PTR(sync);
    sync->kind = fact->kind;
    sync->uid = fact->uid;
    sync->count = fact->count;
    sync->name = strdup(fact->name);
    GW_MUST_PTR(sync->name);
    sync->prev = sched->last_sync;
    *(sync->prev ? &sync->prev->next : &sched->first_sync) = sync;
    sched->last_sync = sync;
    (void)gw_map_get(&sched->sync_names, fact->uid, &names);
    GW_MUST(gw_map_put(&sched->sync_names, fact->uid, names + 1));
    GW_MUST(gw_strmap_put(&sched->syncs, key_of(key, fact->uid, fact->kind, fact->name),
                          (uintptr_t)sync));
}

static void sync_free(struct gw_sched *sched, struct gw_sync *sync);

void gw_sched_apply_sync_deleted(struct gw_sched *sched, const struct gw_fact_sync_deleted *fact)
{
    char key[KEY_BYTES];
    uint64_t names = 1;
    struct gw_sync *sync = fact->sync;
    (void)gw_strmap_remove(&sched->syncs, key_of(key, sync->uid, sync->kind, sync->name));
    (void)gw_map_get(&sched->sync_names, sync->uid, &names);
    if (names > 1)
        GW_MUST(gw_map_put(&sched->sync_names, sync->uid, names - 1));
    else
        (void)gw_map_remove(&sched->sync_names, sync->uid);
    *(sync->prev ? &sync->prev->next : &sched->first_sync) = sync->next;
    *(sync->next ? &sync->next->prev : &sched->last_sync) = sync->prev;
    sync_free(sched, sync);
}

void gw_sync_tidy(struct gw_sched *sched, struct gw_sync *sync)
{
    bool used = sync->waiters[0].count > 0 || sync->held > 0 || sync->set || sync->version > 0;
    if (sync->kind != GW_SYNC_SEMAPHORE && sync->kind != GW_SYNC_QUEUE && !used)
        GW_FACT(sched, sync_deleted, .sync = sync);
}

/* -- Answers -------------------------------------------------------------------------------------
 */

void gw_sync_answer(struct gw_sched *sched, struct gw_session *session, uint64_t request,
                    uint64_t number, struct gw_bin value)
{
    struct gw_bin copy = value.size ? gw_sched_bin(sched, value) : (struct gw_bin){"", 0};
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
    synced->text = gw_sched_text(sched, error.text);
}

/* -- Lines ---------------------------------------------------------------------------------------
 */

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
        gw_sync_refuse(sched, session, request, GW_ELIMIT, "%s %s: %d wait for it already",
                       gw_sync_kinds[sync->kind], sync->name, GW_SYNC_WAITERS_MAX);
        return;
    }
    GW_FACT(sched, sync_waiting, .sync = sync, .session = session, .request = request,
            .number = message->number, .deadline_ns = deadline_ns, .put = put,
            .value = message->value);
    struct gw_sync_waiter *waiter = sync->waiters[put].last;
    serve(sched, sync);
    /* It is the last of its line if it is still there. */
    if (timeout_ns == 0 && sync->waiters[put].last == waiter && waiter->session == session &&
        waiter->request == request) {
        gw_sync_refuse(sched, session, request, GW_ETIMEDOUT, "%s %s: not at the moment",
                       gw_sync_kinds[sync->kind], sync->name);
        gw_sync_leave(sched, waiter);
    }
    gw_sync_tidy(sched, sync);
}

static void heap_set(struct gw_sched *sched, uint32_t at, struct gw_sync_waiter *waiter)
{
    sched->sync_deadlines.items[at] = waiter;
    waiter->heap_at = at;
}

static void heap_up(struct gw_sched *sched, uint32_t at)
{
    struct gw_sync_waiter *waiter = sched->sync_deadlines.items[at];
    for (; at > 0; at = (at - 1) / 2) {
        struct gw_sync_waiter *parent = sched->sync_deadlines.items[(at - 1) / 2];
        if (parent->deadline_ns <= waiter->deadline_ns)
            break;
        heap_set(sched, at, parent);
    }
    heap_set(sched, at, waiter);
}

static void heap_down(struct gw_sched *sched, uint32_t at)
{
    struct gw_sync_waiter *waiter = sched->sync_deadlines.items[at];
    uint32_t count = (uint32_t)sched->sync_deadlines.count;
    for (uint32_t child; (child = at * 2 + 1) < count; at = child) {
        struct gw_sync_waiter **items = sched->sync_deadlines.items;
        if (child + 1 < count && items[child + 1]->deadline_ns < items[child]->deadline_ns)
            child++;
        if (waiter->deadline_ns <= items[child]->deadline_ns)
            break;
        heap_set(sched, at, items[child]);
    }
    heap_set(sched, at, waiter);
}

static void heap_remove(struct gw_sched *sched, const struct gw_sync_waiter *waiter)
{
    uint32_t at = waiter->heap_at;
    struct gw_sync_waiter *last = sched->sync_deadlines.items[--sched->sync_deadlines.count];
    if (last == waiter)
        return;
    heap_set(sched, at, last);
    heap_up(sched, at);
    heap_down(sched, last->heap_at);
}

void gw_sched_apply_sync_waiting(struct gw_sched *sched, const struct gw_fact_sync_waiting *fact)
{
    struct gw_sync_waiter *waiter = calloc(1, sizeof *waiter);
    GW_MUST_PTR(waiter);
    struct gw_sync_waiters *line = &fact->sync->waiters[fact->put];
    *waiter = (struct gw_sync_waiter){
        .sync = fact->sync,
        .session = fact->session,
        .request = fact->request,
        .number = fact->number,
        .deadline_ns = fact->deadline_ns,
        .put = fact->put,
        .size = fact->put ? fact->value.size : 0,
        .heap_at = GW_NONE,
        .prev = line->last,
        .session_next = fact->session->sync_waiters,
    };
    if (waiter->size) {
        waiter->value = malloc(waiter->size);
        GW_MUST_PTR(waiter->value);
        memcpy(waiter->value, fact->value.data, waiter->size);
        fact->sync->waiting_bytes += waiter->size;
        sched->sync_bytes += waiter->size;
    }
    *(line->last ? &line->last->next : &line->first) = waiter;
    line->last = waiter;
    line->count++;
    if (fact->session->sync_waiters)
        fact->session->sync_waiters->session_prev = waiter;
    fact->session->sync_waiters = waiter;
    if (waiter->deadline_ns != UINT64_MAX) {
        GW_MUST(gw_array_push(&sched->sync_deadlines, waiter));
        heap_up(sched, (uint32_t)sched->sync_deadlines.count - 1);
    }
}

void gw_sync_leave(struct gw_sched *sched, struct gw_sync_waiter *waiter)
{
    GW_FACT(sched, sync_left, .waiter = waiter);
}

void gw_sched_apply_sync_left(struct gw_sched *sched, const struct gw_fact_sync_left *fact)
{
    struct gw_sync_waiter *waiter = fact->waiter;
    struct gw_sync_waiters *line = &waiter->sync->waiters[waiter->put];
    *(waiter->prev ? &waiter->prev->next : &line->first) = waiter->next;
    *(waiter->next ? &waiter->next->prev : &line->last) = waiter->prev;
    line->count--;
    *(waiter->session_prev ? &waiter->session_prev->session_next : &waiter->session->sync_waiters) =
        waiter->session_next;
    if (waiter->session_next)
        waiter->session_next->session_prev = waiter->session_prev;
    if (waiter->heap_at != GW_NONE)
        heap_remove(sched, waiter);
    waiter->sync->waiting_bytes -= waiter->size;
    sched->sync_bytes -= waiter->size;
    free(waiter->value);
    free(waiter);
}

/* -- Time ----------------------------------------------------------------------------------------
 */

uint64_t gw_sync_deadline_ns(const struct gw_sched *sched)
{
    return sched->sync_deadlines.count ? sched->sync_deadlines.items[0]->deadline_ns : UINT64_MAX;
}

/* -- What people see -----------------------------------------------------------------------------
 */

static void set(struct gw_value *dict, const char *key, struct gw_value *value)
{
    GW_MUST(gw_dict_set(dict, key, value));
}

/* Whose lease it is: "train (task 0 of job 3) x 2". */
static void say_holder(const struct gw_sched *sched, const struct gw_sync_lease *lease,
                       struct gw_text *text)
{
    const struct gw_session *session = lease->session;
    gw_text_say(text, "%.200s", session->remote->name);
    if (session->attempt != GW_NONE) {
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

/* -- What holds ----------------------------------------------------------------------------------
 */

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
        assert((at->heap_at == GW_NONE) == (at->deadline_ns == UINT64_MAX));
        assert(at->heap_at == GW_NONE || sched->sync_deadlines.items[at->heap_at] == at);
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

void gw_sync_check(const struct gw_sched *sched)
{
    uint64_t bytes = 0;
    size_t count = 0;
    for (const struct gw_sync *sync = sched->first_sync; sync; sync = sync->next, count++) {
        check_one(sched, sync);
        bytes += sync->bytes + sync->waiting_bytes;
    }
    assert(count == sched->syncs.count && bytes == sched->sync_bytes);
    for (size_t i = 1; i < sched->sync_deadlines.count; i++)
        assert(sched->sync_deadlines.items[(i - 1) / 2]->deadline_ns <=
               sched->sync_deadlines.items[i]->deadline_ns);
}

/* -- Memory --------------------------------------------------------------------------------------
 */

void gw_sync_item_set(struct gw_sched *sched, struct gw_sync *sync, struct gw_sync_item *item,
                      struct gw_bin value)
{
    sync->bytes += (uint64_t)value.size - item->size;
    sched->sync_bytes += (uint64_t)value.size - item->size;
    free(item->data);
    item->data = NULL;
    item->size = value.size;
    if (!value.size)
        return;
    item->data = malloc(value.size);
    GW_MUST_PTR(item->data);
    memcpy(item->data, value.data, value.size);
}

static void sync_free(struct gw_sched *sched, struct gw_sync *sync)
{
    gw_sync_item_set(sched, sync, &sync->value, (struct gw_bin){0});
    for (size_t i = 0; i < sync->items.count; i++)
        gw_sync_item_set(sched, sync, &sync->items.items[i], (struct gw_bin){0});
    gw_array_deinit(&sync->items);
    free(sync->name);
    free(sync);
}

void gw_sync_deinit(struct gw_sched *sched)
{
    for (struct gw_sync *sync = sched->first_sync, *next; sync; sync = next) {
        next = sync->next;
        for (int put = 0; put < 2; put++)
            for (struct gw_sync_waiter *at = sync->waiters[put].first, *after; at; at = after) {
                after = at->next;
                free(at->value);
                free(at);
            }
        for (struct gw_sync_lease *at = sync->leases, *after; at; at = after) {
            after = at->next;
            free(at);
        }
        sync_free(sched, sync);
    }
    gw_array_deinit(&sched->sync_deadlines);
    gw_map_deinit(&sched->sync_names);
    gw_strmap_deinit(&sched->syncs);
}
