/* Merges the checkpoint folders of a task on several hosts into one. All functions read or write
 * files and may block. */
#ifndef GW_STORE_UNION_H
#define GW_STORE_UNION_H

#include <gangway/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The folder of one host, and the files that its ranks have written since the mark, sorted by name.
 */
struct gw_union_part {
    const char *folder, *host; /* borrowed */
    char **written;            /* paths below the folder; owned */
    size_t count, room;
};

void gw_union_add(struct gw_union_part *part, const char *path);
void gw_union_deinit(struct gw_union_part *part);

/* gw_union_list lists what was written to a folder since `mark_ns` (see gw_union_mark). Returns
 * GW_EIO if it fails. */
int gw_union_list(struct gw_union_part *part, uint64_t mark_ns, struct gw_error *error);

/* gw_union_join moves the written files of all parts except the first into the folder of the first
 * part. If two parts have written different files under one name, it returns GW_EMISMATCH and
 * changes nothing. The error names the file and both hosts. Otherwise it returns GW_EIO if it
 * fails. */
int gw_union_join(struct gw_union_part *parts, size_t count, struct gw_error *error);

/* gw_union_set_mark marks the present state of a folder, in a file beside it: all hosts of the gang
 * know this state. Files that are written later are newer than the mark. gw_union_mark reads the
 * mark, which is the newest ctime of the folder's files in ns. 0: there is no mark. */
int gw_union_set_mark(const char *folder, struct gw_error *error);
uint64_t gw_union_mark(const char *folder);

#endif
