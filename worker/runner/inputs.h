/* What a row of a batch takes: its arguments, with the values of its inputs in them. */
#ifndef GW_RUNNER_INPUTS_H
#define GW_RUNNER_INPUTS_H

#include "worker/runner/batch.h"
#include "worker/runner/task.h"

/* gw_inputs_take decodes a row's arguments into task->args; all its inputs are consumed, also on
 * failure, which task->error tells of: the errors of gw_value_file_decode, GW_EPROTO where there
 * are not as many as the row says. GW_EAGAIN: what one of them was to be was not made, and the row
 * is to be skipped. */
int gw_inputs_take(struct gw_batch *batch, const struct gw_batch_row *row, struct gw_task *task);

#endif
