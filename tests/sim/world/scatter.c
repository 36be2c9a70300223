/* Scattered values: small ones, some that the scheduler stores without a descriptor, and large
 * ones, of which it accepts only a limited number.
 *
 * Checks: the scheduler never exceeds its limit of descriptors, or its limit of bytes by much; it
 * refuses no value without a reason; and it has all values that its clients hold. */
#include "tests/sim/world/scatter.h"

#include "scheduler/core/model/counts.h"
#include "scheduler/core/requests/scattered.h"

#include <stdlib.h>
#include <string.h>

enum { MIDDLE_BYTES = 100000, LARGE_BYTES = 1000000, DESCRIPTORS_MAX = 1, BYTES_MAX = 2500000 };

void sim_scatter_options(struct gw_sched_options *options)
{
    options->scattered_descriptors_max = DESCRIPTORS_MAX;
    options->scattered_bytes_max = BYTES_MAX;
}

/* Uses a hash, so that the random numbers of the rest of the world do not change. */
void sim_job_scatter(struct sim *sim, struct client *client)
{
    struct sim_job *job = sim_job_new(sim, client);
    job->scattered = true;
    struct work *work = sim_work_new(sim, job);
    work->target = work->held = true;
    work->ended_well = 1;
    work->told = TOLD_DONE;
    work->bytes = sim_chance(sim, 50) ? 8 : LARGE_BYTES;
    if (work->bytes > 8 && sim_hash(sim->seed, job->request) % 2)
        work->bytes = MIDDLE_BYTES;
    job->sent = 1;
    uint64_t value = sim_work_value(work, 0), token = 0;
    struct gw_message message = {.type = GW_MESSAGE_scatter,
                                 .scatter = {job->request, work->bytes, {"", 0}}};
    uint8_t *bytes = calloc(1, MIDDLE_BYTES);
    GW_MUST_PTR(bytes);
    memcpy(bytes, &value, sizeof value);
    if (work->bytes == LARGE_BYTES)
        token = sim_token(sim, value, work->bytes);
    else
        message.scatter.value = (struct gw_bin){bytes, (uint32_t)work->bytes};
    sim_client_send_with(sim, client, &message, token);
    if (token)
        sim_token_drop(sim, token);
    free(bytes);
}

/* Counts the values that are at the scheduler: certainly (at_least), or possibly. */
static void count(const struct sim *sim, bool at_least, uint64_t *bytes, uint32_t *descriptors)
{
    *bytes = *descriptors = 0;
    for (size_t i = 0; i < sim->jobs.count; i++) {
        const struct sim_job *job = sim->jobs.items[i];
        const struct work *work = job->work.items[0];
        if (!job->scattered || job->rejected ||
            (at_least && (!job->accepted || !work->held || !job->client->alive)))
            continue;
        *bytes += work->bytes + GW_SCATTERED_JOB_BYTES;
        *descriptors += work->bytes == LARGE_BYTES;
    }
}

void sim_scatter_accepted(struct sim *sim)
{
    uint64_t bytes;
    uint32_t descriptors;
    count(sim, true, &bytes, &descriptors);
    SIM_CHECK(sim, descriptors <= DESCRIPTORS_MAX && bytes <= BYTES_MAX,
              "the scheduler took %u large values, and %llu bytes", descriptors,
              (unsigned long long)bytes);
}

bool sim_scatter_refused(struct sim *sim, const struct sim_job *job)
{
    uint64_t bytes;
    uint32_t descriptors;
    if (!job->scattered)
        return false;
    count(sim, false, &bytes, &descriptors); /* including this one */
    sim_fault(sim, FAULT_SCATTER_REFUSED);
    return descriptors > DESCRIPTORS_MAX || bytes > BYTES_MAX;
}

/* Does what the scheduler's I/O does: a value that is too large for a message is sent as a
 * descriptor. */
const struct gw_effect *sim_scatter_pack(struct sim *sim, const struct gw_effect *effect,
                                         struct packed *packed)
{
    const struct gw_msg_object *object = &effect->message.object;
    uint64_t value;
    if (effect->message.type != GW_MESSAGE_object || object->value.size <= GW_INLINE_BYTES_MAX)
        return effect;
    memcpy(&value, object->value.data, sizeof value);
    packed->effect = *effect;
    packed->effect.message.object.value = (struct gw_bin){"", 0};
    packed->token = sim_token(sim, value, object->bytes);
    packed->effect.tokens = &packed->token;
    packed->effect.token_count = 1;
    return &packed->effect;
}
