/* What users ask of gangs, until it is done. */
#ifndef GW_SCHEDULER_CORE_ASKED_H
#define GW_SCHEDULER_CORE_ASKED_H

#include "scheduler/core/model/state.h"

/* What was asked last of an attempt. */
struct gw_asked {
    uint64_t attempt; /* 0: nothing was asked */
    uint32_t verb;    /* enum gw_gang_verb */
    const char *by;   /* who; lives as long as the job */
};

enum { GW_ASKED_BYTES = 200 };

/* gw_sched_gang_asked gives what was asked of the gang of a row. gw_sched_gang_asked_drop forgets
 * it; only for apply functions. */
struct gw_asked gw_sched_gang_asked(const struct gw_job *job, uint32_t row);
void gw_sched_gang_asked_drop(struct gw_job *job, uint32_t row);

/* gw_sched_gang_asked_text writes for people what was asked, and by whom: "paused by a". */
void gw_sched_gang_asked_text(const struct gw_asked *asked, char text[GW_ASKED_BYTES]);

/* gw_sched_gang_asked_stop marks an attempt as told to stop, and logs the event; for apply
 * functions. */
void gw_sched_gang_asked_stop(struct gw_sched *sched, struct gw_gang_attempt *gang,
                              const struct gw_asked *asked);

/* gw_sched_gang_asked_known: a gang of an earlier term is told what a user asked of it then; for
 * apply functions. */
void gw_sched_gang_asked_known(struct gw_sched *sched, struct gw_gang_attempt *gang);

#endif
