/* Memory files of a worker, as its runners use them. */
#ifndef GW_SIM_MEMFILE_H
#define GW_SIM_MEMFILE_H

#include "tests/sim/sim.h"

/* sim_memfile_dup makes a token refer to the same memory file as token `of`, so that both see what
 * is written to it. If `of` is not a memory file, nothing happens. */
void sim_memfile_dup(struct sim *sim, uint64_t token, uint64_t of);
void sim_memfile_drop(struct sim *sim, uint64_t token);
/* sim_memfile_content writes the present content of a memory file. It returns false if the token is
 * not of a memory file. */
bool sim_memfile_content(const struct sim *sim, uint64_t token, uint64_t *content);
bool sim_memfile_is(const struct sim *sim, uint64_t token); /* true for tokens of memory files */
/* sim_memfile_empty empties a memory file, which nobody may read after that. */
void sim_memfile_empty(struct sim *sim, uint64_t token);

/* sim_memfile_take delivers a message to a process, which may be about memory files. */
void sim_memfile_take(struct sim *sim, struct process *process, const struct gw_message *message,
                      const uint64_t *tokens);
/* sim_memfile_lent: the descriptors of an assign up to `end` belong to this attempt and earlier
 * ones. They are read until these end, or longer. */
void sim_memfile_lent(struct sim *sim, struct process *process, uint64_t attempt,
                      const uint64_t *tokens, uint32_t end);
/* sim_memfile_begin: the first row starts to write the memory file that it was given. */
void sim_memfile_begin(struct sim *sim, struct process *process);
/* sim_memfile_result returns the token of the first row's result. If the result is in a memory
 * file, the worker has been informed. It returns 0 if the process has ended. */
uint64_t sim_memfile_result(struct sim *sim, struct process *process, uint64_t value);
/* sim_memfile_sweep returns memory files that are no longer read. It returns false if the process
 * has ended. */
bool sim_memfile_sweep(struct sim *sim, struct process *process);
/* sim_memfile_end: the process and its descendants have ended. Until then they were allowed to read
 * their memory files. */
void sim_memfile_end(struct sim *sim, struct process *process);
void sim_memfile_free(struct sim *sim);

#endif
