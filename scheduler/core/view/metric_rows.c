/* Merges the histories of metrics, and the ends of jobs, by their numbers. */
#include "scheduler/core/view/metric_rows.h"

#include "graph/base/heap.h"
#include "scheduler/core/model/dict.h"
#include "scheduler/core/model/model.h"

#include <stdlib.h>

enum { ROW_UNITS = 10 };

/* The rest of one history, or the end of a job. */
struct source {
    uint64_t seq; /* of its next row */
    const struct gw_job *job;
    const struct gw_metric *metric; /* NULL: the end of the job */
    uint32_t index;                 /* of the task */
    size_t at;                      /* its next point */
};

static bool is_earlier(struct source a, struct source b)
{
    return a.seq < b.seq;
}

static void set_source(struct source *sources, size_t at, struct source source)
{
    sources[at] = source;
}

GW_HEAP(sources, struct source, is_earlier, set_source)

struct merge {
    GW_ARRAY(struct source) sources; /* a heap by seq */
    uint64_t after;
};

static void add(struct merge *merge, struct source source)
{
    GW_MUST(gw_array_push(&merge->sources, source));
    sources_up(merge->sources.items, merge->sources.count - 1);
}

/* The first point whose number is above `after`. */
static size_t first_after(const struct gw_metric *metric, uint64_t after)
{
    size_t low = 0, high = metric->points.count;
    while (low < high) {
        const size_t middle = low + (high - low) / 2;
        if (metric->points.items[middle].seq > after)
            high = middle;
        else
            low = middle + 1;
    }
    return low;
}

static void add_job(struct merge *merge, const struct gw_job *job, int64_t row)
{
    uint64_t index, first;
    for (size_t at = 0; gw_map_next(&gw_job_rare(job)->metrics, &at, &index, &first);) {
        if (row >= 0 && index != (uint64_t)row)
            continue;
        const struct gw_metric *metric = (const struct gw_metric *)(uintptr_t)first;
        for (; metric; metric = metric->next) {
            const size_t from = first_after(metric, merge->after);
            if (from < metric->points.count)
                add(merge, (struct source){.seq = metric->points.items[from].seq,
                                           .job = job,
                                           .metric = metric,
                                           .index = (uint32_t)index,
                                           .at = from});
        }
    }
    if (job->state == GW_JOB_ENDED && job->end_event > merge->after)
        add(merge, (struct source){.seq = job->end_event, .job = job});
}

static struct gw_value *describe_end(const struct gw_job *job)
{
    const struct gw_failure *failure = job->first_failure;
    struct gw_value *row = gw_dict();
    gw_dict_put_u64(row, "seq", job->end_event);
    gw_dict_put_u64(row, "job", job->id);
    gw_dict_put_u64(row, "time_ns", job->ended_wall_ns);
    gw_dict_put(row, "end",
                gw_str(!failure                         ? "done"
                       : failure->code == GW_ECANCELLED ? "cancelled"
                                                        : "failed"));
    gw_dict_put(row, "code", gw_i64(failure ? failure->code : 0));
    gw_dict_put(row, "text", gw_str(failure ? failure->text : ""));
    return row;
}

static struct gw_value *describe_point(const struct source *source)
{
    const struct gw_metric_point *point = &source->metric->points.items[source->at];
    struct gw_value *row = gw_dict();
    gw_dict_put_u64(row, "seq", point->seq);
    gw_dict_put_u64(row, "job", source->job->id);
    gw_dict_put_u64(row, "index", source->index);
    gw_dict_put(row, "step", gw_i64(point->step));
    gw_dict_put_u64(row, "time_ns", point->wall_ns);
    gw_dict_put(row, "name", gw_str(source->metric->name));
    gw_dict_put(row, "value", gw_f64(point->value));
    if (gw_metric_is_provisional(point))
        gw_dict_put(row, "provisional", gw_bool(true));
    return row;
}

/* Removes the first row of the heap. */
static void advance(struct merge *merge)
{
    struct source *first = &merge->sources.items[0];
    if (first->metric && ++first->at < first->metric->points.count) {
        first->seq = first->metric->points.items[first->at].seq;
        sources_down(merge->sources.items, merge->sources.count, 0);
    } else
        sources_remove(merge->sources.items, &merge->sources.count, 0);
}

void gw_metric_rows(const struct gw_sched *sched, const struct gw_metric_rows *wanted,
                    struct gw_page *page)
{
    const uint64_t shown = gw_event_number_shown(sched);
    struct merge merge = {.after = wanted->after};
    if (page->cursor && page->cursor - 1 > merge.after)
        merge.after = page->cursor - 1;
    for (size_t i = 0; i < wanted->count; i++)
        add_job(&merge, wanted->jobs[i], wanted->row);
    while (merge.sources.count && merge.sources.items[0].seq <= shown) {
        const struct source *first = &merge.sources.items[0];
        if (gw_page_is_full(page, first->seq) ||
            (!gw_page_spend(page, ROW_UNITS, first->seq) && gw_value_count(page->rows) > 0))
            break;
        gw_page_push(page, first->metric ? describe_point(first) : describe_end(first->job));
        advance(&merge);
    }
    gw_array_deinit(&merge.sources);
}
