/* Output files of tasks: reads parts and last lines, and moves captured output of runners. All
 * functions read and write files. None keeps state. */
#ifndef GW_STORE_LOGFILE_H
#define GW_STORE_LOGFILE_H

#include "graph/base/tail.h"

#include <gangway/error.h>
#include <stdbool.h>
#include <stdint.h>

/* Size of the line about a full disk, including the terminating zero */
enum { GW_LOGFILE_FULL_BYTES = 512 };

/* gw_logfile_tail writes the last lines of a file, as gw_tail_text does. The text is empty if there
 * is no file. */
void gw_logfile_tail(const char *path, char text[GW_TAIL_BYTES]);

/* gw_logfile_full returns true if the disk is full on which the file at `path` is or would be.
 * `line` then says this, and that output may be missing. gw_logfile_say_full appends this line,
 * marked as Gangway's, to the text of a tail. */
bool gw_logfile_full(const char *path, char line[GW_LOGFILE_FULL_BYTES]);
void gw_logfile_say_full(const char *path, char text[GW_TAIL_BYTES]);

/* gw_logfile_next finds the next data of a file from an offset on. If the offset is in a hole, *at
 * is the end of the hole, otherwise the offset. *end is where the next hole begins, UINT64_MAX if
 * there is none. */
void gw_logfile_next(const char *path, uint64_t offset, uint64_t *at, uint64_t *end);

/* gw_logfile_read reads up to *bytes bytes from offset. It sets *bytes to the number read, and
 * *total to the length of the file. A missing file counts as empty. Returns 0, or GW_EIO and sets
 * the error. */
int gw_logfile_read(const char *path, uint64_t offset, void *data, uint32_t *bytes, uint64_t *total,
                    struct gw_error *error);

/* gw_logfile_append appends complete lines to a file, beginning on a new line. It does nothing if
 * the file is missing or not a regular file. Returns 0, or GW_EIO and sets the error. */
int gw_logfile_append(const char *path, const char *lines, size_t bytes, struct gw_error *error);

/* gw_logfile_move appends the content of a file from an offset on to another file, and empties the
 * first. If the offset is beyond the end, all content is moved. The other file and its folder are
 * created if necessary, but not if there is nothing to move. Returns 0, or GW_EIO and sets the
 * error. */
int gw_logfile_move(const char *from, uint64_t offset, const char *to, struct gw_error *error);

/* gw_logfile_latest returns the newest attempt of a task that has files in a job's folder
 * (<log_dir>/<job>). 0: none. */
uint64_t gw_logfile_latest(const char *folder, uint32_t index);

#endif
