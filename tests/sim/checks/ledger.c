/* A model of the queues, variables, events and published names of each user, built from the
 * scheduler's answers in their order.
 *
 * A queue delivers the values that were put into it, in order, once, and never exceeds its bound. A
 * request is not refused while there is a value, or room. The versions of a variable increase by
 * one, and a reader gets the value that was set last. An event lets clients pass while it is set. A
 * name refers to one result, and a look-up returns that result. */
#include "tests/sim/checks/ledger.h"

#include <stdio.h>

enum { USERS = 2, FIRST_UID = 1000, NAME_BYTES = 16 };
enum asked_for { ASKED_SYNC, ASKED_PUBLISH, ASKED_UNPUBLISH, ASKED_LOOKUP };

/* A request that was not answered yet. */
struct asked {
    const struct client *client;
    uint64_t request, number, value;
    uint32_t kind, verb; /* kind and verb of a GW_MESSAGE_sync */
    enum asked_for what;
    char name[NAME_BYTES];
    const struct work *work;
};

struct published {
    uint32_t uid;
    char name[NAME_BYTES];
    const struct work *work;
};

/* The objects of one user. */
struct shelf {
    GW_ARRAY(uint64_t) queue;
    uint64_t bound; /* bound of the queue; 0: not set */
    uint64_t version, value;
    bool set;
};

struct ledger {
    struct shelf shelves[USERS];
    GW_ARRAY(struct asked) asked;
    GW_ARRAY(struct published) published;
};

static struct ledger *ledger_of(struct sim *sim)
{
    if (!sim->ledger)
        GW_MUST_PTR(sim->ledger = calloc(1, sizeof *sim->ledger));
    return sim->ledger;
}

/* -- Asking --------------------------------------------------------------------------------------
 */

void sim_ledger_asked(struct sim *sim, const struct client *client, const struct gw_msg_sync *sync,
                      uint64_t value)
{
    GW_MUST(gw_array_push(&ledger_of(sim)->asked, ((struct asked){.client = client,
                                                                  .request = sync->request,
                                                                  .number = sync->number,
                                                                  .value = value,
                                                                  .kind = sync->kind,
                                                                  .verb = sync->verb})));
}

static void ask_name(struct sim *sim, struct asked asked, const char *name)
{
    (void)snprintf(asked.name, sizeof asked.name, "%s", name);
    GW_MUST(gw_array_push(&ledger_of(sim)->asked, asked));
}

void sim_ledger_publish(struct sim *sim, const struct client *client, uint64_t request,
                        const char *name, const struct work *work)
{
    ask_name(sim,
             (struct asked){.client = client,
                            .request = request,
                            .what = work ? ASKED_PUBLISH : ASKED_UNPUBLISH,
                            .work = work},
             name);
}

void sim_ledger_look_up(struct sim *sim, const struct client *client, uint64_t request,
                        const char *name)
{
    ask_name(sim, (struct asked){.client = client, .request = request, .what = ASKED_LOOKUP}, name);
}

/* -- Queues, variables, events -------------------------------------------------------------------
 */

static void queue_gives(struct sim *sim, struct shelf *shelf, const struct gw_msg_synced *synced)
{
    const uint8_t *at = synced->value.data;
    for (uint64_t i = 0; i < synced->number; i++, at += 12) {
        uint64_t value;
        memcpy(&value, at + 4, sizeof value);
        SIM_CHECK(sim, i < shelf->queue.count && shelf->queue.items[i] == value,
                  "a queue gives out value %llu, and value %llu was put before it",
                  (unsigned long long)value,
                  (unsigned long long)(i < shelf->queue.count ? shelf->queue.items[i] : 0));
    }
    shelf->queue.count -= synced->number;
    memmove(shelf->queue.items, shelf->queue.items + synced->number,
            shelf->queue.count * sizeof *shelf->queue.items);
}

static void queue_told(struct sim *sim, struct shelf *shelf, const struct asked *asked,
                       const struct gw_msg_synced *synced)
{
    bool full = !shelf->bound || shelf->queue.count >= shelf->bound;
    if (synced->code == GW_ETIMEDOUT)
        SIM_CHECK(sim, asked->verb == GW_SYNC_GET ? shelf->queue.count == 0 : full,
                  "a queue has %zu values of %llu, and somebody waited in vain", shelf->queue.count,
                  (unsigned long long)shelf->bound);
    if (synced->code < 0)
        return;
    if (asked->verb == GW_SYNC_OPEN) {
        shelf->bound = synced->number;
    } else if (asked->verb == GW_SYNC_PUT) {
        SIM_CHECK(sim, !full || !shelf->bound, "a queue of %llu takes one more value",
                  (unsigned long long)shelf->bound);
        GW_MUST(gw_array_push(&shelf->queue, asked->value));
    } else if (asked->verb == GW_SYNC_GET) {
        queue_gives(sim, shelf, synced);
    } else {
        gw_array_clear(&shelf->queue);
        shelf->bound = 0;
    }
}

static void variable_told(struct sim *sim, struct shelf *shelf, const struct asked *asked,
                          const struct gw_msg_synced *synced)
{
    uint64_t value = 0;
    bool seen = shelf->version == 0 || shelf->version == asked->number;
    if (synced->code == GW_ETIMEDOUT)
        SIM_CHECK(sim, seen, "a variable has a new version, and somebody waited in vain for it");
    if (synced->code == GW_EAGAIN)
        SIM_CHECK(sim, shelf->version != asked->number,
                  "a variable is as it was, and not replaced");
    if (synced->code < 0)
        return;
    if (asked->verb == GW_SYNC_WAIT) {
        if (synced->value.size == sizeof value)
            memcpy(&value, synced->value.data, sizeof value);
        SIM_CHECK(sim, !seen && synced->number == shelf->version && value == shelf->value,
                  "who reads a variable is given version %llu, and it has %llu",
                  (unsigned long long)synced->number, (unsigned long long)shelf->version);
        return;
    }
    SIM_CHECK(sim,
              synced->number == shelf->version + 1 &&
                  (asked->verb != GW_SYNC_REPLACE || asked->number == shelf->version),
              "version %llu of a variable is made version %llu by who had seen version %llu",
              (unsigned long long)shelf->version, (unsigned long long)synced->number,
              (unsigned long long)asked->number);
    shelf->version = synced->number;
    shelf->value = asked->value;
}

static void event_told(struct sim *sim, struct shelf *shelf, const struct asked *asked,
                       const struct gw_msg_synced *synced)
{
    if (asked->verb == GW_SYNC_WAIT)
        SIM_CHECK(sim, shelf->set == (synced->code == 0),
                  "an event is%s set, and who waits for it%s", shelf->set ? "" : " not",
                  shelf->set ? " does not pass" : " passes");
    else if (synced->code == 0)
        shelf->set = asked->verb == GW_SYNC_SET;
}

/* -- Names ---------------------------------------------------------------------------------------
 */

static struct published *published_as(struct ledger *ledger, const struct asked *asked)
{
    for (size_t i = 0; i < ledger->published.count; i++)
        if (ledger->published.items[i].uid == sim_sync_user(asked->client) &&
            strcmp(ledger->published.items[i].name, asked->name) == 0)
            return &ledger->published.items[i];
    return NULL;
}

static void name_told(struct sim *sim, const struct asked *asked, const struct gw_message *message)
{
    struct ledger *ledger = sim->ledger;
    struct published *published = published_as(ledger, asked);
    const struct gw_msg_held *held = &message->held;
    int32_t code = asked->what == ASKED_LOOKUP ? held->code : message->reply.code;
    if (asked->what == ASKED_PUBLISH && code == 0) {
        SIM_CHECK(sim, !published, "%s stands for a result, and for another one now", asked->name);
        struct published fresh = {.uid = sim_sync_user(asked->client), .work = asked->work};
        memcpy(fresh.name, asked->name, sizeof fresh.name);
        GW_MUST(gw_array_push(&ledger->published, fresh));
    } else if (asked->what == ASKED_UNPUBLISH) {
        SIM_CHECK(sim, (code == 0) == (published != NULL), "%s is%s published: %s", asked->name,
                  published ? "" : " not", gw_error_name(code));
        if (published)
            gw_array_remove_swap(&ledger->published, (size_t)(published - ledger->published.items));
    } else if (asked->what == ASKED_LOOKUP) {
        SIM_CHECK(sim, (code == 0) == (published != NULL), "%s is%s published, and a look finds %s",
                  asked->name, published ? "" : " not", gw_error_name(code));
        SIM_CHECK(sim, !published || sim_share_work(sim, held->job, held->index) == published->work,
                  "%s stands for task %llu, and another one is found", asked->name,
                  (unsigned long long)published->work->id);
    }
}

/* -- Being told ----------------------------------------------------------------------------------
 */

/* Finds and removes the request that is answered. Returns false if it is not one of these. */
static bool take_asked(struct ledger *ledger, const struct client *client, uint64_t request,
                       struct asked *asked)
{
    for (size_t i = 0; i < ledger->asked.count; i++) {
        if (ledger->asked.items[i].client != client || ledger->asked.items[i].request != request)
            continue;
        *asked = ledger->asked.items[i];
        gw_array_remove_swap(&ledger->asked, i);
        return true;
    }
    return false;
}

void sim_ledger_told(struct sim *sim, const struct client *client, const struct gw_message *message)
{
    struct asked asked;
    uint64_t request = message->type == GW_MESSAGE_synced  ? message->synced.request
                       : message->type == GW_MESSAGE_reply ? message->reply.request
                       : message->type == GW_MESSAGE_held  ? message->held.request
                                                           : 0;
    if (!request || !take_asked(ledger_of(sim), client, request, &asked))
        return;
    struct shelf *shelf = &sim->ledger->shelves[sim_sync_user(client) - FIRST_UID];
    if (asked.what != ASKED_SYNC)
        name_told(sim, &asked, message);
    else if (asked.kind == GW_SYNC_QUEUE)
        queue_told(sim, shelf, &asked, &message->synced);
    else if (asked.kind == GW_SYNC_VARIABLE)
        variable_told(sim, shelf, &asked, &message->synced);
    else if (asked.kind == GW_SYNC_EVENT)
        event_told(sim, shelf, &asked, &message->synced);
}

bool sim_ledger_publishes(const struct sim *sim, const struct sim_job *job)
{
    for (size_t i = 0; sim->ledger && i < sim->ledger->published.count; i++)
        if (sim->ledger->published.items[i].work->job == job)
            return true;
    return false;
}

void sim_ledger_free(struct sim *sim)
{
    if (!sim->ledger)
        return;
    for (size_t i = 0; i < USERS; i++)
        gw_array_deinit(&sim->ledger->shelves[i].queue);
    gw_array_deinit(&sim->ledger->asked);
    gw_array_deinit(&sim->ledger->published);
    free(sim->ledger);
    sim->ledger = NULL;
}
