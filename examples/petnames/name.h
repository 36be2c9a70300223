/* One pet name. */
#ifndef GW_EXAMPLES_PETNAMES_NAME_H
#define GW_EXAMPLES_PETNAMES_NAME_H

#include <stdbool.h>
#include <stdint.h>

enum { PET_NAME_MAX = 24 };

struct pet_name {
    char text[PET_NAME_MAX + 1];
    bool held_out;
    uint32_t count; /* how often the source has it */
};

#endif
