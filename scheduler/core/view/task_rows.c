/* Builds the rows of the listings "tasks" and "attempts". */
#include "scheduler/core/view/task_rows.h"

#include "graph/value/value.h"
#include "graph/wire/codec.h"
#include "graph/wire/frame.h"
#include "scheduler/core/model/model.h"
#include "scheduler/core/requests/annotation.h"
#include "scheduler/core/view/page.h"
#include "scheduler/core/view/running.h"

#include <string.h>

enum { RESULT_BYTES_MAX = 1024 };

/* Indices of the tasks that a page lists. */
struct found {
    GW_ARRAY(uint32_t) rows;
};

/* Returns the name of a task's state as listings show it. A placed task is "running" or "queued" at
 * its worker. */
static const char *shown_state(uint8_t state, bool runs)
{
    return state != GW_TASK_PLACED ? gw_sm_name(&gw_sched_task_sm, state)
           : runs                  ? "running"
                                   : "queued";
}

static bool is_called(uint8_t state, bool runs, const char *word)
{
    return strcmp(word, gw_sm_name(&gw_sched_task_sm, state)) == 0 ||
           strcmp(word, shown_state(state, runs)) == 0;
}

static void put_ran(const struct gw_job *job, uint32_t row, struct gw_value *dict)
{
    const struct gw_ran *ran = gw_job_usage_ran(job, row);
    if (!ran)
        return;
    gw_dict_put_u64(dict, "started_ns", ran->started_wall_ns);
    gw_dict_put_u64(dict, "run_ns", ran->run_ns);
}

/* Returns true if a value can be part of an answer. The value must leave room for the nesting of
 * the answer around it and must not contain references. A task may return a value that breaks these
 * rules. */
static bool is_answerable(const struct gw_value *value)
{
    struct gw_buffer bytes = {0};
    bool is = value->depth <= GW_FRAME_DEPTH_MAX - 4 && gw_codec_encode(value, NULL, &bytes) == 0;
    gw_buffer_deinit(&bytes);
    return is;
}

/* Adds the result of a task (of rank 0 for a gang) if the result is small and the scheduler holds
 * it. */
static void put_result(const struct gw_sched *sched, const struct gw_job *job, uint32_t row,
                       struct gw_value *dict)
{
    const uint32_t at = gw_sched_row_live(job, row) && job->tasks.state[row] == GW_TASK_DONE
                            ? gw_sched_object_of(sched, job, row, 0)
                            : GW_NO_INDEX;
    const struct gw_object *object = at == GW_NO_INDEX ? NULL : &sched->objects.items[at];
    const void *bytes =
        object && object->size <= RESULT_BYTES_MAX ? gw_sched_object_bytes(object) : NULL;
    struct gw_value *value;
    if (job->tasks.state[row] == GW_TASK_DONE || job->tasks.state[row] == GW_TASK_RELEASED)
        gw_dict_put_u64(dict, "exit_code", 0);
    if (!bytes || gw_codec_decode(bytes, object->size, NULL, &value, NULL) < 0)
        return;
    if (is_answerable(value))
        gw_dict_put(dict, "result", value);
    else
        gw_value_unref(value);
}

static struct gw_value *describe_task(const struct gw_sched *sched, const struct gw_job *job,
                                      uint32_t row, const struct gw_map *last, bool runs, bool sees)
{
    const struct gw_tasks *tasks = &job->tasks;
    struct gw_value *dict = gw_dict();
    char label[256];
    gw_sched_task_label(job, row, label, sizeof label);
    uint8_t state = tasks->state[row];
    gw_dict_put_u64(dict, "index", row);
    gw_dict_put(dict, "name", gw_str(label));
    state = state == GW_TASK_RELEASED ? GW_TASK_DONE : state;
    gw_dict_put(dict, "state", gw_str(gw_sm_name(&gw_sched_task_sm, state)));
    gw_dict_put(dict, "shown", gw_str(shown_state(state, runs)));
    gw_dict_put_u64(dict, "tries", tasks->charges[row].tries);
    gw_dict_put_u64(dict, "attempt", tasks->attempt[row]);
    char where[256] = "";
    struct gw_text text = {where, sizeof where, 0};
    gw_dict_put_u64(dict, "worker", gw_sched_place_tell(sched, job, row, last, &text));
    gw_dict_put(dict, "where", gw_str(where));
    gw_dict_put_u64(dict, "ranks", job->specs.items[tasks->spec[row]].message.ranks);
    if (gw_sched_place_ranks(job, row, last))
        gw_dict_put_u64(dict, "world_size", gw_sched_place_ranks(job, row, last));
    gw_dict_put(dict, "annotations", gw_sched_annotations(job, tasks->spec[row], 1));
    if (sees)
        gw_metric_put(gw_metric_first(job, row), dict);
    put_ran(job, row, dict);
    const struct gw_checkpointed *saved = gw_sched_checkpoint_of(job, row);
    if (saved && saved->attempt)
        gw_dict_put(dict, "checkpoint_step", gw_i64(saved->step));
    const struct gw_failure *failure = gw_sched_task_failure_of(job, row);
    if (failure) {
        gw_dict_put(dict, "code",
                    gw_i64(tasks->flags[row] & GW_TASK_DEPENDENT ? GW_EDEPENDENCY : failure->code));
        gw_dict_put(dict, "exit_code", gw_i64(gw_sched_task_failure_exit_code(failure)));
        if (sees)
            gw_dict_put(dict, "text", gw_str(failure->text));
    } else if (state == GW_TASK_READY && job->payer &&
               gw_sched_preemption_text(sched, job, row, where, sizeof where)) {
        gw_dict_put(dict, "text", gw_str(where));
    }
    return dict;
}

/* Describes a task of a range that has no row: the row was not created yet, or was given back. */
static struct gw_value *describe_rowless(const struct gw_job *job, uint32_t row, bool sees)
{
    struct gw_value *dict = gw_dict();
    const struct gw_failure *failure = gw_sched_task_failure_of(job, row);
    gw_dict_put_u64(dict, "index", row);
    gw_dict_put(dict, "name", gw_str(job->name));
    uint8_t state = gw_sched_range_row_state(job, row);
    gw_dict_put(dict, "state", gw_str(gw_sm_name(&gw_sched_task_sm, state)));
    gw_dict_put(dict, "shown", gw_str(shown_state(state, false)));
    if (failure) {
        gw_dict_put(dict, "code", gw_i64(failure->code));
        gw_dict_put(dict, "exit_code", gw_i64(gw_sched_task_failure_exit_code(failure)));
        if (sees)
            gw_dict_put(dict, "text", gw_str(failure->text));
    }
    return dict;
}

enum { SEEN_ROWS_A_UNIT = 16, ROW_UNITS = 80 };

/* Collects the rows that match the request, from the cursor of the page on, at most as many as the
 * page holds. */
static void collect(const struct gw_sched *sched, const struct gw_task_rows *wanted,
                    const struct gw_running *runs, struct gw_page *page, struct found *found)
{
    const struct gw_job *job = wanted->job;
    uint32_t row = gw_sched_row_next(job, (uint32_t)page->cursor);
    for (uint32_t seen = 1; row < job->tasks.count; row = gw_sched_row_next(job, row + 1), seen++) {
        const uint8_t state = job->tasks.state[row];
        const bool running = state == GW_TASK_PLACED && gw_running_row(runs, sched, job, row);
        if (seen % SEEN_ROWS_A_UNIT == 0 && !gw_page_spend(page, 1, row))
            return;
        if (wanted->state &&
            !is_called(state == GW_TASK_RELEASED ? GW_TASK_DONE : state, running, wanted->state))
            continue;
        if (found->rows.count == page->rows_max || !gw_page_spend(page, ROW_UNITS, row)) {
            page->more = true;
            page->next = row;
            return;
        }
        GW_MUST(gw_array_push(&found->rows, row));
    }
}

void gw_task_rows(const struct gw_sched *sched, const struct gw_task_rows *wanted,
                  struct gw_page *page)
{
    const struct gw_job *job = wanted->job;
    struct found found = {0};
    struct gw_running runs;
    struct gw_map last;
    if (wanted->only >= 0 && !gw_sched_row_live(job, (uint32_t)wanted->only)) {
        gw_page_push(page, describe_rowless(job, (uint32_t)wanted->only, wanted->sees));
        return;
    }
    gw_running_init(&runs, sched);
    if (wanted->only >= 0)
        GW_MUST(gw_array_push(&found.rows, (uint32_t)wanted->only));
    else
        collect(sched, wanted, &runs, page, &found);
    gw_sched_places_last(job, found.rows.count ? found.rows.items[0] : 0,
                         found.rows.count ? found.rows.items[found.rows.count - 1] : 0, &last);
    for (size_t i = 0; i < found.rows.count; i++) {
        const uint32_t row = found.rows.items[i];
        const bool running =
            job->tasks.state[row] == GW_TASK_PLACED && gw_running_row(&runs, sched, job, row);
        if (gw_page_is_full(page, row))
            break;
        struct gw_value *dict = describe_task(sched, job, row, &last, running, wanted->sees);
        if (wanted->results && wanted->sees)
            put_result(sched, job, row, dict);
        gw_page_push(page, dict);
    }
    gw_array_deinit(&found.rows);
    gw_running_deinit(&runs);
    gw_map_deinit(&last);
}

static void push_attempt(struct gw_value *list, const struct gw_place *place, uint32_t ranks)
{
    struct gw_value *dict = gw_dict();
    gw_dict_put_u64(dict, "number", place->number);
    gw_dict_put_u64(dict, "attempt", place->attempt);
    gw_dict_put_u64(dict, "worker", place->worker);
    if (ranks)
        gw_dict_put_u64(dict, "ranks", ranks);
    GW_MUST(gw_list_push(list, dict));
}

/* Counts the ranks of a gang's attempt. places[at] is the place of rank 0, and the places of the
 * other ranks follow it, because all were placed together. */
static uint32_t ranks_at(const struct gw_job *job, size_t at)
{
    uint32_t ranks = 0;
    for (size_t i = at;
         i < job->places.count && job->places.items[i].attempt == job->places.items[at].attempt &&
         job->places.items[i].index == job->places.items[at].index;
         i++)
        ranks++;
    return ranks;
}

/* Lists the attempts of a task, the first attempt first. A gang's attempt is one row with the
 * worker of rank 0 and the number of ranks. Attempts before a restart of the scheduler are missing,
 * except for the last attempt of a task that has ended. */
struct gw_value *gw_task_rows_attempts(const struct gw_job *job, uint32_t row)
{
    struct gw_value *list = gw_list();
    uint64_t last = 0;
    for (size_t i = 0; i < job->places.count; i++) {
        const struct gw_place *place = &job->places.items[i];
        bool first_rank = place->rank == GW_RANK_NONE || place->rank == 0;
        if (place->unbegun)
            continue;
        last = place->index == row && first_rank ? place->attempt : last;
        if (place->index == row && first_rank && gw_value_count(list) < GW_ANSWER_TASKS_MAX)
            push_attempt(list, place, place->rank == 0 ? ranks_at(job, i) : 0);
    }
    if (job->tasks.attempt[row] && job->tasks.attempt[row] != last)
        push_attempt(list,
                     &(struct gw_place){.attempt = job->tasks.attempt[row],
                                        .worker = job->tasks.worker[row],
                                        .number = job->tasks.charges[row].tries},
                     0);
    return list;
}
