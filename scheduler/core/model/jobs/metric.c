/* Metrics of tasks. */
#include "scheduler/core/model/jobs/metric.h"

#include "graph/base/text.h"
#include "scheduler/core/model/dict.h"
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

void gw_sched_metric_see(struct gw_job *job, uint32_t index, const struct gw_msg_metric *seen)
{
    struct gw_job_rare *rare = gw_job_rare_make(job);
    uint64_t known = 0;
    uint32_t count;
    const bool has = gw_map_get(&rare->metrics, index, &known);
    if (!has && rare->metrics.count >= GW_PLACES_RETAINED_MAX)
        return;
    struct gw_metric *first = (struct gw_metric *)(uintptr_t)known;
    struct gw_metric *metric = take_out(&first, seen->name, &count);
    if (!metric && count >= GW_METRIC_NAMES_MAX)
        return;
    if (!metric)
        metric = metric_new(job, seen->name);
    metric->step = seen->step;
    metric->value = seen->value;
    metric->next = first;
    rare->metric_row = index;
    GW_MUST(gw_map_put(&rare->metrics, index, (uintptr_t)metric));
}

void gw_metric_write(struct gw_sched *sched, struct gw_job *job, uint32_t row)
{
    const struct gw_metric *all[GW_METRIC_NAMES_MAX];
    uint32_t count = 0;
    for (const struct gw_metric *at = gw_metric_first(job, row); at; at = at->next)
        all[count++] = at;
    while (count > 0) { /* metrics are written from the oldest to the latest, so that the latest is
                           the first again after they are restored */
        const struct gw_metric *metric = all[--count];
        uint64_t value;
        memcpy(&value, &metric->value, sizeof value);
        GW_FACT(sched, metric_written, .at = job, .job = job->id, .index = row,
                .name = metric->name, .step = (uint64_t)metric->step, .value = value);
    }
}

/* Restores a metric. Used only while restoring: later the state has this already. */
void gw_sched_apply_metric_written(struct gw_sched *sched,
                                   const struct gw_fact_metric_written *fact)
{
    struct gw_msg_metric metric = {.step = (int64_t)fact->step, .name = fact->name};
    if (!sched->restoring)
        return;
    memcpy(&metric.value, &fact->value, sizeof metric.value);
    gw_sched_metric_see(gw_sched_job_find(sched, fact->job), fact->index, &metric);
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
