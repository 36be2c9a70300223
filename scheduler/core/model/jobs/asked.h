/* Requests of users to gangs (pause, stop) that are not completed yet. */
#ifndef GW_SCHEDULER_CORE_ASKED_H
#define GW_SCHEDULER_CORE_ASKED_H

#include "scheduler/core/model/state.h"

/* The last request to an attempt of a gang. */
struct gw_asked {
    uint64_t attempt; /* 0: no request */
    uint32_t verb;    /* enum gw_gang_verb */
    const char *by;   /* the user; lives as long as the job */
};

enum { GW_ASKED_BYTES = 200 };

/* gw_sched_gang_asked returns the request to the gang of a task. gw_sched_gang_asked_drop removes
 * it. Only for use in model/. */
struct gw_asked gw_sched_gang_asked(const struct gw_job *job, uint32_t row);
void gw_sched_gang_asked_drop(struct gw_job *job, uint32_t row);

/* gw_sched_gang_asked_text writes the request and its user for people: "paused by a". */
void gw_sched_gang_asked_text(const struct gw_asked *asked, char text[GW_ASKED_BYTES]);

/* gw_sched_gang_asked_stop marks an attempt as asked to stop, and logs the event. Only for use in
 * model/. */
void gw_sched_gang_asked_stop(struct gw_sched *sched, struct gw_gang_attempt *gang,
                              const struct gw_asked *asked);

/* gw_sched_gang_asked_known applies a user's request of an earlier term to a gang that was adopted.
 * Only for use in model/. */
void gw_sched_gang_asked_known(struct gw_sched *sched, struct gw_gang_attempt *gang);

#endif
