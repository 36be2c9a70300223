/* Builds the arguments of a task: decodes them and inserts the values of its inputs. */
#ifndef GW_RUNNER_INPUTS_H
#define GW_RUNNER_INPUTS_H

#include "worker/runner/batch.h"
#include "worker/runner/task.h"

/* gw_inputs_take decodes the arguments of a row into task->args. It consumes all inputs of the row,
 * even if it fails. It sets task->error and returns the errors of gw_value_file_decode, or
 * GW_EPROTO if the row has fewer inputs than it says. GW_EAGAIN: an input was not made, so the row
 * must be skipped. */
int gw_inputs_take(struct gw_batch *batch, const struct gw_batch_row *row, struct gw_task *task);

#endif
