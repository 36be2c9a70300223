/* Notes: lines that are appended to the output files of ranks, without blocking on a slow disk. */
#ifndef GW_NET_NOTES_H
#define GW_NET_NOTES_H

#include <uv.h>

struct gw_notes;

/* gw_notes_new creates an empty set of notes. */
struct gw_notes *gw_notes_new(uv_loop_t *loop);

/* gw_notes_add appends a note for the file at `path` (copied). `lines` is complete lines from
 * malloc, which the function takes over. If the file does not exist when the notes are written, it
 * is not created. */
void gw_notes_add(struct gw_notes *notes, const char *path, char *lines);

/* gw_notes_write writes the notes on a thread. on_done is called once, on the loop's thread and
 * never before this function returns: when the notes are written, or after limit_ms, in which case
 * they may be written later. The notes free themselves. */
struct gw_notes_done {
    uint64_t limit_ms;
    void (*on_done)(void *arg);
    void *arg;
};
void gw_notes_write(struct gw_notes *notes, const struct gw_notes_done *done);

/* gw_notes_cancel prevents the call of on_done. The notes are still written. */
void gw_notes_cancel(struct gw_notes *notes);

#endif
