/* GANGWAY_INLINE=1: tasks run inside this process, one after the other, gangs on threads. */
#ifndef GW_CLIENT_INLINE_H
#define GW_CLIENT_INLINE_H

#include "client/results/future_group.h"
#include "graph/model/graph_rows.h"

/* gw_inline_open makes a folder for checkpoints, unless GANGWAY_CHECKPOINTS names one;
 * gw_inline_close removes it. GW_EPERM, GW_EIO, GW_ENOMEM. */
int gw_inline_open(struct gw_client *client, struct gw_error *error);
void gw_inline_close(struct gw_client *client);

/* gw_inline_submit runs a sealed graph to its end and gives a group of `target_count` futures that
 * have ended, of these rows (ascending). A task that fails fails its future and what depends on it;
 * only commands (GW_ENOTSUP) and memory make the submission fail. */
int gw_inline_submit(struct gw_client *client, const struct gw_graph_rows *rows,
                     const uint32_t *target_rows, uint32_t target_count,
                     struct gw_future_group **group, struct gw_error *error);

#endif
