/* Rows of the listing "running". */
#include "scheduler/core/view/running_rows.h"

#include "graph/base/text.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/view/page.h"
#include "scheduler/core/view/running.h"

enum { ROW_UNITS = 60 };

static void put_gpus(const struct gw_sched *sched, uint32_t slot, struct gw_value *row)
{
    char numbers[256] = "";
    struct gw_text text = {numbers, sizeof numbers, 0};
    uint32_t count = 0;
    for (uint32_t i = 0;
         sched->attempts.items[slot].gpus && (i = gw_sched_gpu_next(sched, slot, i)) != GW_NONE;
         i++, count++)
        gw_text_say(&text, "%s%u", count ? "," : "", i);
    gw_dict_put(row, "gpus", gw_str(numbers));
}

static struct gw_value *describe(const struct gw_sched *sched, uint32_t slot)
{
    const struct gw_attempt *attempt = &sched->attempts.items[slot];
    const struct gw_job *job = attempt->job;
    const uint64_t since_ns = attempt->started_ns ? attempt->started_ns : attempt->placed_ns;
    struct gw_value *row = gw_dict();
    char label[256], user[GW_USER_NAME_MAX];
    gw_sched_task_label(job, attempt->index, label, sizeof label);
    gw_dict_put_u64(row, "job", job->id);
    gw_dict_put_u64(row, "index", attempt->index);
    gw_dict_put(row, "name", gw_str(label));
    gw_dict_put(row, "user", gw_str(gw_user_name(sched, job->uid, user)));
    if (attempt->gang)
        gw_dict_put_u64(row, "rank", attempt->rank);
    gw_dict_put(row, "worker", gw_str(attempt->worker->remote->name));
    gw_dict_put(row, "host", gw_str(attempt->worker->host));
    gw_dict_put_u64(row, "slots", attempt->lane->shape->slots);
    put_gpus(sched, slot, row);
    gw_dict_put_u64(row, "memory_bytes", attempt->lane->shape->memory_bytes);
    gw_dict_put_u64(row, "started_ns", sched->wall_ns - (sched->now_ns - since_ns));
    gw_dict_put_u64(row, "run_ns", sched->now_ns - since_ns);
    gw_metric_put(gw_metric_first(job, attempt->index), row);
    return row;
}

void gw_running_rows(const struct gw_sched *sched, struct gw_page *page)
{
    struct gw_running runs;
    uint64_t at = 0;
    gw_running_init(&runs, sched);
    for (size_t i = 0; i < sched->workers.count && !page->more; i++) {
        const struct gw_worker *worker = sched->workers.items[i];
        for (uint32_t slot = worker ? worker->first : GW_NONE; slot != GW_NONE;
             slot = sched->attempts.items[slot].next) {
            if (!runs.runs[slot] || at++ < page->cursor)
                continue;
            if (gw_page_is_full(page, at - 1) || !gw_page_spend(page, ROW_UNITS, at - 1))
                break;
            gw_page_push(page, describe(sched, slot));
        }
    }
    gw_running_deinit(&runs);
}
