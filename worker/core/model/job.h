/* Jobs of this worker, their specs, and the programs that the specs name. */
#ifndef GW_WORKER_CORE_MODEL_JOB_H
#define GW_WORKER_CORE_MODEL_JOB_H

#include "worker/core/model/state.h"

struct gw_node_job *gw_core_job(struct gw_node_core *core, uint64_t id, bool make);
void gw_job_tidy(struct gw_node_core *core, struct gw_node_job *job);
void gw_job_free(struct gw_node_job *job);
/* gw_job_on_spec stores the spec of a message. It returns the spec if it is new, and NULL if it was
 * known or is refused. */
struct gw_node_spec *gw_job_on_spec(struct gw_node_core *core, const struct gw_msg_spec *spec);
/* gw_job_forget_specs releases the specs of a job of which no task will come any more. Runners that
 * know the specs are told to forget them. */
void gw_job_forget_specs(struct gw_node_core *core, struct gw_node_job *job);

/* gw_job_program_gone is called if a program could not be started because its file is missing. It
 * asks for the program again. This is done once until a runner of the program starts. `agains` is
 * the value of program->agains when the failed process was started. Returns false if the program
 * was already asked for again. */
bool gw_job_program_gone(struct gw_node_core *core, struct gw_program *program, uint32_t agains);

/* gw_job_free_programs frees all programs, and the folders of users. */
void gw_job_free_programs(struct gw_node_core *core);

/* gw_job_user returns the core's own copy of the name or the folder of a user, which lives as long
 * as the core. NULL is like "". */
const char *gw_job_user(struct gw_node_core *core, const char *user);

struct gw_node_spec *gw_job_spec(struct gw_node_core *core, uint64_t job, uint32_t number);
void gw_spec_unref(struct gw_node_spec *spec);
void gw_program_on_event(struct gw_node_core *core, const struct gw_event *event);

#endif
