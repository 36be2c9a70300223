/* The connections of a server: what is sent there, and sent again where a worker's TLS connection
 * breaks and is mended by another. Shared by server.c and connection.c alone. */
#ifndef GW_NET_CONNECTION_H
#define GW_NET_CONNECTION_H

#include "graph/base/map.h"
#include "graph/wire/backlog.h"
#include "graph/wire/greeting.h"
#include "graph/wire/link.h"
#include "graph/wire/step.h"
#include "graph/wire/token_file.h"

struct gw_server;

struct gw_connection {
    struct gw_server *server;
    struct gw_link *link;
    uv_timer_t hello_timer;
    struct gw_greeting greeting; /* until hello */
    uint64_t id;
    uint32_t role;                                        /* 0: hello has not come */
    pid_t pid;                                            /* for the log */
    uint32_t worker;                                      /* its number, once it was welcomed */
    struct gw_transport *transport;                       /* the link's; NULL: a unix socket */
    char who[GW_TOKEN_USER_MAX + GW_TOKEN_ID_BYTES + 16]; /* by TLS: for the log */
    struct gw_token token;                                /* by TLS: as it was when it said hello */
    bool revoked; /* that was, while it was connected, or waited to be mended */
    bool link_closed;
    bool told_core;
    uint64_t unprinted[2]; /* bytes that functions printed and that were not sent, of each stream */
    bool beats;            /* it is a client's, by TLS, and was welcomed: it hears heartbeats */
    struct gw_backlog *backlog; /* of a worker's, by TLS; else NULL */
    uint64_t taken;             /* messages, since hello; heartbeats do not count */
    uint64_t dialled;           /* by which of those that were to mend it it goes on; 0: none */
    bool broken;                /* the link is closed, and may be mended */
    uv_timer_cb on_broken;      /* of hello_timer then: it is over */
};

/* gw_connection_send sends with duplicates of the descriptors, now or when the link is mended. Who
 * cannot be sent to is disconnected, as is who does not read. */
void gw_connection_send(struct gw_connection *connection, const struct gw_message *message,
                        const int *fds, uint8_t count);

/* gw_connection_execute executes a SEND with the descriptors of its tokens. */
void gw_connection_execute(struct gw_connection *connection, const struct gw_effect *effect,
                           const int *fds);

/* gw_connection_beat_all sends a heartbeat to each client that is connected by TLS, if nothing else
 * is on its way there: so the client knows that the scheduler is there, and that bytes come
 * through. The first follows the welcome: the client counts silence from then on. connections: by
 * number. */
void gw_connection_beat_all(const struct gw_map *connections);

/* gw_connection_close_fds closes descriptors that came with a message nobody takes. */
void gw_connection_close_fds(const int *fds, uint8_t count);

/* gw_connection_refuse says why, and closes. The link is open. */
void gw_connection_refuse(struct gw_connection *connection, const struct gw_error *error);

/* gw_connection_leave closes; a client hears why (NULL: nothing, and it looks for the next
 * scheduler). The link is open. */
void gw_connection_leave(struct gw_connection *connection, const char *why);

/* gw_connection_reachable tells whether what is sent there arrives, perhaps later. */
bool gw_connection_reachable(const struct gw_connection *connection);

/* gw_connection_end closes what is open; its end is told in a later turn of the loop. */
void gw_connection_end(struct gw_connection *connection);

/* gw_connection_count counts a message that came, and has leave what was held back until it did:
 * 0, or GW_EPROTO where it is a heartbeat that says that what was never sent was taken. */
int gw_connection_count(struct gw_connection *connection, const struct gw_message *message);

/* gw_connection_keep has what is sent kept, for that: it is a worker's, by TLS. */
void gw_connection_keep(struct gw_connection *connection);

/* gw_connection_mend goes on by the link of `fresh`, which said hello; all that its other side
 * lacks is in the backlog. What the old link still brings is dropped. */
void gw_connection_mend(struct gw_connection *broken, const struct gw_connection *fresh,
                        const struct gw_link_callbacks *callbacks,
                        const struct gw_msg_hello *hello);

/* gw_connection_log writes down what goes to a worker, where it is worth a line. */
void gw_connection_log(const struct gw_connection *connection, const struct gw_message *message);

#endif
