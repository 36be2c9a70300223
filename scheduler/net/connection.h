/* The connections of a server. If a worker's TLS connection breaks and the worker reconnects,
 * messages that were lost with the old link are sent again. Only server.c and connection.c use this
 * header. */
#ifndef GW_NET_CONNECTION_H
#define GW_NET_CONNECTION_H

#include "graph/base/map.h"
#include "graph/wire/backlog.h"
#include "graph/wire/endpoint.h"
#include "graph/wire/greeting.h"
#include "graph/wire/link.h"
#include "graph/wire/step.h"
#include "graph/wire/token_file.h"

struct gw_server;

struct gw_connection {
    struct gw_server *server;
    struct gw_link *link;
    uv_timer_t hello_timer;
    struct gw_greeting greeting; /* until hello arrives */
    uint64_t id;
    uint32_t role; /* 0: hello has not arrived */
    pid_t pid;     /* for the log */
    /* Number of the worker, once it was welcomed. */
    uint32_t worker;
    /* Transport of the link. NULL: a unix socket. */
    struct gw_transport *transport;
    char address[GW_ENDPOINT_TEXT_MAX];                   /* of the host of a TLS peer; else "" */
    char who[GW_TOKEN_USER_MAX + GW_TOKEN_ID_BYTES + 16]; /* TLS: user and token, for the log */
    struct gw_token token;                                /* TLS: the token at the time of hello */
    bool revoked; /* the token was revoked during or after the connection */
    bool link_closed;
    bool told_core;
    uint64_t unprinted[2];      /* bytes of printed output that were not sent, for each stream */
    bool beats;                 /* TLS client that was welcomed: it gets heartbeats */
    struct gw_backlog *backlog; /* TLS worker: messages to send again; else NULL */
    uint64_t taken;             /* messages received since hello, without heartbeats */
    uint64_t dialled;           /* number of the reconnect in use; 0: the first link */
    bool broken;                /* the link is closed, and the worker may reconnect */
    /* Callback of hello_timer while broken: the time to reconnect is over. */
    uv_timer_cb on_broken;
};

/* gw_connection_send sends a message with duplicates of the descriptors, immediately or after a
 * reconnect. A peer to which sending fails or that does not read is disconnected. */
void gw_connection_send(struct gw_connection *connection, const struct gw_message *message,
                        const int *fds, uint8_t count);

/* gw_connection_execute executes a SEND effect with the descriptors of its tokens. */
void gw_connection_execute(struct gw_connection *connection, const struct gw_effect *effect,
                           const int *fds);

/* gw_connection_beat_all sends a heartbeat to each welcomed TLS client to which no other message is
 * queued. Heartbeats show the client that the scheduler is alive and that the network works. The
 * first one follows the welcome, and from then on the client measures silence. `connections` maps
 * ids to connections. */
void gw_connection_beat_all(const struct gw_map *connections);

/* gw_connection_close_fds closes descriptors of a received message that nothing uses. */
void gw_connection_close_fds(const int *fds, uint8_t count);

/* gw_connection_refuse sends the reason and closes the connection. The link must be open. */
void gw_connection_refuse(struct gw_connection *connection, const struct gw_error *error);

/* gw_connection_leave closes the connection. A client is told the reason `why`. If it is NULL, the
 * client is told nothing and looks for the next scheduler. The link must be open. */
void gw_connection_leave(struct gw_connection *connection, const char *why);

/* gw_connection_reachable returns true if a message to this connection will arrive, immediately or
 * after a reconnect. */
bool gw_connection_reachable(const struct gw_connection *connection);

/* gw_connection_end closes the connection if it is open. Its end is reported in a later turn of the
 * loop. */
void gw_connection_end(struct gw_connection *connection);

/* gw_connection_count counts a received message, and sends messages that were held back until the
 * peer sends. Returns 0, or GW_EPROTO if a heartbeat acknowledges messages that were never sent. */
int gw_connection_count(struct gw_connection *connection, const struct gw_message *message);

/* gw_connection_retain_sent begins to keep sent messages for a reconnect. For TLS connections of
 * workers.
 */
void gw_connection_retain_sent(struct gw_connection *connection);

/* gw_connection_reconnect continues the connection over the link of `fresh`, a new connection whose
 * hello asked for this. All messages that the peer did not receive are sent again from the backlog.
 * Messages that still arrive on the old link are dropped. */
void gw_connection_reconnect(struct gw_connection *broken, const struct gw_connection *fresh,
                             const struct gw_link_callbacks *callbacks,
                             const struct gw_msg_hello *hello);

/* gw_connection_log writes a line to the log about a message to a worker, if the message deserves
 * one. */
void gw_connection_log(const struct gw_connection *connection, const struct gw_message *message);

#endif
