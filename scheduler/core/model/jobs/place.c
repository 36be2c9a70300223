/* Places of attempts. The ids of workers are valid for one term only. Durable places have the
 * names of workers instead, because a worker of the same name with the same folder has the output.
 * The places of large jobs are not durable: a range may have 10^8 tasks. */
#include "scheduler/core/model/jobs/place.h"

#include "scheduler/core/model/worker_name.h"

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

bool gw_sched_place_is_rank_of(const struct gw_job *job, size_t at, uint32_t row)
{
    return job->places.items[at].attempt == job->tasks.attempt[row] &&
           job->places.items[at].index == row;
}

/* -- Listings --------------------------------------------------------------------------------- */

void gw_sched_places_last(const struct gw_job *job, uint32_t from, uint32_t to, struct gw_map *last)
{
    *last = (struct gw_map){0};
    for (size_t i = 0; i < job->places.count; i++) {
        const struct gw_place *place = &job->places.items[i];
        if (place->index >= from && place->index <= to &&
            (place->rank == GW_RANK_NONE || place->rank == 0) &&
            gw_sched_place_is_rank_of(job, i, place->index))
            GW_MUST(gw_map_put(last, place->index, i));
    }
}

uint32_t gw_sched_place_ranks(const struct gw_job *job, uint32_t row, const struct gw_map *last)
{
    uint64_t at;
    uint32_t ranks = 0;
    if (!gw_map_get(last, row, &at) || job->places.items[at].rank == GW_RANK_NONE)
        return 0;
    while (at + ranks < job->places.count && gw_sched_place_is_rank_of(job, at + ranks, row))
        ranks++;
    return ranks;
}

/* Returns the name of a place's worker. A place of an earlier term has the name stored. */
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
