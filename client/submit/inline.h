/* GANGWAY_INLINE=1: tasks run inside this process, one after the other; the ranks of a gang run on
 * threads. */
#ifndef GW_CLIENT_INLINE_H
#define GW_CLIENT_INLINE_H

#include "client/results/future_group.h"
#include "graph/model/graph_rows.h"

/* gw_inline_open makes a folder for checkpoints, unless the environment variable
 * GANGWAY_CHECKPOINTS names a folder. gw_inline_close removes the folder that gw_inline_open made.
 * Errors: GW_EPERM, GW_EIO, GW_ENOMEM. */
int gw_inline_open(struct gw_client *client, struct gw_error *error);
void gw_inline_close(struct gw_client *client);

/* gw_inline_submit runs a sealed graph to its end. It returns a group of `target_count` futures,
 * which have ended, for the tasks `target_rows` (ascending). If a task fails, its future and the
 * tasks that depend on it fail; the submission succeeds. The submission fails with GW_ENOTSUP if
 * the graph has commands, names required workers, or has files for an actor or a gang, and with
 * GW_ENOMEM. */
int gw_inline_submit(struct gw_client *client, const struct gw_graph_rows *rows,
                     const uint32_t *target_rows, uint32_t target_count,
                     struct gw_future_group **group, struct gw_error *error);

#endif
