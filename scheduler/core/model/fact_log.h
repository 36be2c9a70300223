/* Encoders of the fields of durable facts. The functions gw_sched_fact_log_* of fact.h use them. */
#ifndef GW_SCHEDULER_CORE_FACT_LOG_H
#define GW_SCHEDULER_CORE_FACT_LOG_H

#include "scheduler/core/model/state.h"

/* Each function appends one field of its kind to `out`. */
void gw_fact_log_put_U32(struct gw_buffer *out, uint32_t x);
void gw_fact_log_put_U64(struct gw_buffer *out, uint64_t x);
void gw_fact_log_put_I32(struct gw_buffer *out, int32_t x);
void gw_fact_log_put_BIN(struct gw_buffer *out, struct gw_bin x);
void gw_fact_log_put_STR(struct gw_buffer *out, const char *x);
void gw_fact_log_put_CHARGES(struct gw_buffer *out, struct gw_charges x);
void gw_fact_log_put_RESULTS(struct gw_buffer *out, struct gw_results x);

/* gw_sched_fact_log_number closes this step's commit and returns its number. */
static inline uint64_t gw_sched_fact_log_number(struct gw_sched *sched)
{
    return ++sched->facts;
}

#endif
