/* Announcements and acknowledgements that wait until facts are committed. */
#ifndef GW_SCHEDULER_CORE_CLIENTS_NOTIFY_H
#define GW_SCHEDULER_CORE_CLIENTS_NOTIFY_H

#include "scheduler/core/model/state.h"

enum gw_announcement_kind { GW_ANNOUNCE_ACCEPTED, GW_ANNOUNCE_TASK, GW_ANNOUNCE_JOB };

struct gw_announcement {
    uint64_t number, job;
    uint32_t index, kind;
};

/* An answer that waits until the facts up to `number` are committed. If `counted` is set, the
 * answer includes `tasks`, a number of tasks. */
struct gw_acknowledgement {
    uint64_t number, request;
    gw_peer peer;
    uint32_t tasks;
    bool counted;
    /* If this answers a submission with a key, the number of the job that has this key; 0: it
     * answers another request. */
    uint64_t known_job;
};

/* What a client is to hear at a commit, and no sooner: gw_sched_notify_announce lists it,
 * gw_sched_notify_announced drops the first of the list. gw_sched_notify_acknowledge_later and
 * gw_sched_notify_acknowledged: likewise for answers. gw_sched_notify_commit: everything up to
 * this number is on disk. */
void gw_sched_notify_acknowledge_later(struct gw_sched *sched,
                                       const struct gw_acknowledgement *waits, uint64_t number,
                                       const struct gw_remote *remote);
void gw_sched_notify_acknowledged(struct gw_sched *sched, size_t count);
void gw_sched_notify_announce(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                              uint32_t kind, uint64_t number);
void gw_sched_notify_announced(struct gw_sched *sched, size_t count);
void gw_sched_notify_commit(struct gw_sched *sched, uint64_t number);

#endif
