/* The parts of a stream: a group of futures for each graph that was added to it. What comes in for
 * the stream finds its part by the row. They outlive the stream's handle as long as one of their
 * futures is held. */
#ifndef GW_CLIENT_PARTS_H
#define GW_CLIENT_PARTS_H

#include "client/link/client.h"
#include "graph/base/array.h"

struct gw_future_group;

struct gw_part {
    uint32_t row; /* its first */
    struct gw_future_group *group;
};

/* Guarded by the client's lock. */
struct gw_parts {
    struct gw_client *client;       /* referenced */
    uint32_t refs;                  /* the stream's, and one a part */
    uint64_t request;               /* under which they are registered; 0: not yet */
    uint64_t job;                   /* 0: not opened yet */
    GW_ARRAY(struct gw_part) items; /* ascending */
};

/* gw_parts_new makes what has no part yet, with one reference; NULL when out of memory.
 * gw_parts_unref gives up a reference; the lock is not held. */
struct gw_parts *gw_parts_new(struct gw_client *client);
void gw_parts_unref(struct gw_parts *parts);

/* gw_parts_register has them found under a request; 0 or GW_ENOMEM. The lock is not held. */
int gw_parts_register(struct gw_parts *parts, uint64_t request);

/* gw_parts_add appends a group, which holds a reference from then on, by its first row; 0 or
 * GW_ENOMEM. gw_parts_remove forgets it. The lock is held. */
int gw_parts_add(struct gw_parts *parts, uint32_t row, struct gw_future_group *group);
void gw_parts_remove(struct gw_parts *parts, uint32_t row);

/* gw_parts_opened takes the answer to a stream's first chunk; gw_parts_find gives the group that
 * has a row's future, if any. The lock is held. */
void gw_parts_opened(struct gw_client *client, const struct gw_msg_opened *opened);
struct gw_future_group *gw_parts_find(struct gw_client *client, uint64_t request, uint32_t row);

#endif
