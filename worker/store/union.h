/* Unions: the folders of a task's checkpoints on several hosts, put together as one. All functions
 * read or write files and may block. */
#ifndef GW_STORE_UNION_H
#define GW_STORE_UNION_H

#include <gangway/error.h>

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* One host's folder, and which of its files its ranks have written since the mark, sorted. */
struct gw_union_part {
    const char *folder, *host; /* borrowed */
    char **written;            /* paths below the folder; owned */
    size_t count, room;
};

void gw_union_add(struct gw_union_part *part, const char *path);
void gw_union_deinit(struct gw_union_part *part);

/* gw_union_list lists what was written in a folder since `mark_ns` (of gw_union_mark). GW_EIO. */
int gw_union_list(struct gw_union_part *part, uint64_t mark_ns, struct gw_error *error);

/* gw_union_join puts what was written of all parts but the first into the first part's folder.
 * GW_EMISMATCH, with nothing changed: two parts have written different files of one name; the text
 * names the file and both hosts. GW_EIO. */
int gw_union_join(struct gw_union_part *parts, size_t count, struct gw_error *error);

/* gw_union_set_mark marks a folder, in a file beside it: what is there is known to all hosts of the
 * gang. What is written after it returns is newer than the mark. gw_union_mark reads the mark: the
 * newest ctime, in ns, of what was there; 0: there is no mark. */
int gw_union_set_mark(const char *folder, struct gw_error *error);
uint64_t gw_union_mark(const char *folder);

#endif
