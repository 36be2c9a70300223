/* Files with the output of tasks: reading a part, the last lines for a message, moving what a
 * runner left behind. All functions read and write files; none keeps state. */
#ifndef GW_STORE_LOGFILE_H
#define GW_STORE_LOGFILE_H

#include "graph/base/tail.h"

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

enum { GW_LOGFILE_FULL_BYTES = 512 }; /* of the line on a full disk, with its end */

/* gw_logfile_tail writes the last lines of a file, as gw_tail_text does. Empty where there is none.
 */
void gw_logfile_tail(const char *path, char text[GW_TAIL_BYTES]);

/* gw_logfile_full tells whether the disk on which the file at path lies, or would lie, is full;
 * then the line says so, and that what was printed may be missing. gw_logfile_say_full adds that
 * line, as Gangway's, to the text that a tail gave. */
bool gw_logfile_full(const char *path, char line[GW_LOGFILE_FULL_BYTES]);
void gw_logfile_say_full(const char *path, char text[GW_TAIL_BYTES]);

/* gw_logfile_next gives where the file goes on from an offset, behind a hole that was made into it
 * (at its end: where it ends), and where the next one begins: the same, and UINT64_MAX, where there
 * is none. */
void gw_logfile_next(const char *path, uint64_t offset, uint64_t *at, uint64_t *end);

/* gw_logfile_read reads up to *bytes from offset: *bytes says how many there were, *total how long
 * the file is. A file that is not there is empty. 0 or GW_EIO with text. */
int gw_logfile_read(const char *path, uint64_t offset, void *data, uint32_t *bytes, uint64_t *total,
                    struct gw_error *error);

/* gw_logfile_append puts lines (each with its end) behind what a file holds, on a line of their
 * own; a file that is not there, or is no regular one, stays as it is. 0 or GW_EIO with text. */
int gw_logfile_append(const char *path, const char *lines, size_t bytes, struct gw_error *error);

/* gw_logfile_move appends one file's content from an offset on (behind its end: all of it) to
 * another, made with its folder where it is not there, and empties the first. Nothing to move makes
 * nothing. 0 or GW_EIO with text. */
int gw_logfile_move(const char *from, uint64_t offset, const char *to, struct gw_error *error);

/* gw_logfile_latest finds the newest attempt of a task that has files in folder (<log_dir>/<job>);
 * 0 where there is none. */
uint64_t gw_logfile_latest(const char *folder, uint32_t index);

/* gw_logfile_make_folder makes the folder in which path lies, with those above it; what fails
 * there, opening tells. */
void gw_logfile_make_folder(const char *path);

#endif
