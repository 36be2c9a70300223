/* Lines for people behind what ranks have written themselves, without waiting for a disk. */
#ifndef GW_NET_NOTES_H
#define GW_NET_NOTES_H

#include <uv.h>

struct gw_notes;

/* gw_notes_new makes an empty set of notes, for a loop. */
struct gw_notes *gw_notes_new(uv_loop_t *loop);

/* gw_notes_add has lines (each with its end; taken: from malloc) go behind the file at path, which
 * is copied. One that is not there when they are written stays so. */
void gw_notes_add(struct gw_notes *notes, const char *path, char *lines);

/* gw_notes_write writes them on a thread, once. on_done: they are written, or limit_ms are over and
 * they may be later; called once, on the loop's thread, never before this returns. The notes are
 * their own from now on. */
struct gw_notes_done {
    uint64_t limit_ms;
    void (*on_done)(void *arg);
    void *arg;
};
void gw_notes_write(struct gw_notes *notes, const struct gw_notes_done *done);

/* gw_notes_cancel has on_done not be called any more; what is written, is. */
void gw_notes_cancel(struct gw_notes *notes);

#endif
