/* A submission: sends one job to the scheduler, in messages for specs and for chunks of rows. */
#ifndef GW_CLIENT_SUBMISSION_H
#define GW_CLIENT_SUBMISSION_H

#include "client/link/rpc.h"
#include "client/results/chunk.h"
#include "client/results/future_group.h"
#include "graph/model/graph_rows.h"

/* Jobs that have to end before the new job starts. The array is borrowed. */
struct gw_submission_after {
    const uint64_t *jobs;
    size_t count;
    bool any; /* start also if one of the jobs failed */
};

struct gw_submission {
    struct gw_client *client;
    struct gw_rpc call;
    struct gw_future_group *group;
    struct gw_resubmit_log *record; /* the resubmit log of `group`; NULL: the submission is not sent
                                       again after a reconnect */
    uint32_t life;                  /* number of the connection that carries this submission */
    uint32_t flags;                 /* enum gw_submit_flag */
    const char *name;
    const char *key; /* idempotency key, or NULL */
    const char *account, *queue;
    struct gw_chunk chunk;
    struct gw_submission_after after;
    GW_ARRAY(uint64_t) scattered; /* scattered values that hold large arguments */
    bool sent;                    /* a chunk has left, so the scheduler knows the job */
    bool left;                    /* all chunks have left, and no answer is awaited */
    bool plain; /* one call that the scheduler refuses only if it would refuse every such call */
};

/* Options of gw_submission_open. All pointers are borrowed until gw_submission_close. */
struct gw_submission_options {
    const char *name;
    bool detached;
    const uint32_t *target_rows; /* rows with futures, ascending; NULL: every row has a future */
    uint32_t target_count;
    bool no_futures;             /* make no group of futures: the caller handles the results */
    const char *key;             /* idempotency key of a detached job; NULL: none */
    const char *account, *queue; /* see gw_submit_options; NULL: none */
    struct gw_submission_after after;
};

/* gw_submission_prepare starts or extends the cluster so that it is large enough for these specs.
 * If one of the specs is a function, it also sends this program to the cluster. With
 * GANGWAY_INLINE=1 it only checks the functions. */
int gw_submission_prepare(struct gw_client *client, const struct gw_graph_spec *specs,
                          uint32_t count, struct gw_error *error);

/* gw_submission_named returns a job name made from a word of its command: the word itself, or
 * "command" if the word is not a valid name. */
const char *gw_submission_named(const char *word);

/* gw_submission_open registers the group of futures (GW_EINVAL: the name is not one line of text).
 * After it, call gw_submission_spec for each spec, gw_submission_row for each task in order, and
 * gw_submission_finish. gw_submission_finish blocks until the scheduler has accepted or refused
 * the whole job. It does not block for a plain call if a plain call was already accepted on this
 * connection. Always call gw_submission_close at the end. It takes an unfinished job back, and
 * leaves the group of an accepted job to the caller. */
int gw_submission_open(struct gw_submission *submission, struct gw_client *client,
                       const struct gw_submission_options *options, struct gw_error *error);
int gw_submission_spec(struct gw_submission *submission, uint32_t number,
                       const struct gw_graph_spec *spec, struct gw_error *error);

/* gw_submission_after sends the list of jobs that have to end before this job. Call it directly
 * after the first spec. */
int gw_submission_after(struct gw_submission *submission, struct gw_error *error);

/* gw_submission_send_last sends a message that completes the job, and blocks until the scheduler
 * has answered. */
int gw_submission_send_last(struct gw_submission *submission, struct gw_message *message,
                            struct gw_error *error);

/* gw_submission_refused returns the scheduler's error if the job was already refused, otherwise 0.
 */
int gw_submission_refused(struct gw_submission *submission, struct gw_error *error);

/* gw_submission_flush sends the tasks that were added so far. gw_submission_part does the same and
 * marks the end of one graph of a stream. */
int gw_submission_flush(struct gw_submission *submission, struct gw_error *error);
int gw_submission_part(struct gw_submission *submission, struct gw_error *error);

/* gw_submission_row adds a row. It scatters large arguments as separate values, unless row->whole
 * is set. GW_ELIMIT: the row is too large for a message all the same. */
int gw_submission_row(struct gw_submission *submission, const struct gw_chunk_row *row,
                      struct gw_error *error);
int gw_submission_finish(struct gw_submission *submission, struct gw_error *error);
/* The two halves of gw_submission_finish: the rest is sent, and the answer is awaited. Between them
 * other submissions can be sent over the same client. */
int gw_submission_send(struct gw_submission *submission, struct gw_error *error);
int gw_submission_wait(struct gw_submission *submission, struct gw_error *error);
void gw_submission_close(struct gw_submission *submission);

#endif
