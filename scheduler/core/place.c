/* Places. Numbers of workers are this life's alone; what outlives it names workers as they call
 * themselves, for one of that name on the same folder has the output. Large jobs leave none: a
 * range may have 10^8 rows. */
#include "scheduler/core/place.h"

#include "scheduler/core/gang_try.h"
#include "scheduler/core/job.h"
#include "scheduler/core/range.h"
#include "scheduler/core/task.h"
#include "scheduler/core/worker.h"
#include "scheduler/core/worker_name.h"

#include <string.h>

uint32_t gw_sched_place_worker(const struct gw_sched *sched, const struct gw_place *place)
{
    if (!place->name)
        return place->worker;
    for (size_t i = 0; i < sched->workers.count; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        if (worker && worker->state == GW_WORKER_READY &&
            strcmp(worker->remote->name, place->name) == 0)
            return worker->id;
    }
    return 0;
}

static void append_name(struct gw_sched *sched, uint32_t id)
{
    const struct gw_worker *worker = gw_sched_worker_find(sched, id);
    const char *name = worker && worker->remote ? worker->remote->name : "";
    GW_MUST(gw_buffer_append(&sched->scratch, name, strlen(name)));
    GW_MUST(gw_buffer_append(&sched->scratch, ",", 1));
}

static bool is_rank_of(const struct gw_job *job, size_t at, uint32_t row)
{
    return job->places.items[at].attempt == job->tasks.attempt[row] &&
           job->places.items[at].index == row;
}

/* Of the latest attempt: its ranks lie together, in their order. */
static void append_ranks(struct gw_sched *sched, const struct gw_job *job, uint32_t row)
{
    size_t end = job->places.count;
    while (end > 0 && !is_rank_of(job, end - 1, row))
        end--;
    size_t from = end;
    while (from > 0 && is_rank_of(job, from - 1, row))
        from--;
    for (; from < end; from++)
        append_name(sched, job->places.items[from].worker);
}

void gw_sched_places_keep(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    uint64_t attempt = job->tasks.attempt[row];
    if (!job->detached || attempt == 0 || gw_sched_rows_in_all(job) > GW_PLACES_KEPT_MAX)
        return;
    uint32_t ranks = job->specs.items[job->tasks.spec[row]].message.ranks;
    sched->scratch.size = 0;
    if (ranks == 0)
        append_name(sched, job->tasks.worker[row]);
    else
        append_ranks(sched, job, row);
    GW_MUST(gw_buffer_append(&sched->scratch, "", 1));
    GW_FACT(sched, task_ran, .at = job, .job = job->id, .index = row, .attempt = attempt,
            .workers = (const char *)sched->scratch.data);
}

/* Of use in later lives alone: this one knows already. */
void gw_sched_apply_task_ran(struct gw_sched *sched, const struct gw_fact_task_ran *fact)
{
    if (!sched->restoring)
        return;
    struct gw_job *job = gw_sched_job_find(sched, fact->job);
    gw_sched_range_catch_up(sched, job, fact->index);
    bool gang = job->specs.items[job->tasks.spec[fact->index]].message.ranks > 0;
    uint32_t rank = 0;
    for (const char *name = fact->workers; *name; rank++) {
        size_t length = strcspn(name, ",");
        char *copy = gw_arena_alloc(&job->arena, length + 1);
        GW_MUST_PTR(copy);
        memcpy(copy, name, length);
        struct gw_place place = {.attempt = fact->attempt,
                                 .index = fact->index,
                                 .rank = gang ? rank : GW_RANK_NONE,
                                 .name = copy};
        GW_MUST(gw_array_push(&job->places, place));
        name += length + (name[length] == ',');
    }
    job->tasks.attempt[fact->index] = fact->attempt;
    /* It was the last one: before it were those that were charged to something. */
    struct gw_charges *charges = &job->tasks.charges[fact->index];
    uint16_t tries = (uint16_t)(1 + charges->retries + charges->crashes + charges->losses +
                                charges->uncharged + charges->preemptions + charges->ports);
    if (charges->tries < tries && !gw_sched_gang_went(job, fact->index).attempt)
        charges->tries = tries;
}

/* -- For people ----------------------------------------------------------------------------------
 */

void gw_sched_places_last(const struct gw_job *job, struct gw_map *last)
{
    *last = (struct gw_map){0};
    for (size_t i = 0; i < job->places.count; i++) {
        const struct gw_place *place = &job->places.items[i];
        if ((place->rank == GW_RANK_NONE || place->rank == 0) && is_rank_of(job, i, place->index))
            GW_MUST(gw_map_put(last, place->index, i));
    }
}

uint32_t gw_sched_place_ranks(const struct gw_job *job, uint32_t row, const struct gw_map *last)
{
    uint64_t at;
    uint32_t ranks = 0;
    if (!gw_map_get(last, row, &at) || job->places.items[at].rank == GW_RANK_NONE)
        return 0;
    while (at + ranks < job->places.count && is_rank_of(job, at + ranks, row))
        ranks++;
    return ranks;
}

/* What the worker of a place is called: in an earlier life it was called that. */
static const char *name_of(const struct gw_sched *sched, const struct gw_place *place,
                           char text[static GW_WORKER_NAME_MAX])
{
    if (place->name)
        return place->name;
    return place->worker ? gw_sched_worker_name(sched, place->worker, text) : "";
}

static bool same_worker(const struct gw_place *a, const struct gw_place *b)
{
    return a->worker == b->worker && (!a->name || !b->name || strcmp(a->name, b->name) == 0);
}

uint32_t gw_sched_place_tell(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                             const struct gw_map *last, struct gw_text *text)
{
    char name[GW_WORKER_NAME_MAX];
    uint32_t id = job->tasks.worker[row], ranks = gw_sched_place_ranks(job, row, last);
    uint64_t at;
    if (id || !gw_map_get(last, row, &at)) {
        if (id)
            gw_text_say(text, "%s", gw_sched_worker_name(sched, id, name));
        return id;
    }
    const struct gw_place *places = &job->places.items[at];
    for (uint32_t first = 0, end = 0; first < ranks; first = end) {
        while (end < ranks && same_worker(&places[end], &places[first]))
            end++;
        gw_text_say(text, "%s%s", first ? ", " : "", name_of(sched, &places[first], name));
        if (end - first > 1 && end - first < ranks)
            gw_text_say(text, " %u-%u", first, end - 1);
        else if (ranks > 1 && end - first < ranks)
            gw_text_say(text, " %u", first);
    }
    if (ranks == 0)
        gw_text_say(text, "%s", name_of(sched, places, name));
    return gw_sched_place_worker(sched, places);
}
