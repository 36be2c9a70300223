/* The order in which waiting work is expected to start: the groups of ready queues, with the quotas
 * and the fair share that change as work begins and ends. Nothing of the scheduler's state is
 * changed. */
#ifndef GW_SCHEDULER_CORE_PLACEMENT_EXPECTED_ORDER_H
#define GW_SCHEDULER_CORE_PLACEMENT_EXPECTED_ORDER_H

#include "scheduler/core/model/account.h"
#include "scheduler/core/model/workers/queue.h"

/* Ready queues that keep their order among each other: those of a group, or one queue. */
struct gw_expected_group {
    const struct gw_queue_group *group; /* NULL: only `head` */
    const struct gw_queue *head;        /* the first queue with work left; NULL: none */
    uint64_t left;                      /* tasks of the head that have not begun */
    uint64_t batch, batches;            /* see expected_start.c; batch 0: not decided yet */
    enum gw_quota quota;
    uint64_t since_ns; /* a task of the head has begun then; 0: none */
    uint32_t quota_of; /* the version of the quotas for which `quota` is right */
    GW_ARRAY(const struct gw_queue *) next; /* a heap: those that may come after the head */
};

/* A group that may start, and how its head stands. */
struct gw_expected_candidate {
    const struct gw_queue *head;
    struct gw_queue_key key;
    size_t at; /* index of the group */
    bool held;
};

struct gw_expected_order {
    const struct gw_sched *sched;
    GW_ARRAY(struct gw_expected_group) groups;
    GW_ARRAY(struct gw_expected_candidate) line; /* a heap: those that have not had their turn */
    const struct gw_queue *target;               /* of the task in question */
    uint64_t ahead;                              /* tasks of that queue before this task */
    /* By the number of the preemption: the queue for which work is preempted is a group of its own
     * (apart), and comes first until its first task has begun (held). */
    const struct gw_queue *apart[GW_RESERVATIONS], *held[GW_RESERVATIONS];
    bool *blocked;      /* by resource class */
    bool behind;        /* an ordinary task comes before the group that is first, and its
                           class is blocked */
    struct gw_map jobs; /* id -> tasks at workers, and attempts that are billed */
    GW_ARRAY(struct gw_account_part) parts; /* ended work less begun work */
    uint32_t version, lined_up;   /* of quotas and ranks; that for which `line` is right; 0: none */
    struct gw_payer *payers;      /* copies, by their numbers */
    double *expected;             /* likewise */
    uint32_t *ranks;              /* likewise */
    double rate, rate_moved;      /* of all; begun and ended since the last ranking */
    uint64_t ranked_ns, rises_ns; /* rises_ns: when a waiting gang rises next */
    uint64_t work;                /* steps so far */
};

/* A task or gang, or a rank of one, that begins or ends. */
struct gw_expected_run {
    const struct gw_job *job;
    struct gw_account_use use;
    uint64_t memory_bytes;
    uint32_t attempts; /* of the job */
    bool tasks;        /* counts as a task at a worker (of a gang: only once) */
    bool billed;
};

/* gw_expected_order_init takes all ready work into the order. target: the queue of the task in
 * question, `ahead` tasks of which come before it. gw_expected_order_deinit frees the memory. */
void gw_expected_order_init(struct gw_expected_order *order, const struct gw_sched *sched,
                            const struct gw_queue *target, uint64_t ahead);
void gw_expected_order_deinit(struct gw_expected_order *order);

/* gw_expected_order_add adds a queue that no group contains, because the limit of its range is
 * reached. It does nothing if it was added. */
void gw_expected_order_add(struct gw_expected_order *order, const struct gw_queue *queue);

/* gw_expected_order_held returns the number of the preemption for which a queue is held, or 0. */
uint32_t gw_expected_order_held(const struct gw_expected_order *order,
                                const struct gw_queue *queue);

/* gw_expected_order_first returns the group whose head starts next, or NULL. Classes that are
 * blocked, queues beyond their quotas, and ranges at their limits are passed over.
 * gw_expected_order_unblock lets all have another turn. */
void gw_expected_order_unblock(struct gw_expected_order *order);
struct gw_expected_group *gw_expected_order_first(struct gw_expected_order *order, uint64_t now_ns);

/* gw_expected_order_before returns true if the head of a group comes before that of another. */
bool gw_expected_order_before(struct gw_expected_order *order, struct gw_expected_group *group,
                              struct gw_expected_group *other, uint64_t now_ns);

/* gw_expected_order_start records that tasks of the head of a group have begun. */
void gw_expected_order_start(struct gw_expected_order *order, struct gw_expected_group *group,
                             uint64_t tasks, uint64_t now_ns);

/* gw_expected_order_begun and gw_expected_order_ended change quotas and fair share. */
void gw_expected_order_begun(struct gw_expected_order *order, const struct gw_expected_run *run,
                             uint64_t now_ns);
void gw_expected_order_ended(struct gw_expected_order *order, const struct gw_expected_run *run,
                             uint64_t now_ns);

/* gw_expected_order_precedes compares two queues by their own properties, without quotas and fair
 * share. */
bool gw_expected_order_precedes(const struct gw_queue *a, const struct gw_queue *b);

/* gw_expected_order_to_come returns how many tasks of a range have not been created. */
uint64_t gw_expected_order_to_come(const struct gw_job *job);

#endif
