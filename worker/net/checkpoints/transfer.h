/* Checkpoints from one worker to another: asked for here, and given to those who ask. See
 * PROTOCOL.md, "Checkpoints that move". */
#ifndef GW_NET_TRANSFER_H
#define GW_NET_TRANSFER_H

#include "graph/wire/step.h"

#include <stdbool.h>

struct gw_host;
struct gw_host_link;
struct gw_transfers;

/* What is carried where nothing else is said, at most, in bytes. */
#define GW_TRANSFER_BYTES_DEFAULT (UINT64_C(8) << 30)

/* gw_transfers_new makes the table of a host, which it borrows; files lie below its folder of
 * checkpoints. gw_transfers_close has what is under way end, and frees it after that; the copies
 * that this worker keeps are removed, but where its next life has the same folder. */
struct gw_transfers *gw_transfers_new(struct gw_host *host);
void gw_transfers_close(struct gw_transfers *transfers);

/* gw_transfer_start executes a CHECKPOINT_TRANSFER; CHECKPOINT_TRANSFERRED comes in a later turn.
 */
void gw_transfer_start(struct gw_transfers *transfers, const struct gw_effect *effect);

/* gw_transfer_on_message takes what another worker says of it; false: it is about something else.
 * gw_transfer_on_gone: a connection of another worker is over. */
bool gw_transfer_on_message(struct gw_host_link *link, const struct gw_message *message);
void gw_transfer_on_gone(struct gw_host_link *link);

/* gw_transfers_adopted says that copies of an earlier life may lie in its folder. */
void gw_transfers_adopted(struct gw_transfers *transfers);

/* gw_transfer_forget ends what comes here of a job that is over, and removes its copies. */
void gw_transfer_forget(struct gw_transfers *transfers, uint64_t job);

#endif
