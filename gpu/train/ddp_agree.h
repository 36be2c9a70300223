/* Checks that all ranks have the same parameters. */
#ifndef GW_GPU_DDP_AGREE_H
#define GW_GPU_DDP_AGREE_H

#include <gangway/ddp.h>

/* gw_ddp_agree compares this rank's parameters with those of rank 0. It is collective. If they
 * differ on any rank, it returns GW_EMISMATCH on all ranks with the same text, which names the
 * first parameter that differs and the first rank that has this difference. */
int gw_ddp_agree(struct gw_comm *comm, const struct gw_ddp_param *params, size_t count,
                 struct gw_error *error);

#endif
