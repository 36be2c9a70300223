/* The encoder of durable facts. A fact is a uint32 size of the rest, a uint16 number and the
 * fields, all little-endian. Texts and blobs have a uint32 size before their bytes. `facts.def`
 * lists the facts. The decoder is journal/durable.c. */
#include "scheduler/core/model/fact_log.h"

#include <string.h>

static void put(struct gw_buffer *out, const void *data, size_t bytes)
{
    GW_MUST(gw_buffer_append(out, data, bytes));
}

void gw_fact_log_put_U32(struct gw_buffer *out, uint32_t x)
{
    put(out, &x, sizeof x);
}

void gw_fact_log_put_U64(struct gw_buffer *out, uint64_t x)
{
    put(out, &x, sizeof x);
}

void gw_fact_log_put_I32(struct gw_buffer *out, int32_t x)
{
    put(out, &x, sizeof x);
}

void gw_fact_log_put_BIN(struct gw_buffer *out, struct gw_bin x)
{
    gw_fact_log_put_U32(out, x.size);
    put(out, x.data, x.size);
}

void gw_fact_log_put_STR(struct gw_buffer *out, const char *x)
{
    gw_fact_log_put_BIN(out, (struct gw_bin){x ? x : "", x ? (uint32_t)strlen(x) : 0});
}

void gw_fact_log_put_CHARGES(struct gw_buffer *out, struct gw_charges x)
{
    uint8_t bytes[8] = {x.tries & 0xff, x.tries >> 8, x.retries,     x.crashes,
                        x.losses,       x.uncounted,  x.preemptions, x.ports};
    put(out, bytes, sizeof bytes);
}

void gw_fact_log_put_RESULTS(struct gw_buffer *out, struct gw_results x)
{
    gw_fact_log_put_U32(out, x.count);
    for (uint32_t i = 0; i < x.count; i++) {
        gw_fact_log_put_U64(out, x.items[i].bytes);
        gw_fact_log_put_U32(out, x.items[i].value != NULL);
        gw_fact_log_put_BIN(
            out, (struct gw_bin){x.items[i].value, x.items[i].value ? x.items[i].size : 0});
    }
}

/* Returns true if a fact about this job goes to disk. A fact without a job is about the scheduler
 * itself. */
static bool is_durable(const struct gw_sched *sched, const struct gw_job *job)
{
    return !sched->restoring && (!job || job->detached);
}

#define F(kind, field) gw_fact_log_put_##kind(&sched->commit, fact->field);
#define DURABLE(name, number, ...)                                                                 \
    void gw_sched_fact_log_##name(struct gw_sched *sched, const struct gw_fact_##name *fact)       \
    {                                                                                              \
        if (!is_durable(sched, fact->at))                                                          \
            return;                                                                                \
        size_t at = sched->commit.size;                                                            \
        uint16_t type = (number);                                                                  \
        gw_fact_log_put_U32(&sched->commit, 0);                                                    \
        put(&sched->commit, &type, sizeof type);                                                   \
        sched->commit_urgent =                                                                     \
            (type != GW_FACT_metric_reported && type != GW_FACT_account_used) ||                   \
            (at && sched->commit_urgent);                                                          \
        __VA_ARGS__                                                                                \
        uint32_t size = (uint32_t)(sched->commit.size - at - sizeof size);                         \
        memcpy(sched->commit.data + at, &size, sizeof size);                                       \
    }
#include "scheduler/core/model/facts.def"
#undef DURABLE
#undef F
