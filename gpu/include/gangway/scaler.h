/* Dynamic loss scaling, for gradients of type F16 (BF16 needs none). Backward starts from the loss
 * times the scale, so that small gradients do not become 0. The optimizer divides gradients by the
 * scale again. The rules and the numbers are those of torch.amp.GradScaler (PyTorch 2): if a
 * gradient is not finite, the step is skipped and the scale becomes smaller; after `interval` steps
 * without such a gradient the scale becomes larger.
 *
 *     each step:   loss = forward * gw_scaler_scale(scaler);  backward;  gw_ddp_finish(...);
 *                  gw_scaler_step(scaler, optimizer, NULL, &stepped, &error);
 *
 * To clip as well, call gw_scaler_unscale and gw_clip_norm before gw_scaler_step.
 *
 * After gw_ddp_finish all ranks have the same gradients, so they take or skip a step together. With
 * the names of Apex: O0 is parameters of F32 without a scaler; O2 is parameters of F16 (the
 * optimizer holds masters) with a scaler; O3 is the same with a constant scale (interval
 * GW_UNLIMITED, backoff 1). O1 chooses types inside of layers, and Gangway has no layers.
 *
 * A scaler is used by one thread at a time. */
#ifndef GANGWAY_SCALER_H
#define GANGWAY_SCALER_H

#include <gangway/comm.h>
#include <gangway/error.h>
#include <gangway/optimizer.h>
#include <gangway/options.h>
#include <stdbool.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

struct gw_scaler;

struct gw_scaler_options {
    size_t struct_size; /* see options.h */
    double scale;       /* > 0; 0: 65536 */
    double growth;      /* > 1; 0: 2 */
    double backoff;     /* 0 < backoff <= 1; 0: 0.5 */
    uint32_t interval;  /* 0: 2000; GW_UNLIMITED: the scale does not grow */
    double scale_max;   /* the scale grows no further; 0: no limit (Apex: 2^24) */
};
#define GW_SCALER_OPTIONS(...) GW_POINTER(gw_scaler_options, __VA_ARGS__)

/* The whole state, for a checkpoint. This struct never gets another field. */
struct gw_scaler_state {
    double scale;        /* a float */
    int64_t clean_steps; /* steps since the scale changed or a step was skipped */
};

/* gw_scaler_new returns a scaler, which the caller frees with gw_scaler_free. Returns GW_EINVAL if
 * an option is out of range, GW_ENOMEM. */
GW_API int gw_scaler_new(const struct gw_scaler_options *options, struct gw_scaler **scaler,
                         struct gw_error *error);

/* gw_scaler_free frees the scaler. NULL is allowed. */
GW_API void gw_scaler_free(struct gw_scaler *scaler);

/* gw_scaler_scale returns the number by which the loss of this step must be multiplied. */
GW_API double gw_scaler_scale(const struct gw_scaler *scaler);

/* gw_scaler_unscale makes the optimizer divide the gradients of its next step by the scale. The
 * gradients in memory do not change. gw_scaler_step then does not do it again. */
GW_API void gw_scaler_unscale(struct gw_scaler *scaler, struct gw_optimizer *optimizer);

/* gw_scaler_step steps the optimizer with gradients divided by the scale, if all gradients are
 * finite. Otherwise it changes no parameter. Then it updates the scale. `stepped` tells which, and
 * may be NULL.
 *
 * shards: as in gw_clip_norm. Errors are those of gw_optimizer_step and of the communicator. */
GW_API int gw_scaler_step(struct gw_scaler *scaler, struct gw_optimizer *optimizer,
                          struct gw_comm *shards, bool *stepped, struct gw_error *error);

/* gw_scaler_update updates the scale after a step that the caller took or skipped by other means.
 * `finite`: all gradients were finite. */
GW_API void gw_scaler_update(struct gw_scaler *scaler, bool finite);

/* gw_scaler_state returns the state. */
GW_API struct gw_scaler_state gw_scaler_state(const struct gw_scaler *scaler);

/* gw_scaler_set_state continues from a saved state. The options are not in the state. */
GW_API void gw_scaler_set_state(struct gw_scaler *scaler, const struct gw_scaler_state *state);

#ifdef __cplusplus
}
#endif

#endif
