/* A process of a separate user that reads or writes the files of one checkpoint transfer for the
 * worker, which only passes the messages on. */
#ifndef GW_STORE_TRANSFER_AGENT_H
#define GW_STORE_TRANSFER_AGENT_H

/* gw_transfer_agent_run serves a transfer on a stream socket, which it takes over, until the worker
 * closes it. `path` is the user's folder of checkpoints. `where` is the text
 * "INCARNATION BYTES_MAX HERE" (struct gw_transfer_place), the first in hexadecimal digits.
 *
 * To send: the worker passes on transfer_want and transfer_more of the other worker. The answers
 * are transfer_found and transfer_part.
 *
 * To receive: the worker sends checkpoint_transfer (`step` is the number of the transfer; `attempt`
 * and all others as in the effect CHECKPOINT_TRANSFER; `worker` 1: into a copy). Then it sends
 * transfer_want (gw_transfer_files_own), transfer_found (_open), transfer_part (_take), transfer_go
 * (_lay) and transfer_more (_free), and waits after each for a transfer_found with the result. */
void gw_transfer_agent_run(int fd, const char *path, const char *where);

#endif
