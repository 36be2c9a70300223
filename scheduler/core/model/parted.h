/* Two workers whose ranks could not reach each other. See parting.h. */
#ifndef GW_SCHEDULER_CORE_PARTED_H
#define GW_SCHEDULER_CORE_PARTED_H

#include <stdbool.h>
#include <stdint.h>

struct gw_parting {
    char names[2][64];
    uint32_t failures; /* consecutive failures */
    uint64_t until_ns;
    bool over; /* a gang may have ranks on both workers again */
};

#endif
