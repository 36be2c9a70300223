/* Restores the facts of earlier terms. Facts are restored before the journal is compacted, so that
 * facts which the core does not accept stay unchanged. */
#include "scheduler/net/recovery.h"

#include "graph/base/log.h"
#include "scheduler/store/damaged_state.h"
#include "scheduler/store/database.h"

#include <gangway/version.h>
#include <limits.h>
#include <stdlib.h>
#include <unistd.h>

enum { COMPACT_BYTES = 4 << 20 /* smaller journals are not compacted */ };

int gw_recovery_open(uv_loop_t *loop, const struct gw_recovery_options *options,
                     struct gw_buffer *facts, struct gw_journal **journal, struct gw_error *error)
{
    char aside[PATH_MAX];
    int rc = gw_journal_open(loop, options->state, options->callbacks, facts, journal, error);
    if (rc != GW_ECORRUPT || !options->accept_loss)
        return rc;
    gw_log_warn("%s", error->text);
    facts->size = 0;
    rc = gw_damaged_state_set_aside(options->state, options->jobs, aside, error);
    if (rc < 0)
        return rc;
    gw_log_warn("--accept-loss: the damaged state in %s was moved to %s; the cluster starts "
                "without its jobs",
                options->state, aside);
    return gw_journal_open(loop, options->state, options->callbacks, facts, journal, error);
}

int gw_recovery_restore(struct gw_sched *core, struct gw_journal *journal,
                        const struct gw_buffer *facts, struct gw_error *error)
{
    struct gw_buffer less = {0};
    if (gw_sched_durable_restore(core, facts->data, facts->size) < 0)
        return gw_error_set(error, GW_EVERSION,
                            "a newer version of Gangway wrote the stored state, and Gangway %s "
                            "cannot read it: start that version, or give another folder by --state",
                            GANGWAY_VERSION);
    int rc = 0;
    if (facts->size >= COMPACT_BYTES && gw_sched_compact(facts, &less) == 0 &&
        less.size < facts->size / 2)
        rc = gw_journal_rewrite(journal, &less, error);
    gw_buffer_deinit(&less);
    return rc;
}

/* After a disk error it is unknown what is on disk. The process ends at once, and the next term
 * reads the disk. No client gets an answer. */
void gw_recovery_on_disk_failed(const struct gw_error *error, void *arg)
{
    (void)arg;
    gw_log_error("ending at once: %s", error->text);
    _exit(EXIT_FAILURE);
}
