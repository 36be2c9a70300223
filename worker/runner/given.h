/* Memory files that the worker has given to tasks that have not begun. The tasks write their
 * results to them. */
#ifndef GW_RUNNER_GIVEN_H
#define GW_RUNNER_GIVEN_H

#include "graph/base/array.h"
#include "worker/runner/task_result.h"

/* Zero-initialised. Used only by the thread that executes tasks. */
struct gw_givens {
    GW_ARRAY(struct gw_given {
        uint64_t attempt;
        struct gw_task_result_given given;
    })
    items;
};

/* gw_givens_add stores a memory file for an attempt. It takes over the descriptor, even if it
 * fails. Returns 0 or GW_ENOMEM. */
int gw_givens_add(struct gw_givens *givens, uint64_t attempt, struct gw_task_result_given given);

/* gw_givens_take gives `result` (borrowed) the memory file that was stored last for its attempt,
 * and closes older ones. */
void gw_givens_take(struct gw_givens *givens, uint64_t attempt, struct gw_task_result *result);

/* gw_givens_clear closes all memory files, since their tasks will not begin in this runner. */
void gw_givens_clear(struct gw_givens *givens);

#endif
