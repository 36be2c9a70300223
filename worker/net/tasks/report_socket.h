/* The sockets at which the processes of commands report their steps.
 *
 * A command's environment has GANGWAY_REPORT, the path of a unix socket. A process connects, writes
 * lines of JSON (report_line.h), and reads one line for each: {"answer":"continue"}, "pause" or
 * "stop", or {"error":"..."}. The socket identifies the command: each command has one while it
 * runs. A socket is used again for the next command, so starting a command creates none. */
#ifndef GW_NET_REPORT_SOCKET_H
#define GW_NET_REPORT_SOCKET_H

#include <stdint.h>

struct gw_host;

/* gw_report_sockets_take returns the path of a socket for a process that is about to start, or NULL
 * if there is none, which was logged. The path is valid until gw_report_sockets_close. */
const char *gw_report_sockets_take(struct gw_host *host, uint64_t process);

/* gw_report_sockets_give_back must be called when no descendant of the process is left, before the
 * core learns it: reports that have arrived are delivered first. It closes the connections. It does
 * nothing for a process without a socket. */
void gw_report_sockets_give_back(struct gw_host *host, uint64_t process);

/* gw_report_sockets_close closes and removes all sockets. gw_report_sockets_free frees them after
 * the loop has ended. */
void gw_report_sockets_close(struct gw_host *host);
void gw_report_sockets_free(struct gw_host *host);

#endif
