/* Counts scattered values. */
#include "scheduler/core/model/jobs/scattered.h"

#include <assert.h>

void gw_sched_scattered_count(struct gw_scattered *scattered, const struct gw_object *object,
                              int sign)
{
    uint64_t bytes = object->bytes + GW_SCATTERED_JOB_BYTES;
    scattered->values += sign > 0 ? 1 : UINT64_MAX;
    scattered->bytes += sign > 0 ? bytes : -bytes;
    scattered->descriptors += object->has_token ? (uint32_t)sign : 0;
}

void gw_sched_scattered_add(struct gw_sched *sched, const struct gw_job *job,
                            struct gw_object *object)
{
    object->scattered = true;
    gw_sched_scattered_count(&sched->scattered, object, 1);
    gw_sched_scattered_count(&job->session->scattered, object, 1);
}

void gw_sched_scattered_remove(struct gw_sched *sched, const struct gw_object *object)
{
    gw_sched_scattered_count(&sched->scattered, object, -1);
    if (object->job->session)
        gw_sched_scattered_count(&object->job->session->scattered, object, -1);
}

const struct gw_spec gw_sched_value_spec = {.message = {.kind = GW_SPEC_VALUE,
                                                        .slots = 1,
                                                        .program = {"", 0},
                                                        .function = "value",
                                                        .argv = {"", 0},
                                                        .env = {"", 0},
                                                        .epilog = {"", 0},
                                                        .cwd = "",
                                                        .resources = "",
                                                        .workers = "",
                                                        .annotations = "",
                                                        .files = {"", 0},
                                                        .actor_name = "",
                                                        .job_key = "",
                                                        .account = "",
                                                        .queue = "",
                                                        .metrics = ""}};

void gw_sched_scattered_spec(struct gw_job *job)
{
    assert(!job->specs.items);
    job->specs.items = (struct gw_spec *)(uintptr_t)&gw_sched_value_spec;
    job->specs.count = 1; /* capacity is 0: the job does not own this array */
}
