/* What a host lets begin while its memory is short; see admission.c. */
#ifndef GW_TESTS_SIM_ADMISSION_H
#define GW_TESTS_SIM_ADMISSION_H

#include "tests/sim/sim.h"

/* sim_admission_start: a life of a host begins. sim_admission_measured: what its worker and its
 * processes use from now on. */
void sim_admission_start(struct host *host, uint64_t pause_bytes);
void sim_admission_measured(struct host *host, uint64_t own_bytes,
                            const struct gw_process_use *uses, uint32_t count);

/* sim_admission_stepped: a host has stepped, and none of these effects was carried out. */
void sim_admission_stepped(struct sim *sim, struct host *host);
/* sim_admission_spawned: a process begins with what it is for. */
void sim_admission_spawned(struct sim *sim, const struct process *process);

#endif
