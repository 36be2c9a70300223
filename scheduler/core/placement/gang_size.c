/* Gangs that may run with fewer ranks.
 *
 * Invariants: an attempt has between min_ranks and all ranks of its gang. With ranks_per_node it
 * has whole nodes. The function gw_sched_gang_size_now decides about the number of ranks both when
 * a gang is placed and before it ends in order to grow. Therefore a gang that ends to grow starts
 * with more ranks. */
#include "scheduler/core/placement/gang_size.h"

#include "graph/base/text.h"
#include "scheduler/core/model/model.h"

int gw_sched_gang_size_check(const struct gw_msg_spec *spec, struct gw_error *error)
{
    if (spec->min_ranks > spec->ranks)
        return gw_error_set(error, GW_EINVAL,
                            "a gang of %u ranks cannot have a minimum of %u ranks: give 1 to the "
                            "number of its ranks (--min-ranks)",
                            spec->ranks, spec->min_ranks);
    if (spec->min_ranks && spec->ranks_per_node && spec->ranks_per_node != spec->ranks &&
        spec->min_ranks % spec->ranks_per_node)
        return gw_error_set(error, GW_EINVAL,
                            "the minimum of %u ranks (--min-ranks) must be a multiple of %u, the "
                            "number of ranks on each node",
                            spec->min_ranks, spec->ranks_per_node);
    return 0;
}

/* -- Number of ranks ----------------------------------------------------------------------- */

uint32_t gw_sched_gang_size_most(const struct gw_sched *sched,
                                 const struct gw_resource_class *shape)
{
    return gw_sched_gang_size_most_at(sched, shape, UINT64_MAX);
}

uint32_t gw_sched_gang_size_ranks(const struct gw_sched *sched, const struct gw_queue *queue,
                                  const struct gw_pack *packs, uint32_t count)
{
    struct gw_gang_sum sum = {.shape = queue->shape};
    uint32_t row = gw_bits_first(&queue->ready);
    for (uint32_t i = 0; i < count; i++)
        gw_sched_gang_size_sum_add(&sum, packs[i].ranks);
    return gw_sched_gang_size_now(sched, &sum, queue->full_ns, queue->job->tasks.attempt[row] == 0);
}

uint64_t gw_sched_gang_size_start(const struct gw_sched *sched, const struct gw_job *job,
                                  uint32_t row, uint32_t ranks)
{
    const struct gw_spec *spec = &job->specs.items[job->tasks.spec[row]];
    uint64_t full_ns = spec->queue ? spec->queue->full_ns : 0;
    if (ranks >= spec->shape->ranks || full_ns <= sched->now_ns)
        return sched->now_ns;
    bool first = job->tasks.attempt[row] == 0;
    return first || gw_sched_gang_size_most_at(sched, spec->shape, full_ns) == spec->shape->ranks
               ? full_ns
               : sched->now_ns;
}

/* -- Waiting for room for all ranks -------------------------------------------------------- */

void gw_sched_gang_size_on_tick(struct gw_sched *sched)
{
    if (sched->elastic_ns && sched->elastic_ns <= sched->now_ns)
        gw_sched_gang_size_waited(sched, sched->now_ns);
}

uint64_t gw_sched_gang_size_deadline_ns(const struct gw_sched *sched)
{
    return sched->elastic_ns ? sched->elastic_ns : UINT64_MAX;
}

/* -- Text for explain ---------------------------------------------------------------------- */

static void explain_fewer(const struct gw_sched *sched, const struct gw_gang_attempt *gang,
                          const struct gw_spec *spec, struct gw_text *text)
{
    char time[GW_TEXT_DURATION_ROOM];
    const struct gw_msg_spec *message = &spec->message;
    uint32_t most = gw_sched_gang_size_most(sched, spec->shape);
    gw_text_say(text, "; it runs with %u of %u ranks (--min-ranks %u): ", gang->count,
                message->ranks, message->min_ranks);
    if (most < message->ranks)
        gw_text_say(text, "the connected workers have room for %u%s%s", most,
                    sched->lost_worker_ns ? "; " : "", sched->lost_worker);
    else
        gw_text_say(text, "there was no room for more when it started");
    if (gang->growing)
        gw_text_say(
            text, "; there is room again: it was told to %s, and then starts again with more ranks",
            message->kind == GW_SPEC_FUNCTION ? "return at its next step" : "end");
    else if (message->kind == GW_SPEC_FUNCTION)
        gw_text_say(text, "; it grows at its next checkpoint if there is room");
    else
        gw_text_say(
            text,
            "; if there is room, it grows when its folder of checkpoints changes after it has run "
            "for %s, or when a user restarts it (`gangway restart %llu`)",
            gw_text_duration(GW_GROWS_AFTER_WAITS * spec->shape->full_size_timeout_ns, time),
            (unsigned long long)gang->job->id);
}

void gw_sched_gang_size_explain(const struct gw_sched *sched, const struct gw_job *job,
                                uint32_t row, char *to, size_t bytes)
{
    const struct gw_spec *spec = &job->specs.items[job->tasks.spec[row]];
    const struct gw_gang_attempt *gang = gw_sched_gang_of(sched, job, row);
    struct gw_text text = {to, bytes, 0};
    char time[GW_TEXT_DURATION_ROOM];
    *to = '\0';
    if (!spec->shape || !spec->shape->min_ranks)
        return;
    if (gang && gang->count < spec->message.ranks)
        explain_fewer(sched, gang, spec, &text);
    if (gang || job->tasks.state[row] != GW_TASK_READY || !spec->queue)
        return;
    uint64_t full_ns = spec->queue->full_ns;
    gw_text_say(&text, "; it can start with %u or more ranks (--min-ranks)",
                spec->message.min_ranks);
    if (full_ns > sched->now_ns)
        gw_text_say(&text, " in %s (--full-size-timeout)",
                    gw_text_duration(full_ns - sched->now_ns, time));
}
