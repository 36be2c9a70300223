/* Which attempt's checkpoint of a gang is current: the next attempt goes on from there, whatever
 * other attempts, dead or cut off, have left or still write beside it. And where it lies: where
 * hosts do not share their folder it is carried to the next rank 0, and another host of the gang
 * keeps a copy. All of that is durable. */
#ifndef GW_SCHEDULER_CORE_CHECKPOINT_H
#define GW_SCHEDULER_CORE_CHECKPOINT_H

#include "scheduler/core/state.h"

/* Who has it: of home and saver the two, home alone, or the copy. */
enum gw_checkpoint_which { GW_CHECKPOINT_SAVED, GW_CHECKPOINT_HOME, GW_CHECKPOINT_COPY };

/* A checkpoint at a worker, which is known by its incarnation, its next life by host and name. */
struct gw_checkpoint_place {
    uint64_t attempt; /* that saved it; of commands, 0 is their folder before anything was seen */
    int64_t step;
    uint32_t worker; /* for people: it may have another number by now; 0: nobody has it */
    uint64_t incarnation;
    char host[256], name[128];
    bool kept; /* among the copies that the worker keeps, not in the job's folder */
    bool gone; /* the worker was asked, and has it no more */
};

/* What a gang saved last, where that is, and what another host has of it, which may be older. */
struct gw_checkpointed {
    uint64_t attempt;
    int64_t step;
    /* home, where rank 0 is or was last, and saver, which may have been home before: of the same
     * attempt and step. */
    struct gw_checkpoint_place home, saver, copy;
    uint32_t copier;   /* worker that makes a copy; 0: none */
    uint32_t passing;  /* that is because this worker leaves; 0: none does */
    uint32_t passed;   /* what this worker, which leaves, has of it is no longer only there, or */
                       /* nobody could take it */
    bool shared;       /* another host sees home's folder: there is nothing to carry or copy */
    uint32_t unsteady; /* copies that failed in a row, the folder having changed meanwhile */
    char trouble[256]; /* why there is no copy, as told last */
};

/* gw_sched_checkpoint_on_message takes a worker's word that rank 0 of an attempt has saved one
 * (checkpointed; of an attempt that is over it is not taken), that it has a copy, or why not
 * (carried), or, where rank 0 prepares, that a worker has nothing of it any more (carry_absent). */
void gw_sched_checkpoint_on_message(struct gw_sched *sched, struct gw_worker *worker,
                                    const struct gw_message *message);

/* gw_sched_checkpoint_of gives the current one of a row; NULL: there is none. Borrowed. */
const struct gw_checkpointed *gw_sched_checkpoint_of(const struct gw_job *job, uint32_t row);

/* gw_sched_checkpoint_home is the worker where the next attempt of a gang finds what the last one
 * left in its folder, though hosts do not share it: the one that saved the checkpoint, or where
 * that is lost one that has a copy, or one of its name on its host, started since; of commands,
 * which may tell of none, where rank 0 was last. 0: none. */
uint32_t gw_sched_checkpoint_home(const struct gw_sched *sched, const struct gw_job *job,
                                  uint32_t row);

/* For an attempt that is placed, in this order: gw_sched_checkpoint_choose writes down what it goes
 * on from; gw_sched_checkpoint_tell says in its story what becomes of that;
 * gw_sched_checkpoint_ahead tells the worker of its rank 0 where that lies, before `gang`, and
 * gw_sched_checkpoint_carry says so in that message. gw_sched_checkpoint_carries: it is carried. */
void gw_sched_checkpoint_choose(const struct gw_sched *sched, struct gw_gang_try *gang);
void gw_sched_checkpoint_tell(struct gw_sched *sched, const struct gw_gang_try *gang);
void gw_sched_checkpoint_ahead(struct gw_sched *sched, const struct gw_gang_try *gang,
                               struct gw_worker *worker);
void gw_sched_checkpoint_carry(struct gw_sched *sched, const struct gw_gang_try *gang,
                               struct gw_msg_gang *message);
bool gw_sched_checkpoint_carries(const struct gw_sched *sched, const struct gw_gang_try *gang);

/* gw_sched_checkpoint_on_go: its ranks begin, and what they go on from lies where rank 0 is. */
void gw_sched_checkpoint_on_go(struct gw_sched *sched, const struct gw_gang_try *gang);

/* gw_sched_checkpoint_hand_over looks for what nobody has but a worker that leaves: ranks start
 * with it elsewhere, or another worker is told to keep a copy. false: nothing is left of that. */
bool gw_sched_checkpoint_hand_over(struct gw_sched *sched, struct gw_worker *worker);

/* gw_sched_checkpoint_explain says of which step it is, and who has it. */
void gw_sched_checkpoint_explain(const struct gw_sched *sched, const struct gw_job *job,
                                 uint32_t row, char *text, size_t bytes);

#endif
