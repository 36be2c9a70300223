/* Detects ranks that hang, among the ranks on this worker.
 *
 * The ranks of a running gang are observed four times per hang timeout: how many collectives each
 * has called, which one it is in, and if its process is stopped. If nothing has changed for the
 * timeout, the worker reports this to the scheduler once. When something changes, it sends an empty
 * report. The scheduler sees all ranks and decides if a rank hangs or only takes long. If an
 * attempt hangs, the scheduler requests the stacks of its ranks. This stops the ranks for a short
 * time. Commands have no collectives to count. If no rank of a command has used CPU or written
 * anything for the timeout, the report says so, for users to read. */
#include "worker/core/gangs/hang.h"

#include "worker/core/model/core.h"
#include "worker/core/model/tables.h"

#include <stdlib.h>
#include <string.h>

enum { LOOKS = 4 }; /* observations per hang timeout */
#define LOOK_NS_MIN UINT64_C(10000000)

/* Returns the hang timeout of a gang. 0: the gang is not observed. */
static uint64_t limit_of(const struct gw_gang *gang)
{
    return gang->state == GW_GANG_RUNNING && gang->ranks.count
               ? gang->ranks.items[0]->spec->message.hang_timeout_ns
               : 0;
}

static void look(struct gw_node_core *core, struct gw_gang *gang, bool closely)
{
    struct gw_stand *stands = gw_core_scratch(core, gang->ranks.count * sizeof *stands);
    struct gw_effect *effect = gw_core_effect(core, GW_EFFECT_SURVEY);
    effect->number = gang->attempt;
    effect->count = closely;
    effect->stands = stands;
    for (size_t i = 0; i < gang->ranks.count; i++) {
        const struct gw_attempt *run = gang->ranks.items[i];
        if ((run->state == GW_ATTEMPT_RUNNING || run->state == GW_ATTEMPT_STARTING) && run->process)
            stands[effect->stand_count++] =
                (struct gw_stand){.rank = run->rank,
                                  .place = run->rank - gang->message.first_rank,
                                  .process = run->process->id};
    }
    if (gang->segment && gang->ranks.items[0]->pool) {
        gw_core_token(core, effect, gang->segment);
    }
    gang->watch.asked = true;
}

void gw_hang_tick(struct gw_node_core *core)
{
    uint64_t attempt, value;
    size_t at = 0;
    while (gw_map_next(&core->gangs, &at, &attempt, &value)) {
        struct gw_gang *gang = (struct gw_gang *)(uintptr_t)value;
        uint64_t limit_ns = limit_of(gang);
        if (!limit_ns || gang->watch.asked || core->now_ns < gang->watch.look_ns)
            continue;
        gang->watch.look_ns =
            core->now_ns + (limit_ns / LOOKS < LOOK_NS_MIN ? LOOK_NS_MIN : limit_ns / LOOKS);
        look(core, gang, false);
    }
}

uint64_t gw_hang_deadline_ns(const struct gw_node_core *core)
{
    uint64_t attempt, value, deadline_ns = UINT64_MAX;
    size_t at = 0;
    while (gw_map_next(&core->gangs, &at, &attempt, &value)) {
        const struct gw_gang *gang = (const struct gw_gang *)(uintptr_t)value;
        if (limit_of(gang) && !gang->watch.asked && gang->watch.look_ns < deadline_ns)
            deadline_ns = gang->watch.look_ns;
    }
    return deadline_ns;
}

static bool same(const struct gw_stand *a, const struct gw_stand *b)
{
    bool operation = a->operation && b->operation ? strcmp(a->operation, b->operation) == 0
                                                  : a->operation == b->operation;
    return a->rank == b->rank && a->begun == b->begun && a->stopped == b->stopped && operation;
}

/* Returns true if the observed state has changed, and stores the new state. The names of operations
 * are static texts. */
static bool has_changed(struct gw_gang *gang, const struct gw_event *event)
{
    bool changed = gang->watch.count != event->stand_count;
    for (uint32_t i = 0; i < event->stand_count && !changed; i++)
        changed = !same(&gang->watch.seen[i], &event->stands[i]);
    if (!changed)
        return false;
    gang->watch.seen =
        realloc(gang->watch.seen, (event->stand_count + 1) * sizeof *gang->watch.seen);
    GW_MUST_PTR(gang->watch.seen);
    if (event->stand_count)
        memcpy(gang->watch.seen, event->stands, event->stand_count * sizeof *event->stands);
    gang->watch.count = event->stand_count;
    return true;
}

/* Texts of several ranks in one buffer, and the size of each. */
struct texts {
    uint32_t *sizes, size;
    char *text;
};

static struct texts texts_new(struct gw_node_core *core, uint32_t count, size_t bytes)
{
    return (struct texts){.sizes = gw_core_scratch(core, count * sizeof(uint32_t) + 1),
                          .text = gw_core_scratch(core, bytes + 1)};
}

static void texts_add(struct texts *texts, uint32_t i, const char *text, size_t size)
{
    texts->sizes[i] = (uint32_t)size;
    if (size)
        memcpy(texts->text + texts->size, text, size);
    texts->size += (uint32_t)size;
}

static size_t operation_bytes(const struct gw_stand *stand)
{
    return stand->operation ? strlen(stand->operation) : 0;
}

static size_t stack_bytes(const struct gw_stand *stand)
{
    return strnlen(stand->stack, sizeof stand->stack);
}

static void tell(struct gw_node_core *core, const struct gw_gang *gang,
                 const struct gw_event *event)
{
    uint32_t count = event ? event->stand_count : 0;
    uint64_t *begun = gw_core_scratch(core, count * sizeof *begun + 1);
    uint32_t *rank = gw_core_scratch(core, count * sizeof *rank + 1);
    uint32_t *stopped = gw_core_scratch(core, count * sizeof *stopped + 1);
    size_t bytes[2] = {0, 0};
    for (uint32_t i = 0; i < count; i++) {
        bytes[0] += operation_bytes(&event->stands[i]);
        bytes[1] += stack_bytes(&event->stands[i]);
    }
    struct texts operations = texts_new(core, count, bytes[0]);
    struct texts stacks = texts_new(core, count, bytes[1]);
    for (uint32_t i = 0; i < count; i++) {
        const struct gw_stand *stand = &event->stands[i];
        rank[i] = stand->rank;
        begun[i] = stand->begun;
        stopped[i] = (stand->stopped ? 1 : 0) | (gang->watch.idle ? 2 : 0);
        texts_add(&operations, i, stand->operation, operation_bytes(stand));
        texts_add(&stacks, i, stand->stack, stack_bytes(stand));
    }
    gw_core_send(core, core->scheduler, GW_MESSAGE_gang_stuck)->message.gang_stuck =
        (struct gw_msg_gang_stuck){.attempt = gang->attempt,
                                   .rank = {rank, count},
                                   .begun = {begun, count},
                                   .stopped = {stopped, count},
                                   .operation_size = {operations.sizes, count},
                                   .operations = {operations.text, operations.size},
                                   .closely = !event || !event->code           ? 0
                                              : gang->state == GW_GANG_FORMING ? 2
                                                                               : 1,
                                   .stack_size = {stacks.sizes, count},
                                   .stacks = {stacks.text, stacks.size}};
}

/* The earlier report may not have arrived, and a restarted scheduler has not received it. */
void gw_hang_on_scheduler(struct gw_gang *gang)
{
    gang->watch.told = gang->watch.closer = gang->watch.closely = gang->watch.idle_told = false;
}

static void note_activity(const struct gw_node_core *core, struct gw_gang *gang,
                          const struct gw_event *event, uint64_t limit_ns)
{
    uint64_t active = 0;
    for (uint32_t i = 0; i < event->stand_count; i++)
        active += event->stands[i].active;
    if (active != gang->watch.active || !gang->watch.idle_ns)
        gang->watch.idle_ns = core->now_ns;
    gang->watch.active = active;
    gang->watch.idle = gang->message.commands && core->now_ns - gang->watch.idle_ns >= limit_ns;
}

void gw_hang_on_look(struct gw_node_core *core, const struct gw_msg_gang_look *wanted)
{
    struct gw_gang *gang = gw_gang_find(core, wanted->attempt);
    if (!gang)
        return;
    if (gang->state != GW_GANG_FORMING &&
        (!limit_of(gang) || !gang->watch.told || gang->watch.closely))
        return; /* a rank made progress, which was reported, or the request was already answered */
    if (gang->watch.closer)
        return;
    gang->watch.closer = true;
    if (!gang->watch.asked)
        look(core, gang, true);
}

void gw_hang_on_surveyed(struct gw_node_core *core, const struct gw_event *event)
{
    struct gw_gang *gang = gw_gang_find(core, event->number);
    if (!gang)
        return;
    uint64_t limit_ns = limit_of(gang);
    gang->watch.asked = false;
    if (gang->state == GW_GANG_FORMING && gang->watch.closer && core->registered) {
        gang->watch.closer = !event->code;
        if (event->code)
            tell(core, gang, event);
        else
            look(core, gang, true);
        return;
    }
    if (!limit_ns || !core->registered)
        return;
    note_activity(core, gang, event, limit_ns);
    if (has_changed(gang, event)) {
        gang->watch.since_ns = core->now_ns;
        if (gang->watch.told)
            tell(core, gang, NULL);
        gang->watch.told = gang->watch.closer = gang->watch.closely = gang->watch.idle_told = false;
    } else if (gang->watch.closer && !event->code) {
        look(core, gang, true);
    } else if (gang->watch.closer ||
               (gang->watch.told ? gang->watch.idle != gang->watch.idle_told
                                 : core->now_ns - gang->watch.since_ns >= limit_ns)) {
        tell(core, gang, event);
        gang->watch.idle_told = gang->watch.idle;
        gang->watch.told = true;
        gang->watch.closer = false;
        gang->watch.closely = event->code != 0;
    }
}
