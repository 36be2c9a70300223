/* Future groups: the futures of one submission. */
#ifndef GW_CLIENT_FUTURE_GROUP_H
#define GW_CLIENT_FUTURE_GROUP_H

#include "client/link/client.h"
#include "client/results/value_slot.h"

struct gw_parts;
struct gw_resubmit_log;

/* Connects a future with a thread that waits for its end. */
struct gw_watch {
    struct gw_watch *next;
    struct gw_waiter *waiter;
    size_t item;
};

struct gw_future {
    struct gw_future_group *group;
    struct gw_watch *watches;
    struct gw_value_slot result;
    uint32_t ranks;        /* number of ranks; 0: an ordinary task */
    _Atomic uint8_t state; /* enum gw_future_state; readers need no lock */
    bool released;
};

/* The futures of one submission, in one allocation, ordered by the index of their task. The group
 * is freed with its last future. */
struct gw_future_group {
    struct gw_client *client; /* referenced */
    uint64_t request;
    _Atomic uint64_t job;           /* the job's number at the present scheduler */
    struct gw_resubmit_log *record; /* resubmit log of the submission, referenced; or NULL */
    bool detached;
    struct gw_parts *parts; /* the parts of the stream to which this group belongs (the group has a
                               reference), or NULL */
    bool shared;            /* the group has one future, of a task that was looked up */
    uint32_t shared_index;  /* index of the task that was looked up */
    bool own; /* true: the task cannot end before the task in which this client runs, so a wait for
                 it would never end */
    uint32_t live;           /* number of futures that are not released */
    uint32_t pending;        /* number of futures that have not ended */
    const uint32_t *rows;    /* row of each future, ascending; NULL: future i is row i */
    uint64_t *scattered;     /* names of the scattered large arguments, owned */
    _Atomic bool unanswered; /* no job number yet; the group counts itself in `live` */
    bool quiet;              /* the scheduler delays its answer until it is asked */
    bool unsent;             /* of actor calls: not sent yet */
    uint32_t scattered_count;
    uint32_t count;
    struct gw_future futures[];
};

/* gw_future_group_new makes a group of `count` pending futures and registers it under `request`.
 * `rows` is copied and may be NULL. Returns NULL if out of memory. gw_future_group_drop frees a
 * group whose submission failed. */
struct gw_future_group *gw_future_group_new(struct gw_client *client, uint64_t request,
                                            const uint32_t *rows, uint32_t count);
void gw_future_group_drop(struct gw_future_group *group);

/* gw_future_group_set_rows sets the rows of all futures. A group that was made before all rows were
 * known has UINT32_MAX for the unknown rows. The client's lock is not held. */
void gw_future_group_set_rows(struct gw_future_group *group, const uint32_t *rows);

/* gw_future_group_expect marks a group as unanswered: its job number is not known yet, and the
 * group counts itself in `live`. quiet: the scheduler delays the answer until it sends another
 * message, or until gw_client_prompt asks for it. The client's lock is held. */
void gw_future_group_expect(struct gw_future_group *group, bool quiet);

/* gw_future_group_done and gw_future_group_failed store results that have arrived. They skip tasks
 * that no group of this client has. gw_future_group_fail_all fails pending futures because the
 * connection has ended: all of them, or only those that cannot be submitted again.
 * gw_future_group_fail_pending fails the pending futures of one group with an error. The client's
 * lock is held in all of them. */
void gw_future_group_done(struct gw_client *client, const struct gw_msg_done *done);
void gw_future_group_failed(struct gw_client *client, const struct gw_msg_failed *failed);
void gw_future_group_fail_all(struct gw_client *client, bool all);
void gw_future_group_fail_pending(struct gw_future_group *group, const struct gw_error *error);

/* gw_future_group_waits returns true if a future of the group is pending, or has a result that is
 * still in the cluster. gw_future_group_holds returns true if a future of this task is held. The
 * client's lock is held. */
bool gw_future_group_waits(const struct gw_future_group *group);
bool gw_future_group_holds(struct gw_future_group *group, uint32_t row);

/* gw_future_group_held stores what a lookup found: the job, the index and the number of ranks. The
 * client's lock is held. */
void gw_future_group_held(struct gw_client *client, const struct gw_msg_held *held);

/* gw_future_group_set_value sets the value of one rank of a future. gw_future_group_set_failure
 * makes a future fail, and takes ownership of `failure`. The client's lock is held. */
void gw_future_group_set_value(struct gw_future *future, uint32_t rank,
                               const struct gw_landing *value);
void gw_future_group_set_failure(struct gw_future *future, struct gw_failure *failure);

#endif
