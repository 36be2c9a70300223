/* What is remembered of two workers whose ranks could not reach each other; see parting.h. */
#ifndef GW_SCHEDULER_CORE_PARTED_H
#define GW_SCHEDULER_CORE_PARTED_H

#include <stdbool.h>
#include <stdint.h>

struct gw_parting {
    char names[2][64];
    uint32_t failures; /* in a row */
    uint64_t until_ns;
    bool over; /* a gang may have ranks at both again */
};

#endif
