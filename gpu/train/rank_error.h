/* An error of one rank becomes the error of all ranks. */
#ifndef GW_GPU_RANK_ERROR_H
#define GW_GPU_RANK_ERROR_H

#include <gangway/comm.h>

/* gw_rank_error_share returns 0 if `rc` is 0 on all ranks. Otherwise it returns, on all ranks, the
 * error of the first rank whose `rc` is negative; *error of that rank holds its text. It is
 * collective, and error must not be NULL. Errors of the communicator are returned, too. */
int gw_rank_error_share(struct gw_comm *comm, int rc, struct gw_error *error);

#endif
