/* Selection of the jobs that a client means: by id, by name, the last one or all, with filters. */
#ifndef GW_SCHEDULER_CORE_SELECTION_H
#define GW_SCHEDULER_CORE_SELECTION_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/view/page.h"

enum { GW_SELECTION_RANGES_MAX = 256 };

/* A selection, read from the arguments of a query. Rules:
 *
 * "name" and "last" select one job, the latest match. "last" never selects a job that a task
 * submitted.
 *
 * "name", "last" and "all" select only the client's own jobs, unless "user" or "all_users" is
 * given. "ranges", or no such argument, selects jobs of all users, filtered by "user" if that is
 * given.
 *
 * "unfinished", "state", "since_ns" and "where" are filters on the selected jobs. */
struct gw_selection {
    /* The pointers are borrowed from the arguments. NULL: any. */
    const char *name;
    const char *state; /* NULL: any */
    const char *user;
    const struct gw_value *where; /* annotations; NULL: any */
    struct gw_selection_range {
        uint64_t first, last;
    } ranges[GW_SELECTION_RANGES_MAX]; /* job ids, in descending order, not overlapping */
    uint32_t range_count;              /* 0: any id */
    uint32_t uid;
    bool own, last, unfinished;
    uint64_t since_ns; /* submitted at this wall-clock time or later */
};

/* gw_selection_init reads the arguments (NULL: none) of a client of this user. Returns GW_EINVAL if
 * an argument is malformed. */
int gw_selection_init(struct gw_selection *selection, const struct gw_value *arguments,
                      uint32_t uid, struct gw_error *error);

/* gw_selection_wants_one returns true if the selection means only the latest of the matching jobs.
 */
bool gw_selection_wants_one(const struct gw_selection *selection);

struct gw_running;

/* gw_selection_next returns the newest selected job that is older than `newer`. If `newer` is NULL,
 * it starts at the cursor of the page, or at the newest job if the cursor is 0. It returns NULL if
 * no selected job is left, or if the units of the page are spent, in which case page->more is set.
 * `running` tells which tasks run, and may be NULL if the selection does not filter by "state". */
struct gw_job *gw_selection_next(const struct gw_selection *selection, const struct gw_sched *sched,
                                 const struct gw_running *running, struct gw_page *page,
                                 const struct gw_job *newer);

#endif
