/* Reduces the learning rate if a metric no longer improves. The rules and the numbers are those of
 * torch.optim.lr_scheduler.ReduceLROnPlateau (PyTorch 2). A metric is better if it is less than
 * best (1 - threshold). If more than `patience` metrics in a row are not better, the rate is
 * multiplied by `factor`. A metric that is not a number is not better.
 *
 * Give all ranks the same metric (reduce it with gw_comm_all_reduce), so that their rates stay
 * equal. A plateau is used by one thread at a time. No function blocks. */
#ifndef GANGWAY_PLATEAU_H
#define GANGWAY_PLATEAU_H

#include <gangway/error.h>
#include <gangway/options.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_plateau;

struct gw_plateau_options {
    size_t struct_size; /* see options.h */
    bool is_max;        /* a larger metric is better (more than best (1 + threshold)) */
    bool is_absolute;   /* the threshold is added to the best metric, not multiplied with it */
    double factor;      /* 0 < factor < 1; 0: 0.1 */
    uint32_t patience;  /* 0: 10; GW_NONE: none */
    uint32_t cooldown;  /* so many metrics after a reduction are not counted */
    double threshold;   /* 0: 1e-4; negative: none */
    double lr_min;      /* >= 0 */
    double eps;         /* a smaller reduction is not made; 0: 1e-8 */
};
#define GW_PLATEAU_OPTIONS(...) GW_POINTER(gw_plateau_options, __VA_ARGS__)

/* The whole state, for a checkpoint. This struct never gets another field. */
struct gw_plateau_state {
    double best;         /* infinity (is_max: minus infinity) before the first metric */
    int64_t worse_count; /* metrics in a row that were not better */
    int64_t cooldown_left;
};

/* gw_plateau_new returns a plateau without metrics, which the caller frees with gw_plateau_free.
 * Returns GW_EINVAL if an option is out of range, GW_ENOMEM. */
GW_API int gw_plateau_new(const struct gw_plateau_options *options, struct gw_plateau **plateau,
                          struct gw_error *error);

/* gw_plateau_free frees the plateau. NULL is allowed. */
GW_API void gw_plateau_free(struct gw_plateau *plateau);

/* gw_plateau_next takes the next metric, usually the loss of an epoch, and returns the learning
 * rate that follows `lr`: lr itself, or a smaller one. */
GW_API double gw_plateau_next(struct gw_plateau *plateau, double metric, double lr);

/* gw_plateau_state returns the state. */
GW_API struct gw_plateau_state gw_plateau_state(const struct gw_plateau *plateau);

/* gw_plateau_set_state continues from a saved state. The options are not in the state. */
GW_API void gw_plateau_set_state(struct gw_plateau *plateau, const struct gw_plateau_state *state);

#ifdef __cplusplus
}
#endif

#endif
