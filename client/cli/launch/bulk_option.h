/* The "options" of an object of `submit --from-json`. */
#ifndef GW_CLI_BULK_OPTION_H
#define GW_CLI_BULK_OPTION_H

#include <gangway/graph.h>

#include <jansson.h>
#include <stdbool.h>

/* Strings to which the options of one task point. */
struct gw_bulk_texts {
    char *lists[8]; /* owned; each is like "a,b" */
    const char **files;
    size_t count;
};

/* gw_bulk_option_set sets one option of a task. `task` already has the options of the command line.
 * Strings are stored in `texts` or borrowed from `value`. Call gw_bulk_option_texts_deinit when the
 * task was added to the graph. Returns 0; GW_ENOENT: unknown key; GW_EINVAL: wrong value, and
 * *takes says which values are allowed; GW_ENOMEM. */
int gw_bulk_option_set(struct gw_task_options *task, struct gw_bulk_texts *texts, const char *key,
                       const json_t *value, const char **takes);
void gw_bulk_option_texts_deinit(struct gw_bulk_texts *texts);

/* gw_bulk_option_is_known returns true if the key exists. */
bool gw_bulk_option_is_known(const char *key);

/* gw_bulk_option_names writes all keys, "a, b, c". It breaks lines that would be wider than
 * `width`; 0: one line. The text is cut if it is too long, and always terminated. */
void gw_bulk_option_names(char *text, size_t text_bytes, size_t width);

#endif
