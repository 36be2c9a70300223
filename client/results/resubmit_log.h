/* A resubmit log stores the messages of a submission or of a scattered value, so that the client
 * can send them again to another scheduler after a reconnect. The futures of the submission
 * reference its log, and so do the logs of submissions that take its results.
 *
 * The next scheduler gives the job another number. Therefore arguments refer to the job by the
 * log's own name, which is replaced by the job number when a message is sent. The submitting thread
 * owns a log while it writes it. Afterwards the client's lock guards it. */
#ifndef GW_CLIENT_RESUBMIT_LOG_H
#define GW_CLIENT_RESUBMIT_LOG_H

#include "client/link/client.h"
#include "graph/base/array.h"

/* A submission is sent again at most this often, because it may be the cause of the scheduler's
 * end. */
enum { GW_RESUBMIT_LOG_SAID_MAX = 10 };

struct gw_future_group;

struct gw_resubmit_log {
    struct gw_client *client; /* borrowed: every user of a log references its client */
    uint32_t refs;
    uint64_t name; /* unique in this process, and different from every job number */
    uint64_t request;
    uint64_t job;  /* the number that the scheduler of connection `life` gave the job; 0: it has
                      not accepted the job yet */
    bool left;     /* true: the last message of the job was sent, and no thread waits for its
                      acceptance */
    uint32_t life; /* number of the client's connection */
    struct gw_future_group *group; /* the group of the job's futures; NULL: the job has no futures,
                                      or all are released */
    bool held;                     /* a scattered value without a future that is not released yet */
    bool cut;                      /* too large to be stored: cannot be sent again */
    uint32_t said;                 /* how often the messages were sent again */
    bool needed;                   /* marks logs that are to be sent again, during a reconnect */
    int fd;                        /* file with a large scattered value, or -1 */
    size_t bytes;
    GW_ARRAY(struct gw_buffer) frames;
    GW_ARRAY(struct gw_resubmit_log *) inputs; /* referenced */
    struct gw_map input_names;
    struct gw_resubmit_log *next; /* next log in a list of logs to be freed */
};

/* gw_resubmit_log_new makes the log of a request, with one reference. It returns NULL if the client
 * does not reconnect, or if out of memory. gw_resubmit_log_unref drops a reference and accepts
 * NULL. The client's lock is held. */
struct gw_resubmit_log *gw_resubmit_log_new(struct gw_client *client, uint64_t request);
void gw_resubmit_log_unref(struct gw_resubmit_log *record);

/* gw_resubmit_log_add stores a message, and references the logs of the jobs whose results the
 * message takes. `fd` (borrowed, or -1) belongs to the message. If the message does not fit in the
 * client's budget, the log is cut: it drops everything and cannot be sent again. The client's lock
 * is not held. */
void gw_resubmit_log_add(struct gw_resubmit_log *record, const struct gw_message *message, int fd);

/* gw_resubmit_log_accept stores the job number that the scheduler gave on the present connection.
 * The caller also stores it in the group. The client's lock is held. */
void gw_resubmit_log_accept(struct gw_resubmit_log *record, uint64_t job);

/* gw_resubmit_log_job returns the job number for the name of a log. A number that is not a name is
 * returned unchanged. It returns 0 if the log does not exist any more, or if its job was not
 * accepted on the present connection. Any thread may call it. gw_resubmit_log_find returns the log
 * of a name, or NULL. The lock of the log's client is held. */
struct gw_resubmit_log *gw_resubmit_log_find(uint64_t name);
uint64_t gw_resubmit_log_job(uint64_t name);

/* gw_resubmit_log_let_go releases a scattered value by its name, or by its job number if it has no
 * log. The client's lock is held. */
void gw_resubmit_log_let_go(struct gw_client *client, uint64_t name);

/* gw_resubmit_log_rename replaces names by job numbers in a submit message. *room is memory that
 * the message then borrows; the caller frees it. Errors: GW_ENOENT: a log does not exist any more;
 * GW_ENOMEM. */
int gw_resubmit_log_rename(struct gw_message *message, uint64_t **room);

/* gw_resubmit_log_say sends all messages of a log on the given connection of the client. It blocks
 * while much is queued. Returns 0, GW_ECLOSED, GW_ENOENT or GW_ENOMEM. The client's lock is not
 * held. */
int gw_resubmit_log_say(const struct gw_resubmit_log *record, uint32_t life);

/* gw_resubmit_log_targets calls on_row for each task that has a future, on the calling thread. */
void gw_resubmit_log_targets(const struct gw_resubmit_log *record,
                             void (*on_row)(uint32_t row, void *arg), void *arg);

/* gw_resubmit_log_list returns all logs of a client that were sent, in the order in which they were
 * made, each with a reference. The caller frees the array. The client's lock is held. Returns 0 or
 * GW_ENOMEM. */
int gw_resubmit_log_list(const struct gw_client *client, struct gw_resubmit_log ***records,
                         size_t *count);

#endif
