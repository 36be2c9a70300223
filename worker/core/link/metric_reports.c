/* Keeps the reports of attempts until their ends are certainly on disk.
 *
 * Invariants: the reports of an attempt are in the order of their numbers. Those up to `sent` were
 * sent to the scheduler to which this worker is registered. */
#include "worker/core/link/metric_reports.h"

#include "graph/wire/messages.h"
#include "worker/core/model/core.h"

#include <stdlib.h>
#include <string.h>

struct report {
    uint64_t count, wall_ns;
    int64_t step;
    double value;
    const char *name; /* one of `names` */
};

/* The reports of an attempt. */
struct gw_metric_reports {
    uint32_t rank;
    uint64_t count, sent; /* numbers of the last report, and of the last one that was sent */
    GW_ARRAY(struct report) list;
    char *names[GW_METRIC_NAMES_MAX]; /* owned; NULL: not used */
};

static struct gw_metric_reports *find(const struct gw_node_core *core, uint64_t attempt)
{
    uint64_t value;
    return core->metric_reports.count && gw_map_get(&core->metric_reports, attempt, &value)
               ? (struct gw_metric_reports *)(uintptr_t)value
               : NULL;
}

/* Returns the copy of a name, or NULL if the attempt has too many. */
static const char *name_of(struct gw_metric_reports *reports, const char *name)
{
    for (uint32_t i = 0; i < GW_METRIC_NAMES_MAX; i++) {
        if (!reports->names[i])
            reports->names[i] = gw_core_strdup(name);
        if (strcmp(reports->names[i], name) == 0)
            return reports->names[i];
    }
    return NULL;
}

bool gw_metric_reports_has_room(const struct gw_node_core *core, uint64_t attempt, const char *name)
{
    const struct gw_metric_reports *reports = find(core, attempt);
    for (uint32_t i = 0; reports && i < GW_METRIC_NAMES_MAX; i++)
        if (!reports->names[i] || strcmp(reports->names[i], name) == 0)
            return true;
    return !reports;
}

static void send_rest(struct gw_node_core *core, uint64_t attempt,
                      struct gw_metric_reports *reports)
{
    size_t from = reports->list.count;
    while (from > 0 && reports->list.items[from - 1].count > reports->sent)
        from--;
    for (size_t i = from; i < reports->list.count; i++) {
        const struct report *report = &reports->list.items[i];
        gw_core_send(core, core->scheduler, GW_MESSAGE_metric)->message.metric =
            (struct gw_msg_metric){.attempt = attempt,
                                   .rank = reports->rank,
                                   .step = report->step,
                                   .name = gw_core_text(core, report->name),
                                   .value = report->value,
                                   .count = report->count,
                                   .wall_ns = report->wall_ns};
        reports->sent = report->count;
    }
}

void gw_metric_reports_add(struct gw_node_core *core, const struct gw_attempt *run,
                           const struct gw_msg_metric *report)
{
    struct gw_metric_reports *reports = find(core, run->attempt);
    if (!reports) {
        reports = gw_core_alloc(sizeof *reports);
        reports->rank = run->rank;
        GW_MUST(gw_map_put(&core->metric_reports, run->attempt, (uintptr_t)reports));
    }
    const char *name = name_of(reports, report->name);
    if (!name)
        return;
    if (reports->list.count == GW_METRIC_REPORTS_MAX) {
        reports->list.count /= 2;
        memmove(reports->list.items, reports->list.items + reports->list.count,
                reports->list.count * sizeof *reports->list.items);
    }
    GW_MUST(gw_array_push(&reports->list, ((struct report){++reports->count, report->wall_ns,
                                                           report->step, report->value, name})));
    if (core->registered && !core->scheduler_slow)
        send_rest(core, run->attempt, reports);
}

void gw_metric_reports_flush(struct gw_node_core *core, uint64_t attempt)
{
    struct gw_metric_reports *reports = find(core, attempt);
    if (reports && core->registered)
        send_rest(core, attempt, reports);
}

void gw_metric_reports_on_registered(struct gw_node_core *core)
{
    uint64_t attempt, value;
    for (size_t at = 0; gw_map_next(&core->metric_reports, &at, &attempt, &value);) {
        ((struct gw_metric_reports *)(uintptr_t)value)->sent = 0;
        gw_metric_reports_flush(core, attempt);
    }
}

void gw_metric_reports_on_read(struct gw_node_core *core)
{
    uint64_t attempt, value;
    for (size_t at = 0; gw_map_next(&core->metric_reports, &at, &attempt, &value);)
        gw_metric_reports_flush(core, attempt);
}

static void reports_free(struct gw_metric_reports *reports)
{
    for (uint32_t i = 0; i < GW_METRIC_NAMES_MAX; i++)
        free(reports->names[i]);
    gw_array_deinit(&reports->list);
    free(reports);
}

void gw_metric_reports_drop(struct gw_node_core *core, uint64_t attempt)
{
    struct gw_metric_reports *reports = find(core, attempt);
    if (!reports)
        return;
    (void)gw_map_remove(&core->metric_reports, attempt);
    reports_free(reports);
}

void gw_metric_reports_deinit(struct gw_node_core *core)
{
    uint64_t attempt, value;
    for (size_t at = 0; gw_map_next(&core->metric_reports, &at, &attempt, &value);)
        reports_free((struct gw_metric_reports *)(uintptr_t)value);
    gw_map_deinit(&core->metric_reports);
}
