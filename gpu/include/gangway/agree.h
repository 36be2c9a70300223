/* Checks that all ranks still have the same parameters. In data-parallel training they have the
 * same bits all the time. If they differ, a rank has a fault: a wrong gradient that was not
 * reduced, memory or a device with errors, or code that is different on this rank. */
#ifndef GANGWAY_AGREE_H
#define GANGWAY_AGREE_H

#include <gangway/comm.h>
#include <gangway/error.h>
#include <gangway/optimizer.h>
#include <stdint.h>

#ifdef __cplusplus
extern "C" {
#endif

/* gw_agree_parameters compares a hash of the optimizer's parameters (not of its moments) on all
 * ranks, if the number of its steps is a multiple of `every` (at least 1). Otherwise it returns 0
 * at once (if a CUDA graph makes the steps: after the work on the stream, whose steps only the
 * device can count). It is collective. It costs a copy to the host and a SHA-256 of all parameters,
 * and one small message.
 *
 * If ranks differ, it returns GW_EMISMATCH on all ranks, and the text names the step and the ranks
 * that diverged: those whose parameters differ from the parameters of most ranks (of two halves,
 * from those of the half with the lowest rank). Then end the gang, or load a checkpoint. The
 * communicator stays usable. Returns GW_EINVAL if every is 0, GW_ENOMEM, and the errors of the
 * communicator and of the device. */
GW_API int gw_agree_parameters(struct gw_optimizer *optimizer, struct gw_comm *comm, uint64_t every,
                               struct gw_error *error);

#ifdef __cplusplus
}
#endif

#endif
