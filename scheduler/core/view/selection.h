/* Which jobs a client means: by number, by name, the last one, all, and what narrows these. */
#ifndef GW_SCHEDULER_CORE_SELECTION_H
#define GW_SCHEDULER_CORE_SELECTION_H

#include "scheduler/core/model/state.h"
#include "scheduler/core/view/page.h"

enum { GW_SELECTION_RANGES_MAX = 256 };

/* Read from the arguments of a query. Rules:
 * - "name" and "last" mean one job, the latest; "last" none that a task submitted.
 * - "name", "last" and "all" mean the asker's own jobs, unless "user" or "all_users" says else.
 *   "ranges" and no word at all mean jobs of all users, narrowed by "user".
 * - "unfinished", "state", "since_ns" and "where" narrow what is meant. */
struct gw_selection {
    const char *name;  /* borrowed from the arguments, as all that follows; NULL: any */
    const char *state; /* NULL: any */
    const char *user;
    const struct gw_value *where; /* annotations; NULL: any */
    struct gw_selection_range {
        uint64_t first, last;
    } ranges[GW_SELECTION_RANGES_MAX]; /* descending, apart from each other */
    uint32_t range_count;              /* 0: all numbers */
    uint32_t uid;
    bool own, last, unfinished;
    uint64_t since_ns; /* submitted then or later, wall clock */
};

/* gw_selection_init reads arguments (NULL: none) of a client with this uid. GW_EINVAL. */
int gw_selection_init(struct gw_selection *selection, const struct gw_value *arguments,
                      uint32_t uid, struct gw_error *error);

/* gw_selection_wants_one tells whether it means the latest job of several. */
bool gw_selection_wants_one(const struct gw_selection *selection);

struct gw_running;

/* gw_selection_next gives the newest job that is meant and is older than one (NULL: with a number
 * up to the page's cursor, or any if that is 0); NULL: there is none, or the page's units are
 * spent: then page->more is set. running (NULL: "state" is not asked) tells which tasks run. */
struct gw_job *gw_selection_next(const struct gw_selection *selection, const struct gw_sched *sched,
                                 const struct gw_running *running, struct gw_page *page,
                                 const struct gw_job *newer);

#endif
