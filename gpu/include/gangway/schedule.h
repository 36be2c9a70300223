/* Learning rates that depend on the number of the step. After a warm-up the rate is constant, falls
 * in stairs, or falls along a cosine. The numbers are those of PyTorch's schedulers, bit for bit:
 * warm-up LinearLR, stairs StepLR, cosine CosineAnnealingLR, joined by SequentialLR (PyTorch 2,
 * torch/optim/lr_scheduler.py).
 *
 * Large batches (arXiv 1706.02677): with k ranks the batch is k times as large. Set `ranks` to k:
 * the rate becomes k lr, and the warm-up goes from lr to k lr.
 *
 * A schedule is used by one thread at a time. All ranks use equal options, so their rates are
 * equal. No function blocks. */
#ifndef GANGWAY_SCHEDULE_H
#define GANGWAY_SCHEDULE_H

#include <gangway/error.h>
#include <gangway/options.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_schedule;

enum gw_schedule_kind {
    GW_SCHEDULE_CONSTANT = 0,
    GW_SCHEDULE_STAIRS = 1, /* every `period` steps the rate is multiplied by `factor` */
    GW_SCHEDULE_COSINE = 2, /* from the rate down to lr_min in `period` steps, and up again */
};

struct gw_schedule_options {
    size_t struct_size; /* see options.h */
    enum gw_schedule_kind kind;
    double lr;             /* >= 0; the rate of one rank */
    int ranks;             /* the rate is multiplied by it; 0: 1 */
    int64_t warm_up_steps; /* the rate rises linearly for so many steps; 0: no warm-up */
    double warm_up_factor; /* 0 < factor <= 1: the first step has this part of the rate; 0: 1 /
                              ranks */
    int64_t period;        /* stairs, cosine: steps, >= 1; counted after the warm-up */
    double factor;         /* stairs; 0: 0.1 */
    double lr_min;         /* cosine */
};
#define GW_SCHEDULE_OPTIONS(...) GW_POINTER(gw_schedule_options, __VA_ARGS__)

/* The whole state, for a checkpoint. This struct never gets another field. */
struct gw_schedule_state {
    int64_t step;
    double lr;
};

/* gw_schedule_new returns a schedule at step 0, which the caller frees with gw_schedule_free.
 * Returns GW_EINVAL if an option is out of range, GW_ENOMEM. */
GW_API int gw_schedule_new(const struct gw_schedule_options *options, struct gw_schedule **schedule,
                           struct gw_error *error);

/* gw_schedule_free frees the schedule. NULL is allowed. */
GW_API void gw_schedule_free(struct gw_schedule *schedule);

/* gw_schedule_lr returns the learning rate of the current step. */
GW_API double gw_schedule_lr(const struct gw_schedule *schedule);

/* gw_schedule_next goes to the next step and returns its learning rate. */
GW_API double gw_schedule_next(struct gw_schedule *schedule);

/* gw_schedule_state returns the state. */
GW_API struct gw_schedule_state gw_schedule_state(const struct gw_schedule *schedule);

/* gw_schedule_set_state continues from a saved state. The options are not in the state. */
GW_API void gw_schedule_set_state(struct gw_schedule *schedule,
                                  const struct gw_schedule_state *state);

#ifdef __cplusplus
}
#endif

#endif
