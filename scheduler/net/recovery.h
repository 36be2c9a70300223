/* Recovery: restores the state that earlier terms of the scheduler left. */
#ifndef GW_SCHEDULER_NET_RECOVERY_H
#define GW_SCHEDULER_NET_RECOVERY_H

#include "scheduler/core/sched.h"
#include "scheduler/store/journal.h"

struct gw_recovery_options {
    const char *state; /* state folder; NULL: the state is only in memory */
    const char *jobs;  /* folder with what workers on this machine keep for jobs */
    bool accept_loss;  /* if the state is damaged, move it aside and begin with an empty one */
    const struct gw_journal_callbacks *callbacks;
};

/* gw_recovery_open opens the journal and appends its facts to `facts`. Returns the errors of
 * gw_journal_open and gw_damaged_state_set_aside. */
int gw_recovery_open(uv_loop_t *loop, const struct gw_recovery_options *options,
                     struct gw_buffer *facts, struct gw_journal **journal, struct gw_error *error);

/* gw_recovery_restore applies facts to a new core, and compacts the journal if many facts have no
 * effect any more. Returns GW_EVERSION if a fact is of an unknown type, or GW_EIO, with a text. */
int gw_recovery_restore(struct gw_sched *core, struct gw_journal *journal,
                        const struct gw_buffer *facts, struct gw_error *error);

/* gw_recovery_on_disk_failed ends this process at once. It is a callback of the journal. */
void gw_recovery_on_disk_failed(const struct gw_error *error, void *arg);

#endif
