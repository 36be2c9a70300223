/* Mending: a worker's TLS connection to its scheduler that breaks, or falls silent, goes on by
 * another one, and the core notices nothing. See PROTOCOL.md, "A connection is mended". */
#ifndef GW_NET_MEND_H
#define GW_NET_MEND_H

#include "graph/wire/backlog.h"
#include "graph/wire/intake.h"
#include "graph/wire/tls.h"

#include <uv.h>

struct gw_host;
struct gw_host_link;

struct gw_mend {
    struct gw_host *host;
    struct gw_backlog *backlog;          /* NULL: there is nothing to mend */
    struct gw_intake intake;             /* since the welcome, which is the first */
    uint64_t dialled;                    /* how often, since then */
    uint64_t heard_ns;                   /* when the scheduler last said anything */
    uint32_t worker;                     /* this one's number, ... */
    uint8_t secret[GW_TLS_SECRET_BYTES]; /* ... and its secret */
    struct gw_host_link *second;         /* that is to mend it; NULL: none is under way */
    bool broken;                         /* the scheduler's link is closed, ... */
    bool ended;                          /* ... as if by the scheduler: the second knows better */
    bool silent;                         /* the log says that it is being mended */
    struct gw_error why;                 /* it closed */
    uv_timer_t timer;
};

/* gw_mend_init and gw_mend_close frame the life of a host; gw_mend_deinit frees when the loop has
 * run empty. */
void gw_mend_init(struct gw_host *host);
void gw_mend_close(struct gw_host *host);
void gw_mend_deinit(struct gw_host *host);

/* gw_mend_on_message sees what the scheduler says on its link, before anybody else. GW_EEXIST: it
 * was taken before, and is to be dropped; GW_EPROTO where it has taken more than was sent. */
int gw_mend_on_message(struct gw_host *host, const struct gw_message *message);

/* gw_mend_send sends what counts to the scheduler, now or later: 0 or as gw_backlog_add. */
int gw_mend_send(struct gw_host *host, const struct gw_message *message, const int *fds,
                 uint8_t count);

/* gw_mend_on_broken is told that the scheduler's link closed: true where it is to be mended, and
 * nobody else need know. gw_mend_give_up ends that, in a later turn. */
bool gw_mend_on_broken(struct gw_host *host, const struct gw_error *error);
void gw_mend_give_up(struct gw_host *host);

/* gw_mend_on_second is told what comes on the second link, and gw_mend_on_second_closed that it
 * closed. */
void gw_mend_on_second(struct gw_host *host, const struct gw_message *message);
void gw_mend_on_second_closed(struct gw_host *host, const struct gw_error *error);

#endif
