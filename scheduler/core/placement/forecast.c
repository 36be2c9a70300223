/* Forecast: when a worker will have room for ranks that do not fit now.
 *
 * An attempt with a time limit ends at the latest when the limit is over. An attempt without a
 * limit may run forever: the guess is the mean run time of its kind, or, if it already ran longer,
 * twice the time that it has run. Short tasks of one queue share their slots, so they free them
 * together. */
#include "scheduler/core/placement/forecast.h"

#include "scheduler/core/model/model.h"

#include <stdlib.h>

enum { GPUS_MAX = 256 };
/* A time that is later than every guess: the end of an attempt is not known. */
#define NOBODY_KNOWS_NS (UINT64_C(1) << 62)

/* The free room of a worker at one moment. */
struct room {
    const struct gw_sched *sched;
    const struct gw_worker *worker;
    const struct gw_resource_class *shape;
    int64_t slots, memory_bytes;
    uint32_t gpus[GPUS_MAX]; /* free thousandths of each GPU */
    struct gw_releases releases;
    size_t given;         /* number of releases already added */
    uint32_t held;        /* the set of held reservations whose room counts as taken */
    uint32_t gpus_held;   /* whole GPUs that these need */
    const uint8_t *ended; /* by slot: attempts that count as ended; NULL: none */
};

/* -- What will be freed -------------------------------------------------------------------- */

static uint64_t rest_of(uint64_t whole_ns, uint64_t ran_ns)
{
    return whole_ns > ran_ns ? whole_ns - ran_ns : 0;
}

uint64_t gw_sched_forecast_left_ns(const struct gw_spec *spec, uint64_t ran_ns, bool *known)
{
    const uint64_t limit_ns = spec->message.time_limit_ns;
    const uint64_t most_ns = limit_ns ? rest_of(limit_ns, ran_ns) : UINT64_MAX;
    const uint64_t left_ns =
        spec->mean_ns > ran_ns ? spec->mean_ns - ran_ns : ran_ns - spec->mean_ns;
    *known = limit_ns || spec->samples;
    return spec->samples && left_ns < most_ns ? left_ns : most_ns;
}

static uint64_t grace_of(const struct gw_spec *spec)
{
    return spec->message.grace_ns ? spec->message.grace_ns : GW_GRACE_NS;
}

static void see_end(const struct gw_sched *sched, const struct gw_attempt *attempt, bool expected,
                    struct gw_release *release)
{
    const struct gw_spec *spec =
        &attempt->job->specs.items[attempt->job->tasks.spec[attempt->index]];
    uint64_t since_ns = attempt->started_ns ? attempt->started_ns : sched->now_ns;
    uint64_t ran_ns = sched->now_ns - since_ns, left_ns;
    bool ending = attempt->state == GW_ATTEMPT_KILLED;
    bool known = ending || spec->message.time_limit_ns;
    if (ending)
        left_ns = 0;
    else if (expected)
        left_ns = gw_sched_forecast_left_ns(spec, ran_ns, &known);
    else if (known)
        left_ns = rest_of(spec->message.time_limit_ns, ran_ns);
    else
        left_ns = spec->mean_ns > ran_ns ? spec->mean_ns - ran_ns : ran_ns;
    if (expected && attempt->preempted && (!known || left_ns > grace_of(spec))) {
        left_ns = grace_of(spec);
        known = true;
    }
    if (!known)
        release->known = false;
    left_ns = left_ns < NOBODY_KNOWS_NS ? left_ns : NOBODY_KNOWS_NS;
    if (release->at_ns < sched->now_ns + left_ns)
        release->at_ns = sched->now_ns + left_ns;
}

static void add_release(const struct gw_attempt *attempt, struct gw_release release,
                        struct gw_releases *releases)
{
    const struct gw_resource_class *shape = release.lane->shape;
    uint32_t each = shape->alone ? release.lane->worker->slots : shape->slots;
    release.slots = attempt->blocked ? 0 : each * release.debits;
    release.memory_bytes = shape->memory_bytes * release.debits;
    GW_MUST(gw_array_push(releases, release));
}

/* Adds what the short attempts of a queue hold. It is freed when the last of them has ended. */
static void add_shorts(const struct gw_sched *sched, const struct gw_worker_queue *lane,
                       bool expected, struct gw_releases *releases)
{
    struct gw_release release = {.lane = lane, .debits = lane->debits - lane->longs, .known = true};
    const struct gw_attempt *last = NULL;
    for (uint32_t slot = lane->worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (attempt->lane != lane || attempt->is_long)
            continue;
        last = attempt;
        release.attempt = slot;
        see_end(sched, attempt, expected, &release);
    }
    if (last)
        add_release(last, release, releases);
}

void gw_sched_forecast_releases(const struct gw_sched *sched, const struct gw_worker *worker,
                                bool expected, struct gw_releases *releases)
{
    for (uint32_t slot = worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next) {
        const struct gw_attempt *attempt = &sched->attempts.items[slot];
        if (!attempt->is_long || attempt->job->actor || attempt->lane->shape->calls)
            continue;
        struct gw_release release = {
            .lane = attempt->lane, .attempt = slot, .debits = 1, .known = true};
        see_end(sched, attempt, expected, &release);
        add_release(attempt, release, releases);
    }
    for (uint32_t i = 0; i < worker->queue_count; i++)
        if (worker->queues[i] && worker->queues[i]->debits > worker->queues[i]->longs)
            add_shorts(sched, worker->queues[i], expected, releases);
}

static int by_time(const void *a, const void *b)
{
    const struct gw_release *x = a, *y = b;
    if (x->known != y->known)
        return x->known ? -1 : 1;
    if (x->at_ns != y->at_ns)
        return x->at_ns < y->at_ns ? -1 : 1;
    return x->attempt < y->attempt ? -1 : x->attempt > y->attempt;
}

/* -- How many ranks fit -------------------------------------------------------------------- */

static void take_stock(struct room *room, const struct gw_worker *worker)
{
    room->slots = (int64_t)worker->slots_free - worker->slots_over;
    room->memory_bytes = (int64_t)worker->memory_free - (int64_t)worker->memory_over;
    for (uint32_t i = 0; i < worker->gpu_count; i++) {
        const struct gw_gpu *gpu = &worker->gpus[i];
        bool fits = gw_sched_gpu_could(gpu, room->shape);
        room->gpus[i] = fits && gpu->slot == GW_NO_INDEX ? GW_GPU_WHOLE - gpu->shared : 0;
    }
}

static void give_back(const struct gw_sched *sched, struct room *room,
                      const struct gw_release *release)
{
    const struct gw_attempt *attempt = &sched->attempts.items[release->attempt];
    room->slots += release->slots;
    room->memory_bytes += (int64_t)release->memory_bytes;
    for (uint32_t i = 0; attempt->gpus; i++) {
        i = gw_sched_gpu_next(sched, release->attempt, i);
        if (i == GW_NO_INDEX)
            break;
        if (gw_sched_gpu_could(&room->worker->gpus[i], room->shape))
            room->gpus[i] += attempt->gpu_fraction ? attempt->gpu_fraction : GW_GPU_WHOLE;
    }
    room->given++;
}

/* Returns true if an attempt is a victim of a preemption, and still has its resources. */
static bool will_end(const struct room *room, uint32_t slot, uint32_t number)
{
    return room->sched->attempts.items[slot].preempted == number &&
           !(room->ended && room->ended[slot]);
}

/* Returns how much of a named resource the held reservations need beyond what their victims give
 * back. */
static int64_t stock_held(const struct room *room, const char *name)
{
    const struct gw_sched *sched = room->sched;
    int64_t sum = 0;
    GW_EACH_RESERVATION (number, room->held) {
        int64_t need = (int64_t)room->worker->reserved_ranks[number] *
                       gw_sched_need_amount(sched->reservations[number].shape->need, name);
        for (uint32_t slot = room->worker->first; slot != GW_NO_INDEX;
             slot = sched->attempts.items[slot].next)
            if (will_end(room, slot, number))
                need -= gw_sched_need_amount(sched->attempts.items[slot].lane->shape->need, name);
        sum += need > 0 ? need : 0;
    }
    return sum;
}

static uint64_t stock_ranks(const struct room *room)
{
    uint64_t ranks = UINT64_MAX;
    const struct gw_need *need = room->shape->need;
    for (uint32_t r = 0; need && r < need->resources.count; r++) {
        const struct gw_resource *wanted = &need->resources.items[r];
        int64_t have =
            gw_sched_need_stock_left(room->worker, wanted->name) - stock_held(room, wanted->name);
        for (size_t i = 0; i < room->given; i++) {
            const struct gw_release *release = &room->releases.items[i];
            have += (int64_t)gw_sched_need_amount(release->lane->shape->need, wanted->name) *
                    release->debits;
        }
        uint64_t fit = have > 0 ? (uint64_t)have / wanted->amount : 0;
        ranks = fit < ranks ? fit : ranks;
    }
    return ranks;
}

static uint32_t ranks_in(const struct room *room, uint32_t most)
{
    const struct gw_resource_class *shape = room->shape;
    uint32_t gpus = gw_sched_queue_class_gpus(shape), found = 0;
    uint64_t ranks = most, fit;
    if (room->slots < 0 || room->memory_bytes < 0)
        return 0;
    fit = (uint64_t)room->slots / shape->slots;
    ranks = fit < ranks ? fit : ranks;
    fit = shape->memory_bytes ? (uint64_t)room->memory_bytes / shape->memory_bytes : ranks;
    ranks = fit < ranks ? fit : ranks;
    for (uint32_t i = 0; gpus && i < room->worker->gpu_count; i++)
        found += shape->gpu_fraction ? room->gpus[i] / shape->gpu_fraction
                                     : room->gpus[i] == GW_GPU_WHOLE;
    fit = gpus ? (found > room->gpus_held ? found - room->gpus_held : 0) / gpus : ranks;
    ranks = fit < ranks ? fit : ranks;
    fit = stock_ranks(room);
    return (uint32_t)(fit < ranks ? fit : ranks);
}

uint32_t gw_sched_forecast(const struct gw_sched *sched, struct gw_worker *worker,
                           const struct gw_resource_class *shape, uint32_t most,
                           struct gw_opening *openings)
{
    struct room room = {.sched = sched, .worker = worker, .shape = shape};
    uint32_t found = 0;
    if ((shape->need && !gw_sched_need_allows(shape->need, worker)) ||
        gw_sched_quarantine_left_ns(sched, worker, shape) > 0)
        return 0;
    struct gw_opening opening = {worker, true, sched->now_ns, 0};
    if (!gw_sched_memory_lets(worker)) {
        opening.known = false;
        opening.at_ns = sched->now_ns + NOBODY_KNOWS_NS;
    }
    take_stock(&room, worker);
    for (uint32_t ranks = ranks_in(&room, most); found < ranks; found++)
        openings[found] = opening;
    if (found < most)
        gw_sched_forecast_releases(sched, worker, false, &room.releases);
    if (room.releases.count > 1)
        qsort(room.releases.items, room.releases.count, sizeof *room.releases.items, by_time);
    while (found < most && room.given < room.releases.count) {
        const struct gw_release *release = &room.releases.items[room.given];
        give_back(sched, &room, release);
        opening.known = opening.known && release->known;
        opening.attempt = sched->attempts.items[release->attempt].id;
        if (opening.at_ns < release->at_ns)
            opening.at_ns = release->at_ns;
        for (uint32_t ranks = ranks_in(&room, most); found < ranks; found++)
            openings[found] = opening;
    }
    gw_array_deinit(&room.releases);
    return found;
}

/* -- Room beside held reservations ----------------------------------------------------------- */

static void give_back_one(struct room *room, uint32_t slot)
{
    const struct gw_attempt *attempt = &room->sched->attempts.items[slot];
    add_release(attempt, (struct gw_release){.lane = attempt->lane, .attempt = slot, .debits = 1},
                &room->releases);
    give_back(room->sched, room, &room->releases.items[room->given]);
}

static uint32_t whole_gpus(const struct room *room)
{
    uint32_t count = 0;
    for (uint32_t i = 0; i < room->worker->gpu_count; i++)
        count += room->gpus[i] == GW_GPU_WHOLE;
    return count;
}

/* Two tasks can share the GPUs of a worker by their number if both take whole ones and could take
 * the same. */
static bool can_share_gpus(const struct room *room, const struct gw_resource_class *other)
{
    const struct gw_resource_class *shape = room->shape;
    if (!gw_sched_queue_class_gpus(shape) || !gw_sched_queue_class_gpus(other))
        return true;
    bool same = !shape->gpu_fraction && !other->gpu_fraction;
    for (uint32_t i = 0; same && i < room->worker->gpu_count; i++)
        same = gw_sched_gpu_could(&room->worker->gpus[i], shape) ==
               gw_sched_gpu_could(&room->worker->gpus[i], other);
    return same;
}

static int64_t beyond(uint64_t need, int64_t given)
{
    return (int64_t)need > given ? (int64_t)need - given : 0;
}

/* Takes what a held reservation needs beyond what its own victims at the worker give back. */
static void withhold(struct room *room, uint32_t number)
{
    const struct gw_sched *sched = room->sched;
    const struct gw_resource_class *shape = sched->reservations[number].shape;
    const uint64_t ranks = room->worker->reserved_ranks[number];
    struct room own = {
        .sched = sched, .worker = room->worker, .shape = shape, .ended = room->ended};
    take_stock(&own, room->worker);
    const int64_t slots = own.slots, memory_bytes = own.memory_bytes;
    const uint32_t gpus = whole_gpus(&own);
    for (uint32_t slot = room->worker->first; slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next)
        if (will_end(room, slot, number))
            give_back_one(&own, slot);
    room->slots -= beyond(ranks * shape->slots, own.slots - slots);
    room->memory_bytes -= beyond(ranks * shape->memory_bytes, own.memory_bytes - memory_bytes);
    room->gpus_held += (uint32_t)beyond(ranks * gw_sched_queue_class_gpus(shape),
                                        (int64_t)whole_gpus(&own) - gpus);
    if (!can_share_gpus(room, shape))
        room->slots = -1;
    gw_array_deinit(&own.releases);
}

uint32_t gw_sched_forecast_without(const struct gw_sched *sched, const struct gw_worker *worker,
                                   const struct gw_resource_class *shape, const uint8_t *ended,
                                   uint32_t held)
{
    struct room room = {.sched = sched, .worker = worker, .shape = shape, .ended = ended};
    if (!worker || !gw_sched_worker_could(worker, shape) || !gw_sched_memory_lets(worker) ||
        gw_sched_quarantine_left_ns(sched, worker, shape) > 0)
        return 0;
    room.held = held & worker->reserved;
    take_stock(&room, worker);
    for (uint32_t slot = worker->first; ended && slot != GW_NO_INDEX;
         slot = sched->attempts.items[slot].next)
        if (ended[slot])
            give_back_one(&room, slot);
    GW_EACH_RESERVATION (number, room.held)
        withhold(&room, number);
    const uint32_t ranks = ranks_in(&room, shape->ranks ? shape->ranks : 1);
    gw_array_deinit(&room.releases);
    return ranks;
}
