/* Checks that all ranks have the same parameters and options. */
#ifndef GW_GPU_DDP_AGREE_H
#define GW_GPU_DDP_AGREE_H

#include <gangway/ddp.h>

/* gw_ddp_agree compares this rank's options and parameters with those of rank 0. It is collective.
 * `rc` is the result of this rank so far, with its text in *error. If it is negative on any rank,
 * or if a rank differs from rank 0, gw_ddp_agree returns the same error on all ranks: the error of
 * the first such rank, or GW_EMISMATCH with the rank, the option or parameter, and both values.
 * error must not be NULL. */
int gw_ddp_agree(const struct gw_ddp_options *options, int rc, struct gw_error *error);

#endif
