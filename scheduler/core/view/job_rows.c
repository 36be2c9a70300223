/* Builds the rows of the listing "jobs". */
#include "scheduler/core/view/job_rows.h"

#include "scheduler/core/model/model.h"
#include "scheduler/core/requests/annotation.h"
#include "scheduler/core/view/page.h"
#include "scheduler/core/view/running.h"
#include "scheduler/core/view/selection.h"
#include "scheduler/core/view/task_rows.h"

#include <stdio.h>

/* -- One job -------------------------------------------------------------------------------------
 */

/* Returns the number of ranks of a job. For a job with one task, this is the number that its gang
 * has or had. Otherwise it is the largest number that the job asked for. */
static uint32_t ranks_of(const struct gw_job *job)
{
    uint32_t most = 0;
    struct gw_map last;
    if (job->tasks.count == 1 && gw_sched_row_live(job, 0)) {
        gw_sched_places_last(job, 0, 0, &last);
        most = gw_sched_place_ranks(job, 0, &last);
        gw_map_deinit(&last);
    }
    if (most)
        return most;
    for (size_t i = 0; i < job->specs.count; i++)
        if (job->specs.items[i].message.ranks > most)
            most = job->specs.items[i].message.ranks;
    return most;
}

static struct gw_value *describe_progress(const struct gw_progress *progress)
{
    char shown[sizeof progress->text + 8];
    struct gw_value *dict = gw_dict();
    (void)snprintf(shown, sizeof shown, "%.0f%%%s%s", progress->fraction * 100,
                   *progress->text ? " " : "", progress->text);
    gw_dict_put_u64(dict, "index", progress->index);
    gw_dict_put(dict, "fraction", gw_f64(progress->fraction));
    gw_dict_put(dict, "text", gw_str(progress->text));
    gw_dict_put(dict, "shown", gw_str(shown));
    return dict;
}

/* Describes the resources that one task or rank asks for. Uses the first spec of the job. */
static struct gw_value *describe_resources(const struct gw_job *job)
{
    struct gw_value *dict = gw_dict();
    if (job->specs.count == 0)
        return dict;
    const struct gw_msg_spec *spec = &job->specs.items[0].message;
    gw_dict_put_u64(dict, "slots", spec->slots ? spec->slots : 1);
    gw_dict_put(dict, "gpus",
                gw_f64(spec->gpu_fraction ? spec->gpu_fraction / 1000.0 : spec->gpus));
    gw_dict_put_u64(dict, "memory_bytes", spec->memory_bytes);
    if (spec->resources && *spec->resources)
        gw_dict_put(dict, "named", gw_str(spec->resources));
    return dict;
}

static void put_usage(const struct gw_job *job, const struct gw_running *runs, struct gw_value *row)
{
    struct gw_job_usage usage = job->usage;
    gw_running_usage(runs, job, &usage);
    gw_dict_put_u64(row, "started_ns", usage.started_wall_ns);
    gw_dict_put(row, "resources", describe_resources(job));
    gw_dict_put(row, "slot_seconds", gw_f64((double)usage.slot_ns / 1e9));
    gw_dict_put(row, "gpu_seconds", gw_f64((double)usage.gpu_ns / 1e9));
    gw_dict_put(row, "cpu_seconds", gw_f64((double)usage.cpu_ns / 1e9));
    if (usage.peak_bytes)
        gw_dict_put_u64(row, "peak_bytes", usage.peak_bytes);
    gw_dict_put(row, "memory_gib_seconds", gw_f64((double)usage.memory_mib_ms / (1024 * 1000.0)));
}

struct gw_value *gw_job_rows_describe(const struct gw_sched *sched, const struct gw_job *job,
                                      const struct gw_running *runs, bool sees)
{
    struct gw_value *dict = gw_dict();
    const uint32_t running = gw_running_job(runs, job);
    char user[GW_USER_NAME_MAX];
    gw_dict_put_u64(dict, "id", job->id);
    gw_dict_put(dict, "name", gw_str(job->name ? job->name : ""));
    gw_dict_put(dict, "state", gw_str(gw_running_state(sched, job, runs)));
    gw_dict_put(dict, "user", gw_str(gw_user_name(sched, job->uid, user)));
    gw_dict_put(dict, "session", gw_str(job->user));
    gw_dict_put(dict, "detached", gw_bool(job->detached));
    gw_dict_put_u64(dict, "depth", job->depth);
    gw_dict_put_u64(dict, "tasks", gw_sched_rows_in_all(job));
    gw_dict_put_u64(dict, "done", job->done);
    gw_dict_put_u64(dict, "failed", job->failed);
    gw_dict_put_u64(dict, "cancelled", job->cancelled_tasks);
    gw_dict_put_u64(dict, "running", running);
    gw_dict_put_u64(dict, "placed", job->placed);
    gw_dict_put_u64(dict, "shared", job->aliases);
    gw_dict_put_u64(dict, "ranks", ranks_of(job));
    if (job->tasks.count == 1 && gw_sched_row_live(job, 0))
        gw_dict_put_u64(dict, "tries", job->tasks.charges[0].tries);
    gw_dict_put_u64(dict, "submitted_ns", job->submitted_wall_ns);
    gw_dict_put_u64(dict, "ended_ns",
                    gw_sched_job_shown_ended(sched, job) ? job->ended_wall_ns : 0);
    if (sees)
        gw_metric_put(gw_metric_last(job), dict);
    put_usage(job, runs, dict);
    if (job->progress && sees)
        gw_dict_put(dict, "progress", describe_progress(job->progress));
    gw_dict_put(dict, "annotations", gw_sched_annotations(job, 0, (uint32_t)job->specs.count));
    if (job->first_failure && gw_sched_job_shown_ended(sched, job)) {
        gw_dict_put(dict, "code", gw_i64(job->first_failure->code));
        gw_dict_put(dict, "exit_code", gw_i64(gw_sched_task_failure_exit_code(job->first_failure)));
        if (sees)
            gw_dict_put(dict, "text", gw_str(job->first_failure->text));
    }
    return dict;
}

/* -- Listing -------------------------------------------------------------------------------------
 */

enum { ROW_UNITS = 100, BRIEF_UNITS = 5 };

/* Builds the short row [id, whether the job has ended], which the command line needs to act on
 * jobs. */
static struct gw_value *describe_briefly(const struct gw_sched *sched, const struct gw_job *job)
{
    struct gw_value *row = gw_list();
    GW_MUST(gw_list_push(row, gw_i64((int64_t)job->id)));
    GW_MUST(gw_list_push(row, gw_bool(gw_sched_job_shown_ended(sched, job))));
    return row;
}

uint32_t gw_job_rows(const struct gw_sched *sched, const struct gw_job_rows *wanted,
                     struct gw_page *page)
{
    const struct gw_selection *selection = wanted->selection;
    const uint32_t units = wanted->brief ? BRIEF_UNITS : ROW_UNITS;
    struct gw_running runs = {0};
    uint32_t more = 0;
    struct gw_job *job = NULL;
    if (wanted->brief && page->rows_max == GW_PAGE_ROWS)
        page->rows_max = GW_PAGE_ROWS_BRIEF;
    if (!wanted->brief || selection->state)
        gw_running_init(&runs, sched);
    while ((job = gw_selection_next(selection, sched, &runs, page, job))) {
        if (wanted->rows_max <= gw_value_count(page->rows)) {
            more++; /* this job is only counted */
            continue;
        }
        /* A page has at least one row, even if the search for that row used all units of the page.
         */
        if (gw_page_is_full(page, job->id) ||
            (!gw_page_spend(page, units + (uint32_t)job->specs.count / 8, job->id) &&
             gw_value_count(page->rows) > 0))
            break;
        gw_page_push(page, wanted->brief
                               ? describe_briefly(sched, job)
                               : gw_job_rows_describe(sched, job, &runs,
                                                      gw_sched_access_sees(wanted->asker, job)));
        if (gw_selection_wants_one(selection))
            break;
        if (!wanted->counts && wanted->rows_max <= gw_value_count(page->rows))
            break;
    }
    gw_running_deinit(&runs);
    return more;
}
