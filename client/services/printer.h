/* What tasks have printed, on this process's own streams. */
#ifndef GW_CLIENT_PRINTER_H
#define GW_CLIENT_PRINTER_H

#include "client/link/client.h"

struct gw_printer;

/* gw_printer_wanted tells whether what functions print is to be shown here; once the client is
 * connected. */
bool gw_printer_wanted(const struct gw_client *client);

/* gw_printer_take shows a message: a thread prints it, so that nothing else waits for who reads
 * there. The client's lock is held. */
void gw_printer_take(struct gw_client *client, const struct gw_msg_printed *printed);

/* gw_printer_close prints the rest, and drops it if nobody has read any of it for patience_ns.
 * Without a printer it does nothing. */
void gw_printer_close(struct gw_client *client, uint64_t patience_ns);

#endif
