/* Specs and programs of jobs. */
#ifndef GW_WORKER_CORE_MODEL_JOB_H
#define GW_WORKER_CORE_MODEL_JOB_H

#include "worker/core/model/state.h"

struct gw_node_job *gw_core_job(struct gw_node_core *core, uint64_t id, bool make);
void gw_job_tidy(struct gw_node_core *core, struct gw_node_job *job);
void gw_job_free(struct gw_node_job *job);
/* gw_job_on_spec gives the spec if it is a new one, NULL if it was known or is refused. */
struct gw_node_spec *gw_job_on_spec(struct gw_node_core *core, const struct gw_msg_spec *spec);
/* gw_job_forget_specs: nothing of the job will come any more; runners hear that, too. */
void gw_job_forget_specs(struct gw_node_core *core, struct gw_node_job *job);

/* gw_job_program_gone takes the word that a program could not be started because it is not where it
 * was put: it is asked for again, once until a runner of it starts. agains: as they were when that
 * process was to start. false: that was done. */
bool gw_job_program_gone(struct gw_node_core *core, struct gw_program *program, uint32_t agains);

struct gw_node_spec *gw_job_spec(struct gw_node_core *core, uint64_t job, uint32_t number);
void gw_spec_unref(struct gw_node_spec *spec);
void gw_program_on_event(struct gw_node_core *core, const struct gw_event *event);

#endif
