/* Asks the scheduler for events of trials. */
#include "client/sweep/controller/sweep_events.h"

#include <gangway/gangway.h>
#include <math.h>

static struct gw_value *events_arguments(const uint64_t *jobs, size_t count, uint64_t after)
{
    struct gw_value *arguments = gw_dict(), *list = gw_list();
    int rc = 0;
    for (size_t i = 0; i < count && rc == 0; i++)
        rc = gw_list_push(list, gw_i64((int64_t)jobs[i]));
    if (rc < 0) {
        gw_value_unref(list);
        list = NULL;
    }
    rc = gw_dict_set(arguments, "jobs", list);
    if (rc == 0)
        rc = gw_dict_set(arguments, "after", gw_i64((int64_t)after));
    if (rc == 0)
        return arguments;
    gw_value_unref(arguments);
    return NULL;
}

static uint64_t number(const struct gw_value *row, const char *key)
{
    int64_t i = 0;
    (void)gw_value_get_i64(gw_value_find(row, key), &i, NULL);
    return (uint64_t)i;
}

static const char *text_of(const struct gw_value *row, const char *key)
{
    const char *text = NULL;
    (void)gw_value_get_str(gw_value_find(row, key), &text, NULL);
    return text;
}

/* An event as the scheduler sends it. */
static struct gw_sweep_event read_event(const struct gw_value *row)
{
    struct gw_sweep_event event = {.seq = number(row, "seq"),
                                   .job = number(row, "job"),
                                   .wall_ns = number(row, "time_ns"),
                                   .step = (int64_t)number(row, "step"),
                                   .index = number(row, "index"),
                                   .name = text_of(row, "name"),
                                   .value = NAN,
                                   .end = text_of(row, "end"),
                                   .text = text_of(row, "text")};
    (void)gw_value_get_f64(gw_value_find(row, "value"), &event.value, NULL);
    (void)gw_value_get_bool(gw_value_find(row, "provisional"), &event.provisional, NULL);
    event.name = event.name ? event.name : "";
    event.text = event.text ? event.text : "";
    return event;
}

static int ask_events(struct gw_client *client, const uint64_t *jobs, size_t count, uint64_t after,
                      struct gw_value **rows, struct gw_error *error)
{
    struct gw_value *arguments = events_arguments(jobs, count, after);
    const int rc = arguments ? gw_client_query(client, "metrics", arguments, rows, error)
                             : gw_error_set(error, GW_ENOMEM, "out of memory");
    gw_value_unref(arguments);
    return rc;
}

int gw_sweep_events_read(struct gw_client *client, const uint64_t *jobs, size_t count,
                         uint64_t after, gw_sweep_events_handler *handle, void *arg,
                         struct gw_error *error)
{
    for (size_t first = 0; first < count; first += GW_SWEEP_EVENTS_JOBS_MAX) {
        const size_t some =
            count - first < GW_SWEEP_EVENTS_JOBS_MAX ? count - first : GW_SWEEP_EVENTS_JOBS_MAX;
        struct gw_value *rows = NULL;
        int rc = ask_events(client, jobs + first, some, after, &rows, error);
        for (size_t i = 0; i < gw_value_count(rows) && rc == 0; i++) {
            const struct gw_sweep_event event = read_event(gw_value_at(rows, i));
            rc = handle(arg, &event, error);
        }
        gw_value_unref(rows);
        if (rc < 0)
            return rc;
    }
    return 0;
}
