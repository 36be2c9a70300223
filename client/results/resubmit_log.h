/* Records: what was said about a submission, or a scattered value, kept as long as it may have to
 * be said again, to another scheduler. A record is kept by the futures of its submission and by the
 * records that take its results.
 *
 * Its job has another number there, so references to it go by a name of the record's own until they
 * leave. A record that is still being written is its thread's; else the client's lock guards it. */
#ifndef GW_CLIENT_RESUBMIT_LOG_H
#define GW_CLIENT_RESUBMIT_LOG_H

#include "client/link/client.h"
#include "graph/base/array.h"

/* What a scheduler ends by, each time, is not said for ever. */
enum { GW_RESUBMIT_LOG_SAID_MAX = 10 };

struct gw_future_group;

struct gw_resubmit_log {
    struct gw_client *client; /* borrowed: all that refers to a record holds its client */
    uint32_t refs;
    uint64_t name; /* in this process, and no number of a job */
    uint64_t request;
    uint64_t job;  /* as the scheduler of that life calls it; 0: not accepted yet */
    bool left;     /* it was said, and its thread does not wait until it is accepted */
    uint32_t life; /* number of the client's connection */
    struct gw_future_group *group; /* of its futures; NULL: they are all given up, or it has none */
    bool held;                     /* a value without a future: until it is let go */
    bool cut;                      /* too large to be kept: it can't be said again */
    uint32_t said;                 /* how often it was said again */
    bool needed;                   /* while things are said again */
    int fd;                        /* of a large scattered value, or -1 */
    size_t bytes;
    GW_ARRAY(struct gw_buffer) frames;
    GW_ARRAY(struct gw_resubmit_log *) inputs; /* referenced */
    struct gw_map input_names;
    struct gw_resubmit_log *next; /* of those that are being freed */
};

/* gw_resubmit_log_new makes the record of a request, with one reference; NULL where the client
 * keeps none (it does not look for another scheduler) or memory is out. gw_resubmit_log_unref gives
 * up a reference; the lock is held; NULL is accepted. */
struct gw_resubmit_log *gw_resubmit_log_new(struct gw_client *client, uint64_t request);
void gw_resubmit_log_unref(struct gw_resubmit_log *record);

/* gw_resubmit_log_add keeps a message, and the records of the jobs whose results it takes; fd
 * (borrowed, or -1) goes with it. What does not fit cuts the record. The lock is not held. */
void gw_resubmit_log_add(struct gw_resubmit_log *record, const struct gw_message *message, int fd);

/* gw_resubmit_log_accept notes the number of its job (not its group: the caller does), on the
 * connection that the client has now. The lock is held. */
void gw_resubmit_log_accept(struct gw_resubmit_log *record, uint64_t job);

/* gw_resubmit_log_job gives the number of a job that is called by a record's name; of any other
 * number, that number. 0: that record is gone, or another connection's. Any thread.
 * gw_resubmit_log_find gives the record or NULL; the lock of its client is held. */
struct gw_resubmit_log *gw_resubmit_log_find(uint64_t name);
uint64_t gw_resubmit_log_job(uint64_t name);

/* gw_resubmit_log_let_go gives up a scattered value by its name, or its job's number where it has
 * no record. The lock is held. */
void gw_resubmit_log_let_go(struct gw_client *client, uint64_t name);

/* gw_resubmit_log_rename puts numbers for names into what a message says of other jobs; *room is
 * what the message borrows from then on, to be freed by the caller. GW_ENOENT (a record is gone),
 * GW_ENOMEM.
 */
int gw_resubmit_log_rename(struct gw_message *message, uint64_t **room);

/* gw_resubmit_log_say says all of it on one connection of the client. Blocks while much is queued.
 * 0, GW_ECLOSED, GW_ENOENT, GW_ENOMEM. The lock is not held. */
int gw_resubmit_log_say(const struct gw_resubmit_log *record, uint32_t life);

/* gw_resubmit_log_targets calls on_row with each row that is a target, on this thread. */
void gw_resubmit_log_targets(const struct gw_resubmit_log *record,
                             void (*on_row)(uint32_t row, void *arg), void *arg);

/* gw_resubmit_log_list gives all records of a client that have a job, by the order in which they
 * were made, each with a reference; the array is the caller's. The lock is held. 0 or GW_ENOMEM. */
int gw_resubmit_log_list(const struct gw_client *client, struct gw_resubmit_log ***records,
                         size_t *count);

#endif
