/* Where checkpoints lie. */
#ifndef GW_SCHEDULER_CORE_JOBS_CHECKPOINT_H
#define GW_SCHEDULER_CORE_JOBS_CHECKPOINT_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/model/worker_name.h"

/* What of it is there; of which step, of home, is the record's. */
struct gw_checkpoint_lies {
    uint32_t which;
    uint64_t attempt;
    int64_t step;
};

/* What an attempt would go on from now. worker NULL: nobody is known to have it, or it is lost. */
struct gw_checkpoint_source {
    struct gw_worker *worker, *beside;
    const struct gw_checkpoint_place *place;
    bool lost;
};

/* A checkpoint at a worker, which is known by its incarnation, its next life by host and name. */
struct gw_checkpoint_place {
    uint64_t attempt; /* that saved it; of commands, 0 is their folder before anything was seen */
    int64_t step;
    uint32_t worker; /* for people: it may have another number by now; 0: nobody has it */
    uint64_t incarnation;
    char host[256], name[128];
    bool kept; /* among the copies that the worker keeps, not in the task's folder */
    bool gone; /* the worker was asked, and has it no more */
};

/* What a gang saved last, where that is, and what another host has of it, which may be older. */
struct gw_checkpointed {
    uint64_t attempt;
    int64_t step;
    /* home, where rank 0 is or was last, and saver, which may have been home before: of the same
     * attempt and step. */
    struct gw_checkpoint_place home, saver, copy;
    struct gw_checkpoint_place *members; /* of commands: other workers of the last attempt */
    uint32_t member_count, member_room;
    uint32_t copier;   /* worker that makes a copy; 0: none */
    uint32_t passing;  /* that is because this worker leaves; 0: none does */
    uint32_t passed;   /* what this worker, which leaves, has of it is no longer only there, or */
                       /* nobody could take it */
    bool shared;       /* another host sees home's folder: there is nothing to carry or copy */
    uint32_t unsteady; /* copies that failed in a row, the folder having changed meanwhile */
    char trouble[256]; /* why there is no copy, as told last */
};

/* Who has it: of home and saver the two, home alone, or the copy. Of commands: another worker whose
 * ranks may have written into its folder, or (NOBODY) none may have any more. */
enum gw_checkpoint_which {
    GW_CHECKPOINT_SAVED,
    GW_CHECKPOINT_HOME,
    GW_CHECKPOINT_COPY,
    GW_CHECKPOINT_MEMBER,
    GW_CHECKPOINT_NOBODY,
};

/* gw_sched_checkpoint_of gives the current one of a row; NULL: there is none. Borrowed. */
const struct gw_checkpointed *gw_sched_checkpoint_of(const struct gw_job *job, uint32_t row);

/* gw_sched_checkpoint_home is the worker where the next attempt of a gang finds what the last one
 * left in its folder, though hosts do not share it: the one that saved the checkpoint, or where
 * that is lost one that has a copy, or one of its name on its host, started since; of commands,
 * which may tell of none, where rank 0 was last. 0: none. */
uint32_t gw_sched_checkpoint_home(const struct gw_sched *sched, const struct gw_job *job,
                                  uint32_t row);

/* gw_sched_checkpoint_choose notes in a new attempt of a gang which checkpoint it goes on from, or
 * that the checkpoint is lost; for apply functions. */
void gw_sched_checkpoint_choose(const struct gw_sched *sched, struct gw_gang_attempt *gang);

/* gw_sched_checkpoint_tell logs the events of that choice: the checkpoint is lost, or is
 * transferred from another worker. */
void gw_sched_checkpoint_tell(struct gw_sched *sched, const struct gw_gang_attempt *gang);

/* gw_sched_checkpoint_describe_transfer writes into a message to a worker of a gang what is
 * transferred before ranks start there. leads: the worker has rank 0; the others follow it. */
void gw_sched_checkpoint_describe_transfer(struct gw_sched *sched,
                                           const struct gw_gang_attempt *gang, bool leads,
                                           struct gw_msg_gang *message);

/* gw_sched_checkpoint_needs_transfer tells whether anything is transferred before a gang starts. */
bool gw_sched_checkpoint_needs_transfer(const struct gw_sched *sched,
                                        const struct gw_gang_attempt *gang);

/* gw_sched_checkpoint_on_go: its ranks begin, and what they go on from lies where rank 0 is. */
void gw_sched_checkpoint_on_go(struct gw_sched *sched, const struct gw_gang_attempt *gang);

/* gw_sched_checkpoint_of_command tells whether a row runs a command: its folder is its checkpoint.
 */
bool gw_sched_checkpoint_of_command(const struct gw_job *job, uint32_t row);

/* gw_sched_checkpoint_is_at tells whether a place is at this incarnation of a worker. */
bool gw_sched_checkpoint_is_at(const struct gw_checkpoint_place *place,
                               const struct gw_worker *worker);

/* gw_sched_checkpoint_at writes the worker of a place for people, by its name, which outlives its
 * number, and returns `text`. */
const char *gw_sched_checkpoint_at(const struct gw_checkpoint_place *place,
                                   char text[static GW_WORKER_NAME_MAX]);

/* gw_sched_checkpoint_put records, as a fact, that a worker has a checkpoint. */
void gw_sched_checkpoint_put(struct gw_sched *sched, struct gw_job *job, uint32_t row,
                             struct gw_checkpoint_lies lies, const struct gw_worker *worker);

/* gw_sched_checkpoint_holder returns the connected worker that has what a place says, also if it
 * reconnected with another id; NULL: none. *beside: if none, a later incarnation of that worker,
 * which may have the same folder, or NULL. */
struct gw_worker *gw_sched_checkpoint_holder(const struct gw_sched *sched,
                                             const struct gw_checkpoint_place *place,
                                             struct gw_worker **beside);

/* gw_sched_checkpoint_source finds the worker that an attempt takes a checkpoint from now: home
 * first, then the saver, then the copy, then a later incarnation of one of these. */
struct gw_checkpoint_source gw_sched_checkpoint_source(const struct gw_sched *sched,
                                                       const struct gw_checkpointed *record);

/* gw_sched_checkpoint_transfer_source returns the worker from which rank 0's worker gets the
 * checkpoint; NULL: rank 0's worker has it, or no worker does. *kept: it is among the copies that
 * the worker keeps. */
struct gw_worker *gw_sched_checkpoint_transfer_source(const struct gw_sched *sched,
                                                      const struct gw_gang_attempt *gang,
                                                      bool *kept);

/* gw_sched_checkpoint_members returns the ready workers, other than rank 0's and the one that the
 * checkpoint is transferred from, whose ranks may have written into their folders. The array lives
 * as long as the step; NULL: *count is 0. *member: rank 0's worker is one of them, too. */
struct gw_worker **gw_sched_checkpoint_members(const struct gw_sched *sched,
                                               const struct gw_gang_attempt *gang, uint32_t *count,
                                               bool *member);

/* gw_sched_checkpoint_forget_members records, as a fact, that no other worker has files of a row.
 */
void gw_sched_checkpoint_forget_members(struct gw_sched *sched, struct gw_job *job, uint32_t row);

#endif
