/* Records which workers have checkpoints of gangs. */
#ifndef GW_SCHEDULER_CORE_JOBS_CHECKPOINT_H
#define GW_SCHEDULER_CORE_JOBS_CHECKPOINT_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/model/worker_name.h"

/* Names the record of a checkpoint to change: the kind of record (enum gw_checkpoint_which), and,
 * for the record `home`, the attempt and step of the checkpoint. */
struct gw_checkpoint_lies {
    uint32_t which;
    uint64_t attempt;
    int64_t step;
};

/* The checkpoint from which an attempt would continue now. worker NULL: no worker is known to have
 * it, or it is lost. */
struct gw_checkpoint_source {
    struct gw_worker *worker, *beside;
    const struct gw_checkpoint_place *place;
    bool lost;
};

/* A checkpoint at a worker. The worker is identified by its incarnation, and a later incarnation by
 * its host and name. */
struct gw_checkpoint_place {
    uint64_t attempt; /* the attempt that saved the checkpoint; for a gang of commands, 0 means the
                         folder before a worker reported a checkpoint */
    int64_t step;
    uint32_t worker; /* worker id for messages, may be outdated; 0: no worker has it */
    uint64_t incarnation;
    char host[256], name[128];
    bool is_copy; /* true: this is a copy, which the worker stores outside the task's folder */
    bool gone;    /* the worker was asked and does not have it any more */
};

/* The last checkpoint of a gang: where it is, and which copy another host has. The copy may be
 * older. */
struct gw_checkpointed {
    uint64_t attempt;
    int64_t step;
    uint64_t saved_ns; /* 0: in an earlier term */
    /* `home`: the worker where rank 0 runs or ran last. `saver`: the worker that saved the
     * checkpoint; it may be an earlier `home`. The attempt and the step of the checkpoint are
     * those of both records. */
    struct gw_checkpoint_place home, saver, copy;
    struct gw_checkpoint_place *members; /* commands: the other workers of the last attempt */
    uint32_t member_count, member_room;
    uint32_t copier;  /* id of the worker that makes a copy; 0: none */
    uint32_t passing; /* if the copy is made because a worker shuts down, the id of this worker;
                         otherwise 0 */
    /* Id of a worker that shuts down and whose checkpoint needs no further copy: one exists, or no
     * worker could take it. */
    uint32_t passed;
    bool shared;       /* true: another host has access to the folder of `home`, so no transfer and
                          no copy is needed */
    uint32_t unsteady; /* consecutive copies that failed because the folder changed */
    char trouble[256]; /* the last reported reason for the missing copy */
};

/* Which record of a checkpoint: home and saver, home alone, the copy, another worker whose ranks
 * may have written files (commands), or the removal of these other workers (NOBODY). */
enum gw_checkpoint_which {
    GW_CHECKPOINT_SAVED,
    GW_CHECKPOINT_HOME,
    GW_CHECKPOINT_COPY,
    GW_CHECKPOINT_MEMBER,
    GW_CHECKPOINT_NOBODY,
};

/* gw_sched_checkpoint_of returns the current checkpoint of a task, or NULL. Borrowed. */
const struct gw_checkpointed *gw_sched_checkpoint_of(const struct gw_job *job, uint32_t row);

/* gw_sched_checkpoint_home returns the worker at which the next attempt of a gang finds the files
 * of the last one if hosts do not share a folder: the worker that saved the checkpoint, or if it is
 * lost, one with a copy or a later incarnation of it. For a command, which may never report a
 * checkpoint, it is the last worker of rank 0. Returns 0 if there is none. */
uint32_t gw_sched_checkpoint_home(const struct gw_sched *sched, const struct gw_job *job,
                                  uint32_t row);

/* gw_sched_checkpoint_choose records in a new attempt of a gang from which checkpoint it continues,
 * or that the checkpoint is lost. Only for use in model/. */
void gw_sched_checkpoint_choose(const struct gw_sched *sched, struct gw_gang_attempt *gang);

/* gw_sched_checkpoint_tell logs events about that choice: the checkpoint is lost, or is transferred
 * from another worker. */
void gw_sched_checkpoint_tell(struct gw_sched *sched, const struct gw_gang_attempt *gang);

/* gw_sched_checkpoint_describe_transfer adds to a message to a worker of a gang what is transferred
 * before its ranks start. leads: the worker has rank 0, and the other workers get the files from
 * it. */
void gw_sched_checkpoint_describe_transfer(struct gw_sched *sched,
                                           const struct gw_gang_attempt *gang, bool leads,
                                           struct gw_msg_gang *message);

/* gw_sched_checkpoint_needs_transfer returns true if files are transferred before the gang starts.
 */
bool gw_sched_checkpoint_needs_transfer(const struct gw_sched *sched,
                                        const struct gw_gang_attempt *gang);

/* gw_sched_checkpoint_on_go records that the ranks of a gang start, and that their checkpoint is at
 * rank 0's worker now. */
void gw_sched_checkpoint_on_go(struct gw_sched *sched, const struct gw_gang_attempt *gang);

/* gw_sched_checkpoint_of_command returns true if a task runs a command. The folder of a command is
 * its checkpoint. */
bool gw_sched_checkpoint_of_command(const struct gw_job *job, uint32_t row);

/* gw_sched_checkpoint_is_at returns true if the checkpoint is at this incarnation of a worker. */
bool gw_sched_checkpoint_is_at(const struct gw_checkpoint_place *place,
                               const struct gw_worker *worker);

/* gw_sched_checkpoint_at writes the worker of a checkpoint for people, by name, because its id may
 * change. It returns `text`. */
const char *gw_sched_checkpoint_at(const struct gw_checkpoint_place *place,
                                   char text[static GW_WORKER_NAME_MAX]);

/* gw_sched_checkpoint_put records, as a fact, that a worker has a checkpoint. */
void gw_sched_checkpoint_put(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                             struct gw_checkpoint_lies lies, const struct gw_worker *worker);

/* gw_sched_checkpoint_holder returns the connected worker that has this checkpoint, also if it
 * reconnected with another id, or NULL. *beside: in the last case, a later incarnation of that
 * worker, which may have the same folder, or NULL. */
struct gw_worker *gw_sched_checkpoint_holder(const struct gw_sched *sched,
                                             const struct gw_checkpoint_place *place,
                                             struct gw_worker **beside);

/* gw_sched_checkpoint_source finds the worker from which an attempt would take the checkpoint now:
 * home first, then the saver, then the copy, then a later incarnation of one of these. */
struct gw_checkpoint_source gw_sched_checkpoint_source(const struct gw_sched *sched,
                                                       const struct gw_checkpointed *record);

/* gw_sched_checkpoint_transfer_source returns the worker from which rank 0's worker gets the
 * checkpoint, or NULL if rank 0's worker has it or no worker has. *kept: it is a replica that the
 * worker keeps. */
struct gw_worker *gw_sched_checkpoint_transfer_source(const struct gw_sched *sched,
                                                      const struct gw_gang_attempt *gang,
                                                      bool *is_copy);

/* gw_sched_checkpoint_members returns the ready workers, other than rank 0's and the one that the
 * checkpoint is transferred from, whose ranks may have written files into their folders. The array
 * lives as long as the step. It is NULL if *count is 0. *member: rank 0's worker is one of them,
 * too. */
struct gw_worker **gw_sched_checkpoint_members(const struct gw_sched *sched,
                                               const struct gw_gang_attempt *gang, uint32_t *count,
                                               bool *member);

/* gw_sched_checkpoint_forget_members records, as a fact, that no other worker has files of a task.
 */
void gw_sched_checkpoint_forget_members(struct gw_sched *sched, struct gw_job *job, uint32_t row);

/* gw_sched_checkpoint_copying records that a worker was asked to copy a checkpoint.
 * gw_sched_checkpoint_copied records if the worker succeeded. */
void gw_sched_checkpoint_copied(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                                const struct gw_worker *worker,
                                const struct gw_msg_checkpoint_transferred *end);
void gw_sched_checkpoint_copying(struct gw_job *job, uint32_t index, const struct gw_worker *worker,
                                 uint32_t leaving);

#endif
