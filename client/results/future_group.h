/* Future groups: the futures of one submission. */
#ifndef GW_CLIENT_FUTURE_GROUP_H
#define GW_CLIENT_FUTURE_GROUP_H

#include "client/link/client.h"
#include "client/results/value_slot.h"

struct gw_parts;
struct gw_resubmit_log;

/* A sleeping thread's interest in a future. */
struct gw_watch {
    struct gw_watch *next;
    struct gw_waiter *waiter;
    size_t item;
};

struct gw_future {
    struct gw_future_group *group;
    struct gw_watch *watches;
    struct gw_value_slot result;
    uint32_t ranks;        /* 0: an ordinary task */
    _Atomic uint8_t state; /* enum gw_future_state; released to readers without the lock */
    bool released;
};

/* The futures of one submission, in one block, by row. Freed with its last future. */
struct gw_future_group {
    struct gw_client *client; /* referenced */
    uint64_t request;
    _Atomic uint64_t job;           /* as the scheduler of the day calls it */
    struct gw_resubmit_log *record; /* of how to submit it again, referenced; or NULL */
    bool detached;
    struct gw_parts *parts;  /* of the stream that it is a part of, referenced; or NULL */
    bool shared;             /* one future, of a task that was looked up */
    uint32_t shared_index;   /* of that task */
    bool own;                /* it cannot end before the task that this client is inside of has */
    uint32_t live;           /* futures not released */
    uint32_t pending;        /* futures not ended */
    const uint32_t *rows;    /* ascending, one a future; NULL: future i is row i */
    uint64_t *scattered;     /* names of what holds its large arguments, owned */
    _Atomic bool unanswered; /* its job is not known yet, and it counts itself in `live` */
    bool quiet;              /* and will not be, until it is asked for */
    bool gathering;          /* of calls: it was not sent yet */
    uint32_t scattered_count;
    uint32_t count;
    struct gw_future futures[];
};

/* gw_future_group_new makes a group of `count` pending futures and registers it under `request`;
 * rows (or NULL) is copied. NULL when out of memory. gw_future_group_drop frees one whose
 * submission failed.
 */
struct gw_future_group *gw_future_group_new(struct gw_client *client, uint64_t request,
                                            const uint32_t *rows, uint32_t count);
void gw_future_group_drop(struct gw_future_group *group);

/* gw_future_group_set_rows tells it rows (as many as it has futures) that were not known, and so
 * UINT32_MAX, when it was made. The lock is not held. */
void gw_future_group_set_rows(struct gw_future_group *group, const uint32_t *rows);

/* gw_future_group_expect says that a group is not answered: its job is not known, and it counts
 * itself in `live`. quiet: the scheduler holds the answer back until it has something else to say,
 * or is asked (gw_client_prompt). The lock is held. */
void gw_future_group_expect(struct gw_future_group *group, bool quiet);

/* gw_future_group_done and gw_future_group_failed bring in results; the client's lock is held. Rows
 * that name nothing of this client are skipped. gw_future_group_fail_all fails pending futures with
 * the connection: all, or those that can't be submitted again. gw_future_group_fail_pending fails
 * those of one group with an error. */
void gw_future_group_done(struct gw_client *client, const struct gw_msg_done *done);
void gw_future_group_failed(struct gw_client *client, const struct gw_msg_failed *failed);
void gw_future_group_fail_all(struct gw_client *client, bool all);
void gw_future_group_fail_pending(struct gw_future_group *group, const struct gw_error *error);

/* gw_future_group_waits tells whether results of a group are awaited, or may be fetched;
 * gw_future_group_holds whether a future of this row is held. The lock is held. */
bool gw_future_group_waits(const struct gw_future_group *group);
bool gw_future_group_holds(struct gw_future_group *group, uint32_t row);

/* gw_future_group_held brings in what a lookup found; the client's lock is held. */
void gw_future_group_held(struct gw_client *client, const struct gw_msg_held *held);

/* gw_future_group_set_value gives a future its value of one rank; gw_future_group_set_failure ends
 * it badly (takes failure). The client's lock is held. */
void gw_future_group_set_value(struct gw_future *future, uint32_t rank,
                               const struct gw_landing *value);
void gw_future_group_set_failure(struct gw_future *future, struct gw_failure *failure);

#endif
