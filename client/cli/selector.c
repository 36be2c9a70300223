/* Selectors of jobs, resolved against the scheduler's list. */
#include "client/cli/selector.h"

#include "client/cli/units.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int gw_selector_check(const char *text, struct gw_error *error)
{
    struct gw_units_range ranges[GW_UNITS_RANGES_MAX];
    if (strcmp(text, "all") == 0 || strcmp(text, "last") == 0 ||
        gw_units_parse_ranges(text, ranges) > 0)
        return 0;
    return gw_error_set(error, GW_EINVAL,
                        "\"%s\" is not a job: a number, a list like 1,3,5-8, last, or all", text);
}

static int by_number(const void *a, const void *b)
{
    const struct gw_selected *x = a, *y = b;
    return x->job < y->job ? -1 : x->job > y->job;
}

static bool has_ended(const struct gw_value *job)
{
    const char *state;
    return gw_value_get_str(gw_value_find(job, "state"), &state, NULL) == 0 &&
           (strcmp(state, "done") == 0 || strcmp(state, "failed") == 0 ||
            strcmp(state, "cancelled") == 0);
}

static bool in_ranges(uint64_t job, const struct gw_units_range *ranges, int count)
{
    for (int i = 0; i < count; i++)
        if (job >= ranges[i].first && job <= ranges[i].last)
            return true;
    return false;
}

/* Chooses among the jobs that there are. */
static int choose(struct gw_selector *selector, const struct gw_value *jobs, const char *text,
                  bool unfinished)
{
    struct gw_units_range ranges[GW_UNITS_RANGES_MAX];
    bool all = strcmp(text, "all") == 0, last = strcmp(text, "last") == 0;
    int range_count = all || last ? 0 : gw_units_parse_ranges(text, ranges);
    size_t room = gw_value_count(jobs) + (size_t)range_count + 1;
    selector->items = calloc(room, sizeof *selector->items);
    if (!selector->items)
        return GW_ENOMEM;
    for (size_t i = 0; i < gw_value_count(jobs); i++) {
        const struct gw_value *job = gw_value_at(jobs, i);
        int64_t id;
        if (gw_value_get_i64(gw_value_find(job, "id"), &id, NULL) < 0)
            continue;
        bool wanted = all    ? !unfinished || !has_ended(job)
                      : last ? selector->count == 0 || (uint64_t)id > selector->items[0].job
                             : in_ranges((uint64_t)id, ranges, range_count);
        if (wanted && last)
            selector->count = 0;
        if (wanted)
            selector->items[selector->count++] = (struct gw_selected){(uint64_t)id, has_ended(job)};
    }
    for (int i = 0; i < range_count; i++) {
        bool there = false;
        for (size_t k = 0; k < selector->count; k++)
            there |= selector->items[k].job == ranges[i].first;
        if (!there && ranges[i].first == ranges[i].last)
            selector->items[selector->count++].job = ranges[i].first;
    }
    if (selector->count > 0)
        qsort(selector->items, selector->count, sizeof *selector->items, by_number);
    return 0;
}

int gw_selector_init(struct gw_selector *selector, struct gw_client *client, const char *text,
                     bool unfinished, struct gw_error *error)
{
    struct gw_value *jobs;
    *selector = (struct gw_selector){0};
    int rc = gw_selector_check(text, error);
    if (rc == 0)
        rc = gw_client_query(client, "jobs", NULL, &jobs, error);
    if (rc < 0)
        return rc;
    rc = choose(selector, jobs, text, unfinished);
    gw_value_unref(jobs);
    if (rc < 0)
        return gw_error_set(error, rc, "out of memory");
    if (selector->count == 0 && strcmp(text, "all") != 0)
        return gw_error_set(error, GW_ENOENT, "there is no job \"%s\"", text);
    if (selector->count == 0)
        fprintf(stderr, "%s\n", unfinished ? "no unfinished jobs" : "no jobs");
    return 0;
}

void gw_selector_deinit(struct gw_selector *selector)
{
    free(selector->items);
}
