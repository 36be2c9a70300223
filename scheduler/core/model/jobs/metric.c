/* Metrics of tasks.
 *
 * Invariant: no point of a metric but the last is provisional. */
#include "scheduler/core/model/jobs/metric.h"

#include "graph/base/text.h"
#include "scheduler/core/model/dict.h"
#include "scheduler/core/model/jobs/event_number.h"
#include "scheduler/core/model/jobs/job.h"

#include <string.h>

const struct gw_metric *gw_metric_first(const struct gw_job *job, uint32_t row)
{
    uint64_t found;
    return gw_map_get(&gw_job_rare(job)->metrics, row, &found)
               ? (const struct gw_metric *)(uintptr_t)found
               : NULL;
}

const struct gw_metric *gw_metric_last(const struct gw_job *job)
{
    return gw_job_rare(job)->metrics.count ? gw_metric_first(job, gw_job_rare(job)->metric_row)
                                           : NULL;
}

/* Removes the metric of this name from a task's list and returns it, or NULL. Sets *count to the
 * number of other metrics. */
static struct gw_metric *take_out(struct gw_metric **first, const char *name, uint32_t *count)
{
    struct gw_metric *found = NULL;
    *count = 0;
    for (struct gw_metric **at = first; *at;) {
        if (!found && strcmp((*at)->name, name) == 0) {
            found = *at;
            *at = found->next;
            continue;
        }
        ++*count;
        at = &(*at)->next;
    }
    return found;
}

static struct gw_metric *metric_new(struct gw_job *job, const char *name)
{
    const size_t bytes = strlen(name) + 1;
    struct gw_metric *metric = gw_arena_alloc(&job->arena, sizeof *metric);
    char *copy = gw_arena_alloc(&job->arena, bytes);
    GW_MUST_PTR(metric);
    GW_MUST_PTR(copy);
    memcpy(copy, name, bytes);
    *metric = (struct gw_metric){.name = copy};
    return metric;
}

/* Makes the metric the latest of its task, and returns it. NULL: there are too many. */
static struct gw_metric *see(struct gw_job *job, uint32_t index, const char *name, int64_t step,
                             double value)
{
    struct gw_job_rare *rare = gw_job_rare_make(job);
    uint64_t known = 0;
    uint32_t count;
    const bool has = gw_map_get(&rare->metrics, index, &known);
    if (!has && rare->metrics.count >= GW_PLACES_RETAINED_MAX)
        return NULL;
    struct gw_metric *first = (struct gw_metric *)(uintptr_t)known;
    struct gw_metric *metric = take_out(&first, name, &count);
    if (!metric && count >= GW_METRIC_NAMES_MAX)
        return NULL;
    if (!metric)
        metric = metric_new(job, name);
    metric->step = step;
    metric->value = value;
    metric->next = first;
    rare->metric_row = index;
    GW_MUST(gw_map_put(&rare->metrics, index, (uintptr_t)metric));
    return metric;
}

/* Returns the metric of this name, or NULL. Sets *count to the number of metrics before it. */
static const struct gw_metric *find(const struct gw_job *job, uint32_t index, const char *name,
                                    uint32_t *count)
{
    const struct gw_metric *metric = gw_metric_first(job, index);
    for (*count = 0; metric && strcmp(metric->name, name) != 0; ++*count)
        metric = metric->next;
    return metric;
}

/* The distance of the points that stay, around this one. */
static uint64_t stride_of(uint64_t nth)
{
    uint64_t stride = 1;
    if (nth >= GW_METRIC_POINTS_ALL)
        stride = GW_METRIC_POINTS_ALL / GW_METRIC_POINTS_MORE;
    for (nth /= GW_METRIC_POINTS_ALL; nth > 1; nth /= 2)
        stride *= 2;
    return stride;
}

void gw_metric_on_report(struct gw_sched *sched, struct gw_job *job, uint32_t index,
                         const struct gw_msg_metric *report)
{
    uint32_t names;
    uint64_t value;
    const struct gw_metric *metric = find(job, index, report->name, &names);
    if (!metric && (names >= GW_METRIC_NAMES_MAX ||
                    (names == 0 && gw_job_rare(job)->metrics.count >= GW_PLACES_RETAINED_MAX)))
        return;
    if (metric && metric->attempt == report->attempt && report->count <= metric->count)
        return; /* the worker repeats it */
    const uint64_t nth = metric ? metric->reports : 0;
    memcpy(&value, &report->value, sizeof value);
    GW_FACT(sched, metric_reported, .at = job, .job = job->id, .index = index, .name = report->name,
            .step = (uint64_t)report->step, .value = value, .wall_ns = report->wall_ns,
            .seq = gw_event_number_next(sched), .attempt = report->attempt, .count = report->count,
            .nth = nth, .stride = stride_of(nth));
}

void gw_sched_apply_metric_reported(struct gw_sched *sched,
                                    const struct gw_fact_metric_reported *fact)
{
    struct gw_job *job = fact->at ? fact->at : gw_sched_job_find(sched, fact->job);
    struct gw_metric_point point = {fact->seq, fact->wall_ns, (int64_t)fact->step,
                                    0,         fact->nth,     fact->stride ? fact->stride : 1};
    memcpy(&point.value, &fact->value, sizeof point.value);
    struct gw_metric *metric = see(job, fact->index, fact->name, point.step, point.value);
    gw_event_number_used(sched, job, fact->seq);
    if (!metric)
        return;
    metric->attempt = fact->attempt;
    metric->count = fact->count;
    metric->reports = fact->nth + 1;
    const size_t count = metric->points.count;
    if (count && gw_metric_is_provisional(&metric->points.items[count - 1]))
        metric->points.count--;
    GW_MUST(gw_array_push(&metric->points, point));
}

void gw_metric_free(struct gw_job *job)
{
    uint64_t row, first;
    for (size_t at = 0; gw_map_next(&gw_job_rare(job)->metrics, &at, &row, &first);)
        for (struct gw_metric *metric = (struct gw_metric *)(uintptr_t)first; metric;
             metric = metric->next)
            gw_array_deinit(&metric->points);
}

/* Restores a metric of a journal of before there was a history. */
void gw_sched_apply_metric_written(struct gw_sched *sched,
                                   const struct gw_fact_metric_written *fact)
{
    double value;
    if (!sched->restoring)
        return;
    memcpy(&value, &fact->value, sizeof value);
    (void)see(gw_sched_job_find(sched, fact->job), fact->index, fact->name, (int64_t)fact->step,
              value);
}

void gw_metric_shown(const struct gw_metric *metric, char *text, size_t text_bytes)
{
    struct gw_text to = {text, text_bytes, 0};
    *text = '\0';
    for (const struct gw_metric *at = metric; at; at = at->next)
        gw_text_say(&to, "%s%s=%.6g", at == metric ? "" : " ", at->name, at->value);
    if (metric)
        gw_text_say(&to, " (step %lld)", (long long)metric->step);
}

void gw_metric_put(const struct gw_metric *metric, struct gw_value *row)
{
    char shown[512];
    if (!metric)
        return;
    struct gw_value *last = gw_dict(), *all = gw_dict();
    gw_metric_shown(metric, shown, sizeof shown);
    gw_dict_put(last, "step", gw_i64(metric->step));
    gw_dict_put(last, "name", gw_str(metric->name));
    gw_dict_put(last, "value", gw_f64(metric->value));
    gw_dict_put(last, "shown", gw_str(shown));
    for (const struct gw_metric *at = metric; at; at = at->next)
        gw_dict_put(all, at->name, gw_f64(at->value));
    gw_dict_put(row, "metric", last);
    gw_dict_put(row, "metrics", all);
}
