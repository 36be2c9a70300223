/* Prints the output of tasks on the standard streams of this process. */
#ifndef GW_CLIENT_PRINTER_H
#define GW_CLIENT_PRINTER_H

#include "client/link/client.h"

struct gw_printer;

/* gw_printer_wanted returns true if the output of functions is to be printed here. The client is
 * connected. */
bool gw_printer_wanted(const struct gw_client *client);

/* gw_printer_take queues a message with output. A separate thread prints it, so that a slow reader
 * of the output does not block the client. The client's lock is held. */
void gw_printer_take(struct gw_client *client, const struct gw_msg_printed *printed);

/* gw_printer_close prints the remaining output. It drops the rest if nobody has read anything for
 * patience_ns. It does nothing if the client has no printer. */
void gw_printer_close(struct gw_client *client, uint64_t patience_ns);

#endif
