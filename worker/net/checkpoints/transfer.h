/* Copies checkpoints from other workers to this one, and sends them to workers that request them.
 * See PROTOCOL.md, "Checkpoints that move". */
#ifndef GW_NET_TRANSFER_H
#define GW_NET_TRANSFER_H

#include "graph/wire/step.h"

#include <stdbool.h>

struct gw_host;
struct gw_host_link;
struct gw_transfers;

/* gw_transfers_new creates the table of transfers of a host (borrowed). Files are below the host's
 * checkpoint folder. gw_transfers_close ends all transfers and frees the table afterwards. The
 * copies that this worker keeps are removed, unless the worker would use the same folder when it
 * starts again. */
struct gw_transfers *gw_transfers_new(struct gw_host *host);
void gw_transfers_close(struct gw_transfers *transfers);

/* gw_transfer_start carries out the effect CHECKPOINT_TRANSFER. `user` is the folder of a separate
 * user; "": users are not separate. The event CHECKPOINT_TRANSFERRED comes in a later turn. */
void gw_transfer_start(struct gw_transfers *transfers, const struct gw_effect *effect,
                       const char *user);

/* gw_transfer_on_message handles messages of other workers about transfers. Returns false for other
 * messages. gw_transfer_on_gone handles the end of a connection to another worker. */
bool gw_transfer_on_message(struct gw_host_link *link, const struct gw_message *message);
void gw_transfer_on_gone(struct gw_host_link *link);

/* gw_transfers_adopted records that copies of an earlier incarnation may be in the folder. */
void gw_transfers_adopted(struct gw_transfers *transfers);

/* gw_transfer_forget ends the transfers of a job that is over, and removes its copies. */
void gw_transfer_forget(struct gw_transfers *transfers, uint64_t job);

#endif
