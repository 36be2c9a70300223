/* Values that clients scattered.
 *
 * Invariant: the counters equal the scattered values that the scheduler holds: the bytes and
 * descriptors of each value, and its job. The values of a connected client are also counted for its
 * session. A value beyond a limit is refused before it becomes a fact, so it does not affect
 * existing values and other clients. A value that came inside its message needs no file descriptor.
 * Other values need one, and descriptors are limited like memory, because a scheduler without free
 * descriptors could accept no connection. */
#include "scheduler/core/requests/scattered.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/requests/admission.h"
#include "scheduler/core/requests/submission.h"

#include <assert.h>
#include <gangway/value.h>

#define MIB 1048576.0
#define RELEASE "release the futures of values that no task needs any more (gw_future_release)"

void gw_sched_scattered_check(const struct gw_sched *sched)
{
    struct gw_scattered all = {0};
    uint64_t of_sessions = 0;
    for (size_t i = 0; i < sched->objects.count; i++) {
        const struct gw_object *object = &sched->objects.items[i];
        if (!object->job || !object->scattered)
            continue;
        gw_sched_scattered_count(&all, object, 1);
        of_sessions += object->job->session != NULL;
    }
    for (const struct gw_session *session = sched->sessions; session; session = session->next)
        of_sessions -= session->scattered.values;
    assert(all.values == sched->scattered.values && all.bytes == sched->scattered.bytes);
    assert(all.descriptors == sched->scattered.descriptors && of_sessions == 0);
}

void gw_sched_scattered_query(const struct gw_sched *sched, struct gw_value *status)
{
    const struct gw_sched_options *options = &sched->options;
    const struct {
        const char *name;
        uint64_t number;
    } numbers[] = {
        {"values", sched->scattered.values},
        {"bytes", sched->scattered.bytes},
        {"bytes_max", options->scattered_bytes_max},
        {"descriptors", sched->scattered.descriptors},
        {"descriptors_max", options->scattered_descriptors_max},
    };
    struct gw_value *dict = gw_dict();
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        GW_MUST(gw_dict_set(dict, numbers[i].name, gw_i64((int64_t)numbers[i].number)));
    GW_MUST(gw_dict_set(status, "scattered", dict));
}

/* Returns GW_ELIMIT, with the present use and advice, if there is no room for a value. */
static int room_for(const struct gw_sched *sched, const struct gw_session *session, uint64_t bytes,
                    bool descriptor, struct gw_error *error)
{
    const struct gw_scattered *all = &sched->scattered, *own = &session->scattered;
    uint64_t bytes_max = sched->options.scattered_bytes_max;
    uint32_t descriptors_max = sched->options.scattered_descriptors_max;
    if (descriptor && descriptors_max && all->descriptors >= descriptors_max)
        return gw_error_set(error, GW_ELIMIT,
                            "scatter: the scheduler has no descriptor left for a value of %.2f "
                            "MiB: it holds %u values that are larger than %d KiB, which is the "
                            "most, %u of them from here; " RELEASE ", or put several into one",
                            (double)bytes / MIB, all->descriptors,
                            GW_SCATTER_INLINE_BYTES_MAX >> 10, own->descriptors);
    if (bytes_max && (bytes > bytes_max || all->bytes > bytes_max - bytes))
        return gw_error_set(error, GW_ELIMIT,
                            "scatter: the scheduler has no room for a value of %.1f MiB: it holds "
                            "%llu values of %.1f MiB, of at most %.1f, %llu of them and %.1f MiB "
                            "from here; " RELEASE ", or start it with more (--scatter-memory)",
                            (double)bytes / MIB, (unsigned long long)all->values,
                            (double)all->bytes / MIB, (double)bytes_max / MIB,
                            (unsigned long long)own->values, (double)own->bytes / MIB);
    return 0;
}

int gw_sched_on_scatter(struct gw_sched *sched, struct gw_session *session,
                        const struct gw_msg_scatter *scatter)
{
    uint32_t tokens = sched->step.event->token_count;
    struct gw_error error = {0};
    if (tokens > 1 || (tokens == 0 && scatter->value.size != scatter->bytes) ||
        scatter->value.size > GW_SCATTER_INLINE_BYTES_MAX ||
        gw_map_get(&session->requests, scatter->request, NULL))
        return GW_EPROTO;
    if (sched->shutting_down)
        gw_error_set(&error, GW_ECLOSED, "this cluster is shutting down and takes no more values");
    else if (gw_sched_admission_check_value(sched, session, &error) == 0)
        (void)room_for(sched, session, scatter->bytes, tokens > 0, &error);
    if (error.code < 0) {
        gw_sched_submission_reject(sched, session, scatter->request, &error);
        return 0;
    }
    struct gw_job *job = gw_sched_job_open(sched, session, scatter->request);
    uint32_t zero = 0, target = 0;
    const struct gw_col32 one = {&zero, 1};
    struct gw_msg_submit chunk = {.flags = GW_SUBMIT_LAST,
                                  .name = "value",
                                  .spec = one,
                                  .args_size = one,
                                  .dep_count = one,
                                  .names = {"", 0},
                                  .args = {"", 0},
                                  .targets = {&target, 1}};
    struct gw_result result = {
        .bytes = scatter->bytes,
        .value = tokens ? NULL : scatter->value.data,
        .size = scatter->value.size,
        .token = tokens ? sched->step.event->tokens[0] : 0,
    };
    if (tokens)
        sched->step.tokens_retained = true;
    gw_sched_content_add_spec(sched, job, &gw_sched_value_spec.message);
    gw_sched_content_add_chunk(sched, job, &chunk);
    gw_sched_job_set_sealed(sched, job, sched->wall_ns);
    gw_sched_task_scatter(sched, job, &result);
    gw_sched_task_told(job, 0, GW_TASK_TOLD);
    gw_sched_submission_accepted(sched, job, false);
    return 0;
}
