/* What waits until facts are committed: ends that are announced, and acknowledgements. */
#ifndef GW_SCHEDULER_CORE_CLIENTS_NOTIFY_H
#define GW_SCHEDULER_CORE_CLIENTS_NOTIFY_H

#include "scheduler/core/model/state.h"

enum gw_announcement_kind { GW_ANNOUNCE_ACCEPTED, GW_ANNOUNCE_TASK, GW_ANNOUNCE_JOB };

struct gw_announcement {
    uint64_t number, job;
    uint32_t index, kind;
};

/* An answer that waits for the facts up to `number`. counted: it says of how many tasks. */
struct gw_acknowledgement {
    uint64_t number, request;
    gw_peer peer;
    uint32_t tasks;
    bool counted;
    uint64_t known_job; /* a submission's: the job that has its key; 0: it is of another call */
};

#endif
