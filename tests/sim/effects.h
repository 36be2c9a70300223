/* The effect hash: one number for everything that the cores asked for in the seeds of one run. */
#ifndef GW_SIM_EFFECTS_H
#define GW_SIM_EFFECTS_H

#include "graph/wire/hash.h"
#include "graph/wire/step.h"

/* sim_effects_begin starts the hash; before that sim_effects_add does nothing. */
void sim_effects_begin(void);
/* sim_effects_add adds the effects of one step of a core (0: the scheduler, else the host's number
 * + 1), and the deadline that it now asks for. */
void sim_effects_add(uint64_t now_ns, uint32_t core, uint64_t deadline_ns,
                     const struct gw_effects *effects);
/* sim_effects_print prints the hash: a line of hexadecimal digits. */
void sim_effects_print(void);
/* sim_effects_compare tells whether the hash is what a file holds, and if not, what to do. */
bool sim_effects_compare(const char *path);

#endif
