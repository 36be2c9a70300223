/* The effect hash: one number for all effects that the cores return in the seeds of one run. */
#ifndef GW_SIM_EFFECTS_H
#define GW_SIM_EFFECTS_H

#include "graph/wire/hash.h"
#include "graph/wire/step.h"

/* sim_effects_begin starts the hash. Before that, sim_effects_add does nothing. */
void sim_effects_begin(void);
/* sim_effects_add adds the effects of one step of a core, and the deadline that the core requests
 * now. core is 0 for the scheduler, else the host's number + 1. */
void sim_effects_add(uint64_t now_ns, uint32_t core, uint64_t deadline_ns,
                     const struct gw_effects *effects);
/* sim_effects_print prints the hash as a line of hexadecimal digits. */
void sim_effects_print(void);
/* sim_effects_compare returns true if the hash equals the one in the file. If not, it prints what
 * to do. */
bool sim_effects_compare(const char *path);

#endif
