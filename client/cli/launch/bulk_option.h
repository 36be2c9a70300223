/* What an object of `submit --from-json` says of its task: its "options". */
#ifndef GW_CLI_BULK_OPTION_H
#define GW_CLI_BULK_OPTION_H

#include <gangway/graph.h>

#include <jansson.h>
#include <stdbool.h>

/* Texts that the options of one task point to. */
struct gw_bulk_texts {
    char *lists[8]; /* owned; "a,b" */
    const char **files;
    size_t count;
};

/* gw_bulk_option_set reads one option into what the command line said for all tasks; its texts are
 * put into `texts` (deinit it when the task was added) or borrowed from the value. 0; GW_ENOENT for
 * a key that there is not; GW_EINVAL, and what it takes is written; GW_ENOMEM. */
int gw_bulk_option_set(struct gw_task_options *task, struct gw_bulk_texts *texts, const char *key,
                       const json_t *value, const char **takes);
void gw_bulk_option_texts_deinit(struct gw_bulk_texts *texts);

/* gw_bulk_option_is_known tells whether there is such a key. */
bool gw_bulk_option_is_known(const char *key);

/* gw_bulk_option_names writes all keys, "a, b, c", with a line break before what would be wider
 * than `width`; 0: on one line. Cut and terminated. */
void gw_bulk_option_names(char *text, size_t text_bytes, size_t width);

#endif
