/* What a row of a batch takes: its arguments, with the values of its inputs in them. */
#ifndef GW_RUNNER_INPUTS_H
#define GW_RUNNER_INPUTS_H

#include "graph/wire/board.h"
#include "worker/runner/batch.h"
#include "worker/runner/task.h"

/* The board, from which inputs come that other runners make (NULL: there is none), and what is to
 * be done before one is waited for for longer than a moment. */
struct gw_inputs_board {
    struct gw_board *board;
    void (*before_sleep)(void *arg);
    void *arg;
};

/* gw_inputs_take decodes a row's arguments into task->args; all its inputs are consumed, also on
 * failure, which task->error tells of: the errors of gw_value_file_decode, GW_EPROTO where
 * there are not as many as the row says. GW_EAGAIN: what one of them was to be was not made, or did
 * not come by the board within some 1 ms, and the row is to be skipped. */
int gw_inputs_take(struct gw_batch *batch, const struct gw_batch_row *row,
                   const struct gw_inputs_board *from, struct gw_task *task);

#endif
