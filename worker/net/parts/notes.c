/* Writes notes on a thread, since the files may be on a slow or broken disk.
 *
 * Invariants: on_done is called once, when the thread has finished or the time is over, whichever
 * comes first. The notes are freed when the thread and the timer no longer use them. */
#include "worker/net/parts/notes.h"

#include "graph/base/array.h"
#include "graph/base/log.h"
#include "graph/base/must.h"
#include "worker/store/logfile.h"

#include <stdlib.h>
#include <string.h>

struct note {
    char *path, *lines;
};

struct gw_notes {
    uv_loop_t *loop;
    uv_work_t work;
    uv_timer_t timer;
    struct gw_notes_done done;
    int holders; /* users: the thread and the timer */
    GW_ARRAY(struct note) list;
};

struct gw_notes *gw_notes_new(uv_loop_t *loop)
{
    struct gw_notes *notes = calloc(1, sizeof *notes);
    GW_MUST_PTR(notes);
    notes->loop = loop;
    notes->work.data = notes->timer.data = notes;
    return notes;
}

void gw_notes_add(struct gw_notes *notes, const char *path, char *lines)
{
    struct note note = {strdup(path), lines};
    GW_MUST_PTR(note.path);
    GW_MUST(gw_array_push(&notes->list, note));
}

static void let_go(struct gw_notes *notes)
{
    if (--notes->holders > 0)
        return;
    for (size_t i = 0; i < notes->list.count; i++) {
        free(notes->list.items[i].path);
        free(notes->list.items[i].lines);
    }
    gw_array_deinit(&notes->list);
    free(notes);
}

static void on_closed(uv_handle_t *timer)
{
    let_go(timer->data);
}

/* Closes the timer and calls on_done, unless this was done before. */
static void finish(struct gw_notes *notes, bool tell)
{
    uv_handle_t *timer = (uv_handle_t *)&notes->timer;
    if (uv_is_closing(timer))
        return;
    uv_close(timer, on_closed);
    if (tell)
        notes->done.on_done(notes->done.arg);
}

static void write_on_thread(uv_work_t *work)
{
    struct gw_notes *notes = work->data;
    struct gw_error error;
    for (size_t i = 0; i < notes->list.count; i++) {
        const struct note *note = &notes->list.items[i];
        if (gw_logfile_append(note->path, note->lines, strlen(note->lines), &error) < 0)
            gw_log_warn("%s", error.text);
    }
}

static void write_on_done(uv_work_t *work, int status)
{
    struct gw_notes *notes = work->data;
    (void)status;
    finish(notes, true);
    let_go(notes);
}

static void on_time(uv_timer_t *timer)
{
    gw_log_warn(
        "the stacks of ranks that hang are not written to their logs yet: the disk is slow");
    finish(timer->data, true);
}

void gw_notes_write(struct gw_notes *notes, const struct gw_notes_done *done)
{
    notes->done = *done;
    notes->holders = 2;
    (void)uv_timer_init(notes->loop, &notes->timer);
    (void)uv_timer_start(&notes->timer, on_time, done->limit_ms, 0);
    GW_MUST(uv_queue_work(notes->loop, &notes->work, write_on_thread, write_on_done));
}

void gw_notes_cancel(struct gw_notes *notes)
{
    finish(notes, false);
}
