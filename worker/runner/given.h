/* Memory files that the worker gives to tasks that were not begun: their results go there. */
#ifndef GW_RUNNER_GIVEN_H
#define GW_RUNNER_GIVEN_H

#include "graph/base/array.h"
#include "worker/runner/task_result.h"

/* Zero-initialised. Thread: that which executes. */
struct gw_givens {
    GW_ARRAY(struct gw_given {
        uint64_t attempt;
        struct gw_task_result_given given;
    })
    items;
};

/* gw_givens_add takes the descriptor, on success and failure: 0 or GW_ENOMEM. */
int gw_givens_add(struct gw_givens *givens, uint64_t attempt, struct gw_task_result_given given);

/* gw_givens_take gives the result (borrowed) what was given to its attempt last; what was given to
 * that earlier is let go. */
void gw_givens_take(struct gw_givens *givens, uint64_t attempt, struct gw_task_result *result);

/* gw_givens_clear lets go of all: those tasks are not begun here. */
void gw_givens_clear(struct gw_givens *givens);

#endif
