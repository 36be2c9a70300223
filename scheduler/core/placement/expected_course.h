/* The course of time in which waiting work is expected to start: copies of the workers, what ends
 * there, and when. */
#ifndef GW_SCHEDULER_CORE_PLACEMENT_EXPECTED_COURSE_H
#define GW_SCHEDULER_CORE_PLACEMENT_EXPECTED_COURSE_H

#include "scheduler/core/model/workers/worker_copy.h"
#include "scheduler/core/placement/expected_order.h"

/* Work at one worker that ends. */
struct gw_expected_end {
    uint32_t copy;    /* index of the worker; GW_NO_INDEX: nothing, only time has passed */
    uint32_t gpus_at; /* index into the numbers of GPUs */
    struct gw_worker_holding holding;
    struct gw_expected_run run;
};

struct gw_expected_due {
    uint64_t at_ns;
    uint32_t end; /* index into the list of ends */
};

struct gw_expected_course {
    const struct gw_sched *sched;
    struct gw_expected_order order;
    struct gw_worker *copies; /* of the workers that take work */
    struct gw_gpu *gpus;
    struct gw_stock *stock;
    uint32_t count;
    uint64_t now_ns, slots_free, gpus_free;
    bool ends_soon;             /* work of unknown length ends at once; else never */
    bool unsure;                /* something comes that is not in the order */
    uint64_t cause;             /* a job whose end is unknown */
    GW_ARRAY(uint32_t) touched; /* workers where something has ended, until the caller clears it */
    GW_ARRAY(uint32_t) numbers; /* of GPUs */
    GW_ARRAY(struct gw_expected_end) ends;
    GW_ARRAY(struct gw_expected_due) dues; /* a heap */
};

/* A task or a rank of a queue that starts. */
struct gw_expected_begin {
    const struct gw_queue *queue;
    uint32_t copy;
    uint64_t run_ns;
    bool known; /* false: run_ns is unknown */
    bool first; /* no rank, or the first one of its gang */
};

/* gw_expected_course_init copies the workers, and the order of all that waits. target: the queue of
 * the task in question, `ahead` tasks of which come before it. gw_expected_course_deinit frees the
 * memory. */
void gw_expected_course_init(struct gw_expected_course *course, const struct gw_sched *sched,
                             const struct gw_queue *target, uint64_t ahead, bool ends_soon);
void gw_expected_course_deinit(struct gw_expected_course *course);

/* gw_expected_course_begin lets a task or a rank start that has room. */
void gw_expected_course_begin(struct gw_expected_course *course,
                              const struct gw_expected_begin *begin);

/* gw_expected_course_wake makes the time stop at a moment, although nothing ends. */
void gw_expected_course_wake(struct gw_expected_course *course, uint64_t at_ns);

/* gw_expected_course_go_on lets time pass until something ends or a gang rises in the order. It
 * returns false if nothing ends any more. */
bool gw_expected_course_go_on(struct gw_expected_course *course);

/* gw_expected_course_foresee calls `see` for each worker, and again for each worker with its room
 * after something will have ended there, in the order of time, until `see` returns true. It returns
 * false if `see` never did. Nothing has changed afterwards. */
typedef bool gw_expected_course_see(struct gw_expected_course *course, uint64_t at_ns, uint32_t at,
                                    void *arg);
bool gw_expected_course_foresee(struct gw_expected_course *course, gw_expected_course_see *see,
                                void *arg);

#endif
