/* Recovery: what earlier lives of the scheduler left becomes the state of this one. */
#ifndef GW_SCHEDULER_NET_RECOVERY_H
#define GW_SCHEDULER_NET_RECOVERY_H

#include "scheduler/core/sched.h"
#include "scheduler/store/journal.h"

struct gw_recovery_options {
    const char *state; /* the folder; NULL: in memory */
    const char *jobs;  /* where workers on this machine keep what they have of jobs */
    bool accept_loss;  /* a damaged state is set aside, and a new one begins */
    const struct gw_journal_callbacks *callbacks;
};

/* gw_recovery_open opens the journal, and appends what it holds to `facts`. What gw_journal_open
 * and gw_damaged_state_set_aside give. */
int gw_recovery_open(uv_loop_t *loop, const struct gw_recovery_options *options,
                     struct gw_buffer *facts, struct gw_journal **journal, struct gw_error *error);

/* gw_recovery_restore applies facts to a new core, and has the journal hold less where much of them
 * says nothing any more. GW_EVERSION where a fact is not known here, GW_EIO: with a text. */
int gw_recovery_restore(struct gw_sched *core, struct gw_journal *journal,
                        const struct gw_buffer *facts, struct gw_error *error);

/* gw_recovery_on_disk_failed ends this process at once: a callback of the journal. */
void gw_recovery_on_disk_failed(const struct gw_error *error, void *arg);

#endif
