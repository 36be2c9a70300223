/* Receipts: answers to what changes durable state (cancel, retry, pause, GPUs that are drained). */
#ifndef GW_SCHEDULER_CORE_RECEIPT_H
#define GW_SCHEDULER_CORE_RECEIPT_H

#include "scheduler/core/model/clients/notify.h"

/* gw_sched_receipt answers a call about a job (NULL: about none): an error at once, and that all is
 * well once all facts so far are committed. What is asked of a job that ends with its client is
 * answered at once: it ends with the scheduler, too. number and peer are set here. */
void gw_sched_receipt(struct gw_sched *sched, struct gw_remote *remote, const struct gw_job *job,
                      const struct gw_receipt *receipt, const struct gw_error *error);

/* gw_sched_receipts_give sends those that waited for facts up to this number. */
void gw_sched_receipts_give(struct gw_sched *sched, uint64_t number);

#endif
