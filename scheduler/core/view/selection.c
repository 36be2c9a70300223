/* Selections of jobs. A selection walks the list of jobs from the newest to the oldest, in pages.
 * There is no index by name, because a page can look at thousands of jobs within one turn of the
 * loop. */
#include "scheduler/core/view/selection.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/requests/annotation.h"
#include "scheduler/core/view/page.h"
#include "scheduler/core/view/running.h"

#include <stdlib.h>
#include <string.h>

enum { WHERE_UNITS = 50 }; /* cost of reading the annotations of a spec */

static int get_text(const struct gw_value *arguments, const char *key, const char **text,
                    struct gw_error *error)
{
    const struct gw_value *value = arguments ? gw_value_find(arguments, key) : NULL;
    if (!value || gw_value_get_str(value, text, NULL) == 0)
        return 0;
    return gw_error_set(error, GW_EINVAL, "\"%s\" is not a text", key);
}

static int get_flag(const struct gw_value *arguments, const char *key, bool *flag,
                    struct gw_error *error)
{
    const struct gw_value *value = arguments ? gw_value_find(arguments, key) : NULL;
    if (!value || gw_value_get_bool(value, flag, NULL) == 0)
        return 0;
    return gw_error_set(error, GW_EINVAL, "the argument \"%s\" of the query must be true or false",
                        key);
}

static int by_last(const void *a, const void *b)
{
    const struct gw_selection_range *x = a, *y = b;
    return x->last > y->last ? -1 : x->last < y->last;
}

/* Reads the list [[first, last], ...] of job ids. */
static int get_ranges(struct gw_selection *selection, const struct gw_value *list,
                      struct gw_error *error)
{
    const size_t count = list ? gw_value_count(list) : 0;
    uint32_t apart = 0;
    if (list && (gw_value_type(list) != GW_LIST || count == 0 || count > GW_SELECTION_RANGES_MAX))
        return gw_error_set(
            error, GW_EINVAL,
            "the argument \"ranges\" of the query must be a list of 1 to %d pairs of numbers",
            GW_SELECTION_RANGES_MAX);
    for (size_t i = 0; i < count; i++) {
        const struct gw_value *pair = gw_value_at(list, i);
        int64_t first, last;
        if (gw_value_type(pair) != GW_LIST || gw_value_count(pair) != 2 ||
            gw_value_get_i64(gw_value_at(pair, 0), &first, NULL) < 0 ||
            gw_value_get_i64(gw_value_at(pair, 1), &last, NULL) < 0)
            return gw_error_set(
                error, GW_EINVAL,
                "each item of \"ranges\" in the query must be two numbers, the first and the last");
        selection->ranges[i] = (struct gw_selection_range){(uint64_t)first, (uint64_t)last};
    }
    qsort(selection->ranges, count, sizeof *selection->ranges, by_last);
    for (size_t i = 0; i < count; i++) {
        struct gw_selection_range *above = apart ? &selection->ranges[apart - 1] : NULL;
        const struct gw_selection_range range = selection->ranges[i];
        if (above && range.last >= above->first)
            above->first = range.first < above->first ? range.first : above->first;
        else
            selection->ranges[apart++] = range;
    }
    selection->range_count = apart;
    return 0;
}

static int check_state(const char *state, struct gw_error *error)
{
    static const char *const states[] = {"open", "paused", "pausing",   "queued",     "running",
                                         "done", "failed", "cancelled", "unfinished", "ended"};
    for (size_t i = 0; state && i < sizeof states / sizeof *states; i++)
        if (strcmp(state, states[i]) == 0)
            return 0;
    return state ? gw_error_set(error, GW_EINVAL,
                                "there is no state \"%s\" of jobs: they are queued, running, "
                                "pausing, paused, open, done, failed and cancelled, or unfinished "
                                "and ended",
                                state)
                 : 0;
}

int gw_selection_init(struct gw_selection *selection, const struct gw_value *arguments,
                      uint32_t uid, struct gw_error *error)
{
    bool all = false, all_users = false;
    int64_t since_ns = 0;
    *selection = (struct gw_selection){.uid = uid};
    if (arguments && gw_value_type(arguments) != GW_DICT && gw_value_type(arguments) != GW_NIL)
        return gw_error_set(
            error, GW_EINVAL,
            "the arguments of a query must be a dict, like {\"state\": \"running\"}");
    if (arguments && gw_value_type(arguments) == GW_NIL)
        arguments = NULL;
    const struct gw_value *since = arguments ? gw_value_find(arguments, "since_ns") : NULL;
    selection->where = arguments ? gw_value_find(arguments, "where") : NULL;
    if (selection->where && gw_value_type(selection->where) != GW_DICT)
        return gw_error_set(error, GW_EINVAL,
                            "the argument \"where\" of the query must be a dict of texts, like "
                            "{\"team\": \"vision\"}");
    if (since && (gw_value_get_i64(since, &since_ns, NULL) < 0 || since_ns < 0))
        return gw_error_set(
            error, GW_EINVAL,
            "the argument \"since_ns\" of the query must be a number of nanoseconds, 0 or more");
    int rc = get_text(arguments, "name", &selection->name, error);
    rc = rc < 0 ? rc : get_text(arguments, "state", &selection->state, error);
    rc = rc < 0 ? rc : get_text(arguments, "user", &selection->user, error);
    rc = rc < 0 ? rc : get_flag(arguments, "last", &selection->last, error);
    rc = rc < 0 ? rc : get_flag(arguments, "all", &all, error);
    rc = rc < 0 ? rc : get_flag(arguments, "all_users", &all_users, error);
    rc = rc < 0 ? rc : get_flag(arguments, "unfinished", &selection->unfinished, error);
    rc = rc < 0 ? rc : check_state(selection->state, error);
    if (rc == 0)
        rc = get_ranges(selection, arguments ? gw_value_find(arguments, "ranges") : NULL, error);
    selection->since_ns = (uint64_t)since_ns;
    selection->own = (selection->name || selection->last || all) && !selection->user && !all_users;
    return rc;
}

bool gw_selection_wants_one(const struct gw_selection *selection)
{
    return selection->name || selection->last;
}

/* -- Walking -------------------------------------------------------------------------------------
 */

/* Returns the newest job with an id of at most `id`. Returns NULL if there is none or the units of
 * the page are spent. */
static struct gw_job *job_up_to(const struct gw_sched *sched, uint64_t id, struct gw_page *page)
{
    if (!sched->last_job || id >= sched->last_job->id)
        return sched->last_job;
    for (; id >= sched->first_job->id; id--) {
        struct gw_job *job = gw_sched_job_find(sched, id);
        if (job || !gw_page_spend(page, 1, id))
            return job;
    }
    return NULL;
}

/* Returns true if the job id `id` is selected. Otherwise sets *below to the highest selected id
 * below `id`, or to 0 if there is none. */
static bool has_number(const struct gw_selection *selection, uint64_t id, uint64_t *below)
{
    *below = id ? id - 1 : 0;
    for (uint32_t i = 0; i < selection->range_count; i++) {
        if (id > selection->ranges[i].last) {
            *below = selection->ranges[i].last;
            return false;
        }
        if (id >= selection->ranges[i].first)
            return true;
    }
    if (selection->range_count)
        *below = 0;
    return selection->range_count == 0;
}

static bool state_matches(const struct gw_selection *selection, const struct gw_sched *sched,
                          const struct gw_running *running, const struct gw_job *job)
{
    if (!selection->state)
        return true;
    if (strcmp(selection->state, "unfinished") == 0 || strcmp(selection->state, "ended") == 0)
        return gw_sched_job_shown_ended(sched, job) == (*selection->state == 'e');
    return strcmp(selection->state, gw_running_state(sched, job, running)) == 0;
}

static bool matches(const struct gw_selection *selection, const struct gw_sched *sched,
                    const struct gw_running *running, const struct gw_job *job)
{
    if (job->tasks.count == 0 || job->calls_of || gw_sched_job_is_value(job))
        return false; /* not listed: a job whose client withdrew it before it had a task, and a job
                         with calls of an actor (the actor is listed instead) */
    if (selection->own && job->uid != selection->uid)
        return false;
    if (selection->last && job->depth > 0)
        return false;
    if (selection->name && (!job->name || strcmp(job->name, selection->name) != 0))
        return false;
    if (selection->user && !gw_user_is(sched, job->uid, selection->user))
        return false;
    if (selection->since_ns && job->submitted_wall_ns < selection->since_ns)
        return false;
    if (selection->unfinished && gw_sched_job_shown_ended(sched, job))
        return false;
    return state_matches(selection, sched, running, job) &&
           (!selection->where || gw_sched_annotation_has(job, selection->where));
}

struct gw_job *gw_selection_next(const struct gw_selection *selection, const struct gw_sched *sched,
                                 const struct gw_running *running, struct gw_page *page,
                                 const struct gw_job *newer)
{
    struct gw_job *job =
        newer ? newer->prev : job_up_to(sched, page->cursor ? page->cursor : UINT64_MAX, page);
    while (job) {
        uint64_t below;
        uint32_t units = 1 + (selection->where ? WHERE_UNITS * (uint32_t)job->specs.count : 0);
        if (!has_number(selection, job->id, &below)) {
            if (!gw_page_spend(page, 1, job->id))
                return NULL;
            job = below == 0                            ? NULL
                  : job->prev && job->prev->id <= below ? job->prev
                                                        : job_up_to(sched, below, page);
            continue;
        }
        if (!gw_page_spend(page, units, job->id))
            return NULL;
        if (matches(selection, sched, running, job))
            return job;
        job = job->prev;
    }
    return NULL;
}
