/* Explains how a task ended and what caused that end. */
#include "scheduler/core/model/model.h"
#include "scheduler/core/view/explain.h"
#include "scheduler/core/view/quote.h"

#include <string.h>

enum {
    CAUSES_MAX = 1000 /* most dependencies that are followed, one after the other, to find the
                         first failure */
};

/* Says who or what cancelled the task, and when. */
static void explain_cancelled(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                              struct gw_text *text)
{
    const struct gw_logged *fact = gw_sched_event_log_last(sched, job, row, GW_LOGGED_CANCEL);
    const struct gw_logged *whole =
        gw_sched_event_log_last(sched, job, GW_INDEX_ALL, GW_LOGGED_CANCEL);
    if (!fact || (whole && whole->at_ns > fact->at_ns))
        fact = whole;
    gw_text_say(text, "cancelled");
    if (!fact)
        return;
    gw_text_say(text, " ");
    gw_sched_explain_wait_ago(sched, fact->at_ns, text);
    if (fact->detail == GW_KILL_SESSION) {
        gw_text_say(text, ", because its client%s", fact->text ? " " : "");
        gw_explain_quote(text, fact->text);
        gw_text_say(text, " had disconnected");
    } else if (!fact->text)
        gw_text_say(text, ", because nobody needed it any more");
    else {
        gw_text_say(text, " by ");
        gw_explain_quote(text, fact->text);
    }
}

/* Moves *row to a failed or cancelled dependency of that row. Returns false if none is found, for
 * example because the job's dependencies were freed. */
static bool find_cause(const struct gw_sched *sched, struct gw_row *row)
{
    const struct gw_tasks *tasks = &row->job->tasks;
    struct gw_row dep;
    if (tasks->edges_gone)
        return false;
    for (uint32_t e = tasks->deps_at[row->index]; e < gw_sched_deps_end(tasks, row->index); e++) {
        if (!gw_sched_dep(sched, row->job, e, &dep) || !gw_sched_row_live(dep.job, dep.index))
            continue;
        uint8_t state = dep.job->tasks.state[dep.index];
        if (state == GW_TASK_FAILED || state == GW_TASK_CANCELLED) {
            *row = dep;
            return true;
        }
    }
    return false;
}

/* Explains a task that never ran: names the failed or cancelled task that it depends on, and the
 * tasks on the path to that one. */
static void explain_dependent(const struct gw_sched *sched, struct gw_row row, struct gw_text *text)
{
    const struct gw_failure *failure = gw_sched_task_failure_of(row.job, row.index);
    bool cancelled = row.job->tasks.state[row.index] == GW_TASK_CANCELLED;
    int hops = 0;
    char label[128];
    gw_text_say(text, "it never ran, because a task that it depends on %s",
                cancelled ? "was cancelled" : "failed");
    while (hops < CAUSES_MAX && find_cause(sched, &row) &&
           row.job->tasks.flags[row.index] & GW_TASK_DEPENDENT) {
        gw_sched_task_label(row.job, row.index, label, sizeof label);
        if (hops++ >= 3)
            continue;
        gw_text_say(text, "%s ", hops == 1 ? ", by way of" : ",");
        gw_explain_quote(text, label);
        gw_text_say(text, " (task %u)", row.index);
    }
    if (hops > 3)
        gw_text_say(text, " and %d more between", hops - 3);
    if (cancelled) {
        gw_sched_task_label(row.job, row.index, label, sizeof label);
        gw_text_say(text, ": ");
        gw_explain_quote(text, label);
        gw_text_say(text, " (task %u of job %llu), ", row.index, (unsigned long long)row.job->id);
        explain_cancelled(sched, row.job, row.index, text);
        return;
    }
    gw_text_say(text, ": ");
    gw_explain_quote(text, failure ? failure->text : "");
}

/* Returns true if the text begins with the given bytes, which are quoted. */
static bool begins_with_quoted(const char *text, const char *quoted, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (text[i] != (quoted[i] == GW_EXPLAIN_QUOTED ? ';' : quoted[i]))
            return false;
    return count > 0;
}

/* If the failure text begins with the label of the task, the label that the caller already wrote is
 * dropped, so that the label appears once. */
const char *gw_sched_explain_end(const struct gw_sched *sched, struct gw_job *job, uint32_t row,
                                 struct gw_text *text)
{
    if (job->tasks.flags[row] & GW_TASK_DEPENDENT) {
        explain_dependent(sched, (struct gw_row){job, row}, text);
        return job->tasks.state[row] == GW_TASK_CANCELLED ? "dependency_cancelled"
                                                          : "dependency_failed";
    }
    if (job->tasks.state[row] == GW_TASK_CANCELLED) {
        explain_cancelled(sched, job, row, text);
        return "cancelled";
    }
    const struct gw_failure *failure = gw_sched_task_failure_of(job, row);
    const char *why = failure ? failure->text : "", *state;
    state = gw_sm_name(&gw_sched_task_sm, job->tasks.state[row]);
    size_t label =
        text->used < text->size && text->used > 2 ? text->used - 2 : 0; /* without ": " */
    if (begins_with_quoted(why, text->to, label))
        text->used = 0;
    gw_text_say(text, "%s", state);
    if (*why && strcmp(why, state) != 0) {
        gw_text_say(text, ": ");
        gw_explain_quote(text, why);
    }
    return "failed";
}
