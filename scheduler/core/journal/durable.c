/* Facts of the journal as bytes: the commit of a step, the decoder, and a dump of the durable state
 * for comparison. The encoder is model/fact_log.c. */
#include "scheduler/core/journal/durable.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/sched.h"
#include "scheduler/core/send/send.h"

#include <string.h>

void gw_sched_durable_flush(struct gw_sched *sched)
{
    if (sched->commit.size == 0)
        return;
    struct gw_effect *effect = gw_sched_send_effect(sched, GW_EFFECT_COMMIT);
    effect->number = gw_sched_fact_log_number(sched);
    effect->bytes = (struct gw_bin){sched->commit.data, (uint32_t)sched->commit.size};
    effect->lazy = !sched->commit_urgent;
}

/* -- Decoder ------------------------------------------------------------------------------- */

/* The bytes that are left to decode. `bad` stays set after the first error. */
struct reader {
    const uint8_t *at;
    size_t left;
    bool bad;
    struct gw_arena arena; /* holds texts and results */
};

static void get(struct reader *in, void *x, size_t bytes)
{
    if (in->left < bytes) {
        in->bad = true;
        memset(x, 0, bytes);
        return;
    }
    memcpy(x, in->at, bytes);
    in->at += bytes;
    in->left -= bytes;
}

static void get_U32(struct reader *in, uint32_t *x)
{
    get(in, x, sizeof *x);
}

static void get_U64(struct reader *in, uint64_t *x)
{
    get(in, x, sizeof *x);
}

static void get_I32(struct reader *in, int32_t *x)
{
    get(in, x, sizeof *x);
}

static void get_BIN(struct reader *in, struct gw_bin *x)
{
    get_U32(in, &x->size);
    if (in->left < x->size) {
        in->bad = true;
        x->size = 0;
    }
    x->data = in->at;
    in->at += x->size;
    in->left -= x->size;
}

static void get_STR(struct reader *in, const char **x)
{
    struct gw_bin bin;
    get_BIN(in, &bin);
    char *text = gw_arena_alloc(&in->arena, (size_t)bin.size + 1);
    GW_MUST_PTR(text);
    memcpy(text, bin.data, bin.size);
    *x = text;
}

static void get_CHARGES(struct reader *in, struct gw_charges *x)
{
    uint8_t bytes[8];
    get(in, bytes, sizeof bytes);
    *x = (struct gw_charges){.tries = (uint16_t)(bytes[0] | bytes[1] << 8),
                             .retries = bytes[2],
                             .crashes = bytes[3],
                             .losses = bytes[4],
                             .uncounted = bytes[5],
                             .preemptions = bytes[6],
                             .ports = bytes[7]};
}

static void get_RESULTS(struct reader *in, struct gw_results *x)
{
    get_U32(in, &x->count);
    if (x->count > in->left / 16) {
        in->bad = true;
        x->count = 0;
    }
    struct gw_result *items = gw_arena_alloc(&in->arena, x->count * sizeof *items);
    GW_MUST_PTR(items);
    for (uint32_t i = 0; i < x->count; i++) {
        uint32_t here;
        struct gw_bin value;
        get_U64(in, &items[i].bytes);
        get_U32(in, &here);
        get_BIN(in, &value);
        items[i].value = here ? value.data : NULL;
        items[i].size = value.size;
    }
    x->items = items;
}

#define F(kind, field) get_##kind(in, &fact.field);
#define DURABLE(name, number, ...)                                                                 \
    static void restore_##name(struct gw_sched *sched, struct reader *in)                          \
    {                                                                                              \
        struct gw_fact_##name fact = {0};                                                          \
        __VA_ARGS__                                                                                \
        if (!in->bad)                                                                              \
            gw_sched_apply_##name(sched, &fact);                                                   \
    }
#include "scheduler/core/model/facts.def"
#undef DURABLE
#undef F

static void restore_one(struct gw_sched *sched, uint16_t type, struct reader *in)
{
    switch (type) {
#define F(kind, field)
#define DURABLE(name, number, ...)                                                                 \
    case number:                                                                                   \
        restore_##name(sched, in);                                                                 \
        break;
#include "scheduler/core/model/facts.def"
#undef DURABLE
#undef F
    default:
        in->bad = true;
    }
}

int gw_sched_durable_restore(struct gw_sched *sched, const void *bytes, size_t size)
{
    const uint8_t *at = bytes;
    int rc = 0;
    gw_sched_term_restore(sched, true);
    while (size > 0 && rc == 0) {
        uint32_t length;
        uint16_t type;
        if (size < sizeof length + sizeof type) {
            rc = GW_ECORRUPT;
            break;
        }
        memcpy(&length, at, sizeof length);
        memcpy(&type, at + sizeof length, sizeof type);
        if (length < sizeof type || length > size - sizeof length) {
            rc = GW_ECORRUPT;
            break;
        }
        struct reader in = {at + sizeof length + sizeof type, length - sizeof type, false, {0}};
        restore_one(sched, type, &in);
        gw_arena_deinit(&in.arena);
        rc = in.bad ? GW_ECORRUPT : 0;
        at += sizeof length + length;
        size -= sizeof length + length;
    }
    gw_sched_term_restore(sched, false);
    return rc;
}

/* -- Dump of the durable state ------------------------------------------------------------- */

static void dump_place(const struct gw_checkpoint_place *place, struct gw_buffer *out)
{
    gw_fact_log_put_U64(out, place->attempt);
    gw_fact_log_put_U64(out, (uint64_t)place->step);
    gw_fact_log_put_U32(out, place->worker);
    gw_fact_log_put_U64(out, place->incarnation);
    gw_fact_log_put_STR(out, place->host);
    gw_fact_log_put_STR(out, place->name);
    gw_fact_log_put_U32(out, (uint32_t)place->is_copy << 1 | place->gone);
}

static void dump_metrics(const struct gw_job *job, uint32_t row, struct gw_buffer *out)
{
    for (const struct gw_metric *metric = gw_metric_first(job, row); metric;
         metric = metric->next) {
        gw_fact_log_put_STR(out, metric->name);
        gw_fact_log_put_U64(out, metric->attempt);
        gw_fact_log_put_U64(out, metric->count);
        for (size_t i = 0; i < metric->points.count; i++) {
            gw_fact_log_put_U64(out, metric->points.items[i].seq);
            gw_fact_log_put_U64(out, metric->points.items[i].nth);
            gw_fact_log_put_U64(out, metric->points.items[i].wall_ns);
            gw_fact_log_put_U64(out, (uint64_t)metric->points.items[i].step);
        }
    }
}

static void dump_task(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                      struct gw_buffer *out)
{
    const struct gw_tasks *tasks = &job->tasks;
    bool final = gw_sched_task_final(job, row);
    bool satisfied = gw_sched_task_satisfied(job, row);
    gw_fact_log_put_U32(out, satisfied ? GW_TASK_DONE
                             : final   ? tasks->state[row]
                                       : GW_TASK_WAITING);
    struct gw_charges charges = tasks->charges[row];
    /* The restart count includes attempts that still run, so it is not durable. */
    charges.tries = 0;
    gw_fact_log_put_CHARGES(out, charges);
    gw_fact_log_put_U32(out, tasks->flags[row] & (GW_TASK_TARGET | GW_TASK_HELD));
    const struct gw_checkpointed *saved = gw_sched_checkpoint_of(job, row);
    gw_fact_log_put_U64(out, saved ? saved->attempt : 0);
    gw_fact_log_put_U64(out, saved ? (uint64_t)saved->step : 0);
    for (int i = 0; saved && i < 3; i++)
        dump_place(i == 0 ? &saved->home : i == 1 ? &saved->saver : &saved->copy, out);
    for (uint32_t i = 0; saved && i < saved->member_count; i++)
        dump_place(&saved->members[i], out);
    gw_fact_log_put_U32(out, saved && saved->shared);
    const struct gw_went went = gw_sched_gang_went(job, row);
    gw_fact_log_put_U64(out, went.attempt);
    gw_fact_log_put_U32(out, went.tries);
    /* 1 if the restart count is at least the one recorded when the gang started. */
    gw_fact_log_put_U32(out, tasks->charges[row].tries >= went.tries);
    const struct gw_asked asked = gw_sched_gang_asked(job, row);
    gw_fact_log_put_U64(out, asked.attempt);
    gw_fact_log_put_U32(out, asked.verb);
    gw_fact_log_put_STR(out, asked.by);
    const struct gw_failure *failure = gw_sched_task_failure_of(job, row);
    if (failure) {
        gw_fact_log_put_I32(out, failure->code);
        gw_fact_log_put_I32(out, failure->exit_code);
        gw_fact_log_put_STR(out, failure->text);
    }
    dump_metrics(job, row, out);
    if (!satisfied || !(tasks->flags[row] & GW_TASK_HELD))
        return;
    for (uint32_t at = tasks->object[row]; at != GW_NO_INDEX; at = sched->objects.items[at].next) {
        const struct gw_object *object = &sched->objects.items[at];
        const void *value = gw_sched_object_value(object);
        gw_fact_log_put_U64(out, object->bytes);
        gw_fact_log_put_BIN(out, (struct gw_bin){value, value ? object->size : 0});
    }
}

/* The rows of a range are made and freed as the cluster progresses, so they are not durable. Only
 * the numbers of ended rows are. */
static void dump_range(const struct gw_job *job, struct gw_buffer *out)
{
    gw_fact_log_put_U32(out, job->range->count);
    gw_fact_log_put_U32(out, job->range->ended);
    gw_fact_log_put_U32(out, job->done);
    gw_fact_log_put_U32(out, job->failed);
    gw_fact_log_put_U32(out, job->cancelled_tasks);
    gw_fact_log_put_STR(out, job->first_failure ? job->first_failure->text : "");
}

void gw_sched_durable_dump(const struct gw_sched *sched, struct gw_buffer *out)
{
    gw_fact_log_put_U64(out, sched->term);
    gw_fact_log_put_U64(out, sched->job_ids_upto);
    gw_sched_hold_dump(sched, out);
    gw_sched_gpu_drain_dump(sched, out);
    gw_sched_worker_drain_dump(sched, out);
    gw_account_dump(sched, out);
    for (const struct gw_job *job = sched->first_job; job; job = job->next) {
        if (!job->detached || job->state == GW_JOB_OPEN)
            continue;
        gw_fact_log_put_U64(out, job->id);
        gw_fact_log_put_U32(out, job->uid);
        gw_fact_log_put_U32(out, job->state);
        gw_fact_log_put_U64(out, job->submitted_wall_ns);
        gw_fact_log_put_U64(out, job->ended_wall_ns);
        gw_fact_log_put_U64(out, job->state == GW_JOB_ENDED ? job->end_event : 0);
        gw_fact_log_put_STR(out, job->name);
        gw_fact_log_put_STR(out, job->user);
        gw_fact_log_put_U32(out, job->paused);
        gw_fact_log_put_U64(out, job->state == GW_JOB_ENDED ? job->usage.slot_ns : 0);
        gw_sched_decided_dump(job, out);
        if (job->range)
            dump_range(job, out);
        for (uint32_t row = 0; row < job->tasks.count && !job->range; row++)
            dump_task(sched, job, row, out);
    }
}
