/* Objects: results of tasks, and who holds them. Called by apply functions, but for the readers. */
#ifndef GW_SCHEDULER_CORE_JOBS_OBJECT_H
#define GW_SCHEDULER_CORE_JOBS_OBJECT_H

#include "scheduler/core/model/state.h"

/* gw_sched_objects_of gives the place of a task's first object, from which .next leads on; those of
 * an alias are its original's. gw_sched_object_of gives a rank's. GW_NO_INDEX: there is none. */
uint32_t gw_sched_objects_of(const struct gw_sched *sched, const struct gw_job *job, uint32_t row);
uint32_t gw_sched_object_of(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                            uint32_t rank);

/* gw_sched_object_bytes gives a value that is here; NULL when workers or a token have it.
 * gw_sched_object_value gives one that is small enough to travel wherever it is an input; a larger
 * one is fetched. */
const void *gw_sched_object_bytes(const struct gw_object *object);
const void *gw_sched_object_value(const struct gw_object *object);

/* gw_sched_object_here: the scheduler itself can give it. gw_sched_objects_whole: every rank's
 * object of a task is here or at a worker. */
bool gw_sched_object_here(const struct gw_object *object);
bool gw_sched_objects_whole(const struct gw_sched *sched, const struct gw_job *job, uint32_t row);

/* gw_sched_object_holder_of gives the place of the holder that a worker is of an object, or
 * GW_NO_INDEX; gw_sched_object_holder_any one that has it, preferring `worker`. */
uint32_t gw_sched_object_holder_of(const struct gw_sched *sched, uint32_t object,
                                   uint32_t worker_slot);
uint32_t gw_sched_object_holder_any(const struct gw_sched *sched, uint32_t object,
                                    uint32_t worker_slot);

/* gw_sched_object_holder_copy notes that a worker that has not got an object was told to keep a
 * copy, and gives its place; gw_sched_object_holder_copied that this is over: it has it, or (well
 * false) not. */
uint32_t gw_sched_object_holder_copy(struct gw_sched *sched, uint32_t object,
                                     struct gw_worker *worker);
void gw_sched_object_holder_copied(struct gw_sched *sched, uint32_t holder, bool well);

/* gw_sched_object_inputs_fetch counts that an attempt of the row at a worker fetches the row's
 * inputs, and gives whether there was any: those whose values are here go with the row.
 * gw_sched_object_inputs_fetched counts that it ended, and has them where it ended well. */
bool gw_sched_object_inputs_fetch(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                  struct gw_worker *worker);
void gw_sched_object_inputs_fetched(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                    struct gw_worker *worker, bool well);

/* gw_sched_objects_ahead and gw_sched_object_inputs_prefetched ask for the memory of a row's
 * objects, and of those of its inputs, of the same job: they lie anywhere and are about to be
 * looked at. */
void gw_sched_objects_ahead(const struct gw_sched *sched, const struct gw_tasks *tasks,
                            uint32_t row);
void gw_sched_object_inputs_prefetched(const struct gw_sched *sched, const struct gw_tasks *tasks,
                                       uint32_t row);

/* What gw_sched_object_each_input calls, with an argument of the caller's. */
struct gw_input_visit {
    void (*visit)(struct gw_sched *sched, uint32_t object, void *arg);
    void *arg;
};

/* gw_sched_object_each_input calls visit for every object that a row takes, in the order of its
 * dependencies (GW_DEP_ALL: one call a rank). */
void gw_sched_object_each_input(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                const struct gw_input_visit *visit);

/* gw_sched_object_holder_add makes a worker a holder of an object and returns the holder's place;
 * it is not firm yet. */
uint32_t gw_sched_object_holder_add(struct gw_sched *sched, uint32_t at, struct gw_worker *worker);

/* gw_sched_object_holder_set_firm notes that a holder has the object's bytes now, and counts them
 * at its worker. */
void gw_sched_object_holder_set_firm(struct gw_sched *sched, uint32_t place);

/* gw_sched_object_holder_remove frees a holder: its worker has the object no more, or will not get
 * it. */
void gw_sched_object_holder_remove(struct gw_sched *sched, uint32_t place);

/* gw_sched_object_found notes that an object that was absent is at a worker, and marks the
 * pending requests of its job to be looked at; for apply functions. */
void gw_sched_object_found(struct gw_sched *sched, struct gw_object *object);

/* gw_sched_objects_absent_over: no worker is awaited any more, and what is absent is lost; for
 * apply functions. */
void gw_sched_objects_absent_over(struct gw_sched *sched);

#endif
