/* Objects: the results of tasks, and the workers that hold them. Functions that change them are for
 * use in model/ only. */
#ifndef GW_SCHEDULER_CORE_JOBS_OBJECT_H
#define GW_SCHEDULER_CORE_JOBS_OBJECT_H

#include "scheduler/core/model/state.h"

/* gw_sched_objects_of returns the index of a task's first object. The field .next leads to the
 * others. For an alias, these are the objects of its original. gw_sched_object_of returns the
 * object of one rank. Both return GW_NO_INDEX if there is none. */
uint32_t gw_sched_objects_of(const struct gw_sched *sched, const struct gw_job *job, uint32_t row);
uint32_t gw_sched_object_of(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                            uint32_t rank);

/* gw_sched_object_bytes returns a value that the scheduler has, or NULL if only workers or a token
 * have it. gw_sched_object_value returns a value only if it is small enough to be sent with each
 * task that uses it. Larger values are fetched. */
const void *gw_sched_object_bytes(const struct gw_object *object);
const void *gw_sched_object_value(const struct gw_object *object);

/* gw_sched_object_here returns true if the scheduler itself has the value. gw_sched_objects_whole
 * returns true if the objects of all ranks of a task are at the scheduler or at a worker. */
bool gw_sched_object_here(const struct gw_object *object);
bool gw_sched_objects_whole(const struct gw_sched *sched, const struct gw_job *job, uint32_t row);

/* gw_sched_object_holder_of returns the index of the holder entry of a worker for an object, or
 * GW_NO_INDEX. gw_sched_object_holder_any returns a firm holder, preferably `worker`. */
uint32_t gw_sched_object_holder_of(const struct gw_sched *sched, uint32_t object,
                                   uint32_t worker_slot);
uint32_t gw_sched_object_holder_any(const struct gw_sched *sched, uint32_t object,
                                    uint32_t worker_slot);

/* gw_sched_object_holder_copy records that a worker without the object was told to keep a replica,
 * and returns the index of the new holder. gw_sched_object_holder_copied records the result: the
 * worker has it, or (well false) it failed. */
uint32_t gw_sched_object_holder_copy(struct gw_sched *sched, uint32_t object,
                                     struct gw_worker *worker);
void gw_sched_object_holder_copied(struct gw_sched *sched, uint32_t holder, bool well);

/* gw_sched_object_inputs_fetch records that an attempt of the task at a worker fetches the task's
 * inputs, and returns true if there are any to fetch. Values that the scheduler sends with the
 * task need no fetch. gw_sched_object_inputs_fetched records the end of the attempt. If it ended
 * well, the worker has the inputs. */
bool gw_sched_object_inputs_fetch(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                  struct gw_worker *worker);
void gw_sched_object_inputs_fetched(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                    struct gw_worker *worker, bool well);

/* gw_sched_objects_ahead prefetches the memory of a row's objects, and
 * gw_sched_object_inputs_prefetched that of its inputs in the same job. The objects are spread over
 * the table and will be used soon. */
void gw_sched_objects_ahead(const struct gw_sched *sched, const struct gw_tasks *tasks,
                            uint32_t row);
void gw_sched_object_inputs_prefetched(const struct gw_sched *sched, const struct gw_tasks *tasks,
                                       uint32_t row);

/* A callback of gw_sched_object_each_input, with its argument. */
struct gw_input_visit {
    void (*visit)(struct gw_sched *sched, uint32_t object, void *arg);
    void *arg;
};

/* gw_sched_object_each_input calls visit for every object that a task uses, in the order of its
 * dependencies (GW_DEP_ALL: one call for each rank). */
void gw_sched_object_each_input(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                const struct gw_input_visit *visit);

/* gw_sched_object_holder_add makes a worker a holder of an object that is not firm yet, and returns
 * the index of the holder. */
uint32_t gw_sched_object_holder_add(struct gw_sched *sched, uint32_t at, struct gw_worker *worker);

/* gw_sched_object_holder_set_firm records that a holder has the bytes now, and counts them at its
 * worker. */
void gw_sched_object_holder_set_firm(struct gw_sched *sched, uint32_t place);

/* gw_sched_object_holder_remove frees a holder: its worker does not have the object any more, or
 * will not get it. */
void gw_sched_object_holder_remove(struct gw_sched *sched, uint32_t place);

/* gw_sched_object_found records that a worker has brought back an absent object, and marks the
 * pending requests of its job to be tried again. Only for use in model/. */
void gw_sched_object_found(struct gw_sched *sched, struct gw_object *object);

/* gw_sched_objects_absent_over ends the wait for workers: objects that are still absent are lost.
 * Only for use in model/. */
void gw_sched_objects_absent_over(struct gw_sched *sched);

/* gw_sched_object_recover: a worker came back with a result. */
void gw_sched_object_recover(struct gw_sched *sched, uint32_t at, struct gw_worker *worker);

#endif
