/* Whether all ranks have the same parameters. */
#ifndef GW_GPU_DDP_AGREE_H
#define GW_GPU_DDP_AGREE_H

#include <gangway/ddp.h>

/* gw_ddp_agree compares this rank's parameters with rank 0's; collective. GW_EMISMATCH on all ranks
 * with one text, which names the first parameter that differs and the first rank that has it so. */
int gw_ddp_agree(struct gw_comm *comm, const struct gw_ddp_param *params, size_t count,
                 struct gw_error *error);

#endif
