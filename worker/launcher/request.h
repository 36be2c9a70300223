/* The messages between a worker and the launcher: one packet each way, on a SOCK_SEQPACKET socket.
 * A request comes with exactly one descriptor, the supervisor's end of a SOCK_STREAM socket pair.
 */
#ifndef GW_LAUNCHER_REQUEST_H
#define GW_LAUNCHER_REQUEST_H

#include <gangway/error.h>

#include <stddef.h>
#include <stdint.h>

#define GW_LAUNCHER_SOCKET "/run/gangway/launcher.sock"
#define GW_LAUNCHER_TASKS "/run/gangway/tasks" /* for sockets of the worker that tasks use */
#define GW_LAUNCHER_WORKER "gangway"           /* the system user of the worker */

enum { GW_LAUNCHER_VERSION = 2, GW_LAUNCHER_NAME_MAX = 32 };

enum gw_launch_kind { GW_LAUNCH_SUPERVISOR, GW_LAUNCH_FILES, GW_LAUNCH_KINDS };

struct gw_launch_request {
    uint32_t version, kind;              /* kind: enum gw_launch_kind */
    char user[GW_LAUNCHER_NAME_MAX + 4]; /* name of a Gangway user, padded with NULs */
};

struct gw_launch_reply {
    int32_t code;  /* 0, or a negative GW_E... */
    uint32_t uid;  /* of the Unix user */
    uint32_t pid;  /* of the process that was started */
    char dir[256]; /* the user's folder on this host */
    char text[GW_ERROR_TEXT_MAX / 2];
};

/* gw_launch_request_read checks a packet. Returns GW_EPROTO and sets the error if it is not a
 * request of this version, with a valid name (as gw_token_is_user). */
int gw_launch_request_read(const void *packet, size_t bytes, struct gw_launch_request *request,
                           struct gw_error *error);

#endif
