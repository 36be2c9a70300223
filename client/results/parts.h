/* The parts of a stream: one group of futures for each graph that was added to the stream. An
 * arriving result finds its part by the index of its task. The parts outlive the stream's handle
 * while one of their futures is held. */
#ifndef GW_CLIENT_PARTS_H
#define GW_CLIENT_PARTS_H

#include "client/link/client.h"
#include "graph/base/array.h"

struct gw_future_group;

struct gw_part {
    uint32_t row; /* the first row of the part */
    struct gw_future_group *group;
};

/* All fields are guarded by the client's lock. */
struct gw_parts {
    struct gw_client *client;       /* referenced */
    uint32_t refs;                  /* one reference of the stream, and one for each part */
    uint64_t request;               /* request under which the parts are registered; 0: not yet */
    uint64_t job;                   /* 0: the scheduler has not opened the job yet */
    GW_ARRAY(struct gw_part) items; /* ascending by row */
};

/* gw_parts_new makes a struct gw_parts without parts, with one reference. It returns NULL if out of
 * memory. gw_parts_unref drops a reference; the client's lock is not held. */
struct gw_parts *gw_parts_new(struct gw_client *client);
void gw_parts_unref(struct gw_parts *parts);

/* gw_parts_register registers the parts under a request, so that arriving messages find them.
 * Returns 0 or GW_ENOMEM. The client's lock is not held. */
int gw_parts_register(struct gw_parts *parts, uint64_t request);

/* gw_parts_add appends a group with the number of its first row. The group holds a reference to the
 * parts from then on. Returns 0 or GW_ENOMEM. gw_parts_remove removes the part that contains `row`.
 * The client's lock is held. */
int gw_parts_add(struct gw_parts *parts, uint32_t row, struct gw_future_group *group);
void gw_parts_remove(struct gw_parts *parts, uint32_t row);

/* gw_parts_opened handles the answer to a stream's first chunk and stores the job number.
 * gw_parts_find returns the group that contains a row, or NULL. The client's lock is held. */
void gw_parts_opened(struct gw_client *client, const struct gw_msg_opened *opened);
struct gw_future_group *gw_parts_find(struct gw_client *client, uint64_t request, uint32_t row);

#endif
