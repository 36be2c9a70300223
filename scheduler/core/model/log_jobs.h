/* Jobs whose lines in the log were too many; see log.h. Of send/, no state: no decision reads
 * them. */
#ifndef GW_SCHEDULER_CORE_LOG_JOBS_H
#define GW_SCHEDULER_CORE_LOG_JOBS_H

#include <stdbool.h>
#include <stdint.h>

enum { GW_LOG_USER_BYTES = 61 };

struct gw_log_jobs {
    uint64_t since_ns; /* the second of which they are begins */
    uint32_t said;     /* lines in it */
    uint32_t jobs;     /* that have none */
    uint64_t tasks, latest;
    char user[GW_LOG_USER_BYTES]; /* the client of the latest; cut off */
    bool named;                   /* it tells its user */
};

#endif
