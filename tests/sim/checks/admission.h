/* Which tasks a host starts while its memory is short; see admission.c. */
#ifndef GW_TESTS_SIM_ADMISSION_H
#define GW_TESTS_SIM_ADMISSION_H

#include "tests/sim/sim.h"

/* sim_admission_start: an incarnation of a host starts. sim_admission_measured: the present memory
 * use of its worker and its processes. */
void sim_admission_start(struct host *host, uint64_t pause_bytes);
void sim_admission_measured(struct host *host, uint64_t own_bytes,
                            const struct gw_process_use *uses, uint32_t count);

/* sim_admission_stepped: a host has made a step, and its effects were not executed yet. */
void sim_admission_stepped(struct sim *sim, struct host *host);
/* sim_admission_spawned: a process starts for its task. */
void sim_admission_spawned(struct sim *sim, const struct process *process);

#endif
