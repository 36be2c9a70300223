/* Changes of state that touch several nouns. */
#ifndef GW_SCHEDULER_CORE_CHANGES_H
#define GW_SCHEDULER_CORE_CHANGES_H

#include "scheduler/core/model/state.h"

struct gw_attempt_new;

/* -- term.c -- */

/* gw_sched_term_restore begins or ends the restoring of facts of earlier terms. The notes that
 * these facts wrote are dropped: their consequences were decided in those terms, and jobs may have
 * been forgotten since. */
void gw_sched_term_restore(struct gw_sched *sched, bool begins);

/* gw_sched_term_begin sets the times of a new term and continues job ids after all ids that may
 * have been used. gw_sched_term_step sets the times of a step. gw_sched_term_end marks the last
 * step. */
void gw_sched_term_begin(struct gw_sched *sched, const struct gw_event *event);
void gw_sched_term_step(struct gw_sched *sched, const struct gw_event *event);
void gw_sched_term_end(struct gw_sched *sched);

/* gw_sched_term_see_room records why the scheduler cannot accept a detached job now; an empty text
 * means that it can. gw_sched_term_shut_down begins a shutdown. gw_sched_term_hurry shortens its
 * deadline and grace time. */
void gw_sched_term_see_room(struct gw_sched *sched, const char *why);
void gw_sched_term_hurry(struct gw_sched *sched, uint64_t deadline_ns, uint64_t grace_ns);
void gw_sched_term_shut_down(struct gw_sched *sched, struct gw_remote *remote, uint64_t request,
                             uint64_t deadline_ns, uint64_t grace_ns);

/* -- remote.c -- */

/* gw_sched_remote_free frees a remote and its session. For model/ and the end of the core. */
void gw_sched_remote_free(struct gw_sched *sched, struct gw_remote *remote);

/* gw_sched_remote_number returns the sequence number for the next message to a remote. */
static inline uint64_t gw_sched_remote_number(struct gw_remote *remote)
{
    return ++remote->sent;
}

/* gw_sched_remote_open opens a connection. `attempt` is the attempt in which its client runs, or
 * GW_NO_INDEX. gw_sched_remote_hear records that a message arrived. gw_sched_remote_close closes a
 * connection, and gw_sched_remote_close_session ends the session of a client. */
void gw_sched_remote_close(struct gw_sched *sched, struct gw_remote *remote);
void gw_sched_remote_hear(struct gw_sched *sched, struct gw_remote *remote, uint64_t sequence);
void gw_sched_remote_open(struct gw_sched *sched, const struct gw_event *event, uint64_t id,
                          uint32_t attempt);
void gw_sched_remote_close_session(struct gw_sched *sched, struct gw_session *session);

/* -- content.c -- */

/* gw_sched_content_replay applies the messages of a detached job, given as frames. Only for use in
 * model/. Returns the errors of the decoder. */
int gw_sched_content_replay(struct gw_sched *sched, struct gw_job *job, struct gw_bin content);

/* gw_sched_hold_on_spec lets a new job wait with the held jobs if it asks for GPUs. Only for use in
 * model/. */
void gw_sched_hold_on_spec(struct gw_sched *sched, struct gw_job *job,
                           const struct gw_resource_class *shape);

/* These functions change a job while its client submits it. gw_sched_content_add_spec adds a
 * specification, and gw_sched_content_add_chunk adds tasks. gw_sched_content_refuse remembers that
 * later chunks of a refused request are dropped, until a chunk without `more` arrives.
 * gw_sched_content_open_stream marks the job as a stream, to which the client will add more tasks.
 * gw_sched_content_part_stream ends a part of a stream: it lists the tasks of that part that no
 * task or future uses. */
void gw_sched_content_add_chunk(struct gw_sched *sched, struct gw_job *job,
                                const struct gw_msg_submit *chunk);
void gw_sched_content_refuse(struct gw_session *session, uint64_t request, bool more);
void gw_sched_content_add_spec(struct gw_sched *sched, struct gw_job *job,
                               const struct gw_msg_spec *spec);
void gw_sched_content_open_stream(struct gw_job *job);
void gw_sched_content_part_stream(struct gw_sched *sched, struct gw_job *job);

/* -- job.c -- */

/* gw_sched_job_free removes a job from all lists and frees it. */
void gw_sched_job_free(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_job_cancel cancels a whole job, for a user or because its session ended.
 * gw_sched_job_compact frees the data that only another run of the job would need.
 * gw_sched_job_drop frees a job that was not accepted. */
void gw_sched_job_cancel(struct gw_sched *sched, struct gw_job *job,
                         const struct gw_cancel *cancel);
void gw_sched_job_compact(struct gw_sched *sched, struct gw_job *job);
void gw_sched_job_drop(struct gw_sched *sched, struct gw_job *job);

/* -- range.c -- */

/* gw_sched_range_stop cancels the tasks that are not created yet. */
void gw_sched_range_stop(struct gw_sched *sched, struct gw_job *job);

/* gw_sched_range_catch_up creates the tasks of a range up to `row`, if a durable fact names that
 * task. For other jobs it does nothing. */
void gw_sched_range_catch_up(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_range_grow creates the next `rows` rows of a range. */
void gw_sched_range_grow(struct gw_sched *sched, struct gw_job *job, uint32_t rows);

/* -- feed.c -- */

/* gw_sched_ranges_feed creates tasks of ranges that have few tasks left to place. It returns true
 * if it created tasks, which must be settled and placed. */
bool gw_sched_ranges_feed(struct gw_sched *sched);

/* -- task_ready.c -- */

/* gw_sched_task_ready puts a waiting task without unsatisfied dependencies into its ready queue. */
void gw_sched_task_ready(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_task_ready_queue returns the ready queue of a task. */
struct gw_queue *gw_sched_task_ready_queue(struct gw_sched *sched, struct gw_job *job,
                                           uint32_t row);

/* -- task.c -- */

/* gw_sched_pipelined_task_complete counts a pipelined task as placed at its worker, because its
 * last input has arrived there. Only for use in model/. */
void gw_sched_pipelined_task_complete(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_task_make_ready puts a task whose dependencies are satisfied into its ready queue.
 * gw_sched_tasks_open_gate does this for all tasks of a job that waited for other jobs.
 * gw_sched_task_resume_delay continues the retry delay that a task had in an earlier term.
 * gw_sched_task_release frees a result that no task or future needs. gw_sched_task_unneed ends a
 * task that need not run, with a released result. gw_sched_task_scatter records a value that a
 * client has sent. */
void gw_sched_task_resume_delay(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                                uint64_t due_ns);
void gw_sched_tasks_open_gate(struct gw_sched *sched, struct gw_job *job);
void gw_sched_task_release(struct gw_sched *sched, struct gw_job *job, uint32_t index);
void gw_sched_task_make_ready(struct gw_sched *sched, struct gw_job *job, uint32_t index);
void gw_sched_task_unneed(struct gw_sched *sched, struct gw_job *job, uint32_t index);
void gw_sched_task_scatter(struct gw_sched *sched, struct gw_job *job,
                           const struct gw_result *result);

/* -- attempt.c -- */

/* gw_sched_attempt_lengthen counts a short attempt as long from now on. Returns false if the worker
 * has no free slot for a debit of its own. */
bool gw_sched_attempt_lengthen(struct gw_sched *sched, struct gw_worker_queue *lane);

/* gw_sched_attempt_start records that the worker has started the attempt. gw_sched_attempt_recall
 * records that the worker was asked to return the attempt. */
void gw_sched_attempt_recall(struct gw_sched *sched, uint32_t slot);
void gw_sched_attempt_start(struct gw_sched *sched, uint32_t slot);

/* gw_sched_attempt_place_task gives a ready ordinary task to a worker.
 * gw_sched_attempt_pipeline_task gives it a task whose inputs are not complete. Both return the
 * index of the attempt in the table. */
uint32_t gw_sched_attempt_place_task(struct gw_sched *sched, const struct gw_attempt_new *attempt);
uint32_t gw_sched_attempt_pipeline_task(struct gw_sched *sched,
                                        const struct gw_attempt_new *attempt);

/* -- object.c -- */

/* gw_sched_objects_add creates the objects of a task, one for each rank. Small values are copied.
 */
void gw_sched_objects_add(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                          const struct gw_results *results);

/* gw_sched_objects_drop removes the objects of a task. It does not drop their tokens. */
void gw_sched_objects_drop(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_object_retain_pure keeps the result of a pure task that nobody needs any more, for later
 * tasks that are equal. Returns false if the result is not one of a pure task or none are kept. If
 * there are too many, the oldest are dropped. */
bool gw_sched_object_retain_pure(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* Only for use in model/. gw_sched_recovery_on_ready lets the job of a task wait with the held
 * jobs if the task needs an absent object. gw_sched_object_gone is called when an object has lost
 * its last holder. It returns true, and marks the object as absent, if another worker may
 * reconnect with it. */
void gw_sched_recovery_on_ready(struct gw_sched *sched, struct gw_job *job, uint32_t row);
bool gw_sched_object_gone(struct gw_sched *sched, struct gw_object *object);

/* gw_sched_object_lose_holder records that a worker no longer has a result. */
void gw_sched_object_lose_holder(struct gw_sched *sched, uint32_t at, struct gw_worker *worker);

/* -- place.c -- */

/* gw_sched_places_record makes this data durable for the last attempt of a detached job's task. It
 * is called just before the task ends. */
void gw_sched_places_record(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* -- queue.c -- */

/* gw_sched_queue_class_for finds or creates the resource class with the requirements of `key`. */
struct gw_resource_class *gw_sched_queue_class_for(struct gw_sched *sched,
                                                   const struct gw_resource_class *key);

/* gw_sched_queue_class_update decides which GPUs an empty cluster could give to a resource class:
 * one GPU or none to a rank that accepts either, and whole GPUs or MIG instances to a gang.
 * gw_sched_queue_classes_update does this for all resource classes. */
void gw_sched_queue_class_update(const struct gw_sched *sched, struct gw_resource_class *shape);
void gw_sched_queue_classes_update(struct gw_sched *sched);

/* gw_sched_queue_add adds a task to a queue. gw_sched_queue_remove removes it. */
void gw_sched_queue_add(struct gw_sched *sched, struct gw_queue *queue, uint32_t row);
void gw_sched_queue_remove(struct gw_sched *sched, struct gw_queue *queue, uint32_t row);

/* gw_sched_queue_free frees a queue, also if it is not empty. */
void gw_sched_queue_free(struct gw_sched *sched, struct gw_queue *queue);

/* gw_sched_queue_hold excludes the queue of a paused job from placement. gw_sched_queue_let
 * includes it again. */
void gw_sched_queue_hold(struct gw_sched *sched, struct gw_queue *queue);
void gw_sched_queue_let(struct gw_sched *sched, struct gw_queue *queue);

/* gw_sched_queue_class_free frees a resource class without queues and attempts, and its worker
 * queues. */
void gw_sched_queue_class_free(struct gw_sched *sched, struct gw_resource_class *shape);

/* -- ranks.c -- */

/* gw_sched_ranks_quarantine_files_begin puts a worker in quarantine for tasks with files, because
 * it could not set up the files of a task. Returns false if no other worker could run the task.
 * Then nothing changes, and the task should fail. */
bool gw_sched_ranks_quarantine_files_begin(struct gw_sched *sched, const struct gw_worker *worker,
                                           const struct gw_resource_class *shape);

/* gw_sched_ranks_hold_least returns true if an empty cluster could run the smallest size of a gang.
 */
bool gw_sched_ranks_hold_least(const struct gw_sched *sched, const struct gw_resource_class *shape);

/* gw_sched_ranks_ever returns how many ranks of a resource class could start if all workers were
 * empty. */
uint64_t gw_sched_ranks_ever(const struct gw_sched *sched, const struct gw_resource_class *shape);

/* gw_sched_ranks_could caches the result of gw_sched_ranks_hold_least until a worker joins or
 * leaves. */
bool gw_sched_ranks_could(const struct gw_sched *sched, struct gw_resource_class *shape);

/* -- reservation.c -- */

/* Only for use in model/. gw_sched_reservation_served ends the reservation of a task or gang that
 * was placed. gw_sched_reservation_clear ends a reservation whose task did not start. */
void gw_sched_reservation_served(struct gw_sched *sched, const struct gw_job *job, uint32_t index);
void gw_sched_reservation_clear(struct gw_sched *sched, uint32_t number);

/* gw_sched_reservation_requeue records the ready queue in which the task of a reservation waits
 * now. gw_sched_reservation_see records the latest start of the first waiting gang, until
 * gw_sched_reservation_unsee. */
void gw_sched_reservation_requeue(struct gw_sched *sched, uint32_t number, struct gw_queue *queue);
void gw_sched_reservation_see(struct gw_sched *sched, uint64_t start_ns);
void gw_sched_reservation_unsee(struct gw_sched *sched);

/* gw_sched_reservation_overtake adds the size of a gang that has started although another one has a
 * reservation and comes first. */
void gw_sched_reservation_overtake(struct gw_sched *sched, uint64_t size);

/* gw_sched_reservation_move moves one rank of the first waiting gang to another worker. */
void gw_sched_reservation_move(struct gw_sched *sched, struct gw_worker *from,
                               struct gw_worker *to);

/* -- worker.c -- */

/* gw_sched_lost_worker_on_lost remembers a lost worker as one that may reconnect. Only for use in
 * model/. */
void gw_sched_lost_worker_on_lost(struct gw_sched *sched, const struct gw_worker *worker);

/* gw_sched_need_worker finds a worker for one more rank of a resource class with a constraint: the
 * one with the most free slots among those that `takes` accepts. Workers that the constraint names
 * come first. Returns NULL if there is none. It checks only workers that could ever run a rank. */
struct gw_worker *gw_sched_need_worker(struct gw_sched *sched, struct gw_resource_class *shape,
                                       bool (*takes)(const struct gw_sched *sched,
                                                     const struct gw_worker *worker, void *arg),
                                       void *arg);

/* gw_sched_worker_new creates a worker that has not registered. Only for use in model/. */
void gw_sched_worker_new(struct gw_sched *sched, struct gw_remote *remote);
void gw_sched_worker_free(struct gw_sched *sched, struct gw_worker *worker);

/* These functions change the state of a worker. gw_sched_worker_register records its registration.
 * gw_sched_worker_make_ready allows placement. gw_sched_worker_set_leaving records that it
 * announced its shutdown. gw_sched_worker_let_go records that it was told to end.
 * gw_sched_worker_set_empty records that its attempts have ended for good. gw_sched_worker_set_lost
 * records its loss. gw_sched_workers_leave_look sets the time at which the next worker that shuts
 * down is checked. gw_sched_worker_told_spec and gw_sched_worker_told_neighbour record that the
 * worker knows a specification, or the address of another worker. */
void gw_sched_workers_leave_look(struct gw_sched *sched, uint64_t next_ns);
void gw_sched_worker_told_neighbour(struct gw_worker *worker, struct gw_worker *neighbour);
void gw_sched_worker_told_spec(struct gw_job *job, uint32_t number, struct gw_worker *worker);
void gw_sched_worker_set_empty(struct gw_sched *sched, struct gw_worker *worker, const char *why);
void gw_sched_worker_set_leaving(struct gw_sched *sched, struct gw_worker *worker);
void gw_sched_worker_let_go(struct gw_worker *worker);
void gw_sched_worker_set_lost(struct gw_sched *sched, struct gw_worker *worker, const char *why);
void gw_sched_worker_make_ready(struct gw_sched *sched, struct gw_worker *worker);
void gw_sched_worker_register(struct gw_sched *sched, struct gw_worker *worker,
                              const struct gw_msg_registration *registration);

/* -- gpu.c -- */

/* gw_sched_gpu_record_drain keeps a GPU drained from now on, at all workers that offer it. `why` is
 * the reason for people. */
void gw_sched_gpu_record_drain(struct gw_sched *sched, const struct gw_gpu *gpu, const char *why);

/* gw_sched_gpus_trust undrains the GPU of this UUID, or all its MIG instances, and returns how many
 * were drained. Each worker still decides itself whether it uses the GPU. */
uint32_t gw_sched_gpus_trust(struct gw_sched *sched, const char *uuid);

/* gw_sched_gpu_on_drained handles a worker's report that a GPU is drained, with the reason (empty:
 * not any more). Returns GW_EPROTO if the report is malformed. */
int gw_sched_gpu_on_drained(struct gw_sched *sched, struct gw_worker *worker,
                            const struct gw_msg_gpu_drained *message);

/* gw_sched_gpu_twins_find looks for other workers that offer the same GPUs as a registering worker,
 * and decides who owns each GPU. Only for use in model/. */
void gw_sched_gpu_twins_find(struct gw_sched *sched, struct gw_worker *worker,
                             const struct gw_msg_registration *registration);

/* gw_sched_gpu_twins_settle gives the GPUs of lost workers to other workers when the wait for the
 * lost workers is over. */
void gw_sched_gpu_twins_settle(struct gw_sched *sched);

/* gw_sched_gpu_give_back records that an administrator allows work on a GPU again. */
void gw_sched_gpu_give_back(struct gw_worker *worker, uint32_t number, const char *by);

/* -- gang.c -- */

/* gw_sched_gang_place places all ranks of a gang. gw_sched_gang_grow records that an elastic gang
 * was asked to pause, because there are resources for more ranks. */
void gw_sched_gang_grow(struct gw_sched *sched, struct gw_gang_attempt *gang, uint32_t ranks);
void gw_sched_gang_place(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                         struct gw_resource_class *shape, const struct gw_placed_rank *placed_ranks,
                         uint32_t placed_rank_count);

/* -- actor.c -- */

/* gw_sched_actor_move sets the state of an actor. */
void gw_sched_actor_move(struct gw_sched *sched, struct gw_actor *actor, uint32_t state);

/* -- hold.c -- */

/* gw_sched_hold_start makes detached jobs wait for the workers of an earlier term.
 * gw_sched_hold_end ends this wait. */
void gw_sched_hold_start(struct gw_sched *sched, uint64_t until_ns);
void gw_sched_hold_end(struct gw_sched *sched);

/* -- replica.c -- */

/* gw_sched_replica_begin records that a worker was told to copy a result. gw_sched_replica_end
 * records that the copy was made, or that it failed (code and text). */
void gw_sched_replica_begin(struct gw_sched *sched, uint32_t object, struct gw_worker *worker,
                            uint64_t number, uint64_t pending);
void gw_sched_replica_end(struct gw_sched *sched, uint32_t object, struct gw_worker *worker,
                          int32_t code, const char *text);

/* -- adopted.c -- */

/* These functions add a task, a gang, or a rank of a gang that a worker has run since an earlier
 * term of the scheduler. */
void gw_sched_adopted_gang(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                           uint64_t attempt, uint32_t world);
void gw_sched_adopted_rank(struct gw_sched *sched, struct gw_gang_attempt *gang, uint32_t rank,
                           const struct gw_adopted *adopted);
void gw_sched_adopted_task(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                           const struct gw_adopted *adopted);

#endif
