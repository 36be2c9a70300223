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
    /* Answer to a submission: the job that has its key; 0: answer to another request. */
    uint64_t known_job;
};

#endif
