/* Reads the specs, tasks and names of a job as its client submitted them. */

#include "scheduler/core/model/jobs/content.h"

#include "graph/wire/frame.h"
#include "scheduler/core/model/needed.h"
#include "scheduler/core/model/workers/need.h"

#include <gangway/options.h>

#include <stdalign.h>
#include <stddef.h>

/* Groups time limits in steps of a quarter of a power of two. Tasks with different limits are in
 * different resource classes, so that a short task that fits before a reserved gang does not queue
 * behind a long one that does not. */
static uint32_t time_limit_class(const struct gw_msg_spec *spec)
{
    if (!spec->time_limit_ns)
        return 0;
    uint32_t octave = 63 - (uint32_t)__builtin_clzll(spec->time_limit_ns | 4);
    return 4 * octave + (uint32_t)(spec->time_limit_ns >> (octave - 2) & 3);
}

/* Fills in the requirements of one task of a spec. Without a TCP address, all clients and workers
 * belong to one user. */
int gw_sched_content_shape(const struct gw_sched *sched, const struct gw_job *job,
                           const struct gw_msg_spec *spec, struct gw_resource_class *shape,
                           struct gw_error *error)
{
    struct gw_need *need;
    int rc = gw_sched_need_new(spec, &need, error);
    if (rc < 0)
        return rc;
    *shape = (struct gw_resource_class){
        .need = need,
        .ranks = spec->ranks,
        .slots = spec->slots == GW_NONE ? 0
                 : spec->slots          ? spec->slots
                                        : 1,
        .gpus = spec->gpu_mode == GW_GPU_MODE_IF_ANY ? 0 : spec->gpus,
        .gpu_fraction = spec->gpu_fraction,
        .gpu_if_any = spec->gpu_mode == GW_GPU_MODE_IF_ANY,
        .memory_bytes = spec->memory_bytes,
        .time_limit_class = time_limit_class(spec),
        .per_node = spec->ranks ? spec->ranks_per_node : 0,
        .spread = spec->ranks && spec->spread,
        .files = spec->files.size > 0,
        .of_user = sched->options.address != NULL,
        .uid = sched->options.address ? job->uid : 0,
        .min_ranks = spec->min_ranks < spec->ranks ? spec->min_ranks : 0,
        .full_size_timeout_ns =
            spec->min_ranks < spec->ranks && spec->min_ranks ? spec->full_size_timeout_ns : 0,
    };
    if (spec->actor && spec->actor != GW_ACTOR_NEW) { /* a call uses the resources of its actor */
        gw_sched_need_unref(shape->need);
        *shape = (struct gw_resource_class){.calls = true};
    }
    return 0;
}

/* Returns the number of tasks of a chunk that may be pure. Each of them may get one more
 * dependency than submitted. */
uint32_t gw_sched_content_pure_rows(const struct gw_job *job, const struct gw_msg_submit *chunk)
{
    uint32_t rows = 0;
    for (size_t i = 0; i < job->specs.count; i++)
        rows += job->specs.items[i].message.pure;
    return rows ? chunk->spec.count : 0;
}

/* Calls `each` with every message of a sequence of frames. */
int gw_sched_content_each(struct gw_sched *sched, struct gw_bin content,
                          int (*each)(struct gw_sched *sched, const struct gw_message *message,
                                      void *arg, struct gw_error *error),
                          void *arg, struct gw_error *error)
{
    const uint8_t *at = content.data, *end = at + content.size;
    struct gw_arena arena = {0};
    int rc = 0;
    while (rc == 0 && at < end) {
        struct gw_frame_header header;
        struct gw_message message;
        rc = gw_frame_header_read(at, &header, error);
        at += GW_FRAME_HEADER_BYTES;
        if (rc == 0)
            rc = gw_message_decode(at, header.bytes, &arena, &message, error);
        if (rc == 0)
            rc = each(sched, &message, arg, error);
        at += header.bytes;
        gw_arena_reset(&arena);
    }
    gw_arena_deinit(&arena);
    return rc;
}

static int frame_names(struct gw_sched *sched, const struct gw_message *message, void *arg,
                       struct gw_error *error)
{
    const struct gw_content_names *names = arg;
    struct gw_col64 jobs = {NULL, 0};
    if (message->type == GW_MESSAGE_submit)
        jobs = message->submit.dep_job;
    else if (message->type == GW_MESSAGE_range)
        jobs = message->range.dep_job;
    else if (message->type == GW_MESSAGE_after)
        jobs = message->after.job;
    for (uint32_t i = 0; i < jobs.count; i++)
        names->each(gw_col64_at(jobs, i), names->arg);
    return 0;
}

void gw_sched_content_jobs(struct gw_bin content, void (*each)(uint64_t job, void *arg), void *arg)
{
    struct gw_error error;
    struct gw_content_names names = {each, arg};
    (void)gw_sched_content_each(NULL, content, frame_names, &names, &error);
}
