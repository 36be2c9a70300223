/* Drained workers.
 *
 * Invariant: exactly the ready workers with a name of this list are marked (`drained`). */
#include "scheduler/core/model/workers/worker_drain.h"

#include "graph/base/text.h"

#include <stdlib.h>
#include <string.h>

const struct gw_worker_drain *gw_sched_worker_drain_find(const struct gw_sched *sched,
                                                         const char *name)
{
    for (size_t i = 0; sched->worker_drains && i < sched->worker_drains->items.count; i++)
        if (strcmp(sched->worker_drains->items.items[i].name, name) == 0)
            return &sched->worker_drains->items.items[i];
    return NULL;
}

static char *copy(const char *text)
{
    char *to = strdup(text);
    GW_MUST_PTR(to);
    return to;
}

void gw_sched_worker_drain_drop(struct gw_sched *sched, size_t at)
{
    struct gw_worker_drain *drain = &sched->worker_drains->items.items[at];
    free(drain->name);
    free(drain->why);
    free(drain->by);
    memmove(drain, drain + 1, (--sched->worker_drains->items.count - at) * sizeof *drain);
}

void gw_sched_worker_drain_push(struct gw_sched *sched, const struct gw_worker_drain *drain)
{
    struct gw_worker_drain own = *drain;
    if (!sched->worker_drains)
        GW_MUST_PTR(sched->worker_drains = calloc(1, sizeof *sched->worker_drains));
    own.name = copy(drain->name);
    own.why = copy(drain->why);
    own.by = copy(drain->by);
    GW_MUST(gw_array_push(&sched->worker_drains->items, own));
}

void gw_sched_worker_drain_mark(struct gw_sched *sched, struct gw_worker *worker)
{
    worker->drained = gw_sched_worker_drain_find(sched, worker->remote->name) != NULL;
    worker->drain_told = false;
    if (worker->drained)
        sched->worker_drains->look_ns = 0;
}

void gw_sched_worker_drain_told(struct gw_worker *worker)
{
    worker->drain_told = true;
}

void gw_sched_worker_drain_ends(struct gw_sched *sched, uint32_t slot)
{
    sched->attempts.items[slot].drain_ends = true;
}

void gw_sched_worker_drains_look(struct gw_sched *sched, uint64_t look_ns)
{
    sched->worker_drains->look_ns = look_ns;
}

static void replace(char **text, const char *with)
{
    free(*text);
    *text = *with ? strdup(with) : NULL;
    GW_MUST(*with && !*text ? GW_ENOMEM : 0);
}

void gw_sched_worker_drain_record(struct gw_worker *worker, const struct gw_msg_health *health)
{
    replace(&worker->unhealthy, health->why);
    replace(&worker->clock_why, health->clock);
    worker->clock_s = !*health->clock                ? 0
                      : health->clock_s == INT32_MIN ? -INT32_MAX
                                                     : health->clock_s;
    worker->health_known = true;
}

/* A single worker that differs tells nothing about which of the two clocks is wrong. */
bool gw_sched_worker_drain_judge(struct gw_sched *sched)
{
    struct gw_clock_trouble found[2] = {{0}}; /* behind, ahead */
    uint32_t workers = 0;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (!worker || worker->state == GW_WORKER_LOST || worker->state == GW_WORKER_CONNECTED)
            continue;
        struct gw_clock_trouble *side = &found[worker->clock_s > 0];
        workers++;
        if (worker->clock_s && (side->differ++ == 0 || abs(worker->clock_s) < abs(side->clock_s)))
            side->clock_s = worker->clock_s;
    }
    struct gw_clock_trouble now = found[found[1].differ > found[0].differ];
    if (now.differ < 2 || 2 * now.differ <= workers)
        now = (struct gw_clock_trouble){0};
    now.workers = workers;
    const bool changed = (now.clock_s > 0) != (sched->clock_trouble.clock_s > 0) ||
                         (now.clock_s < 0) != (sched->clock_trouble.clock_s < 0);
    sched->clock_trouble = now;
    return changed;
}

void gw_sched_worker_drain_clock(const struct gw_sched *sched, char *text, size_t bytes)
{
    const struct gw_clock_trouble *trouble = &sched->clock_trouble;
    *text = '\0';
    if (trouble->differ)
        (void)snprintf(text, bytes,
                       "it is at least %d s %s the clocks of %u of %u workers: set it, for example "
                       "by NTP",
                       abs(trouble->clock_s), trouble->clock_s > 0 ? "behind" : "ahead of",
                       trouble->differ, trouble->workers);
}

void gw_sched_worker_drain_text(const struct gw_worker_drain *drain, char *text, size_t bytes)
{
    struct gw_text out = {text, bytes, 0};
    gw_text_say(&out, "drained by %.100s%s%.300s", drain->by, *drain->why ? ": " : "", drain->why);
}

void gw_sched_worker_drain_dump(const struct gw_sched *sched, struct gw_buffer *out)
{
    for (size_t i = 0; sched->worker_drains && i < sched->worker_drains->items.count; i++) {
        const struct gw_worker_drain *drain = &sched->worker_drains->items.items[i];
        const char *const texts[] = {drain->name, drain->why, drain->by};
        for (size_t k = 0; k < sizeof texts / sizeof *texts; k++)
            GW_MUST(gw_buffer_append(out, texts[k], strlen(texts[k]) + 1));
        GW_MUST(gw_buffer_append(out, &drain->until_wall_ns, sizeof drain->until_wall_ns));
        GW_MUST(gw_buffer_append(out, &drain->check, sizeof drain->check));
    }
}

void gw_sched_worker_drain_deinit(struct gw_sched *sched)
{
    while (sched->worker_drains && sched->worker_drains->items.count)
        gw_sched_worker_drain_drop(sched, sched->worker_drains->items.count - 1);
    if (sched->worker_drains)
        gw_array_deinit(&sched->worker_drains->items);
    free(sched->worker_drains);
    sched->worker_drains = NULL;
}
