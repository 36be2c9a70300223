/* A submission: one job on its way to the scheduler, in specs and chunks. */
#ifndef GW_CLIENT_SUBMISSION_H
#define GW_CLIENT_SUBMISSION_H

#include "client/link/rpc.h"
#include "client/results/chunk.h"
#include "client/results/future_group.h"
#include "graph/model/graph_rows.h"

/* Jobs that have to end first; borrowed. */
struct gw_submission_after {
    const uint64_t *jobs;
    size_t count;
    bool any; /* however they end */
};

struct gw_submission {
    struct gw_client *client;
    struct gw_rpc call;
    struct gw_future_group *group;
    struct gw_resubmit_log *record; /* its group's; NULL: it is not said again */
    uint32_t life;                  /* of the connection over which it goes */
    uint32_t flags;                 /* enum gw_submit_flag */
    const char *name;
    const char *key; /* or NULL */
    struct gw_chunk chunk;
    struct gw_submission_after after;
    GW_ARRAY(uint64_t) scattered; /* names of what holds large arguments */
    bool sent;                    /* a chunk has left: the scheduler knows this job */
    bool plain;                   /* one call that is refused only if all are */
};

/* What a submission begins with. All borrowed until gw_submission_close. */
struct gw_submission_options {
    const char *name;
    bool detached;
    const uint32_t *target_rows; /* ascending; NULL: every row is one */
    uint32_t target_count;
    bool no_futures; /* no group: somebody else takes the results */
    const char *key; /* of a detached one; NULL: none */
    struct gw_submission_after after;
};

/* gw_submission_prepare makes sure that the cluster is there, large enough for these specs, and has
 * this program where one of them is a function. With GANGWAY_INLINE=1 it only checks the functions.
 */
int gw_submission_prepare(struct gw_client *client, const struct gw_graph_spec *specs,
                          uint32_t count, struct gw_error *error);

/* gw_submission_named is what a job is called after a word of its command: the word, or, where that
 * is no line of text, "command". */
const char *gw_submission_named(const char *word);

/* gw_submission_open registers the futures' group (GW_EINVAL: a name that is no line of text).
 * Then come gw_submission_spec for each spec, gw_submission_row for each row in order, and
 * gw_submission_finish, which blocks until the job was accepted whole or refused, but for a plain
 * call where one was accepted on this connection. gw_submission_close follows in any case: it takes
 * a job back that was not finished, and leaves the group alone where it was accepted. */
int gw_submission_open(struct gw_submission *submission, struct gw_client *client,
                       const struct gw_submission_options *options, struct gw_error *error);
int gw_submission_spec(struct gw_submission *submission, uint32_t number,
                       const struct gw_graph_spec *spec, struct gw_error *error);

/* gw_submission_after says, behind the first spec, which jobs it comes after. */
int gw_submission_after(struct gw_submission *submission, struct gw_error *error);

/* gw_submission_send_last sends the message that completes the job, and blocks for the answer. */
int gw_submission_send_last(struct gw_submission *submission, struct gw_message *message,
                            struct gw_error *error);

/* gw_submission_refused gives the error of one that was refused already, 0 otherwise. */
int gw_submission_refused(struct gw_submission *submission, struct gw_error *error);

/* gw_submission_flush sends what was added so far. gw_submission_part sends what was added so far,
 * as the end of one graph of a stream. */
int gw_submission_flush(struct gw_submission *submission, struct gw_error *error);
int gw_submission_part(struct gw_submission *submission, struct gw_error *error);

/* gw_submission_row sends what of its arguments is large ahead, as values of their own, unless the
 * row says that they stay. GW_ELIMIT
 * when it is too large for a message even so. */
int gw_submission_row(struct gw_submission *submission, const struct gw_chunk_row *row,
                      struct gw_error *error);
int gw_submission_finish(struct gw_submission *submission, struct gw_error *error);
void gw_submission_close(struct gw_submission *submission);

#endif
