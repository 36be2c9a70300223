/* Memory files of a worker, as its runners have them. */
#ifndef GW_SIM_MEMFILE_H
#define GW_SIM_MEMFILE_H

#include "tests/sim/sim.h"

/* What a token is of: several tokens of one file see what is written into it. 0: a file of its
 * own. */
void sim_memfile_dup(struct sim *sim, uint64_t token, uint64_t of);
void sim_memfile_drop(struct sim *sim, uint64_t token);
/* sim_memfile_content tells what lies there now; false: it is a file of its own. */
bool sim_memfile_content(const struct sim *sim, uint64_t token, uint64_t *content);
bool sim_memfile_is(const struct sim *sim, uint64_t token); /* that others see, too */
/* sim_memfile_empty: nobody may read it. */
void sim_memfile_empty(struct sim *sim, uint64_t token);

/* sim_memfile_take: a process hears something, perhaps of memory files. */
void sim_memfile_take(struct sim *sim, struct process *process, const struct gw_message *message,
                      const uint64_t *tokens);
/* sim_memfile_lent: the descriptors of an assign up to `end` are of this attempt and those before
 * it, to be read until they end, or longer. */
void sim_memfile_lent(struct sim *sim, struct process *process, uint64_t attempt,
                      const uint64_t *tokens, uint32_t end);
/* sim_memfile_begin: what is given to the first row is written from now on. */
void sim_memfile_begin(struct sim *sim, struct process *process);
/* sim_memfile_result gives the token of the first row's result; where that lies in a memory file,
 * the worker was told; 0: the process is no more. */
uint64_t sim_memfile_result(struct sim *sim, struct process *process, uint64_t value);
/* sim_memfile_sweep returns what is read no more; false: the process is no more. */
bool sim_memfile_sweep(struct sim *sim, struct process *process);
/* sim_memfile_end: the process and its descendants are gone, and read what they had to the end. */
void sim_memfile_end(struct sim *sim, struct process *process);
void sim_memfile_free(struct sim *sim);

#endif
